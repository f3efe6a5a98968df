/* Set-up and the waiting path of the counted lock; see lock.h. */
#include "strategies/support/lock.h"

#include <time.h>

const char *const lock_names[] = {
    [LOCK_PTHREAD] = "pthread", [LOCK_ADAPTIVE] = "adaptive", [LOCK_TICKET] = "ticket",
    [LOCK_MCS] = "mcs",         [LOCK_MCS + 1] = NULL,
};

static int init_mutex(pthread_mutex_t *mutex, int kind) {
  pthread_mutexattr_t attributes;
  int error = pthread_mutexattr_init(&attributes);
  if (error)
    return error;
  error = pthread_mutexattr_settype(&attributes, kind);
  if (!error)
    error = pthread_mutex_init(mutex, &attributes);
  pthread_mutexattr_destroy(&attributes);
  return error;
}

int lock_init(struct lock *lock, enum lock_type type) {
  lock->type = type;
  switch (type) {
  case LOCK_PTHREAD:
    return init_mutex(&lock->mutex, PTHREAD_MUTEX_NORMAL);
  case LOCK_ADAPTIVE:
    return init_mutex(&lock->mutex, PTHREAD_MUTEX_ADAPTIVE_NP);
  case LOCK_TICKET:
    ck_spinlock_ticket_init(&lock->ticket);
    return 0;
  case LOCK_MCS:
    ck_spinlock_mcs_init(&lock->mcs);
    return 0;
  }
  __builtin_unreachable();
}

void lock_destroy(struct lock *lock) {
  if (lock->type <= LOCK_ADAPTIVE)
    pthread_mutex_destroy(&lock->mutex);
}

static uint64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void wait_for(struct lock *lock, struct lock_hold *hold) {
  switch (lock->type) {
  case LOCK_PTHREAD:
  case LOCK_ADAPTIVE:
    pthread_mutex_lock(&lock->mutex);
    return;
  case LOCK_TICKET:
    ck_spinlock_ticket_lock(&lock->ticket);
    return;
  case LOCK_MCS:
    ck_spinlock_mcs_lock(&lock->mcs, &hold->node);
    return;
  }
}

void lock_wait(struct lock *lock, struct lock_hold *hold, struct pool_counters *counters) {
  if (!counters) {
    wait_for(lock, hold);
    return;
  }
  pool_count(&counters->lock_contended, 1); /* before the wait, so that a sampler sees it */
  uint64_t start = now_ns();
  wait_for(lock, hold);
  pool_count(&counters->lock_wait_ns, now_ns() - start);
}
