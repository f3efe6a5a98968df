/* Medians and their intervals, the normal distribution, families of p-values, power. */
#include "comparer/stats.h"
#include "comparer/sumset.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "tests/facts.h"

static void assert_close(double got, double want, double tolerance) {
  if (!(got == want || fabs(got - want) <= tolerance))
    fail_msg("got %.17g, want %.17g", got, want);
}

static void median_of_odd_and_even(void **state) {
  (void)state;
  assert_close(stats_median((double[]){3}, 1), 3, 0);
  assert_close(stats_median((double[]){1, 2, 9}, 3), 2, 0);
  assert_close(stats_median((double[]){1, 2, 4, 9}, 4), 3, 0);
  assert_close(stats_median((double[]){1.5e308, 1.7e308}, 2), 1.6e308, 1e293);
  assert_close(stats_median((double[]){-1.5e308, 1.7e308}, 2), 0.1e308, 1e293);
  /* To the last digit, since CSV shows it: (a + b) / 2 would give 5.4999999999999996e-08. */
  assert_close(stats_median((double[]){1e-8, 1e-7}, 2), 5.5e-8, 0);
}

static void mode_is_first_of_the_most_frequent(void **state) {
  (void)state;
  assert_close(stats_mode((double[]){1, 2, 2, 3, 3}, 5), 2, 0);
  assert_close(stats_mode((double[]){1, 2, 3}, 3), 1, 0);
  assert_close(stats_mode((double[]){1, 2, 3, 3, 3}, 5), 3, 0);
}

/*
 * The ranks of the sign test's interval at 95 %. At n = 24 both neighbours weigh the same and the
 * left one is taken; benchstat prints the mirror image, [8, 18].
 */
static void median_ranks_at_95(void **state) {
  (void)state;
  static const size_t want[][3] = {
      {6, 1, 6},   {7, 1, 7},    {8, 1, 7},    {9, 2, 8},    {10, 2, 9},   {11, 2, 9},
      {12, 3, 10}, {15, 4, 12},  {16, 4, 12},  {20, 6, 15},  {22, 6, 16},  {24, 7, 17},
      {25, 8, 18}, {30, 10, 21}, {31, 10, 22}, {50, 18, 32}, {100, 40, 60}};
  for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
    struct stats_ranks r = stats_median_ranks(want[i][0], 0.95);
    if (r.lo != want[i][1] || r.hi != want[i][2])
      fail_msg("n=%zu: got [%zu, %zu], want [%zu, %zu]", want[i][0], r.lo, r.hi, want[i][1],
               want[i][2]);
  }
}

static void median_ranks_are_infinite_when_too_few(void **state) {
  (void)state;
  for (size_t n = 1; n <= 5; n++) {
    struct stats_ranks r = stats_median_ranks(n, 0.95);
    assert_true(r.lo == 0 || r.hi == n + 1);
  }
  struct stats_ranks r = stats_median_ranks(40, 1);
  assert_int_equal(r.lo, 0);
  assert_int_equal(r.hi, 41);
  /* 1 - 2 / 2^n >= confidence: 6 for 0.95, 8 for 0.99; 0.9999 needs 15. */
  assert_int_equal(stats_median_min_n(0.95, 50), 6);
  assert_int_equal(stats_median_min_n(0.99, 50), 8);
  assert_int_equal(stats_median_min_n(0.9999, 50), 15);
  assert_int_equal(stats_median_min_n(0.9999, 14), 0);
}

/*
 * benchstat sums masses through lgamma above n = 20: where both neighbours weigh the same, rounding
 * picks one. Ours may then be the mirror image, with the same coverage, but nothing else.
 */
static size_t check_ranks(const char *path) {
  struct facts f = facts_open(path);
  size_t mirrored = 0;
  while (facts_next(&f)) {
    double confidence = strtod(f.field[0], NULL);
    size_t n = strtoul(f.field[1], NULL, 10), lo = strtoul(f.field[2], NULL, 10),
           hi = strtoul(f.field[3], NULL, 10);
    struct stats_ranks r = stats_median_ranks(n, confidence);
    if (r.lo == lo && r.hi == hi)
      continue;
    if (n < 21 || n > 30 || r.lo != n + 1 - hi || r.hi != n + 1 - lo)
      fail_msg("%g, n=%zu: got [%zu, %zu], want [%zu, %zu]", confidence, n, r.lo, r.hi, lo, hi);
    mirrored++;
  }
  return mirrored;
}

