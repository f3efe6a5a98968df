/*
 * Micro/handoff: every thread gets objects and hands them to the next thread, which puts them.
 * So every object is put on another thread than it was got on, and a heap sees remote frees only.
 *
 * An op is one object got and handed over. A thread takes what has arrived at the start of each
 * scope. Where the next thread does not keep up, this one waits for it; when that thread has ended
 * its share of the ops there is nobody to wait for, and the object is put here: that happens in
 * the last moments of a measurement only.
 */
#include "workloads/micro/micro.h"

#include "harness/heap.h"

#include <sched.h>
#include <stdio.h>

#define ROOM 1024
#define PATIENCE 1000 /* yields before the next thread is taken for gone */

/* From one thread to the next. Producer, consumer and what passes lie on lines of their own. */
struct edge {
  _Alignas(POOL_LINE) unsigned head; /* the producer's */
  bool gone;                         /* the producer's: the consumer did not take anything */
  _Alignas(POOL_LINE) unsigned tail; /* the consumer's */
  /* NULL: free. Stored with release, loaded with acquire: the object's content goes with it. */
  _Alignas(POOL_LINE) _Atomic(void *) places[ROOM];
};

struct handoff {
  struct edge *edges; /* edges[i] leads from thread i to the next one */
  unsigned threads;
  _Atomic unsigned open; /* threads that have not closed yet */
};

static bool edge_push(struct edge *edge, void *object) {
  _Atomic(void *) *place = &edge->places[edge->head % ROOM];
  if (atomic_load_explicit(place, memory_order_acquire))
    return false;
  atomic_store_explicit(place, object, memory_order_release);
  edge->head++;
  return true;
}

static void *edge_pop(struct edge *edge) {
  _Atomic(void *) *place = &edge->places[edge->tail % ROOM];
  void *object = atomic_load_explicit(place, memory_order_acquire);
  if (!object)
    return NULL;
  atomic_store_explicit(place, NULL, memory_order_release);
  edge->tail++;
  return object;
}

/* Puts what has arrived. Returns how much that was. */
static unsigned receive(struct workload_thread *t, struct pool_scope *scope) {
  struct handoff *h = t->state->shared;
  struct edge *in = &h->edges[(t->index + h->threads - 1) % h->threads];
  unsigned count = 0;
  for (void *object; count < ROOM && (object = edge_pop(in)); count++)
    pool_put(t->strategy, scope, 0, object);
  return count;
}

static void hand_over(struct workload_thread *t, struct pool_scope *scope, void *object) {
  struct handoff *h = t->state->shared;
  struct edge *out = &h->edges[t->index];
  for (unsigned waited = 0; !edge_push(out, object);) {
    if (out->gone || waited == PATIENCE) {
      out->gone = true;
      pool_put(t->strategy, scope, 0, object);
      return;
    }
    /* All may wait for the next in a ring of full edges, unless each goes on receiving. */
    if (receive(t, scope) == 0) {
      sched_yield();
      waited++;
    }
  }
  out->gone = false;
}

static bool hand_over_some(struct workload_thread *t, struct pool_scope *scope, unsigned count) {
  receive(t, scope);
  for (unsigned i = 0; i < count; i++) {
    void *object = pool_get(t->strategy, scope, 0);
    if (!object)
      return false;
    micro_touch(object, i);
    hand_over(t, scope, object);
  }
  return true;
}

static void run(struct workload_thread *t, uint64_t n) {
  micro_in_scopes(t, n, hand_over_some);
}

static bool open_shared(struct workload_state *state, const struct workload_setup *setup) {
  struct handoff *h = heap_calloc(sizeof *h);
  size_t bytes = setup->threads * sizeof *h->edges;
  if (h)
    h->edges = heap_alloc_aligned(bytes, POOL_LINE);
  if (!h || !h->edges) {
    heap_free(h, sizeof *h);
    snprintf(setup->why, setup->why_size, "out of memory");
    return false;
  }
  for (unsigned i = 0; i < setup->threads; i++)
    h->edges[i] = (struct edge){0};
  h->threads = setup->threads;
  atomic_store_explicit(&h->open, setup->threads, memory_order_relaxed);
  state->shared = h;
  return true;
}

static void close_shared(struct workload_state *state) {
  struct handoff *h = state->shared;
  heap_free(h->edges, h->threads * sizeof *h->edges);
  heap_free(h, sizeof *h);
}

/* The last thread to leave drops what is still under way; nobody else looks any more. */
static void thread_close(struct workload_thread *t) {
  struct handoff *h = t->state->shared;
  if (atomic_fetch_sub_explicit(&h->open, 1, memory_order_acq_rel) != 1)
    return;
  for (unsigned i = 0; i < h->threads; i++)
    for (void *object; (object = edge_pop(&h->edges[i]));)
      pool_drop(t->strategy, t->pool_thread, 0, object);
}

#define HANDOFF(bytes)                                                            \
  static const struct kind kind_##bytes = MICRO_KIND(bytes);                      \
  const struct micro_shape micro_handoff_##bytes = {.kinds = &kind_##bytes,       \
                                                    .kind_count = 1,              \
                                                    .open = open_shared,          \
                                                    .close = close_shared,        \
                                                    .thread_close = thread_close, \
                                                    .run = run}

HANDOFF(64);
HANDOFF(256);
HANDOFF(4096);
