/*
 * Tables as data: see table.h.
 *
 * Cells come sorted, so a table is a run of them and a row is a run within it. Values are copied
 * out of their chunks for one row at a time; nothing is held twice for longer.
 */
#include "comparer/table.h"

#include "comparer/number.h"
#include "comparer/sort.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_MEDIAN_N 50 /* beyond it the footnote says "> 50" */
#define MAX_TEST_N 9    /* likewise "> 10" */

/* The samples of one cell in one piece, in file order and sorted. */
struct samples {
  double *values, *sorted;
  size_t room;
  struct series series;
};

struct maker {
  struct table_set *set;
  const struct group *group;
  const struct reader *reader;
  struct stats_work *work;
  struct samples base, other;
  uint32_t *column_at; /* by column key: 1 + column of the table being made */
  const char *median_note, *test_note;
  size_t test_n;  /* samples a side below which no difference can be significant */
  size_t ranks_n; /* the ranks below are for this many samples: most cells have as many */
  struct stats_ranks ranks;
  struct table_error *error;
};

static bool out_of_memory(struct maker *m) {
  m->error->refused = false;
  snprintf(m->error->text, sizeof m->error->text, "out of memory");
  return false;
}

static bool load(struct maker *m, struct samples *s, const struct cell *c) {
  if (c->n > s->room) {
    free(s->values);
    free(s->sorted);
    s->room = c->n * 2;
    s->values = malloc(s->room * sizeof *s->values);
    s->sorted = malloc(s->room * sizeof *s->sorted);
    if (!s->values || !s->sorted) {
      s->room = 0;
      return out_of_memory(m);
    }
  }
  cell_values(c, s->values);
  memcpy(s->sorted, s->values, c->n * sizeof *s->sorted);
  sort_doubles(s->sorted, c->n);
  s->series = (struct series){s->values, s->sorted, c->origins, c->n};
  return true;
}

/* ---- footnotes ---- */

/* "need >= 6 samples ...": the same for every cell, so made once. */
static bool make_notes(struct maker *m) {
  const struct table_options *o = &m->set->options;
  char level[NUMBER_TEXT];
  number_shortest(o->confidence, level);
  size_t n = stats_median_min_n(o->confidence, MAX_MEDIAN_N);
  m->median_note =
      arena_printf(&m->set->arena, "need %s %zu samples for confidence interval at level %s",
                   n ? ">=" : ">", n ? n : MAX_MEDIAN_N, level);
  n = 1;
  while (n <= MAX_TEST_N && !(stats_mwu_min_p(n, n) <= o->alpha))
    n++;
  number_shortest(o->alpha, level);
  m->test_n = n;
  m->test_note =
      arena_printf(&m->set->arena, "need %s %zu samples to detect a difference at alpha level %s",
                   n <= MAX_TEST_N ? ">=" : ">", n, level);
  return m->median_note && m->test_note ? true : out_of_memory(m);
}

static const char *range_note(struct maker *m, double least, double greatest) {
  char lo[NUMBER_TEXT], hi[NUMBER_TEXT];
  number_shortest(least, lo);
  number_shortest(greatest, hi);
  return arena_printf(&m->set->arena, "exact distribution expected, but values range from %s to %s",
                      lo, hi);
}

/* ---- cells ---- */

/*
 * Samples that did not finish are known from below only: the upper end of the interval is gone,
 * and when they are half of the cell or more, so is the center.
 */
static bool mark_bounds(struct maker *m, struct table_cell *c, const struct series *s) {
  size_t bounds = 0;
  for (size_t i = 0; s->origins && i < s->n; i++)
    bounds += (s->origins[i].flags & SAMPLE_BOUND) != 0;
  if (bounds == 0)
    return true;
  c->is_bound = 2 * bounds >= s->n;
  c->hi = INFINITY;
  c->summary_note = arena_printf(&m->set->arena,
                                 "%zu of %zu samples did not finish in their time limit: \">\" is "
                                 "a lower bound",
                                 bounds, s->n);
  return c->summary_note ? true : out_of_memory(m);
}

