/*
 * treiber: one lock-free stack a kind, for all threads.
 *
 * Treiber's stack (IBM RJ 5118, 1986) in Concurrency Kit's form: a push is a compare-and-swap of
 * the head, a pop one of the head and a generation beside it, so that a head which went and came
 * back in between (ABA) is noticed. An object is not written while it is pooled, so it hangs off a
 * node. A get leaves an empty node behind, a put needs one: a thread keeps some for itself, the
 * rest go through a stack of empty nodes.
 *
 * Contract. Any thread may put any object; the next get of any thread finds it. Memory: at most
 * `cap` objects and `bytes` bytes a kind, at no time more. Nodes (16 B) come in slabs, for as many
 * objects as were ever pooled at once, and SPARE_MOST and a slab a thread on top; they are freed
 * at close and not before, for a pop may read the link of a node that another thread has just
 * popped. Progress: lock-free but for the allocator; a thread may fail for ever while others
 * succeed. Order: LIFO over all threads. A leaving thread leaves nothing behind: its objects are
 * in the pool already, its nodes go to the others. trim frees the pooled objects at once.
 *
 * Order of memory: the push publishes what its thread wrote into object and node before (x86's
 * locked instruction, elsewhere Concurrency Kit's store fence before it), the pop that succeeds
 * sees it. The link is read before the pop knows whether the node is its own; a wrong one is thrown
 * away with the failed swap.
 */
#include "strategies/strategy.h"
#include "strategies/support/annotate.h"
#include "strategies/support/base.h"
#include "strategies/support/freelist.h"
#include "strategies/support/options.h"
#include "strategies/support/timing.h"

#include <ck_stack.h>
#include <stdio.h>

#define SLAB_NODES 255
#define SPARE_MOST 64

extern const struct strategy strategy_treiber;

struct node {
  ck_stack_entry_t link; /* first: an entry is its node */
  union {
    void *object;      /* on a kind's stack */
    struct node *next; /* empty, with a thread: `link` may still be read by a late pop */
  };
};

struct slab {
  struct slab *next;
  struct node nodes[SLAB_NODES];
};

struct stack {
  _Alignas(POOL_LINE) ck_stack_t entries; /* 16 B aligned, for the double-width swap */
  /* Reserved before the push, given back after the pop: never below what is on the stack. */
  _Atomic uint64_t objects, bytes; /* counted only where there is such a bound */
  uint64_t cap, most_bytes;        /* UINT64_MAX: no bound */
};

struct pool {
  struct base_pool base;
  struct stack stacks[POOL_MAX_KINDS];
  struct stack spare;                               /* nodes without objects */
  _Alignas(POOL_LINE) _Atomic(struct slab *) slabs; /* pushed to, walked at close */
};

struct treiber_thread {
  struct base_thread base;
  _Alignas(POOL_LINE) struct pool_scope scope;
  struct pool *pool;
  struct node *spare; /* by next */
  unsigned spare_count;
};

static const struct strategy_option treiber_options[] = {
    {"cap", "0", "0..100000000 (0: no cap)", "most objects kept per kind"},
    {"bytes", "0", FREELIST_BYTES_RANGE, "most bytes kept per kind, by kind.bytes"},
    {0}};

/* The stack. */

#ifdef CK_F_STACK_TRYPOP_MPMC
#define HAS_DOUBLE_SWAP true
#else /* open refuses */
#define HAS_DOUBLE_SWAP false
#define ck_stack_trypop_mpmc(stack, entry) ((void)(stack), *(entry) = NULL, false)
#define ck_pr_cas_ptr_2_value(target, compare, set, value) ((void)(compare), (void)(set), true)
#endif

static void stack_push(struct stack *stack, struct node *node, struct timing_retries *retries) {
  ANNOTATE_RELEASE(stack);
  ANNOTATE_IGNORE_BEGIN();
  while (!ck_stack_trypush_mpmc(&stack->entries, &node->link))
    timing_failed(retries);
  ANNOTATE_IGNORE_END();
  timing_retried(retries);
}

