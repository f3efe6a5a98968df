/*
 * Reads trees into C objects through the descriptors, the way back of convert.c.
 *
 * The tree has the schema's types, but a typed object is stricter: integers have no fraction,
 * times and quantities have a syntax. Such mistakes are reported with their path.
 */
#include "workloads/compare/load.h"
#include "workloads/compare/path.h"
#include "workloads/compare/text.h"

#include <stdio.h>
#include <stdlib.h>

struct decoder {
  struct arena *arena;
  struct path path;
  char *why;
  size_t why_size;
};

static bool complain(struct decoder *d, const char *what) {
  char path[REPORT_LINE_SIZE];
  path_print(&d->path, path, sizeof path);
  snprintf(d->why, d->why_size, "%s: %s", *path ? path : ".", what);
  return false;
}

static bool no_memory(struct decoder *d) {
  snprintf(d->why, d->why_size, "out of memory");
  return false;
}

static bool decode(struct decoder *d, const struct type *type, const struct schema *schema,
                   const struct node *node, void *out);

/* Decodes a child, with its element on the path for as long. */
static bool decode_child(struct decoder *d, const struct element *element, const struct type *type,
                         const struct schema *schema, const struct node *node, void *out) {
  if (d->path.length == MAX_DEPTH)
    return complain(d, "is nested too deep");
  d->path.elements[d->path.length++] = element;
  bool ok = decode(d, type, schema, node, out);
  if (ok)
    d->path.length--;
  return ok;
}

static bool decode_integer(struct decoder *d, const struct node *node, struct opt_integer *out) {
  if (node->kind != NODE_INT)
    return complain(d, "must be a whole number");
  *out = (struct opt_integer){*node->integer, true};
  return true;
}

static bool decode_time(struct decoder *d, const struct node *node, struct timestamp *out) {
  if (!time_parse(node->string, out))
    return complain(d, "must be a time like 2006-01-02T15:04:05Z");
  return true;
}

static bool decode_quantity(struct decoder *d, const struct node *node, struct quantity *out) {
  char digits[24];
  struct str text;
  if (node->kind == NODE_STRING) {
    text = *node->string;
  } else if (node->kind == NODE_INT) {
    int n = snprintf(digits, sizeof digits, "%lld", (long long)*node->integer);
    text = arena_str(d->arena, digits, (size_t)n);
    if (!text.ptr)
      return no_memory(d);
  } else {
    return complain(d, "must be a quantity in quotes, like \"500m\" or \"1.5Gi\"");
  }
  if (!quantity_parse(&text, out))
    return complain(d, "must be a quantity like \"500m\" or \"1.5Gi\", 18 digits at most");
  return true;
}

static bool decode_int_or_string(struct decoder *d, const struct node *node,
                                 struct int_or_string *out) {
  if (node->kind == NODE_FLOAT)
    return complain(d, "must be a whole number or a string");
  *out = (struct int_or_string){.set = true};
  if (node->kind == NODE_STRING)
    out->text = *node->string;
  else
    out->number = *node->integer;
  return true;
}

/* The element of a list item, for messages; `views` and `fields` are where it lives. */
static struct element element_of(const struct schema *list, const struct node *item,
                                 const int64_t *index, struct key *key, struct key_field *fields,
                                 struct tree_value *views) {
  if (list->relation != RELATION_KEYED || item->kind != NODE_MAP)
    return (struct element){.index = index};
  *key = (struct key){.fields = fields, .capacity = MAX_KEYS};
  for (unsigned i = 0; i < list->key_count; i++) {
    const struct node *value = node_map_find(item->map, &list->keys[i]);
    if (!value)
      continue;
    views[i].node = *value;
    fields[key->count++] = (struct key_field){list->keys[i], {FORM_TREE, &views[i]}};
  }
  return (struct element){.key = key};
}

static bool decode_list(struct decoder *d, const struct type *type, const struct schema *schema,
                        const struct node_list *list, struct typed_list *out) {
  size_t size = type->elements->size;
  char *items = arena_alloc(d->arena, list->count * size);
  if (!items)
    return no_memory(d);
  for (size_t i = 0; i < list->count; i++) {
    struct key key;
    struct key_field fields[MAX_KEYS];
    struct tree_value views[MAX_KEYS];
    int64_t index = (int64_t)i;
    struct element element = element_of(schema, &list->items[i], &index, &key, fields, views);
    if (list->items[i].kind == NODE_NULL && type->elements->shape != SHAPE_OBJECT) {
      d->path.elements[d->path.length++] = &element;
      return complain(d, "is null, which this list cannot hold");
    }
    if (!decode_child(d, &element, type->elements, schema->elements, &list->items[i],
                      items + i * size))
      return false;
  }
  *out = (struct typed_list){items, list->count};
  return true;
}

