/*
 * Time budgets of a run's cells: the states of every sample (budget.h), and one split that adds up.
 *
 * All times are thread time per op divided by the threads that measured, so that the states of a
 * cell add up to its ns/op. Medians of parts do not add up to the median of a sum; so the centre of
 * every state is its mean over the same samples, the middle half by ns/op, which is robust and
 * additive.
 */
#ifndef POOLBENCH_BUDGETS_H
#define POOLBENCH_BUDGETS_H

#include "harness/budget.h"
#include "harness/rundata.h"

struct budget_sample {
  double total; /* ns/op */
  double state[BUDGET_STATES];
  uint32_t run, round;
};

struct budget_set {
  struct budget_sample *samples;
  size_t n;
  unsigned threads; /* that measured: the cell's team */
};

/* An empty set when the cell is NULL or has no states. false without memory. */
bool budgets_load(struct budget_set *b, const struct rundata *d, const struct rundata_cell *c);

/* The same from ns/op alone: states are 0, and samples without them are there too. */
bool budgets_load_totals(struct budget_set *b, const struct rundata *d,
                         const struct rundata_cell *c);
void budgets_free(struct budget_set *b);

/* The means over the middle half of the samples: states that add up to total. n >= 1. */
bool budgets_center(const struct budget_set *b, struct budget_sample *out);

/* The 95 % interval of a state's median by order statistics; infinite when too few. */
bool budgets_interval(const struct budget_set *b, enum budget_state state, double *lo, double *hi);

/* a - b by rounds: B's samples minus A's of the same run and round, as a set of differences. */
bool budgets_pair(const struct budget_set *a, const struct budget_set *b, struct budget_set *out);

/*
 * Where threads share CPUs, most thread time is the run queue's and only mirrors what the others
 * do. This turns the set into CPU time per op and CPU: the states on a CPU as they are, and in
 * place of all that are off it one, `sleep`, for CPUs that were idle or others'. Adds up to ns/op
 * as before.
 */
void budgets_by_cpu(struct budget_set *b, unsigned cpus);

/* Is this one of the states that budgets_by_cpu leaves? */
bool budget_is_by_cpu(enum budget_state state);

/* How states are named for people; by_cpu: after budgets_by_cpu. */
const char *budget_name(enum budget_state state, bool by_cpu);

#endif
