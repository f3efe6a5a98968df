/*
 * The difference of two cells, state by state: where a delta comes from.
 *
 * By rounds: each round's difference of every state, centred over the middle half of the rounds
 * by the difference of ns/op, so that the parts add up to the whole; intervals of each part from
 * the signed-rank test on the rounds. Cells with fewer common rounds than WHY_FEWEST_PAIRS are
 * compared side by side.
 */
#ifndef POOLBENCH_WHY_H
#define POOLBENCH_WHY_H

#include "harness/budgets.h"
#include "harness/report.h"

#define WHY_FEWEST_PAIRS 2

struct why_part {
  enum budget_state state;
  double a, b;         /* ns per op, threads taken together */
  double diff, lo, hi; /* b - a in per cent of A's ns/op */
};

struct why {
  double a, b;                          /* ns/op */
  double diff, lo, hi;                  /* in per cent of a: what the parts add up to */
  struct why_part parts[BUDGET_STATES]; /* the largest difference first */
  size_t rounds;                        /* pairs; 0: not paired */
  size_t common;                        /* rounds that both have; pairing takes WHY_FEWEST_PAIRS */
  bool by_cpu;                          /* of CPU time, not of thread time: budgets_by_cpu */
};

/*
 * cpus 0: of thread time; else of the CPU time of so many. status: EXIT_NOTHING when a cell is
 * missing or has no states.
 */
bool why_make(struct why *w, const struct rundata *d, const struct rundata_cell *a,
              const struct rundata_cell *b, unsigned cpus, struct error *e);

/* Of ns/op alone, so of cells without states too: every part is 0. Refuses bounds: no times. */
bool why_make_total(struct why *w, const struct rundata *d, const struct rundata_cell *a,
                    const struct rundata_cell *b, struct error *e);

/* "allocator -20.1 %, work -2.0 %, lock, on CPU +0.4 %": the largest three of 0.05 % or more. */
void why_short(const struct why *w, char *text, size_t size);

/*
 * One line under each decided difference of ns/op: its three largest parts and what all of them add
 * up to, which is a mean and so not quite the difference itself. Nothing where there are no states.
 * The title goes behind a small or a capital w.
 */
#define REPORT_WHY_TITLE                                                                       \
  "here each decided difference comes from, in % of the base's ns/op; parts are means of the " \
  "middle rounds, so that they add up"
void report_why(const struct report *r, const char *tick, const char *bullet, FILE *out);

/* main of `poolbench why RUN A B`. */
int why_main(int argc, char **argv);

#endif
