/*
 * What stayed of a burst: one series (CASE_SERIES) boiled down to the figures that its reader
 * asks for. Reads a run's medians by the phases' names (workloads/workload.h); prints nothing.
 */
#ifndef POOLBENCH_KEPT_H
#define POOLBENCH_KEPT_H

#include "harness/rundata.h"

/* Moments of a series in their order. */
enum kept_stage { KEPT_PEAK, KEPT_AFTER_BURST, KEPT_TRIM_1, KEPT_TRIM_2, KEPT_IDLE, KEPT_STAGES };

/* Bytes and ns; NAN for what the series does not have. */
struct kept {
  double live[KEPT_STAGES]; /* by the program's books, pooled objects included */
  double rss_peak, rss_idle;
  double share; /* (RSS idle - start) / (RSS peak - start), in % */

  /*
   * The RSS that stays over the start's, by cause. `fragmented`: bytes beside live blocks, at most
   * a page for each of those and no more than what did not go back when the allocator was asked
   * to give back its caches. `cache`: the rest, which no live block needs.
   */
  double stays, in_use, pooled, cache, fragmented;

  double per_owner;                     /* live bytes / owners when idle */
  double trickle_before, trickle_after; /* ns an update, before and after the trims */
  double stall;                         /* the longest of all trims, ns */
};

/* false when the cell is no series. */
bool kept_of(const struct rundata *d, const struct rundata_cell *c, struct kept *out);

#endif
