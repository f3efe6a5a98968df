/*
 * Sentences for a terminal: lines broken at blanks.
 */
#ifndef POOLBENCH_WRAP_H
#define POOLBENCH_WRAP_H

#include <stddef.h>
#include <stdio.h>

/* No sentence is wider than this, however wide the terminal: longer lines are hard to read. */
#define WRAP_WIDTH 120

/* Terminal columns of n bytes of UTF-8, one a character. */
size_t wrap_columns(const char *text, size_t n);

/*
 * Prints lines, those of more than `width` columns (WRAP_WIDTH at most) broken at blanks; the rest
 * of one is set in by two more columns than its beginning. A longer word has a line of its own, and
 * a figure is not parted from its per cent sign.
 */
void wrap_print(const char *text, size_t width, FILE *out);

/* Columns of the terminal that `out` is; `otherwise` when it is none, or narrower than 40. */
size_t wrap_terminal(FILE *out, size_t otherwise);

/*
 * Prints whole lines as wrap_print does, to the width of the terminal that `out` is, elsewhere of a
 * page (GRID_PAGE).
 */
void wrap_printf(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
