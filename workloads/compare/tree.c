/*
 * Trees of maps, lists and scalars on the counted heap. Knows nothing of schemas or views.
 */
#include "workloads/compare/tree.h"

#include "harness/heap.h"

size_t tree_buckets_for(size_t keys) {
  size_t buckets = 1;
  if (keys <= BUCKET_ENTRIES)
    return buckets;
  while (keys > buckets * 13 / 2)
    buckets *= 2;
  return buckets;
}

static void *boxed(struct node *out, enum node_kind kind, size_t size) {
  void *box = heap_alloc(size);
  *out = (struct node){.kind = box ? kind : NODE_NULL};
  out->string = box;
  return box;
}

bool node_int(struct node *out, int64_t value) {
  int64_t *box = boxed(out, NODE_INT, sizeof *box);
  if (box)
    *box = value;
  return box != NULL;
}

bool node_float(struct node *out, double value) {
  double *box = boxed(out, NODE_FLOAT, sizeof *box);
  if (box)
    *box = value;
  return box != NULL;
}

bool node_string(struct node *out, struct str value) {
  struct str *box = boxed(out, NODE_STRING, sizeof *box);
  if (box)
    *box = value;
  return box != NULL;
}

bool node_list_new(struct node *out, size_t count) {
  struct node_list *list = boxed(out, NODE_LIST, sizeof *list);
  if (!list)
    return false;
  *list = (struct node_list){.count = count, .capacity = count};
  if (count == 0)
    return true;
  list->items = heap_calloc(count * sizeof *list->items);
  if (list->items)
    return true;
  list->count = list->capacity = 0;
  node_free(out);
  return false;
}

/* A fresh bucket's keys and values are written before they are read: only its head is cleared. */
static void bucket_clear(struct bucket *b) {
  b->used = 0;
  b->overflow = NULL;
}

bool node_map_new(struct node *out, size_t announced_keys) {
  struct node_map *map = boxed(out, NODE_MAP, MAP_HEADER_BYTES);
  if (!map)
    return false;
  size_t buckets = tree_buckets_for(announced_keys);
  *map = (struct node_map){.mask = buckets - 1};
  map->buckets = heap_alloc(buckets * sizeof *map->buckets);
  if (!map->buckets) {
    node_free(out);
    return false;
  }
  for (size_t i = 0; i < buckets; i++)
    bucket_clear(&map->buckets[i]);
  return true;
}

static struct bucket *chain_bucket(struct bucket *last) {
  struct bucket *b = heap_alloc(sizeof *b);
  if (!b)
    return NULL;
  bucket_clear(b);
  last->overflow = b;
  return b;
}

bool node_map_add(struct node_map *map, struct str key, struct node value) {
  struct bucket *b = &map->buckets[key.hash & map->mask];
  while (b->used == BUCKET_ENTRIES && b->overflow)
    b = b->overflow;
  if (b->used == BUCKET_ENTRIES)
    b = chain_bucket(b);
  if (!b) {
    node_free(&value);
    return false;
  }
  b->tags[b->used] = (uint16_t)(key.hash >> 16);
  b->keys[b->used] = key;
  b->values[b->used] = value;
  b->used++;
  map->count++;
  return true;
}

struct node *node_map_find(const struct node_map *map, const struct str *key) {
  uint16_t tag = (uint16_t)(key->hash >> 16);
  for (struct bucket *b = &map->buckets[key->hash & map->mask]; b; b = b->overflow)
    for (size_t i = 0; i < b->used; i++)
      if (b->tags[i] == tag && str_same_key(&b->keys[i], key))
        return &b->values[i];
  return NULL;
}

bool node_map_next_bucket(const struct node_map *map, struct map_cursor *cursor) {
  do {
    if (cursor->bucket && cursor->bucket->overflow)
      cursor->bucket = cursor->bucket->overflow;
    else if (cursor->index <= map->mask)
      cursor->bucket = &map->buckets[cursor->index++];
    else
      return false;
  } while (cursor->bucket->used == 0);
  cursor->entry = 0;
  return true;
}

static void free_held(struct node *node);

static void free_values(struct bucket *b) {
  for (size_t i = 0; i < b->used; i++)
    free_held(&b->values[i]);
}

