/*
 * Column layout: see layout.h.
 */
#include "comparer/layout.h"

#include <stdlib.h>

void layout_row(struct layout *l) {
  if (l->count)
    l->row++;
  l->column = 0;
}

void layout_skip(struct layout *l, uint32_t column) {
  l->column = column;
}

void layout_add(struct layout *l, struct layout_cell c) {
  struct layout_cell *cells = array_grow(l->cells, l->count, &l->room, sizeof *cells);
  if (!cells || !c.text) {
    l->cells = cells ? cells : l->cells;
    l->failed = true;
    return;
  }
  l->cells = cells;
  if (!c.margin)
    c.margin = l->column == 0 || !*c.text ? "" : " ";
  if (!c.span)
    c.span = 1;
  c.row = l->row;
  c.column = l->column;
  l->cells[l->count++] = c;
  l->column += c.span;
  if (l->column > l->columns)
    l->columns = l->column;
}

void layout_fix(struct layout *l, uint32_t column) {
  if (column >= l->fixed_room) {
    size_t room = ((size_t)column + 1) * 2;
    bool *fixed = realloc(l->fixed, room);
    if (!fixed) {
      l->failed = true;
      return;
    }
    memset(fixed + l->fixed_room, 0, room - l->fixed_room);
    l->fixed = fixed;
    l->fixed_room = room;
  }
  l->fixed[column] = true;
}

static bool is_fixed(const struct layout *l, uint32_t column) {
  return column < l->fixed_room && l->fixed[column];
}

static size_t width_of(const char *s) {
  return text_width(text_of(s));
}

/* ---- widths ---- */

struct widths {
  size_t *margin, *width; /* by column; width includes the margin */
};

static int widest_first(const void *a, const void *b, void *width) {
  size_t x = ((size_t *)width)[*(const uint32_t *)a], y = ((size_t *)width)[*(const uint32_t *)b];
  if (x != y)
    return x > y ? -1 : 1;
  return *(const uint32_t *)a < *(const uint32_t *)b ? -1 : 1;
}

/*
 * Widens columns until a spanning cell fits: the free ones to their rounded-up average, widest
 * first, so that what a wide one has too much the others save. Where all are fixed the last one
 * gives way; a heading never sticks out into the next column.
 */
static bool widen(struct layout *l, struct widths *w, const struct layout_cell *c) {
  size_t need = width_of(c->text) + w->margin[c->column], have = 0, n = 0;
  for (uint32_t i = 0; i < c->span; i++)
    have += w->width[c->column + i];
  if (have >= need)
    return true;
  uint32_t *free_columns = malloc(c->span * sizeof *free_columns);
  if (!free_columns)
    return false;
  size_t shared = need;
  for (uint32_t i = 0; i < c->span; i++) {
    if (is_fixed(l, c->column + i))
      shared -= w->width[c->column + i];
    else
      free_columns[n++] = c->column + i;
  }
  if (n == 0)
    w->width[c->column + c->span - 1] += need - have;
  qsort_r(free_columns, n, sizeof *free_columns, widest_first, w->width);
  for (size_t i = 0; i < n; i++) {
    size_t *width = &w->width[free_columns[i]], average = (shared + n - i - 1) / (n - i);
    if (*width < average)
      *width = average;
    shared -= *width < shared ? *width : shared;
  }
  free(free_columns);
  return true;
}

static int narrow_span_first(const void *a, const void *b) {
  const struct layout_cell *x = *(struct layout_cell *const *)a;
  const struct layout_cell *y = *(struct layout_cell *const *)b;
  if (x->span != y->span)
    return x->span < y->span ? -1 : 1;
  return x < y ? -1 : x > y;
}

