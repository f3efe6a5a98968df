/*
 * The layout of benchstat before 2023, as older reviews show it:
 *
 *     name                     old time/op  new time/op  delta
 *     Compare/Pod/structured   64.6µs ± 8%  44.5µs ± 5%  -31.17%  (p=0.008 n=5+5)
 *
 * Means, and how far the farthest sample is from the mean. Unlike the old tool it leaves no
 * sample out, and p is that of the other formats.
 */
#include "comparer/render.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct grid_row {
  char **fields;
  size_t count;
  bool heading, group;
};

/* One printed table. Widths are common to all of them. */
struct grid {
  struct grid_row *rows;
  size_t count, room;
  size_t columns; /* of the table */
};

struct classic {
  const struct table_set *set;
  const struct render_options *o;
  struct arena arena;
  struct grid *grids;
  size_t count;
  bool failed;
};

static void add_field(struct classic *c, struct grid_row *row, size_t room, char *text) {
  if (!row->fields)
    row->fields = arena_alloc(&c->arena, room * sizeof *row->fields);
  if (!row->fields || !text || row->count == room)
    c->failed = true;
  else
    row->fields[row->count++] = text;
}

static struct grid_row *add_row(struct classic *c, struct grid *g) {
  static struct grid_row nowhere; /* takes the fields of a row there is no memory for */
  struct grid_row *rows = array_grow(g->rows, g->count, &g->room, sizeof *rows);
  if (!rows) {
    c->failed = true;
    nowhere = (struct grid_row){0};
    return &nowhere;
  }
  g->rows = rows;
  g->rows[g->count] = (struct grid_row){0};
  return &g->rows[g->count++];
}

/* ---- numbers ---- */

/* unit is base, or PREFIX-base. */
static bool has_base(const char *unit, const char *base) {
  size_t n = strlen(unit), m = strlen(base);
  return n >= m && strcmp(unit + n - m, base) == 0 && (n == m || unit[n - m - 1] == '-');
}

/* time/op for ns/op and so on, with the prefix. */
static char *metric_name(struct classic *c, const char *unit) {
  static const char *const names[][2] = {
      {"ns/op", "time/op"}, {"ns/GC", "time/GC"}, {"B/op", "alloc/op"}, {"MB/s", "speed"}};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (has_base(unit, names[i][0]))
      return arena_printf(&c->arena, "%.*s%s", (int)(strlen(unit) - strlen(names[i][0])), unit,
                          names[i][1]);
  return arena_copy(&c->arena, text_of(unit));
}

struct classic_scale {
  double factor;
  int decimals;
  const char *suffix;
  bool time;
};

static bool is_time(const char *unit) {
  return has_base(unit, "ns/op") || has_base(unit, "ns/GC");
}

/* Three digits by the first value of a row; 99.5 and 9.95 are where they round up. */
static struct classic_scale classic_scale(double first, const char *unit) {
  static const struct {
    double factor;
    const char *plain, *bytes, *speed;
  } steps[] = {{1e12, "T", "TB", "TB/s"},
               {1e9, "G", "GB", "GB/s"},
               {1e6, "M", "MB", "MB/s"},
               {1e3, "k", "kB", "kB/s"},
               {1, "", "B", "B/s"}};
  static const struct {
    double factor;
    const char *name;
  } times[] = {{1, "s"}, {1e3, "ms"}, {1e6, "µs"}, {1e9, "ns"}};
  struct classic_scale s = {1, 2, "", is_time(unit)};
  if (s.time) {
    for (size_t i = 0; i < 4; i++) {
      double x = first / 1e9 * times[i].factor;
      s.factor = times[i].factor;
      s.suffix = times[i].name;
      if (x >= 0.995 || i == 3) {
        s.decimals = x >= 99.5 ? 0 : x >= 9.95 ? 1 : 2;
        break;
      }
    }
    return s;
  }
  bool speed = has_base(unit, "MB/s");
  bool bytes = has_base(unit, "B/op") || has_base(unit, "bytes") || has_base(unit, "bytes/op");
  double x = first * (speed ? 1e6 : 1);
  for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
    if (x >= 0.995 * steps[i].factor || steps[i].factor == 1) {
      double v = x / steps[i].factor;
      s.decimals = v >= 99.5 ? 0 : v >= 9.95 ? 1 : 2;
      s.factor = steps[i].factor / (speed ? 1e6 : 1);
      s.suffix = speed ? steps[i].speed : bytes ? steps[i].bytes : steps[i].plain;
      break;
    }
  return s;
}

