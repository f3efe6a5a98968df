/*
 * What the micro cases share. A case is a row of MICRO_CASES in micro.c and a shape: a file of
 * this folder that says which kinds it recycles and what an op does.
 */
#ifndef POOLBENCH_MICRO_H
#define POOLBENCH_MICRO_H

#include "workloads/workload.h"

/* Gets per scope, the same under every strategy, so that a borrowed freelist is borrowed. */
#define MICRO_SCOPE 64

/* One size of object without content: nothing to initialise, clear or destroy. */
#define MICRO_KIND(bytes) \
  { .name = "micro/" #bytes "B", .size = (bytes) }

struct micro_shape {
  const struct kind *kinds;
  size_t kind_count;
  unsigned parameter; /* the shape's own */
  /* As in struct workload; NULL where the shape has no state, or no such thing. */
  bool (*open)(struct workload_state *state, const struct workload_setup *setup);
  void (*close)(struct workload_state *state);
  bool (*thread_open)(struct workload_thread *t);
  void (*thread_close)(struct workload_thread *t);
  void (*run)(struct workload_thread *t, uint64_t n);
  void (*idle)(struct workload_thread *t);
  void (*series)(struct workload_thread *t, series_emit *emit, void *context);
};

struct workload_state {
  const struct micro_shape *shape;
  unsigned threads;
  uint64_t seed;
  void *shared; /* the shape's own, from its open */
};

/* Marks the thread as failed: `what` (a begin, a get, an allocation) found no memory. */
void micro_out_of_memory(struct workload_thread *t, const char *what);

/* The use an object is put to: its first word is written, so its line must be there. */
static inline void micro_touch(void *object, uint64_t value) {
  *(volatile uint64_t *)object = value;
}

/*
 * n ops in scopes of at most MICRO_SCOPE: some(t, scope, count) does `count` ops in a scope and
 * returns false when a get failed. Inline, so that each shape's loop is its own.
 */
static inline void micro_in_scopes(struct workload_thread *t, uint64_t n,
                                   bool (*some)(struct workload_thread *t, struct pool_scope *scope,
                                                unsigned count)) {
  while (n > 0) {
    unsigned count = n < MICRO_SCOPE ? (unsigned)n : MICRO_SCOPE;
    struct pool_scope *scope = pool_begin(t->strategy, t->pool, t->pool_thread, NULL);
    bool done = scope && some(t, scope, count);
    if (scope)
      pool_end(t->strategy, t->pool, scope);
    if (!done) {
      micro_out_of_memory(t, scope ? "get" : "begin");
      return;
    }
    n -= count;
  }
}

extern const struct strategy_option micro_burst_options[];

#endif
