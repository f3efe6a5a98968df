/*
 * Tables that pull requests published, as they stood there: figures to put beside a replay's.
 * Data, and the reading of its lines.
 */
#ifndef POOLBENCH_PUBLISHED_H
#define POOLBENCH_PUBLISHED_H

#include <stdbool.h>
#include <stddef.h>

/* Layouts of benchstat: before 2023, and since. */
enum published_layout { PUBLISHED_CLASSIC, PUBLISHED_TEXT };

/* In the order of enum verdict_unit. */
enum { PUBLISHED_UNITS = 3 };

struct published {
  const char *preset;
  enum published_layout layout;
  unsigned cpus;                       /* of the machine that was measured */
  const char *tables[PUBLISHED_UNITS]; /* ns/op, B/op, allocs/op; lines end with newlines */
  /* What is known to keep a table from being reproduced; NULL: nothing. */
  const char *why[PUBLISHED_UNITS];
  bool why_until_trimmed; /* what keeps the counts holds for runs without --trim only */
};

/* NULL for a preset without published tables. */
const struct published *published_find(const char *preset);

struct published_row {
  char name[64];   /* "Compare/Pod/structured-32" */
  int sign;        /* of the delta; 0: "~" */
  double delta;    /* relative; 0 with "~" */
  double spread;   /* the two figures after "±" together, relative */
  double p;        /* as printed */
  unsigned n1, n2; /* samples of the old and the new column */
};

/*
 * The row in a line of a table; false for heads, means and footnotes. Where it does hold a row,
 * a p and n of a form that is not benchstat's are 0.
 */
bool published_read(const char *line, size_t length, struct published_row *row);

/* Can n1 and n2 samples give the p that is printed, by any two-sided rank test? */
bool published_p_possible(const struct published_row *row);

#endif
