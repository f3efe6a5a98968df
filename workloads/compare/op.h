/*
 * What one thread needs to do compare ops: where its objects come from, what it holds, what it
 * lost, what it visited.
 *
 * The lists of held and lost objects are as long as an op can make them when they are opened, so
 * that keeping the books costs an op no allocation. Nothing here is shared between threads.
 */
#ifndef POOLBENCH_COMPARE_OP_H
#define POOLBENCH_COMPARE_OP_H

#include "harness/heap.h"
#include "workloads/workload.h"

#include <assert.h>

/* The kinds that the strategy recycles: indices into compare_kinds. */
enum recycled {
  KIND_TREE_VALUE,
  KIND_TYPED_VALUE,
  KIND_TYPED_MAP,
  KIND_TYPED_STRUCT,
  KIND_TYPED_LIST,
  KIND_LIST_RANGE,
  KIND_VALIDATE_WALKER,
  KIND_MERGE_WALKER,
  KIND_COUNT,
};
extern const struct kind compare_kinds[KIND_COUNT];

/* Which programs forgot to put an object. */
enum loss {
  LOSS_NEVER,
  LOSS_BEFORE, /* the one before the change: discipline leaky */
  LOSS_STILL,  /* also the one after it: leaky and as-merged */
};

struct held_object {
  void *object;
  uint8_t kind; /* enum recycled */
  uint8_t loss; /* enum loss */
};

struct lost_object {
  void *object;
  uint8_t kind;
};

/* What the walkers visited, for tests; one writer, its thread. */
struct visits {
  uint64_t validate_maps, validate_entries, validate_lists, validate_items, validate_scalars;
  uint64_t merge_maps, merge_entries, merge_lists, merge_items, merge_leaves, merge_scalars;
  uint64_t equality_calls;
};

struct validate_walker;
struct merge_walker;

struct op {
  const struct strategy *strategy;
  struct pool *pool;
  struct pool_thread *thread;
  struct pool_scope *scope; /* the innermost one */
  enum discipline discipline;
  bool out_of_memory; /* some call failed for want of memory; everything it held is back */

  struct held_object *held; /* to be put in reverse order */
  size_t held_count, held_capacity;
  struct lost_object *lost; /* to be dropped when the op is over */
  size_t lost_count, lost_capacity;

  /* Spare walkers, one a depth: a traversal never needs two of the same depth at once. They point
   * back at the op, which must stay where it is. */
  struct validate_walker *validate_spares;
  struct merge_walker *merge_spares;

  struct visits visits;
};

/*
 * Room for ops on objects whose lists have `items` items in all, in `lists` lists. pool and
 * thread may be filled in later. false when out of memory, with nothing kept.
 */
bool op_open(struct op *op, size_t items, size_t lists);
void op_close(struct op *op);

/* A scope for a traversal, inside the current one. false when out of memory. */
bool op_begin(struct op *op, struct pool_scope **outer);
void op_end(struct op *op, struct pool_scope *outer);

/* An object in its cleared state, or NULL with out_of_memory set. */
static inline void *op_get(struct op *op, enum recycled kind) {
  void *object = pool_get(op->strategy, op->scope, kind);
  if (!object)
    op->out_of_memory = true;
  return object;
}

static inline void op_put(struct op *op, enum recycled kind, void *object) {
  pool_put(op->strategy, op->scope, kind, object);
}

/*
 * op_hold keeps an object until op_release is called with the mark taken before: then it is put,
 * or lost if the discipline says so. The latest held comes back first.
 */
static inline void op_hold(struct op *op, enum recycled kind, void *object, enum loss loss) {
  assert(op->held_count < op->held_capacity); /* op_open was told of every item there is */
  op->held[op->held_count++] = (struct held_object){object, (uint8_t)kind, (uint8_t)loss};
}
static inline size_t op_mark(const struct op *op) {
  return op->held_count;
}
void op_release(struct op *op, size_t mark);

static inline bool op_loses(const struct op *op, enum loss loss) {
  return (op->discipline == DISCIPLINE_LEAKY && loss != LOSS_NEVER) ||
         (op->discipline == DISCIPLINE_AS_MERGED && loss == LOSS_STILL);
}

/* Puts or loses one object now. */
static inline void op_give_back(struct op *op, enum recycled kind, void *object, enum loss loss) {
  if (op_loses(op, loss) && op->lost_count < op->lost_capacity)
    op->lost[op->lost_count++] = (struct lost_object){object, (uint8_t)kind};
  else
    op_put(op, kind, object);
}

/* Drops what was lost: the op is over. */
void op_drop_lost(struct op *op);

/* heap_alloc that sets out_of_memory. */
static inline void *op_alloc(struct op *op, size_t size) {
  void *p = heap_alloc(size);
  if (!p)
    op->out_of_memory = true;
  return p;
}

#endif
