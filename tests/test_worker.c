/*
 * The worker from cell to sample, over workloads and strategies with known counts. Windows are
 * tiny; no test depends on how fast anything is.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/clock.h"
#include "harness/heap.h"
#include "harness/worker.h"
#include "tests/sample_fixture.h"

#include <malloc.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- a workload of known counts ---- */

enum kind_of_op { PLAIN, FAIL_AT_5, SLOW, SLOW_WARM_UP, LEAK, WRONG_SIZE, WAIT_FOR_TRIMS };

static struct {
  _Atomic uint64_t ops;
  _Atomic unsigned thread_opens, thread_closes;
  unsigned closes;
  const char *fail_open; /* why open fails; NULL: it does not */
  bool fail_thread_open;
  unsigned own_threads_seen;
  void *leaked;
  _Atomic unsigned settled;
  _Atomic unsigned trims; /* since it settled */
  size_t mark_took;       /* bytes that malloc gave while a series was marked */
  const char *options;
} book;

struct workload_state {
  enum kind_of_op op;
};

static enum kind_of_op wanted;

static bool fake_open(const struct workload_setup *setup, struct workload_state **state) {
  book.options = setup->options;
  if (book.fail_open) {
    snprintf(setup->why, setup->why_size, "%s", book.fail_open);
    return false;
  }
  *state = heap_alloc(sizeof **state);
  assert_non_null(*state);
  (*state)->op = wanted;
  return true;
}

static void fake_close(struct workload_state *state) {
  book.closes++;
  heap_free(state, sizeof *state);
}

static const struct kind *fake_kinds(struct workload_state *state, size_t *count) {
  static const struct kind kinds[] = {{.name = "thing", .size = 64}};
  (void)state;
  *count = 1;
  return kinds;
}

static bool fake_thread_open(struct workload_thread *t) {
  atomic_fetch_add(&book.thread_opens, 1);
  if (book.fail_thread_open && t->index == 1) {
    snprintf(t->why, sizeof t->why, "no luck today");
    return false;
  }
  return true;
}

static void fake_thread_close(struct workload_thread *t) {
  (void)t;
  atomic_fetch_add(&book.thread_closes, 1);
}

/* One get and put of 64 bytes, one allocation of 100. */
static void plain_op(struct workload_thread *t) {
  struct pool_scope *scope = pool_begin(t->strategy, t->pool, t->pool_thread, NULL);
  void *thing = pool_get(t->strategy, scope, 0), *other = heap_alloc(100);
  memset(thing, 1, 64);
  memset(other, 1, 100);
  heap_free(other, 100);
  pool_put(t->strategy, scope, 0, thing);
  pool_end(t->strategy, t->pool, scope);
}

static void fake_run(struct workload_thread *t, uint64_t n) {
  struct timespec ms = {0, 1000000};
  for (uint64_t i = 0; i < n; i++) {
    uint64_t done = atomic_fetch_add_explicit(&book.ops, 1, memory_order_relaxed);
    plain_op(t);
    switch (t->state->op) {
    case PLAIN:
      break;
    case FAIL_AT_5:
      t->failed = done >= 5;
      snprintf(t->why, sizeof t->why, "%s", done >= 5 ? "op 5 went wrong" : "");
      break;
    case SLOW:
      nanosleep(&ms, NULL);
      break;
    case SLOW_WARM_UP:
      if (atomic_load_explicit(&book.settled, memory_order_relaxed) == 0)
        nanosleep(&ms, NULL);
      break;
    case LEAK:
      if (done == 1)
        book.leaked = heap_alloc(4000);
      break;
    case WRONG_SIZE:
      if (done == 1)
        heap_free(heap_alloc(40), 41);
      break;
    case WAIT_FOR_TRIMS: /* in the measured part */
      while (atomic_load(&book.settled) > 0 && atomic_load(&book.trims) < 3)
        plain_op(t), nanosleep(&ms, NULL);
      break;
    }
    if (t->failed)
      return;
  }
}

