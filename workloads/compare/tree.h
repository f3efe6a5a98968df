/*
 * Unstructured objects: trees of string-keyed maps, lists and scalars.
 *
 * A node is two words: what it is, and where its box is. Boxes, list headers, item arrays, map
 * headers and buckets are separate allocations of the sizes that the measured programs make
 * (asserted below), because the workload is about allocation: a denser tree would be another
 * workload. Trees own their boxes; the bytes of strings belong to somebody else unless
 * `owns_text` says otherwise.
 */
#ifndef POOLBENCH_COMPARE_TREE_H
#define POOLBENCH_COMPARE_TREE_H

#include "workloads/compare/str.h"

#include <stddef.h>

enum node_kind { NODE_NULL, NODE_BOOL, NODE_INT, NODE_FLOAT, NODE_STRING, NODE_LIST, NODE_MAP };

struct node_list;
struct node_map;

struct node {
  uint8_t kind; /* enum node_kind */
  bool owns_text;
  bool boolean;
  union {
    int64_t *integer;
    double *real;
    struct str *string;
    struct node_list *list;
    struct node_map *map;
  };
};

struct node_list {
  struct node *items;
  size_t count, capacity;
};

#define BUCKET_ENTRIES 8

/* Entries are in [0, used). tags are the upper halves of the hashes: one line decides a miss. */
struct bucket {
  uint16_t tags[BUCKET_ENTRIES];
  size_t used;
  struct bucket *overflow;
  struct str keys[BUCKET_ENTRIES];
  struct node values[BUCKET_ENTRIES];
};

/* The table never grows: it is made for the number of keys announced, and chains beyond it. */
struct node_map {
  size_t count;
  size_t mask; /* number of buckets - 1 */
  struct bucket *buckets;
};

/* What a map header is allocated as: the profile's maps can grow and carry the state for it. */
#define MAP_HEADER_BYTES 48

_Static_assert(sizeof(struct node) == 16, "a value is two words");
_Static_assert(sizeof(struct node_list) == 24, "a list header is three words");
_Static_assert(sizeof(struct node_map) <= MAP_HEADER_BYTES, "a map header must fit");
_Static_assert(sizeof(struct bucket) == 288, "a bucket of eight entries is 288 bytes");

/* Buckets for `keys` keys: a power of two with at most 6.5 keys a bucket; 8 keys fit one. */
size_t tree_buckets_for(size_t keys);

/* Each returns false when out of memory, and leaves *out a null. Nodes may be copied (moved). */
bool node_int(struct node *out, int64_t value);
bool node_float(struct node *out, double value);
bool node_string(struct node *out, struct str value); /* shares the bytes */
bool node_list_new(struct node *out, size_t count);   /* `count` nulls */
bool node_map_new(struct node *out, size_t announced_keys);

/* The key must not be in the map. Takes over the value, also on failure. */
bool node_map_add(struct node_map *map, struct str key, struct node value);

/* The value at a key with hash, or NULL. */
struct node *node_map_find(const struct node_map *map, const struct str *key);

/* Visits entries bucket by bucket. Start from {0}; node_map_next returns false at the end. */
struct map_cursor {
  size_t index; /* of the next bucket */
  struct bucket *bucket;
  size_t entry;
};
bool node_map_next_bucket(const struct node_map *map, struct map_cursor *cursor); /* not empty */
static inline bool node_map_next(const struct node_map *map, struct map_cursor *cursor,
                                 const struct str **key, struct node **value) {
  if ((!cursor->bucket || cursor->entry == cursor->bucket->used) &&
      !node_map_next_bucket(map, cursor))
    return false;
  *key = &cursor->bucket->keys[cursor->entry];
  *value = &cursor->bucket->values[cursor->entry];
  cursor->entry++;
  return true;
}

/* Frees what the node holds and makes it a null. Recursion is bounded by the tree's depth. */
void node_free(struct node *node);

/* Deep equality, int and float compared as numbers. Depth as above. */
bool node_equal(const struct node *a, const struct node *b);

/* A copy that shares only the bytes of strings. false when out of memory. */
bool node_copy(struct node *out, const struct node *from);

#endif
