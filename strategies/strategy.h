/*
 * The strategy contract: how objects are obtained and recycled.
 *
 * A strategy is one file, strategies/NAME.c, that defines
 * `const struct strategy strategy_NAME` (a dash in NAME becomes an underscore).
 * make writes the registry from the file names. What several strategies share lives in
 * strategies/support/. Strategies know this header, harness/heap.h, harness/span.h and nothing
 * else.
 *
 * Words: a *get* takes an object from the strategy, a *put* gives it back, a *drop* gives it
 * to the allocator without giving it back; a get is a *hit* when a recycled object served it
 * and a *miss* when the allocator did. A *scope* is what a thread holds from begin to end (one
 * traversal). An *owner* is the long-lived thing objects are used for (a connection, a handler).
 */
#ifndef POOLBENCH_STRATEGY_H
#define POOLBENCH_STRATEGY_H

#include "harness/span.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Two lines, because the adjacent-line prefetcher fetches pairs on x86. */
#define POOL_LINE 128

#define POOL_MAX_KINDS 16

/*
 * One type of recycled object. All functions may be NULL: init then leaves fresh memory as the
 * heap gave it, clear does nothing, destroy does nothing, bytes is `size`.
 */
struct kind {
  const char *name;
  size_t size;  /* bytes of the object itself, at least sizeof(void *) */
  size_t align; /* a power of two; 0 means alignof(max_align_t) */
  /* Brings fresh memory into the cleared state. Returns false when the allocator failed. */
  bool (*init)(void *object);
  /* Brings a used object back into the cleared state; called by put, never by drop. */
  void (*clear)(void *object);
  /* Frees what the object holds, not the object. Called before its memory is freed. */
  void (*destroy)(void *object);
  /* Bytes held in all: the object plus what hangs off it (a recycled map keeps its table). */
  size_t (*bytes)(const void *object);
};

/*
 * What a strategy counts. X(field, unit per op, what it counts)
 * Every counter has one writer, its thread; readers sum them at any time.
 */
#define POOL_COUNTERS(X)                                                                        \
  X(gets, "gets/op", "gets, hit or miss")                                                       \
  X(puts, "puts/op", "puts")                                                                    \
  X(drops, "drops/op", "objects dropped instead of put")                                        \
  X(misses, "misses/op", "gets that went to the allocator")                                     \
  X(overflows, "overflows/op", "puts beyond a cap, freed at once")                              \
  X(lock_acquisitions, "lockacq/op", "lock acquisitions")                                       \
  X(lock_contended, "contended/op", "acquisitions that did not get the lock at the first try")  \
  X(lock_wait_ns, "lockwait-ns/op", "time waited for locks, timed only after a failed try")     \
  X(lock_hold_ns, "lockhold-ns/op", "time locks were held: a sample of holds, scaled up")       \
  X(owner_switches, "owner-switches/op", "acquisitions of a lock that another thread had last") \
  X(cas_retries, "cas-retries/op", "compare-and-swap failures")                                 \
  X(steals, "steals/op", "objects taken from another thread's shard")                           \
  X(scans, "scans/op", "other shards looked at")                                                \
  X(restarts, "restarts/op", "restartable sequences that the kernel aborted")

/*
 * What a strategy times for the time budget (harness/budget.h), in ns. X(field, what it sums)
 * Waits are split by clocks that cost 3 us a wait: of the short ones, up to SPAN_LIMIT_NS, a sample
 * is, of the long ones every one.
 */
#define POOL_TIMES(X)                                                             \
  X(short_waits, "short waits for locks that were split")                         \
  X(short_wait_ns, "how long they lasted")                                        \
  X(short_cpu_ns, "CPU time from before such a wait to after the release")        \
  X(short_hold_ns, "hold and release that followed, which are in that CPU time")  \
  X(short_delay_ns, "run-queue delay in such waits")                              \
  X(long_wait_ns, "long waits, all of them")                                      \
  X(long_cpu_ns, "CPU time in them")                                              \
  X(long_delay_ns, "run-queue delay in them")                                     \
  X(watched_wait_ns, "waits whose lock noted its last release before they ended") \
  X(handoff_ns, "from that release to their end")                                 \
  X(release_ns, "releasing locks, which may wake a waiter: a sample, scaled up")  \
  X(cas_ns, "from the first failure of a compare-and-swap to its success or end") \
  X(scan_ns, "searches of other shards without their CAS retries: a sample, scaled up")

/* A thread's CPU time and run-queue delay at a moment of CLOCK_MONOTONIC. */
struct pool_clocks {
  uint64_t at_ns, cpu_ns, delay_ns;
};

/* The owning thread's own: which calls it times, and how. All zero: none. */
struct pool_timing {
  const struct span_clock *clock;
  struct span_gap hold, scan;
  uint64_t split_wait_at;  /* CLOCK_MONOTONIC: waits that begin before are not split */
  struct pool_clocks last; /* read at the end of the last wait that was */
  int delay_fd;            /* the thread's schedstat file, -1: none */
};

struct pool_counters {
#define POOL_COUNTER_FIELD(field, unit, what) _Atomic uint64_t field;
  POOL_COUNTERS(POOL_COUNTER_FIELD)
#undef POOL_COUNTER_FIELD
#define POOL_TIME_FIELD(field, what) _Atomic uint64_t field;
  POOL_TIMES(POOL_TIME_FIELD)
#undef POOL_TIME_FIELD
  struct pool_timing timing;
};

