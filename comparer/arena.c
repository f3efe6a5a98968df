/*
 * Memory of one comparison and interned strings: see arena.h. Single-threaded.
 */
#include "comparer/arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define BLOCK_SIZE ((size_t)64 << 10)

struct arena_block {
  struct arena_block *next;
  max_align_t memory[];
};

void *arena_alloc(struct arena *a, size_t size) {
  size_t align = _Alignof(max_align_t);
  if (size > SIZE_MAX / 2)
    return NULL;
  size = size ? (size + align - 1) & ~(align - 1) : align;
  if ((size_t)(a->end - a->next) < size) {
    size_t want = size > BLOCK_SIZE / 4 ? size : BLOCK_SIZE;
    struct arena_block *b = malloc(sizeof *b + want);
    if (!b)
      return NULL;
    b->next = a->blocks;
    a->blocks = b;
    if (want == size) /* a large one has its block alone; the current one goes on */
      return b->memory;
    a->next = (char *)b->memory;
    a->end = a->next + want;
  }
  void *p = a->next;
  a->next += size;
  return p;
}

char *arena_copy(struct arena *a, struct text t) {
  char *p = arena_alloc(a, t.n + 1);
  if (!p)
    return NULL;
  if (t.n)
    memcpy(p, t.p, t.n);
  p[t.n] = 0;
  return p;
}

char *arena_printf(struct arena *a, const char *format, ...) {
  va_list args, again;
  va_start(args, format);
  va_copy(again, args);
  int n = vsnprintf(NULL, 0, format, args);
  char *p = n < 0 ? NULL : arena_alloc(a, (size_t)n + 1);
  if (p)
    vsnprintf(p, (size_t)n + 1, format, again);
  va_end(again);
  va_end(args);
  return p;
}

void arena_free(struct arena *a) {
  for (struct arena_block *b = a->blocks, *next; b; b = next) {
    next = b->next;
    free(b);
  }
  *a = (struct arena){0};
}

void *array_grow(void *array, size_t count, size_t *room, size_t element) {
  if (count < *room)
    return array;
  size_t want = *room ? *room * 2 : 16;
  if (want > SIZE_MAX / 2 / element)
    return NULL;
  void *p = realloc(array, want * element);
  if (p)
    *room = want;
  return p;
}

uint64_t hash_bytes(const void *bytes, size_t n) {
  const char *p = bytes;
  uint64_t h = hash_mix(n, 0x5851F42D4C957F2Du), word;
  for (; n >= 8; p += 8, n -= 8) {
    memcpy(&word, p, 8);
    h = hash_mix(h, word);
  }
  word = 0;
  if (n)
    memcpy(&word, p, n);
  return hash_mix(h, word);
}

bool intern_init(struct intern *t) {
  *t = (struct intern){.slot_count = 64};
  t->slots = calloc(t->slot_count, sizeof *t->slots);
  if (t->slots && intern_add(t, (struct text){"", 0}) == 0)
    return true;
  intern_free(t);
  return false;
}

void intern_free(struct intern *t) {
  free(t->slots);
  free(t->hashes);
  free(t->strings);
  arena_free(&t->arena);
  *t = (struct intern){0};
}

/* Twice the slots; every string moves to its place by its kept hash. */
static bool intern_rehash(struct intern *t) {
  size_t count = t->slot_count * 2;
  uint32_t *slots = calloc(count, sizeof *slots);
  if (!slots)
    return false;
  for (uint32_t i = 0; i < t->count; i++) {
    size_t at = t->hashes[i] & (count - 1);
    while (slots[at])
      at = (at + 1) & (count - 1);
    slots[at] = i + 1;
  }
  free(t->slots);
  t->slots = slots;
  t->slot_count = count;
  return true;
}

static bool intern_room(struct intern *t) {
  if (t->count < t->room)
    return true;
  uint32_t room = t->room ? t->room * 2 : 32;
  struct text *strings = realloc(t->strings, room * sizeof *strings);
  if (!strings)
    return false;
  t->strings = strings;
  uint64_t *hashes = realloc(t->hashes, room * sizeof *hashes);
  if (!hashes)
    return false;
  t->hashes = hashes;
  t->room = room;
  return true;
}

uint32_t intern_add(struct intern *t, struct text s) {
  uint64_t hash = hash_bytes(s.p, s.n);
  size_t at = hash & (t->slot_count - 1);
  for (; t->slots[at]; at = (at + 1) & (t->slot_count - 1)) {
    uint32_t id = t->slots[at] - 1;
    if (t->hashes[id] == hash && text_equal(t->strings[id], s))
      return id;
  }
  if (t->count >= INTERN_NONE / 2 || !intern_room(t))
    return INTERN_NONE;
  char *copy = arena_copy(&t->arena, s);
  if (!copy)
    return INTERN_NONE;
  uint32_t id = t->count;
  if (2 * ((size_t)id + 1) > t->slot_count && !intern_rehash(t))
    return INTERN_NONE;
  for (at = hash & (t->slot_count - 1); t->slots[at];)
    at = (at + 1) & (t->slot_count - 1);
  t->strings[id] = (struct text){copy, s.n};
  t->hashes[id] = hash;
  t->slots[at] = id + 1;
  t->count++;
  return id;
}
