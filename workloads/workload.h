/*
 * The workload contract: a program shape that asks a strategy for objects.
 *
 * A workload is workloads/NAME.c or a folder workloads/NAME/ that defines
 * `const struct workload workload_NAME`; make writes the registry from the names. Workloads know
 * this header, strategies/strategy.h, strategies/pool.h and harness/heap.h, and take all memory
 * from a strategy or from the counted heap.
 */
#ifndef POOLBENCH_WORKLOAD_H
#define POOLBENCH_WORKLOAD_H

#include "strategies/pool.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a program does with the objects of an op once it is over. */
enum discipline {
  DISCIPLINE_BALANCED,  /* every object is put back: puts = gets */
  DISCIPLINE_AS_MERGED, /* the few that the changed program still loses are dropped */
  DISCIPLINE_LEAKY,     /* those that the program lost before the change are dropped */
};
#define DISCIPLINE_BIT(d) (1u << (d))
#define DISCIPLINE_ALL 7u

/* "balanced", "as-merged", "leaky". */
const char *discipline_name(enum discipline d);
bool discipline_parse(const char *text, enum discipline *out);

enum case_flag {
  CASE_NULL_RUNS = 1 << 0,       /* holds one object of a kind at a time: null can run it */
  CASE_OUTLIVES_SCOPE = 1 << 1,  /* objects outlive the scope they came from */
  CASE_HAS_OWNER = 1 << 2,       /* begin is called with an owner */
  CASE_HIDDEN = 1 << 3,          /* for checks of the harness: listed and run only by name */
  CASE_BLOCKS = 1 << 4,          /* threads block in an op (sockets, condition variables) */
  CASE_ONE_STRATEGY = 1 << 5,    /* asks the strategy for nothing: runs under the base only */
  CASE_FEWER_THREADS = 1 << 6,   /* above max_threads it runs with max_threads, and says so */
  CASE_SERIES = 1 << 7,          /* memory over time: `series` instead of `run`, no ns/op */
  CASE_OWN_THREAD_EACH = 1 << 8, /* each measuring thread attaches one more thread at a time */
};

/* One row of a workload. Lists of cases end with name NULL. */
struct workload_case {
  const char *name;     /* as in reports, without "Benchmark": "Compare/Pod/structured" */
  const char *what;     /* what one op is, one line */
  unsigned flags;       /* enum case_flag */
  unsigned disciplines; /* DISCIPLINE_BIT()s that mean something here */
  unsigned min_threads, max_threads; /* 0 = no bound; outside, the case is skipped by name */
  bool in_sweep;                     /* measured at the other thread counts too, for curves */
  double op_hint_ns;    /* rough time of an op on one CPU, for the first estimate of a plan; a
                           series: of the whole, without its idle waits */
  double open_hint_ns;  /* rough time from a process's start to an opened workload, beyond what a
                           process always takes; 0: little */
  unsigned own_threads; /* threads that the workload attaches to the pool besides the measuring
                           ones: part of pool_config.threads */
};

/* What open gets. Strings stay valid until close. */
struct workload_setup {
  const char *case_name;
  const char *object_file; /* --object FILE the case belongs to, or NULL */
  enum discipline discipline;
  unsigned threads;
  uint64_t seed;
  const char *options; /* "key=value,key=value" of the workload's own options, or NULL: defaults */
  char *why; /* on failure: what was wrong, where (file and line or path), what would be right */
  size_t why_size;
};

struct workload_state; /* each workload defines its own */

/* One measuring thread. The harness fills all but `local`, which is the workload's. */
struct workload_thread {
  const struct strategy *strategy;
  struct pool *pool;
  struct pool_thread *pool_thread;
  struct workload_state *state;
  void *local;
  unsigned index, threads; /* 0 <= index < threads */
  bool failed;             /* set by run when an op went wrong; why in `why` */
  char why[200];
};

/*
 * One moment of a series. The workload says which moment it is and what it cost to get there; the
 * harness, called at that moment, adds the time and what memory is held: live and pooled bytes,
 * what the allocator holds beyond them, RSS.
 */
/*
 * The phases that the report knows by name: "start"; "burst" or "peak", where most is live; "after
 * burst"; "trim N"; "idle N s"; "trickle ..."; "released", after every
 * thread called heap_release; left out where that does nothing.
 * A series whose waits can be set calls the option "idle", in seconds.
 */
struct series_mark {
  const char *phase; /* unique within the series */
  uint64_t ops;      /* ops done since the last mark; 0: the phase has none */
  uint64_t busy_ns;  /* time spent in those ops, over all threads */
  uint64_t stall_ns; /* trims: the longest that any one thread was held up */
  uint64_t owners;   /* owners that exist, for bytes per idle owner; 0: none */
};

/*
 * Called by thread 0 while no thread has a scope open and none works, so that strategy->held may
 * be asked. The mark is valid during the call only.
 */
typedef void series_emit(void *context, const struct series_mark *mark);

struct workload {
  const char *name; /* its suite's name */
  const char *summary;
  const struct workload_case *cases;

  /*
   * For --object: reads FILE and fills `out` (room for `room` cases) with this file's own cases.
   * The names and texts live until the process ends. Returns how many, or -1 with `why` filled.
   * NULL: the workload takes no objects.
   */
  int (*object_cases)(const char *file, struct workload_case *out, size_t room, char *why,
                      size_t why_size);

  /* Once a process, on the main thread, before the pool is opened. false: setup->why is filled. */
  bool (*open)(const struct workload_setup *setup, struct workload_state **state);
  void (*close)(struct workload_state *state);

  /* The kinds that this case recycles; valid until close. */
  const struct kind *(*kinds)(struct workload_state *state, size_t *count);

  /* On the measuring thread, before its first and after its last run. May be NULL. */
  bool (*thread_open)(struct workload_thread *t);
  void (*thread_close)(struct workload_thread *t);

  /*
   * Does n whole ops. Called many times; everything an op allocates is counted. Stops early and
   * sets t->failed when an op cannot be done (out of memory, a wrong result).
   */
  void (*run)(struct workload_thread *t, uint64_t n);

  /*
   * On the measuring thread, when there are no more ops for it in this phase (a stretch of the
   * warm-up, the measured part): once a phase on every thread, on one that did no op too. NULL:
   * the workload need not know.
   */
  void (*idle)(struct workload_thread *t);

  /*
   * Waits until the workload's own threads have caught up and hold no scope; all measuring threads
   * have returned from run. Called before strategy->held is asked. NULL: it has no such threads.
   */
  void (*settle)(struct workload_state *state);

  /*
   * Cases with CASE_SERIES: the whole series, once, called by every measuring thread at the same
   * time instead of run, after all of them have opened; the workload keeps them in step. Thread 0
   * emits. A thread that fails sets t->failed and lets the others end. NULL: the workload has no
   * series.
   */
  void (*series)(struct workload_thread *t, series_emit *emit, void *context);

  /* What setup->options may hold; the list ends with key NULL. NULL: none. */
  const struct strategy_option *options;

  /* Settings with which series are short enough for --quick: "key=value,..."; NULL: the defaults.
   */
  const char *quick_options;
};

/* The registry that make writes (build/registry.c), NULL at the end. */
extern const struct workload *const workloads[];

#endif
