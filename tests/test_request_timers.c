/*
 * The timer service and the hazard of recycling its timers.
 *
 * The race: batches of timers are armed to fire about now, retired in another order while they
 * fire, and handed at once to users who arm them for an hour. A tick that such a user finds is an
 * early time-out. POOLBENCH_TIMER_RACES=1000000 runs a million of them (a few seconds).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "harness/heap.h"
#include "workloads/request/timer.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <time.h>

#define HOUR_NS 3600000000000

static struct timer *timer_new(void) {
  struct timer *t = heap_alloc(timer_kind.size);
  assert_non_null(t);
  assert_true(timer_kind.init(t));
  return t;
}

/*
 * Even a timer that fired and whose tick was received may still be in the service's hands.
 * s is NULL when it has been closed.
 */
static void timer_free(struct timer_service *s, struct timer *t) {
  if (s)
    timer_retire(s, t);
  timer_kind.destroy(t);
  heap_free(t, timer_kind.size);
}

static struct timer_service *service_new(void) {
  static char why[200];
  struct timer_service *s = heap_alloc(sizeof *s);
  assert_non_null(s);
  if (!timer_service_open(s, why, sizeof why))
    fail_msg("%s", why);
  return s;
}

static void service_delete(struct timer_service *s) {
  timer_service_close(s);
  heap_free(s, sizeof *s);
}

/* Waits for the tick of a timer that is due. */
static struct timer_tick await_tick(struct timer *t) {
  struct timer_tick tick = {0};
  struct waiter w;
  struct channel *never = channel_open(1, 1);
  waiter_init(&w);
  assert_ptr_equal(channel_wait(&w, t->channel, never), t->channel);
  assert_true(channel_receive(t->channel, &tick));
  waiter_destroy(&w);
  channel_close(never);
  return tick;
}

static void a_timer_is_three_blocks_of_200_bytes(void **state) {
  (void)state;
  struct heap_counts before, after;
  heap_thread_begin();
  heap_total(&before);
  struct timer *t = timer_new();
  heap_total(&after);
  assert_int_equal(after.allocs - before.allocs, 3);
  assert_int_equal(after.alloc_bytes - before.alloc_bytes, 96 + 24 + 80);
  assert_int_equal(timer_kind.bytes(t), 96 + 24 + 80);
  timer_free(NULL, t);
  heap_total(&after);
  assert_int_equal(after.freed_bytes - before.freed_bytes, 96 + 24 + 80);
  heap_thread_end();
}

static void it_fires_once_and_not_before_its_time(void **state) {
  (void)state;
  struct timer_service *s = service_new();
  struct timer *t = timer_new();
  for (int64_t delay_ns = 0; delay_ns <= 2000000; delay_ns += 500000) {
    int64_t start_ns = timer_now_ns();
    assert_true(timer_arm(s, t, delay_ns));
    struct timer_tick tick = await_tick(t);
    assert_true(tick.delivered_ns - start_ns >= delay_ns);
    assert_int_equal(tick.arming, t->arming);
    assert_false(timer_stop(s, t));
    assert_false(channel_receive(t->channel, &tick));
  }
  timer_free(s, t);
  service_delete(s);
}

static int by_deadline(const void *a, const void *b) {
  int64_t x = (*(struct timer *const *)a)->when_ns, y = (*(struct timer *const *)b)->when_ns;
  return (x > y) - (x < y);
}

/* Against a sorted list: timers with shuffled deadlines, every third stopped, fire in order. */
static void timers_fire_in_the_order_of_their_deadlines(void **state) {
  (void)state;
  enum { TIMERS = 200 };
  struct timer_service *s = service_new();
  struct timer *timers[TIMERS];
  for (int i = 0; i < TIMERS; i++) {
    timers[i] = timer_new();
    int rank = i * 73 % TIMERS; /* 73 and 200 have no common factor: a permutation */
    assert_true(timer_arm(s, timers[i], 20000000 + rank * 20000));
  }
  qsort(timers, TIMERS, sizeof timers[0], by_deadline);
  for (int i = 0; i < TIMERS; i += 3)
    assert_true(timer_stop(s, timers[i]));
  struct timer_tick tick;
  int64_t last_ns = 0;
  for (int i = 0; i < TIMERS; i++)
    if (i % 3 != 0) {
      tick = await_tick(timers[i]);
      assert_int_equal(tick.when_ns, timers[i]->when_ns);
      assert_true(tick.delivered_ns >= last_ns);
      last_ns = tick.delivered_ns;
    }
  for (int i = 0; i < TIMERS; i++) {
    assert_false(channel_receive(timers[i]->channel, &tick));
    timer_free(s, timers[i]);
  }
  service_delete(s);
}

static void a_stopped_timer_never_fires(void **state) {
  (void)state;
  struct timer_service *s = service_new();
  struct timer *stopped = timer_new(), *later = timer_new();
  struct timer_tick tick;
  assert_true(timer_arm(s, stopped, 1000000));
  assert_true(timer_arm(s, later, 2000000));
  bool in_time = timer_stop(s, stopped); /* not on a machine that slept for a millisecond here */
  await_tick(later);
  assert_int_equal(channel_receive(stopped->channel, &tick), !in_time);
  timer_free(s, stopped);
  timer_free(s, later);
  service_delete(s);
}

