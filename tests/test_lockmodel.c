/*
 * The lock model against sources that share no code with it: the birth-death solution of the
 * machine repairman, and a discrete-event simulation of threads, lock and hand-off. The
 * simulation's own rules are checked first, on cases that can be worked out by hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/lock_simulation.h"

#include <stdio.h>

static void assert_near(double value, double expected, double share) {
  if (!(fabs(value / expected - 1) <= share))
    fail_msg("%g instead of %g (%+.2f %%)", value, expected, 100 * (value / expected - 1));
}

/* --- The simulation itself. */

static void a_lone_thread_is_never_late(void **state) {
  (void)state;
  struct world w = {1, {10, 90, 50}, FIXED, FIXED, FIXED, LOCK_IN_ORDER};
  assert_near(simulate(w, 10000).rate, 1 / 100.0, 1e-3);
  w.rule = LOCK_BARGING;
  assert_near(simulate(w, 10000).rate, 1 / 100.0, 1e-3);
}

/* Ten threads of no think time: the lock passes from hand to hand, hold and hand-off in turn. */
static void a_full_queue_pays_every_hand_off_in_order(void **state) {
  (void)state;
  struct world w = {10, {10, 0, 30}, FIXED, FIXED, FIXED, LOCK_IN_ORDER};
  struct lock_load load = simulate(w, 10000);
  assert_near(load.rate, 1 / 40.0, 1e-3);
  assert_near(load.wait, 390, 1e-2); /* a round of ten, less its own hold */
  /* Who releases is back at once and finds the lock free: it is never idle. */
  w.rule = LOCK_BARGING;
  assert_near(simulate(w, 10000).rate, 1 / 10.0, 1e-3);
}

/* --- The model. */

static void the_knee_and_the_bounds_are_those_of_operational_analysis(void **state) {
  (void)state;
  struct lock_times t = {.service = 10, .think = 90};
  assert_near(lockmodel_saturation(&t), 10, 1e-12);
  /* 4 threads: 4 / (90 + 40) and 4 / 100; 40 threads: 40 / 490 and 1 / 10. */
  assert_near(lockmodel_bounds(&t, 4).low, 4 / 130.0, 1e-12);
  assert_near(lockmodel_bounds(&t, 4).high, 4 / 100.0, 1e-12);
  assert_near(lockmodel_bounds(&t, 40).low, 40 / 490.0, 1e-12);
  assert_near(lockmodel_bounds(&t, 40).high, 1 / 10.0, 1e-12);
}

/* p_k = N! / (N - k)! (S / Z)^k p_0; the lock is busy for 1 - p_0 of the time. */
static double birth_death(const struct lock_times *t, unsigned n) {
  double sum = 1, term = 1;
  for (unsigned k = 1; k <= n; k++) {
    term *= (n - k + 1) * t->service / t->think;
    sum += term;
  }
  return (1 - 1 / sum) / t->service;
}

static void the_recursion_is_exact_for_exponential_times(void **state) {
  (void)state;
  static const double thinks[] = {5, 20, 90, 1000};
  for (size_t i = 0; i < sizeof thinks / sizeof thinks[0]; i++)
    for (unsigned n = 1; n <= 64; n *= 2) {
      struct lock_times t = {.service = 10, .think = thinks[i]};
      assert_near(lockmodel_plain(&t, n), birth_death(&t, n), 1e-9);
    }
}

static void the_recursion_agrees_with_the_simulation(void **state) {
  (void)state;
  for (unsigned n = 2; n <= 32; n *= 4) {
    struct world w = {n, {10, 90, 0}, EXPONENTIAL, EXPONENTIAL, FIXED, LOCK_IN_ORDER};
    assert_near(lockmodel_plain(&w.times, n), simulate(w, 100000).rate, 0.02);
  }
}

/*
 * Fixed holds make queues shorter than exponential ones do. The recursion may be too low for them,
 * most of all around N* = 10; bounds hold whatever the distribution.
 */
static void fixed_holds_stay_within_a_tenth_and_within_the_bounds(void **state) {
  (void)state;
  double worst = 0;
  for (unsigned n = 2; n <= 32; n++) {
    struct world w = {n, {10, 90, 0}, EXPONENTIAL, FIXED, FIXED, LOCK_IN_ORDER};
    double rate = simulate(w, 20000).rate, model = lockmodel_plain(&w.times, n);
    struct lockmodel_bounds b = lockmodel_bounds(&w.times, n);
    assert_true(rate > b.low * 0.99 && rate < b.high * 1.01);
    assert_true(model > b.low && model < b.high);
    worst = fmax(worst, fabs(model / rate - 1));
  }
  print_message("[   INFO   ] fixed holds: the recursion is off by up to %.1f %%\n", 100 * worst);
  assert_true(worst < 0.10);
}

/* --- With hand-off. */

static struct lock_load solve(const struct lock_times *t, enum lock_rule rule, unsigned threads) {
  struct lock_load load;
  assert_true(lockmodel_solve(t, rule, threads, &load));
  return load;
}

static void without_hand_off_both_rules_are_the_recursion(void **state) {
  (void)state;
  for (unsigned n = 1; n <= 64; n *= 2) {
    struct lock_times t = {.service = 10, .think = 90};
    assert_near(solve(&t, LOCK_IN_ORDER, n).rate, birth_death(&t, n), 1e-6);
    assert_near(solve(&t, LOCK_BARGING, n).rate, birth_death(&t, n), 1e-6);
  }
}

static const double handoffs[] = {3, 30, 300};

