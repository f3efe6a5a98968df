/*
 * sync-pool: the design of Go's sync.Pool, shards with a private slot and a stealable chain.
 *
 * get looks at the thread's private slot, the head of its chain, the tails of all shards from
 * the next one on, then at the victims of the last trim in the same way, and allocates when all
 * that gave nothing. So a miss looks at every shard: once objects are not put back, the cost of a
 * get grows with their number. put fills the private slot if that is empty, else the chain.
 *
 * Contract. Any thread may put any object, it goes to that thread's shard; others steal it from
 * the chain, never from the private slot. Memory: no cap; two trims after its last use an object
 * is gone. Progress: lock-free, except that a thread's first scope after a trim takes a lock.
 * Order: LIFO for the owner, FIFO for thieves. A leaving thread's objects stay in its shard, all
 * of them stealable, and the next thread to attach takes the shard over.
 *
 * A shard has one owner, as a processor's has in Go, where a goroutine cannot be preempted inside
 * get or put; so there must be as many shards as threads. More can be asked for (shards=N): they
 * are searched like the others. Different from Go: trim does not stop the world, each thread
 * turns its own shard at its next begin, end or quiesce; and as long as there may be victims
 * every miss looks for them, unless victims=once, when a thread that found none stops looking
 * until the next trim (in Go the first such miss stops all threads).
 *
 * Rings are freed by a grace period: a thief may hold a ring that its owner has emptied and
 * unlinked. Unlinking advances the epoch; every thread that notices the new epoch at begin, end
 * or quiesce is outside get and says so; when all have, the rings go.
 */
#include "strategies/strategy.h"
#include "strategies/support/base.h"
#include "strategies/support/chain.h"
#include "strategies/support/object.h"
#include "strategies/support/options.h"

#include <stdio.h>
#include <string.h>

#define MOST_SHARDS 4096

extern const struct strategy strategy_sync_pool;

struct shard {
  _Alignas(POOL_LINE) void *private_object; /* the owner's */
  struct chain chain;
};

/* Who has the shards of this index, and for how many trims they have been turned. */
struct seat {
  bool taken;
  uint64_t trims; /* shards[trims % 2] are the primary ones, the others hold the victims */
};

struct pool {
  struct base_pool base;
  struct shard *shards; /* [2][kinds][shard_count] */
  struct seat *seats;   /* [shard_count] */
  unsigned shard_count;
  bool victims_once;
  pthread_mutex_t lock; /* seats that are not taken, trims, retired, threads' seen */
  uint64_t trims;
  struct ring *retired; /* by retired_next; unlinked, perhaps still looked at */
};

struct shard_thread {
  struct base_thread base;
  _Alignas(POOL_LINE) struct pool_scope scope;
  struct pool *pool;
  struct seat *seat;
  unsigned index;
  bool look_for_victims;
  bool clears[POOL_MAX_KINDS];           /* kinds whose put has a clear to call */
  uint64_t tick;                         /* last epoch that was dealt with */
  uint64_t seen;                         /* the epoch at which it was last outside get */
  struct shard *primary[POOL_MAX_KINDS]; /* its own shards */
};

static const struct strategy_option shard_options[] = {
    {"shards", "0", "0..4096 (0: one a thread)", "shards that a miss searches"},
    {"victims", "always", "always|once", "once: a thread looks for victims until it finds none"},
    {0}};

static struct shard *shard_at(const struct pool *pool, uint64_t trims, size_t kind, size_t index) {
  return &pool->shards[(trims % 2 * pool->base.kind_count + kind) * pool->shard_count + index];
}

static size_t shards_bytes(const struct pool *pool) {
  return 2 * pool->base.kind_count * pool->shard_count * sizeof(struct shard);
}

/* Emptying, turning and the grace period of rings. */

static void add_retired(struct ring **list, struct ring *rings) {
  if (rings) {
    rings->retired_next = *list;
    *list = rings;
  }
}

