/* The sentences of a report; see report.h. Every figure comes from the verdicts or run.json. */
#include "harness/plural.h"
#include "harness/report.h"
#include "harness/sample.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* How a unit's outcomes are said: "is faster than", "allocates less than". */
static const struct {
  const char *title, *better, *worse;
} words[VERDICT_UNITS] = {
    [VERDICT_NS] = {"Time per op", "faster", "slower"},
    [VERDICT_BYTES] = {"Bytes allocated per op", "fewer", "more"},
    [VERDICT_ALLOCS] = {"Allocations per op", "fewer", "more"},
};

/* "-31.2 %", or "-8.1 % to -31.2 %" with the smaller change first. */
static void range_text(double low, double high, char *out, size_t size) {
  double near = fabs(low) < fabs(high) ? low : high, far = near == low ? high : low;
  if (fabs(near - far) < 0.0005)
    snprintf(out, size, "%+.1f %%", 100 * far);
  else
    snprintf(out, size, "%+.1f %% to %+.1f %%", 100 * near, 100 * far);
}

/* ", undecided in 2" and the like, where the number is not 0. */
static void part(FILE *out, const char *what, size_t n) {
  if (n > 0)
    fprintf(out, ", %s in %zu", what, n);
}

static void in_all(FILE *out, const char *what, size_t rows) {
  fprintf(out, " %s", what);
  if (rows > 1)
    fprintf(out, " in all %zu", rows);
}

static void clause(const struct report *r, enum verdict_unit unit, unsigned column,
                   const char *tick, FILE *out) {
  struct verdict_tally t = verdicts_tally(&r->verdicts, unit, column);
  if (t.rows == 0)
    return;
  char range[64];
  fprintf(out, " %s%s%s", tick, r->data.columns.names[column], tick);
  if (t.better) {
    range_text(t.best_low, t.best_high, range, sizeof range);
    fprintf(out, " %s in %zu of %zu (%s)", words[unit].better, t.better, t.rows, range);
  }
  if (t.worse) {
    range_text(t.worst_low, t.worst_high, range, sizeof range);
    fprintf(out, "%s %s in %zu of %zu (%s)", t.better ? "," : "", words[unit].worse, t.worse,
            t.rows, range);
  }
  bool any = t.better || t.worse;
  if (!any && t.same == t.rows)
    in_all(out, "the same", t.rows);
  else if (!any && t.undecided == t.rows)
    in_all(out, "undecided", t.rows);
  else {
    part(out, "the same", t.same);
    part(out, "undecided", t.undecided);
  }
  fputc(';', out);
}

void report_findings(const struct report *r, const char *tick, const char *bullet, FILE *out) {
  for (int u = 0; u < VERDICT_UNITS; u++) {
    if (r->verdicts.counts[u] == 0)
      continue;
    char *text = NULL;
    size_t length = 0;
    FILE *memory = open_memstream(&text, &length);
    if (!memory)
      return;
    for (unsigned column = 1; column < r->data.columns.count; column++)
      clause(r, (enum verdict_unit)u, column, tick, memory);
    fclose(memory);
    /* The last clause ends the sentence. */
    if (length > 0)
      fprintf(out, "%s%s against %s%s%s:%.*s.\n", bullet, words[u].title, tick,
              r->data.columns.names[0], tick, (int)length - 1, text);
    free(text);
  }
}

static void bound_text(double bound, char *out, size_t size) {
  if (isfinite(bound))
    snprintf(out, size, "%+.1f %%", 100 * bound);
  else
    snprintf(out, size, "unbounded");
}

static void interval_text(double lo, double hi, char *out, size_t size) {
  char low[32], high[32];
  bound_text(lo, low, sizeof low);
  bound_text(hi, high, sizeof high);
  if (isfinite(lo) || isfinite(hi))
    snprintf(out, size, "%s to %s", low, high);
  else
    snprintf(out, size, "so few rounds give no interval");
}

/*
 * Few rounds in a large family: then not even the clearest difference survives the correction, and
 * that is the thing to say.
 */
static void hopeless(const struct report *r, unsigned family, const char *bullet, FILE *out) {
  const struct verdict_family *f = &r->verdicts.families[family];
  double least = 1;
  for (size_t i = 0; i < r->verdicts.counts[VERDICT_NS]; i++)
    if (r->verdicts.rows[VERDICT_NS][i].family == family)
      least = fmin(least, r->verdicts.rows[VERDICT_NS][i].comparison.min_p);
  if (least * (double)f->rows <= r->verdicts.alpha)
    return;
  struct analysis_options o = {
      .alpha = r->verdicts.alpha, .confidence = r->verdicts.confidence, .correct = CORRECT_HOLM};
  size_t needed = analysis_gate_samples(f->rows, &o);
  bool several = r->verdicts.family_count > 1;
  fprintf(out,
          "%sno row of ns/op%s%s could be decided, however large its difference: the smallest p of "
          "so few rounds, %.2g, times %zu row%s is above %.2f",
          bullet, several ? " of workload " : "", several ? f->workload : "", least, f->rows,
          plural((double)f->rows), r->verdicts.alpha);
  if (needed)
    fprintf(out, "; %zu rounds are the least (--rounds %zu)", needed, needed);
  fputc('\n', out);
}

