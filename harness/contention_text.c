/*
 * `poolbench contention RUN`: the tables of states and counters, the verdicts below them. See
 * contention.h for what is computed; here it is only laid out.
 */
#include "harness/contention.h"
#include "harness/plural.h"
#include "harness/report.h"
#include "harness/scaling.h"
#include "harness/selection.h"
#include "harness/wrap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SENSITIVITY = 800 }; /* bytes of the sentence on a planted delay */

/* Gets that found an object in a place of the thread's own: see local_hits. */
#define LOCAL_HITS "local hits"

/* What is counted, below the states. hidden where it is 0 everywhere. */
static const struct counter_line {
  const char *name, *unit, *per; /* unit, or unit / per */
  enum grid_kind kind;
  bool percent; /* of per */
} counter_lines[] = {
    {"of lock: hand-off", "handoff-ns/op", NULL, GRID_NS, false},
    {"of CPU: page faults", "fault-ns/op", NULL, GRID_NS, false},
    {"allocator may be off by", "heap-error-ns/op", NULL, GRID_NS, false},
    {"lock acquisitions", "lockacq/op", NULL, GRID_COUNT, false},
    {"contended", "contended/op", "lockacq/op", GRID_PERCENT, true},
    {"wait, each contended", "lockwait-ns/op", "contended/op", GRID_NS, false},
    {"hold, each", "lockhold-ns/op", "lockacq/op", GRID_NS, false},
    {"owner switches", "owner-switches/op", NULL, GRID_COUNT, false},
    {"CAS retries", "cas-retries/op", NULL, GRID_COUNT, false},
    {"steals", "steals/op", NULL, GRID_COUNT, false},
    {"shards scanned", "scans/op", NULL, GRID_COUNT, false},
    {LOCAL_HITS, "gets/op", NULL, GRID_COUNT, false},
    {"sequences restarted", "restarts/op", NULL, GRID_COUNT, false},
    {"misses", "misses/op", NULL, GRID_COUNT, false},
    {"context switches", "ctx-switches/op", NULL, GRID_COUNT, false},
};
enum { COUNTER_LINES = sizeof counter_lines / sizeof counter_lines[0] };

/* One table: a case at a thread count, its strategies side by side, as many as fit a page. */
struct view {
  const struct rundata *d;
  size_t row, columns;
  size_t first, end; /* the columns of the table under way */
  unsigned threads, cpus;
  struct budget_set *sets; /* one a column; empty where there are no states */
  struct budget_sample *centers;
  struct contention *judged; /* where there are states */
};

static void view_free(struct view *v) {
  for (size_t i = 0; v->sets && i < v->columns; i++)
    budgets_free(&v->sets[i]);
  free(v->sets);
  free(v->centers);
  free(v->judged);
}

/* *any: some column has states. */
static bool view_load(struct view *v, const struct rundata *d, size_t row, unsigned threads,
                      unsigned cpus, bool *any) {
  *v = (struct view){
      .d = d, .row = row, .threads = threads, .cpus = cpus, .columns = d->columns.count};
  v->end = v->columns;
  v->sets = calloc(v->columns, sizeof *v->sets);
  v->centers = calloc(v->columns, sizeof *v->centers);
  v->judged = calloc(v->columns, sizeof *v->judged);
  *any = false;
  if (!v->sets || !v->centers || !v->judged)
    return false;
  for (size_t i = 0; i < v->columns; i++) {
    if (!budgets_load(&v->sets[i], d, rundata_cell(d, row, i, threads)) ||
        (v->sets[i].n > 0 && !budgets_center(&v->sets[i], &v->centers[i])) ||
        !contention_judge(&v->judged[i], d, row, i, threads, cpus))
      return false;
    *any = *any || v->sets[i].n > 0;
  }
  return true;
}