static bool summarize(struct maker *m, const struct table *t, struct table_cell *c,
                      const struct series *s) {
  const double *x = s->sorted;
  if (t->exact) {
    c->center = stats_mode(x, s->n);
    c->lo = x[0];
    c->hi = x[s->n - 1];
    if (c->lo != c->hi && !(c->summary_note = range_note(m, c->lo, c->hi)))
      return out_of_memory(m);
    return true;
  }
  if (s->n != m->ranks_n) {
    m->ranks = stats_median_ranks(s->n, m->set->options.confidence);
    m->ranks_n = s->n;
  }
  struct stats_ranks r = m->ranks;
  c->center = stats_median(x, s->n);
  c->lo = r.lo == 0 ? -INFINITY : x[r.lo - 1];
  c->hi = r.hi > s->n ? INFINITY : x[r.hi - 1];
  if (isinf(c->lo) || isinf(c->hi))
    c->summary_note = m->median_note;
  return mark_bounds(m, c, s);
}

static void fill_mean(struct table_cell *c, const struct series *s) {
  for (size_t i = 0; i < s->n; i++)
    c->mean += (s->values[i] - c->mean) / (double)(i + 1);
  c->least = s->sorted[0];
  c->greatest = s->sorted[s->n - 1];
}

static struct analysis_options analysis_options(const struct maker *m, const struct table *t) {
  const struct table_options *o = &m->set->options;
  return (struct analysis_options){.alpha = o->alpha,
                                   .confidence = o->confidence,
                                   .exact = t->exact,
                                   .ci = o->ci,
                                   .verdicts = o->verdicts,
                                   .paired = o->paired,
                                   .correct = o->correct,
                                   .margin = o->margin,
                                   .better = t->better};
}

/* Every sample says in which run it was measured, and all are equal. */
static bool is_constant_in_runs(const struct series *s) {
  if (!s->origins || s->sorted[0] != s->sorted[s->n - 1])
    return false;
  for (size_t i = 0; i < s->n; i++)
    if (!s->origins[i].run)
      return false;
  return true;
}

/* In files of runs, what never varies (allocations of whole ops) is exact without being told. */
static bool compare(struct maker *m, const struct table *t, const struct table_row *row,
                    struct table_cell *c) {
  struct analysis_options o = analysis_options(m, t);
  o.exact =
      o.exact || (is_constant_in_runs(&m->base.series) && is_constant_in_runs(&m->other.series));
  char why[160] = "";
  if (!analysis_compare(m->work, &m->base.series, &m->other.series, &o, &c->comparison, why,
                        sizeof why)) {
    if (!why[0])
      return out_of_memory(m);
    m->error->refused = true;
    snprintf(m->error->text, sizeof m->error->text, "%s, %s, %s: %s", row->label,
             t->columns[c->column].label, t->unit, why);
    return false;
  }
  c->compared = true;
  return true;
}

static bool fill_cell(struct maker *m, const struct table *t, struct table_row *row,
                      struct table_cell *c, const struct cell *source, bool has_base) {
  struct samples *s = c->column == 0 ? &m->base : &m->other;
  if (!load(m, s, source))
    return false;
  c->n = source->n;
  c->source = source;
  c->residue = cell_residue(m->group, source, &m->set->arena);
  if (!summarize(m, t, c, &s->series))
    return false;
  if (m->set->options.means)
    fill_mean(c, &s->series);
  if (m->set->options.doubts) {
    struct analysis_options o = analysis_options(m, t);
    c->doubts = analysis_series_doubts(&s->series, &o);
  }
  if (source->one_process)
    c->doubts |= DOUBT_ONE_PROCESS;
  if (c->column == 0 || !has_base)
    return true;
  if (!compare(m, t, row, c))
    return false;
  c->comparison.doubts |= c->doubts | t->cells[row->first].doubts;
  return true;
}

/* ---- one table ---- */

static int by_rank(const void *a, const void *b, void *rank) {
  uint32_t x = ((uint32_t *)rank)[*(const uint32_t *)a];
  uint32_t y = ((uint32_t *)rank)[*(const uint32_t *)b];
  return x < y ? -1 : x > y;
}

static bool name_column(struct maker *m, struct table_column *column, uint32_t key) {
  const struct projection *p = &m->group->column;
  const struct intern *strings = &m->reader->strings;
  const char **levels = arena_alloc(&m->set->arena, p->field_count * sizeof *levels);
  column->label = projection_label(p, key, strings, &m->set->arena);
  if (!levels || !column->label)
    return out_of_memory(m);
  for (size_t i = 0; i < p->field_count; i++)
    levels[i] = projection_value(p, key, p->flat[i], strings).p;
  column->levels = levels;
  return true;
}

