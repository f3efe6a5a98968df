/*
 * The Universal Scalability Law: throughput against threads from three figures.
 *
 *     X(N) = lambda N / (1 + sigma (N - 1) + kappa N (N - 1))
 *
 * lambda is the rate of one thread, sigma the share that is serial (contention), kappa the price
 * of keeping every pair of threads coherent. Source: Gunther, Guerrilla Capacity Planning
 * (Springer 2007), chapters 4 to 6; kappa = 0 is Amdahl's law. Only arithmetic: no files, no text.
 *
 * The fit works on y = N / X, thread time per op in ns, because that is linear:
 *
 *     y(N) = 1/lambda + (sigma/lambda) (N - 1) + (kappa/lambda) N (N - 1)
 *
 * so that least squares need no start value and have one optimum, also under sigma, kappa >= 0.
 */
#ifndef POOLBENCH_USL_H
#define POOLBENCH_USL_H

#include <stdbool.h>
#include <stddef.h>

/* Fewest different thread counts for a fit: three parameters, and one point to contradict them. */
#define USL_MIN_COUNTS 4

struct usl {
  double lambda;       /* ops/ns of one thread, above 0 */
  double sigma, kappa; /* not below 0 */
};

/* One thread count: y is N / X in ns, weight the inverse of y's variance up to a factor. */
struct usl_point {
  double threads, y, weight;
};

/*
 * Weighted least squares under sigma, kappa >= 0: the best of the fits with none, either or both
 * held at 0, which for two constraints is the exact optimum. false when fewer than three different
 * thread counts are there, or when no fit has a lambda above 0.
 */
bool usl_fit(const struct usl_point *points, size_t n, struct usl *out);

/* ops/ns at n threads. */
double usl_rate(const struct usl *u, double n);

/*
 * The thread count of most throughput, sqrt((1 - sigma) / kappa), at least 1; INFINITY when kappa
 * is 0 (throughput then only levels off, at lambda / sigma).
 */
double usl_peak(const struct usl *u);

/* The largest |y / fit - 1| over the points: what the law does not explain. */
double usl_misfit(const struct usl *u, const struct usl_point *points, size_t n);

/*
 * Inverse variances of medians from few samples each: the variance of logs within each group of
 * ns[i] values, drawn towards the one pooled over all groups with the weight of `USL_PRIOR` degrees
 * of freedom (four samples alone would give weights that differ tenfold by chance), and never below
 * (0.1 %)^2, or constant samples would outweigh everything. log_variances: of each group, unbiased,
 * any value where ns[i] is 1. Fills weight of each point from its y.
 */
#define USL_PRIOR 4.0
void usl_weights(struct usl_point *points, const double *log_variances, const size_t *ns, size_t n);

#endif
