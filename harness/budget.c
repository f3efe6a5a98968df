/* Splitting thread time into states; see budget.h. */
#include "harness/budget.h"

#include "harness/clock.h"

#include <math.h>
#include <sys/mman.h>
#include <unistd.h>

#define FAULT_PAGES 64

/*
 * Interruptions hit about one timed call in 10000; an allocator's own slow path far more. A single
 * one among brief ones may be either and is left out.
 */
#define LONG_SHARE 0.001

const enum unit_id budget_units[BUDGET_STATES] = {
    [BUDGET_WORK] = UNIT_WORK_NS,         [BUDGET_HEAP] = UNIT_HEAP_NS,
    [BUDGET_SPIN] = UNIT_SPIN_NS,         [BUDGET_LOCKED] = UNIT_LOCKED_NS,
    [BUDGET_CAS] = UNIT_CAS_NS,           [BUDGET_SCAN] = UNIT_SCAN_NS,
    [BUDGET_RUNQUEUE] = UNIT_RUNQUEUE_NS, [BUDGET_SLEEP] = UNIT_SLEEP_NS,
    [BUDGET_TAIL] = UNIT_TAIL_NS,         [BUDGET_REMAINDER] = UNIT_REMAINDER_NS,
};

/* The sums over the threads, in ns. */
struct thread_time {
  double span, tail, cpu, delay, faults;
  double off; /* off the CPU and not in the run queue, threads that gave it up at least once */
};

static double more(uint64_t start, uint64_t end) {
  return end > start ? (double)(end - start) : 0;
}

/* false: a thread's delay is not known. */
static bool sum_threads(const struct budget_readings *r, struct thread_time *t) {
  *t = (struct thread_time){0};
  for (unsigned i = 0; i < r->threads; i++) {
    const struct thread_reading *one = &r->thread[i];
    double cpu = more(one->start.cpu_ns, one->end.cpu_ns);
    double delay = more(one->delay_start_ns, one->delay_end_ns);
    if (!one->has_delay)
      return false;
    t->span += (double)one->span_ns;
    t->tail += (double)r->elapsed_ns - (double)one->span_ns;
    t->cpu += cpu;
    t->delay += delay;
    t->faults += more(one->start.minor, one->end.minor);
    /* Who never gave up the CPU never slept: what is missing there has no state. */
    if (one->end.voluntary > one->start.voluntary)
      t->off += (double)one->span_ns - cpu - delay;
  }
  t->off = fmax(0, t->off);
  return true;
}

/* The lock waits, in ns. */
struct waits {
  double cpu, asleep, handoff;
};

/* The long ones as they were split, the short ones by the shares of those that were. */
static struct waits split_waits(const struct pool_stats *d, const struct budget_prices *p) {
  double all = (double)d->lock_wait_ns, brief = fmax(0, all - (double)d->long_wait_ns);
  double split = (double)d->short_wait_ns, watched = (double)d->watched_wait_ns;
  struct waits w = {.cpu = (double)d->long_cpu_ns};
  w.asleep = fmax(0, (double)d->long_wait_ns - w.cpu - (double)d->long_delay_ns);
  if (watched > 0)
    w.handoff = fmin(1, (double)d->handoff_ns / watched) * all;
  if (split <= 0)
    return w;
  double cpu = (double)d->short_cpu_ns - (double)d->short_hold_ns -
               (double)d->short_waits * p->clock_read_ns;
  double on_cpu = fmin(1, fmax(0, cpu / split));
  w.cpu += on_cpu * brief;
  w.asleep += fmax(0, 1 - on_cpu - (double)d->short_delay_ns / split) * brief;
  return w;
}

static struct pool_stats subtract(const struct pool_stats *start, const struct pool_stats *end) {
  struct pool_stats d;
#define SUBTRACT(field, unit, what) d.field = end->field - start->field;
  POOL_COUNTERS(SUBTRACT)
#undef SUBTRACT
#define SUBTRACT(field, what) d.field = end->field - start->field;
  POOL_TIMES(SUBTRACT)
#undef SUBTRACT
  return d;
}

