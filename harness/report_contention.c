/*
 * The figures of a report at the headline thread count: what each strategy costs and waits for,
 * per op, how long single ops took, and what memory was held. Medians over the samples, but for the
 * longest op; shows what was measured and leaves out the columns that this run has no value for.
 */
#include "harness/report.h"

#include <math.h>

struct figure {
  const char *unit, *per; /* the value is unit, or 100 x unit / per */
  const char *head;
  enum grid_kind kind;
  bool hide_zero; /* leave the column out when it is 0 everywhere */
  enum { OF_MEDIAN, OF_EVERY, OF_MOST } of;
};

static const struct figure contention_figures[] = {
    {"cpu-ns/op", NULL, "CPU", GRID_NS, false, OF_MEDIAN},
    {"blocked-ns/op", NULL, "blocked", GRID_NS, false, OF_MEDIAN},
    {"runqueue-ns/op", NULL, "run queue", GRID_NS, false, OF_MEDIAN},
    {"lockacq/op", NULL, "locks", GRID_COUNT, true, OF_MEDIAN},
    {"contended/op", "lockacq/op", "contended", GRID_PERCENT, true, OF_MEDIAN},
    {"lockwait-ns/op", NULL, "lock wait", GRID_NS, true, OF_MEDIAN},
    {"cas-retries/op", NULL, "CAS retries", GRID_COUNT, true, OF_MEDIAN},
    {"scans/op", NULL, "scans", GRID_COUNT, true, OF_MEDIAN},
    {"misses/op", NULL, "misses", GRID_COUNT, false, OF_MEDIAN},
};

/*
 * The medians of percentiles rise with the share when all of them are of the same samples, and none
 * is above the longest op of all: so a percentile that a sample was too short for is left out.
 */
static const struct figure latency_figures[] = {
    {"p50-ns", NULL, "p50", GRID_NS, false, OF_EVERY},
    {"p90-ns", NULL, "p90", GRID_NS, false, OF_EVERY},
    {"p99-ns", NULL, "p99", GRID_NS, false, OF_EVERY},
    {"p999-ns", NULL, "p99.9", GRID_NS, false, OF_EVERY},
    {"max-ns", NULL, "longest", GRID_NS, false, OF_MOST},
    {"timed-%", NULL, "ops timed", GRID_PERCENT, false, OF_MEDIAN},
    {"shared-lines-%", NULL, "shared lines", GRID_PERCENT, true, OF_MEDIAN},
};

static const struct figure footprint_figures[] = {
    {"live-peak-B", NULL, "live peak", GRID_BYTES, false, OF_MEDIAN},
    {"pooled-B", NULL, "pooled", GRID_BYTES, false, OF_MEDIAN},
    {"heap-held-B", NULL, "allocator holds", GRID_BYTES, false, OF_MEDIAN},
    {"rss-peak-B", NULL, "RSS peak", GRID_BYTES, false, OF_MEDIAN},
};

#define COUNT(list) (sizeof(list) / sizeof(list)[0])
enum { MOST_FIGURES = 16 };
_Static_assert(COUNT(contention_figures) <= MOST_FIGURES, "a table has room for its columns");
_Static_assert(COUNT(latency_figures) <= MOST_FIGURES, "a table has room for its columns");
_Static_assert(COUNT(footprint_figures) <= MOST_FIGURES, "a table has room for its columns");

/* A table in the making. */
struct figures {
  const struct figure *list;
  size_t count;
  bool shown[MOST_FIGURES];
};

bool report_has_percentile(const struct rundata *d, const struct rundata_cell *c,
                           const char *unit) {
  const struct rundata_values *v = rundata_unit(d, c, unit), *p50 = rundata_unit(d, c, "p50-ns");
  return v && p50 && v->n == p50->n;
}

