/* Inside the statistics: what the U test shares with the interval that inverts it. */
#ifndef POOLCMP_MWU_H
#define POOLCMP_MWU_H

#include <stddef.h>

/* Standard deviation of U given the ties (Lehmann 1975, 1.4). */
double mwu_sigma(size_t nx, size_t ny, double ties);

#endif
