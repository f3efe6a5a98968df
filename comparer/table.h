/*
 * Tables as data: summaries, comparisons with the first column, footnotes, geometric means.
 *
 * Made from grouped cells and rendered by render.h; knows statistics through stats.h and
 * analysis.h, no layout. All texts live in the set's arena.
 */
#ifndef POOLCMP_TABLE_H
#define POOLCMP_TABLE_H

#include "comparer/analysis.h"
#include "comparer/group.h"

enum table_sort { SORT_NONE, SORT_DELTA, SORT_NAME, SORT_P };

struct table_options {
  double alpha, confidence, margin;
  bool ci, paired;
  bool verdicts; /* estimate, interval and verdict of every comparison, whatever ci says */
  enum correction correct;
  const char *const *exact_units; /* as in the tables or as in the input */
  size_t exact_unit_count;
  const char *twin; /* label of the column that measures the base again; NULL */
  bool means;       /* fill the mean, least and greatest of each cell */
  bool doubts;      /* look for trend, outliers and the like in each cell */
  enum table_sort sort;
  bool changed_only;
};

struct table_cell {
  uint32_t column; /* of the table */
  size_t n;
  double center, lo, hi;        /* median or mode; bounds may be infinite */
  bool is_bound;                /* center is a lower bound: half of the samples did not finish */
  double mean, least, greatest; /* table_options.means */
  unsigned doubts;              /* enum doubt, of the samples */
  bool compared;
  struct comparison comparison; /* with the cell of the same row in column 0 */
  /* Footnotes, NULL where there is none. */
  const char *residue, *summary_note, *comparison_note;
  const struct cell *source;
};

struct table_row {
  const char *label;
  size_t first, count; /* its cells in table.cells, by column */
  bool hidden;         /* -changed */
};

struct table_column {
  const char *label;         /* values joined by spaces */
  const char *const *levels; /* value of each column field */
  bool has_geomean, has_ratio;
  double geomean, ratio; /* ratio: geometric mean of new/base over rows with both */
  const char *notes[3];  /* footnotes of the geomean row, in order; NULL ends */
};

struct table {
  const char *const *keys; /* value of each table field but the unit */
  const char *unit, *written_unit;
  uint32_t unit_id;
  double unit_factor; /* value here = factor x value in the written unit */
  double twin_limit;  /* -twin: the largest change that is no finding; 0 without */
  bool binary, exact, in_family;
  enum better better;
  struct table_column *columns;
  size_t column_count;
  struct table_row *rows; /* in the order asked for */
  size_t row_count;
  struct table_cell *cells;
  size_t cell_count;
};

struct table_set {
  struct arena arena;
  struct table_options options;
  struct table *tables;
  size_t count;
  const char **key_names; /* table fields but the unit */
  size_t key_count;
  const char **level_names; /* column fields */
  size_t level_count;
  size_t family;          /* rows of sec/op that were tested */
  size_t compared;        /* comparisons made, of any unit */
  size_t regressions;     /* slower, in the family or in an exact unit */
  size_t incomplete_rows; /* rows without a cell in the base or in a column */
  double best_min_p;      /* the smallest p that any row of the family could give; 1 without */
  bool other_run;         /* some column was measured in another run than the base */
  size_t one_process;     /* comparisons of many values of one process */
};

struct table_error {
  bool refused; /* else: out of memory */
  char text[300];
};

/* false with e filled. table_set_free in any case. */
bool table_set_make(struct table_set *set, const struct group *g, const struct reader *r,
                    const struct table_options *o, struct table_error *e);
void table_set_free(struct table_set *set);

/* The cell of a row in a column, or NULL. */
const struct table_cell *table_cell_at(const struct table *t, const struct table_row *row,
                                       uint32_t column);

/*
 * Geometric mean by the running mean of logarithms; NAN when a value is not above 0. Computed so
 * that its last digit is Go's: CSV output prints all of them.
 */
double geometric_mean(const double *x, size_t n);

#endif
