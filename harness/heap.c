/*
 * The counted heap; see heap.h for the contract.
 *
 * Owns the per-thread counters and the list of those that are visible. It must add nothing to a
 * block and as little as possible to a call. It must not keep memory back, or it would measure
 * itself instead of the allocator.
 */
#include "harness/heap.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define NEVER UINT64_MAX

/* What the thread has beside heap_fast; written by that thread alone and read by heap_total. */
struct counters {
  const struct heap_fast *fast;    /* the same thread's, once visible */
  uint64_t fail_at, time_alloc_at; /* alloc_event is the lesser of the two */
  const struct span_clock *clock;  /* NULL: no call is timed */
  struct span_gap alloc_gap, free_gap;
  _Atomic uint64_t timed_ns, timed_calls, long_ns, long_calls, empty_ns, empty_calls;
  _Atomic uint64_t calls_before; /* those made when timing was turned on; NEVER: it is off */
  _Atomic uint64_t calls_then;   /* made while it was on, before it was last turned off */
  bool visible;
  struct counters *next, *previous; /* under list.lock */
};

_Thread_local struct heap_fast heap_fast = {.alloc_event = NEVER, .free_event = NEVER};
static _Thread_local struct counters self = {
    .fail_at = NEVER, .time_alloc_at = NEVER, .calls_before = NEVER};

static struct {
  pthread_mutex_t lock;
  struct counters *first;
  struct heap_counts past; /* threads that have ended */
  pthread_once_t once;
  pthread_key_t at_exit; /* folds a thread that ends without heap_thread_end */
  bool has_key;
} list = {.lock = PTHREAD_MUTEX_INITIALIZER, .once = PTHREAD_ONCE_INIT};

static uint64_t calls_of(const struct heap_fast *fast) {
  return atomic_load_explicit(&fast->allocs, memory_order_relaxed) +
         atomic_load_explicit(&fast->frees, memory_order_relaxed);
}

/* Calls made while some were timed. */
static uint64_t calls_in_time(const struct counters *c, const struct heap_fast *fast) {
  uint64_t before = atomic_load_explicit(&c->calls_before, memory_order_relaxed);
  return atomic_load_explicit(&c->calls_then, memory_order_relaxed) +
         (before == NEVER ? 0 : calls_of(fast) - before);
}

/*
 * Relaxed: exact for threads that are parked (what parked them orders their counts before this),
 * near enough for those that run. Frees first, so that such a thread more likely looks as if it
 * held too much than as if it had freed what it never had; nothing promises that order, and a block
 * freed by another thread may be missed either way.
 */
