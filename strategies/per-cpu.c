/*
 * per-cpu: a stack of objects a CPU and kind, which the threads that run there share.
 *
 * A thread uses the stack of the CPU that it happens to run on. Nothing is locked: get and put are
 * restartable sequences (strategies/support/restart.h). way=lock, and way=auto where the kernel or
 * the C library has no such sequences, takes a lock of the CPU instead, at every get and put; which
 * of the two ran, lock acquisitions tell (none, or two a pair).
 *
 * Contract. Any thread may put any object; it stays with the CPU of that put, and a get finds it
 * only there: objects that are got on one CPU and put on another miss always on the one and
 * overflow on the other. Memory: at most `cap` objects and `bytes` bytes a CPU and kind, however
 * many threads there are; the sequences' stacks take 16 B a place, used or not. What exceeds is
 * freed. Progress: lock-free but for the allocator (a sequence is restarted only when another
 * thread or a signal handler ran); with way=lock blocking. Order: LIFO on the CPU. A leaving thread
 * leaves nothing behind: its objects are the CPUs'. trim frees the pooled objects of all CPUs at
 * once; while it does, gets of other threads miss and what they put is freed.
 *
 * Order of memory: threads of one CPU follow one another through the kernel, which orders them. A
 * trim orders itself by restart_fence, and the release store that opens the stacks again.
 */
#include "strategies/strategy.h"
#include "strategies/support/base.h"
#include "strategies/support/freelist.h"
#include "strategies/support/lock.h"
#include "strategies/support/options.h"
#include "strategies/support/restart.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MOST_CAP 1000000
#define MOST_CPUS 65536

extern const struct strategy strategy_per_cpu;

enum way { WAY_AUTO, WAY_RSEQ, WAY_LOCK };
static const char *const way_names[] = {"auto", "rseq", "lock", NULL};

/* way=lock: a CPU's lists. The lock is contended only if its holder is preempted or migrates. */
struct locked_cpu {
  _Alignas(POOL_LINE) struct lock lock;
  struct freelist lists[POOL_MAX_KINDS];
};

struct pool {
  struct base_pool base;
  bool restartable;
  uint32_t cpu_count;
  uint64_t cap, most_bytes;
  struct restart_stack *stacks; /* [kinds][cpu_count]; NULL with way=lock */
  struct locked_cpu *cpus;      /* [cpu_count]; NULL with sequences */
  pthread_mutex_t trimming;     /* held by who has closed the stacks */
  /* Read by every sequence, written by trim alone: a line of its own. */
  _Alignas(POOL_LINE) _Atomic uint32_t open_cpus; /* cpu_count, or 0: closed */
};

struct cpu_thread {
  struct base_thread base;
  _Alignas(POOL_LINE) struct pool_scope scope;
  struct pool *pool;
  struct rseq *self;          /* NULL with way=lock */
  bool plain[POOL_MAX_KINDS]; /* with sequences, and put has nothing to clear or to weigh */
  struct restart_stack *stacks[POOL_MAX_KINDS];
};

static const struct strategy_option cpu_options[] = {
    {"cap", "1000", "1..1000000", "most objects kept per CPU and kind"},
    {"bytes", "67108864", FREELIST_BYTES_RANGE, "most bytes kept per CPU and kind, by kind.bytes"},
    {"way", "auto", "auto|rseq|lock", "restartable sequences or a lock a CPU; auto: what there is"},
    {0}};

/* Stacks for sequences. */

static size_t stacks_bytes(const struct pool *pool) {
  return pool->base.kind_count * pool->cpu_count * sizeof(struct restart_stack);
}

static size_t entries_bytes(uint64_t places) {
  size_t bytes = (size_t)(places + 1) * sizeof(struct restart_entry);
  return (bytes + POOL_LINE - 1) / POOL_LINE * POOL_LINE;
}

static size_t entries_of(const struct restart_stack *stack) {
  return entries_bytes(stack->last / sizeof(struct restart_entry));
}

static void free_stacks(struct pool *pool) {
  if (!pool->stacks)
    return;
  for (size_t i = 0; i < pool->base.kind_count * pool->cpu_count; i++)
    if (pool->stacks[i].entries)
      heap_free(pool->stacks[i].entries, entries_of(&pool->stacks[i]));
  heap_free(pool->stacks, stacks_bytes(pool));
  pool->stacks = NULL;
}

static bool is_weighed(const struct pool *pool, const struct kind *kind) {
  return pool->most_bytes && kind->bytes;
}

