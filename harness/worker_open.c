/* Opening and closing what a sample needs; see worker_parts.h. On the harness's thread. */
#include "harness/worker_parts.h"

#include "harness/clock.h"
#include "harness/lines.h"
#include "harness/pages.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* How long joining may take when a check asks for it and ops have been cut off. */
#define JOIN_GRACE_NS (10 * NS_PER_S)

/* What the threads run on: distinct CPUs if bound, else as many as allowed. */
static unsigned count_cpus(const struct cell *cell) {
  unsigned count = 0;
  if (!cell->cpu_map) {
    unsigned allowed = os_allowed_cpus();
    return allowed < cell->threads ? allowed : cell->threads;
  }
  for (unsigned i = 0; i < cell->threads; i++) {
    unsigned j = 0;
    while (cell->cpu_map[j] != cell->cpu_map[i])
      j++;
    count += j == i;
  }
  return count;
}

static bool open_workload(struct worker *w) {
  const struct cell *cell = &w->cell;
  const struct workload *workload = w->target.workload;
  char why[500] = "no reason given";
  struct workload_setup setup = {
      .case_name = w->of.name,
      .object_file = cell->object_file,
      .discipline = cell->discipline,
      .threads = cell->threads,
      .seed = cell->seed,
      .options = cell->options,
      .why = why,
      .why_size = sizeof why,
  };
  if (workload->open(&setup, &w->state))
    return true;
  w->state = NULL;
  sample_set_error(w->sample, "workload %s: %s", workload->name, why);
  return false;
}

static bool open_pool(struct worker *w) {
  const struct worker_target *target = &w->target;
  size_t kind_count;
  const struct kind *kinds = target->workload->kinds(w->state, &kind_count);
  char why[500] = "no reason given";
  struct pool_config config = {
      .options = target->options,
      .option_count = target->option_count,
      .threads = cell_attached(&w->of, w->cell.threads),
      .clock = worker_clock(w),
      .why = why,
      .why_size = sizeof why,
  };
  unsigned count = 1;
  if (strategy_given(target->options, target->option_count, STRATEGY_PRIVATE_POOLS)) {
    if (!cell_fits_private(&w->of, why, sizeof why)) {
      sample_set_error(w->sample, STRATEGY_PRIVATE_POOLS " cannot run %s: %s", w->of.name, why);
      return false;
    }
    count = w->cell.threads;
  }
  bool ok = pools_open(&w->pools, target->strategy, count, kinds, kind_count, &config);
  if (!ok)
    sample_set_error(w->sample, "strategy %s: %s", target->strategy->name, why);
  return ok;
}

static bool open_counters(struct worker *w) {
  struct error e;
  const char *list = w->cell.counters; /* a list comes from a runner that has proved it */
  if (counters_open(&w->counters, list, w->target.counter_sources, list == NULL, &e))
    return true;
  sample_set_error(w->sample, "%s", e.text);
  return false;
}

static bool open_seats(struct worker *w) {
  unsigned threads = w->cell.threads;
  w->watched = lines_strategy(w->target.strategy);
  w->seats = pages_map(threads * sizeof *w->seats);
  if (!w->seats) {
    worker_out_of_memory(w);
    return false;
  }
  for (unsigned i = 0; i < threads; i++)
    w->seats[i].work = (struct workload_thread){
        .strategy = w->watched,
        .pool = pools_of(&w->pools, i),
        .state = w->state,
        .index = i,
        .threads = threads,
    };
  return true;
}

void worker_explain_failure(struct worker *w, const char *otherwise) {
  for (unsigned i = 0; w->seats && i < w->cell.threads; i++)
    if (w->seats[i].work.why[0] != '\0') {
      sample_set_error(w->sample, "thread %u: %s", i, w->seats[i].work.why);
      return;
    }
  sample_set_error(w->sample, "%s", otherwise);
}

static bool start_team(struct worker *w) {
  struct error e;
  struct team_config config = {
      .threads = w->cell.threads,
      .cpu_map = w->cell.cpu_map,
      .hooks = worker_hooks,
      .context = w,
  };
  w->team = team_start(&config, 0, &e); /* a hang in here is the runner's to end */
  if (!w->team)
    worker_explain_failure(w, e.text);
  return w->team != NULL;
}

/* Bytes that are still allocated after everything was closed. */
static void check_leaks(struct worker *w) {
  struct heap_counts now;
  heap_total(&now);
  uint64_t allocs = now.allocs - w->heap_before.allocs, frees = now.frees - w->heap_before.frees;
  uint64_t bytes = now.alloc_bytes - w->heap_before.alloc_bytes;
  uint64_t freed = now.freed_bytes - w->heap_before.freed_bytes;
  if (!w->sample->error && (allocs != frees || bytes != freed))
    sample_set_error(w->sample,
                     "leak: after closing, %" PRId64 " blocks and %" PRId64 " bytes are still "
                     "allocated (less than none: freed with a size that was not asked for)",
                     (int64_t)(allocs - frees), (int64_t)(bytes - freed));
}

bool worker_close(struct worker *w) {
  if (w->team && !team_stop(w->team, JOIN_GRACE_NS)) {
    sample_add_note(w->sample, "threads-left", "an op did not end, its thread was not joined");
    return false;
  }
  pools_close(&w->pools);
  if (w->state)
    w->target.workload->close(w->state);
  pages_unmap(w->seats, w->cell.threads * sizeof *w->seats);
  heap_thread_end();
  check_leaks(w);
  return true;
}

bool worker_open(struct worker *w) {
  w->cpus = count_cpus(&w->cell);
  return open_workload(w) && open_pool(w) && open_counters(w) && open_seats(w) && start_team(w);
}
