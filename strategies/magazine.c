/*
 * magazine: two magazines of objects a thread and kind, and a depot of full and empty ones for all.
 *
 * The magazine layer of Bonwick and Adams (Magazines and Vmem, USENIX 2001, section 3). A get takes
 * from the loaded magazine, a put adds to it; one that cannot be served swaps it with the previous
 * one, and only if that is empty (or full) as well with one of the depot, under the kind's lock.
 * The previous magazine is always empty or full, so at least `size` gets or puts lie between two
 * visits to the depot.
 *
 * Contract. Any thread may put any object; once its magazine has gone to the depot, the gets of
 * every thread find it. Memory: a thread and kind keep at most 2 `size` objects and `bytes` bytes,
 * the depot at most `depot` full magazines a kind and `bytes` bytes in them; the objects of a
 * magazine that it refuses are freed and counted as overflows. There are never more empty magazines
 * in the depot than were in use at once. Progress: wait-free within the thread's magazines but for
 * the allocator; an exchange blocks on the lock. Order: LIFO on the thread, LIFO of magazines
 * between threads. A leaving thread's magazines go to the depot, part-filled ones too. trim frees
 * what the depot holds at once, a thread's magazines at its next begin, end or quiesce.
 *
 * A kind's lock orders a magazine's passing from thread to thread; allocating and freeing happen
 * outside it.
 */
#include "strategies/strategy.h"
#include "strategies/support/base.h"
#include "strategies/support/freelist.h"
#include "strategies/support/lock.h"
#include "strategies/support/options.h"

#include <stdio.h>
#include <string.h>

#define MOST_ROUNDS 65536
#define MOST_MAGAZINES 1000000

extern const struct strategy strategy_magazine;

struct magazine {
  struct magazine *next; /* below this one in the depot */
  uint32_t count;        /* not kept up while it is loaded */
  uint64_t bytes;        /* set when it goes to the depot; 0 of kinds that are not weighed */
  void *rounds[];        /* pool->size places, the first `count` filled */
};

struct depot {
  _Alignas(POOL_LINE) struct lock lock;
  struct magazine *filled, *empty; /* stacks; no filled one is without an object */
  uint64_t filled_count;
  uint64_t bytes; /* in the filled ones; counted only of kinds that are weighed */
};

/* A thread's magazines of one kind. floor and ceiling as in freelist.h. */
struct cache {
  void **rounds; /* of the loaded magazine */
  uint32_t count;
  uint32_t floor, ceiling;
  struct magazine *loaded, *previous; /* NULL: none yet */
  uint64_t bytes;                     /* in both; counted only of kinds that are weighed */
};

struct pool {
  struct base_pool base;
  uint32_t size; /* rounds a magazine */
  uint64_t depot_cap, most_bytes;
  struct depot depots[POOL_MAX_KINDS];
};

struct magazine_thread {
  struct base_thread base;
  _Alignas(POOL_LINE) struct pool_scope scope;
  struct pool *pool;
  uint64_t epoch; /* last one trimmed for */
  struct cache caches[POOL_MAX_KINDS];
};

static const struct strategy_option magazine_options[] = {
    {"size", "64", "1..65536", "objects in a full magazine; two a thread and kind"},
    {"depot", "1000", "0..1000000", "most full magazines in the depot per kind"},
    {"bytes", "67108864", FREELIST_BYTES_RANGE,
     "most bytes per thread and kind, and in a kind's depot, by kind.bytes"},
    {"lock", "pthread", "pthread|adaptive|ticket|mcs", "the depot's: park or spin"},
    LOCK_INJECT_OPTION,
    {0}};

/* Magazines. */

static size_t magazine_bytes(const struct pool *pool) {
  size_t bytes = sizeof(struct magazine) + pool->size * sizeof(void *);
  return (bytes + POOL_LINE - 1) / POOL_LINE * POOL_LINE;
}

static struct magazine *magazine_new(const struct pool *pool) {
  struct magazine *magazine = heap_alloc_aligned(magazine_bytes(pool), POOL_LINE);
  if (magazine)
    magazine->count = 0;
  return magazine;
}

static void magazine_free_rounds(const struct kind *kind, struct magazine *magazine) {
  while (magazine->count > 0)
    object_free(kind, magazine->rounds[--magazine->count]);
}

/* A stack of magazines with all that is in them; NULL is an empty one. */
static void magazines_free(const struct pool *pool, const struct kind *kind,
                           struct magazine *magazines) {
  while (magazines) {
    struct magazine *next = magazines->next;
    magazine_free_rounds(kind, magazines);
    heap_free(magazines, magazine_bytes(pool));
    magazines = next;
  }
}

