/*
 * The handlers workload: the map, the way of events through handler and send loop, what an op
 * allocates, and what many handlers keep after a burst.
 *
 * The published figures of the change that pooled the maps, allocations and bytes per op: 1 and
 * 128, 10 and 1.25 Ki, 100 and 12.5 Ki, 1.002 k and 125.4 Ki, 10.23 k and 1.258 Mi.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/workload_fixture.h"
#include "workloads/handlers/handlers.h"

extern const struct workload workload_handlers;

/* -- the map -- */

static int64_t live_bytes(void) {
  struct heap_counts c;
  heap_total(&c);
  return (int64_t)(c.alloc_bytes - c.freed_bytes);
}

static struct map *map_new(void) {
  struct map *m = heap_alloc(map_kind.size);
  assert_non_null(m);
  assert_true(map_kind.init(m));
  return m;
}

static void map_free(struct map *m) {
  map_kind.destroy(m);
  heap_free(m, map_kind.size);
}

/* Against an array: random puts of a few hundred keys, now and then a clear. */
static void the_map_agrees_with_an_array(void **state) {
  (void)state;
  enum { KEYS = 300, STEPS = 20000 };
  struct names names;
  uint64_t expected[KEYS] = {0}, random = 12345;
  struct map *m = map_new();
  assert_true(names_open(&names, KEYS));
  size_t count = 0;
  for (int i = 1; i <= STEPS; i++) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    size_t key = (random >> 33) % KEYS;
    struct map_entry *e = map_at(m, names_get(&names, key));
    assert_non_null(e);
    assert_int_equal(e->modified.wall, expected[key]); /* 0: new, and zero as promised */
    count += expected[key] == 0;
    e->modified.wall = expected[key] = (uint64_t)i;
    assert_int_equal(m->count, count);
    if (i % 1000 == 0) {
      size_t walked = 0, at = 0;
      for (struct map_slot *s; (s = map_next(m, &at)); walked++)
        assert_int_equal(s->entry.modified.wall, expected[strtoul(s->key.text + 13, NULL, 10)]);
      assert_int_equal(walked, count);
      map_clear(m);
      memset(expected, 0, sizeof expected);
      count = 0;
    }
  }
  map_free(m);
  names_close(&names);
}

/* By hand: 8 slots at first, doubled beyond 13 of 16: 6, 13, 26 ... 832, 1664 entries fit. */
static void the_map_doubles_and_keeps_its_capacity(void **state) {
  (void)state;
  static const struct {
    size_t count, capacity;
  } sizes[] = {{1, 8},     {6, 8},     {7, 16},     {13, 16},    {14, 32},     {100, 128},
               {104, 128}, {105, 256}, {832, 1024}, {833, 2048}, {1000, 2048}, {10000, 16384}};
  struct names names;
  assert_true(names_open(&names, 10000));
  heap_thread_begin();
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    int64_t before = live_bytes();
    struct map *m = map_new();
    assert_int_equal(map_kind.bytes(m), 48);
    for (size_t k = 0; k < sizes[i].count; k++)
      assert_non_null(map_at(m, names_get(&names, k)));
    assert_int_equal(m->capacity, sizes[i].capacity);
    assert_int_equal(map_capacity_for(sizes[i].count), sizes[i].capacity);
    assert_int_equal(map_kind.bytes(m), 48 + sizes[i].capacity * 120);
    map_kind.clear(m);
    assert_int_equal(m->count, 0);
    assert_int_equal(live_bytes() - before, 48 + sizes[i].capacity * 120);
    for (size_t b = 0; b < m->capacity * 120; b++)
      if (((unsigned char *)m->slots)[b] != 0)
        fail_msg("byte %zu of a cleared map is not zero", b);
    map_free(m);
    assert_int_equal(live_bytes(), before);
  }
  heap_thread_end();
  names_close(&names);
}

static void a_map_that_cannot_grow_is_unchanged(void **state) {
  (void)state;
  struct names names;
  struct map *m = map_new();
  assert_true(names_open(&names, 7));
  heap_fail_after(1);
  assert_null(map_at(m, names_get(&names, 0)));
  for (size_t k = 0; k < 6; k++)
    assert_non_null(map_at(m, names_get(&names, k)));
  heap_fail_after(1);
  assert_null(map_at(m, names_get(&names, 6)));
  heap_fail_after(0);
  assert_int_equal(m->count, 6);
  assert_int_equal(m->capacity, 8);
  assert_non_null(map_at(m, names_get(&names, 6)));
  map_free(m);
  names_close(&names);
}

