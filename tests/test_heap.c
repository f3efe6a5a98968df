/*
 * The counted heap: exact counts across threads, alignment, fault injection, and that a thread
 * which leaves without a word is still counted.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/heap.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

/* Under a sanitizer too, an allocation that is too large must come back as NULL. */
const char *__asan_default_options(void);
const char *__tsan_default_options(void);
const char *__asan_default_options(void) {
  return "allocator_may_return_null=1";
}
const char *__tsan_default_options(void) {
  return "allocator_may_return_null=1";
}

static struct heap_counts since(const struct heap_counts *start) {
  struct heap_counts now;
  heap_total(&now);
  return (struct heap_counts){.allocs = now.allocs - start->allocs,
                              .alloc_bytes = now.alloc_bytes - start->alloc_bytes,
                              .frees = now.frees - start->frees,
                              .freed_bytes = now.freed_bytes - start->freed_bytes,
                              .calls_in_time = now.calls_in_time - start->calls_in_time,
                              .timed_calls = now.timed_calls - start->timed_calls,
                              .long_calls = now.long_calls - start->long_calls};
}

static void counts_requested_bytes(void **state) {
  (void)state;
  struct heap_counts start;
  heap_thread_begin();
  heap_total(&start);
  void *a = heap_alloc(100), *b = heap_calloc(28), *c = heap_alloc_aligned(72, 128);
  assert_non_null(a);
  assert_non_null(b);
  assert_non_null(c);
  heap_free(a, 100);
  heap_free(NULL, 4096);
  struct heap_counts d = since(&start);
  assert_int_equal(d.allocs, 3);
  assert_int_equal(d.alloc_bytes, 200);
  assert_int_equal(d.frees, 1);
  assert_int_equal(d.freed_bytes, 100);
  heap_free(b, 28);
  heap_free(c, 72);
  d = since(&start);
  assert_int_equal(d.frees, 3);
  assert_int_equal(d.freed_bytes, 200);
  heap_thread_end();
}

static void aligns_and_zeroes(void **state) {
  (void)state;
  for (size_t align = 1; align <= 4096; align *= 2)
    for (size_t size = 0; size <= 300; size += 75) {
      char *p = heap_alloc_aligned(size, align);
      assert_non_null(p);
      assert_int_equal((uintptr_t)p % align, 0);
      memset(p, 0xa5, size);
      heap_free(p, size);
    }
  for (size_t size = 0; size < 200; size++) {
    unsigned char *p = heap_calloc(size);
    assert_non_null(p);
    for (size_t i = 0; i < size; i++)
      assert_int_equal(p[i], 0);
    heap_free(p, size);
  }
  void *p = heap_alloc(1);
  assert_int_equal((uintptr_t)p % _Alignof(max_align_t), 0);
  heap_free(p, 1);
  void *zero = heap_alloc(0);
  assert_non_null(zero);
  heap_free(zero, 0);
}

static void too_much_is_null_and_not_counted(void **state) {
  (void)state;
  struct heap_counts start;
  heap_thread_begin();
  heap_total(&start);
  volatile size_t huge = SIZE_MAX / 2; /* volatile: the compiler would warn */
  assert_null(heap_alloc(huge));
  assert_null(heap_calloc(huge));
  assert_null(heap_alloc_aligned(huge, 64));
  assert_int_equal(since(&start).allocs, 0);
  assert_int_equal(since(&start).alloc_bytes, 0);
  heap_thread_end();
}

static void frees_seen_before_their_allocs_are_no_negative_size(void **state) {
  (void)state;
  struct heap_counts c = {.alloc_bytes = 164, .freed_bytes = 100};
  assert_int_equal(heap_live(&c), 64);
  c.freed_bytes = 165;
  assert_int_equal(heap_live(&c), 0);
}

static void *uncounted(void *arg) {
  (void)arg;
  heap_free(heap_alloc(10), 10);
  return NULL;
}

static void not_counted_outside_begin_and_end(void **state) {
  (void)state;
  struct heap_counts start;
  heap_total(&start);
  pthread_t t;
  assert_int_equal(pthread_create(&t, NULL, uncounted, NULL), 0);
  assert_int_equal(pthread_join(t, NULL), 0);
  heap_thread_begin();
  heap_thread_end();
  heap_free(heap_alloc(10), 10);
  heap_thread_begin();
  heap_thread_end();
  assert_int_equal(since(&start).allocs, 0);
  assert_int_equal(since(&start).frees, 0);
}

enum { THREADS = 8, ALLOCS = 1000 };

/* Half of the threads say goodbye, the others just end: the counts must not depend on it. */
static void *allocate(void *arg) {
  const int *polite = arg;
  heap_thread_begin();
  for (int i = 0; i < ALLOCS; i++)
    heap_free(heap_alloc(16), 16);
  if (*polite)
    heap_thread_end();
  return NULL;
}

/* Tells whether the sums only ever grew, and never above what is allocated in all. */
static void *watch(void *arg) {
  const struct heap_counts *start = arg;
  struct heap_counts d, last = {0};
  bool sane = true;
  do {
    d = since(start);
    sane = sane && d.allocs >= last.allocs && d.allocs <= THREADS * ALLOCS;
    last = d;
  } while (d.frees < THREADS * ALLOCS);
  return sane ? arg : NULL;
}

