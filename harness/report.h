/*
 * `poolbench report RUN`: from a finished run to what a reader gets. Writes comparison.txt,
 * review.md and plots/ into the run's folder and prints the summary; measures nothing.
 *
 * The parts share one struct: report.c owns it and the order, report_text.c the sentences,
 * report_contention.c the table of where time goes, report_scaling.c that of how far strategies
 * scale, report_memory.c that of what memory stays, report_review.c review.md, report_plots.c the
 * plots' data and pictures.
 */
#ifndef POOLBENCH_REPORT_H
#define POOLBENCH_REPORT_H

#include "harness/grid.h"
#include "harness/verdicts.h"

/* Facts of run.json as far as it has them; NULL and 0 for what it has not. */
struct report_facts {
  const char *id, *host, *cpu_model, *placement, *policy, *map, *preset, *compiler, *kernel;
  char command[1000]; /* "./run.sh --cpus 32" */
  char seed[24];
  double cpus, started; /* started: seconds since the epoch */
};

struct report {
  struct rundata data;
  struct verdicts verdicts;
  struct report_facts facts;
};

/* main of `poolbench report`; the only function here that prints errors. Returns an exit status. */
int report_main(int argc, char **argv);

/* Loads and compares. false with e. */
bool report_load(struct report *r, const char *folder, struct error *e);
void report_free(struct report *r);

/*
 * --- report_text.c: sentences and lists. `tick` is put around names: "`" in markdown, "" else.
 */

/* One paragraph a unit, one clause a strategy, from the verdicts. */
void report_findings(const struct report *r, const char *tick, const char *bullet, FILE *out);

/* What could not be decided, and how many rounds would. Prints nothing when all was. */
void report_undecided(const struct report *r, const char *tick, const char *bullet, FILE *out);

/* Oversubscription, flagged and failed samples, missing counters, notes of the plan. */
void report_caveats(const struct report *r, const char *tick, const char *bullet, FILE *out);

/* "host · CPU · 2 CPUs · 2026-11-30 18:02 UTC · run 5f2c", for captions. */
void report_caption(const struct report *r, char *text, size_t size);

/* The time of an epoch second as "2026-11-30 18:02 UTC". */
void report_time(double seconds, char *text, size_t size);

/* --- report_contention.c: medians of what is known per (case, strategy). false without memory. */
bool report_contention(const struct report *r, bool markdown, struct grid *g);

/* Percentiles of single ops, and shared cache lines; runs of old have none. */
bool report_has_latency(const struct report *r);
bool report_latency(const struct report *r, bool markdown, struct grid *g);

/* The memory of each cell. */
#define REPORT_FOOTPRINT_TITLE                                                                   \
  "Memory taken (medians): allocated and not freed, at most; pooled when measuring ended; held " \
  "by the allocator beyond live bytes then; RSS, at most"
bool report_has_footprint(const struct report *r);
bool report_footprint(const struct report *r, bool markdown, struct grid *g);

/* How the table came about, for its heading. */
#define REPORT_LATENCY_WHAT "medians of percentiles that every sample has; longest: of all samples"

/* Does every sample of the cell that timed ops have this percentile? */
bool report_has_percentile(const struct rundata *d, const struct rundata_cell *c, const char *unit);

/* What to know of percentiles, "" or with a blank before it: whose time slices the tail is made of.
 */
const char *report_latency_remark(const struct report *r);

/*
 * --- report_memory.c: what memory stays, where the run has series. Medians. Tables: live bytes and
 * RSS at each stage; what stays by cause; the kept share with allocators side by side. false
 * without memory.
 */
#define REPORT_MEMORY_TITLE                                                                     \
  "Memory that stays: live bytes (pooled ones included) and RSS at each stage, medians; kept: " \
  "RSS idle of RSS peak, both over the start's"
#define REPORT_CAUSES_TITLE                                                                       \
  "What stays of it when idle, by cause (fragmented: in pages with live blocks; cache: what the " \
  "allocator holds beyond that), and what an update costs"
/* Does it have anything besides series? */
bool report_has_ops(const struct report *r);
bool report_has_memory(const struct report *r);
bool report_memory(const struct report *r, bool markdown, struct grid *g);
bool report_memory_causes(const struct report *r, bool markdown, struct grid *g);
bool report_memory_allocators(const struct report *r, struct grid *g);
/* What stays with whom, and whether updates are slow for it, from the medians. */
void report_memory_findings(const struct report *r, const char *tick, const char *bullet,
                            FILE *out);

/*
 * --- report_preset.c: `tables` (poolcmp's text of old.txt and new.txt in the pull request's
 * layout) with the published ones beside them, or below where both are wider than `width`, and a
 * line a table on what reproduces. false without memory.
 */
bool report_preset(const struct report *r, const char *tables, size_t width, FILE *out);
/*
 * --- report_scaling.c: the limits of scaling and the ceiling in a small table, with its heading
 * and a line on what it means; nothing where no case has several thread counts. false without
 * memory.
 */
bool report_limits(const struct report *r, bool markdown, FILE *out);

/* --- contention_text.c: what limits each strategy, one line a cell that has a one-thread twin. */
void report_verdicts(const struct report *r, const char *tick, const char *bullet, FILE *out);

/*
 * --- report_review.c: review.md. `table` is poolcmp's markdown of ns/op; `preset` the published
 * comparison's own layout, NULL without one. false without memory.
 */
bool report_review(const struct report *r, const char *table, const char *preset, FILE *out);

/*
 * --- report_plots.c: writes folder/plots/NAME.tsv and draws NAME.svg and NAME.png with gnuplot;
 * points plots/latest of the checkout there. Without gnuplot, or when there is nothing to draw, a
 * line on `say` tells. false with e only when files cannot be written or gnuplot failed.
 */
bool report_plots(const struct report *r, FILE *say, struct error *e);

/*
 * One plot of another command: folder/plots/NAME.tsv, which opens with the notes that
 * plots/common.gp reads and goes on with what `write` writes, and its pictures by plots/NAME.gp.
 */
bool report_plot(const struct report *r, const char *name, void (*write)(const void *, FILE *),
                 const void *context, FILE *say, struct error *e);

#endif
