/*
 * null: the same preset object at every get. It measures what dispatch, counting and the harness
 * cost, so that subtracting it leaves the other strategies' own cost.
 *
 * Contract. At most one object of a kind may be live on a thread at a time; only cases that
 * promise this (CASE_NULL_RUNS) run under it. Memory: one object per attached thread and kind.
 * Progress: wait-free. Order: none. A leaving thread's objects are freed. drop clears instead of
 * freeing, because the object is still the preset one. trim does nothing. Gets and puts are
 * counted as everywhere; there are no misses.
 */
#include "strategies/strategy.h"
#include "strategies/support/base.h"
#include "strategies/support/object.h"

struct pool {
  struct base_pool base;
};

struct null_thread {
  struct base_thread base;
  _Alignas(POOL_LINE) struct pool_scope scope;
  const struct kind *kinds;
  void *objects[POOL_MAX_KINDS];
};

static struct pool *null_open(const struct kind *kinds, size_t kind_count,
                              const struct pool_config *config) {
  return base_open(sizeof(struct pool), sizeof(struct null_thread), kinds, kind_count, config);
}

static void free_thread(struct pool *pool, struct null_thread *thread) {
  for (size_t i = 0; i < pool->base.kind_count; i++)
    if (thread->objects[i])
      object_free(&thread->kinds[i], thread->objects[i]);
  base_free(&pool->base, &thread->base);
}

static struct pool_thread *null_attach(struct pool *pool) {
  struct null_thread *thread = base_attach(&pool->base);
  if (!thread)
    return NULL;
  thread->scope.thread = &thread->base.thread;
  thread->kinds = pool->base.kinds;
  for (size_t i = 0; i < pool->base.kind_count; i++) {
    thread->objects[i] = object_new(&thread->kinds[i]);
    if (!thread->objects[i]) {
      free_thread(pool, thread);
      return NULL;
    }
  }
  base_enter(&pool->base, &thread->base);
  return &thread->base.thread;
}

static void null_detach(struct pool *pool, struct pool_thread *t) {
  struct null_thread *thread = (struct null_thread *)t;
  base_leave(&pool->base, &thread->base);
  free_thread(pool, thread);
}

static struct pool_scope *null_begin(struct pool *pool, struct pool_thread *thread,
                                     struct pool_owner *owner) {
  (void)pool, (void)owner;
  return &((struct null_thread *)thread)->scope;
}

static void null_end(struct pool *pool, struct pool_scope *scope) {
  (void)pool, (void)scope;
}

static void *null_get(struct pool_scope *scope, unsigned kind) {
  struct null_thread *thread = (struct null_thread *)scope->thread;
  pool_count(&thread->base.thread.counters.gets, 1);
  return thread->objects[kind];
}

static void null_put(struct pool_scope *scope, unsigned kind, void *object) {
  struct null_thread *thread = (struct null_thread *)scope->thread;
  pool_count(&thread->base.thread.counters.puts, 1);
  object_clear(&thread->kinds[kind], object);
}

static void null_drop(struct pool_thread *t, unsigned kind, void *object) {
  struct null_thread *thread = (struct null_thread *)t;
  pool_count(&t->counters.drops, 1);
  object_clear(&thread->kinds[kind], object);
}

static void add_held(struct base_thread *t, void *arg) {
  struct null_thread *thread = (struct null_thread *)t;
  struct pool_held *held = arg;
  for (size_t i = 0; i < POOL_MAX_KINDS && thread->objects[i]; i++) {
    held->objects++;
    held->bytes += object_bytes(&thread->kinds[i], thread->objects[i]);
  }
}

static void null_held(struct pool *pool, struct pool_held *out) {
  *out = (struct pool_held){0};
  base_each(&pool->base, add_held, out);
}

const struct strategy strategy_null = {
    .name = "null",
    .summary = "one preset object a thread and kind: what dispatch and harness cost",
    .flags = STRATEGY_ONE_OBJECT,
    .open = null_open,
    .close = base_pool_close,
    .attach = null_attach,
    .detach = null_detach,
    .begin = null_begin,
    .end = null_end,
    .get = null_get,
    .put = null_put,
    .drop = null_drop,
    .release = base_release_nothing,
    .trim = base_trim_nothing,
    .quiesce = base_quiesce_nothing,
    .stats = base_pool_stats,
    .held = null_held,
};
