/* Formulas of the units; see units.h. docs/method.md says what they are good for. */
#include "harness/units.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define NO_SCHEDSTAT "no /proc/self/task/*/schedstat (CONFIG_SCHED_INFO), or no descriptor left"

/* More than this share of foreign CPU makes a sample doubtful. */
#define FOREIGN_LIMIT 5.0

/* Threads that sleep less than this share of their time count as never blocking. */
#define BLOCKS_SHARE 0.01

static const char *unit(enum unit_id id) {
  return unit_infos[id].name;
}

static bool per_op(struct sample *s, const char *name, double sum, const struct measurement *m) {
  return sample_add(s, name, sum / (double)m->ops);
}

/* The sums over the threads. */
struct sums {
  double span_ns, cpu_ns, delay_ns, blocked_ns;
  double switches, voluntary, faults;
  bool has_delay;
};

static double more(uint64_t start, uint64_t end) {
  return end > start ? (double)(end - start) : 0;
}

static struct sums sum_threads(const struct measurement *m) {
  struct sums s = {.has_delay = true};
  for (unsigned i = 0; i < m->threads; i++) {
    const struct thread_reading *t = &m->thread[i];
    double cpu = more(t->start.cpu_ns, t->end.cpu_ns);
    double delay = more(t->delay_start_ns, t->delay_end_ns);
    double blocked = (double)t->span_ns - cpu - delay;
    s.has_delay = s.has_delay && t->has_delay;
    s.span_ns += (double)t->span_ns;
    s.cpu_ns += cpu;
    s.delay_ns += delay;
    s.blocked_ns += blocked > 0 ? blocked : 0;
    s.voluntary += more(t->start.voluntary, t->end.voluntary);
    s.switches +=
        more(t->start.voluntary, t->end.voluntary) + more(t->start.involuntary, t->end.involuntary);
    s.faults += more(t->start.minor, t->end.minor) + more(t->start.major, t->end.major);
  }
  return s;
}

/* ---- foreign CPU ---- */

/*
 * The CPU time that the team could have had: every CPU until the last of its threads was done.
 * What lies between that and the end of the last op is the tail, nobody's fault.
 */
static double available_ns(const struct measurement *m) {
  double sum = 0;
  if (m->thread[0].cpu < 0)
    return (double)m->elapsed_ns * m->cpus;
  for (unsigned i = 0; i < m->threads; i++) {
    bool first = true;
    uint64_t longest = 0;
    for (unsigned j = 0; j < m->threads; j++) {
      if (m->thread[j].cpu != m->thread[i].cpu)
        continue;
      first = first && j >= i;
      longest = m->thread[j].span_ns > longest ? m->thread[j].span_ns : longest;
    }
    if (first)
      sum += (double)longest;
  }
  return sum;
}

/*
 * CPU that was neither ours nor idle. Threads that never block leave no CPU idle, so whatever
 * they did not get went to others. Where they block and have a CPU each, others show as
 * run-queue delay. Where they block and share CPUs, idle and foreign time cannot be told apart,
 * unless both together are small. False: cannot be told.
 */
static bool foreign_percent(const struct measurement *m, const struct sums *s, double *percent) {
  double available = available_ns(m);
  double gap = available - (double)m->process_cpu_ns;
  bool blocks =
      s->has_delay ? s->blocked_ns > BLOCKS_SHARE * s->span_ns : s->voluntary > 2.0 * m->threads;
  gap = gap > 0 ? gap : 0;
  if (blocks && s->has_delay && m->threads <= m->cpus)
    gap = s->delay_ns < gap ? s->delay_ns : gap;
  else if (blocks && gap > FOREIGN_LIMIT / 100 * available)
    return false;
  *percent = available > 0 ? 100 * gap / available : 0;
  return true;
}

