/*
 * Micro/falseshare: small objects that lay side by side when one thread got them are put by
 * different threads, each of which then gets, writes and puts one over and over. Where a
 * strategy keeps giving a thread such a neighbour, every write pulls the line from another CPU.
 *
 * An op is a get, 64 writes and a put. The neighbours are handed out before the first op.
 */
#include "workloads/micro/micro.h"

#include "harness/heap.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define WRITES 64

static const struct kind kind = MICRO_KIND(16);

struct neighbours {
  pthread_mutex_t lock;
  bool handed_out;
  unsigned threads;
  void **objects; /* one a thread and one more, got in a row by the first thread to open */
};

static bool write_some(struct workload_thread *t, struct pool_scope *scope, unsigned count) {
  for (unsigned i = 0; i < count; i++) {
    void *object = pool_get(t->strategy, scope, 0);
    if (!object)
      return false;
    for (unsigned w = 0; w < WRITES; w++)
      micro_touch(object, w);
    pool_put(t->strategy, scope, 0, object);
  }
  return true;
}

static void run(struct workload_thread *t, uint64_t n) {
  micro_in_scopes(t, n, write_some);
}

static bool open_shared(struct workload_state *state, const struct workload_setup *setup) {
  struct neighbours *all = heap_calloc(sizeof *all);
  if (all)
    all->objects = heap_calloc((setup->threads + 1) * sizeof *all->objects);
  if (!all || !all->objects) {
    heap_free(all, sizeof *all);
    snprintf(setup->why, setup->why_size, "out of memory");
    return false;
  }
  all->threads = setup->threads;
  int error = pthread_mutex_init(&all->lock, NULL);
  if (error) {
    snprintf(setup->why, setup->why_size, "pthread_mutex_init: %s", strerror(error));
    heap_free(all->objects, (all->threads + 1) * sizeof *all->objects);
    heap_free(all, sizeof *all);
    return false;
  }
  state->shared = all;
  return true;
}

static void close_shared(struct workload_state *state) {
  struct neighbours *all = state->shared;
  pthread_mutex_destroy(&all->lock);
  heap_free(all->objects, (all->threads + 1) * sizeof *all->objects);
  heap_free(all, sizeof *all);
}

static bool share_line(const void *a, const void *b) {
  return (uintptr_t)a / 64 == (uintptr_t)b / 64;
}

/*
 * Under the lock, by whichever thread comes first. Gets one object more than there are threads
 * and drops the first or the last, so that the first two threads share a line if any two
 * objects in a row do.
 */
static bool get_for_all(struct workload_thread *t, struct pool_scope *scope,
                        struct neighbours *all) {
  if (all->handed_out)
    return true;
  all->handed_out = true; /* also when it fails: what was got is handed out all the same */
  void **objects = all->objects;
  for (unsigned i = 0; i <= all->threads; i++)
    if (!(objects[i] = pool_get(t->strategy, scope, 0)))
      return false;
  if (!share_line(objects[0], objects[1])) {
    void *first = objects[0];
    memmove(objects, objects + 1, all->threads * sizeof *objects);
    objects[all->threads] = first;
  }
  pool_drop(t->strategy, t->pool_thread, 0, objects[all->threads]);
  return true;
}

static bool thread_open(struct workload_thread *t) {
  struct neighbours *all = t->state->shared;
  struct pool_scope *scope = pool_begin(t->strategy, t->pool, t->pool_thread, NULL);
  if (!scope) {
    micro_out_of_memory(t, "begin");
    return false;
  }
  pthread_mutex_lock(&all->lock);
  bool good = get_for_all(t, scope, all);
  void *mine = all->objects[t->index];
  all->objects[t->index] = NULL;
  pthread_mutex_unlock(&all->lock);
  if (mine)
    pool_put(t->strategy, scope, 0, mine);
  pool_end(t->strategy, t->pool, scope);
  if (!good)
    micro_out_of_memory(t, "get");
  return good;
}

const struct micro_shape micro_falseshare = {.kinds = &kind,
                                             .kind_count = 1,
                                             .open = open_shared,
                                             .close = close_shared,
                                             .thread_open = thread_open,
                                             .run = run};
