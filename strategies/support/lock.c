/* Set-up and the waiting path of the counted lock; see lock.h. */
#include "strategies/support/lock.h"

const char *const lock_names[] = {
    [LOCK_PTHREAD] = "pthread", [LOCK_ADAPTIVE] = "adaptive", [LOCK_TICKET] = "ticket",
    [LOCK_MCS] = "mcs",         [LOCK_MCS + 1] = NULL,
};

static int init_mutex(pthread_mutex_t *mutex, int kind) {
  pthread_mutexattr_t attributes;
  int error = pthread_mutexattr_init(&attributes);
  if (error)
    return error;
  error = pthread_mutexattr_settype(&attributes, kind);
  if (!error)
    error = pthread_mutex_init(mutex, &attributes);
  pthread_mutexattr_destroy(&attributes);
  return error;
}

int lock_init(struct lock *lock, enum lock_type type) {
  lock->type = type;
  switch (type) {
  case LOCK_PTHREAD:
    return init_mutex(&lock->mutex, PTHREAD_MUTEX_NORMAL);
  case LOCK_ADAPTIVE:
    return init_mutex(&lock->mutex, PTHREAD_MUTEX_ADAPTIVE_NP);
  case LOCK_TICKET:
    ck_spinlock_ticket_init(&lock->ticket);
    return 0;
  case LOCK_MCS:
    ck_spinlock_mcs_init(&lock->mcs);
    return 0;
  }
  __builtin_unreachable();
}

void lock_destroy(struct lock *lock) {
  if (lock->type <= LOCK_ADAPTIVE)
    pthread_mutex_destroy(&lock->mutex);
}

static void wait_for(struct lock *lock, struct lock_hold *hold) {
  switch (lock->type) {
  case LOCK_PTHREAD:
  case LOCK_ADAPTIVE:
    pthread_mutex_lock(&lock->mutex);
    return;
  case LOCK_TICKET:
    ck_spinlock_ticket_lock(&lock->ticket);
    return;
  case LOCK_MCS:
    ck_spinlock_mcs_lock(&lock->mcs, &hold->node);
    return;
  }
}

/*
 * The clocks before the wait cost their 2 us while the lock is somebody else's anyway; those after
 * it are read when the lock is free again.
 */
static void wait_and_split(struct lock *lock, struct lock_hold *hold,
                           struct pool_counters *counters) {
  const struct span_clock *clock = counters->timing.clock;
  timing_read_before(&counters->timing, &hold->before);
  uint64_t begin = span_begin();
  atomic_fetch_add_explicit(&lock->watchers, 1, memory_order_relaxed);
  wait_for(lock, hold);
  hold->begin = span_end();
  atomic_fetch_sub_explicit(&lock->watchers, 1, memory_order_relaxed);
  /* A release before the wait began left the lock free: all of this is the way in. */
  uint64_t released = lock->released > begin ? lock->released : begin;
  hold->counters = counters;
  hold->is_wait = true;
  hold->wait_ns = span_to_ns(clock, hold->begin - begin);
  hold->handoff_ns = span_to_ns(clock, hold->begin - released);
  pool_count(&counters->lock_wait_ns, hold->wait_ns);
}

/* A hold may be due inside a wait that is split: the wait goes first, the hold is timed later. */
void lock_time_hold(struct lock_hold *hold, struct pool_counters *counters) {
  if (hold->counters) {
    counters->timing.hold.left = 1;
    counters->timing.hold.weight++;
    return;
  }
  hold->counters = counters;
  hold->is_wait = false;
  hold->begin = span_begin();
}

static uint64_t at_most(uint64_t value, uint64_t most) {
  return value < most ? value : most;
}

/*
 * Waking the next one often costs the CPU, right after the release or in it. That delay is not the
 * wait's: when everything since the wait took long, all of that is taken off.
 */
static void count_wait(const struct lock_hold *hold, uint64_t released, struct pool_counters *c) {
  const struct span_clock *clock = c->timing.clock;
  struct timing_clocks after;
  timing_read_after(&c->timing, &after);
  uint64_t since = span_end() - hold->begin, later = 0;
  if (since > clock->limit)
    later = span_to_ns(clock, since);
  pool_count(&c->timed_waits, 1);
  pool_count(&c->timed_wait_ns, hold->wait_ns);
  pool_count(&c->timed_wait_hold_ns,
             span_to_ns(clock, at_most(released - hold->begin, clock->limit)));
  pool_count(&c->timed_handoff_ns, hold->handoff_ns);
  pool_count(&c->timed_wait_cpu_ns, after.cpu_ns - hold->before.cpu_ns);
  if (after.delay_ns > hold->before.delay_ns + later)
    pool_count(&c->timed_wait_delay_ns,
               at_most(after.delay_ns - hold->before.delay_ns - later, hold->wait_ns));
  /* The low bits keep it out of step with whatever the caller does periodically. */
  c->timing.split_wait_at = clock_wall_ns() + TIMING_WAIT_EVERY_NS + (after.cpu_ns & 0xffff);
}

void lock_count_times(struct lock_hold *hold) {
  struct pool_counters *counters = hold->counters;
  struct pool_timing *timing = &counters->timing;
  uint64_t ns, released = span_end();
  if (hold->is_wait) {
    count_wait(hold, released, counters);
    return;
  }
  if (span_ns(timing->clock, hold->begin, hold->end, &ns))
    pool_count(&counters->lock_hold_ns, ns * timing->hold.weight);
  if (span_ns(timing->clock, hold->end, released, &ns))
    pool_count(&counters->release_ns, ns * timing->hold.weight);
  span_gap_draw(&timing->hold);
}

void lock_inject(const struct lock *lock, const struct pool_counters *counters) {
  if (counters->timing.clock)
    span_delay(counters->timing.clock, lock->inject_ns);
}

void lock_wait(struct lock *lock, struct lock_hold *hold, struct pool_counters *counters) {
  if (!counters) {
    wait_for(lock, hold);
    return;
  }
  pool_count(&counters->lock_contended, 1); /* before the wait, so that a sampler sees it */
  uint64_t start = clock_wall_ns();
  if (counters->timing.clock && start >= counters->timing.split_wait_at) {
    wait_and_split(lock, hold, counters);
    return;
  }
  wait_for(lock, hold);
  pool_count(&counters->lock_wait_ns, clock_wall_ns() - start);
}
