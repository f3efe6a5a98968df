/*
 * The folder of a run: its files, written so that a reader never sees half of one.
 *
 * Whole files (samples.txt, sweep.txt, memory.txt, detail.txt, a preset's old.txt and new.txt,
 * run.json) are written beside and renamed: a full disk or a kill leaves the last whole version.
 * round.part alone grows in place, a sample at a time; a write that failed is cut off again.
 */
#ifndef POOLBENCH_RUNFILES_H
#define POOLBENCH_RUNFILES_H

#include "harness/results.h"

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>

struct runfiles {
  char folder[PATH_MAX];
  int part;                                   /* round.part, -1: not open */
  long long part_size;                        /* bytes of whole samples in it */
  const struct allocator_arm *part_allocator; /* whose line is in force in it */
  bool recorded;                              /* run.json is there: the run can be resumed */
  int lock;                                   /* the folder, locked until runfiles_close */
};

/*
 * Makes the folder. out: where it goes, must not be there yet or be empty; NULL: a new
 * results/<time>-<host>, and results/latest points there. EXIT_INPUT when that cannot be, or when
 * another process measures into it; the same for runfiles_open.
 */
bool runfiles_create(struct runfiles *r, const char *out, const char *host, struct error *e);

/* An existing folder, for resuming; NULL: results/latest. */
bool runfiles_open(struct runfiles *r, const char *folder, struct error *e);

/* Reads detail.txt and round.part back, as far as they are there. */
bool runfiles_load(struct runfiles *r, const struct results_frame *f, struct results *results,
                   struct error *e);

/* Appends one sample to round.part, by a single write. */
bool runfiles_append(struct runfiles *r, const struct results_frame *f, const struct result *item,
                     struct error *e);

/*
 * Writes all files with the samples of rounds 1..rounds. Then round.part starts anew with the
 * samples of later rounds; without any it goes.
 */
bool runfiles_publish(struct runfiles *r, const struct results_frame *f,
                      const struct results *results, unsigned rounds, struct error *e);

bool runfiles_write_json(struct runfiles *r, const json_t *record, struct error *e);
/* run.json of the folder; NULL with e. The caller owns the reference. */
json_t *runfiles_read_json(const struct runfiles *r, struct error *e);

void runfiles_close(struct runfiles *r);

#endif