static void rounds_held(const struct kind *kind, void *const *rounds, uint32_t count,
                        struct pool_held *held) {
  held->objects += count;
  for (uint32_t i = 0; i < count; i++)
    held->bytes += object_bytes(kind, rounds[i]);
}

static void magazine_push(struct magazine **stack, struct magazine *magazine) {
  magazine->next = *stack;
  *stack = magazine;
}

static struct magazine *magazine_pop(struct magazine **stack) {
  struct magazine *magazine = *stack;
  if (magazine)
    *stack = magazine->next;
  return magazine;
}

/* Bounds. */

static bool is_weighed(const struct pool *pool, const struct kind *kind) {
  return pool->most_bytes && kind->bytes;
}

/* Most objects that a bound of bytes leaves to a kind whose objects all weigh the same. */
static uint64_t most_objects(const struct pool *pool, const struct kind *kind) {
  return pool->most_bytes && !kind->bytes ? pool->most_bytes / kind->size : UINT64_MAX;
}

/* Outside of the lock, for bytes() of a round may cost anything. */
static void weigh(const struct pool *pool, const struct kind *kind, struct magazine *magazine) {
  struct pool_held held = {0};
  if (is_weighed(pool, kind))
    rounds_held(kind, magazine->rounds, magazine->count, &held);
  magazine->bytes = held.bytes;
}

/* Under the depot's lock: is there a place for a full magazine of that weight? */
static bool depot_takes(const struct pool *pool, const struct depot *depot, const struct kind *kind,
                        const struct magazine *filled) {
  return depot->filled_count < pool->depot_cap &&
         depot->filled_count < most_objects(pool, kind) / pool->size &&
         (!is_weighed(pool, kind) || depot->bytes + filled->bytes <= pool->most_bytes);
}

/* The thread's own magazines. */

/* Makes a magazine (or none) the loaded one. previous is in place already. */
static void load(const struct pool *pool, const struct kind *kind, struct cache *cache,
                 struct magazine *magazine) {
  uint64_t most = most_objects(pool, kind), previous = 0;
  cache->loaded = magazine;
  cache->rounds = magazine ? magazine->rounds : NULL;
  cache->count = magazine ? magazine->count : 0;
  cache->floor = is_weighed(pool, kind) ? UINT32_MAX : 0;
  if (cache->previous)
    previous = cache->previous->count;
  cache->ceiling =
      most < previous + pool->size ? (uint32_t)(most > previous ? most - previous : 0) : pool->size;
  if (!magazine || kind->clear || is_weighed(pool, kind))
    cache->ceiling = 0;
}

/* The loaded magazine becomes the previous one; what was previous is the caller's. */
static void set_previous(struct cache *cache, struct magazine *magazine) {
  cache->previous = magazine;
  if (magazine)
    magazine->count = cache->count;
}

static void swap_magazines(const struct pool *pool, const struct kind *kind, struct cache *cache) {
  struct magazine *previous = cache->previous;
  set_previous(cache, cache->loaded);
  load(pool, kind, cache, previous);
}

/* Hands over both magazines, by next; the cache has none. */
static struct magazine *take_both(const struct pool *pool, const struct kind *kind,
                                  struct cache *cache) {
  struct magazine *taken = NULL;
  if (cache->loaded) {
    cache->loaded->count = cache->count;
    magazine_push(&taken, cache->loaded);
  }
  if (cache->previous)
    magazine_push(&taken, cache->previous);
  cache->previous = NULL;
  cache->bytes = 0;
  load(pool, kind, cache, NULL);
  return taken;
}

static void clear_caches(struct magazine_thread *thread) {
  const struct pool *pool = thread->pool;
  for (size_t i = 0; i < pool->base.kind_count; i++) {
    const struct kind *kind = &pool->base.kinds[i];
    magazines_free(pool, kind, take_both(pool, kind, &thread->caches[i]));
  }
}

static void trim_if_due(struct magazine_thread *thread) {
  if (base_trim_due(&thread->pool->base, &thread->epoch))
    clear_caches(thread);
}

/* Exchanges with the depot. */

enum verdict { DEPOT_TOOK, DEPOT_IS_FULL, TRIM_IS_DUE };

/*
 * Gives a weighed magazine with objects, and takes an empty one if `empty` is not NULL and there is
 * one. Never a magazine that missed a trim: trim advances the epoch before it takes the lock, so
 * one that is current here was pushed before or trimmed for it.
 */
