/*
 * The scalability law's fit and the bootstrap behind its intervals: parameters come back from
 * points made with them, constraints give the optimum that a search finds, intervals cover.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/bootstrap.h"
#include "harness/usl.h"

#include <math.h>
#include <stdlib.h>

static void assert_near(double value, double expected, double tolerance) {
  if (!(fabs(value - expected) <= tolerance))
    fail_msg("%.9g instead of %.9g", value, expected);
}

/* Thread time per op by the law, written as its textbook form. */
static double law(double ns, double sigma, double kappa, double n) {
  double x = (1 / ns) * n / (1 + sigma * (n - 1) + kappa * n * (n - 1));
  return n / x;
}

static const double counts[] = {1, 2, 4, 8, 16, 32};
enum { COUNTS = sizeof counts / sizeof counts[0] };

static void make_points(struct usl_point p[COUNTS], double ns, double sigma, double kappa) {
  for (size_t i = 0; i < COUNTS; i++)
    p[i] = (struct usl_point){counts[i], law(ns, sigma, kappa, counts[i]), 1 + (double)i};
}

/* --- The fit. */

static void parameters_come_back_from_exact_points(void **state) {
  (void)state;
  static const double made[][2] = {{0.02, 0.0005}, {0, 0.001}, {0.1, 0}, {0, 0}, {0.9, 1e-6}};
  for (size_t i = 0; i < sizeof made / sizeof made[0]; i++) {
    struct usl_point p[COUNTS];
    struct usl u;
    make_points(p, 250, made[i][0], made[i][1]);
    assert_true(usl_fit(p, COUNTS, &u));
    assert_near(1 / u.lambda, 250, 1e-6);
    assert_near(u.sigma, made[i][0], 1e-9);
    assert_near(u.kappa, made[i][1], 1e-9);
    assert_near(usl_misfit(&u, p, COUNTS), 0, 1e-9);
  }
}

static void points_of_many_threads_do_not_lose_the_figures(void **state) {
  (void)state;
  struct usl_point p[5];
  struct usl u;
  static const double many[] = {1, 4, 64, 512, 4096};
  for (size_t i = 0; i < 5; i++)
    p[i] = (struct usl_point){many[i], law(80, 0.003, 2e-7, many[i]), 1e-3 / many[i]};
  assert_true(usl_fit(p, 5, &u));
  assert_near(u.sigma, 0.003, 1e-8);
  assert_near(u.kappa, 2e-7, 1e-12);
}

/* The rate of the law itself, with numbers small enough for a pencil: 8 / (1 + 0.7 + 0.56). */
static void the_rate_and_the_peak_are_those_of_the_law(void **state) {
  (void)state;
  struct usl u = {.lambda = 1, .sigma = 0.1, .kappa = 0.01};
  assert_near(usl_rate(&u, 8), 8 / 2.26, 1e-12);
  assert_near(usl_rate(&u, 1), 1, 1e-12);
  assert_near(usl_peak(&u), 9.486832980505138, 1e-12); /* sqrt(0.9 / 0.01) */
  u.kappa = 0;
  assert_true(isinf(usl_peak(&u)));
  u = (struct usl){.lambda = 1, .sigma = 1.2, .kappa = 0.01};
  assert_near(usl_peak(&u), 1, 0);
}

static double loss(const struct usl_point *p, size_t n, double a, double b, double c) {
  double sum = 0;
  for (size_t i = 0; i < n; i++) {
    double t = p[i].threads, d = p[i].y - a - b * (t - 1) - c * t * (t - 1);
    sum += p[i].weight * d * d;
  }
  return sum;
}

/* Best a for given b and c, in closed form; b and c from a grid that shrinks around the best. */
static double search(const struct usl_point *p, size_t n) {
  double best = INFINITY, at_b = 0, at_c = 0, step_b = 8, step_c = 0.5;
  for (int round = 0; round < 40; round++, step_b *= 0.6, step_c *= 0.6) {
    double from_b = at_b, from_c = at_c;
    for (int i = -4; i <= 4; i++)
      for (int j = -4; j <= 4; j++) {
        double b = fmax(0, from_b + i * step_b), c = fmax(0, from_c + j * step_c), top = 0, w = 0;
        for (size_t k = 0; k < n; k++) {
          double t = p[k].threads;
          top += p[k].weight * (p[k].y - b * (t - 1) - c * t * (t - 1));
          w += p[k].weight;
        }
        double l = loss(p, n, top / w, b, c);
        if (l < best) {
          best = l;
          at_b = b;
          at_c = c;
        }
      }
  }
  return best;
}

