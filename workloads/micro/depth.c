/*
 * Micro/depth64: gets 64 objects, then puts them, last got first put. What a strategy costs beyond
 * its first slot; an op is one get and one put, so that it compares with Micro/pair.
 */
#include "workloads/micro/micro.h"

/* One scope of `count` gets and as many puts. false when a get failed. */
static bool up_and_down(struct workload_thread *t, struct pool_scope *scope, unsigned count) {
  void *objects[MICRO_SCOPE];
  unsigned got = 0;
  while (got < count && (objects[got] = pool_get(t->strategy, scope, 0))) {
    micro_touch(objects[got], got);
    got++;
  }
  for (unsigned i = got; i-- > 0;)
    pool_put(t->strategy, scope, 0, objects[i]);
  return got == count;
}

static void run(struct workload_thread *t, uint64_t n) {
  micro_in_scopes(t, n, up_and_down);
}

static const struct kind kind = MICRO_KIND(64);
const struct micro_shape micro_depth_64 = {.kinds = &kind, .kind_count = 1, .run = run};
