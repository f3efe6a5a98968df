/*
 * The pools of a sample: one for all threads or, with the option pools=private, one a thread.
 *
 * Private pools run the very same code and share nothing through the strategy: what threads then
 * still cost each other is the machine's part and the allocator's (docs/contention.md).
 */
#ifndef POOLBENCH_POOLS_H
#define POOLBENCH_POOLS_H

#include "strategies/pool.h"

struct pools {
  const struct strategy *strategy;
  struct pool **list;
  unsigned count; /* 1, or the threads */
};

/* count pools of the same configuration; false with config->why filled, all closed. */
bool pools_open(struct pools *p, const struct strategy *strategy, unsigned count,
                const struct kind *kinds, size_t kind_count, const struct pool_config *config);
void pools_close(struct pools *p);

/* The pool of thread number `index`. */
static inline struct pool *pools_of(const struct pools *p, unsigned index) {
  return p->list[index < p->count ? index : 0];
}

/* Sums over the pools, under the conditions of the strategy's own calls. */
void pools_stats(const struct pools *p, struct pool_stats *out);
void pools_held(const struct pools *p, struct pool_held *out);

/* Trims every pool; at any time, by any thread. */
void pools_trim(const struct pools *p);

#endif