/* Cells over several columns, in order of their span. */
static bool widen_spans(struct layout *l, struct widths *w) {
  size_t n = 0;
  for (size_t i = 0; i < l->count; i++)
    n += l->cells[i].span > 1;
  const struct layout_cell **spans = malloc((n + 1) * sizeof *spans);
  if (!spans)
    return false;
  n = 0;
  for (size_t i = 0; i < l->count; i++)
    if (l->cells[i].span > 1)
      spans[n++] = &l->cells[i];
  qsort(spans, n, sizeof *spans, narrow_span_first);
  bool ok = true;
  for (size_t i = 0; i < n && ok; i++)
    ok = widen(l, w, spans[i]);
  free(spans);
  return ok;
}

static bool measure(struct layout *l, struct widths *w) {
  w->margin = calloc(l->columns + 1, sizeof *w->margin);
  w->width = calloc(l->columns + 1, sizeof *w->width);
  if (!w->margin || !w->width || l->failed)
    return false;
  for (size_t i = 0; i < l->count; i++) {
    const struct layout_cell *c = &l->cells[i];
    size_t margin = width_of(c->margin);
    if (margin > w->margin[c->column])
      w->margin[c->column] = margin;
  }
  for (size_t i = 0; i < l->count; i++) {
    const struct layout_cell *c = &l->cells[i];
    size_t width = width_of(c->text) + w->margin[c->column];
    if (c->span == 1 && width > w->width[c->column])
      w->width[c->column] = width;
  }
  return widen_spans(l, w);
}

static void free_widths(struct widths *w) {
  free(w->margin);
  free(w->width);
}

bool layout_width(struct layout *l, size_t *width) {
  struct widths w = {0};
  bool ok = measure(l, &w);
  *width = 0;
  for (uint32_t i = 0; ok && i < l->columns; i++)
    *width += w.width[i];
  free_widths(&w);
  return ok;
}

/* ---- lines ---- */

static bool is_blank(const char *s) {
  const char *p = s, *end = s + strlen(s);
  for (uint32_t rune; p < end;) {
    p += utf8_decode(p, end, &rune);
    if (!rune_is_space(rune))
      return false;
  }
  return true;
}

static void spaces(FILE *out, size_t n) {
  while (n-- > 0)
    fputc(' ', out);
}

/* Writes one cell behind `at` characters; returns how many the line has now. */
static size_t write_cell(const struct layout_cell *c, const size_t *offset, const struct widths *w,
                         size_t at, FILE *out) {
  size_t from = offset[c->column], to = offset[c->column + c->span];
  if (from > at) {
    spaces(out, from - at);
    at = from;
  }
  size_t margin = width_of(c->margin), text = width_of(c->text);
  spaces(out, w->margin[c->column] - margin);
  fputs(c->margin, out);
  at += w->margin[c->column];
  size_t room = to - from - w->margin[c->column], pad = 0;
  if (room > text && c->align != ALIGN_LEFT)
    pad = c->align == ALIGN_RIGHT ? room - text : (room - text) / 2;
  spaces(out, pad);
  if (c->style)
    fputs(c->style, out);
  fputs(c->text, out);
  if (c->style)
    fputs("\x1b[0m", out);
  return at + pad + text;
}

bool layout_write(struct layout *l, FILE *out) {
  struct widths w = {0};
  size_t *offset = calloc(l->columns + 2, sizeof *offset);
  bool ok = offset && measure(l, &w);
  for (uint32_t i = 0; ok && i < l->columns; i++)
    offset[i + 1] = offset[i] + w.width[i];
  uint32_t row = 0;
  size_t at = 0;
  for (size_t i = 0; ok && i < l->count; i++) {
    const struct layout_cell *c = &l->cells[i];
    if (is_blank(c->text) && is_blank(c->margin))
      continue; /* no trailing spaces */
    for (; row < c->row; row++, at = 0)
      fputc('\n', out);
    at = write_cell(c, offset, &w, at, out);
  }
  if (ok && l->count)
    fputc('\n', out);
  free_widths(&w);
  free(offset);
  return ok;
}

void layout_free(struct layout *l) {
  free(l->cells);
  free(l->fixed);
  *l = (struct layout){0};
}
