/*
 * sync-pool beyond the common contract: where a get looks and what that counts, victims, shards
 * without threads, the grace period of rings, and millions of transfers that force steals.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "strategies/support/chain.h"
#include "tests/strategy_fixture.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>

static const struct kind plain = {.name = "plain", .size = 32};

/* The fixture opens pools for 64 threads, so 64 shards are the fewest. */
#define SPEC "sync-pool:shards=64"

static void get_many(struct fixture *f, struct pool_thread *thread, void **objects, unsigned n) {
  struct pool_scope *scope = fixture_begin(f, thread, NULL);
  for (unsigned i = 0; i < n; i++)
    objects[i] = pool_get(f->s, scope, 0);
  pool_end(f->s, f->pool, scope);
}

static void put_many(struct fixture *f, struct pool_thread *thread, void **objects, unsigned n) {
  struct pool_scope *scope = fixture_begin(f, thread, NULL);
  for (unsigned i = 0; i < n; i++)
    pool_put(f->s, scope, 0, objects[i]);
  pool_end(f->s, f->pool, scope);
}

/* A second thread of the pool whose calls the test makes itself, in turn with its own. */
static struct pool_thread *second_thread(struct fixture *f) {
  struct pool_thread *thread = f->s->attach(f->pool);
  assert_non_null(thread);
  return thread;
}

static void trim_once(struct fixture *f, struct pool_thread *a, struct pool_thread *b) {
  f->s->trim(f->pool);
  f->s->quiesce(f->pool, a);
  if (b)
    f->s->quiesce(f->pool, b);
}

/* A miss looks at each of the shards once, at the victims too once there may be any. */
static void a_miss_looks_at_every_shard(void **state) {
  (void)state;
  struct fixture f;
  void *objects[10];
  fixture_open(&f, SPEC, &plain, 1);
  get_many(&f, f.thread, objects, 10);
  struct pool_stats first = fixture_stats(&f);
  assert_int_equal(first.misses, 10);
  assert_int_equal(first.scans, 10 * 64);
  put_many(&f, f.thread, objects, 10);
  trim_once(&f, f.thread, NULL);
  trim_once(&f, f.thread, NULL);
  get_many(&f, f.thread, objects, 10);
  struct pool_stats second = fixture_stats(&f);
  assert_int_equal(second.misses - first.misses, 10);
  assert_int_equal(second.scans - first.scans, 10 * 2 * 64);
  put_many(&f, f.thread, objects, 10);
  fixture_close(&f);
}

/* victims=once: the first miss after a trim looks at both halves, later ones at one. */
static void victims_once_stops_looking(void **state) {
  (void)state;
  struct fixture f;
  void *objects[10];
  fixture_open(&f, "sync-pool:victims=once", &plain, 1);
  trim_once(&f, f.thread, NULL);
  get_many(&f, f.thread, objects, 10);
  assert_int_equal(fixture_stats(&f).scans, 64 + 10 * 64);
  put_many(&f, f.thread, objects, 10);
  fixture_close(&f);
}

static void balanced_use_of_the_private_slot_scans_nothing(void **state) {
  (void)state;
  struct fixture f;
  void *object;
  fixture_open(&f, SPEC, &plain, 1);
  for (int i = 0; i < 100; i++) {
    get_many(&f, f.thread, &object, 1);
    put_many(&f, f.thread, &object, 1);
  }
  struct pool_stats stats = fixture_stats(&f);
  assert_int_equal(stats.misses, 1);
  assert_int_equal(stats.scans, 64);
  assert_int_equal(stats.steals, 0);
  fixture_close(&f);
}

/*
 * Ten objects put by another thread: its private slot keeps one, the other nine are stolen, oldest
 * first (1 is in the slot, so 2 is the oldest in the chain).
 */
