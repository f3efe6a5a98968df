/*
 * A chain of rings of pointers: one owner pushes and pops at the head, any thread steals at the
 * tail. What the dynamically sized queue behind Go's sync.Pool does (src/sync/poolqueue.go):
 * a full ring gets a successor of twice its size, which becomes the head; thieves empty the old
 * ones from the tail on.
 *
 * The ring differs from Go's. Go packs head and tail into one word, so that push, pop and steal
 * are a locked instruction each. Here they are two words on two lines, as in Chase and Lev's
 * deque (orders of memory after Le, Pop, Cohen and Zappa Nardelli, PPoPP 2013): push is a plain
 * store, only pop and steal are locked. On the machine it was written on a push and a pop cost
 * 27 ns the one way and 12 the other, at 6 ns a locked instruction.
 *
 * Rings are never freed while somebody may look at them: chain_detach_rings unlinks them all, and
 * the caller frees them after a grace period.
 *
 * Progress: push and pop wait-free but for the allocator, steal lock-free. Order: LIFO for the
 * owner, FIFO for thieves.
 */
#ifndef POOLBENCH_SUPPORT_CHAIN_H
#define POOLBENCH_SUPPORT_CHAIN_H

#include "strategies/strategy.h"
#include "strategies/support/timing.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Indices count up and never wrap; index i lies in places[i % size]. [tail, head) is filled. */
struct ring {
  _Alignas(POOL_LINE) _Atomic uint64_t head; /* written by the owner only */
  uint64_t tail_seen;                        /* the owner's: tail was at least this */
  uint64_t mask;                             /* size - 1, the size a power of two */
  struct ring *older;                        /* the owner's: all rings of the chain */
  _Atomic(struct ring *) prev;               /* towards the tail; NULL when that ring is done */
  struct ring *retired_next;                 /* for whoever keeps detached rings */
  uint64_t retired_at;
  _Alignas(POOL_LINE) _Atomic uint64_t tail; /* written by whoever takes the tail's object */
  _Atomic(struct ring *) next;               /* towards the head; set once by the owner */
  _Alignas(POOL_LINE) _Atomic(void *) places[];
};

struct chain {
  struct ring *head;           /* the owner's */
  _Atomic(struct ring *) tail; /* where thieves begin; NULL: the chain has no ring */
};

/* Anyone. NULL when empty. CAS failures are added to `retries`. */
void *chain_steal(struct chain *chain, struct timing_retries *retries);

/*
 * Owner, on an empty chain: unlinks its rings, linked by `older`; NULL when there are none. They
 * may be freed when every thread that was inside chain_steal has left it.
 */
struct ring *chain_detach_rings(struct chain *chain);

/* Frees rings linked by `older`. */
void chain_free_rings(struct ring *newest);

/* Calls visit for every object in the chain. Only while nobody uses the chain. */
void chain_each(const struct chain *chain, void (*visit)(void *object, void *arg), void *arg);

/* The owner's rare paths: a push that needs a ring, a pop that does not find it in the newest. */
bool chain_push_new_ring(struct chain *chain, void *object);
void *chain_pop_older(struct ring *newest);

/* Owner. false when full. */
static inline bool ring_push(struct ring *ring, void *object) {
  uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
  if (__builtin_expect(head - ring->tail_seen > ring->mask, 0)) {
    /* Acquire: pairs with the thief's CAS, so that its read of the place is over. */
    ring->tail_seen = atomic_load_explicit(&ring->tail, memory_order_acquire);
    if (head - ring->tail_seen > ring->mask)
      return false;
  }
  atomic_store_explicit(&ring->places[head & ring->mask], object, memory_order_relaxed);
  /* Release: who sees this head sees the place, and what the object holds. */
  atomic_store_explicit(&ring->head, head + 1, memory_order_release);
  return true;
}

/* Owner. The last object is raced for with the thieves, at the tail like one of them. */
static inline void *ring_pop(struct ring *ring) {
  uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed) - 1;
  /* head and tail are read below 2^63, so that this difference has a sign. */
  if (__builtin_expect((int64_t)(head - ring->tail_seen) < 0, 0))
    return NULL;
  /*
   * Sequentially consistent, both: either a thief sees the lowered head, or this sees the
   * thief's raised tail. The exchange is the one locked instruction of a pop.
   */
  atomic_exchange_explicit(&ring->head, head, memory_order_seq_cst);
  uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_seq_cst);
  void *object = atomic_load_explicit(&ring->places[head & ring->mask], memory_order_relaxed);
  if (__builtin_expect(head > tail, 1))
    return object;
  ring->tail_seen = head + 1;
  if (head < tail || !atomic_compare_exchange_strong_explicit(
                         &ring->tail, &tail, tail + 1, memory_order_seq_cst, memory_order_relaxed))
    object = NULL;
  /* Empty either way, at head + 1. Release, since thieves may read this store as well. */
  atomic_store_explicit(&ring->head, head + 1, memory_order_release);
  return object;
}

/* Owner. false when out of memory; the object stays the caller's. */
static inline bool chain_push(struct chain *chain, void *object) {
  if (__builtin_expect(chain->head && ring_push(chain->head, object), 1))
    return true;
  return chain_push_new_ring(chain, object);
}

/* Owner. NULL when empty. */
static inline void *chain_pop(struct chain *chain) {
  struct ring *newest = chain->head;
  if (__builtin_expect(!newest, 0))
    return NULL;
  void *object = ring_pop(newest);
  return __builtin_expect(object != NULL, 1) ? object : chain_pop_older(newest);
}

#endif