/* The value in the unit of the input. The product with the factor is undone to 15 digits. */
static double written_value(const struct table *t, double v) {
  char text[40];
  if (t->unit_factor == 1)
    return v;
  snprintf(text, sizeof text, "%.15g", v / t->unit_factor);
  return strtod(text, NULL);
}

static char *mean_text(struct classic *c, struct classic_scale s, double mean, const char *range) {
  double v = s.time ? mean / 1e9 * s.factor : mean / s.factor;
  const char *suffix = c->o->ascii && strcmp(s.suffix, "µs") == 0 ? "us" : s.suffix;
  if (!range)
    return arena_printf(&c->arena, "%.*f%s     ", s.decimals, v, suffix);
  return arena_printf(&c->arena, "%.*f%s %s%3s", s.decimals, v, suffix, c->o->ascii ? "+-" : "±",
                      range);
}

static char *cell_text(struct classic *c, const struct table *t, const struct table_cell *cell,
                       struct classic_scale s) {
  char range[RENDER_TEXT];
  double mean = cell->mean;
  if (mean == 0 || cell->greatest == 0)
    return mean_text(c, s, written_value(t, mean), NULL);
  snprintf(range, sizeof range, "%.0f%%",
           100 * fmax(1 - cell->least / mean, cell->greatest / mean - 1));
  return mean_text(c, s, written_value(t, mean), range);
}

static char *percent_text(struct classic *c, double from, double to) {
  double percent = (to / from - 1) * 100;
  if (isinf(percent))
    return arena_printf(&c->arena, "%cInf%%", percent > 0 ? '+' : '-');
  if (isnan(percent))
    return arena_printf(&c->arena, "NaN%%");
  return arena_printf(&c->arena, "%+.2f%%", percent);
}

/* ---- rows ---- */

static void add_heading(struct classic *c, struct grid *g, const struct table *t) {
  struct grid_row *row = add_row(c, g);
  char *metric = metric_name(c, t->written_unit);
  size_t n = t->column_count, room = n + 4;
  row->heading = true;
  if (!metric) {
    c->failed = true;
    return;
  }
  if (n > 2) {
    add_field(c, row, room, arena_printf(&c->arena, "name \\ %s", metric));
    for (size_t i = 0; i < n; i++)
      add_field(c, row, room, arena_copy(&c->arena, text_of(t->columns[i].label)));
    return;
  }
  add_field(c, row, room, arena_printf(&c->arena, "name"));
  if (n == 1) {
    add_field(c, row, room, metric);
    return;
  }
  add_field(c, row, room, arena_printf(&c->arena, "old %s", metric));
  add_field(c, row, room, arena_printf(&c->arena, "new %s", metric));
  add_field(c, row, room, arena_printf(&c->arena, "delta"));
}

static void add_delta(struct classic *c, struct grid_row *row, size_t room,
                      const struct table_cell *old, const struct table_cell *new) {
  const struct comparison *x = &new->comparison;
  bool changed = x->exact ? new->mean != old->mean : x->significant && !x->all_equal;
  add_field(c, row, room,
            changed ? percent_text(c, old->mean, new->mean) : arena_printf(&c->arena, "~   "));
  if (x->all_equal)
    add_field(c, row, room, arena_printf(&c->arena, "(all equal)"));
  else if (x->exact)
    add_field(c, row, room, arena_printf(&c->arena, "(n=%zu+%zu)", x->n_base, x->n));
  else
    add_field(c, row, room, arena_printf(&c->arena, "(p=%.3f n=%zu+%zu)", x->p, x->n_base, x->n));
}

