/*
 * Two maps at once, by key. Structs of one type are walked side by side by their descriptors;
 * other maps by iterating one and looking up in the other.
 *
 * Costs 48 + 48 bytes a pair of maps; two views for a pair of structs or typed maps; for trees one
 * view a side and another for each key found, which is boxed (16 bytes).
 */
#include "workloads/compare/view_internal.h"

#include "harness/heap.h"

/* A walk over two maps at once; entry is what the visitor sees. */
struct zip {
  struct op *op;
  zip_visitor *visit;
  void *context;
  struct zip_entry *entry;
  struct map_ref other;
};
_Static_assert(sizeof(struct zip) == 48 && sizeof(struct zip_entry) == 48,
               "the profile's records of a compared map");

static bool zip_structs(struct zip *z, const struct typed_value *l, const struct typed_value *r) {
  struct typed_value *lv = op_get(z->op, KIND_TYPED_VALUE);
  struct typed_value *rv = lv ? op_get(z->op, KIND_TYPED_VALUE) : NULL;
  bool ok = rv != NULL;
  const struct field *f = l->type->fields;
  for (const struct field *end = f + l->type->field_count; ok && f < end; f++) {
    const void *la = field_at(f, l->at), *ra = field_at(f, r->at);
    if (!la && !ra)
      continue;
    ok = (!la || typed_set(z->op, lv, f->type, la)) && (!ra || typed_set(z->op, rv, f->type, ra));
    *z->entry = (struct zip_entry){
        .key = f->name,
        .lhs = {la ? FORM_TYPED : FORM_NONE, la ? lv : NULL},
        .rhs = {ra ? FORM_TYPED : FORM_NONE, ra ? rv : NULL},
    };
    ok = ok && z->visit(z->context, z->entry);
  }
  if (rv)
    op_put(z->op, KIND_TYPED_VALUE, rv);
  if (lv)
    op_put(z->op, KIND_TYPED_VALUE, lv);
  return ok;
}

/* A look-up in a typed map takes a copy of the key, of the map's own key type. */
static bool find_boxed(struct op *op, const struct map_walk *w, const struct str *key,
                       size_t *index) {
  struct str *boxed = op_alloc(op, sizeof *boxed);
  if (!boxed)
    return false;
  *boxed = *key;
  *index = typed_map_index(w->map, boxed);
  heap_free(boxed, sizeof *boxed);
  return true;
}

/* The right side of an entry whose left side is `l`; passes both on. */
static bool zip_found(struct zip *z, const struct map_walk *other, const struct map_entry *l,
                      struct typed_value *lv, struct typed_value *rv) {
  size_t index;
  struct map_entry *r = NULL;
  if (!find_boxed(z->op, other, l->key, &index))
    return false;
  if (index != NOT_FOUND && !(r = entry_open(z->op, other, index, rv)))
    return false;
  *z->entry = (struct zip_entry){
      .key = *l->key,
      .lhs = {FORM_TYPED, lv},
      .rhs = {r ? FORM_TYPED : FORM_NONE, r ? rv : NULL},
  };
  bool ok = z->visit(z->context, z->entry);
  if (r)
    entry_close(r, rv);
  return ok;
}

static bool zip_typed_entry(struct zip *z, struct map_walk *w, const struct map_walk *other,
                            struct typed_value *lv, struct typed_value *rv) {
  struct map_entry *l = entry_open(z->op, w, w->next++, lv);
  if (!l)
    return false;
  bool ok = zip_found(z, other, l, lv, rv);
  entry_close(l, lv);
  return ok;
}

static bool other_has(const struct zip *z, const struct str *key) {
  const struct type *type;
  if (z->other.form == FORM_NONE)
    return false;
  if (z->other.form == FORM_TREE)
    return node_map_find(z->other.view, key) != NULL;
  return typed_find(view_of(z->other), key, &type) != NULL;
}

