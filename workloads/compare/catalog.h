/*
 * The catalog: what the walkers know about Pod, Node and Endpoints.
 *
 * For each type that occurs, a resolved descriptor (how to read the C struct) and a schema (what
 * is allowed, and how it is compared). Both are built once from types.h and are read-only after
 * that, so that threads share them without writing. Schemas have no cycles.
 */
#ifndef POOLBENCH_COMPARE_CATALOG_H
#define POOLBENCH_COMPARE_CATALOG_H

#include "workloads/compare/arena.h"
#include "workloads/compare/types.h"

/* Deepest nesting of any object, opaque parts included; deeper ones are refused when loaded. */
#define MAX_DEPTH 64

struct type;

/* What tells that an object has a field. */
enum presence {
  PRESENCE_POINTER, /* a pointer that is not NULL */
  PRESENCE_TARGET,  /* the same, and the value is what it points at */
  PRESENCE_FLAG,    /* a byte that is not 0 */
  PRESENCE_ALWAYS,
};

struct field {
  struct str name;
  size_t offset; /* from the start of the object, inlined structs resolved */
  size_t presence_offset;
  enum presence presence;
  enum shape shape;
  const struct type *type;
};

/* How one shape is read. */
struct type {
  enum shape shape;
  bool plain;                  /* always of `kind`, and viewed as it lies there */
  uint8_t kind;                /* enum node_kind */
  size_t size;                 /* of one element in a list */
  const struct type *elements; /* of a list or map */
  const struct field *fields;  /* of an object, sorted by name */
  size_t field_count;
  size_t declared; /* fields and inlined structs as declared: the size hint of an object's map */
  const uint16_t *slots; /* open addressing by hash of the name: index of a field + 1, 0 = free */
  uint32_t slot_mask;
};

enum atom {
  ATOM_SCALAR,
  ATOM_LIST,
  ATOM_MAP,
  ATOM_ANY, /* opaque: anything is right, and it is one leaf */
};

enum scalar { SCALAR_STRING, SCALAR_NUMERIC, SCALAR_BOOLEAN, SCALAR_UNTYPED };

struct schema_field {
  struct str name; /* ptr NULL: a free slot */
  const struct schema *type;
};

struct schema {
  enum atom atom;
  enum scalar scalar;
  unsigned kinds; /* of a scalar: the kinds that are right, bit by enum node_kind */
  enum relation relation;
  const struct schema *elements; /* of a list, or of a map with free keys */
  struct str keys[MAX_KEYS];     /* of a keyed list, sorted by name */
  unsigned key_count;
  const struct schema_field *slots; /* of an object: open addressing by hash of the name */
  uint32_t slot_mask;
};

/* A kind of object that can be compared. */
struct object_kind {
  const char *kind, *api_version;
  const struct type *type;
  const struct schema *schema;
};

enum { OBJECT_POD, OBJECT_NODE, OBJECT_ENDPOINTS, OBJECT_KINDS };

struct catalog {
  struct object_kind objects[OBJECT_KINDS];
  struct arena arena;
};

/* false when out of memory. */
bool catalog_open(struct catalog *c);
void catalog_close(struct catalog *c);

/* NULL when the type has no such field. */
const struct field *type_field(const struct type *type, const struct str *name);

/* For schema_entry: the whole look-up. */
const struct schema *schema_search(const struct schema *map, const struct str *name);

/*
 * The schema of a map's entry, or NULL when the schema does not know the key. Most keys are the
 * very names of the descriptors and in the first slot, and then no byte is read.
 */
static inline const struct schema *schema_entry(const struct schema *map, const struct str *name) {
  if (!map->slots)
    return map->elements;
  const struct schema_field *first = &map->slots[name->hash & map->slot_mask];
  if (first->name.ptr == name->ptr && first->name.len == name->len)
    return first->type;
  return schema_search(map, name);
}

#endif
