/* Arithmetic of warm-up and window; see pace.h. */
#include "harness/pace.h"

#include <math.h>

/* 2^30 ops of a nanosecond are a second: enough for any call, and no overflow in the counter. */
#define MOST_A_CALL (UINT64_C(1) << 30)
#define MOST_OPS (UINT64_C(1) << 60)

uint64_t pace_grain(double busy_ns) {
  double n = busy_ns > 0 ? PACE_CALL_NS / busy_ns : 1;
  if (n >= (double)MOST_A_CALL)
    return MOST_A_CALL;
  return n < 1 ? 1 : (uint64_t)n;
}

uint64_t pace_rotation_ns(unsigned threads, unsigned cpus) {
  return threads <= cpus ? 0 : (threads + cpus - 1) / cpus * PACE_SLICE_NS;
}

uint64_t pace_warmup_min_ns(uint64_t window_ns, unsigned threads, unsigned cpus) {
  uint64_t rotation = pace_rotation_ns(threads, cpus), most = window_ns / 10 * 3;
  uint64_t least = window_ns / 8 > rotation ? window_ns / 8 : rotation;
  return least < most ? least : most;
}

uint64_t pace_warmup_max_ns(uint64_t window_ns) {
  return window_ns / 10 * 4;
}

uint64_t pace_window_ns(uint64_t window_ns, double busy_ns) {
  double needed = busy_ns * 0.5 / PACE_TAIL, most = (double)window_ns * PACE_STRETCH;
  if (needed <= (double)window_ns)
    return window_ns;
  return (uint64_t)(needed < most ? needed : most);
}

uint64_t pace_ops(double ns, double wall_ns) {
  double n = wall_ns > 0 ? ns / wall_ns : 1;
  if (n >= (double)MOST_OPS)
    return MOST_OPS;
  return n < 1 ? 1 : (uint64_t)n;
}

double pace_tail(double busy_ns, uint64_t elapsed_ns) {
  return elapsed_ns > 0 ? 0.5 * busy_ns / (double)elapsed_ns : 1;
}

bool pace_steady(const struct pace_misses *before, const struct pace_misses *now) {
  if (before->ops == 0 || now->ops == 0)
    return false;
  double a = (double)before->misses / (double)before->ops;
  double b = (double)now->misses / (double)now->ops;
  double gets = (double)now->gets / (double)now->ops;
  /* The variance of a count is the count itself (Poisson). */
  double noise = sqrt((double)before->misses) / (double)before->ops +
                 sqrt((double)now->misses) / (double)now->ops;
  return fabs(a - b) <= 0.02 * fmax(a, b) + 0.002 * gets + 3 * noise;
}

uint64_t pace_measured_ops(uint64_t window_ns, double wall_ns, unsigned cpus, unsigned threads) {
  uint64_t ops = pace_ops((double)pace_window_ns(window_ns, wall_ns * cpus), wall_ns);
  uint64_t two_each = UINT64_C(2) * threads;
  bool fits = (double)two_each * wall_ns <= (double)window_ns * PACE_STRETCH;
  return ops < two_each && fits ? two_each : ops;
}
