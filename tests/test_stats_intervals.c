/* Hodges-Lehmann intervals and the signed-rank test against enumeration and worked examples. */
#include "comparer/stats.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "tests/facts.h"

enum { MOST = 300 };

static void assert_close(double got, double want, double tolerance, const char *what) {
  if (!(got == want || fabs(got - want) <= tolerance))
    fail_msg("%s: got %.17g, want %.17g", what, got, want);
}

static void assert_estimate(struct stats_estimate got, double center, double lo, double hi,
                            double tolerance) {
  assert_close(got.center, center, tolerance, "center");
  assert_close(got.lo, lo, tolerance, "lo");
  assert_close(got.hi, hi, tolerance, "hi");
}

static struct stats_estimate shift(struct stats_work *w, const double *x, size_t nx,
                                   const double *y, size_t ny, double confidence) {
  struct stats_estimate e;
  assert_true(stats_shift(w, x, nx, y, ny, confidence, &e));
  return e;
}

static struct stats_estimate paired(struct stats_work *w, const double *d, size_t n,
                                    double confidence) {
  struct stats_estimate e;
  assert_true(stats_signed_rank_interval(w, d, n, confidence, &e));
  return e;
}

/*
 * Hollander and Wolfe, example 4.1 continued. P(U <= 8) = 60/3003 and 2 x 60/3003 = 0.040, with 9
 * it is 0.055: the interval runs from the 9th to the 42nd of the 50 differences y - x.
 */
static void placentas(void **state) {
  const double x[] = {0.73, 0.80, 0.83, 1.04, 1.38, 1.45, 1.46, 1.64, 1.89, 1.91};
  const double y[] = {0.74, 0.88, 0.90, 1.15, 1.21};
  assert_estimate(shift(*state, x, 10, y, 5, 0.95), -0.305, -0.76, 0.15, 1e-12);
  assert_estimate(shift(*state, y, 5, x, 10, 0.95), 0.305, -0.15, 0.76, 1e-12);
}

/*
 * Hollander and Wolfe, example 3.1: depression scale of nine patients before and after. P(W <= 5)
 * = 10/512: two-sided 0.039; the interval runs from the 6th to the 40th of the 45 Walsh averages.
 */
static void depression(void **state) {
  const double before[] = {1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30};
  const double after[] = {0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29};
  double d[9];
  for (int i = 0; i < 9; i++)
    d[i] = after[i] - before[i];
  struct stats_signed_rank r;
  assert_true(stats_signed_rank(*state, d, 9, &r));
  assert_true(r.exact && r.w_plus == 5);
  assert_close(r.p, 20.0 / 512, 1e-16, "p");
  assert_estimate(paired(*state, d, 9, 0.95), -0.46, -0.786, -0.010, 1e-12);
}

static void too_few_samples_bound_nothing(void **state) {
  const double x[] = {1, 2, 3, 4}, y[] = {11, 12, 13, 14};
  /* 2 / C(6,3) = 0.1 > 0.05; 2 / C(8,4) = 0.029. At 0.9 three a side reach the level. */
  assert_estimate(shift(*state, x, 3, y, 3, 0.95), 10, -INFINITY, INFINITY, 0);
  assert_estimate(shift(*state, x, 3, y, 3, 0.9), 10, 8, 12, 0);
  assert_estimate(shift(*state, x, 4, y, 4, 0.95), 10, 7, 13, 0);
  assert_estimate(shift(*state, x, 4, y, 4, 1), 10, -INFINITY, INFINITY, 0);
  assert_estimate(shift(*state, x, 1, y, 1, 0.95), 10, -INFINITY, INFINITY, 0);
  const double tied[] = {1, 1, 2};
  assert_estimate(shift(*state, tied, 3, y, 3, 0.95), 11, -INFINITY, INFINITY, 0);
  /* 2 / 2^5 = 0.0625, 2 / 2^6 = 0.03125. */
  const double d[] = {6, 1, 2, 5, 3, 4};
  assert_estimate(paired(*state, d, 5, 0.95), 3.5, -INFINITY, INFINITY, 0);
  assert_estimate(paired(*state, d, 6, 0.95), 3.5, 1, 6, 0);
}

