/*
 * Runs a case under a strategy on a few threads, as the harness does, and counts exactly what
 * its ops allocate. For tests only; include after cmocka.h.
 */
#ifndef POOLBENCH_WORKLOAD_FIXTURE_H
#define POOLBENCH_WORKLOAD_FIXTURE_H

#include "harness/heap.h"
#include "workloads/workload.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define RUN_MAX_THREADS 64

struct run {
  /* Given. */
  const struct workload *workload;
  const char *case_name, *spec, *options;
  unsigned threads;
  uint64_t warm, ops; /* ops of each thread: not counted, counted */
  series_emit *emit;  /* not NULL: the series is run instead */
  void *emit_context; /* NULL: the run itself */

  /* Found. */
  bool failed;
  char why[300];
  struct heap_counts counted; /* what the counted ops did to the heap */
  struct pool_stats stats;    /* of the counted ops */
  struct pool_held held;      /* after them, before the threads leave */
  int64_t leaked_blocks, leaked_bytes;

  /* Between the threads. */
  const struct strategy *strategy;
  struct pool *pool;
  struct workload_state *state;
  pthread_barrier_t step;
};

struct run_thread {
  struct run *run;
  struct workload_thread t;
  pthread_t thread;
  bool opened;
};

static inline struct pool_stats run_stats(struct run *r) {
  struct pool_stats stats;
  r->strategy->stats(r->pool, &stats);
  return stats;
}

static inline void run_subtract(struct run *r, const struct heap_counts *heap,
                                const struct pool_stats *stats) {
  r->counted.allocs -= heap->allocs;
  r->counted.alloc_bytes -= heap->alloc_bytes;
  r->counted.frees -= heap->frees;
  r->counted.freed_bytes -= heap->freed_bytes;
#define RUN_SUBTRACT(field, unit, what) r->stats.field -= stats->field;
  POOL_COUNTERS(RUN_SUBTRACT)
#undef RUN_SUBTRACT
}

/* Thread 0 looks at the counters while all others wait. */
static inline void run_measured(struct run_thread *rt) {
  struct run *r = rt->run;
  struct heap_counts heap;
  struct pool_stats stats;
  pthread_barrier_wait(&r->step);
  if (rt->t.index == 0) {
    heap_total(&heap);
    stats = run_stats(r);
  }
  pthread_barrier_wait(&r->step);
  if (rt->opened && !rt->t.failed)
    r->workload->run(&rt->t, r->ops);
  pthread_barrier_wait(&r->step);
  if (rt->t.index == 0) {
    heap_total(&r->counted);
    r->stats = run_stats(r);
    run_subtract(r, &heap, &stats);
  }
  pthread_barrier_wait(&r->step);
}

static inline void run_note_failure(struct run_thread *rt) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&lock);
  if (!rt->run->failed)
    snprintf(rt->run->why, sizeof rt->run->why, "%s", rt->t.why);
  rt->run->failed = true;
  pthread_mutex_unlock(&lock);
}

static inline void *run_thread_main(void *argument) {
  struct run_thread *rt = (struct run_thread *)argument;
  struct run *r = rt->run;
  heap_thread_begin();
  rt->t.pool_thread = r->strategy->attach(r->pool);
  rt->opened = rt->t.pool_thread && (!r->workload->thread_open || r->workload->thread_open(&rt->t));
  if (!rt->opened)
    run_note_failure(rt);
  pthread_barrier_wait(&r->step);
  if (r->emit) {
    if (rt->opened && !r->failed)
      r->workload->series(&rt->t, r->emit, r->emit_context ? r->emit_context : r);
  } else {
    if (rt->opened)
      r->workload->run(&rt->t, r->warm);
    run_measured(rt);
  }
  pthread_barrier_wait(&r->step);
  if (rt->t.index == 0) {
    if (r->workload->settle && !r->failed)
      r->workload->settle(r->state);
    r->strategy->held(r->pool, &r->held);
  }
  pthread_barrier_wait(&r->step);
  if (rt->opened && r->workload->thread_close)
    r->workload->thread_close(&rt->t);
  if (rt->t.pool_thread)
    r->strategy->detach(r->pool, rt->t.pool_thread);
  heap_thread_end();
  return NULL;
}

static inline void run_threads(struct run *r, struct run_thread *threads) {
  pthread_barrier_init(&r->step, NULL, r->threads);
  for (unsigned i = 0; i < r->threads; i++) {
    threads[i] = (struct run_thread){.run = r,
                                     .t = {.strategy = r->strategy,
                                           .pool = r->pool,
                                           .state = r->state,
                                           .index = i,
                                           .threads = r->threads}};
    if (pthread_create(&threads[i].thread, NULL, run_thread_main, &threads[i]) != 0)
      fail_msg("cannot start a thread");
  }
  for (unsigned i = 0; i < r->threads; i++) {
    pthread_join(threads[i].thread, NULL);
    if (threads[i].t.failed)
      run_note_failure(&threads[i]);
  }
  pthread_barrier_destroy(&r->step);
}

static inline void run_opened(struct run *r) {
  char storage[STRATEGY_SPEC_MAX];
  const char *options[STRATEGY_MAX_OPTIONS];
  struct run_thread threads[RUN_MAX_THREADS];
  size_t option_count, kind_count;
  r->strategy = strategy_parse(r->spec, storage, options, &option_count, r->why, sizeof r->why);
  if (!r->strategy)
    fail_msg("%s: %s", r->spec, r->why);
  r->strategy = strategy_checked(r->strategy);
  const struct kind *kinds = r->workload->kinds(r->state, &kind_count);
  struct pool_config config = {
      .options = options,
      .option_count = option_count,
      .threads = r->threads + 1,
      .why = r->why,
      .why_size = sizeof r->why,
  };
  r->pool = r->strategy->open(kinds, kind_count, &config);
  if (!r->pool)
    fail_msg("%s: %s", r->spec, r->why);
  run_threads(r, threads);
  r->strategy->close(r->pool);
}

/* Opens, runs, closes everything. What went wrong is in r->failed and r->why. */
static inline void run_case(struct run *r) {
  struct heap_counts before, after;
  struct workload_setup setup = {.case_name = r->case_name,
                                 .threads = r->threads,
                                 .seed = 7,
                                 .options = r->options,
                                 .why = r->why,
                                 .why_size = sizeof r->why};
  heap_thread_begin();
  heap_total(&before);
  r->failed = !r->workload->open(&setup, &r->state);
  if (!r->failed) {
    run_opened(r);
    r->workload->close(r->state);
  }
  heap_total(&after);
  heap_thread_end();
  r->leaked_blocks = (int64_t)((after.allocs - before.allocs) - (after.frees - before.frees));
  r->leaked_bytes = (int64_t)((after.alloc_bytes - before.alloc_bytes) -
                              (after.freed_bytes - before.freed_bytes));
}

/* The same; neither a failure nor a leak is expected. */
static inline void run_clean(struct run *r) {
  run_case(r);
  if (r->failed)
    fail_msg("%s under %s: %s", r->case_name, r->spec, r->why);
  assert_int_equal(r->leaked_blocks, 0);
  assert_int_equal(r->leaked_bytes, 0);
}

#endif
