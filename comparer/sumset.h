/*
 * Order statistics of all sums a[i] + b[j] without forming them: the n m differences of two
 * samples (b negated) and the Walsh averages of one.
 *
 * a and b are sorted ascending and belong to the caller. A count costs O(na + nb), a selection a
 * few counts (at most about 130, typically 4 to 8), no memory.
 */
#ifndef POOLCMP_SUMSET_H
#define POOLCMP_SUMSET_H

#include <stdbool.h>
#include <stddef.h>

struct sumset {
  const double *a, *b;
  size_t na, nb;
  bool triangle; /* b is a, and only i <= j counts */
};

size_t sumset_size(const struct sumset *s);

/* Sums that are <= t. */
size_t sumset_count(const struct sumset *s, double t);

/* The k-th smallest sum, 1 <= k <= size. */
double sumset_select(const struct sumset *s, size_t k);

/* The middle sums, both the same for an odd number; their mean is the median. */
void sumset_middle(const struct sumset *s, double *low, double *high);

/* The nearest sum above or below v; +-INFINITY if there is none. */
double sumset_next(const struct sumset *s, double v);
double sumset_previous(const struct sumset *s, double v);

#endif