static bool stack_open(const struct pool *pool, const struct kind *kind,
                       struct restart_stack *stack) {
  uint64_t places = pool->cap;
  if (pool->most_bytes && !kind->bytes && pool->most_bytes / kind->size < places)
    places = pool->most_bytes / kind->size;
  struct restart_entry *entries = heap_alloc_aligned(entries_bytes(places), POOL_LINE);
  if (!entries)
    return false;
  entries[0] = (struct restart_entry){0};
  *stack =
      (struct restart_stack){.last = places * sizeof *entries,
                             .most_bytes = is_weighed(pool, kind) ? pool->most_bytes : UINT64_MAX,
                             .entries = entries};
  return true;
}

/* false: out of memory, and nothing is left. */
static bool make_stacks(struct pool *pool) {
  pool->stacks = heap_alloc_aligned(stacks_bytes(pool), POOL_LINE);
  if (!pool->stacks)
    return false;
  memset(pool->stacks, 0, stacks_bytes(pool));
  for (size_t kind = 0; kind < pool->base.kind_count; kind++)
    for (size_t cpu = 0; cpu < pool->cpu_count; cpu++)
      if (!stack_open(pool, &pool->base.kinds[kind], &pool->stacks[kind * pool->cpu_count + cpu])) {
        free_stacks(pool);
        return false;
      }
  return true;
}

/* Nobody else uses the stack. */
static void stack_clear(const struct kind *kind, struct restart_stack *stack) {
  for (; stack->top > 0; stack->top -= sizeof(struct restart_entry))
    object_free(kind, stack->entries[stack->top / sizeof(struct restart_entry)].object);
}

static void clear_stacks(struct pool *pool) {
  for (size_t kind = 0; kind < pool->base.kind_count; kind++)
    for (size_t cpu = 0; cpu < pool->cpu_count; cpu++)
      stack_clear(&pool->base.kinds[kind], &pool->stacks[kind * pool->cpu_count + cpu]);
}

/* Lists behind locks. */

static void free_cpus(struct pool *pool, size_t made) {
  for (size_t cpu = 0; cpu < made; cpu++) {
    for (size_t kind = 0; kind < pool->base.kind_count; kind++)
      freelist_clear(&pool->cpus[cpu].lists[kind]);
    lock_destroy(&pool->cpus[cpu].lock);
  }
  heap_free(pool->cpus, pool->cpu_count * sizeof *pool->cpus);
  pool->cpus = NULL;
}

/* Returns 0 or an errno value, and then nothing is left. */
static int make_cpus(struct pool *pool) {
  pool->cpus = heap_alloc_aligned(pool->cpu_count * sizeof *pool->cpus, POOL_LINE);
  if (!pool->cpus)
    return ENOMEM;
  memset(pool->cpus, 0, pool->cpu_count * sizeof *pool->cpus);
  for (size_t cpu = 0; cpu < pool->cpu_count; cpu++) {
    int error = lock_init(&pool->cpus[cpu].lock, LOCK_PTHREAD);
    if (error) {
      free_cpus(pool, cpu);
      return error;
    }
    for (size_t kind = 0; kind < pool->base.kind_count; kind++)
      freelist_init(&pool->cpus[cpu].lists[kind], &pool->base.kinds[kind], pool->cap,
                    pool->most_bytes);
  }
  return 0;
}

static struct locked_cpu *lock_this_cpu(struct cpu_thread *thread, struct lock_hold *hold) {
  int number = sched_getcpu(); /* -1, or one that came later than the pool: any list will do */
  struct locked_cpu *cpu = &thread->pool->cpus[(unsigned)number % thread->pool->cpu_count];
  lock_acquire(&cpu->lock, hold, &thread->base.thread.counters);
  return cpu;
}

static void *locked_pop(struct cpu_thread *thread, unsigned kind) {
  struct lock_hold hold;
  struct locked_cpu *cpu = lock_this_cpu(thread, &hold);
  void *object = freelist_pop(&cpu->lists[kind]);
  lock_release(&cpu->lock, &hold);
  return object;
}

static bool locked_push(struct cpu_thread *thread, unsigned kind, void *object) {
  struct lock_hold hold;
  struct locked_cpu *cpu = lock_this_cpu(thread, &hold);
  bool kept = freelist_push(&cpu->lists[kind], object);
  lock_release(&cpu->lock, &hold);
  return kept;
}

