/*
 * Wilcoxon's signed-rank test and the interval that inverts it.
 *
 * Zeros as Pratt (1959): they take the lowest ranks and are then left out. Equal sizes share the
 * mean of their ranks. Given both, each remaining rank is in W+ with probability 1/2: the exact
 * distribution. Ranks are kept doubled, so that shared ones are whole.
 *
 * Both the test at 0 and the test just above a Walsh average go through rank_at: d[i] + d[j] says
 * on which side of the shift theta the larger distance lies, compared with 2 theta as it was
 * rounded when the sum was formed.
 */
#include "comparer/inversion.h"
#include "comparer/sort.h"
#include "comparer/stats_work.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The differences as the test sees them after a shift. */
struct ranking {
  uint64_t w2, total2; /* doubled W+ and the doubled sum of all ranks kept */
  double squares4;     /* sum of the squares of the doubled ranks */
  size_t kept;         /* non-zero differences */
  bool plain;          /* their ranks are 1 .. n: the cached distribution holds */
  uint64_t *rank2;     /* doubled ranks of those kept, in scratch */
};

/*
 * Ranks |d - theta| for sorted d, theta = sum / 2, or with `above` a theta a little larger. Walks
 * outwards from theta; a tie group takes what is equally far on both sides.
 */
static bool rank_at(struct stats_work *w, const double *d, size_t n, double sum, bool above,
                    struct ranking *out) {
  uint64_t *rank2 = work_scratch(w, SCRATCH_RANKS, n, sizeof *rank2);
  if (!rank2)
    return false;
  *out = (struct ranking){.rank2 = rank2, .plain = true};
  size_t below = 0, up;
  while (below < n && (above ? d[below] + d[below] <= sum : d[below] + d[below] < sum))
    below++;
  for (up = below; up < n && d[up] + d[up] == sum;)
    up++;
  size_t ranked = up - below;
  out->plain = ranked == 0;

  while (below > 0 || up < n) {
    size_t b0 = below, u0 = up;
    double far = below == 0 ? -INFINITY : up == n ? INFINITY : d[below - 1] + d[up];
    bool tie = below > 0 && up < n && far == sum && !above;
    bool take_up = tie || below == 0 || (up < n && (above ? far <= sum : far < sum));
    if (take_up)
      while (up < n && d[up] == d[u0])
        up++;
    if (!take_up || tie)
      while (below > 0 && d[below - 1] == d[b0 - 1])
        below--;
    size_t t = (b0 - below) + (up - u0);
    uint64_t r2 = 2 * (uint64_t)ranked + t + 1; /* twice the mean of ranked+1 .. ranked+t */
    ranked += t;
    out->plain &= t == 1;
    out->w2 += r2 * (up - u0);
    out->total2 += r2 * t;
    out->squares4 += (double)r2 * (double)r2 * (double)t;
    for (size_t i = 0; i < t; i++)
      rank2[out->kept++] = r2;
  }
  return true;
}

/* Ways of every sum 0 .. len-1 of a subset of the ranks, each used once. */
static void subset_sums(const uint64_t *rank, size_t n, double *ways, size_t len) {
  memset(ways, 0, len * sizeof *ways);
  ways[0] = 1;
  size_t top = 0;
  for (size_t i = 0; i < n; i++) {
    top = top + rank[i] < len - 1 ? top + rank[i] : len - 1;
    for (size_t s = top + 1; s-- > rank[i];)
      ways[s] += ways[s - rank[i]];
  }
}

/* P(W <= w) for n ranks 1 .. n, w = 0 .. n(n+1)/4; cached. NULL when out of memory. */
static const double *plain_cdf(struct stats_work *w, size_t n) {
  if (w->signed_rank_cdf[n])
    return w->signed_rank_cdf[n];
  size_t len = n * (n + 1) / 4 + 1;
  uint64_t rank[SIGNED_RANK_EXACT_MAX];
  for (size_t i = 0; i < n; i++)
    rank[i] = i + 1;
  double *p = malloc(len * sizeof *p);
  if (!p)
    return NULL;
  subset_sums(rank, n, p, len);
  double sum = 0, scale = ldexp(1, -(int)n);
  for (size_t i = 0; i < len; i++) {
    sum += p[i];
    p[i] = sum * scale;
  }
  return w->signed_rank_cdf[n] = p;
}

/* P(doubled W <= low2) for the ranks as they are. */
static bool conditional_cdf(struct stats_work *w, const struct ranking *r, uint64_t low2,
                            double *p) {
  size_t len = low2 + 1;
  double *ways = work_scratch(w, SCRATCH_COUNTS, len, sizeof *ways);
  if (!ways)
    return false;
  subset_sums(r->rank2, r->kept, ways, len);
  double sum = 0;
  for (size_t i = 0; i < len; i++)
    sum += ways[i];
  *p = ldexp(sum, -(int)r->kept);
  return true;
}

