/*
 * The micro cases: every op gets and puts what its name says, in scopes of 64 gets, and running
 * out of memory is a failed thread, not a crash.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/strategy_fixture.h"
#include "workloads/workload.h"

#include <stdio.h>
#include <string.h>

extern const struct workload workload_micro;

static const struct workload *const micro = &workload_micro;

/* A case opened under a strategy, with its one measuring thread. */
struct bench {
  struct fixture f;
  struct workload_state *state;
  struct workload_thread t;
  int64_t live_bytes;
};

static void bench_open(struct bench *b, const char *case_name, const char *spec) {
  static char why[300];
  struct workload_setup setup = {
      .case_name = case_name, .threads = 1, .seed = 7, .why = why, .why_size = sizeof why};
  b->live_bytes = fixture_live_bytes();
  if (!micro->open(&setup, &b->state))
    fail_msg("%s: %s", case_name, why);
  size_t kind_count;
  const struct kind *kinds = micro->kinds(b->state, &kind_count);
  fixture_open(&b->f, spec, kinds, kind_count);
  b->t = (struct workload_thread){.strategy = b->f.s,
                                  .pool = b->f.pool,
                                  .pool_thread = b->f.thread,
                                  .state = b->state,
                                  .threads = 1};
  assert_true(micro->thread_open(&b->t));
}

static void bench_close(struct bench *b) {
  micro->thread_close(&b->t);
  fixture_close(&b->f);
  micro->close(b->state);
  assert_int_equal(fixture_live_bytes(), b->live_bytes);
}


static void pair_gets_and_puts_one_object_an_op(void **case_name) {
  static const uint64_t counts[] = {1, 63, 64, 65, 1000};
  struct bench b;
  uint64_t total = 0;
  bench_open(&b, *case_name, "per-thread");
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
    micro->run(&b.t, counts[i]);
    total += counts[i];
    struct pool_stats stats = fixture_stats(&b.f);
    assert_false(b.t.failed);
    assert_int_equal(stats.gets, total);
    assert_int_equal(stats.puts, total);
    assert_int_equal(stats.misses, 1);
    assert_int_equal(stats.drops, 0);
  }
  bench_close(&b);
}

/* The size in the name is the size asked of the heap. */
static void pair_asks_for_its_size(void **case_name) {
  size_t size;
  assert_int_equal(sscanf(*case_name, "Micro/pair/%zuB", &size), 1);
  struct bench b;
  struct heap_counts before, after;
  bench_open(&b, *case_name, "malloc");
  heap_total(&before);
  micro->run(&b.t, 100);
  heap_total(&after);
  assert_int_equal(after.allocs - before.allocs, 100);
  assert_int_equal(after.alloc_bytes - before.alloc_bytes, 100 * size);
  bench_close(&b);
}

/* slot=none takes the lock at each begin and end, so acquisitions count scopes twice. */
static void a_scope_is_64_gets(void **state) {
  (void)state;
  struct bench b;
  bench_open(&b, "Micro/pair/64B", "pooled-freelists:slot=none");
  micro->run(&b.t, 640);
  assert_int_equal(fixture_stats(&b.f).lock_acquisitions, 2 * 10);
  micro->run(&b.t, 65);
  assert_int_equal(fixture_stats(&b.f).lock_acquisitions, 2 * 12);
  bench_close(&b);
}

static void running_out_of_memory_fails_the_thread(void **state) {
  (void)state;
  struct bench b;
  bench_open(&b, "Micro/pair/64B", "malloc");
  heap_fail_after(100);
  micro->run(&b.t, 1000);
  heap_fail_after(0);
  assert_true(b.t.failed);
  assert_non_null(strstr(b.t.why, "out of memory in get of strategy malloc"));
  assert_int_equal(fixture_stats(&b.f).gets, 100); /* and stops there */
  bench_close(&b);
}

static void a_wrong_case_is_refused(void **state) {
  (void)state;
  char why[200] = "";
  struct workload_state *opened = NULL;
  struct workload_setup setup = {
      .case_name = "Micro/pear/64B", .threads = 1, .why = why, .why_size = sizeof why};
  assert_false(micro->open(&setup, &opened));
  assert_non_null(strstr(why, "Micro/pear/64B"));
}

static void the_table_is_well_formed(void **state) {
  (void)state;
  size_t count = 0;
  for (const struct workload_case *c = micro->cases; c->name; c++, count++) {
    assert_int_equal(strncmp(c->name, "Micro/", 6), 0);
    assert_non_null(c->what);
    assert_true(c->op_hint_ns > 0);
    assert_true(c->disciplines & DISCIPLINE_BIT(DISCIPLINE_BALANCED));
    for (const struct workload_case *earlier = micro->cases; earlier < c; earlier++)
      assert_string_not_equal(earlier->name, c->name);
  }
  assert_true(count >= 4);
}

#define CASE(test, name) \
  { #test ": " name, test, NULL, NULL, (void *)(uintptr_t)name }
#define PAIR_CASES(test)                                                                     \
  CASE(test, "Micro/pair/16B"), CASE(test, "Micro/pair/64B"), CASE(test, "Micro/pair/256B"), \
      CASE(test, "Micro/pair/4096B")

int main(void) {
  const struct CMUnitTest tests[] = {
      PAIR_CASES(pair_gets_and_puts_one_object_an_op),
      PAIR_CASES(pair_asks_for_its_size),
      cmocka_unit_test(a_scope_is_64_gets),
      cmocka_unit_test(running_out_of_memory_fails_the_thread),
      cmocka_unit_test(a_wrong_case_is_refused),
      cmocka_unit_test(the_table_is_well_formed),
  };
  heap_thread_begin();
  return cmocka_run_group_tests_name("micro", tests, NULL, NULL);
}