static void trim_locked(struct pool *pool) {
  for (size_t i = 0; i < pool->cpu_count; i++) {
    struct locked_cpu *cpu = &pool->cpus[i];
    struct freelist taken[POOL_MAX_KINDS];
    struct lock_hold hold;
    lock_acquire(&cpu->lock, &hold, NULL);
    for (size_t kind = 0; kind < pool->base.kind_count; kind++)
      taken[kind] = freelist_take(&cpu->lists[kind]);
    lock_release(&cpu->lock, &hold);
    for (size_t kind = 0; kind < pool->base.kind_count; kind++)
      freelist_clear(&taken[kind]);
  }
}

/* Opening and closing. */

static bool read_options(const struct pool_config *config, struct pool *pool) {
  const struct strategy *self = &strategy_per_cpu;
  const char *why = NULL;
  unsigned way;
  if (!option_number(self, config, "cap", 1, MOST_CAP, &pool->cap) ||
      !option_number(self, config, "bytes", 0, FREELIST_MAX_BYTES, &pool->most_bytes) ||
      !option_choice(self, config, "way", way_names, &way))
    return false;
  pool->restartable = way != WAY_LOCK && restart_self(&why) && restart_can_fence(&why);
  if (way == WAY_RSEQ && !pool->restartable) {
    snprintf(config->why, config->why_size, "per-cpu:way=rseq: %s; way=lock does without", why);
    return false;
  }
  return true;
}

/* Those there may ever be: a CPU can be switched on later. */
static uint32_t possible_cpus(void) {
  long count = sysconf(_SC_NPROCESSORS_CONF);
  return count < 1 ? 1 : count > MOST_CPUS ? MOST_CPUS : (uint32_t)count;
}

static bool make_places(struct pool *pool, const struct pool_config *config) {
  int error = 0;
  if (pool->restartable)
    error = make_stacks(pool) ? 0 : ENOMEM;
  else
    error = make_cpus(pool);
  if (error)
    snprintf(config->why, config->why_size, "per-cpu: cannot make places for %u CPUs: %s",
             pool->cpu_count, strerror(error));
  return error == 0;
}

static struct pool *cpu_open(const struct kind *kinds, size_t kind_count,
                             const struct pool_config *config) {
  struct pool *pool = base_open(sizeof *pool, sizeof(struct cpu_thread), kinds, kind_count, config);
  if (!pool)
    return NULL;
  pool->cpu_count = possible_cpus();
  pthread_mutex_init(&pool->trimming, NULL); /* cannot fail with default attributes */
  if (!read_options(config, pool) || !make_places(pool, config)) {
    pthread_mutex_destroy(&pool->trimming);
    base_close(&pool->base);
    return NULL;
  }
  atomic_store_explicit(&pool->open_cpus, pool->cpu_count, memory_order_relaxed);
  return pool;
}

static void cpu_close(struct pool *pool) {
  if (pool->restartable) {
    clear_stacks(pool);
    free_stacks(pool);
  } else {
    free_cpus(pool, pool->cpu_count);
  }
  pthread_mutex_destroy(&pool->trimming);
  base_close(&pool->base);
}

static struct pool_thread *cpu_attach(struct pool *pool) {
  const char *why;
  struct cpu_thread *thread = base_attach(&pool->base);
  if (!thread)
    return NULL;
  thread->scope.thread = &thread->base.thread;
  thread->pool = pool;
  for (size_t i = 0; pool->restartable && i < pool->base.kind_count; i++) {
    const struct kind *kind = &pool->base.kinds[i];
    thread->stacks[i] = &pool->stacks[i * pool->cpu_count];
    thread->plain[i] = !kind->clear && !is_weighed(pool, kind);
  }
  thread->self = pool->restartable ? restart_self(&why) : NULL;
  base_enter(&pool->base, &thread->base);
  return &thread->base.thread;
}

static struct pool_scope *cpu_begin(struct pool *pool, struct pool_thread *thread,
                                    struct pool_owner *owner) {
  (void)pool, (void)owner;
  return &((struct cpu_thread *)thread)->scope;
}

static void cpu_end(struct pool *pool, struct pool_scope *scope) {
  (void)pool, (void)scope;
}

/* Getting and putting. */

__attribute__((noinline)) static void *get_slow(struct cpu_thread *thread, unsigned kind) {
  void *object = thread->self ? NULL : locked_pop(thread, kind);
  if (object)
    return object;
  pool_count(&thread->base.thread.counters.misses, 1);
  return object_new(&thread->pool->base.kinds[kind]);
}

static void *cpu_get(struct pool_scope *scope, unsigned kind) {
  struct cpu_thread *thread = (struct cpu_thread *)scope->thread;
  struct pool_counters *counters = &thread->base.thread.counters;
  void *object = NULL;
  pool_count(&counters->gets, 1);
  if (thread->self)
    object = restart_pop(thread->self, thread->stacks[kind], &thread->pool->open_cpus,
                         &counters->restarts);
  return object ? object : get_slow(thread, kind);
}