static bool ranking_p(struct stats_work *w, const struct ranking *r, double *p) {
  uint64_t mirrored = r->total2 - r->w2, low2 = r->w2 < mirrored ? r->w2 : mirrored;
  if (r->w2 == mirrored) {
    *p = 1; /* all zero differences included */
    return true;
  }
  if (r->kept > SIGNED_RANK_EXACT_MAX) {
    double off = fabs((double)r->w2 - (double)r->total2 / 2) / 2 - 0.5;
    double sigma = sqrt(r->squares4) / 4;
    *p = off <= 0 ? 1 : fmax(DBL_MIN, erfc(off / sigma / M_SQRT2));
    return true;
  }
  double tail;
  if (r->plain) {
    const double *cdf = plain_cdf(w, r->kept);
    if (!cdf)
      return false;
    tail = cdf[low2 / 2];
  } else if (!conditional_cdf(w, r, low2, &tail)) {
    return false;
  }
  *p = fmin(1, 2 * tail);
  return true;
}

static double *sorted_copy(struct stats_work *w, const double *d, size_t n) {
  double *copy = work_scratch(w, SCRATCH_SORTED, n, sizeof *copy);
  if (copy && n > 0) {
    memcpy(copy, d, n * sizeof *copy);
    sort_doubles(copy, n);
  }
  return copy;
}

bool stats_signed_rank(struct stats_work *w, const double *d, size_t n,
                       struct stats_signed_rank *out) {
  struct ranking r;
  const double *sorted = sorted_copy(w, d, n);
  if (!sorted || !rank_at(w, sorted, n, 0, false, &r) || !ranking_p(w, &r, &out->p))
    return false;
  out->w_plus = (double)r.w2 / 2;
  out->exact = r.kept <= SIGNED_RANK_EXACT_MAX;
  return true;
}

/* Sorted differences whose Walsh sums bound the shift. */
struct walsh {
  struct stats_work *w;
  struct sumset sums;
  double alpha;
};

/* p just above half the Walsh sum. */
static bool p_above(const void *test, double sum, double *p) {
  const struct walsh *v = test;
  struct ranking r;
  return rank_at(v->w, v->sums.a, v->sums.na, sum, true, &r) && ranking_p(v->w, &r, p);
}

/* How many Walsh averages may lie below theta while the normal approximation still rejects. */
static bool rejected_normal(const struct walsh *v, double *k) {
  struct ranking r;
  const double *d = v->sums.a;
  if (!rank_at(v->w, d, v->sums.na, d[0] + d[0], true, &r)) /* the squares are the same anywhere */
    return false;
  double n = (double)v->sums.na, mu = n * (n + 1) / 4, sigma = sqrt(r.squares4) / 4;
  *k = floor(mu - 0.5 + stats_normal_quantile(v->alpha / 2) * sigma);
  return true;
}

/* The smallest Walsh sum above which the test accepts; the normal guess is right or off by one. */
static bool lower_bound(const struct walsh *v, double middle, double *bound) {
  double k;
  if (!rejected_normal(v, &k))
    return false;
  size_t rank = inversion_rank(&v->sums, k);
  if (v->sums.na <= SIGNED_RANK_EXACT_MAX)
    return inversion_lower(&v->sums, rank ? rank : 1, middle, v->alpha, p_above, v, bound);
  *bound = rank ? sumset_select(&v->sums, rank) : -INFINITY;
  return true;
}

static void negate_reversed(double *x, size_t n) {
  for (size_t i = 0; i < n / 2; i++) {
    double t = x[i];
    x[i] = -x[n - 1 - i];
    x[n - 1 - i] = -t;
  }
  if (n % 2)
    x[n / 2] = -x[n / 2];
}

bool stats_signed_rank_interval(struct stats_work *w, const double *d, size_t n, double confidence,
                                struct stats_estimate *out) {
  double *sorted = sorted_copy(w, d, n);
  if (!sorted)
    return false;
  struct walsh v = {w, {sorted, sorted, n, n, .triangle = true}, work_alpha(confidence)};
  double middle, above;
  sumset_middle(&v.sums, &middle, &above);
  *out =
      (struct stats_estimate){stats_median((double[]){middle, above}, 2) / 2, -INFINITY, INFINITY};
  if (stats_signed_rank_min_p(n) > v.alpha)
    return true;
  if (!lower_bound(&v, middle, &out->lo))
    return false;
  negate_reversed(sorted, n); /* the upper bound is the lower one of the mirrored differences */
  if (!lower_bound(&v, -above, &out->hi))
    return false;
  out->lo /= 2;
  out->hi = -out->hi / 2;
  return true;
}

double stats_signed_rank_min_p(size_t n) {
  return n == 0 ? 1 : fmin(1, ldexp(2, -(int)n));
}