/* More rounds do not help a cell that does not finish, and its delta is no estimate. */
static void undecided_row(const struct report *r, const struct row_verdict *v, const char *tick,
                          const char *bullet, FILE *out) {
  const struct comparison *c = &v->comparison;
  const struct rundata_cell *cell = rundata_headline(&r->data, v->row, v->column);
  char between[80], rounds[40] = "more than 1000";
  fprintf(out, "%s%s%s%s %s%s%s: ", bullet, tick, r->data.rows.names[v->row], tick, tick,
          r->data.columns.names[v->column], tick);
  if (cell && rundata_has_bound(rundata_unit(&r->data, cell, "ns/op"))) {
    fprintf(out, "> %+.1f %%, as it did not finish in its time limit; more rounds do not help\n",
            100 * c->delta.center);
    return;
  }
  interval_text(c->delta.lo, c->delta.hi, between, sizeof between);
  fprintf(out, "%+.1f %% (%s)", 100 * c->delta.center, between);
  if (isfinite(c->smallest_effect))
    fprintf(out, "; changes below %.1f %% are out of this run's sight", 100 * c->smallest_effect);
  if (c->needed)
    snprintf(rounds, sizeof rounds, "%zu", c->needed);
  fprintf(out, "; a change of %.0f %% would take %s rounds", 100 * r->verdicts.margin, rounds);
  fputc('\n', out);
}

#define UNDECIDED_SHOWN 8

void report_undecided(const struct report *r, const char *tick, const char *bullet, FILE *out) {
  size_t shown = 0, total = 0;
  for (unsigned f = 0; f < r->verdicts.family_count; f++)
    hopeless(r, f, bullet, out);
  for (size_t i = 0; i < r->verdicts.counts[VERDICT_NS]; i++) {
    const struct row_verdict *v = &r->verdicts.rows[VERDICT_NS][i];
    const struct comparison *c = &v->comparison;
    if (c->verdict != VERDICT_UNDECIDED || total++ >= UNDECIDED_SHOWN)
      continue;
    undecided_row(r, v, tick, bullet, out);
    shown++;
  }
  if (total > shown)
    fprintf(out, "%sand %zu more\n", bullet, total - shown);
}

static void flags(const struct report *r, const char *tick, const char *bullet, FILE *out) {
  static const struct {
    unsigned flag;
    const char *meaning;
  } all[] = {
      {SAMPLE_BOUND, "did not finish in their limit: a lower bound, not a time"},
      {SAMPLE_FOREIGN_CPU, "were measured while other processes used more than 5 % of the CPU"},
      {SAMPLE_THROTTLED, "were throttled by the cgroup's quota"},
      {SAMPLE_NOT_STEADY, "began before misses per op had settled"},
      {SAMPLE_HOST_SPEED, "ran while the host was more than 5 % off its median speed"},
      {SAMPLE_FEW_OPS, "had too few ops for the last ones not to weigh"},
  };
  for (size_t a = 0; a < sizeof all / sizeof all[0]; a++) {
    size_t samples = 0, cells = 0;
    const char *name = NULL;
    for (size_t i = 0; i < r->data.flag_count; i++)
      if (r->data.flags[i].flag == all[a].flag) {
        samples += r->data.flags[i].count;
        name = cells++ ? name : r->data.cells[r->data.flags[i].cell].name;
      }
    if (samples == 0)
      continue;
    fprintf(out, "%s%s: %zu sample%s in %zu cell%s (%s%s%s%s) %s; nothing was removed\n", bullet,
            rundata_flag_name(all[a].flag), samples, plural((double)samples), cells,
            plural((double)cells), tick, name, tick, cells == 1 ? "" : " ...", all[a].meaning);
  }
}

/* At most this many lines of one kind; the rest is in run.json. */
#define LISTED 10

static const char *member(const json_t *object, const char *key) {
  const char *text = json_string_value(json_object_get(object, key));
  return text ? text : "";
}

/* As everywhere else in the report: without what Go's format begins names with. */
static const char *cell_name(const json_t *item) {
  const char *name = member(item, "name");
  return strncmp(name, "Benchmark", 9) == 0 ? name + 9 : name;
}

static void more(size_t n, const char *what, const char *bullet, FILE *out) {
  if (n > LISTED)
    fprintf(out, "%sand %zu more %s (run.json)\n", bullet, n - LISTED, what);
}

static void failures(const struct report *r, const char *tick, const char *bullet, FILE *out) {
  const json_t *list = rundata_fact(&r->data, "failed"), *item;
  size_t i;
  json_array_foreach(list, i, item) if (i < LISTED)
      fprintf(out, "%sfailed: %s%s%s in round %lld: %s, %s\n", bullet, tick, cell_name(item), tick,
              (long long)json_integer_value(json_object_get(item, "round")), member(item, "what"),
              member(item, "why"));
  more(json_array_size(list), "failed samples", bullet, out);
}

