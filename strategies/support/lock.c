/* Set-up and the waiting path of the counted lock; see lock.h. */
#include "strategies/support/lock.h"

#include <time.h>

int lock_init(struct lock *lock) {
  return pthread_mutex_init(&lock->mutex, NULL);
}

void lock_destroy(struct lock *lock) {
  pthread_mutex_destroy(&lock->mutex);
}

static uint64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void lock_wait(struct lock *lock, struct pool_counters *counters) {
  if (!counters) {
    pthread_mutex_lock(&lock->mutex);
    return;
  }
  pool_count(&counters->lock_contended, 1); /* before the wait, so that a sampler sees it */
  uint64_t start = now_ns();
  pthread_mutex_lock(&lock->mutex);
  pool_count(&counters->lock_wait_ns, now_ns() - start);
}
