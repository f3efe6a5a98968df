/*
 * From a cell to a sample: open, warm up, measure between two snapshots, read what stays.
 *
 * Owns the order of these steps and who reads what when. Arithmetic is elsewhere: pace.h decides
 * how many ops, units.h turns readings into units.
 */
#include "harness/worker.h"

#include "harness/clock.h"
#include "harness/footprint.h"
#include "harness/lines.h"
#include "harness/pace.h"
#include "harness/pages.h"
#include "harness/pools.h"
#include "harness/sample.h"
#include "harness/series.h"
#include "harness/span.h"
#include "harness/speed.h"
#include "harness/team.h"
#include "harness/units.h"
#include "strategies/support/timing.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* How long joining may take when a check asks for it and ops have been cut off. */
#define JOIN_GRACE_NS (10 * NS_PER_S)

/* How often the measured part is done at most until it is long enough. */
#define MOST_ATTEMPTS 3

/*
 * The pass that looks for shared lines: so long on the wall, and a turn of the scheduler; given
 * up after the limit. The price of recording a get and a put is a guess, on the high side.
 */
#define LINES_PASS_NS (10 * NS_PER_MS)
#define LINES_LIMIT_NS NS_PER_S
#define LINES_RECORD_NS 300.0

/* One measuring thread, on lines of its own: its counters are written while others run. */
struct seat {
  struct workload_thread work;
  struct thread_reading reading;
  struct counter_thread counters;
  struct histogram latency;
  bool open;
} __attribute__((aligned(POOL_LINE)));

/*
 * Lives in pages of its own and by values, not on a stack: a thread whose op was cut off by the
 * time limit may still come back to it while the sample is being written.
 */
struct worker {
  struct cell cell;
  struct worker_target target;
  struct workload_case of;
  struct sample *sample; /* the harness's thread only */
  uint64_t deadline_ns;  /* CLOCK_MONOTONIC; 0: none */
  uint64_t next_trim_ns, next_trim_bytes, trims;
  struct heap_counts heap_before; /* before anything was opened, for the leak check */
  struct span_clock clock;        /* for timing single ops and states */
  struct workload_state *state;
  const struct strategy *watched; /* the target's as the workload sees it, see lines.h */
  struct pools pools;
  struct counters counters;
  struct seat *seats;
  struct team *team;
  unsigned cpus;  /* that the threads can use at once */
  double wall_ns; /* per op, by the warm-up */
  uint64_t warmup_ns;
  bool has_speed, has_steal;
  uint64_t speed_ns, ops_per_call, throttled_before, steal_before, steal_ns;
  struct allocator allocator;
  struct measurement m;
  struct histogram latency; /* of all threads */
  struct series series;
};

static void out_of_memory(struct worker *w) {
  sample_set_error(w->sample, "out of memory");
}

static void note_number(struct worker *w, const char *key, uint64_t value) {
  char text[32];
  snprintf(text, sizeof text, "%" PRIu64, value);
  if (!sample_add_note(w->sample, key, text))
    out_of_memory(w);
}

/* What states are timed with; NULL: they are not. */
static const struct span_clock *clock_of(const struct worker *w) {
  return w->cell.no_states ? NULL : &w->clock;
}

/* ---- hooks: on the measuring threads ---- */

static bool seat_open(void *context, unsigned index) {
  struct worker *w = context;
  struct seat *seat = &w->seats[index];
  const struct strategy *s = w->target.strategy;
  heap_thread_begin();
  heap_time_calls(clock_of(w));
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
  r->has_delay =
      r->has_delay && os_run_delay_ns(team_member(w->team, index)->tid, &r->delay_end_ns);
  counter_thread_stop(&seat->counters);
}

