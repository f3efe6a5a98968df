/*
 * From a cell to a sample: open, warm up, measure between two snapshots, read what stays.
 *
 * Owns the order of these steps and who reads what when. The steps have files of their own
 * (worker_parts.h), and so has arithmetic: pace.h decides how many ops, units.h turns readings
 * into units.
 */
#include "harness/worker_parts.h"

#include "harness/clock.h"
#include "harness/footprint.h"
#include "harness/lines.h"
#include "harness/pace.h"
#include "harness/pages.h"
#include "harness/speed.h"
#include "strategies/support/timing.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* How often the measured part is done at most until it is long enough. */
#define MOST_ATTEMPTS 3

/*
 * The pass that looks for shared lines: so long on the wall, and a turn of the scheduler; given
 * up after the limit. The price of recording a get and a put is a guess, on the high side.
 */
#define LINES_PASS_NS (10 * NS_PER_MS)
#define LINES_LIMIT_NS NS_PER_S
#define LINES_RECORD_NS 300.0

/* How long it is waited for all threads to sleep, and how often that is looked at. */
#define ASLEEP_LIMIT_NS NS_PER_S
#define ASLEEP_LOOK_US 100

void worker_out_of_memory(struct worker *w) {
  sample_set_error(w->sample, "out of memory");
}

void worker_note_number(struct worker *w, const char *key, uint64_t value) {
  char text[32];
  snprintf(text, sizeof text, "%" PRIu64, value);
  if (!sample_add_note(w->sample, key, text))
    worker_out_of_memory(w);
}

const struct span_clock *worker_clock(const struct worker *w) {
  return w->cell.no_states ? NULL : &w->clock;
}

bool worker_run(struct worker *w, const struct team_phase *phase, struct team_result *result) {
  switch (team_run(w->team, phase, result)) {
  case TEAM_DONE:
    return true;
  case TEAM_FAILED:
    worker_explain_failure(w, "an op failed without saying why");
    return false;
  case TEAM_LATE:
    w->sample->ops = phase->each ? phase->each * w->cell.threads : phase->ops;
    w->sample->bound_s = (double)result->elapsed_ns / (double)NS_PER_S;
    return false;
  }
  return false;
}

double worker_busy_ns(const struct worker *w) {
  return w->wall_ns * w->cpus;
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
  worker_trim_when_due(context);
}

/* The workload's own threads hold no scope and have done what the measuring ones left to them. */
static void settle(struct worker *w) {
  if (w->target.workload->settle)
    w->target.workload->settle(w->state);
}

/*
 * A thread that has arrived may have lost its CPU to what it woke before it went to sleep. On a
 * busy machine it then stands in the run queue for tens of milliseconds, which the kernel books
 * when it runs again: in the measured part, that it was no part of. Not for ever: nothing but the
 * budget is at stake.
 */
static void wait_asleep(const struct worker *w) {
  uint64_t until = clock_wall_ns() + ASLEEP_LIMIT_NS;
  for (unsigned i = 0; i < w->cell.threads; i++)
    while (!os_sleeps(team_member(w->team, i)->tid) && clock_wall_ns() < until)
      usleep(ASLEEP_LOOK_US);
}

/* Snapshots while all threads are parked; run-queue delay of a thread that sleeps is exact. */
static void before(struct worker *w) {
  settle(w);
  wait_asleep(w);
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
      .grain = pace_grain(worker_busy_ns(w)),
      .edges = true,
      .deadline_ns = w->deadline_ns,
      .tick_ns = worker_look_period(w),
      .tick = measured_tick,
  };
  before(w);
  w->trims = 0;
  uint64_t cpu_ns = clock_read_ns(CLOCK_PROCESS_CPUTIME_ID);
  if (!worker_run(w, &phase, &result))
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
  worker_note_number(w, NOTE_MEASURED, took_ns);
  worker_note_number(w, "ops-per-call", w->ops_per_call);
  worker_note_number(w, "live-peak-period-ns", worker_look_period(w));
  if (w->has_steal)
    worker_note_number(w, "steal-ns", w->steal_ns);
  return true;
}

/* ---- the sample ---- */

static bool note_allocator(struct worker *w) {
  const struct allocator *a = &w->allocator;
  struct error e;
  if (!sample_add_note(w->sample, NOTE_ALLOCATOR, a->name) ||
      !sample_add_note(w->sample, NOTE_ALLOCATOR_VERSION, a->version) ||
      !sample_add_note(w->sample, NOTE_ALLOCATOR_PATH, a->path)) {
    worker_out_of_memory(w);
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
    worker_note_number(w, NOTE_SPEED, (w->speed_ns + after_ns) / 2);
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
                            .grain = pace_grain(worker_busy_ns(w)),
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
    worker_out_of_memory(w);
  worker_note_number(w, "lines-seen", lines.all.lines);
  if (lines.lost)
    worker_note_number(w, "lines-lost", lines.lost);
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

/* Once, by all threads together; the workload marks its moments. */
static void run_series(struct worker *w) {
  struct team_phase once = {.each = 1, .deadline_ns = w->deadline_ns};
  struct team_result result;
  w->series = (struct series){.strategy = w->target.strategy,
                              .pool = pools_of(&w->pools, 0),
                              .allocator = &w->allocator,
                              .start_ns = clock_wall_ns()};
  /* After a deadline thread 0 may still be marking: then nothing is read. */
  if (!worker_run(w, &once, &result))
    return;
  w->sample->ops = 1;
  worker_note_number(w, NOTE_MEASURED, result.elapsed_ns);
  if (!series_fill(&w->series, w->sample))
    worker_out_of_memory(w);
}

static void measure_all(struct worker *w) {
  uint64_t start_ns = clock_wall_ns();
  allocator_identify(&w->allocator);
  if (!note_allocator(w) || !worker_open(w))
    return;
  worker_note_number(w, "setup-ns", clock_wall_ns() - start_ns);
  w->deadline_ns = w->cell.limit_ns ? clock_wall_ns() + w->cell.limit_ns : 0;
  if (w->of.flags & CASE_SERIES) {
    run_series(w);
    return;
  }
  bool measured = worker_warm_up(w) && measure(w);
  worker_note_number(w, NOTE_WARMUP, w->warmup_ns);
  if (!measured)
    return;
  worker_read_memory(w);
  if (!worker_fill(w))
    worker_out_of_memory(w);
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
  if (strategy_given(target->options, target->option_count, STRATEGY_NO_STATES))
    w->cell.no_states = true;
  w->of = *target->of;
  w->sample = sample;
  w->has_speed = speed_measure(&w->speed_ns);
  calibrate(w);
  os_rss_peak_reset(); /* else the loop's own memory would be in the peak */
  heap_thread_begin();
  heap_total(&w->heap_before);
  measure_all(w);
  if (cell->join && worker_close(w))
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
