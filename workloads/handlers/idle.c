/*
 * HandlersIdle: what many handlers keep after a start-up burst, and what an update costs them
 * then.
 *
 * The burst. Clients subscribe to everything at once: each of a group's handlers gets a notify
 * for every name while its client does not read yet. Then, handler by handler, the map is taken
 * for sending and while it is on the wire the next notify for every name arrives, into a second
 * map. Last, all are drained. A strategy that keeps maps with their owner ends with two big maps
 * a handler; a shared pool with as many as were in use at once: one a handler and one more when
 * all handlers burst together, eleven when they come ten at a time.
 *
 * Then marks: after the burst, a trickle of one update a handler, two trims, idle waits, the
 * trickle again, and what is left when the allocator has given back its caches. One update costs
 * what the capacity of the map it lands in costs (see map.h), so the trickle shows whether big maps
 * are still in circulation.
 *
 * Trickle time is that of the notify and of the drain, each measured where it runs: waking the
 * send loop is the same for all strategies and would cover the difference.
 */
#include "workloads/handlers/handlers.h"

#include "harness/cgroup.h"
#include "harness/heap.h"
#include "workloads/series.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_HANDLERS 10000000u
#define MOST_NAMES 10000000u
#define MOST_IDLE_S 3600u
/* The estimate may take this share of what is available: others need some, too. */
#define MEMORY_SHARE 0.8

const struct strategy_option idle_options[] = {
    {"handlers", "1000", "1..10000000", "HandlersIdle: how many handlers there are"},
    {"names", "1000", "1..10000000", "HandlersIdle: how many names each gets in the burst"},
    {"idle", "5", "0..3600", "HandlersIdle: seconds of the longest idle wait"},
    {NULL, NULL, NULL, NULL},
};

/* -- options -- */

static const struct strategy_option *find_option(const char *key, size_t length) {
  for (const struct strategy_option *o = idle_options; o->key; o++)
    if (strlen(o->key) == length && memcmp(o->key, key, length) == 0)
      return o;
  return NULL;
}

static bool parse_number(const char *at, size_t length, size_t least, size_t most, size_t *out) {
  size_t n = 0;
  if (length == 0 || length > 9)
    return false;
  for (size_t i = 0; i < length; i++) {
    if (at[i] < '0' || at[i] > '9')
      return false;
    n = n * 10 + (size_t)(at[i] - '0');
  }
  *out = n;
  return n >= least && n <= most;
}

/* One "key=value" of `length` bytes. */
static bool parse_pair(const char *at, size_t length, struct idle_plan *plan, char *why,
                       size_t why_size) {
  const char *equals = memchr(at, '=', length);
  const struct strategy_option *o = equals ? find_option(at, (size_t)(equals - at)) : NULL;
  if (!o) {
    snprintf(why, why_size, "HandlersIdle: \"%.*s\" is no option: handlers=N, names=N or idle=N",
             (int)length, at);
    return false;
  }
  const char *value = equals + 1;
  size_t value_length = length - (size_t)(value - at), idle_s = 0;
  bool is_idle = strcmp(o->key, "idle") == 0, is_names = strcmp(o->key, "names") == 0;
  size_t *out = is_idle ? &idle_s : is_names ? &plan->names : &plan->handlers;
  size_t most = is_idle ? MOST_IDLE_S : is_names ? MOST_NAMES : MOST_HANDLERS;
  if (!parse_number(value, value_length, is_idle ? 0 : 1, most, out)) {
    snprintf(why, why_size, "HandlersIdle: %s=%.*s: want a number of %s", o->key, (int)value_length,
             value, o->values);
    return false;
  }
  if (is_idle)
    plan->idle_s = (unsigned)idle_s;
  return true;
}

static bool fits_memory(const struct idle_plan *plan, char *why, size_t why_size) {
  double need = idle_estimate(plan), have = idle_available();
  if (need <= have * MEMORY_SHARE)
    return true;
  snprintf(why, why_size,
           "HandlersIdle: %zu handlers x %zu names need up to %.1f GiB (two maps of %.0f KiB a "
           "handler and the events), %.1f GiB are available and at most %.0f %% of that may be "
           "used: fewer handlers or names",
           plan->handlers, plan->names, need / 0x1p30,
           (double)(map_capacity_for(plan->names) * sizeof(struct map_slot)) / 1024, have / 0x1p30,
           100 * MEMORY_SHARE);
  return false;
}

