/*
 * Objects that change hands: several threads get objects, mark them, swap them through mailboxes
 * and put what they received, while another thread trims and reads the statistics. No object may
 * be lost, given out twice, or seen half written. Built with the thread sanitizer this also shows
 * that a strategy orders what it promises to order.
 *
 * Some strategies have paths that few swaps take (a compare-and-swap that fails, a sequence that is
 * restarted): their parties go on until the path's counter has moved. POOLBENCH_TRANSFER_ROUNDS=N
 * makes a long run of it, with N times the rounds.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "strategies/support/restart.h"
#include "tests/strategy_fixture.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { THREADS = 4, BATCH = 8, BOXES = 64, WORDS = 7 };

/* Cleared: nobody has it, all words 0. In use: `users` is 1 and all words are the same mark. */
struct parcel {
  _Atomic unsigned users;
  uint64_t words[WORDS];
};

/* What went wrong, counted on all threads and asserted on the main one. */
static struct {
  _Atomic unsigned doubled; /* given out while in use, or put while not in use */
  _Atomic unsigned torn;    /* words that differ, or not cleared */
} faults;

static bool parcel_init(void *p) {
  memset(p, 0, sizeof(struct parcel));
  return true;
}

static void parcel_clear(void *p) {
  struct parcel *parcel = p;
  memset(parcel->words, 0, sizeof parcel->words);
  if (atomic_exchange(&parcel->users, 0) != 1)
    atomic_fetch_add(&faults.doubled, 1);
}

static const struct kind parcels[2] = {
    {.name = "parcel", .size = sizeof(struct parcel), .init = parcel_init, .clear = parcel_clear},
    {.name = "aligned parcel",
     .size = 128,
     .align = 128,
     .init = parcel_init,
     .clear = parcel_clear},
};

static void check_words(const struct parcel *parcel, uint64_t expected) {
  for (int i = 0; i < WORDS; i++)
    if (parcel->words[i] != expected) {
      atomic_fetch_add(&faults.torn, 1);
      return;
    }
}

static struct parcel *take(struct fixture *f, struct pool_scope *scope, unsigned kind,
                           uint64_t mark) {
  struct parcel *parcel = pool_get(f->s, scope, kind);
  if (atomic_fetch_add(&parcel->users, 1) != 0)
    atomic_fetch_add(&faults.doubled, 1);
  check_words(parcel, 0);
  for (int i = 0; i < WORDS; i++)
    parcel->words[i] = mark;
  return parcel;
}

static void give_back(struct fixture *f, struct pool_scope *scope, unsigned kind,
                      struct parcel *parcel) {
  check_words(parcel, parcel->words[0]);
  pool_put(f->s, scope, kind, parcel);
}

struct exchange {
  struct fixture *f;
  _Atomic(struct parcel *) boxes[2][BOXES]; /* by kind */
  _Atomic unsigned working;
  _Atomic uint64_t rounds_done; /* by all */
  unsigned rounds;              /* each does at the least */
  size_t rare;                  /* the offset in pool_stats of what must have been counted, or 0 */
  time_t give_up;               /* a path that is never taken must not hang the suite */
  pthread_barrier_t start;      /* so that they overlap, short as they are */
};

struct party {
  struct exchange *exchange;
  unsigned index;
};

/* An object to be left in a box, and the one that lay there, if any did. */
struct swap {
  struct parcel *parcel;
  unsigned kind, box;
};

static struct swap take_one(struct exchange *exchange, struct pool_scope *scope, uint64_t mark,
                            unsigned *seed) {
  unsigned random = (unsigned)rand_r(seed);
  struct swap swap = {.kind = random % 2, .box = random / 2 % BOXES};
  swap.parcel = take(exchange->f, scope, swap.kind, mark);
  return swap;
}

static void swap_one(struct exchange *exchange, struct swap *swap) {
  swap->parcel = atomic_exchange_explicit(&exchange->boxes[swap->kind][swap->box], swap->parcel,
                                          memory_order_acq_rel);
}

static void put_one(struct exchange *exchange, struct pool_scope *scope, const struct swap *swap) {
  if (swap->parcel)
    give_back(exchange->f, scope, swap->kind, swap->parcel);
}

