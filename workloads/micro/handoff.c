/*
 * Micro/handoff: every thread gets objects and hands them to the next thread, which puts them.
 * So every object is put on another thread than it was got on, and a heap sees remote frees only.
 *
 * An op is one object got and handed over. A thread takes what has arrived at the start of each
 * scope. Where the next thread does not keep up, this one waits for it, as long as the scheduler
 * keeps that thread off its CPU too: frees on the own thread are several times as fast, so that a
 * few ms of them would make up half of the ops. When that thread has ended its share of the ops
 * there is nobody to wait for, and the object is put here: in the last moments of a measurement.
 */
#include "workloads/micro/micro.h"

#include "harness/heap.h"

#include <sched.h>
#include <stdio.h>

#define ROOM 1024

/* From one thread to the next. Producer, consumer and what passes lie on lines of their own. */
struct edge {
  _Alignas(POOL_LINE) unsigned head; /* the producer's */
  _Alignas(POOL_LINE) unsigned tail; /* the consumer's */
  /*
   * The consumer's: phases it has ended. All threads go through the same ones, so a producer that
   * has ended fewer knows that nothing more will be taken in its own. Relaxed: one that hears of it
   * late only waits a little longer.
   */
  _Atomic unsigned ended;
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

/* The edge that leads to this thread. */
static struct edge *edge_in(const struct workload_thread *t) {
  struct handoff *h = t->state->shared;
  return &h->edges[(t->index + h->threads - 1) % h->threads];
}

/* Puts what has arrived. Returns how much that was. */
static unsigned receive(struct workload_thread *t, struct pool_scope *scope) {
  struct edge *in = edge_in(t);
  unsigned count = 0;
  for (void *object; count < ROOM && (object = edge_pop(in)); count++)
    pool_put(t->strategy, scope, 0, object);
  return count;
}

static unsigned phases_ended(struct edge *to) {
  return atomic_load_explicit(&to->ended, memory_order_relaxed);
}

static void hand_over(struct workload_thread *t, struct pool_scope *scope, void *object) {
  struct handoff *h = t->state->shared;
  struct edge *out = &h->edges[t->index];
  while (!edge_push(out, object)) {
    if (phases_ended(out) > phases_ended(edge_in(t))) {
      pool_put(t->strategy, scope, 0, object);
      return;
    }
    /* All may wait for the next in a ring of full edges, unless each goes on receiving. */
    if (receive(t, scope) == 0)
      sched_yield();
  }
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

static void idle(struct workload_thread *t) {
  atomic_fetch_add_explicit(&edge_in(t)->ended, 1, memory_order_relaxed);
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
  idle(t);
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
                                                    .idle = idle,                 \
                                                    .open = open_shared,          \
                                                    .close = close_shared,        \
                                                    .thread_close = thread_close, \
                                                    .run = run}

HANDOFF(64);
HANDOFF(256);
HANDOFF(4096);
