/*
 * From the samples of two cells to what a reviewer reads: delta, interval, p, verdict, doubts.
 *
 * Sits between grouping (which knows files and keys) and rendering (which knows layouts); knows
 * neither. Formulas are in stats.h, the reasons in docs/statistics.md.
 */
#ifndef POOLCMP_ANALYSIS_H
#define POOLCMP_ANALYSIS_H

#include "comparer/stats.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Doubts about one sample, from its `# flag` lines. */
enum sample_flag {
  SAMPLE_NOT_STEADY = 1 << 0,
  SAMPLE_FOREIGN_CPU = 1 << 1,
  SAMPLE_THROTTLED = 1 << 2,
  SAMPLE_HOST_SPEED = 1 << 3,
  SAMPLE_FEW_OPS = 1 << 4,
  SAMPLE_BOUND = 1 << 5, /* the value is a lower bound ("> T") */
};

/* Where a sample comes from. run 0 = its file carried no `# run` line for it. */
struct sample_origin {
  uint32_t run;     /* index of the run ID, 1.. */
  uint32_t round;   /* round within the run */
  uint32_t seq;     /* measured order within the run */
  uint32_t process; /* samples with the same number came from one process */
  uint32_t flags;   /* enum sample_flag */
};

/* All samples of one (table, row, column). */
struct series {
  const double *values; /* in file order */
  const double *sorted; /* the same, ascending */
  const struct sample_origin *origins; /* parallel to values; NULL when no sample has any */
  size_t n;
};

enum correction { CORRECT_NONE, CORRECT_HOLM, CORRECT_BH };
enum better { BETTER_UNKNOWN, BETTER_LESS, BETTER_MORE };

struct analysis_options {
  double alpha, confidence;
  bool exact;   /* this unit is compared as exact (assume=exact or -exact UNIT) */
  bool ci;      /* Hodges-Lehmann estimate and interval instead of the ratio of medians */
  bool paired;  /* signed-rank on pairs of one run's rounds */
  enum correction correct;
  double margin; /* relative: 0.03 */
  enum better better;
};

enum verdict {
  VERDICT_NONE, /* base column, or nothing to compare with */
  VERDICT_SAME,
  VERDICT_FASTER, /* better: less for time and memory, more for rates */
  VERDICT_SLOWER,
  VERDICT_UNDECIDED,
};

/* Doubts about a cell or a comparison: flagged with the row, nothing removed. */
enum doubt {
  DOUBT_TREND = 1 << 0,       /* values drift with measured order */
  DOUBT_BIMODAL = 1 << 1,
  DOUBT_OUTLIERS = 1 << 2,
  DOUBT_FOREIGN_CPU = 1 << 3,
  DOUBT_THROTTLED = 1 << 4,
  DOUBT_NOT_STEADY = 1 << 5,
  DOUBT_ONE_PROCESS = 1 << 6, /* several values of one process: does not carry to another run */
  DOUBT_TOO_FEW = 1 << 7,     /* no p of this many samples can reach alpha */
  DOUBT_BOUND = 1 << 8,
  DOUBT_TWIN = 1 << 9,        /* the delta is within what a twin of the base shows */
  DOUBT_OTHER_RUN = 1 << 10,  /* the two sides were measured at different times */
};

struct comparison {
  double base_center, center;
  double p;          /* NAN when no test was made */
  double p_adjusted; /* = p without correction */
  bool p_exact, all_equal;
  bool significant;  /* p_adjusted <= alpha (exact units: any difference) */
  struct stats_estimate delta; /* relative (new/old - 1), or absolute when `absolute` */
  bool absolute;     /* the unit can be 0: differences instead of ratios */
  bool exact;
  size_t n_base, n, pairs, incomplete_pairs;
  double smallest_effect; /* relative, at 80 % power; NAN when not defined */
  size_t needed;          /* samples (pairs) to decide; 0 = more than 1000 */
  double min_p;           /* the smallest p these samples could give */
  unsigned doubts;        /* enum doubt */
  enum verdict verdict;
};

/* Doubts that a series raises by itself. */
unsigned analysis_series_doubts(const struct series *c, const struct analysis_options *o);

/* Compares c with base. false when out of memory or, with why filled, when -paired must refuse. */
bool analysis_compare(struct stats_work *w, const struct series *base, const struct series *c,
                      const struct analysis_options *o, struct comparison *out, char *why,
                      size_t why_size);

/*
 * The family: adjusts p over all rows of sec/op of one invocation and sets the verdicts. `rows`
 * are those that belong to the family (exact units stay outside and get their verdict alone).
 */
bool analysis_family(struct comparison **rows, size_t n, const struct analysis_options *o);

/*
 * The twin's limit: the 95th percentile of |delta| over the twin's rows (the maximum below 20).
 * Rows whose |delta| is below it lose faster/slower and get DOUBT_TWIN.
 */
double analysis_twin_limit(const struct comparison *const *twin_rows, size_t n);
void analysis_apply_twin(struct comparison **rows, size_t n, double limit);

/* Samples a side that a gate needs so that its smallest p can fire in this family; 0 = > 1000. */
size_t analysis_gate_samples(size_t family, const struct analysis_options *o);

#endif