/* NULL when empty. A stack that others empty between the two reads of its head counts as a try. */
static struct node *stack_pop(struct stack *stack, struct timing_retries *retries) {
  ck_stack_entry_t *entry = NULL;
  ANNOTATE_IGNORE_BEGIN();
  while (ck_pr_load_ptr(&stack->entries.head) && !ck_stack_trypop_mpmc(&stack->entries, &entry)) {
    timing_failed(retries);
    entry = NULL;
  }
  ANNOTATE_IGNORE_END();
  timing_retried(retries);
  if (entry)
    ANNOTATE_ACQUIRE(stack);
  return (struct node *)entry;
}

/*
 * All nodes at once, by link. Not ck_stack_batch_pop_mpmc, which leaves the generation as it is: a
 * pop that began before it would succeed if its head were pushed again with another link.
 */
static struct node *stack_take(struct stack *stack) {
  ck_stack_t old, none;
  ANNOTATE_IGNORE_BEGIN();
  old.generation = ck_pr_load_ptr(&stack->entries.generation);
  ck_pr_fence_load();
  old.head = ck_pr_load_ptr(&stack->entries.head);
  do {
    none.head = NULL;
    none.generation = old.generation + 1;
  } while (!ck_pr_cas_ptr_2_value(&stack->entries, &old, &none, &old));
  ANNOTATE_IGNORE_END();
  ANNOTATE_ACQUIRE(stack);
  return (struct node *)old.head;
}

static struct node *linked(const struct node *node) {
  return (struct node *)node->link.next;
}

/* Bounds. Relaxed: a count orders nothing, the stack does. */

/* false: there is no room for `n` more. */
static bool reserve(_Atomic uint64_t *used, uint64_t n, uint64_t most) {
  if (most == UINT64_MAX)
    return true;
  if (n > most || atomic_load_explicit(used, memory_order_relaxed) > most - n)
    return false;
  if (atomic_fetch_add_explicit(used, n, memory_order_relaxed) <= most - n)
    return true;
  atomic_fetch_sub_explicit(used, n, memory_order_relaxed);
  return false;
}

static void give_back(_Atomic uint64_t *used, uint64_t n, uint64_t most) {
  if (most != UINT64_MAX)
    atomic_fetch_sub_explicit(used, n, memory_order_relaxed);
}

static uint64_t weight_of(const struct stack *stack, const struct kind *kind, const void *object) {
  return stack->most_bytes == UINT64_MAX ? 0 : object_bytes(kind, object);
}

static bool reserve_place(struct stack *stack, uint64_t weight) {
  if (!reserve(&stack->objects, 1, stack->cap))
    return false;
  if (reserve(&stack->bytes, weight, stack->most_bytes))
    return true;
  give_back(&stack->objects, 1, stack->cap);
  return false;
}

static void give_back_place(struct stack *stack, uint64_t weight) {
  give_back(&stack->objects, 1, stack->cap);
  give_back(&stack->bytes, weight, stack->most_bytes);
}

/* Empty nodes. */

static void keep_node(struct treiber_thread *thread, struct node *node) {
  node->next = thread->spare;
  thread->spare = node;
  thread->spare_count++;
}

static struct node *own_node(struct treiber_thread *thread) {
  struct node *node = thread->spare;
  thread->spare = node->next;
  thread->spare_count--;
  return node;
}

static bool add_slab(struct treiber_thread *thread) {
  struct pool *pool = thread->pool;
  struct slab *slab = heap_alloc(sizeof *slab);
  if (!slab)
    return false;
  for (size_t i = SLAB_NODES; i-- > 0;)
    keep_node(thread, &slab->nodes[i]);
  slab->next = atomic_load_explicit(&pool->slabs, memory_order_relaxed);
  /* Only pushed to; close reads it, which comes after the last detach. */
  while (!atomic_compare_exchange_weak_explicit(&pool->slabs, &slab->next, slab,
                                                memory_order_release, memory_order_relaxed))
    ;
  return true;
}

