/* Pairing, refusals, verdicts, families, the twin and doubts, on series made by hand. */
#include "comparer/analysis.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "tests/facts.h"

enum { MOST = 64 };

/* A series with its own memory. */
struct fixture {
  struct series series;
  double values[MOST], sorted[MOST];
  struct sample_origin origins[MOST];
};

static void fixture_set(struct fixture *f, const double *values, size_t n) {
  assert_in_range(n, 0, MOST);
  if (n > 0) {
    memcpy(f->values, values, n * sizeof *values);
    memcpy(f->sorted, values, n * sizeof *values);
  }
  facts_sort(f->sorted, n);
  memset(f->origins, 0, sizeof f->origins);
  f->series = (struct series){f->values, f->sorted, NULL, n};
}

/* Run 1, rounds 1 .. n, one process a sample, measured in file order. */
static void fixture_run(struct fixture *f, uint32_t run) {
  for (size_t i = 0; i < f->series.n; i++)
    f->origins[i] = (struct sample_origin){.run = run,
                                           .round = (uint32_t)i + 1,
                                           .seq = (uint32_t)i * 3 + run,
                                           .process = (uint32_t)i + 1};
  f->series.origins = f->origins;
}

static const struct analysis_options defaults = {
    .alpha = 0.05, .confidence = 0.95, .ci = true, .margin = 0.03, .better = BETTER_LESS};

static struct comparison compare(struct stats_work *w, const struct fixture *base,
                                 const struct fixture *other, const struct analysis_options *o) {
  struct comparison c;
  char why[200];
  if (!analysis_compare(w, &base->series, &other->series, o, &c, why, sizeof why))
    fail_msg("refused: %s", why);
  return c;
}

static void assert_close(double got, double want, double tolerance) {
  if (!(got == want || fabs(got - want) <= tolerance))
    fail_msg("got %.17g, want %.17g", got, want);
}

/* Ten values within 1 % of `center`. */
static void around(struct fixture *f, double center) {
  static const double percent[] = {-1, 0.4, -0.6, 0.9, 0.1, -0.2, 0.7, -0.8, 0.3, -0.4};
  double v[10];
  for (int i = 0; i < 10; i++)
    v[i] = center * (1 + percent[i] / 100);
  fixture_set(f, v, 10);
}

/* --- one comparison --- */

static void ratio_of_medians_without_ci(void **state) {
  struct fixture a, b;
  around(&a, 100);
  around(&b, 120);
  struct analysis_options o = defaults;
  o.ci = false;
  struct comparison c = compare(*state, &a, &b, &o);
  assert_close(c.base_center, 99.95, 1e-12); /* the mean of 99.8 and 100.1 */
  assert_close(c.delta.center, 0.2, 1e-12);
  assert_true(isnan(c.delta.lo) && isnan(c.shift.center) && isnan(c.smallest_effect));
  assert_close(c.p, 2 / 184756.0, 1e-18); /* 2 / C(20,10) */
  assert_true(c.p_exact && c.significant && !c.absolute);
  assert_int_equal(c.verdict, VERDICT_SLOWER);
  o.verdicts = true;
  c = compare(*state, &a, &b, &o);
  assert_true(isnan(c.delta.lo) && !isnan(c.shift.lo) && !isnan(c.smallest_effect));
}

static void verdicts_against_the_margin(void **state) {
  static const struct {
    double center, margin;
    enum better better;
    enum verdict verdict;
  } cases[] = {
      {101, 0.03, BETTER_LESS, VERDICT_SAME}, /* about +0.3 .. +1.7 %: same comes first */
      {101, 0.001, BETTER_LESS, VERDICT_SLOWER},      {120, 0.03, BETTER_LESS, VERDICT_SLOWER},
      {80, 0.03, BETTER_LESS, VERDICT_FASTER},        {120, 0.03, BETTER_MORE, VERDICT_FASTER},
      {80, 0.03, BETTER_MORE, VERDICT_SLOWER},        {80, 0.03, BETTER_UNKNOWN, VERDICT_FASTER},
      {100.2, 0.003, BETTER_LESS, VERDICT_UNDECIDED}, {100, 0, BETTER_LESS, VERDICT_UNDECIDED},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct fixture a, b;
    around(&a, 100);
    around(&b, cases[i].center);
    struct analysis_options o = defaults;
    o.margin = cases[i].margin;
    o.better = cases[i].better;
    struct comparison c = compare(*state, &a, &b, &o);
    if (c.verdict != cases[i].verdict)
      fail_msg("case %zu: verdict %d, interval %g .. %g", i, c.verdict, c.delta.lo, c.delta.hi);
  }
}

