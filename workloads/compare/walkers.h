/*
 * The two traversals: validate walks one object against its schema, compare walks two at once.
 *
 * Each traversal runs in a scope of its own, which the caller opens, and takes one walker from the
 * strategy; the walkers for the levels below are the thread's spares, one a depth. What is the same
 * for every value of a level is set when the spares are made, so that a visit writes only what is
 * its own. Recursion follows the schema, which has no cycles, and is no deeper than MAX_DEPTH.
 */
#ifndef POOLBENCH_COMPARE_WALKERS_H
#define POOLBENCH_COMPARE_WALKERS_H

#include "workloads/compare/fieldset.h"

struct validate_walker {
  struct value value;
  const struct schema *schema;
  const struct element *element; /* of value in its parent; NULL at the root */
  /* Of the level. */
  struct op *op;
  const struct validate_walker *parent; /* NULL at the root */
  struct validate_walker *child;        /* the spare of the level below; NULL at the deepest */
  size_t depth;
  struct report *report; /* the root's alone */
};

/* What a comparison found: fields only in rhs, in both but different, only in lhs. */
struct comparison {
  struct field_set *added, *modified, *removed;
};

struct merge_walker {
  struct value lhs, rhs; /* one may be FORM_NONE */
  const struct schema *schema;
  const struct element *element; /* of the values in their parent; NULL at the root */
  bool in_leaf;
  /* Of the level. */
  struct op *op;
  const struct merge_walker *parent; /* NULL at the root */
  struct merge_walker *child;        /* the spare of the level below; NULL at the deepest */
  size_t depth;
  struct comparison *result; /* the root's alone, as is report */
  struct report *report;
};

/* The kinds' sizes are those of the profile, whose walkers carry a little more. */
#define VALIDATE_WALKER_BYTES 80
#define MERGE_WALKER_BYTES 160
_Static_assert(sizeof(struct validate_walker) <= VALIDATE_WALKER_BYTES, "a walker must fit");
_Static_assert(sizeof(struct merge_walker) <= MERGE_WALKER_BYTES, "a walker must fit");

/* Keeps the visit of a scalar, the common one, free of the registers that maps and lists need. */
#define VISIT_APART __attribute__((noinline))

/* Both return false only when out of memory; what is wrong with the objects goes to the report. */
bool validate(struct op *op, struct value value, const struct schema *schema,
              struct report *report);

/* The sets of *result are made here; comparison_free frees them, also after a failure. */
bool compare(struct op *op, struct value lhs, struct value rhs, const struct schema *schema,
             struct comparison *result, struct report *report);
void comparison_free(struct comparison *c);
static inline bool comparison_empty(const struct comparison *c) {
  return field_set_empty(c->added) && field_set_empty(c->modified) && field_set_empty(c->removed);
}

/* "a string", "an object" ...: what a value is, for reports. */
const char *kind_text(enum node_kind kind);

/* Is the value (a null is fine) of the schema's scalar type? */
static inline bool scalar_fits(const struct schema *schema, struct value value) {
  return schema->kinds >> value_kind(value) & 1;
}

/* What a scalar of the schema must be. */
const char *scalar_text(enum scalar scalar);

#endif
