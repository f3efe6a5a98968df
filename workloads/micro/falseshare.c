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

/* So many objects more than threads are got, since some fill holes far from their neighbours. */
#define SPARE 4

static const struct kind kind = MICRO_KIND(16);

struct neighbours {
  pthread_mutex_t lock;
  bool handed_out;
  unsigned threads;
  void **objects; /* one a thread and SPARE, got in a row by the first thread to open */
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
    all->objects = heap_calloc((setup->threads + SPARE) * sizeof *all->objects);
  if (!all || !all->objects) {
    heap_free(all, sizeof *all);
    snprintf(setup->why, setup->why_size, "out of memory");
    return false;
  }
  all->threads = setup->threads;
  int error = pthread_mutex_init(&all->lock, NULL);
  if (error) {
    snprintf(setup->why, setup->why_size, "pthread_mutex_init: %s", strerror(error));
    heap_free(all->objects, (all->threads + SPARE) * sizeof *all->objects);
    heap_free(all, sizeof *all);
    return false;
  }
  state->shared = all;
  return true;
}

static void close_shared(struct workload_state *state) {
  struct neighbours *all = state->shared;
  pthread_mutex_destroy(&all->lock);
  heap_free(all->objects, (all->threads + SPARE) * sizeof *all->objects);
  heap_free(all, sizeof *all);
}

static bool share_line(const void *a, const void *b) {
  return (uintptr_t)a / 64 == (uintptr_t)b / 64;
}

/* Where to begin, so that the first two threads share a line if any two objects there do. */
static unsigned first_pair(void *const *objects) {
  for (unsigned i = 0; i < SPARE; i++)
    if (share_line(objects[i], objects[i + 1]))
      return i;
  return 0;
}

/*
 * Under the lock, by whichever thread comes first. Drops the objects that nobody is handed: few
 * enough for an allocator's own list to have room for the thread's one besides.
 */
static bool get_for_all(struct workload_thread *t, struct pool_scope *scope,
                        struct neighbours *all) {
  if (all->handed_out)
    return true;
  all->handed_out = true; /* also when it fails: what was got is handed out all the same */
  void **objects = all->objects;
  unsigned count = all->threads + SPARE, got = 0;
  while (got < count && (objects[got] = pool_get(t->strategy, scope, 0)))
    got++;
  unsigned first = got == count ? first_pair(objects) : 0;
  for (unsigned i = 0; i < got; i++)
    if (i < first || i >= first + all->threads)
      pool_drop(t->strategy, t->pool_thread, 0, objects[i]);
  memmove(objects, objects + first, all->threads * sizeof *objects);
  return got == count;
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
