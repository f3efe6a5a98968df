/*
 * Pairs of samples of one round: which belong together and whether the rest may be left out.
 *
 * Part of the analysis; reads origins and values, knows no statistics.
 */
#ifndef POOLCMP_PAIRING_H
#define POOLCMP_PAIRING_H

#include "comparer/analysis.h"

struct pairing {
  size_t pairs, incomplete;
  /* Rounds that lack a sample of one side, the last round of each run aside. */
  size_t missing_base, missing_other;
};

/*
 * Pairs k-th with k-th sample of the same run and round and stores base and other values of each
 * pair in base_out, other_out (room for the smaller n). false when out of memory.
 */
bool pairing_find(struct stats_work *w, const struct series *base, const struct series *other,
                  double *base_out, double *other_out, struct pairing *out);

/* Whether the pairs stand for the run; if not, why says what is wrong with them. */
bool pairing_acceptable(const struct pairing *p, char *why, size_t why_size);

#endif