/* The same strategy left out for the same reason. */
static bool same_skip(const json_t *a, const json_t *b) {
  return strcmp(member(a, "strategy"), member(b, "strategy")) == 0 &&
         strcmp(member(a, "why"), member(b, "why")) == 0;
}

/* The first case that a strategy was left out of speaks for the others, as when the run began. */
static void skips(const struct report *r, const char *tick, const char *bullet, FILE *out) {
  const json_t *list = rundata_fact(&r->data, "plan.skipped"), *item, *other;
  size_t i, k, lines = 0;
  json_array_foreach(list, i, item) {
    size_t before = 0, others = 0;
    json_array_foreach(list, k, other) {
      before += k < i && same_skip(item, other);
      others += k > i && same_skip(item, other);
    }
    if (before > 0 || lines++ >= LISTED)
      continue;
    fprintf(out, "%sskipped: %s%s%s", bullet, tick, member(item, "case"), tick);
    if (others > 0)
      fprintf(out, " and %zu more", others);
    fprintf(out, " under %s%s%s, %s\n", tick, member(item, "strategy"), tick, member(item, "why"));
  }
  more(lines, "skipped strategies", bullet, out);
}

static void notes(const struct report *r, const char *bullet, FILE *out) {
  const json_t *item;
  size_t i;
  json_array_foreach(rundata_fact(&r->data, "plan.notes"), i, item) if (json_is_string(item))
      fprintf(out, "%s%s\n", bullet, json_string_value(item));
}

/* Units that this machine cannot give: those with one reason share a line. */
static void missing(const struct report *r, const char *bullet, FILE *out) {
  json_t *all = (json_t *)rundata_fact(&r->data, "missing"), *reason, *other;
  const char *unit, *second;
  json_object_foreach(all, unit, reason) {
    bool first = true, is_first = true;
    json_object_foreach(all, second, other) {
      if (!json_equal(reason, other))
        continue;
      /* The first unit with this reason speaks for all of them. */
      if (first)
        is_first = strcmp(second, unit) == 0;
      if (!is_first)
        break;
      fprintf(out, "%s%s", first ? bullet : ", ", second);
      first = false;
    }
    if (is_first)
      fprintf(out, ": not measured, %s\n",
              json_is_string(reason) ? json_string_value(reason) : "for a reason not recorded");
  }
}

void report_caveats(const struct report *r, const char *tick, const char *bullet, FILE *out) {
  const struct rundata *d = &r->data;
  if (r->facts.cpus > 0 && d->headline > r->facts.cpus)
    fprintf(out,
            "%soversubscribed: %u threads on %.0f CPU%s; this shows what the strategies cost when "
            "threads wait for CPUs, not how they scale to %u CPUs\n",
            bullet, d->headline, r->facts.cpus, plural(r->facts.cpus), d->headline);
  if (d->partial)
    fprintf(out, "%sthe run was interrupted; its last round is incomplete\n", bullet);
  flags(r, tick, bullet, out);
  failures(r, tick, bullet, out);
  skips(r, tick, bullet, out);
  missing(r, bullet, out);
  const char *multiplexed = rundata_fact_text(&r->data, "facts." NOTE_MULTIPLEXED);
  if (multiplexed)
    fprintf(out, "%sevent counters took turns, %s\n", bullet, multiplexed);
  notes(r, bullet, out);
}

void report_time(double seconds, char *text, size_t size) {
  time_t t = (time_t)seconds;
  struct tm utc;
  if (seconds <= 0 || !gmtime_r(&t, &utc) || !strftime(text, size, "%Y-%m-%d %H:%M UTC", &utc))
    snprintf(text, size, "n/a");
}

/* Appends ` · text` when there is a text. */
static void add(char *caption, size_t size, const char *text) {
  size_t used = strlen(caption);
  if (text && *text)
    snprintf(caption + used, size - used, "%s%s", used ? " · " : "", text);
}

void report_caption(const struct report *r, char *text, size_t size) {
  char cpus[40] = "", id[60] = "", when[40] = "";
  if (r->facts.cpus > 0)
    snprintf(cpus, sizeof cpus, "%.0f CPU%s", r->facts.cpus, plural(r->facts.cpus));
  if (r->facts.id)
    snprintf(id, sizeof id, "run %s", r->facts.id);
  if (r->facts.started > 0)
    report_time(r->facts.started, when, sizeof when);
  *text = '\0';
  add(text, size, r->facts.host);
  add(text, size, r->facts.cpu_model);
  add(text, size, cpus);
  add(text, size, when);
  add(text, size, id);
}

const char *report_latency_remark(const struct report *r) {
  return r->facts.cpus > 0 && r->data.headline > r->facts.cpus
             ? "; with more threads than CPUs the tail is made of the scheduler's time slices"
             : "";
}
