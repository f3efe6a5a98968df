/*
 * Forecasts from one and two threads, and the way from a run's folder to figures, run.json and
 * scores. Truth comes from the law's textbook form, hand calculation and the lock simulation.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/forecast.h"
#include "harness/grid.h"
#include "harness/scaling.h"
#include "tests/lock_simulation.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void assert_near(double value, double expected, double share) {
  if (!(fabs(value - expected) <= share * fabs(expected)))
    fail_msg("%.9g instead of %.9g", value, expected);
}

/* Rate of n threads by the law, ops/ns. */
static double law(double ns, double sigma, double kappa, double n) {
  return n / ns / (1 + sigma * (n - 1) + kappa * n * (n - 1));
}

static struct forecast predict(const struct pair_times *t, unsigned threads) {
  struct pair_parts parts;
  struct forecast f;
  assert_true(forecast_parts(t, &parts));
  assert_true(forecast_pair(t, &parts, threads, &f));
  return f;
}

/* --- Two points. */

/* 100 ns become 120: 20 more for each other thread, 4 / 160; or for each pair, 4 / (100 + 120). */
static void growth_is_serial_at_best_and_pairwise_at_worst(void **state) {
  (void)state;
  struct pair_times t = {.one = 100, .two = 120};
  struct forecast f = predict(&t, 4);
  assert_near(f.high, 4 / 160.0, 1e-12);
  assert_near(f.low, 4 / 220.0, 1e-12);
  f = predict(&t, 2);
  assert_near(f.low, 2 / 120.0, 1e-12);
  assert_near(f.high, 2 / 120.0, 1e-12);
}

static void every_law_lies_in_the_forecast_of_its_first_two_points(void **state) {
  (void)state;
  static const double sigmas[] = {0, 0.01, 0.3}, kappas[] = {0, 0.0001, 0.02};
  for (int i = 0; i < 3; i++)
    for (int k = 0; k < 3; k++)
      for (unsigned n = 4; n <= 64; n *= 4) {
        struct pair_times t = {.one = 1 / law(80, sigmas[i], kappas[k], 1),
                               .two = 2 / law(80, sigmas[i], kappas[k], 2)};
        struct forecast f = predict(&t, n);
        double truth = law(80, sigmas[i], kappas[k], n);
        assert_true(truth >= f.low * (1 - 1e-9) && truth <= f.high * (1 + 1e-9));
      }
}

static void superlinear_points_do_not_promise_more_than_linear(void **state) {
  (void)state;
  struct pair_times t = {.one = 100, .two = 90};
  struct forecast f = predict(&t, 8);
  assert_near(f.low, 8 / 100.0, 1e-12);
  assert_near(f.high, 8 / 100.0, 1e-12);
}

/* two = 250 = 180 outside + 40 held + 10 waited + 20; two acquisitions an op. */
static void the_lock_is_taken_out_of_the_two_thread_point(void **state) {
  (void)state;
  struct pair_times t = {
      .one = 200, .two = 250, .acquisitions = 2, .hold_one = 20, .hold_two = 40, .wait_two = 10};
  struct pair_parts p;
  assert_true(forecast_parts(&t, &p));
  assert_true(p.has_lock);
  assert_near(p.lock.service, 20, 1e-12);
  assert_near(p.lock.think, 90, 1e-12);
  assert_near(p.rest, 20, 1e-12);
  /* Holds that nobody timed make no lock. */
  t.hold_one = t.hold_two = 0;
  assert_true(forecast_parts(&t, &p));
  assert_false(p.has_lock);
  assert_near(p.rest, 50, 1e-12);
}

/* What two simulated threads show, as counters would tell it. */
static struct pair_times observe(struct world w) {
  w.threads = 2;
  struct lock_load two = simulate(w, 100000);
  return (struct pair_times){.one = w.times.think + w.times.service,
                             .two = w.times.think + w.times.service + two.wait,
                             .acquisitions = 1,
                             .hold_one = w.times.service,
                             .hold_two = w.times.service,
                             .wait_two = two.wait,
                             .spins = w.rule == LOCK_IN_ORDER};
}

static void simulated_locks_lie_in_the_forecast_of_two_threads(void **state) {
  (void)state;
  static const double thinks[] = {20, 90, 1000}, handoffs[] = {0, 3, 30};
  for (int rule = LOCK_IN_ORDER; rule <= LOCK_BARGING; rule++)
    for (int i = 0; i < 3; i++)
      for (int k = 0; k < 3; k++)
        for (unsigned n = 4; n <= 32; n *= 2) {
          struct world w = {n,           {10, thinks[i], handoffs[k]}, EXPONENTIAL, EXPONENTIAL,
                            EXPONENTIAL, (enum lock_rule)rule};
          struct pair_times t = observe(w);
          struct forecast f = predict(&t, n);
          double rate = simulate(w, 20000).rate;
          if (rate < f.low * 0.95 || rate > f.high * 1.05)
            fail_msg("rule %d, think %g, hand-off %g, %u threads: %g not in %g .. %g", rule,
                     thinks[i], handoffs[k], n, rate, f.low, f.high);
        }
}

/*
 * Two threads lose 6 ns an op besides the lock. With eight that is 42 ns if the work is serial and
 * 168 if every pair pays: the ends are what a spinning lock does with so much more to do outside.
 */
static void the_rest_of_a_lock_goes_both_ways(void **state) {
  (void)state;
  struct world w = {8, {10, 90, 3}, EXPONENTIAL, EXPONENTIAL, EXPONENTIAL, LOCK_IN_ORDER};
  struct pair_times t = observe(w);
  t.two += 6;
  struct forecast f = predict(&t, 8);
  w.times.think = 90 + 6 * 7;
  assert_near(f.high, simulate(w, 100000).rate, 0.04);
  w.times.think = 90 + 6 * 28;
  assert_near(f.low, simulate(w, 100000).rate, 0.04);
}

/*
 * Hand-offs of 90 ns make a convoy of seven threads. Much to do outside breaks it up, so that the
 * dearer end, every pair paying, is the faster one: both ends are in the forecast all the same.
 */
static void a_convoy_that_breaks_up_turns_the_ends_around(void **state) {
  (void)state;
  struct world w = {7, {10, 47, 90}, EXPONENTIAL, EXPONENTIAL, EXPONENTIAL, LOCK_IN_ORDER};
  struct pair_times t = observe(w);
  t.two += 16;
  struct forecast f = predict(&t, 7);
  w.times.think = 47 + 16 * 6;
  double serial = simulate(w, 100000).rate;
  w.times.think = 47 + 16 * 21;
  double coherent = simulate(w, 100000).rate;
  assert_true(coherent > 1.05 * serial);
  assert_near(f.low, serial, 0.04);
  assert_near(f.high, coherent, 0.04);
}

/* Twice the times and two acquisitions: the same lock, under ops that are twice as long. */
static void an_op_of_two_acquisitions_is_half_as_fast(void **state) {
  (void)state;
  struct world w = {2, {10, 60, 30}, EXPONENTIAL, EXPONENTIAL, EXPONENTIAL, LOCK_IN_ORDER};
  struct pair_times once = observe(w), twice;
  once.two += 15; /* of the rest */
  twice = (struct pair_times){.one = 2 * once.one,
                              .two = 2 * once.two,
                              .acquisitions = 2,
                              .hold_one = 2 * once.hold_one,
                              .hold_two = 2 * once.hold_two,
                              .wait_two = 2 * once.wait_two};
  once.spins = false;
  struct forecast a = predict(&once, 8), b = predict(&twice, 8);
  assert_near(b.low, a.low / 2, 1e-9);
  assert_near(b.high, a.high / 2, 1e-9);
}

