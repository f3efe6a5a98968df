/*
 * malloc: every get is a miss, every put a free. The base that recycling is compared against;
 * what it measures is the allocator below.
 *
 * Contract. Any thread may put any object. Memory: keeps nothing. Progress and order: the
 * allocator's. put destroys without clearing, since nobody sees the object again. trim does
 * nothing; a leaving thread has nothing to leave.
 */
#include "strategies/strategy.h"
#include "strategies/support/base.h"
#include "strategies/support/object.h"

struct pool {
  struct base_pool base;
};

struct malloc_thread {
  struct base_thread base;
  _Alignas(POOL_LINE) struct pool_scope scope;
  const struct kind *kinds;
};

static struct pool *malloc_open(const struct kind *kinds, size_t kind_count,
                                const struct pool_config *config) {
  return base_open(sizeof(struct pool), sizeof(struct malloc_thread), kinds, kind_count, config);
}

static struct pool_thread *malloc_attach(struct pool *pool) {
  struct malloc_thread *thread = base_attach(&pool->base);
  if (!thread)
    return NULL;
  thread->scope.thread = &thread->base.thread;
  thread->kinds = pool->base.kinds;
  base_enter(&pool->base, &thread->base);
  return &thread->base.thread;
}

static struct pool_scope *malloc_begin(struct pool *pool, struct pool_thread *thread,
                                       struct pool_owner *owner) {
  (void)pool, (void)owner;
  return &((struct malloc_thread *)thread)->scope;
}

static void malloc_end(struct pool *pool, struct pool_scope *scope) {
  (void)pool, (void)scope;
}

static void *malloc_get(struct pool_scope *scope, unsigned kind) {
  struct malloc_thread *thread = (struct malloc_thread *)scope->thread;
  pool_count(&thread->base.thread.counters.gets, 1);
  pool_count(&thread->base.thread.counters.misses, 1);
  return object_new(&thread->kinds[kind]);
}

static void malloc_put(struct pool_scope *scope, unsigned kind, void *object) {
  struct malloc_thread *thread = (struct malloc_thread *)scope->thread;
  pool_count(&thread->base.thread.counters.puts, 1);
  object_free(&thread->kinds[kind], object);
}

static void malloc_drop(struct pool_thread *t, unsigned kind, void *object) {
  struct malloc_thread *thread = (struct malloc_thread *)t;
  pool_count(&t->counters.drops, 1);
  object_free(&thread->kinds[kind], object);
}

static void malloc_held(struct pool *pool, struct pool_held *out) {
  (void)pool;
  *out = (struct pool_held){0};
}

const struct strategy strategy_malloc = {
    .name = "malloc",
    .summary = "every get from the allocator, every put back to it",
    .flags = STRATEGY_NEVER_HITS,
    .open = malloc_open,
    .close = base_pool_close,
    .attach = malloc_attach,
    .detach = base_thread_detach,
    .begin = malloc_begin,
    .end = malloc_end,
    .get = malloc_get,
    .put = malloc_put,
    .drop = malloc_drop,
    .release = base_release_nothing,
    .trim = base_trim_nothing,
    .quiesce = base_quiesce_nothing,
    .stats = base_pool_stats,
    .held = malloc_held,
};
