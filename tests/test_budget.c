/* The time budget by hand: round numbers in, states out, and what does not fit into the remainder.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/budget.h"

#include <math.h>
#include <string.h>

/*
 * Two threads, 1000 ns. Thread 0: all of it, 600 on the CPU, 100 in the run queue, so 300 asleep.
 * Thread 1: done after 900, 700 on the CPU, 150 in the run queue; it never gave the CPU up, so the
 * missing 50 are nobody's.
 */
struct fixture {
  struct thread_reading threads[2];
  struct heap_counts heap_start, heap_end;
  struct pool_stats pool_start, pool_end;
  struct budget_prices prices;
  struct budget_readings readings;
};

static void set_up(struct fixture *f) {
  *f = (struct fixture){
      .threads = {{.span_ns = 1000,
                   .start = {.cpu_ns = 50, .voluntary = 1, .minor = 4},
                   .end = {.cpu_ns = 650, .voluntary = 3, .minor = 7},
                   .delay_start_ns = 10,
                   .delay_end_ns = 110,
                   .has_delay = true},
                  {.span_ns = 900,
                   .start = {.cpu_ns = 0, .voluntary = 2},
                   .end = {.cpu_ns = 700, .voluntary = 2, .minor = 1},
                   .delay_end_ns = 150,
                   .has_delay = true}},
      .heap_start = {.calls_in_time = 9000, .timed_ns = 1000, .timed_calls = 500},
      .heap_end = {.calls_in_time = 9020,
                   .timed_ns = 1000 + 88,
                   .timed_calls = 504,
                   .empty_ns = 6,
                   .empty_calls = 3},
      .pool_start = {.lock_wait_ns = 7},
      .pool_end = {.lock_wait_ns = 407, .release_ns = 5, .cas_ns = 30, .scan_ns = 20},
      .prices = {.timed = true, .span_error_ns = 0.5, .clock_read_ns = 10, .fault_ns = 25},
  };
  f->readings = (struct budget_readings){.elapsed_ns = 1000,
                                         .threads = 2,
                                         .thread = f->threads,
                                         .heap_start = &f->heap_start,
                                         .heap_end = &f->heap_end,
                                         .pool_start = &f->pool_start,
                                         .pool_end = &f->pool_end,
                                         .prices = &f->prices};
  /*
   * Of 400 ns of waits 100 were one long one: 30 CPU, 50 run queue, so 20 asleep. Of the 300 of
   * short ones 100 were split, in two: 50 CPU without the holds and two readings, so 50 % or 150;
   * 15 % run queue; 35 % or 105 asleep. Of 200 that were watched 30 came after the release.
   */
  f->pool_end.long_wait_ns = 100;
  f->pool_end.long_cpu_ns = 30;
  f->pool_end.long_delay_ns = 50;
  f->pool_end.short_waits = 2;
  f->pool_end.short_wait_ns = 100;
  f->pool_end.short_cpu_ns = 50 + 15 + 20;
  f->pool_end.short_hold_ns = 15;
  f->pool_end.short_delay_ns = 15;
  f->pool_end.watched_wait_ns = 200;
  f->pool_end.handoff_ns = 30;
}

static void near(double value, double expected) {
  if (fabs(value - expected) > 1e-9 * fmax(1, fabs(expected)))
    fail_msg("%.12g instead of %.12g", value, expected);
}

static double sum(const struct budget *b) {
  double all = 0;
  for (int i = 0; i < BUDGET_STATES; i++)
    all += b->state[i];
  return all;
}

static void every_state_gets_its_share(void **state) {
  (void)state;
  struct fixture f;
  struct budget b;
  set_up(&f);
  assert_true(budget_make(&f.readings, &b));
  near(b.state[BUDGET_TAIL], 100);
  near(b.state[BUDGET_RUNQUEUE], 250);
  near(b.state[BUDGET_HEAP], 400);
  near(b.state[BUDGET_CAS], 30);
  near(b.state[BUDGET_SCAN], 20);
  near(b.state[BUDGET_SPIN], 180 + 5);
  near(b.state[BUDGET_WORK], 1300 - 400 - 30 - 20 - 185);
  near(b.state[BUDGET_LOCKED], 125);
  near(b.state[BUDGET_SLEEP], 300 - 125);
  near(b.state[BUDGET_REMAINDER], 50);
  near(sum(&b), 2000);
  near(b.part[BUDGET_HANDOFF], 60);
  near(b.part[BUDGET_FAULTS], 4 * 25);
  near(b.part[BUDGET_HEAP_ERROR], 20 * 0.5);
}

/* States that claim more CPU than there was leave no work and show as less than nothing. */
static void too_much_claimed_shows(void **state) {
  (void)state;
  struct fixture f;
  struct budget b;
  set_up(&f);
  f.heap_end.timed_ns = 1000 + 308; /* 4 of the 20 calls, 75 ns each, 2 of the span itself */
  assert_true(budget_make(&f.readings, &b));
  near(b.state[BUDGET_WORK], 0);
  near(b.state[BUDGET_SPIN], 0);
  near(b.state[BUDGET_REMAINDER], 50 - (1500 + 30 + 20 - 1300));
  near(sum(&b), 2000);
}

static double heap_of(struct fixture *f, uint64_t brief, uint64_t slow) {
  struct budget b;
  set_up(f);
  f->heap_end = f->heap_start;
  f->heap_end.calls_in_time += 4000;
  f->heap_end.timed_calls += brief;
  f->heap_end.timed_ns += brief * 100;
  f->heap_end.long_calls += slow;
  f->heap_end.long_ns += slow * 6000;
  assert_true(budget_make(&f->readings, &b));
  return b.state[BUDGET_HEAP];
}

/* One call in 1000 that is long is the allocator's; fewer were interrupted, or a single one. */
static void rare_long_calls_were_interrupted(void **state) {
  (void)state;
  struct fixture f;
  near(heap_of(&f, 1998, 2), 4000 * 105.9);
  near(heap_of(&f, 1999, 2), 4000 * 100);
  near(heap_of(&f, 10, 1), 4000 * 100);
  near(heap_of(&f, 10, 2), 4000 * 13000 / 12.0);
  near(heap_of(&f, 0, 1), 4000 * 6000);
  near(heap_of(&f, 0, 0), 0);
}

static void a_lock_cannot_sleep_longer_than_its_threads(void **state) {
  (void)state;
  struct fixture f;
  struct budget b;
  set_up(&f);
  f.pool_end.lock_wait_ns = 7 + 2000;
  assert_true(budget_make(&f.readings, &b));
  near(b.state[BUDGET_LOCKED], 300);
  near(b.state[BUDGET_SLEEP], 0);
  near(sum(&b), 2000);
}

static void says_why_there_is_none(void **state) {
  (void)state;
  struct fixture f;
  struct budget b;
  set_up(&f);
  f.threads[1].has_delay = false;
  assert_false(budget_make(&f.readings, &b));
  assert_non_null(strstr(b.why, "schedstat"));
  f.prices.timed = false;
  assert_false(budget_make(&f.readings, &b));
  assert_non_null(strstr(b.why, "switched off"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_state_gets_its_share),
      cmocka_unit_test(too_much_claimed_shows),
      cmocka_unit_test(rare_long_calls_were_interrupted),
      cmocka_unit_test(a_lock_cannot_sleep_longer_than_its_threads),
      cmocka_unit_test(says_why_there_is_none),
  };
  return cmocka_run_group_tests_name("budget", tests, NULL, NULL);
}
