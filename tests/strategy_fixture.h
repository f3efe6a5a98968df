/*
 * A pool opened from a spec, with one attached thread, that checks the heap's balance when it is
 * closed. For tests only; include after cmocka.h.
 */
#ifndef POOLBENCH_STRATEGY_FIXTURE_H
#define POOLBENCH_STRATEGY_FIXTURE_H

#include "harness/heap.h"
#include "strategies/pool.h"

#include <sched.h>
#include <string.h>

/* A strategy outside of the registry that a spec may name all the same; NULL: none. */
static const struct strategy *fixture_extra;

struct fixture {
  const struct strategy *s;
  struct pool *pool;
  struct pool_thread *thread;
  struct pool_owner owner; /* for strategies that need one */
  char storage[STRATEGY_SPEC_MAX];
  const char *options[STRATEGY_MAX_OPTIONS];
  size_t option_count;
  char why[300];
  int64_t live_bytes, live_blocks; /* before open */
};

/* A counter of half a ns, so that strategies time what they time in a measurement. */
static const struct span_clock fixture_clock = {.ns_per_tick = UINT64_C(1) << 31,
                                                .limit = UINT64_C(1) << 40};

static inline int64_t fixture_live_bytes(void) {
  struct heap_counts c;
  heap_total(&c);
  return (int64_t)(c.alloc_bytes - c.freed_bytes);
}

static inline int64_t fixture_live_blocks(void) {
  struct heap_counts c;
  heap_total(&c);
  return (int64_t)(c.allocs - c.frees);
}

/* false with f->why filled when the spec or open is refused. */
static inline bool fixture_try_open(struct fixture *f, const char *spec, const struct kind *kinds,
                                    size_t kind_count) {
  *f = (struct fixture){.live_bytes = fixture_live_bytes(), .live_blocks = fixture_live_blocks()};
  if (fixture_extra && strcmp(spec, fixture_extra->name) == 0)
    f->s = fixture_extra;
  else
    f->s = strategy_parse(spec, f->storage, f->options, &f->option_count, f->why, sizeof f->why);
  if (!f->s)
    return false;
  f->s = strategy_checked(f->s);
  struct pool_config config = {f->options, f->option_count, 64,
                               f->why,     sizeof f->why,   &fixture_clock};
  f->pool = f->s->open(kinds, kind_count, &config);
  return f->pool != NULL;
}

static inline void fixture_open(struct fixture *f, const char *spec, const struct kind *kinds,
                                size_t kind_count) {
  if (!fixture_try_open(f, spec, kinds, kind_count))
    fail_msg("%s: %s", spec, f->why);
  f->thread = f->s->attach(f->pool);
  assert_non_null(f->thread);
}

static inline struct pool_scope *fixture_begin(struct fixture *f, struct pool_thread *thread,
                                               struct pool_owner *owner) {
  bool needs = f->s->flags & STRATEGY_NEEDS_OWNER;
  return pool_begin(f->s, f->pool, thread, needs ? owner : NULL);
}

static inline void fixture_release(struct fixture *f, struct pool_owner *owner) {
  if (f->s->flags & STRATEGY_NEEDS_OWNER)
    f->s->release(f->pool, owner);
}

static inline struct pool_stats fixture_stats(struct fixture *f) {
  struct pool_stats stats;
  f->s->stats(f->pool, &stats);
  return stats;
}

static inline struct pool_held fixture_held(struct fixture *f) {
  struct pool_held held;
  f->s->held(f->pool, &held);
  return held;
}

/*
 * Keeps the calling thread and those that it starts on the n-th CPU it may use, for what depends on
 * the CPU that a thread runs on. Returns where it could run before; false: there is no n-th.
 */
static inline bool fixture_stay_on_cpu(int n, cpu_set_t *before) {
  cpu_set_t one;
  int cpu = -1;
  assert_int_equal(sched_getaffinity(0, sizeof *before, before), 0);
  do {
    if (++cpu == CPU_SETSIZE)
      return false;
  } while (!CPU_ISSET(cpu, before) || n-- > 0);
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
  return true;
}

/* Closes and checks that not a byte is left. */
static inline void fixture_close(struct fixture *f) {
  fixture_release(f, &f->owner);
  if (f->thread)
    f->s->detach(f->pool, f->thread);
  f->s->close(f->pool);
  assert_int_equal(fixture_live_bytes(), f->live_bytes);
  assert_int_equal(fixture_live_blocks(), f->live_blocks);
}

#endif
