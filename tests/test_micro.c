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

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

extern const struct workload workload_micro;

static const struct workload *const micro = &workload_micro;

/* A case opened under a strategy, with its measuring threads. */
enum { MOST_THREADS = 4 };
struct bench {
  struct fixture f;
  struct workload_state *state;
  struct workload_thread t[MOST_THREADS]; /* the first one is the test's own */
  unsigned threads;
  uint64_t ops; /* that every thread is to do */
  int64_t live_bytes;
};

static bool bench_try_open(struct bench *b, const char *case_name, const char *spec,
                           const char *options, unsigned threads, char *why, size_t why_size) {
  struct workload_setup setup = {.case_name = case_name,
                                 .threads = threads,
                                 .seed = 7,
                                 .options = options,
                                 .why = why,
                                 .why_size = why_size};
  memset(b, 0, sizeof *b);
  b->live_bytes = fixture_live_bytes();
  b->threads = threads;
  if (!micro->open(&setup, &b->state))
    return false;
  size_t kind_count;
  const struct kind *kinds = micro->kinds(b->state, &kind_count);
  fixture_open(&b->f, spec, kinds, kind_count);
  for (unsigned i = 0; i < threads; i++)
    b->t[i] = (struct workload_thread){
        .strategy = b->f.s, .pool = b->f.pool, .state = b->state, .index = i, .threads = threads};
  b->t[0].pool_thread = b->f.thread;
  return true;
}

static void bench_open_threads(struct bench *b, const char *case_name, const char *spec,
                               unsigned threads) {
  char why[300] = "";
  if (!bench_try_open(b, case_name, spec, NULL, threads, why, sizeof why))
    fail_msg("%s: %s", case_name, why);
}

static void bench_open(struct bench *b, const char *case_name, const char *spec) {
  bench_open_threads(b, case_name, spec, 1);
  assert_true(micro->thread_open(&b->t[0]));
}

static void bench_run(struct bench *b, uint64_t n) {
  micro->run(&b->t[0], n);
  assert_false(b->t[0].failed);
}

/* The state is closed after the pool: as the harness does. */
static void bench_close_all(struct bench *b) {
  fixture_close(&b->f);
  micro->close(b->state);
  assert_int_equal(fixture_live_bytes(), b->live_bytes);
}

static void bench_close(struct bench *b) {
  micro->thread_close(&b->t[0]);
  bench_close_all(b);
}

static void pair_gets_and_puts_one_object_an_op(void **case_name) {
  static const uint64_t counts[] = {1, 63, 64, 65, 1000};
  struct bench b;
  uint64_t total = 0;
  bench_open(&b, *case_name, "per-thread");
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
    bench_run(&b, counts[i]);
    total += counts[i];
    struct pool_stats stats = fixture_stats(&b.f);
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
  bench_run(&b, 100);
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
  bench_run(&b, 640);
  assert_int_equal(fixture_stats(&b.f).lock_acquisitions, 2 * 10);
  bench_run(&b, 65);
  assert_int_equal(fixture_stats(&b.f).lock_acquisitions, 2 * 12);
  bench_close(&b);
}

static void running_out_of_memory_fails_the_thread(void **state) {
  (void)state;
  struct bench b;
  bench_open(&b, "Micro/pair/64B", "malloc");
  heap_fail_after(100);
  micro->run(&b.t[0], 1000);
  heap_fail_after(0);
  assert_true(b.t[0].failed);
  assert_non_null(strstr(b.t[0].why, "out of memory in get of strategy malloc"));
  assert_int_equal(fixture_stats(&b.f).gets, 100); /* and stops there */
  bench_close(&b);
}

static void depth_goes_up_and_down(void **state) {
  (void)state;
  struct bench b;
  bench_open(&b, "Micro/depth64", "per-thread");
  bench_run(&b, 640);
  bench_run(&b, 10);
  struct pool_stats stats = fixture_stats(&b.f);
  assert_int_equal(stats.gets, 650);
  assert_int_equal(stats.puts, 650);
  assert_int_equal(stats.misses, 64); /* all 64 of the first run at once, and none later */
  bench_close(&b);
}