/* The two are apart, so that freeing a scalar, the common case, needs none of their registers. */
__attribute__((noinline)) static void free_map(struct node_map *map) {
  for (size_t i = 0; map->buckets && i <= map->mask; i++) {
    free_values(&map->buckets[i]);
    for (struct bucket *b = map->buckets[i].overflow, *next; b; b = next) {
      next = b->overflow;
      free_values(b);
      heap_free(b, sizeof *b);
    }
  }
  heap_free(map->buckets, (map->mask + 1) * sizeof *map->buckets);
  heap_free(map, MAP_HEADER_BYTES);
}

__attribute__((noinline)) static void free_list(struct node_list *list) {
  for (size_t i = 0; i < list->count; i++)
    free_held(&list->items[i]);
  heap_free(list->items, list->capacity * sizeof *list->items);
  heap_free(list, sizeof *list);
}

/* Frees what the node holds, and leaves it as it is. */
static void free_held(struct node *node) {
  switch ((enum node_kind)node->kind) {
  case NODE_NULL:
  case NODE_BOOL:
    break;
  case NODE_INT:
    heap_free(node->integer, sizeof *node->integer);
    break;
  case NODE_FLOAT:
    heap_free(node->real, sizeof *node->real);
    break;
  case NODE_STRING:
    if (node->owns_text)
      heap_free((char *)node->string->ptr, text_bytes(node->string->len));
    heap_free(node->string, sizeof *node->string);
    break;
  case NODE_LIST:
    free_list(node->list);
    break;
  case NODE_MAP:
    free_map(node->map);
    break;
  }
}

void node_free(struct node *node) {
  free_held(node);
  *node = (struct node){.kind = NODE_NULL};
}

static bool list_equal(const struct node_list *a, const struct node_list *b) {
  if (a->count != b->count)
    return false;
  for (size_t i = 0; i < a->count; i++)
    if (!node_equal(&a->items[i], &b->items[i]))
      return false;
  return true;
}

static bool map_equal(const struct node_map *a, const struct node_map *b) {
  struct map_cursor cursor = {0};
  const struct str *key;
  struct node *value;
  if (a->count != b->count)
    return false;
  while (node_map_next(a, &cursor, &key, &value)) {
    const struct node *other = node_map_find(b, key);
    if (!other || !node_equal(value, other))
      return false;
  }
  return true;
}

static bool is_number(const struct node *n) {
  return n->kind == NODE_INT || n->kind == NODE_FLOAT;
}

static double number(const struct node *n) {
  return n->kind == NODE_INT ? (double)*n->integer : *n->real;
}

bool node_equal(const struct node *a, const struct node *b) {
  if (a->kind != b->kind)
    return is_number(a) && is_number(b) && number(a) == number(b);
  switch ((enum node_kind)a->kind) {
  case NODE_NULL:
    return true;
  case NODE_BOOL:
    return a->boolean == b->boolean;
  case NODE_INT:
    return *a->integer == *b->integer;
  case NODE_FLOAT:
    return *a->real == *b->real;
  case NODE_STRING:
    return str_equal(a->string, b->string);
  case NODE_LIST:
    return list_equal(a->list, b->list);
  case NODE_MAP:
    return map_equal(a->map, b->map);
  }
  return false;
}

static bool copy_list(struct node *out, const struct node_list *from) {
  if (!node_list_new(out, from->count))
    return false;
  for (size_t i = 0; i < from->count; i++)
    if (!node_copy(&out->list->items[i], &from->items[i]))
      return false;
  return true;
}

static bool copy_map(struct node *out, const struct node_map *from) {
  struct map_cursor cursor = {0};
  const struct str *key;
  struct node *value;
  if (!node_map_new(out, from->count))
    return false;
  while (node_map_next(from, &cursor, &key, &value)) {
    struct node copy;
    if (!node_copy(&copy, value) || !node_map_add(out->map, *key, copy))
      return false;
  }
  return true;
}

bool node_copy(struct node *out, const struct node *from) {
  bool ok = true;
  *out = (struct node){.kind = NODE_NULL};
  switch ((enum node_kind)from->kind) {
  case NODE_NULL:
    break;
  case NODE_BOOL:
    out->kind = NODE_BOOL;
    out->boolean = from->boolean;
    break;
  case NODE_INT:
    ok = node_int(out, *from->integer);
    break;
  case NODE_FLOAT:
    ok = node_float(out, *from->real);
    break;
  case NODE_STRING:
    ok = node_string(out, *from->string);
    break;
  case NODE_LIST:
    ok = copy_list(out, from->list);
    break;
  case NODE_MAP:
    ok = copy_map(out, from->map);
    break;
  }
  if (!ok)
    node_free(out);
  return ok;
}
