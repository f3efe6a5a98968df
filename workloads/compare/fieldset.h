/*
 * Field sets: the result of a comparison. A tree of path elements with those that end a path
 * marked as members. Elements are kept as their text, which is unique among siblings.
 */
#ifndef POOLBENCH_COMPARE_FIELDSET_H
#define POOLBENCH_COMPARE_FIELDSET_H

#include "workloads/compare/path.h"

struct field_set_child;

/* An empty set owns nothing. Both arrays are sorted. */
struct field_set {
  struct str *members;
  size_t member_count, member_capacity;
  struct field_set_child *children;
  size_t child_count, child_capacity;
};

_Static_assert(sizeof(struct field_set) == 48, "a set of the profile is two slices");

struct field_set *field_set_new(struct op *op);
void field_set_free(struct field_set *s);

static inline bool field_set_empty(const struct field_set *s) {
  return s->member_count == 0 && s->child_count == 0;
}

/* The path need not be new. false when out of memory; the set stays valid. */
bool field_set_insert(struct op *op, struct field_set *s, const struct path *path);

/* Calls `line` with each path's text, in order of the tree: members before children. */
void field_set_print(const struct field_set *s, void (*line)(void *context, const char *path),
                     void *context);

#endif
