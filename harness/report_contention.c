/*
 * The short contention table of a report: what each strategy costs and waits for, per op, at the
 * headline thread count. Medians over the samples; shows what was measured and leaves out the
 * columns that this run has no value for.
 */
#include "harness/report.h"

#include <math.h>

struct figure {
  const char *unit, *per; /* the value is unit, or 100 x unit / per */
  const char *head;
  enum grid_kind kind;
  bool hide_zero; /* leave the column out when it is 0 everywhere */
};

static const struct figure figures[] = {
    {"cpu-ns/op", NULL, "CPU", GRID_NS, false},
    {"blocked-ns/op", NULL, "blocked", GRID_NS, false},
    {"runqueue-ns/op", NULL, "run queue", GRID_NS, false},
    {"lockacq/op", NULL, "locks", GRID_COUNT, true},
    {"contended/op", "lockacq/op", "contended", GRID_PERCENT, true},
    {"lockwait-ns/op", NULL, "lock wait", GRID_NS, true},
    {"cas-retries/op", NULL, "CAS retries", GRID_COUNT, true},
    {"scans/op", NULL, "scans", GRID_COUNT, true},
    {"misses/op", NULL, "misses", GRID_COUNT, false},
    {"pooled-B", NULL, "pooled", GRID_BYTES, true},
    {"rss-peak-B", NULL, "RSS peak", GRID_BYTES, false},
};
enum { FIGURES = sizeof figures / sizeof figures[0] };

/* NAN when the cell does not have the figure. */
static double figure_of(const struct rundata *d, const struct rundata_cell *c,
                        const struct figure *f) {
  double value, per;
  if (!c || !rundata_median(d, c, f->unit, &value))
    return NAN;
  if (!f->per)
    return value;
  return rundata_median(d, c, f->per, &per) && per > 0 ? 100 * value / per : NAN;
}

static bool is_shown(const struct rundata *d, const struct figure *f) {
  for (size_t i = 0; i < d->cell_count; i++) {
    double v = d->cells[i].headline ? figure_of(d, &d->cells[i], f) : NAN;
    if (!isnan(v) && (v != 0 || !f->hide_zero))
      return true;
  }
  return false;
}

static bool add_row(const struct rundata *d, const struct rundata_cell *c, const bool *shown,
                    struct grid *g) {
  for (size_t f = 0; f < FIGURES; f++) {
    if (!shown[f])
      continue;
    char text[GRID_VALUE] = "-";
    double v = figure_of(d, c, &figures[f]);
    if (!isnan(v))
      grid_value(figures[f].kind, v, text);
    if (!grid_add(g, "%s", text))
      return false;
  }
  return true;
}

/* A terminal gets the case on a line of its own: the table stays narrow. */
static bool add_case(const struct report *r, size_t row, bool markdown, const bool *shown,
                     size_t columns, struct grid *g) {
  const struct rundata *d = &r->data;
  bool named = false;
  for (size_t column = 0; column < d->columns.count; column++) {
    const struct rundata_cell *c = rundata_headline(d, row, column);
    if (!c)
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
        !add_row(d, c, shown, g))
      return false;
  }
  return true;
}

bool report_contention(const struct report *r, bool markdown, struct grid *g) {
  bool shown[FIGURES];
  size_t columns = markdown ? 2 : 1;
  for (size_t f = 0; f < FIGURES; f++)
    columns += shown[f] = is_shown(&r->data, &figures[f]);
  grid_init(g, columns, markdown ? 2 : 1);
  bool ok = !markdown || grid_add(g, "case");
  ok = ok && grid_add(g, "%s", markdown ? "strategy" : "");
  for (size_t f = 0; ok && f < FIGURES; f++)
    ok = !shown[f] || grid_add(g, "%s", figures[f].head);
  for (size_t row = 0; ok && row < r->data.rows.count; row++)
    ok = add_case(r, row, markdown, shown, columns, g);
  return ok;
}
