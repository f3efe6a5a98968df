/*
 * Throughput on more CPUs than were measured, from one and two threads on cores of their own.
 *
 * Two points cannot tell contention from coherence: thread time per op grew by some amount from one
 * thread to two, and with N threads that amount is (N - 1) times as large if it is serial work and
 * N (N - 1) / 2 times if every pair of threads pays it (the two terms of the scalability law,
 * usl.h). What a lock's own counters explain is taken out first and extrapolated by the lock model
 * (lockmodel.h), under either rule of hand-off; the rest goes both ways. So a forecast is an
 * interval even without noise. Only arithmetic.
 */
#ifndef POOLBENCH_FORECAST_H
#define POOLBENCH_FORECAST_H

#include "harness/lockmodel.h"

/* Thread time per op, in ns: a thread's own, so N / X. */
struct pair_times {
  double one, two; /* threads */
  /* The lock's part; acquisitions 0: no lock, or its counters are not there. */
  double acquisitions;       /* per op */
  double hold_one, hold_two; /* ns/op */
  double wait_two;           /* ns/op */
  bool spins;                /* in order of arrival: ticket, MCS */
};

/*
 * The two-thread point taken apart: two = think + hold + wait + rest. Times of the lock are per
 * acquisition. S is that of two threads, whose lock and list move between caches; Z that of one.
 */
struct pair_parts {
  bool has_lock;
  struct lock_times lock;   /* W left 0 */
  double in_order, barging; /* W under either rule */
  double wait, rest;        /* ns/op; rest below 0: two threads ran faster than one each */
  double acquisitions;
  bool spins;
};

/* false without memory. */
bool forecast_parts(const struct pair_times *t, struct pair_parts *out);

struct forecast {
  double low, high; /* ops/ns, all threads together */
};

/* `threads` threads on as many cores. false without memory. */
bool forecast_pair(const struct pair_times *t, const struct pair_parts *p, unsigned threads,
                   struct forecast *out);

#endif