static void add_result(struct classic *c, struct grid *g, const struct table *t,
                       const struct table_row *r) {
  const struct table_cell *cells = &t->cells[r->first];
  if (t->column_count == 2 && (r->count < 2 || !cells[1].compared))
    return;
  struct grid_row *row = add_row(c, g);
  size_t room = t->column_count + 4;
  struct classic_scale s = classic_scale(written_value(t, cells[0].mean), t->written_unit);
  add_field(c, row, room, arena_copy(&c->arena, text_of(r->label)));
  for (size_t i = 0, column = 0; i < r->count; i++, column++) {
    for (; column < cells[i].column; column++)
      add_field(c, row, room, arena_printf(&c->arena, "%s", ""));
    add_field(c, row, room, cell_text(c, t, &cells[i], s));
  }
  if (t->column_count == 2)
    add_delta(c, row, room, &cells[0], &cells[1]);
}

/* Means of 0 are left out, as the old tool does. */
static double column_geomean(const struct table *t, uint32_t column, double *room) {
  size_t n = 0;
  for (size_t i = 0; i < t->cell_count; i++)
    if (t->cells[i].column == column && t->cells[i].mean != 0)
      room[n++] = written_value(t, t->cells[i].mean);
  return geometric_mean(room, n);
}

static void add_geomean(struct classic *c, struct grid *g, const struct table *t) {
  double *room = malloc((t->cell_count + 1) * sizeof *room), first = NAN, last = NAN;
  if (!room) {
    c->failed = true;
    return;
  }
  struct grid_row *row = add_row(c, g);
  struct classic_scale s = {0};
  add_field(c, row, t->column_count + 4, arena_printf(&c->arena, "[Geo mean]"));
  for (uint32_t i = 0; i < t->column_count; i++) {
    last = column_geomean(t, i, room);
    if (i == 0) {
      first = last;
      s = classic_scale(first, t->written_unit);
    }
    add_field(c, row, t->column_count + 4,
              isnan(last) ? arena_printf(&c->arena, "%s", "") : mean_text(c, s, last, NULL));
  }
  if (t->column_count == 2 && !isnan(first) && !isnan(last))
    add_field(c, row, t->column_count + 4, percent_text(c, first, last));
  free(room);
}

/* ---- configurations ---- */

static bool key_varies(const struct table_set *set, size_t key) {
  for (size_t i = 1; i < set->count; i++)
    if (strcmp(set->tables[i].keys[key], set->tables[0].keys[key]))
      return true;
  return false;
}

/* "pkg:a goos:linux": what tells this table from others. */
static void add_group(struct classic *c, struct grid *g, const struct table *t) {
  char *text = NULL;
  for (size_t k = 0; k < c->set->key_count; k++)
    if (*t->keys[k] && key_varies(c->set, k)) {
      text = arena_printf(&c->arena, "%s%s%s:%s", text ? text : "", text ? " " : "",
                          c->set->key_names[k], t->keys[k]);
      c->failed = c->failed || !text;
    }
  if (!text)
    return;
  struct grid_row *row = add_row(c, g);
  row->group = true;
  add_field(c, row, 1, text);
}

static bool same_columns(const struct table *a, const struct table *b) {
  if (a->unit_id != b->unit_id || a->column_count != b->column_count)
    return false;
  for (size_t i = 0; i < a->column_count; i++)
    if (strcmp(a->columns[i].label, b->columns[i].label))
      return false;
  return true;
}

/* Tables of one unit and the same columns become one printed table with a line per group. */
static void add_tables(struct classic *c, size_t first, bool *done) {
  const struct table_set *set = c->set;
  struct grid *g = &c->grids[c->count];
  size_t results = 0;
  g->columns = set->tables[first].column_count;
  add_heading(c, g, &set->tables[first]);
  for (size_t i = first; i < set->count && !c->failed; i++) {
    const struct table *t = &set->tables[i];
    if (done[i] || !same_columns(t, &set->tables[first]))
      continue;
    done[i] = true;
    size_t before = g->count;
    add_group(c, g, t);
    size_t heads = g->count;
    for (size_t r = 0; r < t->row_count; r++)
      if (!t->rows[r].hidden)
        add_result(c, g, t, &t->rows[r]);
    if (c->o->classic_geomean && g->count > heads + 1)
      add_geomean(c, g, t);
    results += g->count - heads;
    g->count = g->count > heads ? g->count : before;
  }
  if (results)
    c->count++;
  else
    g->count = 0;
}