/* The columns that occur in these cells, in order; column_at maps their keys. */
static bool make_columns(struct maker *m, struct table *t, struct cell *const *cells, size_t n) {
  uint32_t *keys = NULL;
  size_t count = 0, room = 0;
  for (size_t i = 0; i < n; i++) {
    if (m->column_at[cells[i]->column])
      continue;
    m->column_at[cells[i]->column] = 1;
    uint32_t *grown = array_grow(keys, count, &room, sizeof *keys);
    if (!grown) {
      free(keys);
      return out_of_memory(m);
    }
    keys = grown;
    keys[count++] = cells[i]->column;
  }
  qsort_r(keys, count, sizeof *keys, by_rank, m->group->column_rank);
  t->columns = arena_alloc(&m->set->arena, count * sizeof *t->columns);
  bool ok = t->columns != NULL || out_of_memory(m);
  t->column_count = count;
  for (size_t i = 0; ok && i < count; i++) {
    t->columns[i] = (struct table_column){0};
    m->column_at[keys[i]] = (uint32_t)i + 1;
    ok = name_column(m, &t->columns[i], keys[i]);
  }
  free(keys);
  return ok;
}

/* Rows are runs of cells with one row key. */
static bool make_rows(struct maker *m, struct table *t, struct cell *const *cells, size_t n) {
  size_t rows = 0;
  for (size_t i = 0; i < n; i++)
    rows += i == 0 || cells[i]->row != cells[i - 1]->row;
  t->rows = arena_alloc(&m->set->arena, rows * sizeof *t->rows);
  t->cells = arena_alloc(&m->set->arena, n * sizeof *t->cells);
  if (!t->rows || !t->cells)
    return out_of_memory(m);
  t->cell_count = n;
  for (size_t i = 0; i < n; i++) {
    t->cells[i] = (struct table_cell){.column = m->column_at[cells[i]->column] - 1};
    if (i > 0 && cells[i]->row == cells[i - 1]->row) {
      t->rows[t->row_count - 1].count++;
      continue;
    }
    const char *label =
        projection_label(&m->group->row, cells[i]->row, &m->reader->strings, &m->set->arena);
    if (!label)
      return out_of_memory(m);
    t->rows[t->row_count++] = (struct table_row){.label = label, .first = i, .count = 1};
  }
  return true;
}

static void note_column(struct table_column *c, const char *note) {
  size_t i = 0;
  while (c->notes[i])
    i++;
  c->notes[i] = note;
}

/* Room for what a column needs while its geometric means are made. */
struct column_values {
  double *centers, *ratios;
  size_t center_count, ratio_count;
  bool bad_ratio; /* a base of 0 that became something else */
};

static void gather(struct column_values *v, const struct table_cell *c) {
  v->centers[v->center_count++] = c->center;
  if (!c->compared)
    return;
  double base = c->comparison.base_center, ratio = 1;
  if (c->center != base) {
    v->bad_ratio = v->bad_ratio || base == 0;
    ratio = base == 0 ? 0 : c->center / base;
  }
  v->ratios[v->ratio_count++] = ratio;
}

static void finish_column(struct table *t, size_t i, const struct column_values *v,
                          size_t base_count) {
  struct table_column *c = &t->columns[i];
  if (i > 0 && v->ratio_count != base_count)
    note_column(c, "benchmark set differs from baseline; geomeans may not be comparable");
  c->geomean = geometric_mean(v->centers, v->center_count);
  c->has_geomean = !isnan(c->geomean);
  if (!c->has_geomean)
    note_column(c, "summaries must be >0 to compute geomean");
  if (i == 0 || v->bad_ratio)
    return;
  c->ratio = geometric_mean(v->ratios, v->ratio_count);
  c->has_ratio = !isnan(c->ratio);
  if (!c->has_ratio)
    note_column(c, "ratios must be >0 to compute geomean");
}

static bool make_geomeans(struct maker *m, struct table *t) {
  struct column_values *v = calloc(t->column_count, sizeof *v);
  double *room = malloc(2 * t->cell_count * sizeof *room);
  if (!v || !room) {
    free(v);
    free(room);
    return out_of_memory(m);
  }
  /* Two passes: first how many cells each column has, then their values. */
  for (size_t i = 0; i < t->cell_count; i++)
    v[t->cells[i].column].center_count++;
  double *next = room;
  for (size_t i = 0; i < t->column_count; i++) {
    v[i].centers = next;
    v[i].ratios = next + v[i].center_count;
    next += 2 * v[i].center_count;
    v[i].center_count = 0;
  }
  for (size_t i = 0; i < t->cell_count; i++)
    gather(&v[t->cells[i].column], &t->cells[i]);
  for (size_t i = 0; i < t->column_count; i++)
    finish_column(t, i, &v[i], v[0].center_count);
  free(room);
  free(v);
  return true;
}

