/* The U test against enumeration, benchstat's facts and counted tables. */
#include "comparer/stats.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "tests/facts.h"

enum { MOST = 600 };

static struct stats_mwu mwu(struct stats_work *w, const double *x, size_t nx, const double *y,
                            size_t ny) {
  struct stats_mwu r;
  assert_true(stats_mwu(w, x, nx, y, ny, &r));
  return r;
}

static void assert_relative(double got, double want, double tolerance, const char *what) {
  if (!(fabs(got - want) <= tolerance * fabs(want)))
    fail_msg("%s: got %.17g, want %.17g", what, got, want);
}

/* Doubled U of the pooled values that `chosen` marks, by comparing every pair. */
static int doubled_u(const double *pooled, size_t n, unsigned chosen) {
  int u2 = 0;
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < n; j++)
      if (chosen >> i & 1 && !(chosen >> j & 1))
        u2 += pooled[i] > pooled[j] ? 2 : pooled[i] == pooled[j];
  return u2;
}

/* P(|U - mu| >= |u - mu|) over every way to choose the first sample. */
static double enumerate(const double *pooled, size_t nx, size_t ny) {
  size_t n = nx + ny, total = 0, as_far = 0;
  int mu2 = (int)(nx * ny), off = abs(doubled_u(pooled, n, (1u << nx) - 1) - mu2);
  for (unsigned chosen = 0; chosen < 1u << n; chosen++) {
    if ((size_t)__builtin_popcount(chosen) != nx)
      continue;
    total++;
    as_far += abs(doubled_u(pooled, n, chosen) - mu2) >= off;
  }
  return (double)as_far / (double)total;
}

static void exact_p_is_what_enumeration_gives(void **state) {
  struct stats_work *w = *state;
  unsigned long long seed = 1;
  for (size_t nx = 1; nx <= 6; nx++)
    for (size_t ny = 1; ny <= 6; ny++)
      for (unsigned range = 2; range <= 64; range *= 2) {
        double pooled[12], x[6], y[6];
        for (size_t i = 0; i < nx + ny; i++)
          pooled[i] = facts_random(&seed, range);
        memcpy(x, pooled, nx * sizeof *x);
        memcpy(y, pooled + nx, ny * sizeof *y);
        facts_sort(x, nx);
        facts_sort(y, ny);
        struct stats_mwu r = mwu(w, x, nx, y, ny), back = mwu(w, y, ny, x, nx);
        assert_true(r.exact);
        assert_relative(r.p, enumerate(pooled, nx, ny), 1e-14, "p");
        assert_true(r.p == back.p && r.p <= 1);
        assert_true(2 * r.u1 == doubled_u(pooled, nx + ny, (1u << nx) - 1));
        assert_true(r.u1 + back.u1 == (double)(nx * ny));
      }
}

/*
 * 4.000 once against 3.000 3.000 3.000 4.000 4.000: U = 4 of 5, mu = 2.5. The 4 is one of three
 * tied largest in half of all arrangements (U = 4), a 3 in the other half (U = 1): both are 1.5
 * from mu, so p = 1. A tail taken on the wrong side and doubled has given 1.667 here.
 */
static void ties_and_unequal_sizes_never_exceed_one(void **state) {
  const double x[] = {4}, y[] = {3, 3, 3, 4, 4};
  assert_true(mwu(*state, x, 1, y, 5).p == 1);
  assert_true(mwu(*state, y, 5, x, 1).p == 1);
}

/* All different and all tied within the sides: 1 of C(9,4) = 126 arrangements. */
static void separated_and_tied_sides(void **state) {
  const double x[] = {2630, 2630, 2630, 2630, 2630}, y[] = {2440, 2440, 2440, 2440};
  /* U of the other extreme would need the four largest: they are part of a tie of five. */
  assert_relative(mwu(*state, x, 5, y, 4).p, 1.0 / 126, 1e-15, "5 against 4");
  assert_relative(mwu(*state, y, 4, x, 5).p, 1.0 / 126, 1e-15, "4 against 5");
  /* Equal sizes reach both extremes: 2 of C(8,4) = 70. */
  assert_relative(mwu(*state, x, 4, y, 4).p, 2.0 / 70, 1e-15, "4 against 4");
}

/*
 * Permeability of placentas, 10 at term and 5 at 12-26 weeks (Hollander and Wolfe, example 4.1):
 * 15 pairs below, so P(U <= 15) = 382 / 3003, two-sided 764 / 3003.
 */
