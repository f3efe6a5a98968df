/*
 * poolcmp as a library: compare benchmark files, get the tables as data or as text.
 *
 *     struct poolcmp_options o;
 *     poolcmp_options_init(&o);
 *     o.inputs = ..., o.input_count = ..., o.group.column = "/strategy";
 *     struct poolcmp p;
 *     enum poolcmp_status status = poolcmp_load(&p, &o, stderr);
 *     if (status == POOLCMP_DONE)
 *       render_markdown(&p.tables, &o.render, out);
 *     poolcmp_free(&p);
 */
#ifndef POOLCMP_POOLCMP_H
#define POOLCMP_POOLCMP_H

#include "comparer/options.h"

/* Exit status of the program; the same numbers as poolbench's. */
enum poolcmp_status {
  POOLCMP_DONE = 0,
  POOLCMP_REGRESSION = 1, /* -gate found one */
  POOLCMP_USAGE = 2,      /* the command line is wrong */
  POOLCMP_INPUT = 3,      /* a file cannot be read, or some of its lines cannot */
  POOLCMP_NOTHING = 4,    /* nothing to compare */
};

struct poolcmp {
  struct reader reader;
  struct group group;
  struct table_set tables;
  size_t complaints; /* lines that were refused */
};

/*
 * Reads the inputs of o and makes the tables. Complaints (FILE:LINE: text) and errors go to err.
 * POOLCMP_DONE: the tables are there, even if some lines were refused. poolcmp_free in any case.
 */
enum poolcmp_status poolcmp_load(struct poolcmp *p, const struct poolcmp_options *o, FILE *err);
void poolcmp_free(struct poolcmp *p);

/* What a reader of the tables should know and the layout has no place for: notes on err. */
void poolcmp_notes(const struct poolcmp *p, const struct poolcmp_options *o, FILE *err);

/* The status of a comparison that was loaded: what -gate says, refused lines, nothing compared. */
enum poolcmp_status poolcmp_verdict(const struct poolcmp *p, const struct poolcmp_options *o,
                                    FILE *err);

/* Writes the tables in o->format. false with a message on err when that failed. */
bool poolcmp_render(const struct poolcmp *p, const struct poolcmp_options *o, FILE *out, FILE *err);

/* The whole program; argv[0] is its name. Returns the exit status. */
int poolcmp_run(int argc, char **argv, FILE *out, FILE *err);

#endif