static bool is_exact(const struct maker *m, const struct unit *tidied) {
  const struct table_options *o = &m->set->options;
  const struct unit *written = &m->reader->units.list[tidied->written];
  bool exact = tidied->exact;
  for (size_t i = 0; i < o->exact_unit_count; i++)
    exact = exact || text_is(tidied->name, o->exact_units[i]) ||
            text_is(written->name, o->exact_units[i]);
  return exact;
}

static bool name_table(struct maker *m, struct table *t, const struct cell *first) {
  const struct projection *p = &m->group->table;
  const struct intern *strings = &m->reader->strings;
  const struct unit *unit = &m->reader->units.list[first->unit];
  const struct unit *written = &m->reader->units.list[unit->written];
  const char **keys = arena_alloc(&m->set->arena, p->field_count * sizeof *keys);
  if (!keys)
    return out_of_memory(m);
  for (size_t i = 0; i < p->field_count; i++)
    keys[i] = projection_value(p, first->table, p->flat[i], strings).p;
  t->keys = keys;
  t->unit = unit->name.p;
  t->unit_id = first->unit;
  t->written_unit = written->name.p;
  t->unit_factor = written->factor;
  t->binary = unit_is_binary(unit->name);
  t->better = unit->better;
  t->exact = is_exact(m, unit);
  t->in_family = unit_is_time_per_op(unit->name) && !t->exact;
  return true;
}

static bool make_table(struct maker *m, struct table *t, struct cell *const *cells, size_t n) {
  *t = (struct table){0};
  if (!name_table(m, t, cells[0]) || !make_columns(m, t, cells, n) || !make_rows(m, t, cells, n))
    return false;
  for (size_t i = 0; i < n; i++)
    m->column_at[cells[i]->column] = 0;
  for (size_t r = 0; r < t->row_count; r++) {
    struct table_row *row = &t->rows[r];
    bool has_base = t->cells[row->first].column == 0;
    for (size_t i = 0; i < row->count; i++)
      if (!fill_cell(m, t, row, &t->cells[row->first + i], cells[row->first + i], has_base))
        return false;
    m->set->incomplete_rows += row->count < t->column_count;
  }
  return make_geomeans(m, t);
}

const struct table_cell *table_cell_at(const struct table *t, const struct table_row *row,
                                       uint32_t column) {
  size_t lo = row->first, hi = row->first + row->count;
  while (lo < hi) {
    size_t middle = lo + (hi - lo) / 2;
    if (t->cells[middle].column < column)
      lo = middle + 1;
    else
      hi = middle;
  }
  return lo < row->first + row->count && t->cells[lo].column == column ? &t->cells[lo] : NULL;
}

/* ---- all tables ---- */

/* Tables by unit: head[unit] is 1 + the first table, next[table] 1 + the next of the same unit. */
struct by_unit {
  size_t *head, *next;
};

/* Each unit is a family of its own; what the gate counts is the one of sec/op. */
static bool judge_unit(struct maker *m, const struct by_unit *by, uint32_t unit,
                       struct comparison **rows) {
  struct table_set *set = m->set;
  const struct table *t = NULL;
  size_t n = 0;
  for (size_t i = by->head[unit]; i; i = by->next[i - 1]) {
    t = &set->tables[i - 1];
    for (size_t k = 0; k < t->cell_count; k++)
      if (t->cells[k].compared)
        rows[n++] = &t->cells[k].comparison;
  }
  if (n == 0)
    return true;
  struct analysis_options o = analysis_options(m, t);
  if (!analysis_family(rows, n, &o))
    return out_of_memory(m);
  set->compared += n;
  if (!t->in_family)
    return true;
  set->family = n;
  for (size_t i = 0; i < n; i++)
    set->best_min_p = fmin(set->best_min_p, rows[i]->min_p);
  return true;
}