/*
 * 11 against 60 at 1 - 1e-11: 2 / C(71,11) = 1e-12 would reach that, but the approximation used
 * there does not: mu = 330, z = 6.8, sigma = sqrt(660 x 72 / 12) = 62.9.
 */
static void levels_beyond_the_approximation_bound_nothing(void **state) {
  double x[11], y[60];
  for (size_t i = 0; i < 60; i++)
    y[i] = 100 + (double)i;
  for (size_t i = 0; i < 11; i++)
    x[i] = (double)i;
  assert_true(stats_mwu_min_p(11, 60) < 1e-11);
  struct stats_estimate e = shift(*state, x, 11, y, 60, 1 - 1e-11);
  assert_true(e.lo == -INFINITY && e.hi == INFINITY);
}

static void constant_samples_leave_one_shift(void **state) {
  const double x[] = {100, 100, 100, 100, 100}, y[] = {103, 103, 103, 103, 103};
  assert_estimate(shift(*state, x, 5, x, 5, 0.95), 0, 0, 0, 0);
  assert_estimate(shift(*state, x, 5, y, 5, 0.95), 3, 3, 3, 0);
  const double zero[7] = {0}, three[] = {3, 3, 3, 3, 3, 3, 3};
  assert_estimate(paired(*state, zero, 7, 0.95), 0, 0, 0, 0);
  assert_estimate(paired(*state, three, 7, 0.95), 3, 3, 3, 0);
}

/*
 * One stray value among twenty. Given the ties, no arrangement of these values rejects anything;
 * a quantile of that distribution would leave the shift unbounded, inverting the test does not.
 */
static void one_stray_value_does_not_unbound(void **state) {
  double x[10], y[10];
  for (int i = 0; i < 10; i++)
    x[i] = y[i] = 100;
  x[9] = 101;
  assert_estimate(shift(*state, x, 10, y, 10, 0.95), 0, 0, 0, 0);
}

/*
 * Just below the shift 0, four under six and one: 1 of 330 arrangements is as far out. Just above
 * it, six under four and one: 20 are, 5 with the four on top (the one in the place of any of them)
 * and 15 with four of the six.
 */
static void what_lies_beyond_the_middle_counts(void **state) {
  const double x[] = {100, 100, 100, 100}, y[] = {100, 100, 100, 100, 100, 100, 101};
  assert_estimate(shift(*state, x, 4, y, 7, 0.95), 0, 0, 1, 0);
  assert_estimate(shift(*state, y, 7, x, 4, 0.95), 0, -1, 0, 0);
  assert_estimate(shift(*state, x, 4, y, 7, 0.93), 0, 0, 0, 0); /* 20 / 330 = 0.061 <= 0.07 */
}

/* --- the definition, by enumeration: small whole numbers, so that half steps miss all of them ---
 */

static double p_enumerated(const double *x, size_t nx, const double *y, size_t ny, double down) {
  double pooled[16];
  size_t n = nx + ny, total = 0, as_far = 0;
  for (size_t i = 0; i < nx; i++)
    pooled[i] = x[i];
  for (size_t i = 0; i < ny; i++)
    pooled[nx + i] = y[i] - down;
  int observed = -1;
  for (unsigned chosen = (1u << nx) - 1; chosen < 1u << n; chosen++) {
    if ((size_t)__builtin_popcount(chosen) != nx)
      continue;
    int u2 = -(int)(nx * ny);
    for (size_t i = 0; i < n; i++)
      for (size_t j = 0; j < n; j++)
        if (chosen >> i & 1 && !(chosen >> j & 1))
          u2 += pooled[i] > pooled[j] ? 2 : pooled[i] == pooled[j];
    if (observed < 0)
      observed = abs(u2);
    total++;
    as_far += abs(u2) >= observed;
  }
  return (double)as_far / (double)total;
}

/* The first whole-numbered shift above which the test accepts, at most the lower middle one. */
static double bound_enumerated(const double *x, size_t nx, const double *y, size_t ny, double alpha,
                               double middle) {
  for (double d = -40; d < middle; d++) {
    bool is_difference = false;
    for (size_t i = 0; i < nx; i++)
      for (size_t j = 0; j < ny; j++)
        is_difference |= y[j] - x[i] == d;
    if (is_difference && p_enumerated(x, nx, y, ny, d + 0.5) > alpha)
      return d;
  }
  return middle;
}

