/*
 * Chunks of at least 16 KiB from the counted heap, linked newest first. Larger requests get a
 * chunk of their own.
 */
#include "workloads/compare/arena.h"

#include "harness/heap.h"

#include <stdalign.h>
#include <stdint.h>

#define CHUNK_BYTES ((size_t)16 << 10)

struct arena_chunk {
  struct arena_chunk *next;
  size_t used, size; /* bytes of data */
  alignas(max_align_t) unsigned char data[];
};

static struct arena_chunk *chunk_add(struct arena *a, size_t need) {
  size_t size = need > CHUNK_BYTES ? need : CHUNK_BYTES;
  struct arena_chunk *c = heap_calloc(sizeof *c + size);
  if (!c)
    return NULL;
  c->size = size;
  c->next = a->chunks;
  a->chunks = c;
  return c;
}

void *arena_alloc(struct arena *a, size_t size) {
  const size_t align = alignof(max_align_t);
  if (size > SIZE_MAX / 2)
    return NULL;
  size = (size + align - 1) & ~(align - 1);
  struct arena_chunk *c = a->chunks;
  if (!c || c->size - c->used < size) {
    c = chunk_add(a, size);
    if (!c)
      return NULL;
  }
  void *p = c->data + c->used;
  c->used += size;
  return p;
}

struct str arena_str(struct arena *a, const char *bytes, size_t n) {
  char *copy = n < UINT32_MAX ? arena_alloc(a, n + 1) : NULL;
  if (!copy)
    return (struct str){0};
  memcpy(copy, bytes, n);
  return str_key(copy, n);
}

void arena_free(struct arena *a) {
  for (struct arena_chunk *c = a->chunks, *next; c; c = next) {
    next = c->next;
    heap_free(c, sizeof *c + c->size);
  }
  a->chunks = NULL;
}