/* -- handler and send loop -- */

#define NAMES 50
#define PRODUCERS 2

struct way {
  const struct strategy *strategy;
  struct pool *pool;
  struct handler handler;
  struct send_loop loop;
  struct names names;
  uint64_t last[NAMES]; /* sequence sent last, by name; the loop's */
  char why[200];
};

static struct way *way; /* a send function gets the loop only */

static bool send_in_order(struct send_loop *loop, const struct event *e) {
  size_t name = strtoul(e->name.text + 13, NULL, 10);
  bool later = e->sequence > way->last[name];
  way->last[name] = e->sequence;
  loop->sent++;
  return later;
}

static bool send_nothing(struct send_loop *loop, const struct event *e) {
  (void)loop;
  (void)e;
  return false;
}

struct producer {
  struct workload_thread t;
  size_t first, notifies;
  pthread_t thread;
};

static void *produce(void *argument) {
  struct producer *p = argument;
  heap_thread_begin();
  p->t.pool_thread = way->strategy->attach(way->pool);
  for (size_t i = 0; i < p->notifies; i++) {
    size_t name = (p->first + i * PRODUCERS) % NAMES;
    enum notify_result r =
        handler_notify(&way->handler, &p->t, names_get(&way->names, name), i + 1);
    if (r == NOTIFY_FIRST)
      send_loop_queue(&way->loop, &way->handler);
    p->t.failed |= r == NOTIFY_NO_MEMORY;
  }
  way->strategy->detach(way->pool, p->t.pool_thread);
  heap_thread_end();
  return NULL;
}

static void way_open(struct way *w, const char *strategy, send_function *send) {
  *w = (struct way){.strategy = strategy_checked(strategy_find(strategy))};
  way = w;
  struct pool_config config = {.threads = PRODUCERS + 2, .why = w->why, .why_size = sizeof w->why};
  w->pool = w->strategy->open(&map_kind, 1, &config);
  assert_non_null(w->pool);
  assert_true(names_open(&w->names, NAMES));
  handler_init(&w->handler);
  w->loop.send = send;
  struct workload_thread t = {.strategy = w->strategy, .pool = w->pool};
  assert_true(send_loop_start(&w->loop, &t, NULL, w->why, sizeof w->why));
}

static void way_close(struct way *w) {
  struct workload_thread t = {.strategy = w->strategy, .pool = w->pool};
  t.pool_thread = w->strategy->attach(w->pool);
  send_loop_stop(&w->loop);
  handler_destroy(&w->handler, &t);
  w->strategy->detach(w->pool, t.pool_thread);
  w->strategy->close(w->pool);
  names_close(&w->names);
}

/* Each name's events are sent in their order, the last one always; none is leaked. */
static void events_arrive_in_order_and_the_last_one_always(void **state) {
  (void)state;
  enum { NOTIFIES = 20000 };
  static struct way w;
  static const char *const specs[] = {"malloc", "global-locked", "per-thread", "owned"};
  for (size_t i = 0; i < sizeof specs / sizeof specs[0]; i++) {
    if (!strategy_find(specs[i]))
      continue;
    heap_thread_begin();
    int64_t before = live_bytes();
    struct producer p[PRODUCERS];
    way_open(&w, specs[i], send_in_order);
    for (size_t k = 0; k < PRODUCERS; k++) {
      p[k] = (struct producer){
          .t = {.strategy = w.strategy, .pool = w.pool}, .first = k, .notifies = NOTIFIES};
      assert_int_equal(pthread_create(&p[k].thread, NULL, produce, &p[k]), 0);
    }
    for (size_t k = 0; k < PRODUCERS; k++) {
      pthread_join(p[k].thread, NULL);
      assert_false(p[k].t.failed);
    }
    assert_true(send_loop_wait_idle(&w.loop)); /* false: out of order */
    /* A producer has 25 names; its last notifies, one a name, have the sequences to 20000. */
    for (size_t name = 0; name < NAMES; name++)
      assert_in_range(w.last[name], NOTIFIES - NAMES / PRODUCERS + 1, NOTIFIES);
    assert_in_range(w.loop.sent, NAMES, PRODUCERS * NOTIFIES);
    way_close(&w);
    assert_int_equal(live_bytes(), before);
    heap_thread_end();
  }
}