bool idle_parse(const char *options, struct idle_plan *plan, char *why, size_t why_size) {
  *plan = (struct idle_plan){.handlers = 1000, .names = 1000, .idle_s = 5};
  const char *at = options ? options : "";
  while (*at) {
    size_t length = strcspn(at, ",");
    if (!parse_pair(at, length, plan, why, why_size))
      return false;
    at += length + (at[length] == ',');
  }
  return fits_memory(plan, why, why_size);
}

/* -- memory -- */

double idle_estimate(const struct idle_plan *plan) {
  double handlers = (double)plan->handlers, names = (double)plan->names;
  double map = (double)(map_capacity_for(plan->names) * sizeof(struct map_slot) + MAP_BYTES);
  double events = (handlers + 1) * names * sizeof(struct event);
  return handlers * (2 * map + sizeof(struct handler)) + events + names * NAME_SIZE;
}

double idle_available(void) {
  return (double)cgroup_memory_available(""); /* UINT64_MAX where nobody knows: refuses nothing */
}

bool idle_open(struct idle *s, unsigned threads) {
  s->handlers = heap_alloc_aligned(s->plan.handlers * sizeof *s->handlers, 16);
  if (!s->handlers)
    return false;
  for (size_t i = 0; i < s->plan.handlers; i++)
    handler_init(&s->handlers[i]);
  s->threads = threads;
  pthread_barrier_init(&s->step, NULL, threads);
  return true;
}

void idle_close(struct idle *s) {
  if (!s->handlers)
    return;
  pthread_barrier_destroy(&s->step);
  heap_free(s->handlers, s->plan.handlers * sizeof *s->handlers);
}

/* -- the series -- */

/* One thread's view of the series. */
struct part {
  struct idle *idle;
  struct send_loop *loop;
  const struct names *names;
  struct workload_thread *t;
  series_emit *emit;
  void *context;
};

static void fail(struct part *p, const char *why) {
  p->t->failed = true;
  snprintf(p->t->why, sizeof p->t->why, "%s", why);
  atomic_store_explicit(&p->idle->failed, true, memory_order_relaxed);
}

/* The barriers order everything; a failure is seen at the latest at the next phase. */
static bool goes_on(const struct part *p) {
  return !atomic_load_explicit(&p->idle->failed, memory_order_relaxed);
}

static void step(struct part *p) {
  pthread_barrier_wait(&p->idle->step);
}

static void mark(struct part *p, const struct series_mark *m) {
  step(p);
  if (p->t->index == 0 && goes_on(p))
    p->emit(p->context, m);
  step(p);
}

/* A mark of a phase without ops. */
static void mark_phase(struct part *p, const char *phase) {
  mark(p, &(struct series_mark){.phase = phase, .owners = p->idle->plan.handlers});
}

/* Notifies every name; nobody is told, as the client does not read. */
static void notify_all(struct part *p, struct handler *h) {
  for (size_t i = 0; i < p->names->count && goes_on(p); i++)
    if (handler_notify(h, p->t, names_get(p->names, i), i) == NOTIFY_NO_MEMORY)
      fail(p, "notify: out of memory");
}

/* The first map is on the wire while the second fills. */
static void notify_in_flight(struct part *p, struct handler *h) {
  bool held = send_loop_hold(p->loop, h);
  if (held)
    notify_all(p, h);
  if (!send_loop_let_go(p->loop, h) || !held)
    fail(p, p->loop->why);
}

/* The handlers from `first` on, one group; `last_group`: the burst's mark is set at its peak. */
static void burst_group(struct part *p, size_t first, size_t end, bool last_group) {
  struct idle *s = p->idle;
  size_t mine = first + p->t->index;
  for (size_t i = mine; i < end && goes_on(p); i += s->threads)
    notify_all(p, &s->handlers[i]);
  step(p);
  for (size_t i = mine; i < end && goes_on(p); i += s->threads)
    notify_in_flight(p, &s->handlers[i]);
  if (last_group)
    mark_phase(p, "burst");
  step(p);
  for (size_t i = mine; i < end && goes_on(p); i += s->threads)
    send_loop_queue(p->loop, &s->handlers[i]);
  step(p);
  if (!send_loop_wait_idle(p->loop))
    fail(p, p->loop->why);
  step(p);
}

