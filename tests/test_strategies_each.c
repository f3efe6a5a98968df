/*
 * What the strategies promise beyond the common contract: order, who gets a leaving thread's
 * objects, what is counted, what a trim frees and when.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "strategies/support/restart.h"
#include "tests/strategy_fixture.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static const struct kind plain = {.name = "plain", .size = 32};

/* Gets `count` objects in one scope and puts them in the order they came. */
static void get_then_put(struct fixture *f, struct pool_thread *thread, unsigned count) {
  void *objects[64];
  struct pool_scope *scope = fixture_begin(f, thread, &f->owner);
  for (unsigned i = 0; i < count; i++)
    objects[i] = pool_get(f->s, scope, 0);
  for (unsigned i = 0; i < count; i++)
    pool_put(f->s, scope, 0, objects[i]);
  pool_end(f->s, f->pool, scope);
}

/* Runs body(f) on a thread of its own and waits for it. */
static void elsewhere(struct fixture *f, void *(*body)(void *)) {
  pthread_t id;
  assert_int_equal(pthread_create(&id, NULL, body, f), 0);
  assert_int_equal(pthread_join(id, NULL), 0);
}

static void *guest_fills_five(void *arg) {
  struct fixture *f = arg;
  heap_thread_begin();
  struct pool_thread *thread = f->s->attach(f->pool);
  get_then_put(f, thread, 5);
  f->s->detach(f->pool, thread);
  heap_thread_end();
  return NULL;
}

static void null_gives_the_same_object(void **state) {
  (void)state;
  struct fixture f;
  fixture_open(&f, "null", &plain, 1);
  struct pool_scope *scope = fixture_begin(&f, f.thread, NULL);
  void *first = pool_get(f.s, scope, 0);
  pool_put(f.s, scope, 0, first);
  assert_ptr_equal(pool_get(f.s, scope, 0), first);
  pool_drop(f.s, f.thread, 0, first);
  assert_ptr_equal(pool_get(f.s, scope, 0), first);
  pool_put(f.s, scope, 0, first);
  pool_end(f.s, f.pool, scope);
  assert_int_equal(fixture_stats(&f).misses, 0);
  assert_int_equal(fixture_held(&f).objects, 1);
  fixture_close(&f);
}

static void malloc_keeps_nothing(void **state) {
  (void)state;
  struct fixture f;
  fixture_open(&f, "malloc", &plain, 1);
  struct heap_counts before, after;
  heap_total(&before);
  get_then_put(&f, f.thread, 7);
  heap_total(&after);
  assert_int_equal(after.allocs - before.allocs, 7);
  assert_int_equal(after.alloc_bytes - before.alloc_bytes, 7 * 32);
  assert_int_equal(after.frees - before.frees, 7);
  assert_int_equal(fixture_stats(&f).misses, 7);
  fixture_close(&f);
}

/* Last put, first got. */
static void lists_are_lifo(void **spec) {
  struct fixture f;
  fixture_open(&f, *spec, &plain, 1);
  void *objects[40];
  struct pool_scope *scope = fixture_begin(&f, f.thread, &f.owner);
  for (int i = 0; i < 40; i++)
    objects[i] = pool_get(f.s, scope, 0);
  for (int i = 0; i < 40; i++)
    pool_put(f.s, scope, 0, objects[i]);
  for (int i = 40; i-- > 0;)
    assert_ptr_equal(pool_get(f.s, scope, 0), objects[i]);
  for (int i = 0; i < 40; i++)
    pool_put(f.s, scope, 0, objects[i]);
  pool_end(f.s, f.pool, scope);
  fixture_close(&f);
}

static void per_thread_frees_what_a_leaving_thread_had(void **state) {
  (void)state;
  struct fixture f;
  fixture_open(&f, "per-thread", &plain, 1);
  int64_t before = fixture_live_blocks();
  elsewhere(&f, guest_fills_five);
  assert_int_equal(fixture_live_blocks(), before);
  assert_int_equal(fixture_held(&f).objects, 0);
  get_then_put(&f, f.thread, 1);
  assert_int_equal(fixture_stats(&f).misses, 6);
  fixture_close(&f);
}

