/*
 * Event counters of the measuring threads: PAPI where it is compiled in and the machine has
 * hardware counters, perf_event_open's software events everywhere.
 *
 * An event exists when opening and starting it succeeds and, for those that any work moves, when
 * a short loop moves it: in virtual machines a library may list counters that nothing backs. What
 * does not exist is reported with the reason, never as 0.
 *
 * Where events come from is a table of functions, so that tests bring their own.
 */
#ifndef POOLBENCH_COUNTERS_H
#define POOLBENCH_COUNTERS_H

#include "harness/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COUNTERS_MAX 16
#define COUNTER_SOURCES_MAX 4
#define COUNTER_NAME_MAX 64
#define COUNTER_WHY_MAX 160

/* What is counted when nothing is said. Context switches and faults come from getrusage. */
#define COUNTERS_DEFAULT \
  "PAPI_TOT_CYC,PAPI_TOT_INS,PAPI_L3_TCM,PAPI_CA_SNP,PAPI_CA_ITV,cpu-migrations"

typedef void counter_named(void *context, const char *name, bool native);

/*
 * A source of events. A group is what one thread counts; only its thread uses it. Functions that
 * fail fill `why`.
 */
struct counter_source {
  const char *name;
  const char *what; /* one line for the list of counters */
  /* By its name alone: is the event this source's business? */
  bool (*claims)(const char *event);
  /* Readies the source in this process; called once, before anything below. May be slow. */
  bool (*open)(char *why, size_t why_size);
  /* Must a loop of arithmetic and loads move the event? */
  bool (*always_counts)(const char *event);
  /*
   * A group of the calling thread. Events that cannot be counted here or do not fit beside the
   * earlier ones get a reason in `why` (one text of COUNTER_WHY_MAX each), the others "". NULL
   * when out of memory.
   */
  void *(*attach)(const char *const *events, size_t count, char (*why)[COUNTER_WHY_MAX]);
  bool (*start)(void *group);
  /* values: one an event since start, those that could not be attached untouched. */
  bool (*stop)(void *group, uint64_t *values);
  void (*detach)(void *group);
  /*
   * Does the group have more events than the machine can count at once? Then each was counted for
   * a share of the time only, and its value is scaled up from that. NULL: never.
   */
  bool (*multiplexed)(const void *group);
  /*
   * Names all events that the source knows, after open: those that the machine may lack, to be
   * probed, and (native) those that are its own. NULL: it cannot tell.
   */
  void (*list)(counter_named *each, void *context);
};

extern const struct counter_source counter_source_perf;
extern const struct counter_source counter_source_papi; /* opens with an error if not compiled in */

/* The sources of a real run, NULL at the end; the last one claims what no other does. */
extern const struct counter_source *const counter_sources[];

struct counter_state {
  char name[COUNTER_NAME_MAX];
  const struct counter_source *source;
  char why[COUNTER_WHY_MAX]; /* "": it counts; else why it is missing */
  bool source_opened;        /* so that all events that it has can be listed */
};

struct counters {
  const struct counter_source *const *sources;
  struct counter_state events[COUNTERS_MAX];
  size_t count;
};

/*
 * Resolves a list ("A,B"; NULL: the default, "": none). With `prove` every event is opened,
 * started and exercised on the calling thread, which takes some 0.1 ms an event; without, events
 * are taken on trust and only found missing when threads attach (the runner proves once, its
 * workers trust the list). False, EXIT_USAGE: too many events, a name too long, empty or twice.
 */
bool counters_open(struct counters *c, const char *list,
                   const struct counter_source *const *sources, bool prove, struct error *e);

/* The same with the real sources and a proof: which events are there, and why the others not. */
bool counters_probe(const char *list, struct counters *out, struct error *e);

/*
 * Is every missing event one that a source lists, here or on another machine? False, EXIT_USAGE,
 * with the nearest listed one: the name is wrong. A name near to none is given the benefit of the
 * doubt when its source could not be opened. May take milliseconds.
 */
bool counters_known(const struct counters *c, struct error *e);

/* The counters of one thread; all calls come from it. A zeroed struct counts nothing. */
struct counter_thread {
  const struct counters *counters;
  void *groups[COUNTER_SOURCES_MAX];
  /* "" or why this thread could not count the event; what it counted between start and stop */
  char why[COUNTERS_MAX][COUNTER_WHY_MAX];
  uint64_t values[COUNTERS_MAX];
  bool multiplexed[COUNTERS_MAX]; /* the value is scaled up from a share of the time */
};

/* attach: false when out of memory. start and stop surround the measured ops; detach frees. */
bool counter_thread_attach(struct counter_thread *t, const struct counters *c);
void counter_thread_start(struct counter_thread *t);
void counter_thread_stop(struct counter_thread *t);
void counter_thread_detach(struct counter_thread *t);

#endif
