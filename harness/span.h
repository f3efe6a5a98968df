/*
 * Spans too short for a clock: read by the time-stamp counter, on a random sample of their kind.
 *
 * Reading the counter on both sides, with the fences that keep the spanned instructions inside,
 * costs some 20 ns; so one call in a few dozen is timed, stands for those since the last one, and
 * has the empty span subtracted. Elsewhere than on x86 CLOCK_MONOTONIC stands in for the counter.
 *
 * The counter knows nothing of the scheduler and the hypervisor: a span that lasted longer than
 * `limit` was interrupted, its time is theirs, and it counts as not timed.
 */
#ifndef POOLBENCH_SPAN_H
#define POOLBENCH_SPAN_H

#include "harness/clock.h"

#include <stdbool.h>
#include <stdint.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

/* Longer than what is timed lasts on its CPU, far shorter than the scheduler's slices. */
#define SPAN_LIMIT_NS 50000

/* How ticks become ns in this process; constant once calibrated. */
struct span_clock {
  uint64_t ns_per_tick; /* as a fraction of 2^32 */
  uint64_t empty;       /* ticks of an empty span */
  uint64_t limit;       /* ticks */
  double error_ns;      /* by how much one span of a known length was off */
};

/* Takes about 1 ms; single-threaded, to be done before threads run. */
void span_calibrate(struct span_clock *clock);

static inline uint64_t span_begin(void) {
#if defined(__x86_64__)
  _mm_lfence(); /* what came before is over */
  uint64_t t = __rdtsc();
  _mm_lfence(); /* nothing of the span has begun */
  return t;
#else
  return clock_wall_ns();
#endif
}

static inline uint64_t span_end(void) {
#if defined(__x86_64__)
  unsigned cpu;
  uint64_t t = __rdtscp(&cpu); /* waits for the span's instructions */
  _mm_lfence();
  return t;
#else
  return clock_wall_ns();
#endif
}

static inline uint64_t span_to_ns(const struct span_clock *clock, uint64_t ticks) {
  return (uint64_t)(((unsigned __int128)ticks * clock->ns_per_tick) >> 32);
}

/* The span's ns without the empty one; false: it was interrupted. */
static inline bool span_ns(const struct span_clock *clock, uint64_t begin, uint64_t end,
                           uint64_t *ns) {
  uint64_t ticks = end - begin;
  *ns = span_to_ns(clock, ticks > clock->empty ? ticks - clock->empty : 0);
  return ticks <= clock->limit;
}

/* Spins for `ns`, in CPU time or preempted; planted faults only. */
static inline void span_delay(const struct span_clock *clock, uint64_t ns) {
  uint64_t begin = span_begin();
  while (span_to_ns(clock, span_end() - begin) < ns)
    ;
}

/*
 * Which calls of a kind are timed: gaps uniform in 1 .. 2 mean - 1, so that no rhythm of the caller
 * is met. A zeroed one never comes due. One thread's.
 */
struct span_gap {
  uint64_t left;   /* calls until one is timed */
  uint64_t weight; /* calls that the next timed one stands for */
  uint32_t random, mean;
};

static inline void span_gap_draw(struct span_gap *g) {
  g->random ^= g->random << 13; /* xorshift32 (Marsaglia 2003) */
  g->random ^= g->random >> 17;
  g->random ^= g->random << 5;
  g->weight = g->left = 1 + (uint64_t)(((uint64_t)g->random * (2 * g->mean - 1)) >> 32);
}

/* Each start has other gaps, so that threads in step do not time the same calls, nor samples. */
void span_gap_start(struct span_gap *g, uint32_t mean);

/* One decrement and one branch that is hardly ever taken. */
static inline bool span_gap_due(struct span_gap *g) {
  return __builtin_expect(--g->left == 0, 0);
}

#endif
