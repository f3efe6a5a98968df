/*
 * The exact permutation distribution of the Mann-Whitney U, with and without ties.
 *
 * Counts arrangements in whole numbers; knows nothing of values. U is passed doubled, so that a
 * tied pair counts 1 and no half appears.
 */
#ifndef POOLCMP_MWU_NULL_H
#define POOLCMP_MWU_NULL_H

#include "comparer/stats_work.h"

/* Whether the counts fit their integers and the work is small enough to be done for every row. */
bool mwu_null_fits(size_t n1, size_t n2, bool tied);

/* P(U <= u) without ties, for u = 0 .. n1 n2 / 2, cached in w. NULL when out of memory. */
const double *mwu_null_cdf(struct stats_work *w, size_t n1, size_t n2);

/*
 * Two-sided p = P(|U - mu| >= |u - mu|) given the pooled sample's tie groups, sizes in ascending
 * order of value; they add up to n1 + n2. u2 is the doubled U of the n1 samples.
 */
bool mwu_null_p(struct stats_work *w, const uint32_t *groups, size_t ngroups, size_t n1, size_t n2,
                uint64_t u2, double *p);

/* The same without ties. */
bool mwu_null_untied_p(struct stats_work *w, size_t n1, size_t n2, uint64_t u2, double *p);

#endif