static void interval_is_relative_and_brackets_the_estimate(void **state) {
  struct fixture a, b;
  around(&a, 100);
  around(&b, 110);
  struct comparison c = compare(*state, &a, &b, &defaults);
  assert_close(c.delta.center, 0.1, 0.003);
  assert_true(c.delta.lo < 0.1 && c.delta.lo > 0.08 && c.delta.hi > 0.1 && c.delta.hi < 0.12);
  assert_true(c.shift.lo == c.delta.lo && c.shift.hi == c.delta.hi);
}

static void unbounded_interval_decides_nothing(void **state) {
  struct fixture a, b;
  fixture_set(&a, (double[]){100, 101, 102}, 3);
  fixture_set(&b, (double[]){200, 201, 202}, 3);
  struct comparison c = compare(*state, &a, &b, &defaults);
  assert_true(c.delta.lo == -INFINITY && c.delta.hi == INFINITY);
  assert_int_equal(c.verdict, VERDICT_UNDECIDED);
  assert_true(c.doubts & DOUBT_TOO_FEW); /* 2 / C(6,3) = 0.1 */
  assert_close(c.min_p, 0.1, 1e-16);
}

/*
 * Seven of eight 1s against seven of eight 2s: p = 2 (8 x 8 + 1) / C(16,8). A little above a shift
 * of 0 the test accepts, so the interval ends there, but 0 itself it rejects.
 */
static void an_interval_that_ends_at_zero_may_exclude_it(void **state) {
  struct fixture a, b;
  fixture_set(&a, (double[]){1, 1, 1, 1, 1, 1, 1, 2}, 8);
  fixture_set(&b, (double[]){1, 2, 2, 2, 2, 2, 2, 2}, 8);
  struct comparison c = compare(*state, &a, &b, &defaults);
  assert_close(c.p, 130 / 12870.0, 1e-16);
  assert_true(c.delta.lo == 0 && c.delta.center == 1);
  assert_int_equal(c.verdict, VERDICT_SLOWER);
  struct analysis_options o = defaults;
  o.confidence = 0.995; /* at this level 0 is accepted */
  assert_int_equal(compare(*state, &a, &b, &o).verdict, VERDICT_UNDECIDED);
}

static void zeros_are_compared_by_difference(void **state) {
  struct fixture a, b;
  fixture_set(&a, (double[]){0, 1, 2, 3, 4, 5}, 6);
  fixture_set(&b, (double[]){100, 101, 102, 103, 104, 105}, 6);
  struct comparison c = compare(*state, &a, &b, &defaults);
  assert_true(c.absolute && c.delta.center == 100);
  assert_int_equal(c.verdict, VERDICT_SLOWER);
  assert_true(isnan(c.smallest_effect));
  /* Without ci the medians 2.5 and 102.5 have a ratio, as benchstat prints it. */
  struct analysis_options o = defaults;
  o.ci = false;
  c = compare(*state, &a, &b, &o);
  assert_true(!c.absolute && c.delta.center == 40);
  fixture_set(&a, (double[]){0, 0, 0, 0}, 4);
  c = compare(*state, &a, &b, &o);
  assert_true(c.absolute && c.delta.center == 102.5);
}

/* One 0 among values of 100: the margin of 3 % is one of 3 in these units. */
static void margin_of_differences_is_relative_to_the_base(void **state) {
  struct fixture a, b;
  double v[10];
  around(&b, 101);
  around(&a, 100);
  memcpy(v, a.values, sizeof v);
  v[4] = 0;
  fixture_set(&a, v, 10);
  struct comparison c = compare(*state, &a, &b, &defaults);
  assert_true(c.absolute && c.delta.lo > 0 && c.delta.hi < 3);
  assert_int_equal(c.verdict, VERDICT_SAME);
}

static void constant_samples_are_the_same(void **state) {
  struct fixture a, b;
  fixture_set(&a, (double[]){7, 7, 7, 7}, 4);
  fixture_set(&b, (double[]){7, 7, 7, 7}, 4);
  struct comparison c = compare(*state, &a, &b, &defaults);
  assert_true(c.all_equal && c.p == 1 && c.delta.lo == 0 && c.delta.hi == 0);
  assert_int_equal(c.verdict, VERDICT_SAME);
}

