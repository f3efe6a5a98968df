/*
 * Comparison: zips two objects by their schema. Maps are walked by key, keyed lists and sets by
 * their elements, and every leaf (a scalar, an atomic list or map, an empty one, anything opaque)
 * is looked at for a difference, everything else for values that only one side has.
 *
 * Allocates 24 + 48 + 48 + 48 bytes a map and 16 an entry; for a keyed list 48 + 32 + 32 + 16
 * bytes an item and two key records an item; all freed at the end of the map or list.
 */
#include "harness/heap.h"
#include "workloads/compare/walkers.h"

#include <stdio.h>

static void path_of(const struct merge_walker *w, struct path *path) {
  path->length = w->depth;
  for (size_t i = w->depth; w->parent; w = w->parent)
    path->elements[--i] = w->element;
}

static const struct merge_walker *root_of(const struct merge_walker *w) {
  while (w->parent)
    w = w->parent;
  return w;
}

__attribute__((cold, noinline)) static void complain(const struct merge_walker *w, const char *side,
                                                     const char *is, const char *must_be) {
  struct path path;
  char text[REPORT_LINE_SIZE];
  path_of(w, &path);
  path_print(&path, text, sizeof text);
  report_add(root_of(w)->report, text, "%s is %s, must be %s", side, is, must_be);
}

static bool visit(struct merge_walker *w);

static bool visit_child(struct merge_walker *w, const struct element *element, struct value lhs,
                        struct value rhs, const struct schema *schema) {
  struct merge_walker *child = w->child;
  if (!child) {
    complain(w, "the object", "nested too deep", "flatter");
    return true;
  }
  child->lhs = lhs;
  child->rhs = rhs;
  child->schema = schema;
  child->element = element;
  child->in_leaf = false;
  return visit(child);
}

static bool has(struct value v) {
  return v.form != FORM_NONE;
}

/* ---- what is looked for ---- */

static bool insert(struct merge_walker *w, struct field_set *set) {
  struct path path;
  path_of(w, &path);
  return field_set_insert(w->op, set, &path);
}

/* Of a value that is no leaf, after its children. */
static bool compare_presence(struct merge_walker *w) {
  if (!has(w->lhs))
    return insert(w, root_of(w)->result->added);
  return has(w->rhs) || insert(w, root_of(w)->result->removed);
}

static bool compare_leaf(struct merge_walker *w) {
  bool equal;
  w->op->visits.merge_leaves++;
  w->in_leaf = true;
  if (!has(w->lhs) || !has(w->rhs))
    return compare_presence(w);
  if (!value_equal(w->op, w->rhs, w->lhs, &equal))
    return false;
  return equal || insert(w, root_of(w)->result->modified);
}

/* ---- scalars ---- */

/* Is the scalar right, or not there? */
static bool check_scalar(struct merge_walker *w, const char *side, struct value v) {
  if (!has(v) || scalar_fits(w->schema, v))
    return true;
  complain(w, side, kind_text(value_kind(v)), scalar_text(w->schema->scalar));
  return false;
}

static bool visit_scalar(struct merge_walker *w) {
  w->op->visits.merge_scalars++;
  bool left = check_scalar(w, "left", w->lhs), right = check_scalar(w, "right", w->rhs);
  return !left || !right || compare_leaf(w);
}

/* ---- maps ---- */

/* What the visit of two maps hands to the visit of each entry. */
struct map_visit {
  struct merge_walker *walker;
  const struct schema *schema;
  struct node_map *out;
};
_Static_assert(sizeof(struct map_visit) == 24, "the profile's record of a compared map");

static bool visit_entry(void *context, const struct zip_entry *entry) {
  struct map_visit *v = context;
  struct op *op = v->walker->op;
  op->visits.merge_entries++;
  const struct schema *schema = schema_entry(v->schema, &entry->key);
  if (!schema)
    return true; /* validation reported it */
  struct str *key = op_alloc(op, sizeof *key);
  if (!key)
    return false;
  *key = entry->key;
  bool ok = visit_child(v->walker, &(struct element){.field = key}, entry->lhs, entry->rhs, schema);
  heap_free(key, sizeof *key);
  return ok;
}

/* `out` is the merged map's header. compare's rules merge nothing, so it never gets buckets. */
static bool visit_entries(struct merge_walker *w, struct map_ref lhs, struct map_ref rhs) {
  struct map_visit *v = op_alloc(w->op, sizeof *v);
  struct node_map *out = v ? op_alloc(w->op, MAP_HEADER_BYTES) : NULL;
  bool ok = out != NULL;
  if (ok) {
    *out = (struct node_map){0};
    *v = (struct map_visit){w, w->schema, out};
    ok = map_zip(w->op, lhs, rhs, visit_entry, v);
  }
  heap_free(out, MAP_HEADER_BYTES);
  heap_free(v, sizeof *v);
  return ok;
}