/* Superlinear, retrograde and noisy curves, some of which want a negative sigma or kappa. */
static void constrained_fits_are_as_good_as_a_search(void **state) {
  (void)state;
  static const double ys[][COUNTS] = {
      {100, 98, 95, 93, 92, 91},     {100, 90, 95, 120, 200, 500}, {100, 130, 140, 145, 147, 148},
      {100, 103, 99, 104, 130, 101}, {100, 99, 101, 100, 99, 102}, {100, 150, 200, 250, 300, 350},
      {100, 80, 70, 100, 150, 300}};
  for (size_t i = 0; i < sizeof ys / sizeof ys[0]; i++) {
    struct usl_point p[COUNTS];
    struct usl u;
    for (size_t k = 0; k < COUNTS; k++)
      p[k] = (struct usl_point){counts[k], ys[i][k], 1 + (double)(k % 3)};
    assert_true(usl_fit(p, COUNTS, &u));
    assert_true(u.sigma >= 0 && u.kappa >= 0);
    double mine = loss(p, COUNTS, 1 / u.lambda, u.sigma / u.lambda, u.kappa / u.lambda);
    double best = search(p, COUNTS);
    assert_true(mine <= best * (1 + 1e-6) + 1e-9);
  }
}

static void weights_decide_between_points_that_disagree(void **state) {
  (void)state;
  struct usl_point p[COUNTS];
  struct usl u;
  make_points(p, 100, 0.05, 0);
  p[5].y *= 2; /* wrong, and known to be worth little */
  p[5].weight = 1e-9;
  assert_true(usl_fit(p, COUNTS, &u));
  assert_near(u.sigma, 0.05, 1e-4);
  assert_near(usl_misfit(&u, p, COUNTS), 1, 1e-2);
}

/* Weights are known up to a factor, and times may be of any length. */
static void the_units_of_times_and_weights_do_not_matter(void **state) {
  (void)state;
  static const double factors[] = {1e-18, 1e18};
  for (size_t f = 0; f < 2; f++) {
    struct usl_point p[COUNTS];
    struct usl u;
    make_points(p, 250, 0.02, 0.0005);
    for (size_t i = 0; i < COUNTS; i++)
      p[i].weight *= factors[f];
    assert_true(usl_fit(p, COUNTS, &u));
    assert_near(u.sigma, 0.02, 1e-9);
    assert_near(u.kappa, 0.0005, 1e-9);
  }
}

/* 100 ns for one thread, Amdahl's law with 0.1: 110, 130 and 170 for 2, 4 and 8. */
static void the_misfit_is_that_of_the_worst_point_on_either_side(void **state) {
  (void)state;
  struct usl u = {.lambda = 0.01, .sigma = 0.1};
  struct usl_point below[] = {{1, 100, 1}, {2, 88, 1}, {4, 143, 1}, {8, 170, 1}};
  struct usl_point above[] = {{1, 95, 1}, {2, 110, 1}, {4, 169, 1}, {8, 153, 1}};
  assert_near(usl_misfit(&u, below, 4), 0.2, 1e-12);
  assert_near(usl_misfit(&u, above, 4), 0.3, 1e-12);
}

/* What falls from the second thread on, or can only fall, is fastest with one. */
static void a_peak_is_never_below_one_thread(void **state) {
  (void)state;
  assert_near(usl_peak(&(struct usl){1, 0.5, 2}), 1, 0);
  assert_near(usl_peak(&(struct usl){1, 1.5, 0.1}), 1, 0);
}

static void two_thread_counts_are_no_curve(void **state) {
  (void)state;
  struct usl_point p[] = {{1, 100, 1}, {2, 101, 1}, {2, 102, 1}, {1, 99, 1}};
  struct usl u;
  assert_false(usl_fit(p, 4, &u));
  assert_false(usl_fit(p, 0, &u));
}

/* Variances 1e-4 of 3 and 16e-4 of 9 degrees: pooled 12.25e-4; drawn to it with 4 degrees. */
static void weights_draw_few_samples_towards_the_pooled_spread(void **state) {
  (void)state;
  struct usl_point p[] = {{1, 100, 0}, {2, 200, 0}, {4, 100, 0}};
  const double variances[] = {1e-4, 16e-4, NAN};
  const size_t ns[] = {4, 10, 1};
  usl_weights(p, variances, ns, 3);
  assert_near(p[0].weight, 4 / ((4 * 12.25e-4 + 3 * 1e-4) / 7 * 1e4), 1e-9);
  assert_near(p[1].weight, 10 / ((4 * 12.25e-4 + 9 * 16e-4) / 13 * 4e4), 1e-9);
  assert_near(p[2].weight, 1 / (12.25e-4 * 1e4), 1e-9);
}

