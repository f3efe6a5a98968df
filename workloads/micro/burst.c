/*
 * Micro/burst: memory over time. Every thread gets its share of a peak, then nearly all is put and
 * nothing happens any more: what of the peak stays, and where? A series, no op with a rate.
 *
 * Phases: start, peak, after burst, trim 1, trim 2, idle 1 s, idle N s, released. The objects are
 * chained through themselves, so that the books of the workload take no memory beside them.
 */
#include "workloads/micro/micro.h"

#include "harness/cgroup.h"
#include "harness/heap.h"
#include "workloads/series.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum who_puts {
  BURST_OWN,       /* each thread puts what it got */
  BURST_BY_ONE,    /* thread 0 puts what all threads got */
  BURST_SURVIVORS, /* as own, but one in 64 stays live */
};
#define SURVIVES 64

const struct strategy_option micro_burst_options[] = {
    {"idle", "5", "0..3600", "Micro/burst: seconds without any work at the end"},
    {"peak", "24 or 768", "1..1048576",
     "Micro/burst: MiB live at the peak, over all threads; 768 of 256 KiB objects"},
    {0}};

/*
 * What a thread holds, oldest first, and that is the order in which it is put. The other way round
 * the youngest objects would end up in the caches of an allocator like glibc's, at the very top
 * of its heap, and keep all below from being returned.
 */
struct share {
  void *first, *last;
};

struct burst {
  pthread_barrier_t step;
  _Atomic bool failed; /* some thread found no memory: all go through the steps without working */
  uint64_t idle_s, peak_bytes;
  unsigned threads;
  struct share *shares; /* one a thread; thread 0 may put them all */
  _Atomic uint64_t stall_ns;
};

/* One thread's view. */
struct part {
  struct burst *burst;
  struct workload_thread *t;
  series_emit *emit;
  void *context;
};

static uint64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static bool goes_on(const struct part *p) {
  return !atomic_load_explicit(&p->burst->failed, memory_order_relaxed);
}

static void fail(struct part *p, const char *what) {
  micro_out_of_memory(p->t, what);
  atomic_store_explicit(&p->burst->failed, true, memory_order_relaxed);
}

static void step(struct part *p) {
  pthread_barrier_wait(&p->burst->step);
}

/* All threads have come as far as this; thread 0 tells the harness, the others stand still. */
static void mark(struct part *p, const char *phase, uint64_t ops, uint64_t stall_ns) {
  step(p);
  if (p->t->index == 0 && goes_on(p))
    p->emit(p->context, &(struct series_mark){.phase = phase, .ops = ops, .stall_ns = stall_ns});
  step(p);
}

static uint64_t share_of(const struct part *p) {
  uint64_t objects = p->burst->peak_bytes / p->t->state->shape->kinds[0].size;
  return objects / p->burst->threads;
}

/* Gets up to `count` objects in one scope and chains them to the share. How many it got. */
static uint64_t get_some(struct part *p, uint64_t count) {
  struct workload_thread *t = p->t;
  struct share *share = &p->burst->shares[t->index];
  struct pool_scope *scope = pool_begin(t->strategy, t->pool, t->pool_thread, NULL);
  uint64_t got = 0;
  for (void *object; scope && got < count && (object = pool_get(t->strategy, scope, 0)); got++) {
    memset(object, 1, t->state->shape->kinds[0].size); /* or its pages would not be there */
    *(void **)object = NULL;
    *(share->first ? (void **)share->last : &share->first) = object;
    share->last = object;
  }
  if (scope)
    pool_end(t->strategy, t->pool, scope);
  return got;
}

static void get_share(struct part *p) {
  uint64_t left = share_of(p);
  while (left > 0 && goes_on(p)) {
    uint64_t want = left < MICRO_SCOPE ? left : MICRO_SCOPE;
    if (get_some(p, want) < want)
      fail(p, "get");
    left -= want;
  }
}

/* Puts a chain but for every `spare`-th object (0: none is spared), 64 a scope; what is left of it
 * is the new chain. */
