/*
 * Maps: a tree's map, a typed map or a struct; looking up, counting, iterating.
 *
 * Iterating takes one view, reused for every entry. A typed map costs a record of 24 bytes a walk,
 * and an entry of it a record of 24 bytes and boxes for key and value.
 */
#include "workloads/compare/view_internal.h"

#include "harness/heap.h"

bool map_of(struct op *op, struct value v, struct map_ref *out) {
  *out = (struct map_ref){FORM_NONE, NULL};
  if (v.form == FORM_TREE) {
    *out = (struct map_ref){FORM_TREE, tree_node(v)->map};
    return true;
  }
  bool object = typed(v)->type->shape == SHAPE_OBJECT;
  struct typed_value *view = op_get(op, object ? KIND_TYPED_STRUCT : KIND_TYPED_MAP);
  if (!view)
    return false;
  view->type = typed(v)->type;
  view->at = typed(v)->at;
  *out = (struct map_ref){object ? FORM_STRUCT : FORM_TYPED, view};
  return true;
}

static size_t struct_length(const struct typed_value *s) {
  size_t n = 0;
  for (size_t i = 0; i < s->type->field_count; i++)
    n += field_at(&s->type->fields[i], s->at) != NULL;
  return n;
}

size_t map_length(struct map_ref m) {
  switch (m.form) {
  case FORM_TREE:
    return ((const struct node_map *)m.view)->count;
  case FORM_TYPED:
    return ((const struct typed_map *)view_of(m)->at)->count;
  case FORM_STRUCT:
    return struct_length(view_of(m));
  case FORM_NONE:
    break;
  }
  return 0;
}

bool map_empty(struct map_ref m) {
  if (m.form != FORM_STRUCT)
    return map_length(m) == 0;
  const struct typed_value *s = view_of(m);
  for (size_t i = 0; i < s->type->field_count; i++)
    if (field_at(&s->type->fields[i], s->at))
      return false;
  return true;
}

static const void *element_at(const struct typed_map *map, const struct type *elements, size_t i) {
  return (const char *)map->values + i * elements->size;
}

size_t typed_map_index(const struct typed_map *map, const struct str *key) {
  size_t low = 0, high = map->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    int c = str_order(&map->keys[middle], key);
    if (c == 0)
      return middle;
    if (c < 0)
      low = middle + 1;
    else
      high = middle;
  }
  return NOT_FOUND;
}

static const void *typed_map_find(const struct typed_map *map, const struct type *elements,
                                  const struct str *key) {
  size_t i = typed_map_index(map, key);
  return i == NOT_FOUND ? NULL : element_at(map, elements, i);
}

const void *typed_find(const struct typed_value *m, const struct str *key,
                       const struct type **type) {
  if (m->type->shape == SHAPE_MAP) {
    *type = m->type->elements;
    return typed_map_find(m->at, *type, key);
  }
  const struct field *f = type_field(m->type, key);
  *type = f ? f->type : NULL;
  return f ? field_at(f, m->at) : NULL;
}

bool map_get(struct op *op, struct map_ref m, const struct str *key, struct value *out) {
  *out = (struct value){FORM_NONE, NULL};
  if (m.form == FORM_TREE) {
    const struct node *node = node_map_find(m.view, key);
    return node ? value_of_tree(op, node, out) : true;
  }
  const struct type *type;
  const void *at = typed_find(view_of(m), key, &type);
  return at ? value_of_typed(op, type, at, out) : true;
}

static void entry_free(struct map_entry *e) {
  if (e->type->shape != SHAPE_QUANTITY)
    heap_free((void *)e->value, e->type->size);
  heap_free((void *)e->key, sizeof *e->key);
}