static void a_leaving_thread_passes_its_objects_on(void **spec) {
  struct fixture f;
  fixture_open(&f, *spec, &plain, 1);
  elsewhere(&f, guest_fills_five);
  assert_int_equal(fixture_held(&f).objects, 5);
  get_then_put(&f, f.thread, 5);
  assert_int_equal(fixture_stats(&f).misses, 5);
  fixture_close(&f);
}

static void a_trim_frees_what_is_shared_at_once(void **spec) {
  struct fixture f;
  fixture_open(&f, *spec, &plain, 1);
  elsewhere(&f, guest_fills_five);
  f.s->trim(f.pool);
  assert_int_equal(fixture_held(&f).objects, 0);
  assert_int_equal(fixture_live_blocks(), f.live_blocks + 2); /* the pool and one thread */
  fixture_close(&f);
}

/* Three scopes open at once need three sets; later ones reuse them. */
static void pooled_freelists_makes_a_set_per_open_scope(void **spec) {
  struct fixture f;
  fixture_open(&f, *spec, &plain, 1);
  int64_t before = fixture_live_blocks();
  for (int round = 0; round < 3; round++) {
    struct pool_scope *scopes[3];
    for (int i = 0; i < 3; i++) {
      scopes[i] = fixture_begin(&f, f.thread, NULL);
      for (int j = 0; j < i; j++)
        assert_ptr_not_equal(scopes[i], scopes[j]);
    }
    for (int i = 3; i-- > 0;)
      pool_end(f.s, f.pool, scopes[i]);
    assert_int_equal(fixture_live_blocks(), before + 3);
  }
  fixture_close(&f);
}

/*
 * With a slot the lock is taken once, to look for a set on the empty stack, however many scopes
 * follow; without one at every begin and end.
 */
static void pooled_freelists_slot_spares_the_lock(void **state) {
  (void)state;
  struct fixture f;
  fixture_open(&f, "pooled-freelists", &plain, 1);
  for (int i = 0; i < 10; i++)
    get_then_put(&f, f.thread, 4);
  assert_int_equal(fixture_stats(&f).lock_acquisitions, 1);
  fixture_close(&f);
  fixture_open(&f, "pooled-freelists:slot=none", &plain, 1);
  for (int i = 0; i < 10; i++)
    get_then_put(&f, f.thread, 4);
  assert_int_equal(fixture_stats(&f).lock_acquisitions, 20);
  fixture_close(&f);
}

/* The set in a slot goes at quiesce; only the pool and the thread stay. */
static void pooled_freelists_quiesce_frees_the_slot(void **state) {
  (void)state;
  struct fixture f;
  fixture_open(&f, "pooled-freelists", &plain, 1);
  get_then_put(&f, f.thread, 4);
  f.s->quiesce(f.pool, f.thread);
  assert_int_equal(fixture_held(&f).objects, 4);
  f.s->trim(f.pool);
  f.s->quiesce(f.pool, f.thread);
  assert_int_equal(fixture_live_blocks(), f.live_blocks + 2);
  fixture_close(&f);
}

static void global_locked_takes_its_lock_at_every_get_and_put(void **state) {
  (void)state;
  struct fixture f;
  fixture_open(&f, "global-locked", &plain, 1);
  get_then_put(&f, f.thread, 30);
  struct pool_stats stats = fixture_stats(&f);
  assert_int_equal(stats.lock_acquisitions, 60);
  assert_int_equal(stats.lock_contended, 0);
  assert_int_equal(stats.lock_wait_ns, 0);
  fixture_close(&f);
}

/*
 * Contention made to measure: held weighs the pooled object inside the lock, and the object's
 * bytes() does not return before another thread has been seen to wait for that lock.
 */