static void exact_units_have_a_difference_and_no_p(void **state) {
  struct fixture a, b;
  struct analysis_options o = defaults;
  o.exact = true;
  fixture_set(&a, (double[]){800}, 1);
  fixture_set(&b, (double[]){700, 700}, 2);
  struct comparison c = compare(*state, &a, &b, &o);
  assert_true(isnan(c.p) && isnan(c.min_p) && c.significant && c.exact);
  assert_close(c.delta.center, -0.125, 1e-15);
  assert_true(c.delta.lo == c.delta.center && c.delta.hi == c.delta.center);
  assert_int_equal(c.verdict, VERDICT_FASTER);
  assert_int_equal(c.doubts, 0);
  c = compare(*state, &a, &a, &o);
  assert_false(c.significant);
  assert_int_equal(c.verdict, VERDICT_SAME);
  fixture_set(&a, (double[]){0}, 1);
  c = compare(*state, &a, &b, &o);
  assert_true(c.absolute && c.delta.center == 700);
  assert_int_equal(c.verdict, VERDICT_SLOWER);
}

static void nothing_to_compare_with(void **state) {
  struct fixture a, b;
  around(&a, 100);
  fixture_set(&b, NULL, 0);
  struct comparison c = compare(*state, &a, &b, &defaults);
  assert_int_equal(c.verdict, VERDICT_NONE);
  assert_true(isnan(c.p) && isnan(c.delta.center));
}

static void a_bound_leaves_its_side_open(void **state) {
  struct fixture a, b;
  around(&a, 100);
  around(&b, 50);
  fixture_run(&a, 1);
  fixture_run(&b, 1);
  b.origins[3].flags = SAMPLE_BOUND;
  struct comparison c = compare(*state, &a, &b, &defaults);
  assert_true(c.delta.hi == INFINITY && c.delta.lo < -0.4);
  assert_int_equal(c.verdict, VERDICT_UNDECIDED);
  c = compare(*state, &b, &a, &defaults);
  assert_true(c.delta.lo == -INFINITY && c.delta.hi > 0.9);
}

static void smallest_effect_and_samples_needed(void **state) {
  struct fixture a, b;
  fixture_set(&a, (double[]){100, 100 * exp(0.02), 100, 100 * exp(0.02)}, 4);
  fixture_set(&b, (double[]){100, 100 * exp(0.02), 100, 100 * exp(0.02), 100 * exp(0.01)}, 5);
  /* s^2 = (4 + 4) x 0.01^2 / 7; 2.80158 x 0.0106904 x sqrt(1.047 (1/4 + 1/5)) = 0.0205574 */
  struct comparison c = compare(*state, &a, &b, &defaults);
  assert_close(c.spread, sqrt(8e-4 / 7), 1e-12);
  assert_close(c.smallest_effect, expm1(0.0205574), 2e-6);
  struct analysis_options o = defaults;
  o.margin = 0.02; /* log 1.02 = 0.0198026: 2.094 x 7.84888 x 1.142857e-4 / 3.92144e-4 = 4.79 */
  assert_int_equal(compare(*state, &a, &b, &o).needed, 5);
  o.margin = 0.1; /* 0.21 by that formula, but below 4 + 4 no p reaches 0.05 */
  assert_int_equal(compare(*state, &a, &b, &o).needed, 4);
  o.margin = 0;
  assert_int_equal(compare(*state, &a, &b, &o).needed, 0);
  o.alpha = 0.01; /* 2 / C(9,4) = 0.0159: nothing can be seen */
  assert_true(compare(*state, &a, &b, &o).smallest_effect == INFINITY);
}

/* --- pairs --- */

static const struct analysis_options *paired_options(void) {
  static struct analysis_options o;
  o = defaults;
  o.paired = true;
  return &o;
}