/* The map in v, FORM_NONE when there is none, it is null, or (reported) it is something else. */
static bool map_side(struct merge_walker *w, const char *side, struct value v,
                     struct map_ref *out) {
  *out = (struct map_ref){FORM_NONE, NULL};
  if (!has(v) || value_kind(v) == NODE_NULL)
    return true;
  if (value_kind(v) == NODE_MAP)
    return map_of(w->op, v, out);
  complain(w, side, kind_text(value_kind(v)), "an object");
  return true;
}

VISIT_APART static bool visit_map(struct merge_walker *w) {
  struct map_ref lhs, rhs = {FORM_NONE, NULL};
  w->op->visits.merge_maps++;
  bool ok = map_side(w, "left", w->lhs, &lhs) && map_side(w, "right", w->rhs, &rhs);
  if (ok) {
    /* Two empty maps are a leaf, so that empty and null stay different. */
    bool empty = map_empty(lhs) && map_empty(rhs);
    ok = w->schema->relation == RELATION_ATOMIC || empty ? compare_leaf(w)
                                                         : visit_entries(w, lhs, rhs);
  }
  map_put(w->op, rhs);
  map_put(w->op, lhs);
  return ok;
}

/* ---- lists ---- */

/*
 * Both sides of a keyed list. Each right item is found by its element; the order of the right
 * items is kept for those that the left side does not have.
 */
struct list_visit {
  struct merge_walker *walker;
  struct list_ref lhs, rhs;
  struct element_set right; /* elements with values, which own the key records */
  struct element_set left;
  struct element *order; /* copies of the right elements */
  size_t order_count;
  struct node *out; /* the merged items; stays empty, as for maps */
};

__attribute__((cold, noinline)) static void
complain_unkeyed(struct merge_walker *w, const char *side, size_t i, const char *why) {
  char is[ELEMENT_WHY + 40];
  snprintf(is, sizeof is, "a list whose item %zu %s", i, why);
  complain(w, side, is, "keyed");
}

/*
 * The item's view and element; both are held until the list ends. *usable is false when the item
 * has no element, which is reported.
 */
static bool take_item(struct list_visit *v, const char *side, struct list_ref list, size_t i,
                      struct value *item, struct element *element, bool *usable) {
  struct merge_walker *w = v->walker;
  char why[ELEMENT_WHY];
  *usable = false;
  if (!list_at(w->op, list, i, item))
    return false;
  value_hold(w->op, *item, LOSS_STILL);
  if (!element_of_item(w->op, w->schema, *item, element, why))
    return false;
  *usable = *why == '\0';
  if (!*usable)
    complain_unkeyed(w, side, i, why);
  return true;
}

__attribute__((cold, noinline)) static void complain_twice(struct merge_walker *w, const char *side,
                                                           const struct element *element) {
  char text[REPORT_LINE_SIZE], is[REPORT_LINE_SIZE + 40];
  element_print(element, text, sizeof text);
  snprintf(is, sizeof is, "a list with two items of key %s", text);
  complain(w, side, is, "without duplicates");
}

static bool index_right(struct list_visit *v, size_t i) {
  struct merge_walker *w = v->walker;
  struct value item;
  struct element element;
  bool usable, found;
  if (!take_item(v, "right", v->rhs, i, &item, &element, &usable))
    return false;
  if (!usable)
    return true;
  bool ok = element_set_find(w->op, &v->right, &element, &found, NULL);
  if (ok && found)
    complain_twice(w, "right", &element);
  ok = ok && !found && element_set_insert(w->op, &v->right, &element, item);
  if (ok)
    v->order[v->order_count++] = element;
  else
    element_free(&element);
  return ok || !w->op->out_of_memory;
}

static bool visit_left(struct list_visit *v, size_t i) {
  struct merge_walker *w = v->walker;
  struct value item, other;
  struct element element;
  bool usable, found;
  if (!take_item(v, "left", v->lhs, i, &item, &element, &usable))
    return false;
  if (!usable)
    return true;
  bool ok = element_set_find(w->op, &v->left, &element, &found, NULL);
  if (ok && found)
    complain_twice(w, "left", &element);
  ok = ok && !found &&
       element_set_insert(w->op, &v->left, &element, (struct value){FORM_NONE, NULL});
  if (!ok) {
    element_free(&element);
    return !w->op->out_of_memory;
  }
  w->op->visits.merge_items++;
  return element_set_find(w->op, &v->right, &element, &found, &other) &&
         visit_child(w, &element, item, other, w->schema->elements);
}