/* A futex does not say which rule it follows: the interval holds both, a spinning lock's one. */
static void a_futex_has_a_wider_interval_than_a_spinning_lock(void **state) {
  (void)state;
  struct world w = {2, {10, 40, 50}, EXPONENTIAL, EXPONENTIAL, EXPONENTIAL, LOCK_IN_ORDER};
  struct pair_times t = observe(w);
  struct forecast spinning = predict(&t, 16);
  t.spins = false;
  struct forecast futex = predict(&t, 16);
  assert_true(futex.high > 1.5 * spinning.high);
  assert_true(futex.low <= spinning.low * 1.0001);
}

/* --- Runs. */

struct folder {
  char folder[64];
  struct rundata data;
  char *text;
};

static int make_place(void **state) {
  struct folder *p = calloc(1, sizeof *p);
  if (!p)
    return -1;
  snprintf(p->folder, sizeof p->folder, "/tmp/poolbench-scaling.XXXXXX");
  *state = p;
  return mkdtemp(p->folder) ? 0 : -1;
}

static int remove_place(void **state) {
  struct folder *p = *state;
  char command[100];
  snprintf(command, sizeof command, "rm -rf '%s'", p->folder);
  int status = system(command);
  rundata_free(&p->data);
  free(p->text);
  free(p);
  return status;
}

static FILE *create(const struct folder *p, const char *name) {
  char path[200];
  snprintf(path, sizeof path, "%s/%s", p->folder, name);
  FILE *f = fopen(path, "w");
  assert_non_null(f);
  return f;
}

static void write_json(const struct folder *p, const char *binding, const char *more) {
  FILE *f = create(p, "run.json");
  fprintf(f, "{\"version\": 1, \"id\": \"beef\", \"binding\": {%s}%s}", binding, more);
  assert_int_equal(fclose(f), 0);
}

#define CORES(n) "\"policy\": \"core\", \"cpus\": " #n ", \"cores\": " #n

/* Eight rounds hold each of these once: their median is exactly 1. */
static double noise(int round, int salt) {
  static const double percent[] = {-0.7, -0.4, -0.2, -0.1, 0.1, 0.2, 0.4, 0.7};
  return 1 + percent[(5 * round + 3 * salt) % 8] / 100;
}

struct law_of {
  const char *strategy;
  double ns, sigma, kappa;
};
static const struct law_of laws[] = {{"malloc", 100, 0.02, 0.0004}, {"pool", 50, 0, 0}};

static void write_cell(FILE *f, const struct law_of *l, int threads, int rounds) {
  for (int r = 1; r <= rounds; r++)
    fprintf(f, "# run beef round %d seq %d\nBenchmarkCase/strategy=%s-%d\t1000\t%.9g ns/op\n", r, r,
            l->strategy, threads, noise(r, threads) / law(l->ns, l->sigma, l->kappa, threads));
}

/* Both laws at 1, 2, 4 .. most threads. */
static void write_laws(const struct folder *p, int most, int rounds) {
  FILE *f = create(p, "detail.txt");
  for (int s = 0; s < 2; s++)
    for (int n = 1; n <= most; n *= 2)
      write_cell(f, &laws[s], n, rounds);
  assert_int_equal(fclose(f), 0);
}

static const struct rundata *load(struct folder *p) {
  struct error e;
  rundata_free(&p->data);
  if (!rundata_load(&p->data, p->folder, &e))
    fail_msg("%s", e.text);
  return &p->data;
}

static void model(struct folder *p, unsigned cores, struct scaling *s) {
  struct error e;
  if (!scaling_make(s, load(p), cores, &e))
    fail_msg("%s", e.text);
}

static void assert_within(const struct scaling_value *v, double truth) {
  if (!(v->low <= truth && truth <= v->high && v->low <= v->value && v->value <= v->high))
    fail_msg("%g, %g .. %g does not hold %g", v->value, v->low, v->high, truth);
}

static void the_law_of_a_run_is_found_with_its_interval(void **state) {
  struct folder *p = *state;
  struct scaling s;
  write_laws(p, 32, 8);
  write_json(p, CORES(32), "");
  model(p, 0, &s);
  assert_int_equal(s.count, 2);
  const struct scaling_curve *c = scaling_find(&s, 0, 0);
  assert_true(c->fitted);
  assert_within(&c->sigma, 0.02);
  assert_within(&c->kappa, 0.0004);
  assert_within(&c->peak, sqrt(0.98 / 0.0004));
  assert_near(1 / c->all.usl.lambda, 100, 0.01);
  assert_true(c->misfit > 0 && c->misfit < 0.02);
  c = scaling_find(&s, 0, 1);
  assert_true(c->sigma.low == 0 && c->sigma.high < 0.01);
  scaling_free(&s);
}

static void points_beyond_the_cores_enter_no_model(void **state) {
  struct folder *p = *state;
  struct scaling s;
  write_laws(p, 32, 8);
  write_json(p, CORES(2), "");
  model(p, 0, &s);
  const struct scaling_curve *c = scaling_find(&s, 0, 0);
  assert_false(c->fitted);
  assert_string_equal(c->why, "2 thread counts on 2 cores; the law needs 4");
  assert_int_equal(c->point_count, 6);
  assert_int_equal(c->on_cores, 2);
  assert_true(c->points[1].on_cores && !c->points[2].on_cores);
  assert_true(c->has_pair);
  assert_within(&c->excess, 0.02 + 2 * 0.0004);
  scaling_free(&s);
}

static void a_quota_leaves_fewer_cores(void **state) {
  struct folder *p = *state;
  struct scaling s;
  write_laws(p, 32, 8);
  write_json(p, CORES(32), ", \"host\": {\"cgroup_cpu_limit\": {\"cpus\": 4.5}}");
  model(p, 0, &s);
  assert_int_equal(s.cores, 4);
  assert_string_equal(s.curves[0].why, "3 thread counts on 4 cores; the law needs 4");
  scaling_free(&s);
}

static void what_is_no_core_a_thread_is_refused(void **state) {
  struct folder *p = *state;
  struct scaling s;
  struct scaling_forecast f;
  write_laws(p, 32, 8);
  write_json(p, "\"policy\": \"pu\", \"cpus\": 32, \"cores\": 16", "");
  model(p, 0, &s);
  assert_non_null(strstr(s.curves[0].why, "--bind pu"));
  assert_true(scaling_forecast(&s.curves[0], 64, &f));
  assert_int_equal(f.model, SCALING_NONE);
  scaling_free(&s);
  write_json(p, "", "");
  model(p, 0, &s);
  assert_non_null(strstr(s.curves[0].why, "does not say"));
  scaling_free(&s);
}

static void hardware_threads_are_cores_where_each_core_has_one(void **state) {
  struct folder *p = *state;
  struct scaling s;
  write_laws(p, 8, 8);
  write_json(p, "\"policy\": \"pu\", \"cpus\": 8, \"cores\": 8", "");
  model(p, 0, &s);
  assert_true(s.curves[0].fitted);
  scaling_free(&s);
}

