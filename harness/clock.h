/*
 * The two clocks of a measurement and what they cost.
 *
 * Wall time is CLOCK_MONOTONIC, read without a system call where the kernel has a vDSO for the
 * machine's clock source: some 20 to 50 ns. The thread's CPU clock is a system call of about
 * 0.6 us, so it is read at the edges of a measured part only, never in an op.
 */
#ifndef POOLBENCH_CLOCK_H
#define POOLBENCH_CLOCK_H

#include <stdint.h>
#include <time.h>

#define NS_PER_S UINT64_C(1000000000)
#define NS_PER_MS UINT64_C(1000000)
#define NS_PER_US UINT64_C(1000)

static inline uint64_t clock_read_ns(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t); /* cannot fail: these clocks exist on every Linux */
  return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

static inline uint64_t clock_wall_ns(void) {
  return clock_read_ns(CLOCK_MONOTONIC);
}
static inline uint64_t clock_thread_cpu_ns(void) {
  return clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
}

#endif
