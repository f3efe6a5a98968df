/*
 * The comparisons of a run at its headline thread count: every column against the base.
 *
 * Uses the comparer's statistics; adds nothing to them but what belongs to which. A family of
 * the correction (Holm) is the run's rows of ns/op of one workload, since each workload asks a
 * question of its own; B/op and allocs/op stand outside.
 */
#ifndef POOLBENCH_VERDICTS_H
#define POOLBENCH_VERDICTS_H

#include "harness/rundata.h"

enum verdict_unit { VERDICT_NS, VERDICT_BYTES, VERDICT_ALLOCS, VERDICT_UNITS };

struct row_verdict {
  unsigned row, column; /* column > 0 */
  unsigned family;      /* index into families */
  struct comparison comparison;
};

struct verdict_family {
  const char *workload; /* "" for cases that no workload of this program has */
  size_t rows;          /* of ns/op */
};

#define VERDICT_FAMILIES 16 /* what is beyond joins the last one */

struct verdicts {
  struct row_verdict *rows[VERDICT_UNITS]; /* row by row, columns in order */
  size_t counts[VERDICT_UNITS];
  struct verdict_family families[VERDICT_FAMILIES];
  size_t family_count;
  double alpha, confidence, margin;
};

/* The workload with a case whose name begins with the same part as this one's; "" for none. */
const char *verdicts_workload(const char *case_name);

bool verdicts_make(struct verdicts *v, const struct rundata *d, struct error *e);
void verdicts_free(struct verdicts *v);

/* Outcomes of one column over the rows of a unit. */
struct verdict_tally {
  size_t better, worse, same, undecided, rows;
  double best_low, best_high;   /* relative deltas of the better rows: least and greatest */
  double worst_low, worst_high; /* of the worse ones */
};
struct verdict_tally verdicts_tally(const struct verdicts *v, enum verdict_unit unit,
                                    unsigned column);

#endif
