/* What memory is held at the marks of a series; see series.h. */
#include "harness/series.h"

#include "harness/clock.h"
#include "harness/heap.h"
#include "harness/osstat.h"
#include "harness/units.h"

#include <stdio.h>

#define NAME_MAX_BYTES 128

/* "idle 5 s" and "rss-B" give "idle-5-s:rss-B". */
static void unit_name(char name[NAME_MAX_BYTES], const char *phase, const char *unit) {
  snprintf(name, NAME_MAX_BYTES, "%s:%s", phase, unit);
  for (char *c = name; *c; c++)
    if (*c == ' ')
      *c = '-';
}

static void add(struct series *s, const char *phase, const char *unit, double value) {
  char name[NAME_MAX_BYTES];
  double before;
  unit_name(name, phase, unit);
  if (s->failed)
    return;
  s->failed = sample_get(s->sample, name, &before) || !sample_add(s->sample, name, value);
  if (s->failed)
    sample_set_error(s->sample, "series: cannot add %s: twice, or out of memory", name);
}

/* All readings come before the first sample_add, which allocates. */
void series_mark_add(void *context, const struct series_mark *mark) {
  struct series *s = context;
  struct heap_counts counts;
  struct pool_held held;
  char why[160], name[NAME_MAX_BYTES];
  uint64_t now = clock_wall_ns(), rss = 0, bytes = 0;
  heap_total(&counts);
  uint64_t live = heap_live(&counts);
  s->strategy->held(s->pool, &held);
  bool has_rss = os_rss_now("", &rss);
  bool has_bytes = allocator_system_bytes(s->allocator, &bytes, why, sizeof why);
  add(s, mark->phase, "time-ns", (double)(now - s->start_ns));
  add(s, mark->phase, "live-B", (double)live);
  add(s, mark->phase, "pooled-B", (double)held.bytes);
  if (has_bytes)
    add(s, mark->phase, "heap-held-B", bytes > live ? (double)(bytes - live) : 0);
  if (has_rss)
    add(s, mark->phase, "rss-B", (double)rss);
  if (mark->ops > 0)
    add(s, mark->phase, "ns/op", (double)mark->busy_ns / (double)mark->ops);
  if (mark->stall_ns > 0)
    add(s, mark->phase, "stall-ns", (double)mark->stall_ns);
  if (mark->owners > 0)
    add(s, mark->phase, "B/owner", (double)live / (double)mark->owners);
  unit_name(name, mark->phase, "heap-held-B");
  if (!has_bytes && !s->failed)
    s->failed = !sample_add_missing(s->sample, name, why);
}