/* "12.3µs 34 % ±2": the bounds as percentage points of ns/op, the farther one. */
static bool add_state(const struct view *v, size_t column, enum budget_state state,
                      struct grid *g) {
  const struct budget_sample *c = &v->centers[column];
  char value[GRID_VALUE], bound[24] = "";
  double lo, hi, x = c->state[state];
  if (!budgets_interval(&v->sets[column], state, &lo, &hi))
    return false;
  grid_value(GRID_NS, x, value);
  double far = 100 * fmax(hi - x, x - lo) / c->total, share = 100 * x / c->total;
  if (isfinite(far))
    snprintf(bound, sizeof bound, " ±%.1f", fmax(0, far));
  /* What rounds to nothing has no sign. */
  return grid_add(g, "%s %5.1f %%%s", value, fabs(share) < 0.05 ? 0 : share, bound);
}

static bool is_nothing(const struct view *v, enum budget_state state) {
  for (size_t i = 0; i < v->columns; i++)
    if (fabs(v->centers[i].state[state]) > 0.0005 * v->centers[i].total)
      return false;
  return true;
}

static bool add_states(const struct view *v, struct grid *g) {
  bool ok = true;
  for (int state = 0; ok && state < BUDGET_STATES; state++) {
    /* The remainder is shown even when it is nothing: that it is, is the point. */
    if (state != BUDGET_REMAINDER && is_nothing(v, (enum budget_state)state))
      continue;
    ok = grid_add(g, "%s", budget_name((enum budget_state)state, false));
    for (size_t i = v->first; ok && i < v->end; i++)
      if (v->sets[i].n > 0)
        ok = add_state(v, i, (enum budget_state)state, g);
  }
  ok = ok && grid_add(g, "= ns/op");
  for (size_t i = v->first; ok && i < v->end; i++) {
    char value[GRID_VALUE];
    grid_value(GRID_NS, v->centers[i].total, value);
    if (v->sets[i].n > 0)
      ok = grid_add(g, "%s 100.0 %%", value);
  }
  return ok;
}

/*
 * Work beyond that of one thread, or what of it threads have that share nothing, of each thread as
 * the states are. NAN: not known.
 */
static double slower(const struct view *v, size_t column, bool machine) {
  const struct contention *c = &v->judged[column];
  return (machine ? c->slower_machine : c->slower) / v->sets[column].threads;
}

static bool add_slower(const struct view *v, bool machine, struct grid *g) {
  bool any = false, ok;
  for (size_t i = 0; i < v->columns; i++)
    any = any || (v->sets[i].n > 0 && isfinite(slower(v, i, machine)));
  if (!any)
    return true;
  ok = grid_add(g, "%s", machine ? "  of that without sharing" : "of work: slower execution");
  for (size_t i = v->first; ok && i < v->end; i++) {
    char text[GRID_VALUE] = "-";
    if (v->sets[i].n == 0)
      continue;
    if (isfinite(slower(v, i, machine)))
      grid_value(GRID_NS, slower(v, i, machine), text);
    ok = grid_add(g, "%s", text);
  }
  return ok;
}

/*
 * gets less misses less steals, of a strategy that searches the shards of others: one that never
 * looked at any (scans and steals are 0) is taken for one without shards, and is NAN.
 */
static double local_hits(const struct rundata *d, const struct rundata_cell *c) {
  double gets, misses, steals, scans;
  if (!rundata_median(d, c, "gets/op", &gets) || !rundata_median(d, c, "misses/op", &misses) ||
      !rundata_median(d, c, "steals/op", &steals) || !rundata_median(d, c, "scans/op", &scans) ||
      (scans <= 0 && steals <= 0))
    return NAN;
  return fmax(0, gets - misses - steals); /* medians of three units may not add up */
}

/* NAN when the cell does not have it. Times are shared by the threads, as the states are. */
static double counter_value(const struct view *v, size_t column, const struct counter_line *l) {
  double value, per;
  const struct rundata_cell *c = rundata_cell(v->d, v->row, column, v->threads);
  if (c && strcmp(l->name, LOCAL_HITS) == 0)
    return local_hits(v->d, c);
  if (!c || !rundata_median(v->d, c, l->unit, &value))
    return NAN;
  if (!l->per)
    return l->kind == GRID_NS ? value / c->team : value;
  return rundata_median(v->d, c, l->per, &per) && per > 0 ? value / per * (l->percent ? 100 : 1)
                                                          : NAN;
}