static void fake_series(struct workload_thread *t, series_emit *emit, void *context) {
  static void *held;
  if (t->index != 0)
    return;
  held = heap_alloc(1 << 20);
  size_t before = mallinfo2().uordblks;
  emit(context,
       &(struct series_mark){.phase = "burst of all", .ops = 10, .busy_ns = 5000, .owners = 1024});
  book.mark_took = mallinfo2().uordblks - before;
  heap_free(held, 1 << 20);
  emit(context, &(struct series_mark){.phase = "idle", .stall_ns = 77});
  if (wanted == FAIL_AT_5)
    emit(context, &(struct series_mark){.phase = "idle"});
}

static void fake_settle(struct workload_state *state) {
  (void)state;
  book.settled++;
  book.trims = 0;
}

static const struct workload fake = {
    .name = "fake",
    .open = fake_open,
    .close = fake_close,
    .kinds = fake_kinds,
    .thread_open = fake_thread_open,
    .thread_close = fake_thread_close,
    .run = fake_run,
    .settle = fake_settle,
    .series = fake_series,
};

static const struct workload_case plain_case = {
    .name = "Fake/plain", .disciplines = DISCIPLINE_ALL, .own_threads = 3};

/* ---- measuring it ---- */

static int reset(void **state) {
  (void)state;
  memset(&book, 0, sizeof book);
  wanted = PLAIN;
  return 0;
}

static struct cell cell_of(unsigned threads) {
  return (struct cell){
      .case_name = "Fake/plain",
      .strategy = "under test",
      .threads = threads,
      .window_ns = 2 * NS_PER_MS,
      .limit_ns = 300 * NS_PER_S,
      .counters = "",
      .join = true,
  };
}

static void measure_case(const struct workload_case *of, const struct cell *cell,
                         const struct strategy *s, struct sample *sample) {
  struct worker_target target = {
      .workload = &fake, .of = of, .strategy = s, .counter_sources = counter_sources};
  *sample = (struct sample){0};
  worker_measure_with(cell, &target, sample);
}

static void measure(const struct cell *cell, const struct strategy *s, struct sample *sample) {
  measure_case(&plain_case, cell, s, sample);
}

static void counts_are_exact_at_any_thread_count(void **state) {
  (void)state;
  static const unsigned threads[] = {1, 2, 64};
  for (int i = 0; i < 3; i++) {
    struct cell cell = cell_of(threads[i]);
    struct sample s;
    memset(&book, 0, sizeof book);
    measure(&cell, strategy_find("malloc"), &s);
    assert_true(get(&s, "allocs/op") == 2);
    assert_true(get(&s, "B/op") == 164);
    assert_true(get(&s, "gets/op") == 1);
    assert_true(get(&s, "puts/op") == 1);
    assert_true(get(&s, "miss-%") == 100);
    assert_true(get(&s, "pooled-B") == 0);
    assert_true(get(&s, "ns/op") > 0);
    assert_true(s.ops > 0);
    assert_true(s.ops + 2 * threads[i] <= atomic_load(&book.ops)); /* warm-up: two a thread */
    assert_null(text_of(s.flags, s.flag_count, FLAG_NOT_STEADY));
    assert_int_equal(book.thread_opens, threads[i]);
    assert_int_equal(book.thread_closes, threads[i]);
    assert_int_equal(book.closes, 1);
    sample_free(&s);
  }
}

static void a_pool_that_hits_allocates_nothing_for_gets(void **state) {
  (void)state;
  struct cell cell = cell_of(2);
  struct sample s;
  measure(&cell, strategy_find("per-thread"), &s);
  assert_true(get(&s, "allocs/op") == 1);
  assert_true(get(&s, "B/op") == 100);
  assert_true(get(&s, "miss-%") == 0);
  assert_true(get(&s, "pooled-B") == 2 * 64); /* one object a thread */
  assert_true(get(&s, "live-peak-B") >= 2 * 64);
  sample_free(&s);
}

