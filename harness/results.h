/*
 * The samples of a run in memory, and as Go benchmark text.
 *
 * Owns the form of a sample's lines (docs/file-format.md) in both directions. Opens no file.
 */
#ifndef POOLBENCH_RESULTS_H
#define POOLBENCH_RESULTS_H

#include "harness/host.h"
#include "harness/plan.h"
#include "harness/sample.h"

#include <stdio.h>

/* The unit that carries a sample's raw calibration time; host-speed-% is made from it. */
#define UNIT_CALIBRATION "calibration-ns"
/* The flag of a sample whose ns/op is a lower bound. */
#define FLAG_BOUND "bound"

struct result {
  unsigned cell; /* index into the plan's cells */
  unsigned round, seq;
  struct sample sample;
};

/* A zeroed struct is empty. */
struct results {
  struct result *items;
  size_t count, room;
};

/* Takes over the sample's memory (also on failure). */
bool results_add(struct results *r, const struct result *item, struct error *e);
bool results_have(const struct results *r, unsigned cell, unsigned round);
void results_free(struct results *r);

/*
 * The median calibration time of all samples, 0 when none has one. A sample's host-speed-% is
 * 100 x median / its own: above 100 the host was faster than usual.
 */
double results_median_calibration(const struct results *r);

/* Does its host speed make the sample doubtful? Then text says how. */
#define RESULTS_FLAG_TEXT 100
bool results_speed_flag(const struct sample *s, double median, char text[RESULTS_FLAG_TEXT]);

/* What stands at the top of every file and on every line. */
struct results_frame {
  const struct plan *plan;
  const struct host *host;
  const char *run_id;
};

enum results_choice {
  RESULTS_HEADLINE, /* samples.txt */
  RESULTS_SWEEP,    /* sweep.txt */
  RESULTS_DETAIL,   /* detail.txt: everything, every unit */
  RESULTS_MEMORY,   /* memory.txt: series, a line for each of their phases */
  RESULTS_OLD,      /* old.txt and new.txt of a preset: names without strategy and discipline */
  RESULTS_NEW,
};

/* Does one of the samples show memory over time? */
bool results_have_series(const struct results *r);

/* Writes the configuration lines that open a file. */
void results_write_head(FILE *out, const struct results_frame *f);

/*
 * Writes one sample with every unit, and before it the allocator's line unless it is `allocator`,
 * the one in force; returns the one that is in force then.
 */
const struct allocator_arm *results_write_one(FILE *out, const struct results_frame *f,
                                              const struct result *item,
                                              const struct allocator_arm *allocator);

/*
 * Writes a whole file: head and the chosen samples of rounds 1..rounds in plan order. median: of
 * results_median_calibration. false when out of memory; the stream keeps its own errors.
 */
bool results_write(FILE *out, const struct results_frame *f, const struct results *r,
                   enum results_choice choice, unsigned rounds, double median);

/*
 * Reads what results_write wrote as RESULTS_DETAIL or results_write_one did, adding samples that
 * are not there yet. A last line without newline is left out: it was cut off. Fails for a
 * sample that is not of this plan or run, with file and line.
 */
bool results_read(const char *path, FILE *in, const struct results_frame *f, struct results *r,
                  struct error *e);

#endif
