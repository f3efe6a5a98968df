/*
 * Column layout for a terminal: cells with margins, spans and alignment become lines.
 *
 * Widths are counted in characters. A column is as wide as its widest margin plus its widest
 * cell; a cell that spans columns widens those that are not fixed.
 */
#ifndef POOLCMP_LAYOUT_H
#define POOLCMP_LAYOUT_H

#include "comparer/arena.h"

#include <stdio.h>

enum align { ALIGN_LEFT, ALIGN_CENTER, ALIGN_RIGHT };

struct layout_cell {
  uint32_t row, column, span;
  enum align align;
  const char *text, *margin; /* margin NULL: a space, or nothing in column 0 or before no text */
  const char *style;         /* NULL, or the escape sequence that colours the text */
};

struct layout {
  struct layout_cell *cells;
  size_t count, room;
  uint32_t row, column, columns;
  bool *fixed; /* by column */
  size_t fixed_room;
  bool failed; /* out of memory; layout_write says so */
};

/* A zeroed layout is empty. Texts must live until layout_write. */
void layout_row(struct layout *l);                       /* starts a new row */
void layout_skip(struct layout *l, uint32_t column);     /* the next cell stands there */
void layout_add(struct layout *l, struct layout_cell c); /* row and column are set here */
void layout_fix(struct layout *l, uint32_t column);      /* spanning cells do not widen it */

/* The width of the widest row, and the text. false when out of memory. */
bool layout_width(struct layout *l, size_t *width);
bool layout_write(struct layout *l, FILE *out);
void layout_free(struct layout *l);

#endif
