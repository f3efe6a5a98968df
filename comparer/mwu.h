/*
 * Inside the statistics: the merged order of two samples, one of them shifted.
 *
 * Shared by the U test and by the interval that inverts it; reads sorted arrays, keeps nothing.
 */
#ifndef POOLCMP_MWU_H
#define POOLCMP_MWU_H

#include "comparer/stats_work.h"

/* What the U test needs to know of two samples. */
struct mwu_order {
  uint64_t u2;     /* pairs with x > y, doubled: 2 each, 1 a tie */
  double ties;     /* sum of t^3 - t over groups of equal values */
  size_t groups;   /* distinct values in the pooled sample */
  uint32_t *sizes; /* of these groups, ascending; in scratch, NULL if not asked for */
};

/* Merges sorted x and y. sizes: room for nx + ny groups, or NULL. */
void mwu_merge(const double *x, size_t nx, const double *y, size_t ny, uint32_t *sizes,
               struct mwu_order *out);

/* Standard deviation of U given the ties (Lehmann 1975, 1.4). */
double mwu_sigma(size_t nx, size_t ny, double ties);

#endif
