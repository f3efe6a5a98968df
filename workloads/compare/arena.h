/*
 * Memory that lives as long as an object or a schema: handed out in order, freed as a whole.
 *
 * Used when objects are loaded, never inside an op.
 */
#ifndef POOLBENCH_COMPARE_ARENA_H
#define POOLBENCH_COMPARE_ARENA_H

#include "workloads/compare/str.h"

#include <stddef.h>

/* Link names of its own: the comparer, which poolbench contains too, has an arena as well. */
#define arena_alloc object_arena_alloc
#define arena_str object_arena_str
#define arena_free object_arena_free

struct arena_chunk;

/* Start from {0}. One thread at a time; what was allocated may be read by all. */
struct arena {
  struct arena_chunk *chunks;
};

/* Zeroed, aligned to max_align_t; NULL when out of memory. size may be 0. */
void *arena_alloc(struct arena *a, size_t size);

/* A NUL-terminated copy of n bytes, hashed as a key. ptr is NULL when out of memory. */
struct str arena_str(struct arena *a, const char *bytes, size_t n);

void arena_free(struct arena *a);

#endif
