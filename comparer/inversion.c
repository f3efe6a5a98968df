/* Inverting a rank test, from a good guess outwards; see inversion.h. */
#include "comparer/inversion.h"

#include <math.h>

size_t inversion_rank(const struct sumset *s, double k) {
  size_t half = (sumset_size(s) + 1) / 2;
  return k < 0 ? 0 : k + 1 > (double)half ? half : (size_t)k + 1;
}

bool inversion_lower(const struct sumset *s, size_t guess, double middle, double alpha,
                     inversion_p *p_above, const void *test, double *bound) {
  double at = fmin(middle, sumset_select(s, guess)), p;
  if (!p_above(test, at, &p))
    return false;
  bool from_inside = p > alpha;
  while (at < middle && p <= alpha) {
    at = sumset_next(s, at);
    if (!p_above(test, at, &p))
      return false;
  }
  /* With ties p can fall short of alpha at the middle and exceed it further out. */
  if (from_inside || p <= alpha) {
    for (double below; (below = sumset_previous(s, at)) > -INFINITY; at = below) {
      if (!p_above(test, below, &p))
        return false;
      if (p <= alpha)
        break;
    }
  }
  *bound = at;
  return true;
}
