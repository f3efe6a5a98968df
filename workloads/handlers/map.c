/* The handlers' map; see map.h. */
#include "workloads/handlers/map.h"

#include "harness/heap.h"

#include <string.h>

_Static_assert(sizeof(struct map_key) == 16, "the Go program's key");
_Static_assert(sizeof(struct map_entry) == 104, "the Go program's entry");
_Static_assert(sizeof(struct map_slot) == 120, "no padding");
_Static_assert(sizeof(struct map) <= MAP_BYTES, "fits the Go program's block");

#define FIRST_CAPACITY 8

static bool is_full(size_t capacity, size_t count) {
  return count * 16 > capacity * 13;
}

size_t map_capacity_for(size_t count) {
  if (count == 0)
    return 0;
  size_t capacity = FIRST_CAPACITY;
  while (is_full(capacity, count))
    capacity *= 2;
  return capacity;
}

/* Eight bytes at a time; the multiplications spread them over the upper half, which is used. */
static uint64_t hash_key(struct map_key key) {
  uint64_t h = key.length * 0x9e3779b97f4a7c15u;
  const char *at = key.text;
  size_t left = key.length;
  for (; left >= 8; at += 8, left -= 8) {
    uint64_t word;
    memcpy(&word, at, 8);
    h = (h ^ word) * 0xff51afd7ed558ccdu;
    h ^= h >> 32;
  }
  uint64_t tail = 0;
  memcpy(&tail, at, left);
  h = (h ^ tail) * 0xc4ceb9fe1a85ec53u;
  return h ^ h >> 32;
}

static bool same_key(const struct map_slot *s, struct map_key key, uint64_t hash) {
  return s->entry.hash == hash && s->key.length == key.length &&
         (s->key.text == key.text || memcmp(s->key.text, key.text, key.length) == 0);
}

/* The key's slot, or the empty one where it belongs. There is always an empty one. */
static struct map_slot *find(struct map_slot *slots, size_t capacity, struct map_key key,
                             uint64_t hash) {
  size_t i = hash & (capacity - 1);
  while (slots[i].key.text && !same_key(&slots[i], key, hash))
    i = (i + 1) & (capacity - 1);
  return &slots[i];
}

static bool grow(struct map *m) {
  size_t capacity = map_capacity_for(m->count + 1);
  struct map_slot *slots = heap_calloc(capacity * sizeof *slots);
  if (!slots)
    return false;
  size_t at = 0;
  for (struct map_slot *s; (s = map_next(m, &at));)
    *find(slots, capacity, s->key, s->entry.hash) = *s;
  if (m->slots)
    heap_free(m->slots, m->capacity * sizeof *m->slots);
  m->slots = slots;
  m->capacity = capacity;
  return true;
}

struct map_entry *map_at(struct map *m, struct map_key key) {
  uint64_t hash = hash_key(key);
  struct map_slot *s = m->capacity ? find(m->slots, m->capacity, key, hash) : NULL;
  if (s && s->key.text)
    return &s->entry;
  if (is_full(m->capacity, m->count + 1)) {
    if (!grow(m))
      return NULL;
    s = find(m->slots, m->capacity, key, hash);
  }
  s->key = key;
  s->entry.hash = hash;
  m->count++;
  return &s->entry;
}

struct map_slot *map_next(const struct map *m, size_t *at) {
  while (*at < m->capacity) {
    struct map_slot *s = &m->slots[(*at)++];
    if (s->key.text)
      return s;
  }
  return NULL;
}

void map_clear(struct map *m) {
  if (m->count == 0)
    return;
  memset(m->slots, 0, m->capacity * sizeof *m->slots);
  m->count = 0;
}

static bool kind_init(void *object) {
  memset(object, 0, MAP_BYTES);
  return true;
}

static void kind_clear(void *object) {
  map_clear(object);
}

static void kind_destroy(void *object) {
  struct map *m = object;
  if (m->slots)
    heap_free(m->slots, m->capacity * sizeof *m->slots);
}

static size_t kind_bytes(const void *object) {
  const struct map *m = object;
  return MAP_BYTES + m->capacity * sizeof *m->slots;
}

const struct kind map_kind = {
    .name = "entries map",
    .size = MAP_BYTES,
    .init = kind_init,
    .clear = kind_clear,
    .destroy = kind_destroy,
    .bytes = kind_bytes,
};