/*
 * k of every 4 are dropped, over calls that do not end at a multiple of 4. With one object in use
 * at a time each drop makes one later get miss, and the very first get misses; the last drop
 * of 4of4 has no later get.
 */
static void starved_drops_k_of_four(void **case_name) {
  unsigned k;
  struct bench b;
  assert_int_equal(sscanf(*case_name, "Micro/starved/%uof4", &k), 1);
  bench_open(&b, *case_name, "sync-pool");
  bench_run(&b, 101);
  bench_run(&b, 98);
  bench_run(&b, 201);
  struct pool_stats stats = fixture_stats(&b.f);
  uint64_t misses = 1 + 100 * k - (k == 4);
  assert_int_equal(stats.gets, 400);
  assert_int_equal(stats.drops, 100 * k);
  assert_int_equal(stats.puts, 400 - 100 * k);
  assert_int_equal(stats.misses, misses);
  assert_int_equal(stats.scans, misses * 64); /* the fixture's pool has 64 shards */
  bench_close(&b);
}

/* Every op replaces an object, so what is live never exceeds the set. */
static void random_replaces_within_its_set(void **state) {
  (void)state;
  struct bench b;
  struct heap_counts before, after;
  bench_open(&b, "Micro/random", "malloc");
  heap_total(&before);
  bench_run(&b, 20000);
  heap_total(&after);
  struct pool_stats stats = fixture_stats(&b.f);
  assert_int_equal(stats.gets, 20000);
  /* 1024 slots, 20000 throws: the chance that one is never hit is below 1e-5. */
  assert_int_equal(stats.puts, 20000 - 1024);
  assert_int_equal((after.allocs - after.frees) - (before.allocs - before.frees), 1024);
  /* Sizes of the list, evenly: 16 + 32 + 48 + 64 + 128 + 256 + 512 + 1024 over 8 is 260. */
  uint64_t mean = (after.alloc_bytes - before.alloc_bytes) / 20000;
  assert_in_range(mean, 250, 270);
  bench_close(&b);
}

static void churn_threads_come_and_go(void **state) {
  (void)state;
  struct bench b;
  bench_open(&b, "Micro/churn", "per-thread");
  bench_run(&b, 10);
  struct pool_stats freed = fixture_stats(&b.f);
  assert_int_equal(freed.gets, 640);
  assert_int_equal(freed.puts, 640);
  assert_int_equal(freed.misses, 640); /* a leaving thread's objects are freed */
  bench_close(&b);
  bench_open(&b, "Micro/churn", "pooled-freelists");
  bench_run(&b, 10);
  assert_int_equal(fixture_stats(&b.f).misses, 64); /* its set goes to the next one */
  bench_close(&b);
}

/* What the harness does on a measuring thread, all ops in calls of 100. */
static void *measure(void *arg) {
  struct workload_thread *t = arg;
  const struct bench *b =
      (const struct bench *)((char *)(t - t->index) - offsetof(struct bench, t));
  heap_thread_begin();
  if (t->index > 0)
    t->pool_thread = t->strategy->attach(t->pool);
  if (micro->thread_open(t))
    for (uint64_t done = 0; done < b->ops && !t->failed; done += 100)
      micro->run(t, 100);
  micro->thread_close(t);
  if (t->index > 0) {
    t->strategy->detach(t->pool, t->pool_thread);
    heap_thread_end();
  }
  return NULL;
}

