/*
 * The profile of the six Compare ops: what they allocate, get, put, lose and visit. The expected
 * numbers were counted in the Go programs that the workload stands for (docs/workloads.md).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/compare_fixture.h"

#include <pthread.h>

struct by_kind {
  uint64_t value, map, structure, list, range, validate, merge;
};

struct profile {
  const char *name;
  uint64_t allocs, bytes; /* an op, when every get is a hit; the target within a tenth */
  uint64_t gets, leaky_puts, merged_puts;
  struct by_kind gets_by_kind, leaky_drops, merged_drops; /* value: of the case's own kind */
  size_t leaky_peak, merged_peak; /* of returned objects that are out at once */
  struct visits visits;
};

#define POD_VISITS                                                                          \
  .validate_maps = 66, .validate_entries = 226, .validate_lists = 18, .validate_items = 46, \
  .validate_scalars = 190, .merge_maps = 26, .merge_entries = 89, .merge_lists = 9,         \
  .merge_items = 11, .merge_leaves = 70, .merge_scalars = 66
#define NODE_VISITS                                                                           \
  .validate_maps = 116, .validate_entries = 406, .validate_lists = 60, .validate_items = 206, \
  .validate_scalars = 438, .merge_maps = 27, .merge_entries = 141, .merge_lists = 5,          \
  .merge_items = 16, .merge_leaves = 129, .merge_scalars = 126
#define ENDPOINTS_VISITS                                                                         \
  .validate_maps = 4010, .validate_entries = 14034, .validate_lists = 6, .validate_items = 2004, \
  .validate_scalars = 12024, .merge_maps = 3, .merge_entries = 12, .merge_lists = 1,             \
  .merge_items = 0, .merge_leaves = 10, .merge_scalars = 9

static const struct profile profiles[] = {
    {.name = "Compare/Pod/structured",
     .allocs = 710,
     .bytes = 20000,
     .gets = 441,
     .leaky_puts = 309,
     .merged_puts = 373,
     .gets_by_kind = {.value = 232,
                      .map = 8,
                      .structure = 156,
                      .list = 42,
                      .range = 0,
                      .validate = 2,
                      .merge = 1},
     .leaky_drops = {.value = 114, .list = 18},
     .merged_drops = {.value = 68},
     .leaky_peak = 29,
     .merged_peak = 29,
     .visits = {POD_VISITS, .equality_calls = 124}},
    {.name = "Compare/Pod/unstructured",
     .allocs = 1104,
     .bytes = 56500,
     .gets = 340,
     .leaky_puts = 226,
     .merged_puts = 272,
     .gets_by_kind =
         {.value = 331, .map = 0, .structure = 0, .list = 0, .range = 6, .validate = 2, .merge = 1},
     .leaky_drops = {.value = 114, .list = 0},
     .merged_drops = {.value = 68},
     .leaky_peak = 13,
     .merged_peak = 14,
     .visits = {POD_VISITS, .equality_calls = 160}},
    {.name = "Compare/Node/structured",
     .allocs = 1487,
     .bytes = 43100,
     .gets = 787,
     .leaky_puts = 423,
     .merged_puts = 689,
     .gets_by_kind = {.value = 474,
                      .map = 16,
                      .structure = 218,
                      .list = 76,
                      .range = 0,
                      .validate = 2,
                      .merge = 1},
     .leaky_drops = {.value = 304, .list = 60},
     .merged_drops = {.value = 98},
     .leaky_peak = 17,
     .merged_peak = 36,
     .visits = {NODE_VISITS, .equality_calls = 241}},
    {.name = "Compare/Node/unstructured",
     .allocs = 2199,
     .bytes = 97100,
     .gets = 736,
     .leaky_puts = 432,
     .merged_puts = 638,
     .gets_by_kind = {.value = 677,
                      .map = 0,
                      .structure = 0,
                      .list = 0,
                      .range = 56,
                      .validate = 2,
                      .merge = 1},
     .leaky_drops = {.value = 304, .list = 0},
     .merged_drops = {.value = 98},
     .leaky_peak = 11,
     .merged_peak = 31,
     .visits = {NODE_VISITS, .equality_calls = 390}},
    {.name = "Compare/Endpoints/structured",
     .allocs = 8098,
     .bytes = 292000,
     .gets = 10051,
     .leaky_puts = 8039,
     .merged_puts = 10049,
     .gets_by_kind = {.value = 6022,
                      .map = 4,
                      .structure = 4012,
                      .list = 10,
                      .range = 0,
                      .validate = 2,
                      .merge = 1},
     .leaky_drops = {.value = 2006, .list = 6},
     .merged_drops = {.value = 2},
     .leaky_peak = 13,
     .merged_peak = 1012,
     .visits = {ENDPOINTS_VISITS, .equality_calls = 10}},
    {.name = "Compare/Endpoints/unstructured",
     .allocs = 32170,
     .bytes = 1951000,
     .gets = 10047,
     .leaky_puts = 8041,
     .merged_puts = 10045,
     .gets_by_kind = {.value = 10038,
                      .map = 0,
                      .structure = 0,
                      .list = 0,
                      .range = 6,
                      .validate = 2,
                      .merge = 1},
     .leaky_drops = {.value = 2006, .list = 0},
     .merged_drops = {.value = 2},
     .leaky_peak = 13,
     .merged_peak = 1006,
     .visits = {ENDPOINTS_VISITS, .equality_calls = 8017}},
};
#define PROFILES (sizeof profiles / sizeof *profiles)