static void shift_interval_is_what_the_test_accepts(void **state) {
  unsigned long long seed = 11;
  for (int round = 0; round < 60; round++) {
    size_t nx = 3 + facts_random(&seed, 4), ny = 4 + facts_random(&seed, 3);
    unsigned range = round % 3 == 0 ? 3 : round % 3 == 1 ? 8 : 20;
    double x[6], y[6], all[36];
    for (size_t i = 0; i < nx; i++)
      x[i] = facts_random(&seed, range);
    for (size_t i = 0; i < ny; i++)
      y[i] = facts_random(&seed, range);
    facts_sort(x, nx);
    facts_sort(y, ny);
    size_t n = 0;
    for (size_t i = 0; i < nx; i++)
      for (size_t j = 0; j < ny; j++)
        all[n++] = y[j] - x[i];
    facts_sort(all, n);
    struct stats_estimate e = shift(*state, x, nx, y, ny, 0.9);
    double low = all[(n - 1) / 2], high = all[n / 2];
    assert_estimate(e, (low + high) / 2, bound_enumerated(x, nx, y, ny, 0.1, low),
                    -bound_enumerated(y, ny, x, nx, 0.1, -high), 0);
  }
}

/* P(W <= w or as far the other way) over all signs, ranks of |d - down| by counting. */
static double signs_enumerated(const double *d, size_t n, double down, int *w2) {
  int rank2[16], kept = 0, total = 0;
  *w2 = 0;
  for (size_t i = 0; i < n; i++) {
    double size = fabs(d[i] - down);
    int less = 0, same = 0;
    for (size_t j = 0; j < n; j++) {
      less += fabs(d[j] - down) < size;
      same += fabs(d[j] - down) == size;
    }
    if (size == 0)
      continue;
    rank2[kept] = 2 * less + same + 1;
    total += rank2[kept];
    *w2 += d[i] > down ? rank2[kept] : 0;
    kept++;
  }
  int as_far = 0;
  for (unsigned signs = 0; signs < 1u << kept; signs++) {
    int sum = 0;
    for (int i = 0; i < kept; i++)
      sum += signs >> i & 1 ? rank2[i] : 0;
    as_far += abs(2 * sum - total) >= abs(2 * *w2 - total);
  }
  return as_far / ldexp(1, kept);
}

static void signed_rank_is_what_enumeration_gives(void **state) {
  unsigned long long seed = 5;
  for (size_t n = 1; n <= 11; n++)
    for (int range = 3; range <= 60; range += 19) {
      double d[11], negative[11];
      for (size_t i = 0; i < n; i++) {
        d[i] = (double)facts_random(&seed, (unsigned)range) - range / 2;
        negative[i] = -d[i];
      }
      int w2;
      double p = signs_enumerated(d, n, 0, &w2);
      struct stats_signed_rank r, back;
      assert_true(stats_signed_rank(*state, d, n, &r));
      assert_true(stats_signed_rank(*state, negative, n, &back));
      assert_true(r.exact && 2 * r.w_plus == w2);
      assert_close(r.p, p, 1e-15, "p");
      assert_true(back.p == r.p);
    }
}

/* Walsh averages lie on halves, so quarters miss all of them. */
static double walsh_bound_enumerated(const double *d, size_t n, double alpha, double middle) {
  for (double theta = -40; theta < middle; theta += 0.5) {
    bool is_average = false;
    for (size_t i = 0; i < n; i++)
      for (size_t j = i; j < n; j++)
        is_average |= (d[i] + d[j]) / 2 == theta;
    int w2;
    if (is_average && signs_enumerated(d, n, theta + 0.25, &w2) > alpha)
      return theta;
  }
  return middle;
}

