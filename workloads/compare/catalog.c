/*
 * Builds descriptors and schemas from the field tables, as a schema generator does from the
 * source of the API. Each struct type is resolved once and shared by all its uses.
 */
#include "workloads/compare/catalog.h"

#include <stdlib.h>

struct resolved {
  const struct type_def *def;
  const struct type *type;
  const struct schema *schema;
  struct resolved *next;
};

struct builder {
  struct arena *arena;
  struct resolved *resolved;
};

/* A type and its schema; NULL type when out of memory. */
struct pair {
  const struct type *type;
  const struct schema *schema;
};

static struct pair resolve(struct builder *b, const struct type_def *def);

static enum scalar scalar_of(enum shape shape) {
  switch (shape) {
  case SHAPE_INTEGER:
    return SCALAR_NUMERIC;
  case SHAPE_BOOLEAN:
    return SCALAR_BOOLEAN;
  case SHAPE_INT_OR_STRING:
  case SHAPE_QUANTITY:
    return SCALAR_UNTYPED;
  default:
    return SCALAR_STRING;
  }
}

/* The kind of a value that is viewed as it lies there; false for those that depend on the value or
 * need a text. */
static bool plain_kind(enum shape shape, uint8_t *kind) {
  switch (shape) {
  case SHAPE_STRING:
    *kind = NODE_STRING;
    return true;
  case SHAPE_INTEGER:
    *kind = NODE_INT;
    return true;
  case SHAPE_BOOLEAN:
    *kind = NODE_BOOL;
    return true;
  case SHAPE_LIST:
    *kind = NODE_LIST;
    return true;
  case SHAPE_OBJECT:
  case SHAPE_INLINE:
  case SHAPE_MAP:
    *kind = NODE_MAP;
    return true;
  default:
    return false;
  }
}

/* Null is right everywhere. */
static unsigned kinds_of(enum scalar scalar) {
  static const unsigned kinds[] = {
      [SCALAR_STRING] = 1u << NODE_STRING,
      [SCALAR_NUMERIC] = 1u << NODE_INT | 1u << NODE_FLOAT,
      [SCALAR_BOOLEAN] = 1u << NODE_BOOL,
      [SCALAR_UNTYPED] = 1u << NODE_STRING | 1u << NODE_INT | 1u << NODE_FLOAT,
  };
  return kinds[scalar] | 1u << NODE_NULL;
}

static struct type *type_new(struct builder *b, enum shape shape, size_t size) {
  struct type *type = arena_alloc(b->arena, sizeof *type);
  if (!type)
    return NULL;
  type->shape = shape;
  type->plain = plain_kind(shape, &type->kind);
  type->size = size;
  return type;
}

static struct pair scalar_pair(struct builder *b, enum shape shape, size_t size) {
  struct type *type = type_new(b, shape, size);
  struct schema *schema = arena_alloc(b->arena, sizeof *schema);
  if (!type || !schema)
    return (struct pair){0};
  schema->atom = shape == SHAPE_RAW ? ATOM_ANY : ATOM_SCALAR;
  schema->scalar = scalar_of(shape);
  schema->kinds = kinds_of(schema->scalar);
  return (struct pair){type, schema};
}

static struct pair container_pair(struct builder *b, const struct field_def *def) {
  struct pair elements = resolve(b, def->type);
  struct type *type = type_new(b, def->shape, 0);
  struct schema *schema = arena_alloc(b->arena, sizeof *schema);
  if (!elements.type || !type || !schema)
    return (struct pair){0};
  type->elements = elements.type;
  schema->atom = def->shape == SHAPE_LIST ? ATOM_LIST : ATOM_MAP;
  schema->relation = def->merge.relation;
  schema->elements = elements.schema;
  for (unsigned i = 0; i < MAX_KEYS && def->merge.keys[i]; i++) {
    const char *key = def->merge.keys[i];
    schema->keys[schema->key_count++] = str_key(key, strlen(key));
  }
  return (struct pair){type, schema};
}

static struct pair field_pair(struct builder *b, const struct field_def *def) {
  switch (def->shape) {
  case SHAPE_OBJECT:
    return resolve(b, def->type);
  case SHAPE_LIST:
  case SHAPE_MAP:
    return container_pair(b, def);
  default:
    return scalar_pair(b, def->shape, 0);
  }
}

/* Fields of `def` and of what it inlines. */
static size_t flat_count(const struct type_def *def) {
  size_t n = 0;
  for (size_t i = 0; i < def->field_count; i++)
    n += def->fields[i].shape == SHAPE_INLINE ? flat_count(def->fields[i].type) : 1;
  return n;
}

static void find_presence(struct field *f) {
  static const struct {
    enum presence presence;
    size_t offset; /* in the value */
  } of_shape[] = {
      [SHAPE_STRING] = {PRESENCE_POINTER, offsetof(struct str, ptr)},
      [SHAPE_INTEGER] = {PRESENCE_FLAG, offsetof(struct opt_integer, set)},
      [SHAPE_BOOLEAN] = {PRESENCE_FLAG, offsetof(struct opt_boolean, set)},
      [SHAPE_TIME] = {PRESENCE_ALWAYS, 0},
      [SHAPE_TIME_OPTIONAL] = {PRESENCE_FLAG, offsetof(struct timestamp, set)},
      [SHAPE_QUANTITY] = {PRESENCE_POINTER, offsetof(struct quantity, text.ptr)},
      [SHAPE_INT_OR_STRING] = {PRESENCE_FLAG, offsetof(struct int_or_string, set)},
      [SHAPE_RAW] = {PRESENCE_FLAG, offsetof(struct node, kind)}, /* NODE_NULL is 0 */
      [SHAPE_OBJECT] = {PRESENCE_TARGET, 0},
      [SHAPE_LIST] = {PRESENCE_POINTER, offsetof(struct typed_list, items)},
      [SHAPE_MAP] = {PRESENCE_POINTER, offsetof(struct typed_map, keys)},
  };
  f->presence = of_shape[f->shape].presence;
  f->presence_offset = f->offset + of_shape[f->shape].offset;
}