static void a_failed_send_drops_the_map(void **state) {
  (void)state;
  static struct way w;
  heap_thread_begin();
  int64_t before = live_bytes();
  way_open(&w, "global-locked", send_nothing);
  struct producer p = {.t = {.strategy = w.strategy, .pool = w.pool}, .notifies = 1};
  assert_int_equal(pthread_create(&p.thread, NULL, produce, &p), 0);
  pthread_join(p.thread, NULL);
  assert_false(send_loop_wait_idle(&w.loop));
  assert_string_equal(w.loop.why, "send loop: a send failed");
  struct pool_stats stats;
  w.strategy->stats(w.pool, &stats);
  assert_int_equal(stats.drops, 1);
  assert_int_equal(stats.puts, 0);
  way_close(&w);
  assert_int_equal(live_bytes(), before);
  heap_thread_end();
}

/* Map, event, slots: each of a first notify's allocations fails once. */
static void out_of_memory_in_notify_is_reported(void **state) {
  (void)state;
  static struct way w;
  for (uint64_t n = 1; n <= 4; n++) {
    heap_thread_begin();
    int64_t before = live_bytes();
    way_open(&w, "malloc", NULL);
    struct workload_thread t = {.strategy = w.strategy, .pool = w.pool};
    t.pool_thread = w.strategy->attach(w.pool);
    heap_fail_after(n);
    enum notify_result r = handler_notify(&w.handler, &t, names_get(&w.names, 0), 1);
    heap_fail_after(0);
    assert_int_equal(r, n <= 3 ? NOTIFY_NO_MEMORY : NOTIFY_FIRST);
    w.strategy->detach(w.pool, t.pool_thread);
    way_close(&w);
    assert_int_equal(live_bytes(), before);
    heap_thread_end();
  }
}

/* -- what an op allocates -- */

static struct run run_handlers(const char *case_name, const char *spec, unsigned threads,
                               uint64_t warm, uint64_t ops) {
  struct run r = {.workload = &workload_handlers,
                  .case_name = case_name,
                  .spec = spec,
                  .threads = threads,
                  .warm = warm,
                  .ops = ops};
  run_clean(&r);
  return r;
}

static bool within_5_percent(double value, double published) {
  return value >= published * 0.95 && value <= published * 1.05;
}

/*
 * The maps in circulation, two, grow to what a drain finds in them, which depends on the
 * scheduler: a growth in the counted part is no op's, so the best of a few runs counts. No run
 * may have less than an event a notify.
 */
static void check_profile(const char *case_name, const char *spec, unsigned threads,
                          uint64_t subscriptions, double allocs, double bytes) {
  /* Enough that one growth of a big map weighs little. */
  uint64_t ops = (subscriptions < 1000 ? 20000 : 100000) / subscriptions / threads;
  for (int attempt = 0; attempt < 10; attempt++) {
    struct run r = run_handlers(case_name, spec, threads, ops, ops);
    assert_true(r.counted.allocs >= ops * threads * subscriptions);
    if (within_5_percent((double)r.counted.allocs / (double)(ops * threads), allocs) &&
        within_5_percent((double)r.counted.alloc_bytes / (double)(ops * threads), bytes))
      return;
  }
  fail_msg("%s under %s: not within 5 %% of %.0f allocations and %.0f B", case_name, spec, allocs,
           bytes);
}

static const char *const sharing[] = {"global-locked", "sync-pool", "owned", "treiber"};

static void an_op_allocates_what_was_published(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof sharing / sizeof sharing[0]; i++) {
    const char *spec = sharing[i];
    if (!strategy_find(spec))
      continue;
    check_profile("Handlers/____1_subs", spec, 1, 1, 1, 128);
    check_profile("Handlers/___10_subs", spec, 2, 10, 10, 1.25 * 1024);
    check_profile("Handlers/__100_subs", spec, 2, 100, 100, 12.5 * 1024);
    check_profile("Handlers/_1000_subs", spec, 2, 1000, 1002, 125.4 * 1024);
    check_profile("Handlers/10000_subs", spec, 1, 10000, 10230, 1.258 * 1024 * 1024);
  }
}

/* One thread gets what another puts: lists that never leave their thread serve no get. */
static void thread_local_lists_never_hit(void **state) {
  (void)state;
  struct run r = run_handlers("Handlers/___10_subs", "per-thread", 1, 0, 2000);
  assert_true(r.stats.gets > 0);
  assert_int_equal(r.stats.misses, r.stats.gets);
}

