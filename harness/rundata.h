/*
 * A finished run as data: what `poolbench report` and its tables and plots are made from.
 *
 * Reads detail.txt, round.part and run.json of a run's folder through the comparer's reader; owns
 * the values. Knows the form of names (docs/file-format.md), not how anything is shown. Every list
 * keeps the order of the files, which is the plan's: the base comes first.
 */
#ifndef POOLBENCH_RUNDATA_H
#define POOLBENCH_RUNDATA_H

#include "comparer/analysis.h"
#include "harness/error.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* The values of one unit in one cell, in file order, as written (ns, bytes, counts). */
struct rundata_values {
  size_t unit; /* its name is rundata.units.names[unit] */
  double *values;
  double *sorted; /* ascending, filled when loading is done */
  struct sample_origin *origins;
  size_t n, room;
};

/* One (row, column, threads). */
struct rundata_cell {
  char *name;      /* the benchmark's full name: with the allocator the cell's identity */
  char *allocator; /* its label, "" when the file names none */
  unsigned row, column, threads;
  unsigned team;                /* threads that measured: fewer where it cannot use as many */
  bool headline;                /* stands in samples.txt or memory.txt; else in sweep.txt */
  bool series;                  /* memory over time: its units are called PHASE:UNIT */
  struct rundata_values *units; /* those that came, in the order of the files */
  size_t unit_count, unit_room;
};

struct rundata_names {
  char **names;
  size_t count, room;
};

/* How many samples of a cell carry a `# flag`. */
struct rundata_flag {
  size_t cell;
  unsigned flag; /* one bit of enum sample_flag */
  size_t count;
};

struct rundata {
  char *folder; /* as given, but a link such as results/latest replaced by what it names */
  struct rundata_names rows; /* cases, with what else sets them apart: "Compare/Pod/structured" */
  struct rundata_names columns; /* what is compared: strategies, or builds when there are several */
  struct rundata_names units;
  struct rundata_cell *cells;
  size_t cell_count, cell_room;
  unsigned *counts; /* thread counts, ascending */
  size_t count_count;
  unsigned headline;                      /* the thread count of samples.txt */
  bool partial;                           /* round.part held samples of an unfinished round */
  size_t allocators, disciplines, builds; /* how many different ones the names have */
  struct rundata_flag *flags;
  size_t flag_count, flag_room;
  json_t *json; /* run.json; NULL when there is none */
};

/*
 * Loads a run. false with e: no such folder, a file that cannot be read, a line that is none
 * (file and line), no samples at all. rundata_free is the caller's either way.
 */
bool rundata_load(struct rundata *d, const char *folder, struct error *e);
void rundata_free(struct rundata *d);

/* NULL when this was not measured. */
const struct rundata_cell *rundata_cell(const struct rundata *d, size_t row, size_t column,
                                        unsigned threads);

/* The cell of samples.txt, whatever its thread count; NULL when this was not measured. */
const struct rundata_cell *rundata_headline(const struct rundata *d, size_t row, size_t column);

/* The values of a unit ("ns/op"); NULL when the cell has none. */
const struct rundata_values *rundata_unit(const struct rundata *d, const struct rundata_cell *c,
                                          const char *unit);

/* Whether a sample of them ran into its time limit and is a bound, not a time. v may be NULL. */
bool rundata_has_bound(const struct rundata_values *v);

/* The same, as the comparer takes them. */
struct series rundata_series(const struct rundata_values *v);

/* Median of a unit; false when the cell has none. */
bool rundata_median(const struct rundata *d, const struct rundata_cell *c, const char *unit,
                    double *median);

/* The column that measures the base again ("malloc:twin"); NULL when there is none. */
const char *rundata_twin(const struct rundata *d);

/* "foreign-cpu" for SAMPLE_FOREIGN_CPU, as the files write it. */
const char *rundata_flag_name(unsigned flag);

/* A text or number of run.json by a path of keys ("host.name"); NULL or fallback without it. */
const char *rundata_fact_text(const struct rundata *d, const char *path);
double rundata_fact_number(const struct rundata *d, const char *path, double fallback);
const json_t *rundata_fact(const struct rundata *d, const char *path);

#endif