static void others_steal_all_but_the_private_object(void **state) {
  (void)state;
  struct fixture f;
  void *given[10], *taken[10];
  fixture_open(&f, SPEC, &plain, 1);
  struct pool_thread *giver = second_thread(&f);
  get_many(&f, giver, given, 10);
  put_many(&f, giver, given, 10);
  struct pool_stats before = fixture_stats(&f);
  get_many(&f, f.thread, taken, 10);
  struct pool_stats after = fixture_stats(&f);
  assert_int_equal(after.steals - before.steals, 9);
  assert_int_equal(after.misses - before.misses, 1);
  for (int i = 0; i < 9; i++)
    assert_ptr_equal(taken[i], given[i + 1]);
  /* The giver has index 1, the thread after 0: found at the first look, nine times. */
  assert_int_equal(after.scans - before.scans, 9 * 1 + 64);
  put_many(&f, f.thread, taken, 10);
  f.s->detach(f.pool, giver);
  fixture_close(&f);
}

/* After one trim an object is a victim and still found, after two it is gone. */
static void an_object_survives_one_trim(void **state) {
  (void)state;
  struct fixture f;
  void *objects[5];
  fixture_open(&f, SPEC, &plain, 1);
  get_many(&f, f.thread, objects, 5);
  put_many(&f, f.thread, objects, 5);
  trim_once(&f, f.thread, NULL);
  assert_int_equal(fixture_held(&f).objects, 5);
  get_many(&f, f.thread, objects, 5);
  assert_int_equal(fixture_stats(&f).misses, 5);
  put_many(&f, f.thread, objects, 5);
  trim_once(&f, f.thread, NULL);
  trim_once(&f, f.thread, NULL);
  assert_int_equal(fixture_held(&f).objects, 0);
  get_many(&f, f.thread, objects, 5);
  assert_int_equal(fixture_stats(&f).misses, 10);
  put_many(&f, f.thread, objects, 5);
  fixture_close(&f);
}

/* Two trims between two scopes count as two. */
static void missed_trims_are_made_up_for(void **state) {
  (void)state;
  struct fixture f;
  void *objects[5];
  fixture_open(&f, SPEC, &plain, 1);
  get_many(&f, f.thread, objects, 5);
  put_many(&f, f.thread, objects, 5);
  f.s->trim(f.pool);
  f.s->trim(f.pool);
  f.s->quiesce(f.pool, f.thread);
  assert_int_equal(fixture_held(&f).objects, 0);
  fixture_close(&f);
}

static void a_leaving_thread_leaves_all_it_had_to_thieves(void **state) {
  (void)state;
  struct fixture f;
  void *objects[10];
  fixture_open(&f, SPEC, &plain, 1);
  struct pool_thread *guest = second_thread(&f);
  get_many(&f, guest, objects, 10);
  put_many(&f, guest, objects, 10);
  f.s->detach(f.pool, guest);
  assert_int_equal(fixture_held(&f).objects, 10);
  get_many(&f, f.thread, objects, 10);
  assert_int_equal(fixture_stats(&f).misses, 10);
  assert_int_equal(fixture_stats(&f).steals, 10);
  put_many(&f, f.thread, objects, 10);
  fixture_close(&f);
}

/* Nobody owns the shard any more, so trim itself turns it. */
static void what_a_thread_left_is_trimmed_too(void **state) {
  (void)state;
  struct fixture f;
  void *objects[10];
  fixture_open(&f, SPEC, &plain, 1);
  struct pool_thread *guest = second_thread(&f);
  get_many(&f, guest, objects, 10);
  put_many(&f, guest, objects, 10);
  f.s->detach(f.pool, guest);
  f.s->trim(f.pool);
  assert_int_equal(fixture_held(&f).objects, 10);
  f.s->trim(f.pool);
  assert_int_equal(fixture_held(&f).objects, 0);
  fixture_close(&f);
}