/* Ops that sleep a millisecond are timed one by one, those of the measured part and no others. */
static void long_ops_are_all_timed(void **state) {
  (void)state;
  struct cell cell = cell_of(2);
  struct sample s;
  wanted = SLOW;
  measure(&cell, strategy_find("malloc"), &s);
  assert_true(get(&s, "timed-%") == 100);
  assert_true(get(&s, "max-ns") >= 0.99e6); /* the counter's rate is known to 0.1 % or so */
  sample_free(&s);
}

/* One op in a call of many; the counts stay what they are without it. */
static void short_ops_are_timed_now_and_then(void **state) {
  (void)state;
  struct cell cell = cell_of(2);
  struct sample s;
  measure(&cell, strategy_find("malloc"), &s);
  double per_call = strtod(text_of(s.notes, s.note_count, "ops-per-call"), NULL);
  double calls = ceil((double)s.ops / per_call);
  assert_float_equal(get(&s, "timed-%"), 100 * calls / (double)s.ops, 1e-9);
  assert_true(get(&s, "gets/op") == 1);
  sample_free(&s);

  cell.no_latency = true;
  measure(&cell, strategy_find("malloc"), &s);
  assert_true(get(&s, "timed-%") == 0);
  assert_non_null(text_of(s.missing, s.missing_count, "p50-ns"));
  assert_non_null(text_of(s.missing, s.missing_count, "max-ns"));
  sample_free(&s);
}

/* The pass comes after all readings: no count of the measured part has it. */
static void shared_lines_are_looked_for_when_asked(void **state) {
  (void)state;
  struct cell cell = cell_of(2);
  struct sample s;
  double ignored;
  measure(&cell, strategy_find("malloc"), &s);
  assert_false(sample_get(&s, "shared-lines-%", &ignored));
  sample_free(&s);

  cell.lines = true;
  measure(&cell, strategy_find("malloc"), &s);
  double percent = get(&s, "shared-lines-%");
  assert_true(percent >= 0 && percent <= 100);
  assert_true(strtod(text_of(s.notes, s.note_count, "lines-seen"), NULL) >= 1);
  assert_true(get(&s, "gets/op") == 1);
  assert_true(get(&s, "allocs/op") == 2);
  sample_free(&s);
}

/* Every thread is in one state at any time; without timing there are none, and no guess. */
static void states_add_up_to_the_time_of_all_threads(void **state) {
  static const char *const states[] = {
      "work-ns/op", "heap-ns/op",  "lockspin-ns/op", "cas-ns/op",  "lockblocked-ns/op",
      "scan-ns/op", "sleep-ns/op", "runqueue-ns/op", "tail-ns/op", "remainder-ns/op"};
  (void)state;
  struct cell cell = cell_of(3);
  struct sample s;
  double sum = 0, value;
  measure(&cell, strategy_find("global-locked"), &s);
  for (size_t i = 0; i < sizeof states / sizeof states[0]; i++)
    sum += get(&s, states[i]);
  assert_true(sum > 2.999999 * get(&s, "ns/op") && sum < 3.000001 * get(&s, "ns/op"));
  sample_free(&s);
  cell.no_states = true;
  measure(&cell, strategy_find("global-locked"), &s);
  assert_false(sample_get(&s, "work-ns/op", &value));
  assert_non_null(text_of(s.missing, s.missing_count, "work-ns/op"));
  assert_true(get(&s, "runqueue-ns/op") >= 0);
  sample_free(&s);
}

/* The same as an option of the strategy, so that both can be arms of one run. */
static void an_arm_can_leave_states_out(void **state) {
  (void)state;
  static const char *const options[] = {STRATEGY_NO_STATES};
  struct cell cell = cell_of(2);
  struct sample s = {0};
  double value;
  struct worker_target target = {.workload = &fake,
                                 .of = &plain_case,
                                 .strategy = strategy_find("global-locked"),
                                 .options = options,
                                 .option_count = 1,
                                 .counter_sources = counter_sources};
  worker_measure_with(&cell, &target, &s);
  assert_null(s.error);
  assert_true(get(&s, "ns/op") > 0);
  assert_false(sample_get(&s, "heap-ns/op", &value));
  sample_free(&s);
}