static bool judge(struct maker *m) {
  struct table_set *set = m->set;
  size_t units = m->reader->units.count, cells = 0;
  struct by_unit by = {calloc(units + 1, sizeof *by.head), calloc(set->count + 1, sizeof *by.next)};
  for (size_t i = set->count; by.head && by.next && i-- > 0;) {
    uint32_t unit = set->tables[i].unit_id;
    by.next[i] = by.head[unit];
    by.head[unit] = i + 1;
    cells += set->tables[i].cell_count;
  }
  struct comparison **rows = malloc((cells + 1) * sizeof *rows);
  bool ok = by.head && by.next && rows ? true : out_of_memory(m);
  for (uint32_t unit = 0; ok && unit < units; unit++)
    ok = judge_unit(m, &by, unit, rows);
  free(by.head);
  free(by.next);
  free(rows);
  return ok;
}

static struct text threads_of(const struct maker *m, const struct table_cell *c) {
  return name_gomaxprocs(m->group->names.strings[c->source->name]);
}

/* The twin's limit for one thread count of a table, applied to the other columns. */
static bool apply_twin(struct maker *m, struct table *t, uint32_t twin, struct text threads) {
  const struct comparison **twins = malloc(t->cell_count * sizeof *twins);
  struct comparison **others = malloc(t->cell_count * sizeof *others);
  size_t twin_count = 0, other_count = 0;
  for (size_t i = 0; twins && others && i < t->cell_count; i++) {
    struct table_cell *c = &t->cells[i];
    if (!c->compared || !text_equal(threads_of(m, c), threads))
      continue;
    if (c->column == twin)
      twins[twin_count++] = &c->comparison;
    else
      others[other_count++] = &c->comparison;
  }
  bool ok = twins && others;
  if (ok && twin_count) {
    double limit = analysis_twin_limit(twins, twin_count);
    analysis_apply_twin(others, other_count, limit);
    t->twin_limit = fmax(t->twin_limit, limit);
  }
  free(twins);
  free(others);
  return ok || out_of_memory(m);
}

static bool column_is(const struct table_set *set, const struct table_column *c, const char *name) {
  bool is = !strcmp(c->label, name);
  for (size_t i = 0; i < set->level_count; i++)
    is = is || !strcmp(c->levels[i], name);
  return is;
}

/* Every thread count once: a row of the twin leads when it is the first of its count. */
static bool judge_twins(struct maker *m) {
  for (size_t i = 0; i < m->set->count; i++) {
    struct table *t = &m->set->tables[i];
    uint32_t twin = 1;
    while (twin < t->column_count && !column_is(m->set, &t->columns[twin], m->set->options.twin))
      twin++;
    if (twin == t->column_count)
      continue;
    struct text done[64];
    size_t count = 0;
    for (size_t k = 0; k < t->cell_count; k++) {
      struct text threads = threads_of(m, &t->cells[k]);
      bool known = t->cells[k].column != twin;
      for (size_t d = 0; d < count && !known; d++)
        known = text_equal(done[d], threads);
      if (known)
        continue;
      if (count < sizeof done / sizeof *done) /* a count judged twice is judged the same */
        done[count++] = threads;
      if (!apply_twin(m, t, twin, threads))
        return false;
    }
  }
  return true;
}

static void count_findings(struct table_set *set) {
  for (size_t i = 0; i < set->count; i++) {
    const struct table *t = &set->tables[i];
    for (size_t k = 0; k < t->cell_count; k++) {
      const struct table_cell *c = &t->cells[k];
      if (!c->compared)
        continue;
      set->other_run = set->other_run || c->comparison.doubts & DOUBT_OTHER_RUN;
      set->one_process += (c->comparison.doubts & DOUBT_ONE_PROCESS) && !c->comparison.exact;
      set->regressions +=
          (t->in_family || c->comparison.exact) && c->comparison.verdict == VERDICT_SLOWER;
    }
  }
}

/* ---- order of rows ---- */

struct row_order {
  const struct table *t;
  enum table_sort by;
};

/* What a row is sorted by: its most significant, then its largest change; or its smallest p. */
static double row_weight(const struct row_order *o, const struct table_row *row, bool *changed) {
  double delta = 0, p = INFINITY;
  *changed = false;
  for (size_t i = 0; i < row->count; i++) {
    const struct table_cell *c = &o->t->cells[row->first + i];
    if (!c->compared)
      continue;
    const struct comparison *x = &c->comparison;
    double size = fabs(log(fabs(c->center / x->base_center)));
    if (x->significant && c->center != x->base_center) {
      *changed = true;
      delta = fmax(delta, isnan(size) ? 0 : size);
    }
    p = fmin(p, isnan(x->p) ? (c->center == x->base_center) : x->p);
  }
  return o->by == SORT_P ? p : -delta;
}