static void out_of_memory_in_arm_is_reported(void **state) {
  (void)state;
  enum { TIMERS = 65 }; /* one more than fits at first */
  struct timer_service *s = service_new();
  struct timer *timers[TIMERS];
  for (int i = 0; i < TIMERS; i++) {
    timers[i] = timer_new();
    heap_fail_after(i == TIMERS - 1);
    assert_int_equal(timer_arm(s, timers[i], HOUR_NS), i < TIMERS - 1);
  }
  heap_fail_after(0);
  assert_true(timer_arm(s, timers[TIMERS - 1], HOUR_NS));
  for (int i = 0; i < TIMERS; i++) {
    assert_true(timer_stop(s, timers[i]));
    timer_free(s, timers[i]);
  }
  service_delete(s);
}

/* -- the race -- */

#define BATCH 64

/* Stretches the time between "no longer armed" and "in the channel", as a preemption would. */
static void fire_late(struct timer *t, const struct timer_tick *tick) {
  sched_yield();
  channel_send(t->channel, tick);
}

/* How a recycled timer is put back: properly, or as in a well-known idiom that is wrong. */
typedef void retire_function(struct timer_service *s, struct timer *t);

static void retire_naively(struct timer_service *s, struct timer *t) {
  struct timer_tick tick;
  if (!timer_stop(s, t))
    channel_receive(t->channel, &tick); /* "it fired, so the tick is there": not yet */
}

struct race {
  struct timer_service *service;
  struct timer *timers[BATCH];
  uint64_t random;
  uint64_t races, fired, early;
};

static uint32_t random_below(struct race *r, uint32_t n) { /* xorshift64 */
  r->random ^= r->random << 13;
  r->random ^= r->random >> 7;
  r->random ^= r->random << 17;
  return (uint32_t)(r->random >> 33) % n;
}

/* The next user's tick, if there is one, belongs to the user before. */
static void count_early(struct race *r, struct timer *t) {
  struct timer_tick tick;
  if (channel_receive(t->channel, &tick))
    r->early += tick.arming != t->arming || tick.delivered_ns < t->when_ns;
}

/*
 * One batch: the timers fall due one after the other; each is retired about when it is due and
 * armed again for its next user. The service and this thread then work through the same list in
 * the same order, so that they meet at one timer again and again.
 */
static void race_batch(struct race *r, retire_function *retire) {
  for (int i = 0; i < BATCH; i++)
    timer_arm(r->service, r->timers[i], i * 300 + random_below(r, 1000));
  for (int i = 0; i < BATCH; i++) {
    struct timer *t = r->timers[i];
    int64_t until_ns = t->when_ns - 500 + random_below(r, 1000);
    int64_t now_ns = timer_now_ns();
    while (now_ns < until_ns)
      now_ns = timer_now_ns();
    r->fired += now_ns >= t->when_ns;
    retire(r->service, t);
    timer_arm(r->service, t, HOUR_NS);
    r->races++;
  }
  for (int i = 0; i < BATCH; i++) {
    count_early(r, r->timers[i]);
    timer_retire(r->service, r->timers[i]);
  }
}

/* Races until `races` are done or, with stop_at_early, one was early. */
static struct race race(retire_function *retire, timer_fire *fire, uint64_t races,
                        bool stop_at_early) {
  struct race r = {.service = service_new(), .random = 88172645463325252u};
  for (int i = 0; i < BATCH; i++) {
    r.timers[i] = timer_new();
    if (fire)
      r.timers[i]->fire = fire;
  }
  while (r.races < races && !(stop_at_early && r.early > 0))
    race_batch(&r, retire);
  service_delete(r.service); /* first: the naive way has left deliveries under way */
  for (int i = 0; i < BATCH; i++)
    timer_free(NULL, r.timers[i]);
  return r;
}

static uint64_t races_wanted(void) {
  const char *text = getenv("POOLBENCH_TIMER_RACES");
  char *end;
  if (!text || !*text)
    return 50000;
  errno = 0;
  unsigned long long n = strtoull(text, &end, 10);
  if (errno || *end || n == 0)
    fail_msg("POOLBENCH_TIMER_RACES=%s: want a number of races", text);
  return n;
}

static void recycling_races_with_expiry_and_nobody_times_out_early(void **state) {
  (void)state;
  uint64_t races = races_wanted();
  for (int late = 0; late < 2; late++) {
    struct race r = race(timer_retire, late ? fire_late : NULL, races, false);
    print_message("%llu recycled, %llu of them due, %llu early\n", (unsigned long long)r.races,
                  (unsigned long long)r.fired, (unsigned long long)r.early);
    assert_int_equal(r.early, 0);
    assert_true(r.fired > races / 100); /* or it was no race */
  }
}

/* The same check, the same timers, put back without waiting for the delivery. */
static void the_naive_way_fails_the_same_check(void **state) {
  (void)state;
  struct race r = race(retire_naively, fire_late, 1000000, true);
  print_message("early time-out after %llu recycled\n", (unsigned long long)r.races);
  assert_true(r.early > 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_timer_is_three_blocks_of_200_bytes),
      cmocka_unit_test(it_fires_once_and_not_before_its_time),
      cmocka_unit_test(timers_fire_in_the_order_of_their_deadlines),
      cmocka_unit_test(a_stopped_timer_never_fires),
      cmocka_unit_test(out_of_memory_in_arm_is_reported),
      cmocka_unit_test(recycling_races_with_expiry_and_nobody_times_out_early),
      cmocka_unit_test(the_naive_way_fails_the_same_check),
  };
  return cmocka_run_group_tests_name("request timers", tests, NULL, NULL);
}
