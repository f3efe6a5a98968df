/*
 * The example in docs/workloads.md: it runs under every strategy that it fits, asks for what it
 * says, and survives an allocator that fails.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "workloads_example.inc" /* the example, taken from the page by make */

#include "harness/cell.h"
#include "tests/strategy_fixture.h"
#include "tests/workload_fixture.h"

enum { OPS = 20, THREADS = 3 };

static struct run counted(const char *case_name, const char *spec) {
  struct run r = {.workload = &workload_tree,
                  .case_name = case_name,
                  .spec = spec,
                  .threads = THREADS,
                  .warm = 2,
                  .ops = OPS};
  run_clean(&r);
  return r;
}

static void it_runs_under_every_strategy_that_it_fits(void **state) {
  (void)state;
  unsigned ran = 0;
  for (size_t i = 0; strategies[i]; i++) {
    char why[200];
    if (!cell_fits(&cases[0], strategies[i], DISCIPLINE_BALANCED, THREADS, why, sizeof why))
      continue;
    struct run r = counted("Tree/127", strategies[i]->name);
    assert_int_equal(r.stats.gets, THREADS * OPS * 127);
    assert_int_equal(r.stats.drops, 0);
    ran++;
  }
  assert_true(ran >= 5);
}

static void its_cases_differ_in_size(void **state) {
  (void)state;
  assert_int_equal(counted("Tree/127", "malloc").counted.allocs, THREADS * OPS * 127);
  assert_int_equal(counted("Tree/1023", "malloc").counted.allocs, THREADS * OPS * 1023);
  assert_int_equal(counted("Tree/1023", "per-thread").counted.allocs, 0);
}

static void a_failed_allocation_is_a_failed_op(void **state) {
  (void)state;
  struct workload_state tree = {.height = 7};
  size_t count;
  struct fixture f;
  fixture_open(&f, "malloc", tree_kinds(&tree, &count), KINDS);
  struct workload_thread t = {
      .strategy = f.s, .pool = f.pool, .pool_thread = f.thread, .state = &tree, .threads = 1};
  heap_fail_after(50);
  tree_run(&t, 2);
  heap_fail_after(0);
  assert_true(t.failed);
  assert_non_null(strstr(t.why, "out of memory"));
  fixture_close(&f); /* finds every node freed */
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(it_runs_under_every_strategy_that_it_fits),
      cmocka_unit_test(its_cases_differ_in_size),
      cmocka_unit_test(a_failed_allocation_is_a_failed_op),
  };
  heap_thread_begin();
  int failed = cmocka_run_group_tests_name("workload_example", tests, NULL, NULL);
  heap_thread_end();
  return failed;
}