static void run_threads(struct bench *b, void *(*body)(void *)) {
  pthread_t ids[MOST_THREADS];
  for (unsigned i = 1; i < b->threads; i++)
    assert_int_equal(pthread_create(&ids[i], NULL, body, &b->t[i]), 0);
  body(&b->t[0]);
  for (unsigned i = 1; i < b->threads; i++)
    pthread_join(ids[i], NULL);
  for (unsigned i = 0; i < b->threads; i++)
    if (b->t[i].failed)
      fail_msg("thread %u: %s", i, b->t[i].why);
}

/* All that was got is put on another thread or, at the very end, dropped; threads that end early
 * or late do not hang the others. */
static void handoff_delivers_everything(void **spec) {
  struct bench b;
  bench_open_threads(&b, "Micro/handoff/64B", *spec, 3);
  b.ops = 5000;
  run_threads(&b, measure);
  struct pool_stats stats = fixture_stats(&b.f);
  assert_int_equal(stats.gets, 3 * 5000);
  assert_int_equal(stats.puts + stats.drops, 3 * 5000);
  assert_true(stats.drops <= 3 * 1024); /* at most what the ring holds */
  bench_close_all(&b);
}

/* Under malloc an object that a thread put itself would be freed by it; so count what moved. */
static void handoff_puts_on_the_next_thread(void **state) {
  (void)state;
  struct bench b;
  bench_open_threads(&b, "Micro/handoff/64B", "malloc", 2);
  struct pool_thread *second = b.f.s->attach(b.f.pool);
  b.t[1].pool_thread = second;
  bench_run(&b, 100); /* the first thread alone: all of it is under way */
  assert_int_equal(fixture_stats(&b.f).puts, 0);
  micro->run(&b.t[1], 1); /* the second one receives at the start of its scope */
  assert_int_equal(second->counters.puts, 100);
  assert_int_equal(second->counters.gets, 1);
  micro->thread_close(&b.t[0]);
  micro->thread_close(&b.t[1]);
  b.f.s->detach(b.f.pool, second);
  bench_close_all(&b);
}

/* The second thread of the next test: held up at first, then an op at a time. */
static _Atomic bool first_is_done;
static void *be_held_up(void *arg) {
  struct workload_thread *t = arg;
  heap_thread_begin();
  usleep(20000);
  while (!atomic_load(&first_is_done) && !t->failed)
    micro->run(t, 1);
  heap_thread_end();
  return NULL;
}

/* A next thread that does not get its CPU is waited for: the first puts what it was handed only. */
static void handoff_waits_for_a_thread_that_is_held_up(void **state) {
  (void)state;
  struct bench b;
  bench_open_threads(&b, "Micro/handoff/64B", "malloc", 2);
  struct pool_thread *second = b.f.s->attach(b.f.pool);
  b.t[1].pool_thread = second;
  atomic_store(&first_is_done, false);
  pthread_t id;
  assert_int_equal(pthread_create(&id, NULL, be_held_up, &b.t[1]), 0);
  bench_run(&b, 3000);
  micro->idle(&b.t[0]); /* else the second could wait for it */
  atomic_store(&first_is_done, true);
  pthread_join(id, NULL);
  assert_false(b.t[1].failed);
  assert_true(b.t[0].pool_thread->counters.puts <= second->counters.gets);
  assert_true(second->counters.puts >= 3000 - 1024);
  micro->thread_close(&b.t[0]);
  micro->thread_close(&b.t[1]);
  b.f.s->detach(b.f.pool, second);
  bench_close_all(&b);
}

/*
 * The next thread has ended the phase: what does not fit in between is put here, and run returns.
 * In the next phase it takes that.
 */
static void handoff_does_not_wait_for_ever(void **state) {
  (void)state;
  struct bench b;
  bench_open_threads(&b, "Micro/handoff/64B", "malloc", 2);
  struct pool_thread *second = b.f.s->attach(b.f.pool);
  b.t[1].pool_thread = second;
  micro->idle(&b.t[1]);
  bench_run(&b, 3000);
  assert_int_equal(fixture_stats(&b.f).gets, 3000);
  assert_int_equal(fixture_stats(&b.f).puts, 3000 - 1024);
  micro->idle(&b.t[0]);
  micro->run(&b.t[1], 1);
  assert_int_equal(second->counters.puts, 1024);
  micro->thread_close(&b.t[1]);
  micro->thread_close(&b.t[0]);
  b.f.s->detach(b.f.pool, second);
  bench_close_all(&b);
}

