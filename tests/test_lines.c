/*
 * Shared lines under a strategy that hands out the addresses it is told to: what lies on one line
 * is known without an allocator. Nobody touches what lies there.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/lines.h"

#include <pthread.h>

/* ---- the strategy ---- */

static struct {
  uintptr_t next; /* what the next get gives */
  unsigned puts, drops;
} book;

static void *fake_get(struct pool_scope *scope, unsigned kind) {
  (void)scope, (void)kind;
  return (void *)book.next;
}

static void fake_put(struct pool_scope *scope, unsigned kind, void *object) {
  (void)scope, (void)kind, (void)object;
  book.puts++;
}

static void fake_drop(struct pool_thread *thread, unsigned kind, void *object) {
  (void)thread, (void)kind, (void)object;
  book.drops++;
}

static const struct strategy fake = {
    .name = "fake", .get = fake_get, .put = fake_put, .drop = fake_drop};

static const struct kind kinds[] = {{.name = "small", .size = 16},
                                    {.name = "large", .size = 216},
                                    {.name = "huge", .size = 1 << 25}};
enum { SMALL, LARGE, HUGE_ONE };

/* The first address of a line far from all others. */
#define LINE(n) (UINT64_C(0x10000) + 64 * (n))

/* ---- what threads do, one after the other ---- */

struct step {
  enum { GET, PUT, DROP } what;
  unsigned kind;
  uintptr_t object;
};

static const struct strategy *s;

static void *do_step(void *arg) {
  const struct step *step = arg;
  book.next = step->object;
  void *object = (void *)step->object;
  switch (step->what) {
  case GET:
    assert_ptr_equal(s->get(NULL, step->kind), object);
    break;
  case PUT:
    s->put(NULL, step->kind, object);
    break;
  case DROP:
    s->drop(NULL, step->kind, object);
    break;
  }
  return NULL;
}

/* On a thread of its own that is no other step's. */
static void elsewhere(struct step step) {
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, do_step, &step), 0);
  pthread_join(thread, NULL);
}

static void here(struct step step) {
  do_step(&step);
}

static int start(void **state) {
  (void)state;
  book.puts = book.drops = 0;
  s = lines_strategy(&fake);
  assert_true(lines_start(kinds, 3));
  return 0;
}

static void stop(struct lines_result *r) {
  lines_stop(r);
  assert_ptr_equal(s->get, fake_get);
  assert_ptr_equal(s->put, fake_put);
  assert_ptr_equal(s->drop, fake_drop);
}

static void counts(const struct lines_count *c, uint64_t lines, uint64_t shared) {
  if (c->lines != lines || c->shared != shared)
    fail_msg("%llu of %llu lines shared instead of %llu of %llu", (unsigned long long)c->shared,
             (unsigned long long)c->lines, (unsigned long long)shared, (unsigned long long)lines);
}

/* ---- tests ---- */

static void two_threads_on_a_line_share_it(void **state) {
  (void)state;
  struct lines_result r;
  here((struct step){GET, SMALL, LINE(0)});
  elsewhere((struct step){GET, SMALL, LINE(0) + 48});
  here((struct step){GET, SMALL, LINE(1)});
  elsewhere((struct step){GET, SMALL, LINE(2)});
  stop(&r);
  counts(&r.all, 3, 1);
  counts(&r.kind[SMALL], 3, 1);
  counts(&r.kind[LARGE], 0, 0);
  assert_int_equal(r.lost, 0);
}

static void one_thread_shares_nothing_with_itself(void **state) {
  (void)state;
  struct lines_result r;
  here((struct step){GET, SMALL, LINE(0)});
  here((struct step){GET, SMALL, LINE(0) + 16});
  stop(&r);
  counts(&r.all, 1, 0);
}

/* The line passes from thread to thread, but is never two threads' at once. */
static void one_after_the_other_is_not_at_once(void **state) {
  (void)state;
  struct lines_result r;
  here((struct step){GET, SMALL, LINE(0)});
  here((struct step){PUT, SMALL, LINE(0)});
  elsewhere((struct step){GET, SMALL, LINE(0)});
  elsewhere((struct step){DROP, SMALL, LINE(0)}); /* by a third thread: its getter's all the same */
  here((struct step){GET, SMALL, LINE(0) + 32});
  stop(&r);
  counts(&r.all, 1, 0);
  assert_int_equal(book.puts, 1);
  assert_int_equal(book.drops, 1);
}

/* 216 B from byte 24 on cover lines 0 to 3; the last has 48 of them. */
static void an_object_covers_all_its_lines(void **state) {
  (void)state;
  struct lines_result r;
  here((struct step){GET, LARGE, LINE(0) + 24});
  elsewhere((struct step){GET, SMALL, LINE(0)});
  elsewhere((struct step){GET, SMALL, LINE(3) + 48});
  elsewhere((struct step){GET, SMALL, LINE(4)});
  stop(&r);
  counts(&r.all, 5, 2);
  counts(&r.kind[LARGE], 4, 2);
  counts(&r.kind[SMALL], 3, 2);
}

/* Once it is put it is gone from all of them. */
static void a_put_frees_all_lines(void **state) {
  (void)state;
  struct lines_result r;
  here((struct step){GET, LARGE, LINE(30)}); /* across two groups of lines */
  here((struct step){PUT, LARGE, LINE(30)});
  for (unsigned i = 0; i < 4; i++)
    elsewhere((struct step){GET, SMALL, LINE(30 + i)});
  stop(&r);
  counts(&r.all, 4, 0);
}

/* 216 B from byte 48 on end with 8 B on line 4; another object comes and goes at its byte 48. */
static void objects_of_a_line_are_told_apart(void **state) {
  (void)state;
  struct lines_result r;
  here((struct step){GET, LARGE, LINE(0) + 48});
  here((struct step){GET, SMALL, LINE(4) + 48});
  here((struct step){PUT, SMALL, LINE(4) + 48});
  elsewhere((struct step){GET, SMALL, LINE(4) + 16});
  stop(&r);
  counts(&r.all, 5, 1);
}

static void what_was_got_before_is_not_seen(void **state) {
  (void)state;
  struct lines_result r;
  here((struct step){PUT, SMALL, LINE(0)});
  elsewhere((struct step){GET, SMALL, LINE(0) + 16});
  stop(&r);
  counts(&r.all, 1, 0);
}

static void no_get_no_line(void **state) {
  (void)state;
  struct lines_result r;
  here((struct step){GET, SMALL, 0}); /* the allocator failed */
  stop(&r);
  counts(&r.all, 0, 0);
}

/* 2^19 lines do not fit a table of 2^19 places that stays half empty. */
static void what_finds_no_room_is_counted(void **state) {
  (void)state;
  struct lines_result r;
  here((struct step){GET, HUGE_ONE, LINE(0)});
  stop(&r);
  assert_true(r.all.lines == LINES_MOST / 2);
  assert_true(r.lost == LINES_MOST / 2);
}

int main(void) {
#define WATCHED(test) cmocka_unit_test_setup(test, start)
  const struct CMUnitTest tests[] = {
      WATCHED(two_threads_on_a_line_share_it),
      WATCHED(one_thread_shares_nothing_with_itself),
      WATCHED(one_after_the_other_is_not_at_once),
      WATCHED(an_object_covers_all_its_lines),
      WATCHED(a_put_frees_all_lines),
      WATCHED(objects_of_a_line_are_told_apart),
      WATCHED(what_was_got_before_is_not_seen),
      WATCHED(no_get_no_line),
      WATCHED(what_finds_no_room_is_counted),
  };
  return cmocka_run_group_tests_name("lines", tests, NULL, NULL);
}
