/*
 * A counted lock of a chosen type: acquisitions, those that had to wait and how long, how often
 * the owner changed, how long it is held.
 *
 * The uncontended path is one try and a few words of the lock's own line, without a clock. Only
 * after the try failed is the wait timed (two clock reads, about 23 ns each, beside a wait that
 * costs a cache transfer at the least). A random sample of holds is timed, and some of
 * the waits are split into CPU time, run-queue delay and sleep; those clocks are read before the
 * wait and after the release, never by the holder.
 *
 * pthread parks waiters in the kernel; adaptive spins for a while first; ticket and mcs
 * (Concurrency Kit) spin for ever and serve in the order of arrival, all on one line or each on
 * its own. With more threads than CPUs the last two wait for threads that do not run.
 */
#ifndef POOLBENCH_SUPPORT_LOCK_H
#define POOLBENCH_SUPPORT_LOCK_H

#include "strategies/strategy.h"
#include "strategies/support/annotate.h"
#include "strategies/support/timing.h"

#include <ck_spinlock.h>
#include <pthread.h>

/* Longest delay that can be planted: longer ones would look like interruptions (SPAN_LIMIT_NS). */
#define LOCK_MAX_INJECT_NS 20000
/* The option of strategies with a lock. */
#define LOCK_INJECT_OPTION \
  { "inject", "0", "0..20000 ns", "planted: every hold of the lock is longer by this" }

enum lock_type { LOCK_PTHREAD, LOCK_ADAPTIVE, LOCK_TICKET, LOCK_MCS };
/* Their names in this order, for option_choice; NULL at the end. */
extern const char *const lock_names[];

struct lock {
  enum lock_type type;
  _Atomic uint32_t watchers;         /* waiters who want to know when the lock was released */
  const struct pool_counters *owner; /* who had it last; guarded by the lock, as the next two */
  uint64_t released;                 /* span_begin() of the last release that had a watcher */
  uint64_t inject_ns;                /* planted: every hold is longer by this */
  union {
    pthread_mutex_t mutex;
    ck_spinlock_ticket_t ticket;
    ck_spinlock_mcs_t mcs;
  };
};

/* One acquisition, on the holder's stack until the release. */
struct lock_hold {
  ck_spinlock_mcs_context_t node;
  struct pool_counters *counters; /* NULL: this acquisition is not timed, the rest is unset */
  bool is_wait;                   /* a wait that is split; else a hold */
  uint64_t begin, end;            /* of the hold */
  uint64_t wait_ns;
  uint64_t unseen_ns; /* between reading `before` and the wait */
  struct pool_clocks before;
};

/* Returns 0 or an errno value. The lock is zeroed before. */
int lock_init(struct lock *lock, enum lock_type type);
void lock_destroy(struct lock *lock);

/* The slow way in: waits, and counts the wait for `counters` when there are some. */
void lock_wait(struct lock *lock, struct lock_hold *hold, struct pool_counters *counters);

/* The rare parts of acquire and release: of a hold that was not due yet, and of what was timed. */
void lock_time_hold(struct lock_hold *hold, struct pool_counters *counters);
void lock_count_times(struct lock_hold *hold);
void lock_inject(const struct lock *lock, const struct pool_counters *counters);

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
  hold->counters = NULL;
  if (__builtin_expect(!lock_try(lock, hold), 0))
    lock_wait(lock, hold, counters);
  if (lock->type >= LOCK_TICKET)
    ANNOTATE_ACQUIRE(lock);
  if (!counters)
    return;
  pool_count(&counters->lock_acquisitions, 1);
  if (lock->owner != counters) {
    lock->owner = counters;
    pool_count(&counters->owner_switches, 1);
  }
  if (span_gap_due(&counters->timing.hold))
    lock_time_hold(hold, counters);
  if (__builtin_expect(lock->inject_ns != 0, 0))
    lock_inject(lock, counters);
}

static inline void lock_unlock(struct lock *lock, struct lock_hold *hold) {
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

/* Relaxed: a watcher that is seen late loses one hand-off, nothing is ordered by it. */
static inline void lock_release(struct lock *lock, struct lock_hold *hold) {
  bool timed = __builtin_expect(hold->counters != NULL, 0);
  if (timed)
    hold->end = span_end();
  if (__builtin_expect(atomic_load_explicit(&lock->watchers, memory_order_relaxed) != 0, 0))
    lock->released = span_begin();
  lock_unlock(lock, hold);
  if (timed)
    lock_count_times(hold);
}

#endif
