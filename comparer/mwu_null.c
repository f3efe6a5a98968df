/*
 * Null distributions of U by counting arrangements, in exact integers.
 *
 * Without ties the counts are the coefficients of a Gaussian binomial; with ties two
 * half-distributions are built and only their joint tail is summed. See mwu_null.h.
 */
#include "comparer/mwu_null.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned __int128 count128;

/* log2 C(n, k); lgamma_r because lgamma writes a global. */
static double log2_binomial(size_t n, size_t k) {
  int sign;
  double ln = lgamma_r((double)n + 1, &sign) - lgamma_r((double)k + 1, &sign) -
              lgamma_r((double)(n - k) + 1, &sign);
  return ln / M_LN2;
}

/*
 * Without ties up to 60 against 60, once for each pair of sizes (about 1 ms). With ties up to 32
 * against 32 or what costs as much, for every row anew (about 0.1 ms).
 */
bool mwu_null_fits(size_t n1, size_t n2, bool tied) {
  size_t small = n1 < n2 ? n1 : n2, large = n1 < n2 ? n2 : n1, n = n1 + n2;
  if (small == 0 || large > 100000)
    return false;
  if (!tied)
    return small * small * large <= 60 * 60 * 60 && small * large <= 1 << 15 &&
           log2_binomial(n, small) < 120;
  size_t half = (n + 1) / 2, chosen = small < half ? small : half;
  return chosen * chosen * half <= 32 * 32 * 32 && log2_binomial(n, small) < 63;
}

/*
 * Coefficients of the Gaussian binomial [n1+n2 over n1] up to q^(n1 n2 / 2), as the product of
 * (1 - q^(n2+i)) / (1 - q^i). Subtractions may wrap on the way: the ring of integers modulo 2^128
 * does not mind, and the results fit.
 */
static void untied_counts(size_t n1, size_t n2, count128 *f, size_t len) {
  memset(f, 0, len * sizeof *f);
  f[0] = 1;
  for (size_t i = 1; i <= n1; i++) {
    for (size_t u = len; u-- > n2 + i;)
      f[u] -= f[u - n2 - i];
    for (size_t u = i; u < len; u++)
      f[u] += f[u - i];
  }
}

/* Turns counts into P(U <= u). The total follows from the symmetry about n1 n2 / 2. */
static void untied_cumulate(size_t cells, const count128 *f, size_t len, double *p) {
  count128 sum = 0;
  for (size_t u = 0; u < len; u++)
    sum += f[u];
  double total = (double)(cells % 2 ? 2 * sum : 2 * sum - f[len - 1]);
  sum = 0;
  for (size_t u = 0; u < len; u++) {
    sum += f[u];
    p[u] = (double)sum / total;
  }
}

static void drop_cdfs(struct stats_work *w) {
  for (size_t i = 0; i < CDF_SLOTS; i++) {
    free(w->cdf[i].p);
    w->cdf[i] = (struct mwu_cdf){0};
  }
  w->cdf_bytes = 0;
}

const double *mwu_null_cdf(struct stats_work *w, size_t n1, size_t n2) {
  size_t small = n1 < n2 ? n1 : n2, large = n1 < n2 ? n2 : n1;
  struct mwu_cdf *slot = &w->cdf[(small * 31 + large) % CDF_SLOTS];
  if (slot->n1 == small && slot->n2 == large)
    return slot->p;

  size_t len = small * large / 2 + 1;
  count128 *f = work_scratch(w, SCRATCH_COUNTS, len, sizeof *f);
  if (!f)
    return NULL;
  if (w->cdf_bytes + len * sizeof *slot->p > CDF_BUDGET)
    drop_cdfs(w);
  double *p = malloc(len * sizeof *p);
  if (!p)
    return NULL;
  untied_counts(small, large, f, len);
  untied_cumulate(small * large, f, len, p);
  if (slot->p) {
    w->cdf_bytes -= (slot->n1 * slot->n2 / 2 + 1) * sizeof *p;
    free(slot->p);
  }
  w->cdf_bytes += len * sizeof *p;
  *slot = (struct mwu_cdf){small, large, p};
  return p;
}