static bool add_counters(const struct view *v, struct grid *g) {
  bool ok = true;
  for (size_t k = 0; ok && k < COUNTER_LINES; k++) {
    const struct counter_line *l = &counter_lines[k];
    bool any = false;
    for (size_t i = 0; i < v->columns; i++)
      any = any || (v->sets[i].n > 0 && counter_value(v, i, l) > 0);
    if (!any)
      continue;
    ok = grid_add(g, "%s", l->name);
    for (size_t i = v->first; ok && i < v->end; i++) {
      char text[GRID_VALUE] = "-";
      double value = counter_value(v, i, l);
      if (v->sets[i].n == 0)
        continue;
      if (isfinite(value))
        grid_value(l->kind, value, text);
      ok = grid_add(g, "%s", text);
    }
  }
  return ok;
}

static bool make_table(const struct view *v, struct grid *g) {
  size_t shown = 1;
  for (size_t i = v->first; i < v->end; i++)
    shown += v->sets[i].n > 0;
  grid_init(g, shown, 1);
  bool ok = grid_add(g, "per op");
  for (size_t i = v->first; ok && i < v->end; i++)
    if (v->sets[i].n > 0)
      ok = grid_add(g, "%s", v->d->columns.names[i]);
  return ok && add_states(v, g) && add_slower(v, false, g) && add_slower(v, true, g) &&
         add_counters(v, g);
}

/* Strategies that do not fit beside the others come in a table below. */
static bool print_tables(struct view *v) {
  static const char indent[] = "  ";
  bool ok = true;
  for (v->first = 0; ok && v->first < v->columns; v->first = v->end) {
    struct grid g;
    v->end = v->columns;
    while ((ok = make_table(v, &g)) && v->end - v->first > 1 &&
           strlen(indent) + grid_width(&g) > GRID_PAGE) {
      grid_free(&g);
      v->end--;
    }
    if (ok && g.columns > 1) {
      grid_print(&g, indent, stdout);
      putchar('\n');
    }
    grid_free(&g);
  }
  return ok;
}

/* false for a column without a planted delay. `where`: the case, in a list of several. */
static bool sensitivity_text(const struct rundata *d, size_t row, size_t column, unsigned threads,
                             unsigned cpus, const char *tick, const char *where,
                             char text[SENSITIVITY]) {
  struct sensitivity s;
  char bounds[60] = "", others[80] = "";
  if (!contention_sensitivity(&s, d, row, column, threads))
    return false;
  unsigned team = rundata_cell(d, row, column, threads)->team, m = team < cpus ? team : cpus;
  if (isfinite(s.lo) && isfinite(s.hi))
    snprintf(bounds, sizeof bounds, " (%.2f to %.2f)", s.lo, s.hi);
  if (s.foreign > CONTENTION_MOST_FOREIGN)
    snprintf(others, sizeof others, "; others had %.0f %% of the CPU time, which is in it",
             s.foreign);
  snprintf(text, SENSITIVITY,
           "%s%s%s%s: of %.0f ns more under its lock a share of %.2f comes out in ns/op%s; 1 is a "
           "saturated lock, %.2f one that is not%s.",
           tick, d->columns.names[s.without], tick, where, s.delay_ns, s.slope, bounds,
           1.0 / (m ? m : 1), others);
  return true;
}

/* What needs no states. false: nothing of it. */
static bool print_planted(const struct view *v, size_t column) {
  char text[SENSITIVITY];
  bool planted =
      v->threads > 1 && sensitivity_text(v->d, v->row, column, v->threads, v->cpus, "", "", text);
  if (planted)
    wrap_printf(stdout, "  %s\n", text);
  return planted;
}

