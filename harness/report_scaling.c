/*
 * The limits of scaling in a report: a row a strategy, a column a case, what poolbench scaling says
 * in short, and below them the ceiling. See report.h and docs/scaling.md.
 */
#include "harness/contention.h"
#include "harness/report.h"
#include "harness/scaling.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NOTHING "-"

/* The table under way: the cases from `first` to before `end` that have a curve. */
struct limits {
  const struct report *report;
  const struct scaling *scaling;
  size_t first, end; /* rows of the run */
};

static bool has_curve(const struct limits *l, size_t row) {
  for (size_t i = 0; i < l->scaling->count; i++)
    if (l->scaling->curves[i].row == row && scaling_is_curve(&l->scaling->curves[i]))
      return true;
  return false;
}

static double ceiling_of(const struct limits *l, size_t row) {
  const struct rundata *d = &l->report->data;
  const struct rundata_cell *base = rundata_headline(d, row, 0);
  return base ? contention_ceiling(d, row, base->threads) : NAN;
}

/* column = the number of columns stands for the ceiling. */
static void figure(const struct limits *l, size_t row, size_t column, char text[SCALING_SHORT]) {
  const struct scaling_curve *c = scaling_find(l->scaling, (unsigned)row, (unsigned)column);
  bool is_ceiling = column == l->report->data.columns.count;
  double ceiling = is_ceiling ? ceiling_of(l, row) : NAN;
  snprintf(text, SCALING_SHORT, NOTHING);
  if (isfinite(ceiling))
    snprintf(text, SCALING_SHORT, "%.1f %%", 100 * ceiling);
  else if (c && (c->fitted || c->has_pair))
    scaling_short(c, text);
}

static bool says_something(const struct limits *l, size_t column) {
  char text[SCALING_SHORT];
  for (size_t row = l->first; row < l->end; row++) {
    figure(l, row, column, text);
    if (has_curve(l, row) && strcmp(text, NOTHING) != 0)
      return true;
  }
  return false;
}

static bool add_line(const struct limits *l, size_t column, struct grid *g) {
  const struct rundata *d = &l->report->data;
  char text[SCALING_SHORT];
  bool ok = grid_add(g, "%s", column < d->columns.count ? d->columns.names[column] : "ceiling");
  for (size_t row = l->first; ok && row < l->end; row++) {
    figure(l, row, column, text);
    ok = !has_curve(l, row) || grid_add(g, "%s", text);
  }
  return ok;
}

static bool make_table(const struct limits *l, struct grid *g) {
  const struct rundata *d = &l->report->data;
  size_t columns = 1;
  for (size_t row = l->first; row < l->end; row++)
    columns += has_curve(l, row);
  grid_init(g, columns, 1);
  bool ok = grid_add(g, "%s", "");
  for (size_t row = l->first; ok && row < l->end; row++)
    ok = !has_curve(l, row) || grid_add(g, "%s", d->rows.names[row]);
  for (size_t column = 0; ok && column <= d->columns.count; column++)
    ok = !says_something(l, column) || add_line(l, column, g);
  return ok;
}

/* Cases that do not fit beside the others come in a table below. *any: there was one. */
static bool write_tables(struct limits *l, bool markdown, bool *any, FILE *out) {
  static const char indent[] = "  ";
  bool ok = true;
  *any = false;
  for (l->first = 0; ok && l->first < l->report->data.rows.count; l->first = l->end) {
    struct grid g;
    l->end = l->report->data.rows.count;
    while ((ok = make_table(l, &g)) && l->end - l->first > 1 &&
           strlen(indent) + grid_width(&g) > GRID_PAGE) {
      grid_free(&g);
      l->end--;
    }
    bool filled = ok && g.columns > 1 && g.cells > g.columns;
    if (filled && *any)
      fputc('\n', out);
    if (filled && markdown)
      grid_markdown(&g, out);
    else if (filled)
      grid_print(&g, indent, out);
    *any |= filled;
    grid_free(&g);
  }
  return ok;
}

/* What the figures are. */
static const char *meaning(const struct scaling *s) {
  for (size_t i = 0; i < s->count; i++)
    if (s->curves[i].fitted)
      return "the fitted law, where there is none sigma + 2 kappa [95 %]";
  return "sigma + 2 kappa [95 %] of one and two threads";
}

static void write_limits(const struct limits *l, const char *tables, bool markdown, FILE *out) {
  const char *base = l->report->data.columns.names[0];
  fprintf(out, "%simits of scaling: %s; N*: threads that keep a lock busy\n%s%s",
          markdown ? "L" : "l", meaning(l->scaling), markdown ? "\n" : "", tables);
  fprintf(out,
          "%sceiling: the share of %s's CPU time that any strategy could remove; more: poolbench "
          "scaling\n\n",
          markdown ? "\n" : "  ", base);
}

static const struct scaling_curve *first_curve(const struct scaling *s) {
  for (size_t i = 0; i < s->count; i++)
    if (scaling_is_curve(&s->curves[i]))
      return &s->curves[i];
  return NULL;
}

static bool write_all(const struct report *r, const struct scaling *s, bool markdown, FILE *out) {
  struct limits l = {.report = r, .scaling = s};
  const struct scaling_curve *c = first_curve(s);
  char *text = NULL;
  size_t size;
  bool any;
  if (!c)
    return true;
  FILE *tables = open_memstream(&text, &size);
  if (!tables)
    return false;
  bool ok = write_tables(&l, markdown, &any, tables);
  ok = fclose(tables) == 0 && ok;
  if (ok && any)
    write_limits(&l, text, markdown, out);
  else if (ok)
    fprintf(out,
            "%simits of scaling: not known; %s, and one and two threads are not among them\n\n",
            markdown ? "L" : "l", c->why);
  free(text);
  return ok;
}

bool report_limits(const struct report *r, bool markdown, FILE *out) {
  struct scaling s;
  struct error e;
  bool ok = scaling_make(&s, &r->data, 0, &e) && write_all(r, &s, markdown, out);
  scaling_free(&s);
  return ok;
}