static struct {
  struct fixture *f;
  pthread_barrier_t inside;
} contention;

static size_t weigh_until_contended(const void *object) {
  (void)object;
  pthread_barrier_wait(&contention.inside);
  time_t give_up = time(NULL) + 20; /* a lock that does not lock is never contended */
  while (fixture_stats(contention.f).lock_contended == 0 && time(NULL) < give_up)
    sched_yield();
  return 32;
}

static void *guest_runs_into_the_lock(void *arg) {
  struct fixture *f = arg;
  heap_thread_begin();
  struct pool_thread *thread = f->s->attach(f->pool);
  struct pool_scope *scope = fixture_begin(f, thread, NULL);
  pthread_barrier_wait(&contention.inside);
  pool_put(f->s, scope, 0, pool_get(f->s, scope, 0));
  pool_end(f->s, f->pool, scope);
  f->s->detach(f->pool, thread);
  heap_thread_end();
  return NULL;
}

static void a_contended_acquisition_is_counted_and_timed(void **spec) {
  static const struct kind weighed = {
      .name = "weighed", .size = 32, .bytes = weigh_until_contended};
  struct fixture f;
  fixture_open(&f, *spec, &weighed, 1);
  get_then_put(&f, f.thread, 1);
  contention.f = &f;
  pthread_barrier_init(&contention.inside, NULL, 2);
  pthread_t id;
  assert_int_equal(pthread_create(&id, NULL, guest_runs_into_the_lock, &f), 0);
  assert_int_equal(fixture_held(&f).objects, 1);
  pthread_join(id, NULL);
  pthread_barrier_destroy(&contention.inside);
  struct pool_stats stats = fixture_stats(&f);
  assert_int_equal(stats.lock_acquisitions, 4);
  assert_int_equal(stats.lock_contended, 1);
  assert_true(stats.lock_wait_ns > 0);
  /* The first wait is split, as a short or a long one. */
  assert_int_equal(stats.short_wait_ns + stats.long_wait_ns, stats.lock_wait_ns);
  assert_int_equal(stats.watched_wait_ns, stats.lock_wait_ns);
  assert_true(stats.handoff_ns <= stats.watched_wait_ns);
  fixture_close(&f);
}

/* One thread alone takes the lock over once; of its many holds some are timed. */
static void owner_switches_and_holds_are_counted(void **state) {
  (void)state;
  struct fixture f;
  fixture_open(&f, "global-locked", &plain, 1);
  struct pool_thread *other = f.s->attach(f.pool);
  for (int i = 0; i < 1000; i++)
    get_then_put(&f, f.thread, 1);
  assert_int_equal(fixture_stats(&f).owner_switches, 1);
  get_then_put(&f, other, 1);
  get_then_put(&f, f.thread, 1);
  struct pool_stats stats = fixture_stats(&f);
  assert_int_equal(stats.owner_switches, 3);
  assert_true(stats.lock_hold_ns > 0);
  assert_int_equal(stats.short_waits, 0);
  f.s->detach(f.pool, other);
  fixture_close(&f);
}

/* owned: what one owner put, another does not get; trim leaves it, release frees it. */
static void owned_objects_stay_with_their_owner(void **state) {
  (void)state;
  struct fixture f;
  struct pool_owner a = {0}, b = {0};
  void *objects[3];
  fixture_open(&f, "owned", &plain, 1);
  struct pool_scope *scope = fixture_begin(&f, f.thread, &a);
  for (int i = 0; i < 3; i++)
    objects[i] = pool_get(f.s, scope, 0);
  for (int i = 0; i < 3; i++)
    pool_put(f.s, scope, 0, objects[i]);
  pool_end(f.s, f.pool, scope);
  f.s->trim(f.pool);
  f.s->quiesce(f.pool, f.thread);
  assert_int_equal(fixture_held(&f).objects, 3);

  scope = fixture_begin(&f, f.thread, &b);
  void *other = pool_get(f.s, scope, 0);
  for (int i = 0; i < 3; i++)
    assert_ptr_not_equal(other, objects[i]);
  pool_put(f.s, scope, 0, other);
  pool_end(f.s, f.pool, scope);
  assert_int_equal(fixture_stats(&f).misses, 4);
  assert_int_equal(fixture_held(&f).objects, 4);

  f.s->release(f.pool, &a);
  assert_null(a.state);
  assert_int_equal(fixture_held(&f).objects, 1);
  f.s->release(f.pool, &b);
  assert_int_equal(fixture_held(&f).objects, 0);
  assert_int_equal(fixture_live_blocks(), f.live_blocks + 2); /* the pool and the thread */
  f.s->release(f.pool, &a); /* never begun, or released before: nothing to do */
  fixture_close(&f);
}