/* 16 B neighbours: four more than threads are got, each thread puts its own, four are dropped. */
static void falseshare_hands_neighbours_out(void **state) {
  (void)state;
  struct bench b;
  bench_open_threads(&b, "Micro/falseshare", "per-thread", 3);
  b.ops = 300;
  run_threads(&b, measure);
  struct pool_stats stats = fixture_stats(&b.f);
  assert_int_equal(stats.gets, 7 + 3 * 300);
  assert_int_equal(stats.puts, 3 + 3 * 300);
  assert_int_equal(stats.drops, 4);
  assert_int_equal(stats.misses, 7); /* each thread goes on with the one it was handed */
  bench_close_all(&b);
}

struct marks {
  char text[300]; /* the phases in order, each followed by a semicolon */
  int64_t live[10];
  unsigned count;
};

static void note_mark(void *context, const struct series_mark *mark) {
  struct marks *marks = context;
  size_t used = strlen(marks->text);
  snprintf(marks->text + used, sizeof marks->text - used, "%s;", mark->phase);
  marks->live[marks->count++] = fixture_live_bytes();
}

static struct marks seen;

static void *go_through_series(void *arg) {
  struct workload_thread *t = arg;
  heap_thread_begin();
  if (t->index > 0)
    t->pool_thread = t->strategy->attach(t->pool);
  micro->series(t, note_mark, &seen);
  if (t->index > 0) {
    t->strategy->detach(t->pool, t->pool_thread);
    heap_thread_end();
  }
  return NULL;
}

/* 1 MiB at the peak; afterwards what the case says stays live, under a strategy that keeps none. */
static void burst_lives_as_its_name_says(void **case_name) {
  struct bench b;
  char why[300] = "";
  memset(&seen, 0, sizeof seen);
  assert_true(bench_try_open(&b, *case_name, "malloc", "idle=0,peak=1", 2, why, sizeof why));
  run_threads(&b, go_through_series);
  assert_string_equal(seen.text, heap_release() ? "start;peak;after burst;trim 1;trim 2;released;"
                                                : "start;peak;after burst;trim 1;trim 2;");
  assert_int_equal(seen.live[1] - seen.live[0], 1 << 20);
  bool survivors = strstr(*case_name, "63of64") != NULL;
  for (size_t i = 2; i < seen.count; i++)
    assert_int_equal(seen.live[i] - seen.live[0], survivors ? (1 << 20) / 64 : 0);
  bench_close_all(&b);
}

/* A pool keeps the burst until it is trimmed. */
static void burst_shows_what_a_pool_keeps(void **state) {
  (void)state;
  struct bench b;
  char why[300] = "";
  memset(&seen, 0, sizeof seen);
  assert_true(
      bench_try_open(&b, "Micro/burst/128B", "global-locked", "idle=0,peak=1", 2, why, sizeof why));
  run_threads(&b, go_through_series);
  assert_true(seen.live[2] - seen.live[0] >= 1 << 20);
  assert_true(seen.live[3] - seen.live[0] < 1 << 10);
  bench_close_all(&b);
}

