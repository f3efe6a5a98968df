/*
 * pooled-freelists: begin borrows a set of LIFO lists, one a kind, for one scope; end returns it.
 *
 * Inside a scope nothing is shared: no lock, no atomic. The sets themselves are pooled: a thread
 * finds the set it used last in its own slot, further ones (nested scopes, a thread's first) on
 * a stack behind one lock. That is the shape of the program this comes from, whose sets lay in a
 * pool with a private slot per processor; slot=none shows what the slot is worth.
 *
 * Contract. Any thread may put any object through any of its scopes; it stays with the scope's
 * set. Memory: at most `cap` objects and `bytes` bytes per set and kind; as many sets as scopes
 * were ever open at once, and one per attached thread on top. Progress: wait-free inside a scope
 * but for the allocator; begin and end block on the lock when the slot does not serve them. Order:
 * LIFO within a set. A leaving thread's set goes to the stack, for the others. trim frees the sets
 * on the stack at once, the one in a thread's slot at its next begin, end or quiesce, borrowed ones
 * at their end.
 *
 * The stack's lock orders a set's passing from thread to thread; a set in a slot or in a scope is
 * its thread's alone.
 */
#include "strategies/strategy.h"
#include "strategies/support/base.h"
#include "strategies/support/freelist.h"
#include "strategies/support/lock.h"
#include "strategies/support/options.h"

#include <stdio.h>
#include <string.h>

extern const struct strategy strategy_pooled_freelists;

struct set {
  struct pool_scope scope; /* its thread is the present borrower */
  struct set *next;        /* below this one on the stack */
  uint64_t epoch;          /* last epoch it was trimmed for */
  struct freelist lists[]; /* one a kind */
};

struct pool {
  struct base_pool base;
  uint64_t cap, most_bytes;
  bool slots; /* does a thread keep its last set? */
  _Alignas(POOL_LINE) struct lock lock;
  struct set *stack; /* guarded by lock */
};

struct set_thread {
  struct base_thread base;
  _Alignas(POOL_LINE) struct set *last; /* the slot: no other thread looks at it */
  const struct kind *kinds;
};

static const struct strategy_option set_options[] = {
    {"cap", "1000", "1..100000000", "most objects kept per set and kind"},
    {"bytes", "67108864", FREELIST_BYTES_RANGE, "most bytes kept per set and kind, by kind.bytes"},
    {"slot", "own", "own|none", "own: a thread's last set waits for it; none: all are shared"},
    LOCK_INJECT_OPTION,
    {0}};

static size_t set_size(const struct pool *pool) {
  size_t size = sizeof(struct set) + pool->base.kind_count * sizeof(struct freelist);
  return (size + POOL_LINE - 1) / POOL_LINE * POOL_LINE;
}

static struct set *set_new(const struct pool *pool) {
  struct set *set = heap_alloc_aligned(set_size(pool), POOL_LINE);
  if (!set)
    return NULL;
  for (size_t i = 0; i < pool->base.kind_count; i++)
    freelist_init(&set->lists[i], &pool->base.kinds[i], pool->cap, pool->most_bytes);
  set->epoch = atomic_load_explicit(&pool->base.epoch, memory_order_relaxed);
  return set;
}

static void set_clear(const struct pool *pool, struct set *set) {
  for (size_t i = 0; i < pool->base.kind_count; i++)
    freelist_clear(&set->lists[i]);
}

static void set_free(const struct pool *pool, struct set *set) {
  set_clear(pool, set);
  heap_free(set, set_size(pool));
}

static void stack_free(const struct pool *pool, struct set *stack) {
  while (stack) {
    struct set *next = stack->next;
    set_free(pool, stack);
    stack = next;
  }
}

static void set_trim_if_due(struct pool *pool, struct set *set) {
  if (base_trim_due(&pool->base, &set->epoch))
    set_clear(pool, set);
}

static struct pool *set_open(const struct kind *kinds, size_t kind_count,
                             const struct pool_config *config) {
  static const char *const slots[] = {"none", "own", NULL};
  const struct strategy *self = &strategy_pooled_freelists;
  uint64_t cap, most_bytes, inject_ns;
  unsigned slot;
  if (!option_number(self, config, "cap", 1, FREELIST_MAX_CAP, &cap) ||
      !option_number(self, config, "bytes", 0, FREELIST_MAX_BYTES, &most_bytes) ||
      !option_number(self, config, "inject", 0, LOCK_MAX_INJECT_NS, &inject_ns) ||
      !option_choice(self, config, "slot", slots, &slot))
    return NULL;
  struct pool *pool = base_open(sizeof *pool, sizeof(struct set_thread), kinds, kind_count, config);
  if (!pool)
    return NULL;
  int error = lock_init(&pool->lock, LOCK_PTHREAD);
  if (error) {
    snprintf(config->why, config->why_size, "pooled-freelists: cannot make its lock: %s",
             strerror(error));
    base_close(&pool->base);
    return NULL;
  }
  pool->cap = cap;
  pool->most_bytes = most_bytes;
  pool->lock.inject_ns = inject_ns;
  pool->slots = slot == 1;
  return pool;
}

static void set_close(struct pool *pool) {
  stack_free(pool, pool->stack);
  lock_destroy(&pool->lock);
  base_close(&pool->base);
}

