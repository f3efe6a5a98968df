/* Judging a cell's budget; see contention.h. */
#include "harness/contention.h"

#include "harness/grid.h"
#include "harness/plural.h"
#include "harness/why.h"
#include "strategies/pool.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A larger share of thread time in no state: the figures are not the strategy's own. */
#define MOST_REMAINDER 0.05
/* Differences of miss-% that make the allocator's share a question of misses. */
#define MORE_MISSES 1.0
/* Fewer CPUs say little about many. */
#define FEW_CPUS 4

/* One cell, in CPU-ns per op: what its M CPUs did. */
struct spent {
  bool known;
  double available; /* M x ns/op */
  double heap, lock, retries, work;
  double idle;      /* what is left of available: idle, or used by others */
  double remainder; /* share of thread time */
};

static bool spent_of(struct spent *s, const struct rundata *d, const struct rundata_cell *c,
                     unsigned cpus) {
  struct budget_set set;
  struct budget_sample center;
  *s = (struct spent){0};
  if (!budgets_load(&set, d, c))
    return false;
  bool ok = true;
  if (set.n > 0 && (ok = budgets_center(&set, &center))) {
    double m = c->team < cpus ? c->team : cpus, n = c->team;
    s->known = true;
    s->available = m * center.total;
    s->heap = n * center.state[BUDGET_HEAP];
    s->lock = n * center.state[BUDGET_SPIN];
    s->retries = n * (center.state[BUDGET_CAS] + center.state[BUDGET_SCAN]);
    s->work = n * center.state[BUDGET_WORK];
    s->idle = s->available - s->heap - s->lock - s->retries - s->work;
    s->remainder = fabs(center.state[BUDGET_REMAINDER]) / center.total;
  }
  budgets_free(&set);
  return ok;
}

static double median_or(const struct rundata *d, const struct rundata_cell *c, const char *unit,
                        double otherwise) {
  double value;
  return c && rundata_median(d, c, unit, &value) ? value : otherwise;
}

/* --- The arm that shares nothing. */

/* "X:pools=private" for "X", else per-thread, whose threads share no pool by design. */
static size_t private_column(const struct rundata *d, size_t column) {
  char name[200];
  snprintf(name, sizeof name, "%s:" STRATEGY_PRIVATE_POOLS, d->columns.names[column]);
  size_t stand_in = d->columns.count;
  for (size_t i = 0; i < d->columns.count; i++) {
    if (strcmp(d->columns.names[i], name) == 0)
      return i;
    if (strcmp(d->columns.names[i], "per-thread") == 0)
      stand_in = i;
  }
  return stand_in;
}

/* Fills slower and slower_machine. */
static bool judge_work(struct contention *c, const struct rundata *d, size_t row, size_t column,
                       unsigned threads, unsigned cpus, const struct spent *one,
                       const struct spent *now) {
  struct spent machine_one, machine_now;
  c->slower = now->work - one->work;
  size_t arm = private_column(d, column);
  if (arm == d->columns.count)
    return true;
  if (!spent_of(&machine_one, d, rundata_cell(d, row, arm, 1), cpus) ||
      !spent_of(&machine_now, d, rundata_cell(d, row, arm, threads), cpus))
    return false;
  if (machine_one.known && machine_now.known) {
    c->slower_machine = machine_now.work - machine_one.work;
    snprintf(c->private_arm, sizeof c->private_arm, "%s", d->columns.names[arm]);
  }
  return true;
}

/* --- Words. */