/* Rounds that double from one to the next: unpaired nothing shows, paired each is 10 % slower. */
static void pairs_see_through_the_drift(void **state) {
  struct fixture a, b;
  double x[8], y[8];
  for (int i = 0; i < 8; i++) {
    x[i] = ldexp(100, i);
    y[i] = x[i] * (1.1 + 0.001 * i);
  }
  fixture_set(&a, x, 8);
  fixture_set(&b, y, 8);
  fixture_run(&a, 1);
  fixture_run(&b, 1);
  struct comparison c = compare(*state, &a, &b, &defaults);
  assert_true(c.p > 0.5);
  c = compare(*state, &a, &b, paired_options());
  assert_int_equal(c.pairs, 8);
  assert_int_equal(c.incomplete_pairs, 0);
  assert_close(c.p, 2.0 / 256, 1e-16);
  assert_close(c.delta.center, 0.1035, 1e-4);
  assert_true(c.delta.lo > 0.1 && c.delta.hi < 0.108);
  assert_int_equal(c.verdict, VERDICT_SLOWER);
  fixture_set(&b, y, 5); /* five pairs: p = 2 / 32 at best */
  fixture_run(&b, 1);
  fixture_set(&a, x, 5);
  fixture_run(&a, 1);
  c = compare(*state, &a, &b, paired_options());
  assert_true(c.delta.lo == -INFINITY && c.delta.hi == INFINITY && c.doubts & DOUBT_TOO_FEW);
  assert_int_equal(c.verdict, VERDICT_UNDECIDED);
}

/* Values in another file order, with their origins: the same pairs. */
static void pairs_go_by_round_and_not_by_order(void **state) {
  struct fixture a, b;
  around(&a, 100);
  around(&b, 103);
  fixture_run(&a, 1);
  fixture_run(&b, 1);
  struct comparison straight = compare(*state, &a, &b, paired_options());
  for (size_t i = 0; i < 5; i++) {
    double v = b.values[i];
    struct sample_origin origin = b.origins[i];
    b.values[i] = b.values[9 - i];
    b.origins[i] = b.origins[9 - i];
    b.values[9 - i] = v;
    b.origins[9 - i] = origin;
  }
  struct comparison c = compare(*state, &a, &b, paired_options());
  assert_true(c.p == straight.p && c.delta.lo == straight.delta.lo);
  assert_close(c.delta.center, 0.03, 1e-12); /* each pair differs by just that */
  assert_close(c.delta.hi - c.delta.lo, 0, 1e-12);
}

static void exchanged_pairs_give_the_same_p(void **state) {
  struct fixture a, b;
  fixture_set(&a, (double[]){100, 200, 300, 103, 206, 100, 100, 100}, 8);
  fixture_set(&b, (double[]){103, 206, 309, 100, 200, 105, 110, 100}, 8);
  fixture_run(&a, 1);
  fixture_run(&b, 1);
  struct comparison c = compare(*state, &a, &b, paired_options());
  struct comparison back = compare(*state, &b, &a, paired_options());
  /*
   * Five ratios of 1.03 are one tie group, also across signs; the zero has rank 1, the tie ranks
   * 2 .. 6, mean 4. W+ = 3 x 4 + 7 + 8 = 27 of 35. Sums of {4,4,4,4,4,7,8} up to 8: 0; 4 (5 ways);
   * 7; 8 (alone, or 10 pairs of 4): 1 + 5 + 1 + 11 = 18 of 128, so p = 36 / 128.
   */
  assert_close(c.p, 36.0 / 128, 1e-15);
  assert_true(c.p == back.p);
}

static void assert_refused(struct stats_work *w, const struct fixture *a, const struct fixture *b,
                           const char *word) {
  struct comparison c;
  char why[160] = "";
  assert_false(analysis_compare(w, &a->series, &b->series, paired_options(), &c, why, sizeof why));
  if (!strstr(why, word))
    fail_msg("\"%s\" does not say \"%s\"", why, word);
}

static void rounds_of_different_runs_never_pair(void **state) {
  struct fixture a, b;
  around(&a, 100);
  around(&b, 100);
  fixture_run(&a, 0); /* origins without a run */
  fixture_run(&b, 0);
  assert_refused(*state, &a, &b, "no round holds both");
  fixture_run(&a, 1);
  assert_refused(*state, &a, &b, "no round holds both");
  fixture_run(&b, 2);
  assert_refused(*state, &a, &b, "no round holds both");
}

static void drop_sample(struct fixture *f, size_t at) {
  struct sample_origin origins[MOST];
  double values[MOST];
  size_t n = 0;
  for (size_t i = 0; i < f->series.n; i++)
    if (i != at) {
      values[n] = f->values[i];
      origins[n++] = f->origins[i];
    }
  fixture_set(f, values, n);
  memcpy(f->origins, origins, n * sizeof *origins);
  f->series.origins = f->origins;
}