/* Owner. Destroys what a shard holds; its rings are added to `gone`. */
static void drain(const struct kind *kind, struct shard *shard, struct ring **gone) {
  if (shard->private_object)
    object_free(kind, shard->private_object);
  shard->private_object = NULL;
  for (void *object; (object = chain_pop(&shard->chain));)
    object_free(kind, object);
  add_retired(gone, chain_detach_rings(&shard->chain));
}

/*
 * Owner. Makes up for the trims that the seat has missed: the victims go and the emptied shards
 * become the primary ones, what was primary the victims; after two trims that goes as well.
 */
static void turn(struct pool *pool, size_t index, uint64_t trims, struct ring **gone) {
  struct seat *seat = &pool->seats[index];
  uint64_t missed = trims - seat->trims;
  for (size_t kind = 0; missed > 0 && kind < pool->base.kind_count; kind++) {
    drain(&pool->base.kinds[kind], shard_at(pool, seat->trims + 1, kind, index), gone);
    if (missed > 1)
      drain(&pool->base.kinds[kind], shard_at(pool, seat->trims, kind, index), gone);
  }
  seat->trims = trims;
}

/* Under the lock. Threads that notice the new epoch have left what they did before. */
static void retire(struct pool *pool, struct ring *gone) {
  if (!gone)
    return;
  base_trim(&pool->base);
  uint64_t now = atomic_load_explicit(&pool->base.epoch, memory_order_relaxed);
  while (gone) {
    struct ring *next = gone->retired_next;
    gone->retired_at = now;
    add_retired(&pool->retired, gone);
    gone = next;
  }
}

static void find_oldest(struct base_thread *t, void *oldest) {
  uint64_t seen = ((struct shard_thread *)t)->seen;
  if (seen < *(uint64_t *)oldest)
    *(uint64_t *)oldest = seen;
}

/* Under the lock. Takes off the list the rings that no thread can hold any more. */
static struct ring *take_reclaimable(struct pool *pool) {
  uint64_t oldest = UINT64_MAX;
  struct ring *free_now = NULL;
  if (!pool->retired)
    return NULL;
  base_each(&pool->base, find_oldest, &oldest);
  for (struct ring **link = &pool->retired; *link;) {
    struct ring *ring = *link;
    if (ring->retired_at > oldest) {
      link = &ring->retired_next;
      continue;
    }
    *link = ring->retired_next;
    add_retired(&free_now, ring);
  }
  return free_now;
}

static void free_retired(struct ring *list) {
  while (list) {
    struct ring *next = list->retired_next;
    chain_free_rings(list);
    list = next;
  }
}

static void use_seat(struct shard_thread *thread) {
  for (size_t kind = 0; kind < thread->pool->base.kind_count; kind++)
    thread->primary[kind] = shard_at(thread->pool, thread->seat->trims, kind, thread->index);
  thread->look_for_victims = thread->seat->trims > 0;
}

/*
 * The thread has noticed a new epoch, outside of get. Objects are destroyed without the lock.
 * Reading the epoch under the lock makes `seen` cover every ring retired so far: retire advances
 * it there.
 */
static void catch_up(struct shard_thread *thread) {
  struct pool *pool = thread->pool;
  struct ring *gone = NULL;
  pthread_mutex_lock(&pool->lock);
  uint64_t trims = pool->trims;
  pthread_mutex_unlock(&pool->lock);
  if (thread->seat->trims != trims) {
    turn(pool, thread->index, trims, &gone);
    use_seat(thread);
  }
  pthread_mutex_lock(&pool->lock);
  retire(pool, gone);
  thread->seen = atomic_load_explicit(&pool->base.epoch, memory_order_relaxed);
  if (pool->trims == trims)
    thread->tick = thread->seen; /* else the next call catches up with the newer trim */
  struct ring *free_now = take_reclaimable(pool);
  pthread_mutex_unlock(&pool->lock);
  free_retired(free_now);
}

