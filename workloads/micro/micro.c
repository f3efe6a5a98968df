/*
 * micro: cases with one dimension each, the anchors that tie strategies and allocators here to
 * what allocator suites measure elsewhere. docs/workloads.md has a card per case.
 *
 * This file owns the table of cases and the dispatch to their shapes; what an op does is in
 * the shape's file.
 */
#include "workloads/micro/micro.h"

#include "harness/heap.h"

#include <stdio.h>
#include <string.h>

/* X(name, shape, flags, min threads, max threads, in the sweep, ns an op, what one op is) */
#define MICRO_CASES(X)                                                                             \
  X("Micro/pair/16B", micro_pair_16, CASE_NULL_RUNS, 0, 0, false, 5,                               \
    "get and put one 16 B object")                                                                 \
  X("Micro/pair/64B", micro_pair_64, CASE_NULL_RUNS, 0, 0, true, 5, "get and put one 64 B object") \
  X("Micro/pair/256B", micro_pair_256, CASE_NULL_RUNS, 0, 0, false, 5,                             \
    "get and put one 256 B object")                                                                \
  X("Micro/pair/4096B", micro_pair_4096, CASE_NULL_RUNS, 0, 0, false, 10,                          \
    "get and put one 4096 B object")

static const struct workload_case cases[] = {
#define CASE(case_name, case_shape, case_flags, least, most, sweep, hint, text) \
  {.name = case_name,                                                           \
   .what = text,                                                                \
   .flags = case_flags,                                                         \
   .disciplines = DISCIPLINE_BIT(DISCIPLINE_BALANCED),                          \
   .min_threads = least,                                                        \
   .max_threads = most,                                                         \
   .in_sweep = sweep,                                                           \
   .op_hint_ns = hint},
    MICRO_CASES(CASE){0}};

static const struct micro_shape *const shapes[] = {
#define SHAPE(case_name, case_shape, case_flags, least, most, sweep, hint, text) &case_shape,
    MICRO_CASES(SHAPE)};

void micro_out_of_memory(struct workload_thread *t, const char *what) {
  t->failed = true;
  snprintf(t->why, sizeof t->why, "out of memory in %s of strategy %s", what, t->strategy->name);
}

static const struct micro_shape *shape_of(const char *case_name) {
  for (size_t i = 0; cases[i].name; i++)
    if (strcmp(cases[i].name, case_name) == 0)
      return shapes[i];
  return NULL;
}

static bool micro_open(const struct workload_setup *setup, struct workload_state **out) {
  const struct micro_shape *shape = shape_of(setup->case_name);
  if (!shape) {
    snprintf(setup->why, setup->why_size, "no case \"%s\" in the workload micro", setup->case_name);
    return false;
  }
  struct workload_state *state = heap_calloc(sizeof *state);
  if (!state) {
    snprintf(setup->why, setup->why_size, "out of memory");
    return false;
  }
  *state = (struct workload_state){.shape = shape, .threads = setup->threads, .seed = setup->seed};
  if (shape->open && !shape->open(state, setup)) {
    heap_free(state, sizeof *state);
    return false;
  }
  *out = state;
  return true;
}

static void micro_close(struct workload_state *state) {
  if (state->shape->close)
    state->shape->close(state);
  heap_free(state, sizeof *state);
}

static const struct kind *micro_kinds(struct workload_state *state, size_t *count) {
  *count = state->shape->kind_count;
  return state->shape->kinds;
}

static bool micro_thread_open(struct workload_thread *t) {
  const struct micro_shape *shape = t->state->shape;
  return !shape->thread_open || shape->thread_open(t);
}

static void micro_thread_close(struct workload_thread *t) {
  if (t->state->shape->thread_close)
    t->state->shape->thread_close(t);
}

static void micro_run(struct workload_thread *t, uint64_t n) {
  t->state->shape->run(t, n);
}

const struct workload workload_micro = {
    .name = "micro",
    .summary = "one dimension a case: what strategies and allocators cost bare",
    .cases = cases,
    .open = micro_open,
    .close = micro_close,
    .kinds = micro_kinds,
    .thread_open = micro_thread_open,
    .thread_close = micro_thread_close,
    .run = micro_run,
};
