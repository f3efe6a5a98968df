/*
 * The bootstrap over rounds: whole rounds are drawn again and again, and what is computed from
 * medians of cells is computed from the drawn rounds' medians each time.
 *
 * Rounds, not samples, because the samples of one round share the machine's mood. A sweep has
 * fewer rounds than the headline, so rounds are drawn within strata: those that hold samples of
 * the same cells. Of a stratum of m rounds m - 1 are drawn, with replacement: plain bootstrapping
 * of m makes variances too small by (m - 1) / m, a quarter for four rounds (McCarthy and Snowden,
 * Vital and Health Statistics 2-95, 1985). Percentiles: Efron and Tibshirani, An Introduction to
 * the Bootstrap (1993), chapter 13. Draws depend on the seed alone.
 */
#ifndef POOLBENCH_BOOTSTRAP_H
#define POOLBENCH_BOOTSTRAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BOOTSTRAP_CELLS 64

struct bootstrap;

/*
 * cells (at most BOOTSTRAP_CELLS) with ns[i] samples; rounds[i][k] is the round of the k-th sample
 * of cell i, in the order that the values will be given in. Both are copied. Samples without a
 * round (0) count as a round each. NULL without memory.
 */
struct bootstrap *bootstrap_new(size_t cells, const size_t *ns, const uint64_t *const *rounds,
                                uint64_t seed);
void bootstrap_free(struct bootstrap *b);

/* The fewest rounds that a stratum has: below 2 nothing varies, and no interval can be had. */
size_t bootstrap_fewest(const struct bootstrap *b);

/* Draws rounds anew. */
void bootstrap_draw(struct bootstrap *b);

/* The median of a cell's values (as many as it has samples) over the rounds drawn. */
double bootstrap_median(struct bootstrap *b, size_t cell, const double *values);

/*
 * The interval that leaves (1 - confidence) / 2 of n drawn values (sorted by this function) on
 * either side; infinite values are values like others.
 */
struct bootstrap_interval {
  double low, high;
};
struct bootstrap_interval bootstrap_interval(double *drawn, size_t n, double confidence);

#endif