static struct pool_thread *set_attach(struct pool *pool) {
  struct set_thread *thread = base_attach(&pool->base);
  if (!thread)
    return NULL;
  thread->kinds = pool->base.kinds;
  base_enter(&pool->base, &thread->base);
  return &thread->base.thread;
}

static struct set *borrow_shared(struct pool *pool, struct pool_counters *counters) {
  struct lock_hold hold;
  lock_acquire(&pool->lock, &hold, counters);
  struct set *set = pool->stack;
  if (set)
    pool->stack = set->next;
  lock_release(&pool->lock, &hold);
  return set;
}

/*
 * Pushes a set onto the stack, but never one that missed a trim: trim advances the epoch inside
 * the lock, so a set that is current there was pushed before the trim or trimmed for it.
 */
static void return_shared(struct pool *pool, struct set *set, struct pool_counters *counters) {
  bool current;
  do {
    set_trim_if_due(pool, set);
    struct lock_hold hold;
    lock_acquire(&pool->lock, &hold, counters);
    current = set->epoch == atomic_load_explicit(&pool->base.epoch, memory_order_relaxed);
    if (current) {
      set->next = pool->stack;
      pool->stack = set;
    }
    lock_release(&pool->lock, &hold);
  } while (!current);
}

static void set_detach(struct pool *pool, struct pool_thread *t) {
  struct set_thread *thread = (struct set_thread *)t;
  if (thread->last)
    return_shared(pool, thread->last, &t->counters);
  base_leave(&pool->base, &thread->base);
  base_free(&pool->base, &thread->base);
}

static struct pool_scope *set_begin(struct pool *pool, struct pool_thread *t,
                                    struct pool_owner *owner) {
  (void)owner;
  struct set_thread *thread = (struct set_thread *)t;
  struct set *set = thread->last;
  thread->last = NULL;
  if (__builtin_expect(!set, 0) && !(set = borrow_shared(pool, &t->counters)) &&
      !(set = set_new(pool)))
    return NULL;
  set_trim_if_due(pool, set);
  set->scope.thread = t;
  return &set->scope;
}

static void set_end(struct pool *pool, struct pool_scope *scope) {
  struct set *set = (struct set *)scope;
  struct set_thread *thread = (struct set_thread *)scope->thread;
  set_trim_if_due(pool, set);
  if (__builtin_expect(pool->slots && !thread->last, 1))
    thread->last = set;
  else
    return_shared(pool, set, &thread->base.thread.counters);
}

static void *set_get(struct pool_scope *scope, unsigned kind) {
  return freelist_get(&((struct set *)scope)->lists[kind], &scope->thread->counters);
}

static void set_put(struct pool_scope *scope, unsigned kind, void *object) {
  freelist_put(&((struct set *)scope)->lists[kind], &scope->thread->counters, object);
}

static void set_drop(struct pool_thread *t, unsigned kind, void *object) {
  pool_count(&t->counters.drops, 1);
  object_free(&((struct set_thread *)t)->kinds[kind], object);
}

static void set_trim(struct pool *pool) {
  struct lock_hold hold;
  lock_acquire(&pool->lock, &hold, NULL);
  base_trim(&pool->base);
  struct set *stack = pool->stack;
  pool->stack = NULL;
  lock_release(&pool->lock, &hold);
  stack_free(pool, stack);
}

static void set_quiesce(struct pool *pool, struct pool_thread *t) {
  struct set_thread *thread = (struct set_thread *)t;
  if (thread->last &&
      thread->last->epoch != atomic_load_explicit(&pool->base.epoch, memory_order_relaxed)) {
    set_free(pool, thread->last);
    thread->last = NULL;
  }
}

static void add_set(const struct set *set, size_t kind_count, struct pool_held *held) {
  for (size_t i = 0; i < kind_count; i++)
    freelist_held(&set->lists[i], held);
}

struct held_walk {
  size_t kind_count;
  struct pool_held *held;
};

static void add_slot(struct base_thread *t, void *arg) {
  struct held_walk *walk = arg;
  struct set *last = ((struct set_thread *)t)->last;
  if (last)
    add_set(last, walk->kind_count, walk->held);
}

static void set_held(struct pool *pool, struct pool_held *out) {
  *out = (struct pool_held){0};
  struct held_walk walk = {pool->base.kind_count, out};
  base_each(&pool->base, add_slot, &walk);
  struct lock_hold hold;
  lock_acquire(&pool->lock, &hold, NULL);
  for (struct set *set = pool->stack; set; set = set->next)
    add_set(set, walk.kind_count, out);
  lock_release(&pool->lock, &hold);
}

const struct strategy strategy_pooled_freelists = {
    .name = "pooled-freelists",
    .summary = "a set of LIFO lists borrowed for each scope",
    .options = set_options,
    .open = set_open,
    .close = set_close,
    .attach = set_attach,
    .detach = set_detach,
    .begin = set_begin,
    .end = set_end,
    .get = set_get,
    .put = set_put,
    .drop = set_drop,
    .release = base_release_nothing,
    .trim = set_trim,
    .quiesce = set_quiesce,
    .stats = base_pool_stats,
    .held = set_held,
};
