/*
 * The workload compare, opened as the harness opens it: one case, one strategy, one thread. And a
 * strategy made for tests that keeps a ledger of every get, put and drop. Include after cmocka.h.
 */
#ifndef POOLBENCH_COMPARE_FIXTURE_H
#define POOLBENCH_COMPARE_FIXTURE_H

#include "harness/heap.h"
#include "workloads/compare/catalog.h"
#include "workloads/compare/walkers.h"

#include <stdio.h>
#include <string.h>

extern const struct workload workload_compare;

/* The ledger: recycles per kind in LIFO order without limit, and remembers the first events. */
#define LEDGER_EVENTS 50000

struct ledger {
  uint64_t gets[KIND_COUNT], puts[KIND_COUNT], drops[KIND_COUNT], misses;
  int scopes, deepest; /* open now, at most */
  uint64_t begins;
  size_t event_count;
  struct ledger_event {
    void *object;
    unsigned kind;
    char what; /* 'g'et, 'p'ut, 'd'rop, 'b'egin, 'e'nd */
  } events[LEDGER_EVENTS];
};

struct ledger_free {
  struct ledger_free *next;
};

struct pool {
  struct ledger ledger;
  struct pool_thread thread;
  struct pool_scope scope;
  const struct kind *kinds;
  size_t kind_count;
  struct ledger_free *free[KIND_COUNT];
};

static struct pool *ledger_open(const struct kind *kinds, size_t count,
                                const struct pool_config *config) {
  (void)config;
  struct pool *p = heap_calloc(sizeof *p);
  assert_non_null(p);
  p->kinds = kinds;
  p->kind_count = count;
  return p;
}

static void ledger_close(struct pool *p) {
  for (size_t k = 0; k < p->kind_count; k++)
    for (struct ledger_free *f = p->free[k], *next; f; f = next) {
      next = f->next;
      heap_free(f, p->kinds[k].size);
    }
  heap_free(p, sizeof *p);
}

static struct pool_thread *ledger_attach(struct pool *p) {
  return &p->thread;
}

static void ledger_detach(struct pool *p, struct pool_thread *t) {
  (void)p;
  (void)t;
}

/* The thread and the scope lie in the pool: no call needs a look-up. */
static struct pool *ledger_of(struct pool_thread *t) {
  return (struct pool *)((char *)t - offsetof(struct pool, thread));
}

static void ledger_note(struct ledger *l, void *object, unsigned kind, char what) {
  if (l->event_count < LEDGER_EVENTS)
    l->events[l->event_count++] = (struct ledger_event){object, kind, what};
}

static struct pool_scope *ledger_begin(struct pool *p, struct pool_thread *t,
                                       struct pool_owner *owner) {
  (void)owner;
  p->scope.thread = t;
  p->ledger.begins++;
  if (++p->ledger.scopes > p->ledger.deepest)
    p->ledger.deepest = p->ledger.scopes;
  ledger_note(&p->ledger, NULL, 0, 'b');
  return &p->scope;
}

static void ledger_end(struct pool *p, struct pool_scope *scope) {
  assert_ptr_equal(scope, &p->scope);
  p->ledger.scopes--;
  ledger_note(&p->ledger, NULL, 0, 'e');
}

/* Recycled memory holds the free list in its first word, so init runs for every get. */
static void *ledger_get(struct pool_scope *scope, unsigned kind) {
  struct pool *p = ledger_of(scope->thread);
  struct ledger_free *f = p->free[kind];
  if (f)
    p->free[kind] = f->next;
  else
    p->ledger.misses++;
  void *object = f ? (void *)f : heap_alloc(p->kinds[kind].size);
  assert_non_null(object);
  if (p->kinds[kind].init)
    assert_true(p->kinds[kind].init(object));
  p->ledger.gets[kind]++;
  ledger_note(&p->ledger, object, kind, 'g');
  return object;
}

static void ledger_recycle(struct pool *p, unsigned kind, void *object) {
  struct ledger_free *f = object;
  f->next = p->free[kind];
  p->free[kind] = f;
}