static void burst_options_are_checked(void **state) {
  (void)state;
  static const char *const wrong[][2] = {
      {"idle=", "idle is a number"},   {"idle=-1", "idle is a number"},
      {"idle=3601", "idle is"},        {"peak=0", "peak is a number"},
      {"peak=x", "peak is a number"},  {"peak=1048576", "does not fit"},
      {"pique=3", "no option"},        {"peak=1,oops", "no option \"oops\""},
      {"idle=1x,peak=1", "idle is a"},
  };
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    struct bench b;
    char why[300] = "";
    assert_false(bench_try_open(&b, "Micro/burst/128B", "malloc", wrong[i][0], 1, why, sizeof why));
    if (!strstr(why, wrong[i][1]))
      fail_msg("\"%s\" says \"%s\"", wrong[i][0], why);
    assert_int_equal(fixture_live_bytes(), b.live_bytes);
  }
  struct bench b;
  char why[300] = "";
  assert_false(bench_try_open(&b, "Micro/depth64", "malloc", "idle=1", 1, why, sizeof why));
  assert_non_null(strstr(why, "takes no options"));
}

/* Any single allocation may fail, on any of the cases' ways: the thread fails, nothing leaks. */
static void any_allocation_may_fail(void **case_name) {
  for (uint64_t k = 1; k <= 40; k++) {
    struct bench b;
    bench_open_threads(&b, *case_name, "malloc", 1);
    heap_fail_after(k);
    bool opened = micro->thread_open(&b.t[0]);
    if (opened)
      micro->run(&b.t[0], 100);
    heap_fail_after(0);
    assert_true(b.t[0].failed);
    assert_non_null(strstr(b.t[0].why, "out of memory"));
    if (opened)
      micro->thread_close(&b.t[0]);
    bench_close_all(&b);
  }
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
#define WITH(test, spec) CASE(test, spec)
#define PAIR_CASES(test)                                                                     \
  CASE(test, "Micro/pair/16B"), CASE(test, "Micro/pair/64B"), CASE(test, "Micro/pair/256B"), \
      CASE(test, "Micro/pair/4096B")

int main(void) {
  const struct CMUnitTest tests[] = {
      PAIR_CASES(pair_gets_and_puts_one_object_an_op),
      PAIR_CASES(pair_asks_for_its_size),
      cmocka_unit_test(a_scope_is_64_gets),
      cmocka_unit_test(running_out_of_memory_fails_the_thread),
      cmocka_unit_test(depth_goes_up_and_down),
      CASE(starved_drops_k_of_four, "Micro/starved/0of4"),
      CASE(starved_drops_k_of_four, "Micro/starved/1of4"),
      CASE(starved_drops_k_of_four, "Micro/starved/4of4"),
      cmocka_unit_test(random_replaces_within_its_set),
      cmocka_unit_test(churn_threads_come_and_go),
      WITH(handoff_delivers_everything, "malloc"),
      WITH(handoff_delivers_everything, "per-thread"),
      WITH(handoff_delivers_everything, "sync-pool"),
      cmocka_unit_test(handoff_puts_on_the_next_thread),
      cmocka_unit_test(handoff_waits_for_a_thread_that_is_held_up),
      cmocka_unit_test(handoff_does_not_wait_for_ever),
      cmocka_unit_test(falseshare_hands_neighbours_out),
      CASE(burst_lives_as_its_name_says, "Micro/burst/128B"),
      CASE(burst_lives_as_its_name_says, "Micro/burst/128B-by-one"),
      CASE(burst_lives_as_its_name_says, "Micro/burst/128B-63of64"),
      CASE(burst_lives_as_its_name_says, "Micro/burst/256KiB"),
      cmocka_unit_test(burst_shows_what_a_pool_keeps),
      cmocka_unit_test(burst_options_are_checked),
      CASE(any_allocation_may_fail, "Micro/depth64"),
      CASE(any_allocation_may_fail, "Micro/starved/1of4"),
      CASE(any_allocation_may_fail, "Micro/random"),
      CASE(any_allocation_may_fail, "Micro/falseshare"),
      cmocka_unit_test(a_wrong_case_is_refused),
      cmocka_unit_test(the_table_is_well_formed),
  };
  heap_thread_begin();
  return cmocka_run_group_tests_name("micro", tests, NULL, NULL);
}
