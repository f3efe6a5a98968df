/*
 * The statistics of benchmark comparison, on plain arrays.
 *
 * Sources: DESIGN of intervals and tests follows docs/statistics.md, which names the papers.
 * Nothing here reads files, prints or knows units. Unless said otherwise arrays are sorted
 * ascending, finite, and not modified. Functions that need memory take it from the workspace and
 * return false when out of memory.
 */
#ifndef POOLCMP_STATS_H
#define POOLCMP_STATS_H

#include <stdbool.h>
#include <stddef.h>

/* Null distributions already computed, by (n1, n2) and ties, and scratch memory. One a thread. */
struct stats_work;
struct stats_work *stats_work_new(void);
void stats_work_free(struct stats_work *w);

/* Median of a sorted array: the mean of the middle two for even n (n >= 1). */
double stats_median(const double *x, size_t n);

/* The most frequent value, the first of the sorted ones on a tie. */
double stats_mode(const double *x, size_t n);

/*
 * Confidence interval of the median by order statistics: binomial(n, 1/2) masses grown from the
 * middle (n <= 30), a normal approximation beyond. lo and hi are 1-based ranks; lo = 0 or
 * hi = n + 1 stands for an infinite bound. confidence >= 1 is always infinite.
 */
struct stats_ranks {
  size_t lo, hi;
};
struct stats_ranks stats_median_ranks(size_t n, double confidence);

/* The smallest n with a finite interval at this confidence; 0 when above `limit`. */
size_t stats_median_min_n(double confidence, size_t limit);

/*
 * Mann-Whitney U, two-sided: p = P(|U - mu| >= |u - mu|) over the permutation distribution given
 * the ties, never above 1, the same for (x, y) and (y, x). Exact for n1, n2 <= 50 without ties and
 * <= 25 with ties, and for larger ones against a side of at most 10 (to 1000 samples without ties,
 * 64 together with); else normal with tie and continuity correction, never 0.
 * u1 counts pairs with x > y, ties half.
 */
struct stats_mwu {
  double u1, p;
  bool exact;
  bool all_equal; /* p = 1: every pooled value is the same */
};
bool stats_mwu(struct stats_work *w, const double *x, size_t nx, const double *y, size_t ny,
               struct stats_mwu *out);

/* The smallest two-sided p that n1 and n2 samples can give without ties: 2 / C(n1+n2, n1). */
double stats_mwu_min_p(size_t n1, size_t n2);

/* An estimate with its interval; bounds are +-INFINITY when the samples cannot bound it. */
struct stats_estimate {
  double center, lo, hi;
};

/*
 * Hodges-Lehmann shift y - x and its interval by inverting the exact U distribution given the
 * ties (Lehmann 1975; Hollander and Wolfe 4.3). stats_shift works on values; stats_ratio on logs,
 * so center is the median of all ny*nx ratios y/x, every value must be above 0, and an unbounded
 * interval is 0 .. INFINITY. Where ties within a sample leave nothing that the test accepts, the
 * interval still holds the median difference.
 */
bool stats_shift(struct stats_work *w, const double *x, size_t nx, const double *y, size_t ny,
                 double confidence, struct stats_estimate *out);
bool stats_ratio(struct stats_work *w, const double *x, size_t nx, const double *y, size_t ny,
                 double confidence, struct stats_estimate *out);

/*
 * Wilcoxon signed-rank on paired differences d (any order): zeros as Pratt does, ties by the
 * conditional distribution, exact while cheap. The interval inverts the same test; below 6 pairs
 * at 0.95 it is unbounded.
 */
struct stats_signed_rank {
  double w_plus, p;
  bool exact;
};
bool stats_signed_rank(struct stats_work *w, const double *d, size_t n,
                       struct stats_signed_rank *out);
bool stats_signed_rank_interval(struct stats_work *w, const double *d, size_t n, double confidence,
                                struct stats_estimate *out);
double stats_signed_rank_min_p(size_t n);

/*
 * Adjusts n p-values (any order, none NAN) for a family of `family` >= n rows. out may be p.
 * false when out of memory.
 */
bool stats_holm(const double *p, size_t n, size_t family, double *out);
bool stats_benjamini_hochberg(const double *p, size_t n, size_t family, double *out);

/*
 * The smallest relative effect (as a difference of logs) that n1 + n2 samples with pooled
 * standard deviation of logs `s` show with 80 % power at alpha:
 * (z(1-alpha/2) + z(0.8)) s sqrt(1.047 (1/n1 + 1/n2)); paired: s_d sqrt(1.047 / n).
 */
double stats_smallest_effect(double s, size_t n1, size_t n2, double alpha);
double stats_smallest_effect_paired(double s_d, size_t n, double alpha);

/* Samples a side (pairs) needed to show `effect` (log) under the same; 0 = more than 1000. */
size_t stats_samples_needed(double s, double effect, double alpha);
size_t stats_pairs_needed(double s_d, double effect, double alpha);

double stats_normal_quantile(double p);
double stats_normal_cdf(double z);

#endif