static void *put_chain(struct part *p, void *chain, unsigned spare) {
  struct workload_thread *t = p->t;
  void *spared = NULL;
  for (uint64_t i = 1; chain;) {
    struct pool_scope *scope = pool_begin(t->strategy, t->pool, t->pool_thread, NULL);
    if (!scope) {
      fail(p, "begin");
      return chain;
    }
    for (unsigned n = 0; chain && n < MICRO_SCOPE; n++, i++) {
      void *object = chain;
      chain = *(void **)object;
      if (spare && i % spare == 0) {
        *(void **)object = spared;
        spared = object;
      } else {
        pool_put(t->strategy, scope, 0, object);
      }
    }
    pool_end(t->strategy, t->pool, scope);
  }
  return spared;
}

static void put_shares(struct part *p) {
  struct burst *b = p->burst;
  enum who_puts who = p->t->state->shape->parameter;
  unsigned mine = p->t->index;
  if (who != BURST_BY_ONE)
    b->shares[mine].first =
        put_chain(p, b->shares[mine].first, who == BURST_SURVIVORS ? SURVIVES : 0);
  for (unsigned i = 0; who == BURST_BY_ONE && mine == 0 && i < b->threads; i++)
    b->shares[i].first = put_chain(p, b->shares[i].first, 0);
}

static void note_stall(struct burst *b, uint64_t ns) {
  uint64_t longest = atomic_load_explicit(&b->stall_ns, memory_order_relaxed);
  while (longest < ns &&
         !atomic_compare_exchange_weak_explicit(&b->stall_ns, &longest, ns, memory_order_relaxed,
                                                memory_order_relaxed))
    ;
}

/* The collection event: shared state goes in trim, each thread's own at its quiesce. */
static void trim(struct part *p, const char *phase) {
  struct workload_thread *t = p->t;
  uint64_t start = now_ns();
  if (t->index == 0) {
    atomic_store_explicit(&p->burst->stall_ns, 0, memory_order_relaxed);
    t->strategy->trim(t->pool);
    note_stall(p->burst, now_ns() - start);
  }
  step(p);
  start = now_ns();
  t->strategy->quiesce(t->pool, t->pool_thread);
  note_stall(p->burst, now_ns() - start);
  step(p);
  /* Once more: what may go only when every thread has passed a quiesce, went with none so far. */
  t->strategy->quiesce(t->pool, t->pool_thread);
  step(p);
  mark(p, phase, 0, atomic_load_explicit(&p->burst->stall_ns, memory_order_relaxed));
}

/* Thread 0 sleeps, the others wait for it: nothing runs. */
static void idle(struct part *p, uint64_t from_s, uint64_t to_s) {
  char phase[40];
  snprintf(phase, sizeof phase, "idle %llu s", (unsigned long long)to_s);
  if (p->t->index == 0 && goes_on(p))
    series_sleep((unsigned)(to_s - from_s));
  mark(p, phase, 0, 0);
}

static void series(struct workload_thread *t, series_emit *emit, void *context) {
  struct burst *b = t->state->shared;
  struct part part = {b, t, emit, context}, *p = &part;
  mark(p, "start", 0, 0);
  get_share(p);
  mark(p, "peak", share_of(p) * b->threads, 0);
  put_shares(p);
  mark(p, "after burst", share_of(p) * b->threads, 0);
  trim(p, "trim 1");
  trim(p, "trim 2");
  uint64_t first_s = b->idle_s < 1 ? b->idle_s : 1;
  if (first_s > 0)
    idle(p, 0, first_s);
  if (b->idle_s > first_s)
    idle(p, first_s, b->idle_s);
  if (series_release(&b->step, t->index))
    mark(p, "released", 0, 0);
  b->shares[t->index].first = put_chain(p, b->shares[t->index].first, 0);
}

/* The value of `key` in "key=value,key=value", else the fallback; false: not a number in range. */
static bool option_value(const char *options, const struct strategy_option *option, uint64_t most,
                         uint64_t *value) {
  size_t length = strlen(option->key);
  const char *text = option->fallback;
  for (const char *at = options; at && *at;) {
    if (strncmp(at, option->key, length) == 0 && at[length] == '=')
      text = at + length + 1;
    at = strchr(at, ',');
    at = at ? at + 1 : NULL;
  }
  char *end;
  errno = 0;
  *value = strtoull(text, &end, 10);
  return *text >= '0' && *text <= '9' && (*end == '\0' || *end == ',') && !errno && *value <= most;
}

