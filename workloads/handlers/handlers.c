/*
 * The handlers workload: producers notify a subscription handler, a send loop drains it, and the
 * maps that pass between them come from the strategy.
 *
 * Handlers/N_subs: one op is a notify for each of N subscriptions on one handler. The measuring
 * threads are the producers, at most N of them; they share the N names among them and never wait
 * for the send loop. The loop's thread is no measuring one; it may run on any CPU the process
 * has, and attaches to the pool by itself.
 *
 * HandlersIdle: what many handlers keep after a burst; see idle.c.
 */
#include "workloads/handlers/handlers.h"

#include "harness/heap.h"

#include <stdio.h>
#include <string.h>

#define HANDLERS_FLAGS (CASE_BLOCKS | CASE_OUTLIVES_SCOPE | CASE_HAS_OWNER)

/* X(name, subscriptions, in the sweep, ns of an op) */
#define HANDLERS_CASES(X)                      \
  X("Handlers/____1_subs", 1, false, 300)      \
  X("Handlers/___10_subs", 10, false, 4000)    \
  X("Handlers/__100_subs", 100, true, 70e3)    \
  X("Handlers/_1000_subs", 1000, false, 600e3) \
  X("Handlers/10000_subs", 10000, false, 5e6)

/* X(name, handlers at a time; 0: all, ns of the whole without idle waits, what) */
#define IDLE_CASES(X)                                              \
  X("HandlersIdle/at_once", 0, 2.5e9,                              \
    "memory after all handlers had their start-up burst together") \
  X("HandlersIdle/ten_at_a_time", 10, 1.3e9, "memory after the handlers had their burst ten by ten")

static const struct workload_case cases[] = {
#define CASE(case_name, subscriptions, sweep, hint)    \
  {.name = case_name,                                  \
   .what = "a notify for each of the subscriptions",   \
   .flags = HANDLERS_FLAGS | CASE_FEWER_THREADS,       \
   .disciplines = DISCIPLINE_BIT(DISCIPLINE_BALANCED), \
   .max_threads = subscriptions,                       \
   .in_sweep = sweep,                                  \
   .op_hint_ns = hint,                                 \
   .own_threads = 1},
    HANDLERS_CASES(CASE)
#define IDLE(case_name, at_a_time, hint, text)         \
  {.name = case_name,                                  \
   .what = text,                                       \
   .flags = HANDLERS_FLAGS | CASE_SERIES,              \
   .op_hint_ns = hint,                                 \
   .disciplines = DISCIPLINE_BIT(DISCIPLINE_BALANCED), \
   .own_threads = 1},
        IDLE_CASES(IDLE){.name = NULL},
};

struct workload_state {
  struct names names;
  bool is_series;
  struct idle idle;       /* of a series */
  struct handler handler; /* of the other cases */
  struct send_loop loop;
  cpu_set_t cpus; /* those of the process, before its threads were bound */
  bool has_cpus;
  pthread_mutex_t lock; /* of the two below */
  unsigned users;       /* threads that are open; the first starts the loop, the last stops it */
  bool loop_runs;
};

/* A producer's share of the names: first, first + threads, ... */
struct producer {
  size_t first, step, at;
  uint64_t sequence;
};

bool names_open(struct names *n, size_t count) {
  *n = (struct names){.texts = heap_alloc(count * NAME_SIZE), .count = count};
  if (!n->texts)
    return false;
  for (size_t i = 0; i < count; i++)
    snprintf(n->texts[i], NAME_SIZE, "subscription/%010u", (unsigned)i);
  return true;
}

void names_close(struct names *n) {
  if (n->texts)
    heap_free(n->texts, n->count * NAME_SIZE);
}

struct map_key names_get(const struct names *n, size_t i) {
  return (struct map_key){n->texts[i], NAME_SIZE - 1};
}

static size_t subscriptions_of(const char *case_name) {
#define COUNT(name, subscriptions, sweep, hint) \
  if (strcmp(case_name, name) == 0)             \
    return subscriptions;
  HANDLERS_CASES(COUNT)
#undef COUNT
  return 0;
}

static bool at_a_time_of(const char *case_name, size_t *out) {
#define AT_A_TIME(name, at_a_time, hint, text) \
  if (strcmp(case_name, name) == 0) {          \
    *out = at_a_time;                          \
    return true;                               \
  }
  IDLE_CASES(AT_A_TIME)
#undef AT_A_TIME
  return false;
}

static bool no_memory(const struct workload_setup *setup) {
  snprintf(setup->why, setup->why_size, "%s: out of memory", setup->case_name);
  return false;
}

static bool open_series(struct workload_state *s, const struct workload_setup *setup) {
  struct idle_plan *plan = &s->idle.plan;
  if (!idle_parse(setup->options, plan, setup->why, setup->why_size))
    return false;
  at_a_time_of(setup->case_name, &plan->at_a_time);
  if (plan->at_a_time == 0 || plan->at_a_time > plan->handlers)
    plan->at_a_time = plan->handlers;
  if (!names_open(&s->names, plan->names) || !idle_open(&s->idle, setup->threads))
    return no_memory(setup);
  return true;
}

