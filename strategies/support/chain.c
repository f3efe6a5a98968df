/* The rare paths of the chain, and stealing; see chain.h for who may call what. */
#include "strategies/support/chain.h"

#include "harness/heap.h"

#include <string.h>

#define FIRST_SIZE 8u
#define LARGEST_SIZE (UINT64_C(1) << 30)

static size_t ring_bytes(uint64_t size) {
  size_t bytes = sizeof(struct ring) + size * sizeof(_Atomic(void *));
  return (bytes + POOL_LINE - 1) / POOL_LINE * POOL_LINE;
}

static struct ring *ring_new(uint64_t size) {
  struct ring *ring = heap_alloc_aligned(ring_bytes(size), POOL_LINE);
  if (!ring)
    return NULL;
  memset(ring, 0, ring_bytes(size));
  ring->mask = size - 1;
  return ring;
}

/* Anyone. NULL when empty. */
static void *ring_steal(struct ring *ring, struct timing_retries *retries) {
  uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_seq_cst);
  for (;; timing_failed(retries)) {
    /* Tail before head, both in the one order that the owner's exchange is in. */
    uint64_t head = atomic_load_explicit(&ring->head, memory_order_seq_cst);
    if (head <= tail)
      return NULL;
    /* Read before it is claimed: the owner fills the place again only after tail has moved. */
    void *object = atomic_load_explicit(&ring->places[tail & ring->mask], memory_order_relaxed);
    if (atomic_compare_exchange_weak_explicit(&ring->tail, &tail, tail + 1, memory_order_seq_cst,
                                              memory_order_seq_cst))
      return object;
  }
}

static bool add_ring(struct chain *chain) {
  struct ring *head = chain->head;
  uint64_t size = head ? (head->mask + 1) * 2 : FIRST_SIZE;
  struct ring *ring = ring_new(size < LARGEST_SIZE ? size : LARGEST_SIZE);
  if (!ring)
    return false;
  ring->older = head;
  atomic_store_explicit(&ring->prev, head, memory_order_relaxed);
  chain->head = ring;
  /* Release: whoever finds the ring finds it initialised. */
  atomic_store_explicit(head ? &head->next : &chain->tail, ring, memory_order_release);
  return true;
}

bool chain_push_new_ring(struct chain *chain, void *object) {
  return add_ring(chain) && ring_push(chain->head, object);
}

void *chain_pop_older(struct ring *newest) {
  struct ring *ring = newest;
  while ((ring = atomic_load_explicit(&ring->prev, memory_order_relaxed))) {
    void *object = ring_pop(ring);
    if (object)
      return object;
  }
  return NULL;
}

void *chain_steal(struct chain *chain, struct timing_retries *retries) {
  struct ring *ring = atomic_load_explicit(&chain->tail, memory_order_acquire);
  while (ring) {
    /*
     * next before the try: a ring that has a next gets no more pushes, so one that is found
     * empty after next was seen stays empty and may be passed. In the other order the owner
     * could fill this ring and open the next one in between, and its objects would be lost.
     */
    struct ring *next = atomic_load_explicit(&ring->next, memory_order_acquire);
    void *object = ring_steal(ring, retries);
    timing_retried(retries);
    if (object || !next)
      return object;
    struct ring *expected = ring;
    if (atomic_compare_exchange_strong_explicit(&chain->tail, &expected, next, memory_order_acq_rel,
                                                memory_order_relaxed))
      /* The owner need not look into the empty ring any more. */
      atomic_store_explicit(&next->prev, NULL, memory_order_relaxed);
    ring = next;
  }
  return NULL;
}

struct ring *chain_detach_rings(struct chain *chain) {
  struct ring *newest = chain->head;
  chain->head = NULL;
  atomic_store_explicit(&chain->tail, NULL, memory_order_relaxed);
  return newest;
}

void chain_free_rings(struct ring *newest) {
  while (newest) {
    struct ring *older = newest->older;
    heap_free(newest, ring_bytes(newest->mask + 1));
    newest = older;
  }
}

void chain_each(const struct chain *chain, void (*visit)(void *object, void *arg), void *arg) {
  for (struct ring *ring = chain->head; ring; ring = ring->older) {
    uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
    uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
    for (uint64_t i = tail; i < head; i++)
      visit(atomic_load_explicit(&ring->places[i & ring->mask], memory_order_relaxed), arg);
  }
}
