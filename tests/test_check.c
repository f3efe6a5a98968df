/*
 * The checker: each misuse is planted under several strategies, and the report must name the
 * fault, the kind and both places. Correct use must go unreported; the strategies' own tests,
 * built with CHECK=1, show that at length.
 */
#ifdef POOL_CHECK
#define CHECK_BUILD
#else
#define POOL_CHECK /* this file's calls carry their sites in every build */
#endif

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/heap.h"
#include "strategies/pool.h"
#include "strategies/support/check.h"

#include <stdio.h>
#include <string.h>

static bool fill_a5(void *object) {
  memset(object, 0xa5, 48);
  return true;
}
static void clear_a5(void *object) {
  memset(object, 0xa5, 48);
}

enum { APPLE, PEAR, FIG, KINDS };
static const struct kind kinds[KINDS] = {
    [APPLE] = {.name = "apple", .size = 48},
    [PEAR] = {.name = "pear", .size = 48, .align = 64},
    [FIG] = {.name = "fig", .size = 48, .init = fill_a5, .clear = clear_a5},
};

static struct {
  unsigned count;
  struct check_report last;
} reports;

static void note(const struct check_report *report, void *arg) {
  (void)arg;
  reports.count++;
  reports.last = *report;
}

static const struct strategy *s;
static struct pool *pool;
static struct pool_thread *thread;
static struct pool_scope *scope;

static void open_spec(const char *spec) {
  static char storage[STRATEGY_SPEC_MAX];
  const char *options[STRATEGY_MAX_OPTIONS];
  size_t count;
  char why[200] = "";
  const struct strategy *inner = strategy_parse(spec, storage, options, &count, why, sizeof why);
  if (!inner)
    fail_msg("%s", why);
  s = check_wrap(inner);
  struct pool_config config = {options, count, 4, why, sizeof why, NULL};
  pool = s->open(kinds, KINDS, &config);
  if (!pool)
    fail_msg("%s", why);
  thread = s->attach(pool);
  scope = pool_begin(s, pool, thread, NULL);
}

static void close_pool(void) {
  if (scope)
    pool_end(s, pool, scope);
  s->detach(pool, thread);
  s->close(pool);
}

static int reset(void **state) {
  (void)state;
  memset(&reports, 0, sizeof reports);
  check_on_report(note, NULL);
  return 0;
}

/* One report, with this fault, kind and sites (lines of this file; 0: none). */
static void expect(enum check_fault fault, const char *kind, int first, int second) {
  char site[200];
  assert_int_equal(reports.count, 1);
  assert_int_equal(reports.last.fault, fault);
  if (kind) {
    assert_string_equal(reports.last.kind, kind);
    assert_non_null(strstr(reports.last.text, kind));
  }
  const struct {
    const char *seen;
    int line;
  } sites[] = {{reports.last.first, first}, {reports.last.second, second}};
  for (int i = 0; i < 2; i++) {
    if (!sites[i].line)
      continue;
    snprintf(site, sizeof site, "%s:%d", __FILE__, sites[i].line);
    assert_string_equal(sites[i].seen, site);
    assert_non_null(strstr(reports.last.text, site));
  }
}

static void correct_use_is_silent(void **spec) {
  open_spec(*spec);
  for (int round = 0; round < 3; round++) {
    void *objects[2][20];
    for (int i = 0; i < 20; i++)
      for (unsigned kind = 0; kind < 2; kind++)
        memset(objects[kind][i] = pool_get(s, scope, kind), i, 48);
    for (int i = 0; i < 20; i++)
      for (unsigned kind = 0; kind < 2; kind++)
        if (i == 7)
          pool_drop(s, thread, kind, objects[kind][i]);
        else
          pool_put(s, scope, kind, objects[kind][i]);
    s->trim(pool);
  }
  close_pool();
  assert_int_equal(reports.count, 0);
}

static void double_put(void **spec) {
  open_spec(*spec);
  void *object = pool_get(s, scope, 0);
  int first = __LINE__ + 1;
  pool_put(s, scope, 0, object);
  pool_put(s, scope, 0, object);
  expect(CHECK_DOUBLE_PUT, "apple", first, first + 1);
  /* The second put did not go through: the object is given out once only. */
  void *a = pool_get(s, scope, 0), *b = pool_get(s, scope, 0);
  assert_ptr_not_equal(a, b);
  pool_put(s, scope, 0, a);
  pool_put(s, scope, 0, b);
  close_pool();
  assert_int_equal(reports.count, 1);
}

static void put_after_drop(void **spec) {
  open_spec(*spec);
  void *object = pool_get(s, scope, 1);
  int first = __LINE__ + 1;
  pool_drop(s, thread, 1, object);
  pool_put(s, scope, 1, object);
  expect(CHECK_DOUBLE_PUT, "pear", first, first + 1);
  close_pool();
}

static void use_after_put_found_at_the_next_get(void **spec) {
  open_spec(*spec);
  char *object = pool_get(s, scope, 0);
  int put = __LINE__ + 1;
  pool_put(s, scope, 0, object);
  object[17] = 'x';
  pool_put(s, scope, 0, pool_get(s, scope, 0)); /* two calls on one line: the get's site counts */
  expect(CHECK_USE_AFTER_PUT, "apple", put, put + 2);
  assert_non_null(strstr(reports.last.text, "byte 17"));
  close_pool();
  assert_int_equal(reports.count, 1);
}

