/*
 * Workload selftest: cases with a known answer, or a known misbehaviour, to check the harness by.
 *
 * All are hidden: run only by name. They ask the strategy for nothing.
 */
#include "harness/heap.h"
#include "workloads/workload.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define CALIBRATION_STEPS UINT64_C(400000)

struct workload_state {
  void (*run)(struct workload_thread *t, uint64_t n);
  uint64_t steps; /* of arithmetic in an op of Selftest/spin */
};

/* What a measuring thread publishes, on lines of its own. */
struct local {
  _Atomic uint64_t done;
} __attribute__((aligned(POOL_LINE)));

/* The dearest thing that the cheapest op must do: show that it happened. */
static void run_empty(struct workload_thread *t, uint64_t n) {
  struct local *local = t->local;
  uint64_t done = atomic_load_explicit(&local->done, memory_order_relaxed);
  for (uint64_t i = 0; i < n; i++) {
    atomic_store_explicit(&local->done, ++done, memory_order_relaxed);
    __asm__ volatile("" ::: "memory");
  }
}

static void spin(uint64_t steps) {
  uint64_t x = 1;
  for (uint64_t i = 0; i < steps; i++) {
    x = x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    __asm__ volatile("" : "+r"(x));
  }
}

static void run_spin(struct workload_thread *t, uint64_t n) {
  for (uint64_t i = 0; i < n; i++)
    spin(t->state->steps);
}

static void run_heap(struct workload_thread *t, uint64_t n) {
  for (uint64_t i = 0; i < n && !t->failed; i++) {
    void *a = heap_alloc(100), *b = heap_calloc(28);
    if (!a || !b) {
      t->failed = true;
      snprintf(t->why, sizeof t->why, "heap_alloc(100), heap_calloc(28): out of memory");
    }
    heap_free(a, 100);
    heap_free(b, 28);
  }
}

static void run_sleep(struct workload_thread *t, uint64_t n) {
  (void)t;
  struct timespec ms = {0, 1000000};
  for (uint64_t i = 0; i < n; i++)
    nanosleep(&ms, NULL);
}

static void run_fail(struct workload_thread *t, uint64_t n) {
  (void)n;
  t->failed = true;
  snprintf(t->why, sizeof t->why, "this op always fails");
}

static void run_crash(struct workload_thread *t, uint64_t n) {
  (void)t;
  (void)n;
  raise(SIGSEGV);
}

/* Never comes back: the worker itself must notice. */
static void run_hang(struct workload_thread *t, uint64_t n) {
  (void)t;
  (void)n;
  for (;;)
    pause();
}

/* Takes the worker with it: only the runner can notice. */
static void run_stop(struct workload_thread *t, uint64_t n) {
  (void)t;
  (void)n;
  raise(SIGSTOP);
}

/* Leaves without a sample, as a library that calls exit would. */
static void run_exit(struct workload_thread *t, uint64_t n) {
  (void)t;
  (void)n;
  _exit(0);
}

#define HIDDEN (CASE_HIDDEN | CASE_ONE_STRATEGY | CASE_NULL_RUNS)
#define CASE(name, what, extra, ns)                                                             \
  {                                                                                             \
    "Selftest/" name, what, HIDDEN | (extra), DISCIPLINE_BIT(DISCIPLINE_BALANCED), 0, 0, false, \
        ns, 0, 0                                                                                \
  }

static const struct workload_case cases[] = {
    CASE("empty", "publish a count", 0, 1),
    CASE("spin/100us", "0.1 ms of arithmetic", 0, 1e5),
    CASE("spin/1500us", "1.5 ms of arithmetic", 0, 1.5e6),
    CASE("spin/6ms", "6 ms of arithmetic", 0, 6e6),
    CASE("heap", "allocate and free 100 and 28 bytes", 0, 50),
    CASE("sleep", "sleep 1 ms", CASE_BLOCKS, 1e6),
    CASE("fail", "fail with a reason", 0, 1),
    CASE("crash", "die of a signal", 0, 1),
    CASE("hang", "never end", 0, 1),
    CASE("stop", "stop the process", 0, 1),
    CASE("exit", "leave without a sample", 0, 1),
    {NULL, NULL, 0, 0, 0, 0, false, 0, 0, 0},
};

static const struct {
  const char *name;
  void (*run)(struct workload_thread *t, uint64_t n);
} runs[] = {
    {"empty", run_empty}, {"spin/", run_spin}, {"heap", run_heap},
    {"sleep", run_sleep}, {"fail", run_fail},  {"crash", run_crash},
    {"hang", run_hang},   {"stop", run_stop},  {"exit", run_exit},
};

static uint64_t cpu_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Steps that take `ns` of CPU time here and now: by the fastest of a few timed stretches. */
static uint64_t calibrate(double ns) {
  uint64_t best = UINT64_MAX;
  for (int i = 0; i < 5; i++) {
    uint64_t start = cpu_ns();
    spin(CALIBRATION_STEPS);
    uint64_t took = cpu_ns() - start;
    best = took < best ? took : best;
  }
  double steps = ns * (double)CALIBRATION_STEPS / (double)(best > 0 ? best : 1);
  return steps < 1 ? 1 : (uint64_t)steps;
}

static bool open(const struct workload_setup *setup, struct workload_state **state) {
  const char *name = setup->case_name + strlen("Selftest/");
  struct workload_state *s = heap_calloc(sizeof *s);
  if (!s) {
    snprintf(setup->why, setup->why_size, "out of memory");
    return false;
  }
  for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++)
    if (strncmp(name, runs[i].name, strlen(runs[i].name)) == 0)
      s->run = runs[i].run;
  for (const struct workload_case *c = cases; c->name; c++)
    if (s->run == run_spin && strcmp(c->name, setup->case_name) == 0)
      s->steps = calibrate(c->op_hint_ns);
  *state = s;
  return true;
}

static void close_state(struct workload_state *state) {
  heap_free(state, sizeof *state);
}

static const struct kind *kinds(struct workload_state *state, size_t *count) {
  static const struct kind unused = {.name = "unused", .size = 16};
  (void)state;
  *count = 1;
  return &unused;
}

static bool thread_open(struct workload_thread *t) {
  struct local *local = heap_alloc_aligned(sizeof *local, POOL_LINE);
  if (!local) {
    snprintf(t->why, sizeof t->why, "out of memory");
    return false;
  }
  atomic_init(&local->done, 0);
  t->local = local;
  return true;
}

static void thread_close(struct workload_thread *t) {
  heap_free(t->local, sizeof(struct local));
}

static void run(struct workload_thread *t, uint64_t n) {
  t->state->run(t, n);
}

const struct workload workload_selftest = {
    .name = "selftest",
    .summary = "known answers and known misbehaviour, for checks of the harness",
    .cases = cases,
    .open = open,
    .close = close_state,
    .kinds = kinds,
    .thread_open = thread_open,
    .thread_close = thread_close,
    .run = run,
};