static enum verdict depot_give(struct magazine_thread *thread, unsigned k, struct magazine *filled,
                               struct magazine **empty) {
  struct pool *pool = thread->pool;
  const struct kind *kind = &pool->base.kinds[k];
  struct depot *depot = &pool->depots[k];
  enum verdict verdict = TRIM_IS_DUE;
  struct lock_hold hold;
  lock_acquire(&depot->lock, &hold, &thread->base.thread.counters);
  if (thread->epoch == atomic_load_explicit(&pool->base.epoch, memory_order_relaxed)) {
    verdict = depot_takes(pool, depot, kind, filled) ? DEPOT_TOOK : DEPOT_IS_FULL;
    if (verdict == DEPOT_TOOK) {
      magazine_push(&depot->filled, filled);
      depot->filled_count++;
      depot->bytes += filled->bytes;
      if (empty)
        *empty = magazine_pop(&depot->empty);
    }
  }
  lock_release(&depot->lock, &hold);
  return verdict;
}

/* Takes a magazine with objects and gives an empty one (or NULL) for it. NULL: there is none. */
static struct magazine *depot_take(struct magazine_thread *thread, unsigned k,
                                   struct magazine *empty) {
  struct pool *pool = thread->pool;
  struct depot *depot = &pool->depots[k];
  struct lock_hold hold;
  lock_acquire(&depot->lock, &hold, &thread->base.thread.counters);
  struct magazine *filled = magazine_pop(&depot->filled);
  if (filled) {
    depot->filled_count--;
    depot->bytes -= filled->bytes;
    if (empty)
      magazine_push(&depot->empty, empty);
  }
  lock_release(&depot->lock, &hold);
  return filled;
}

/* Full magazines come back from it; both of the thread's are empty. */
static bool refill(struct magazine_thread *thread, unsigned k) {
  const struct kind *kind = &thread->pool->base.kinds[k];
  struct cache *cache = &thread->caches[k];
  struct magazine *filled = depot_take(thread, k, cache->previous);
  if (!filled)
    return false;
  set_previous(cache, cache->loaded);
  load(thread->pool, kind, cache, filled);
  cache->bytes = filled->bytes;
  return true;
}

/*
 * Both magazines are full, or there are none yet: makes room for one object. false: out of memory,
 * and the loaded magazine is as it was.
 */
static bool make_room(struct magazine_thread *thread, unsigned k) {
  struct pool *pool = thread->pool;
  const struct kind *kind = &pool->base.kinds[k];
  struct cache *cache = &thread->caches[k];
  struct magazine *empty = NULL, *filled = cache->previous;
  if (filled) {
    weigh(pool, kind, filled);
    uint64_t weight = filled->bytes; /* the depot's once it has it */
    switch (depot_give(thread, k, filled, &empty)) {
    case TRIM_IS_DUE:
      trim_if_due(thread);
      return make_room(thread, k); /* with no magazine now, so at most once */
    case DEPOT_IS_FULL:
      pool_count(&thread->base.thread.counters.overflows, filled->count);
      magazine_free_rounds(kind, filled);
      empty = filled;
      break;
    case DEPOT_TOOK:
      break;
    }
    cache->previous = NULL;
    cache->bytes -= weight;
  }
  if (!empty && !(empty = magazine_new(pool)))
    return false;
  set_previous(cache, cache->loaded);
  load(pool, kind, cache, empty);
  return true;
}

/* Getting and putting. */

__attribute__((noinline)) static void *get_slow(struct magazine_thread *thread, unsigned k) {
  const struct pool *pool = thread->pool;
  const struct kind *kind = &pool->base.kinds[k];
  struct cache *cache = &thread->caches[k];
  if (cache->count == 0) {
    if (cache->previous && cache->previous->count > 0) {
      swap_magazines(pool, kind, cache);
    } else if (!refill(thread, k)) {
      pool_count(&thread->base.thread.counters.misses, 1);
      return object_new(kind);
    }
  }
  void *object = cache->rounds[--cache->count];
  if (is_weighed(pool, kind))
    cache->bytes -= object_bytes(kind, object);
  return object;
}

static void *magazine_get(struct pool_scope *scope, unsigned kind) {
  struct magazine_thread *thread = (struct magazine_thread *)scope->thread;
  struct cache *cache = &thread->caches[kind];
  pool_count(&thread->base.thread.counters.gets, 1);
  if (__builtin_expect(cache->count > cache->floor, 1))
    return cache->rounds[--cache->count];
  return get_slow(thread, kind);
}

