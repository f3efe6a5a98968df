/*
 * Value views: one way to read typed objects and trees, through small recycled objects.
 *
 * A view says what a value is and where it lies; it owns nothing of the object. Views come from
 * the strategy and go back to it, always in reverse order. What else a view needs (the text of a
 * time, the copied key and value of a typed map's entry) comes from the counted heap and goes
 * with the view's next use, at the same places and in the same sizes as in the measured programs.
 *
 * Functions that return bool return false only when out of memory (op->out_of_memory is set), or
 * when a callback did.
 */
#ifndef POOLBENCH_COMPARE_VIEW_H
#define POOLBENCH_COMPARE_VIEW_H

#include "workloads/compare/catalog.h"
#include "workloads/compare/op.h"

enum form { FORM_NONE, FORM_TREE, FORM_TYPED, FORM_STRUCT };

/* A value, two words: NONE, or a view of a node, or a view of a typed value. */
struct value {
  enum form form;
  void *view;
};

struct tree_value {
  struct node node; /* a shallow copy */
};

struct typed_value {
  const struct type *type;
  const void *at;           /* the C object, pointers followed */
  const struct str *string; /* of NODE_STRING, else not to be looked at */
  void *copy;               /* of a time or quantity, while it is viewed as text */
  struct str *text;         /* its text */
  uint8_t kind;             /* enum node_kind */
};

/* Structs and typed maps: a value that is known to be a map. */
struct typed_struct {
  struct typed_value value;
};
struct typed_map_view {
  struct typed_value value;
};

struct typed_list_view {
  const struct type *elements;
  const void *items;
  size_t count;
};

/* Walks a tree's list; its one value is reused for every item. */
struct list_range {
  const struct node_list *list;
  size_t next;
  struct value item;
  struct tree_value view;
};

_Static_assert(sizeof(struct value) == 16, "a value is two words");
_Static_assert(sizeof(struct tree_value) == 16, "kind sizes are those of the profile");
_Static_assert(sizeof(struct typed_value) == 48, "kind sizes are those of the profile");
_Static_assert(sizeof(struct typed_struct) == 48, "kind sizes are those of the profile");
_Static_assert(sizeof(struct typed_map_view) == 48, "kind sizes are those of the profile");
_Static_assert(sizeof(struct typed_list_view) == 24, "kind sizes are those of the profile");
_Static_assert(sizeof(struct list_range) == 48, "kind sizes are those of the profile");

/* For the kind table: a typed value frees its text before it is recycled or dropped. */
void typed_value_clear(void *view);

/* Where a field's value is (pointers followed), or NULL when the object does not have it. */
static inline const void *field_at(const struct field *f, const void *object) {
  const char *at = (const char *)object + f->offset;
  const char *presence = (const char *)object + f->presence_offset;
  if (f->presence == PRESENCE_POINTER || f->presence == PRESENCE_TARGET) {
    const void *pointer;
    memcpy(&pointer, presence, sizeof pointer);
    return f->presence == PRESENCE_TARGET || !pointer ? pointer : at;
  }
  return f->presence == PRESENCE_ALWAYS || *presence ? at : NULL;
}

/* The first view of an object. */
bool value_of_typed(struct op *op, const struct type *type, const void *at, struct value *out);
bool value_of_tree(struct op *op, const struct node *node, struct value *out);

static inline enum recycled value_recycled(struct value v) {
  return v.form == FORM_TREE ? KIND_TREE_VALUE : KIND_TYPED_VALUE;
}
static inline void value_put(struct op *op, struct value v) {
  op_put(op, value_recycled(v), v.view);
}
static inline void value_hold(struct op *op, struct value v, enum loss loss) {
  op_hold(op, value_recycled(v), v.view, loss);
}

static inline enum node_kind value_kind(struct value v) {
  if (v.form == FORM_TREE)
    return (enum node_kind)((const struct tree_value *)v.view)->node.kind;
  return (enum node_kind)((const struct typed_value *)v.view)->kind;
}

/* Of NODE_BOOL, NODE_INT, NODE_INT or NODE_FLOAT, NODE_STRING. */
bool value_boolean(struct value v);
int64_t value_integer(struct value v);
double value_number(struct value v);
static inline const struct str *value_string(struct value v) {
  if (v.form == FORM_TREE)
    return ((const struct tree_value *)v.view)->node.string;
  return ((const struct typed_value *)v.view)->string;
}

/* For value_order: of two that are not both strings. */
int value_order_mixed(struct value a, struct value b);

/* Order of scalars, across kinds by kind (numbers by value): for sets of path elements. */
static inline int value_order(struct value a, struct value b) {
  if (value_kind(a) == NODE_STRING && value_kind(b) == NODE_STRING)
    return str_order(value_string(a), value_string(b));
  return value_order_mixed(a, b);
}

/* Maps: a tree's map, a typed map or a struct. */
struct map_ref {
  enum form form; /* NONE, TREE, TYPED, STRUCT */
  void *view;     /* struct node_map for FORM_TREE, which needs no view */
};
bool map_of(struct op *op, struct value v, struct map_ref *out);
static inline void map_put(struct op *op, struct map_ref m) {
  if (m.form == FORM_STRUCT)
    op_put(op, KIND_TYPED_STRUCT, m.view);
  else if (m.form == FORM_TYPED)
    op_put(op, KIND_TYPED_MAP, m.view);
}
bool map_empty(struct map_ref m);
size_t map_length(struct map_ref m);

/* *out is FORM_NONE when the key is not there. */
bool map_get(struct op *op, struct map_ref m, const struct str *key, struct value *out);

/* The value is valid during the call. */
typedef bool map_visitor(void *context, const struct str *key, struct value value);
bool map_iterate(struct op *op, struct map_ref m, map_visitor *visit, void *context);

/* One key of two maps; a side without it is FORM_NONE. */
struct zip_entry {
  struct str key;
  struct value lhs, rhs;
};
typedef bool zip_visitor(void *context, const struct zip_entry *entry);

/* Both maps by key; either may be FORM_NONE. Maps of one struct type are walked side by side. */
bool map_zip(struct op *op, struct map_ref lhs, struct map_ref rhs, zip_visitor *visit,
             void *context);

struct list_ref {
  enum form form; /* NONE, TREE, TYPED */
  void *view;     /* struct node_list for FORM_TREE, which needs no view */
};
bool list_of(struct op *op, struct value v, struct list_ref *out);
static inline void list_put(struct op *op, struct list_ref l, enum loss loss) {
  if (l.form == FORM_TYPED)
    op_give_back(op, KIND_TYPED_LIST, l.view, loss);
}
static inline size_t list_length(struct list_ref l) {
  if (l.form == FORM_TREE)
    return ((const struct node_list *)l.view)->count;
  return l.form == FORM_TYPED ? ((const struct typed_list_view *)l.view)->count : 0;
}
bool list_at(struct op *op, struct list_ref l, size_t i, struct value *out);

/* Deep equality; numbers are equal across int and float. */
bool value_equal(struct op *op, struct value a, struct value b, bool *equal);

#endif