static void constant_samples_do_not_outweigh_everything(void **state) {
  (void)state;
  struct usl_point p[] = {{1, 10, 0}};
  usl_weights(p, (const double[]){0}, (const size_t[]){5}, 1);
  assert_near(p[0].weight, 5 / (1e-6 * 100), 1e-3);
}

/* --- The bootstrap. */

enum { ROUNDS = 10, SWEEP = 4 };

static uint64_t lehmer = 12345;
static double normal(void) {
  double sum = 0;
  for (int i = 0; i < 12; i++) {
    lehmer = lehmer * 48271 % 2147483647;
    sum += (double)lehmer / 2147483647.0;
  }
  return sum - 6;
}

static void rounds_are_drawn_whole_and_within_their_stratum(void **state) {
  (void)state;
  /* Cell 0 has rounds 1 to 4, cell 1 has 1 to 10; the value is the round. */
  uint64_t few[SWEEP], all[ROUNDS];
  double few_values[SWEEP], all_values[ROUNDS];
  for (int i = 0; i < ROUNDS; i++) {
    all[i] = (uint64_t)i + 1;
    all_values[i] = i + 1;
    if (i < SWEEP) {
      few[i] = all[i];
      few_values[i] = all_values[i];
    }
  }
  const size_t ns[] = {SWEEP, ROUNDS};
  const uint64_t *rounds[] = {few, all};
  struct bootstrap *b = bootstrap_new(2, ns, rounds, 7);
  assert_non_null(b);
  assert_int_equal(bootstrap_fewest(b), SWEEP);
  double seen_low = INFINITY, seen_high = 0;
  for (int i = 0; i < 200; i++) {
    bootstrap_draw(b);
    double low = bootstrap_median(b, 0, few_values), both = bootstrap_median(b, 1, all_values);
    seen_low = fmin(seen_low, low);
    seen_high = fmax(seen_high, low);
    assert_true(low >= 1 && low <= SWEEP);
    /* Three of rounds 1-4 and five of 5-10: the middle two are the least of the latter. */
    assert_true(both >= 5 && both <= ROUNDS);
  }
  assert_true(seen_low == 1 && seen_high == SWEEP);
  bootstrap_free(b);
}

static void draws_depend_on_the_seed_alone(void **state) {
  (void)state;
  const uint64_t ids[] = {1, 2, 3, 4, 5, 6};
  const double values[] = {1, 2, 4, 8, 16, 32};
  const size_t ns[] = {6};
  const uint64_t *rounds[] = {ids};
  struct bootstrap *a = bootstrap_new(1, ns, rounds, 3), *b = bootstrap_new(1, ns, rounds, 3),
                   *c = bootstrap_new(1, ns, rounds, 4);
  bool differ = false;
  for (int i = 0; i < 50; i++) {
    bootstrap_draw(a);
    bootstrap_draw(b);
    bootstrap_draw(c);
    assert_true(bootstrap_median(a, 0, values) == bootstrap_median(b, 0, values));
    differ |= bootstrap_median(a, 0, values) != bootstrap_median(c, 0, values);
  }
  assert_true(differ);
  bootstrap_free(a);
  bootstrap_free(b);
  bootstrap_free(c);
}

static void samples_without_a_round_are_drawn_one_by_one(void **state) {
  (void)state;
  const uint64_t ids[] = {0, 0, 0};
  const double values[] = {1, 2, 3};
  const size_t ns[] = {3};
  const uint64_t *rounds[] = {ids};
  struct bootstrap *b = bootstrap_new(1, ns, rounds, 1);
  assert_int_equal(bootstrap_fewest(b), 3);
  bootstrap_draw(b);
  assert_true(bootstrap_median(b, 0, values) >= 1);
  bootstrap_free(b);
}

static void one_round_varies_nothing(void **state) {
  (void)state;
  const uint64_t ids[] = {9};
  const size_t ns[] = {1};
  const uint64_t *rounds[] = {ids};
  struct bootstrap *b = bootstrap_new(1, ns, rounds, 1);
  assert_int_equal(bootstrap_fewest(b), 1);
  bootstrap_draw(b);
  assert_near(bootstrap_median(b, 0, (const double[]){5}), 5, 0);
  bootstrap_free(b);
}