static void owned_close_frees_owners_that_were_not_released(void **state) {
  (void)state;
  struct fixture f;
  struct pool_owner owner = {0};
  fixture_open(&f, "owned", &plain, 1);
  struct pool_scope *scope = fixture_begin(&f, f.thread, &owner);
  pool_put(f.s, scope, 0, pool_get(f.s, scope, 0));
  pool_end(f.s, f.pool, scope);
  fixture_close(&f);
}

/* arena: a scope uses the memory of the one before from its start, and asks for none. */
static void arena_memory_is_used_again_after_the_scope(void **state) {
  (void)state;
  struct fixture f;
  void *first[100];
  struct heap_counts before, after;
  fixture_open(&f, "arena", &plain, 1);
  for (int round = 0; round < 3; round++) {
    struct pool_scope *scope = fixture_begin(&f, f.thread, NULL);
    heap_total(&before);
    for (int i = 0; i < 100; i++) {
      void *object = pool_get(f.s, scope, 0);
      if (round == 0)
        first[i] = object;
      assert_ptr_equal(object, first[i]);
      pool_put(f.s, scope, 0, object); /* does not give the memory to the next get */
    }
    heap_total(&after);
    pool_end(f.s, f.pool, scope);
    if (round > 0)
      assert_int_equal(after.allocs - before.allocs, 0);
  }
  assert_int_equal(fixture_stats(&f).misses, 1); /* one chunk of 16 KiB holds 100 of 32 B */
  assert_int_equal(fixture_held(&f).bytes, 16 << 10);
  fixture_close(&f);
}

/* An inner scope's end leaves the outer scope's objects alone. */
static void arena_scopes_do_not_share_memory(void **state) {
  (void)state;
  struct fixture f;
  fixture_open(&f, "arena", &plain, 1);
  struct pool_scope *outer = fixture_begin(&f, f.thread, NULL);
  struct pool_scope *inner = fixture_begin(&f, f.thread, NULL);
  void *kept = pool_get(f.s, outer, 0);
  memset(kept, 7, 32);
  memset(pool_get(f.s, inner, 0), 8, 32);
  pool_end(f.s, f.pool, inner);
  inner = fixture_begin(&f, f.thread, NULL);
  memset(pool_get(f.s, inner, 0), 9, 32);
  for (int i = 0; i < 32; i++)
    assert_int_equal(((char *)kept)[i], 7);
  pool_end(f.s, f.pool, inner);
  pool_end(f.s, f.pool, outer);
  fixture_close(&f);
}

static bool own_block_init(void *p) {
  return (*(void **)p = heap_alloc(100)) != NULL;
}
static void own_block_destroy(void *p) {
  heap_free(*(void **)p, 100);
}