/* Order statistics: of eight samples the first and the seventh, of three none. */
static void points_have_the_interval_of_their_median(void **state) {
  struct folder *p = *state;
  struct scaling s;
  write_laws(p, 1, 8);
  write_json(p, CORES(2), "");
  model(p, 0, &s);
  assert_near(s.curves[1].points[0].ns.value, 50, 1e-6);
  assert_near(s.curves[1].points[0].ns.low, 50 * 0.993, 1e-6);
  assert_near(s.curves[1].points[0].ns.high, 50 * 1.004, 1e-6);
  scaling_free(&s);
  write_laws(p, 1, 3);
  model(p, 0, &s);
  assert_true(isnan(s.curves[1].points[0].ns.low) && isnan(s.curves[1].points[0].ns.high));
  scaling_free(&s);
}

/* More thread counts than the models have room for: the first ones enter. */
static void many_thread_counts_are_no_harm(void **state) {
  struct folder *p = *state;
  struct scaling s;
  FILE *f = create(p, "detail.txt");
  for (int n = 1; n <= 90; n++)
    write_cell(f, &laws[0], n, 1);
  assert_int_equal(fclose(f), 0);
  write_json(p, CORES(128), "");
  model(p, 0, &s);
  assert_int_equal(s.curves[0].point_count, 90);
  assert_int_equal(s.curves[0].on_cores, 64);
  assert_true(s.curves[0].fitted);
  scaling_free(&s);
}

/*
 * Sixteen threads took the law's time or five times as long: the fit hardly listens to them (6 %
 * off at eight; 28 % if all points weighed the same).
 */
static void noisy_points_weigh_little(void **state) {
  struct folder *p = *state;
  struct scaling s;
  FILE *f = create(p, "detail.txt");
  for (int n = 1; n <= 8; n *= 2)
    write_cell(f, &laws[0], n, 8);
  for (int r = 1; r <= 8; r++)
    fprintf(f, "# run beef round %d seq %d\nBenchmarkCase/strategy=malloc-16\t1000\t%.9g ns/op\n",
            r, r, (r % 2 ? 1 : 5) / law(100, 0.02, 0.0004, 16));
  assert_int_equal(fclose(f), 0);
  write_json(p, CORES(16), "");
  model(p, 0, &s);
  assert_near(usl_rate(&s.curves[0].all.usl, 8), law(100, 0.02, 0.0004, 8), 0.1);
  scaling_free(&s);
}

/* Two rounds of two runs are four: enough for an interval, which two are not. */
static void rounds_of_two_runs_are_not_the_same(void **state) {
  struct folder *p = *state;
  struct scaling s;
  FILE *f = create(p, "detail.txt");
  for (int run = 0; run < 2; run++)
    for (int n = 1; n <= 2; n++)
      for (int r = 1; r <= 2; r++)
        fprintf(f, "# run beef%d round %d seq %d\nBenchmarkCase/strategy=a-%d\t1\t%d ns/op\n", run,
                r, r, n, 100 / n + run + r);
  assert_int_equal(fclose(f), 0);
  write_json(p, CORES(2), "");
  model(p, 0, &s);
  assert_true(s.curves[0].draw_count > 0);
  scaling_free(&s);
}

static void curves_of_some_cases_can_be_kept(void **state) {
  struct folder *p = *state;
  struct scaling s;
  FILE *f = create(p, "detail.txt");
  for (int i = 0; i < 3; i++)
    for (int n = 1; n <= 2; n++)
      fprintf(f, "BenchmarkCase/%c/strategy=a-%d\t1\t%d ns/op\n", 'a' + i, n, 100 / n);
  assert_int_equal(fclose(f), 0);
  write_json(p, CORES(2), "");
  model(p, 0, &s);
  scaling_keep(&s, NULL);
  assert_int_equal(s.count, 3);
  scaling_keep(&s, "/b");
  assert_int_equal(s.count, 1);
  assert_non_null(scaling_find(&s, 1, 0));
  assert_null(scaling_find(&s, 0, 0));
  scaling_free(&s);
}

static void bounds_and_smaller_teams_are_no_points(void **state) {
  struct folder *p = *state;
  struct scaling s;
  FILE *f = create(p, "detail.txt");
  for (int n = 1; n <= 8; n *= 2)
    write_cell(f, &laws[0], n, 4);
  fputs("# run beef round 5 seq 9\n# flag bound more than 8 s\n"
        "BenchmarkCase/strategy=malloc-8\t1\t8e9 ns/op\n",
        f);
  assert_int_equal(fclose(f), 0);
  write_json(p, CORES(8),
             ", \"plan\": {\"cells\": [{\"name\": \"BenchmarkCase/strategy=malloc-4\", \"team\": "
             "3}, {\"name\": \"BenchmarkCase/strategy=malloc-2\", \"team\": 2}]}");
  model(p, 0, &s);
  assert_int_equal(s.curves[0].point_count, 4);
  assert_int_equal(s.curves[0].on_cores, 2);
  assert_true(s.curves[0].points[1].on_cores);
  scaling_free(&s);
}

static void two_rounds_give_no_interval_and_no_forecast(void **state) {
  struct folder *p = *state;
  struct scaling s;
  struct scaling_forecast f;
  write_laws(p, 32, 2);
  write_json(p, CORES(32), "");
  model(p, 0, &s);
  assert_true(s.curves[0].fitted);
  assert_true(isnan(s.curves[0].sigma.low));
  assert_near(s.curves[0].sigma.value, 0.02, 0.3);
  assert_true(scaling_forecast(&s.curves[0], 64, &f));
  assert_int_equal(f.model, SCALING_NONE);
  scaling_free(&s);
}

static void figures_do_not_change_from_call_to_call(void **state) {
  struct folder *p = *state;
  struct scaling a, b;
  struct error e;
  write_laws(p, 32, 6);
  write_json(p, CORES(32), "");
  model(p, 0, &a);
  assert_true(scaling_make(&b, &p->data, 0, &e));
  assert_true(a.curves[0].sigma.low == b.curves[0].sigma.low);
  assert_true(a.curves[0].peak.high == b.curves[0].peak.high);
  scaling_free(&a);
  scaling_free(&b);
}

static void forecasts_hold_what_the_laws_bring(void **state) {
  struct folder *p = *state;
  struct scaling s;
  struct scaling_forecast f;
  write_laws(p, 32, 8);
  write_json(p, CORES(32), "");
  for (unsigned cores = 0; cores <= 2; cores += 2) { /* the law, and two points */
    model(p, cores, &s);
    for (unsigned i = 0; i < 2; i++) {
      assert_true(scaling_forecast(&s.curves[i], 64, &f));
      assert_int_equal(f.model, cores ? SCALING_PAIR : SCALING_USL);
      double truth = law(laws[i].ns, laws[i].sigma, laws[i].kappa, 64);
      assert_true(f.low <= truth && truth <= f.high);
      assert_true(cores ? isnan(f.center) : f.low < f.center && f.center < f.high);
    }
    scaling_free(&s);
  }
}

/*
 * Two threads do twice the work of one that is known to a fifth. The rate on eight cores is known
 * no better, but nobody forecasts more than eight times one thread.
 */