static bool open_throughput(struct workload_state *s, const struct workload_setup *setup) {
  if (setup->options && setup->options[0]) {
    snprintf(setup->why, setup->why_size, "%s takes no options (HandlersIdle does), got \"%s\"",
             setup->case_name, setup->options);
    return false;
  }
  handler_init(&s->handler);
  return names_open(&s->names, subscriptions_of(setup->case_name)) || no_memory(setup);
}

static void handlers_close(struct workload_state *s) {
  if (s->is_series)
    idle_close(&s->idle);
  names_close(&s->names);
  pthread_mutex_destroy(&s->lock);
  heap_free(s, sizeof *s);
}

static bool handlers_open(const struct workload_setup *setup, struct workload_state **out) {
  size_t unused;
  struct workload_state *s = heap_calloc(sizeof *s);
  if (!s)
    return no_memory(setup);
  s->is_series = at_a_time_of(setup->case_name, &unused);
  s->has_cpus = sched_getaffinity(0, sizeof s->cpus, &s->cpus) == 0;
  pthread_mutex_init(&s->lock, NULL);
  if (s->is_series ? open_series(s, setup) : open_throughput(s, setup)) {
    *out = s;
    return true;
  }
  handlers_close(s);
  return false;
}

static const struct kind *handlers_kinds(struct workload_state *s, size_t *count) {
  (void)s;
  *count = 1;
  return &map_kind;
}

static struct producer *make_producer(const struct workload_thread *t) {
  struct producer *p = heap_calloc(sizeof *p);
  if (!p)
    return NULL;
  /* More threads than names, which the harness avoids: they share names, too. */
  p->first = p->at = t->index % t->state->names.count;
  p->step = t->threads;
  return p;
}

static bool handlers_thread_open(struct workload_thread *t) {
  struct workload_state *s = t->state;
  struct producer *p = make_producer(t);
  if (!p) {
    snprintf(t->why, sizeof t->why, "out of memory");
    return false;
  }
  pthread_mutex_lock(&s->lock);
  if (!s->loop_runs)
    s->loop_runs =
        send_loop_start(&s->loop, t, s->has_cpus ? &s->cpus : NULL, t->why, sizeof t->why);
  bool runs = s->loop_runs;
  s->users += runs;
  pthread_mutex_unlock(&s->lock);
  if (runs)
    t->local = p;
  else
    heap_free(p, sizeof *p);
  return runs;
}

/* Nobody notifies any more: the end mark goes out, what is left is given back. */
static void last_close(struct workload_state *s, struct workload_thread *t) {
  send_loop_stop(&s->loop);
  s->loop_runs = false;
  if (!s->is_series) {
    handler_destroy(&s->handler, t);
    return;
  }
  for (size_t i = 0; i < s->idle.plan.handlers; i++)
    handler_destroy(&s->idle.handlers[i], t);
}

static void handlers_thread_close(struct workload_thread *t) {
  struct workload_state *s = t->state;
  if (!t->local)
    return;
  heap_free(t->local, sizeof(struct producer));
  t->local = NULL;
  pthread_mutex_lock(&s->lock);
  bool last = --s->users == 0;
  pthread_mutex_unlock(&s->lock);
  if (last)
    last_close(s, t);
}

static bool notify_next(struct workload_thread *t, struct producer *p) {
  struct workload_state *s = t->state;
  struct map_key name = names_get(&s->names, p->at);
  p->at += p->step;
  if (p->at >= s->names.count)
    p->at = p->first;
  switch (handler_notify(&s->handler, t, name, p->sequence++)) {
  case NOTIFY_FIRST:
    send_loop_queue(&s->loop, &s->handler);
    return true;
  case NOTIFY_ADDED:
    return true;
  case NOTIFY_NO_MEMORY:
    break;
  }
  return false;
}

/* An op is as many notifies as there are names, whoever does them. */
static void handlers_run(struct workload_thread *t, uint64_t n) {
  struct workload_state *s = t->state;
  struct producer *p = t->local;
  for (uint64_t left = n * s->names.count; left > 0; left--)
    if (!notify_next(t, p)) {
      t->failed = true;
      snprintf(t->why, sizeof t->why, "notify: out of memory");
      return;
    }
  if (atomic_load_explicit(&s->loop.failed, memory_order_acquire)) {
    t->failed = true;
    snprintf(t->why, sizeof t->why, "%s", s->loop.why);
  }
}

/* A loop that failed is idle, too; run reports it. */
static void handlers_settle(struct workload_state *s) {
  send_loop_wait_idle(&s->loop);
}

static void handlers_series(struct workload_thread *t, series_emit *emit, void *context) {
  struct workload_state *s = t->state;
  idle_series(&s->idle, &s->loop, &s->names, t, emit, context);
}

const struct workload workload_handlers = {
    .name = "handlers",
    .summary = "notifications collected in maps by many threads, drained by one",
    .cases = cases,
    .open = handlers_open,
    .close = handlers_close,
    .kinds = handlers_kinds,
    .thread_open = handlers_thread_open,
    .thread_close = handlers_thread_close,
    .run = handlers_run,
    .settle = handlers_settle,
    .series = handlers_series,
    .options = idle_options,
    .quick_options = "handlers=200",
};