static void every_strategy_that_can_runs_it(void **state) {
  (void)state;
  for (size_t i = 0; strategies[i]; i++)
    if (!(strategies[i]->flags & (STRATEGY_ONE_OBJECT | STRATEGY_OBJECTS_DIE_WITH_SCOPE)))
      run_handlers("Handlers/__100_subs", strategies[i]->name, 3, 5, 20);
}

static void a_case_has_at_most_a_producer_a_name(void **state) {
  (void)state;
  for (const struct workload_case *c = workload_handlers.cases; c->name; c++) {
    assert_int_equal(c->own_threads, 1);
    if (c->flags & CASE_SERIES)
      continue;
    assert_true(c->flags & CASE_FEWER_THREADS);
    assert_int_equal(c->max_threads, strtoul(strpbrk(c->name, "1"), NULL, 10));
  }
}

/* -- HandlersIdle -- */

#define MAX_MARKS 16
struct seen {
  struct run *run;
  int64_t start;
  size_t count;
  struct {
    char phase[32];
    uint64_t ops, busy_ns, owners;
    int64_t live;
    struct pool_held held;
  } marks[MAX_MARKS];
};

static void see(void *context, const struct series_mark *m) {
  struct seen *seen = context;
  struct run *r = seen->run;
  size_t i = seen->count++;
  if (i >= MAX_MARKS) /* an assertion may only fail on the main thread: run_series counts */
    return;
  if (i == 0)
    seen->start = live_bytes();
  snprintf(seen->marks[i].phase, sizeof seen->marks[i].phase, "%s", m->phase);
  seen->marks[i].ops = m->ops;
  seen->marks[i].busy_ns = m->busy_ns;
  seen->marks[i].owners = m->owners;
  seen->marks[i].live = live_bytes() - seen->start;
  r->strategy->held(r->pool, &seen->marks[i].held);
}

enum { START, BURST, AFTER_BURST, TRICKLE, TRIM_1, TRIM_2, TRICKLE_TRIMMED, RELEASED, MARKS };

/* 40 handlers, 500 names: maps of 1024 slots. */
#define HANDLERS 40
#define BIG_MAP (48 + 1024 * 120)
#define SMALL_MAP (48 + 8 * 120)

static struct seen run_series(const char *case_name, const char *spec, unsigned threads) {
  static const char *const phases[MARKS] = {
      "start",  "burst",  "after burst",     "trickle untrimmed",
      "trim 1", "trim 2", "trickle trimmed", "released"};
  struct seen seen = {0};
  struct run r = {.workload = &workload_handlers,
                  .case_name = case_name,
                  .spec = spec,
                  .options = "handlers=40,names=500,idle=0",
                  .threads = threads,
                  .emit = see,
                  .emit_context = &seen};
  seen.run = &r;
  run_clean(&r);
  assert_int_equal(seen.count, heap_release() ? MARKS : RELEASED);
  for (size_t i = 0; i < seen.count; i++) {
    assert_string_equal(seen.marks[i].phase, phases[i]);
    assert_int_equal(seen.marks[i].owners, HANDLERS);
  }
  assert_int_equal(seen.marks[TRICKLE].ops, HANDLERS);
  assert_int_equal(seen.marks[TRICKLE_TRIMMED].ops, HANDLERS);
  assert_true(seen.marks[TRICKLE].busy_ns > 0);
  return seen;
}

/* Lists and other small things of the strategy itself. */
static void assert_close_to(int64_t value, int64_t expected) {
  if (value < expected - 8192 || value > expected + 8192)
    fail_msg("%lld is not %lld within 8 KiB", (long long)value, (long long)expected);
}

static void a_shared_pool_keeps_the_maps_in_use_at_once(void **state) {
  (void)state;
  for (unsigned threads = 1; threads <= 3; threads += 2) {
    struct seen s = run_series("HandlersIdle/at_once", "global-locked", threads);
    assert_int_equal(s.marks[AFTER_BURST].held.objects, HANDLERS + 1);
    assert_int_equal(s.marks[AFTER_BURST].held.bytes, (HANDLERS + 1) * (int64_t)BIG_MAP);
    assert_close_to(s.marks[AFTER_BURST].live, (HANDLERS + 1) * (int64_t)BIG_MAP);
    /* At the peak a map a handler is full of events, and one was put back. */
    assert_close_to(s.marks[BURST].live, (HANDLERS + 1) * (int64_t)BIG_MAP + HANDLERS * 500 * 128);
  }
}