static void there_are_at_least_as_many_shards_as_threads(void **state) {
  (void)state;
  struct fixture f;
  assert_false(fixture_try_open(&f, "sync-pool:shards=63", &plain, 1));
  assert_non_null(strstr(f.why, "at least the number of threads, 64"));
  fixture_open(&f, "sync-pool:shards=4096", &plain, 1);
  fixture_close(&f);
}

/*
 * Rings are freed only when the other thread has passed a point outside get: with 100 objects in
 * its chain the trimming thread unlinks rings that the idle one might still hold.
 */
static void rings_wait_for_every_thread(void **state) {
  (void)state;
  struct fixture f;
  void *objects[100];
  fixture_open(&f, SPEC, &plain, 1);
  struct pool_thread *idle = second_thread(&f);
  int64_t empty = fixture_live_blocks();
  get_many(&f, f.thread, objects, 100);
  put_many(&f, f.thread, objects, 100);
  int64_t rings = fixture_live_blocks() - empty - 100;
  assert_int_equal(rings, 4); /* of 8, 16, 32 and 64 places: 99 objects and one in the slot */
  trim_once(&f, f.thread, NULL);
  trim_once(&f, f.thread, NULL);
  f.s->quiesce(f.pool, f.thread);
  assert_int_equal(fixture_held(&f).objects, 0);
  assert_int_equal(fixture_live_blocks(), empty + rings);
  f.s->quiesce(f.pool, idle);
  assert_int_equal(fixture_live_blocks(), empty);
  f.s->detach(f.pool, idle);
  fixture_close(&f);
}

/* The same, when the thread that was waited for leaves. */
static void a_leaving_thread_holds_no_ring(void **state) {
  (void)state;
  struct fixture f;
  void *objects[100];
  fixture_open(&f, SPEC, &plain, 1);
  int64_t empty = fixture_live_blocks();
  struct pool_thread *idle = second_thread(&f);
  get_many(&f, f.thread, objects, 100);
  put_many(&f, f.thread, objects, 100);
  trim_once(&f, f.thread, NULL);
  trim_once(&f, f.thread, NULL);
  assert_true(fixture_live_blocks() > empty + 1);
  f.s->detach(f.pool, idle);
  assert_int_equal(fixture_live_blocks(), empty);
  fixture_close(&f);
}

/* The chain alone: LIFO for the owner, FIFO for thieves, across rings. */
static void a_chain_is_lifo_at_its_head_and_fifo_at_its_tail(void **state) {
  (void)state;
  struct chain chain = {0};
  static char objects[1000];
  struct timing_retries retries = {0};
  assert_null(chain_pop(&chain));
  assert_null(chain_steal(&chain, &retries));
  for (int round = 0; round < 3; round++) {
    for (int i = 0; i < 1000; i++)
      assert_true(chain_push(&chain, &objects[i]));
    for (int i = 0; i < 400; i++)
      assert_ptr_equal(chain_steal(&chain, &retries), &objects[i]);
    for (int i = 1000; i-- > 400;)
      assert_ptr_equal(chain_pop(&chain), &objects[i]);
    assert_null(chain_pop(&chain));
    assert_null(chain_steal(&chain, &retries));
  }
  assert_int_equal(retries.failures, 0);
  chain_free_rings(chain_detach_rings(&chain));
}

/*
 * Millions of transfers through the last object of a chain and through ring changes: the owner
 * pushes numbers and pops some of them back, thieves steal; every number must be seen once.
 */
enum { NUMBERS = 400000, THIEVES = 3 };

struct numbers {
  struct chain chain;
  _Atomic unsigned char seen[NUMBERS]; /* how often each came out */
  _Atomic bool done;
  _Atomic uint64_t stolen;
};

static void see(struct numbers *n, void *number) {
  atomic_fetch_add_explicit(&n->seen[(uintptr_t)number - 1], 1, memory_order_relaxed);
}