/* NULL when out of memory. */
static struct node *take_node(struct treiber_thread *thread, struct timing_retries *retries) {
  if (!thread->spare) {
    struct node *node = stack_pop(&thread->pool->spare, retries);
    if (node)
      return node;
    if (!add_slab(thread))
      return NULL;
  }
  return own_node(thread);
}

static void leave_node(struct treiber_thread *thread, struct node *node,
                       struct timing_retries *retries) {
  if (thread->spare_count < SPARE_MOST)
    keep_node(thread, node);
  else
    stack_push(&thread->pool->spare, node, retries);
}

/* Opening and closing. */

static void stack_open(struct stack *stack, const struct kind *kind, uint64_t cap,
                       uint64_t most_bytes) {
  ck_stack_init(&stack->entries);
  stack->cap = cap ? cap : UINT64_MAX;
  stack->most_bytes = most_bytes && kind->bytes ? most_bytes : UINT64_MAX;
  if (most_bytes && !kind->bytes && most_bytes / kind->size < stack->cap)
    stack->cap = most_bytes / kind->size;
}

static struct pool *treiber_open(const struct kind *kinds, size_t kind_count,
                                 const struct pool_config *config) {
  uint64_t cap, most_bytes;
  if (!option_number(&strategy_treiber, config, "cap", 0, FREELIST_MAX_CAP, &cap) ||
      !option_number(&strategy_treiber, config, "bytes", 0, FREELIST_MAX_BYTES, &most_bytes))
    return NULL;
  if (!HAS_DOUBLE_SWAP) {
    snprintf(config->why, config->why_size,
             "treiber: needs a double-width compare-and-swap, which Concurrency Kit does not have "
             "on this architecture");
    return NULL;
  }
  struct pool *pool =
      base_open(sizeof *pool, sizeof(struct treiber_thread), kinds, kind_count, config);
  if (!pool)
    return NULL;
  for (size_t i = 0; i < kind_count; i++)
    stack_open(&pool->stacks[i], &kinds[i], cap, most_bytes);
  ck_stack_init(&pool->spare.entries);
  return pool;
}

/* Its nodes stay linked, for the caller. */
static struct node *free_objects(struct stack *stack, const struct kind *kind) {
  struct node *taken = stack_take(stack);
  for (struct node *node = taken; node; node = linked(node)) {
    uint64_t weight = weight_of(stack, kind, node->object);
    object_free(kind, node->object);
    give_back_place(stack, weight);
  }
  return taken;
}

static void treiber_close(struct pool *pool) {
  for (size_t i = 0; i < pool->base.kind_count; i++)
    free_objects(&pool->stacks[i], &pool->base.kinds[i]);
  struct slab *slab = atomic_load_explicit(&pool->slabs, memory_order_acquire);
  while (slab) {
    struct slab *next = slab->next;
    heap_free(slab, sizeof *slab);
    slab = next;
  }
  base_close(&pool->base);
}

static struct pool_thread *treiber_attach(struct pool *pool) {
  struct treiber_thread *thread = base_attach(&pool->base);
  if (!thread)
    return NULL;
  thread->scope.thread = &thread->base.thread;
  thread->pool = pool;
  base_enter(&pool->base, &thread->base);
  return &thread->base.thread;
}

static void treiber_detach(struct pool *pool, struct pool_thread *t) {
  struct treiber_thread *thread = (struct treiber_thread *)t;
  struct timing_retries retries = {0};
  while (thread->spare)
    stack_push(&pool->spare, own_node(thread), &retries);
  timing_count_retries(&t->counters, &retries);
  base_leave(&pool->base, &thread->base);
  base_free(&pool->base, &thread->base);
}

static struct pool_scope *treiber_begin(struct pool *pool, struct pool_thread *thread,
                                        struct pool_owner *owner) {
  (void)pool, (void)owner;
  return &((struct treiber_thread *)thread)->scope;
}