static void catch_up_if_due(struct pool *pool, struct pool_thread *t) {
  struct shard_thread *thread = (struct shard_thread *)t;
  if (__builtin_expect(
          thread->tick != atomic_load_explicit(&pool->base.epoch, memory_order_relaxed), 0))
    catch_up(thread);
}

/* Opening and closing. */

static bool make_shards(struct pool *pool) {
  pool->seats = heap_calloc(pool->shard_count * sizeof *pool->seats);
  pool->shards = heap_alloc_aligned(shards_bytes(pool), POOL_LINE);
  if (pool->seats && pool->shards) {
    memset(pool->shards, 0, shards_bytes(pool));
    return true;
  }
  heap_free(pool->seats, pool->shard_count * sizeof *pool->seats);
  heap_free(pool->shards, shards_bytes(pool));
  return false;
}

static struct pool *shard_open(const struct kind *kinds, size_t kind_count,
                               const struct pool_config *config) {
  static const char *const victims[] = {"always", "once", NULL};
  uint64_t shards;
  unsigned victims_choice;
  if (!option_number(&strategy_sync_pool, config, "shards", 0, MOST_SHARDS, &shards) ||
      !option_choice(&strategy_sync_pool, config, "victims", victims, &victims_choice))
    return NULL;
  if (shards == 0)
    shards = config->threads ? config->threads : 1;
  if (shards < config->threads) {
    snprintf(config->why, config->why_size,
             "sync-pool:shards=%u: a shard has one owner; give at least the number of threads, %u",
             (unsigned)shards, config->threads);
    return NULL;
  }
  struct pool *pool =
      base_open(sizeof *pool, sizeof(struct shard_thread), kinds, kind_count, config);
  if (!pool)
    return NULL;
  pool->shard_count = (unsigned)shards;
  pool->victims_once = victims_choice == 1;
  int error = pthread_mutex_init(&pool->lock, NULL);
  if (error || !make_shards(pool)) {
    if (!error)
      pthread_mutex_destroy(&pool->lock);
    snprintf(config->why, config->why_size, "sync-pool: cannot make %u shards: %s",
             pool->shard_count, error ? strerror(error) : "out of memory");
    base_close(&pool->base);
    return NULL;
  }
  return pool;
}

static void shard_close(struct pool *pool) {
  struct ring *gone = pool->retired;
  for (size_t i = 0; i < pool->shard_count; i++)
    turn(pool, i, pool->seats[i].trims + 2, &gone);
  free_retired(gone);
  heap_free(pool->shards, shards_bytes(pool));
  heap_free(pool->seats, pool->shard_count * sizeof *pool->seats);
  pthread_mutex_destroy(&pool->lock);
  base_close(&pool->base);
}

static struct pool_thread *shard_attach(struct pool *pool) {
  struct shard_thread *thread = base_attach(&pool->base);
  if (!thread)
    return NULL;
  thread->scope.thread = &thread->base.thread;
  thread->pool = pool;
  for (size_t kind = 0; kind < pool->base.kind_count; kind++)
    thread->clears[kind] = pool->base.kinds[kind].clear != NULL;
  pthread_mutex_lock(&pool->lock);
  while (thread->index < pool->shard_count && pool->seats[thread->index].taken)
    thread->index++;
  bool seated = thread->index < pool->shard_count;
  if (seated) {
    thread->seat = &pool->seats[thread->index];
    thread->seat->taken = true;
    use_seat(thread);
    thread->tick = thread->seen = atomic_load_explicit(&pool->base.epoch, memory_order_relaxed);
    base_enter(&pool->base, &thread->base);
  }
  pthread_mutex_unlock(&pool->lock);
  if (seated)
    return &thread->base.thread;
  base_free(&pool->base, &thread->base); /* more threads than config->threads promised */
  return NULL;
}

/* Owner. What lay in the private slot can be stolen afterwards. */
static void give_up_private(const struct kind *kind, struct shard *shard,
                            struct pool_counters *counters) {
  void *object = shard->private_object;
  shard->private_object = NULL;
  if (object && !chain_push(&shard->chain, object)) {
    pool_count(&counters->overflows, 1);
    object_free(kind, object);
  }
}