static void seat_idle(void *context, unsigned index) {
  struct worker *w = context;
  w->target.strategy->quiesce(w->seats[index].work.pool, w->seats[index].work.pool_thread);
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

/* ---- opening and closing ---- */

/* What the threads run on: distinct CPUs if bound, else as many as allowed. */
static unsigned count_cpus(const struct cell *cell) {
  unsigned count = 0;
  if (!cell->cpu_map) {
    unsigned allowed = os_allowed_cpus();
    return allowed < cell->threads ? allowed : cell->threads;
  }
  for (unsigned i = 0; i < cell->threads; i++) {
    unsigned j = 0;
    while (cell->cpu_map[j] != cell->cpu_map[i])
      j++;
    count += j == i;
  }
  return count;
}

static bool open_workload(struct worker *w) {
  const struct cell *cell = &w->cell;
  const struct workload *workload = w->target.workload;
  char why[500] = "no reason given";
  struct workload_setup setup = {
      .case_name = w->of.name,
      .object_file = cell->object_file,
      .discipline = cell->discipline,
      .threads = cell->threads,
      .seed = cell->seed,
      .options = cell->options,
      .why = why,
      .why_size = sizeof why,
  };
  if (workload->open(&setup, &w->state))
    return true;
  w->state = NULL;
  sample_set_error(w->sample, "workload %s: %s", workload->name, why);
  return false;
}

/* Measuring threads and those that the workload attaches besides them. */
static unsigned most_attached(const struct worker *w) {
  unsigned each = w->of.flags & CASE_OWN_THREAD_EACH ? w->cell.threads : 0;
  return w->cell.threads + w->of.own_threads + each;
}

static bool open_pool(struct worker *w) {
  const struct worker_target *target = &w->target;
  size_t kind_count;
  const struct kind *kinds = target->workload->kinds(w->state, &kind_count);
  char why[500] = "no reason given";
  struct pool_config config = {
      .options = target->options,
      .option_count = target->option_count,
      .threads = most_attached(w),
      .clock = clock_of(w),
      .why = why,
      .why_size = sizeof why,
  };
  unsigned count = 1;
  if (strategy_is_private(target->options, target->option_count)) {
    if (!cell_fits_private(&w->of, why, sizeof why)) {
      sample_set_error(w->sample, "pools=private cannot run %s: %s", w->of.name, why);
      return false;
    }
    count = w->cell.threads;
  }
  bool ok = pools_open(&w->pools, target->strategy, count, kinds, kind_count, &config);
  if (!ok)
    sample_set_error(w->sample, "strategy %s: %s", target->strategy->name, why);
  return ok;
}

static bool open_counters(struct worker *w) {
  struct error e;
  const char *list = w->cell.counters; /* a list comes from a runner that has proved it */
  if (counters_open(&w->counters, list, w->target.counter_sources, list == NULL, &e))
    return true;
  sample_set_error(w->sample, "%s", e.text);
  return false;
}

static bool open_seats(struct worker *w) {
  unsigned threads = w->cell.threads;
  w->watched = lines_strategy(w->target.strategy);
  w->seats = pages_map(threads * sizeof *w->seats);
  if (!w->seats) {
    out_of_memory(w);
    return false;
  }
  for (unsigned i = 0; i < threads; i++)
    w->seats[i].work = (struct workload_thread){
        .strategy = w->watched,
        .pool = pools_of(&w->pools, i),
        .state = w->state,
        .index = i,
        .threads = threads,
    };
  return true;
}

/* The first thread with a reason explains why the team stopped. */
static void explain_failure(struct worker *w, const char *otherwise) {
  for (unsigned i = 0; w->seats && i < w->cell.threads; i++)
    if (w->seats[i].work.why[0] != '\0') {
      sample_set_error(w->sample, "thread %u: %s", i, w->seats[i].work.why);
      return;
    }
  sample_set_error(w->sample, "%s", otherwise);
}

static bool start_team(struct worker *w) {
  struct error e;
  struct team_config config = {
      .threads = w->cell.threads,
      .cpu_map = w->cell.cpu_map,
      .hooks = {seat_open, seat_run, seat_edge, seat_idle, seat_close},
      .context = w,
  };
  w->team = team_start(&config, 0, &e); /* a hang in here is the runner's to end */
  if (!w->team)
    explain_failure(w, e.text);
  return w->team != NULL;
}

/* Bytes that are still allocated after everything was closed. */
static void check_leaks(struct worker *w) {
  struct heap_counts now;
  heap_total(&now);
  uint64_t allocs = now.allocs - w->heap_before.allocs, frees = now.frees - w->heap_before.frees;
  uint64_t bytes = now.alloc_bytes - w->heap_before.alloc_bytes;
  uint64_t freed = now.freed_bytes - w->heap_before.freed_bytes;
  if (!w->sample->error && (allocs != frees || bytes != freed))
    sample_set_error(w->sample,
                     "leak: after closing, %" PRId64 " blocks and %" PRId64 " bytes are still "
                     "allocated (less than none: freed with a size that was not asked for)",
                     (int64_t)(allocs - frees), (int64_t)(bytes - freed));
}

/* Joins and frees. False: a thread is in an op that does not end, and keeps everything. */
static bool close_all(struct worker *w) {
  if (w->team && !team_stop(w->team, JOIN_GRACE_NS)) {
    sample_add_note(w->sample, "threads-left", "an op did not end, its thread was not joined");
    return false;
  }
  pools_close(&w->pools);
  if (w->state)
    w->target.workload->close(w->state);
  pages_unmap(w->seats, w->cell.threads * sizeof *w->seats);
  heap_thread_end();
  check_leaks(w);
  return true;
}

/* ---- phases ---- */

/* Runs a phase; false when the sample is over: an op failed, or the time limit passed. */
static bool run(struct worker *w, const struct team_phase *phase, struct team_result *result) {
  switch (team_run(w->team, phase, result)) {
  case TEAM_DONE:
    return true;
  case TEAM_FAILED:
    explain_failure(w, "an op failed without saying why");
    return false;
  case TEAM_LATE:
    w->sample->ops = phase->each ? phase->each * w->cell.threads : phase->ops;
    w->sample->bound_s = (double)result->elapsed_ns / (double)NS_PER_S;
    return false;
  }
  return false;
}

static double busy_ns(const struct worker *w) {
  return w->wall_ns * w->cpus;
}

/* ---- trims at a pace, as a garbage collector would ---- */

static bool trims(const struct worker *w) {
  return w->cell.trim_ns != 0 || w->cell.trim_bytes != 0;
}

/* How often to look at the live bytes and whether a trim is due. */
static uint64_t look_period(const struct worker *w) {
  bool often = w->cell.trim_ns != 0 && w->cell.trim_ns < WORKER_LIVE_PERIOD_NS;
  return w->cell.trim_bytes ? NS_PER_MS : often ? w->cell.trim_ns : WORKER_LIVE_PERIOD_NS;
}

static uint64_t bytes_allocated(void) {
  struct heap_counts now;
  heap_total(&now);
  return now.alloc_bytes;
}

/* The first interval begins with the warm-up: the measured part finds the pool as trims leave it.
 */
static void start_trims(struct worker *w) {
  w->next_trim_ns = clock_wall_ns() + w->cell.trim_ns;
  w->next_trim_bytes = bytes_allocated() + w->cell.trim_bytes;
}

/*
 * On the harness's thread, while ops run. A trim that comes late (no CPU was free, or much was
 * allocated between two looks) does not make the next one come early.
 */
static void trim_when_due(void *context) {
  struct worker *w = context;
  uint64_t now = w->cell.trim_ns ? clock_wall_ns() : 0;
  uint64_t bytes = w->cell.trim_bytes ? bytes_allocated() : 0;
  bool due = (w->cell.trim_ns && now >= w->next_trim_ns) ||
             (w->cell.trim_bytes && bytes >= w->next_trim_bytes);
  if (!due)
    return;
  pools_trim(&w->pools);
  w->trims++;
  w->next_trim_ns = now + w->cell.trim_ns;
  w->next_trim_bytes = bytes + w->cell.trim_bytes;
}

struct warmup {
  struct pool_stats seen;       /* at the end of the last stretch */
  struct pace_misses last, now; /* the last two stretches */
  uint64_t took_ns, spent_ns;   /* by the last stretch, by all */
  unsigned stretches;
  bool steady;
};

static bool warm_stretch(struct worker *w, struct warmup *warm, const struct team_phase *phase) {
  struct team_result result;
  struct pool_stats stats;
  if (!run(w, phase, &result))
    return false;
  pools_stats(&w->pools, &stats);
  warm->last = warm->now;
  warm->now = (struct pace_misses){result.ops, stats.gets - warm->seen.gets,
                                   stats.misses - warm->seen.misses};
  warm->seen = stats;
  warm->steady = warm->stretches > 0 && pace_steady(&warm->last, &warm->now);
  warm->stretches++;
  warm->took_ns = result.elapsed_ns;
  warm->spent_ns += result.elapsed_ns;
  w->wall_ns = (double)result.elapsed_ns / (double)result.ops;
  return true;
}

static void note_warmup(struct worker *w, const struct warmup *warm) {
  char text[160];
  w->warmup_ns = warm->spent_ns;
  note_number(w, "warmup-stretches", warm->stretches);
  if (warm->steady)
    return;
  snprintf(text, sizeof text, "misses/op %.4g, then %.4g, when %.3g ms of warm-up were over",
           (double)warm->last.misses / (double)warm->last.ops,
           (double)warm->now.misses / (double)warm->now.ops,
           (double)warm->spent_ns / (double)NS_PER_MS);
  if (!sample_add_flag(w->sample, FLAG_NOT_STEADY, text))
    out_of_memory(w);
}

/*
 * Two ops on every thread, one by one because the first one finds everything cold; then
 * stretches, each as long as all before it or as is left, until two successive ones agree and the
 * least time is over, or the most time is. The first stretches of fast ops are far too short, which
 * only shows that the ops are fast: the next one is planned with the better rate, and the last one
 * must have taken about as long as planned.
 */
static bool warm_up(struct worker *w) {
  const struct cell *cell = &w->cell;
  struct warmup warm = {0};
  uint64_t least = pace_warmup_min_ns(cell->window_ns, cell->threads, w->cpus);
  uint64_t most =
      cell->warmup_limit_ns ? cell->warmup_limit_ns : pace_warmup_max_ns(cell->window_ns);
  least = least < most ? least : most;
  pools_stats(&w->pools, &warm.seen);
  struct team_phase each = {.each = 1, .deadline_ns = w->deadline_ns};
  start_trims(w);
  if (!warm_stretch(w, &warm, &each) || !warm_stretch(w, &warm, &each))
    return false;
  for (bool rated = false;
       !rated || ((warm.spent_ns < least || !warm.steady) && warm.spent_ns < most);) {
    uint64_t end = warm.steady ? least : most, left = end > warm.spent_ns ? end - warm.spent_ns : 0;
    uint64_t aim = warm.spent_ns < left ? warm.spent_ns : left;
    aim = aim > NS_PER_MS ? aim : NS_PER_MS;
    struct team_phase stretch = {
        .ops = pace_ops((double)aim, w->wall_ns),
        .grain = pace_grain(busy_ns(w)),
        .deadline_ns = w->deadline_ns,
        .tick_ns = look_period(w),
        .tick = trims(w) ? trim_when_due : NULL,
    };
    if (!warm_stretch(w, &warm, &stretch))
      return false;
    rated = warm.took_ns >= aim / 2;
  }
  note_warmup(w, &warm);
  return true;
}

/* ---- the measured part ---- */

static void look_at_live(void *context) {
  struct worker *w = context;
  struct heap_counts now;
  heap_total(&now);
  uint64_t live = heap_live(&now);
  w->m.live_peak = live > w->m.live_peak ? live : w->m.live_peak;
}

static void measured_tick(void *context) {
  look_at_live(context);
  trim_when_due(context);
}

/* The workload's own threads hold no scope and have done what the measuring ones left to them. */
static void settle(struct worker *w) {
  if (w->target.workload->settle)
    w->target.workload->settle(w->state);
}

/* Snapshots while all threads are parked; run-queue delay of a thread that sleeps is exact. */
static void before(struct worker *w) {
  settle(w);
  for (unsigned i = 0; i < w->cell.threads; i++) {
    struct thread_reading *r = &w->seats[i].reading;
    memset(&w->seats[i].latency, 0, sizeof w->seats[i].latency); /* what warm-up timed */
    r->has_delay = os_run_delay_ns(team_member(w->team, i)->tid, &r->delay_start_ns);
  }
  w->m.has_throttled = os_throttled("", &w->throttled_before);
  w->has_steal = os_steal_ns("", &w->steal_before);
  pools_stats(&w->pools, &w->m.pool_start);
  heap_total(&w->m.heap_start);
  w->m.live_peak = 0;
  look_at_live(w);
}

static void after(struct worker *w, const struct team_result *result, uint64_t cpu_ns) {
  struct measurement *m = &w->m;
  uint64_t throttled, steal;
  m->process_cpu_ns = clock_read_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu_ns;
  settle(w);
  heap_total(&m->heap_end);
  look_at_live(w);
  pools_stats(&w->pools, &m->pool_end);
  m->ops = result->ops;
  m->elapsed_ns = result->elapsed_ns;
  m->has_throttled = m->has_throttled && os_throttled("", &throttled);
  m->throttled = m->has_throttled ? throttled - w->throttled_before : 0;
  w->has_steal = w->has_steal && os_steal_ns("", &steal);
  w->steal_ns = w->has_steal ? steal - w->steal_before : 0;
  for (unsigned i = 0; i < w->cell.threads; i++) {
    const struct team_member *member = team_member(w->team, i);
    w->seats[i].reading.cpu = member->cpu;
    w->seats[i].reading.span_ns = member->end_ns - result->release_ns;
  }
}

/* One attempt; `took_ns` is how long its ops were. */
static bool measure_once(struct worker *w, uint64_t *took_ns) {
  struct team_result result;
  struct team_phase phase = {
      .ops = pace_measured_ops(w->cell.window_ns, w->wall_ns, w->cpus, w->cell.threads),
      .grain = pace_grain(busy_ns(w)),
      .edges = true,
      .deadline_ns = w->deadline_ns,
      .tick_ns = look_period(w),
      .tick = measured_tick,
  };
  before(w);
  w->trims = 0;
  uint64_t cpu_ns = clock_read_ns(CLOCK_PROCESS_CPUTIME_ID);
  if (!run(w, &phase, &result))
    return false;
  after(w, &result, cpu_ns);
  w->ops_per_call = phase.grain;
  w->wall_ns = (double)result.elapsed_ns / (double)result.ops;
  *took_ns = result.elapsed_ns;
  return true;
}

/*
 * Ops that proved more than twice as fast as the warm-up had them (it ran beside something else,
 * or waking thousands of threads hid them) were more warm-up, and are done again in full number.
 */
static bool measure(struct worker *w) {
  uint64_t took_ns;
  for (int attempt = 1;; attempt++) {
    if (!measure_once(w, &took_ns))
      return false;
    if (took_ns >= w->cell.window_ns / 2 || attempt == MOST_ATTEMPTS)
      break;
    w->warmup_ns += took_ns;
  }
  note_number(w, NOTE_MEASURED, took_ns);
  note_number(w, "ops-per-call", w->ops_per_call);
  note_number(w, "live-peak-period-ns", look_period(w));
  if (w->has_steal)
    note_number(w, "steal-ns", w->steal_ns);
  return true;
}

/* ---- the sample ---- */

/* While threads are parked and before the sample itself takes memory. */
static void read_memory(struct worker *w) {
  struct measurement *m = &w->m;
  pools_held(&w->pools, &m->held);
  m->has_system_bytes = allocator_system_bytes(
      &w->allocator, &m->system_bytes, m->why_no_system_bytes, sizeof m->why_no_system_bytes);
  m->has_rss = os_rss_peak("", &m->rss_peak);
}

/* The sum over the threads, or (not "") why one of them could not count the event. */
static const char *sum_counter(const struct worker *w, size_t event, double *sum, bool *scaled) {
  const char *why = w->counters.events[event].why;
  *sum = 0;
  for (unsigned t = 0; t < w->cell.threads && *why == '\0'; t++) {
    const struct counter_thread *c = &w->seats[t].counters;
    why = c->why[event];
    *sum += (double)c->values[event];
    *scaled = *scaled || c->multiplexed[event];
  }
  return why;
}

static bool add_counters(struct worker *w) {
  bool ok = true, scaled = false;
  for (size_t i = 0; i < w->counters.count && ok; i++) {
    char name[COUNTER_NAME_MAX + 4];
    double sum;
    const char *why = sum_counter(w, i, &sum, &scaled);
    snprintf(name, sizeof name, "%s/op", w->counters.events[i].name);
    ok = *why ? sample_add_missing(w->sample, name, why)
              : sample_add(w->sample, name, sum / (double)w->m.ops);
  }
  return ok && (!scaled || sample_add_note(w->sample, NOTE_MULTIPLEXED,
                                           "more events than counters: each was counted for a "
                                           "share of the time and scaled up"));
}

static bool flag_tail(struct worker *w) {
  char text[120];
  double busy = (double)w->m.elapsed_ns / (double)w->m.ops * w->cpus;
  double tail = pace_tail(busy, w->m.elapsed_ns);
  if (tail <= 1.01 * PACE_TAIL) /* the plan aims at the limit itself */
    return true;
  snprintf(text, sizeof text, "%" PRIu64 " ops: half an op is %.1f %% of the measured part",
           w->m.ops, 100 * tail);
  return sample_add_flag(w->sample, FLAG_SHORT_OPS, text);
}

static bool fill(struct worker *w) {
  struct thread_reading *readings = calloc(w->cell.threads, sizeof *readings);
  unsigned arenas;
  if (!readings)
    return false;
  for (unsigned i = 0; i < w->cell.threads; i++)
    readings[i] = w->seats[i].reading;
  for (unsigned i = 0; i < w->cell.threads; i++)
    histogram_merge(&w->latency, &w->seats[i].latency);
  w->m.latency = &w->latency;
  w->m.thread = readings;
  w->m.threads = w->cell.threads;
  w->m.cpus = w->cpus;
  bool ok = units_fill(&w->m, w->sample) && add_counters(w) && flag_tail(w) &&
            (!trims(w) || sample_add(w->sample, "trims/op", (double)w->trims / (double)w->m.ops));
  free(readings);
  if (ok && allocator_arenas(&w->allocator, &arenas))
    note_number(w, "arenas", arenas);
  return ok;
}

static bool note_allocator(struct worker *w) {
  const struct allocator *a = &w->allocator;
  struct error e;
  if (!sample_add_note(w->sample, NOTE_ALLOCATOR, a->name) ||
      !sample_add_note(w->sample, NOTE_ALLOCATOR_VERSION, a->version) ||
      !sample_add_note(w->sample, NOTE_ALLOCATOR_PATH, a->path)) {
    out_of_memory(w);
    return false;
  }
  if (!w->cell.expect_allocator || allocator_expect(a, w->cell.expect_allocator, &e))
    return true;
  sample_set_error(w->sample, "%s", e.text);
  return false;
}

/* The loop's time, the mean of before and after; what the host did in between shows in both. */
static void note_speed(struct worker *w) {
  uint64_t after_ns;
  if (w->has_speed && speed_measure(&after_ns))
    note_number(w, NOTE_SPEED, (w->speed_ns + after_ns) / 2);
}

/* Ops of the pass, from what an op took and how often it gets. */
static uint64_t lines_ops(const struct worker *w) {
  const struct measurement *m = &w->m;
  double gets = (double)(m->pool_end.gets - m->pool_start.gets) / (double)m->ops;
  double wall_ns = w->wall_ns + gets * LINES_RECORD_NS / w->cpus;
  uint64_t rotation = pace_rotation_ns(w->cell.threads, w->cpus);
  uint64_t ops = pace_ops((double)(LINES_PASS_NS + rotation), wall_ns);
  return ops > w->cell.threads ? ops : w->cell.threads;
}

/* After all else is known: a pass that does not end leaves nothing but its own unit missing. */
static void look_at_lines(struct worker *w) {
  struct team_result result;
  struct lines_result lines;
  size_t kind_count;
  const struct kind *kinds = w->target.workload->kinds(w->state, &kind_count);
  struct team_phase pass = {.ops = lines_ops(w),
                            .grain = pace_grain(busy_ns(w)),
                            .deadline_ns = clock_wall_ns() + LINES_LIMIT_NS};
  if (!lines_start(kinds, kind_count)) {
    sample_add_missing(w->sample, unit_infos[UNIT_SHARED_LINES].name,
                       "out of memory for the table of lines");
    return;
  }
  bool done = team_run(w->team, &pass, &result) == TEAM_DONE;
  if (!done) {
    sample_add_missing(w->sample, unit_infos[UNIT_SHARED_LINES].name,
                       "the pass that looks for them did not end in its time");
    return; /* threads may still be recording */
  }
  settle(w);
  lines_stop(&lines);
  if (!units_fill_lines(&lines, kinds, kind_count, w->sample))
    out_of_memory(w);
  note_number(w, "lines-seen", lines.all.lines);
  if (lines.lost)
    note_number(w, "lines-lost", lines.lost);
}

static void calibrate(struct worker *w) {
  struct budget_prices *p = &w->m.prices;
  if (!w->cell.no_latency || !w->cell.no_states)
    span_calibrate(&w->clock);
  if (w->cell.no_states)
    return;
  *p = (struct budget_prices){.timed = true,
                              .span_error_ns = w->clock.error_ns,
                              .clock_read_ns = (double)timing_read_cost_ns(),
                              .fault_ns = budget_fault_price()};
}

static bool open_all(struct worker *w) {
  w->cpus = count_cpus(&w->cell);
  return open_workload(w) && open_pool(w) && open_counters(w) && open_seats(w) && start_team(w);
}

/* Once, by all threads together; the workload marks its moments. */
static void run_series(struct worker *w) {
  struct team_phase once = {.each = 1, .deadline_ns = w->deadline_ns};
  struct team_result result;
  w->series = (struct series){.strategy = w->target.strategy,
                              .pool = pools_of(&w->pools, 0),
                              .allocator = &w->allocator,
                              .start_ns = clock_wall_ns()};
  /* After a deadline thread 0 may still be marking: then nothing is read. */
  if (!run(w, &once, &result))
    return;
  w->sample->ops = 1;
  note_number(w, NOTE_MEASURED, result.elapsed_ns);
  if (!series_fill(&w->series, w->sample))
    out_of_memory(w);
}

static void measure_all(struct worker *w) {
  uint64_t start_ns = clock_wall_ns();
  allocator_identify(&w->allocator);
  if (!note_allocator(w) || !open_all(w))
    return;
  note_number(w, "setup-ns", clock_wall_ns() - start_ns);
  w->deadline_ns = w->cell.limit_ns ? clock_wall_ns() + w->cell.limit_ns : 0;
  if (w->of.flags & CASE_SERIES) {
    run_series(w);
    return;
  }
  bool measured = warm_up(w) && measure(w);
  note_number(w, NOTE_WARMUP, w->warmup_ns);
  if (!measured)
    return;
  read_memory(w);
  if (!fill(w))
    out_of_memory(w);
  note_speed(w);
  if (w->cell.lines)
    look_at_lines(w);
}

/* Fewer threads where the case has work for no more (CASE_FEWER_THREADS). */
static struct cell limit_threads(const struct cell *cell, const struct workload_case *of,
                                 struct sample *sample) {
  struct cell fewer = *cell;
  char text[100];
  if ((of->flags & CASE_FEWER_THREADS) && of->max_threads != 0 && cell->threads > of->max_threads) {
    fewer.threads = of->max_threads;
    snprintf(text, sizeof text, "%u of %u: the case has work for no more", fewer.threads,
             cell->threads);
    sample_add_note(sample, NOTE_THREADS, text);
  }
  return fewer;
}

void worker_measure_with(const struct cell *cell, const struct worker_target *target,
                         struct sample *sample) {
  struct worker *w = pages_map(sizeof *w);
  if (!w) {
    sample_set_error(sample, "out of memory");
    return;
  }
  w->cell = limit_threads(cell, target->of, sample);
  w->target = *target;
  w->of = *target->of;
  w->sample = sample;
  w->has_speed = speed_measure(&w->speed_ns);
  calibrate(w);
  os_rss_peak_reset(); /* else the loop's own memory would be in the peak */
  heap_thread_begin();
  heap_total(&w->heap_before);
  measure_all(w);
  if (cell->join && close_all(w))
    pages_unmap(w, sizeof *w);
}

void worker_measure(const struct cell *cell, struct sample *sample) {
  struct error e;
  struct workload_case found;
  char storage[STRATEGY_SPEC_MAX], why[500];
  const char *options[STRATEGY_MAX_OPTIONS];
  struct worker_target target = {
      .of = &found, .options = options, .counter_sources = counter_sources};
  if (!cell_find_case(cell->case_name, cell->object_file, &target.workload, &found, &e)) {
    sample_set_error(sample, "%s", e.text);
    return;
  }
  target.strategy =
      strategy_parse(cell->strategy, storage, options, &target.option_count, why, sizeof why);
  if (!target.strategy) {
    sample_set_error(sample, "%s", why);
    return;
  }
  if (!cell_fits(&found, target.strategy, cell->discipline, cell->threads, why, sizeof why)) {
    sample_set_error(sample, "strategy %s cannot run %s: %s", cell->strategy, cell->case_name, why);
    return;
  }
  target.strategy = strategy_checked(target.strategy);
  worker_measure_with(cell, &target, sample);
}
