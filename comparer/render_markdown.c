/*
 * Markdown for a review comment: tables that read well as source and rendered, no wider than
 * needed, with the direction of each change in words.
 *
 * Up to three columns stand side by side. More are transposed: a line per benchmark and column,
 * so that eight strategies fit the width of a comment.
 */
#include "comparer/render.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SIDE_BY_SIDE 3 /* columns of a table, the base included */

struct md_table {
  const struct table_set *set;
  const struct table *t;
  const struct render_options *o;
  struct arena *arena;
  const char **fields; /* rows of `columns` fields; row 0 is the heading */
  size_t columns, rows, row_room, at;
  bool *right; /* by column */
  struct intern footnotes;
  bool failed;
};

static void put(struct md_table *m, const char *text) {
  if (!text)
    m->failed = true;
  else if (!m->failed && m->at < m->columns)
    m->fields[(m->rows - 1) * m->columns + m->at++] = text;
}

/* Starts a row of empty fields. */
static void new_row(struct md_table *m) {
  if (m->failed)
    return;
  if (m->rows == m->row_room) {
    size_t room = m->row_room * 2 + 16;
    const char **fields = realloc(m->fields, room * m->columns * sizeof *fields);
    if (!fields) {
      m->failed = true;
      return;
    }
    m->fields = fields;
    m->row_room = room;
  }
  for (size_t i = 0; i < m->columns; i++)
    m->fields[m->rows * m->columns + i] = "";
  m->rows++;
  m->at = 0;
}

static char *keep(struct md_table *m, const char *s) {
  char *copy = arena_copy(m->arena, text_of(s));
  char *micro = copy && m->o->ascii ? strstr(copy, "µ") : NULL;
  if (micro) {
    *micro = 'u';
    memmove(micro + 1, micro + strlen("µ"), strlen(micro + strlen("µ")) + 1);
  }
  return copy;
}

/* A name as code where Markdown would read something into it; | cannot stand in a table. */
static char *name_text(struct md_table *m, const char *s) {
  bool code = strpbrk(s, "*_`<>[]~&\\#!") != NULL;
  char *out = arena_alloc(m->arena, 2 * strlen(s) + 8), *to = out;
  if (!out)
    return NULL;
  const char *fence = !code ? "" : strchr(s, '`') ? "``" : "`";
  to = stpcpy(to, fence);
  for (; *s; s++) {
    if (*s == '|')
      *to++ = '\\';
    *to++ = *s;
  }
  stpcpy(to, fence);
  return out;
}

static const char *mark(struct md_table *m, const char *note) {
  if (!note)
    return "";
  uint32_t n = intern_add(&m->footnotes, text_of(note));
  char *text = n == INTERN_NONE ? NULL : arena_printf(m->arena, " [%u]", n);
  m->failed = m->failed || !text;
  return text ? text : "";
}

/* ---- fields ---- */

static void put_center(struct md_table *m, const struct table_cell *c, struct scale s) {
  char value[RENDER_TEXT], range[RENDER_TEXT];
  if (!c) {
    put(m, "");
    return;
  }
  format_center(c, s, value);
  format_range(c, m->o->ascii, range);
  char *text = arena_printf(m->arena, "%s %s %s%s%s", value, m->o->ascii ? "+-" : "±", range,
                            mark(m, c->residue), mark(m, c->summary_note));
  put(m, text ? keep(m, text) : NULL);
}

/*
 * A footnote with what a row should be read with care for: many rows share one. What was compared
 * exactly does not depend on the machine's mood.
 */
static const char *doubts_mark(struct md_table *m, const struct comparison *c) {
  char text[RENDER_TEXT];
  format_doubts(c->exact ? 0 : c->doubts & ~(unsigned)HIDDEN_DOUBTS, ", ", text);
  if (!*text)
    return "";
  char *note = arena_printf(m->arena, "with care: %s", text);
  m->failed = m->failed || !note;
  return note ? mark(m, note) : "";
}

/* Three fields: the change, its test, and what to think of it. */
static void put_comparison(struct md_table *m, const struct table_cell *cell, struct scale s) {
  if (!cell || !cell->compared) {
    put(m, "");
    put(m, "");
    put(m, "");
    return;
  }
  const struct comparison *c = &cell->comparison;
  char delta[RENDER_TEXT], rest[RENDER_TEXT] = "";
  if (m->set->options.ci) {
    format_estimate(c, s, m->o->ascii, delta, rest);
    put(m, c->exact ? keep(m, delta) : arena_printf(m->arena, "%.300s %s", delta, rest));
  } else {
    format_delta(c, delta);
    put(m, keep(m, delta));
  }
  format_test(c, &m->set->options, true, rest);
  put(m, arena_printf(m->arena, "%s%s", rest, mark(m, cell->comparison_note)));
  const char *word = verdict_word(m->t, c);
  put(m, arena_printf(m->arena, "%s%s", *word ? word : direction_word(m->t, c), doubts_mark(m, c)));
}

