/*
 * The workload compare: validate two equal objects and compare them. Its cases come last.
 */
#include "workloads/workload.h"

static const struct workload_case cases[] = {{.name = NULL}};

static bool open_state(const struct workload_setup *setup, struct workload_state **state) {
  (void)setup;
  *state = NULL;
  return true;
}

static void close_state(struct workload_state *state) {
  (void)state;
}

static const struct kind *kinds(struct workload_state *state, size_t *count) {
  (void)state;
  *count = 0;
  return NULL;
}

static void run(struct workload_thread *t, uint64_t n) {
  (void)t;
  (void)n;
}

const struct workload workload_compare = {
    .name = "compare",
    .summary = "validate and compare API objects (Pod, Node, Endpoints), typed and untyped",
    .cases = cases,
    .open = open_state,
    .close = close_state,
    .kinds = kinds,
    .run = run,
};
