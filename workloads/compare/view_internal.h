/*
 * What the parts of the views (view.c, map.c, zip.c, equal.c) share and nobody else needs.
 */
#ifndef POOLBENCH_COMPARE_VIEW_INTERNAL_H
#define POOLBENCH_COMPARE_VIEW_INTERNAL_H

#include "workloads/compare/view.h"

static inline const struct node *tree_node(struct value v) {
  return &((const struct tree_value *)v.view)->node;
}

static inline const struct typed_value *typed(struct value v) {
  return v.view;
}

/* Of a struct or typed map, whose views begin with their value. */
static inline const struct typed_value *view_of(struct map_ref m) {
  return m.view;
}

/* The node behind an opaque part of a typed object, or a tree's node; else NULL. */
static inline const struct node *node_behind(struct value v) {
  if (v.form == FORM_TREE)
    return tree_node(v);
  return typed(v)->type->shape == SHAPE_RAW ? typed(v)->at : NULL;
}

static inline bool is_number(enum node_kind k) {
  return k == NODE_INT || k == NODE_FLOAT;
}

/* For typed_set: views what is not plain; type and place are set. */
bool typed_set_special(struct op *op, struct typed_value *v);

/*
 * Points the view at a present value, freeing the text it had. When out of memory it returns
 * false, and the view holds nothing.
 */
static inline bool typed_set(struct op *op, struct typed_value *v, const struct type *type,
                             const void *at) {
  if (v->copy)
    typed_value_clear(v);
  v->type = type;
  v->at = v->string = at;
  v->kind = type->kind;
  return type->plain || typed_set_special(op, v);
}

/* The index of a key, or NOT_FOUND. */
#define NOT_FOUND SIZE_MAX
size_t typed_map_index(const struct typed_map *map, const struct str *key);

/* The value at a key of a struct or typed map, and its type; NULL when there is none. */
const void *typed_find(const struct typed_value *m, const struct str *key,
                       const struct type **type);

/* Where the walk through a typed map stands: 24 bytes of the profile. NULL: out of memory. */
struct map_walk {
  const struct typed_map *map;
  const struct type *elements;
  size_t next;
};
struct map_walk *walk_new(struct op *op, const struct typed_value *m);
void walk_free(struct map_walk *w);

/*
 * An entry of a typed map. Keys and values in a map have no address that may be kept, so both
 * are boxed for the visit; a quantity is copied anyway when it is viewed.
 */
struct map_entry {
  const struct str *key;
  const void *value;
  const struct type *type;
};

/* The walk's i-th entry, with the view set to its value. NULL: out of memory. */
struct map_entry *entry_open(struct op *op, const struct map_walk *w, size_t i,
                             struct typed_value *view);
void entry_close(struct map_entry *e, struct typed_value *view);

#endif
