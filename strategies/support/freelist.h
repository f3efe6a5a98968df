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

/*
 * floor and ceiling fold the rare questions into the one comparison that get and put make anyway:
 * where an object must be weighed or cleared, or the array must grow, the comparison fails.
 */
struct freelist {
  void **items; /* `room` places, the first `count` filled, the last one in is the next out */
  const struct kind *kind;
  uint32_t count;
  uint32_t floor;      /* more than that: just take one. 0, or UINT32_MAX if they are weighed */
  uint32_t ceiling;    /* fewer than that: just add one. room, or 0 if put has more to do */
  uint32_t room, cap;  /* cap: most objects kept */
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

/* What the list holds, as a list of its own; the list is empty afterwards. */
struct freelist freelist_take(struct freelist *list);

/* Frees all objects and the array; the list is empty and usable again. */
void freelist_clear(struct freelist *list);

/* Adds what the list holds to `held`. */
void freelist_held(const struct freelist *list, struct pool_held *held);

/* What the comparisons leave over; out of line, so that the fast paths save no registers. */
void *freelist_pop_slow(struct freelist *list);
bool freelist_push_slow(struct freelist *list, void *object);
void *freelist_get_slow(struct freelist *list, struct pool_counters *counters);
void freelist_put_slow(struct freelist *list, struct pool_counters *counters, void *object);

/* NULL when empty. */
static inline void *freelist_pop(struct freelist *list) {
  if (__builtin_expect(list->count > list->floor, 1))
    return list->items[--list->count];
  return freelist_pop_slow(list);
}

/* false when there is no place for it; the object stays the caller's. It has been cleared. */
static inline bool freelist_push(struct freelist *list, void *object) {
  if (__builtin_expect(list->count < list->ceiling, 1)) {
    list->items[list->count++] = object;
    return true;
  }
  return freelist_push_slow(list, object);
}

/* A counted get from a list that the calling thread owns, from the allocator if it is empty. */
static inline void *freelist_get(struct freelist *list, struct pool_counters *counters) {
  pool_count(&counters->gets, 1);
  if (__builtin_expect(list->count > list->floor, 1))
    return list->items[--list->count];
  return freelist_get_slow(list, counters);
}

/* A counted put into a list that the calling thread owns; clears, or frees beyond the caps. */
static inline void freelist_put(struct freelist *list, struct pool_counters *counters,
                                void *object) {
  pool_count(&counters->puts, 1);
  if (__builtin_expect(list->count < list->ceiling, 1)) {
    list->items[list->count++] = object;
    return;
  }
  freelist_put_slow(list, counters, object);
}

#endif