/* One pool a thread: counts are sums, no lock ever changes its owner, and cases that pass objects
 * from thread to thread are refused. */
static void private_pools_share_nothing(void **state) {
  (void)state;
  static const char *const options[] = {STRATEGY_PRIVATE_POOLS};
  struct workload_case alone = plain_case;
  struct cell cell = cell_of(3);
  struct sample s = {0};
  struct worker_target target = {.workload = &fake,
                                 .of = &alone,
                                 .strategy = strategy_find("global-locked"),
                                 .options = options,
                                 .option_count = 1,
                                 .counter_sources = counter_sources};
  worker_measure_with(&cell, &target, &s);
  assert_non_null(s.error);
  assert_non_null(strstr(s.error, "pass objects on"));
  sample_free(&s);
  alone.own_threads = 0;
  s = (struct sample){0};
  worker_measure_with(&cell, &target, &s);
  assert_true(get(&s, "gets/op") == 1);
  assert_true(get(&s, "lockacq/op") == 2);
  assert_true(get(&s, "contended/op") == 0);
  assert_true(get(&s, "owner-switches/op") == 0);
  assert_true(get(&s, "pooled-B") == 3 * 64);
  sample_free(&s);
}

/* What the worker writes, the runner reads: over the protocol and back. */
static void the_sample_travels(void **state) {
  (void)state;
  struct cell cell = cell_of(3);
  struct sample s, back;
  struct error e;
  char *text;
  size_t length;
  measure(&cell, strategy_find("malloc"), &s);
  FILE *out = open_memstream(&text, &length);
  assert_non_null(out);
  assert_true(sample_write(&s, out));
  fclose(out);
  if (!sample_read(text, length, &back, &e))
    fail_msg("%s\n%s", e.text, text);
  assert_true(back.ops == s.ops);
  assert_true(get(&back, "ns/op") == get(&s, "ns/op"));
  assert_true(strtod(text_of(back.notes, back.note_count, NOTE_MEASURED), NULL) /
                  (double)back.ops ==
              get(&back, "ns/op"));
  assert_non_null(text_of(back.notes, back.note_count, NOTE_WARMUP));
  assert_non_null(text_of(back.notes, back.note_count, NOTE_SPEED));
  assert_non_null(text_of(back.notes, back.note_count, NOTE_ALLOCATOR));
  free(text);
  sample_free(&s);
  sample_free(&back);
}

/* Misses that are all or nothing in turns, whatever the stretch. */
static unsigned looks;
static void unsteady_stats(struct pool *pool, struct pool_stats *out) {
  (void)pool;
  *out = (struct pool_stats){0};
  looks++;
  for (unsigned i = 1; i < looks; i++) {
    out->gets += UINT64_C(1) << 40;
    out->misses += i % 2 ? UINT64_C(1) << 40 : 0;
  }
}

static void a_warm_up_that_does_not_settle_is_flagged(void **state) {
  (void)state;
  struct strategy unsteady = *strategy_find("malloc");
  struct cell cell = cell_of(2);
  struct sample s;
  unsteady.stats = unsteady_stats;
  looks = 0;
  measure(&cell, &unsteady, &s);
  assert_non_null(text_of(s.flags, s.flag_count, FLAG_NOT_STEADY));
  assert_true(get(&s, "ns/op") > 0);
  sample_free(&s);
}

static void a_failing_op_is_an_error_with_its_reason(void **state) {
  (void)state;
  struct cell cell = cell_of(4);
  struct sample s;
  wanted = FAIL_AT_5;
  measure(&cell, strategy_find("malloc"), &s);
  assert_non_null(s.error);
  assert_non_null(strstr(s.error, "op 5 went wrong"));
  assert_non_null(strstr(s.error, "thread "));
  assert_int_equal(book.thread_closes, 4);
  assert_int_equal(book.closes, 1);
  sample_free(&s);
}