static void many(struct fixture *f, size_t n) {
  double v[MOST];
  for (size_t i = 0; i < n; i++)
    v[i] = 100 + (double)(i * 7 % 10);
  fixture_set(f, v, n);
  fixture_run(f, 1);
}

static void incomplete_pairs_are_counted_or_refused(void **state) {
  struct fixture a, b;
  many(&a, 20);
  many(&b, 20);
  drop_sample(&b, 19); /* the last round, cut short */
  struct comparison c = compare(*state, &a, &b, paired_options());
  assert_int_equal(c.pairs, 19);
  assert_int_equal(c.incomplete_pairs, 1);

  many(&b, 20);
  drop_sample(&a, 3); /* each side lost one: 2 of 20 are a tenth, not more */
  drop_sample(&b, 10);
  c = compare(*state, &a, &b, paired_options());
  assert_int_equal(c.pairs, 18);
  assert_int_equal(c.incomplete_pairs, 2);

  drop_sample(&a, 6);
  assert_refused(*state, &a, &b, "3 of 20");
}

static void a_side_that_alone_fails_is_refused(void **state) {
  struct fixture a, b;
  many(&a, 40);
  many(&b, 40);
  drop_sample(&b, 7);
  assert_refused(*state, &a, &b, "the new side alone lacks 1 of 40");
  assert_refused(*state, &b, &a, "the base side alone lacks 1 of 40");
}

/* --- families --- */

static void fill_row(struct comparison *c, double p, double delta) {
  *c = (struct comparison){.p = p,
                           .p_adjusted = p,
                           .min_p = 1e-5,
                           .n_base = 10,
                           .n = 10,
                           .spread = 0.01,
                           .delta = {delta, delta - 0.01, delta + 0.01},
                           .shift = {delta, delta - 0.01, delta + 0.01},
                           .verdict = VERDICT_UNDECIDED};
}

static void family_adjusts_and_judges_again(void **state) {
  (void)state;
  struct comparison row[4], *rows[] = {&row[0], &row[1], &row[2], &row[3]};
  fill_row(&row[0], 0.02, 0.1);
  fill_row(&row[1], 0.001, -0.1);
  fill_row(&row[2], 0.5, 0);
  fill_row(&row[3], NAN, 0.1);
  row[3].exact = true;
  row[3].verdict = VERDICT_SLOWER;
  struct analysis_options o = defaults;
  o.correct = CORRECT_HOLM;
  assert_true(analysis_family(rows, 4, &o));
  /* Three rows are tested: 3 x 0.001, 2 x 0.02, 1 x 0.5. */
  assert_close(row[0].p_adjusted, 0.04, 1e-15);
  assert_close(row[1].p_adjusted, 0.003, 1e-15);
  assert_int_equal(row[0].verdict, VERDICT_SLOWER);
  assert_int_equal(row[1].verdict, VERDICT_FASTER);
  assert_int_equal(row[2].verdict, VERDICT_SAME);
  assert_int_equal(row[3].verdict, VERDICT_SLOWER);
  /* (z(1 - 0.05/6) + 0.84162) x 0.01 x sqrt(1.047 / 5) = 3.23560 x 0.0045760 */
  assert_close(row[0].smallest_effect, expm1(0.0148062), 1e-6);

  o.alpha = 0.03;
  assert_true(analysis_family(rows, 4, &o));
  assert_false(row[0].significant);
  assert_int_equal(row[0].verdict, VERDICT_UNDECIDED);
  o.correct = CORRECT_NONE;
  assert_true(analysis_family(rows, 4, &o));
  assert_true(row[0].significant && row[0].p_adjusted == 0.02);
  o.correct = CORRECT_BH; /* 3/2 x 0.02 */
  assert_true(analysis_family(rows, 4, &o));
  assert_close(row[0].p_adjusted, 0.03, 1e-15);
}

static void a_family_can_be_too_large_for_the_samples(void **state) {
  struct fixture a, b;
  fixture_set(&a, (double[]){1, 2, 3, 4, 5, 6}, 6);
  fixture_set(&b, (double[]){11, 12, 13, 14, 15, 16}, 6);
  struct analysis_options o = defaults;
  o.correct = CORRECT_HOLM;
  struct comparison row[24], *rows[24];
  for (size_t i = 0; i < 24; i++) {
    rows[i] = &row[i];
    row[i] = compare(*state, &a, &b, &o);
    assert_false(row[i].doubts & DOUBT_TOO_FEW);
  }
  assert_true(analysis_family(rows, 23, &o)); /* 23 x 2 / 924 = 0.0498 */
  assert_true(row[0].significant && !(row[0].doubts & DOUBT_TOO_FEW));
  assert_true(analysis_family(rows, 24, &o)); /* 24 x 2 / 924 = 0.0519 */
  assert_true(!row[0].significant && row[0].doubts & DOUBT_TOO_FEW);
}