static int compare_rows(const void *a, const void *b, void *context) {
  const struct row_order *o = context;
  const struct table_row *x = a, *y = b;
  if (o->by == SORT_NAME) {
    int order = strcmp(x->label, y->label);
    if (order)
      return order;
  } else {
    bool changed_x, changed_y;
    double v = row_weight(o, x, &changed_x), w = row_weight(o, y, &changed_y);
    if (o->by == SORT_DELTA && changed_x != changed_y)
      return changed_x ? -1 : 1;
    if (v != w)
      return v < w ? -1 : 1;
  }
  return x->first < y->first ? -1 : x->first > y->first;
}

static void arrange_rows(struct table_set *set) {
  for (size_t i = 0; i < set->count; i++) {
    struct table *t = &set->tables[i];
    struct row_order o = {t, SORT_DELTA};
    for (size_t r = 0; r < t->row_count && set->options.changed_only; r++) {
      bool changed;
      row_weight(&o, &t->rows[r], &changed);
      t->rows[r].hidden = !changed;
    }
    o.by = set->options.sort;
    if (o.by != SORT_NONE)
      qsort_r(t->rows, t->row_count, sizeof *t->rows, compare_rows, &o);
  }
}

/* Footnotes come last: whether a difference is significant is known once families are judged. */
static void note_comparisons(struct maker *m) {
  for (size_t i = 0; i < m->set->count; i++) {
    struct table *t = &m->set->tables[i];
    for (size_t k = 0; k < t->cell_count; k++) {
      struct table_cell *c = &t->cells[k];
      const struct comparison *x = &c->comparison;
      if (!c->compared || x->exact)
        continue;
      if (x->all_equal)
        c->comparison_note = "all samples are equal";
      else if (!x->significant && x->n_base < m->test_n && x->n < m->test_n)
        c->comparison_note = m->test_note;
    }
  }
}

static const char **field_names(struct maker *m, const struct projection *p) {
  const char **names = arena_alloc(&m->set->arena, p->field_count * sizeof *names);
  for (size_t i = 0; names && i < p->field_count; i++) {
    names[i] = arena_copy(&m->set->arena, p->fields[p->flat[i]].name);
    if (!names[i])
      return NULL;
  }
  return names;
}

static bool make_tables(struct maker *m) {
  struct table_set *set = m->set;
  const struct group *g = m->group;
  set->key_names = field_names(m, &g->table);
  set->key_count = g->table.field_count;
  set->level_names = field_names(m, &g->column);
  set->level_count = g->column.field_count;
  if (!set->key_names || !set->level_names)
    return out_of_memory(m);
  size_t room = 0;
  for (size_t first = 0, n; first < g->cell_count; first += n) {
    struct cell *const *cells = g->cells + first;
    for (n = 1; first + n < g->cell_count && cells[n]->table == cells[0]->table &&
                cells[n]->unit == cells[0]->unit;)
      n++;
    struct table *tables = array_grow(set->tables, set->count, &room, sizeof *tables);
    if (!tables)
      return out_of_memory(m);
    set->tables = tables;
    if (!make_table(m, &set->tables[set->count++], cells, n))
      return false;
  }
  return true;
}

bool table_set_make(struct table_set *set, const struct group *g, const struct reader *r,
                    const struct table_options *o, struct table_error *e) {
  *set = (struct table_set){.options = *o, .best_min_p = 1};
  struct maker m = {.set = set, .group = g, .reader = r, .error = e};
  m.work = stats_work_new();
  m.column_at = calloc(g->column.key_count + 1, sizeof *m.column_at);
  bool ok = m.work && m.column_at ? true : out_of_memory(&m);
  ok = ok && make_notes(&m) && make_tables(&m) && judge(&m) && (!o->twin || judge_twins(&m));
  if (ok) {
    note_comparisons(&m);
    count_findings(set);
    arrange_rows(set);
  }
  free(m.column_at);
  free(m.base.values);
  free(m.base.sorted);
  free(m.other.values);
  free(m.other.sorted);
  stats_work_free(m.work);
  return ok;
}

void table_set_free(struct table_set *set) {
  free(set->tables);
  arena_free(&set->arena);
  *set = (struct table_set){0};
}