static void what_one_thread_is_not_known_to_is_no_scaling(void **state) {
  struct folder *p = *state;
  struct scaling s;
  struct scaling_forecast at;
  static const double one[] = {80, 120, 100, 90, 110, 85}, two[] = {50, 60, 40, 45, 55, 42};
  FILE *f = create(p, "detail.txt");
  for (int r = 0; r < 6; r++)
    fprintf(f,
            "# run beef round %d seq 1\nBenchmarkCase/strategy=a-1\t1\t%g ns/op\n"
            "# run beef round %d seq 2\nBenchmarkCase/strategy=a-2\t1\t%g ns/op\n",
            r + 1, one[r], r + 1, two[r]);
  assert_int_equal(fclose(f), 0);
  write_json(p, CORES(2), "");
  model(p, 0, &s);
  assert_true(scaling_forecast(&s.curves[0], 8, &at));
  assert_int_equal(at.model, SCALING_PAIR);
  assert_true(at.high * s.curves[0].all.pair.one > 8.2);
  assert_near(at.speed_up.high, 8, 1e-9);
  assert_true(at.speed_up.low < 7);
  scaling_free(&s);
}

/*
 * Without noise all draws are alike, and what is left of the interval is the law's own error: the
 * factor by which it misses its worst point.
 */
static void a_law_is_as_wrong_beyond_its_points_as_at_them(void **state) {
  struct folder *p = *state;
  struct scaling s;
  struct scaling_forecast at;
  static const double ns[] = {100, 56, 28, 17}; /* no law: the second is above any line */
  FILE *f = create(p, "detail.txt");
  for (int r = 1; r <= 4; r++)
    for (int i = 0; i < 4; i++)
      fprintf(f, "# run beef round %d seq %d\nBenchmarkCase/strategy=a-%d\t1\t%g ns/op\n", r, r,
              1 << i, ns[i]);
  assert_int_equal(fclose(f), 0);
  write_json(p, CORES(8), "");
  model(p, 0, &s);
  const struct scaling_curve *c = &s.curves[0];
  assert_true(c->misfit > 0.02);
  assert_true(scaling_forecast(c, 32, &at));
  double rate = law(1 / c->all.usl.lambda, c->sigma.value, c->kappa.value, 32);
  assert_near(at.center, rate, 1e-9);
  assert_near(at.low, rate / (1 + c->misfit), 1e-9);
  assert_near(at.high, rate * (1 + c->misfit), 1e-9);
  scaling_free(&s);
}

/* Median ns/op of one and more threads, without noise. */
struct steady {
  const char *strategy;
  double ns[4]; /* at 1, 2, 4 and 8 threads; 0: not measured */
};

static void write_steady(const struct folder *p, const struct steady *list, size_t n, int rounds) {
  FILE *f = create(p, "detail.txt");
  for (size_t i = 0; i < n; i++)
    for (int k = 0; k < 4; k++)
      for (int r = 1; r <= rounds && list[i].ns[k] > 0; r++)
        fprintf(f, "# run beef round %d seq %d\nBenchmarkCase/strategy=%s-%d\t1000\t%.9g ns/op\n",
                r, r, list[i].strategy, 1 << k, list[i].ns[k]);
  assert_int_equal(fclose(f), 0);
}

/* --- run.json and scores. */

static const char *capture(struct folder *p, FILE **memory) {
  static size_t size;
  if (!*memory) {
    free(p->text);
    p->text = NULL;
    *memory = open_memstream(&p->text, &size);
    assert_non_null(*memory);
    return NULL;
  }
  assert_int_equal(fclose(*memory), 0);
  return p->text;
}

static void assert_holds(const char *text, const char *part) {
  if (!strstr(text, part))
    fail_msg("\"%s\" is not in:\n%s", part, text);
}

static void record(struct folder *p, unsigned cores, unsigned threads) {
  struct scaling s;
  struct error e;
  model(p, cores, &s);
  if (!scaling_record(&s, threads, &e))
    fail_msg("%s", e.text);
  scaling_free(&s);
}

static void forecasts_are_kept_in_run_json(void **state) {
  struct folder *p = *state;
  write_laws(p, 32, 8);
  write_json(p, CORES(32), ", \"started\": 1796061600");
  record(p, 2, 32);
  record(p, 0, 64);
  record(p, 2, 32); /* replaces the first */
  const struct rundata *d = load(p);
  const json_t *list = rundata_fact(d, "forecasts"), *last = json_array_get(list, 3);
  assert_int_equal(json_array_size(list), 4);
  assert_true(rundata_fact_number(d, "started", 0) == 1796061600);
  assert_string_equal(json_string_value(json_object_get(last, "case")), "Case");
  assert_string_equal(json_string_value(json_object_get(last, "strategy")), "pool");
  assert_string_equal(json_string_value(json_object_get(last, "model")), "two-point");
  assert_int_equal(json_integer_value(json_object_get(last, "threads")), 32);
  assert_true(json_number_value(json_object_get(last, "low_ops_s")) <= 32 / 50e-9);
  assert_int_equal(json_array_size(json_object_get(last, "from_threads")), 2);
  const json_t *of_law = json_array_get(list, 0);
  assert_string_equal(json_string_value(json_object_get(of_law, "model")), "usl");
  assert_int_equal(json_array_size(json_object_get(of_law, "from_threads")), 6);
}

/* 100 ns and 5 more for the second thread: four have 115 at best, 130 at worst. */
static void a_record_says_what_was_forecast_from_what(void **state) {
  struct folder *p = *state;
  static const struct steady list[] = {{"a", {100, 52.5, 30}}};
  write_steady(p, list, 1, 4);
  write_json(p, CORES(4), "");
  record(p, 0, 4);
  const json_t *entry = json_array_get(rundata_fact(load(p), "forecasts"), 0);
  assert_near(json_number_value(json_object_get(entry, "low_ops_s")), 4 / 130e-9, 1e-6);
  assert_near(json_number_value(json_object_get(entry, "high_ops_s")), 4 / 115e-9, 1e-6);
  assert_true(json_is_null(json_object_get(entry, "center_ops_s")));
  assert_true(json_is_false(json_object_get(entry, "lock")));
  const json_t *from = json_object_get(entry, "from_threads"); /* four threads are no part of it */
  assert_int_equal(json_array_size(from), 2);
  assert_int_equal(json_integer_value(json_array_get(from, 1)), 2);
  /* A fitted law has a value of its own. */
  static const struct steady fitted[] = {{"a", {100, 55, 32.5, 21.25}}}; /* sigma 0.1 */
  write_steady(p, fitted, 1, 4);
  write_json(p, CORES(8), "");
  record(p, 0, 16);
  entry = json_array_get(rundata_fact(load(p), "forecasts"), 0);
  assert_near(json_number_value(json_object_get(entry, "center_ops_s")), 16 / 250e-9, 1e-6);
}

