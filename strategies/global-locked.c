/*
 * global-locked: one pool for all threads behind one lock, taken at every get and every put.
 *
 * Contract. Any thread may put any object; the next get of any thread finds it. Memory: at most
 * `cap` objects and `bytes` bytes a kind (by default no more than were ever live at once, for a get
 * misses only when the pool is empty). Progress: blocking; a thread that is preempted inside the
 * lock stops all others, and with lock=ticket or mcs one that is preempted while it waits stops
 * those behind it too. Order: LIFO over all threads. A leaving thread leaves nothing behind: its
 * objects are in the pool already. trim frees the pooled objects at once.
 *
 * Clearing, allocating and freeing objects happen outside the lock; only the list's array grows
 * inside it, log2(cap) times, and with bytes=N kinds that hold memory are weighed there. The lock
 * orders everything: what a thread wrote into an object before its put is seen by whoever gets it.
 */
#include "strategies/strategy.h"
#include "strategies/support/base.h"
#include "strategies/support/freelist.h"
#include "strategies/support/lock.h"
#include "strategies/support/options.h"

#include <stdio.h>
#include <string.h>

extern const struct strategy strategy_global_locked;

struct pool {
  struct base_pool base;
  /* The lock and what it guards lie together: who gets the lock needs the list next. */
  _Alignas(POOL_LINE) struct lock lock;
  struct freelist lists[POOL_MAX_KINDS];
};

struct locked_thread {
  struct base_thread base;
  _Alignas(POOL_LINE) struct pool_scope scope;
  struct pool *pool;
};

static const struct strategy_option locked_options[] = {
    {"cap", "0", "0..100000000 (0: no cap)", "most objects kept per kind"},
    {"bytes", "0", FREELIST_BYTES_RANGE, "most bytes kept per kind, by kind.bytes"},
    {"lock", "pthread", "pthread|adaptive|ticket|mcs", "park, spin then park, or spin in a queue"},
    LOCK_INJECT_OPTION,
    {0}};

static struct pool *locked_open(const struct kind *kinds, size_t kind_count,
                                const struct pool_config *config) {
  uint64_t cap, most_bytes, inject_ns;
  unsigned type;
  if (!option_number(&strategy_global_locked, config, "cap", 0, FREELIST_MAX_CAP, &cap) ||
      !option_number(&strategy_global_locked, config, "bytes", 0, FREELIST_MAX_BYTES,
                     &most_bytes) ||
      !option_number(&strategy_global_locked, config, "inject", 0, LOCK_MAX_INJECT_NS,
                     &inject_ns) ||
      !option_choice(&strategy_global_locked, config, "lock", lock_names, &type))
    return NULL;
  struct pool *pool =
      base_open(sizeof *pool, sizeof(struct locked_thread), kinds, kind_count, config);
  if (!pool)
    return NULL;
  int error = lock_init(&pool->lock, (enum lock_type)type);
  if (error) {
    snprintf(config->why, config->why_size, "global-locked: cannot make its lock: %s",
             strerror(error));
    base_close(&pool->base);
    return NULL;
  }
  pool->lock.inject_ns = inject_ns;
  for (size_t i = 0; i < kind_count; i++)
    freelist_init(&pool->lists[i], &kinds[i], cap, most_bytes);
  return pool;
}

static void locked_close(struct pool *pool) {
  for (size_t i = 0; i < pool->base.kind_count; i++)
    freelist_clear(&pool->lists[i]);
  lock_destroy(&pool->lock);
  base_close(&pool->base);
}

static struct pool_thread *locked_attach(struct pool *pool) {
  struct locked_thread *thread = base_attach(&pool->base);
  if (!thread)
    return NULL;
  thread->scope.thread = &thread->base.thread;
  thread->pool = pool;
  base_enter(&pool->base, &thread->base);
  return &thread->base.thread;
}

static struct pool_scope *locked_begin(struct pool *pool, struct pool_thread *thread,
                                       struct pool_owner *owner) {
  (void)pool, (void)owner;
  return &((struct locked_thread *)thread)->scope;
}

static void locked_end(struct pool *pool, struct pool_scope *scope) {
  (void)pool, (void)scope;
}

static void *locked_get(struct pool_scope *scope, unsigned kind) {
  struct locked_thread *thread = (struct locked_thread *)scope->thread;
  struct pool_counters *counters = &thread->base.thread.counters;
  struct pool *pool = thread->pool;
  struct lock_hold hold;
  lock_acquire(&pool->lock, &hold, counters);
  void *object = freelist_pop(&pool->lists[kind]);
  lock_release(&pool->lock, &hold);
  pool_count(&counters->gets, 1);
  if (object)
    return object;
  pool_count(&counters->misses, 1);
  return object_new(&pool->base.kinds[kind]);
}

static void locked_put(struct pool_scope *scope, unsigned kind, void *object) {
  struct locked_thread *thread = (struct locked_thread *)scope->thread;
  struct pool_counters *counters = &thread->base.thread.counters;
  struct pool *pool = thread->pool;
  object_clear(&pool->base.kinds[kind], object);
  struct lock_hold hold;
  lock_acquire(&pool->lock, &hold, counters);
  bool kept = freelist_push(&pool->lists[kind], object);
  lock_release(&pool->lock, &hold);
  pool_count(&counters->puts, 1);
  if (!kept) {
    pool_count(&counters->overflows, 1);
    object_free(&pool->base.kinds[kind], object);
  }
}

static void locked_drop(struct pool_thread *t, unsigned kind, void *object) {
  struct locked_thread *thread = (struct locked_thread *)t;
  pool_count(&t->counters.drops, 1);
  object_free(&thread->pool->base.kinds[kind], object);
}

/* Takes the lists away under the lock and frees them outside, so that nobody waits for free. */
static void locked_trim(struct pool *pool) {
  struct freelist taken[POOL_MAX_KINDS];
  size_t count = pool->base.kind_count;
  struct lock_hold hold;
  lock_acquire(&pool->lock, &hold, NULL);
  for (size_t i = 0; i < count; i++)
    taken[i] = freelist_take(&pool->lists[i]);
  lock_release(&pool->lock, &hold);
  for (size_t i = 0; i < count; i++)
    freelist_clear(&taken[i]);
}

static void locked_held(struct pool *pool, struct pool_held *out) {
  *out = (struct pool_held){0};
  struct lock_hold hold;
  lock_acquire(&pool->lock, &hold, NULL);
  for (size_t i = 0; i < pool->base.kind_count; i++)
    freelist_held(&pool->lists[i], out);
  lock_release(&pool->lock, &hold);
}

const struct strategy strategy_global_locked = {
    .name = "global-locked",
    .flags = STRATEGY_ONE_LOCK,
    .summary = "one pool behind one lock",
    .options = locked_options,
    .open = locked_open,
    .close = locked_close,
    .attach = locked_attach,
    .detach = base_thread_detach,
    .begin = locked_begin,
    .end = locked_end,
    .get = locked_get,
    .put = locked_put,
    .drop = locked_drop,
    .release = base_release_nothing,
    .trim = locked_trim,
    .quiesce = base_quiesce_nothing,
    .stats = base_pool_stats,
    .held = locked_held,
};