static void *steal_numbers(void *arg) {
  struct numbers *n = arg;
  struct timing_retries retries = {0};
  uint64_t stolen = 0;
  for (;;) {
    bool done = atomic_load(&n->done);
    void *number = chain_steal(&n->chain, &retries);
    if (number) {
      see(n, number);
      stolen++;
    } else if (done) {
      break;
    } else {
      sched_yield();
    }
  }
  atomic_fetch_add(&n->stolen, stolen);
  return NULL;
}

/* Bursts of 1 to 40, of which up to as many are popped again: often the very last one. */
static void push_and_pop_numbers(struct numbers *n) {
  unsigned seed = 1;
  for (uintptr_t number = 1; number <= NUMBERS;) {
    unsigned burst = 1 + (unsigned)rand_r(&seed) % 40;
    for (unsigned i = 0; i < burst && number <= NUMBERS; i++)
      assert_true(chain_push(&n->chain, (void *)number++));
    unsigned back = (unsigned)rand_r(&seed) % (burst + 1);
    for (unsigned i = 0; i < back; i++) {
      void *popped = chain_pop(&n->chain);
      if (popped)
        see(n, popped);
    }
    if (burst % 8 == 0)
      sched_yield();
  }
}

static void every_number_comes_out_once(void **state) {
  (void)state;
  struct numbers *n = calloc(1, sizeof *n);
  pthread_t thieves[THIEVES];
  assert_non_null(n);
  for (int i = 0; i < THIEVES; i++)
    assert_int_equal(pthread_create(&thieves[i], NULL, steal_numbers, n), 0);
  push_and_pop_numbers(n);
  atomic_store(&n->done, true);
  for (int i = 0; i < THIEVES; i++)
    pthread_join(thieves[i], NULL);
  for (void *left; (left = chain_pop(&n->chain));)
    see(n, left);
  for (int i = 0; i < NUMBERS; i++)
    assert_int_equal(atomic_load_explicit(&n->seen[i], memory_order_relaxed), 1);
  assert_true(atomic_load(&n->stolen) > 1000); /* the path under test was taken */
  chain_free_rings(chain_detach_rings(&n->chain));
  free(n);
}

/*
 * Through the strategy: producers get and pass objects on, consumers put what they receive, so
 * that nearly every get of a producer has to steal. Trims go on all the while.
 */
#ifdef __SANITIZE_THREAD__
enum { PASSES = 200000 };
#else
enum { PASSES = 1000000 };
#endif
enum { SIDES = 2, RING = 256 };

struct passed {
  _Atomic unsigned users;
  uint64_t mark[3];
};

struct flow {
  struct fixture *f;
  _Atomic(struct passed *) boxes[SIDES][RING];
  _Atomic unsigned faults;
  _Atomic unsigned producing;
};

struct side {
  struct flow *flow;
  unsigned index;
};

static void clear_passed(void *p) {
  memset(((struct passed *)p)->mark, 0, 3 * sizeof(uint64_t));
}
static bool init_passed(void *p) {
  memset(p, 0, sizeof(struct passed));
  return true;
}
static const struct kind passed_kind = {
    .name = "passed", .size = sizeof(struct passed), .init = init_passed, .clear = clear_passed};

static void *produce(void *arg) {
  struct side *side = arg;
  struct flow *flow = side->flow;
  const struct strategy *s = flow->f->s;
  heap_thread_begin();
  struct pool_thread *thread = s->attach(flow->f->pool);
  for (uint64_t i = 1; i <= PASSES; i++) {
    struct pool_scope *scope = pool_begin(s, flow->f->pool, thread, NULL);
    struct passed *p = pool_get(s, scope, 0);
    bool clean = !p->mark[0] && !p->mark[1] && !p->mark[2];
    if (atomic_fetch_add(&p->users, 1) != 0 || !clean)
      atomic_fetch_add(&flow->faults, 1);
    p->mark[0] = p->mark[1] = p->mark[2] = i;
    _Atomic(struct passed *) *box = &flow->boxes[side->index][i % RING];
    while (atomic_load_explicit(box, memory_order_acquire))
      sched_yield();
    atomic_store_explicit(box, p, memory_order_release);
    pool_end(s, flow->f->pool, scope);
  }
  atomic_fetch_sub(&flow->producing, 1);
  s->detach(flow->f->pool, thread);
  heap_thread_end();
  return NULL;
}

