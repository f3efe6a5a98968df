/*
 * The objects that come with the program: a Pod, a Node, and Endpoints of 1000 addresses.
 */
#ifndef POOLBENCH_COMPARE_FIXTURES_H
#define POOLBENCH_COMPARE_FIXTURES_H

#include "workloads/compare/load.h"

#define ENDPOINTS_ADDRESSES 1000

/* The fixture of an OBJECT_* as JSON, owned by the caller; NULL with *error filled. */
json_t *fixture_json(int object, struct error *error);

bool fixture_load(int object, const struct catalog *catalog, struct object *out,
                  struct error *error);

#endif
