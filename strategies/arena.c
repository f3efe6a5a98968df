/*
 * arena: a scope's objects lie one after the other in memory that is reset as a whole at its end.
 * The ceiling for objects that do not outlive a traversal, and what it costs in memory.
 *
 * Contract. No object outlives the scope it came from; it is put, if at all, on the same thread
 * while that scope is open. put and drop only count: the memory is used again after the scope's
 * end and not before, so a scope's memory grows with its gets, not with what is live at once.
 * Every get initialises its object; end destroys those whose kind wants that. A miss is a get that
 * had to take a chunk from the heap. Memory: per thread, the chunks of as many arenas as it had
 * scopes open at once, each as large as its largest scope. Progress: wait-free but for the
 * allocator and the kinds' functions. Order: ascending addresses. A leaving thread's memory is
 * freed. trim frees a thread's idle arenas at its next begin, end or quiesce.
 */
#include "strategies/strategy.h"
#include "strategies/support/base.h"
#include "strategies/support/freelist.h"

#define FIRST_CHUNK (16u << 10)
#define LARGEST_STEP (1u << 20) /* chunks double up to this; larger ones only for large objects */

struct chunk {
  struct chunk *next;
  size_t size; /* with this header */
  _Alignas(max_align_t) unsigned char bytes[];
};

struct arena {
  struct pool_scope scope;
  unsigned char *cursor, *limit; /* what is free in `current` */
  struct chunk *first, *current;
  struct arena *next;       /* of the thread's idle ones */
  struct freelist doomed[]; /* one a kind: objects that end must destroy, oldest first */
};

struct pool {
  struct base_pool base;
};

struct arena_thread {
  struct base_thread base;
  _Alignas(POOL_LINE) const struct kind *kinds;
  struct arena *idle; /* the last one used first */
  uint64_t epoch;
};

static size_t arena_size(const struct pool *pool) {
  size_t size = sizeof(struct arena) + pool->base.kind_count * sizeof(struct freelist);
  return (size + POOL_LINE - 1) / POOL_LINE * POOL_LINE;
}

static struct pool *arena_open(const struct kind *kinds, size_t kind_count,
                               const struct pool_config *config) {
  return base_open(sizeof(struct pool), sizeof(struct arena_thread), kinds, kind_count, config);
}

static struct pool_thread *arena_attach(struct pool *pool) {
  struct arena_thread *thread = base_attach(&pool->base);
  if (!thread)
    return NULL;
  thread->kinds = pool->base.kinds;
  base_trim_due(&pool->base, &thread->epoch);
  base_enter(&pool->base, &thread->base);
  return &thread->base.thread;
}

static void free_idle(struct pool *pool, struct arena_thread *thread) {
  while (thread->idle) {
    struct arena *arena = thread->idle;
    thread->idle = arena->next;
    while (arena->first) {
      struct chunk *chunk = arena->first;
      arena->first = chunk->next;
      heap_free(chunk, chunk->size);
    }
    for (size_t i = 0; i < pool->base.kind_count; i++)
      freelist_clear(&arena->doomed[i]);
    heap_free(arena, arena_size(pool));
  }
}

static void arena_detach(struct pool *pool, struct pool_thread *t) {
  struct arena_thread *thread = (struct arena_thread *)t;
  free_idle(pool, thread);
  base_leave(&pool->base, &thread->base);
  base_free(&pool->base, &thread->base);
}

static void trim_if_due(struct pool *pool, struct arena_thread *thread) {
  if (base_trim_due(&pool->base, &thread->epoch))
    free_idle(pool, thread);
}

static struct arena *arena_new(const struct pool *pool) {
  struct arena *arena = heap_alloc_aligned(arena_size(pool), POOL_LINE);
  if (!arena)
    return NULL;
  *arena = (struct arena){0};
  for (size_t i = 0; i < pool->base.kind_count; i++)
    freelist_init(&arena->doomed[i], &pool->base.kinds[i], 0, 0);
  return arena;
}

static void enter_chunk(struct arena *arena, struct chunk *chunk) {
  arena->current = chunk;
  arena->cursor = chunk ? chunk->bytes : NULL;
  arena->limit = chunk ? (unsigned char *)chunk + chunk->size : NULL;
}

static struct pool_scope *arena_begin(struct pool *pool, struct pool_thread *t,
                                      struct pool_owner *owner) {
  (void)owner;
  struct arena_thread *thread = (struct arena_thread *)t;
  trim_if_due(pool, thread);
  struct arena *arena = thread->idle;
  if (arena)
    thread->idle = arena->next;
  else if (!(arena = arena_new(pool)))
    return NULL;
  arena->scope.thread = t;
  return &arena->scope;
}

