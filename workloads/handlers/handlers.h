/*
 * What the cases of the handlers workload share: the names, and the state of a series.
 */
#ifndef POOLBENCH_HANDLERS_HANDLERS_H
#define POOLBENCH_HANDLERS_HANDLERS_H

#include "workloads/handlers/handler.h"

#include <stdatomic.h>

/* Names of subscriptions, like "subscription/00000012". */
#define NAME_SIZE 24
struct names {
  char (*texts)[NAME_SIZE];
  size_t count;
};

bool names_open(struct names *n, size_t count); /* false: out of memory */
void names_close(struct names *n);
struct map_key names_get(const struct names *n, size_t i);

/* What a series is told: the case and --workload options. */
struct idle_plan {
  size_t handlers, names;
  size_t at_a_time; /* handlers in the burst at the same time */
  unsigned idle_s;  /* the longest idle wait */
};

struct idle {
  struct idle_plan plan;
  struct handler *handlers;
  unsigned threads;
  pthread_barrier_t step;
  atomic_bool failed; /* some thread; the others go through the motions */
  atomic_uint_least64_t stall_ns;
};

/* Options of HandlersIdle; see idle_parse. */
extern const struct strategy_option idle_options[];

/*
 * "handlers=N,names=N,idle=SECONDS" over the defaults. Refuses what is no such thing and what
 * does not fit the memory that is available. false with `why` filled.
 */
bool idle_parse(const char *options, struct idle_plan *plan, char *why, size_t why_size);

/* Bytes that a burst may need at most, under the strategy that needs the most. */
double idle_estimate(const struct idle_plan *plan);

/* Bytes this process can still get: MemAvailable, and what its cgroups leave. */
double idle_available(void);

bool idle_open(struct idle *s, unsigned threads); /* plan is set; false: out of memory */
void idle_close(struct idle *s);

/* The series; called by all threads at once. */
void idle_series(struct idle *s, struct send_loop *loop, const struct names *names,
                 struct workload_thread *t, series_emit *emit, void *context);

#endif
