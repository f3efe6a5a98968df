/* The chain of rings; see chain.h for who may call what. */
#include "strategies/support/chain.h"

#include "harness/heap.h"
#include "strategies/strategy.h"

#include <string.h>

#define FIRST_SIZE 8u
/* Far from where 32-bit indices could not tell full from empty. */
#define LARGEST_SIZE (1u << 30)

static uint32_t head_of(uint64_t head_tail) {
  return (uint32_t)(head_tail >> 32);
}
static uint32_t tail_of(uint64_t head_tail) {
  return (uint32_t)head_tail;
}
static uint64_t pack(uint32_t head, uint32_t tail) {
  return (uint64_t)head << 32 | tail;
}

static _Atomic(void *) *place(struct ring *ring, uint32_t index) {
  return &ring->places[index & (ring->size - 1)];
}

static size_t ring_bytes(uint32_t size) {
  return sizeof(struct ring) + size * sizeof(_Atomic(void *));
}

/* On lines of its own: the first rings of two shards are small enough to share one. */
static struct ring *ring_new(uint32_t size) {
  struct ring *ring = heap_alloc_aligned(ring_bytes(size), POOL_LINE);
  if (!ring)
    return NULL;
  memset(ring, 0, ring_bytes(size));
  ring->size = size;
  return ring;
}

/* Owner. false when full. */
static bool ring_push(struct ring *ring, void *object) {
  uint64_t head_tail = atomic_load_explicit(&ring->head_tail, memory_order_relaxed);
  uint32_t head = head_of(head_tail);
  if (head - tail_of(head_tail) >= ring->size)
    return false;
  _Atomic(void *) *p = place(ring, head);
  /* Acquire: pairs with the thief's release of the place, so that its read is over. */
  if (atomic_load_explicit(p, memory_order_acquire))
    return false;
  atomic_store_explicit(p, object, memory_order_relaxed);
  /*
   * Release: pairs with the acquire of head_tail in steal, which then sees the place and what the
   * object holds. An addition, not a store, since thieves move the tail meanwhile.
   */
  atomic_fetch_add_explicit(&ring->head_tail, UINT64_C(1) << 32, memory_order_release);
  return true;
}

/* Owner. NULL when empty. */
static void *ring_pop(struct ring *ring, uint64_t *retries) {
  uint64_t head_tail = atomic_load_explicit(&ring->head_tail, memory_order_relaxed);
  uint32_t head;
  for (;; ++*retries) {
    uint32_t tail = tail_of(head_tail);
    if (head_of(head_tail) == tail)
      return NULL;
    head = head_of(head_tail) - 1;
    /* Relaxed: the owner reads what the owner wrote. Success keeps thieves off this place. */
    if (atomic_compare_exchange_weak_explicit(&ring->head_tail, &head_tail, pack(head, tail),
                                              memory_order_relaxed, memory_order_relaxed))
      break;
  }
  void *object = atomic_load_explicit(place(ring, head), memory_order_relaxed);
  atomic_store_explicit(place(ring, head), NULL, memory_order_relaxed);
  return object;
}

/* Anyone. NULL when empty. */
static void *ring_steal(struct ring *ring, uint64_t *retries) {
  uint64_t head_tail = atomic_load_explicit(&ring->head_tail, memory_order_acquire);
  uint32_t tail;
  for (;; ++*retries) {
    tail = tail_of(head_tail);
    if (head_of(head_tail) == tail)
      return NULL;
    if (atomic_compare_exchange_weak_explicit(&ring->head_tail, &head_tail,
                                              pack(head_of(head_tail), tail + 1),
                                              memory_order_acquire, memory_order_acquire))
      break;
  }
  void *object = atomic_load_explicit(place(ring, tail), memory_order_relaxed);
  /* Release: the read above is over before the owner may fill the place again. */
  atomic_store_explicit(place(ring, tail), NULL, memory_order_release);
  return object;
}

static bool add_ring(struct chain *chain) {
  struct ring *head = chain->head;
  uint32_t size = !head ? FIRST_SIZE : head->size < LARGEST_SIZE ? head->size * 2 : LARGEST_SIZE;
  struct ring *ring = ring_new(size);
  if (!ring)
    return false;
  ring->older = head;
  atomic_store_explicit(&ring->prev, head, memory_order_relaxed);
  chain->head = ring;
  /* Release: whoever finds the ring finds it initialised. */
  atomic_store_explicit(head ? &head->next : &chain->tail, ring, memory_order_release);
  return true;
}

bool chain_push(struct chain *chain, void *object) {
  if (chain->head && ring_push(chain->head, object))
    return true;
  return add_ring(chain) && ring_push(chain->head, object);
}

void *chain_pop(struct chain *chain, uint64_t *retries) {
  for (struct ring *ring = chain->head; ring;
       ring = atomic_load_explicit(&ring->prev, memory_order_relaxed)) {
    void *object = ring_pop(ring, retries);
    if (object)
      return object;
  }
  return NULL;
}

void *chain_steal(struct chain *chain, uint64_t *retries) {
  struct ring *ring = atomic_load_explicit(&chain->tail, memory_order_acquire);
  while (ring) {
    /*
     * next before the try: a ring that has a next gets no more pushes, so one that is found
     * empty after next was seen stays empty and may be passed. In the other order the owner
     * could fill this ring and open the next one in between, and its objects would be lost.
     */
    struct ring *next = atomic_load_explicit(&ring->next, memory_order_acquire);
    void *object = ring_steal(ring, retries);
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
    heap_free(newest, ring_bytes(newest->size));
    newest = older;
  }
}

void chain_each(const struct chain *chain, void (*visit)(void *object, void *arg), void *arg) {
  for (struct ring *ring = chain->head; ring; ring = ring->older) {
    uint64_t head_tail = atomic_load_explicit(&ring->head_tail, memory_order_relaxed);
    for (uint32_t i = tail_of(head_tail); i != head_of(head_tail); i++)
      visit(atomic_load_explicit(place(ring, i), memory_order_relaxed), arg);
  }
}
