/*
 * Views of single values and of lists. See map.c for maps, zip.c for two maps at once, equal.c for
 * equality.
 *
 * Costs: taking and giving back a view is one get and one put; a time viewed is a copy of 24
 * bytes, its text of 24 and a string of 16; a quantity is a copy of 56 bytes, its text and a
 * string of 16.
 */
#include "workloads/compare/view_internal.h"

#include "harness/heap.h"
#include "workloads/compare/text.h"

/* ---- typed values ---- */

static size_t copy_bytes(const struct type *type) {
  return type->shape == SHAPE_QUANTITY ? sizeof(struct quantity) : sizeof(struct timestamp);
}

static void drop_text(struct typed_value *v) {
  if (v->text) {
    if (v->text->ptr)
      heap_free((char *)v->text->ptr, text_bytes(v->text->len));
    heap_free(v->text, sizeof *v->text);
  }
  heap_free(v->copy, copy_bytes(v->type));
  v->text = NULL;
  v->copy = NULL;
}

void typed_value_clear(void *view) {
  struct typed_value *v = view;
  if (v->copy)
    drop_text(v);
}

/* The text goes into a string of its own: values are not converted in place. */
static char *text_new(struct op *op, struct typed_value *v, size_t len) {
  char *text = op_alloc(op, text_bytes(len));
  if (text)
    *v->text = (struct str){.ptr = text, .len = (uint32_t)len};
  return text;
}

/* A time is viewed as the API writes it: a copy is made, and its text unless it is unset. */
static bool view_time(struct op *op, struct typed_value *v) {
  struct timestamp *copy = v->copy = op_alloc(op, sizeof *copy);
  if (!copy)
    return false;
  *copy = *(const struct timestamp *)v->at;
  v->text = op_alloc(op, sizeof *v->text);
  if (!v->text)
    return false;
  *v->text = (struct str){0};
  v->kind = NODE_NULL;
  if (!copy->set)
    return true;
  char *text = text_new(op, v, TIME_TEXT);
  if (!text)
    return false;
  time_format(copy, text);
  v->kind = NODE_STRING;
  v->string = v->text;
  return true;
}

static bool view_quantity(struct op *op, struct typed_value *v) {
  struct quantity *copy = v->copy = op_alloc(op, sizeof *copy);
  if (!copy)
    return false;
  *copy = *(const struct quantity *)v->at;
  v->text = op_alloc(op, sizeof *v->text);
  if (!v->text)
    return false;
  *v->text = (struct str){0};
  char *text = text_new(op, v, copy->text.len);
  if (!text)
    return false;
  memcpy(text, copy->text.ptr, copy->text.len);
  v->kind = NODE_STRING;
  v->string = v->text;
  return true;
}

static void view_raw(struct typed_value *v) {
  const struct node *node = v->at;
  v->kind = node->kind;
  v->string = node->kind == NODE_STRING ? node->string : NULL;
}

bool typed_set_special(struct op *op, struct typed_value *v) {
  bool ok = true;
  switch (v->type->shape) {
  case SHAPE_TIME:
  case SHAPE_TIME_OPTIONAL:
    ok = view_time(op, v);
    break;
  case SHAPE_QUANTITY:
    ok = view_quantity(op, v);
    break;
  case SHAPE_INT_OR_STRING:
    v->string = &((const struct int_or_string *)v->at)->text;
    v->kind = v->string->ptr ? NODE_STRING : NODE_INT;
    break;
  default:
    view_raw(v);
    break;
  }
  if (!ok)
    typed_value_clear(v);
  return ok;
}

/* ---- values ---- */

bool value_of_typed(struct op *op, const struct type *type, const void *at, struct value *out) {
  struct typed_value *v = op_get(op, KIND_TYPED_VALUE);
  *out = (struct value){FORM_NONE, NULL};
  if (!v)
    return false;
  if (!typed_set(op, v, type, at)) {
    op_put(op, KIND_TYPED_VALUE, v);
    return false;
  }
  *out = (struct value){FORM_TYPED, v};
  return true;
}

bool value_of_tree(struct op *op, const struct node *node, struct value *out) {
  struct tree_value *v = op_get(op, KIND_TREE_VALUE);
  *out = (struct value){FORM_NONE, NULL};
  if (!v)
    return false;
  v->node = *node;
  *out = (struct value){FORM_TREE, v};
  return true;
}

bool value_boolean(struct value v) {
  const struct node *node = node_behind(v);
  return node ? node->boolean : ((const struct opt_boolean *)typed(v)->at)->value;
}

int64_t value_integer(struct value v) {
  const struct node *node = node_behind(v);
  if (node)
    return *node->integer;
  if (typed(v)->type->shape == SHAPE_INT_OR_STRING)
    return ((const struct int_or_string *)typed(v)->at)->number;
  return ((const struct opt_integer *)typed(v)->at)->value;
}

double value_number(struct value v) {
  if (value_kind(v) == NODE_FLOAT)
    return *node_behind(v)->real;
  return (double)value_integer(v);
}

int value_order_mixed(struct value a, struct value b) {
  enum node_kind ka = value_kind(a), kb = value_kind(b);
  if (ka == NODE_INT && kb == NODE_INT) {
    int64_t x = value_integer(a), y = value_integer(b);
    return (x > y) - (x < y);
  }
  if (is_number(ka) && is_number(kb)) {
    double x = value_number(a), y = value_number(b);
    return (x > y) - (x < y);
  }
  if (ka != kb)
    return ka < kb ? -1 : 1;
  return ka == NODE_BOOL ? (int)value_boolean(a) - (int)value_boolean(b) : 0;
}

/* ---- lists ---- */

bool list_of(struct op *op, struct value v, struct list_ref *out) {
  *out = (struct list_ref){FORM_NONE, NULL};
  if (v.form == FORM_TREE) {
    *out = (struct list_ref){FORM_TREE, tree_node(v)->list};
    return true;
  }
  struct typed_list_view *view = op_get(op, KIND_TYPED_LIST);
  if (!view)
    return false;
  const struct typed_list *list = typed(v)->at;
  *view = (struct typed_list_view){typed(v)->type->elements, list->items, list->count};
  *out = (struct list_ref){FORM_TYPED, view};
  return true;
}

bool list_at(struct op *op, struct list_ref l, size_t i, struct value *out) {
  if (l.form == FORM_TREE)
    return value_of_tree(op, &((const struct node_list *)l.view)->items[i], out);
  const struct typed_list_view *v = l.view;
  return value_of_typed(op, v->elements, (const char *)v->items + i * v->elements->size, out);
}