static void rounds_that_a_gate_needs(void **state) {
  (void)state;
  struct analysis_options o = defaults;
  o.correct = CORRECT_HOLM;
  assert_int_equal(analysis_gate_samples(1, &o), 4);
  assert_int_equal(analysis_gate_samples(23, &o), 6);
  assert_int_equal(analysis_gate_samples(24, &o), 7);
  assert_int_equal(analysis_gate_samples(321, &o), 8);
  assert_int_equal(analysis_gate_samples(322, &o), 9);
  o.paired = true; /* 52 x 2 / 2^n <= 0.05: n = 12, while 10 gives 0.10 */
  assert_int_equal(analysis_gate_samples(52, &o), 12);
  assert_int_equal(analysis_gate_samples(1, &o), 6);
  o.correct = CORRECT_NONE;
  assert_int_equal(analysis_gate_samples(52, &o), 6);
  o.alpha = 0;
  assert_int_equal(analysis_gate_samples(52, &o), 0);
}

/* --- the twin --- */

static void the_twin_sets_a_limit(void **state) {
  (void)state;
  struct comparison row[40];
  const struct comparison *rows[40];
  for (size_t i = 0; i < 40; i++) {
    fill_row(&row[i], 0.5, (i % 2 ? 1 : -1) * (double)(i * 7 % 40 + 1) / 1000);
    rows[i] = &row[i];
  }
  assert_close(analysis_twin_limit(rows, 0), 0, 0);
  /* below 20 rows the largest: of 7 i mod 40 + 1 for i < 19 that is 40 (i = 17) */
  assert_close(analysis_twin_limit(rows, 19), 0.040, 1e-15);
  /* 1 .. 40: position (40 + 1/3) 0.95 + 1/3 = 38.65 */
  assert_close(analysis_twin_limit(rows, 40), 0.03865, 1e-15);
  row[0].exact = true;
  row[0].delta.center = 9;
  assert_close(analysis_twin_limit(rows, 19), 0.040, 1e-15);
  row[1].absolute = true; /* 500 more than 10000 */
  row[1].base_center = 10000;
  row[1].delta.center = 500;
  assert_close(analysis_twin_limit(rows, 19), 0.05, 1e-15);
}

static void deltas_below_the_twin_are_no_findings(void **state) {
  (void)state;
  struct comparison row[5], *rows[] = {&row[0], &row[1], &row[2], &row[3], &row[4]};
  for (int i = 0; i < 5; i++)
    fill_row(&row[i], 0.001, 0.05);
  row[0].verdict = VERDICT_SLOWER;
  row[1].verdict = VERDICT_FASTER;
  row[1].delta.center = -0.0799;
  row[2].verdict = VERDICT_SLOWER;
  row[2].delta.center = 0.08;
  row[3].verdict = VERDICT_SAME;
  row[4].verdict = VERDICT_SLOWER;
  row[4].exact = true;
  analysis_apply_twin(rows, 5, 0.08);
  assert_int_equal(row[0].verdict, VERDICT_UNDECIDED);
  assert_int_equal(row[1].verdict, VERDICT_UNDECIDED);
  assert_true(row[0].doubts & DOUBT_TWIN && row[1].doubts & DOUBT_TWIN);
  assert_int_equal(row[2].verdict, VERDICT_SLOWER);
  assert_int_equal(row[3].verdict, VERDICT_SAME);
  assert_int_equal(row[4].verdict, VERDICT_SLOWER);
  assert_false((row[2].doubts | row[3].doubts | row[4].doubts) & DOUBT_TWIN);
}

/* --- doubts --- */

static unsigned doubts(const struct fixture *f) {
  return analysis_series_doubts(&f->series, &defaults);
}