static void placentas(void **state) {
  const double x[] = {0.73, 0.80, 0.83, 1.04, 1.38, 1.45, 1.46, 1.64, 1.89, 1.91};
  const double y[] = {0.74, 0.88, 0.90, 1.15, 1.21};
  struct stats_mwu r = mwu(*state, x, 10, y, 5);
  assert_true(r.u1 == 35 && r.exact && !r.all_equal);
  assert_relative(r.p, 764.0 / 3003, 1e-15, "p");
}

/* 2 / C(6,3) = 0.1: the level itself must be reached, not missed by a rounding. */
static void p_equal_to_a_level(void **state) {
  const double x[] = {1, 2, 3}, y[] = {4, 5, 6};
  assert_true(mwu(*state, x, 3, y, 3).p <= 0.1);
  assert_true(mwu(*state, x, 3, y, 3).p >= 0.1);
}

static void all_equal(void **state) {
  const double x[] = {5, 5, 5}, y[] = {5, 5};
  struct stats_mwu r = mwu(*state, x, 3, y, 2);
  assert_true(r.all_equal && r.p == 1);
  assert_false(mwu(*state, x, 1, (const double[]){6}, 1).all_equal);
}

static size_t check_table(struct stats_work *w, const char *path, int u_field, double tolerance) {
  struct facts f = facts_open(path);
  size_t rows = 0;
  while (facts_next(&f)) {
    double x[MOST], y[MOST], u1 = strtod(f.field[u_field], NULL);
    double p = strtod(f.field[u_field + 1], NULL);
    size_t nx = facts_list(f.field[f.fields - 2], x, MOST);
    size_t ny = facts_list(f.field[f.fields - 1], y, MOST);
    bool tied = u_field > 0 && !strcmp(f.field[2], "true");
    if (nx == 0 || (tied && nx != ny))
      continue; /* a fact without its samples, or one of benchstat's errors */
    facts_sort(x, nx);
    facts_sort(y, ny);
    struct stats_mwu r = mwu(w, x, nx, y, ny), back = mwu(w, y, ny, x, nx);
    assert_relative(r.u1, u1, 1e-15, "U");
    assert_relative(r.p, fmin(1, p), r.exact ? tolerance : 1e-9, "p");
    assert_true(r.p == back.p && r.p <= 1);
    rows++;
  }
  return rows;
}

static void p_matches_benchstat_where_it_is_right(void **state) {
  assert_in_range(check_table(*state, "tests/data/stats/mwu.tsv", 0, 1e-13), 30, 1000);
  const char *more = getenv("POOLCMP_FACTS");
  if (more) {
    char path[4096];
    snprintf(path, sizeof path, "%s/mwu.tsv", more);
    print_message("further facts: %zu rows\n", check_table(*state, path, 3, 1e-13));
  }
}

static void p_matches_arrangements_counted_elsewhere(void **state) {
  assert_in_range(check_table(*state, "tests/data/stats/mwu_exact.tsv", 0, 2e-15), 100, 1000);
}

/* Ordered samples with this U: all of x below y, then moved up one pair at a time. */
static void samples_with_u(size_t nx, size_t ny, size_t u, double *x, double *y) {
  for (size_t j = 0; j < ny; j++)
    y[j] = (double)j + 1;
  for (size_t i = nx; i-- > 0;) {
    size_t up = u < ny ? u : ny;
    u -= up;
    x[i] = (double)up + 0.5 + (double)i / (double)(2 * nx);
  }
}

/*
 * benchstat's figures beyond its exact sizes: normal, with half a step towards mu. The exact p of
 * the first is 0.43917: near enough, and the same figure as benchstat's matters more.
 */
static void normal_beyond_the_exact_sizes(void **state) {
  static const struct {
    size_t nx, ny, u;
    double p;
  } facts[] = {
      {51, 51, 1184, 0.43753996672917539},  {51, 51, 715, 9.0316646805722081e-05},
      {60, 60, 1953, 0.42346899223630996},  {60, 60, 1137, 0.00050663584770137173},
      {100, 100, 4967, 0.9367064044888499}, {100, 100, 2902, 2.9752481197047833e-07},
      {51, 12, 280, 0.65535218883313695},
  };
  for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++) {
    double x[MOST], y[MOST];
    samples_with_u(facts[i].nx, facts[i].ny, facts[i].u, x, y);
    struct stats_mwu r = mwu(*state, x, facts[i].nx, y, facts[i].ny);
    assert_true(!r.exact && r.u1 == (double)facts[i].u);
    assert_relative(r.p, facts[i].p, 1e-9, "p");
  }
}

