/*
 * What a number of samples can show. 1.047 = pi / 3: the price of ranks against means where the
 * data are normal (Hollander and Wolfe, 4.5), as the variance of U and of W+ gives it. s is a
 * standard deviation of logs, so an effect is a log ratio.
 */
#include "comparer/stats.h"

#include <math.h>

enum { NEVER = 1000 }; /* nobody takes more samples than that to decide one row */

static double z_power(double alpha) {
  return stats_normal_quantile(1 - alpha / 2) + stats_normal_quantile(0.8);
}

double stats_smallest_effect(double s, size_t n1, size_t n2, double alpha) {
  return z_power(alpha) * s * sqrt(1.047 * (1 / (double)n1 + 1 / (double)n2));
}

double stats_smallest_effect_paired(double s_d, size_t n, double alpha) {
  return z_power(alpha) * s_d * sqrt(1.047 / (double)n);
}

/* n from (z s)^2 * factor / effect^2, at least 2: one sample has no spread. */
static size_t needed(double s, double effect, double alpha, double factor) {
  double z = z_power(alpha), n = ceil(factor * z * z * s * s / (effect * effect) - 1e-9);
  if (!(n <= NEVER))
    return 0;
  return n < 2 ? 2 : (size_t)n;
}

size_t stats_samples_needed(double s, double effect, double alpha) {
  return needed(s, effect, alpha, 2 * 1.047);
}

size_t stats_pairs_needed(double s_d, double effect, double alpha) {
  return needed(s_d, effect, alpha, 1.047);
}