/* What objects hold goes at the end of the scope, put or not. */
static void arena_destroys_at_the_end_of_the_scope(void **state) {
  (void)state;
  static const struct kind holder = {
      .name = "holder", .size = 16, .init = own_block_init, .destroy = own_block_destroy};
  struct fixture f;
  fixture_open(&f, "arena", &holder, 1);
  int64_t idle = 0;
  for (int round = 0; round < 2; round++) {
    struct pool_scope *scope = fixture_begin(&f, f.thread, NULL);
    int64_t before = fixture_live_bytes();
    for (int i = 0; i < 10; i++) {
      void *object = pool_get(f.s, scope, 0);
      if (i % 2)
        pool_put(f.s, scope, 0, object);
    }
    if (round == 1)
      assert_int_equal(fixture_live_bytes(), before + 10 * 100);
    pool_end(f.s, f.pool, scope);
    if (round == 1)
      assert_int_equal(fixture_live_bytes(), idle);
    idle = fixture_live_bytes();
  }
  fixture_close(&f);
}

/* Larger than any chunk so far, and aligned to more than a chunk is. */
static void arena_takes_large_and_aligned_objects(void **state) {
  (void)state;
  static const struct kind sizes[] = {{.name = "small", .size = 24},
                                      {.name = "large", .size = 3 << 20},
                                      {.name = "page", .size = 64, .align = 4096}};
  struct fixture f;
  fixture_open(&f, "arena", sizes, 3);
  for (int round = 0; round < 2; round++) {
    struct pool_scope *scope = fixture_begin(&f, f.thread, NULL);
    for (unsigned i = 0; i < 30; i++) {
      unsigned kind = i % 3;
      void *object = pool_get(f.s, scope, kind);
      assert_non_null(object);
      assert_int_equal((uintptr_t)object % (kind == 2 ? 4096 : _Alignof(max_align_t)), 0);
      memset(object, (int)i, sizes[kind].size);
    }
    pool_end(f.s, f.pool, scope);
  }
  fixture_close(&f);
}

static size_t own_size_of_weighed(const void *object) {
  (void)object;
  return 32;
}

/* Gets `count` on one thread and puts them on another; both stay attached. */
static void get_here_put_there(struct fixture *f, struct pool_thread *there, unsigned count) {
  void *objects[200];
  struct pool_scope *scope = fixture_begin(f, f->thread, NULL);
  for (unsigned i = 0; i < count; i++)
    objects[i] = pool_get(f->s, scope, 0);
  pool_end(f->s, f->pool, scope);
  scope = fixture_begin(f, there, NULL);
  for (unsigned i = 0; i < count; i++)
    pool_put(f->s, scope, 0, objects[i]);
  pool_end(f->s, f->pool, scope);
}

/*
 * Magazines of 4: 40 gets of an empty pool look into the depot each. Of 40 puts 8 fill the thread's
 * two magazines, then every fourth one exchanges: 8 times; gets come back the same way.
 */
static void magazine_visits_the_depot_once_a_magazine(void **state) {
  (void)state;
  struct fixture f;
  fixture_open(&f, "magazine:size=4", &plain, 1);
  get_then_put(&f, f.thread, 40);
  assert_int_equal(fixture_stats(&f).lock_acquisitions, 40 + 8);
  get_then_put(&f, f.thread, 40);
  struct pool_stats stats = fixture_stats(&f);
  assert_int_equal(stats.lock_acquisitions, 40 + 8 + 8 + 8);
  assert_int_equal(stats.misses, 40);
  assert_int_equal(fixture_held(&f).objects, 40);
  for (int i = 0; i < 10; i++) /* at the edge between two magazines, where one alone would swap */
    get_then_put(&f, f.thread, 2);
  assert_int_equal(fixture_stats(&f).lock_acquisitions, 40 + 8 + 8 + 8);
  fixture_close(&f);
}

/* 8 stay with the thread that puts them, the others are there for the one that gets. */
static void magazines_pass_from_thread_to_thread(void **state) {
  (void)state;
  struct fixture f;
  fixture_open(&f, "magazine:size=4", &plain, 1);
  struct pool_thread *there = f.s->attach(f.pool);
  get_here_put_there(&f, there, 40);
  assert_int_equal(fixture_stats(&f).misses, 40);
  get_here_put_there(&f, there, 40);
  assert_int_equal(fixture_stats(&f).misses, 40 + 8);
  f.s->detach(f.pool, there);
  fixture_close(&f);
}

