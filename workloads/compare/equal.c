/*
 * Deep equality of two views.
 *
 * Lists of typed objects are compared by their descriptors, without views; trees are walked
 * through list ranges and reused views. That is the split which the measured programs make, and
 * with it the number of objects they take.
 */
#include "workloads/compare/view_internal.h"

static bool other_typed_equal(const struct type *type, const void *a, const void *b);

/* Deep equality of C objects, without views: what runtime reflection does for two of one type. */
static inline bool typed_equal(const struct type *type, const void *a, const void *b) {
  return type->shape == SHAPE_STRING ? str_equal(a, b) : other_typed_equal(type, a, b);
}

static bool typed_list_equal(const struct type *elements, const void *a, const void *b, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (!typed_equal(elements, (const char *)a + i * elements->size,
                     (const char *)b + i * elements->size))
      return false;
  return true;
}

static bool typed_map_equal(const struct typed_map *a, const struct typed_map *b,
                            const struct type *elements) {
  if (a->count != b->count)
    return false;
  for (size_t i = 0; i < a->count; i++)
    if (!str_equal(&a->keys[i], &b->keys[i]))
      return false;
  return typed_list_equal(elements, a->values, b->values, a->count);
}

static bool typed_object_equal(const struct type *type, const void *a, const void *b) {
  const struct field *f = type->fields;
  for (const struct field *end = f + type->field_count; f < end; f++) {
    const void *fa = field_at(f, a), *fb = field_at(f, b);
    if (!fa != !fb || (fa && !typed_equal(f->type, fa, fb)))
      return false;
  }
  return true;
}

static bool time_equal(const struct timestamp *a, const struct timestamp *b) {
  return a->set == b->set && (!a->set || a->seconds == b->seconds);
}

static bool int_or_string_equal(const struct int_or_string *a, const struct int_or_string *b) {
  if (!a->text.ptr != !b->text.ptr)
    return false;
  return a->text.ptr ? str_equal(&a->text, &b->text) : a->number == b->number;
}

static bool other_typed_equal(const struct type *type, const void *a, const void *b) {
  switch (type->shape) {
  case SHAPE_STRING:
    return str_equal(a, b);
  case SHAPE_INTEGER:
    return ((const struct opt_integer *)a)->value == ((const struct opt_integer *)b)->value;
  case SHAPE_BOOLEAN:
    return ((const struct opt_boolean *)a)->value == ((const struct opt_boolean *)b)->value;
  case SHAPE_TIME:
  case SHAPE_TIME_OPTIONAL:
    return time_equal(a, b);
  case SHAPE_QUANTITY:
    return str_equal(&((const struct quantity *)a)->text, &((const struct quantity *)b)->text);
  case SHAPE_INT_OR_STRING:
    return int_or_string_equal(a, b);
  case SHAPE_RAW:
    return node_equal(a, b);
  case SHAPE_LIST: {
    const struct typed_list *x = a, *y = b;
    return x->count == y->count && typed_list_equal(type->elements, x->items, y->items, x->count);
  }
  case SHAPE_MAP:
    return typed_map_equal(a, b, type->elements);
  case SHAPE_OBJECT:
  case SHAPE_INLINE:
    return typed_object_equal(type, a, b);
  }
  return false;
}

static struct list_range *range_new(struct op *op, struct list_ref l) {
  struct list_range *r = op_get(op, KIND_LIST_RANGE);
  if (r)
    *r = (struct list_range){.list = l.view, .item = {FORM_TREE, &r->view}};
  return r;
}

static bool range_next(struct list_range *r) {
  if (r->next == r->list->count)
    return false;
  r->view.node = r->list->items[r->next++];
  return true;
}

static bool tree_lists_equal(struct op *op, struct list_ref a, struct list_ref b, bool *equal) {
  if (list_length(a) != list_length(b)) {
    *equal = false;
    return true;
  }
  *equal = true;
  if (list_length(a) == 0)
    return true;
  struct list_range *x = range_new(op, a);
  struct list_range *y = x ? range_new(op, b) : NULL;
  bool ok = y != NULL;
  while (ok && *equal && range_next(x) && range_next(y))
    ok = value_equal(op, x->item, y->item, equal);
  if (y)
    op_put(op, KIND_LIST_RANGE, y);
  if (x)
    op_put(op, KIND_LIST_RANGE, x);
  return ok;
}

