/* Calibration of short spans; see span.h. */
#include "harness/span.h"

#include <stdatomic.h>
#include <stdlib.h>

#define SPANS 201
#define SERIES 5
#define RATE_NS (NS_PER_MS / 2)
#define CALLS 20000

static int compare(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

/* The pair of readings is taken again when something came between them. */
static void read_both(uint64_t *wall_ns, uint64_t *ticks) {
  uint64_t least = UINT64_MAX;
  for (int i = 0; i < 10; i++) {
    uint64_t before = span_begin(), wall = clock_wall_ns(), after = span_end();
    if (after - before < least) {
      least = after - before;
      *wall_ns = wall;
      *ticks = before + (after - before) / 2;
    }
  }
}

static void measure_rate(struct span_clock *clock) {
  uint64_t wall_start, wall_end, start, end;
  read_both(&wall_start, &start);
  while (clock_wall_ns() - wall_start < RATE_NS)
    ;
  read_both(&wall_end, &end);
  double ns_per_tick = (double)(wall_end - wall_start) / (double)(end - start);
  clock->ns_per_tick = (uint64_t)(ns_per_tick * 4294967296.0);
  clock->limit = (uint64_t)(SPAN_LIMIT_NS / ns_per_tick);
}

/* About as long as a small allocation, and like one a chain of dependent steps. */
__attribute__((noinline)) static uint64_t known_work(uint64_t x) {
  for (int i = 0; i < 8; i++) {
    x = x * UINT64_C(6364136223846793005) + 1;
    __asm__ volatile("" : "+r"(x));
  }
  return x;
}

static uint64_t median_span(bool full) {
  uint64_t spans[SPANS], x = 1;
  for (int i = 0; i < SPANS; i++) {
    uint64_t begin = span_begin();
    if (full)
      x = known_work(x);
    spans[i] = span_end() - begin;
    __asm__ volatile("" : "+r"(x));
  }
  qsort(spans, SPANS, sizeof *spans, compare);
  return spans[SPANS / 2];
}

/* The truth, from the time of many calls in a row: the best of a few, as others may be running. */
static double known_work_ns(void) {
  uint64_t best = UINT64_MAX, x = 1;
  for (int round = 0; round < 5; round++) {
    uint64_t start = clock_wall_ns();
    for (int i = 0; i < CALLS / 5; i++)
      x = known_work(x);
    uint64_t took = clock_wall_ns() - start;
    __asm__ volatile("" : "+r"(x));
    best = took < best ? took : best;
  }
  return (double)best / (CALLS / 5);
}

/* A neighbour on the same core slows a whole series of spans, so the least of several counts. */
static uint64_t typical_span(bool full) {
  uint64_t least = UINT64_MAX;
  for (int i = 0; i < SERIES; i++) {
    uint64_t median = median_span(full);
    least = median < least ? median : least;
  }
  return least;
}

void span_calibrate(struct span_clock *clock) {
  *clock = (struct span_clock){0};
  measure_rate(clock);
  median_span(true); /* warms the code up */
  clock->empty = typical_span(false);
  uint64_t full = typical_span(true);
  double span = (double)(full - clock->empty) * (double)clock->ns_per_tick / 4294967296.0;
  double error = span - known_work_ns();
  clock->error_ns = error < 0 ? -error : error;
}

void span_gap_start(struct span_gap *g, uint32_t mean) {
  static _Atomic uint64_t starts;
  uint64_t start = atomic_fetch_add_explicit(&starts, 1, memory_order_relaxed);
  uint64_t x = ((uint64_t)(uintptr_t)g + start) * UINT64_C(0x9e3779b97f4a7c15);
  *g = (struct span_gap){.random = (uint32_t)(x >> 32) | 1, .mean = mean};
  span_gap_draw(g);
}
