/* What memory is held at the marks of a series; see series.h. */
#include "harness/series.h"

#include "harness/clock.h"
#include "harness/heap.h"
#include "harness/osstat.h"
#include "harness/units.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define UNIT_SIZE (SERIES_PHASE_SIZE + 24)

void series_mark_add(void *context, const struct series_mark *mark) {
  struct series *s = context;
  struct heap_counts counts;
  struct pool_held held;
  if (s->count == SERIES_MAX_MARKS) {
    s->too_many = true;
    return;
  }
  struct series_point *p = &s->points[s->count++];
  p->time_ns = clock_wall_ns() - s->start_ns;
  heap_total(&counts);
  s->strategy->held(s->pool, &held);
  p->live = heap_live(&counts);
  p->blocks = counts.allocs - counts.frees;
  p->pooled = held.bytes;
  p->has_rss = os_rss_now("", &p->rss);
  p->has_system =
      allocator_system_bytes(s->allocator, &p->system, s->why_no_system, sizeof s->why_no_system);
  p->mark = *mark;
  snprintf(p->phase, sizeof p->phase, "%s", mark->phase);
  for (char *c = p->phase; *c; c++)
    if (*c == ' ')
      *c = '-';
}

static bool add(struct sample *sample, const struct series_point *p, const char *unit,
                double value) {
  char name[UNIT_SIZE];
  snprintf(name, sizeof name, "%s:%s", p->phase, unit);
  return sample_add(sample, name, value);
}

/* heap-held-B, or why there is none. */
static bool add_heap_held(struct sample *sample, const struct series *s,
                          const struct series_point *p) {
  char name[UNIT_SIZE];
  if (p->has_system)
    return add(sample, p, "heap-held-B", p->system > p->live ? (double)(p->system - p->live) : 0);
  snprintf(name, sizeof name, "%s:heap-held-B", p->phase);
  return sample_add_missing(sample, name, s->why_no_system);
}

static bool fill_point(struct sample *sample, const struct series *s,
                       const struct series_point *p) {
  const struct series_mark *m = &p->mark;
  bool ok = add(sample, p, "time-ns", (double)p->time_ns) &&
            add(sample, p, "live-B", (double)p->live) &&
            add(sample, p, "pooled-B", (double)p->pooled) && add_heap_held(sample, s, p) &&
            add(sample, p, "pinnable-B", (double)p->blocks * (double)sysconf(_SC_PAGESIZE));
  if (p->has_rss)
    ok = ok && add(sample, p, "rss-B", (double)p->rss);
  if (m->ops > 0 && m->busy_ns > 0)
    ok = ok && add(sample, p, "ns/op", (double)m->busy_ns / (double)m->ops);
  if (m->stall_ns > 0)
    ok = ok && add(sample, p, "stall-ns", (double)m->stall_ns);
  if (m->owners > 0)
    ok = ok && add(sample, p, "B/owner", (double)p->live / (double)m->owners);
  return ok;
}

static const char *marked_twice(const struct series *s) {
  for (size_t i = 0; i < s->count; i++)
    for (size_t k = 0; k < i; k++)
      if (strcmp(s->points[i].phase, s->points[k].phase) == 0)
        return s->points[i].phase;
  return NULL;
}

bool series_fill(const struct series *s, struct sample *sample) {
  const char *twice = marked_twice(s);
  if (twice || s->too_many) {
    if (twice)
      sample_set_error(sample, "series: phase %s was marked twice", twice);
    else
      sample_set_error(sample, "series: more than %d marks", SERIES_MAX_MARKS);
    return true;
  }
  for (size_t i = 0; i < s->count; i++)
    if (!fill_point(sample, s, &s->points[i]))
      return false;
  return true;
}
