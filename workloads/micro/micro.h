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
  /* As in struct workload; NULL where the shape has no state. */
  bool (*open)(struct workload_state *state, const struct workload_setup *setup);
  void (*close)(struct workload_state *state);
  bool (*thread_open)(struct workload_thread *t);
  void (*thread_close)(struct workload_thread *t);
  void (*run)(struct workload_thread *t, uint64_t n);
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

extern const struct micro_shape micro_pair_16, micro_pair_64, micro_pair_256, micro_pair_4096;

#endif
