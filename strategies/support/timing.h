/*
 * How a thread times what it does inside a strategy: a sample of holds, waits and searches, and
 * every CAS retry, which is slow by itself. Without a clock nothing is timed.
 *
 * Owns the thread's gaps and the file it reads its run-queue delay from. The uncontended path
 * pays one decrement and one branch an acquisition.
 */
#ifndef POOLBENCH_SUPPORT_TIMING_H
#define POOLBENCH_SUPPORT_TIMING_H

#include "strategies/strategy.h"

/* Mean gaps. A timed hold or search costs 50 ns. */
#define TIMING_HOLD_GAP 64
#define TIMING_SCAN_GAP 16

/*
 * Splitting a wait costs 3 us. By time, not by number: rare waits are all split, and frequent ones
 * cost 1 %. A wait that is not split begins this soon after the clocks were last read, which is
 * how a long one can be split afterwards.
 */
#define TIMING_WAIT_EVERY_NS 300000

/* On the thread itself. clock NULL: off. */
void timing_open(struct pool_timing *timing, const struct span_clock *clock);
void timing_close(struct pool_timing *timing);

/* The thread's clocks, 1.5 us; a delay that cannot be read stays 0. */
void timing_read_before(const struct pool_timing *timing, struct pool_clocks *out);
void timing_read_after(const struct pool_timing *timing, struct pool_clocks *out);

/* What a read of both clocks adds to the CPU time between two of them; the least of several. */
uint64_t timing_read_cost_ns(void);

/*
 * The compare-and-swap failures of one operation: zeroed before it, timing_failed at each failure,
 * timing_retried when its loop is over (it may have several), timing_count_retries at its end.
 * Nothing reads the counter before the first failure.
 */
struct timing_retries {
  uint64_t failures, since, ticks;
};

static inline void timing_failed(struct timing_retries *r) {
  r->failures++;
  if (r->since == 0)
    r->since = span_begin();
}

static inline void timing_retried(struct timing_retries *r) {
  if (__builtin_expect(r->since != 0, 0)) {
    r->ticks += span_end() - r->since;
    r->since = 0;
  }
}

void timing_count_retries(struct pool_counters *counters, const struct timing_retries *r);

/* The search that a gap found due has ended; its retries are not part of it. */
void timing_count_scan(struct pool_counters *counters, uint64_t begin,
                       const struct timing_retries *retries);

#endif
