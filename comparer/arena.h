/*
 * Memory that lives as long as one comparison, and strings kept once in it.
 *
 * An arena hands out memory and frees it all at the end. An intern table maps bytes to small
 * numbers, so that everything after the reader compares numbers, not strings.
 */
#ifndef POOLCMP_ARENA_H
#define POOLCMP_ARENA_H

#include "comparer/text.h"

struct arena_block;
struct arena {
  struct arena_block *blocks;
  char *next, *end;
};

/* Memory aligned for any type, or NULL when there is none. A zeroed struct is an empty arena. */
void *arena_alloc(struct arena *a, size_t size);
/* A NUL-terminated copy of t; NULL without memory. */
char *arena_copy(struct arena *a, struct text t);
/* printf into the arena; NULL without memory. */
char *arena_printf(struct arena *a, const char *format, ...) __attribute__((format(printf, 2, 3)));
void arena_free(struct arena *a);

#define INTERN_NONE UINT32_MAX

/* Number 0 is always the empty string. Set up by intern_init. */
struct intern {
  struct arena arena;
  struct text *strings; /* by number; NUL-terminated */
  uint32_t count, room;
  uint32_t *slots;  /* number + 1, 0 = free; open addressing */
  uint64_t *hashes; /* by number */
  size_t slot_count;
};

bool intern_init(struct intern *t);
void intern_free(struct intern *t);
/* The number of these bytes, given out in order of first use; INTERN_NONE without memory. */
uint32_t intern_add(struct intern *t, struct text s);

uint64_t hash_bytes(const void *p, size_t n);

/* Mixes two numbers into one hash. */
static inline uint64_t hash_mix(uint64_t a, uint64_t b) {
  __uint128_t m = (__uint128_t)(a ^ 0x9E3779B97F4A7C15u) * (b ^ 0xD1B54A32D192ED03u);
  return (uint64_t)m ^ (uint64_t)(m >> 64);
}

/*
 * Makes room for one more element in a growing array: returns the array, moved if need be, with
 * *room elements, more than `count`; NULL without memory (the old array stays valid).
 */
void *array_grow(void *array, size_t count, size_t *room, size_t element);

#endif