static bool fill_foreign(const struct measurement *m, const struct sums *s, struct sample *out) {
  double percent;
  char text[100];
  if (!foreign_percent(m, s, &percent))
    return sample_add_missing(out, unit(UNIT_FOREIGN),
                              "threads block and share CPUs: idle or foreign cannot be told");
  if (!sample_add(out, unit(UNIT_FOREIGN), percent))
    return false;
  if (percent <= FOREIGN_LIMIT)
    return true;
  snprintf(text, sizeof text, "%.1f %% of the CPU time went to others", percent);
  return sample_add_flag(out, FLAG_FOREIGN, text);
}

/* ---- the groups of units ---- */

static bool fill_time(const struct measurement *m, const struct sums *s, struct sample *out) {
  bool ok = per_op(out, unit(UNIT_CPU_NS), s->cpu_ns, m) &&
            per_op(out, unit(UNIT_CTX), s->switches, m) &&
            per_op(out, unit(UNIT_FAULTS), s->faults, m);
  if (!s->has_delay)
    return ok && sample_add_missing(out, unit(UNIT_BLOCKED_NS), NO_SCHEDSTAT) &&
           sample_add_missing(out, unit(UNIT_RUNQUEUE_NS), NO_SCHEDSTAT);
  return ok && per_op(out, unit(UNIT_BLOCKED_NS), s->blocked_ns, m) &&
         per_op(out, unit(UNIT_RUNQUEUE_NS), s->delay_ns, m);
}

static bool fill_memory(const struct measurement *m, struct sample *out) {
  uint64_t live = heap_live(&m->heap_end);
  bool ok = sample_add(out, unit(UNIT_LIVE_PEAK), (double)m->live_peak) &&
            sample_add(out, unit(UNIT_POOLED), (double)m->held.bytes);
  if (m->has_system_bytes)
    ok = ok && sample_add(out, unit(UNIT_HEAP_HELD),
                          m->system_bytes > live ? (double)(m->system_bytes - live) : 0);
  else
    ok = ok && sample_add_missing(out, unit(UNIT_HEAP_HELD), m->why_no_system_bytes);
  if (m->has_rss)
    return ok && sample_add(out, unit(UNIT_RSS_PEAK), (double)m->rss_peak);
  return ok && sample_add_missing(out, unit(UNIT_RSS_PEAK), "no VmHWM in /proc/self/status");
}

/* Hold times are measured by some strategies only; 0 would be a lie for the others. */
static bool not_measured(const struct pool_stats *d, const char *name) {
  return strcmp(name, "lockhold-ns/op") == 0 && d->lock_acquisitions > 0 && d->lock_hold_ns == 0;
}

static bool fill_pool(const struct measurement *m, struct sample *out) {
  struct pool_stats d;
#define SUBTRACT(field, unit, what) d.field = m->pool_end.field - m->pool_start.field;
  POOL_COUNTERS(SUBTRACT)
#undef SUBTRACT
  bool ok = d.gets > 0
                ? sample_add(out, unit(UNIT_MISS), 100 * (double)d.misses / (double)d.gets)
                : sample_add_missing(out, unit(UNIT_MISS), "the case gets nothing from a strategy");
#define ADD(field, name, what)                                                             \
  ok = ok && (not_measured(&d, name)                                                       \
                  ? sample_add_missing(out, name, "this strategy does not time its locks") \
                  : per_op(out, name, (double)d.field, m));
  POOL_COUNTERS(ADD)
#undef ADD
  return ok;
}

/* A percentile with no op beyond it would be the maximum under another name: missing then. */
static bool fill_percentiles(const struct histogram *h, struct sample *out) {
  static const struct {
    enum unit_id unit;
    unsigned permille;
  } percentiles[] = {{UNIT_P50, 500}, {UNIT_P90, 900}, {UNIT_P99, 990}, {UNIT_P999, 999}};
  bool ok = true;
  for (size_t i = 0; i < sizeof percentiles / sizeof percentiles[0] && ok; i++) {
    uint64_t value, least = histogram_least(percentiles[i].permille);
    const char *name = unit(percentiles[i].unit);
    char why[80];
    snprintf(why, sizeof why, "a sample timed fewer than %" PRIu64 " ops", least);
    ok = histogram_quantile(h, percentiles[i].permille, &value)
             ? sample_add(out, name, (double)value)
             : sample_add_missing(out, name, why);
  }
  return ok;
}

