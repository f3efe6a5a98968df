/* Adjusted p-values for a family of tests: Holm (1979), Benjamini and Hochberg (1995). */
#include "comparer/stats.h"

#include <math.h>
#include <stdlib.h>

struct ranked_p {
  double p;
  size_t row;
};

static int ascending(const void *a, const void *b) {
  const struct ranked_p *x = a, *y = b;
  if (x->p != y->p)
    return x->p < y->p ? -1 : 1;
  return (x->row > y->row) - (x->row < y->row);
}

static struct ranked_p *rank_all(const double *p, size_t n) {
  struct ranked_p *r = malloc((n ? n : 1) * sizeof *r);
  if (!r)
    return NULL;
  for (size_t i = 0; i < n; i++)
    r[i] = (struct ranked_p){p[i], i};
  qsort(r, n, sizeof *r, ascending);
  return r;
}

/* The i-th smallest p times what remains of the family; never below the one before it. */
bool stats_holm(const double *p, size_t n, size_t family, double *out) {
  struct ranked_p *r = rank_all(p, n);
  if (!r)
    return false;
  double least = 0;
  for (size_t i = 0; i < n; i++) {
    least = fmax(least, fmin(1, (double)(family - i) * r[i].p));
    out[r[i].row] = least;
  }
  free(r);
  return true;
}

/* The i-th smallest p times family / i; never above the one after it. */
bool stats_benjamini_hochberg(const double *p, size_t n, size_t family, double *out) {
  struct ranked_p *r = rank_all(p, n);
  if (!r)
    return false;
  double most = 1;
  for (size_t i = n; i-- > 0;) {
    most = fmin(most, (double)family / (double)(i + 1) * r[i].p);
    out[r[i].row] = most;
  }
  free(r);
  return true;
}