/* A key of the right map; passed over when the left one, z->other, has it too. */
static bool visit_right_only(void *context, const struct str *key, struct value value) {
  struct zip *z = context;
  if (other_has(z, key))
    return true;
  *z->entry = (struct zip_entry){.key = *key, .lhs = {FORM_NONE, NULL}, .rhs = value};
  return z->visit(z->context, z->entry);
}

static bool has_all_keys(const struct typed_map *map, const struct typed_map *of) {
  for (size_t i = 0; i < of->count; i++)
    if (typed_map_index(map, &of->keys[i]) == NOT_FOUND)
      return false;
  return true;
}

static bool zip_typed_maps(struct zip *z, struct map_ref lhs, struct map_ref rhs) {
  struct op *op = z->op;
  const struct typed_map *right = view_of(rhs)->at;
  struct typed_value *lv = op_get(op, KIND_TYPED_VALUE);
  struct typed_value *rv = lv ? op_get(op, KIND_TYPED_VALUE) : NULL;
  struct map_walk *w = rv ? walk_new(op, view_of(lhs)) : NULL;
  struct map_walk *other = w ? walk_new(op, view_of(rhs)) : NULL;
  bool ok = other != NULL;
  while (ok && w->next < w->map->count)
    ok = zip_typed_entry(z, w, other, lv, rv);
  z->other = lhs;
  ok = ok && (has_all_keys(w->map, right) || map_iterate(op, rhs, visit_right_only, z));
  walk_free(other);
  walk_free(w);
  if (rv)
    op_put(op, KIND_TYPED_VALUE, rv);
  if (lv)
    op_put(op, KIND_TYPED_VALUE, lv);
  return ok;
}

/* A key of the left tree; the right value, when there is one, is boxed for the visit. */
static bool visit_left(void *context, const struct str *key, struct value value) {
  struct zip *z = context;
  struct value *found = op_alloc(z->op, sizeof *found);
  if (!found)
    return false;
  bool ok = map_get(z->op, z->other, key, found);
  if (ok) {
    *z->entry = (struct zip_entry){.key = *key, .lhs = value, .rhs = *found};
    ok = z->visit(z->context, z->entry);
  }
  if (found->form != FORM_NONE)
    value_put(z->op, *found);
  heap_free(found, sizeof *found);
  return ok;
}

static bool visit_left_only(void *context, const struct str *key, struct value value) {
  struct zip *z = context;
  *z->entry = (struct zip_entry){.key = *key, .lhs = value, .rhs = {FORM_NONE, NULL}};
  return z->visit(z->context, z->entry);
}

static bool zip_maps(struct zip *z, struct map_ref lhs, struct map_ref rhs) {
  if (lhs.form == FORM_NONE)
    return map_iterate(z->op, rhs, visit_right_only, z);
  if (rhs.form == FORM_NONE)
    return map_iterate(z->op, lhs, visit_left_only, z);
  if (lhs.form == FORM_STRUCT && rhs.form == FORM_STRUCT)
    return zip_structs(z, view_of(lhs), view_of(rhs));
  if (lhs.form == FORM_TYPED && rhs.form == FORM_TYPED)
    return zip_typed_maps(z, lhs, rhs);
  z->other = rhs;
  if (!map_iterate(z->op, lhs, visit_left, z))
    return false;
  z->other = lhs;
  return map_iterate(z->op, rhs, visit_right_only, z);
}

bool map_zip(struct op *op, struct map_ref lhs, struct map_ref rhs, zip_visitor *visit,
             void *context) {
  if (map_empty(lhs) && map_empty(rhs))
    return true;
  struct zip *z = op_alloc(op, sizeof *z);
  struct zip_entry *entry = z ? op_alloc(op, sizeof *entry) : NULL;
  bool ok = entry != NULL;
  if (ok) {
    *z = (struct zip){op, visit, context, entry, {FORM_NONE, NULL}};
    ok = zip_maps(z, lhs, rhs);
  }
  heap_free(entry, sizeof *entry);
  heap_free(z, sizeof *z);
  return ok;
}
