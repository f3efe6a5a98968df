/*
 * Grouping: from results to cells, the samples of one (table, row, column).
 *
 * Owns the values, in chunks, so that they are never copied while they grow. Statistics and
 * layout are elsewhere.
 */
#ifndef POOLCMP_GROUP_H
#define POOLCMP_GROUP_H

#include "comparer/projection.h"

struct chunk; /* of values */

struct cell {
  uint32_t table, row, column; /* keys */
  uint32_t unit;               /* tidied */
  size_t n;
  struct sample_origin *origins; /* n of them; NULL when no sample has any */

  /* What was put together in this cell. */
  uint32_t name, file; /* of the first sample: in group.names; index of the input */
  bool pools_names;
  size_t first_files; /* samples of `file`; SIZE_MAX while all are */
  bool one_process;   /* two values of one process or more */

  /* Private. */
  struct chunk *first, *last;
  size_t last_used, chunk_room, origin_room;
  uint32_t residue;
  uint64_t process;  /* of the last sample: file and process within it */
  uint64_t *differs; /* bit per residue field whose value varies; NULL: none does */
  size_t differs_words;
};

struct group_expressions {
  const char *table, *row, *column, *ignore, *filter;
};

struct context;
struct group {
  struct projection table, row, column, ignore, residue;
  struct filter *filter;
  bool filter_all, filter_units, fixed;
  struct named_keys named;
  struct arena arena;  /* of expressions, contexts and cells */
  struct intern names; /* full names */
  struct cell **cells; /* in order of appearance; sorted by group_finish */
  size_t cell_count, cell_room;
  uint32_t exclude_flags; /* samples with one of these are left out ... */
  size_t excluded;        /* ... and counted, once where several files hold one */
  size_t results;         /* lines that were used; with exclude_flags, samples as in excluded */
  size_t repeated;        /* values that group_finish left out: read before */
  uint32_t repeated_name; /* of the first cell that had any */
  uint32_t *column_rank;  /* by column key, after group_finish */

  /* Private. */
  struct context *last;
  uint64_t last_config[2];
  uint32_t last_file, last_state;
  struct context **contexts;
  size_t context_count, context_slots;
  struct intern states;
  struct intern counted; /* with exclude_flags: run, seq and name of samples */
  struct cell **slots;
  size_t slot_count;
};

/*
 * Parses the expressions. On failure returns false with message (in the arena of g) saying which
 * flag is wrong and where, or NULL when out of memory. group_free in any case.
 */
bool group_init(struct group *g, const struct group_expressions *e, const char **message);
void group_free(struct group *g);

/* Adds the result that the reader stands on. false without memory. */
bool group_add(struct group *g, struct reader *r, struct text file_label, uint32_t file);

/*
 * Sorts the cells by table, unit, row and column in the order the expressions ask for. A sample
 * that a cell holds twice, by its run and its place there (one run's detail.txt and samples.txt),
 * counts once: the first stays. false without memory.
 */
bool group_finish(struct group *g, const struct intern *strings, size_t unit_count);

/* Has it samples of several inputs? */
bool cell_pools_files(const struct cell *c);

/* Copies the values of a cell, in file order, to out (n of them). */
void cell_values(const struct cell *c, double *out);

/* "benchmarks vary in K, K" for what a cell mixes; NULL when it does not. In the arena a. */
const char *cell_residue(const struct group *g, const struct cell *c, struct arena *a);

#endif