/* The sum over all threads, past and present. hits = gets - misses. */
struct pool_stats {
#define POOL_STAT_FIELD(field, unit, what) uint64_t field;
  POOL_COUNTERS(POOL_STAT_FIELD)
#undef POOL_STAT_FIELD
#define POOL_TIME_STAT(field, what) uint64_t field;
  POOL_TIMES(POOL_TIME_STAT)
#undef POOL_TIME_STAT
};

/* What a pool holds for later gets; live objects are not in it. */
struct pool_held {
  uint64_t objects;
  uint64_t bytes; /* by kind.bytes */
};

/*
 * Adds to a counter of the calling thread. Single writer, so a relaxed load and store suffice:
 * readers may see a slightly old value, never a torn one, and nothing is ordered by it.
 */
static inline void pool_count(_Atomic uint64_t *counter, uint64_t n) {
  atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + n,
                        memory_order_relaxed);
}

/* Each strategy defines its own `struct pool` and embeds the other two as first member. */
struct pool;

struct pool_thread {
  struct pool_counters counters;
};

struct pool_scope {
  struct pool_thread *thread;
};

/*
 * An owner as the workload keeps it: zeroed before its first begin. `state` belongs to the
 * strategy from the first begin to release. At most one thread uses an owner at a time; the
 * workload orders those uses (its own lock).
 */
struct pool_owner {
  void *state;
};

enum strategy_flag {
  STRATEGY_OBJECTS_DIE_WITH_SCOPE = 1 << 0, /* arena: no object outlives the scope it came from */
  STRATEGY_NEEDS_OWNER = 1 << 1,            /* begin wants an owner */
  STRATEGY_ONE_OBJECT = 1 << 2,             /* null: one preset object a thread and kind */
  STRATEGY_NEVER_HITS = 1 << 3,             /* every get is a miss by design */
  STRATEGY_ONE_LOCK = 1 << 4, /* all threads take one lock: slower the more of them run at once */
};

/* An option of a strategy, as in `global-locked:lock=ticket`. The list ends with key NULL. */
struct strategy_option {
  const char *key;
  const char *fallback; /* the value when none is given */
  const char *values;   /* for messages: "pthread|ticket" or "1..1000000" */
  const char *what;
};

/* What open gets besides the kinds. */
struct pool_config {
  const char *const *options; /* "key=value" strings, keys checked against the strategy's list */
  size_t option_count;
  unsigned threads; /* the most threads that will be attached at once */
  char *why;        /* on failure: what was wrong and what would be right */
  size_t why_size;
  const struct span_clock *clock; /* for POOL_TIMES, valid until close; NULL: nothing is timed */
};

struct strategy {
  const char *name;
  const char *summary;                   /* one line for `poolbench list` */
  unsigned flags;                        /* enum strategy_flag */
  const struct strategy_option *options; /* NULL: none */

  /*
   * Before the first and after the last thread. kinds (at most POOL_MAX_KINDS) must stay valid
   * until close. open returns NULL with config->why filled. close frees everything the pool
   * holds and every thread's state; all threads have detached.
   */
  struct pool *(*open)(const struct kind *kinds, size_t kind_count,
                       const struct pool_config *config);
  void (*close)(struct pool *pool);

  /*
   * A thread starts or ends. All other calls on the returned thread come from the attaching
   * thread. The strategy's own comment says who gets a leaving thread's objects. attach
   * returns NULL when out of memory.
   */
  struct pool_thread *(*attach)(struct pool *pool);
  void (*detach)(struct pool *pool, struct pool_thread *thread);

  /*
   * Scopes nest (last begun, first ended) and belong to one thread. owner may be NULL unless
   * STRATEGY_NEEDS_OWNER. begin returns NULL when out of memory.
   */
  struct pool_scope *(*begin)(struct pool *pool, struct pool_thread *thread,
                              struct pool_owner *owner);
  void (*end)(struct pool *pool, struct pool_scope *scope);

  /*
   * kind is an index into open's kinds. get returns an object in the cleared state, aligned as
   * its kind asks, or NULL when the allocator failed. Objects may outlive their scope and be
   * put through any scope of the pool on any thread (unless STRATEGY_OBJECTS_DIE_WITH_SCOPE).
   * put clears and keeps the object or, beyond a cap, destroys and frees it.
   */
  void *(*get)(struct pool_scope *scope, unsigned kind);
  void (*put)(struct pool_scope *scope, unsigned kind, void *object);

  /* Destroys and frees an object without recycling it. */
  void (*drop)(struct pool_thread *thread, unsigned kind, void *object);

  /* The owner is gone: frees or recycles what is kept for it. No scope with it is open. */
  void (*release)(struct pool *pool, struct pool_owner *owner);

  /*
   * The idle or collection event; any thread may call it at any time. It advances an epoch:
   * each thread trims its own state at its next begin, end or quiesce; shared state goes when
   * that is safe. quiesce is called by idle threads with no scope open.
   */
  void (*trim)(struct pool *pool);
  void (*quiesce)(struct pool *pool, struct pool_thread *thread);

  /* stats: at any time, by any thread. held: only while no scope is open on any thread. */
  void (*stats)(struct pool *pool, struct pool_stats *out);
  void (*held)(struct pool *pool, struct pool_held *out);
};

/* The registry that make writes (build/registry.c), NULL at the end, sorted by name. */
extern const struct strategy *const strategies[];

#endif
