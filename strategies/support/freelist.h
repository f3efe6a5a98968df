/*
 * A LIFO list of recycled objects of one kind, for one thread at a time.
 *
 * The list is an array of pointers and does not write into the objects it holds. A link inside
 * the object would cost less memory but destroy the cleared state that get promises (a recycled
 * map keeps its table pointer in its first word) and that bytes() and destroy() read. The array
 * doubles up to the cap; when it cannot grow, put frees the object, so put never fails.
 *
 * No lock and no atomic: the list's owner, or the lock around it, orders its uses.
 */
#ifndef POOLBENCH_SUPPORT_FREELIST_H
#define POOLBENCH_SUPPORT_FREELIST_H

#include "strategies/strategy.h"
#include "strategies/support/object.h"

#define FREELIST_MAX_CAP 100000000u
#define FREELIST_MAX_BYTES (UINT64_C(1) << 40)
#define FREELIST_BYTES_RANGE "0..1099511627776 (0: no bound)"

struct freelist {
  void **items; /* `room` places, the first `count` filled, the last one in is the next out */
  const struct kind *kind;
  uint32_t count, room;
  uint32_t cap;        /* most objects kept */
  uint64_t most_bytes; /* most bytes kept, of kinds whose bytes() must be asked; else 0: no bound */
  uint64_t bytes;      /* kept now; counted only if there is such a bound */
};

/*
 * An empty list that owns no memory yet, bounded by a number of objects and by the bytes they
 * hold; 0 is no bound (but FREELIST_MAX_CAP). Where all objects of a kind hold the same, the
 * bytes are turned into a number of objects here and cost nothing later.
 */
void freelist_init(struct freelist *list, const struct kind *kind, uint64_t cap,
                   uint64_t most_bytes);

/* Weighs an object that leaves, or wants to enter, a list with most_bytes; enter may refuse. */
void freelist_weigh_out(struct freelist *list, const void *object);
bool freelist_weigh_in(struct freelist *list, const void *object);

/* Frees all objects and the array; the list is empty and usable again. */
void freelist_clear(struct freelist *list);

/* What the list holds, as a list of its own; the list is empty afterwards. */
struct freelist freelist_take(struct freelist *list);

/* Makes place for one more object. false at the cap or when out of memory. */
bool freelist_grow(struct freelist *list);

/* Adds what the list holds to `held`. */
void freelist_held(const struct freelist *list, struct pool_held *held);

/* NULL when empty. */
static inline void *freelist_pop(struct freelist *list) {
  if (__builtin_expect(list->count == 0, 0))
    return NULL;
  void *object = list->items[--list->count];
  if (__builtin_expect(list->most_bytes != 0, 0))
    freelist_weigh_out(list, object);
  return object;
}

/* false when there is no place for it; the object stays the caller's then. */
static inline bool freelist_push(struct freelist *list, void *object) {
  if (__builtin_expect(list->count == list->room, 0) && !freelist_grow(list))
    return false;
  if (__builtin_expect(list->most_bytes != 0, 0) && !freelist_weigh_in(list, object))
    return false;
  list->items[list->count++] = object;
  return true;
}

/* A counted get from a list that the calling thread owns, from the allocator if it is empty. */
static inline void *freelist_get(struct freelist *list, struct pool_counters *counters) {
  pool_count(&counters->gets, 1);
  void *object = freelist_pop(list);
  if (__builtin_expect(object != NULL, 1))
    return object;
  pool_count(&counters->misses, 1);
  return object_new(list->kind);
}

/* A counted put into a list that the calling thread owns. */
static inline void freelist_put(struct freelist *list, struct pool_counters *counters,
                                void *object) {
  pool_count(&counters->puts, 1);
  object_clear(list->kind, object);
  if (__builtin_expect(!freelist_push(list, object), 0)) {
    pool_count(&counters->overflows, 1);
    object_free(list->kind, object);
  }
}

#endif