static void use_after_put_found_at_close(void **spec) {
  open_spec(*spec);
  char *object = pool_get(s, scope, 1);
  int put = __LINE__ + 1;
  pool_put(s, scope, 1, object);
  object[0] = 'x';
  close_pool();
  expect(CHECK_USE_AFTER_PUT, "pear", put, 0);
}

/* Whoever reads an object after its put reads no plausible value. */
static void a_pooled_object_reads_as_poison(void **spec) {
  open_spec(*spec);
  unsigned char *object = pool_get(s, scope, 0);
  memset(object, 7, 48);
  pool_put(s, scope, 0, object);
  for (int i = 0; i < 48; i++)
    assert_int_equal(object[i], 0xdb);
  close_pool();
}

/* Poison is gone before the next user looks. */
static void a_recycled_object_is_cleared(void **spec) {
  open_spec(*spec);
  for (int round = 0; round < 2; round++) {
    unsigned char *object = pool_get(s, scope, FIG);
    for (int i = 0; i < 48; i++)
      assert_int_equal(object[i], 0xa5);
    memset(object, round, 48);
    pool_put(s, scope, FIG, object);
  }
  close_pool();
  assert_int_equal(reports.count, 0);
}

static void foreign_pointer(void **spec) {
  static _Alignas(64) char elsewhere[48];
  open_spec(*spec);
  int line = __LINE__ + 1;
  pool_put(s, scope, 0, elsewhere);
  expect(CHECK_FOREIGN, NULL, 0, line);
  reports.count = 0;
  char *object = pool_get(s, scope, 0);
  pool_drop(s, thread, 0, object + 16); /* into the middle of one */
  expect(CHECK_FOREIGN, NULL, 0, __LINE__ - 1);
  pool_put(s, scope, 0, object);
  close_pool();
}

static void wrong_kind(void **spec) {
  open_spec(*spec);
  int got = __LINE__ + 1;
  void *object = pool_get(s, scope, 0);
  pool_put(s, scope, 1, object);
  expect(CHECK_WRONG_KIND, "apple", got, got + 1);
  assert_non_null(strstr(reports.last.text, "as kind pear"));
  pool_put(s, scope, 0, object);
  close_pool();
  assert_int_equal(reports.count, 1);
}

static void leak_at_close(void **spec) {
  open_spec(*spec);
  pool_put(s, scope, 0, pool_get(s, scope, 0));
  int got = __LINE__ + 1;
  void *object = pool_get(s, scope, 1);
  assert_non_null(object);
  pool_end(s, pool, scope);
  s->detach(pool, thread);
  thread = NULL;
  s->close(pool);
  expect(CHECK_LEAK, "pear", got, 0);
  heap_free(object, 48);
}

/* A strategy with the fault that the checker looks for: every get gives the same object. */
static void a_strategy_that_gives_an_object_twice(void **state) {
  (void)state;
  open_spec("null");
  int first = __LINE__ + 1;
  void *a = pool_get(s, scope, 0);
  void *b = pool_get(s, scope, 0);
  assert_ptr_equal(a, b);
  expect(CHECK_GIVEN_TWICE, "apple", first, first + 1);
  pool_put(s, scope, 0, a);
  close_pool();
}

static void one_pool_at_a_time(void **state) {
  (void)state;
  char why[200] = "";
  struct pool_config config = {NULL, 0, 1, why, sizeof why, NULL};
  open_spec("malloc");
  assert_null(s->open(kinds, KINDS, &config));
  assert_non_null(strstr(why, "one pool at a time"));
  close_pool();
}

static void without_a_check_build_nothing_is_wrapped(void **state) {
  (void)state;
  const struct strategy *inner = strategy_find("per-thread");
  const struct strategy *given = strategy_checked(inner);
#ifdef CHECK_BUILD
  assert_ptr_not_equal(given, inner);
#else
  assert_ptr_equal(given, inner);
#endif
}

#define WITH(test, spec) \
  { #test ": " spec, test, reset, NULL, (void *)(uintptr_t)spec }
#define WITH_ALL(test)                                                            \
  WITH(test, "malloc"), WITH(test, "per-thread"), WITH(test, "pooled-freelists"), \
      WITH(test, "global-locked")
/* Strategies that keep what is put. */
#define WITH_POOLS(test) \
  WITH(test, "per-thread"), WITH(test, "pooled-freelists"), WITH(test, "global-locked")

int main(void) {
  const struct CMUnitTest tests[] = {
      WITH_ALL(correct_use_is_silent),
      WITH_ALL(double_put),
      WITH_ALL(put_after_drop),
      WITH_POOLS(use_after_put_found_at_the_next_get),
      WITH_POOLS(use_after_put_found_at_close),
      WITH_POOLS(a_pooled_object_reads_as_poison),
      WITH_ALL(a_recycled_object_is_cleared),
      WITH_ALL(foreign_pointer),
      WITH_ALL(wrong_kind),
      WITH_ALL(leak_at_close),
      cmocka_unit_test_setup(a_strategy_that_gives_an_object_twice, reset),
      cmocka_unit_test_setup(one_pool_at_a_time, reset),
      cmocka_unit_test_setup(without_a_check_build_nothing_is_wrapped, reset),
      WITH(correct_use_is_silent, "per-thread:cap=3"),
  };
  return cmocka_run_group_tests_name("check", tests, NULL, NULL);
}
