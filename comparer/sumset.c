/* Selection in the sorted matrix of all sums of two samples; see sumset.h. */
#include "comparer/sumset.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

enum { COLLECT = 64 }; /* candidates that are gathered and sorted instead of narrowed further */

size_t sumset_size(const struct sumset *s) {
  return s->triangle ? s->na * (s->na + 1) / 2 : s->na * s->nb;
}

/*
 * The staircase: for a growing row i, the columns with a[i] + b[j] <= t end further left. Each of
 * the functions below walks it.
 */
size_t sumset_count(const struct sumset *s, double t) {
  size_t count = 0, end = s->nb;
  for (size_t i = 0; i < s->na; i++) {
    while (end > 0 && s->a[i] + s->b[end - 1] > t)
      end--;
    size_t first = s->triangle ? i : 0;
    if (end <= first)
      break;
    count += end - first;
  }
  return count;
}

double sumset_next(const struct sumset *s, double v) {
  double best = INFINITY;
  size_t end = s->nb;
  for (size_t i = 0; i < s->na; i++) {
    size_t first = s->triangle ? i : 0;
    while (end > 0 && s->a[i] + s->b[end - 1] > v)
      end--;
    size_t j = end > first ? end : first;
    if (j < s->nb)
      best = fmin(best, s->a[i] + s->b[j]);
  }
  return best;
}

double sumset_previous(const struct sumset *s, double v) {
  double best = -INFINITY;
  size_t end = s->nb;
  for (size_t i = 0; i < s->na; i++) {
    size_t first = s->triangle ? i : 0;
    while (end > 0 && s->a[i] + s->b[end - 1] >= v)
      end--;
    if (end <= first)
      break;
    best = fmax(best, s->a[i] + s->b[end - 1]);
  }
  return best;
}

/* Doubles in the order of their values, as integers, so that halving always ends. */
static int64_t to_key(double v) {
  int64_t bits;
  memcpy(&bits, &v, sizeof bits);
  return bits >= 0 ? bits : INT64_MIN - bits;
}

static double from_key(int64_t key) {
  int64_t bits = key >= 0 ? key : INT64_MIN - key;
  double v;
  memcpy(&v, &bits, sizeof v);
  return v;
}

/* A value in [lo, hi) strictly nearer than both ends where one exists: interpolated or halved. */
static double pivot(double lo, double hi, double fraction, bool halve) {
  double t = lo + (hi - lo) * fraction;
  if (!halve && t > lo && t < hi)
    return t;
  int64_t a = to_key(lo), b = to_key(hi);
  return from_key((a & b) + ((a ^ b) >> 1)); /* the mean, rounded down, without overflow */
}

/*
 * Where to cut, as a fraction of the range: not at the rank itself but a little beyond it, as seen
 * from the farther end, so that this end moves next to it. Halves the number of counts.
 */
static double aim(size_t from_lo, size_t from_hi) {
  double a = (double)from_lo, b = (double)from_hi, margin = COLLECT / 3.0;
  return (a > b ? a - fmin(margin, a / 2) : a + fmin(margin, b / 2)) / (a + b);
}

/* The k-th smallest of the sums in (lo, hi], of which there are at most COLLECT. */
static double select_between(const struct sumset *s, double lo, double hi, size_t k) {
  double found[COLLECT];
  size_t n = 0, end = s->nb;
  for (size_t i = 0; i < s->na; i++) {
    size_t first = s->triangle ? i : 0;
    while (end > 0 && s->a[i] + s->b[end - 1] > lo)
      end--;
    for (size_t j = end > first ? end : first; j < s->nb && n < COLLECT; j++) {
      double v = s->a[i] + s->b[j];
      if (v > hi)
        break;
      size_t at = n++;
      for (; at > 0 && found[at - 1] > v; at--)
        found[at] = found[at - 1];
      found[at] = v;
    }
  }
  return found[k - 1];
}

double sumset_select(const struct sumset *s, size_t k) {
  double lo = s->a[0] + s->b[0], hi = s->a[s->na - 1] + s->b[s->nb - 1];
  size_t below = sumset_count(s, lo), upto = sumset_size(s);
  if (k <= below)
    return lo;
  /* Always: count(lo) = below < k <= upto = count(hi). */
  bool halve = false;
  while (upto - below > COLLECT) {
    double t = pivot(lo, hi, aim(k - below, upto - k), halve);
    if (t == lo)
      return hi; /* no double between: all that remain are equal */
    size_t count = sumset_count(s, t), left = upto - below;
    if (count >= k) {
      hi = t;
      upto = count;
    } else {
      lo = t;
      below = count;
    }
    halve = !halve && upto - below > left / 2; /* interpolation stalls at lumps and long tails */
  }
  return select_between(s, lo, hi, k - below);
}

void sumset_middle(const struct sumset *s, double *low, double *high) {
  size_t size = sumset_size(s), half = (size + 1) / 2;
  *low = *high = sumset_select(s, half);
  if (size % 2 == 0 && sumset_count(s, *low) == half)
    *high = sumset_next(s, *low);
}
