/*
 * What the files that measure a sample share. For worker.c and worker_*.c alone; the order of the
 * steps is in worker.c.
 */
#ifndef POOLBENCH_WORKER_PARTS_H
#define POOLBENCH_WORKER_PARTS_H

#include "harness/pools.h"
#include "harness/sample.h"
#include "harness/series.h"
#include "harness/span.h"
#include "harness/team.h"
#include "harness/units.h"
#include "harness/worker.h"

/* One measuring thread, on lines of its own: its counters are written while others run. */
struct seat {
  struct workload_thread work;
  struct thread_reading reading;
  struct counter_thread counters;
  struct histogram latency;
  bool open;
} __attribute__((aligned(POOL_LINE)));

/*
 * Lives in pages of its own and by values, not on a stack: a thread whose op was cut off by the
 * time limit may still come back to it while the sample is being written.
 */
struct worker {
  struct cell cell;
  struct worker_target target;
  struct workload_case of;
  struct sample *sample; /* the harness's thread only */
  uint64_t deadline_ns;  /* CLOCK_MONOTONIC; 0: none */
  uint64_t next_trim_ns, next_trim_bytes, trims;
  struct heap_counts heap_before; /* before anything was opened, for the leak check */
  struct span_clock clock;        /* for timing single ops and states */
  struct workload_state *state;
  const struct strategy *watched; /* the target's as the workload sees it, see lines.h */
  struct pools pools;
  struct counters counters;
  struct seat *seats;
  struct team *team;
  unsigned cpus;  /* that the threads can use at once */
  double wall_ns; /* per op, by the last phase that was timed */
  uint64_t warmup_ns;
  bool has_speed, has_steal;
  uint64_t speed_ns, ops_per_call, throttled_before, steal_before, steal_ns;
  struct allocator allocator;
  struct measurement m;
  struct histogram latency; /* of all threads */
  struct series series;
};

/* ---- worker.c ---- */

void worker_out_of_memory(struct worker *w);
void worker_note_number(struct worker *w, const char *key, uint64_t value);

/* What states are timed with; NULL: they are not. */
const struct span_clock *worker_clock(const struct worker *w);

/* How long an op keeps CPUs busy, in ns: its wall time on all that the threads can use. */
double worker_busy_ns(const struct worker *w);

/* Runs a phase; false when the sample is over: an op failed, or the time limit passed. */
bool worker_run(struct worker *w, const struct team_phase *phase, struct team_result *result);

/* ---- worker_open.c ---- */

/* Workload, pools, counters and threads, in this order; false with the sample's error. */
bool worker_open(struct worker *w);

/*
 * Joins and frees what is open, and makes what is still allocated then an error. False: a thread
 * is in an op that does not end, and keeps everything.
 */
bool worker_close(struct worker *w);

/* Makes the first thread's reason the sample's error; `otherwise` when none of them gave one. */
void worker_explain_failure(struct worker *w, const char *otherwise);

/* ---- worker_threads.c: what the measuring threads do ---- */

extern const struct team_hooks worker_hooks;

/* ---- worker_warmup.c ---- */

/* Fills wall_ns and warmup_ns; flags a sample that did not settle. False: as worker_run. */
bool worker_warm_up(struct worker *w);

/* ---- worker_trim.c: trims at a pace, as a garbage collector would ---- */

bool worker_trims(const struct worker *w);

/* How often to look at the live bytes and whether a trim is due. */
uint64_t worker_look_period(const struct worker *w);

/* At the beginning of the warm-up: the measured part finds the pool as trims leave it. */
void worker_start_trims(struct worker *w);

/* A tick of a phase. */
void worker_trim_when_due(void *worker);

/* ---- worker_fill.c ---- */

/* While threads are parked and before the sample itself takes memory. */
void worker_read_memory(struct worker *w);

/* From what was read to the sample's units and flags; false when out of memory. */
bool worker_fill(struct worker *w);

#endif