static void add_counts(struct heap_counts *sum, const struct counters *c) {
  sum->frees += atomic_load_explicit(&c->fast->frees, memory_order_relaxed);
  sum->freed_bytes += atomic_load_explicit(&c->fast->freed_bytes, memory_order_relaxed);
  sum->allocs += atomic_load_explicit(&c->fast->allocs, memory_order_relaxed);
  sum->alloc_bytes += atomic_load_explicit(&c->fast->alloc_bytes, memory_order_relaxed);
  sum->calls_in_time += calls_in_time(c, c->fast);
  sum->timed_ns += atomic_load_explicit(&c->timed_ns, memory_order_relaxed);
  sum->timed_calls += atomic_load_explicit(&c->timed_calls, memory_order_relaxed);
  sum->long_ns += atomic_load_explicit(&c->long_ns, memory_order_relaxed);
  sum->long_calls += atomic_load_explicit(&c->long_calls, memory_order_relaxed);
  sum->empty_ns += atomic_load_explicit(&c->empty_ns, memory_order_relaxed);
  sum->empty_calls += atomic_load_explicit(&c->empty_calls, memory_order_relaxed);
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
    self.fail_at -= atomic_load_explicit(&heap_fast.allocs, memory_order_relaxed);
  heap_time_calls(NULL);
  atomic_store_explicit(&self.calls_then, 0, memory_order_relaxed);
  atomic_store_explicit(&self.timed_ns, 0, memory_order_relaxed);
  atomic_store_explicit(&self.timed_calls, 0, memory_order_relaxed);
  atomic_store_explicit(&self.long_ns, 0, memory_order_relaxed);
  atomic_store_explicit(&self.long_calls, 0, memory_order_relaxed);
  atomic_store_explicit(&self.empty_ns, 0, memory_order_relaxed);
  atomic_store_explicit(&self.empty_calls, 0, memory_order_relaxed);
  atomic_store_explicit(&heap_fast.allocs, 0, memory_order_relaxed);
  atomic_store_explicit(&heap_fast.alloc_bytes, 0, memory_order_relaxed);
  atomic_store_explicit(&heap_fast.frees, 0, memory_order_relaxed);
  atomic_store_explicit(&heap_fast.freed_bytes, 0, memory_order_relaxed);
  pthread_mutex_lock(&list.lock);
  self.fast = &heap_fast;
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

static void *counted(void *p, size_t size) {
  if (p) {
    heap_add(&heap_fast.allocs, 1);
    heap_add(&heap_fast.alloc_bytes, size);
  }
  return p;
}

/* The three ways to the allocator, for one place that times them. */
static void *get_plain(size_t size, size_t align) {
  (void)align;
  void *p = malloc(size);
  return p || size > 0 ? p : malloc(1);
}

static void *get_aligned(size_t size, size_t align) {
  void *p = NULL;
  return posix_memalign(&p, align, size > 0 ? size : 1) == 0 ? p : NULL;
}

static void *get_zeroed(size_t size, size_t align) {
  (void)align;
  return calloc(1, size > 0 ? size : 1);
}

/*
 * What empty spans call. They are called once before each span, too, since the allocator's code is
 * warm then and theirs would not be. Not optimised away: __asm__ might do anything.
 */
#define NOTHING __attribute__((noinline))
NOTHING static void *get_nothing(size_t size, size_t align) {
  (void)size, (void)align;
  __asm__ volatile("");
  return NULL;
}

NOTHING static void *malloc_nothing(size_t size) {
  (void)size;
  __asm__ volatile("");
  return NULL;
}

NOTHING static void free_nothing(void *p) {
  (void)p;
  __asm__ volatile("");
}

/*
 * Every other event, by chance, times no call at all: on the same code, as cold and as badly
 * predicted after hundreds of plain calls, so that its mean is what a span costs here.
 */
static bool event_is_empty(const struct span_gap *gap) {
  return gap->random >> 31;
}

static void count_span(bool empty, uint64_t begin, uint64_t end) {
  uint64_t ns = span_to_ns(self.clock, end - begin);
  if (empty && ns <= HEAP_LONG_NS) {
    heap_add(&self.empty_ns, ns);
    heap_add(&self.empty_calls, 1);
  }
  if (empty || ns > 4 * SPAN_LIMIT_NS)
    return;
  bool is_long = ns > HEAP_LONG_NS;
  heap_add(is_long ? &self.long_ns : &self.timed_ns, ns);
  heap_add(is_long ? &self.long_calls : &self.timed_calls, 1);
}

/*
 * malloc itself behind the pointer, not get_plain: that copy of it is never called otherwise, and
 * fetching its cold line would cost as much as the allocation.
 */
static void *time_alloc(bool empty, size_t size, size_t align, void *(*get)(size_t, size_t)) {
  void *p;
  uint64_t begin, end;
  if (get == get_plain) {
    void *(*call)(size_t) = empty ? malloc_nothing : malloc;
    malloc_nothing(size);
    begin = span_begin();
    p = call(size);
    end = span_end();
  } else {
    void *(*call)(size_t, size_t) = empty ? get_nothing : get;
    get_nothing(size, align);
    begin = span_begin();
    p = call(size, align);
    end = span_end();
  }
  count_span(empty, begin, end);
  return p ? p : get(size, align);
}

static void plan_alloc_event(void) {
  heap_fast.alloc_event = self.fail_at < self.time_alloc_at ? self.fail_at : self.time_alloc_at;
}

static void *alloc_event(size_t size, size_t align, void *(*get)(size_t, size_t)) {
  uint64_t allocs = atomic_load_explicit(&heap_fast.allocs, memory_order_relaxed);
  bool fails = allocs == self.fail_at, timed = allocs == self.time_alloc_at;
  if (fails) {
    self.fail_at = NEVER;
    plan_alloc_event();
    return NULL;
  }
  if (!timed)
    return counted(get(size, align), size);
  void *p = time_alloc(event_is_empty(&self.alloc_gap), size, align, get);
  span_gap_draw(&self.alloc_gap);
  /* A failed allocation is not counted, so the next event must lie beyond the next one. */
  self.time_alloc_at = allocs + self.alloc_gap.left;
  plan_alloc_event();
  return counted(p, size);
}

void heap_free_event(void *p, size_t size) {
  heap_add(&heap_fast.frees, 1);
  heap_add(&heap_fast.freed_bytes, size);
  bool empty = event_is_empty(&self.free_gap);
  void (*call)(void *) = empty ? free_nothing : free;
  free_nothing(p);
  uint64_t begin = span_begin();
  call(p);
  uint64_t end = span_end();
  count_span(empty, begin, end);
  if (empty)
    free(p);
  span_gap_draw(&self.free_gap);
  heap_fast.free_event += self.free_gap.left;
}

void *heap_alloc_event(size_t size) {
  return alloc_event(size, 0, get_plain);
}

void *heap_calloc_event(size_t size) {
  return alloc_event(size, 0, get_zeroed);
}

void *heap_alloc_aligned(size_t size, size_t align) {
  if (align <= _Alignof(max_align_t))
    return heap_alloc(size);
  if (atomic_load_explicit(&heap_fast.allocs, memory_order_relaxed) == heap_fast.alloc_event)
    return alloc_event(size, align, get_aligned);
  return counted(get_aligned(size, align), size);
}

/* C allows NULL for 0 bytes, this contract not. */
void *heap_alloc_refused(size_t size) {
  void *p = size == 0 ? calloc(1, 1) : NULL;
  if (!p) {
    heap_add(&heap_fast.allocs, (uint64_t)-1);
    heap_add(&heap_fast.alloc_bytes, -(uint64_t)size);
  }
  return p;
}

void heap_time_calls(const struct span_clock *clock) {
  uint64_t then = calls_in_time(&self, &heap_fast);
  atomic_store_explicit(&self.calls_then, then, memory_order_relaxed);
  atomic_store_explicit(&self.calls_before, clock ? calls_of(&heap_fast) : NEVER,
                        memory_order_relaxed);
  self.clock = clock;
  self.time_alloc_at = heap_fast.free_event = NEVER;
  if (clock) {
    span_gap_start(&self.alloc_gap, HEAP_TIME_GAP);
    span_gap_start(&self.free_gap, HEAP_TIME_GAP);
    self.time_alloc_at =
        atomic_load_explicit(&heap_fast.allocs, memory_order_relaxed) + self.alloc_gap.left;
    heap_fast.free_event =
        atomic_load_explicit(&heap_fast.frees, memory_order_relaxed) + self.free_gap.left;
  }
  plan_alloc_event();
}

void heap_total(struct heap_counts *out) {
  pthread_mutex_lock(&list.lock);
  *out = list.past;
  for (const struct counters *c = list.first; c; c = c->next)
    add_counts(out, c);
  pthread_mutex_unlock(&list.lock);
}

void heap_fail_after(uint64_t n) {
  self.fail_at =
      n == 0 ? NEVER : atomic_load_explicit(&heap_fast.allocs, memory_order_relaxed) + n - 1;
  plan_alloc_event();
}
