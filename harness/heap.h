/*
 * The counted heap: the only way to memory for strategies and workloads.
 *
 * It adds no header to a block: sizes are given back at free, counts live in thread-local
 * counters with one writer each. allocs/op and B/op are these counts (bytes as requested).
 * Below it is whatever malloc the process has, so LD_PRELOAD changes the allocator.
 */
#ifndef POOLBENCH_HEAP_H
#define POOLBENCH_HEAP_H

#include "harness/span.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/*
 * Starts and ends counting for the calling thread. Between them its counters are visible to
 * heap_total; heap_thread_end folds them into the total of past threads. Allocations outside
 * are served but not counted. A thread that ends without the call loses nothing but its visibility.
 */
void heap_thread_begin(void);
void heap_thread_end(void);

/*
 * Return memory of `size` bytes (any size, 0 included) or NULL when the allocator failed.
 * heap_alloc aligns to alignof(max_align_t); heap_alloc_aligned to `align`, a power of two;
 * heap_calloc zeroes. Any thread may free what another allocated.
 */
static inline void *heap_alloc(size_t size) __attribute__((malloc, warn_unused_result));
static inline void *heap_calloc(size_t size) __attribute__((malloc, warn_unused_result));
void *heap_alloc_aligned(size_t size, size_t align) __attribute__((malloc, warn_unused_result));

/* Frees p (NULL is allowed); size is what was asked for. */
static inline void heap_free(void *p, size_t size);

/*
 * Asks the allocator to give back what it caches: the calling thread's cache and what is shared.
 * What a process still has after all of its threads called this is in use or cannot be given back.
 * False: this allocator has no such call. Not for ops: it is as slow as it likes. In footprint.c,
 * which knows the allocators.
 */
bool heap_release(void);

struct heap_counts {
  uint64_t allocs, alloc_bytes;
  uint64_t frees, freed_bytes;    /* live bytes = alloc_bytes - freed_bytes, over all threads */
  uint64_t calls_in_time;         /* allocs and frees of threads that time a sample of theirs */
  uint64_t timed_ns, timed_calls; /* that sample, by the time-stamp counter */
  uint64_t long_ns, long_calls;   /* those beyond HEAP_LONG_NS, which are not above */
  uint64_t empty_ns, empty_calls; /* spans around nothing, taken in between: not yet subtracted */
};

/*
 * The sum over all threads, past and present; callable at any time from any thread. Exact for
 * threads that are parked or gone, approximate for those that run.
 */
void heap_total(struct heap_counts *out);

/* Bytes allocated and not yet freed; 0 when frees were seen before their allocations. */
static inline uint64_t heap_live(const struct heap_counts *c) {
  return c->alloc_bytes > c->freed_bytes ? c->alloc_bytes - c->freed_bytes : 0;
}

/*
 * From now on a random sample of the calling thread's calls is timed; clock stays valid, NULL ends
 * it. A timed call costs 70 ns by itself and more by what it drives out of the caches and
 * predictors: at one in 512, a Compare op took 3 % longer, so it is one in HEAP_TIME_GAP.
 */
#define HEAP_TIME_GAP 2048
/*
 * Beyond this a call went to the kernel or was interrupted; which of the two, their frequency
 * tells (budget.c). What the scheduler interrupted, four times SPAN_LIMIT_NS, is left out.
 */
#define HEAP_LONG_NS 5000
void heap_time_calls(const struct span_clock *clock);

/*
 * Fault injection for tests: the calling thread's n-th allocation from now fails (1 = the next
 * one), once. 0 turns it off.
 */
void heap_fail_after(uint64_t n);

/*
 * The rest is the fast path, inline: one comparison, two counters and the call below, some ten
 * instructions.
 *
 * heap_fast is written by its thread alone and read by heap_total, relaxed. Counting starts at zero
 * at heap_thread_begin and simply goes on, unseen, outside of it: no test for that here. In an
 * executable the linker makes its offset from the thread pointer a constant (local-exec model); in
 * a shared library each use would be a call. Its fields are named, never reached by a pointer to
 * it: gcc 12's undefined-behaviour sanitizer takes such a pointer for NULL.
 */
struct heap_fast {
  _Alignas(64) _Atomic uint64_t allocs; /* one line for all */
  _Atomic uint64_t alloc_bytes, frees, freed_bytes;
  /* The next allocation and free that are not plain are those made when the counter has this. */
  uint64_t alloc_event, free_event;
};
extern _Thread_local struct heap_fast heap_fast;

/* Out of line: calls that are timed or made to fail, and what was counted and then refused. */
#define HEAP_SLOW __attribute__((cold, noinline))
HEAP_SLOW void *heap_alloc_event(size_t size);
HEAP_SLOW void *heap_calloc_event(size_t size);
HEAP_SLOW void heap_free_event(void *p, size_t size);
HEAP_SLOW void *heap_alloc_refused(size_t size);

/* Single writer: nobody else stores, so load and store need not be one atomic step. */
static inline void heap_add(_Atomic uint64_t *counter, uint64_t n) {
  atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + n,
                        memory_order_relaxed);
}

/*
 * Counts a call. False, and not counted: it is one that is timed or that a test wants to fail. The
 * counter is loaded anyway and the event is on its line.
 */
static inline bool heap_count_plain(_Atomic uint64_t *calls, uint64_t event,
                                    _Atomic uint64_t *bytes, size_t size) {
  uint64_t n = atomic_load_explicit(calls, memory_order_relaxed);
  if (__builtin_expect(n == event, 0))
    return false;
  atomic_store_explicit(calls, n + 1, memory_order_relaxed);
  heap_add(bytes, size);
  return true;
}

/* What is counted must happen: compilers drop a malloc whose memory nobody reads, and its free. */
static inline void *heap_opaque(void *p) {
  __asm__("" : "+r"(p));
  return p;
}

/* Counted before the call, so that nothing has to be kept over it. */
static inline void *heap_alloc(size_t size) {
  if (!heap_count_plain(&heap_fast.allocs, heap_fast.alloc_event, &heap_fast.alloc_bytes, size))
    return heap_alloc_event(size);
  void *p = heap_opaque(malloc(size));
  return __builtin_expect(p != NULL, 1) ? p : heap_alloc_refused(size);
}

static inline void *heap_calloc(size_t size) {
  if (!heap_count_plain(&heap_fast.allocs, heap_fast.alloc_event, &heap_fast.alloc_bytes, size))
    return heap_calloc_event(size);
  void *p = heap_opaque(calloc(1, size));
  return __builtin_expect(p != NULL, 1) ? p : heap_alloc_refused(size);
}

static inline void heap_free(void *p, size_t size) {
  if (!p)
    return;
  if (!heap_count_plain(&heap_fast.frees, heap_fast.free_event, &heap_fast.freed_bytes, size))
    heap_free_event(p, size);
  else
    free(p);
}

#endif