static void median_ranks_match_benchstat(void **state) {
  (void)state;
  assert_in_range(check_ranks("tests/data/stats/median_ranks.tsv"), 0, 15);
  const char *more = getenv("POOLCMP_FACTS");
  if (more) {
    char path[4096];
    snprintf(path, sizeof path, "%s/median_ci.tsv", more);
    print_message("further facts: %zu mirrored rows\n", check_ranks(path));
  }
}

static double order_statistic(const double *x, size_t n, size_t rank) {
  return rank == 0 ? -INFINITY : rank > n ? INFINITY : x[rank - 1];
}

static size_t check_medians(const char *path, int first) {
  struct facts f = facts_open(path);
  size_t rows = 0;
  for (; facts_next(&f); rows++) {
    double x[100];
    size_t n = facts_list(f.field[f.fields - 1], x, 100);
    facts_sort(x, n);
    struct stats_ranks r = stats_median_ranks(n, strtod(f.field[first], NULL));
    double lo = strtod(f.field[first + 2], NULL), hi = strtod(f.field[first + 3], NULL);
    if (n > 20 && n <= 30 && order_statistic(x, n, r.lo) != lo) /* the mirror image, as above */
      r = (struct stats_ranks){n + 1 - r.hi, n + 1 - r.lo};
    assert_close(stats_median(x, n), strtod(f.field[first + 1], NULL), 0);
    assert_close(order_statistic(x, n, r.lo), lo, 0);
    assert_close(order_statistic(x, n, r.hi), hi, 0);
  }
  return rows;
}

static void medians_and_bounds_match_benchstat(void **state) {
  (void)state;
  assert_in_range(check_medians("tests/data/stats/medians.tsv", 0), 30, 100);
  const char *more = getenv("POOLCMP_FACTS");
  if (more) {
    char path[4096];
    snprintf(path, sizeof path, "%s/summary.tsv", more);
    print_message("further facts: %zu medians\n", check_medians(path, 1));
  }
}

/* Abramowitz and Stegun, tables 26.1 and 26.2; the far tails from tables of erfc. */
static void normal_distribution(void **state) {
  (void)state;
  assert_close(stats_normal_cdf(0), 0.5, 0);
  assert_close(stats_normal_cdf(1.959963984540054), 0.975, 1e-15);
  assert_close(stats_normal_cdf(-10) / 7.619853024160526e-24, 1, 1e-12);
  assert_close(stats_normal_quantile(0.5), 0, 1e-15);
  assert_close(stats_normal_quantile(0.975), 1.959963984540054, 1e-14);
  assert_close(stats_normal_quantile(0.8), 0.8416212335729143, 1e-14);
  assert_close(stats_normal_quantile(0.005), -2.5758293035489004, 1e-14);
  assert_close(stats_normal_quantile(1e-20), -9.262340089798408, 1e-12);
  assert_true(isinf(stats_normal_quantile(0)) && isinf(stats_normal_quantile(1)));
  assert_true(isnan(stats_normal_quantile(1.5)));
}

/*
 * p = 0.01 0.04 0.03 0.005 in a family of 4. Holm: 4 x 0.005, 3 x 0.01, 2 x 0.03, then 1 x 0.04
 * raised to the one before it. Benjamini-Hochberg: 4/1 x 0.005, 4/2 x 0.01, 4/3 x 0.03 = 0.04,
 * 4/4 x 0.04.
 */
static void corrections_by_hand(void **state) {
  (void)state;
  const double p[] = {0.01, 0.04, 0.03, 0.005};
  const double holm[] = {0.03, 0.06, 0.06, 0.02}, bh[] = {0.02, 0.04, 0.04, 0.02};
  double out[4];
  assert_true(stats_holm(p, 4, 4, out));
  for (int i = 0; i < 4; i++)
    assert_close(out[i], holm[i], 1e-15);
  assert_true(stats_benjamini_hochberg(p, 4, 4, out));
  for (int i = 0; i < 4; i++)
    assert_close(out[i], bh[i], 1e-15);
}

static void corrections_know_the_family_and_stop_at_one(void **state) {
  (void)state;
  double p[] = {0.02, 0.6};
  assert_true(stats_holm(p, 2, 10, p)); /* 10 x 0.02, 9 x 0.6 */
  assert_close(p[0], 0.2, 1e-15);
  assert_close(p[1], 1, 0);
  double q[] = {0.02, 0.6};
  assert_true(stats_benjamini_hochberg(q, 2, 10, q));
  assert_close(q[0], 0.2, 1e-15); /* 10/1 x 0.02 */
  assert_close(q[1], 1, 0);
  assert_true(stats_holm(p, 0, 0, p));
}

