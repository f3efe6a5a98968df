/*
 * A run: everything that `poolbench run` holds while it measures.
 *
 * run.c drives it, measure.c takes its samples, record.c writes it down as run.json and reads it
 * back, announce.c says it.
 */
#ifndef POOLBENCH_RUN_H
#define POOLBENCH_RUN_H

#include "harness/allocators.h"
#include "harness/host.h"
#include "harness/launch.h"
#include "harness/options.h"
#include "harness/placement.h"
#include "harness/plan.h"
#include "harness/results.h"
#include "harness/runfiles.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* A sample that gave no value, or one that is doubtful enough to be named. */
struct run_failure {
  unsigned cell, round, seq;
  const char *what; /* launch_outcome_name, or "error" when the worker itself said it */
  char *why, *output;
};

/* What a cell has been through; parallel to the plan's cells. */
struct run_cell {
  unsigned failures, bounds; /* in a row of rounds; a good sample sets them back */
  bool given_up;             /* not tried again in this run */
  unsigned arenas;           /* the most that glibc made in a sample; 0: not told */
};

struct run_times {
  uint64_t wall_ns;     /* of all sessions of the run, from its first line to its last */
  uint64_t samples_ns;  /* wall time of the samples' processes */
  uint64_t measured_ns; /* of these: measured parts */
  uint64_t warmup_ns;   /* of these: warm-up */
};

enum run_status { RUN_RUNNING, RUN_COMPLETE, RUN_INTERRUPTED, RUN_BROKEN };

struct run {
  int argc;
  char **argv; /* as the plan was asked for: options only */
  struct options options;
  struct host host;
  struct placement placement;
  struct allocators allocators;
  struct plan plan;
  struct run_cell *cells;
  struct results results;
  struct runfiles files;
  struct run_failure *failures;
  size_t failure_count;
  struct sample facts; /* missing units and notes, the first of each name */
  json_t *identity;    /* what must be the same for a resumed run */
  json_t *topology;    /* hwloc's summary */
  json_t *forecasts;   /* of a resumed run, as poolbench scaling wrote them; NULL: none */
  char counters[1000]; /* what the workers are told to count */
  char id[24];
  time_t started, ended;
  struct run_times times;
  uint64_t session_start; /* monotonic */
  unsigned rounds_done;
  enum run_status status;
  const char *program; /* of workers without a build of their own */
};

/* --- record.c ---------------------------------------------------------------------------- */

/* run.json of the run as it stands. NULL when out of memory. The caller owns the reference. */
json_t *record_write(const struct run *run);

/*
 * What decides whether measurements can be mixed: this program, the processor, the kernel, the
 * usable CPUs, allocators and their settings, object files. NULL with e.
 */
json_t *record_identity(const struct run *run, struct error *e);

/* The command line that a recorded run was planned by. *argv is malloc'ed with its strings. */
bool record_command(const json_t *record, int *argc, char ***argv, struct error *e);
void record_free_command(int argc, char **argv);

/*
 * Takes over from the record what a resumed run goes on with: ID, seed, start, times, failures,
 * forecasts, rounds and notes; status RUN_COMPLETE when there is nothing to go on with.
 * Fails when the identity differs, saying in what.
 */
bool record_resume(const json_t *record, struct run *run, struct error *e);

/* A summary of the machine for the record. NULL when out of memory. */
json_t *record_topology(hwloc_topology_t topology);

/* --- run.c ------------------------------------------------------------------------------- */

/* `poolbench run`: argv[0] is "run". Prints; returns the exit status. */
int run_main(int argc, char **argv);

/* --- measure.c --------------------------------------------------------------------------- */

/* Failures, or bounds, in a row after which a cell is given up: it would cost its limit again. */
#define RUN_GIVE_UP_AFTER 2

/*
 * Measures the cell of `where` once, by a worker that is `program`, and keeps what came of it. A
 * failed sample is no error. false with e: the run cannot go on (interrupted, a file that cannot
 * be written, out of memory).
 */
bool run_measure(struct run *run, struct launcher *l, const char *program,
                 const struct result *where, struct error *e);

/* Remembers a failed sample. Takes over its strings, but not when out of memory: false. */
bool run_add_failure(struct run *run, const struct run_failure *f);

/*
 * Remembers the missing units of a sample and what is the same in all of them, the first of each
 * name; false when out of memory.
 */
bool run_keep_facts(struct run *run, const struct sample *s);

/* The text of a sample's note, NULL when it has none of that key. */
const char *run_note(const struct sample *s, const char *key);

/* --- announce.c: all to stdout ----------------------------------------------------------- */

void announce_machine(const struct run *run); /* "32 threads on 2 CPUs ..." */
void announce_plan(const struct run *run);    /* what is measured, skipped, decided, how long */
void announce_cells(const struct plan *p);    /* every cell, for --dry-run */
void announce_end(const struct run *run);     /* failures, and where the results are */

/* A run that was complete before, of which so many rounds had been planned. */
void announce_complete(const struct run *run, unsigned rounds, unsigned sweep_rounds);

#endif
