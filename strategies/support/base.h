/*
 * What every strategy's pool and thread begin with: the kinds, the roster of attached threads
 * with the sums of their counters, and the epoch that trim advances.
 *
 * The roster's lock is taken by attach, detach, stats and held only, never by get, put, begin
 * or end.
 */
#ifndef POOLBENCH_SUPPORT_BASE_H
#define POOLBENCH_SUPPORT_BASE_H

#include "strategies/strategy.h"

#include <pthread.h>

/* First member of a strategy's thread. The strategy's own fields start on a line of their own. */
struct base_thread {
  struct pool_thread thread; /* counters: written by the thread, read by stats */
  struct base_thread *prev, *next;
};
_Static_assert(sizeof(struct base_thread) <= 3 * POOL_LINE, "counters, timing and links");

/* First member of a strategy's `struct pool`. */
struct base_pool {
  const struct kind *kinds;
  size_t kind_count;
  size_t pool_size, thread_size;  /* bytes to give back to the heap */
  const struct span_clock *clock; /* as configured */
  pthread_mutex_t roster;         /* guards threads and past */
  struct base_thread threads;     /* a ring; this one is its head */
  struct pool_stats past;         /* counters of the threads that have left */
  /* Read by every begin and end, written by trim alone: a line of its own. */
  _Alignas(POOL_LINE) _Atomic uint64_t epoch;
};

/*
 * Checks the kinds and returns a zeroed, POOL_LINE-aligned pool of pool_size bytes whose threads
 * will take thread_size bytes. NULL with config->why filled. base_close frees it; the strategy
 * has freed all else before.
 */
void *base_open(size_t pool_size, size_t thread_size, const struct kind *kinds, size_t kind_count,
                const struct pool_config *config);
void base_close(struct base_pool *pool);

/*
 * base_attach returns a zeroed, POOL_LINE-aligned thread that is in no sum yet, or NULL when out
 * of memory. base_enter puts it into the sums once the strategy has set it up; base_leave takes
 * it out and keeps its counts; base_free frees it.
 */
void *base_attach(struct base_pool *pool);
void base_enter(struct base_pool *pool, struct base_thread *thread);
void base_leave(struct base_pool *pool, struct base_thread *thread);
void base_free(struct base_pool *pool, struct base_thread *thread);

/* The counters of all threads, past and present. */
void base_stats(struct base_pool *pool, struct pool_stats *out);

/*
 * For a strategy's table: where its pool, its thread or an event needs no more than this. They
 * rely on base_pool and base_thread being first members.
 */
void base_pool_close(struct pool *pool);
void base_pool_stats(struct pool *pool, struct pool_stats *out);
void base_thread_detach(struct pool *pool, struct pool_thread *thread);
void base_release_nothing(struct pool *pool, struct pool_owner *owner);
void base_trim_nothing(struct pool *pool);
void base_quiesce_nothing(struct pool *pool, struct pool_thread *thread);

/* Calls visit for every attached thread, which can neither leave nor enter meanwhile. */
void base_each(struct base_pool *pool, void (*visit)(struct base_thread *thread, void *arg),
               void *arg);

/*
 * Advances the epoch. Relaxed throughout: the epoch only tells a thread to trim what is its own
 * anyway, it publishes nothing.
 */
static inline void base_trim(struct base_pool *pool) {
  atomic_fetch_add_explicit(&pool->epoch, 1, memory_order_relaxed);
}

/* True once per thread and epoch: `seen` is the last epoch for which the caller trimmed. */
static inline bool base_trim_due(struct base_pool *pool, uint64_t *seen) {
  uint64_t now = atomic_load_explicit(&pool->epoch, memory_order_relaxed);
  if (__builtin_expect(now == *seen, 1))
    return false;
  *seen = now;
  return true;
}

#endif