/* s = 0.02, n = 10 a side: (1.95996 + 0.84162) 0.02 sqrt(1.047 / 5) = 0.025640. */
static void smallest_effect_by_hand(void **state) {
  (void)state;
  assert_close(stats_smallest_effect(0.02, 10, 10, 0.05), 0.0256400, 5e-7);
  /* paired: 2.80158 x 0.02 x sqrt(1.047 / 10) = 0.0181302 */
  assert_close(stats_smallest_effect_paired(0.02, 10, 0.05), 0.0181302, 5e-7);
}

static void samples_needed_undo_the_smallest_effect(void **state) {
  (void)state;
  assert_int_equal(stats_samples_needed(0.02, stats_smallest_effect(0.02, 10, 10, 0.05), 0.05), 10);
  assert_int_equal(stats_pairs_needed(0.02, stats_smallest_effect_paired(0.02, 17, 0.01), 0.01),
                   17);
  /* 2 x 1.047 x 2.80158^2 x (s / effect)^2 = 16.435 (s / effect)^2 */
  assert_int_equal(stats_samples_needed(0.1, 0.1, 0.05), 17);
  assert_int_equal(stats_samples_needed(0.7, 0.1, 0.05), 806);
  assert_int_equal(stats_samples_needed(0.8, 0.1, 0.05), 0); /* 1052 */
  assert_int_equal(stats_samples_needed(0.1, 0, 0.05), 0);
  assert_int_equal(stats_samples_needed(0, 0.1, 0.05), 2);
}

/* Every rank of the implicit matrix against the sums formed and sorted. */
static void check_sumset(const double *a, size_t na, const double *b, size_t nb, bool triangle) {
  struct sumset s = {.a = a, .na = na, .b = b, .nb = nb, .triangle = triangle};
  double *all = malloc(na * nb * sizeof *all);
  assert_non_null(all);
  size_t n = 0;
  for (size_t i = 0; i < na; i++)
    for (size_t j = triangle ? i : 0; j < nb; j++)
      all[n++] = a[i] + b[j];
  facts_sort(all, n);
  assert_int_equal(sumset_size(&s), n);
  for (size_t k = 0; k < n; k++) {
    assert_close(sumset_select(&s, k + 1), all[k], 0);
    size_t upto = k;
    while (upto < n && all[upto] == all[k])
      upto++;
    size_t below = k;
    while (below > 0 && all[below - 1] == all[k])
      below--;
    assert_int_equal(sumset_count(&s, all[k]), upto);
    double next = sumset_next(&s, all[k]), previous = sumset_previous(&s, all[k]);
    assert_true(upto < n ? next == all[upto] : next == INFINITY);
    assert_true(below > 0 ? previous == all[below - 1] : previous == -INFINITY);
  }
  double low, high;
  sumset_middle(&s, &low, &high);
  assert_close(low, all[(n - 1) / 2], 0);
  assert_close(high, all[n / 2], 0);
  free(all);
}

static void sumset_orders_all_sums(void **state) {
  (void)state;
  unsigned long long seed = 7;
  for (int round = 0; round < 40; round++) {
    double a[40], b[40];
    size_t na = 1 + facts_random(&seed, 40), nb = 1 + facts_random(&seed, 40);
    unsigned range = round % 4 == 0 ? 3 : round % 4 == 1 ? 20 : 1000000;
    for (size_t i = 0; i < na; i++)
      a[i] = round % 4 == 3 ? exp(facts_random(&seed, 400)) : facts_random(&seed, range);
    for (size_t i = 0; i < nb; i++)
      b[i] = -(double)facts_random(&seed, range);
    facts_sort(a, na);
    facts_sort(b, nb);
    check_sumset(a, na, b, nb, false);
    check_sumset(a, na, a, na, true);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(median_of_odd_and_even),
      cmocka_unit_test(mode_is_first_of_the_most_frequent),
      cmocka_unit_test(median_ranks_at_95),
      cmocka_unit_test(median_ranks_are_infinite_when_too_few),
      cmocka_unit_test(median_ranks_match_benchstat),
      cmocka_unit_test(medians_and_bounds_match_benchstat),
      cmocka_unit_test(normal_distribution),
      cmocka_unit_test(corrections_by_hand),
      cmocka_unit_test(corrections_know_the_family_and_stop_at_one),
      cmocka_unit_test(smallest_effect_by_hand),
      cmocka_unit_test(samples_needed_undo_the_smallest_effect),
      cmocka_unit_test(sumset_orders_all_sums),
  };
  return cmocka_run_group_tests_name("stats", tests, NULL, NULL);
}