static bool known_options(const char *options, char *why, size_t why_size) {
  for (const char *at = options; at && *at;) {
    size_t key = strcspn(at, "=,"), all = strcspn(at, ",");
    bool known = false;
    for (const struct strategy_option *o = micro_burst_options; o->key; o++)
      known |= strlen(o->key) == key && strncmp(at, o->key, key) == 0 && at[key] == '=';
    if (!known) {
      snprintf(why, why_size, "Micro/burst has no option \"%.*s\"; give idle=S or peak=MiB",
               (int)all, at);
      return false;
    }
    at += all + (at[all] == ',');
  }
  return true;
}

/*
 * Enough objects for the allocators' own constants not to decide: tbbmalloc keeps some 10 MiB of
 * small objects and 90 MiB of large ones whatever the peak was.
 */
static unsigned peak_of(const char *case_name) {
  return strstr(case_name, "KiB") ? 768 : 24;
}

static bool read_options(struct burst *b, const struct workload_setup *setup) {
  uint64_t peak_mib;
  struct strategy_option peak = micro_burst_options[1];
  char fallback[24];
  snprintf(fallback, sizeof fallback, "%u", peak_of(setup->case_name));
  peak.fallback = fallback;
  if (!known_options(setup->options, setup->why, setup->why_size))
    return false;
  if (!option_value(setup->options, &micro_burst_options[0], 3600, &b->idle_s)) {
    snprintf(setup->why, setup->why_size, "Micro/burst: idle is a number of seconds, 0..3600");
    return false;
  }
  if (!option_value(setup->options, &peak, 1048576, &peak_mib) || !peak_mib) {
    snprintf(setup->why, setup->why_size, "Micro/burst: peak is a number of MiB, 1..1048576");
    return false;
  }
  uint64_t available = cgroup_memory_available("");
  b->peak_bytes = peak_mib << 20;
  if (b->peak_bytes > available / 4 * 3) {
    snprintf(setup->why, setup->why_size,
             "Micro/burst: a peak of %llu MiB does not fit: machine and control groups have %llu "
             "MiB left, of which three quarters may be used; --set peak=MIB for less",
             (unsigned long long)peak_mib, (unsigned long long)(available >> 20));
    return false;
  }
  return true;
}

static bool open_burst(struct workload_state *state, const struct workload_setup *setup) {
  struct burst *b = heap_calloc(sizeof *b);
  if (!b) {
    snprintf(setup->why, setup->why_size, "out of memory");
    return false;
  }
  b->threads = setup->threads;
  bool good = read_options(b, setup);
  if (good && !(b->shares = heap_calloc(b->threads * sizeof *b->shares))) {
    snprintf(setup->why, setup->why_size, "out of memory");
    good = false;
  }
  int error = good ? pthread_barrier_init(&b->step, NULL, b->threads) : 0;
  if (error)
    snprintf(setup->why, setup->why_size, "pthread_barrier_init: %s", strerror(error));
  if (good && !error) {
    state->shared = b;
    return true;
  }
  heap_free(b->shares, b->threads * sizeof *b->shares);
  heap_free(b, sizeof *b);
  return false;
}

static void close_burst(struct workload_state *state) {
  struct burst *b = state->shared;
  pthread_barrier_destroy(&b->step);
  heap_free(b->shares, b->threads * sizeof *b->shares);
  heap_free(b, sizeof *b);
}

static const struct kind small = MICRO_KIND(128), large = MICRO_KIND(262144);
#define BURST(name, object, who)                                       \
  const struct micro_shape micro_burst_##name = {.kinds = &(object),   \
                                                 .kind_count = 1,      \
                                                 .parameter = (who),   \
                                                 .open = open_burst,   \
                                                 .close = close_burst, \
                                                 .series = series}

BURST(own, small, BURST_OWN);
BURST(by_one, small, BURST_BY_ONE);
BURST(survivors, small, BURST_SURVIVORS);
BURST(large, large, BURST_OWN);
