/* The Mann-Whitney U test: exact while cheap, else normal. See stats.h for the definition of p. */
#include "comparer/mwu.h"
#include "comparer/mwu_null.h"

#include <float.h>
#include <math.h>

/* The merged order of two samples. */
struct order {
  uint64_t u2;     /* pairs with x > y, doubled: 2 each, 1 a tie */
  double ties;     /* sum of t^3 - t over groups of equal values */
  size_t groups;   /* distinct values in the pooled sample */
  uint32_t *sizes; /* of these groups, ascending; in scratch, NULL if not asked for */
};

/* Merges sorted x and y. sizes: room for nx + ny groups, or NULL. */
static void merge(const double *x, size_t nx, const double *y, size_t ny, uint32_t *sizes,
                  struct order *out) {
  uint64_t u2 = 0;
  double ties = 0;
  size_t i = 0, j = 0, groups = 0;
  while (i < nx || j < ny) {
    double v = j == ny || (i < nx && x[i] < y[j]) ? x[i] : y[j];
    size_t i0 = i, j0 = j;
    while (i < nx && x[i] == v)
      i++;
    while (j < ny && y[j] == v)
      j++;
    size_t t = (i - i0) + (j - j0);
    u2 += (i - i0) * (uint64_t)(j0 + j);
    if (t > 1)
      ties += (double)t * ((double)t * (double)t - 1);
    if (sizes)
      sizes[groups] = (uint32_t)t;
    groups++;
  }
  *out = (struct order){.u2 = u2, .ties = ties, .groups = groups, .sizes = sizes};
}

double mwu_sigma(size_t nx, size_t ny, double ties) {
  double n1 = (double)nx, n2 = (double)ny, n = n1 + n2;
  double variance = n1 * n2 / 12 * ((n + 1) - ties / (n * (n - 1)));
  return variance > 0 ? sqrt(variance) : 0;
}

/*
 * |u - mu| is moved half a step towards mu. A p of any arrangement is above 0, but erfc is not
 * beyond z = 38: what would print as missing is kept as the smallest normal number.
 */
static double normal_p(double u, size_t nx, size_t ny, double ties) {
  double off = fabs(u - (double)nx * (double)ny / 2) - 0.5, sigma = mwu_sigma(nx, ny, ties);
  if (off <= 0 || sigma == 0)
    return 1;
  return fmax(DBL_MIN, erfc(off / sigma / M_SQRT2));
}

bool stats_mwu(struct stats_work *w, const double *x, size_t nx, const double *y, size_t ny,
               struct stats_mwu *out) {
  uint32_t *sizes = NULL;
  if (mwu_null_fits(nx, ny, true)) {
    sizes = work_scratch(w, SCRATCH_GROUPS, nx + ny, sizeof *sizes);
    if (!sizes)
      return false;
  }
  struct order order;
  merge(x, nx, y, ny, sizes, &order);
  *out = (struct stats_mwu){.u1 = (double)order.u2 / 2, .p = 1};

  bool tied = order.groups < nx + ny;
  out->all_equal = order.groups == 1;
  out->exact = mwu_null_fits(nx, ny, tied);
  if (nx == 0 || ny == 0 || out->all_equal)
    return true;
  if (!out->exact) {
    out->p = normal_p(out->u1, nx, ny, order.ties);
    return true;
  }
  return tied ? mwu_null_p(w, sizes, order.groups, nx, ny, order.u2, &out->p)
              : mwu_null_untied_p(w, nx, ny, order.u2, &out->p);
}

double stats_mwu_min_p(size_t n1, size_t n2) {
  size_t k = n1 < n2 ? n1 : n2, n = n1 + n2;
  double ways = 1;
  for (size_t i = 1; i <= k && ways < 1e300; i++)
    ways = ways * (double)(n - k + i) / (double)i;
  return fmin(1, 2 / ways);
}