static void what_does_not_open_says_why(void **state) {
  (void)state;
  struct cell cell = cell_of(2);
  struct sample s;
  book.fail_open = "fixture.json:3: not JSON";
  measure(&cell, strategy_find("malloc"), &s);
  assert_string_equal(s.error, "workload fake: fixture.json:3: not JSON");
  sample_free(&s);

  reset(NULL);
  book.fail_thread_open = true;
  measure(&cell, strategy_find("malloc"), &s);
  assert_string_equal(s.error, "thread 1: no luck today");
  assert_int_equal(book.thread_closes, 1); /* of the one that did open */
  assert_int_equal(book.closes, 1);
  sample_free(&s);
}

static struct pool *open_and_look(const struct kind *kinds, size_t kind_count,
                                  const struct pool_config *config) {
  book.own_threads_seen = config->threads;
  return strategy_find("malloc")->open(kinds, kind_count, config);
}

static struct pool *refuse_to_open(const struct kind *kinds, size_t kind_count,
                                   const struct pool_config *config) {
  (void)kinds;
  (void)kind_count;
  snprintf(config->why, config->why_size, "cap \"x\": not a number");
  return NULL;
}

/* A consumer of the workload may lag behind when its measuring threads are done. */
static void the_workload_settles_before_each_snapshot(void **state) {
  (void)state;
  struct cell cell = cell_of(1);
  struct sample s;
  cell.options = "size=7";
  measure(&cell, strategy_find("malloc"), &s);
  assert_true(atomic_load(&book.settled) % 2 == 0 && book.settled > 0); /* per attempt */
  assert_string_equal(book.options, "size=7");
  sample_free(&s);
}

static void the_pool_is_opened_for_all_threads(void **state) {
  (void)state;
  struct strategy looking = *strategy_find("malloc");
  struct cell cell = cell_of(2);
  struct sample s;
  looking.open = open_and_look;
  measure(&cell, &looking, &s);
  assert_int_equal(book.own_threads_seen, 2 + 3);
  sample_free(&s);
  struct workload_case each = plain_case;
  each.flags |= CASE_OWN_THREAD_EACH;
  measure_case(&each, &cell, &looking, &s);
  assert_int_equal(book.own_threads_seen, 2 + 3 + 2);
  sample_free(&s);
  looking.open = refuse_to_open;
  measure(&cell, &looking, &s);
  assert_string_equal(s.error, "strategy malloc: cap \"x\": not a number");
  sample_free(&s);
}

static void count_trim(struct pool *pool) {
  (void)pool;
  atomic_fetch_add(&book.trims, 1);
}

/* The unit holds those of the measured part; the last settling comes after them. */
static void trims_come_at_their_pace_and_are_counted(void **state) {
  (void)state;
  struct strategy s = *strategy_find("malloc");
  s.trim = count_trim;
  for (int by_bytes = 0; by_bytes <= 1; by_bytes++) {
    struct cell cell = cell_of(2);
    struct sample sample;
    memset(&book, 0, sizeof book);
    wanted = WAIT_FOR_TRIMS;
    cell.trim_ns = by_bytes ? 0 : NS_PER_MS;
    cell.trim_bytes = by_bytes ? 100 : 0; /* an op allocates 164 */
    measure(&cell, &s, &sample);
    assert_true(get(&sample, "trims/op") * (double)sample.ops > 2.99);
    sample_free(&sample);
  }
  struct cell cell = cell_of(2);
  struct sample sample;
  double ignored;
  wanted = PLAIN;
  measure(&cell, &s, &sample);
  assert_false(sample_get(&sample, "trims/op", &ignored));
  sample_free(&sample);
}

static void leaks_are_errors_when_joined(void **state) {
  (void)state;
  struct cell cell = cell_of(2);
  struct sample s;
  wanted = LEAK;
  measure(&cell, strategy_find("malloc"), &s);
  assert_non_null(s.error);
  assert_non_null(strstr(s.error, "1 blocks and 4000 bytes"));
  heap_free(book.leaked, 4000);
  sample_free(&s);
  reset(NULL);
  wanted = WRONG_SIZE;
  measure(&cell, strategy_find("malloc"), &s);
  assert_non_null(s.error);
  assert_non_null(strstr(s.error, "0 blocks and -1 bytes"));
  sample_free(&s);
}

