/*
 * Sorting of plain doubles: see sort.h. Quicksort with insertion sort for short runs; heapsort
 * takes over where the pivots are bad (Musser 1997).
 */
#include "comparer/sort.h"

#include <string.h>

#define SHORT_RUN 16
#define SPREAD_MIN 40 /* from here to SPREAD_MAX samples are spread over buckets first */
#define SPREAD_MAX 512

static void insertion_sort(double *x, size_t n) {
  for (size_t i = 1; i < n; i++) {
    double v = x[i];
    size_t k = i;
    for (; k > 0 && x[k - 1] > v; k--)
      x[k] = x[k - 1];
    x[k] = v;
  }
}

static void sift_down(double *x, size_t at, size_t n) {
  double v = x[at];
  for (size_t child; (child = 2 * at + 1) < n; at = child) {
    if (child + 1 < n && x[child + 1] > x[child])
      child++;
    if (x[child] <= v)
      break;
    x[at] = x[child];
  }
  x[at] = v;
}

static void heap_sort(double *x, size_t n) {
  for (size_t i = n / 2; i-- > 0;)
    sift_down(x, i, n);
  while (n-- > 1) {
    double v = x[0];
    x[0] = x[n];
    x[n] = v;
    sift_down(x, 0, n);
  }
}

static double middle_of(double a, double b, double c) {
  double lo = a < b ? a : b, hi = a < b ? b : a;
  return c < lo ? lo : c > hi ? hi : c;
}

/*
 * Moves what is below the pivot (or not above it) to the front and returns how many that is. The
 * loop has no branch to mispredict, which makes it twice as fast as swapping from both ends
 * (Lomuto's partition without a branch).
 */
static size_t partition_below(double *x, size_t n, double pivot) {
  size_t below = 0;
  for (size_t i = 0; i < n; i++) {
    double v = x[i];
    x[i] = x[below];
    x[below] = v;
    below += v < pivot;
  }
  return below;
}

static size_t partition_equal(double *x, size_t n, double pivot) {
  size_t equal = 0;
  for (size_t i = 0; i < n; i++) {
    double v = x[i];
    x[i] = x[equal];
    x[equal] = v;
    equal += v <= pivot;
  }
  return equal;
}

static void quick_sort(double *x, size_t n, unsigned bad) {
  while (n > SHORT_RUN) {
    if (bad-- == 0) {
      heap_sort(x, n);
      return;
    }
    double pivot = middle_of(x[0], x[n / 2], x[n - 1]);
    size_t left = partition_below(x, n, pivot);
    if (left == 0) { /* the pivot is the least: what equals it is in place */
      left = partition_equal(x, n, pivot);
      x += left;
      n -= left;
    } else if (left < n - left) { /* the shorter side by recursion bounds the stack */
      quick_sort(x, left, bad);
      x += left;
      n -= left;
    } else {
      quick_sort(x + left, n - left, bad);
      n = left;
    }
  }
  insertion_sort(x, n);
}

/*
 * Puts the values into n buckets of equal width and sorts those with more than a few; samples of
 * one benchmark spread evenly enough that this halves the time. What lies in one bucket because
 * the values are skewed costs what quicksort costs.
 */
static void spread_sort(double *x, size_t n, unsigned bad) {
  double lo = x[0], hi = x[0], sorted[SPREAD_MAX];
  unsigned short bucket[SPREAD_MAX], end[SPREAD_MAX + 1] = {0};
  for (size_t i = 1; i < n; i++) {
    lo = x[i] < lo ? x[i] : lo;
    hi = x[i] > hi ? x[i] : hi;
  }
  double scale = (double)(n - 1) / (hi - lo);
  if (!(scale > 0 && scale < 1e300)) { /* all equal, or their distance is no normal number */
    quick_sort(x, n, bad);
    return;
  }
  for (size_t i = 0; i < n; i++) {
    size_t b = (size_t)((x[i] - lo) * scale);
    bucket[i] = (unsigned short)(b < n ? b : n - 1);
    end[bucket[i] + 1]++;
  }
  for (size_t b = 1; b <= n; b++)
    end[b] = (unsigned short)(end[b] + end[b - 1]);
  for (size_t i = 0; i < n; i++)
    sorted[end[bucket[i]]++] = x[i];
  for (size_t b = 0, start = 0; b < n; start = end[b++])
    if (end[b] - start > SHORT_RUN)
      quick_sort(sorted + start, end[b] - start, bad);
  memcpy(x, sorted, n * sizeof *x);
  insertion_sort(x, n); /* no value is farther from its place than its bucket is wide */
}

void sort_doubles(double *x, size_t n) {
  size_t sorted = 1;
  while (sorted < n && x[sorted - 1] <= x[sorted])
    sorted++;
  if (sorted >= n)
    return;
  unsigned bad = 0;
  for (size_t k = n; k; k >>= 1)
    bad += 2;
  if (n >= SPREAD_MIN && n <= SPREAD_MAX)
    spread_sort(x, n, bad);
  else
    quick_sort(x, n, bad);
}