static bool is_unstructured(const struct profile *p) {
  return strstr(p->name, "/unstructured") != NULL;
}

/* What ops cost, after warm-up. */
struct cost {
  uint64_t allocs, bytes, frees;
};

static struct cost cost_of(struct running *r, uint64_t ops) {
  struct heap_counts before, after;
  heap_total(&before);
  running_run(r, ops);
  heap_total(&after);
  return (struct cost){after.allocs - before.allocs, after.alloc_bytes - before.alloc_bytes,
                       after.frees - before.frees};
}

static struct cost warm_cost(const struct strategy *s, const char *name, enum discipline d) {
  struct running r;
  running_open(&r, s, name, d);
  running_run(&r, 3);
  struct cost c = cost_of(&r, 1);
  running_close(&r);
  return c;
}

static void assert_within(const char *what, uint64_t got, uint64_t target, double share) {
  double off = ((double)got - (double)target) / (double)target;
  if (off < -share || off > share)
    fail_msg("%s: %llu, which is %+.1f %% off %llu", what, (unsigned long long)got, 100 * off,
             (unsigned long long)target);
}

/* The issue asks for a tenth; what is reached is held more closely, so that it does not drift. */
static void allocations_are_those_of_the_profile(void **state) {
  (void)state;
  for (size_t i = 0; i < PROFILES; i++) {
    const struct profile *p = &profiles[i];
    struct cost c = warm_cost(&strategy_ledger, p->name, DISCIPLINE_BALANCED);
    assert_within(p->name, c.allocs, p->allocs, 0.04);
    assert_within(p->name, c.bytes, p->bytes, 0.04);
    assert_int_equal(c.allocs, c.frees);
  }
}

static void malloc_adds_one_allocation_a_get(void **state) {
  (void)state;
  for (size_t i = 0; i < PROFILES; i++) {
    const struct profile *p = &profiles[i];
    struct cost hit = warm_cost(&strategy_ledger, p->name, DISCIPLINE_BALANCED);
    struct cost miss = warm_cost(strategy_find("malloc"), p->name, DISCIPLINE_BALANCED);
    assert_int_equal(miss.allocs, hit.allocs + p->gets);
  }
}

/* An object that is not put is missing at the next op: one allocation more for each. */
static void leaky_adds_one_allocation_a_loss(void **state) {
  (void)state;
  for (size_t i = 0; i < PROFILES; i++) {
    const struct profile *p = &profiles[i];
    struct cost hit = warm_cost(&strategy_ledger, p->name, DISCIPLINE_BALANCED);
    struct cost leaky = warm_cost(&strategy_ledger, p->name, DISCIPLINE_LEAKY);
    assert_int_equal(leaky.allocs, hit.allocs + p->gets - p->leaky_puts);
  }
}

