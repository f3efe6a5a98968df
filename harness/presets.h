/*
 * Presets: published comparisons, replayed with one option. Data only.
 */
#ifndef POOLBENCH_PRESETS_H
#define POOLBENCH_PRESETS_H

#include "harness/error.h"

struct preset {
  const char *name;
  const char *summary; /* one line for `poolbench list` */
  const char *cases;   /* as --cases takes it */
  unsigned threads;    /* of the published table */
  /* As --strategies takes them: the old column first; others than the new one help to read both. */
  const char *columns[5]; /* NULL at the end */
  unsigned new_column;
};

/* NULL with e filled (EXIT_USAGE, with the nearest name) when there is none of that name. */
const struct preset *preset_find(const char *name, struct error *e);

/* The n-th preset, NULL after the last. */
const struct preset *preset_at(unsigned n);

#endif