/* The answer to forecasts of a_record_says_what_was_forecast_from_what: 30.8M to 34.8M. */
static void scores_say_how_far_off_and_which_order(void **state) {
  struct folder *p = *state;
  struct error e;
  FILE *out = NULL;
  void *other_state = NULL;
  static const struct steady list[] = {
      {"above", {100, 52.5}}, {"over", {100, 52.5}}, {"below", {100, 52.5}}, {"in", {100, 52.5}},
      {"near", {100, 52.5}},  {"slow", {100, 90}},   {"gone", {100, 90}}};
  write_steady(p, list, 7, 4);
  write_json(p, CORES(2), "");
  record(p, 0, 4);
  record(p, 0, 8);
  load(p);
  assert_int_equal(make_place(&other_state), 0);
  struct folder *o = other_state;
  FILE *f = create(o, "detail.txt");
  static const struct {
    const char *strategy;
    double ns; /* at four threads; 32.5 ns are the forecast's low end, 28.75 its high one */
  } answers[] = {{"above", 20}, {"below", 50},  {"in", 30},
                 {"near", 33},  {"over", 28.5}, {"slow", 25}};
  for (int r = 1; r <= 8; r++)
    for (size_t i = 0; i < 6; i++)
      fprintf(f, "# run cafe round %d seq %d\nBenchmarkCase/strategy=%s-4\t1\t%.9g ns/op\n", r, r,
              answers[i].strategy, answers[i].ns * (1 + (r - 4.5) / 100));
  fprintf(
      f, "BenchmarkCase/strategy=in-8\t1\t17 ns/op\nBenchmarkCase/strategy=above-8\t1\t17 ns/op\n");
  assert_int_equal(fclose(f), 0);
  write_json(o, CORES(4), "");
  load(o);
  capture(p, &out);
  assert_true(scaling_score(&p->data, &o->data, out, &e));
  const char *text = capture(p, &out);
  assert_holds(text, "above by +44 %\n");  /* 50.0M of 34.8M */
  assert_holds(text, "below by -35 %\n");  /* 20.0M of 30.8M */
  assert_holds(text, "touches by -2 %\n"); /* 30.3M of 30.8M, which its interval holds */
  assert_holds(text, "touches by +1 %\n"); /* 35.1M of 34.8M, likewise */
  assert_holds(text, "30.8M to 34.8M     33.3M           inside\n");
  assert_holds(text, "1 of 6 inside their interval\n");
  /*
   * Of 15 pairs five have "slow" in them, which was to be slower than the others. It was faster
   * than "below", "in", "near" and "over", and slower than "above". Eight threads had no core each.
   */
  assert_holds(text,
               "of 15 pairs of strategies the forecast told 5 apart; 1 right, 4 wrong, 0 not");
  assert_int_equal(remove_place(&other_state), 0);
}

/* What stands in different cases, or at different thread counts, is no pair. */
static void only_what_was_compared_is_a_pair(void **state) {
  struct folder *p = *state;
  struct error e;
  FILE *out = NULL, *f = create(p, "detail.txt");
  for (int i = 0; i < 2; i++)
    for (int k = 0; k < 2; k++)
      for (int n = 1; n <= 8; n *= 2)
        for (int r = 1; r <= 4; r++)
          fprintf(f, "# run beef round %d seq %d\nBenchmarkCase/%c/strategy=%c-%d\t1\t%d ns/op\n",
                  r, r, 'x' + i, 'a' + k, n, (k + 1) * 1000 / n);
  assert_int_equal(fclose(f), 0);
  write_json(p, CORES(8), "");
  record(p, 2, 4);
  record(p, 2, 8);
  load(p);
  capture(p, &out);
  assert_true(scaling_score(&p->data, &p->data, out, &e));
  assert_holds(capture(p, &out), "order: of 4 pairs of strategies the forecast told 4 apart");
}

/* The run holds 32 threads on 32 cores; its points of up to two, and of up to eight, forecast it.
 */
static void a_run_scores_what_its_first_points_forecast(void **state) {
  struct folder *p = *state;
  struct error e;
  FILE *out = NULL;
  write_laws(p, 32, 8);
  write_json(p, CORES(32), "");
  record(p, 2, 32);
  load(p);
  capture(p, &out);
  assert_true(scaling_score(&p->data, &p->data, out, &e));
  assert_holds(capture(p, &out), "2 of 2 inside their interval");
  record(p, 8, 32);
  load(p);
  out = NULL;
  capture(p, &out);
  assert_true(scaling_score(&p->data, &p->data, out, &e));
  const char *text = capture(p, &out);
  assert_holds(text, "2 of 2 inside their interval");
  assert_holds(text, "of 1 pair of strategies the forecast told 1 apart; 1 right, 0 wrong");
}

/* malloc as measured here has another law: at 32 threads a tenth of what was forecast at least. */
static void a_miss_is_called_one(void **state) {
  struct folder *p = *state;
  struct error e;
  FILE *out = NULL;
  void *other_state = NULL;
  write_laws(p, 8, 8);
  write_json(p, CORES(8), "");
  record(p, 0, 32);
  load(p);
  assert_int_equal(make_place(&other_state), 0);
  struct folder *o = other_state;
  FILE *f = create(o, "detail.txt");
  write_cell(f, &(struct law_of){"malloc", 100, 0.9, 0.1}, 32, 8);
  assert_int_equal(fclose(f), 0);
  write_json(o, CORES(32), "");
  load(o);
  capture(p, &out);
  assert_true(scaling_score(&p->data, &o->data, out, &e));
  const char *text = capture(p, &out);
  assert_holds(text, "below by -");
  assert_holds(text, "0 of 1 inside");
  assert_int_equal(remove_place(&other_state), 0);
}

static void what_cannot_be_scored_is_said(void **state) {
  struct folder *p = *state;
  struct error e;
  write_laws(p, 32, 8);
  write_json(p, CORES(4), "");
  load(p);
  assert_false(scaling_score(&p->data, &p->data, stdout, &e));
  assert_int_equal(e.status, EXIT_NOTHING);
  assert_holds(e.text, "holds no forecasts");
  record(p, 0, 32);
  load(p);
  assert_false(scaling_score(&p->data, &p->data, stdout, &e));
  assert_int_equal(e.status, EXIT_NOTHING);
  assert_holds(e.text, "had 4 cores");
  record(p, 0, 48);
  json_array_remove((json_t *)rundata_fact(load(p), "forecasts"), 0);
  json_array_remove((json_t *)rundata_fact(&p->data, "forecasts"), 0);
  assert_false(scaling_score(&p->data, &p->data, stdout, &e));
  assert_holds(e.text, "none of the cells");
}

static void nothing_to_forecast_from_changes_no_file(void **state) {
  struct folder *p = *state;
  struct scaling s;
  struct error e;
  write_laws(p, 32, 2);
  write_json(p, CORES(32), "");
  model(p, 0, &s);
  assert_false(scaling_record(&s, 64, &e));
  assert_int_equal(e.status, EXIT_NOTHING);
  scaling_free(&s);
  assert_null(rundata_fact(load(p), "forecasts"));
}

/* --- Text. */

/*
 * Times of the_lock_is_taken_out_of_the_two_thread_point, as counters of a run. One thread takes
 * the lock a third time, which is not what two threads pay for.
 */
static void write_lock(const struct folder *p, bool holds) {
  FILE *f = create(p, "detail.txt");
  for (int r = 1; r <= 6; r++)
    for (int n = 1; n <= 2; n++) {
      fprintf(f, "# run beef round %d seq %d\nBenchmarkCase/strategy=locked-%d\t1000\t", r, r, n);
      fprintf(f, "%.9g ns/op\t%d lockacq/op\t%g contended/op\t%g lockwait-ns/op",
              (n == 1 ? 200 : 125) * noise(r, n), n == 1 ? 3 : 2, n == 1 ? 0 : 0.5,
              n == 1 ? 0.0 : 10);
      if (holds)
        fprintf(f, "\t%d lockhold-ns/op", n == 1 ? 20 : 40);
      fputc('\n', f);
    }
  assert_int_equal(fclose(f), 0);
  write_json(p, CORES(2), "");
}