/* Appends fields to `out` and their schemas to `schemas`, in the same order. */
static bool flatten(struct builder *b, const struct type_def *def, size_t offset, struct field *out,
                    struct schema_field *schemas, size_t *count) {
  for (size_t i = 0; i < def->field_count; i++) {
    const struct field_def *f = &def->fields[i];
    if (f->shape == SHAPE_INLINE) {
      if (!flatten(b, f->type, offset + f->offset, out, schemas, count))
        return false;
      continue;
    }
    struct pair p = field_pair(b, f);
    if (!p.type)
      return false;
    struct str name = str_key(f->name, strlen(f->name));
    out[*count] = (struct field){
        .name = name, .offset = offset + f->offset, .shape = f->shape, .type = p.type};
    find_presence(&out[*count]);
    schemas[*count] = (struct schema_field){name, p.schema};
    ++*count;
  }
  return true;
}

static int by_name(const void *a, const void *b) {
  return str_order(&((const struct field *)a)->name, &((const struct field *)b)->name);
}

/* A power of two, at most half full. */
static uint32_t slots_for(size_t count) {
  uint32_t slots = 4;
  while (slots < 2 * count)
    slots *= 2;
  return slots;
}

static bool index_fields(struct builder *b, struct type *type) {
  uint32_t slots = slots_for(type->field_count);
  uint16_t *index = arena_alloc(b->arena, slots * sizeof *index);
  if (!index)
    return false;
  for (size_t i = 0; i < type->field_count; i++) {
    uint32_t at = type->fields[i].name.hash & (slots - 1);
    while (index[at])
      at = (at + 1) & (slots - 1);
    index[at] = (uint16_t)(i + 1);
  }
  type->slots = index;
  type->slot_mask = slots - 1;
  return true;
}

static bool index_schema(struct builder *b, struct schema *schema,
                         const struct schema_field *fields, size_t count) {
  uint32_t slots = slots_for(count);
  struct schema_field *index = arena_alloc(b->arena, slots * sizeof *index);
  if (!index)
    return false;
  for (size_t i = 0; i < count; i++) {
    uint32_t at = fields[i].name.hash & (slots - 1);
    while (index[at].name.ptr)
      at = (at + 1) & (slots - 1);
    index[at] = fields[i];
  }
  schema->slots = index;
  schema->slot_mask = slots - 1;
  return true;
}

static struct pair object_pair(struct builder *b, const struct type_def *def) {
  size_t count = flat_count(def), filled = 0;
  struct type *type = type_new(b, SHAPE_OBJECT, def->size);
  struct schema *schema = arena_alloc(b->arena, sizeof *schema);
  struct field *fields = arena_alloc(b->arena, count * sizeof *fields);
  struct schema_field *schemas = arena_alloc(b->arena, count * sizeof *schemas);
  if (!type || !schema || !fields || !schemas || !flatten(b, def, 0, fields, schemas, &filled) ||
      !index_schema(b, schema, schemas, count))
    return (struct pair){0};
  qsort(fields, count, sizeof *fields, by_name);
  type->fields = fields;
  type->field_count = count;
  type->declared = def->field_count;
  schema->atom = ATOM_MAP;
  schema->relation = RELATION_GRANULAR;
  return index_fields(b, type) ? (struct pair){type, schema} : (struct pair){0};
}

static struct pair resolve(struct builder *b, const struct type_def *def) {
  for (struct resolved *r = b->resolved; r; r = r->next)
    if (r->def == def)
      return (struct pair){r->type, r->schema};
  struct pair p =
      def->shape == SHAPE_OBJECT ? object_pair(b, def) : scalar_pair(b, def->shape, def->size);
  struct resolved *r = arena_alloc(b->arena, sizeof *r);
  if (!p.type || !r)
    return (struct pair){0};
  *r = (struct resolved){def, p.type, p.schema, b->resolved};
  b->resolved = r;
  return p;
}

bool catalog_open(struct catalog *c) {
  static const struct {
    const char *kind;
    const struct type_def *def;
  } roots[OBJECT_KINDS] = {
      [OBJECT_POD] = {"Pod", &def_pod},
      [OBJECT_NODE] = {"Node", &def_node_object},
      [OBJECT_ENDPOINTS] = {"Endpoints", &def_endpoints},
  };
  *c = (struct catalog){0};
  struct builder b = {.arena = &c->arena};
  for (int i = 0; i < OBJECT_KINDS; i++) {
    struct pair p = resolve(&b, roots[i].def);
    if (!p.type) {
      catalog_close(c);
      return false;
    }
    c->objects[i] = (struct object_kind){roots[i].kind, "v1", p.type, p.schema};
  }
  return true;
}

void catalog_close(struct catalog *c) {
  arena_free(&c->arena);
}

const struct field *type_field(const struct type *type, const struct str *name) {
  for (uint32_t i = name->hash & type->slot_mask; type->slots[i]; i = (i + 1) & type->slot_mask) {
    const struct field *f = &type->fields[type->slots[i] - 1];
    if (str_same_key(&f->name, name))
      return f;
  }
  return NULL;
}

const struct schema *schema_search(const struct schema *map, const struct str *name) {
  for (uint32_t i = name->hash & map->slot_mask; map->slots[i].name.ptr;
       i = (i + 1) & map->slot_mask)
    if (str_same_key(&map->slots[i].name, name))
      return map->slots[i].type;
  return map->elements;
}
