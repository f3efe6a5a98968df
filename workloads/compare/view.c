/*
 * Reads typed objects through their descriptors and trees through their nodes.
 *
 * Costs: taking and giving back a view is one get and one put; a time viewed is a copy of 24
 * bytes, its text of 24 and a string of 16; a quantity is a copy of 56 bytes, its text and a
 * string of 16; an entry of a typed map is a record of 24 bytes and boxes for key and value.
 */
#include "workloads/compare/view.h"

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

/* Points the view at a present value. On failure it is a null that holds nothing. */
static bool typed_set(struct op *op, struct typed_value *v, const struct type *type,
                      const void *at) {
  bool ok = true;
  typed_value_clear(v);
  v->type = type;
  v->at = at;
  switch (type->shape) {
  case SHAPE_STRING:
    v->kind = NODE_STRING;
    v->string = at;
    break;
  case SHAPE_INTEGER:
    v->kind = NODE_INT;
    break;
  case SHAPE_BOOLEAN:
    v->kind = NODE_BOOL;
    break;
  case SHAPE_TIME:
  case SHAPE_TIME_OPTIONAL:
    ok = view_time(op, v);
    break;
  case SHAPE_QUANTITY:
    ok = view_quantity(op, v);
    break;
  case SHAPE_INT_OR_STRING:
    v->string = &((const struct int_or_string *)at)->text;
    v->kind = v->string->ptr ? NODE_STRING : NODE_INT;
    break;
  case SHAPE_RAW:
    view_raw(v);
    break;
  case SHAPE_LIST:
    v->kind = NODE_LIST;
    break;
  case SHAPE_OBJECT:
  case SHAPE_INLINE:
  case SHAPE_MAP:
    v->kind = NODE_MAP;
    break;
  }
  if (!ok)
    typed_value_clear(v);
  return ok;
}

