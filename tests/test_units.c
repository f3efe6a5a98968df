/* Readings in, units out: one measurement of round numbers, and the odd ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/units.h"
#include "tests/sample_fixture.h"

#include <math.h>
#include <string.h>

/*
 * Four threads on CPUs 0 and 1, 100 ops in 1000 ns. The threads of CPU 0 are done after 1000 ns,
 * those of CPU 1 after 900; each had half of its CPU's time but for 20 ns that thread 3 slept.
 */
static struct thread_reading threads[4];

static struct measurement round_numbers(void) {
  static const uint64_t span[4] = {1000, 900, 990, 900}, cpu[4] = {500, 450, 490, 430};
  for (int i = 0; i < 4; i++)
    threads[i] = (struct thread_reading){
        .cpu = i % 2,
        .span_ns = span[i],
        .start = {.cpu_ns = 7000, .voluntary = 3, .involuntary = 2, .minor = 50, .major = 1},
        .end = {.cpu_ns = 7000 + cpu[i], .voluntary = 3, .involuntary = 4, .minor = 60, .major = 2},
        .delay_start_ns = 100,
        .delay_end_ns = 100 + span[i] - cpu[i] - (i == 3 ? 20 : 0),
        .has_delay = true,
    };
  return (struct measurement){
      .ops = 100,
      .elapsed_ns = 1000,
      .threads = 4,
      .cpus = 2,
      .thread = threads,
      .process_cpu_ns = 1870 + 11, /* the threads and the harness */
      .heap_start = {.allocs = 5, .alloc_bytes = 1000, .frees = 1, .freed_bytes = 100},
      .heap_end = {.allocs = 905, .alloc_bytes = 41000, .frees = 801, .freed_bytes = 36000},
      .pool_start = {.gets = 10, .misses = 10, .lock_acquisitions = 1},
      .pool_end = {.gets = 4010,
                   .puts = 3000,
                   .misses = 1010,
                   .lock_acquisitions = 201,
                   .lock_wait_ns = 5000},
      .live_peak = 6000,
      .held = {.objects = 10, .bytes = 640},
      .has_system_bytes = true,
      .system_bytes = 135168,
      .has_rss = true,
      .rss_peak = 1 << 20,
  };
}

static void near(double value, double expected) {
  if (fabs(value - expected) > 1e-9 * fabs(expected))
    fail_msg("%.12g instead of %.12g", value, expected);
}

static void divides_by_ops(void **state) {
  (void)state;
  struct measurement m = round_numbers();
  struct sample s = {0};
  assert_true(units_fill(&m, &s));
  assert_int_equal(s.ops, 100);
  near(get(&s, "ns/op"), 10);
  near(get(&s, "B/op"), 400);
  near(get(&s, "allocs/op"), 9);
  near(get(&s, "cpu-ns/op"), 18.7);
  near(get(&s, "runqueue-ns/op"), 19.0);
  near(get(&s, "blocked-ns/op"), 0.2);
  near(get(&s, "ctx-switches/op"), 0.08);
  near(get(&s, "faults/op"), 0.44);
  near(get(&s, "miss-%"), 25);
  near(get(&s, "gets/op"), 40);
  near(get(&s, "puts/op"), 30);
  near(get(&s, "misses/op"), 10);
  near(get(&s, "lockacq/op"), 2);
  near(get(&s, "lockwait-ns/op"), 50);
  near(get(&s, "live-peak-B"), 6000);
  near(get(&s, "pooled-B"), 640);
  near(get(&s, "heap-held-B"), 135168 - 5000);
  near(get(&s, "rss-peak-B"), 1048576);
  assert_non_null(text_of(s.missing, s.missing_count, "lockhold-ns/op"));
  assert_int_equal(s.flag_count, 0);
  sample_free(&s);
}