static void paired_interval_is_what_the_test_accepts(void **state) {
  unsigned long long seed = 13;
  for (int round = 0; round < 60; round++) {
    size_t n = 6 + facts_random(&seed, 4);
    int range = round % 3 == 0 ? 3 : round % 3 == 1 ? 9 : 31;
    double d[10], negative[10], all[55];
    for (size_t i = 0; i < n; i++) {
      d[i] = (double)facts_random(&seed, (unsigned)range) - range / 2;
      negative[i] = -d[i];
    }
    size_t walsh = 0;
    for (size_t i = 0; i < n; i++)
      for (size_t j = i; j < n; j++)
        all[walsh++] = (d[i] + d[j]) / 2;
    facts_sort(all, walsh);
    double low = all[(walsh - 1) / 2], high = all[walsh / 2];
    assert_estimate(paired(*state, d, n, 0.95), (low + high) / 2,
                    walsh_bound_enumerated(d, n, 0.05, low),
                    -walsh_bound_enumerated(negative, n, 0.05, -high), 0);
  }
}

/* --- further properties --- */

static void signed_rank_matches_arrangements_counted_elsewhere(void **state) {
  struct facts f = facts_open("tests/data/stats/signed_rank_exact.tsv");
  size_t rows = 0;
  for (; facts_next(&f); rows++) {
    double d[MOST];
    size_t n = facts_list(f.field[2], d, MOST);
    struct stats_signed_rank r;
    assert_true(stats_signed_rank(*state, d, n, &r));
    assert_true(r.exact && r.w_plus == strtod(f.field[0], NULL));
    double p = strtod(f.field[1], NULL);
    assert_close(r.p, p, 1e-13 * p, "p");
  }
  assert_in_range(rows, 30, 1000);
}

/* Ratios 1.1 exactly in the middle: center 1.1 whatever the scale; the bounds scale with y. */
static void ratios_are_shifts_of_logs(void **state) {
  const double x[] = {90, 100, 110, 120, 130}, y[] = {99, 110, 121, 132, 143};
  struct stats_estimate e, twice;
  assert_true(stats_ratio(*state, x, 5, y, 5, 0.95, &e));
  assert_close(e.center, 1.1, 1e-12, "center");
  /* P(U <= 2) = 4/252, two-sided 0.032, P(U <= 3) gives 0.056: the 3rd ratio from each end. */
  assert_close(e.lo, 110.0 / 130, 1e-12, "lo");
  assert_close(e.hi, 143.0 / 100, 1e-12, "hi");
  double y2[5];
  for (int i = 0; i < 5; i++)
    y2[i] = 2 * y[i];
  assert_true(stats_ratio(*state, x, 5, y2, 5, 0.95, &twice));
  assert_close(twice.lo, 2 * e.lo, 1e-12, "lo");
  assert_true(stats_ratio(*state, x, 5, x, 5, 0.95, &e));
  assert_true(e.center == 1);
}

/* Without ties: 0 lies outside the interval exactly where p <= 1 - confidence. */
static void interval_and_test_agree(void **state) {
  unsigned long long seed = 17;
  int outside = 0;
  for (int round = 0; round < 2000; round++) {
    size_t nx = 4 + facts_random(&seed, 30), ny = 4 + facts_random(&seed, 30);
    double x[40], y[40], d[40];
    for (size_t i = 0; i < nx; i++)
      x[i] = 3 * facts_random(&seed, 1 << 24);
    for (size_t i = 0; i < ny; i++) {
      y[i] = 3 * facts_random(&seed, 1 << 24) + 1 + 3 * (double)(round % 5 << 21);
      d[i] = y[i] - 3 * (double)(1 << 23);
    }
    facts_sort(x, nx);
    facts_sort(y, ny);
    struct stats_estimate e = shift(*state, x, nx, y, ny, 0.95);
    struct stats_mwu u;
    assert_true(stats_mwu(*state, x, nx, y, ny, &u));
    assert_int_equal(e.lo > 0 || e.hi < 0, u.p <= 0.05);
    struct stats_signed_rank s;
    assert_true(stats_signed_rank(*state, d, ny, &s));
    e = paired(*state, d, ny, 0.95);
    assert_int_equal(e.lo > 0 || e.hi < 0, s.p <= 0.05);
    outside += u.p <= 0.05;
  }
  assert_in_range(outside, 200, 1800);
}