static void every_op_costs_the_same(void **state) {
  (void)state;
  struct running r;
  running_open(&r, &strategy_ledger, "Compare/Node/unstructured", DISCIPLINE_BALANCED);
  running_run(&r, 2);
  struct cost one = cost_of(&r, 1), seven = cost_of(&r, 7);
  assert_int_equal(seven.allocs, 7 * one.allocs);
  assert_int_equal(seven.bytes, 7 * one.bytes);
  running_close(&r);
}

static void assert_kinds(const struct profile *p, const uint64_t *counts,
                         const struct by_kind *want) {
  bool tree = is_unstructured(p);
  assert_int_equal(counts[KIND_TREE_VALUE], tree ? want->value : 0);
  assert_int_equal(counts[KIND_TYPED_VALUE], tree ? 0 : want->value);
  assert_int_equal(counts[KIND_TYPED_MAP], want->map);
  assert_int_equal(counts[KIND_TYPED_STRUCT], want->structure);
  assert_int_equal(counts[KIND_TYPED_LIST], want->list);
  assert_int_equal(counts[KIND_LIST_RANGE], want->range);
  assert_int_equal(counts[KIND_VALIDATE_WALKER], want->validate);
  assert_int_equal(counts[KIND_MERGE_WALKER], want->merge);
}

/* The ledger of one warm op. */
static void ledger_under(struct running *r, const struct strategy *strategy,
                         const struct profile *p, enum discipline d) {
  running_open(r, strategy, p->name, d);
  running_run(r, 2);
  struct ledger *l = &r->thread.pool->ledger;
  *l = (struct ledger){0};
  running_run(r, 1);
  assert_int_equal(l->scopes, 0);
}

static void ledger_of_op(struct running *r, const struct profile *p, enum discipline d) {
  ledger_under(r, &strategy_ledger, p, d);
}

static void balanced_puts_every_object(void **state) {
  (void)state;
  for (size_t i = 0; i < PROFILES; i++) {
    struct running r;
    ledger_of_op(&r, &profiles[i], DISCIPLINE_BALANCED);
    struct ledger *l = &r.thread.pool->ledger;
    assert_kinds(&profiles[i], l->gets, &profiles[i].gets_by_kind);
    assert_kinds(&profiles[i], l->puts, &profiles[i].gets_by_kind);
    assert_kinds(&profiles[i], l->drops, &(struct by_kind){0});
    assert_int_equal(ledger_total(l->gets), profiles[i].gets);
    assert_int_equal(l->misses, 0);
    running_close(&r);
  }
}

static void as_merged_loses_what_the_new_program_loses(void **state) {
  (void)state;
  for (size_t i = 0; i < PROFILES; i++) {
    struct running r;
    ledger_of_op(&r, &profiles[i], DISCIPLINE_AS_MERGED);
    struct ledger *l = &r.thread.pool->ledger;
    assert_kinds(&profiles[i], l->gets, &profiles[i].gets_by_kind);
    assert_kinds(&profiles[i], l->drops, &profiles[i].merged_drops);
    assert_int_equal(ledger_total(l->puts), profiles[i].merged_puts);
    running_close(&r);
  }
}

static void leaky_loses_what_the_old_program_lost(void **state) {
  (void)state;
  for (size_t i = 0; i < PROFILES; i++) {
    struct running r;
    ledger_of_op(&r, &profiles[i], DISCIPLINE_LEAKY);
    struct ledger *l = &r.thread.pool->ledger;
    assert_kinds(&profiles[i], l->gets, &profiles[i].gets_by_kind);
    assert_kinds(&profiles[i], l->drops, &profiles[i].leaky_drops);
    assert_int_equal(ledger_total(l->puts), profiles[i].leaky_puts);
    running_close(&r);
  }
}

