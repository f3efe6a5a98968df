/*
 * Validation: every value is of its schema's type, every field is known, items of keyed lists and
 * sets are unique. Null is right everywhere. All that is wrong is reported, with its path.
 *
 * Allocates 24 + 32 bytes a map, 8 a list and 32 an item of it, and a key record an item of a
 * keyed list, all freed at the end of the map or list.
 */
#include "harness/heap.h"
#include "workloads/compare/walkers.h"

#include <stdarg.h>

/* Reports what is wrong at w's value, or at its child. */
__attribute__((cold, noinline, format(printf, 3, 4))) static void
complain(const struct validate_walker *w, const struct element *child, const char *format, ...) {
  struct path path = {.length = w->depth + (child != NULL)};
  char text[REPORT_LINE_SIZE];
  size_t i = path.length;
  if (child)
    path.elements[--i] = child;
  for (; w->parent; w = w->parent)
    path.elements[--i] = w->element;
  path_print(&path, text, sizeof text);
  va_list args;
  va_start(args, format);
  report_vadd(w->report, text, format, args);
  va_end(args);
}

static bool visit(struct validate_walker *w);

static bool visit_child(struct validate_walker *w, const struct element *element,
                        struct value value, const struct schema *schema) {
  struct validate_walker *child = w->child;
  if (!child) {
    complain(w, element, "is nested more than %d levels deep", MAX_DEPTH);
    return true;
  }
  child->value = value;
  child->schema = schema;
  child->element = element;
  return visit(child);
}

const char *kind_text(enum node_kind kind) {
  static const char *const texts[] = {
      [NODE_NULL] = "null",      [NODE_BOOL] = "a boolean",  [NODE_INT] = "a number",
      [NODE_FLOAT] = "a number", [NODE_STRING] = "a string", [NODE_LIST] = "a list",
      [NODE_MAP] = "an object",
  };
  return texts[kind];
}

const char *scalar_text(enum scalar scalar) {
  static const char *const texts[] = {
      [SCALAR_STRING] = "a string",
      [SCALAR_NUMERIC] = "a number",
      [SCALAR_BOOLEAN] = "a boolean",
      [SCALAR_UNTYPED] = "a string or a number",
  };
  return texts[scalar];
}

static bool visit_scalar(struct validate_walker *w) {
  w->op->visits.validate_scalars++;
  if (!scalar_fits(w->schema, w->value))
    complain(w, NULL, "is %s, must be %s", kind_text(value_kind(w->value)),
             scalar_text(w->schema->scalar));
  return true;
}

/* What the visit of a map hands to the visit of each entry. */
struct map_visit {
  struct validate_walker *walker;
  const struct schema *schema;
  struct element *element;
};
_Static_assert(sizeof(struct map_visit) == 24, "the profile's record of a validated map");

static bool visit_entry(void *context, const struct str *key, struct value value) {
  struct map_visit *v = context;
  v->walker->op->visits.validate_entries++;
  v->element->field = key;
  const struct schema *schema = schema_entry(v->schema, key);
  if (schema)
    return visit_child(v->walker, v->element, value, schema);
  complain(v->walker, v->element, "is not a field of this object");
  return true;
}

static bool visit_entries(struct validate_walker *w, struct map_ref map) {
  struct map_visit *v = op_alloc(w->op, sizeof *v);
  struct element *element = v ? op_alloc(w->op, sizeof *element) : NULL;
  bool ok = element != NULL;
  if (ok) {
    *element = (struct element){0};
    *v = (struct map_visit){w, w->schema, element};
    ok = map_iterate(w->op, map, visit_entry, v);
  }
  heap_free(element, sizeof *element);
  heap_free(v, sizeof *v);
  return ok;
}

VISIT_APART static bool visit_map(struct validate_walker *w) {
  struct map_ref map;
  w->op->visits.validate_maps++;
  if (value_kind(w->value) == NODE_NULL)
    return true;
  if (value_kind(w->value) != NODE_MAP) {
    complain(w, NULL, "is %s, must be %s", kind_text(value_kind(w->value)), "an object");
    return true;
  }
  if (!map_of(w->op, w->value, &map))
    return false;
  bool ok = visit_entries(w, map);
  map_put(w->op, map);
  return ok;
}

