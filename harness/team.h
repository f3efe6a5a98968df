/*
 * A team: the measuring threads of a sample, bound, released together, working in phases.
 *
 * The team owns threads, binding, release and the handing out of ops; it knows nothing of
 * strategies and workloads, which hang behind hooks. Threads wait in futexes, never spinning: 32
 * of them may share two CPUs. The caller's own thread sleeps while a phase runs; it is the second
 * thread that keeps glibc and others out of their single-threaded paths when there is one member.
 *
 * A phase ends when all its ops are done. Its time runs from just before the release to the end
 * of the last op, so that every op counts whole and a late thread does fewer ops instead of
 * bending the figure.
 */
#ifndef POOLBENCH_TEAM_H
#define POOLBENCH_TEAM_H

#include "harness/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum team_edge { TEAM_START, TEAM_END };

/* All are called on the member's thread; index counts from 0. Any but run may be NULL. */
struct team_hooks {
  bool (*open)(void *context, unsigned index);            /* first; false: the member failed */
  bool (*run)(void *context, unsigned index, uint64_t n); /* n ops; false: one failed */
  void (*edge)(void *context, unsigned index, enum team_edge edge); /* around measured ops */
  void (*idle)(void *context, unsigned index);  /* after each phase, before it parks */
  void (*close)(void *context, unsigned index); /* last, also after a failed open */
};

struct team_config {
  unsigned threads;
  const int *cpu_map; /* the CPU of each thread; NULL: unbound */
  struct team_hooks hooks;
  void *context;
};

struct team_phase {
  uint64_t ops;         /* handed out in grains from one counter, below 2^62 ... */
  uint64_t grain;       /* ... of this many (the last one smaller), at least 1 */
  uint64_t each;        /* or, when not 0: every thread does this many, in one call */
  bool edges;           /* call hooks.edge */
  uint64_t deadline_ns; /* CLOCK_MONOTONIC; 0: none */
  uint64_t tick_ns;     /* how often `tick` runs on the caller's thread meanwhile; 0: never */
  void (*tick)(void *context);
};

/* What one member did in the last phase. */
struct team_member {
  pid_t tid;
  int cpu; /* -1: unbound */
  uint64_t ops;
  uint64_t end_ns; /* its last op ended, or it found none (CLOCK_MONOTONIC) */
};

struct team_result {
  uint64_t ops;
  uint64_t release_ns; /* CLOCK_MONOTONIC */
  uint64_t elapsed_ns; /* release to the end of the last op */
};

enum team_status {
  TEAM_DONE,
  TEAM_FAILED, /* a hook returned false; the other members have stopped */
  TEAM_LATE,   /* the deadline passed; members may still be in an op: only team_stop is left */
};

struct team;

/*
 * Starts the threads and waits until all are open and parked. NULL with `e` filled when a thread
 * could not be started or bound, or its open failed (the hook has kept why), or the deadline
 * (CLOCK_MONOTONIC, 0: none) passed.
 */
struct team *team_start(const struct team_config *config, uint64_t deadline_ns, struct error *e);

/*
 * Runs one phase. The result holds what was done also when a hook failed; after TEAM_LATE it holds
 * the times alone, since members may still be counting.
 */
enum team_status team_run(struct team *team, const struct team_phase *phase,
                          struct team_result *result);

/* Valid while no phase runs. */
const struct team_member *team_member(const struct team *team, unsigned index);

/*
 * Lets the members close and joins them. False when one has not ended within grace_ns: it is in
 * an op that does not end, and the team's memory stays with it.
 */
bool team_stop(struct team *team, uint64_t grace_ns);

#endif
