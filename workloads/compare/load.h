/*
 * From JSON to typed objects, with every mistake in the input named.
 *
 * JSON becomes a tree, the tree is validated against the schema of its kind, then it is read into
 * two equal C objects. All of it happens before ops are measured.
 */
#ifndef POOLBENCH_COMPARE_LOAD_H
#define POOLBENCH_COMPARE_LOAD_H

#include "harness/error.h"
#include "workloads/compare/catalog.h"

#include <jansson.h>

/* Larger files are refused: no object of these kinds comes near. */
#define OBJECT_FILE_LIMIT ((size_t)64 << 20)

/*
 * Longer keyed lists and sets are refused. Their items are told apart by insertion into sorted
 * arrays, as in the Go program, which moves n^2 / 4 entries where the items come in no order; a
 * sample holds some ops a thread, and would be given up.
 */
#define KEYED_ITEMS_LIMIT ((size_t)10000)

struct object {
  const struct object_kind *kind;
  const void *typed[2]; /* of kind->type: equal, with no memory in common */
  size_t items, lists;  /* of all lists in one of them */
  size_t values;        /* JSON values in one of them: itself, containers and scalars */
  struct node trees[2]; /* as read; opaque parts and strings of typed[i] lie in trees[i] */
  struct arena arena;
};

/*
 * Each fills *out (free it with object_free), or returns false with *out empty and *error filled:
 * `name` (of the file), place, what is wrong, what would be right. The catalog must outlive the
 * object.
 */
bool object_load_file(const char *path, const struct catalog *catalog, struct object *out,
                      struct error *error);
bool object_load_text(const char *name, const char *text, size_t size,
                      const struct catalog *catalog, struct object *out, struct error *error);
bool object_load_json(const char *name, const json_t *root, const struct catalog *catalog,
                      struct object *out, struct error *error);
void object_free(struct object *o);

/*
 * The steps, for tests. tree_of_json: strings are copied into the arena. typed_of_tree takes any
 * tree whose values are of the schema's types, and does not look at keys of lists.
 */
bool tree_of_json(const json_t *json, struct arena *arena, struct node *out, char *why,
                  size_t why_size);
const void *typed_of_tree(const struct object_kind *kind, const struct node *tree,
                          struct arena *arena, char *why, size_t why_size);

#endif