/* What the visit of a list keeps until its end. */
struct list_visit {
  struct validate_walker *walker;
  struct list_ref list;
  struct element_set seen;
  int64_t *index; /* of the item being visited */
};

__attribute__((cold, noinline)) static void complain_twice(struct validate_walker *w,
                                                           const struct element *element) {
  char text[REPORT_LINE_SIZE];
  element_print(element, text, sizeof text);
  complain(w, NULL, "has two items with the key %s", text);
}

/* Makes the item's element and checks that it is new. *go_on: the item can be visited. */
static bool identify(struct list_visit *v, struct value item, struct element *element,
                     bool *go_on) {
  struct validate_walker *w = v->walker;
  char why[ELEMENT_WHY];
  bool found;
  *go_on = true;
  *element = (struct element){.index = v->index};
  if (w->schema->relation == RELATION_ATOMIC)
    return true;
  if (!element_of_item(w->op, w->schema, item, element, why))
    return false;
  if (*why) {
    *go_on = false;
    complain(w, &(struct element){.index = v->index}, "%s", why);
    return true;
  }
  if (!element_set_find(w->op, &v->seen, element, &found, NULL))
    return false;
  if (found) {
    *go_on = false;
    complain_twice(w, element);
    return true;
  }
  return element_set_insert(w->op, &v->seen, element, (struct value){FORM_NONE, NULL});
}

static bool visit_item(struct list_visit *v) {
  struct validate_walker *w = v->walker;
  struct value item;
  struct element element;
  bool go_on;
  w->op->visits.validate_items++;
  if (!list_at(w->op, v->list, (size_t)*v->index, &item))
    return false;
  value_hold(w->op, item, LOSS_BEFORE);
  size_t seen = v->seen.count;
  bool ok = identify(v, item, &element, &go_on);
  ok = ok && (!go_on || visit_child(w, &element, item, w->schema->elements));
  if (v->seen.count == seen)
    element_free(&element); /* the set did not take it over */
  return ok;
}

static bool visit_items(struct validate_walker *w, struct list_ref list) {
  struct list_visit v = {.walker = w, .list = list};
  size_t count = list_length(list), mark = op_mark(w->op);
  v.index = op_alloc(w->op, sizeof *v.index);
  bool ok = v.index && element_set_open(w->op, &v.seen, count, false);
  for (size_t i = 0; ok && i < count; i++) {
    *v.index = (int64_t)i;
    ok = visit_item(&v);
  }
  element_set_close(&v.seen, true);
  heap_free(v.index, sizeof *v.index);
  op_release(w->op, mark);
  return ok;
}

VISIT_APART static bool visit_list(struct validate_walker *w) {
  struct list_ref list;
  w->op->visits.validate_lists++;
  if (value_kind(w->value) == NODE_NULL)
    return true;
  if (value_kind(w->value) != NODE_LIST) {
    complain(w, NULL, "is %s, must be %s", kind_text(value_kind(w->value)), "a list");
    return true;
  }
  if (!list_of(w->op, w->value, &list))
    return false;
  bool ok = visit_items(w, list);
  list_put(w->op, list, LOSS_BEFORE);
  return ok;
}

static bool visit(struct validate_walker *w) {
  switch (w->schema->atom) {
  case ATOM_SCALAR:
    return visit_scalar(w);
  case ATOM_LIST:
    return visit_list(w);
  case ATOM_MAP:
    return visit_map(w);
  case ATOM_ANY:
    return true;
  }
  return true;
}

bool validate(struct op *op, struct value value, const struct schema *schema,
              struct report *report) {
  struct validate_walker *w = op_get(op, KIND_VALIDATE_WALKER);
  if (!w)
    return false;
  *w = (struct validate_walker){
      .value = value,
      .schema = schema,
      .op = op,
      .child = op->validate_spares,
      .report = report,
  };
  op->validate_spares->parent = w;
  bool ok = visit(w);
  op_put(op, KIND_VALIDATE_WALKER, w);
  return ok;
}