static void print_verdicts(const struct view *v) {
  for (size_t i = 0; i < v->columns && v->threads > 1; i++) {
    const struct contention *c = &v->judged[i];
    if (v->sets[i].n > 0 || c->verdict == CONTENTION_BOUND)
      wrap_printf(stdout, "  %s: %s%s%s%s.\n", v->d->columns.names[i], c->text, *c->own ? " (" : "",
                  c->own, *c->own ? ")" : "");
    print_planted(v, i);
  }
  double ceiling = contention_ceiling(v->d, v->row, v->threads);
  if (isfinite(ceiling))
    wrap_printf(stdout,
                "  ceiling: %.1f %% of the CPU time of %s is all that any strategy could remove "
                "(allocator time of its misses, waits, retries, searches).\n",
                100 * ceiling, v->d->columns.names[0]);
}

static bool print_view(struct view *v, bool first) {
  wrap_printf(stdout, "%s%s, %u thread%s on %u CPU%s: where thread time goes, and counts\n",
              first ? "" : "\n", v->d->rows.names[v->row], v->threads, plural(v->threads), v->cpus,
              plural(v->cpus));
  if (!print_tables(v))
    return false;
  print_verdicts(v);
  return true;
}

static bool is_planted(const struct view *v) {
  struct sensitivity s;
  for (size_t i = 0; i < v->columns; i++)
    if (contention_sensitivity(&s, v->d, v->row, i, v->threads))
      return v->threads > 1;
  return false;
}

/* For cells without states. false: nothing was planted. */
static bool print_planted_alone(const struct view *v, bool first) {
  if (!is_planted(v))
    return false;
  wrap_printf(stdout, "%s%s, %u threads on %u CPU%s: no states were measured\n", first ? "" : "\n",
              v->d->rows.names[v->row], v->threads, v->cpus, plural(v->cpus));
  for (size_t i = 0; i < v->columns; i++)
    print_planted(v, i);
  return true;
}

static bool print_states(const struct selection *s, const struct rundata *d, struct error *e) {
  bool printed = false;
  unsigned cpus = (unsigned)rundata_fact_number(d, "binding.cpus", 0);
  for (size_t row = 0; row < d->rows.count; row++)
    for (size_t t = 0; t < d->count_count; t++) {
      struct view v;
      bool any = false;
      if ((s->threads && d->counts[t] != s->threads) || !selection_has_case(s, d->rows.names[row]))
        continue;
      bool ok = view_load(&v, d, row, d->counts[t], cpus, &any);
      if (ok && any) {
        ok = print_view(&v, !printed);
        printed = true;
      } else if (ok) {
        printed = print_planted_alone(&v, !printed) || printed;
      }
      view_free(&v);
      if (!ok)
        return error_set(e, EXIT_INPUT, "out of memory");
    }
  return printed || error_set(e, EXIT_NOTHING,
                              "contention: no cell of this run has states with these options (an "
                              "older run, states=off, or a kernel without schedstat)");
}

/* Growth with threads is beside the point where one thread count was asked for. */
static bool contention_run(const struct selection *s, const struct rundata *d, struct error *e) {
  if (!print_states(s, d, e))
    return false;
  if (s->threads)
    return true;
  putchar('\n');
  return scaling_print(d, s->part, 0, stdout, e);
}

static bool judged(const struct report *r, size_t row, size_t column, struct contention *c) {
  const struct rundata_cell *cell = rundata_headline(&r->data, row, column);
  return cell && cell->threads > 1 &&
         contention_judge(c, &r->data, row, column, cell->threads, (unsigned)r->facts.cpus) &&
         (isfinite(c->efficiency) || c->verdict == CONTENTION_BOUND);
}

