/* Forecasts from one and two threads; see forecast.h. */
#include "harness/forecast.h"

#include <math.h>

bool forecast_parts(const struct pair_times *t, struct pair_parts *out) {
  *out = (struct pair_parts){.has_lock = t->acquisitions > 0 && t->hold_two > 0,
                             .rest = t->two - t->one,
                             .acquisitions = t->acquisitions,
                             .spins = t->spins};
  if (!out->has_lock)
    return true;
  double outside = fmax(0, t->one - t->hold_one);
  out->lock.service = t->hold_two / t->acquisitions;
  out->lock.think = outside / t->acquisitions;
  out->wait = t->wait_two;
  out->rest = t->two - outside - t->hold_two - t->wait_two;
  double wait = t->wait_two / t->acquisitions;
  return lockmodel_handoff(&out->lock, LOCK_IN_ORDER, wait, &out->in_order) &&
         lockmodel_handoff(&out->lock, LOCK_BARGING, wait, &out->barging);
}

/* What the rest costs each of n threads: at least as serial work, at most pair by pair. */
static double rest_serial(double rest, unsigned n) {
  return fmax(0, rest) * (n - 1);
}
static double rest_coherent(double rest, unsigned n) {
  return fmax(0, rest) * n * (n - 1.0) / 2;
}

/* ops/ns when everything but the lock takes `rest` ns/op longer. */
static bool lock_rate(const struct pair_parts *p, enum lock_rule rule, double rest, unsigned n,
                      double *rate) {
  struct lock_times times = p->lock;
  struct lock_load load;
  times.handoff = rule == LOCK_IN_ORDER ? p->in_order : p->barging;
  times.think += rest / p->acquisitions;
  if (!lockmodel_solve(&times, rule, n, &load))
    return false;
  *rate = load.rate / p->acquisitions;
  return true;
}

bool forecast_pair(const struct pair_times *t, const struct pair_parts *p, unsigned threads,
                   struct forecast *out) {
  double serial = rest_serial(p->rest, threads), coherent = rest_coherent(p->rest, threads);
  if (!p->has_lock) {
    *out = (struct forecast){threads / (t->one + coherent), threads / (t->one + serial)};
    return true;
  }
  double parked, barging;
  if (!lock_rate(p, LOCK_IN_ORDER, serial, threads, &parked) ||
      !lock_rate(p, LOCK_IN_ORDER, coherent, threads, &out->low))
    return false;
  barging = parked;
  if (!p->spins && !lock_rate(p, LOCK_BARGING, serial, threads, &barging))
    return false;
  /* A longer way around the lock may break up a convoy, so the slow rest need not be the low end.
   */
  out->high = fmax(fmax(parked, barging), out->low);
  out->low = fmin(fmin(parked, barging), out->low);
  return true;
}