static void ledger_put(struct pool_scope *scope, unsigned kind, void *object) {
  struct pool *p = ledger_of(scope->thread);
  if (p->kinds[kind].clear)
    p->kinds[kind].clear(object);
  p->ledger.puts[kind]++;
  ledger_note(&p->ledger, object, kind, 'p');
  ledger_recycle(p, kind, object);
}

static void ledger_drop(struct pool_thread *t, unsigned kind, void *object) {
  struct pool *p = ledger_of(t);
  if (p->kinds[kind].destroy)
    p->kinds[kind].destroy(object);
  p->ledger.drops[kind]++;
  ledger_note(&p->ledger, object, kind, 'd');
  heap_free(object, p->kinds[kind].size);
}

#define LEDGER_CALLS                                                                            \
  .open = ledger_open, .close = ledger_close, .attach = ledger_attach, .detach = ledger_detach, \
  .begin = ledger_begin, .end = ledger_end, .get = ledger_get, .put = ledger_put,               \
  .drop = ledger_drop

static const struct strategy strategy_ledger = {
    .name = "ledger",
    LEDGER_CALLS,
};

/* The same, but it says that its objects die with their scope, as an arena's do. */
static const struct strategy strategy_mortal_ledger = {
    .name = "mortal ledger",
    .flags = STRATEGY_OBJECTS_DIE_WITH_SCOPE,
    LEDGER_CALLS,
};

static inline uint64_t ledger_total(const uint64_t counts[KIND_COUNT]) {
  uint64_t sum = 0;
  for (int k = 0; k < KIND_COUNT; k++)
    sum += counts[k];
  return sum;
}

/* A case that runs. */
struct running {
  struct workload_state *state;
  struct workload_thread thread;
  char why[600];
};

static inline bool running_try_open(struct running *r, const struct strategy *strategy,
                                    const char *case_name, const char *object_file,
                                    enum discipline discipline) {
  *r = (struct running){.why = ""};
  struct workload_setup setup = {.case_name = case_name,
                                 .object_file = object_file,
                                 .discipline = discipline,
                                 .threads = 1,
                                 .why = r->why,
                                 .why_size = sizeof r->why};
  return workload_compare.open(&setup, &r->state) && strategy != NULL;
}

static inline void running_attach(struct running *r, const struct strategy *strategy) {
  size_t count;
  struct pool_config config = {.threads = 1, .why = r->why, .why_size = sizeof r->why};
  const struct kind *kinds = workload_compare.kinds(r->state, &count);
  strategy = strategy->open == ledger_open ? strategy : strategy_checked(strategy);
  struct pool *pool = strategy->open(kinds, count, &config);
  assert_non_null(pool);
  r->thread = (struct workload_thread){.strategy = strategy,
                                       .pool = pool,
                                       .pool_thread = strategy->attach(pool),
                                       .state = r->state,
                                       .threads = 1};
  assert_non_null(r->thread.pool_thread);
  assert_true(workload_compare.thread_open(&r->thread));
}

static inline void running_open(struct running *r, const struct strategy *strategy,
                                const char *case_name, enum discipline discipline) {
  if (!running_try_open(r, strategy, case_name, NULL, discipline))
    fail_msg("%s: %s", case_name, r->why);
  running_attach(r, strategy);
}

static inline void running_run(struct running *r, uint64_t n) {
  workload_compare.run(&r->thread, n);
  if (r->thread.failed)
    fail_msg("%s", r->thread.why);
}

static inline void running_close(struct running *r) {
  workload_compare.thread_close(&r->thread);
  r->thread.strategy->detach(r->thread.pool, r->thread.pool_thread);
  r->thread.strategy->close(r->thread.pool);
  workload_compare.close(r->state);
}

/* The op is the first member of what a thread of the workload keeps. */
static inline struct op *running_op(const struct running *r) {
  return r->thread.local;
}

/* A group's setup and teardown: the catalog, and the check that all objects were freed. */
static struct catalog catalog;

static inline int open_catalog(void **state) {
  (void)state;
  heap_thread_begin();
  return catalog_open(&catalog) ? 0 : -1;
}

static inline int close_catalog(void **state) {
  (void)state;
  struct heap_counts c;
  catalog_close(&catalog);
  heap_total(&c);
  return c.alloc_bytes == c.freed_bytes ? 0 : -1;
}

#endif