/* 8 with the thread, 2 magazines of 4 in the depot; the others of 40 are freed four by four. */
static void magazines_beyond_the_depots_cap_are_freed(void **state) {
  (void)state;
  static const struct kind weighed = {.name = "weighed", .size = 32, .bytes = own_size_of_weighed};
  static const struct {
    const char *spec;
    const struct kind *kind;
  } bounds[] = {{"magazine:size=4:depot=2", &plain},
                {"magazine:size=4:bytes=256", &plain}, /* 8 of 32 B */
                {"magazine:size=4:bytes=256", &weighed}};
  for (size_t i = 0; i < sizeof bounds / sizeof bounds[0]; i++) {
    struct fixture f;
    fixture_open(&f, bounds[i].spec, bounds[i].kind, 1);
    get_then_put(&f, f.thread, 40);
    assert_int_equal(fixture_held(&f).objects, 16);
    assert_int_equal(fixture_stats(&f).overflows, 24);
    get_then_put(&f, f.thread, 16); /* what has been got makes room again */
    assert_int_equal(fixture_held(&f).objects, 16);
    assert_int_equal(fixture_stats(&f).overflows, 24);
    assert_int_equal(fixture_stats(&f).misses, 40);
    fixture_close(&f);
  }
}

/*
 * Full magazines that a thread has kept across a trim do not get into the depot after it: of 11
 * objects the 8 that were put before are freed when the ninth asks for the exchange.
 */
static void magazines_that_missed_a_trim_stay_out_of_the_depot(void **state) {
  (void)state;
  struct fixture f;
  void *objects[11];
  fixture_open(&f, "magazine:size=4", &plain, 1);
  struct pool_scope *scope = fixture_begin(&f, f.thread, NULL);
  for (int i = 0; i < 11; i++)
    objects[i] = pool_get(f.s, scope, 0);
  for (int i = 0; i < 8; i++)
    pool_put(f.s, scope, 0, objects[i]);
  f.s->trim(f.pool);
  for (int i = 8; i < 11; i++)
    pool_put(f.s, scope, 0, objects[i]);
  assert_int_equal(fixture_stats(&f).overflows, 0);
  pool_end(f.s, f.pool, scope);
  assert_int_equal(fixture_held(&f).objects, 3);
  fixture_close(&f);
}

/* One way from thread to thread, many times over: the getter's empty nodes come back. */
static void treiber_uses_its_nodes_again(void **state) {
  (void)state;
  struct fixture f;
  int64_t blocks = 0;
  fixture_open(&f, "treiber", &plain, 1);
  struct pool_thread *there = f.s->attach(f.pool);
  for (int round = 0; round < 30; round++) {
    get_here_put_there(&f, there, 200);
    if (round == 2)
      blocks = fixture_live_blocks();
  }
  assert_int_equal(fixture_live_blocks(), blocks);
  assert_int_equal(fixture_stats(&f).misses, 200);
  assert_int_equal(fixture_stats(&f).lock_acquisitions, 0);
  f.s->detach(f.pool, there);
  get_then_put(&f, f.thread, 60);
  assert_int_equal(fixture_live_blocks(), blocks - 1); /* the thread */
  fixture_close(&f);
}

/* All of the objects at once; the nodes stay, and serve again. */
static void treiber_trim_keeps_only_nodes(void **state) {
  (void)state;
  struct fixture f;
  fixture_open(&f, "treiber", &plain, 1);
  elsewhere(&f, guest_fills_five);
  f.s->trim(f.pool);
  assert_int_equal(fixture_held(&f).objects, 0);
  assert_int_equal(fixture_live_blocks(), f.live_blocks + 3); /* the pool, a thread, a slab */
  get_then_put(&f, f.thread, 5);
  assert_int_equal(fixture_held(&f).objects, 5);
  assert_int_equal(fixture_live_blocks(), f.live_blocks + 3 + 5);
  fixture_close(&f);
}

