/*
 * A counted lock: acquisitions, those that had to wait, and how long.
 *
 * The uncontended path is one try and two counter increments, without a clock. Only after the
 * try failed is the wait timed (two clock reads, about 23 ns each, beside a wait that costs a
 * cache transfer at the least).
 */
#ifndef POOLBENCH_SUPPORT_LOCK_H
#define POOLBENCH_SUPPORT_LOCK_H

#include "strategies/strategy.h"

#include <pthread.h>

struct lock {
  pthread_mutex_t mutex;
};

/* Returns 0 or an errno value. */
int lock_init(struct lock *lock);
void lock_destroy(struct lock *lock);

/* The slow way in: waits, and counts the wait for `counters` when there are some. */
void lock_wait(struct lock *lock, struct pool_counters *counters);

/* counters are the calling thread's, or NULL outside of attached threads (trim, held). */
static inline void lock_acquire(struct lock *lock, struct pool_counters *counters) {
  if (__builtin_expect(pthread_mutex_trylock(&lock->mutex) != 0, 0))
    lock_wait(lock, counters);
  if (counters)
    pool_count(&counters->lock_acquisitions, 1);
}

static inline void lock_release(struct lock *lock) {
  pthread_mutex_unlock(&lock->mutex);
}

#endif
