/*
 * A cell on the worker's command line: what runner and worker agree on.
 *
 *     poolbench worker --case NAME --strategy SPEC --threads N --cpu-map LIST --window NS
 *         --limit NS --discipline D --seed S --fd FD [--object FILE] [--counters LIST]
 *         [--expect-allocator NAME] [--options TEXT] [--warmup-limit NS] [--no-latency]
 *         [--no-states] [--lines] [--trim-ns NS | --trim-bytes BYTES] [--join]
 *
 * --cpu-map holds one CPU number a thread, in thread order ("0,1,0,1"), or "none"; the runner
 * made it with hwloc (placement.h), so that a worker loads no topology. --window is the length the
 * measured part aims at, --limit the time after which the worker gives up and reports a bound,
 * counted from the start of its warm-up. --no-latency times no ops one by one and --no-states no
 * states (budget.h), which shows what timing them costs. --lines adds a pass that looks for shared
 * cache lines (lines.h). --trim-ns and --trim-bytes have the harness's thread trim the pool while
 * ops run, in the warm-up too. --join makes the worker join its threads and close the pool (checks
 * do).
 */
#ifndef POOLBENCH_CELL_H
#define POOLBENCH_CELL_H

#include "harness/error.h"
#include "workloads/workload.h"

#include <stdbool.h>
#include <stdint.h>

#define CELL_MAX_THREADS 4096
#define CELL_MAX_WINDOW_NS UINT64_C(3600000000000) /* an hour */

struct cell {
  const char *case_name;
  const char *strategy; /* spec: "global-locked:lock=ticket" */
  unsigned threads;
  const int *cpu_map; /* CPU of each thread; NULL: unbound */
  uint64_t window_ns, limit_ns, warmup_limit_ns;
  uint64_t trim_ns, trim_bytes; /* between trims of the pool while ops run; 0: none by that */
  enum discipline discipline;
  uint64_t seed;
  const char *object_file;      /* NULL: none */
  const char *options;          /* the workload's own, "key=value,..."; NULL: defaults */
  const char *counters;         /* comma separated events, NULL: the default set, "": none */
  const char *expect_allocator; /* NULL, or the allocator the process must prove it has */
  bool no_latency, no_states, lines;
  bool join;
};

struct sample;

/*
 * Copies the case of that name out of the registry or, for a name that is not in it, out of
 * those that object_file brings (NULL: none); its texts live until the process ends.
 * EXIT_USAGE for an unknown case, EXIT_INPUT for a file that cannot be used.
 */
bool cell_find_case(const char *name, const char *object_file, const struct workload **workload,
                    struct workload_case *found, struct error *e);

/*
 * Can the strategy run this case? False with the reason in words ("needs an owner"), so that
 * the pair is skipped by name.
 */
bool cell_fits(const struct workload_case *c, const struct strategy *s, enum discipline discipline,
               unsigned threads, char *why, size_t why_size);

/* The same for pools=private: nothing of the case may pass from thread to thread. */
bool cell_fits_private(const struct workload_case *c, char *why, size_t why_size);

/* How many threads are attached to the cell's pool at once: measuring ones and the case's own. */
unsigned cell_attached(const struct workload_case *c, unsigned threads);

/* Measures the cell in this process and fills the sample (errors go into sample->error). */
void worker_measure(const struct cell *cell, struct sample *sample);

/* main of `poolbench worker`: parses, measures, writes to --fd, leaves by _exit. */
int worker_main(int argc, char **argv);

#endif