/* Drops come when the op is over: no get, put or scope comes after the first of them. */
static void lost_objects_are_dropped_at_the_end_of_the_op(void **state) {
  (void)state;
  struct running r;
  ledger_of_op(&r, &profiles[0], DISCIPLINE_LEAKY);
  struct ledger *l = &r.thread.pool->ledger;
  size_t i = 0;
  while (i < l->event_count && l->events[i].what != 'd')
    i++;
  assert_int_equal(l->event_count - i, 132);
  for (; i < l->event_count; i++)
    assert_int_equal(l->events[i].what, 'd');
  running_close(&r);
}

/* Takes the gets of lost objects out of the events: what is left was put. */
static size_t only_returned(struct ledger *l) {
  static void *lost[LEDGER_EVENTS];
  size_t lost_count = 0, kept = l->event_count;
  assert_true(l->event_count < LEDGER_EVENTS);
  for (size_t e = l->event_count; e-- > 0;) {
    struct ledger_event *event = &l->events[e];
    bool drop = event->what == 'd';
    if (drop)
      lost[lost_count++] = event->object;
    for (size_t i = lost_count; !drop && event->what == 'g' && i-- > 0;)
      if (lost[i] == event->object) {
        lost[i] = lost[--lost_count];
        drop = true;
      }
    if (!drop)
      l->events[--kept] = *event;
  }
  assert_int_equal(lost_count, 0);
  return kept;
}

/* Most objects that were out at once, and whether each came back before those got before it. */
static size_t peak_in_reverse_order(struct ledger *l, bool each_kind) {
  static struct ledger_event live[LEDGER_EVENTS];
  size_t count = 0, peak = 0;
  for (size_t e = only_returned(l); e < l->event_count; e++) {
    struct ledger_event *event = &l->events[e];
    if (event->what == 'b' || event->what == 'e')
      continue;
    if (event->what == 'g') {
      live[count++] = *event;
      peak = count > peak ? count : peak;
      continue;
    }
    size_t i = count - 1;
    while (each_kind && live[i].kind != event->kind)
      i--;
    assert_ptr_equal(event->object, live[i].object);
    memmove(&live[i], &live[i + 1], (--count - i) * sizeof *live);
  }
  assert_int_equal(count, 0);
  return peak;
}

/* Among those that come back: the key values of lists, which balanced puts late, do not. */
static void returned_objects_come_back_in_reverse_order(void **state) {
  (void)state;
  for (size_t i = 0; i < PROFILES; i++) {
    struct running r;
    ledger_of_op(&r, &profiles[i], DISCIPLINE_AS_MERGED);
    assert_int_equal(peak_in_reverse_order(&r.thread.pool->ledger, false), profiles[i].merged_peak);
    running_close(&r);
    ledger_of_op(&r, &profiles[i], DISCIPLINE_LEAKY);
    assert_int_equal(peak_in_reverse_order(&r.thread.pool->ledger, false), profiles[i].leaky_peak);
    running_close(&r);
  }
}

static void objects_of_a_kind_come_back_in_reverse_order(void **state) {
  (void)state;
  for (size_t i = 0; i < PROFILES; i++) {
    struct running r;
    ledger_of_op(&r, &profiles[i], DISCIPLINE_BALANCED);
    peak_in_reverse_order(&r.thread.pool->ledger, true);
    running_close(&r);
  }
}

static void each_traversal_is_a_scope(void **state) {
  (void)state;
  struct running r;
  ledger_of_op(&r, &profiles[0], DISCIPLINE_BALANCED);
  assert_int_equal(r.thread.pool->ledger.begins, 3);
  assert_int_equal(r.thread.pool->ledger.deepest, 1);
  running_close(&r);
}

/* What was got in a scope and is neither put nor dropped when it ends would be dead. */
static void assert_none_outlives_its_scope(const struct ledger *l) {
  static struct {
    void *object;
    int depth;
  } live[LEDGER_EVENTS];
  size_t count = 0;
  int depth = 0;
  for (size_t e = 0; e < l->event_count; e++) {
    const struct ledger_event *event = &l->events[e];
    size_t i = count;
    if (event->what == 'b' || event->what == 'e')
      depth += event->what == 'b' ? 1 : -1;
    if (event->what == 'g') {
      live[count].object = event->object;
      live[count++].depth = depth;
    } else if (event->what == 'p' || event->what == 'd') {
      while (live[i - 1].object != event->object)
        i--;
      live[i - 1] = live[--count];
    }
    for (i = 0; event->what == 'e' && i < count; i++)
      assert_true(live[i].depth <= depth);
  }
  assert_int_equal(count, 0);
}

