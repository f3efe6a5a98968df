/*
 * A table of short texts, rendered aligned for a terminal or as markdown. Knows nothing of what
 * the texts mean. The first row is the head; the first `names` columns are left-aligned, the
 * others, figures, to the right.
 */
#ifndef POOLBENCH_GRID_H
#define POOLBENCH_GRID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct grid {
  size_t columns, names, cells, room;
  char **texts; /* row by row */
};

/* An empty table; grid_free gives its texts back. */
void grid_init(struct grid *g, size_t columns, size_t names);
void grid_free(struct grid *g);

/* The next cell, left to right, row after row. false without memory. */
bool grid_add(struct grid *g, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * Aligned columns, two blanks apart, each line after `indent` and without blanks at its end. A row
 * of nothing but its first text is a heading and widens no column.
 */
void grid_print(const struct grid *g, const char *indent, FILE *out);

/*
 * The same for a line of `width` columns, indent included: a wider table comes in blocks of
 * columns, a blank line between them, each with the names. A column that fits nowhere has a block
 * of its own.
 */
void grid_print_within(const struct grid *g, const char *indent, size_t width, FILE *out);

/* Columns of a terminal that grid_print fills, without the indent and without headings. */
size_t grid_width(const struct grid *g);

/* What a table that can be cut should fit, indent included. */
#define GRID_PAGE 100

/* A GitHub table; `|` in texts is escaped. */
void grid_markdown(const struct grid *g, FILE *out);

/*
 * A value with three significant digits and its prefix: "22.1µs" (from ns), "1.2MiB", "441",
 * "1.62k". out holds GRID_VALUE bytes.
 */
#define GRID_VALUE 32
enum grid_kind { GRID_NS, GRID_BYTES, GRID_COUNT, GRID_PERCENT };
void grid_value(enum grid_kind kind, double value, char out[GRID_VALUE]);

#endif
