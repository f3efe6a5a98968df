/*
 * Inside the statistics: the workspace's scratch memory and cached null distributions.
 *
 * Owned by comparer's statistics alone; callers see the opaque struct of stats.h. A workspace is
 * used by one thread at a time.
 */
#ifndef POOLCMP_STATS_WORK_H
#define POOLCMP_STATS_WORK_H

#include "comparer/stats.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One growing buffer for each use, so that a function may hold several at a time. */
enum scratch {
  SCRATCH_LOG_X, /* logs of the two samples, for ratios */
  SCRATCH_LOG_Y,
  SCRATCH_NEG_X, /* the samples negated and reversed, as the other half of a sumset */
  SCRATCH_NEG_Y,
  SCRATCH_GROUPS,     /* sizes of the tie groups of a pooled sample */
  SCRATCH_LOWER_ROWS, /* counts of the halves of the pooled ranks: row starts, then the rows */
  SCRATCH_LOWER,
  SCRATCH_UPPER_ROWS,
  SCRATCH_UPPER,
  SCRATCH_COUNTS, /* counts of a null distribution being built */
  SCRATCH_RANKS,  /* doubled ranks of the non-zero differences */
  SCRATCH_SORTED, /* sorted copy of paired differences */
  SCRATCH_PAIRS,  /* analysis: samples by (run, round) */
  SCRATCH_RATIOS, /* analysis: differences of the complete pairs */
  SCRATCH_RUNS,   /* analysis: run numbers of one side */
  SCRATCH_KINDS
};

enum {
  CDF_SLOTS = 1024,          /* direct mapped by (n1, n2) */
  CDF_BUDGET = 8 << 20,      /* bytes of cached distributions before they are dropped */
  SIGNED_RANK_EXACT_MAX = 64 /* differences; beyond, the normal approximation is used */
};

/* P(U <= u) for u = 0 .. n1 n2 / 2; the other half follows by symmetry. */
struct mwu_cdf {
  size_t n1, n2; /* n1 <= n2; n1 = 0 marks a free slot */
  double *p;
};

struct stats_work {
  struct {
    void *memory;
    size_t size;
  } scratch[SCRATCH_KINDS];
  struct mwu_cdf cdf[CDF_SLOTS];
  size_t cdf_bytes;
  double *signed_rank_cdf[SIGNED_RANK_EXACT_MAX + 1]; /* P(W <= w), w = 0 .. n(n+1)/4 */
};

/*
 * At least n * size bytes, aligned for any type, contents undefined; NULL when out of memory.
 * Asking for the same kind again invalidates what was handed out before.
 */
void *work_scratch(struct stats_work *w, enum scratch kind, size_t n, size_t size);

/* alpha of an interval. Slack: 1 - 0.9 lies below 0.1, yet a test whose p is 0.1 rejects there. */
static inline double work_alpha(double confidence) {
  return (1 - confidence) * (1 + 1e-12);
}

#endif
