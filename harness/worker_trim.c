/* When the pool is trimmed while ops run; see worker_parts.h. On the harness's thread. */
#include "harness/worker_parts.h"

#include "harness/clock.h"
#include "harness/heap.h"

bool worker_trims(const struct worker *w) {
  return w->cell.trim_ns != 0 || w->cell.trim_bytes != 0;
}

uint64_t worker_look_period(const struct worker *w) {
  bool often = w->cell.trim_ns != 0 && w->cell.trim_ns < WORKER_LIVE_PERIOD_NS;
  return w->cell.trim_bytes ? NS_PER_MS : often ? w->cell.trim_ns : WORKER_LIVE_PERIOD_NS;
}

static uint64_t bytes_allocated(void) {
  struct heap_counts now;
  heap_total(&now);
  return now.alloc_bytes;
}

void worker_start_trims(struct worker *w) {
  w->next_trim_ns = clock_wall_ns() + w->cell.trim_ns;
  w->next_trim_bytes = bytes_allocated() + w->cell.trim_bytes;
}

/*
 * On the harness's thread, while ops run. A trim that comes late (no CPU was free, or much was
 * allocated between two looks) does not make the next one come early.
 */
void worker_trim_when_due(void *context) {
  struct worker *w = context;
  uint64_t now = w->cell.trim_ns ? clock_wall_ns() : 0;
  uint64_t bytes = w->cell.trim_bytes ? bytes_allocated() : 0;
  bool due = (w->cell.trim_ns && now >= w->next_trim_ns) ||
             (w->cell.trim_bytes && bytes >= w->next_trim_bytes);
  if (!due)
    return;
  pools_trim(&w->pools);
  w->trims++;
  w->next_trim_ns = now + w->cell.trim_ns;
  w->next_trim_bytes = bytes + w->cell.trim_bytes;
}