/* The measured part is planned to last an hour. */
static void the_limit_gives_a_bound(void **state) {
  (void)state;
  struct cell cell = cell_of(4);
  struct sample s;
  double ignored;
  wanted = SLOW;
  cell.limit_ns = 20 * NS_PER_MS;
  cell.window_ns = 3600 * NS_PER_S;
  measure(&cell, strategy_find("malloc"), &s);
  assert_null(s.error);
  assert_true(s.bound_s > 0 && s.bound_s < 3600);
  assert_true(s.ops >= 4);
  assert_false(sample_get(&s, "ns/op", &ignored));
  assert_int_equal(book.closes, 1);
  sample_free(&s);
}

static void too_few_ops_are_flagged(void **state) {
  (void)state;
  struct cell cell = cell_of(1);
  struct sample s;
  wanted = SLOW; /* 1 ms and more: at most 8 in four windows of 2 ms */
  measure(&cell, strategy_find("malloc"), &s);
  assert_true(s.ops <= 8);
  assert_non_null(text_of(s.flags, s.flag_count, FLAG_SHORT_OPS));
  sample_free(&s);
}

/* A warm-up of ops of 1 ms plans 50 of them for 50 ms; they take microseconds. */
static void a_part_that_is_far_too_short_is_done_again(void **state) {
  (void)state;
  struct cell cell = cell_of(1);
  struct sample s;
  wanted = SLOW_WARM_UP;
  cell.window_ns = 50 * NS_PER_MS;
  measure(&cell, strategy_find("malloc"), &s);
  assert_true(atomic_load(&book.settled) == 4 || atomic_load(&book.settled) == 6);
  assert_true(s.ops > 50);
  assert_true(get(&s, "allocs/op") == 2);
  sample_free(&s);
}

static void the_allocator_must_be_the_expected_one(void **state) {
  (void)state;
  struct cell cell = cell_of(1);
  struct sample s;
  cell.expect_allocator = "nonesuch";
  measure(&cell, strategy_find("malloc"), &s);
  assert_non_null(s.error);
  assert_non_null(strstr(s.error, "nonesuch"));
  assert_int_equal(atomic_load(&book.ops), 0);
  sample_free(&s);
}

static void more_threads_than_work_become_fewer(void **state) {
  (void)state;
  struct workload_case few = plain_case;
  struct worker_target target = {.workload = &fake,
                                 .of = &few,
                                 .strategy = strategy_find("malloc"),
                                 .counter_sources = counter_sources};
  struct cell cell = cell_of(8);
  struct sample s = {0};
  few.max_threads = 3;
  few.flags = CASE_FEWER_THREADS;
  worker_measure_with(&cell, &target, &s);
  assert_int_equal(book.thread_opens, 3);
  assert_non_null(strstr(text_of(s.notes, s.note_count, NOTE_THREADS), "3 of 8"));
  sample_free(&s);
}

static void a_series_gives_units_per_mark(void **state) {
  (void)state;
  struct workload_case series = plain_case;
  struct worker_target target = {.workload = &fake,
                                 .of = &series,
                                 .strategy = strategy_find("malloc"),
                                 .counter_sources = counter_sources};
  struct cell cell = cell_of(2);
  struct sample s = {0};
  double ignored;
  series.flags = CASE_SERIES;
  worker_measure_with(&cell, &target, &s);
  assert_int_equal(s.ops, 1);
  assert_true(get(&s, "burst-of-all:ns/op") == 500);
  assert_int_equal(book.mark_took, 0); /* it would lie above what the series looks at */
  double base = get(&s, "idle:live-B");
  assert_true(get(&s, "burst-of-all:live-B") - base == 1 << 20);
  assert_true(get(&s, "burst-of-all:B/owner") == get(&s, "burst-of-all:live-B") / 1024);
  assert_true(get(&s, "idle:time-ns") >= get(&s, "burst-of-all:time-ns"));
  assert_true(get(&s, "idle:rss-B") > 0);
  assert_true(get(&s, "idle:pooled-B") == 0);
  assert_true(get(&s, "idle:stall-ns") == 77);
  assert_false(sample_get(&s, "idle:ns/op", &ignored));
  assert_false(sample_get(&s, "ns/op", &ignored));
  sample_free(&s);

  reset(NULL);
  wanted = FAIL_AT_5; /* marks the same moment twice */
  worker_measure_with(&cell, &target, &s);
  assert_non_null(s.error);
  assert_non_null(strstr(s.error, "idle"));
  sample_free(&s);
}