static void put_geomean_change(struct md_table *m, const struct table_column *c) {
  put(m, c->has_ratio ? arena_printf(m->arena, "%+.2f%%", (c->ratio - 1) * 100) : "?");
  const char *note = "";
  for (size_t i = 0; i < sizeof c->notes / sizeof *c->notes; i++)
    if (c->notes[i])
      note = arena_printf(m->arena, "%s%s", note ? note : "", mark(m, c->notes[i]));
  put(m, note);
}

static void put_geomean(struct md_table *m, const struct table_column *c) {
  char text[SCALE_TEXT];
  if (!c->has_geomean) {
    put(m, "");
    return;
  }
  scale_format(scale_for(&c->geomean, 1, m->t->binary), c->geomean, text);
  put(m, keep(m, text));
}

/* ---- side by side ---- */

static void fill_wide(struct md_table *m) {
  const struct table *t = m->t;
  new_row(m);
  put(m, "benchmark");
  for (size_t i = 0; i < t->column_count; i++) {
    put(m, name_text(m, t->columns[i].label));
    if (i == 0)
      continue;
    put(m, "vs base");
    put(m, "test");
    put(m, "result");
  }
  for (size_t r = 0; r < t->row_count; r++) {
    const struct table_row *row = &t->rows[r];
    struct scale s = row_scale(t, row);
    if (row->hidden)
      continue;
    new_row(m);
    put(m, name_text(m, row->label));
    for (uint32_t i = 0; i < t->column_count; i++) {
      const struct table_cell *c = table_cell_at(t, row, i);
      put_center(m, c, s);
      if (i > 0)
        put_comparison(m, c, s);
    }
  }
  if (m->rows < 3)
    return;
  new_row(m);
  put(m, "geomean");
  for (size_t i = 0; i < t->column_count; i++) {
    put_geomean(m, &t->columns[i]);
    if (i == 0)
      continue;
    put_geomean_change(m, &t->columns[i]);
    put(m, "");
  }
}

/* ---- transposed ---- */

static void fill_long(struct md_table *m) {
  const struct table *t = m->t;
  new_row(m);
  put(m, "benchmark");
  put(m, m->set->level_count == 1 ? m->set->level_names[0] : "column");
  put(m, t->unit);
  put(m, "vs base");
  put(m, "test");
  put(m, "result");
  size_t shown = 0;
  for (size_t r = 0; r < t->row_count; r++) {
    const struct table_row *row = &t->rows[r];
    struct scale s = row_scale(t, row);
    if (row->hidden)
      continue;
    shown++;
    for (size_t i = 0; i < row->count; i++) {
      const struct table_cell *c = &t->cells[row->first + i];
      new_row(m);
      put(m, i == 0 ? name_text(m, row->label) : "");
      put(m, name_text(m, t->columns[c->column].label));
      put_center(m, c, s);
      put_comparison(m, c, s);
    }
  }
  for (size_t i = 0; i < t->column_count && shown > 1; i++) {
    new_row(m);
    put(m, i == 0 ? "geomean" : "");
    put(m, name_text(m, t->columns[i].label));
    put_geomean(m, &t->columns[i]);
    if (i > 0)
      put_geomean_change(m, &t->columns[i]);
  }
}

/* ---- lines ---- */

static void pad(FILE *out, size_t n, char c) {
  while (n-- > 0)
    fputc(c, out);
}

static void write_rule(const struct md_table *m, const size_t *widths, FILE *out) {
  for (size_t i = 0; i < m->columns; i++) {
    fputs("|", out);
    pad(out, widths[i] + 1 + !m->right[i], '-');
    fputs(m->right[i] ? ":" : "", out);
  }
  fputs("|\n", out);
}

static void write_rows(const struct md_table *m, const size_t *widths, FILE *out) {
  for (size_t r = 0; r < m->rows; r++) {
    for (size_t i = 0; i < m->columns; i++) {
      const char *s = m->fields[r * m->columns + i];
      size_t space = widths[i] - text_width(text_of(s));
      fputs("| ", out);
      if (m->right[i])
        pad(out, space, ' ');
      fputs(s, out);
      if (!m->right[i])
        pad(out, space, ' ');
      fputc(' ', out);
    }
    fputs("|\n", out);
    if (r == 0)
      write_rule(m, widths, out);
  }
}

