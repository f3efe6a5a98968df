/*
 * How many ops at a time: the arithmetic between a warm-up's readings and the measured part.
 *
 * Pure functions of numbers. Times are ns; "wall" is the team's time per op (elapsed / ops),
 * "busy" the time of one op on one CPU (wall x CPUs in use).
 */
#ifndef POOLBENCH_PACE_H
#define POOLBENCH_PACE_H

#include <stdbool.h>
#include <stdint.h>

/* How long each thread keeps those that share its CPU waiting: the kernel's default slice. */
#define PACE_SLICE_NS UINT64_C(3750000)

/* Calls of about this long: handing out costs a shared counter's cache miss each. */
#define PACE_CALL_NS 20000.0

/* The tail of a part is about half an op on every CPU; it may be this share of the whole. */
#define PACE_TAIL 0.005

/* Ops longer than the window allows stretch the measured part at most so many times. */
#define PACE_STRETCH 4

/* Ops a call: about 20 us of them, at least 1. */
uint64_t pace_grain(double busy_ns);

/* Time until every thread has run once: 0 when each has a CPU to itself. */
uint64_t pace_rotation_ns(unsigned threads, unsigned cpus);

/*
 * The least time to warm up: an eighth of the window or one rotation, whichever is longer, but
 * not more than 0.3 of the window. The most, if none is given: 0.4 of the window.
 */
uint64_t pace_warmup_min_ns(uint64_t window_ns, unsigned threads, unsigned cpus);
uint64_t pace_warmup_max_ns(uint64_t window_ns);

/* The length of the measured part: the window, stretched for long ops as far as it may be. */
uint64_t pace_window_ns(uint64_t window_ns, double busy_ns);

/* Ops of the measured part: the window's, but two a thread if that is no longer than a stretch. */
uint64_t pace_measured_ops(uint64_t window_ns, double wall_ns, unsigned cpus, unsigned threads);

/* Ops that take about `ns`; at least one. */
uint64_t pace_ops(double ns, double wall_ns);

/* The share of a measured part that its tail may be. */
double pace_tail(double busy_ns, uint64_t elapsed_ns);

/* Gets and misses of one stretch of a warm-up. */
struct pace_misses {
  uint64_t ops, gets, misses;
};

/*
 * Do two successive stretches agree in misses/op? Within 2 %, or 0.2 % of the gets, or three
 * standard deviations of a count: few misses say little about their rate.
 */
bool pace_steady(const struct pace_misses *before, const struct pace_misses *now);

#endif