static const char *show(struct folder *p, unsigned forecast) {
  struct error e;
  FILE *out = NULL;
  load(p);
  capture(p, &out);
  if (!scaling_print(&p->data, NULL, forecast, out, &e))
    fail_msg("%s", e.text);
  return capture(p, &out);
}

static void a_lock_shows_its_knee_and_what_it_met(void **state) {
  struct folder *p = *state;
  struct scaling s;
  write_lock(p, true);
  model(p, 0, &s);
  const struct scaling_curve *c = &s.curves[0];
  assert_near(c->saturation.value, 5.5, 0.02); /* (90 + 20) / 20 */
  assert_near(c->all.parts.lock.service, 20, 1e-9);
  assert_near(c->collisions, 0.25, 1e-9);
  scaling_free(&s);
  const char *text = show(p, 32);
  assert_holds(text, "lock + two points");
  assert_holds(text, "25 %");
  assert_holds(text, "does not scale");
}

/*
 * One strategy's two points with a lock, without noise. two: ns/op at two threads; `missing`: the
 * round without holds.
 */
static void write_named_lock(const struct folder *p, const char *name, double two, int missing) {
  FILE *f = create(p, "detail.txt");
  for (int r = 1; r <= 6; r++)
    for (int n = 1; n <= 2; n++)
      fprintf(f,
              "# run beef round %d seq %d\nBenchmarkCase/%s-%d\t1000\t%g ns/op\t2 lockacq/op\t"
              "0.5 contended/op\t10 lockwait-ns/op%s",
              r, r, name, n, n == 1 ? 200 : two,
              r == missing ? "\n"
              : n == 1     ? "\t20 lockhold-ns/op\n"
                           : "\t40 lockhold-ns/op\n");
  assert_int_equal(fclose(f), 0);
  write_json(p, CORES(2), "");
}

/* Also where builds are the columns and strategies part of the rows. */
static void locks_that_spin_are_known_by_their_option(void **state) {
  struct folder *p = *state;
  static const struct {
    const char *name;
    bool spins;
  } locks[] = {{"strategy=l", false},
               {"strategy=l:lock=adaptive", false},
               {"strategy=l:lock=ticket", true},
               {"strategy=l:lock=mcs", true}};
  for (size_t i = 0; i < 4; i++) {
    struct scaling s;
    write_named_lock(p, locks[i].name, 125, 0);
    model(p, 0, &s);
    assert_int_equal(s.curves[0].all.parts.spins, locks[i].spins);
    scaling_free(&s);
  }
  FILE *f = create(p, "detail.txt");
  for (int b = 0; b < 2; b++)
    fprintf(f,
            "BenchmarkCase/strategy=l:lock=mcs/build=%c-1\t1\t200 ns/op\n"
            "BenchmarkCase/strategy=l:lock=mcs/build=%c-2\t1\t125 ns/op\n",
            'a' + b, 'a' + b);
  assert_int_equal(fclose(f), 0);
  struct scaling s;
  model(p, 0, &s);
  assert_int_equal(s.count, 2);
  assert_true(s.curves[1].all.parts.spins);
  scaling_free(&s);
}

/* Without noise every draw is the run itself, so the interval is the model's own. */
static void draws_of_a_lock_all_go_through_its_model(void **state) {
  struct folder *p = *state;
  struct scaling s;
  struct scaling_forecast f;
  write_named_lock(p, "strategy=l", 125, 0);
  model(p, 0, &s);
  const struct scaling_curve *c = &s.curves[0];
  struct forecast truth = predict(&c->all.pair, 16);
  assert_true(scaling_forecast(c, 16, &f));
  assert_near(f.low, truth.low, 1e-9);
  assert_near(f.high, truth.high, 1e-9);
  assert_near(c->saturation.low, 5.5, 1e-9);
  assert_near(c->saturation.high, 5.5, 1e-9);
  scaling_free(&s);
}

/* A unit that one sample lacks cannot be drawn by rounds. */
static void holds_that_one_round_lacks_make_no_lock(void **state) {
  struct folder *p = *state;
  struct scaling s;
  write_named_lock(p, "strategy=l", 125, 3);
  model(p, 0, &s);
  assert_false(s.curves[0].all.parts.has_lock);
  assert_non_null(s.curves[0].why_no_lock);
  scaling_free(&s);
}

static void holds_that_were_not_measured_are_said(void **state) {
  struct folder *p = *state;
  write_lock(p, false);
  const char *text = show(p, 32);
  assert_holds(text, "no lock model for 1 curve: how long its lock is held was not measured");
  assert_holds(text, "two points");
}

static void refusals_and_orders_are_in_words(void **state) {
  struct folder *p = *state;
  write_laws(p, 32, 8);
  write_json(p, CORES(2), "");
  const char *text = show(p, 4);
  assert_holds(text, "  no fit of the law: 2 thread counts on 2 cores; the law needs 4\n");
  assert_holds(text, "not decided on this machine");
  assert_holds(text, "32*");
  assert_holds(text, "pool before malloc");
  write_json(p, CORES(32), "");
  assert_holds(show(p, 0), "scalability law, fitted on cores");
}

/*
 * Two threads lose x of a thread: four have 4 / (1 + 3x) of one at best and 4 / (1 + 6x) at worst,
 * which is 3.57 to 3.77, 3.08 to 3.48, 2.94 to 3.39, 1.82 to 2.5 and 1.18 to 1.82.
 */
static void words_and_order_follow_from_both_ends(void **state) {
  struct folder *p = *state;
  static const struct steady list[] = {
      {"a", {100, 51}}, {"b", {100, 52.5}}, {"c", {100, 53}}, {"d", {100, 60}}, {"e", {100, 70}}};
  write_steady(p, list, 5, 4);
  write_json(p, CORES(2), "");
  const char *text = show(p, 4);
  assert_holds(
      text, "    a  35.7M to 37.7M       3.57 to 3.77  two points                       scales\n"
            "    b  30.8M to 34.8M       3.08 to 3.48  two points  not decided on this machine\n"
            "    c  29.4M to 33.9M       2.94 to 3.39  two points  not decided on this machine\n"
            "    d  18.2M to 25.0M        1.82 to 2.5  two points  not decided on this machine\n"
            "    e  11.8M to 18.2M       1.18 to 1.82  two points               does not scale\n");
  assert_holds(text, "    a before b, c, d, e\n    b before d, e\n    c before d, e\n");
  assert_null(strstr(text, "b before c"));
  assert_null(strstr(text, "[?]"));
}

static void a_fitted_law_shows_its_error_and_no_pair(void **state) {
  struct folder *p = *state;
  struct scaling s;
  char expected[60];
  static const struct steady list[] = {{"a", {100, 56, 28, 17}}, {"b", {100, 60}}};
  write_steady(p, list, 1, 4);
  write_json(p, CORES(8), "");
  model(p, 0, &s);
  snprintf(expected, sizeof expected, "  %.1f %%\n", 100 * s.curves[0].misfit);
  scaling_free(&s);
  const char *text = show(p, 0);
  assert_holds(text, "    a  10.0M  17.9M  35.7M  58.8M\n"); /* 1, 2, 4, 8 threads a 100 .. 17 ns */
  assert_holds(text, expected);
  assert_null(strstr(text, "not fitted"));
  assert_null(strstr(text, "no fit"));
  /* Amdahl's law has no peak: 100 (1 + 0.1 (N - 1)) / N. */
  static const struct steady amdahl[] = {{"a", {100, 55, 32.5, 21.25}}};
  write_steady(p, amdahl, 1, 4);
  assert_holds(show(p, 0), "  none [none, none]  ");
  /* One of two curves is refused, by name. */
  write_steady(p, list, 2, 4);
  text = show(p, 0);
  assert_holds(text,
               "  no fit of the law for 1 of 2 curves (Case b): 2 thread counts on 8 cores; ");
  assert_holds(text, "    b             1.67   0.2 [0.2, 0.2]\n"); /* 100 / 60; 120 / 100 - 1 */
}