static void treiber_end(struct pool *pool, struct pool_scope *scope) {
  (void)pool, (void)scope;
}

/* Getting and putting. */

static void *treiber_get(struct pool_scope *scope, unsigned k) {
  struct treiber_thread *thread = (struct treiber_thread *)scope->thread;
  struct pool_counters *counters = &thread->base.thread.counters;
  const struct kind *kind = &thread->pool->base.kinds[k];
  struct stack *stack = &thread->pool->stacks[k];
  struct timing_retries retries = {0};
  void *object = NULL;
  pool_count(&counters->gets, 1);
  struct node *node = stack_pop(stack, &retries);
  if (node) {
    object = node->object;
    leave_node(thread, node, &retries);
    give_back_place(stack, weight_of(stack, kind, object));
  }
  if (__builtin_expect(retries.failures != 0, 0))
    timing_count_retries(counters, &retries);
  if (object)
    return object;
  pool_count(&counters->misses, 1);
  return object_new(kind);
}

/* false: there is no place for it, or no memory for its node. */
static bool keep(struct treiber_thread *thread, unsigned k, void *object) {
  struct stack *stack = &thread->pool->stacks[k];
  struct timing_retries retries = {0};
  uint64_t weight = weight_of(stack, &thread->pool->base.kinds[k], object);
  if (!reserve_place(stack, weight))
    return false;
  struct node *node = take_node(thread, &retries);
  if (node) {
    node->object = object;
    stack_push(stack, node, &retries);
  } else {
    give_back_place(stack, weight);
  }
  if (__builtin_expect(retries.failures != 0, 0))
    timing_count_retries(&thread->base.thread.counters, &retries);
  return node != NULL;
}

static void treiber_put(struct pool_scope *scope, unsigned k, void *object) {
  struct treiber_thread *thread = (struct treiber_thread *)scope->thread;
  const struct kind *kind = &thread->pool->base.kinds[k];
  pool_count(&thread->base.thread.counters.puts, 1);
  object_clear(kind, object);
  if (keep(thread, k, object))
    return;
  pool_count(&thread->base.thread.counters.overflows, 1);
  object_free(kind, object);
}

static void treiber_drop(struct pool_thread *t, unsigned kind, void *object) {
  pool_count(&t->counters.drops, 1);
  object_free(&((struct treiber_thread *)t)->pool->base.kinds[kind], object);
}

/* May come from a thread that is not attached: its retries are nobody's. */
static void treiber_trim(struct pool *pool) {
  struct timing_retries uncounted = {0};
  for (size_t i = 0; i < pool->base.kind_count; i++) {
    struct node *node = free_objects(&pool->stacks[i], &pool->base.kinds[i]);
    while (node) {
      struct node *next = linked(node);
      stack_push(&pool->spare, node, &uncounted);
      node = next;
    }
  }
}

/* No scope is open, so nobody pops while the stacks are walked. */
static void treiber_held(struct pool *pool, struct pool_held *out) {
  *out = (struct pool_held){0};
  for (size_t i = 0; i < pool->base.kind_count; i++) {
    struct stack *stack = &pool->stacks[i];
    ANNOTATE_ACQUIRE(stack);
    for (ck_stack_entry_t *entry = ck_pr_load_ptr(&stack->entries.head); entry;
         entry = entry->next) {
      out->objects++;
      out->bytes += object_bytes(&pool->base.kinds[i], ((struct node *)entry)->object);
    }
  }
}

const struct strategy strategy_treiber = {
    .name = "treiber",
    .summary = "one lock-free stack a kind",
    .options = treiber_options,
    .open = treiber_open,
    .close = treiber_close,
    .attach = treiber_attach,
    .detach = treiber_detach,
    .begin = treiber_begin,
    .end = treiber_end,
    .get = treiber_get,
    .put = treiber_put,
    .drop = treiber_drop,
    .release = base_release_nothing,
    .trim = treiber_trim,
    .quiesce = base_quiesce_nothing,
    .stats = base_pool_stats,
    .held = treiber_held,
};
