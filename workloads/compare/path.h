/*
 * Path elements: how a child is told apart from its siblings.
 *
 * A field by name, an item of a keyed list by its key fields, an item of a set by its value, an
 * item of an atomic list by its index. Elements refer to views and names that somebody else
 * holds; element_free frees only the records that hang off one.
 */
#ifndef POOLBENCH_COMPARE_PATH_H
#define POOLBENCH_COMPARE_PATH_H

#include "workloads/compare/report.h"
#include "workloads/compare/view.h"

struct key_field {
  struct str name;
  struct value value;
};

struct key {
  struct key_field *fields;
  size_t count, capacity;
};

/* Exactly one is set. */
struct element {
  const struct str *field;
  struct key *key;
  struct value *value;
  const int64_t *index;
};

_Static_assert(sizeof(struct element) == 32, "four words in the profile");
_Static_assert(sizeof(struct key) == 24 && sizeof(struct key_field) == 32,
               "a key record is 24 bytes and 32 a field");

/* A path from the root: element pointers, longest MAX_DEPTH. */
struct path {
  const struct element *elements[MAX_DEPTH];
  size_t length;
};

#define ELEMENT_WHY 160

/*
 * The element of a keyed list's or set's item. Views of key fields are held until op_release, as
 * the programs hold them. Returns false when out of memory; *why is set, and *out empty, when the
 * item has no valid element.
 */
bool element_of_item(struct op *op, const struct schema *list, struct value item,
                     struct element *out, char why[ELEMENT_WHY]);
void element_free(struct element *e);

/* Text of one element, of a path: ".name", "[key=value]". Always ends with NUL; may be cut. */
size_t element_print(const struct element *e, char *out, size_t size);
void path_print(const struct path *p, char *out, size_t size);

/*
 * Elements with a value each, or without (values NULL), sorted; made for `room` of them. Both
 * arrays live in one allocation. Looking one up costs a binary search and an equality call.
 */
struct element_set {
  unsigned char *entries;
  size_t count, room, stride;
};
bool element_set_open(struct op *op, struct element_set *s, size_t room, bool with_values);
void element_set_close(struct element_set *s, bool free_elements);

/* false when out of memory. *value (may be NULL) is FORM_NONE when it is not there. */
bool element_set_find(struct op *op, const struct element_set *s, const struct element *e,
                      bool *found, struct value *value);

/* The element must not be in the set, which takes it over. */
bool element_set_insert(struct op *op, struct element_set *s, const struct element *e,
                        struct value value);

#endif