static void *consume(void *arg) {
  struct side *side = arg;
  struct flow *flow = side->flow;
  const struct strategy *s = flow->f->s;
  heap_thread_begin();
  struct pool_thread *thread = s->attach(flow->f->pool);
  for (uint64_t i = 1; i <= PASSES; i++) {
    _Atomic(struct passed *) *box = &flow->boxes[side->index][i % RING];
    struct passed *p;
    while (!(p = atomic_load_explicit(box, memory_order_acquire)))
      sched_yield();
    atomic_store_explicit(box, NULL, memory_order_release);
    struct pool_scope *scope = pool_begin(s, flow->f->pool, thread, NULL);
    if (p->mark[0] != i || p->mark[1] != i || p->mark[2] != i ||
        atomic_fetch_sub(&p->users, 1) != 1)
      atomic_fetch_add(&flow->faults, 1);
    pool_put(s, scope, 0, p);
    pool_end(s, flow->f->pool, scope);
    if (i % 5000 == 0)
      s->trim(flow->f->pool);
  }
  s->detach(flow->f->pool, thread);
  heap_thread_end();
  return NULL;
}

static void millions_of_transfers_lose_nothing(void **state) {
  (void)state;
  struct fixture f;
  fixture_open(&f, SPEC, &passed_kind, 1);
  struct flow flow = {.f = &f, .producing = SIDES};
  struct side sides[SIDES];
  pthread_t ids[2 * SIDES];
  for (unsigned i = 0; i < SIDES; i++) {
    sides[i] = (struct side){&flow, i};
    assert_int_equal(pthread_create(&ids[2 * i], NULL, produce, &sides[i]), 0);
    assert_int_equal(pthread_create(&ids[2 * i + 1], NULL, consume, &sides[i]), 0);
  }
  while (atomic_load(&flow.producing) > 0) { /* the fixture's thread must not hold rings back */
    f.s->quiesce(f.pool, f.thread);
    sched_yield();
  }
  for (unsigned i = 0; i < 2 * SIDES; i++)
    pthread_join(ids[i], NULL);
  struct pool_stats stats = fixture_stats(&f);
  assert_int_equal(atomic_load(&flow.faults), 0);
  assert_int_equal(stats.gets, SIDES * PASSES);
  assert_int_equal(stats.puts, SIDES * PASSES);
  assert_true(stats.steals > SIDES * PASSES / 2);
  fixture_close(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_miss_looks_at_every_shard),
      cmocka_unit_test(victims_once_stops_looking),
      cmocka_unit_test(balanced_use_of_the_private_slot_scans_nothing),
      cmocka_unit_test(others_steal_all_but_the_private_object),
      cmocka_unit_test(an_object_survives_one_trim),
      cmocka_unit_test(missed_trims_are_made_up_for),
      cmocka_unit_test(a_leaving_thread_leaves_all_it_had_to_thieves),
      cmocka_unit_test(what_a_thread_left_is_trimmed_too),
      cmocka_unit_test(there_are_at_least_as_many_shards_as_threads),
      cmocka_unit_test(rings_wait_for_every_thread),
      cmocka_unit_test(a_leaving_thread_holds_no_ring),
      cmocka_unit_test(a_chain_is_lifo_at_its_head_and_fifo_at_its_tail),
      cmocka_unit_test(every_number_comes_out_once),
      cmocka_unit_test(millions_of_transfers_lose_nothing),
  };
  heap_thread_begin();
  return cmocka_run_group_tests_name("sync_pool", tests, NULL, NULL);
}