static void an_interval_cuts_the_same_share_on_both_sides(void **state) {
  (void)state;
  double drawn[1000];
  for (int i = 0; i < 1000; i++)
    drawn[i] = 1000 - i; /* 1 .. 1000 */
  struct bootstrap_interval i = bootstrap_interval(drawn, 1000, 0.95);
  assert_near(i.low, 26, 0);
  assert_near(i.high, 975, 0);
}

/* One simulated run: every round shares a mood of 2 %, every sample adds 1 %. */
static bool covers(double sigma, size_t sweep_rounds, double *width) {
  uint64_t ids[COUNTS][ROUNDS];
  const uint64_t *rounds[COUNTS];
  double values[COUNTS][ROUNDS], mood[ROUNDS], drawn[300];
  size_t ns[COUNTS];
  for (int r = 0; r < ROUNDS; r++)
    mood[r] = 0.02 * normal();
  for (size_t i = 0; i < COUNTS; i++) {
    ns[i] = i + 1 < COUNTS ? sweep_rounds : ROUNDS;
    rounds[i] = ids[i];
    for (size_t r = 0; r < ns[i]; r++) {
      ids[i][r] = r + 1;
      values[i][r] = law(100, sigma, 0.0004, counts[i]) * exp(mood[r] + 0.01 * normal());
    }
  }
  struct bootstrap *b = bootstrap_new(COUNTS, ns, rounds, 1);
  assert_non_null(b);
  for (int k = 0; k < 300; k++) {
    struct usl_point p[COUNTS];
    struct usl u;
    bootstrap_draw(b);
    for (size_t i = 0; i < COUNTS; i++) {
      double y = bootstrap_median(b, i, values[i]);
      p[i] = (struct usl_point){counts[i], y, (double)ns[i] / (y * y)};
    }
    assert_true(usl_fit(p, COUNTS, &u));
    drawn[k] = u.sigma;
  }
  bootstrap_free(b);
  struct bootstrap_interval i = bootstrap_interval(drawn, 300, 0.95);
  *width += i.high - i.low;
  return i.low <= sigma && sigma <= i.high;
}

static unsigned coverage(double sigma, size_t sweep_rounds) {
  enum { RUNS = 300 };
  unsigned covered = 0;
  double width = 0;
  for (int i = 0; i < RUNS; i++)
    covered += covers(sigma, sweep_rounds, &width);
  print_message("[   INFO   ] sigma %.2f, %zu rounds of sweep: %.1f %% covered, width %.4f\n",
                sigma, sweep_rounds, 100.0 * covered / RUNS, width / RUNS);
  assert_true(width / RUNS < 0.02); /* covering everything would be no merit */
  return 100 * covered / RUNS;
}

/* Nominally 95 %; a mood that all cells of a round share makes it more. */
static void intervals_cover_what_they_are_about(void **state) {
  (void)state;
  assert_in_range(coverage(0.05, ROUNDS), 92, 100);
  assert_in_range(coverage(0.05, SWEEP), 88, 100);
  assert_in_range(coverage(0, ROUNDS), 93, 100);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(parameters_come_back_from_exact_points),
      cmocka_unit_test(points_of_many_threads_do_not_lose_the_figures),
      cmocka_unit_test(the_rate_and_the_peak_are_those_of_the_law),
      cmocka_unit_test(constrained_fits_are_as_good_as_a_search),
      cmocka_unit_test(weights_decide_between_points_that_disagree),
      cmocka_unit_test(the_units_of_times_and_weights_do_not_matter),
      cmocka_unit_test(the_misfit_is_that_of_the_worst_point_on_either_side),
      cmocka_unit_test(a_peak_is_never_below_one_thread),
      cmocka_unit_test(two_thread_counts_are_no_curve),
      cmocka_unit_test(weights_draw_few_samples_towards_the_pooled_spread),
      cmocka_unit_test(constant_samples_do_not_outweigh_everything),
      cmocka_unit_test(rounds_are_drawn_whole_and_within_their_stratum),
      cmocka_unit_test(draws_depend_on_the_seed_alone),
      cmocka_unit_test(samples_without_a_round_are_drawn_one_by_one),
      cmocka_unit_test(one_round_varies_nothing),
      cmocka_unit_test(an_interval_cuts_the_same_share_on_both_sides),
      cmocka_unit_test(intervals_cover_what_they_are_about),
  };
  return cmocka_run_group_tests_name("usl", tests, NULL, NULL);
}
