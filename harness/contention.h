/*
 * Why a strategy scales or does not: its time budget against the one of a single thread, in one
 * sentence a cell with the figures it rests on. Arithmetic and words; reads only rundata.
 *
 * With M = min(threads, CPUs) a cell has M x ns/op of CPU time per op; one thread needs its own
 * ns/op. What is more is the loss, and it splits into the differences of the states: CPU time of
 * each kind, and idle CPUs.
 */
#ifndef POOLBENCH_CONTENTION_H
#define POOLBENCH_CONTENTION_H

#include "harness/budgets.h"

enum contention_verdict {
  CONTENTION_UNKNOWN, /* not decided here; the text says what would */
  CONTENTION_SCALES,  /* at least CONTENTION_SCALES_AT of M times one thread's throughput */
  CONTENTION_LOCK,    /* limited by the strategy's lock */
  CONTENTION_MISSES,  /* by the allocator, because more gets miss than with one thread */
  CONTENTION_HEAP,    /* by the allocator */
  CONTENTION_RETRIES, /* by CAS retries or the search of other shards */
  CONTENTION_SLOWER,  /* by the same work taking more CPU time */
  CONTENTION_CROWDED, /* scales up to one thread a CPU, not beyond */
  CONTENTION_BOUND,   /* a sample of the cell did not finish in its time limit */
};

#define CONTENTION_SCALES_AT 0.9
/* More CPU time than this to others, in per cent: the figures are not the strategy's own. */
#define CONTENTION_MOST_FOREIGN 5.0

struct contention {
  enum contention_verdict verdict;
  char text[600];    /* one sentence, without the strategy's name */
  char own[40];      /* "0.85 to 1.16": what it leaves out, so that others can share it; or "" */
  double efficiency; /* throughput / (M x one thread's); NAN without a one-thread cell */
  double low, high;  /* bounds of its 95 % interval */
  double slower;     /* CPU-ns/op of work beyond one thread's; NAN as above */
  double slower_machine; /* of that, what threads that share nothing show as well; NAN: no arm */
  char private_arm[60];  /* the column that shares nothing, "" when there is none */
};

/* Of the cell (row, column) at `threads` threads on `cpus` CPUs. false without memory. */
bool contention_judge(struct contention *c, const struct rundata *d, size_t row, size_t column,
                      unsigned threads, unsigned cpus);

/*
 * The share of the base's CPU time that some strategy could remove: allocator time of the objects
 * that missed, waits, retries and searches. NAN when the base has no states at this thread count.
 */
double contention_ceiling(const struct rundata *d, size_t row, unsigned threads);

/*
 * How much of a delay planted under a strategy's lock (--inject) comes out in ns/op: 1 when the
 * lock is saturated, 1 / min(threads, CPUs) when it is not, for then every CPU waits its own. With
 * the bounds of the paired difference. column is that of the planted arm, "NAME:inject=NS".
 */
struct sensitivity {
  size_t without;       /* the column without the delay */
  double delay_ns;      /* per hold */
  double slope, lo, hi; /* of ns/op against acquisitions/op x delay_ns */
  double foreign;       /* per cent of the CPU time that others had, the more of the two cells */
};

/* No states are needed. false: the column has no delay planted, or one of the two is missing. */
bool contention_sensitivity(struct sensitivity *s, const struct rundata *d, size_t row,
                            size_t column, unsigned threads);

/* main of `poolbench contention RUN`. */
int contention_main(int argc, char **argv);

#endif