static bool fill_latency(const struct measurement *m, struct sample *out) {
  static const struct histogram none;
  const struct histogram *h = m->latency ? m->latency : &none;
  return fill_percentiles(h, out) &&
         (h->total ? sample_add(out, unit(UNIT_MAX), (double)h->most)
                   : sample_add_missing(out, unit(UNIT_MAX), "a sample timed no op")) &&
         sample_add(out, unit(UNIT_TIMED), 100 * (double)h->total / (double)m->ops);
}

static const struct {
  enum unit_id unit;
  enum budget_part part;
} part_units[BUDGET_PARTS] = {{UNIT_HANDOFF_NS, BUDGET_HANDOFF},
                              {UNIT_FAULT_NS, BUDGET_FAULTS},
                              {UNIT_HEAP_ERROR_NS, BUDGET_HEAP_ERROR}};

static bool fill_budget(const struct measurement *m, struct sample *out) {
  struct budget b;
  struct budget_readings readings = {
      .elapsed_ns = m->elapsed_ns,
      .threads = m->threads,
      .thread = m->thread,
      .heap_start = &m->heap_start,
      .heap_end = &m->heap_end,
      .pool_start = &m->pool_start,
      .pool_end = &m->pool_end,
      .prices = &m->prices,
  };
  const char *why = budget_make(&readings, &b) ? NULL : b.why;
  bool ok = true;
  for (int i = 0; i < BUDGET_STATES; i++)
    if (i != BUDGET_RUNQUEUE)
      ok = ok && (why ? sample_add_missing(out, unit(budget_units[i]), why)
                      : per_op(out, unit(budget_units[i]), b.state[i], m));
  for (int i = 0; i < BUDGET_PARTS; i++) {
    const char *name = unit(part_units[i].unit);
    ok = ok && (why ? sample_add_missing(out, name, why)
                    : per_op(out, name, b.part[part_units[i].part], m));
  }
  return ok;
}

static bool fill_throttled(const struct measurement *m, struct sample *out) {
  char text[100];
  if (!m->has_throttled || m->throttled == 0)
    return true;
  snprintf(text, sizeof text, "the cgroup's CPU quota stopped the threads %" PRIu64 " times",
           m->throttled);
  return sample_add_flag(out, FLAG_THROTTLED, text);
}

bool units_fill(const struct measurement *m, struct sample *out) {
  struct sums sums = sum_threads(m);
  out->ops = m->ops;
  return per_op(out, unit(UNIT_NS_OP), (double)m->elapsed_ns, m) &&
         per_op(out, unit(UNIT_B_OP), more(m->heap_start.alloc_bytes, m->heap_end.alloc_bytes),
                m) &&
         per_op(out, unit(UNIT_ALLOCS_OP), more(m->heap_start.allocs, m->heap_end.allocs), m) &&
         fill_time(m, &sums, out) && fill_latency(m, out) && fill_memory(m, out) &&
         fill_pool(m, out) && fill_budget(m, out) && fill_foreign(m, &sums, out) &&
         fill_throttled(m, out);
}

static bool add_shared(const struct lines_count *c, const char *kind, struct sample *out) {
  char name[100];
  snprintf(name, sizeof name, "%s%s%s", kind, *kind ? ":" : "", unit(UNIT_SHARED_LINES));
  for (char *p = name; *p; p++)
    *p = *p == ' ' ? '-' : *p;
  return sample_add(out, name, 100 * (double)c->shared / (double)c->lines);
}

bool units_fill_lines(const struct lines_result *lines, const struct kind *kinds, size_t kind_count,
                      struct sample *out) {
  if (lines->all.lines == 0)
    return sample_add_missing(out, unit(UNIT_SHARED_LINES),
                              "the case gets nothing from a strategy");
  bool ok = add_shared(&lines->all, "", out);
  for (size_t k = 0; k < kind_count && kind_count > 1 && ok; k++)
    ok = lines->kind[k].lines == 0 || add_shared(&lines->kind[k], kinds[k].name, out);
  return ok;
}