/* The mean of those that were timed, less the empty span's, times the calls there were. */
static double heap_ns(const struct heap_counts *start, const struct heap_counts *end) {
  double brief = more(start->timed_calls, end->timed_calls);
  double slow = more(start->long_calls, end->long_calls);
  double empties = more(start->empty_calls, end->empty_calls);
  double empty = empties > 0 ? more(start->empty_ns, end->empty_ns) / empties : 0;
  double ns = fmax(0, more(start->timed_ns, end->timed_ns) - empty * brief);
  bool own = slow >= fmax(brief > 0 ? 2 : 1, LONG_SHARE * (brief + slow));
  double timed = brief + (own ? slow : 0);
  if (own)
    ns += more(start->long_ns, end->long_ns);
  return timed > 0 ? ns / timed * more(start->calls_in_time, end->calls_in_time) : 0;
}

/* Splits the CPU time and the time off it. Shares are estimates and claim no more than there is. */
static void split(const struct budget_readings *r, const struct thread_time *t,
                  const struct pool_stats *d, struct budget *out) {
  double *state = out->state;
  struct waits waits = split_waits(d, r->prices);
  state[BUDGET_TAIL] = t->tail;
  state[BUDGET_RUNQUEUE] = t->delay;
  state[BUDGET_HEAP] = heap_ns(r->heap_start, r->heap_end);
  state[BUDGET_CAS] = (double)d->cas_ns;
  state[BUDGET_SCAN] = (double)d->scan_ns;
  double left = t->cpu - state[BUDGET_HEAP] - state[BUDGET_CAS] - state[BUDGET_SCAN];
  state[BUDGET_SPIN] = fmin(waits.cpu + (double)d->release_ns, fmax(0, left));
  state[BUDGET_WORK] = fmax(0, left - state[BUDGET_SPIN]);
  state[BUDGET_LOCKED] = fmin(waits.asleep, t->off);
  state[BUDGET_SLEEP] = t->off - state[BUDGET_LOCKED];
  out->part[BUDGET_HANDOFF] = waits.handoff;
}

bool budget_make(const struct budget_readings *r, struct budget *out) {
  struct thread_time t;
  *out = (struct budget){0};
  if (!r->prices->timed) {
    out->why = "timing of states was switched off";
    return false;
  }
  if (!sum_threads(r, &t)) {
    out->why = "no /proc/self/task/*/schedstat (CONFIG_SCHED_INFO), or no descriptor left";
    return false;
  }
  struct pool_stats d = subtract(r->pool_start, r->pool_end);
  split(r, &t, &d, out);
  out->part[BUDGET_FAULTS] = t.faults * r->prices->fault_ns;
  out->part[BUDGET_HEAP_ERROR] =
      more(r->heap_start->calls_in_time, r->heap_end->calls_in_time) * r->prices->span_error_ns;
  double claimed = 0;
  for (int i = 0; i < BUDGET_REMAINDER; i++)
    claimed += out->state[i];
  out->state[BUDGET_REMAINDER] = (double)r->elapsed_ns * r->threads - claimed;
  return true;
}

/* Fresh small pages, touched one by one: the fastest quarter, since others may interrupt. */
double budget_fault_price(void) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = FAULT_PAGES * page;
  char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return 0;
  madvise(memory, bytes, MADV_NOHUGEPAGE); /* may be unknown to the kernel: then pages are small */
  uint64_t best = UINT64_MAX;
  for (size_t quarter = 0; quarter < 4; quarter++) {
    uint64_t start = clock_wall_ns();
    for (size_t i = 0; i < FAULT_PAGES / 4; i++)
      *(volatile char *)(memory + (quarter * FAULT_PAGES / 4 + i) * page) = 1;
    uint64_t took = clock_wall_ns() - start;
    best = took < best ? took : best;
  }
  munmap(memory, bytes);
  return (double)best / (FAULT_PAGES / 4);
}
