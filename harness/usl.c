/* Fit of the Universal Scalability Law; see usl.h. */
#include "harness/usl.h"

#include <math.h>

enum { TERMS = 3 }; /* 1, N - 1, N (N - 1) */

static double term(double threads, int which) {
  return which == 0 ? 1 : which == 1 ? threads - 1 : threads * (threads - 1);
}

static double dot(const struct usl_point *points, size_t n, int a, int b) {
  double sum = 0;
  for (size_t i = 0; i < n; i++)
    sum += points[i].weight * term(points[i].threads, a) *
           (b < TERMS ? term(points[i].threads, b) : points[i].y);
  return sum;
}

/*
 * Solves the normal equations of the chosen terms; the others are 0. Each term is scaled to unit
 * length first, which keeps the condition in hand where N (N - 1) reaches 10^6 beside a 1. false
 * when the terms are not independent on these points.
 */
static bool solve(const struct usl_point *points, size_t n, const bool chosen[TERMS],
                  double x[TERMS]) {
  double m[TERMS][TERMS + 1], scale[TERMS];
  for (int i = 0; i < TERMS; i++) {
    x[i] = 0;
    scale[i] = chosen[i] ? sqrt(dot(points, n, i, i)) : 1;
    if (!(scale[i] > 0))
      return false;
  }
  for (int i = 0; i < TERMS; i++)
    for (int j = 0; j <= TERMS; j++) {
      bool in = chosen[i] && (j == TERMS || chosen[j]);
      m[i][j] = in ? dot(points, n, i, j) / scale[i] / (j < TERMS ? scale[j] : 1) : i == j;
    }
  /* Gauss without pivots: the matrix is symmetric and positive, its diagonal is 1. */
  for (int k = 0; k < TERMS; k++) {
    if (m[k][k] < 1e-10)
      return false;
    for (int i = k + 1; i < TERMS; i++) {
      double f = m[i][k] / m[k][k];
      for (int j = k; j <= TERMS; j++)
        m[i][j] -= f * m[k][j];
    }
  }
  for (int k = TERMS - 1; k >= 0; k--) {
    double rest = chosen[k] ? m[k][TERMS] : 0;
    for (int j = k + 1; j < TERMS; j++)
      rest -= m[k][j] * x[j];
    x[k] = rest / m[k][k];
  }
  for (int k = 0; k < TERMS; k++)
    x[k] = chosen[k] ? x[k] / scale[k] : 0;
  return true;
}

static double squares(const struct usl_point *points, size_t n, const double x[TERMS]) {
  double sum = 0;
  for (size_t i = 0; i < n; i++) {
    double d = points[i].y;
    for (int k = 0; k < TERMS; k++)
      d -= x[k] * term(points[i].threads, k);
    sum += points[i].weight * d * d;
  }
  return sum;
}

static size_t different_counts(const struct usl_point *points, size_t n) {
  size_t different = 0;
  for (size_t i = 0; i < n; i++) {
    size_t j = 0;
    while (j < i && points[j].threads != points[i].threads)
      j++;
    different += j == i;
  }
  return different;
}

bool usl_fit(const struct usl_point *points, size_t n, struct usl *out) {
  double best = INFINITY;
  if (different_counts(points, n) < TERMS)
    return false;
  /* From the full fit to lambda alone: on a tie the one with fewer constraints stays. */
  for (int held = 0; held < 4; held++) {
    bool chosen[TERMS] = {true, !(held & 1), !(held & 2)};
    double x[TERMS];
    if (!solve(points, n, chosen, x) || !(x[0] > 0) || x[1] < 0 || x[2] < 0)
      continue;
    double left = squares(points, n, x);
    if (left >= best)
      continue;
    best = left;
    *out = (struct usl){.lambda = 1 / x[0], .sigma = x[1] / x[0], .kappa = x[2] / x[0]};
  }
  return isfinite(best);
}

double usl_rate(const struct usl *u, double n) {
  return u->lambda * n / (1 + u->sigma * (n - 1) + u->kappa * n * (n - 1));
}

double usl_peak(const struct usl *u) {
  if (u->kappa <= 0)
    return INFINITY;
  return u->sigma >= 1 ? 1 : fmax(1, sqrt((1 - u->sigma) / u->kappa));
}

double usl_misfit(const struct usl *u, const struct usl_point *points, size_t n) {
  double worst = 0;
  for (size_t i = 0; i < n; i++) {
    double fitted = points[i].threads / usl_rate(u, points[i].threads);
    worst = fmax(worst, fabs(points[i].y / fitted - 1));
  }
  return worst;
}

void usl_weights(struct usl_point *points, const double *log_variances, const size_t *ns,
                 size_t n) {
  const double floor_variance = 1e-6;
  double sum = 0, freedom = 0;
  for (size_t i = 0; i < n; i++)
    if (ns[i] > 1) {
      sum += (double)(ns[i] - 1) * log_variances[i];
      freedom += (double)(ns[i] - 1);
    }
  double pooled = freedom > 0 ? sum / freedom : 0;
  for (size_t i = 0; i < n; i++) {
    double own = ns[i] > 1 ? (double)(ns[i] - 1) : 0;
    double v = (USL_PRIOR * pooled + (own > 0 ? own * log_variances[i] : 0)) / (USL_PRIOR + own);
    v = fmax(v, floor_variance);
    points[i].weight = (double)ns[i] / (v * points[i].y * points[i].y);
  }
}