/* A bound is for the whole pool: what one thread gets, another has room for. */
static void treiber_cap_is_everybodys(void **state) {
  (void)state;
  struct fixture f;
  fixture_open(&f, "treiber:cap=10", &plain, 1);
  struct pool_thread *there = f.s->attach(f.pool);
  get_here_put_there(&f, there, 10);
  get_here_put_there(&f, there, 12);
  assert_int_equal(fixture_held(&f).objects, 10);
  struct pool_stats stats = fixture_stats(&f);
  assert_int_equal(stats.misses, 10 + 2);
  assert_int_equal(stats.overflows, 2);
  f.s->trim(f.pool); /* gives the places back */
  get_here_put_there(&f, there, 10);
  assert_int_equal(fixture_held(&f).objects, 10);
  assert_int_equal(fixture_stats(&f).overflows, 2);
  f.s->detach(f.pool, there);
  fixture_close(&f);
}

/* Until unpin, the suite runs on one CPU. */
static cpu_set_t all_cpus;

static int pin(void **state) {
  (void)state;
  return fixture_stay_on_cpu(0, &all_cpus) ? 0 : -1;
}

static int unpin(void **state) {
  (void)state;
  return sched_setaffinity(0, sizeof all_cpus, &all_cpus);
}

/* What was put on one CPU is not found on another, and counts against its own cap. */
static void per_cpu_objects_stay_with_their_cpu(void **spec) {
  struct fixture f;
  cpu_set_t first;
  char capped[60];
  snprintf(capped, sizeof capped, "%s:cap=3", (const char *)*spec);
  fixture_open(&f, capped, &plain, 1);
  get_then_put(&f, f.thread, 5);
  assert_int_equal(fixture_held(&f).objects, 3);
  assert_int_equal(sched_setaffinity(0, sizeof all_cpus, &all_cpus), 0);
  if (fixture_stay_on_cpu(1, &first)) {
    get_then_put(&f, f.thread, 5);
    assert_int_equal(fixture_held(&f).objects, 6);
    struct pool_stats stats = fixture_stats(&f);
    assert_int_equal(stats.misses, 5 + 5);
    assert_int_equal(stats.overflows, 2 + 2);
  }
  /* A trim reaches the CPUs that nobody runs on any more. */
  f.s->trim(f.pool);
  assert_int_equal(fixture_held(&f).objects, 0);
  get_then_put(&f, f.thread, 1);
  assert_int_equal(fixture_held(&f).objects, 1);
  fixture_close(&f);
}

/* None with sequences; two a pair without. Where there are none, way=rseq says so. */
static void per_cpu_lock_acquisitions_tell_the_way(void **state) {
  (void)state;
  struct fixture f;
  const char *why;
  fixture_open(&f, "per-cpu:way=lock", &plain, 1);
  get_then_put(&f, f.thread, 10);
  assert_int_equal(fixture_stats(&f).lock_acquisitions, 20);
  fixture_close(&f);
  if (restart_self(&why) && restart_can_fence(&why)) {
    fixture_open(&f, "per-cpu:way=rseq", &plain, 1);
    get_then_put(&f, f.thread, 10);
    assert_int_equal(fixture_stats(&f).lock_acquisitions, 0);
    fixture_close(&f);
  } else {
    assert_false(fixture_try_open(&f, "per-cpu:way=rseq", &plain, 1));
    assert_non_null(strstr(f.why, why));
    assert_non_null(strstr(f.why, "way=lock"));
  }
}

