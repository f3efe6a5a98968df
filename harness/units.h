/*
 * From readings at the edges of a measured part to the units of a sample.
 *
 * No clock, no system call, no thread: what is read where is the worker's business (worker.c),
 * what it means is here, so that every formula can be checked by hand.
 */
#ifndef POOLBENCH_UNITS_H
#define POOLBENCH_UNITS_H

#include "harness/budget.h"
#include "harness/heap.h"
#include "harness/histogram.h"
#include "harness/lines.h"
#include "harness/sample.h"
#include "strategies/strategy.h"

#include <stdbool.h>
#include <stdint.h>

struct measurement {
  uint64_t ops, elapsed_ns; /* release to the end of the last op */
  unsigned threads, cpus;   /* CPUs that the threads can use at once */
  const struct thread_reading *thread;
  uint64_t process_cpu_ns; /* CPU time of all threads meanwhile, the harness's and the workload's
                              own too */
  struct heap_counts heap_start, heap_end;
  struct pool_stats pool_start, pool_end;
  uint64_t live_peak;              /* bytes */
  const struct histogram *latency; /* ns of the ops that were timed; NULL: none was to be */
  struct pool_held held;
  bool has_system_bytes, has_rss, has_throttled;
  uint64_t system_bytes, rss_peak, throttled;
  char why_no_system_bytes[160];
  struct budget_prices prices;
};

/*
 * Adds every unit of UNITS (but host-speed-%, which needs the whole run, and shared-lines-%, which
 * needs a pass of its own) and of POOL_COUNTERS, as a value or as missing, and the flags that
 * follow from them. False when out of memory.
 */
bool units_fill(const struct measurement *m, struct sample *s);

/*
 * Adds shared-lines-% and, where there are several kinds, KIND:shared-lines-% of those that were
 * got. False when out of memory.
 */
bool units_fill_lines(const struct lines_result *lines, const struct kind *kinds, size_t kind_count,
                      struct sample *s);

#endif
