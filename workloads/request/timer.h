/*
 * Timers that a strategy recycles, and the service that runs them.
 *
 * A timer is three heap blocks: itself (80 B), its channel (96 B) and the channel's one slot
 * (24 B). It is armed with a delay; when that has passed, the service delivers a tick into the
 * channel. A stopped timer may be armed again, which is what makes it worth recycling.
 *
 * The hazard. Delivery happens outside the service's lock, so "the timer is no longer armed" does
 * not mean "its tick is in the channel". Who stops a fired timer, finds the channel empty and
 * recycles it, hands the next user a tick that has nothing to do with his request: it times out
 * at once. timer_retire closes the gap: it waits for a delivery under way and drains it.
 */
#ifndef POOLBENCH_REQUEST_TIMER_H
#define POOLBENCH_REQUEST_TIMER_H

#include "workloads/request/channel.h"

#include "strategies/strategy.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

enum timer_state {
  TIMER_IDLE,
  TIMER_ARMED,  /* in the service's heap */
  TIMER_FIRING, /* taken out of it, the tick not yet in the channel */
};

/* What a fired timer leaves in its channel. */
struct timer_tick {
  int64_t when_ns;      /* when it was due */
  int64_t delivered_ns; /* when it was delivered */
  uint64_t arming;      /* of which arming it is the end */
};

struct timer;
/* Delivers the tick of a timer that expired. Runs on the service's thread, without its lock. */
typedef void timer_fire(struct timer *t, const struct timer_tick *tick);

struct timer {
  struct channel *channel; /* of struct timer_tick */
  timer_fire *fire;
  int64_t when_ns; /* CLOCK_MONOTONIC */
  size_t position; /* in the service's heap */
  uint64_t arming; /* how often it has been armed */
  enum timer_state state;
};

/* The Go program's three blocks; sizeof(struct timer) fits in the first. */
#define TIMER_BYTES 80
#define TIMER_ALLOCATIONS 3

/* The kind that the strategy recycles. put expects a retired timer. */
extern const struct kind timer_kind;

/* One thread that runs the timers armed with it. */
struct timer_service {
  pthread_mutex_t lock;
  pthread_cond_t wake;      /* an earlier deadline than sleep_until_ns, or the end */
  pthread_cond_t delivered; /* a timer left TIMER_FIRING */
  struct timer **heap;      /* binary, earliest first */
  size_t count, capacity;
  int64_t sleep_until_ns;
  bool stopping;
  pthread_t thread;
};

/* false: `why` says what the system refused. */
bool timer_service_open(struct timer_service *s, char *why, size_t why_size);
/* No timer is armed any more. */
void timer_service_close(struct timer_service *s);

/* Arms an idle timer to fire in delay_ns. false: out of memory. */
bool timer_arm(struct timer_service *s, struct timer *t, int64_t delay_ns);

/*
 * Disarms. true: the tick will never come. false: the timer was not armed; if it fired, its tick
 * is in the channel or still on its way.
 */
bool timer_stop(struct timer_service *s, struct timer *t);

/* Makes a timer fit for recycling: stopped, no delivery under way, its channel empty. */
void timer_retire(struct timer_service *s, struct timer *t);

/* CLOCK_MONOTONIC in ns. */
int64_t timer_now_ns(void);

#endif