static void flags_become_doubts(void **state) {
  (void)state;
  struct fixture f;
  around(&f, 100);
  fixture_run(&f, 1);
  assert_int_equal(doubts(&f), 0);
  f.origins[2].flags = SAMPLE_FOREIGN_CPU;
  f.origins[5].flags = SAMPLE_THROTTLED | SAMPLE_NOT_STEADY;
  assert_int_equal(doubts(&f), DOUBT_FOREIGN_CPU | DOUBT_THROTTLED | DOUBT_NOT_STEADY);
  f.origins[2].flags = SAMPLE_HOST_SPEED | SAMPLE_FEW_OPS | SAMPLE_BOUND;
  f.origins[5].flags = 0;
  assert_int_equal(doubts(&f), DOUBT_HOST_SPEED | DOUBT_FEW_OPS | DOUBT_BOUND);
}

static void several_values_of_one_process(void **state) {
  (void)state;
  struct fixture f;
  around(&f, 100);
  fixture_run(&f, 1);
  f.origins[4].process = f.origins[3].process;
  assert_int_equal(doubts(&f), DOUBT_ONE_PROCESS);
  f.origins[4].process = f.origins[3].process = 0; /* unknown */
  assert_int_equal(doubts(&f), 0);
}

/* 20 samples rising by 0.2 % each with a ripple; the same values in a mixed order. */
static void trend_against_measured_order(void **state) {
  (void)state;
  struct fixture f;
  double v[20];
  for (int i = 0; i < 20; i++)
    v[i] = 100 * (1 + 0.002 * i) + (i * 7 % 5) * 0.2;
  fixture_set(&f, v, 20);
  assert_int_equal(doubts(&f), 0); /* no order known */
  fixture_run(&f, 1);
  assert_int_equal(doubts(&f), DOUBT_TREND);
  for (uint32_t i = 0; i < 20; i++)
    f.origins[i].seq = i * 7 % 20;
  assert_int_equal(doubts(&f), 0);
  /* Two runs, each without a trend, one slower than the other: no trend within either. */
  for (int i = 0; i < 20; i++)
    v[i] = (i < 10 ? 100 : 101) + (i * 7 % 10) * 0.05;
  fixture_set(&f, v, 20);
  fixture_run(&f, 1);
  assert_true(doubts(&f) & DOUBT_TREND);
  for (uint32_t i = 10; i < 20; i++)
    f.origins[i].run = 2;
  assert_false(doubts(&f) & DOUBT_TREND);
}

/*
 * Eight in order: S = 28, z = 27 / sqrt(8 x 7 x 21 / 18) = 3.34, p = 0.0008. One pair exchanged:
 * S = 26, z = 3.09, p = 0.002.
 */
static void trend_needs_one_in_a_thousand(void **state) {
  (void)state;
  struct fixture f;
  fixture_set(&f, (double[]){1, 2, 3, 4, 5, 6, 7, 8}, 8);
  fixture_run(&f, 1);
  assert_int_equal(doubts(&f), DOUBT_TREND);
  fixture_set(&f, (double[]){1, 2, 3, 5, 4, 6, 7, 8}, 8);
  fixture_run(&f, 1);
  assert_int_equal(doubts(&f), 0);
  /* Nine, two pairs exchanged: S = 32, 32 / sqrt(92) = 3.34 but (32 - 1) / sqrt(92) = 3.23. */
  fixture_set(&f, (double[]){1, 3, 2, 4, 5, 7, 6, 8, 9}, 9);
  fixture_run(&f, 1);
  assert_int_equal(doubts(&f), 0);
  /* A step: S = 64, variance (16 x 15 x 37 - 2 x 8 x 7 x 21) / 18 = 362.7, z = 3.31. */
  double step[16];
  for (int i = 0; i < 16; i++)
    step[i] = i < 8 ? 100 : 101;
  fixture_set(&f, step, 16);
  fixture_run(&f, 1);
  assert_int_equal(doubts(&f), DOUBT_TREND);
}

static void two_modes_are_seen_when_they_matter(void **state) {
  (void)state;
  struct fixture f;
  double v[20];
  for (int i = 0; i < 20; i++)
    v[i] = (i % 3 ? 100 : 110) + (i * 7 % 10) * 0.1;
  fixture_set(&f, v, 20);
  assert_int_equal(doubts(&f), DOUBT_BIMODAL);
  for (int i = 0; i < 20; i++) /* the same shape, ten times smaller: within the margin */
    v[i] = (i % 3 ? 100 : 101) + (i * 7 % 10) * 0.01;
  fixture_set(&f, v, 20);
  assert_int_equal(doubts(&f), 0);
  for (int i = 0; i < 20; i++) /* evenly spread: one mode, however wide */
    v[i] = 100 + i;
  fixture_set(&f, v, 20);
  assert_int_equal(doubts(&f), 0);
}