static bool lists_equal(struct op *op, struct value a, struct value b, bool *equal) {
  struct list_ref x, y = {FORM_NONE, NULL};
  bool ok = list_of(op, a, &x) && list_of(op, b, &y);
  if (ok && x.form == FORM_TYPED) {
    const struct typed_list_view *l = x.view, *r = y.view;
    *equal = l->count == r->count && typed_list_equal(l->elements, l->items, r->items, l->count);
  } else if (ok) {
    ok = tree_lists_equal(op, x, y, equal);
  }
  list_put(op, y, LOSS_NEVER);
  list_put(op, x, LOSS_NEVER);
  return ok;
}

/* Looks each of the other map's entries up in `map`, through one reused view. */
struct map_comparison {
  struct op *op;
  struct map_ref map;
  struct value mine;
  bool equal;
};

static bool compare_entry(void *context, const struct str *key, struct value value) {
  struct map_comparison *c = context;
  if (c->mine.form == FORM_TREE) {
    const struct node *node = node_map_find(c->map.view, key);
    if (node)
      ((struct tree_value *)c->mine.view)->node = *node;
    return (c->equal = node != NULL) && value_equal(c->op, c->mine, value, &c->equal) && c->equal;
  }
  const struct type *type;
  const void *at = typed_find(view_of(c->map), key, &type);
  c->equal = at != NULL;
  return at && typed_set(c->op, c->mine.view, type, at) &&
         value_equal(c->op, c->mine, value, &c->equal) && c->equal;
}

static bool map_entries_equal(struct op *op, struct map_ref x, struct map_ref y, bool *equal) {
  enum form form = x.form == FORM_TREE ? FORM_TREE : FORM_TYPED;
  struct map_comparison c = {op, x, {form, NULL}, true};
  enum recycled kind = value_recycled(c.mine);
  *equal = false;
  if (map_length(x) != map_length(y))
    return true;
  *equal = true;
  if (x.form != FORM_STRUCT && map_length(x) == 0)
    return true;
  c.mine.view = op_get(op, kind);
  if (!c.mine.view)
    return false;
  bool visited_all = map_iterate(op, y, compare_entry, &c);
  op_put(op, kind, c.mine.view);
  *equal = c.equal;
  return visited_all || !c.equal;
}

static bool maps_equal(struct op *op, struct value a, struct value b, bool *equal) {
  struct map_ref x, y = {FORM_NONE, NULL};
  bool ok = map_of(op, a, &x) && map_of(op, b, &y) && map_entries_equal(op, x, y, equal);
  map_put(op, y);
  map_put(op, x);
  return ok;
}

/* Apart, so that comparing scalars, the common case, needs none of its registers. */
__attribute__((noinline)) static bool deep_equal(struct op *op, struct value a, struct value b,
                                                 bool *equal) {
  if (a.form == FORM_TYPED && node_behind(a) && node_behind(b)) {
    *equal = node_equal(node_behind(a), node_behind(b));
    return true;
  }
  return value_kind(a) == NODE_LIST ? lists_equal(op, a, b, equal) : maps_equal(op, a, b, equal);
}

bool value_equal(struct op *op, struct value a, struct value b, bool *equal) {
  enum node_kind ka = value_kind(a), kb = value_kind(b);
  op->visits.equality_calls++;
  *equal = false;
  if (ka != kb) {
    *equal = is_number(ka) && is_number(kb) && value_number(a) == value_number(b);
    return true;
  }
  switch (ka) {
  case NODE_NULL:
    *equal = true;
    return true;
  case NODE_BOOL:
    *equal = value_boolean(a) == value_boolean(b);
    return true;
  case NODE_INT:
    *equal = value_integer(a) == value_integer(b);
    return true;
  case NODE_FLOAT:
    *equal = value_number(a) == value_number(b);
    return true;
  case NODE_STRING:
    *equal = str_equal(value_string(a), value_string(b));
    return true;
  case NODE_LIST:
  case NODE_MAP:
    return deep_equal(op, a, b, equal);
  }
  return true;
}
