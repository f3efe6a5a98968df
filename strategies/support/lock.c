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

/* The lock is the caller's: a wait has ended that is to be split. */
static void plan_split(struct lock_hold *hold, struct pool_counters *counters, uint64_t wait_ns,
                       uint64_t unseen_ns) {
  hold->counters = counters;
  hold->is_wait = true;
  hold->wait_ns = wait_ns;
  hold->unseen_ns = unseen_ns;
  hold->begin = span_begin();
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
  uint64_t end = span_end();
  if (lock->type >= LOCK_TICKET)
    ANNOTATE_ACQUIRE(lock); /* `released` is read before lock_acquire says so */
  atomic_fetch_sub_explicit(&lock->watchers, 1, memory_order_relaxed);
  /* A release before the wait began left the lock free: all of this is the way in. */
  uint64_t released = lock->released > begin ? lock->released : begin;
  uint64_t wait_ns = span_to_ns(clock, end - begin);
  pool_count(&counters->lock_wait_ns, wait_ns);
  pool_count(&counters->watched_wait_ns, wait_ns);
  pool_count(&counters->handoff_ns, span_to_ns(clock, end - released));
  plan_split(hold, counters, wait_ns, 0);
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

static uint64_t above(uint64_t value, uint64_t less) {
  return value > less ? value - less : 0;
}

/*
 * Between `before` and a long wait the thread was on its CPU, but for a preemption in those 0.4 ms.
 * Waking the next one often costs the CPU, right after the release or in it: that delay is not the
 * wait's, so when everything since the wait took long, all of that is taken off.
 */
static void count_wait(const struct lock_hold *hold, uint64_t released, struct pool_counters *c) {
  const struct span_clock *clock = c->timing.clock;
  struct pool_clocks after;
  timing_read_after(&c->timing, &after);
  uint64_t since = span_end() - hold->begin;
  uint64_t hold_ns = span_to_ns(clock, at_most(released - hold->begin, clock->limit));
  uint64_t cpu_ns = above(after.cpu_ns - hold->before.cpu_ns, hold->unseen_ns);
  uint64_t delay_ns = above(after.delay_ns - hold->before.delay_ns,
                            since > clock->limit ? span_to_ns(clock, since) : 0);
  delay_ns = at_most(delay_ns, hold->wait_ns);
  if (hold->wait_ns > SPAN_LIMIT_NS) {
    cpu_ns = at_most(above(cpu_ns, hold_ns), hold->wait_ns - delay_ns);
    pool_count(&c->long_wait_ns, hold->wait_ns);
    pool_count(&c->long_cpu_ns, cpu_ns);
    pool_count(&c->long_delay_ns, delay_ns);
  } else {
    pool_count(&c->short_waits, 1);
    pool_count(&c->short_wait_ns, hold->wait_ns);
    pool_count(&c->short_cpu_ns, cpu_ns);
    pool_count(&c->short_hold_ns, hold_ns);
    pool_count(&c->short_delay_ns, delay_ns);
  }
  c->timing.last = after;
  /* The low bits keep it out of step with whatever the caller does periodically. */
  c->timing.split_wait_at = after.at_ns + TIMING_WAIT_EVERY_NS + (after.cpu_ns & 0xffff);
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
  const struct pool_timing *timing = &counters->timing;
  uint64_t start = clock_wall_ns();
  if (timing->clock && start >= timing->split_wait_at) {
    wait_and_split(lock, hold, counters);
    return;
  }
  wait_for(lock, hold);
  uint64_t wait_ns = clock_wall_ns() - start;
  pool_count(&counters->lock_wait_ns, wait_ns);
  if (timing->clock && wait_ns > SPAN_LIMIT_NS) {
    hold->before = timing->last;
    plan_split(hold, counters, wait_ns, above(start, timing->last.at_ns));
  }
}