/* Is there a place, or can one be made? The object is cleared and weighs `weight`. */
static bool find_room(struct magazine_thread *thread, unsigned k, uint64_t weight) {
  const struct pool *pool = thread->pool;
  const struct kind *kind = &pool->base.kinds[k];
  struct cache *cache = &thread->caches[k];
  uint64_t in_previous = cache->previous ? cache->previous->count : 0;
  if (cache->loaded && cache->count < pool->size)
    return is_weighed(pool, kind) ? weight <= pool->most_bytes - cache->bytes
                                  : cache->count + in_previous < most_objects(pool, kind);
  if (is_weighed(pool, kind) ? weight > pool->most_bytes : most_objects(pool, kind) == 0)
    return false;
  if (cache->previous && in_previous == 0)
    swap_magazines(pool, kind, cache);
  else if (!make_room(thread, k))
    return false;
  return find_room(thread, k, weight); /* there is a place now; the bounds remain */
}

__attribute__((noinline)) static void put_slow(struct magazine_thread *thread, unsigned k,
                                               void *object) {
  const struct pool *pool = thread->pool;
  const struct kind *kind = &pool->base.kinds[k];
  object_clear(kind, object);
  uint64_t weight = is_weighed(pool, kind) ? object_bytes(kind, object) : 0;
  if (find_room(thread, k, weight)) {
    struct cache *cache = &thread->caches[k];
    cache->rounds[cache->count++] = object;
    cache->bytes += weight;
    return;
  }
  pool_count(&thread->base.thread.counters.overflows, 1);
  object_free(kind, object);
}

static void magazine_put(struct pool_scope *scope, unsigned kind, void *object) {
  struct magazine_thread *thread = (struct magazine_thread *)scope->thread;
  struct cache *cache = &thread->caches[kind];
  pool_count(&thread->base.thread.counters.puts, 1);
  if (__builtin_expect(cache->count < cache->ceiling, 1))
    cache->rounds[cache->count++] = object;
  else
    put_slow(thread, kind, object);
}

static void magazine_drop(struct pool_thread *t, unsigned kind, void *object) {
  pool_count(&t->counters.drops, 1);
  object_free(&((struct magazine_thread *)t)->pool->base.kinds[kind], object);
}

/* Opening and closing. */

static bool read_options(const struct pool_config *config, struct pool *pool, unsigned *type,
                         uint64_t *inject_ns) {
  const struct strategy *self = &strategy_magazine;
  uint64_t size;
  if (!option_number(self, config, "size", 1, MOST_ROUNDS, &size) ||
      !option_number(self, config, "depot", 0, MOST_MAGAZINES, &pool->depot_cap) ||
      !option_number(self, config, "bytes", 0, FREELIST_MAX_BYTES, &pool->most_bytes) ||
      !option_number(self, config, "inject", 0, LOCK_MAX_INJECT_NS, inject_ns) ||
      !option_choice(self, config, "lock", lock_names, type))
    return false;
  pool->size = (uint32_t)size;
  return true;
}

static void destroy_locks(struct pool *pool, size_t count) {
  for (size_t i = 0; i < count; i++)
    lock_destroy(&pool->depots[i].lock);
}

static bool make_locks(struct pool *pool, enum lock_type type, uint64_t inject_ns,
                       const struct pool_config *config) {
  for (size_t i = 0; i < pool->base.kind_count; i++) {
    struct lock *lock = &pool->depots[i].lock;
    int error = lock_init(lock, type);
    if (error) {
      snprintf(config->why, config->why_size, "magazine: cannot make a depot's lock: %s",
               strerror(error));
      destroy_locks(pool, i);
      return false;
    }
    lock->inject_ns = inject_ns;
  }
  return true;
}

static struct pool *magazine_open(const struct kind *kinds, size_t kind_count,
                                  const struct pool_config *config) {
  unsigned type;
  uint64_t inject_ns;
  struct pool *pool =
      base_open(sizeof *pool, sizeof(struct magazine_thread), kinds, kind_count, config);
  if (!pool)
    return NULL;
  if (!read_options(config, pool, &type, &inject_ns) ||
      !make_locks(pool, (enum lock_type)type, inject_ns, config)) {
    base_close(&pool->base);
    return NULL;
  }
  return pool;
}

/* Takes the magazines away under the locks and frees them outside. */
static void empty_depots(struct pool *pool) {
  for (size_t i = 0; i < pool->base.kind_count; i++) {
    struct depot *depot = &pool->depots[i];
    struct lock_hold hold;
    lock_acquire(&depot->lock, &hold, NULL);
    struct magazine *filled = depot->filled, *empty = depot->empty;
    depot->filled = depot->empty = NULL;
    depot->filled_count = depot->bytes = 0;
    lock_release(&depot->lock, &hold);
    magazines_free(pool, &pool->base.kinds[i], filled);
    magazines_free(pool, &pool->base.kinds[i], empty);
  }
}

