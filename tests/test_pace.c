/* How many ops and for how long: values worked out by hand from the rules in pace.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/pace.h"

#define MS UINT64_C(1000000)

static void a_call_is_twenty_microseconds_of_ops(void **state) {
  (void)state;
  assert_int_equal(pace_grain(1), 20000);
  assert_int_equal(pace_grain(100), 200);
  assert_int_equal(pace_grain(19000), 1);
  assert_int_equal(pace_grain(6e6), 1);
  assert_int_equal(pace_grain(0), 1);
  assert_int_equal(pace_grain(1e-12), UINT64_C(1) << 30);
}

static void a_rotation_is_a_slice_for_each_thread_of_a_cpu(void **state) {
  (void)state;
  assert_int_equal(pace_rotation_ns(1, 2), 0);
  assert_int_equal(pace_rotation_ns(2, 2), 0);
  assert_int_equal(pace_rotation_ns(3, 2), 7500000);
  assert_int_equal(pace_rotation_ns(32, 2), 60 * MS);
}

static void warm_up_is_a_small_part(void **state) {
  (void)state;
  assert_int_equal(pace_warmup_min_ns(200 * MS, 2, 2), 25 * MS);
  assert_int_equal(pace_warmup_min_ns(400 * MS, 32, 2), 60 * MS);
  assert_int_equal(pace_warmup_min_ns(100 * MS, 32, 2), 30 * MS);
  assert_int_equal(pace_warmup_max_ns(200 * MS), 80 * MS);
}

static void long_ops_get_a_longer_part(void **state) {
  (void)state;
  assert_int_equal(pace_window_ns(200 * MS, 1e3), 200 * MS);
  assert_int_equal(pace_window_ns(200 * MS, 2e6), 200 * MS);  /* 100 ops on a CPU: just right */
  assert_int_equal(pace_window_ns(200 * MS, 6e6), 600 * MS);  /* half an op is 0.5 % of it */
  assert_int_equal(pace_window_ns(200 * MS, 50e6), 800 * MS); /* no longer than four windows */
  assert_true(pace_tail(6e6, 600 * MS) == 0.005);
  assert_true(pace_tail(50e6, 800 * MS) > 0.03);
}

static void ops_fill_the_window(void **state) {
  (void)state;
  assert_int_equal(pace_ops(1e6, 2.5), 400000);
  assert_int_equal(pace_ops(1e6, 3e6), 1);
  assert_int_equal(pace_ops(1e6, 0), 1);
  assert_int_equal(pace_ops(1e30, 1), UINT64_C(1) << 60);
  assert_int_equal(pace_measured_ops(200 * MS, 50e3, 2, 32), 4000);
  assert_int_equal(pace_measured_ops(200 * MS, 3e6, 2, 32), 200); /* 6 ms on a CPU: 600 ms */
  /* 10 ms a CPU: 800 ms hold 160 ops, and 100 threads want 200: that is 1 s, too long. */
  assert_int_equal(pace_measured_ops(200 * MS, 5e6, 2, 100), 160);
  /* 150 threads and ops of 1 ms: 100 ops would leave 50 idle, 300 take three windows. */
  assert_int_equal(pace_measured_ops(100 * MS, 1e6, 1, 150), 300);
}

static bool steady(uint64_t ops0, uint64_t misses0, uint64_t ops1, uint64_t gets1,
                   uint64_t misses1) {
  struct pace_misses before = {ops0, gets1, misses0}, now = {ops1, gets1, misses1};
  return pace_steady(&before, &now);
}

static void steady_means_equal_misses_per_op(void **state) {
  (void)state;
  assert_true(steady(100, 0, 100, 0, 0)); /* asks for nothing */
  assert_true(steady(1000, 441000, 1000, 441000, 441000));
  assert_false(steady(1000, 441000, 1000, 441000, 0)); /* the first ops miss, later ones hit */
  assert_true(steady(1000, 132000, 2000, 882000, 264400));
  assert_false(steady(1000, 132000, 2000, 882000, 200000));
  /* 2 % of 100 misses, 0.2 % of 441 gets, 3 (sqrt(100e3) + sqrt(103e3)) / 1e3: 4.8 in all. */
  assert_true(steady(1000, 100000, 1000, 441000, 104000));
  assert_false(steady(1000, 100000, 1000, 441000, 106000));
  assert_true(steady(10, 3, 10, 20, 0)); /* 0.3 a op, but three misses are no rate */
  assert_false(steady(0, 0, 10, 10, 0));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_call_is_twenty_microseconds_of_ops),
      cmocka_unit_test(a_rotation_is_a_slice_for_each_thread_of_a_cpu),
      cmocka_unit_test(warm_up_is_a_small_part),
      cmocka_unit_test(long_ops_get_a_longer_part),
      cmocka_unit_test(ops_fill_the_window),
      cmocka_unit_test(steady_means_equal_misses_per_op),
  };
  return cmocka_run_group_tests_name("pace", tests, NULL, NULL);
}