static void rounds_that_do_not_suffice_are_said(void **state) {
  struct folder *p = *state;
  static const struct steady one[] = {{"a", {100, 60}}};
  write_steady(p, one, 1, 2);
  write_json(p, CORES(2), "");
  const char *text = show(p, 8);
  assert_holds(text, "  0.2 [?]\n");
  assert_holds(text, "  [?]: no interval and no forecast of fewer than 3 rounds\n");
  assert_holds(text, "no forecast: needs one and two threads");
}

/* Flags count on cores only: the one at four threads is not among them. */
static void disturbed_samples_on_cores_are_counted(void **state) {
  struct folder *p = *state;
  FILE *f = create(p, "detail.txt");
  static const char *const flags[] = {"foreign-cpu", "throttled", "host-speed", "foreign-cpu"};
  static const int threads[] = {1, 2, 2, 4};
  for (int i = 0; i < 4; i++)
    fprintf(f, "# run beef round 1 seq %d\n# flag %s x\nBenchmarkCase/strategy=a-%d\t1\t9 ns/op\n",
            i, flags[i], threads[i]);
  assert_int_equal(fclose(f), 0);
  write_json(p, CORES(2), "");
  assert_holds(show(p, 0), "  2 of 3 samples on cores had to share their CPUs or were throttled");
}

/*
 * S = 20 and Z = 90 per acquisition, two an op. Bounds: 2 / (90 + 40) and 2 / 110, halved. The
 * recursion: R(2) = 20 (1 + 20 / 110), 2 / (90 + R) halved. With W the wait of 5 ns is met under
 * both rules: 2 / (90 + 20 + 5), halved. Measured: 2 / 250. An op takes 50 ns more, 30 of them are
 * the lock's.
 */
static void lock_tables_show_what_follows_from_the_counters(void **state) {
  struct folder *p = *state;
  write_named_lock(p, "strategy=l", 125, 0);
  const char *text = show(p, 0);
  assert_holds(text, "    l        2  7.69M–9.09M  8.80M   8.70M     8.00M  +10 %    +9 %\n");
  assert_holds(text, "    l  20.0ns   90.0ns  5.5 [5.5, 5.5]");
  assert_holds(text, "      25 %   60 %\n");
  assert_null(strstr(text, "none"));
  /* Where two threads cost no more, there is nothing to have a share of. */
  write_named_lock(p, "strategy=l", 100, 0);
  assert_holds(show(p, 0), "      25 %      -\n");
}

/* Two threads wait 150 ns each time, longer than the other's whole cycle of 110. */
static void waits_that_barging_cannot_explain_are_said(void **state) {
  struct folder *p = *state;
  FILE *f = create(p, "detail.txt");
  for (int r = 1; r <= 4; r++)
    for (int n = 1; n <= 4; n *= 2)
      fprintf(f,
              "# run beef round %d seq %d\nBenchmarkCase/strategy=l-%d\t1\t%g ns/op\t1 lockacq/op\t"
              "1 contended/op\t%d lockwait-ns/op\t20 lockhold-ns/op\n",
              r, r, n,
              n == 1   ? 110
              : n == 2 ? 130
                       : 140.0,
              n == 1 ? 0 : 150);
  assert_int_equal(fclose(f), 0);
  write_json(p, CORES(4), "");
  const char *text = show(p, 0);
  assert_holds(text, "  none  ");
  /* At four threads the rules differ, and the slower one comes first. */
  struct lock_times times = {.service = 20, .think = 90};
  struct lock_load in_order, barging;
  double handoff;
  char low[GRID_VALUE], high[GRID_VALUE], range[3 * GRID_VALUE];
  assert_true(lockmodel_handoff(&times, LOCK_IN_ORDER, 150, &handoff));
  times.handoff = handoff;
  assert_true(lockmodel_solve(&times, LOCK_IN_ORDER, 4, &in_order));
  assert_true(lockmodel_handoff(&times, LOCK_BARGING, 150, &handoff));
  times.handoff = handoff;
  assert_true(lockmodel_solve(&times, LOCK_BARGING, 4, &barging));
  grid_value(GRID_COUNT, 1e9 * fmin(in_order.rate, barging.rate), low);
  grid_value(GRID_COUNT, 1e9 * fmax(in_order.rate, barging.rate), high);
  snprintf(range, sizeof range, "%s–%s", low, high);
  assert_holds(text, range);
}

/* --- The command. */

/* Its exit status, with what it prints on both streams thrown away. */
static int command(const char *const *arguments) {
  char *argv[10] = {"scaling"};
  int argc = 1, out = dup(STDOUT_FILENO), err = dup(STDERR_FILENO);
  int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  while (*arguments)
    argv[argc++] = (char *)*arguments++;
  fflush(stdout);
  assert_true(out >= 0 && err >= 0 && nowhere >= 0);
  dup2(nowhere, STDOUT_FILENO);
  dup2(nowhere, STDERR_FILENO);
  int status = scaling_main(argc, argv);
  fflush(stdout);
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  close(out);
  close(err);
  close(nowhere);
  return status;
}
#define COMMAND(...) command((const char *const[]){__VA_ARGS__, NULL})

static void wrong_command_lines_are_usage_errors(void **state) {
  (void)state;
  assert_int_equal(COMMAND("--forecast", "0", "x"), EXIT_USAGE);
  assert_int_equal(COMMAND("--forecast", "2000", "x"), EXIT_USAGE);
  assert_int_equal(COMMAND("--forecast", "8x", "x"), EXIT_USAGE);
  assert_int_equal(COMMAND("--forecast"), EXIT_USAGE);
  assert_int_equal(COMMAND("--cores", "-1", "x"), EXIT_USAGE);
  assert_int_equal(COMMAND("x", "--score"), EXIT_USAGE);
  assert_int_equal(COMMAND("--sore", "x"), EXIT_USAGE);
  assert_int_equal(COMMAND("x", "y"), EXIT_USAGE);
  assert_int_equal(COMMAND("--no-plots"), EXIT_USAGE);
  assert_int_equal(COMMAND("--help"), EXIT_DONE);
  assert_int_equal(COMMAND("/nonexistent/run"), EXIT_INPUT);
}

