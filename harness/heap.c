/*
 * The counted heap; see heap.h for the contract.
 *
 * Owns the per-thread counters and the list of those that are visible. It must add nothing to a
 * block and as little as possible to a call: about 1 ns over the malloc below. It must not keep
 * memory back, or it would measure itself instead of the allocator.
 */
#include "harness/heap.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define NEVER UINT64_MAX

/*
 * One per thread, written by that thread alone and read by heap_total. Counting starts at zero
 * at heap_thread_begin and simply goes on, unseen, outside of it: no test on the fast path.
 */
struct counters {
  _Atomic uint64_t allocs, alloc_bytes, frees, freed_bytes;
  uint64_t fail_at; /* the allocation that fails is the one made when allocs has this value */
  bool visible;
  struct counters *next, *previous; /* under list.lock */
};

/*
 * Linked into an executable, this is thread-pointer relative with a constant offset (local-exec
 * model): one segment-prefixed instruction. From a shared library it would be a call.
 */
static _Thread_local struct counters self = {.fail_at = NEVER};

static struct {
  pthread_mutex_t lock;
  struct counters *first;
  struct heap_counts past; /* threads that have ended */
  pthread_once_t once;
  pthread_key_t at_exit; /* folds a thread that ends without heap_thread_end */
  bool has_key;
} list = {.lock = PTHREAD_MUTEX_INITIALIZER, .once = PTHREAD_ONCE_INIT};

/* Single writer: nobody else stores, so load and store need not be one atomic step. */
static inline void add(_Atomic uint64_t *counter, uint64_t n) {
  atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + n,
                        memory_order_relaxed);
}

/* Frees first: a thread that runs on meanwhile then looks as if it held a little too much, never
 * as if it had freed what it did not allocate. */
static void add_counts(struct heap_counts *sum, const struct counters *c) {
  sum->frees += atomic_load_explicit(&c->frees, memory_order_relaxed);
  sum->freed_bytes += atomic_load_explicit(&c->freed_bytes, memory_order_relaxed);
  sum->allocs += atomic_load_explicit(&c->allocs, memory_order_relaxed);
  sum->alloc_bytes += atomic_load_explicit(&c->alloc_bytes, memory_order_relaxed);
}

static void fold_at_exit(void *counters) {
  (void)counters; /* the destructor runs on the ending thread, while `self` is still there */
  heap_thread_end();
}

static void make_key(void) {
  list.has_key = pthread_key_create(&list.at_exit, fold_at_exit) == 0;
}

void heap_thread_begin(void) {
  if (self.visible)
    return;
  pthread_once(&list.once, make_key);
  if (list.has_key)
    pthread_setspecific(list.at_exit, &self);
  if (self.fail_at != NEVER)
    self.fail_at -= atomic_load_explicit(&self.allocs, memory_order_relaxed);
  atomic_store_explicit(&self.allocs, 0, memory_order_relaxed);
  atomic_store_explicit(&self.alloc_bytes, 0, memory_order_relaxed);
  atomic_store_explicit(&self.frees, 0, memory_order_relaxed);
  atomic_store_explicit(&self.freed_bytes, 0, memory_order_relaxed);
  pthread_mutex_lock(&list.lock);
  self.previous = NULL;
  self.next = list.first;
  if (list.first)
    list.first->previous = &self;
  list.first = &self;
  self.visible = true;
  pthread_mutex_unlock(&list.lock);
}

void heap_thread_end(void) {
  if (!self.visible)
    return;
  pthread_mutex_lock(&list.lock);
  add_counts(&list.past, &self);
  if (self.next)
    self.next->previous = self.previous;
  if (self.previous)
    self.previous->next = self.next;
  else
    list.first = self.next;
  self.visible = false;
  pthread_mutex_unlock(&list.lock);
}

/*
 * The one test on the fast path: is this the allocation that a test wants to fail? The counter
 * is loaded anyway, fail_at is on its line, and the branch is never taken in a measurement.
 */
static inline bool fails_now(void) {
  if (__builtin_expect(atomic_load_explicit(&self.allocs, memory_order_relaxed) != self.fail_at, 1))
    return false;
  self.fail_at = NEVER;
  return true;
}

static inline void *counted(void *p, size_t size) {
  if (__builtin_expect(p != NULL, 1)) {
    add(&self.allocs, 1);
    add(&self.alloc_bytes, size);
  }
  return p;
}

void *heap_alloc(size_t size) {
  if (fails_now())
    return NULL;
  void *p = malloc(size);
  if (__builtin_expect(p == NULL, 0) && size == 0) /* C allows NULL for 0, this contract not */
    p = malloc(1);
  return counted(p, size);
}

void *heap_alloc_aligned(size_t size, size_t align) {
  if (align <= _Alignof(max_align_t))
    return heap_alloc(size);
  void *p = NULL;
  if (fails_now() || posix_memalign(&p, align, size > 0 ? size : 1) != 0)
    return NULL;
  return counted(p, size);
}

void *heap_calloc(size_t size) {
  if (fails_now())
    return NULL;
  return counted(calloc(1, size > 0 ? size : 1), size);
}

void heap_free(void *p, size_t size) {
  if (p == NULL)
    return;
  add(&self.frees, 1);
  add(&self.freed_bytes, size);
  free(p);
}

void heap_total(struct heap_counts *out) {
  pthread_mutex_lock(&list.lock);
  *out = list.past;
  for (const struct counters *c = list.first; c; c = c->next)
    add_counts(out, c);
  pthread_mutex_unlock(&list.lock);
}

void heap_fail_after(uint64_t n) {
  self.fail_at = n == 0 ? NEVER : atomic_load_explicit(&self.allocs, memory_order_relaxed) + n - 1;
}
