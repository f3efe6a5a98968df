/*
 * From typed objects to trees: what a program does that handles an object without its type.
 */
#ifndef POOLBENCH_COMPARE_CONVERT_H
#define POOLBENCH_COMPARE_CONVERT_H

#include "workloads/compare/catalog.h"
#include "workloads/compare/op.h"

/*
 * Builds a fresh tree of the object at `at`; free it with node_free. Strings share the object's
 * bytes; times and quantities are written out. false when out of memory, with *out a null.
 */
bool tree_of_typed(struct op *op, const struct type *type, const void *at, struct node *out);

#endif