const void *field_at(const struct field *f, const void *object) {
  const void *at = (const char *)object + f->offset;
  switch (f->shape) {
  case SHAPE_STRING:
    return ((const struct str *)at)->ptr ? at : NULL;
  case SHAPE_INTEGER:
    return ((const struct opt_integer *)at)->set ? at : NULL;
  case SHAPE_BOOLEAN:
    return ((const struct opt_boolean *)at)->set ? at : NULL;
  case SHAPE_TIME:
    return at;
  case SHAPE_TIME_OPTIONAL:
    return ((const struct timestamp *)at)->set ? at : NULL;
  case SHAPE_QUANTITY:
    return ((const struct quantity *)at)->text.ptr ? at : NULL;
  case SHAPE_INT_OR_STRING:
    return ((const struct int_or_string *)at)->set ? at : NULL;
  case SHAPE_RAW:
    return ((const struct node *)at)->kind != NODE_NULL ? at : NULL;
  case SHAPE_OBJECT:
    return *(const void *const *)at;
  case SHAPE_LIST:
    return ((const struct typed_list *)at)->items ? at : NULL;
  case SHAPE_MAP:
    return ((const struct typed_map *)at)->keys ? at : NULL;
  case SHAPE_INLINE:
    break;
  }
  return NULL;
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

enum recycled value_recycled(struct value v) {
  return v.form == FORM_TREE ? KIND_TREE_VALUE : KIND_TYPED_VALUE;
}

void value_put(struct op *op, struct value v) {
  op_put(op, value_recycled(v), v.view);
}

static const struct node *tree_node(struct value v) {
  return &((const struct tree_value *)v.view)->node;
}

static const struct typed_value *typed(struct value v) {
  return v.view;
}

/* The node behind an opaque part of a typed object, or a tree's node; else NULL. */
static const struct node *node_behind(struct value v) {
  if (v.form == FORM_TREE)
    return tree_node(v);
  return typed(v)->type->shape == SHAPE_RAW ? typed(v)->at : NULL;
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

const struct str *value_string(struct value v) {
  return v.form == FORM_TREE ? tree_node(v)->string : typed(v)->string;
}

static bool is_number(enum node_kind k) {
  return k == NODE_INT || k == NODE_FLOAT;
}

int value_order(struct value a, struct value b) {
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
  if (ka == NODE_STRING)
    return str_order(value_string(a), value_string(b));
  return ka == NODE_BOOL ? (int)value_boolean(a) - (int)value_boolean(b) : 0;
}

/* ---- maps ---- */

static const struct typed_value *view_of(struct map_ref m) {
  return m.view; /* structs and typed maps begin with their value */
}

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

void map_put(struct op *op, struct map_ref m) {
  if (m.form == FORM_STRUCT)
    op_put(op, KIND_TYPED_STRUCT, m.view);
  else if (m.form == FORM_TYPED)
    op_put(op, KIND_TYPED_MAP, m.view);
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

#define NOT_FOUND SIZE_MAX

static size_t typed_map_index(const struct typed_map *map, const struct str *key) {
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

/* The value at a key and its type; NULL when there is none. Of structs and typed maps. */
static const void *typed_find(const struct typed_value *m, const struct str *key,
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

/*
 * An entry of a typed map. Keys and values in a map have no address that may be kept, so both
 * are boxed for the visit; a quantity is copied anyway when it is viewed.
 */
struct map_entry {
  const struct str *key;
  const void *value;
  const struct type *type;
};

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

/* Where the walk through a typed map stands. */
struct map_walk {
  const struct typed_map *map;
  const struct type *elements;
  size_t next;
};

static struct map_walk *walk_new(struct op *op, const struct typed_value *m) {
  struct map_walk *w = op_alloc(op, sizeof *w);
  if (w)
    *w = (struct map_walk){m->at, m->type->elements, 0};
  return w;
}

/* An entry of a typed map in a record of its own, with a view set to its value. */
static struct map_entry *entry_open(struct op *op, const struct map_walk *w, size_t i,
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

static void entry_close(struct map_entry *e, struct typed_value *view) {
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
  heap_free(w, sizeof *w);
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

/* ---- zipping ---- */

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
  heap_free(other, sizeof *other);
  heap_free(w, sizeof *w);
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

void list_put(struct op *op, struct list_ref l, enum loss loss) {
  if (l.form == FORM_TYPED)
    op_give_back(op, KIND_TYPED_LIST, l.view, loss);
}

size_t list_length(struct list_ref l) {
  if (l.form == FORM_TREE)
    return ((const struct node_list *)l.view)->count;
  return l.form == FORM_TYPED ? ((const struct typed_list_view *)l.view)->count : 0;
}

bool list_at(struct op *op, struct list_ref l, size_t i, struct value *out) {
  if (l.form == FORM_TREE)
    return value_of_tree(op, &((const struct node_list *)l.view)->items[i], out);
  const struct typed_list_view *v = l.view;
  return value_of_typed(op, v->elements, (const char *)v->items + i * v->elements->size, out);
}

/* ---- equality ---- */

static bool typed_equal(const struct type *type, const void *a, const void *b);

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

/* Deep equality of C objects, without views: what runtime reflection does for two of one type. */
static bool typed_equal(const struct type *type, const void *a, const void *b) {
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

bool value_equal(struct op *op, struct value a, struct value b, bool *equal) {
  enum node_kind ka = value_kind(a), kb = value_kind(b);
  op->visits.equality_calls++;
  *equal = false;
  if (is_number(ka) && is_number(kb)) {
    *equal = ka == NODE_INT && kb == NODE_INT ? value_integer(a) == value_integer(b)
                                              : value_number(a) == value_number(b);
    return true;
  }
  if (ka != kb)
    return true;
  if (a.form == FORM_TYPED && node_behind(a) && node_behind(b)) {
    *equal = node_equal(node_behind(a), node_behind(b));
    return true;
  }
  switch (ka) {
  case NODE_LIST:
    return lists_equal(op, a, b, equal);
  case NODE_MAP:
    return maps_equal(op, a, b, equal);
  case NODE_STRING:
    *equal = str_equal(value_string(a), value_string(b));
    return true;
  case NODE_BOOL:
    *equal = value_boolean(a) == value_boolean(b);
    return true;
  default:
    *equal = true; /* two nulls; numbers are dealt with above */
    return true;
  }
}
