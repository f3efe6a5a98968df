/*
 * Making and destroying one object of a kind through the counted heap.
 *
 * Owns nothing. Lists, counters and locks are the callers' business.
 */
#ifndef POOLBENCH_SUPPORT_OBJECT_H
#define POOLBENCH_SUPPORT_OBJECT_H

#include "harness/heap.h"
#include "strategies/strategy.h"

/* An object in the cleared state, or NULL when the allocator failed (nothing is leaked then). */
static inline void *object_new(const struct kind *kind) {
  void *object = kind->align > _Alignof(max_align_t) ? heap_alloc_aligned(kind->size, kind->align)
                                                     : heap_alloc(kind->size);
  if (object && kind->init && !kind->init(object)) {
    heap_free(object, kind->size);
    return NULL;
  }
  return object;
}

static inline void object_free(const struct kind *kind, void *object) {
  if (kind->destroy)
    kind->destroy(object);
  heap_free(object, kind->size);
}

static inline void object_clear(const struct kind *kind, void *object) {
  if (kind->clear)
    kind->clear(object);
}

/* Bytes held in all: the object and what hangs off it. */
static inline size_t object_bytes(const struct kind *kind, const void *object) {
  return kind->bytes ? kind->bytes(object) : kind->size;
}

#endif