/* 13 of 26 values tied in one group against 26: sigma^2 = n1 n2 / 12 (N + 1 - (t^3 - t)/N(N-1)). */
static void normal_with_ties_by_hand(void **state) {
  double x[26], y[26];
  for (size_t i = 0; i < 26; i++) {
    x[i] = i < 13 ? 0 : 100 + (double)i;
    y[i] = 50 + (double)i;
  }
  /* U = 13 x 26 = 338 = mu: p = 1. Moving two of the tied up, to the top: U = 390. */
  assert_true(mwu(*state, x, 26, y, 26).p == 1);
  x[11] = x[12] = 100;
  facts_sort(x, 26);
  double sigma = sqrt(26 * 26 / 12.0 * (53 - (11 * 11 * 11 - 11 + 6) / (52 * 51.0)));
  struct stats_mwu r = mwu(*state, x, 26, y, 26);
  assert_true(!r.exact && r.u1 == 390);
  assert_relative(r.p, 2 * (1 - stats_normal_cdf(51.5 / sigma)), 1e-12, "p");
}

/* 3000 a side, all of x below y: z = 67, far beyond where 1 - Phi(z) is 0. */
static void far_tails_are_never_zero(void **state) {
  enum { N = 3000 };
  static double x[N], y[N];
  for (size_t i = 0; i < N; i++) {
    x[i] = (double)i;
    y[i] = (double)(i + N);
  }
  struct stats_mwu down = mwu(*state, x, N, y, N), up = mwu(*state, y, N, x, N);
  assert_true(down.p > 0 && down.p < 1e-300 && down.p == up.p);
  /* 200 a side: z = (20000 - 0.5) / sqrt(200 x 200 x 401 / 12) = 17.2988, p = erfc(z / sqrt 2),
   * by the series erfc(t) = exp(-t^2) / (t sqrt pi) (1 - 1 / 2t^2 + 3 / 4t^4 - 15 / 8t^6). */
  double t = (20000 - 0.5) / sqrt(200.0 * 200 * 401 / 12) / sqrt(2), v = 1 / (2 * t * t);
  double want = exp(-t * t) / (t * sqrt(M_PI)) * (1 - v + 3 * v * v - 15 * v * v * v);
  assert_relative(mwu(*state, x, 200, y, 200).p, want, 1e-6, "tail");
}

/* p depends on order alone: not on scale, offset or what was computed before. */
static void p_is_invariant(void **state) {
  unsigned long long seed = 3;
  for (int round = 0; round < 50; round++) {
    size_t nx = 1 + facts_random(&seed, 30), ny = 1 + facts_random(&seed, 30);
    double x[30], y[30], x2[30], y2[30];
    for (size_t i = 0; i < nx; i++)
      x[i] = 1 + facts_random(&seed, 25);
    for (size_t i = 0; i < ny; i++)
      y[i] = 1 + facts_random(&seed, 25);
    facts_sort(x, nx);
    facts_sort(y, ny);
    for (size_t i = 0; i < nx; i++)
      x2[i] = -exp(x[nx - 1 - i]);
    for (size_t i = 0; i < ny; i++)
      y2[i] = -exp(y[ny - 1 - i]);
    assert_true(mwu(*state, x, nx, y, ny).p == mwu(*state, x2, nx, y2, ny).p);
  }
}

/* C(12,6) = 924, C(16,8) = 12870, C(9,4) = 126. */
static void smallest_p(void **state) {
  (void)state;
  assert_relative(stats_mwu_min_p(6, 6), 2.0 / 924, 1e-15, "6+6");
  assert_relative(stats_mwu_min_p(8, 8), 2.0 / 12870, 1e-15, "8+8");
  assert_relative(stats_mwu_min_p(5, 4), 2.0 / 126, 1e-15, "5+4");
  assert_relative(stats_mwu_min_p(4, 5), 2.0 / 126, 1e-15, "4+5");
  assert_true(stats_mwu_min_p(1, 1) == 1 && stats_mwu_min_p(0, 9) == 1);
  assert_true(stats_mwu_min_p(10000, 10000) >= 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(exact_p_is_what_enumeration_gives),
      cmocka_unit_test(ties_and_unequal_sizes_never_exceed_one),
      cmocka_unit_test(separated_and_tied_sides),
      cmocka_unit_test(placentas),
      cmocka_unit_test(p_equal_to_a_level),
      cmocka_unit_test(all_equal),
      cmocka_unit_test(p_matches_benchstat_where_it_is_right),
      cmocka_unit_test(p_matches_arrangements_counted_elsewhere),
      cmocka_unit_test(normal_beyond_the_exact_sizes),
      cmocka_unit_test(normal_with_ties_by_hand),
      cmocka_unit_test(far_tails_are_never_zero),
      cmocka_unit_test(p_is_invariant),
      cmocka_unit_test(smallest_p),
  };
  return cmocka_run_group_tests_name("stats_mwu", tests, work_open, work_close);
}
