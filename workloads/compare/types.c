/*
 * The descriptor tables of types.h, written by the preprocessor from the same field lists.
 */
#include "workloads/compare/types.h"

const struct type_def def_string = {.shape = SHAPE_STRING, .size = sizeof(struct str)};
const struct type_def def_integer = {.shape = SHAPE_INTEGER, .size = sizeof(struct opt_integer)};
const struct type_def def_quantity = {.shape = SHAPE_QUANTITY, .size = sizeof(struct quantity)};

#define LIST_KEYS(relation, key1, key2) \
  {                                     \
    relation, {                         \
      key1, key2                        \
    }                                   \
  }
#define FIELD_ENTRY(T, form, n, elements, ...) \
  {.name = #n,                                 \
   .offset = offsetof(struct T, n),            \
   .shape = SHAPE_##form,                      \
   .type = &def_##elements,                    \
   .merge = LIST_KEYS(__VA_ARGS__)},

#define DEFINE_TYPE(T)                                                          \
  static const struct field_def fields_of_##T[] = {FIELDS_##T(FIELD_ENTRY, T)}; \
  const struct type_def def_##T = {.shape = SHAPE_OBJECT,                       \
                                   .size = sizeof(struct T),                    \
                                   .fields = fields_of_##T,                     \
                                   .field_count = sizeof fields_of_##T / sizeof *fields_of_##T};

OBJECT_TYPES(DEFINE_TYPE)
