/*
 * A chain of rings of pointers: one owner pushes and pops at the head, any thread steals at the
 * tail. The dynamically sized queue behind Go's sync.Pool (src/sync/poolqueue.go), in C11 atomics.
 *
 * A ring is full when its places are, and a new one of twice the size becomes the head; thieves
 * empty the old ones from the tail on. Rings are never freed while somebody may look at them:
 * chain_detach_rings unlinks them all, and the caller frees them after a grace period.
 *
 * Progress: the owner's calls are lock-free (a CAS fails only because a thief took something, or
 * the owner did), a thief's likewise. Order: LIFO for the owner, FIFO for thieves.
 */
#ifndef POOLBENCH_SUPPORT_CHAIN_H
#define POOLBENCH_SUPPORT_CHAIN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ring {
  /*
   * head in the upper, tail in the lower half, so that one CAS moves either and sees both. They
   * count up and wrap; the place of index i is i modulo the size. [tail, head) is filled.
   */
  _Atomic uint64_t head_tail;
  _Atomic(struct ring *) next; /* towards the head; set once by the owner */
  _Atomic(struct ring *) prev; /* towards the tail; NULL once thieves are done with that ring */
  struct ring *older;          /* all rings of the chain, for the owner only */
  struct ring *retired_next;   /* for whoever keeps detached rings until they may be freed */
  uint64_t retired_at;
  uint32_t size; /* a power of two */
  /* NULL: free. A thief clears its place last, and only then may the owner fill it again. */
  _Atomic(void *) places[];
};

struct chain {
  struct ring *head;           /* the owner's */
  _Atomic(struct ring *) tail; /* where thieves begin; NULL: the chain has no ring */
};

/* Owner. false when out of memory; the object stays the caller's. */
bool chain_push(struct chain *chain, void *object);

/* Owner. NULL when empty. `retries` counts CAS failures. */
void *chain_pop(struct chain *chain, uint64_t *retries);

/* Anyone. NULL when empty, or when others took what there was. */
void *chain_steal(struct chain *chain, uint64_t *retries);

/*
 * Owner, on an empty chain: unlinks its rings, linked by `older`; NULL when there are none. They
 * may be freed when every thread that was inside chain_steal has left it.
 */
struct ring *chain_detach_rings(struct chain *chain);

/* Frees rings linked by `older`. */
void chain_free_rings(struct ring *newest);

/* Calls visit for every object in the chain. Only while nobody uses the chain. */
void chain_each(const struct chain *chain, void (*visit)(void *object, void *arg), void *arg);

#endif