bool mwu_null_untied_p(struct stats_work *w, size_t n1, size_t n2, uint64_t u2, double *p) {
  const double *cdf = mwu_null_cdf(w, n1, n2);
  if (!cdf)
    return false;
  uint64_t mirrored = 2 * (uint64_t)n1 * n2 - u2, low = u2 < mirrored ? u2 : mirrored;
  *p = fmin(1, 2 * cdf[low / 2]);
  return true;
}

/*
 * Half of a pooled sample of m elements: row c counts, for each doubled U among these elements
 * alone, the ways of giving c of them to the first sample. A row spans 0 .. 2 c (m-c).
 */
struct half {
  size_t m, rows; /* rows: c = 0 .. rows-1 */
  uint64_t *count;
  size_t *start; /* of row c in count; rows + 1 entries */
};

static inline size_t row_length(size_t c, size_t m) { return 2 * c * (m - c) + 1; }

static bool half_new(struct stats_work *w, enum scratch kind, size_t m, size_t most,
                     struct half *h) {
  h->m = m;
  h->rows = (most < m ? most : m) + 1;
  size_t cells = 0;
  for (size_t c = 0; c < h->rows; c++)
    cells += row_length(c, m);
  uint64_t *memory = work_scratch(w, kind, cells + h->rows + 1, sizeof *memory);
  if (!memory)
    return false;
  h->count = memory;
  memset(h->count, 0, cells * sizeof *h->count);
  _Static_assert(sizeof *h->start <= sizeof *memory, "row starts share the counts' buffer");
  h->start = (size_t *)(memory + cells);
  size_t at = 0;
  for (size_t c = 0; c < h->rows; c++) {
    h->start[c] = at;
    at += row_length(c, m);
  }
  h->start[h->rows] = at;
  h->count[0] = 1;
  return true;
}

/*
 * dst[i] += factor * src[i], two at a time: the inner loop of a tied test. Written with vectors
 * because gcc does not vectorize a loop of unknown length at -O2, which doubles its time.
 */
typedef uint64_t pair64 __attribute__((vector_size(16), aligned(8), may_alias));

static inline void add_row(uint64_t *dst, const uint64_t *src, size_t n) {
  size_t i = 0;
  for (; i + 4 <= n; i += 4) {
    *(pair64 *)(dst + i) += *(const pair64 *)(src + i);
    *(pair64 *)(dst + i + 2) += *(const pair64 *)(src + i + 2);
  }
  for (; i < n; i++)
    dst[i] += src[i];
}

static inline void add_row_times(uint64_t *dst, const uint64_t *src, size_t n, uint64_t factor) {
  for (size_t i = 0; i < n; i++)
    dst[i] += factor * src[i];
}

/*
 * Adds a group of t tied elements above the m present ones. Giving k of them to the first sample,
 * when c of those below are there already, beats m - c from below (2 each, doubled) and ties with
 * t - k. Rows go downwards, so that a row is read before it is written.
 */
static void half_add_group(struct half *h, size_t present, size_t t) {
  size_t top = present + t < h->rows - 1 ? present + t : h->rows - 1;
  for (size_t to = top; to > 0; to--) {
    uint64_t ways = 1; /* C(t, k); fits, its product with t does not always */
    for (size_t k = 1; k <= t && k <= to; k++) {
      ways = (uint64_t)((count128)ways * (t - k + 1) / k);
      size_t from = to - k;
      if (from > present)
        continue;
      size_t shift = k * (2 * (present - from) + t - k);
      uint64_t *dst = h->count + h->start[to] + shift;
      const uint64_t *src = h->count + h->start[from];
      if (ways == 1)
        add_row(dst, src, row_length(from, present));
      else
        add_row_times(dst, src, row_length(from, present), ways);
    }
  }
}

/*
 * Arrangements with doubled U <= limit: c of the n1 lie in the lower half, n1 - c above, where
 * each beats the lower half's others. Walks a lower row downwards while the running sum over the
 * upper row grows: one step for each entry.
 */