struct map_pair {
  struct str key;
  const struct node *value;
};

static int by_key(const void *a, const void *b) {
  return str_order(&((const struct map_pair *)a)->key, &((const struct map_pair *)b)->key);
}

static struct map_pair *sorted_pairs(struct arena *arena, const struct node_map *map) {
  struct map_pair *pairs = arena_alloc(arena, map->count * sizeof *pairs);
  struct map_cursor cursor = {0};
  const struct str *key;
  struct node *value;
  size_t n = 0;
  if (!pairs)
    return NULL;
  while (node_map_next(map, &cursor, &key, &value))
    pairs[n++] = (struct map_pair){*key, value};
  qsort(pairs, n, sizeof *pairs, by_key);
  return pairs;
}

static bool decode_map(struct decoder *d, const struct type *type, const struct schema *schema,
                       const struct node_map *map, struct typed_map *out) {
  size_t size = type->elements->size;
  struct map_pair *pairs = sorted_pairs(d->arena, map);
  struct str *keys = arena_alloc(d->arena, map->count * sizeof *keys);
  char *values = arena_alloc(d->arena, map->count * size);
  if (!pairs || !keys || !values)
    return no_memory(d);
  for (size_t i = 0; i < map->count; i++) {
    struct element element = {.field = &pairs[i].key};
    keys[i] = pairs[i].key;
    if (pairs[i].value->kind == NODE_NULL) {
      d->path.elements[d->path.length++] = &element;
      return complain(d, "is null, which this map cannot hold");
    }
    if (!decode_child(d, &element, type->elements, schema->elements, pairs[i].value,
                      values + i * size))
      return false;
  }
  *out = (struct typed_map){keys, values, map->count};
  return true;
}

/* Fields are in the object, except nested objects, which it points to. */
static bool decode_field(struct decoder *d, const struct field *f, const struct schema *schema,
                         const struct node *node, char *object) {
  struct element element = {.field = &f->name};
  char *at = object + f->offset;
  if (node->kind == NODE_NULL)
    return true; /* null is absent */
  if (f->shape == SHAPE_OBJECT) {
    void *nested = arena_alloc(d->arena, f->type->size);
    if (!nested)
      return no_memory(d);
    *(const void **)at = nested;
    at = nested;
  }
  return decode_child(d, &element, f->type, schema, node, at);
}

static bool decode_object(struct decoder *d, const struct type *type, const struct schema *schema,
                          const struct node_map *map, char *object) {
  struct map_cursor cursor = {0};
  const struct str *key;
  struct node *value;
  while (node_map_next(map, &cursor, &key, &value)) {
    const struct field *f = type_field(type, key);
    if (!f)
      return complain(d, "has a field that is not declared");
    if (!decode_field(d, f, schema_entry(schema, key), value, object))
      return false;
  }
  return true;
}

static bool decode(struct decoder *d, const struct type *type, const struct schema *schema,
                   const struct node *node, void *out) {
  switch (type->shape) {
  case SHAPE_STRING:
    *(struct str *)out = *node->string;
    return true;
  case SHAPE_INTEGER:
    return decode_integer(d, node, out);
  case SHAPE_BOOLEAN:
    *(struct opt_boolean *)out = (struct opt_boolean){node->boolean, true};
    return true;
  case SHAPE_TIME:
  case SHAPE_TIME_OPTIONAL:
    return decode_time(d, node, out);
  case SHAPE_QUANTITY:
    return decode_quantity(d, node, out);
  case SHAPE_INT_OR_STRING:
    return decode_int_or_string(d, node, out);
  case SHAPE_RAW:
    *(struct node *)out = *node; /* shared: opaque parts are read-only */
    return true;
  case SHAPE_LIST:
    return decode_list(d, type, schema, node->list, out);
  case SHAPE_MAP:
    return decode_map(d, type, schema, node->map, out);
  case SHAPE_OBJECT:
  case SHAPE_INLINE:
    return node->kind == NODE_NULL || decode_object(d, type, schema, node->map, out);
  }
  return true;
}

const void *typed_of_tree(const struct object_kind *kind, const struct node *tree,
                          struct arena *arena, char *why, size_t why_size) {
  struct decoder d = {.arena = arena, .why = why, .why_size = why_size};
  void *object = arena_alloc(arena, kind->type->size);
  if (!object) {
    no_memory(&d);
    return NULL;
  }
  return decode(&d, kind->type, kind->schema, tree, object) ? object : NULL;
}