/* One by one: few objects are pooled, and one thread's put is the next one's get. */
static void swap_singly(struct exchange *exchange, struct pool_scope *scope, uint64_t *mark,
                        unsigned *seed) {
  for (int i = 0; i < BATCH; i++) {
    struct swap swap = take_one(exchange, scope, ++*mark, seed);
    swap_one(exchange, &swap);
    put_one(exchange, scope, &swap);
  }
}

/* All together: what is pooled goes up and down, across caps and magazines. */
static void swap_batch(struct exchange *exchange, struct pool_scope *scope, uint64_t *mark,
                       unsigned *seed) {
  struct swap swaps[BATCH];
  for (int i = 0; i < BATCH; i++)
    swaps[i] = take_one(exchange, scope, ++*mark, seed);
  for (int i = 0; i < BATCH; i++)
    swap_one(exchange, &swaps[i]);
  for (int i = 0; i < BATCH; i++)
    put_one(exchange, scope, &swaps[i]);
}

static uint64_t rare_count(struct exchange *exchange) {
  struct pool_stats stats = fixture_stats(exchange->f);
  uint64_t count;
  memcpy(&count, (const char *)&stats + exchange->rare, sizeof count);
  return count;
}

static bool goes_on(struct exchange *exchange, unsigned round) {
  if (round < exchange->rounds)
    return true;
  return exchange->rare && rare_count(exchange) == 0 && time(NULL) < exchange->give_up;
}

static void *swap_parcels(void *arg) {
  struct party *party = arg;
  struct exchange *exchange = party->exchange;
  struct fixture *f = exchange->f;
  struct pool_owner owner = {0};
  unsigned seed = party->index + 1;
  uint64_t mark = (uint64_t)party->index << 32;
  heap_thread_begin();
  struct pool_thread *thread = f->s->attach(f->pool);
  pthread_barrier_wait(&exchange->start);
  for (unsigned round = 0; goes_on(exchange, round); round++) {
    struct pool_scope *scope = fixture_begin(f, thread, &owner);
    if (round % 2)
      swap_batch(exchange, scope, &mark, &seed);
    else
      swap_singly(exchange, scope, &mark, &seed);
    atomic_fetch_add(&exchange->rounds_done, 1);
    pool_end(f->s, f->pool, scope);
    if (round % 64 == 0)
      f->s->quiesce(f->pool, thread);
  }
  fixture_release(f, &owner);
  f->s->detach(f->pool, thread);
  heap_thread_end();
  atomic_fetch_sub(&exchange->working, 1);
  return NULL;
}

static void *trim_now_and_then(void *arg) {
  struct exchange *exchange = arg;
  heap_thread_begin();
  while (atomic_load(&exchange->working) > 0) {
    exchange->f->s->trim(exchange->f->pool);
    fixture_stats(exchange->f);
    for (int i = 0; i < 50; i++)
      sched_yield();
  }
  heap_thread_end();
  return NULL;
}

static unsigned collect(struct exchange *exchange) {
  struct fixture *f = exchange->f;
  unsigned left = 0;
  struct pool_scope *scope = fixture_begin(f, f->thread, &f->owner);
  for (unsigned kind = 0; kind < 2; kind++)
    for (unsigned box = 0; box < BOXES; box++)
      if (exchange->boxes[kind][box]) {
        give_back(f, scope, kind, exchange->boxes[kind][box]);
        left++;
      }
  pool_end(f->s, f->pool, scope);
  return left;
}

/* A lock that spins in a queue needs a scheduler's turn a hand-over once threads outnumber CPUs. */
static bool spins(const char *spec) {
  return strstr(spec, "ticket") || strstr(spec, "mcs");
}

static unsigned times_longer(void) {
  const char *text = getenv("POOLBENCH_TRANSFER_ROUNDS");
  unsigned times = text ? (unsigned)strtoul(text, NULL, 10) : 1;
  return times ? times : 1;
}

/* A way of a strategy, and the counter that shows that a run took its rare path. */
struct variant {
  const char *spec;
  size_t rare; /* 0: none */
};

