/* Steps that series of several workloads have in common; every thread of the series takes them. */
#ifndef POOLBENCH_WORKLOADS_SERIES_H
#define POOLBENCH_WORKLOADS_SERIES_H

#include "harness/heap.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <time.h>

static inline void series_sleep(unsigned seconds) {
  struct timespec left = {.tv_sec = (time_t)seconds};
  while (nanosleep(&left, &left) != 0 && errno == EINTR)
    ;
}

/*
 * Has the allocator give back what it caches. step: the series' barrier; index: the calling
 * thread's. False, on every thread alike and without a wait: it has no such call, so nothing is
 * to show.
 */
static inline bool series_release(pthread_barrier_t *step, unsigned index) {
  if (!heap_release())
    return false;
  pthread_barrier_wait(step);
  if (index == 0)
    heap_release(); /* what one thread's cache gave to the shared ones is there now */
  return true;
}

#endif