static void say(struct contention *c, enum contention_verdict v, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void say(struct contention *c, enum contention_verdict v, const char *format, ...) {
  va_list list;
  va_start(list, format);
  c->verdict = v;
  vsnprintf(c->text, sizeof c->text, format, list);
  va_end(list);
}

static void add(struct contention *c, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void add(struct contention *c, const char *format, ...) {
  size_t used = strlen(c->text);
  va_list list;
  va_start(list, format);
  vsnprintf(c->text + used, sizeof c->text - used, format, list);
  va_end(list);
}

/* What everything in judge looks at. */
struct scene {
  const struct rundata *d;
  const struct rundata_cell *one_cell, *cell;
  unsigned threads, cpus;
  struct spent one, now;
};

/*
 * Share of the lost CPU time, in per cent. Other states may have shrunk meanwhile, so that a part
 * is more than all of it.
 */
static double of_loss(const struct scene *s, double part) {
  double loss = s->now.available - s->one.available;
  return fmin(100, 100 * part / loss);
}

/*
 * Asymptotic bounds of a closed system with one server (Denning and Buzen 1978): with S held and
 * Z not, N* = (Z + S) / S threads keep the lock busy.
 */
static void say_lock(struct contention *c, const struct scene *s, double part) {
  char holds[GRID_VALUE], thinks[GRID_VALUE];
  double held = median_or(s->d, s->cell, "lockhold-ns/op", NAN);
  double think = s->one.available - median_or(s->d, s->one_cell, "lockhold-ns/op", 0);
  say(c, CONTENTION_LOCK,
      "limited by its lock: %.0f %% of the lost CPU time is spent waiting for it, releasing it or "
      "idle behind it",
      of_loss(s, part));
  if (!isfinite(held) || held <= 0 || think <= 0)
    return;
  grid_value(GRID_NS, held, holds);
  grid_value(GRID_NS, think, thinks);
  add(c,
      "; with %u threads an op holds it for %s and one thread does without it for %s, so N* = %.1f "
      "threads keep it busy",
      s->threads, holds, thinks, (think + held) / held);
}

static void say_heap(struct contention *c, const struct scene *s, double part) {
  double now = median_or(s->d, s->cell, "miss-%", NAN);
  double one = median_or(s->d, s->one_cell, "miss-%", NAN);
  if (now > one + MORE_MISSES)
    say(c, CONTENTION_MISSES,
        "limited by misses: %.3g %% of its gets, %.3g %% with one thread; %.0f %% of the lost CPU "
        "time is in the allocator",
        now, one, of_loss(s, part));
  else
    say(c, CONTENTION_HEAP,
        "limited by the allocator: %.0f %% of the lost CPU time is there, %.2gx what one thread "
        "spends",
        of_loss(s, part), s->now.heap / s->one.heap);
}

static void say_slower(struct contention *c, const struct scene *s, double part) {
  say(c, CONTENTION_SLOWER,
      "slower execution: the same work takes %.2gx the CPU time of one thread, "
      "%.0f %% of what is lost",
      s->now.work / s->one.work, of_loss(s, part));
  if (c->private_arm[0])
    add(c, "; %.0f %% of it also without sharing (%s), the rest is sharing's",
        fmin(100, fmax(0, 100 * c->slower_machine / c->slower)), c->private_arm);
  else
    add(c, "; how much of it is sharing's needs an arm that shares nothing (--strategies "
           "...,NAME:" STRATEGY_PRIVATE_POOLS ")");
}

/* The part of the loss that is largest names the limit. */
static void say_limit(struct contention *c, const struct scene *s) {
  double waits = s->now.lock - s->one.lock, idle = fmax(0, s->now.idle - s->one.idle);
  bool idle_is_lock =
      median_or(s->d, s->cell, "lockblocked-ns/op", 0) > median_or(s->d, s->cell, "sleep-ns/op", 0);
  double lock = waits + (idle_is_lock ? idle : 0), heap = s->now.heap - s->one.heap;
  double retries = s->now.retries - s->one.retries, work = c->slower;
  double most = fmax(fmax(lock, heap), fmax(retries, work));
  if (!idle_is_lock && idle > most)
    say(c, CONTENTION_UNKNOWN,
        "not decided: CPUs were idle or others' for %.0f %% of the lost time, and no lock of the "
        "strategy explains it",
        of_loss(s, idle));
  else if (most == lock)
    say_lock(c, s, lock);
  else if (most == heap)
    say_heap(c, s, heap);
  else if (most == retries)
    say(c, CONTENTION_RETRIES,
        "limited by CAS retries and the search of other shards: %.0f %% of the lost CPU time",
        of_loss(s, retries));
  else
    say_slower(c, s, work);
}

static void say_scales(struct contention *c, const struct scene *s) {
  unsigned m = s->threads < s->cpus ? s->threads : s->cpus;
  double heap = 100 * s->now.heap / s->now.available, lock = 100 * s->now.lock / s->now.available;
  say(c, CONTENTION_SCALES, "scales: %.2fx the throughput of one thread on %u CPU%s (%.2f to %.2f)",
      c->efficiency * m, m, plural(m), c->low * m, c->high * m);
  add(c, "; %.0f %% of its CPU time is in the allocator", heap);
  if (lock >= 0.5)
    add(c, ", %.0f %% at its lock", lock);
  if (s->cpus < FEW_CPUS)
    add(c, "; what more than %u CPU%s would do, this machine cannot show", s->cpus,
        plural(s->cpus));
}

/* false: the cell at one thread a CPU says something else, or is not there. */
static bool crowded(const struct scene *s, size_t row, size_t column, double *efficiency,
                    bool *ok) {
  struct spent full;
  if (s->threads <= s->cpus)
    return false;
  *ok = spent_of(&full, s->d, rundata_cell(s->d, row, column, s->cpus), s->cpus);
  if (!*ok || !full.known)
    return false;
  *efficiency = s->one.available / full.available;
  return *efficiency >= CONTENTION_SCALES_AT;
}

/* NAN unless every sample has it: one lacks it where others may have had much, and only there. */
static double own_foreign(const struct rundata *d, const struct rundata_cell *c) {
  const struct rundata_values *v = c ? rundata_unit(d, c, "foreign-cpu-%") : NULL;
  const struct rundata_values *all = c ? rundata_unit(d, c, "ns/op") : NULL;
  return v && all && v->n == all->n ? median_or(d, c, "foreign-cpu-%", NAN) : NAN;
}

/*
 * What others had of the CPUs, in per cent. Where that cannot be told from CPUs that the cell's own
 * sleep left idle, the other columns tell: they were measured in the same rounds.
 */
static double foreign_of(const struct rundata *d, const struct rundata_cell *c, bool *neighbours) {
  double own = own_foreign(d, c), sum = 0;
  size_t n = 0;
  *neighbours = isnan(own);
  for (size_t i = 0; *neighbours && i < d->columns.count; i++) {
    double other = own_foreign(d, rundata_cell(d, c->row, i, c->threads));
    n += !isnan(other);
    sum += isnan(other) ? 0 : other;
  }
  return !*neighbours ? own : n > 0 ? sum / (double)n : 0;
}

/* The figures are not the strategy's: says so. */
static bool doubtful(struct contention *c, const struct scene *s) {
  bool by_others, alone_by_others;
  double foreign = foreign_of(s->d, s->cell, &by_others);
  double alone = foreign_of(s->d, s->one_cell, &alone_by_others);
  if (foreign > CONTENTION_MOST_FOREIGN)
    say(c, CONTENTION_UNKNOWN,
        "not decided: others had %.0f %% of the CPU time%s; a quiet machine would decide it",
        foreign, by_others ? " beside other strategies of these rounds" : "");
  else if (alone > CONTENTION_MOST_FOREIGN)
    say(c, CONTENTION_UNKNOWN,
        "not decided: others had %.0f %% of the CPU time of one thread, which all is compared "
        "with; a quiet machine would decide it",
        alone);
  else if (s->now.remainder > MOST_REMAINDER)
    say(c, CONTENTION_UNKNOWN, "not decided: no state claims %.0f %% of the thread time",
        100 * s->now.remainder);
  else
    return false;
  return true;
}

/* The ratio of the two cells' ns/op by Hodges and Lehmann, with its interval. */
static bool compare_threads(struct contention *c, const struct scene *s) {
  struct analysis_options o = {.alpha = 0.05, .confidence = 0.95, .ci = true};
  struct series one = rundata_series(rundata_unit(s->d, s->one_cell, "ns/op"));
  struct series now = rundata_series(rundata_unit(s->d, s->cell, "ns/op"));
  struct comparison ratio;
  struct stats_work *work = stats_work_new();
  char why[200];
  bool ok = work && analysis_compare(work, &now, &one, &o, &ratio, why, sizeof why);
  if (ok) {
    double m = s->threads < s->cpus ? s->threads : s->cpus;
    c->efficiency = (1 + ratio.delta.center) / m;
    c->low = (1 + fmax(-1, ratio.delta.lo)) / m;
    c->high = (1 + ratio.delta.hi) / m;
  }
  stats_work_free(work);
  return ok;
}

static void say_open(struct contention *c) {
  say(c, CONTENTION_UNKNOWN,
      "not decided: an efficiency of %.2f is called scaling, and more rounds would tell on which "
      "side it lies",
      CONTENTION_SCALES_AT);
  snprintf(c->own, sizeof c->own, "%.2f to %.2f", c->low, c->high);
}

static bool judge(struct contention *c, const struct scene *s, size_t row, size_t column) {
  double alone;
  bool ok = true;
  if (!compare_threads(c, s))
    return false;
  if (!judge_work(c, s->d, row, column, s->cell->threads, s->cpus, &s->one, &s->now))
    return false;
  if (doubtful(c, s))
    return true;
  if (!isfinite(c->high))
    say(c, CONTENTION_UNKNOWN,
        "not decided: too few rounds at one thread or here for a 95 %% interval, six are the "
        "least");
  else if (c->low < CONTENTION_SCALES_AT && c->high >= CONTENTION_SCALES_AT)
    say_open(c);
  else if (c->efficiency >= CONTENTION_SCALES_AT)
    say_scales(c, s);
  else {
    say_limit(c, s);
    if (c->verdict != CONTENTION_UNKNOWN && crowded(s, row, column, &alone, &ok)) {
      char limit[sizeof c->text];
      memcpy(limit, c->text, sizeof limit);
      say(c, CONTENTION_CROWDED,
          "limited by oversubscription: at %u thread%s its efficiency is %.2f, at %u it is "
          "%.2f; %.400s",
          s->cpus, plural(s->cpus), alone, s->threads, c->efficiency, limit);
    } else if (c->verdict != CONTENTION_UNKNOWN) {
      add(c, " (efficiency %.2f)", c->efficiency);
    }
  }
  return ok;
}

bool contention_judge(struct contention *c, const struct rundata *d, size_t row, size_t column,
                      unsigned threads, unsigned cpus) {
  *c = (struct contention){
      .efficiency = NAN, .low = NAN, .high = NAN, .slower = NAN, .slower_machine = NAN};
  struct scene s = {.d = d, .threads = threads, .cpus = cpus ? cpus : 1};
  s.one_cell = rundata_cell(d, row, column, 1);
  s.cell = rundata_cell(d, row, column, threads);
  if (s.cell)
    s.threads = s.cell->team;
  if (!spent_of(&s.one, d, s.one_cell, s.cpus) || !spent_of(&s.now, d, s.cell, s.cpus))
    return false;
  if (s.cell && rundata_has_bound(rundata_unit(d, s.cell, "ns/op")))
    say(c, CONTENTION_BOUND,
        "not decided: it did not finish in its time limit; fewer threads or more CPUs would decide "
        "it");
  else if (!s.now.known)
    say(c, CONTENTION_UNKNOWN, "not decided: no states were measured");
  else if (s.cell->team == 1)
    say(c, CONTENTION_UNKNOWN, "one thread: nothing to share");
  else if (!s.one.known)
    say(c, CONTENTION_UNKNOWN,
        "not decided: there is no sample with one thread to compare with (a sweep, or --cpus "
        "1,%u)",
        threads);
  else
    return judge(c, &s, row, column);
  return true;
}

double contention_ceiling(const struct rundata *d, size_t row, unsigned threads) {
  const struct rundata_cell *c = rundata_cell(d, row, 0, threads);
  double cpu = median_or(d, c, "cpu-ns/op", NAN), heap = median_or(d, c, "heap-ns/op", NAN);
  double misses = median_or(d, c, "misses/op", 0), allocs = median_or(d, c, "allocs/op", 0);
  double others = median_or(d, c, "lockspin-ns/op", 0) + median_or(d, c, "cas-ns/op", 0) +
                  median_or(d, c, "scan-ns/op", 0);
  if (!isfinite(cpu) || !isfinite(heap) || cpu <= 0)
    return NAN;
  return ((allocs > 0 ? heap * fmin(1, misses / allocs) : 0) + others) / cpu;
}

/* "X:inject=500:Y" is "X:Y" with 500. false: it is not of this form. */
static bool without_inject(const char *name, char *plain, size_t size, double *delay_ns) {
  const char *at = strstr(name, ":inject=");
  char *end;
  if (!at)
    return false;
  *delay_ns = strtod(at + strlen(":inject="), &end);
  snprintf(plain, size, "%.*s%s", (int)(at - name), name, end);
  return *delay_ns > 0;
}

bool contention_sensitivity(struct sensitivity *s, const struct rundata *d, size_t row,
                            size_t column, unsigned threads) {
  char plain[200];
  struct why w;
  struct error e;
  *s = (struct sensitivity){.without = d->columns.count};
  if (!without_inject(d->columns.names[column], plain, sizeof plain, &s->delay_ns))
    return false;
  for (size_t i = 0; i < d->columns.count; i++)
    if (strcmp(d->columns.names[i], plain) == 0)
      s->without = i;
  const struct rundata_cell *a = rundata_cell(d, row, s->without, threads);
  const struct rundata_cell *b = rundata_cell(d, row, column, threads);
  double holds = median_or(d, b, "lockacq/op", 0);
  bool beside;
  if (!a || !b || holds <= 0 || !why_make_total(&w, d, a, b, &e))
    return false;
  s->foreign = fmax(foreign_of(d, a, &beside), foreign_of(d, b, &beside));
  double per_percent = w.a / 100 / (holds * s->delay_ns);
  s->slope = w.diff * per_percent;
  s->lo = w.lo * per_percent;
  s->hi = w.hi * per_percent;
  return true;
}