static void shard_detach(struct pool *pool, struct pool_thread *t) {
  struct shard_thread *thread = (struct shard_thread *)t;
  struct ring *gone = NULL;
  pthread_mutex_lock(&pool->lock);
  turn(pool, thread->index, pool->trims, &gone);
  for (size_t kind = 0; kind < pool->base.kind_count; kind++)
    for (unsigned half = 0; half < 2; half++)
      give_up_private(&pool->base.kinds[kind], shard_at(pool, half, kind, thread->index),
                      &t->counters);
  thread->seat->taken = false;
  retire(pool, gone);
  base_leave(&pool->base, &thread->base);
  struct ring *free_now = take_reclaimable(pool);
  pthread_mutex_unlock(&pool->lock);
  free_retired(free_now);
  base_free(&pool->base, &thread->base);
}

static struct pool_scope *shard_begin(struct pool *pool, struct pool_thread *t,
                                      struct pool_owner *owner) {
  (void)owner;
  catch_up_if_due(pool, t);
  return &((struct shard_thread *)t)->scope;
}

static void shard_end(struct pool *pool, struct pool_scope *scope) {
  catch_up_if_due(pool, scope->thread);
}

/* Getting and putting. */

/* Tries the tails of all shards of one half, the thread's own included, from `first` on. */
static void *search(struct shard_thread *thread, uint64_t half, unsigned kind, unsigned first,
                    struct timing_retries *retries) {
  struct pool_counters *counters = &thread->base.thread.counters;
  unsigned count = thread->pool->shard_count;
  struct shard *shards = shard_at(thread->pool, half, kind, 0);
  for (unsigned looked = 0; looked < count; looked++) {
    unsigned index = first + looked < count ? first + looked : first + looked - count;
    void *object = chain_steal(&shards[index].chain, retries);
    if (object) {
      pool_count(&counters->scans, looked + 1);
      pool_count(&counters->steals, index != thread->index);
      return object;
    }
  }
  pool_count(&counters->scans, count);
  return NULL;
}

static void *search_victims(struct shard_thread *thread, unsigned kind,
                            struct timing_retries *retries) {
  uint64_t half = thread->seat->trims + 1;
  struct shard *own = shard_at(thread->pool, half, kind, thread->index);
  void *object = own->private_object;
  if (object) {
    own->private_object = NULL;
    return object;
  }
  object = search(thread, half, kind, thread->index, retries);
  if (!object && thread->pool->victims_once)
    thread->look_for_victims = false;
  return object;
}

/* Everywhere but in the thread's own head: what the time budget calls a scan. */
static void *search_all(struct shard_thread *thread, unsigned kind,
                        struct timing_retries *retries) {
  unsigned next = thread->index + 1 < thread->pool->shard_count ? thread->index + 1 : 0;
  void *object = search(thread, thread->seat->trims, kind, next, retries);
  if (!object && thread->look_for_victims)
    object = search_victims(thread, kind, retries);
  return object;
}

static void *search_timed(struct shard_thread *thread, unsigned kind,
                          struct timing_retries *retries) {
  struct pool_counters *counters = &thread->base.thread.counters;
  if (!span_gap_due(&counters->timing.scan))
    return search_all(thread, kind, retries);
  uint64_t begin = span_begin();
  void *object = search_all(thread, kind, retries);
  timing_count_scan(counters, begin, retries);
  return object;
}

/* The newest ring had nothing. Not inlined, so that the paths before save no registers for it. */
__attribute__((noinline)) static void *get_slow(struct shard_thread *thread, unsigned kind) {
  struct pool_counters *counters = &thread->base.thread.counters;
  struct timing_retries retries = {0};
  struct ring *newest = thread->primary[kind]->chain.head;
  void *object = newest ? chain_pop_older(newest) : NULL;
  if (!object)
    object = search_timed(thread, kind, &retries);
  if (retries.failures)
    timing_count_retries(counters, &retries);
  if (object)
    return object;
  pool_count(&counters->misses, 1);
  return object_new(&thread->pool->base.kinds[kind]);
}

