/*
 * Sorting of plain doubles: the second largest cost of a comparison after reading.
 */
#ifndef POOLCMP_SORT_H
#define POOLCMP_SORT_H

#include <stddef.h>

/* Ascending; no NaN. n log n for every input. */
void sort_doubles(double *x, size_t n);

#endif
