/* Tables of short texts; see grid.h. */
#include "harness/grid.h"
#include "harness/wrap.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void grid_init(struct grid *g, size_t columns, size_t names) {
  *g = (struct grid){.columns = columns, .names = names};
}

void grid_free(struct grid *g) {
  for (size_t i = 0; i < g->cells; i++)
    free(g->texts[i]);
  free(g->texts);
  *g = (struct grid){0};
}

bool grid_add(struct grid *g, const char *format, ...) {
  if (g->cells == g->room) {
    size_t room = g->room ? 2 * g->room : 64;
    char **texts = realloc(g->texts, room * sizeof *texts);
    if (!texts)
      return false;
    g->texts = texts;
    g->room = room;
  }
  va_list args;
  va_start(args, format);
  char *text;
  int n = vasprintf(&text, format, args);
  va_end(args);
  if (n < 0)
    return false;
  g->texts[g->cells++] = text;
  return true;
}

static size_t text_columns(const char *s) {
  return wrap_columns(s, strlen(s));
}

static void pad(size_t n, FILE *out) {
  while (n-- > 0)
    fputc(' ', out);
}

/* A row whose first text stands alone is a heading: it runs on, no column is as wide as it. */
static bool is_heading(const struct grid *g, size_t first) {
  if (g->columns < 2 || !*g->texts[first])
    return false;
  for (size_t i = first + 1; i < g->cells && i < first + g->columns; i++)
    if (*g->texts[i])
      return false;
  return true;
}

static size_t column_width(const struct grid *g, size_t column) {
  size_t width = 0;
  for (size_t i = column; i < g->cells; i += g->columns) {
    size_t n = text_columns(g->texts[i]);
    if (!is_heading(g, i - column))
      width = n > width ? n : width;
  }
  return width;
}

size_t grid_width(const struct grid *g) {
  size_t width = 0;
  for (size_t column = 0; column < g->columns; column++)
    width += column_width(g, column) + (column > 0 ? 2 : 0);
  return width;
}

/* The cells of a row in the name columns and in [from, to). */
static void print_row(const struct grid *g, size_t row, const char *indent, size_t from, size_t to,
                      FILE *out) {
  size_t owed = 0; /* blanks that are written only when something follows on the line */
  fputs(indent, out);
  for (size_t column = 0; column < to && row + column < g->cells; column++) {
    if (column >= g->names && column < from)
      continue;
    const char *text = g->texts[row + column];
    size_t width = column_width(g, column), used = text_columns(text);
    size_t blanks = width > used ? width - used : 0;
    owed += (column > 0 ? 2 : 0) + (column >= g->names ? blanks : 0);
    if (*text) {
      pad(owed, out);
      owed = 0;
    }
    fputs(text, out);
    if (column < g->names)
      owed += blanks;
  }
  fputc('\n', out);
}

static void print_block(const struct grid *g, const char *indent, size_t from, size_t to,
                        FILE *out) {
  for (size_t row = 0; row < g->cells; row += g->columns)
    print_row(g, row, indent, from, to, out);
}

void grid_print(const struct grid *g, const char *indent, FILE *out) {
  print_block(g, indent, g->names, g->columns, out);
}

void grid_print_within(const struct grid *g, const char *indent, size_t width, FILE *out) {
  size_t names = strlen(indent);
  for (size_t column = 0; column < g->names; column++)
    names += column_width(g, column) + (column > 0 ? 2 : 0);
  for (size_t from = g->names, to; from < g->columns; from = to) {
    size_t used = names;
    for (to = from; to < g->columns; to++) {
      used += 2 + column_width(g, to);
      if (used > width && to > from)
        break;
    }
    if (from > g->names)
      fputc('\n', out);
    print_block(g, indent, from, to, out);
  }
}

static void markdown_text(const char *s, FILE *out) {
  for (; *s; s++) {
    if (*s == '|')
      fputc('\\', out);
    fputc(*s, out);
  }
}

void grid_markdown(const struct grid *g, FILE *out) {
  for (size_t i = 0; i < g->cells; i++) {
    fputs("| ", out);
    markdown_text(g->texts[i], out);
    fputc(' ', out);
    if ((i + 1) % g->columns != 0)
      continue;
    fputs("|\n", out);
    if (i + 1 == g->columns) {
      fputc('|', out);
      for (size_t c = 0; c < g->columns; c++)
        fputs(c < g->names ? " --- |" : " ---: |", out);
      fputc('\n', out);
    }
  }
}

void grid_value(enum grid_kind kind, double value, char out[GRID_VALUE]) {
  static const char *const prefixes[][5] = {
      [GRID_NS] = {"ns", "µs", "ms", "s", "s"},
      [GRID_BYTES] = {"B", "KiB", "MiB", "GiB", "TiB"},
      [GRID_COUNT] = {"", "k", "M", "G", "T"},
      [GRID_PERCENT] = {"%", "%", "%", "%", "%"},
  };
  double step = kind == GRID_BYTES ? 1024 : kind == GRID_PERCENT ? INFINITY : 1000;
  int last = kind == GRID_NS ? 3 : 4, power = 0;
  /* 999.5 would print as 1000: the prefix changes where the digits do. */
  while (power < last && fabs(value) >= 999.5 * (step / 1000)) {
    value /= step;
    power++;
  }
  double size = fabs(value);
  int decimals = size >= 99.95 || value == 0 ? 0 : size >= 9.995 ? 1 : 2;
  if ((kind == GRID_COUNT || kind == GRID_BYTES) && power == 0 && value == floor(value))
    decimals = 0;
  if (size > 0 && size < 0.01)
    decimals = 4;
  bool below = size > 0 && size < 0.00005; /* not "0.0000" */
  snprintf(out, GRID_VALUE, "%s%.*f%s", below ? "<" : "", decimals, below ? 0.0001 : value,
           value == 0 ? "" : prefixes[kind][power]);
}
