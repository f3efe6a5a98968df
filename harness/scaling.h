/*
 * How the strategies of a run scale: the scalability law, the lock model and forecasts, by case and
 * strategy, with intervals from resampled rounds.
 *
 * scaling.c goes from the run's samples to figures, scaling_text.c from figures to tables and
 * sentences, scaling_record.c keeps forecasts in run.json and scores them, scaling_cli.c is the
 * command. The formulas are in usl.h, lockmodel.h and forecast.h. Rates are in ops/ns unless a name
 * says otherwise. Only points with a core for every thread enter a model; the others are shown.
 */
#ifndef POOLBENCH_SCALING_H
#define POOLBENCH_SCALING_H

#include "harness/bootstrap.h"
#include "harness/forecast.h"
#include "harness/rundata.h"
#include "harness/usl.h"

#include <stdio.h>

#define SCALING_CONFIDENCE 0.95
#define SCALING_DRAWS 400      /* of rounds, for intervals */
#define SCALING_LOCK_DRAWS 100 /* of these go through the lock model's chain, 1 ms each */
#define SCALING_MIN_ROUNDS 3   /* fewer vary too little for an interval */
#define SCALING_MOST_CPUS 1024 /* of a forecast */

/* low and high are NAN where the rounds give no interval. */
struct scaling_value {
  double value, low, high;
};

/* One thread count of a curve. */
struct scaling_point {
  unsigned threads;
  struct scaling_value ns; /* median ns/op, interval by order statistics */
  bool on_cores;           /* enters the models */
};

/* One draw of rounds: what the intervals are made of. */
struct scaling_draw {
  struct usl usl;
  struct pair_times pair;
  struct pair_parts parts;
};

struct scaling_curve {
  unsigned row, column;
  struct scaling_point *points; /* ascending threads */
  size_t point_count, on_cores;
  struct scaling_draw all;    /* of all rounds */
  struct scaling_draw *draws; /* SCALING_DRAWS, or none */
  size_t draw_count;

  bool fitted; /* the scalability law; else why says why not */
  char why[200];
  double misfit;                           /* largest relative error of the fit */
  struct scaling_value sigma, kappa, peak; /* peak: threads, INFINITY where there is none */

  bool has_pair;               /* one and two threads on cores */
  struct scaling_value excess; /* sigma + 2 kappa from those two, below 0: superlinear */

  /* The lock, per acquisition, in ns; only with has_pair and all.parts.has_lock. */
  const char *why_no_lock; /* NULL when there is one, or when the strategy has none */
  struct scaling_value saturation, in_order, barging; /* N*, and W under either rule */
  double collisions; /* contended share of the acquisitions at two threads; NAN */
};

struct scaling {
  const struct rundata *data;
  unsigned cores, cpus;         /* that threads of this run had */
  const char *why;              /* no model at all, and why; else NULL */
  struct scaling_curve *curves; /* case by case, columns in order; base first */
  size_t count;
};

/*
 * Models of every (row, column) that has ns/op. most_cores: use points up to so many threads, as if
 * the machine had no more (0: all), which lets a run test forecasts on itself. data must outlive s.
 * false with e, out of memory only.
 */
bool scaling_make(struct scaling *s, const struct rundata *data, unsigned most_cores,
                  struct error *e);
void scaling_free(struct scaling *s);

/* Drops the curves of cases whose name does not hold `part`; NULL drops none. */
void scaling_keep(struct scaling *s, const char *part);

/* NULL when this was not measured. */
const struct scaling_curve *scaling_find(const struct scaling *s, unsigned row, unsigned column);

enum scaling_model { SCALING_NONE, SCALING_PAIR, SCALING_USL };
const char *scaling_model_name(enum scaling_model m); /* "none", "two-point", "usl" */

/*
 * Throughput of `threads` threads on as many cores: 95 % over draws, of either end where the model
 * gives an interval itself; the law's is widened by its misfit. model SCALING_NONE: cannot be
 * forecast. center: the law's own value, NAN for two points. The speed-up is over one thread of the
 * same draw, so that what one thread's rate is not known to does not count as scaling. false
 * without memory.
 */
struct scaling_forecast {
  enum scaling_model model;
  double low, high, center; /* ops/ns */
  struct bootstrap_interval speed_up;
};
bool scaling_forecast(const struct scaling_curve *c, unsigned threads,
                      struct scaling_forecast *out);

/*
 * --- scaling_text.c: the section of a report: curves, law, locks, and with forecast > 0 what so
 * many CPUs would bring. false with e when out of memory.
 */
bool scaling_show(const struct scaling *s, unsigned forecast, FILE *out, struct error *e);

/* One thread count makes no curve: nothing is to be said of its growth. */
bool scaling_is_curve(const struct scaling_curve *c);

/*
 * A curve's limits in a few words: "0.096 [-0.27, 1.1], N* 2.1", of a fitted law "sigma 0.031,
 * kappa 0.0004, peak 49"; "" when it has neither law nor pair.
 */
#define SCALING_SHORT 200
void scaling_short(const struct scaling_curve *c, char text[SCALING_SHORT]);

/* Makes, keeps, shows and frees. */
bool scaling_print(const struct rundata *data, const char *part, unsigned forecast, FILE *out,
                   struct error *e);

/* --- scaling_record.c */

/*
 * Puts the forecasts for `threads` CPUs into the `forecasts` of the run's run.json, in place of
 * older ones for as many. The file is replaced whole.
 */
bool scaling_record(const struct scaling *s, unsigned threads, struct error *e);

/*
 * Prints how the forecasts in `run` did against `other`, a run with as many cores as they speak of.
 * false with e: EXIT_NOTHING when there is nothing to score.
 */
bool scaling_score(const struct rundata *run, const struct rundata *other, FILE *out,
                   struct error *e);

/* --- scaling_cli.c: main of `poolbench scaling`. */
int scaling_main(int argc, char **argv);

#endif
