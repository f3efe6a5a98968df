/*
 * What runs on the measuring threads: opening, ops and their timing, readings at the edges of the
 * measured part. A seat is its thread's alone while a phase runs; team.h says what orders the
 * harness's thread after it.
 */
#include "harness/worker_parts.h"

#include "harness/heap.h"

#include <string.h>

static bool seat_open(void *context, unsigned index) {
  struct worker *w = context;
  struct seat *seat = &w->seats[index];
  const struct strategy *s = w->target.strategy;
  heap_thread_begin();
  heap_time_calls(worker_clock(w));
  memset(&seat->latency, 0,
         sizeof seat->latency); /* its pages: this thread's node, no faults later */
  if (!counter_thread_attach(&seat->counters, &w->counters)) {
    snprintf(seat->work.why, sizeof seat->work.why, "out of memory for its counters");
    return false;
  }
  seat->work.pool_thread = s->attach(seat->work.pool);
  if (!seat->work.pool_thread) {
    snprintf(seat->work.why, sizeof seat->work.why, "strategy %s: attach: out of memory", s->name);
    return false;
  }
  seat->open = !w->target.workload->thread_open || w->target.workload->thread_open(&seat->work);
  return seat->open;
}

/*
 * The last of n ops is timed alone: every op where a call holds one, one in 20 us of shorter ones.
 * Two readings of the counter and one more call to `run` are 0.3 % of that. A clock that ran
 * backwards between CPUs (threads that are not bound) has timed nothing.
 */
static void run_and_time(struct worker *w, struct seat *seat, uint64_t n) {
  struct workload_thread *t = &seat->work;
  const struct workload *workload = w->target.workload;
  if (n > 1)
    workload->run(t, n - 1);
  if (t->failed)
    return;
  uint64_t begin = span_begin();
  workload->run(t, 1);
  uint64_t ticks = span_end() - begin, ns;
  span_ns(&w->clock, 0, ticks, &ns); /* interrupted or not: that is what the op took */
  if (ticks >> 63 == 0)
    histogram_record(&seat->latency, ns);
}

static bool seat_run(void *context, unsigned index, uint64_t n) {
  struct worker *w = context;
  struct seat *seat = &w->seats[index];
  if (w->of.flags & CASE_SERIES)
    w->target.workload->series(&seat->work, series_mark_add, &w->series);
  else if (w->cell.no_latency)
    w->target.workload->run(&seat->work, n);
  else
    run_and_time(w, seat, n);
  return !seat->work.failed;
}

/* Innermost the CPU clock, so that reading the rest is not in it; outermost the counters. */
static void seat_edge(void *context, unsigned index, enum team_edge edge) {
  struct worker *w = context;
  struct seat *seat = &w->seats[index];
  struct thread_reading *r = &seat->reading;
  if (edge == TEAM_START) {
    counter_thread_start(&seat->counters);
    os_usage_thread(&r->start);
    return;
  }
  os_usage_thread(&r->end);
  /* It may have lost its CPU after its last op: that is no part of what was measured. */
  const struct team_member *member = team_member(w->team, index);
  r->has_delay =
      r->has_delay && os_run_delay_at(member->tid, member->end_ns, r->end.cpu_ns, &r->delay_end_ns);
  counter_thread_stop(&seat->counters);
}

static void seat_idle(void *context, unsigned index) {
  struct worker *w = context;
  struct workload_thread *t = &w->seats[index].work;
  if (w->target.workload->idle) /* first: another thread may be waiting to hear of it */
    w->target.workload->idle(t);
  w->target.strategy->quiesce(t->pool, t->pool_thread);
}

static void seat_close(void *context, unsigned index) {
  struct worker *w = context;
  struct seat *seat = &w->seats[index];
  if (seat->open && w->target.workload->thread_close)
    w->target.workload->thread_close(&seat->work);
  if (seat->work.pool_thread)
    w->target.strategy->detach(seat->work.pool, seat->work.pool_thread);
  counter_thread_detach(&seat->counters);
  heap_thread_end();
}

const struct team_hooks worker_hooks = {seat_open, seat_run, seat_edge, seat_idle, seat_close};