static void magazine_close(struct pool *pool) {
  empty_depots(pool);
  destroy_locks(pool, pool->base.kind_count);
  base_close(&pool->base);
}

static struct pool_thread *magazine_attach(struct pool *pool) {
  struct magazine_thread *thread = base_attach(&pool->base);
  if (!thread)
    return NULL;
  thread->scope.thread = &thread->base.thread;
  thread->pool = pool;
  for (size_t i = 0; i < pool->base.kind_count; i++)
    load(pool, &pool->base.kinds[i], &thread->caches[i], NULL);
  base_trim_due(&pool->base, &thread->epoch);
  base_enter(&pool->base, &thread->base);
  return &thread->base.thread;
}

/* What the depot refuses, for a cap or for a trim, is freed. */
static void give_up(struct magazine_thread *thread, unsigned k) {
  struct pool *pool = thread->pool;
  const struct kind *kind = &pool->base.kinds[k];
  struct magazine *taken = take_both(pool, kind, &thread->caches[k]), *magazine;
  while ((magazine = magazine_pop(&taken))) {
    weigh(pool, kind, magazine);
    enum verdict verdict =
        magazine->count > 0 ? depot_give(thread, k, magazine, NULL) : TRIM_IS_DUE;
    if (verdict == DEPOT_TOOK)
      continue;
    if (verdict == DEPOT_IS_FULL)
      pool_count(&thread->base.thread.counters.overflows, magazine->count);
    magazine->next = NULL;
    magazines_free(pool, kind, magazine);
  }
}

static void magazine_detach(struct pool *pool, struct pool_thread *t) {
  struct magazine_thread *thread = (struct magazine_thread *)t;
  trim_if_due(thread);
  for (unsigned i = 0; i < pool->base.kind_count; i++)
    give_up(thread, i);
  base_leave(&pool->base, &thread->base);
  base_free(&pool->base, &thread->base);
}

/* Nested scopes are the same scope: there is nothing to borrow. */
static struct pool_scope *magazine_begin(struct pool *pool, struct pool_thread *t,
                                         struct pool_owner *owner) {
  (void)pool, (void)owner;
  struct magazine_thread *thread = (struct magazine_thread *)t;
  trim_if_due(thread);
  return &thread->scope;
}

static void magazine_end(struct pool *pool, struct pool_scope *scope) {
  (void)pool;
  trim_if_due((struct magazine_thread *)scope->thread);
}

static void magazine_trim(struct pool *pool) {
  base_trim(&pool->base);
  empty_depots(pool);
}

static void magazine_quiesce(struct pool *pool, struct pool_thread *t) {
  (void)pool;
  trim_if_due((struct magazine_thread *)t);
}

static void add_caches(struct base_thread *t, void *held) {
  struct magazine_thread *thread = (struct magazine_thread *)t;
  for (size_t i = 0; i < thread->pool->base.kind_count; i++) {
    const struct kind *kind = &thread->pool->base.kinds[i];
    const struct cache *cache = &thread->caches[i];
    rounds_held(kind, cache->rounds, cache->count, held);
    if (cache->previous)
      rounds_held(kind, cache->previous->rounds, cache->previous->count, held);
  }
}

static void magazine_held(struct pool *pool, struct pool_held *out) {
  *out = (struct pool_held){0};
  base_each(&pool->base, add_caches, out);
  for (size_t i = 0; i < pool->base.kind_count; i++) {
    struct depot *depot = &pool->depots[i];
    struct lock_hold hold;
    lock_acquire(&depot->lock, &hold, NULL);
    for (struct magazine *m = depot->filled; m; m = m->next)
      rounds_held(&pool->base.kinds[i], m->rounds, m->count, out);
    lock_release(&depot->lock, &hold);
  }
}

const struct strategy strategy_magazine = {
    .name = "magazine",
    .summary = "two magazines a thread, and a depot of full and empty ones",
    .options = magazine_options,
    .open = magazine_open,
    .close = magazine_close,
    .attach = magazine_attach,
    .detach = magazine_detach,
    .begin = magazine_begin,
    .end = magazine_end,
    .get = magazine_get,
    .put = magazine_put,
    .drop = magazine_drop,
    .release = base_release_nothing,
    .trim = magazine_trim,
    .quiesce = magazine_quiesce,
    .stats = base_pool_stats,
    .held = magazine_held,
};