/* A right item, unless the left side has it. */
static bool visit_right(struct list_visit *v, const struct element *element) {
  struct merge_walker *w = v->walker;
  struct value item;
  bool found;
  if (!element_set_find(w->op, &v->left, element, &found, NULL))
    return false;
  if (found)
    return true;
  w->op->visits.merge_items++;
  return element_set_find(w->op, &v->right, element, &found, &item) &&
         visit_child(w, element, (struct value){FORM_NONE, NULL}, item, w->schema->elements);
}

static bool visit_items(struct list_visit *v, size_t left, size_t right) {
  bool ok = true;
  for (size_t i = 0; ok && i < right; i++)
    ok = index_right(v, i);
  for (size_t i = 0; ok && i < left; i++)
    ok = visit_left(v, i);
  for (size_t i = 0; ok && i < v->order_count; i++)
    ok = visit_right(v, &v->order[i]);
  return ok;
}

static bool visit_lists(struct merge_walker *w, struct list_ref lhs, struct list_ref rhs) {
  struct op *op = w->op;
  struct list_visit v = {.walker = w, .lhs = lhs, .rhs = rhs};
  size_t left = list_length(lhs), right = list_length(rhs), most = left > right ? left : right;
  size_t mark = op_mark(op);
  bool ok = (v.out = op_alloc(op, most * sizeof *v.out)) != NULL &&
            (v.order = op_alloc(op, right * sizeof *v.order)) != NULL &&
            element_set_open(op, &v.right, right, true) &&
            element_set_open(op, &v.left, left, false) && visit_items(&v, left, right);
  element_set_close(&v.left, true);
  element_set_close(&v.right, true);
  heap_free(v.order, right * sizeof *v.order);
  heap_free(v.out, most * sizeof *v.out);
  op_release(op, mark);
  return ok;
}

static bool list_side(struct merge_walker *w, const char *side, struct value v,
                      struct list_ref *out) {
  *out = (struct list_ref){FORM_NONE, NULL};
  if (!has(v) || value_kind(v) == NODE_NULL)
    return true;
  if (value_kind(v) == NODE_LIST)
    return list_of(w->op, v, out);
  complain(w, side, kind_text(value_kind(v)), "a list");
  return true;
}

VISIT_APART static bool visit_list(struct merge_walker *w) {
  struct list_ref lhs, rhs = {FORM_NONE, NULL};
  w->op->visits.merge_lists++;
  bool ok = list_side(w, "left", w->lhs, &lhs) && list_side(w, "right", w->rhs, &rhs);
  if (ok) {
    bool empty = list_length(lhs) == 0 && list_length(rhs) == 0;
    ok = w->schema->relation == RELATION_ATOMIC || empty ? compare_leaf(w)
                                                         : visit_lists(w, lhs, rhs);
  }
  list_put(w->op, rhs, LOSS_NEVER);
  list_put(w->op, lhs, LOSS_NEVER);
  return ok;
}

static bool visit_atom(struct merge_walker *w) {
  switch (w->schema->atom) {
  case ATOM_SCALAR:
    return visit_scalar(w);
  case ATOM_LIST:
    return visit_list(w);
  case ATOM_MAP:
    return visit_map(w);
  case ATOM_ANY:
    return compare_leaf(w);
  }
  return true;
}

static bool visit(struct merge_walker *w) {
  return visit_atom(w) && (w->in_leaf || compare_presence(w));
}

/* ---- compare ---- */

static bool comparison_new(struct op *op, struct comparison *c) {
  *c = (struct comparison){0};
  return (c->removed = field_set_new(op)) != NULL && (c->modified = field_set_new(op)) != NULL &&
         (c->added = field_set_new(op)) != NULL;
}

void comparison_free(struct comparison *c) {
  field_set_free(c->added);
  field_set_free(c->modified);
  field_set_free(c->removed);
  *c = (struct comparison){0};
}

bool compare(struct op *op, struct value lhs, struct value rhs, const struct schema *schema,
             struct comparison *result, struct report *report) {
  struct merge_walker *w = comparison_new(op, result) ? op_get(op, KIND_MERGE_WALKER) : NULL;
  if (!w)
    return false;
  *w = (struct merge_walker){
      .lhs = lhs,
      .rhs = rhs,
      .schema = schema,
      .op = op,
      .child = op->merge_spares,
      .result = result,
      .report = report,
  };
  op->merge_spares->parent = w;
  bool ok = visit(w);
  op_put(op, KIND_MERGE_WALKER, w);
  return ok;
}
