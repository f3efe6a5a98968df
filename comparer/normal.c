/* The normal distribution, right in its far tails. */
#include "comparer/stats.h"

#include <math.h>

double stats_normal_cdf(double z) {
  return 0.5 * erfc(-z / M_SQRT2);
}

/*
 * Start from Abramowitz and Stegun 26.2.23 (error below 4.5e-4), then Halley's method on the tail
 * probability, which triples the correct digits a step.
 */
double stats_normal_quantile(double p) {
  if (!(p >= 0 && p <= 1))
    return NAN;
  double tail = p < 0.5 ? p : 1 - p;
  if (tail == 0)
    return p < 0.5 ? -INFINITY : INFINITY;
  double t = sqrt(-2 * log(tail));
  double z = t - (2.515517 + t * (0.802853 + t * 0.010328)) /
                     (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
  for (int step = 0; step < 3; step++) {
    double density = exp(-z * z / 2) / sqrt(2 * M_PI);
    if (density == 0)
      break;
    double newton = (0.5 * erfc(z / M_SQRT2) - tail) / density;
    z += newton / (1 - newton * z / 2);
  }
  return p < 0.5 ? -z : z;
}