/* ---- lines ---- */

static size_t width_of(const char *s) {
  return text_width(text_of(s));
}

static void pad(FILE *out, size_t from, size_t to) {
  while (from++ < to)
    fputc(' ', out);
}

/* The fields that every block of columns repeats: the label and the base. */
#define REPEATED 2

/* The repeated fields of a row and those in [from, to). */
static void write_row(const struct grid_row *row, const size_t *widths, size_t from, size_t to,
                      FILE *out) {
  size_t n = row->count < to ? row->count : to;
  if (n <= from && n > REPEATED)
    n = REPEATED;
  while (n > 0 && !*row->fields[n - 1])
    n = n - 1 == from ? REPEATED : n - 1;
  for (size_t i = 0; i < n; i = i + 1 == REPEATED ? from : i + 1) {
    const char *s = row->fields[i];
    size_t width = width_of(s);
    bool note = i + 1 == n && *s == '(';
    if (i)
      fputs("  ", out);
    if (i && !row->heading && !note)
      pad(out, width, widths[i]);
    fputs(s, out);
    if (!row->group && (i == 0 || (row->heading && i + 1 < n)))
      pad(out, width, widths[i]);
  }
  fputc('\n', out);
}

/* Where the block of columns that starts at `from` ends: one column at least, then what fits. */
static size_t block_end(const size_t *widths, size_t from, size_t fields, size_t width) {
  size_t at = from, used = widths[0] + 2 + widths[1];
  do
    used += 2 + widths[at++];
  while (at < fields && used + 2 + widths[at] <= width);
  return at;
}

/* Two columns and their difference stay together; more are cut into blocks of the width. */
static void write_grid(const struct grid *g, const size_t *widths, size_t width, FILE *out) {
  bool cut = width && g->columns > 2;
  size_t from = REPEATED, fields = g->columns + 1;
  do {
    size_t to = cut ? block_end(widths, from, fields, width) : SIZE_MAX;
    if (from > REPEATED)
      fputc('\n', out);
    for (size_t r = 0; r < g->count; r++)
      write_row(&g->rows[r], widths, from, to, out);
    from = to;
  } while (from < fields);
}

static bool write_grids(struct classic *c, FILE *out) {
  size_t most = 1;
  for (size_t i = 0; i < c->count; i++)
    for (size_t r = 0; r < c->grids[i].count; r++)
      most = c->grids[i].rows[r].count > most ? c->grids[i].rows[r].count : most;
  size_t *widths = calloc(most, sizeof *widths);
  if (!widths)
    return false;
  for (size_t i = 0; i < c->count; i++)
    for (size_t r = 0; r < c->grids[i].count; r++) {
      const struct grid_row *row = &c->grids[i].rows[r];
      for (size_t k = 0; k < row->count && !row->group; k++) {
        size_t width = width_of(row->fields[k]);
        widths[k] = width > widths[k] ? width : widths[k];
      }
    }
  for (size_t i = 0; i < c->count; i++) {
    if (i)
      fputc('\n', out);
    write_grid(&c->grids[i], widths, c->o->width, out);
  }
  free(widths);
  return true;
}

bool render_classic(const struct table_set *set, const struct render_options *o, FILE *out) {
  struct classic c = {.set = set, .o = o};
  bool *done = calloc(set->count + 1, sizeof *done);
  c.grids = calloc(set->count + 1, sizeof *c.grids);
  c.failed = !done || !c.grids;
  for (size_t i = 0; i < set->count && !c.failed; i++)
    if (!done[i])
      add_tables(&c, i, done);
  bool ok = !c.failed && write_grids(&c, out);
  for (size_t i = 0; c.grids && i < set->count; i++)
    free(c.grids[i].rows);
  free(c.grids);
  free(done);
  arena_free(&c.arena);
  return ok;
}
