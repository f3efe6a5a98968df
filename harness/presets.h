/*
 * Presets: published comparisons, replayed with one option. Data only.
 */
#ifndef POOLBENCH_PRESETS_H
#define POOLBENCH_PRESETS_H

#include "harness/error.h"

/* A column: the first of `specs` whose strategy this build has, as --strategies takes it. */
struct preset_column {
  const char *specs[3]; /* NULL at the end */
  const char *stand_in; /* said when it is not specs[0] that serves; NULL: nothing to say */
};

struct preset {
  const char *name;
  const char *summary;  /* one line for `poolbench list` */
  const char *workload; /* what this build must have */
  const char *cases;    /* as --cases takes it */
  unsigned threads;     /* of the published table */
  /* The old column first, then the new one, then others that help to read the two. */
  struct preset_column columns[5]; /* specs[0] == NULL at the end */
};

/* NULL with e filled (EXIT_USAGE, with the nearest name) when there is none of that name. */
const struct preset *preset_find(const char *name, struct error *e);

/* The n-th preset, NULL after the last. */
const struct preset *preset_at(unsigned n);

#endif