static void burst(struct part *p) {
  const struct idle_plan *plan = &p->idle->plan;
  for (size_t first = 0; first < plan->handlers; first += plan->at_a_time) {
    bool last = plan->handlers - first <= plan->at_a_time;
    burst_group(p, first, last ? plan->handlers : first + plan->at_a_time, last);
  }
}

/* One update, from the notify to the map's return; ns of both ends. */
static uint64_t update(struct part *p, struct handler *h, struct map_key name) {
  uint64_t start_ns = handlers_now_ns();
  enum notify_result result = handler_notify(h, p->t, name, 0);
  uint64_t notify_ns = handlers_now_ns() - start_ns;
  if (result == NOTIFY_NO_MEMORY) {
    fail(p, "notify: out of memory");
    return 0;
  }
  send_loop_queue(p->loop, h);
  if (!send_loop_wait_idle(p->loop))
    fail(p, p->loop->why);
  return notify_ns;
}

/* By thread 0 alone and one at a time, as a trickle comes. */
static void trickle(struct part *p, const char *phase) {
  struct series_mark m = {.phase = phase, .owners = p->idle->plan.handlers};
  step(p);
  if (p->t->index == 0) {
    p->loop->timed = true;
    p->loop->drain_ns = 0;
    for (; m.ops < p->idle->plan.handlers && goes_on(p); m.ops++)
      m.busy_ns +=
          update(p, &p->idle->handlers[m.ops], names_get(p->names, m.ops % p->names->count));
    m.busy_ns += p->loop->drain_ns;
    p->loop->timed = false;
  }
  mark(p, &m);
}

static void at_least(atomic_uint_least64_t *most, uint64_t value) {
  uint64_t old = atomic_load_explicit(most, memory_order_relaxed);
  while (old < value && !atomic_compare_exchange_weak_explicit(
                            most, &old, value, memory_order_relaxed, memory_order_relaxed))
    ;
}

/* The collection event: shared state goes in trim, each thread's own when it quiesces. */
static void trim(struct part *p, const char *phase) {
  const struct strategy *s = p->t->strategy;
  uint64_t start_ns = handlers_now_ns();
  if (p->t->index == 0) {
    atomic_store_explicit(&p->idle->stall_ns, 0, memory_order_relaxed);
    s->trim(p->t->pool);
    at_least(&p->idle->stall_ns, handlers_now_ns() - start_ns);
  }
  step(p);
  start_ns = handlers_now_ns();
  s->quiesce(p->t->pool, p->t->pool_thread);
  at_least(&p->idle->stall_ns, handlers_now_ns() - start_ns);
  if (p->t->index == 0) {
    send_loop_quiesce(p->loop);
    at_least(&p->idle->stall_ns, p->loop->quiesce_ns);
  }
  step(p);
  mark(p, &(struct series_mark){.phase = phase,
                                .stall_ns =
                                    atomic_load_explicit(&p->idle->stall_ns, memory_order_relaxed),
                                .owners = p->idle->plan.handlers});
}

/* Thread 0 sleeps, the others wait for it: nothing runs. */
static void idle_until(struct part *p, unsigned from_s, unsigned to_s) {
  char phase[32];
  snprintf(phase, sizeof phase, "idle %u s", to_s);
  if (p->t->index == 0)
    series_sleep(to_s - from_s);
  mark_phase(p, phase);
}

void idle_series(struct idle *s, struct send_loop *loop, const struct names *names,
                 struct workload_thread *t, series_emit *emit, void *context) {
  struct part p = {s, loop, names, t, emit, context};
  mark_phase(&p, "start");
  burst(&p);
  mark_phase(&p, "after burst");
  trickle(&p, "trickle untrimmed");
  trim(&p, "trim 1");
  trim(&p, "trim 2");
  unsigned first_s = s->plan.idle_s > 1 ? 1 : s->plan.idle_s;
  if (first_s > 0)
    idle_until(&p, 0, first_s);
  if (s->plan.idle_s > first_s)
    idle_until(&p, first_s, s->plan.idle_s);
  trickle(&p, "trickle trimmed");
  if (series_release(&s->step, t->index))
    mark_phase(&p, "released");
}
