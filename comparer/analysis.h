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
  uint32_t process; /* samples with the same number came from one process; 0 unknown */
  uint32_t flags;   /* enum sample_flag */
  uint32_t name;    /* of its benchmark, by number */
};

/* All samples of one (table, row, column). */
struct series {
  const double *values;                /* in file order */
  const double *sorted;                /* the same, ascending */
  const struct sample_origin *origins; /* parallel to values; NULL when no sample has any */
  size_t n;
};

enum correction { CORRECT_NONE, CORRECT_HOLM, CORRECT_BH };
enum better { BETTER_UNKNOWN, BETTER_LESS, BETTER_MORE };

struct analysis_options {
  double alpha, confidence;
  bool exact;    /* this unit is compared as exact (assume=exact or -exact UNIT) */
  bool ci;       /* Hodges-Lehmann estimate and interval instead of the ratio of medians */
  bool verdicts; /* interval, effect and verdict as with ci, while delta keeps the medians' ratio */
  bool paired;   /* signed-rank on pairs of one run's rounds; implies ci */
  enum correction correct;
  double margin; /* relative: 0.03 */
  enum better better;
};

/*
 * `same` needs the interval, so it is given with ci, verdicts or paired only; without them a
 * significant difference of either size is faster or slower, everything else undecided.
 */
enum verdict {
  VERDICT_NONE,   /* base column, or nothing to compare with */
  VERDICT_SAME,   /* the interval lies inside the margin: this comes first */
  VERDICT_FASTER, /* better: less for time and memory, more for rates; unknown: less */
  VERDICT_SLOWER,
  VERDICT_UNDECIDED,
};

/* Doubts about a cell or a comparison: flagged with the row, nothing removed. */
enum doubt {
  DOUBT_TREND = 1 << 0, /* values drift with measured order */
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
  DOUBT_HOST_SPEED = 1 << 11, /* the calibration loop ran off the run's speed */
  DOUBT_FEW_OPS = 1 << 12,    /* a window held too few operations */
};

struct comparison {
  double base_center, center; /* medians; modes when exact */
  double p;                   /* NAN when no test was made */
  double p_adjusted;          /* = p without correction */
  bool p_exact, all_equal;
  bool significant; /* p_adjusted <= alpha (exact units: any difference) */
  /*
   * new/old - 1, or new - old when `absolute`. With ci or paired the Hodges-Lehmann estimate and
   * its interval, bounds +-INFINITY where nothing bounds them; otherwise the ratio of medians with
   * lo and hi NAN. Exact units: the difference, lo = hi = center.
   */
  struct stats_estimate delta;
  struct stats_estimate shift; /* what the verdict rests on; all NAN if not asked for */
  bool absolute;               /* differences, not ratios: a value or center is not above 0 */
  bool exact;
  size_t n_base, n, pairs, incomplete_pairs;
  double spread;          /* standard deviation of logs: pooled, or of the pairs' log ratios; NAN */
  double smallest_effect; /* relative, at 80 % power; INFINITY when no p of this many samples can
                             reach alpha; NAN when not defined or not asked for */
  size_t needed;   /* samples a side (pairs) that show a change of the margin; 0 = more than 1000,
                      or undefined as smallest_effect is */
  double min_p;    /* the smallest p these samples could give; NAN for exact units */
  unsigned doubts; /* enum doubt: of the pair alone, not of either series */
  enum verdict verdict;
};

/* Doubts that a series raises by itself. */
unsigned analysis_series_doubts(const struct series *c, const struct analysis_options *o);

/*
 * Compares c with base as a family of one: the verdict stands until analysis_family revises it.
 * false when out of memory (why empty) or, with why filled, when -paired must refuse: no common
 * round, more than a tenth of the pairs incomplete, or one side alone lost rounds (the last round
 * of a run aside, which an interruption cuts short).
 */
bool analysis_compare(struct stats_work *w, const struct series *base, const struct series *c,
                      const struct analysis_options *o, struct comparison *out, char *why,
                      size_t why_size);

/*
 * The family: adjusts p over all rows of sec/op of one invocation and sets the verdicts. Rows
 * without a test (exact units) may be among them; they do not count and keep their verdict. The
 * smallest effect, the samples needed and too-few are those of alpha shared by the family (Holm).
 * false when out of memory.
 */
bool analysis_family(struct comparison **rows, size_t n, const struct analysis_options *o);

/*
 * The twin's limit: the 95th percentile (Hyndman and Fan's definition 8) of |delta| over the
 * twin's rows, the maximum below 20 of them; 0 without rows. Differences count relative to their
 * base. Exact rows neither count nor lose. Rows whose |delta| is below the limit lose
 * faster/slower and get DOUBT_TWIN.
 */
double analysis_twin_limit(const struct comparison *const *twin_rows, size_t n);
void analysis_apply_twin(struct comparison **rows, size_t n, double limit);

/* Samples a side that a gate needs so that its smallest p can fire in this family; 0 = > 1000. */
size_t analysis_gate_samples(size_t family, const struct analysis_options *o);

#endif