static bool write_md(struct md_table *m, FILE *out) {
  size_t *widths = calloc(m->columns, sizeof *widths);
  if (!widths || m->failed) {
    free(widths);
    return false;
  }
  for (size_t i = 0; i < m->columns; i++)
    widths[i] = 1;
  for (size_t k = 0; k < m->rows * m->columns; k++) {
    size_t width = text_width(text_of(m->fields[k]));
    if (width > widths[k % m->columns])
      widths[k % m->columns] = width;
  }
  write_rows(m, widths, out);
  free(widths);
  if (m->footnotes.count > 1)
    fputc('\n', out);
  for (uint32_t i = 1; i < m->footnotes.count; i++)
    fprintf(out, "- [%u] %s\n", i, m->footnotes.strings[i].p);
  return true;
}

/* Which fields are numbers: side by side 1, 4, 5, 6 | 8 ...; transposed 2, 3. */
static void align(struct md_table *m, bool wide) {
  for (size_t i = 0; i < m->columns; i++) {
    size_t k = i < 2 ? 0 : (i - 2) % 4;
    m->right[i] = wide ? i == 1 || (i >= 2 && k < 2) : i == 2 || i == 3;
  }
}

static bool write_table(const struct table_set *set, const struct table *t,
                        const struct render_options *o, FILE *out) {
  struct arena arena = {0};
  bool wide = t->column_count <= SIDE_BY_SIDE;
  struct md_table m = {.set = set, .t = t, .o = o, .arena = &arena};
  m.columns = wide ? 2 + 4 * (t->column_count - 1) : 6;
  m.right = calloc(m.columns, sizeof *m.right);
  bool ok = m.right && intern_init(&m.footnotes);
  if (ok) {
    align(&m, wide);
    if (wide)
      fill_wide(&m);
    else
      fill_long(&m);
    ok = write_md(&m, out);
  }
  free(m.right);
  free(m.fields);
  intern_free(&m.footnotes);
  arena_free(&arena);
  return ok;
}

/* The unit, which direction is better, and the table's keys: all of the first, then changes. */
static void write_heading(const struct table_set *set, size_t i, FILE *out) {
  const struct table *t = &set->tables[i];
  static const char *const better[] = {[BETTER_UNKNOWN] = "",
                                       [BETTER_LESS] = ", lower is better",
                                       [BETTER_MORE] = ", higher is better"};
  const char *separator = " - ";
  fprintf(out, "**%s**%s", t->unit, better[t->better]);
  for (size_t k = 0; k < set->key_count; k++)
    if (key_changed(set, i, k)) {
      fprintf(out, "%s%s: %s", separator, set->key_names[k], t->keys[k]);
      separator = ", ";
    }
  fputs("\n\n", out);
}

static void write_family(const struct table_set *set, FILE *out) {
  if (set->options.correct != CORRECT_NONE)
    fprintf(out, "\np adjusted by %s over the %zu rows of sec/op.\n",
            set->options.correct == CORRECT_HOLM ? "Holm" : "Benjamini-Hochberg", set->family);
  else if (set->family >= 20)
    fprintf(out,
            "\n%zu rows of sec/op at alpha %g: expect about %.0f false alarms if nothing changed "
            "(-correct holm).\n",
            set->family, set->options.alpha, (double)set->family * set->options.alpha);
  for (size_t i = 0; i < set->count; i++)
    if (set->tables[i].twin_limit > 0 && set->tables[i].in_family)
      fprintf(out, "\n%s is the base measured again: changes below %.2f%% are no finding.\n",
              set->options.twin, 100 * set->tables[i].twin_limit);
  if (set->other_run)
    fputs("\nThe columns were measured in different runs, at different times.\n", out);
  if (set->one_process)
    fprintf(out,
            "\n%zu of %zu comparisons have many values of one process (-count): what differs may "
            "be the process, not the code.\n",
            set->one_process, set->compared);
}

bool render_markdown(const struct table_set *set, const struct render_options *o, FILE *out) {
  for (size_t i = 0; i < set->count; i++) {
    if (i > 0)
      fputc('\n', out);
    write_heading(set, i, out);
    if (!write_table(set, &set->tables[i], o, out))
      return false;
  }
  write_family(set, out);
  return true;
}
