/*
 * Units: their tidied form, how values in them are scaled for the eye, which direction is better.
 *
 * A unit is a number in a unit table; the table also holds what `Unit` lines of the input say.
 */
#ifndef POOLCMP_UNITS_H
#define POOLCMP_UNITS_H

#include "comparer/analysis.h"
#include "comparer/arena.h"

/*
 * Tidying: tokens split at * / - and space; ns becomes sec (x 1e-9) and MB becomes B (x 1e6) in
 * the numerator. Returns the factor; out gets the tidied unit in memory of the arena.
 */
bool unit_tidy(struct arena *a, struct text unit, struct text *out, double *factor);

/* Binary units (bytes in the numerator) scale by 1024, others by 1000. */
bool unit_is_binary(struct text tidied);

/* What is better in a tidied unit when the input does not say. */
enum better unit_better_default(struct text tidied);

/* sec/op: the unit whose rows make up the family of tests. */
bool unit_is_time_per_op(struct text tidied);

struct unit {
  struct text name;
  double factor;    /* value in the tidied unit = factor x value in this one */
  uint32_t tidied;  /* this unit's number when it is tidy */
  uint32_t written; /* of a tidied unit: how the input wrote it first */
  enum better better;
  bool exact;
};

struct units {
  struct intern names;
  struct unit *list; /* by number of the name; 0 is unused */
  size_t count, room;
  struct intern said;       /* "unit number=key" of every Unit line */
  const char **said_values; /* by number of `said` */
  size_t said_room;
};

bool units_init(struct units *u);
void units_free(struct units *u);

/* The number of a unit as written in the input; its tidied form is entered too. */
uint32_t units_add(struct units *u, struct text name);

/*
 * `Unit NAME key=value`: the first value stands. Returns NULL, or the value already set when it
 * differs. *ok is false without memory.
 */
const char *units_set(struct units *u, uint32_t unit, struct text key, struct text value, bool *ok);

/* A scale: value / factor with `decimals`, then the prefix. */
struct scale {
  int decimals;
  double factor;
  const char *prefix;
};

/* The scale of a row: by its smallest non-zero magnitude, three significant digits at least. */
struct scale scale_for(const double *values, size_t n, bool binary);
#define SCALE_TEXT 352 /* %.10f of the largest double and a prefix */
size_t scale_format(struct scale s, double v, char out[SCALE_TEXT]);

#endif