/* ---- counters ---- */

static bool claims(const char *event) {
  return event != NULL;
}
static bool open_source(char *why, size_t why_size) {
  (void)why;
  (void)why_size;
  return true;
}
static void *attach(const char *const *events, size_t count, char (*why)[COUNTER_WHY_MAX]) {
  for (size_t i = 0; i < count; i++)
    if (strcmp(events[i], "broken") == 0)
      strcpy(why[i], "it broke");
  return malloc(1);
}
static bool start(void *group) {
  return group != NULL;
}
static bool stop(void *group, uint64_t *values) {
  values[0] = 1000;
  return group != NULL;
}
static void detach(void *group) {
  free(group);
}
static bool takes_turns;
static bool multiplexed(const void *group) {
  return group && takes_turns;
}

static void counters_are_summed_over_threads(void **state) {
  (void)state;
  static const struct counter_source source = {.name = "stand-in",
                                               .claims = claims,
                                               .open = open_source,
                                               .always_counts = claims,
                                               .attach = attach,
                                               .start = start,
                                               .stop = stop,
                                               .detach = detach,
                                               .multiplexed = multiplexed};
  static const struct counter_source *const sources[] = {&source, NULL};
  struct worker_target target = {.workload = &fake,
                                 .of = &plain_case,
                                 .strategy = strategy_find("malloc"),
                                 .counter_sources = sources};
  struct cell cell = cell_of(5);
  struct sample s = {0};
  cell.counters = "cycles,broken";
  worker_measure_with(&cell, &target, &s);
  assert_true(get(&s, "cycles/op") == 5000.0 / (double)s.ops);
  assert_string_equal(text_of(s.missing, s.missing_count, "broken/op"), "it broke");
  assert_null(text_of(s.notes, s.note_count, NOTE_MULTIPLEXED));
  sample_free(&s);

  takes_turns = true;
  worker_measure_with(&cell, &target, &s);
  assert_non_null(strstr(text_of(s.notes, s.note_count, NOTE_MULTIPLEXED), "scaled"));
  sample_free(&s);
}

int main(void) {
#define RESET(test) cmocka_unit_test_setup(test, reset)
  const struct CMUnitTest tests[] = {
      RESET(counts_are_exact_at_any_thread_count),
      RESET(a_pool_that_hits_allocates_nothing_for_gets),
      RESET(long_ops_are_all_timed),
      RESET(shared_lines_are_looked_for_when_asked),
      RESET(short_ops_are_timed_now_and_then),
      RESET(states_add_up_to_the_time_of_all_threads),
      RESET(an_arm_can_leave_states_out),
      RESET(private_pools_share_nothing),
      RESET(the_sample_travels),
      RESET(a_warm_up_that_does_not_settle_is_flagged),
      RESET(a_failing_op_is_an_error_with_its_reason),
      RESET(what_does_not_open_says_why),
      RESET(the_pool_is_opened_for_all_threads),
      RESET(the_workload_settles_before_each_snapshot),
      RESET(leaks_are_errors_when_joined),
      RESET(trims_come_at_their_pace_and_are_counted),
      RESET(the_limit_gives_a_bound),
      RESET(too_few_ops_are_flagged),
      RESET(a_part_that_is_far_too_short_is_done_again),
      RESET(the_allocator_must_be_the_expected_one),
      RESET(more_threads_than_work_become_fewer),
      RESET(a_series_gives_units_per_mark),
      RESET(counters_are_summed_over_threads),
  };
  return cmocka_run_group_tests_name("worker", tests, NULL, NULL);
}
