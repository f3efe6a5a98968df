/*
 * owned: objects stay with the owner that used them until it is released. The do-nothing answer,
 * as in a handler that keeps its two maps for as long as it lives.
 *
 * Contract. Every scope names an owner; get finds what was put through scopes of that owner, on
 * whatever thread, and nothing else. At most one thread uses an owner at a time, and the workload
 * orders those uses. Memory: no cap; each owner keeps as many objects as it had out at once, until
 * release. That is what trim cannot reach. Progress: wait-free but for the allocator, except an
 * owner's first begin and its release, which take a lock. Order: LIFO within an owner. A leaving
 * thread leaves nothing: no object is a thread's.
 */
#include "strategies/strategy.h"
#include "strategies/support/base.h"
#include "strategies/support/freelist.h"

#include <stdio.h>
#include <string.h>

/* What an owner keeps: its pool_owner.state. On its own lines, as owners work side by side. */
struct stash {
  struct pool_scope scope; /* its thread is the one that uses the owner now */
  struct stash *prev, *next;
  struct freelist lists[]; /* one a kind */
};

struct pool {
  struct base_pool base;
  pthread_mutex_t lock; /* guards the ring of stashes, not what is in them */
  struct stash stashes; /* its head */
};

struct owned_thread {
  struct base_thread base;
  const struct kind *kinds;
};

static size_t stash_size(const struct pool *pool) {
  size_t size = sizeof(struct stash) + pool->base.kind_count * sizeof(struct freelist);
  return (size + POOL_LINE - 1) / POOL_LINE * POOL_LINE;
}

static struct pool *owned_open(const struct kind *kinds, size_t kind_count,
                               const struct pool_config *config) {
  struct pool *pool =
      base_open(sizeof *pool, sizeof(struct owned_thread), kinds, kind_count, config);
  if (!pool)
    return NULL;
  int error = pthread_mutex_init(&pool->lock, NULL);
  if (error) {
    snprintf(config->why, config->why_size, "owned: cannot make its lock: %s", strerror(error));
    base_close(&pool->base);
    return NULL;
  }
  pool->stashes.prev = pool->stashes.next = &pool->stashes;
  return pool;
}

static struct stash *stash_new(struct pool *pool) {
  struct stash *stash = heap_alloc_aligned(stash_size(pool), POOL_LINE);
  if (!stash)
    return NULL;
  for (size_t i = 0; i < pool->base.kind_count; i++)
    freelist_init(&stash->lists[i], &pool->base.kinds[i], 0, 0);
  pthread_mutex_lock(&pool->lock);
  stash->prev = pool->stashes.prev;
  stash->next = &pool->stashes;
  stash->prev->next = stash->next->prev = stash;
  pthread_mutex_unlock(&pool->lock);
  return stash;
}

static void stash_free(struct pool *pool, struct stash *stash) {
  pthread_mutex_lock(&pool->lock);
  stash->prev->next = stash->next;
  stash->next->prev = stash->prev;
  pthread_mutex_unlock(&pool->lock);
  for (size_t i = 0; i < pool->base.kind_count; i++)
    freelist_clear(&stash->lists[i]);
  heap_free(stash, stash_size(pool));
}

/* Owners that were never released lose what they have here. */
static void owned_close(struct pool *pool) {
  while (pool->stashes.next != &pool->stashes)
    stash_free(pool, pool->stashes.next);
  pthread_mutex_destroy(&pool->lock);
  base_close(&pool->base);
}

static struct pool_thread *owned_attach(struct pool *pool) {
  struct owned_thread *thread = base_attach(&pool->base);
  if (!thread)
    return NULL;
  thread->kinds = pool->base.kinds;
  base_enter(&pool->base, &thread->base);
  return &thread->base.thread;
}

/* Nested scopes of one owner are the same scope; those of two are two. */
static struct pool_scope *owned_begin(struct pool *pool, struct pool_thread *thread,
                                      struct pool_owner *owner) {
  if (__builtin_expect(!owner->state, 0) && !(owner->state = stash_new(pool)))
    return NULL;
  struct stash *stash = owner->state;
  stash->scope.thread = thread;
  return &stash->scope;
}

static void owned_end(struct pool *pool, struct pool_scope *scope) {
  (void)pool, (void)scope;
}

static void *owned_get(struct pool_scope *scope, unsigned kind) {
  return freelist_get(&((struct stash *)scope)->lists[kind], &scope->thread->counters);
}

static void owned_put(struct pool_scope *scope, unsigned kind, void *object) {
  freelist_put(&((struct stash *)scope)->lists[kind], &scope->thread->counters, object);
}

static void owned_drop(struct pool_thread *t, unsigned kind, void *object) {
  pool_count(&t->counters.drops, 1);
  object_free(&((struct owned_thread *)t)->kinds[kind], object);
}

static void owned_release(struct pool *pool, struct pool_owner *owner) {
  if (owner->state)
    stash_free(pool, owner->state);
  owner->state = NULL;
}

static void owned_held(struct pool *pool, struct pool_held *out) {
  *out = (struct pool_held){0};
  pthread_mutex_lock(&pool->lock);
  for (struct stash *stash = pool->stashes.next; stash != &pool->stashes; stash = stash->next)
    for (size_t i = 0; i < pool->base.kind_count; i++)
      freelist_held(&stash->lists[i], out);
  pthread_mutex_unlock(&pool->lock);
}

const struct strategy strategy_owned = {
    .name = "owned",
    .summary = "objects stay with their owner until it is released",
    .flags = STRATEGY_NEEDS_OWNER,
    .open = owned_open,
    .close = owned_close,
    .attach = owned_attach,
    .detach = base_thread_detach,
    .begin = owned_begin,
    .end = owned_end,
    .get = owned_get,
    .put = owned_put,
    .drop = owned_drop,
    .release = owned_release,
    .trim = base_trim_nothing,
    .quiesce = base_quiesce_nothing,
    .stats = base_pool_stats,
    .held = owned_held,
};