static void sums_threads_while_and_after_they_run(void **state) {
  (void)state;
  struct heap_counts start;
  pthread_t threads[THREADS], watcher;
  int polite[THREADS];
  heap_total(&start);
  assert_int_equal(pthread_create(&watcher, NULL, watch, &start), 0);
  for (int i = 0; i < THREADS; i++) {
    polite[i] = i % 2;
    assert_int_equal(pthread_create(&threads[i], NULL, allocate, &polite[i]), 0);
  }
  for (int i = 0; i < THREADS; i++)
    assert_int_equal(pthread_join(threads[i], NULL), 0);
  void *sane;
  assert_int_equal(pthread_join(watcher, &sane), 0);
  assert_ptr_equal(sane, &start);
  struct heap_counts d = since(&start);
  assert_int_equal(d.allocs, THREADS * ALLOCS);
  assert_int_equal(d.alloc_bytes, THREADS * ALLOCS * 16);
  assert_int_equal(d.frees, THREADS * ALLOCS);
  assert_int_equal(d.freed_bytes, THREADS * ALLOCS * 16);
}

/* Which of ten allocations fail; one way of allocating after the other. */
static unsigned failures(void) {
  unsigned failed = 0;
  for (unsigned i = 0; i < 10; i++) {
    void *p = i % 3 == 0 ? heap_alloc(8) : i % 3 == 1 ? heap_calloc(8) : heap_alloc_aligned(8, 64);
    if (!p)
      failed |= 1u << i;
    heap_free(p, 8);
  }
  return failed;
}

static void *failures_elsewhere(void *arg) {
  *(unsigned *)arg = failures();
  return NULL;
}

static void injects_one_failure(void **state) {
  (void)state;
  for (unsigned n = 1; n <= 10; n++) {
    heap_fail_after(n);
    assert_int_equal(failures(), 1u << (n - 1));
    assert_int_equal(failures(), 0);
  }
  heap_fail_after(5);
  heap_fail_after(0);
  assert_int_equal(failures(), 0);
  heap_fail_after(3); /* counting that starts in between moves nothing */
  heap_thread_begin();
  assert_int_equal(failures(), 1u << 2);
  heap_thread_end();

  unsigned elsewhere = ~0u;
  pthread_t t;
  heap_fail_after(2);
  assert_int_equal(pthread_create(&t, NULL, failures_elsewhere, &elsewhere), 0);
  assert_int_equal(pthread_join(t, NULL), 0);
  assert_int_equal(elsewhere, 0);
  assert_int_equal(failures(), 1u << 1);
}

static void *calls_elsewhere(void *unused) {
  (void)unused;
  heap_thread_begin();
  for (int i = 0; i < 10000; i++)
    heap_free(heap_alloc(16), 16);
  heap_thread_end();
  return NULL;
}

/*
 * Half of one call in HEAP_TIME_GAP, here within six times the root of what is expected: a timed
 * one and those around nothing are one draw each. Calls of threads that time none of theirs are
 * not among those that the timed ones stand for. A failure meant for a timed call still comes.
 */
static void timed_calls_stand_for_all(void **state) {
  (void)state;
  enum { CALLS = 400000, EXPECTED = CALLS / HEAP_TIME_GAP, MOST_OFF = 85, INTERRUPTED = 20 };
  struct span_clock clock;
  struct heap_counts start;
  pthread_t other;
  heap_thread_begin();
  span_calibrate(&clock);
  heap_total(&start);
  heap_time_calls(&clock);
  for (int i = 0; i < CALLS; i++) {
    if (i % 4000 == 0) {
      heap_fail_after(1);
      assert_null(heap_alloc(16));
    }
    heap_free(heap_alloc(16), 16);
  }
  assert_int_equal(pthread_create(&other, NULL, calls_elsewhere, NULL), 0);
  assert_int_equal(pthread_join(other, NULL), 0);
  struct heap_counts now = since(&start);
  assert_int_equal(now.allocs, CALLS + 10000);
  assert_int_equal(now.alloc_bytes, 16 * (CALLS + 10000));
  assert_int_equal(now.frees, CALLS + 10000);
  assert_int_equal(now.freed_bytes, 16 * (CALLS + 10000));
  assert_int_equal(now.calls_in_time, 2 * CALLS);
  uint64_t timed = now.timed_calls + now.long_calls;
  assert_in_range(timed, EXPECTED - MOST_OFF - INTERRUPTED, EXPECTED + MOST_OFF);
  heap_time_calls(NULL);
  for (int i = 0; i < 1000; i++)
    heap_free(heap_alloc(16), 16);
  assert_int_equal(since(&start).calls_in_time, 2 * CALLS);
  assert_int_equal(since(&start).timed_calls + since(&start).long_calls, timed);
  heap_time_calls(&clock);
  heap_free(heap_alloc(16), 16);
  assert_int_equal(since(&start).calls_in_time, 2 * CALLS + 2);
  heap_thread_end();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(counts_requested_bytes),
      cmocka_unit_test(aligns_and_zeroes),
      cmocka_unit_test(too_much_is_null_and_not_counted),
      cmocka_unit_test(frees_seen_before_their_allocs_are_no_negative_size),
      cmocka_unit_test(not_counted_outside_begin_and_end),
      cmocka_unit_test(sums_threads_while_and_after_they_run),
      cmocka_unit_test(injects_one_failure),
      cmocka_unit_test(timed_calls_stand_for_all),
  };
  return cmocka_run_group_tests_name("heap", tests, NULL, NULL);
}
