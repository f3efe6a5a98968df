/*
 * Micro/random: each thread keeps a set of live objects of many sizes and replaces one at random
 * per op. Order of puts has nothing to do with order of gets, and neighbours in memory differ in
 * age: what makes heaps fragment and LIFO lists miss the cache.
 */
#include "workloads/micro/micro.h"

#include "harness/heap.h"

#define LIVE 1024

static const struct kind kinds[] = {MICRO_KIND(16),  MICRO_KIND(32),  MICRO_KIND(48),
                                    MICRO_KIND(64),  MICRO_KIND(128), MICRO_KIND(256),
                                    MICRO_KIND(512), MICRO_KIND(1024)};
#define KINDS (sizeof kinds / sizeof kinds[0])

struct live_set {
  uint64_t random;
  void *objects[LIVE]; /* NULL: not filled yet */
  uint8_t kinds[LIVE];
};

/* Marsaglia's xorshift64: two numbers an op must cost less than what they choose. */
static uint64_t next_random(uint64_t *state) {
  uint64_t x = *state;
  x ^= x << 13;
  x ^= x >> 7;
  x ^= x << 17;
  return *state = x;
}

static bool replace_some(struct workload_thread *t, struct pool_scope *scope, unsigned count) {
  struct live_set *set = t->local;
  for (unsigned i = 0; i < count; i++) {
    uint64_t random = next_random(&set->random);
    unsigned slot = (unsigned)(random % LIVE), kind = (unsigned)(random >> 32) % KINDS;
    if (set->objects[slot])
      pool_put(t->strategy, scope, set->kinds[slot], set->objects[slot]);
    set->objects[slot] = pool_get(t->strategy, scope, kind);
    if (!set->objects[slot])
      return false;
    set->kinds[slot] = (uint8_t)kind;
    micro_touch(set->objects[slot], i);
  }
  return true;
}

static void run(struct workload_thread *t, uint64_t n) {
  micro_in_scopes(t, n, replace_some);
}

/* Every thread its own sequence; never zero, where xorshift would stay. */
static bool thread_open(struct workload_thread *t) {
  struct live_set *set = heap_calloc(sizeof *set);
  if (!set) {
    micro_out_of_memory(t, "opening a thread");
    return false;
  }
  set->random = (t->state->seed + t->index + 1) * UINT64_C(0x9e3779b97f4a7c15) | 1;
  t->local = set;
  return true;
}

static void thread_close(struct workload_thread *t) {
  struct live_set *set = t->local;
  for (unsigned i = 0; i < LIVE; i++)
    if (set->objects[i])
      pool_drop(t->strategy, t->pool_thread, set->kinds[i], set->objects[i]);
  heap_free(set, sizeof *set);
  t->local = NULL;
}

const struct micro_shape micro_random = {.kinds = kinds,
                                         .kind_count = KINDS,
                                         .thread_open = thread_open,
                                         .thread_close = thread_close,
                                         .run = run};