static uint64_t count_upto(const struct half *lower, const struct half *upper, size_t n1,
                           int64_t limit) {
  uint64_t sum = 0;
  size_t first = n1 > upper->m ? n1 - upper->m : 0;
  for (size_t c = first; c < lower->rows; c++) {
    size_t d = n1 - c;
    int64_t room = limit - 2 * (int64_t)d * (int64_t)(lower->m - c);
    if (room < 0)
      continue;
    const uint64_t *a = lower->count + lower->start[c], *b = upper->count + upper->start[d];
    int64_t na = (int64_t)row_length(c, lower->m), nb = (int64_t)row_length(d, upper->m);
    uint64_t below = 0;
    int64_t j = 0;
    for (int64_t i = na - 1 < room ? na - 1 : room; i >= 0; i--) {
      for (int64_t end = room - i < nb - 1 ? room - i : nb - 1; j <= end; j++)
        below += b[j];
      sum += a[i] * below;
    }
  }
  return sum;
}

/* The same for doubled U >= limit. */
static uint64_t count_from(const struct half *lower, const struct half *upper, size_t n1,
                           int64_t limit) {
  uint64_t sum = 0;
  size_t first = n1 > upper->m ? n1 - upper->m : 0;
  for (size_t c = first; c < lower->rows; c++) {
    size_t d = n1 - c;
    int64_t need = limit - 2 * (int64_t)d * (int64_t)(lower->m - c);
    const uint64_t *a = lower->count + lower->start[c], *b = upper->count + upper->start[d];
    int64_t na = (int64_t)row_length(c, lower->m), nb = (int64_t)row_length(d, upper->m);
    uint64_t above = 0;
    int64_t j = nb - 1;
    for (int64_t i = need - j > 0 ? need - j : 0; i < na; i++) {
      for (; j >= 0 && j >= need - i; j--)
        above += b[j];
      sum += a[i] * above;
    }
  }
  return sum;
}

/* C(n, k), whole at each step; the caller knows that it fits. */
static double binomial(size_t n, size_t k) {
  count128 c = 1;
  for (size_t i = 1; i <= k; i++)
    c = c * (n - k + i) / i;
  return (double)c;
}

/* The groups whose boundary lies nearest to the middle: the work grows with the larger half. */
static size_t split(const uint32_t *groups, size_t ngroups, size_t n, size_t *lower_size) {
  size_t best = 0, best_size = 0, size = 0;
  for (size_t i = 0; i < ngroups; i++) {
    size += groups[i];
    size_t larger = size > n - size ? size : n - size;
    size_t best_larger = best_size > n - best_size ? best_size : n - best_size;
    if (larger < best_larger) {
      best = i + 1;
      best_size = size;
    }
  }
  *lower_size = best_size;
  return best;
}

bool mwu_null_p(struct stats_work *w, const uint32_t *groups, size_t ngroups, size_t n1, size_t n2,
                uint64_t u2, double *p) {
  int64_t mu2 = (int64_t)n1 * (int64_t)n2, off = llabs((int64_t)u2 - mu2);
  if (off == 0) {
    *p = 1;
    return true;
  }
  /* Arrangements of the smaller sample are fewer rows; |U - mu| is the same for both. */
  size_t small = n1 < n2 ? n1 : n2;
  size_t lower_size, cut = split(groups, ngroups, n1 + n2, &lower_size);
  struct half lower, upper;
  if (!half_new(w, SCRATCH_HALF_A, lower_size, small, &lower) ||
      !half_new(w, SCRATCH_HALF_B, n1 + n2 - lower_size, small, &upper))
    return false;
  size_t present = 0;
  for (size_t i = 0; i < cut; present += groups[i++])
    half_add_group(&lower, present, groups[i]);
  present = 0;
  for (size_t i = cut; i < ngroups; present += groups[i++])
    half_add_group(&upper, present, groups[i]);

  /* With equal sizes exchanging the samples maps one tail on the other. */
  double low = (double)count_upto(&lower, &upper, small, mu2 - off);
  double high = n1 == n2 ? low : (double)count_from(&lower, &upper, small, mu2 + off);
  *p = fmin(1, (low + high) / binomial(n1 + n2, small));
  return true;
}
