/*
 * A counted lock of a chosen type: acquisitions, those that had to wait, and how long.
 *
 * The uncontended path is one try and one counter, without a clock. Only after the try failed is
 * the wait timed (two clock reads, about 23 ns each, beside a wait that costs a cache transfer at
 * the least).
 *
 * pthread parks waiters in the kernel; adaptive spins for a while first; ticket and mcs
 * (Concurrency Kit) spin for ever and serve in the order of arrival, all on one line or each on
 * its own. With more threads than CPUs the last two wait for threads that do not run.
 */
#ifndef POOLBENCH_SUPPORT_LOCK_H
#define POOLBENCH_SUPPORT_LOCK_H

#include "strategies/strategy.h"
#include "strategies/support/annotate.h"

#include <ck_spinlock.h>
#include <pthread.h>

enum lock_type { LOCK_PTHREAD, LOCK_ADAPTIVE, LOCK_TICKET, LOCK_MCS };
/* Their names in this order, for option_choice; NULL at the end. */
extern const char *const lock_names[];

struct lock {
  enum lock_type type;
  union {
    pthread_mutex_t mutex;
    ck_spinlock_ticket_t ticket;
    ck_spinlock_mcs_t mcs;
  };
};

/* One acquisition, on the holder's stack until the release. */
struct lock_hold {
  ck_spinlock_mcs_context_t node;
};

/* Returns 0 or an errno value. */
int lock_init(struct lock *lock, enum lock_type type);
void lock_destroy(struct lock *lock);

/* The slow way in: waits, and counts the wait for `counters` when there are some. */
void lock_wait(struct lock *lock, struct lock_hold *hold, struct pool_counters *counters);

static inline bool lock_try(struct lock *lock, struct lock_hold *hold) {
  switch (lock->type) {
  case LOCK_PTHREAD:
  case LOCK_ADAPTIVE:
    return pthread_mutex_trylock(&lock->mutex) == 0;
  case LOCK_TICKET:
    return ck_spinlock_ticket_trylock(&lock->ticket);
  case LOCK_MCS:
    return ck_spinlock_mcs_trylock(&lock->mcs, &hold->node);
  }
  __builtin_unreachable();
}

/* counters are the calling thread's, or NULL outside of attached threads (trim, held). */
static inline void lock_acquire(struct lock *lock, struct lock_hold *hold,
                                struct pool_counters *counters) {
  if (__builtin_expect(!lock_try(lock, hold), 0))
    lock_wait(lock, hold, counters);
  if (lock->type >= LOCK_TICKET)
    ANNOTATE_ACQUIRE(lock);
  if (counters)
    pool_count(&counters->lock_acquisitions, 1);
}

static inline void lock_release(struct lock *lock, struct lock_hold *hold) {
  if (lock->type >= LOCK_TICKET)
    ANNOTATE_RELEASE(lock);
  switch (lock->type) {
  case LOCK_PTHREAD:
  case LOCK_ADAPTIVE:
    pthread_mutex_unlock(&lock->mutex);
    return;
  case LOCK_TICKET:
    ck_spinlock_ticket_unlock(&lock->ticket);
    return;
  case LOCK_MCS:
    ck_spinlock_mcs_unlock(&lock->mcs, &hold->node);
    return;
  }
}

#endif