/*
 * around(100): quartiles at (10 + 1/3) q + 1/3: q1 = 2.9167th = 99.383, q3 = 8.0833th = 100.425;
 * the upper far fence is at 103.55. Below the margin of 3 % nothing is said.
 */
static void outliers_beyond_the_far_fences(void **state) {
  (void)state;
  struct fixture f;
  around(&f, 100);
  double v[10];
  memcpy(v, f.values, sizeof v);
  v[3] = 103.5;
  fixture_set(&f, v, 10);
  assert_int_equal(doubts(&f), 0);
  v[3] = 103.6;
  fixture_set(&f, v, 10);
  assert_int_equal(doubts(&f), DOUBT_OUTLIERS);
  v[3] = 90;
  fixture_set(&f, v, 10);
  assert_int_equal(doubts(&f), DOUBT_OUTLIERS);
  for (int i = 0; i < 10; i++)
    v[i] = 100;
  v[3] = 100.1; /* no spread at all: any other value is outside, but not by the margin */
  fixture_set(&f, v, 10);
  assert_int_equal(doubts(&f), 0);
}

static void runs_that_only_one_side_took_part_in(void **state) {
  struct fixture a, b;
  around(&a, 100);
  around(&b, 100);
  assert_false(compare(*state, &a, &b, &defaults).doubts & DOUBT_OTHER_RUN);
  fixture_run(&a, 1);
  fixture_run(&b, 1);
  assert_false(compare(*state, &a, &b, &defaults).doubts & DOUBT_OTHER_RUN);
  fixture_run(&b, 2);
  assert_true(compare(*state, &a, &b, &defaults).doubts & DOUBT_OTHER_RUN);
  for (size_t i = 0; i < 10; i++)
    a.origins[i].run = b.origins[9 - i].run = i % 2 + 1;
  assert_false(compare(*state, &a, &b, &defaults).doubts & DOUBT_OTHER_RUN);
  a.origins[9].run = 3;
  assert_true(compare(*state, &a, &b, &defaults).doubts & DOUBT_OTHER_RUN);
  assert_true(compare(*state, &b, &a, &defaults).doubts & DOUBT_OTHER_RUN);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ratio_of_medians_without_ci),
      cmocka_unit_test(verdicts_against_the_margin),
      cmocka_unit_test(interval_is_relative_and_brackets_the_estimate),
      cmocka_unit_test(unbounded_interval_decides_nothing),
      cmocka_unit_test(an_interval_that_ends_at_zero_may_exclude_it),
      cmocka_unit_test(zeros_are_compared_by_difference),
      cmocka_unit_test(margin_of_differences_is_relative_to_the_base),
      cmocka_unit_test(constant_samples_are_the_same),
      cmocka_unit_test(exact_units_have_a_difference_and_no_p),
      cmocka_unit_test(nothing_to_compare_with),
      cmocka_unit_test(a_bound_leaves_its_side_open),
      cmocka_unit_test(smallest_effect_and_samples_needed),
      cmocka_unit_test(pairs_see_through_the_drift),
      cmocka_unit_test(pairs_go_by_round_and_not_by_order),
      cmocka_unit_test(exchanged_pairs_give_the_same_p),
      cmocka_unit_test(rounds_of_different_runs_never_pair),
      cmocka_unit_test(incomplete_pairs_are_counted_or_refused),
      cmocka_unit_test(a_side_that_alone_fails_is_refused),
      cmocka_unit_test(family_adjusts_and_judges_again),
      cmocka_unit_test(a_family_can_be_too_large_for_the_samples),
      cmocka_unit_test(rounds_that_a_gate_needs),
      cmocka_unit_test(the_twin_sets_a_limit),
      cmocka_unit_test(deltas_below_the_twin_are_no_findings),
      cmocka_unit_test(flags_become_doubts),
      cmocka_unit_test(several_values_of_one_process),
      cmocka_unit_test(trend_against_measured_order),
      cmocka_unit_test(trend_needs_one_in_a_thousand),
      cmocka_unit_test(two_modes_are_seen_when_they_matter),
      cmocka_unit_test(outliers_beyond_the_far_fences),
      cmocka_unit_test(runs_that_only_one_side_took_part_in),
  };
  return cmocka_run_group_tests_name("analysis", tests, work_open, work_close);
}