static bool entry_box(struct op *op, struct map_entry *e, const struct str *key, const void *value,
                      const struct type *type) {
  struct str *boxed_key = op_alloc(op, sizeof *boxed_key);
  *e = (struct map_entry){boxed_key, value, type};
  if (!boxed_key)
    return false;
  *boxed_key = *key;
  if (type->shape == SHAPE_QUANTITY)
    return true;
  void *boxed_value = op_alloc(op, type->size);
  if (!boxed_value) {
    heap_free(boxed_key, sizeof *boxed_key);
    return false;
  }
  memcpy(boxed_value, value, type->size);
  e->value = boxed_value;
  return true;
}

struct map_walk *walk_new(struct op *op, const struct typed_value *m) {
  struct map_walk *w = op_alloc(op, sizeof *w);
  if (w)
    *w = (struct map_walk){m->at, m->type->elements, 0};
  return w;
}

void walk_free(struct map_walk *w) {
  heap_free(w, sizeof *w);
}

struct map_entry *entry_open(struct op *op, const struct map_walk *w, size_t i,
                             struct typed_value *view) {
  struct map_entry *e = op_alloc(op, sizeof *e);
  if (!e)
    return NULL;
  if (entry_box(op, e, &w->map->keys[i], element_at(w->map, w->elements, i), w->elements)) {
    if (typed_set(op, view, e->type, e->value))
      return e;
    entry_free(e);
  }
  heap_free(e, sizeof *e);
  return NULL;
}

void entry_close(struct map_entry *e, struct typed_value *view) {
  typed_value_clear(view);
  entry_free(e);
  heap_free(e, sizeof *e);
}

static bool visit_typed_entry(struct op *op, struct map_walk *w, struct typed_value *view,
                              map_visitor *visit, void *context) {
  struct map_entry *e = entry_open(op, w, w->next++, view);
  if (!e)
    return false;
  bool ok = visit(context, e->key, (struct value){FORM_TYPED, view});
  entry_close(e, view);
  return ok;
}

static bool iterate_typed_map(struct op *op, const struct typed_value *m, map_visitor *visit,
                              void *context) {
  if (((const struct typed_map *)m->at)->count == 0)
    return true;
  struct typed_value *view = op_get(op, KIND_TYPED_VALUE);
  if (!view)
    return false;
  struct map_walk *w = walk_new(op, m);
  bool ok = w != NULL;
  while (ok && w->next < w->map->count)
    ok = visit_typed_entry(op, w, view, visit, context);
  walk_free(w);
  op_put(op, KIND_TYPED_VALUE, view);
  return ok;
}

static bool iterate_struct(struct op *op, const struct typed_value *s, map_visitor *visit,
                           void *context) {
  struct typed_value *view = op_get(op, KIND_TYPED_VALUE);
  bool ok = view != NULL;
  const struct field *f = s->type->fields;
  for (const struct field *end = f + s->type->field_count; ok && f < end; f++) {
    const void *at = field_at(f, s->at);
    if (at)
      ok = typed_set(op, view, f->type, at) &&
           visit(context, &f->name, (struct value){FORM_TYPED, view});
  }
  if (view)
    op_put(op, KIND_TYPED_VALUE, view);
  return ok;
}

static bool iterate_tree(struct op *op, const struct node_map *map, map_visitor *visit,
                         void *context) {
  struct map_cursor cursor = {0};
  const struct str *key;
  struct node *node;
  if (map->count == 0)
    return true;
  struct tree_value *view = op_get(op, KIND_TREE_VALUE);
  bool ok = view != NULL;
  while (ok && node_map_next(map, &cursor, &key, &node)) {
    view->node = *node;
    ok = visit(context, key, (struct value){FORM_TREE, view});
  }
  if (view)
    op_put(op, KIND_TREE_VALUE, view);
  return ok;
}

bool map_iterate(struct op *op, struct map_ref m, map_visitor *visit, void *context) {
  switch (m.form) {
  case FORM_TREE:
    return iterate_tree(op, m.view, visit, context);
  case FORM_TYPED:
    return iterate_typed_map(op, m.view, visit, context);
  case FORM_STRUCT:
    return iterate_struct(op, m.view, visit, context);
  case FORM_NONE:
    break;
  }
  return true;
}
