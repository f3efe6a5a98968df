/*
 * The lower bound of an interval by inverting a rank test whose steps lie at the sums of a sumset.
 *
 * Shared by the Hodges-Lehmann intervals of two samples and of pairs; knows neither test.
 */
#ifndef POOLCMP_INVERSION_H
#define POOLCMP_INVERSION_H

#include "comparer/sumset.h"

/* p of the test a little above this sum; false when out of memory. */
typedef bool inversion_p(const void *test, double sum, double *p);

/*
 * The rank of the sum above which a test accepts first, if it rejects while at most k sums lie
 * below; never above the middle one, 0 for k < 0.
 */
size_t inversion_rank(const struct sumset *s, double k);

/*
 * The smallest sum above which the test accepts (p > alpha), searched from the one of rank `guess`
 * outwards and never above `middle`, the lower of the middle sums: where lumps of equal sums leave
 * nothing beside them that the test accepts, the estimate itself remains.
 */
bool inversion_lower(const struct sumset *s, size_t guess, double middle, double alpha,
                     inversion_p *p_above, const void *test, double *bound);

#endif
