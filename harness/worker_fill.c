/*
 * From what was read to the sample: units (units.h), hardware counters, the flag of a long tail.
 * On the harness's thread, between phases.
 */
#include "harness/worker_parts.h"

#include "harness/footprint.h"
#include "harness/pace.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void worker_read_memory(struct worker *w) {
  struct measurement *m = &w->m;
  pools_held(&w->pools, &m->held);
  m->has_system_bytes = allocator_system_bytes(
      &w->allocator, &m->system_bytes, m->why_no_system_bytes, sizeof m->why_no_system_bytes);
  m->has_rss = os_rss_peak("", &m->rss_peak);
}

/* The sum over the threads, or (not "") why one of them could not count the event. */
static const char *sum_counter(const struct worker *w, size_t event, double *sum, bool *scaled) {
  const char *why = w->counters.events[event].why;
  *sum = 0;
  for (unsigned t = 0; t < w->cell.threads && *why == '\0'; t++) {
    const struct counter_thread *c = &w->seats[t].counters;
    why = c->why[event];
    *sum += (double)c->values[event];
    *scaled = *scaled || c->multiplexed[event];
  }
  return why;
}

static bool add_counters(struct worker *w) {
  bool ok = true, scaled = false;
  for (size_t i = 0; i < w->counters.count && ok; i++) {
    char name[COUNTER_NAME_MAX + 4];
    double sum;
    const char *why = sum_counter(w, i, &sum, &scaled);
    snprintf(name, sizeof name, "%s/op", w->counters.events[i].name);
    ok = *why ? sample_add_missing(w->sample, name, why)
              : sample_add(w->sample, name, sum / (double)w->m.ops);
  }
  return ok && (!scaled || sample_add_note(w->sample, NOTE_MULTIPLEXED,
                                           "more events than counters: each was counted for a "
                                           "share of the time and scaled up"));
}

static bool flag_tail(struct worker *w) {
  char text[120];
  double busy = (double)w->m.elapsed_ns / (double)w->m.ops * w->cpus;
  double tail = pace_tail(busy, w->m.elapsed_ns);
  if (tail <= 1.01 * PACE_TAIL) /* the plan aims at the limit itself */
    return true;
  snprintf(text, sizeof text, "%" PRIu64 " ops: half an op is %.1f %% of the measured part",
           w->m.ops, 100 * tail);
  return sample_add_flag(w->sample, FLAG_SHORT_OPS, text);
}

bool worker_fill(struct worker *w) {
  struct thread_reading *readings = calloc(w->cell.threads, sizeof *readings);
  unsigned arenas;
  if (!readings)
    return false;
  for (unsigned i = 0; i < w->cell.threads; i++)
    readings[i] = w->seats[i].reading;
  for (unsigned i = 0; i < w->cell.threads; i++)
    histogram_merge(&w->latency, &w->seats[i].latency);
  w->m.latency = &w->latency;
  w->m.thread = readings;
  w->m.threads = w->cell.threads;
  w->m.cpus = w->cpus;
  bool ok =
      units_fill(&w->m, w->sample) && add_counters(w) && flag_tail(w) &&
      (!worker_trims(w) || sample_add(w->sample, "trims/op", (double)w->trims / (double)w->m.ops));
  free(readings);
  if (ok && allocator_arenas(&w->allocator, &arenas))
    worker_note_number(w, "arenas", arenas);
  return ok;
}
