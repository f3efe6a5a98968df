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

#define OUTLIVES CASE_OUTLIVES_SCOPE

/* X(name, shape, flags, min threads, in the sweep, ns an op, what one op is) */
#define MICRO_CASES(X)                                                                            \
  X("Micro/pair/16B", pair_16, CASE_NULL_RUNS, 0, false, 5, "get and put one 16 B object")        \
  X("Micro/pair/64B", pair_64, CASE_NULL_RUNS, 0, true, 5, "get and put one 64 B object")         \
  X("Micro/pair/256B", pair_256, CASE_NULL_RUNS, 0, false, 5, "get and put one 256 B object")     \
  X("Micro/pair/4096B", pair_4096, CASE_NULL_RUNS, 0, false, 10, "get and put one 4 KiB object")  \
  X("Micro/depth64", depth_64, 0, 0, true, 10, "a get and a put, in runs of 64 gets and 64 puts") \
  X("Micro/starved/0of4", starved_0, 0, 0, false, 5, "a get; all are put back")                   \
  X("Micro/starved/1of4", starved_1, 0, 0, true, 20, "a get; one in four is never put back")      \
  X("Micro/starved/2of4", starved_2, 0, 0, false, 30, "a get; two in four are never put back")    \
  X("Micro/starved/4of4", starved_4, 0, 0, false, 40, "a get; nothing is put back")               \
  X("Micro/handoff/64B", handoff_64, OUTLIVES, 2, true, 30,                                       \
    "get a 64 B object and hand it to the next thread, which puts it")                            \
  X("Micro/handoff/256B", handoff_256, OUTLIVES, 2, false, 30,                                    \
    "get a 256 B object and hand it to the next thread, which puts it")                           \
  X("Micro/handoff/4096B", handoff_4096, OUTLIVES, 2, false, 60,                                  \
    "get a 4 KiB object and hand it to the next thread, which puts it")                           \
  X("Micro/random", random, OUTLIVES, 0, true, 30,                                                \
    "replace one of 1024 live objects of 16 B to 1 KiB")                                          \
  X("Micro/falseshare", falseshare, OUTLIVES, 0, true, 40,                                        \
    "get, write 64 times and put a 16 B object that once had neighbours")                         \
  X("Micro/churn", churn, CASE_OWN_THREAD_EACH | CASE_BLOCKS, 0, false, 80000,                    \
    "start a thread, get and put 64 objects on it, join it")                                      \
  X("Micro/burst/128B", burst_own, BURST, 0, false, 1e8,                                          \
    "memory after a burst, put by its threads")                                                   \
  X("Micro/burst/128B-by-one", burst_by_one, BURST, 0, false, 1e8,                                \
    "memory after a burst of all threads, put by one of them")                                    \
  X("Micro/burst/128B-63of64", burst_survivors, BURST, 0, false, 5e8,                             \
    "memory after a burst of which one object in 64 stays live")                                  \
  X("Micro/burst/256KiB", burst_large, BURST, 0, false, 1e9,                                      \
    "memory after a burst of 256 KiB objects")
#define BURST (CASE_SERIES | CASE_OUTLIVES_SCOPE)

#define DECLARE(case_name, shape, case_flags, least, sweep, hint, text) \
  extern const struct micro_shape micro_##shape;
MICRO_CASES(DECLARE)

static const struct workload_case cases[] = {
#define CASE(case_name, shape, case_flags, least, sweep, hint, text) \
  {.name = case_name,                                                \
   .what = text,                                                     \
   .flags = case_flags,                                              \
   .disciplines = DISCIPLINE_BIT(DISCIPLINE_BALANCED),               \
   .min_threads = least,                                             \
   .in_sweep = sweep,                                                \
   .op_hint_ns = hint},
    MICRO_CASES(CASE){0}};

static const struct micro_shape *const shapes[] = {
#define SHAPE(case_name, shape, case_flags, least, sweep, hint, text) &micro_##shape,
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
  if (setup->options && setup->options[0] && !shape->series) {
    snprintf(setup->why, setup->why_size, "%s takes no options (Micro/burst does), got \"%s\"",
             setup->case_name, setup->options);
    heap_free(state, sizeof *state);
    return false;
  }
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

static void micro_idle(struct workload_thread *t) {
  if (t->state->shape->idle)
    t->state->shape->idle(t);
}

static void micro_series(struct workload_thread *t, series_emit *emit, void *context) {
  t->state->shape->series(t, emit, context);
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
    .idle = micro_idle,
    .series = micro_series,
    .options = micro_burst_options,
};