#define WITH(test, spec) \
  { #test ": " spec, test, NULL, NULL, (void *)(uintptr_t)spec }
#define ON_ONE_CPU(test, spec) \
  { #test ": " spec, test, pin, unpin, (void *)(uintptr_t)spec }

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(null_gives_the_same_object),
      cmocka_unit_test(malloc_keeps_nothing),
      WITH(lists_are_lifo, "per-thread"),
      WITH(lists_are_lifo, "pooled-freelists"),
      WITH(lists_are_lifo, "global-locked"),
      WITH(lists_are_lifo, "owned"),
      WITH(lists_are_lifo, "magazine"),
      WITH(lists_are_lifo, "magazine:size=4"),
      WITH(lists_are_lifo, "treiber"),
      ON_ONE_CPU(lists_are_lifo, "per-cpu"),
      ON_ONE_CPU(lists_are_lifo, "per-cpu:way=lock"),
      cmocka_unit_test(per_thread_frees_what_a_leaving_thread_had),
      WITH(a_leaving_thread_passes_its_objects_on, "global-locked"),
      WITH(a_leaving_thread_passes_its_objects_on, "pooled-freelists"),
      WITH(a_leaving_thread_passes_its_objects_on, "pooled-freelists:slot=none"),
      WITH(a_leaving_thread_passes_its_objects_on, "magazine"),
      WITH(a_leaving_thread_passes_its_objects_on, "magazine:size=2"),
      WITH(a_leaving_thread_passes_its_objects_on, "treiber"),
      ON_ONE_CPU(a_leaving_thread_passes_its_objects_on, "per-cpu"),
      ON_ONE_CPU(a_leaving_thread_passes_its_objects_on, "per-cpu:way=lock"),
      WITH(a_trim_frees_what_is_shared_at_once, "global-locked"),
      WITH(a_trim_frees_what_is_shared_at_once, "pooled-freelists"),
      WITH(a_trim_frees_what_is_shared_at_once, "magazine"),
      WITH(a_trim_frees_what_is_shared_at_once, "magazine:size=2"),
      WITH(pooled_freelists_makes_a_set_per_open_scope, "pooled-freelists"),
      WITH(pooled_freelists_makes_a_set_per_open_scope, "pooled-freelists:slot=none"),
      cmocka_unit_test(pooled_freelists_slot_spares_the_lock),
      cmocka_unit_test(pooled_freelists_quiesce_frees_the_slot),
      cmocka_unit_test(owned_objects_stay_with_their_owner),
      cmocka_unit_test(owned_close_frees_owners_that_were_not_released),
      cmocka_unit_test(arena_memory_is_used_again_after_the_scope),
      cmocka_unit_test(arena_scopes_do_not_share_memory),
      cmocka_unit_test(arena_destroys_at_the_end_of_the_scope),
      cmocka_unit_test(arena_takes_large_and_aligned_objects),
      cmocka_unit_test(global_locked_takes_its_lock_at_every_get_and_put),
      cmocka_unit_test(owner_switches_and_holds_are_counted),
      WITH(a_contended_acquisition_is_counted_and_timed, "global-locked"),
      WITH(a_contended_acquisition_is_counted_and_timed, "global-locked:lock=adaptive"),
      WITH(a_contended_acquisition_is_counted_and_timed, "global-locked:lock=ticket"),
      WITH(a_contended_acquisition_is_counted_and_timed, "global-locked:lock=mcs"),
      cmocka_unit_test(magazine_visits_the_depot_once_a_magazine),
      cmocka_unit_test(magazines_pass_from_thread_to_thread),
      cmocka_unit_test(magazines_beyond_the_depots_cap_are_freed),
      cmocka_unit_test(magazines_that_missed_a_trim_stay_out_of_the_depot),
      cmocka_unit_test(treiber_uses_its_nodes_again),
      cmocka_unit_test(treiber_trim_keeps_only_nodes),
      cmocka_unit_test(treiber_cap_is_everybodys),
      ON_ONE_CPU(per_cpu_objects_stay_with_their_cpu, "per-cpu"),
      ON_ONE_CPU(per_cpu_objects_stay_with_their_cpu, "per-cpu:way=lock"),
      ON_ONE_CPU(per_cpu_lock_acquisitions_tell_the_way, "per-cpu"),
  };
  heap_thread_begin();
  return cmocka_run_group_tests_name("strategies_each", tests, NULL, NULL);
}