static void ten_at_a_time_need_eleven_maps(void **state) {
  (void)state;
  struct seen s = run_series("HandlersIdle/ten_at_a_time", "global-locked", 1);
  assert_int_equal(s.marks[AFTER_BURST].held.objects, 11);
  assert_close_to(s.marks[AFTER_BURST].live, 11 * (int64_t)BIG_MAP);
}

/*
 * Big-map poisoning: an update that needs 8 slots is served, and cleared, in 1024; only the trim
 * brings small maps back.
 */
static void an_untrimmed_pool_serves_updates_from_big_maps(void **state) {
  (void)state;
  struct seen s = run_series("HandlersIdle/at_once", "global-locked", 1);
  assert_int_equal(s.marks[TRICKLE].held.objects, HANDLERS + 1);
  assert_int_equal(s.marks[TRICKLE].held.bytes, (HANDLERS + 1) * (int64_t)BIG_MAP);
  assert_int_equal(s.marks[TRIM_2].held.objects, 0);
  assert_close_to(s.marks[TRIM_2].live, 0);
  assert_int_equal(s.marks[TRICKLE_TRIMMED].held.objects, 1);
  assert_int_equal(s.marks[TRICKLE_TRIMMED].held.bytes, SMALL_MAP);
}

static void owned_maps_stay_for_ever_two_a_handler(void **state) {
  (void)state;
  if (!strategy_find("owned"))
    skip();
  const int64_t two_each = 2 * HANDLERS * (int64_t)BIG_MAP;
  struct seen s = run_series("HandlersIdle/ten_at_a_time", "owned", 2);
  for (int i = AFTER_BURST; i < RELEASED; i++) {
    assert_true(s.marks[i].live >= two_each);
    assert_true(s.marks[i].live < two_each + two_each / 20);
  }
}

/*
 * By the design of Go's: what the send loop puts first lies in its private slot, where no other
 * thread gets it, so there is one map more than in a pool that all share; the first trim only
 * makes victims, the second frees them.
 */
static void sync_pool_lets_go_at_the_second_trim(void **state) {
  (void)state;
  if (!strategy_find("sync-pool"))
    skip();
  struct seen s = run_series("HandlersIdle/at_once", "sync-pool", 2);
  assert_int_equal(s.marks[AFTER_BURST].held.objects, HANDLERS + 2);
  assert_int_equal(s.marks[TRIM_1].held.objects, HANDLERS + 2);
  assert_int_equal(s.marks[TRIM_2].held.objects, 0);
  assert_int_equal(s.marks[TRICKLE_TRIMMED].held.bytes, 2 * SMALL_MAP);
}

static void malloc_keeps_nothing(void **state) {
  (void)state;
  struct seen s = run_series("HandlersIdle/at_once", "malloc", 2);
  assert_int_equal(s.marks[AFTER_BURST].held.objects, 0);
  assert_int_equal(s.marks[AFTER_BURST].live, 0);
  assert_close_to(s.marks[BURST].live, HANDLERS * (BIG_MAP + 500 * 128));
}

static void the_series_runs_under_every_strategy(void **state) {
  (void)state;
  for (size_t i = 0; strategies[i]; i++)
    if (!(strategies[i]->flags & (STRATEGY_ONE_OBJECT | STRATEGY_OBJECTS_DIE_WITH_SCOPE)))
      run_series("HandlersIdle/ten_at_a_time", strategies[i]->name, 2);
}

/* -- options -- */

static void wrong_options_are_named(void **state) {
  (void)state;
  static const struct {
    const char *options, *why;
  } wrong[] = {
      {"handlers", "\"handlers\" is no option: handlers=N, names=N or idle=N"},
      {"owners=3", "\"owners=3\" is no option"},
      {",", "\"\" is no option"},
      {"handlers=0", "handlers=0: want a number of 1..10000000"},
      {"handlers=-1", "handlers=-1: want a number"},
      {"names=1e3", "names=1e3: want a number of 1..10000000"},
      {"names=", "names=: want a number"},
      {"names=10000001", "want a number of 1..10000000"},
      {"names=99999999999999999999", "want a number of 1..10000000"},
      {"idle=3601", "idle=3601: want a number of 0..3600"},
      {"idle=1,names=x", "names=x: want"},
  };
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    struct idle_plan plan;
    char why[300] = "";
    assert_false(idle_parse(wrong[i].options, &plan, why, sizeof why));
    if (!strstr(why, wrong[i].why))
      fail_msg("%s: \"%s\" does not say \"%s\"", wrong[i].options, why, wrong[i].why);
  }
  struct idle_plan plan;
  char why[300];
  assert_true(idle_parse(NULL, &plan, why, sizeof why));
  assert_true(plan.handlers == 1000 && plan.names == 1000 && plan.idle_s == 5);
  assert_true(idle_parse("idle=0,names=7", &plan, why, sizeof why));
  assert_true(plan.handlers == 1000 && plan.names == 7 && plan.idle_s == 0);
}