/* Everything is there once, as a value or as missing; host-speed-% and shared-lines-% need more. */
static void says_something_about_every_unit(void **state) {
  (void)state;
  struct measurement m = round_numbers();
  struct sample s = {0};
  double value;
  assert_true(units_fill(&m, &s));
  for (int i = 0; i < UNIT_COUNT; i++) {
    const char *name = unit_infos[i].name;
    bool has = sample_get(&s, name, &value);
    bool missing = text_of(s.missing, s.missing_count, name) != NULL;
    assert_int_equal(has + missing, i == UNIT_SPEED || i == UNIT_SHARED_LINES ? 0 : 1);
  }
#define LOOK(field, name, what) \
  assert_true(sample_get(&s, name, &value) || text_of(s.missing, s.missing_count, name));
  POOL_COUNTERS(LOOK)
#undef LOOK
  sample_free(&s);
}

/* CPU 0 offered 1000 ns and CPU 1, done earlier, 900; 1870 went to us and 11 to the harness. */
static void foreign_cpu_is_what_unblocked_threads_did_not_get(void **state) {
  (void)state;
  struct measurement m = round_numbers();
  struct sample s = {0};
  assert_true(units_fill(&m, &s));
  near(get(&s, "foreign-cpu-%"), 100 * 19.0 / 1900);
  sample_free(&s);

  m.process_cpu_ns -= 150; /* now 169 of 1900 ns are gone, and show as run-queue delay */
  threads[0].end.cpu_ns -= 150;
  threads[0].delay_end_ns += 150;
  assert_true(units_fill(&m, &s));
  near(get(&s, "foreign-cpu-%"), 100 * 169.0 / 1900);
  assert_non_null(text_of(s.flags, s.flag_count, FLAG_FOREIGN));
  sample_free(&s);
}

static void foreign_cpu_cannot_be_told_from_idle_time(void **state) {
  (void)state;
  struct measurement m = round_numbers();
  struct sample s = {0};
  threads[0].end.cpu_ns -= 150; /* asleep meanwhile */
  m.process_cpu_ns -= 150;
  assert_true(units_fill(&m, &s));
  assert_non_null(text_of(s.missing, s.missing_count, "foreign-cpu-%"));
  assert_int_equal(s.flag_count, 0);
  sample_free(&s);

  /* With a CPU each, only others can make a thread wait for it: 10 of 1900 ns. */
  m.threads = 2;
  m.process_cpu_ns = 1211;
  threads[0].end.cpu_ns = 7600, threads[0].delay_end_ns = 110;
  threads[1].end.cpu_ns = 7600, threads[1].delay_end_ns = 100;
  assert_true(units_fill(&m, &s));
  near(get(&s, "foreign-cpu-%"), 100 * 10.0 / 1900);
  near(get(&s, "blocked-ns/op"), (390 + 300) / 100.0);
  sample_free(&s);
}

static void unbound_threads_had_all_cpus_all_the_time(void **state) {
  (void)state;
  struct measurement m = round_numbers();
  struct sample s = {0};
  for (int i = 0; i < 4; i++)
    threads[i].cpu = -1;
  assert_true(units_fill(&m, &s));
  near(get(&s, "foreign-cpu-%"), 100 * (2000 - 1870 - 11) / 2000.0);
  sample_free(&s);
}

static void what_the_machine_lacks_is_missing_not_zero(void **state) {
  (void)state;
  struct measurement m = round_numbers();
  struct sample s = {0};
  threads[2].has_delay = false; /* one thread's is enough: the sum would be wrong */
  m.has_rss = m.has_system_bytes = false;
  strcpy(m.why_no_system_bytes, "it does not tell");
  m.pool_end.gets = m.pool_start.gets;
  m.pool_end.lock_hold_ns = 700;
  assert_true(units_fill(&m, &s));
  assert_string_equal(text_of(s.missing, s.missing_count, "heap-held-B"), "it does not tell");
  assert_non_null(text_of(s.missing, s.missing_count, "rss-peak-B"));
  assert_non_null(text_of(s.missing, s.missing_count, "blocked-ns/op"));
  assert_non_null(text_of(s.missing, s.missing_count, "runqueue-ns/op"));
  assert_non_null(text_of(s.missing, s.missing_count, "miss-%"));
  near(get(&s, "lockhold-ns/op"), 7);
  sample_free(&s);
}

