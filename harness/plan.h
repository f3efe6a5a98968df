/*
 * The plan of a run: which cells are measured, how often, for how long, in which order.
 *
 * Built from options and the registries; touches no file but the objects of --object and starts
 * nothing. Cells stand in file order: allocator, case, thread count, strategy (the base first),
 * build. Times are nanoseconds.
 */
#ifndef POOLBENCH_PLAN_H
#define POOLBENCH_PLAN_H

#include "harness/allocators.h"
#include "harness/options.h"
#include "workloads/workload.h"

#include <stdbool.h>
#include <stdint.h>

/* How a cell's objects are obtained: a strategy with its options, and a discipline. */
struct plan_arm {
  char *spec;  /* what the worker gets: "global-locked:lock=ticket" */
  char *label; /* what stands after "/strategy=": spec, or spec ":twin" */
  const struct strategy *strategy;
  enum discipline discipline;
  bool is_base, is_twin;
};

/* A program that measures; the default is one build without label, this very program. */
struct plan_build {
  char *label; /* NULL: not in names */
  char *path;  /* NULL: this program */
};

/*
 * A row to measure. Settings go to cases that show memory over time (CASE_SERIES): the others
 * have none.
 */
struct plan_case {
  const struct workload *workload;
  const struct workload_case *info;
  const char *object; /* --object FILE it belongs to, or NULL */
  char *options;      /* --set, as far as it is this workload's; NULL: none */
};

struct plan_cell {
  const struct plan_case *row;
  const struct plan_arm *arm;
  const struct allocator_arm *allocator;
  const struct plan_build *build;
  unsigned threads;  /* as asked for: what the name says */
  unsigned team;     /* measuring threads; fewer where the case cannot use more */
  bool headline;     /* samples.txt; else sweep.txt */
  unsigned rounds;   /* measured in rounds 1..rounds; 0: dropped to save time */
  uint64_t window;   /* the measured part's aim */
  uint64_t limit;    /* when the worker gives up */
  uint64_t expected; /* wall time of a sample, all included */
  uint64_t lines;    /* the pass for shared lines on top, in rounds up to PLAN_LINES_ROUNDS */
  char *name;        /* "BenchmarkCompare/Pod/structured/strategy=malloc-32" */
  char *pair_name;   /* the same without strategy and discipline */
};

/* A strategy that a case cannot run under. */
struct plan_skip {
  const char *case_name;
  const char *arm; /* label */
  char why[120];
};

/* What the plan is fitted to. */
struct plan_machine {
  unsigned cpus;          /* usable ones */
  double cgroup_period_s; /* 0: no CPU quota */
};

#define PLAN_MAX_NOTES 12

struct plan {
  struct plan_arm *arms;
  size_t arm_count;
  struct plan_build *builds;
  size_t build_count;
  struct plan_case *cases;
  size_t case_count;
  struct workload_case *object_cases; /* storage of the cases of --object */
  size_t object_case_count;
  struct plan_cell *cells;
  size_t cell_count;
  struct plan_skip *skips;
  size_t skip_count;
  unsigned headline;     /* threads */
  unsigned rounds;       /* of the headline */
  unsigned sweep_rounds; /* 0: no sweep */
  bool sweep_is_ours;    /* the sweep was not asked for in detail: it may be thinned */
  bool rounds_are_ours;  /* no --rounds: they may be thinned, too */
  bool hurried;          /* --quick, suite all, or too much for the budget: no long waits */
  uint64_t seed;
  uint64_t budget; /* wall time to plan for; UINT64_MAX: any */
  uint64_t latest; /* a run whose pace would end it after that gives up rounds */
  uint64_t window;
  bool quick;
  const char *trim; /* --trim as given; NULL: never */
  uint64_t trim_ns, trim_bytes;
  const struct preset *preset;
  const struct plan_arm *preset_old, *preset_new;
  char notes[PLAN_MAX_NOTES][400]; /* decisions the user should know, one line each */
  size_t note_count;
};

/*
 * Fills the plan. Strings of options and the allocators must outlive it. false with e: an
 * unknown suite, case or strategy (with the nearest), an unreadable object, nothing to run.
 */
bool plan_build(struct plan *p, const struct options *o, const struct allocators *allocators,
                const struct plan_machine *machine, struct error *e);
void plan_free(struct plan *p);

/*
 * rehearsal.c: opens and closes in this process, at the most threads, every case that needs more
 * than a few objects: what does not fit memory or the limit of open files is said now, not once a
 * sample. false with e (EXIT_USAGE).
 */
bool plan_rehearse(const struct plan *p, struct error *e);

/* Appends a line to notes; one too many is dropped. */
void plan_note(struct plan *p, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * schedule.c: time.
 *
 * A rotation is the time in which every thread of an oversubscribed CPU runs once:
 * ceil(threads / cpus) slices. A window holds at least PLAN_ROTATIONS of them, so that no thread's
 * turn weighs more than a few percent.
 */
#define PLAN_SLICE_NS 3750000u
#define PLAN_ROTATIONS 4

/* Four against four samples can still give p = 0.029; three cannot decide anything. */
#define PLAN_FEWEST_ROUNDS 4

/* Suite all keeps so many rounds at least: p of five against five is 0.008 at best. */
#define PLAN_FEWEST_OF_ALL 5

/* Which lines are shared is a matter of 90 or 5 %, not of its decimals: one round pays the pass. */
#define PLAN_LINES_ROUNDS 1

/* The setting by which a series is told how many seconds to wait; workload.h. */
#define PLAN_IDLE "idle"

uint64_t plan_rotation(unsigned threads, unsigned cpus);

/* Sets windows, limits and expected times of all cells, then thins the plan to the budget. */
void plan_schedule(struct plan *p, const struct options *o, const struct plan_machine *machine);

/*
 * plan_fit.c: what is given up.
 *
 * After `round` rounds took `spent` ns: if the rest would end after p->latest at that pace, later
 * rounds of the sweep make way, then those of the headline; not those that Holm's correction needs,
 * except for suite all. Rounds that were measured stay. Each cut is a note.
 */
void plan_shorten(struct plan *p, unsigned round, uint64_t spent);

/*
 * The fewest rounds in which a row of the headline can be decided under Holm's correction:
 * 2 / C(2n, n), the smallest two-sided p of n against n samples, times the rows is below 0.05.
 */
unsigned plan_deciding_rounds(const struct plan *p);

/* The last round in which anything is measured. */
unsigned plan_last_round(const struct plan *p);

/* Expected wall time of the cell's sample in that round. */
uint64_t plan_sample_time(const struct plan_cell *c, unsigned round);

/* Expected wall time of the rounds after `done`. */
uint64_t plan_expected(const struct plan *p, unsigned done);

/*
 * The order of a round: indices of the cells that are measured in it, shuffled by the plan's seed
 * and the round alone, so that a resumed round has the same order. Returns how many.
 */
size_t plan_order(const struct plan *p, unsigned round, unsigned *order);

/* A number that depends on all three, for what varies from sample to sample. */
uint64_t plan_random(uint64_t seed, uint64_t a, uint64_t b);

#endif
