/*
 * The books of a thread: held and lost objects, spare walkers, scopes.
 */
#include "workloads/compare/op.h"

#include "harness/heap.h"
#include "workloads/compare/catalog.h"
#include "workloads/compare/walkers.h"

#include <string.h>

/* A list item is held with up to MAX_KEYS key values, by two validations and two sides. */
static size_t room_for(size_t items, size_t lists) {
  return 4 * (items * (1 + MAX_KEYS) + lists) + 16;
}

/* Whole cache line pairs of its own: what a thread writes must not lie beside another's. */
static size_t own_lines(size_t size) {
  return (size + POOL_LINE - 1) & ~(size_t)(POOL_LINE - 1);
}

static void *thread_alloc(size_t size) {
  return heap_alloc_aligned(own_lines(size), POOL_LINE);
}

static void thread_free(void *p, size_t size) {
  heap_free(p, own_lines(size));
}

/* One a level below the root's, from depth 1. */
#define SPARES (MAX_DEPTH - 1)

static void link_spares(struct op *op) {
  for (size_t i = 0; i < SPARES; i++) {
    bool deepest = i + 1 == SPARES;
    op->validate_spares[i] = (struct validate_walker){
        .op = op,
        .parent = i > 0 ? &op->validate_spares[i - 1] : NULL, /* of the first: set by validate */
        .child = deepest ? NULL : &op->validate_spares[i + 1],
        .depth = i + 1,
    };
    op->merge_spares[i] = (struct merge_walker){
        .op = op,
        .parent = i > 0 ? &op->merge_spares[i - 1] : NULL, /* of the first: set by compare */
        .child = deepest ? NULL : &op->merge_spares[i + 1],
        .depth = i + 1,
    };
  }
}

bool op_open(struct op *op, size_t items, size_t lists) {
  memset(op, 0, sizeof *op);
  op->held_capacity = op->lost_capacity = room_for(items, lists);
  op->held = thread_alloc(op->held_capacity * sizeof *op->held);
  op->lost = thread_alloc(op->lost_capacity * sizeof *op->lost);
  op->validate_spares = thread_alloc(SPARES * sizeof *op->validate_spares);
  op->merge_spares = thread_alloc(SPARES * sizeof *op->merge_spares);
  if (!op->held || !op->lost || !op->validate_spares || !op->merge_spares) {
    op_close(op);
    return false;
  }
  link_spares(op);
  return true;
}

void op_close(struct op *op) {
  thread_free(op->held, op->held_capacity * sizeof *op->held);
  thread_free(op->lost, op->lost_capacity * sizeof *op->lost);
  thread_free(op->validate_spares, SPARES * sizeof *op->validate_spares);
  thread_free(op->merge_spares, SPARES * sizeof *op->merge_spares);
  memset(op, 0, sizeof *op);
}

bool op_begin(struct op *op, struct pool_scope **outer) {
  struct pool_scope *scope = pool_begin(op->strategy, op->pool, op->thread, NULL);
  if (!scope) {
    op->out_of_memory = true;
    return false;
  }
  *outer = op->scope;
  op->scope = scope;
  return true;
}

void op_end(struct op *op, struct pool_scope *outer) {
  /* Where objects die with their scope, they cannot wait for the end of the op. */
  if (op->strategy->flags & STRATEGY_OBJECTS_DIE_WITH_SCOPE)
    op_drop_lost(op);
  pool_end(op->strategy, op->pool, op->scope);
  op->scope = outer;
}

void op_release(struct op *op, size_t mark) {
  while (op->held_count > mark) {
    struct held_object *h = &op->held[--op->held_count];
    op_give_back(op, h->kind, h->object, h->loss);
  }
}

void op_drop_lost(struct op *op) {
  while (op->lost_count > 0) {
    struct lost_object *l = &op->lost[--op->lost_count];
    pool_drop(op->strategy, op->thread, l->kind, l->object);
  }
}