/* Has it states, but no one-thread sample that they could be compared with? */
static bool lacks_base(const struct report *r, size_t row) {
  const struct rundata *d = &r->data;
  for (size_t i = 0; i < d->columns.count; i++) {
    const struct rundata_cell *c = rundata_headline(d, row, i);
    if (c && c->threads > 1 && rundata_unit(d, c, "work-ns/op") && !rundata_cell(d, row, i, 1))
      return true;
  }
  return false;
}

#define CASES_SHOWN 4

/* One line for all such cases: a sweep that was thinned leaves out whole ones. */
static void report_without_base(const struct report *r, const char *bullet, FILE *out) {
  const struct rundata *d = &r->data;
  size_t n = 0;
  for (size_t row = 0; row < d->rows.count; row++)
    if (lacks_base(r, row) && n++ < CASES_SHOWN)
      fprintf(out, "%s%s", n > 1 ? ", " : bullet, d->rows.names[row]);
  if (n > CASES_SHOWN)
    fprintf(out, " and %zu more", n - CASES_SHOWN);
  if (n > 0)
    fprintf(
        out,
        ": not decided: there %s no sample%s with one thread to compare with (--cpus 1,%u, or a "
        "longer --budget)\n",
        n > 1 ? "are" : "is", n > 1 ? "s" : "", d->headline);
}

/* Does a column before this one have the very sentence? */
static bool said_before(const struct report *r, size_t row, size_t column, const char *text) {
  struct contention c;
  for (size_t i = 0; i < column; i++)
    if (judged(r, row, i, &c) && strcmp(c.text, text) == 0)
      return true;
  return false;
}

/* The column's sentence, with all strategies of the case that have it. */
static void write_verdict(const struct report *r, size_t row, size_t column, const char *tick,
                          const char *bullet, FILE *out) {
  const struct rundata *d = &r->data;
  struct contention c, other;
  if (!judged(r, row, column, &c) || said_before(r, row, column, c.text))
    return;
  fputs(bullet, out);
  for (size_t i = column; i < d->columns.count; i++)
    if (judged(r, row, i, &other) && strcmp(other.text, c.text) == 0)
      fprintf(out, "%s%s%s%s%s%s%s", i > column ? ", " : "", tick, d->columns.names[i], tick,
              *other.own ? " (" : "", other.own, *other.own ? ")" : "");
  fprintf(out, " %s: %s.\n", d->rows.names[row], c.text);
}

/*
 * A line a strategy and case; strategies of which the same is to be said share one. Planted delays
 * have one more.
 */
void report_verdicts(const struct report *r, const char *tick, const char *bullet, FILE *out) {
  const struct rundata *d = &r->data;
  char where[300], text[SENSITIVITY];
  for (size_t row = 0; row < d->rows.count; row++)
    for (size_t column = 0; column < d->columns.count; column++) {
      const struct rundata_cell *c = rundata_headline(d, row, column);
      write_verdict(r, row, column, tick, bullet, out);
      snprintf(where, sizeof where, " %s", d->rows.names[row]);
      if (c && c->threads > 1 &&
          sensitivity_text(d, row, column, c->threads, (unsigned)r->facts.cpus, tick, where, text))
        fprintf(out, "%s%s\n", bullet, text);
    }
  report_without_base(r, bullet, out);
}

#define FORM "poolbench contention RUN [--case PART] [--threads N]"

int contention_main(int argc, char **argv) {
  static const struct selection_command command = {
      .name = "contention",
      .form = FORM,
      .words = 1,
      .missing = "which run? poolbench contention results/latest",
      .help =
          "usage: " FORM "\n"
          "\n"
          "Where the time of a run's threads goes, case by case and thread count by thread count:\n"
          "the states of docs/contention.md in ns and per cent, which add up to ns/op, with the\n"
          "95 % interval in points; counters; a verdict on each strategy with the figures it "
          "rests\n"
          "on. Then how throughput grows with threads, as poolbench scaling has it.\n"
          "  --case PART    only cases whose name holds PART\n"
          "  --threads N    only this thread count, and nothing on growth\n",
      .run = contention_run,
  };
  return selection_main(&command, argc, argv);
}