/* Where objects die with their scope, one more scope around all three keeps the roots alive. */
static void no_object_outlives_a_scope_that_it_dies_with(void **state) {
  (void)state;
  for (size_t i = 0; i < 4; i++)
    for (enum discipline d = DISCIPLINE_BALANCED; d <= DISCIPLINE_LEAKY; d++) {
      struct running r;
      ledger_under(&r, &strategy_mortal_ledger, &profiles[i], d);
      assert_int_equal(r.thread.pool->ledger.begins, 4);
      assert_int_equal(r.thread.pool->ledger.deepest, 2);
      assert_none_outlives_its_scope(&r.thread.pool->ledger);
      running_close(&r);
    }
}

static void walkers_visit_what_they_should(void **state) {
  (void)state;
  for (size_t i = 0; i < PROFILES; i++) {
    struct running r;
    running_open(&r, strategy_find("malloc"), profiles[i].name, DISCIPLINE_BALANCED);
    running_op(&r)->visits = (struct visits){0};
    running_run(&r, 1);
    assert_memory_equal(&running_op(&r)->visits, &profiles[i].visits, sizeof(struct visits));
    running_close(&r);
  }
}

/* One op with its k-th allocation failing; true when no allocation was the k-th. */
static bool op_without_memory(struct running *r, uint64_t k) {
  struct heap_counts before, after;
  heap_total(&before);
  heap_fail_after(k);
  workload_compare.run(&r->thread, 1);
  heap_fail_after(0);
  heap_total(&after);
  assert_int_equal(after.alloc_bytes - before.alloc_bytes, after.freed_bytes - before.freed_bytes);
  bool done = !r->thread.failed;
  if (!done)
    assert_string_equal(r->thread.why, "out of memory");
  r->thread.failed = false;
  return done;
}

/* Under malloc every get allocates too, so this fails gets as well as all other allocations. */
static void an_op_survives_the_failure_of_any_allocation(void **state) {
  (void)state;
  static const char *const names[] = {"Compare/Pod/structured", "Compare/Pod/unstructured"};
  for (enum discipline d = DISCIPLINE_BALANCED; d <= DISCIPLINE_LEAKY; d++)
    for (size_t i = 0; i < 2; i++) {
      struct running r;
      uint64_t k = 1, expected = warm_cost(strategy_find("malloc"), names[i], d).allocs;
      running_open(&r, strategy_find("malloc"), names[i], d);
      while (!op_without_memory(&r, k))
        k++;
      assert_int_equal(k, expected + 1);
      running_run(&r, 1);
      running_close(&r);
    }
}

static void opening_survives_the_failure_of_any_allocation(void **state) {
  (void)state;
  struct heap_counts before, after;
  bool opened = false;
  for (uint64_t k = 1; !opened; k++) {
    struct running r;
    heap_total(&before);
    heap_fail_after(k);
    opened = running_try_open(&r, strategy_find("malloc"), "Compare/Pod/structured", NULL,
                              DISCIPLINE_BALANCED);
    heap_fail_after(0);
    if (opened)
      workload_compare.close(r.state);
    else
      assert_non_null(strstr(r.why, "out of memory"));
    heap_total(&after);
    assert_int_equal(after.alloc_bytes - before.alloc_bytes,
                     after.freed_bytes - before.freed_bytes);
  }
}

/* Threads share a state and a pool and nothing else: thread sanitizer watches. */
#define THREADS 3

static void *run_thread(void *shared) {
  const struct running *r = shared;
  struct workload_thread t = r->thread;
  heap_thread_begin();
  t.pool_thread = t.strategy->attach(t.pool);
  bool ok = t.pool_thread && workload_compare.thread_open(&t);
  if (ok) {
    workload_compare.run(&t, 20);
    workload_compare.thread_close(&t);
  }
  if (t.pool_thread)
    t.strategy->detach(t.pool, t.pool_thread);
  heap_thread_end();
  return ok && !t.failed ? shared : NULL;
}