static bool push_here(struct cpu_thread *thread, unsigned kind, void *object, uint64_t bytes) {
  return restart_push(thread->self, thread->stacks[kind], &thread->pool->open_cpus,
                      &thread->base.thread.counters.restarts, object, bytes);
}

static bool keep(struct cpu_thread *thread, unsigned k, void *object) {
  const struct kind *kind = &thread->pool->base.kinds[k];
  if (!thread->self)
    return locked_push(thread, k, object);
  return push_here(thread, k, object, is_weighed(thread->pool, kind) ? kind->bytes(object) : 0);
}

__attribute__((noinline)) static void put_slow(struct cpu_thread *thread, unsigned k,
                                               void *object) {
  const struct kind *kind = &thread->pool->base.kinds[k];
  object_clear(kind, object);
  if (keep(thread, k, object))
    return;
  pool_count(&thread->base.thread.counters.overflows, 1);
  object_free(kind, object);
}

static void cpu_put(struct pool_scope *scope, unsigned kind, void *object) {
  struct cpu_thread *thread = (struct cpu_thread *)scope->thread;
  pool_count(&thread->base.thread.counters.puts, 1);
  if (__builtin_expect(thread->plain[kind], 1) && push_here(thread, kind, object, 0))
    return;
  put_slow(thread, kind, object); /* one that was not taken is tried again */
}

static void cpu_drop(struct pool_thread *t, unsigned kind, void *object) {
  pool_count(&t->counters.drops, 1);
  object_free(&((struct cpu_thread *)t)->pool->base.kinds[kind], object);
}

/*
 * Closed: every sequence that begins from now on finds no stack. Fenced: none that began before is
 * still on its way to its commit. If the kernel has no memory for the fence, the objects stay for
 * the next trim.
 */
static void trim_restartable(struct pool *pool) {
  pthread_mutex_lock(&pool->trimming);
  atomic_store_explicit(&pool->open_cpus, 0, memory_order_seq_cst);
  if (restart_fence())
    clear_stacks(pool);
  atomic_store_explicit(&pool->open_cpus, pool->cpu_count, memory_order_release);
  pthread_mutex_unlock(&pool->trimming);
}

static void cpu_trim(struct pool *pool) {
  if (pool->restartable)
    trim_restartable(pool);
  else
    trim_locked(pool);
}

static void add_stack(const struct kind *kind, const struct restart_stack *stack,
                      struct pool_held *held) {
  for (size_t i = stack->top / sizeof *stack->entries; i > 0; i--) {
    held->objects++;
    held->bytes += object_bytes(kind, stack->entries[i].object);
  }
}

static void add_locked(struct pool *pool, struct pool_held *held) {
  for (size_t i = 0; i < pool->cpu_count; i++) {
    struct locked_cpu *cpu = &pool->cpus[i];
    struct lock_hold hold;
    lock_acquire(&cpu->lock, &hold, NULL);
    for (size_t kind = 0; kind < pool->base.kind_count; kind++)
      freelist_held(&cpu->lists[kind], held);
    lock_release(&cpu->lock, &hold);
  }
}

/* No scope is open, so no sequence runs; a trim is kept out. */
static void cpu_held(struct pool *pool, struct pool_held *out) {
  *out = (struct pool_held){0};
  if (!pool->restartable) {
    add_locked(pool, out);
    return;
  }
  pthread_mutex_lock(&pool->trimming);
  for (size_t kind = 0; kind < pool->base.kind_count; kind++)
    for (size_t cpu = 0; cpu < pool->cpu_count; cpu++)
      add_stack(&pool->base.kinds[kind], &pool->stacks[kind * pool->cpu_count + cpu], out);
  pthread_mutex_unlock(&pool->trimming);
}

const struct strategy strategy_per_cpu = {
    .name = "per-cpu",
    .summary = "a stack a CPU, by restartable sequences",
    .options = cpu_options,
    .open = cpu_open,
    .close = cpu_close,
    .attach = cpu_attach,
    .detach = base_thread_detach,
    .begin = cpu_begin,
    .end = cpu_end,
    .get = cpu_get,
    .put = cpu_put,
    .drop = cpu_drop,
    .release = base_release_nothing,
    .trim = cpu_trim,
    .quiesce = base_quiesce_nothing,
    .stats = base_pool_stats,
    .held = cpu_held,
};
