/*
 * The time budget of a measured part: at every instant each thread is in exactly one state.
 *
 * threads x elapsed is split into these states; what none of them claims is the remainder. The
 * readings come from different clocks, so that the remainder is a check and not a definition:
 *
 *     tail        after a thread's last op, until the last op of all: wall clock
 *     run queue   runnable, not running: the kernel's schedstat, whatever it interrupted
 *     heap        CPU in the allocator: a sample of calls (harness/span.h), scaled up; calls of
 *                 more than 5 us count when they are one in 1000 or more and not a single one
 *                 among shorter ones, else they were interrupted
 *     CAS retry   from the first failed compare-and-swap to the end of its loop: spans, all of them
 *     scan        searching other shards: a sample of spans, scaled up
 *     lock CPU    waits for the strategy's locks, spinning or on the way to sleep: long ones
 *                 (50 us) by the clocks around each, short ones by their wall time times the share
 *                 of CPU time in those that were split; and releasing locks, where waking a waiter
 *                 is a system call: a sample of spans, scaled up
 *     lock sleep  the share of these waits that was neither CPU nor run queue
 *     work        what is left of the thread CPU clock
 *     sleep       what is left of the time off the CPU, of threads that did give it up
 *     remainder   the rest: stolen time, interrupts, errors of all the above (may be negative)
 *
 * Spans that the scheduler interrupted are not counted; so heap, CAS and scan are CPU time, and
 * sleep inside the allocator is in `sleep`. No clock and no thread here: only arithmetic.
 */
#ifndef POOLBENCH_BUDGET_H
#define POOLBENCH_BUDGET_H

#include "harness/heap.h"
#include "harness/osstat.h"
#include "harness/sample.h"
#include "strategies/strategy.h"

enum budget_state {
  BUDGET_WORK,
  BUDGET_HEAP,
  BUDGET_SPIN,
  BUDGET_LOCKED,
  BUDGET_CAS,
  BUDGET_SCAN,
  BUDGET_RUNQUEUE,
  BUDGET_SLEEP,
  BUDGET_TAIL,
  BUDGET_REMAINDER,
  BUDGET_STATES
};

/* The unit of each state, of the sum over the threads; the run queue's is older than the others. */
extern const enum unit_id budget_units[BUDGET_STATES];

/* Lines below a state, not states of their own. */
enum budget_part {
  BUDGET_HANDOFF,    /* of the lock waits: from the last release to the next owner running */
  BUDGET_FAULTS,     /* of heap or work: page faults at their calibrated price */
  BUDGET_HEAP_ERROR, /* of heap: the error of one span times the calls */
  BUDGET_PARTS
};

/* One measuring thread. */
struct thread_reading {
  int cpu;                               /* -1: unbound */
  uint64_t span_ns;                      /* from the release to the end of its last op */
  struct os_usage start, end;            /* read by itself before its first and after its last op */
  uint64_t delay_start_ns, delay_end_ns; /* run-queue delay, before the release and at its end */
  bool has_delay;
};

/* What was calibrated in this process before it measured. */
struct budget_prices {
  bool timed;           /* false: the states were switched off */
  double span_error_ns; /* of one span */
  double clock_read_ns; /* CPU time that reading the clocks adds to a split wait */
  double fault_ns;      /* a minor page fault */
};

struct budget_readings {
  uint64_t elapsed_ns;
  unsigned threads;
  const struct thread_reading *thread;
  const struct heap_counts *heap_start, *heap_end;
  const struct pool_stats *pool_start, *pool_end;
  const struct budget_prices *prices;
};

struct budget {
  double state[BUDGET_STATES], part[BUDGET_PARTS]; /* ns, sums over the threads */
  const char *why;                                 /* when there is none */
};

/* false with why: the states were off, or the kernel does not say how long threads were delayed. */
bool budget_make(const struct budget_readings *r, struct budget *out);

/* Price of a minor page fault on fresh memory, in ns; 0 when none can be had. About 0.1 ms. */
double budget_fault_price(void);

#endif