static void threads_share_nothing_that_is_written(void **state) {
  (void)state;
  for (size_t i = 0; i < 4; i++) {
    struct running r = {.why = ""};
    size_t count;
    pthread_t threads[THREADS];
    assert_true(running_try_open(&r, &strategy_ledger, profiles[i].name, NULL, DISCIPLINE_LEAKY));
    const struct strategy *s = strategy_find("pooled-freelists");
    struct pool_config config = {.threads = THREADS, .why = r.why, .why_size = sizeof r.why};
    const struct kind *kinds = workload_compare.kinds(r.state, &count);
    r.thread = (struct workload_thread){.strategy = s,
                                        .pool = s->open(kinds, count, &config),
                                        .state = r.state,
                                        .threads = THREADS};
    for (int t = 0; t < THREADS; t++)
      assert_int_equal(pthread_create(&threads[t], NULL, run_thread, &r), 0);
    for (int t = 0; t < THREADS; t++) {
      void *result;
      assert_int_equal(pthread_join(threads[t], &result), 0);
      assert_non_null(result);
    }
    s->close(r.thread.pool);
    workload_compare.close(r.state);
  }
}

static void every_strategy_runs_every_discipline(void **state) {
  (void)state;
  for (size_t s = 0; strategies[s]; s++)
    for (enum discipline d = DISCIPLINE_BALANCED; d <= DISCIPLINE_LEAKY; d++) {
      struct running r;
      if (strategies[s]->flags & (STRATEGY_ONE_OBJECT | STRATEGY_NEEDS_OWNER))
        continue;
      running_open(&r, strategies[s], "Compare/Pod/structured", d);
      running_run(&r, 5);
      running_close(&r);
      running_open(&r, strategies[s], "Compare/Node/unstructured", d);
      running_run(&r, 5);
      running_close(&r);
    }
}

static void structured_cases_are_in_the_sweep(void **state) {
  (void)state;
  size_t i;
  for (i = 0; workload_compare.cases[i].name; i++) {
    const struct workload_case *c = &workload_compare.cases[i];
    assert_string_equal(c->name, profiles[i].name);
    assert_int_equal(c->in_sweep, !is_unstructured(&profiles[i]));
    assert_int_equal(c->disciplines, DISCIPLINE_ALL);
    assert_int_equal(c->flags & CASE_OUTLIVES_SCOPE, 0);
  }
  assert_int_equal(i, PROFILES);
}

static int count_this_thread(void **state) {
  (void)state;
  heap_thread_begin();
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(allocations_are_those_of_the_profile),
      cmocka_unit_test(malloc_adds_one_allocation_a_get),
      cmocka_unit_test(leaky_adds_one_allocation_a_loss),
      cmocka_unit_test(every_op_costs_the_same),
      cmocka_unit_test(balanced_puts_every_object),
      cmocka_unit_test(as_merged_loses_what_the_new_program_loses),
      cmocka_unit_test(leaky_loses_what_the_old_program_lost),
      cmocka_unit_test(lost_objects_are_dropped_at_the_end_of_the_op),
      cmocka_unit_test(returned_objects_come_back_in_reverse_order),
      cmocka_unit_test(objects_of_a_kind_come_back_in_reverse_order),
      cmocka_unit_test(each_traversal_is_a_scope),
      cmocka_unit_test(no_object_outlives_a_scope_that_it_dies_with),
      cmocka_unit_test(walkers_visit_what_they_should),
      cmocka_unit_test(an_op_survives_the_failure_of_any_allocation),
      cmocka_unit_test(opening_survives_the_failure_of_any_allocation),
      cmocka_unit_test(threads_share_nothing_that_is_written),
      cmocka_unit_test(every_strategy_runs_every_discipline),
      cmocka_unit_test(structured_cases_are_in_the_sweep),
  };
  return cmocka_run_group_tests_name("compare_profile", tests, count_this_thread, NULL);
}