/* NAN when the cell does not have the figure. */
static double figure_of(const struct rundata *d, const struct rundata_cell *c,
                        const struct figure *f) {
  double value, per;
  if (!c || (f->of == OF_EVERY && !report_has_percentile(d, c, f->unit)) ||
      !rundata_median(d, c, f->unit, &value))
    return NAN;
  if (f->of == OF_MOST) {
    const struct rundata_values *v = rundata_unit(d, c, f->unit);
    return v->sorted[v->n - 1];
  }
  if (!f->per)
    return value;
  return rundata_median(d, c, f->per, &per) && per > 0 ? 100 * value / per : NAN;
}

static bool is_shown(const struct rundata *d, const struct figure *f) {
  for (size_t i = 0; i < d->cell_count; i++) {
    bool timed = d->cells[i].headline && !d->cells[i].series;
    double v = timed ? figure_of(d, &d->cells[i], f) : NAN;
    if (!isnan(v) && (v != 0 || !f->hide_zero))
      return true;
  }
  return false;
}

static bool add_row(const struct rundata *d, const struct rundata_cell *c, const struct figures *t,
                    struct grid *g) {
  for (size_t f = 0; f < t->count; f++) {
    if (!t->shown[f])
      continue;
    char text[GRID_VALUE] = "-";
    double v = figure_of(d, c, &t->list[f]);
    if (!isnan(v))
      grid_value(t->list[f].kind, v, text);
    if (!grid_add(g, "%s", text))
      return false;
  }
  return true;
}

/* A terminal gets the case on a line of its own: the table stays narrow. */
static bool add_case(const struct report *r, size_t row, bool markdown, const struct figures *t,
                     size_t columns, struct grid *g) {
  const struct rundata *d = &r->data;
  bool named = false;
  for (size_t column = 0; column < d->columns.count; column++) {
    const struct rundata_cell *c = rundata_headline(d, row, column);
    if (!c || c->series)
      continue;
    if (!markdown && !named) {
      if (!grid_add(g, "%s", d->rows.names[row]))
        return false;
      for (size_t i = 1; i < columns; i++)
        if (!grid_add(g, "%s", ""))
          return false;
    }
    if (markdown && !grid_add(g, "%s", named ? "" : d->rows.names[row]))
      return false;
    named = true;
    if (!grid_add(g, "%s%s", markdown ? "" : "  ", d->columns.names[column]) ||
        !add_row(d, c, t, g))
      return false;
  }
  return true;
}

static bool make_table(const struct report *r, const struct figure *list, size_t count,
                       bool markdown, struct grid *g) {
  struct figures t = {.list = list, .count = count};
  size_t columns = markdown ? 2 : 1;
  for (size_t f = 0; f < count; f++)
    columns += t.shown[f] = is_shown(&r->data, &list[f]);
  grid_init(g, columns, markdown ? 2 : 1);
  bool ok = !markdown || grid_add(g, "case");
  ok = ok && grid_add(g, "%s", markdown ? "strategy" : "");
  for (size_t f = 0; ok && f < count; f++)
    ok = !t.shown[f] || grid_add(g, "%s", list[f].head);
  for (size_t row = 0; ok && row < r->data.rows.count; row++)
    ok = add_case(r, row, markdown, &t, columns, g);
  return ok;
}

bool report_contention(const struct report *r, bool markdown, struct grid *g) {
  return make_table(r, contention_figures, COUNT(contention_figures), markdown, g);
}

bool report_latency(const struct report *r, bool markdown, struct grid *g) {
  return make_table(r, latency_figures, COUNT(latency_figures), markdown, g);
}

bool report_footprint(const struct report *r, bool markdown, struct grid *g) {
  return make_table(r, footprint_figures, COUNT(footprint_figures), markdown, g);
}

bool report_has_footprint(const struct report *r) {
  for (size_t f = 0; f < COUNT(footprint_figures); f++)
    if (is_shown(&r->data, &footprint_figures[f]))
      return true;
  return false;
}

bool report_has_latency(const struct report *r) {
  return is_shown(&r->data, &latency_figures[0]);
}
