/* Roster, sums and epoch common to all strategies; see base.h. */
#include "strategies/support/base.h"

#include "harness/heap.h"
#include "strategies/support/timing.h"

#include <stdio.h>
#include <string.h>

static void *alloc_lines(size_t size) {
  void *p = heap_alloc_aligned(size, POOL_LINE);
  if (p)
    memset(p, 0, size);
  return p;
}

static bool kinds_valid(const struct kind *kinds, size_t count, const struct pool_config *config) {
  if (count == 0 || count > POOL_MAX_KINDS) {
    snprintf(config->why, config->why_size, "%zu kinds; a pool takes 1 to %d", count,
             POOL_MAX_KINDS);
    return false;
  }
  for (size_t i = 0; i < count; i++) {
    size_t align = kinds[i].align;
    if (kinds[i].size < sizeof(void *) || (align & (align - 1)) != 0) {
      snprintf(config->why, config->why_size,
               "kind %s: size %zu, alignment %zu; a size is at least %zu, an alignment a power of "
               "two or 0",
               kinds[i].name, kinds[i].size, align, sizeof(void *));
      return false;
    }
  }
  return true;
}

void *base_open(size_t pool_size, size_t thread_size, const struct kind *kinds, size_t kind_count,
                const struct pool_config *config) {
  if (!kinds_valid(kinds, kind_count, config))
    return NULL;
  struct base_pool *pool = alloc_lines(pool_size);
  if (!pool) {
    snprintf(config->why, config->why_size, "out of memory");
    return NULL;
  }
  pool->kinds = kinds;
  pool->kind_count = kind_count;
  pool->pool_size = pool_size;
  pool->thread_size = thread_size;
  pool->clock = config->clock;
  pool->threads.prev = pool->threads.next = &pool->threads;
  int error = pthread_mutex_init(&pool->roster, NULL);
  if (error) {
    snprintf(config->why, config->why_size, "pthread_mutex_init: %s", strerror(error));
    heap_free(pool, pool_size);
    return NULL;
  }
  return pool;
}

void base_close(struct base_pool *pool) {
  pthread_mutex_destroy(&pool->roster);
  heap_free(pool, pool->pool_size);
}

void *base_attach(struct base_pool *pool) {
  struct base_thread *thread = alloc_lines(pool->thread_size);
  if (thread)
    timing_open(&thread->thread.counters.timing, pool->clock);
  return thread;
}

void base_enter(struct base_pool *pool, struct base_thread *thread) {
  pthread_mutex_lock(&pool->roster);
  thread->prev = pool->threads.prev;
  thread->next = &pool->threads;
  thread->prev->next = thread->next->prev = thread;
  pthread_mutex_unlock(&pool->roster);
}

static void add_counters(struct pool_stats *sum, const struct pool_counters *c) {
#define ADD(field, unit, what) sum->field += atomic_load_explicit(&c->field, memory_order_relaxed);
  POOL_COUNTERS(ADD)
#undef ADD
#define ADD(field, what) sum->field += atomic_load_explicit(&c->field, memory_order_relaxed);
  POOL_TIMES(ADD)
#undef ADD
}

void base_leave(struct base_pool *pool, struct base_thread *thread) {
  pthread_mutex_lock(&pool->roster);
  thread->prev->next = thread->next;
  thread->next->prev = thread->prev;
  add_counters(&pool->past, &thread->thread.counters);
  pthread_mutex_unlock(&pool->roster);
}

void base_free(struct base_pool *pool, struct base_thread *thread) {
  timing_close(&thread->thread.counters.timing);
  heap_free(thread, pool->thread_size);
}

void base_stats(struct base_pool *pool, struct pool_stats *out) {
  pthread_mutex_lock(&pool->roster);
  *out = pool->past;
  for (struct base_thread *t = pool->threads.next; t != &pool->threads; t = t->next)
    add_counters(out, &t->thread.counters);
  pthread_mutex_unlock(&pool->roster);
}

void base_each(struct base_pool *pool, void (*visit)(struct base_thread *thread, void *arg),
               void *arg) {
  pthread_mutex_lock(&pool->roster);
  for (struct base_thread *t = pool->threads.next; t != &pool->threads; t = t->next)
    visit(t, arg);
  pthread_mutex_unlock(&pool->roster);
}

void base_pool_close(struct pool *pool) {
  base_close((struct base_pool *)pool);
}

void base_pool_stats(struct pool *pool, struct pool_stats *out) {
  base_stats((struct base_pool *)pool, out);
}

void base_thread_detach(struct pool *pool, struct pool_thread *thread) {
  base_leave((struct base_pool *)pool, (struct base_thread *)thread);
  base_free((struct base_pool *)pool, (struct base_thread *)thread);
}

void base_release_nothing(struct pool *pool, struct pool_owner *owner) {
  (void)pool, (void)owner;
}

void base_trim_nothing(struct pool *pool) {
  (void)pool;
}

void base_quiesce_nothing(struct pool *pool, struct pool_thread *thread) {
  (void)pool, (void)thread;
}
