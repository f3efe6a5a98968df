/*
 * Builds trees. Maps are made for as many keys as the type declares fields, not for those that
 * are set, as converters do that size a map by the struct. Whatever is more than a string, number
 * or boolean is converted by a job of its own (24 bytes) into a slot of its own (16 bytes).
 */
#include "workloads/compare/convert.h"

#include "harness/heap.h"
#include "workloads/compare/text.h"
#include "workloads/compare/view.h"

struct job {
  const struct type *type;
  const void *at;
  struct node *slot;
};
_Static_assert(sizeof(struct job) == 24, "the profile's record of a converted field");

static bool convert(struct op *op, const struct type *type, const void *at, struct node *out);

static bool convert_by_job(struct op *op, const struct type *type, const void *at,
                           struct node *out) {
  struct node *slot = op_alloc(op, sizeof *slot);
  struct job *job = slot ? op_alloc(op, sizeof *job) : NULL;
  bool ok = job != NULL;
  *out = (struct node){.kind = NODE_NULL};
  if (ok) {
    *job = (struct job){type, at, slot};
    ok = convert(op, job->type, job->at, job->slot);
    *out = *slot;
  }
  heap_free(job, sizeof *job);
  heap_free(slot, sizeof *slot);
  return ok;
}

/* A string that owns its text; `copy` is what it is written from. */
static bool own_text(struct op *op, size_t len, struct node *out, char **text) {
  *text = op_alloc(op, text_bytes(len));
  if (!*text)
    return false;
  if (!node_string(out, (struct str){.ptr = *text, .len = (uint32_t)len})) {
    heap_free(*text, text_bytes(len));
    return false;
  }
  out->owns_text = true;
  return true;
}

static bool convert_time(struct op *op, const struct timestamp *t, struct node *out) {
  char *text;
  struct timestamp *copy = op_alloc(op, sizeof *copy);
  if (!copy)
    return false;
  *copy = *t;
  bool ok = !copy->set || own_text(op, TIME_TEXT, out, &text);
  if (ok && copy->set)
    time_format(copy, text);
  heap_free(copy, sizeof *copy);
  return ok;
}

static bool convert_quantity(struct op *op, const struct quantity *q, struct node *out) {
  char *text;
  struct quantity *copy = op_alloc(op, sizeof *copy);
  if (!copy)
    return false;
  *copy = *q;
  bool ok = own_text(op, copy->text.len, out, &text);
  if (ok)
    memcpy(text, copy->text.ptr, copy->text.len);
  heap_free(copy, sizeof *copy);
  return ok;
}

static bool convert_list(struct op *op, const struct type *elements, const struct typed_list *list,
                         struct node *out) {
  bool ok = node_list_new(out, list->count);
  for (size_t i = 0; ok && i < list->count; i++)
    ok =
        convert(op, elements, (const char *)list->items + i * elements->size, &out->list->items[i]);
  return ok;
}

static bool convert_map(struct op *op, const struct type *elements, const struct typed_map *map,
                        struct node *out) {
  bool ok = node_map_new(out, map->count);
  for (size_t i = 0; ok && i < map->count; i++) {
    struct node value;
    ok = convert_by_job(op, elements, (const char *)map->values + i * elements->size, &value) &&
         node_map_add(out->map, map->keys[i], value);
  }
  return ok;
}

static bool is_simple(enum shape shape) {
  return shape == SHAPE_STRING || shape == SHAPE_INTEGER || shape == SHAPE_BOOLEAN;
}

static bool convert_simple(enum shape shape, const void *at, struct node *out) {
  if (shape == SHAPE_STRING)
    return node_string(out, *(const struct str *)at);
  if (shape == SHAPE_INTEGER)
    return node_int(out, ((const struct opt_integer *)at)->value);
  *out = (struct node){.kind = NODE_BOOL, .boolean = ((const struct opt_boolean *)at)->value};
  return true;
}

static bool convert_object(struct op *op, const struct type *type, const void *object,
                           struct node *out) {
  bool ok = node_map_new(out, type->declared);
  const struct field *f = type->fields;
  for (const struct field *end = f + type->field_count; ok && f < end; f++) {
    const void *at = field_at(f, object);
    struct node value;
    if (!at)
      continue;
    ok = (is_simple(f->shape) ? convert_simple(f->shape, at, &value)
                              : convert_by_job(op, f->type, at, &value)) &&
         node_map_add(out->map, f->name, value);
  }
  return ok;
}

static bool convert_int_or_string(const struct int_or_string *v, struct node *out) {
  return v->text.ptr ? node_string(out, v->text) : node_int(out, v->number);
}

static bool convert_shape(struct op *op, const struct type *type, const void *at,
                          struct node *out) {
  switch (type->shape) {
  case SHAPE_STRING:
  case SHAPE_INTEGER:
  case SHAPE_BOOLEAN:
    return convert_simple(type->shape, at, out);
  case SHAPE_TIME:
  case SHAPE_TIME_OPTIONAL:
    return convert_time(op, at, out);
  case SHAPE_QUANTITY:
    return convert_quantity(op, at, out);
  case SHAPE_INT_OR_STRING:
    return convert_int_or_string(at, out);
  case SHAPE_RAW:
    return node_copy(out, at);
  case SHAPE_LIST:
    return convert_list(op, type->elements, at, out);
  case SHAPE_MAP:
    return convert_map(op, type->elements, at, out);
  case SHAPE_OBJECT:
  case SHAPE_INLINE:
    return convert_object(op, type, at, out);
  }
  return true;
}

/* On failure *out is a null that holds nothing. */
static bool convert(struct op *op, const struct type *type, const void *at, struct node *out) {
  *out = (struct node){.kind = NODE_NULL};
  if (convert_shape(op, type, at, out))
    return true;
  op->out_of_memory = true;
  node_free(out);
  return false;
}

bool tree_of_typed(struct op *op, const struct type *type, const void *at, struct node *out) {
  return convert(op, type, at, out);
}