static void *shard_get(struct pool_scope *scope, unsigned kind) {
  struct shard_thread *thread = (struct shard_thread *)scope->thread;
  struct shard *shard = thread->primary[kind];
  pool_count(&thread->base.thread.counters.gets, 1);
  void *object = shard->private_object;
  if (object) {
    shard->private_object = NULL;
    return object;
  }
  if (shard->chain.head && (object = ring_pop(shard->chain.head)))
    return object;
  return get_slow(thread, kind);
}

/* There is something to clear, or a ring to add. */
__attribute__((noinline)) static void put_slow(struct shard_thread *thread, unsigned kind,
                                               void *object) {
  struct shard *shard = thread->primary[kind];
  object_clear(&thread->pool->base.kinds[kind], object);
  if (!shard->private_object) {
    shard->private_object = object;
  } else if (!chain_push(&shard->chain, object)) {
    pool_count(&thread->base.thread.counters.overflows, 1);
    object_free(&thread->pool->base.kinds[kind], object);
  }
}

static void shard_put(struct pool_scope *scope, unsigned kind, void *object) {
  struct shard_thread *thread = (struct shard_thread *)scope->thread;
  struct shard *shard = thread->primary[kind];
  pool_count(&thread->base.thread.counters.puts, 1);
  if (__builtin_expect(!thread->clears[kind], 1)) {
    if (!shard->private_object) {
      shard->private_object = object;
      return;
    }
    if (shard->chain.head && ring_push(shard->chain.head, object))
      return;
  }
  put_slow(thread, kind, object);
}

static void shard_drop(struct pool_thread *t, unsigned kind, void *object) {
  pool_count(&t->counters.drops, 1);
  object_free(&((struct shard_thread *)t)->pool->base.kinds[kind], object);
}

/* Shards without an owner are turned here; attach and detach are kept out meanwhile. */
static void shard_trim(struct pool *pool) {
  struct ring *gone = NULL;
  pthread_mutex_lock(&pool->lock);
  pool->trims++;
  base_trim(&pool->base);
  for (size_t i = 0; i < pool->shard_count; i++)
    if (!pool->seats[i].taken)
      turn(pool, i, pool->trims, &gone);
  retire(pool, gone);
  struct ring *free_now = take_reclaimable(pool);
  pthread_mutex_unlock(&pool->lock);
  free_retired(free_now);
}

static void shard_quiesce(struct pool *pool, struct pool_thread *t) {
  catch_up_if_due(pool, t);
}

struct weighing {
  const struct kind *kind;
  struct pool_held *held;
};

static void weigh(void *object, void *arg) {
  struct weighing *w = arg;
  w->held->objects++;
  w->held->bytes += object_bytes(w->kind, object);
}

static void shard_held(struct pool *pool, struct pool_held *out) {
  *out = (struct pool_held){0};
  for (unsigned half = 0; half < 2; half++)
    for (size_t kind = 0; kind < pool->base.kind_count; kind++)
      for (size_t i = 0; i < pool->shard_count; i++) {
        struct shard *shard = shard_at(pool, half, kind, i);
        struct weighing w = {&pool->base.kinds[kind], out};
        if (shard->private_object)
          weigh(shard->private_object, &w);
        chain_each(&shard->chain, weigh, &w);
      }
}

const struct strategy strategy_sync_pool = {
    .name = "sync-pool",
    .summary = "Go's sync.Pool: a shard a thread, private slot, stealing, victims",
    .options = shard_options,
    .open = shard_open,
    .close = shard_close,
    .attach = shard_attach,
    .detach = shard_detach,
    .begin = shard_begin,
    .end = shard_end,
    .get = shard_get,
    .put = shard_put,
    .drop = shard_drop,
    .release = base_release_nothing,
    .trim = shard_trim,
    .quiesce = shard_quiesce,
    .stats = base_pool_stats,
    .held = shard_held,
};
