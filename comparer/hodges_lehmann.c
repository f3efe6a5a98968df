/*
 * Hodges-Lehmann shift and ratio of two samples, the interval by inverting the U test.
 *
 * Just above a difference d of the two samples, y - d and x have no value in common: the test
 * there knows only the ties within each side. The lower bound is the smallest difference above
 * which the test accepts. The upper one is the lower one of the exchanged samples, negated.
 */
#include "comparer/inversion.h"
#include "comparer/mwu.h"
#include "comparer/mwu_null.h"

#include <math.h>

/* One side of the inversion: x stays, y is shifted down. */
struct inversion {
  struct stats_work *w;
  const double *x, *y;
  size_t nx, ny;
  struct sumset differences; /* y - x */
  double alpha;
  double middle; /* the median difference, the lower of the two for an even number */
  double ties;   /* sum of t^3 - t over equal values within x and within y */
};

/* Adds t^3 - t of every group of equal values. */
static double tie_sum(const double *x, size_t n) {
  double sum = 0;
  for (size_t start = 0, end; start < n; start = end) {
    for (end = start + 1; end < n && x[end] == x[start];)
      end++;
    double t = (double)(end - start);
    sum += t * (t * t - 1);
  }
  return sum;
}

/*
 * p of x against y shifted down by a little more than d: y ranks below x where y - x <= d. The
 * differences are rounded as in the sumset, so that d is recognised in them.
 */
static bool p_above(const void *test, double d, double *p) {
  const struct inversion *v = test;
  uint32_t *sizes = work_scratch(v->w, SCRATCH_GROUPS, v->nx + v->ny, sizeof *sizes);
  if (!sizes)
    return false;
  size_t groups = 0, i = 0, j = 0;
  uint64_t u2 = 0;
  while (i < v->nx || j < v->ny) {
    size_t i0 = i, j0 = j;
    if (i == v->nx || (j < v->ny && v->y[j] + -v->x[i] <= d)) {
      while (j < v->ny && v->y[j] == v->y[j0])
        j++;
    } else {
      while (i < v->nx && v->x[i] == v->x[i0])
        i++;
      u2 += 2 * (uint64_t)(i - i0) * j;
    }
    sizes[groups++] = (uint32_t)((i - i0) + (j - j0));
  }
  return mwu_null_p(v->w, sizes, groups, v->nx, v->ny, u2, p);
}

/* The largest number of differences that may lie below the shift while the test still rejects. */
static double rejected_normal(const struct inversion *v) {
  double mu = (double)v->nx * (double)v->ny / 2;
  double z = -stats_normal_quantile(v->alpha / 2);
  return floor(mu - 0.5 - z * mwu_sigma(v->nx, v->ny, v->ties));
}

static bool rejected_exact(const struct inversion *v, double *k) {
  const double *cdf = mwu_null_cdf(v->w, v->nx, v->ny);
  if (!cdf)
    return false;
  size_t lo = 0, hi = v->nx * v->ny / 2 + 1; /* cdf[u] <= alpha / 2 for u < lo, not for u >= hi */
  while (lo < hi) {
    size_t mid = (lo + hi) / 2;
    if (2 * cdf[mid] <= v->alpha)
      lo = mid + 1;
    else
      hi = mid;
  }
  *k = (double)lo - 1;
  return true;
}

/*
 * With ties within a side the null distribution depends on where they fall: the test is made anew
 * beside each candidate, from the normal guess outwards, two or three times as a rule.
 */
static bool lower_bound(const struct inversion *v, double *bound) {
  const struct sumset *s = &v->differences;
  bool tied = v->ties > 0, exact = mwu_null_fits(v->nx, v->ny, tied);
  double k;
  if (!exact || tied)
    k = rejected_normal(v);
  else if (!rejected_exact(v, &k))
    return false;
  size_t rank = inversion_rank(s, k);
  if (exact && tied)
    return inversion_lower(s, rank ? rank : 1, v->middle, v->alpha, p_above, v, bound);
  *bound = rank ? sumset_select(s, rank) : -INFINITY;
  return true;
}

static void negate_reversed(const double *x, size_t n, double *out) {
  for (size_t i = 0; i < n; i++)
    out[i] = -x[n - 1 - i];
}

bool stats_shift(struct stats_work *w, const double *x, size_t nx, const double *y, size_t ny,
                 double confidence, struct stats_estimate *out) {
  double *neg_x = work_scratch(w, SCRATCH_NEG_X, nx, sizeof *neg_x);
  double *neg_y = work_scratch(w, SCRATCH_NEG_Y, ny, sizeof *neg_y);
  if (!neg_x || !neg_y)
    return false;
  negate_reversed(x, nx, neg_x);
  negate_reversed(y, ny, neg_y);

  struct inversion v = {.w = w, .x = x, .nx = nx, .y = y, .ny = ny};
  v.differences = (struct sumset){.a = y, .na = ny, .b = neg_x, .nb = nx};
  v.alpha = work_alpha(confidence);
  v.ties = tie_sum(x, nx) + tie_sum(y, ny);

  double middle, above;
  sumset_middle(&v.differences, &middle, &above);
  *out = (struct stats_estimate){stats_median((double[]){middle, above}, 2), -INFINITY, INFINITY};
  v.middle = middle;
  if (stats_mwu_min_p(nx, ny) > v.alpha)
    return true;
  if (!lower_bound(&v, &out->lo))
    return false;

  struct inversion u = v;
  u.x = y, u.nx = ny, u.y = x, u.ny = nx;
  u.middle = -above;
  u.differences = (struct sumset){.a = x, .na = nx, .b = neg_y, .nb = ny};
  if (!lower_bound(&u, &out->hi))
    return false;
  out->hi = -out->hi;
  return true;
}

static double *logs(struct stats_work *w, enum scratch kind, const double *x, size_t n) {
  double *log_x = work_scratch(w, kind, n, sizeof *log_x);
  for (size_t i = 0; log_x && i < n; i++)
    log_x[i] = log(x[i]);
  return log_x;
}

bool stats_ratio(struct stats_work *w, const double *x, size_t nx, const double *y, size_t ny,
                 double confidence, struct stats_estimate *out) {
  const double *log_x = logs(w, SCRATCH_LOG_X, x, nx), *log_y = logs(w, SCRATCH_LOG_Y, y, ny);
  if (!log_x || !log_y || !stats_shift(w, log_x, nx, log_y, ny, confidence, out))
    return false;
  *out = (struct stats_estimate){exp(out->center), exp(out->lo), exp(out->hi)};
  return true;
}
