/*
 * CSV as benchstat lays it out, for spreadsheets: several tables one below the other, a header
 * row per column key, every row padded to the full width.
 */
#include "comparer/render.h"

#include "comparer/number.h"

#include <stdlib.h>
#include <string.h>

/* One row being written: fields are given by column, gaps are filled with empty ones. */
struct csv_row {
  FILE *out;
  size_t at, width;
};

static void put(struct csv_row *r, size_t column, const char *s) {
  for (; r->at < column; r->at++)
    fputc(',', r->out);
  csv_field(r->out, s);
}

static void end_row(struct csv_row *r) {
  put(r, r->width - 1, "");
  fputc('\n', r->out);
  r->at = 0;
}

static size_t start_of(size_t column) {
  return column == 0 ? 1 : 3 + (column - 1) * 4;
}

/* A1, B1, ... Z1, AA1: where a spreadsheet shows the field. */
static void cell_name(size_t column, size_t row, char out[RENDER_TEXT]) {
  char letters[16];
  size_t n = sizeof letters;
  letters[--n] = 0;
  for (size_t c = column + 1; c > 0; c = (c - 1) / 26)
    letters[--n] = (char)('A' + (c - 1) % 26);
  snprintf(out, RENDER_TEXT, "%s%zu", letters + n, row);
}

static void note(FILE *notes, size_t column, size_t row, const char *text) {
  char name[RENDER_TEXT];
  if (!text)
    return;
  cell_name(column, row, name);
  fprintf(notes, "%s: %s\n", name, text);
}

struct csv_page {
  const struct table_set *set;
  const struct table *t;
  const struct render_options *o;
  struct csv_row row;
  FILE *notes;
  size_t line; /* of the spreadsheet, from 1 */
};

static void write_head(struct csv_page *p) {
  for (size_t level = 0; level < p->set->level_count; level++) {
    for (size_t i = 0; i < p->t->column_count; i++)
      put(&p->row, start_of(i), p->t->columns[i].levels[level]);
    end_row(&p->row);
    p->line++;
  }
  for (size_t i = 0; i < p->t->column_count; i++) {
    size_t at = start_of(i);
    put(&p->row, at, p->t->unit);
    put(&p->row, at + 1, "CI");
    if (i > 0) {
      put(&p->row, at + 2, "vs base");
      put(&p->row, at + 3, "P");
    }
  }
  end_row(&p->row);
  p->line++;
}

static void write_cell(struct csv_page *p, const struct table_cell *c) {
  char text[RENDER_TEXT], other[RENDER_TEXT], number[NUMBER_TEXT];
  size_t at = start_of(c->column);
  note(p->notes, at, p->line, c->residue);
  note(p->notes, at, p->line, c->summary_note);
  number_shortest(c->center, number);
  put(&p->row, at, number);
  format_range(c, p->o->ascii, text);
  put(&p->row, at + 1, text);
  if (!c->compared)
    return;
  note(p->notes, at + 2, p->line, c->comparison_note);
  if (p->set->options.ci) {
    struct scale plain = {6, 1, ""};
    format_estimate(&c->comparison, plain, p->o->ascii, text, other);
    size_t n = strlen(text);
    if (!c->comparison.exact)
      snprintf(text + n, sizeof text - n, " %.200s", other);
  } else {
    format_delta(&c->comparison, text);
  }
  put(&p->row, at + 2, text);
  format_test(&c->comparison, &p->set->options, p->o->exact_p, text);
  put(&p->row, at + 3, text);
}

static void write_geomeans(struct csv_page *p) {
  put(&p->row, 0, "geomean");
  for (size_t i = 0; i < p->t->column_count; i++) {
    const struct table_column *c = &p->t->columns[i];
    char text[RENDER_TEXT], number[NUMBER_TEXT];
    for (size_t k = 0; k < sizeof c->notes / sizeof *c->notes; k++)
      note(p->notes, start_of(i), p->line, c->notes[k]);
    if (c->has_geomean) {
      number_shortest(c->geomean, number);
      put(&p->row, start_of(i), number);
    }
    if (i == 0)
      continue;
    snprintf(text, sizeof text, "%+.2f%%", (c->ratio - 1) * 100);
    put(&p->row, start_of(i) + 2, c->has_ratio ? text : "?");
  }
  end_row(&p->row);
  p->line++;
}

static void write_table(struct csv_page *p) {
  write_head(p);
  for (size_t r = 0; r < p->t->row_count; r++) {
    const struct table_row *row = &p->t->rows[r];
    if (row->hidden)
      continue;
    put(&p->row, 0, row->label);
    for (size_t i = 0; i < row->count; i++)
      write_cell(p, &p->t->cells[row->first + i]);
    end_row(&p->row);
    p->line++;
  }
  write_geomeans(p);
}

bool render_csv(const struct table_set *set, const struct render_options *o, FILE *out,
                FILE *notes) {
  size_t line = 1;
  for (size_t i = 0; i < set->count; i++) {
    if (i > 0) {
      fputc('\n', out);
      line++;
    }
    for (size_t k = 0; k < set->key_count; k++) {
      if (!key_changed(set, i, k))
        continue;
      struct arena a = {0};
      char *text = arena_printf(&a, "%s: %s", set->key_names[k], set->tables[i].keys[k]);
      if (text)
        csv_field(out, text);
      arena_free(&a);
      if (!text)
        return false;
      fputc('\n', out);
      line++;
    }
    const struct table *t = &set->tables[i];
    struct csv_page p = {set, t, o, {out, 0, start_of(t->column_count)}, notes, line};
    write_table(&p);
    line = p.line;
  }
  return true;
}
