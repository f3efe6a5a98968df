/*
 * The worker: one cell, measured once, in this process.
 *
 * worker_measure (cell.h) looks the cell's names up and calls worker_measure_with, which tests
 * call with workloads and strategies of their own. Both leave errors in the sample.
 */
#ifndef POOLBENCH_WORKER_H
#define POOLBENCH_WORKER_H

#include "harness/cell.h"
#include "harness/counters.h"

/* How often the live bytes are summed while ops run: each sum wakes the harness's thread. */
#define WORKER_LIVE_PERIOD_NS UINT64_C(5000000)

struct worker_target {
  const struct workload *workload;
  const struct workload_case *of; /* the case */
  const struct strategy *strategy;
  const char *const *options; /* the strategy's */
  size_t option_count;
  const struct counter_source *const *counter_sources;
};

/*
 * Measures the target under the cell's threads, windows, seed and so on; the cell's case and
 * strategy names are for messages only. With cell->join everything is closed afterwards and bytes
 * that are then still allocated are an error; without, threads and pool are left to _exit, and what
 * target and cell point to must stay valid until then.
 */
void worker_measure_with(const struct cell *cell, const struct worker_target *target,
                         struct sample *sample);

#endif