static void arena_end(struct pool *pool, struct pool_scope *scope) {
  struct arena *arena = (struct arena *)scope;
  struct arena_thread *thread = (struct arena_thread *)scope->thread;
  for (size_t i = 0; i < pool->base.kind_count; i++) {
    void (*destroy)(void *) = thread->kinds[i].destroy;
    for (void *object; (object = freelist_pop(&arena->doomed[i]));)
      destroy(object);
  }
  enter_chunk(arena, arena->first);
  arena->next = thread->idle;
  thread->idle = arena;
  trim_if_due(pool, thread);
}

/* Goes on to a chunk with room for `need` bytes. false when out of memory. */
static bool next_chunk(struct arena *arena, size_t need) {
  struct chunk *last = arena->current;
  while (last && last->next) {
    last = last->next;
    if (last->size - sizeof *last >= need) {
      enter_chunk(arena, last);
      return true;
    }
  }
  size_t size = !last ? FIRST_CHUNK : last->size < LARGEST_STEP ? last->size * 2 : LARGEST_STEP;
  if (size < need + sizeof *last)
    size = need + sizeof *last;
  struct chunk *chunk = heap_alloc(size);
  pool_count(&arena->scope.thread->counters.misses, 1);
  if (!chunk)
    return false;
  chunk->next = NULL;
  chunk->size = size;
  *(last ? &last->next : &arena->first) = chunk;
  enter_chunk(arena, chunk);
  return true;
}

/* `size` bytes at `align`, or NULL. */
static void *bump(struct arena *arena, size_t size, size_t align) {
  for (;;) {
    uintptr_t start = ((uintptr_t)arena->cursor + align - 1) & ~(uintptr_t)(align - 1);
    if (arena->cursor && start + size <= (uintptr_t)arena->limit) {
      arena->cursor = (unsigned char *)start + size;
      return (void *)start;
    }
    if (!next_chunk(arena, size + align))
      return NULL;
  }
}

static void *arena_get(struct pool_scope *scope, unsigned index) {
  struct arena *arena = (struct arena *)scope;
  const struct kind *kind = arena->doomed[index].kind;
  pool_count(&scope->thread->counters.gets, 1);
  void *object = bump(arena, kind->size, kind->align ? kind->align : _Alignof(max_align_t));
  if (!object || (kind->init && !kind->init(object)))
    return NULL;
  if (kind->destroy && !freelist_push(&arena->doomed[index], object)) {
    kind->destroy(object);
    return NULL;
  }
  return object;
}

static void arena_put(struct pool_scope *scope, unsigned kind, void *object) {
  (void)kind, (void)object;
  pool_count(&scope->thread->counters.puts, 1);
}

static void arena_drop(struct pool_thread *thread, unsigned kind, void *object) {
  (void)kind, (void)object;
  pool_count(&thread->counters.drops, 1);
}

static void arena_trim(struct pool *pool) {
  base_trim(&pool->base);
}

static void arena_quiesce(struct pool *pool, struct pool_thread *t) {
  trim_if_due(pool, (struct arena_thread *)t);
}

static void add_chunks(struct base_thread *t, void *arg) {
  struct pool_held *held = arg;
  for (struct arena *arena = ((struct arena_thread *)t)->idle; arena; arena = arena->next)
    for (struct chunk *chunk = arena->first; chunk; chunk = chunk->next)
      held->bytes += chunk->size;
}

/* Bytes of chunks; there are no objects between scopes. */
static void arena_held(struct pool *pool, struct pool_held *out) {
  *out = (struct pool_held){0};
  base_each(&pool->base, add_chunks, out);
}

const struct strategy strategy_arena = {
    .name = "arena",
    .summary = "bump allocation within a scope, reset at its end",
    .flags = STRATEGY_OBJECTS_DIE_WITH_SCOPE,
    .open = arena_open,
    .close = base_pool_close,
    .attach = arena_attach,
    .detach = arena_detach,
    .begin = arena_begin,
    .end = arena_end,
    .get = arena_get,
    .put = arena_put,
    .drop = arena_drop,
    .release = base_release_nothing,
    .trim = arena_trim,
    .quiesce = arena_quiesce,
    .stats = base_pool_stats,
    .held = arena_held,
};
