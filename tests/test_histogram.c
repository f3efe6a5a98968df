/*
 * Histograms against the values themselves: sorted lists give the exact quantiles, the layout's
 * first buckets are counted by hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/histogram.h"

#include <stdlib.h>

static const unsigned permilles[] = {500, 900, 990, 999};

static int compare(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

/* The smallest value with enough others at or below it, by counting. */
static uint64_t exact_quantile(const uint64_t *sorted, size_t n, unsigned permille) {
  size_t below = 1;
  while (below * 1000 < n * permille)
    below++;
  return sorted[below - 1];
}

static uint64_t random_number(uint64_t *state) {
  *state ^= *state << 13;
  *state ^= *state >> 7;
  return *state ^= *state << 17;
}

static void agrees(uint64_t *values, size_t n) {
  struct histogram *h = calloc(1, sizeof *h);
  assert_non_null(h);
  for (size_t i = 0; i < n; i++)
    histogram_record(h, values[i]);
  qsort(values, n, sizeof *values, compare);
  assert_true(h->total == n);
  assert_true(h->most == values[n - 1]);
  for (size_t q = 0; q < 4; q++) {
    uint64_t exact = exact_quantile(values, n, permilles[q]), told;
    assert_true(histogram_quantile(h, permilles[q], &told));
    if (told < exact || told - exact > exact / 32)
      fail_msg("%u of 1000: %llu told, %llu true", permilles[q], (unsigned long long)told,
               (unsigned long long)exact);
  }
  free(h);
}

static void quantiles_are_within_a_32nd(void **state) {
  (void)state;
  enum { N = 20000 };
  uint64_t *values = calloc(N, sizeof *values), random = 88172645463325252u;
  assert_non_null(values);
  for (size_t i = 0; i < N; i++) /* the same everywhere */
    values[i] = 1000000 + random_number(&random) % 1000;
  agrees(values, N);
  for (size_t i = 0; i < N; i++) /* over 33 powers of two */
    values[i] = random_number(&random) >> (28 + i % 33);
  agrees(values, N);
  for (size_t i = 0; i < N; i++) /* short ops, one in 500 interrupted for milliseconds */
    values[i] = i % 500 ? 5 + random_number(&random) % 40 : 3750000 + i;
  agrees(values, N);
  agrees(values, 1000); /* the fewest that have a p99.9 */
  free(values);
}

/* A bucket a value up to 63; then 64 and 65 share one, 126 and 127; 128 to 131; 2^20 .. +2^15-1. */
static void buckets_are_as_wide_as_they_should_be(void **state) {
  (void)state;
  for (unsigned v = 0; v < 64; v++)
    assert_int_equal(histogram_bucket(v), v);
  assert_int_equal(histogram_bucket(64), 64);
  assert_int_equal(histogram_bucket(65), 64);
  assert_int_equal(histogram_bucket(66), 65);
  assert_int_equal(histogram_bucket(127), 95);
  assert_int_equal(histogram_bucket(128), 96);
  assert_int_equal(histogram_bucket(131), 96);
  assert_int_equal(histogram_bucket(132), 97);
  assert_int_equal(histogram_bucket((1u << 20) + 32767), histogram_bucket(1u << 20));
  assert_int_equal(histogram_bucket((1u << 20) + 32768), histogram_bucket(1u << 20) + 1);
  assert_int_equal(histogram_bucket((UINT64_C(1) << 36) - 1), HISTOGRAM_BUCKETS - 1);
  assert_int_equal(histogram_bucket(UINT64_C(1) << 35), HISTOGRAM_BUCKETS - 32);
  assert_int_equal(histogram_bucket(UINT64_MAX), HISTOGRAM_BUCKETS - 1);
}

static void small_values_are_exact(void **state) {
  (void)state;
  struct histogram h = {0};
  uint64_t value;
  for (unsigned v = 1; v <= 60; v++)
    histogram_record(&h, v);
  assert_true(histogram_quantile(&h, 500, &value));
  assert_true(value == 30);
  assert_true(histogram_quantile(&h, 900, &value));
  assert_true(value == 54);
}

static void too_few_values_have_no_tail(void **state) {
  (void)state;
  struct histogram h = {0};
  uint64_t value;
  const uint64_t least[] = {2, 10, 100, 1000};
  for (size_t q = 0; q < 4; q++) {
    assert_true(histogram_least(permilles[q]) == least[q]);
    while (h.total + 1 < least[q])
      histogram_record(&h, 7);
    assert_false(histogram_quantile(&h, permilles[q], &value));
    histogram_record(&h, 7);
    assert_true(histogram_quantile(&h, permilles[q], &value));
    assert_true(value == 7);
  }
}

static void a_merged_one_is_as_if_one_had_seen_all(void **state) {
  (void)state;
  struct histogram all = {0}, parts[3] = {{{0}, 0, 0}}, sum = {0};
  uint64_t random = 12345, a, b;
  for (unsigned i = 0; i < 3000; i++) {
    uint64_t v = random_number(&random) >> (30 + i % 30);
    histogram_record(&all, v);
    histogram_record(&parts[i % 3], v);
  }
  for (unsigned i = 0; i < 3; i++)
    histogram_merge(&sum, &parts[i]);
  assert_memory_equal(&sum, &all, sizeof all);
  assert_true(histogram_quantile(&sum, 999, &a) && histogram_quantile(&all, 999, &b) && a == b);
}

/* Beyond the last power of two only the largest value is known. */
static void an_hour_is_told_as_the_largest(void **state) {
  (void)state;
  struct histogram h = {0};
  uint64_t value, hour = UINT64_C(3600) * 1000000000;
  for (unsigned i = 0; i < 10; i++)
    histogram_record(&h, hour + i);
  assert_true(histogram_quantile(&h, 500, &value));
  assert_true(value == hour + 9);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(quantiles_are_within_a_32nd),
      cmocka_unit_test(buckets_are_as_wide_as_they_should_be),
      cmocka_unit_test(small_values_are_exact),
      cmocka_unit_test(too_few_values_have_no_tail),
      cmocka_unit_test(a_merged_one_is_as_if_one_had_seen_all),
      cmocka_unit_test(an_hour_is_told_as_the_largest),
  };
  return cmocka_run_group_tests_name("histogram", tests, NULL, NULL);
}