/*
 * 75 a side: mu = 2812.5, sigma = sqrt(75 x 75 x 151 / 12) = 266.05; 2812.5 - 0.5 - 1.95996 sigma
 * = 2290.55, so bounds are the 2291st differences from each end. 68 pairs: mu = 1173, sigma =
 * sqrt(68 x 69 x 137 / 24) = 163.66; 1173 - 0.5 - 1.95996 sigma = 851.73: the 852nd of 2346. Both
 * would be one more without the half step.
 */
static void normal_ranks_of_large_samples(void **state) {
  static double x[75], y[75], all[5625];
  unsigned long long seed = 19;
  for (size_t i = 0; i < 75; i++) {
    x[i] = (double)i * 1000 + facts_random(&seed, 1000);
    y[i] = (double)i * 900 + facts_random(&seed, 900);
  }
  size_t n = 0;
  for (size_t i = 0; i < 75; i++)
    for (size_t j = 0; j < 75; j++)
      all[n++] = y[j] - x[i];
  facts_sort(all, n);
  assert_estimate(shift(*state, x, 75, y, 75, 0.95), all[2812], all[2290], all[5625 - 2291], 0);
  n = 0;
  for (size_t i = 0; i < 68; i++)
    for (size_t j = i; j < 68; j++)
      all[n++] = (x[i] + x[j]) / 2;
  facts_sort(all, n);
  assert_estimate(paired(*state, x, 68, 0.95), (all[1172] + all[1173]) / 2, all[851],
                  all[2346 - 852], 0);
}

/* 80 zeros of 100 (Pratt): ranks 81 .. 100, all positive. W = 1810, sigma^2 = sum r^2 / 4. */
static void zeros_keep_their_ranks_in_large_samples(void **state) {
  double d[100] = {0}, squares = 0;
  for (int i = 81; i <= 100; i++) {
    d[i - 1] = i;
    squares += i * i;
  }
  struct stats_signed_rank r;
  assert_true(stats_signed_rank(*state, d, 100, &r));
  assert_true(r.exact && r.w_plus == 1810); /* 20 differences remain: counted */
  assert_close(r.p, ldexp(1, -19), 0, "p");
  double many[200] = {0};
  squares = 0;
  for (int i = 101; i <= 200; i++) {
    many[i - 1] = i % 3 ? i : -i;
    squares += i * i;
  }
  double w = 0;
  for (int i = 101; i <= 200; i++)
    w += i % 3 ? i : 0;
  assert_true(stats_signed_rank(*state, many, 200, &r));
  assert_true(!r.exact && r.w_plus == w);
  double z = (fabs(w - (101 + 200) * 100 / 4.0) - 0.5) / sqrt(squares / 4);
  assert_close(r.p, 2 * stats_normal_cdf(-z), 1e-12, "p");
}

static void smallest_p_of_pairs(void **state) {
  (void)state;
  assert_true(stats_signed_rank_min_p(5) == 0.0625);
  assert_true(stats_signed_rank_min_p(10) == 0.001953125);
  assert_true(stats_signed_rank_min_p(0) == 1 && stats_signed_rank_min_p(1) == 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(placentas),
      cmocka_unit_test(depression),
      cmocka_unit_test(too_few_samples_bound_nothing),
      cmocka_unit_test(levels_beyond_the_approximation_bound_nothing),
      cmocka_unit_test(constant_samples_leave_one_shift),
      cmocka_unit_test(one_stray_value_does_not_unbound),
      cmocka_unit_test(what_lies_beyond_the_middle_counts),
      cmocka_unit_test(shift_interval_is_what_the_test_accepts),
      cmocka_unit_test(signed_rank_is_what_enumeration_gives),
      cmocka_unit_test(paired_interval_is_what_the_test_accepts),
      cmocka_unit_test(signed_rank_matches_arrangements_counted_elsewhere),
      cmocka_unit_test(ratios_are_shifts_of_logs),
      cmocka_unit_test(interval_and_test_agree),
      cmocka_unit_test(normal_ranks_of_large_samples),
      cmocka_unit_test(zeros_keep_their_ranks_in_large_samples),
      cmocka_unit_test(smallest_p_of_pairs),
  };
  return cmocka_run_group_tests_name("stats_intervals", tests, work_open, work_close);
}