static void the_command_forecasts_draws_and_scores(void **state) {
  struct folder *p = *state;
  char path[200], line[300];
  unsigned points = 0, fits = 0, forecasts = 0;
  write_laws(p, 32, 8);
  write_json(p, CORES(32), "");
  assert_int_equal(COMMAND("--score", p->folder, p->folder), EXIT_NOTHING);
  assert_int_equal(COMMAND("--cores", "2", "--forecast", "32", p->folder), EXIT_DONE);
  assert_int_equal(COMMAND(p->folder, "--score", p->folder), EXIT_DONE);
  snprintf(path, sizeof path, "%s/plots/scaling.tsv", p->folder);
  FILE *f = fopen(path, "r");
  assert_non_null(f);
  while (fgets(line, sizeof line, f)) {
    points += strstr(line, "\tpoint\n") != NULL;
    fits += strstr(line, "\tfit\n") != NULL;
    forecasts += strstr(line, "\tforecast\n") != NULL;
  }
  fclose(f);
  /* Two series: one and two threads, the line between them, forecasts for 2, 4 .. 32. */
  assert_int_equal(points, 4);
  assert_int_equal(fits, 4);
  assert_int_equal(forecasts, 10);
}

static size_t occurrences(const char *text, const char *part) {
  size_t n = 0;
  for (; (text = strstr(text, part)) != NULL; text++)
    n++;
  return n;
}

/* Whole lines of plots/scaling.tsv. pool needs 50 ns alone, 49.65 to 50.2; two threads 25 each. */
static void the_plot_has_rates_with_their_bounds(void **state) {
  struct folder *p = *state;
  char path[200], text[1 << 14];
  write_laws(p, 32, 8);
  FILE *f = fopen((snprintf(path, sizeof path, "%s/detail.txt", p->folder), path), "a");
  assert_non_null(f);
  fputs("BenchmarkOther/strategy=pool-1\t1\t50 ns/op\n", f); /* no curve */
  assert_int_equal(fclose(f), 0);
  write_json(p, CORES(32), "");
  snprintf(path, sizeof path, "%s/plots/scaling.tsv", p->folder);
  static const char *const lines[2][4] = {
      {"\nCase\tpool\t1\t20000000\t19920318.7\t20140986.9\tpoint\n", "\nCase\tpool\t4\t80000000\t",
       "\tover\n", "\nCase\tpool\t2\t40000000\t\t\tfit\n"},
      {"\nCase\tpool\t32\t640000000\t", "\nCase\tpool\t1\t", "\nCase\tpool\t32\t",
       "\nCase\tmalloc\t32\t"}};
  for (int i = 0; i < 2; i++) {
    assert_int_equal(i == 0 ? COMMAND("--cores", "2", p->folder) : COMMAND(p->folder), EXIT_DONE);
    f = fopen(path, "r");
    assert_non_null(f);
    text[fread(text, 1, sizeof text - 1, f)] = '\0';
    fclose(f);
    for (int k = 0; k < 4; k++)
      assert_holds(text, lines[i][k]);
    assert_null(strstr(text, "Other"));
  }
  /* The law's line ends where the points do, and begins with one thread. */
  assert_int_equal(occurrences(text, "\tfit\n"), 2 * 25);
  assert_int_equal(occurrences(text, "\nCase\tpool\t1\t"), 2);
  assert_int_equal(occurrences(text, "\nCase\tpool\t32\t"), 2);
  assert_null(strstr(text, "over"));
}

#define RUN_TEST_IN_PLACE(f) cmocka_unit_test_setup_teardown(f, make_place, remove_place)

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(growth_is_serial_at_best_and_pairwise_at_worst),
      cmocka_unit_test(every_law_lies_in_the_forecast_of_its_first_two_points),
      cmocka_unit_test(superlinear_points_do_not_promise_more_than_linear),
      cmocka_unit_test(the_lock_is_taken_out_of_the_two_thread_point),
      cmocka_unit_test(simulated_locks_lie_in_the_forecast_of_two_threads),
      cmocka_unit_test(the_rest_of_a_lock_goes_both_ways),
      cmocka_unit_test(a_convoy_that_breaks_up_turns_the_ends_around),
      cmocka_unit_test(an_op_of_two_acquisitions_is_half_as_fast),
      cmocka_unit_test(a_futex_has_a_wider_interval_than_a_spinning_lock),
      RUN_TEST_IN_PLACE(the_law_of_a_run_is_found_with_its_interval),
      RUN_TEST_IN_PLACE(points_beyond_the_cores_enter_no_model),
      RUN_TEST_IN_PLACE(a_quota_leaves_fewer_cores),
      RUN_TEST_IN_PLACE(what_is_no_core_a_thread_is_refused),
      RUN_TEST_IN_PLACE(hardware_threads_are_cores_where_each_core_has_one),
      RUN_TEST_IN_PLACE(points_have_the_interval_of_their_median),
      RUN_TEST_IN_PLACE(many_thread_counts_are_no_harm),
      RUN_TEST_IN_PLACE(noisy_points_weigh_little),
      RUN_TEST_IN_PLACE(rounds_of_two_runs_are_not_the_same),
      RUN_TEST_IN_PLACE(curves_of_some_cases_can_be_kept),
      RUN_TEST_IN_PLACE(bounds_and_smaller_teams_are_no_points),
      RUN_TEST_IN_PLACE(two_rounds_give_no_interval_and_no_forecast),
      RUN_TEST_IN_PLACE(figures_do_not_change_from_call_to_call),
      RUN_TEST_IN_PLACE(forecasts_hold_what_the_laws_bring),
      RUN_TEST_IN_PLACE(what_one_thread_is_not_known_to_is_no_scaling),
      RUN_TEST_IN_PLACE(a_law_is_as_wrong_beyond_its_points_as_at_them),
      RUN_TEST_IN_PLACE(forecasts_are_kept_in_run_json),
      RUN_TEST_IN_PLACE(a_record_says_what_was_forecast_from_what),
      RUN_TEST_IN_PLACE(scores_say_how_far_off_and_which_order),
      RUN_TEST_IN_PLACE(only_what_was_compared_is_a_pair),
      RUN_TEST_IN_PLACE(a_run_scores_what_its_first_points_forecast),
      RUN_TEST_IN_PLACE(a_miss_is_called_one),
      RUN_TEST_IN_PLACE(what_cannot_be_scored_is_said),
      RUN_TEST_IN_PLACE(nothing_to_forecast_from_changes_no_file),
      RUN_TEST_IN_PLACE(a_lock_shows_its_knee_and_what_it_met),
      RUN_TEST_IN_PLACE(locks_that_spin_are_known_by_their_option),
      RUN_TEST_IN_PLACE(draws_of_a_lock_all_go_through_its_model),
      RUN_TEST_IN_PLACE(holds_that_one_round_lacks_make_no_lock),
      RUN_TEST_IN_PLACE(holds_that_were_not_measured_are_said),
      RUN_TEST_IN_PLACE(refusals_and_orders_are_in_words),
      RUN_TEST_IN_PLACE(words_and_order_follow_from_both_ends),
      RUN_TEST_IN_PLACE(a_fitted_law_shows_its_error_and_no_pair),
      RUN_TEST_IN_PLACE(rounds_that_do_not_suffice_are_said),
      RUN_TEST_IN_PLACE(disturbed_samples_on_cores_are_counted),
      RUN_TEST_IN_PLACE(lock_tables_show_what_follows_from_the_counters),
      RUN_TEST_IN_PLACE(waits_that_barging_cannot_explain_are_said),
      cmocka_unit_test(wrong_command_lines_are_usage_errors),
      RUN_TEST_IN_PLACE(the_command_forecasts_draws_and_scores),
      RUN_TEST_IN_PLACE(the_plot_has_rates_with_their_bounds),
  };
  return cmocka_run_group_tests_name("forecast", tests, NULL, NULL);
}
