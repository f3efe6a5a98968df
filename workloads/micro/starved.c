/*
 * Micro/starved: of four objects got one after the other, so many are never put back. They are
 * dropped, which stands for the garbage collector that would find them. A pool that is starved
 * must allocate at every fourth get, and what it does before it gives in is what this measures: a
 * search of all shards in sync-pool.
 */
#include "workloads/micro/micro.h"

/* The position among the four goes on from call to call; it is all the state there is. */
static unsigned position(const struct workload_thread *t) {
  return (unsigned)(uintptr_t)t->local;
}

static bool get_and_mostly_put(struct workload_thread *t, struct pool_scope *scope,
                               unsigned count) {
  const unsigned lost = t->state->shape->parameter;
  unsigned at = position(t);
  unsigned done = 0;
  for (; done < count; done++, at = (at + 1) % 4) {
    void *object = pool_get(t->strategy, scope, 0);
    if (!object)
      break;
    micro_touch(object, done);
    if (at < lost)
      pool_drop(t->strategy, t->pool_thread, 0, object);
    else
      pool_put(t->strategy, scope, 0, object);
  }
  t->local = (void *)(uintptr_t)at;
  return done == count;
}

static void run(struct workload_thread *t, uint64_t n) {
  micro_in_scopes(t, n, get_and_mostly_put);
}

static const struct kind kind = MICRO_KIND(64);
#define STARVED(k)                               \
  const struct micro_shape micro_starved_##k = { \
      .kinds = &kind, .kind_count = 1, .parameter = k, .run = run}

STARVED(0);
STARVED(1);
STARVED(2);
STARVED(4);