static void run_parties(struct exchange *exchange, unsigned threads) {
  struct party parties[THREADS];
  pthread_t ids[THREADS], trimmer;
  assert_int_equal(pthread_barrier_init(&exchange->start, NULL, threads), 0);
  for (unsigned i = 0; i < threads; i++) {
    parties[i] = (struct party){exchange, i};
    assert_int_equal(pthread_create(&ids[i], NULL, swap_parcels, &parties[i]), 0);
  }
  assert_int_equal(pthread_create(&trimmer, NULL, trim_now_and_then, exchange), 0);
  for (unsigned i = 0; i < threads; i++)
    pthread_join(ids[i], NULL);
  pthread_join(trimmer, NULL);
  pthread_barrier_destroy(&exchange->start);
}

static void nothing_is_lost_doubled_or_torn(void **state) {
  const struct variant *variant = *state;
  const char *why;
  struct fixture f;
  if (strstr(variant->spec, "way=rseq") && !(restart_self(&why) && restart_can_fence(&why)))
    skip();
  fixture_open(&f, variant->spec, parcels, 2);
  const unsigned threads = spins(variant->spec) ? 2 : THREADS;
  struct exchange exchange = {.f = &f,
                              .working = threads,
                              .rounds = (spins(variant->spec) ? 1000 : 3000) * times_longer(),
                              .rare = variant->rare,
                              .give_up = time(NULL) + 20};
  memset(&faults, 0, sizeof faults);
  run_parties(&exchange, threads);
  assert_true(collect(&exchange) > 0);
  struct pool_stats stats = fixture_stats(&f);
  assert_int_equal(stats.gets, atomic_load(&exchange.rounds_done) * BATCH);
  assert_int_equal(stats.puts, stats.gets);
  assert_int_equal(atomic_load(&faults.doubled), 0);
  assert_int_equal(atomic_load(&faults.torn), 0);
  if (exchange.rare)
    assert_true(rare_count(&exchange) > 0);
  fixture_close(&f); /* nothing lost: the heap's balance */
}

#define RARE(counter) offsetof(struct pool_stats, counter)
_Static_assert(offsetof(struct pool_stats, gets) == 0, "0 can stand for none");

static const struct variant variants[] = {
    {"pooled-freelists:slot=none", RARE(owner_switches)},
    {"per-thread:cap=4", RARE(overflows)},
    {"global-locked:lock=adaptive", 0},
    {"global-locked:lock=ticket", 0},
    {"global-locked:lock=mcs", 0},
    {"magazine:size=1", RARE(owner_switches)},
    {"magazine:size=2:depot=1", RARE(overflows)},
    {"magazine:size=2:lock=mcs", RARE(owner_switches)},
    {"treiber", RARE(cas_retries)},
    {"treiber:cap=4", RARE(overflows)},
    {"per-cpu:way=rseq", RARE(restarts)},
    {"per-cpu:cap=4", RARE(overflows)},
    {"per-cpu:way=lock", RARE(owner_switches)},
};

int main(void) {
  enum { VARIANTS = sizeof variants / sizeof variants[0], ROOM = 60 };
  struct CMUnitTest tests[ROOM];
  struct variant plain[ROOM];
  size_t count = 0;
  for (size_t i = 0; strategies[i] && count < ROOM - VARIANTS; i++)
    if (!(strategies[i]->flags & (STRATEGY_ONE_OBJECT | STRATEGY_OBJECTS_DIE_WITH_SCOPE))) {
      plain[count] = (struct variant){.spec = strategies[i]->name};
      tests[count] = (struct CMUnitTest){.name = strategies[i]->name,
                                         .test_func = nothing_is_lost_doubled_or_torn,
                                         .initial_state = &plain[count]};
      count++;
    }
  for (size_t i = 0; i < VARIANTS; i++)
    tests[count++] = (struct CMUnitTest){.name = variants[i].spec,
                                         .test_func = nothing_is_lost_doubled_or_torn,
                                         .initial_state = (void *)(uintptr_t)&variants[i]};
  heap_thread_begin();
  return _cmocka_run_group_tests("transfer", tests, count, NULL, NULL);
}