/* The largest error of the rate, with its sign, over idle to saturated locks. */
static double worst_error(enum lock_rule rule, double handoff, enum shape shape) {
  double worst = 0;
  static const double thinks[] = {20, 90, 1000};
  for (size_t i = 0; i < sizeof thinks / sizeof thinks[0]; i++)
    for (unsigned n = 1; n <= 32; n *= 2) {
      struct world w = {n, {10, thinks[i], handoff}, EXPONENTIAL, shape, shape, rule};
      double error = solve(&w.times, rule, n).rate / simulate(w, 20000).rate - 1;
      worst = fabs(error) > fabs(worst) ? error : worst;
    }
  return worst;
}

static void check_errors(const char *what, enum lock_rule rule, enum shape shape,
                         const double most[3]) {
  for (size_t i = 0; i < 3; i++) {
    double worst = worst_error(rule, handoffs[i], shape);
    print_message("[   INFO   ] %s, hand-off of %g holds: rates within %+.1f %%\n", what,
                  handoffs[i] / 10, 100 * worst);
    assert_true(fabs(worst) < most[i]);
  }
}

static void in_order_hand_off_is_exact_for_exponential_times(void **state) {
  (void)state;
  check_errors("in order", LOCK_IN_ORDER, EXPONENTIAL, (const double[]){0.03, 0.03, 0.03});
}

/* Eight waiters on their way at once are what the chain allows: few for very long hand-offs. */
static void barging_hand_off_is_near_exact_for_exponential_times(void **state) {
  (void)state;
  check_errors("barging", LOCK_BARGING, EXPONENTIAL, (const double[]){0.03, 0.03, 0.10});
}

/*
 * Fixed times keep a convoy together that exponential ones break up, and make barging safer: the
 * longer the hand-off, the more the distribution matters. docs/scaling.md quotes these figures.
 */
static void fixed_times_are_another_matter(void **state) {
  (void)state;
  check_errors("in order, fixed times", LOCK_IN_ORDER, FIXED, (const double[]){0.06, 0.2, 1});
  check_errors("barging, fixed times", LOCK_BARGING, FIXED, (const double[]){0.06, 0.4, 0.6});
}

static void waits_and_collisions_are_those_of_the_simulation(void **state) {
  (void)state;
  for (int rule = LOCK_IN_ORDER; rule <= LOCK_BARGING; rule++)
    for (unsigned n = 2; n <= 8; n *= 2) {
      struct world w = {n,           {10, 90, 20}, EXPONENTIAL,
                        EXPONENTIAL, EXPONENTIAL,  (enum lock_rule)rule};
      struct lock_load model = solve(&w.times, w.rule, n), seen = simulate(w, 200000);
      assert_near(model.wait, seen.wait, 0.03);
      assert_near(model.collisions, seen.collisions, 0.03);
    }
}

static void the_hand_off_is_found_again_from_the_waits_of_two_threads(void **state) {
  (void)state;
  for (int rule = LOCK_IN_ORDER; rule <= LOCK_BARGING; rule++)
    for (size_t i = 0; i < 3; i++) {
      struct world w = {2,           {10, 90, handoffs[i]}, EXPONENTIAL,
                        EXPONENTIAL, EXPONENTIAL,           (enum lock_rule)rule};
      struct lock_times t = {.service = 10, .think = 90};
      double found;
      assert_true(lockmodel_handoff(&t, w.rule, simulate(w, 200000).wait, &found));
      assert_near(found, handoffs[i], 0.06);
    }
}

static void waits_that_queueing_explains_leave_no_hand_off(void **state) {
  (void)state;
  struct lock_times t = {.service = 10, .think = 90};
  double found = -1;
  assert_true(lockmodel_handoff(&t, LOCK_IN_ORDER, 0.5, &found));
  assert_true(found == 0);
}

/* 4096 threads, times seven orders of magnitude apart: the rate is still the lock's own limit. */
static void extreme_times_stay_finite(void **state) {
  (void)state;
  struct lock_times t = {.service = 1, .think = 1e-3, .handoff = 1e4};
  assert_near(solve(&t, LOCK_IN_ORDER, 4096).rate, 1 / 10001.0, 1e-3);
  struct lock_times idle = {.service = 1e-3, .think = 1e7};
  assert_near(solve(&idle, LOCK_BARGING, 4096).rate, 4096 / 1e7, 1e-3);
  struct lock_times eager = {.service = 10, .think = 0};
  assert_near(solve(&eager, LOCK_BARGING, 16).rate, 1 / 10.0, 1e-3);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_lone_thread_is_never_late),
      cmocka_unit_test(a_full_queue_pays_every_hand_off_in_order),
      cmocka_unit_test(the_knee_and_the_bounds_are_those_of_operational_analysis),
      cmocka_unit_test(the_recursion_is_exact_for_exponential_times),
      cmocka_unit_test(the_recursion_agrees_with_the_simulation),
      cmocka_unit_test(fixed_holds_stay_within_a_tenth_and_within_the_bounds),
      cmocka_unit_test(without_hand_off_both_rules_are_the_recursion),
      cmocka_unit_test(in_order_hand_off_is_exact_for_exponential_times),
      cmocka_unit_test(barging_hand_off_is_near_exact_for_exponential_times),
      cmocka_unit_test(fixed_times_are_another_matter),
      cmocka_unit_test(waits_and_collisions_are_those_of_the_simulation),
      cmocka_unit_test(the_hand_off_is_found_again_from_the_waits_of_two_threads),
      cmocka_unit_test(waits_that_queueing_explains_leave_no_hand_off),
      cmocka_unit_test(extreme_times_stay_finite),
  };
  return cmocka_run_group_tests_name("lockmodel", tests, NULL, NULL);
}