/* By hand: 1000 names take 2048 slots of 120 B, so two maps a handler are 2 x 245 808 B. */
static void what_cannot_fit_is_refused_with_the_estimate(void **state) {
  (void)state;
  struct idle_plan plan = {.handlers = 1000, .names = 1000};
  double maps = 1000 * 2 * (48 + 2048 * 120.0), events = 1001 * 1000 * 128.0;
  double small = 1000 * sizeof(struct handler) + 1000 * 24.0;
  assert_true(idle_estimate(&plan) == maps + events + small);

  /* 10^7 handlers x 10^7 names: 2 x 2^24 slots each, 36.6 PiB and 11.4 PiB of events. */
  char why[400] = "";
  assert_false(idle_parse("handlers=10000000,names=10000000", &plan, why, sizeof why));
  if (!strstr(why, "10000000 handlers x 10000000 names need up to 4942") ||
      !strstr(why, "GiB are available"))
    fail_msg("%s", why);

  struct workload_state *ws;
  struct workload_setup setup = {.case_name = "HandlersIdle/at_once",
                                 .threads = 1,
                                 .options = "handlers=10000000,names=1000000",
                                 .why = why,
                                 .why_size = sizeof why};
  heap_thread_begin();
  int64_t before = live_bytes();
  assert_false(workload_handlers.open(&setup, &ws));
  setup.case_name = "Handlers/___10_subs";
  setup.options = "names=3";
  assert_false(workload_handlers.open(&setup, &ws));
  assert_non_null(strstr(why, "takes no options"));
  assert_int_equal(live_bytes(), before);
  heap_thread_end();
}

/* A machine has some memory, and no process more than the machine. */
static void available_memory_is_plausible(void **state) {
  (void)state;
  char line[200];
  double total_kb = 0;
  FILE *f = fopen("/proc/meminfo", "r");
  assert_non_null(f);
  while (fgets(line, sizeof line, f))
    if (sscanf(line, "MemTotal: %lf", &total_kb) == 1)
      break;
  fclose(f);
  double available = idle_available();
  assert_true(available > 1e6);
  assert_true(available <= total_kb * 1024);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_map_agrees_with_an_array),
      cmocka_unit_test(the_map_doubles_and_keeps_its_capacity),
      cmocka_unit_test(a_map_that_cannot_grow_is_unchanged),
      cmocka_unit_test(events_arrive_in_order_and_the_last_one_always),
      cmocka_unit_test(a_failed_send_drops_the_map),
      cmocka_unit_test(out_of_memory_in_notify_is_reported),
      cmocka_unit_test(an_op_allocates_what_was_published),
      cmocka_unit_test(thread_local_lists_never_hit),
      cmocka_unit_test(every_strategy_that_can_runs_it),
      cmocka_unit_test(a_case_has_at_most_a_producer_a_name),
      cmocka_unit_test(a_shared_pool_keeps_the_maps_in_use_at_once),
      cmocka_unit_test(ten_at_a_time_need_eleven_maps),
      cmocka_unit_test(an_untrimmed_pool_serves_updates_from_big_maps),
      cmocka_unit_test(owned_maps_stay_for_ever_two_a_handler),
      cmocka_unit_test(sync_pool_lets_go_at_the_second_trim),
      cmocka_unit_test(malloc_keeps_nothing),
      cmocka_unit_test(the_series_runs_under_every_strategy),
      cmocka_unit_test(wrong_options_are_named),
      cmocka_unit_test(what_cannot_fit_is_refused_with_the_estimate),
      cmocka_unit_test(available_memory_is_plausible),
  };
  return cmocka_run_group_tests_name("handlers", tests, NULL, NULL);
}