static void less_held_than_live_is_no_negative_size(void **state) {
  (void)state;
  struct measurement m = round_numbers();
  struct sample s = {0};
  m.system_bytes = 1000; /* less than the 5000 live ones: some came from elsewhere */
  assert_true(units_fill(&m, &s));
  near(get(&s, "heap-held-B"), 0);
  sample_free(&s);
}

static void throttling_is_a_flag(void **state) {
  (void)state;
  struct measurement m = round_numbers();
  struct sample s = {0};
  m.has_throttled = true;
  m.throttled = 3;
  assert_true(units_fill(&m, &s));
  assert_non_null(strstr(text_of(s.flags, s.flag_count, FLAG_THROTTLED), "3 times"));
  sample_free(&s);
}

/* Two of 8 lines; of the second kind one of one, the third never came. */
static void shared_lines_are_told_by_kind(void **state) {
  (void)state;
  static const struct kind kinds[] = {{.name = "list"}, {.name = "entries map"}, {.name = "x"}};
  struct lines_result lines = {.all = {8, 2}, .kind = {{8, 2}, {1, 1}}};
  struct sample s = {0};
  double ignored;
  assert_true(units_fill_lines(&lines, kinds, 3, &s));
  near(get(&s, "shared-lines-%"), 25);
  near(get(&s, "list:shared-lines-%"), 25);
  near(get(&s, "entries-map:shared-lines-%"), 100);
  assert_false(sample_get(&s, "x:shared-lines-%", &ignored));
  sample_free(&s);

  assert_true(units_fill_lines(&lines, kinds, 1, &s)); /* the one kind is all there is */
  assert_int_equal(s.value_count, 1);
  sample_free(&s);

  lines = (struct lines_result){.lost = 0};
  assert_true(units_fill_lines(&lines, kinds, 3, &s));
  assert_non_null(text_of(s.missing, s.missing_count, "shared-lines-%"));
  sample_free(&s);
}

/* 60 of 100 ops took 1 to 60 ns: the 30th, the 54th and the last; no hundred for a p99. */
static void percentiles_are_of_the_timed_ops(void **state) {
  (void)state;
  struct measurement m = round_numbers();
  struct histogram latency = {0};
  struct sample s = {0};
  for (unsigned ns = 60; ns >= 1; ns--)
    histogram_record(&latency, ns);
  m.latency = &latency;
  assert_true(units_fill(&m, &s));
  near(get(&s, "p50-ns"), 30);
  near(get(&s, "p90-ns"), 54);
  near(get(&s, "max-ns"), 60);
  near(get(&s, "timed-%"), 60);
  assert_non_null(strstr(text_of(s.missing, s.missing_count, "p99-ns"), "fewer than 100 ops"));
  assert_non_null(strstr(text_of(s.missing, s.missing_count, "p999-ns"), "fewer than 1000 ops"));
  sample_free(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(divides_by_ops),
      cmocka_unit_test(says_something_about_every_unit),
      cmocka_unit_test(foreign_cpu_is_what_unblocked_threads_did_not_get),
      cmocka_unit_test(foreign_cpu_cannot_be_told_from_idle_time),
      cmocka_unit_test(unbound_threads_had_all_cpus_all_the_time),
      cmocka_unit_test(what_the_machine_lacks_is_missing_not_zero),
      cmocka_unit_test(less_held_than_live_is_no_negative_size),
      cmocka_unit_test(throttling_is_a_flag),
      cmocka_unit_test(shared_lines_are_told_by_kind),
      cmocka_unit_test(percentiles_are_of_the_timed_ops),
  };
  return cmocka_run_group_tests_name("units", tests, NULL, NULL);
}
