/*
 * per-thread: each attached thread has its own LIFO lists, which nobody else ever touches.
 *
 * Contract. An object put on a thread stays with that thread: where one thread gets and another
 * puts, the getter misses always and the putter's list fills to its cap. Memory: at most `cap`
 * objects and `bytes` bytes per attached thread and kind. Progress: wait-free but for the
 * allocator; no lock, no atomic read-modify-write. Order: LIFO on the thread. A leaving thread's
 * objects are freed. trim frees a thread's lists at its next begin, end or quiesce.
 */
#include "strategies/strategy.h"
#include "strategies/support/base.h"
#include "strategies/support/freelist.h"
#include "strategies/support/options.h"

struct pool {
  struct base_pool base;
  uint64_t cap, most_bytes;
};

struct own_thread {
  struct base_thread base;
  _Alignas(POOL_LINE) struct pool_scope scope;
  uint64_t epoch;
  size_t kind_count;
  struct freelist lists[POOL_MAX_KINDS];
};

extern const struct strategy strategy_per_thread;

/*
 * The bounds lie far above what one traversal holds; without them one-way flows would leak as fast
 * as the producer allocates.
 */
static const struct strategy_option own_options[] = {
    {"cap", "10000", "1..100000000", "most objects kept per thread and kind"},
    {"bytes", "67108864", FREELIST_BYTES_RANGE,
     "most bytes kept per thread and kind, by kind.bytes"},
    {0}};

static struct pool *own_open(const struct kind *kinds, size_t kind_count,
                             const struct pool_config *config) {
  uint64_t cap, most_bytes;
  if (!option_number(&strategy_per_thread, config, "cap", 1, FREELIST_MAX_CAP, &cap) ||
      !option_number(&strategy_per_thread, config, "bytes", 0, FREELIST_MAX_BYTES, &most_bytes))
    return NULL;
  struct pool *pool = base_open(sizeof *pool, sizeof(struct own_thread), kinds, kind_count, config);
  if (!pool)
    return NULL;
  pool->cap = cap;
  pool->most_bytes = most_bytes;
  return pool;
}

static struct pool_thread *own_attach(struct pool *pool) {
  struct own_thread *thread = base_attach(&pool->base);
  if (!thread)
    return NULL;
  thread->scope.thread = &thread->base.thread;
  thread->kind_count = pool->base.kind_count;
  for (size_t i = 0; i < thread->kind_count; i++)
    freelist_init(&thread->lists[i], &pool->base.kinds[i], pool->cap, pool->most_bytes);
  base_trim_due(&pool->base, &thread->epoch);
  base_enter(&pool->base, &thread->base);
  return &thread->base.thread;
}

static void clear_lists(struct own_thread *thread) {
  for (size_t i = 0; i < thread->kind_count; i++)
    freelist_clear(&thread->lists[i]);
}

static void own_detach(struct pool *pool, struct pool_thread *t) {
  struct own_thread *thread = (struct own_thread *)t;
  base_leave(&pool->base, &thread->base);
  clear_lists(thread);
  base_free(&pool->base, &thread->base);
}

static void trim_if_due(struct pool *pool, struct own_thread *thread) {
  if (base_trim_due(&pool->base, &thread->epoch))
    clear_lists(thread);
}

/* Nested scopes are the same scope: there is nothing to borrow. */
static struct pool_scope *own_begin(struct pool *pool, struct pool_thread *t,
                                    struct pool_owner *owner) {
  (void)owner;
  struct own_thread *thread = (struct own_thread *)t;
  trim_if_due(pool, thread);
  return &thread->scope;
}

static void own_end(struct pool *pool, struct pool_scope *scope) {
  trim_if_due(pool, (struct own_thread *)scope->thread);
}

static void *own_get(struct pool_scope *scope, unsigned kind) {
  struct own_thread *thread = (struct own_thread *)scope->thread;
  return freelist_get(&thread->lists[kind], &thread->base.thread.counters);
}

static void own_put(struct pool_scope *scope, unsigned kind, void *object) {
  struct own_thread *thread = (struct own_thread *)scope->thread;
  freelist_put(&thread->lists[kind], &thread->base.thread.counters, object);
}

static void own_drop(struct pool_thread *t, unsigned kind, void *object) {
  struct own_thread *thread = (struct own_thread *)t;
  pool_count(&t->counters.drops, 1);
  object_free(thread->lists[kind].kind, object);
}

static void own_trim(struct pool *pool) {
  base_trim(&pool->base);
}

static void own_quiesce(struct pool *pool, struct pool_thread *t) {
  trim_if_due(pool, (struct own_thread *)t);
}

static void add_held(struct base_thread *t, void *held) {
  struct own_thread *thread = (struct own_thread *)t;
  for (size_t i = 0; i < thread->kind_count; i++)
    freelist_held(&thread->lists[i], held);
}

static void own_held(struct pool *pool, struct pool_held *out) {
  *out = (struct pool_held){0};
  base_each(&pool->base, add_held, out);
}

const struct strategy strategy_per_thread = {
    .name = "per-thread",
    .summary = "LIFO lists of the attached thread, never shared",
    .options = own_options,
    .open = own_open,
    .close = base_pool_close,
    .attach = own_attach,
    .detach = own_detach,
    .begin = own_begin,
    .end = own_end,
    .get = own_get,
    .put = own_put,
    .drop = own_drop,
    .release = base_release_nothing,
    .trim = own_trim,
    .quiesce = own_quiesce,
    .stats = base_pool_stats,
    .held = own_held,
};
