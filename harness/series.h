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

/*
 * The units of a mark:
 *   time-ns       since the series began
 *   live-B        allocated and not freed, objects held by the strategy included
 *   pooled-B      held by the strategy for later gets
 *   heap-held-B   held by the allocator beyond the live bytes; missing where it does not tell
 *   rss-B         resident set
 *   ns/op         busy time of the phase / its ops, where it has ops
 *   stall-ns      the longest that one thread was held up, where the phase has a stall
 *   B/owner       live bytes / owners, where owners exist
 */
struct series {
  struct sample *sample;
  const struct strategy *strategy;
  struct pool *pool;
  const struct allocator *allocator;
  uint64_t start_ns; /* CLOCK_MONOTONIC */
  bool failed;       /* out of memory, or the same phase twice; sample->error says which */
};

/* A series_emit whose context is a struct series. */
void series_mark_add(void *context, const struct series_mark *mark);

#endif
