/*
 * Series: memory over time, for cases where the question is what stays (CASE_SERIES).
 *
 * The workload marks moments, here they become units of the sample, named PHASE:UNIT (blanks in
 * the phase become dashes). There is no warm-up and no ns/op of the whole: a series runs once and
 * its sample has ops = 1.
 */
#ifndef POOLBENCH_SERIES_H
#define POOLBENCH_SERIES_H

#include "harness/footprint.h"
#include "harness/sample.h"
#include "workloads/workload.h"

#include <stdbool.h>
#include <stdint.h>

#define SERIES_MAX_MARKS 32
#define SERIES_PHASE_SIZE 40

/* What was read at a mark; a copy of the workload's mark with it. */
struct series_point {
  char phase[SERIES_PHASE_SIZE];
  uint64_t time_ns; /* since the series began */
  uint64_t live, blocks, pooled, system, rss;
  bool has_system, has_rss;
  struct series_mark mark; /* its phase is not kept: use the one above */
};

/*
 * Marks are kept here, not in the sample, until the series is over: what malloc gave for them in
 * between would lie above the workload's objects and keep their memory from going back.
 */
struct series {
  const struct strategy *strategy;
  struct pool *pool;
  const struct allocator *allocator;
  uint64_t start_ns; /* CLOCK_MONOTONIC */
  size_t count;
  bool too_many;
  char why_no_system[160];
  struct series_point points[SERIES_MAX_MARKS];
};

/* A series_emit whose context is a struct series. Takes no memory. */
void series_mark_add(void *context, const struct series_mark *mark);

/*
 * Adds the units of every mark to the sample:
 *   time-ns       since the series began
 *   live-B        allocated and not freed, objects held by the strategy included
 *   pooled-B      held by the strategy for later gets
 *   heap-held-B   held by the allocator beyond the live bytes; missing where it does not tell
 *   rss-B         resident set
 *   pinnable-B    what live blocks can keep from going back: a page each
 *   ns/op         busy time of the phase / its ops, where it has ops and their time
 *   stall-ns      the longest that one thread was held up, where the phase has a stall
 *   B/owner       live bytes / owners, where owners exist
 * A phase that was marked twice, or too many of them, is an error of the sample. false: no memory.
 */
bool series_fill(const struct series *s, struct sample *sample);

#endif
