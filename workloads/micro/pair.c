/*
 * Micro/pair: get one object, write its first word, put it. The shortest path of a strategy and,
 * under malloc, of an allocator; null can run it, because one object is live at a time.
 */
#include "workloads/micro/micro.h"

/* One scope of `count` pairs. false when a get failed. */
static bool pairs(struct workload_thread *t, struct pool_scope *scope, unsigned count) {
  for (unsigned i = 0; i < count; i++) {
    void *object = pool_get(t->strategy, scope, 0);
    if (!object)
      return false;
    micro_touch(object, i);
    pool_put(t->strategy, scope, 0, object);
  }
  return true;
}

static void run(struct workload_thread *t, uint64_t n) {
  micro_in_scopes(t, n, pairs);
}

#define PAIR(bytes)                                          \
  static const struct kind kind_##bytes = MICRO_KIND(bytes); \
  const struct micro_shape micro_pair_##bytes = {            \
      .kinds = &kind_##bytes, .kind_count = 1, .run = run}

PAIR(16);
PAIR(64);
PAIR(256);
PAIR(4096);
