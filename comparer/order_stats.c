/* Center of a sample and the interval of its median, from order statistics. */
#include "comparer/stats.h"

#include <math.h>

double stats_median(const double *x, size_t n) {
  if (n % 2)
    return x[n / 2];
  /* Rounded as benchstat's interpolation rounds it: CSV prints every digit. */
  double a = x[n / 2 - 1], b = x[n / 2], gap = b - a;
  return isfinite(gap) ? a + 0.5 * gap : a / 2 + b / 2;
}

double stats_mode(const double *x, size_t n) {
  size_t best = 0, best_count = 0;
  for (size_t start = 0, end; start < n; start = end) {
    for (end = start + 1; end < n && x[end] == x[start];)
      end++;
    if (end - start > best_count) {
      best = start;
      best_count = end - start;
    }
  }
  return x[best];
}

/* C(n, i) for i = 0 .. n; exact in doubles for n <= 30. */
static void binomials(size_t n, double *c) {
  c[0] = 1;
  for (size_t i = 1; i <= n; i++)
    c[i] = c[i - 1] * (double)(n - i + 1) / (double)i;
}

/*
 * An interval of order statistics [lo, hi] covers the median when the number of values below it
 * lies in lo .. hi-1. The masses are whole numbers over 2^n, so a tie between the two neighbours
 * is seen as one; it is given to the left, as benchstat's small tables do.
 */
static struct stats_ranks exact_ranks(size_t n, double confidence) {
  double mass[31];
  binomials(n, mass);
  double total = ldexp(1, (int)n);
  size_t lo = (n + 2) / 2 - 1, hi = lo + 1;
  double sum = mass[lo];
  while (sum < confidence * total && (lo > 0 || hi <= n)) {
    double left = lo > 0 ? mass[lo - 1] : -1, right = hi <= n ? mass[hi] : -1;
    if (left >= right) {
      sum += left;
      lo--;
    } else {
      sum += right;
      hi++;
    }
  }
  return (struct stats_ranks){lo, hi};
}

static size_t clamp_rank(double r, size_t n) {
  return r < 0 ? 0 : r > (double)n + 1 ? n + 1 : (size_t)r;
}

static struct stats_ranks normal_ranks(size_t n, double confidence) {
  double mu = (double)n / 2, sigma = sqrt((double)n) / 2;
  double x1 = mu + sigma * stats_normal_quantile((1 - confidence) / 2), x2 = 2 * mu - x1;
  double lo = floor(x1 - 0.5) + 1, hi = ceil(x2 - 0.5) + 1;
  double covered =
      stats_normal_cdf((hi - 1.5 - mu) / sigma) - stats_normal_cdf((lo - 0.5 - mu) / sigma);
  double full =
      stats_normal_cdf((hi - 0.5 - mu) / sigma) - stats_normal_cdf((lo - 0.5 - mu) / sigma);
  if (covered >= confidence && covered < full)
    hi--;
  return (struct stats_ranks){clamp_rank(lo, n), clamp_rank(hi, n)};
}

struct stats_ranks stats_median_ranks(size_t n, double confidence) {
  if (confidence >= 1)
    return (struct stats_ranks){0, n + 1};
  return n <= 30 ? exact_ranks(n, confidence) : normal_ranks(n, confidence);
}

size_t stats_median_min_n(double confidence, size_t limit) {
  for (size_t n = 1; n <= limit; n++) {
    struct stats_ranks r = stats_median_ranks(n, confidence);
    if (r.lo >= 1 && r.hi <= n)
      return n;
  }
  return 0;
}
