/* Splitting a delta; see why.h. */
#include "harness/why.h"

#include "comparer/sort.h"
#include "harness/plural.h"
#include "harness/selection.h"
#include "harness/wrap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Parts below this much of the base are noise to a reader. */
#define SHORTEST_PERCENT 0.05

/* --- The split. */

/* The signed-rank interval of the differences; without enough of them unbounded. */
static bool interval(struct stats_work *work, const double *values, size_t n, double *lo,
                     double *hi) {
  struct stats_estimate e = {NAN, -INFINITY, INFINITY};
  if (n >= 2 && !stats_signed_rank_interval(work, values, n, 0.95, &e))
    return false;
  *lo = e.lo;
  *hi = e.hi;
  return true;
}

static double of_state(const struct budget_sample *s, int state) {
  return state < BUDGET_STATES ? s->state[state] : s->total;
}

static int by_size(const void *a, const void *b) {
  double x = fabs(((const struct why_part *)a)->diff), y = fabs(((const struct why_part *)b)->diff);
  return (x < y) - (x > y);
}

/* state = BUDGET_STATES stands for the whole. */
static bool paired_interval(struct stats_work *work, const struct budget_set *pairs, int state,
                            double *lo, double *hi) {
  double *values = malloc(pairs->n * sizeof *values);
  if (!values)
    return false;
  for (size_t i = 0; i < pairs->n; i++)
    values[i] = of_state(&pairs->samples[i], state);
  bool ok = interval(work, values, pairs->n, lo, hi);
  free(values);
  return ok;
}

static bool unpaired_interval(struct stats_work *work, const struct budget_set *a,
                              const struct budget_set *b, int state, double *lo, double *hi) {
  double *x = malloc(a->n * sizeof *x), *y = malloc(b->n * sizeof *y);
  struct stats_estimate e = {NAN, -INFINITY, INFINITY};
  bool ok = x && y;
  for (size_t i = 0; ok && i < a->n; i++)
    x[i] = of_state(&a->samples[i], state);
  for (size_t i = 0; ok && i < b->n; i++)
    y[i] = of_state(&b->samples[i], state);
  if (ok) {
    sort_doubles(x, a->n);
    sort_doubles(y, b->n);
    ok = stats_shift(work, x, a->n, y, b->n, 0.95, &e);
  }
  *lo = e.lo;
  *hi = e.hi;
  free(x);
  free(y);
  return ok;
}

struct sides {
  struct budget_set a, b, pairs;
};

static bool split(struct why *w, const struct sides *s) {
  struct budget_sample a, b, diff;
  struct stats_work *work = stats_work_new();
  bool paired = s->pairs.n >= WHY_FEWEST_PAIRS;
  bool ok = work && budgets_center(&s->a, &a) && budgets_center(&s->b, &b) &&
            (!paired || budgets_center(&s->pairs, &diff));
  w->common = s->pairs.n;
  w->rounds = paired ? s->pairs.n : 0;
  for (int k = 0; ok && k <= BUDGET_STATES; k++) {
    double lo = 0, hi = 0, to_percent = 100 / a.total;
    ok = paired ? paired_interval(work, &s->pairs, k, &lo, &hi)
                : unpaired_interval(work, &s->a, &s->b, k, &lo, &hi);
    double d = (paired ? of_state(&diff, k) : of_state(&b, k) - of_state(&a, k)) * to_percent;
    struct why_part part = {(enum budget_state)k, of_state(&a, k), of_state(&b, k), d,
                            lo * to_percent,      hi * to_percent};
    if (k < BUDGET_STATES) {
      w->parts[k] = part;
      continue;
    }
    w->a = part.a, w->b = part.b;
    w->diff = part.diff, w->lo = part.lo, w->hi = part.hi;
  }
  stats_work_free(work);
  if (ok)
    qsort(w->parts, BUDGET_STATES, sizeof *w->parts, by_size);
  return ok;
}

/* Why one of the two has no samples with states. */
static void explain(const struct rundata *d, const struct rundata_cell *a,
                    const struct rundata_cell *b, const struct sides *s, struct error *e) {
  const struct rundata_cell *c = s->a.n == 0 ? a : b;
  if (rundata_has_bound(rundata_unit(d, c, "ns/op")))
    error_set(e, EXIT_NOTHING,
              "%s did not finish in its time limit: a bound has no states (fewer threads, or "
              "--threads N)",
              d->columns.names[c->column]);
  else
    error_set(e, EXIT_NOTHING,
              "no states were measured (an older run, states=off, or a kernel "
              "without schedstat)");
}

typedef bool load_budgets(struct budget_set *b, const struct rundata *d,
                          const struct rundata_cell *c);

static bool make(struct why *w, const struct rundata *d, const struct rundata_cell *a,
                 const struct rundata_cell *b, unsigned cpus, load_budgets *load, struct error *e) {
  struct sides s = {0};
  *w = (struct why){.by_cpu = cpus > 0};
  bool ok = load(&s.a, d, a) && load(&s.b, d, b);
  if (ok && cpus) {
    budgets_by_cpu(&s.a, cpus);
    budgets_by_cpu(&s.b, cpus);
  }
  ok = ok && budgets_pair(&s.a, &s.b, &s.pairs);
  bool has = ok && s.a.n > 0 && s.b.n > 0;
  if (!ok)
    error_set(e, EXIT_INPUT, "out of memory");
  else if (!has)
    explain(d, a, b, &s, e);
  else if (!(has = split(w, &s)))
    error_set(e, EXIT_INPUT, "out of memory");
  budgets_free(&s.a);
  budgets_free(&s.b);
  budgets_free(&s.pairs);
  return ok && has;
}

bool why_make(struct why *w, const struct rundata *d, const struct rundata_cell *a,
              const struct rundata_cell *b, unsigned cpus, struct error *e) {
  return make(w, d, a, b, cpus, budgets_load, e);
}

bool why_make_total(struct why *w, const struct rundata *d, const struct rundata_cell *a,
                    const struct rundata_cell *b, struct error *e) {
  const struct rundata_cell *sides[] = {a, b};
  for (int i = 0; i < 2; i++)
    if (sides[i] && rundata_has_bound(rundata_unit(d, sides[i], "ns/op")))
      return error_set(e, EXIT_NOTHING, "%s did not finish in its time limit",
                       d->columns.names[sides[i]->column]);
  return make(w, d, a, b, 0, budgets_load_totals, e);
}

/* --- In words. */

void why_short(const struct why *w, char *text, size_t size) {
  size_t used = 0;
  *text = '\0';
  for (int i = 0; i < 3 && used < size; i++)
    if (fabs(w->parts[i].diff) >= SHORTEST_PERCENT)
      used += (size_t)snprintf(text + used, size - used, "%s%s %+.1f %%", i ? "; " : "",
                               budget_name(w->parts[i].state, w->by_cpu), w->parts[i].diff);
}

void report_why(const struct report *r, const char *tick, const char *bullet, FILE *out) {
  const struct rundata *d = &r->data;
  unsigned cpus = (unsigned)r->facts.cpus;
  for (size_t i = 0; i < r->verdicts.counts[VERDICT_NS]; i++) {
    const struct row_verdict *v = &r->verdicts.rows[VERDICT_NS][i];
    enum verdict word = v->comparison.verdict;
    const struct rundata_cell *base = rundata_headline(d, v->row, 0);
    struct why w;
    struct error e;
    char text[200];
    if ((word != VERDICT_FASTER && word != VERDICT_SLOWER) ||
        !why_make(&w, d, base, rundata_headline(d, v->row, v->column),
                  base && base->team > cpus ? cpus : 0, &e))
      continue;
    why_short(&w, text, sizeof text);
    fprintf(out, "%s%s%s%s %s %+.1f %%: %s; all parts %+.1f %%\n", bullet, tick,
            d->columns.names[v->column], tick, d->rows.names[v->row],
            100 * v->comparison.delta.center, text, w.diff);
  }
}

/* --- The command. */

/* What rounds to nothing has no minus. */
static double rounded(double percent) {
  return fabs(percent) < 0.05 ? 0 : percent;
}

static void bounds_text(double lo, double hi, char *text, size_t size) {
  if (isfinite(lo) && isfinite(hi))
    snprintf(text, size, "[%+.1f, %+.1f]", rounded(lo), rounded(hi));
  else
    snprintf(text, size, "[?]");
}

static bool add_line(struct grid *g, const char *name, double a, double b, double diff, double lo,
                     double hi) {
  char x[GRID_VALUE], y[GRID_VALUE], bounds[60];
  grid_value(GRID_NS, a, x);
  grid_value(GRID_NS, b, y);
  bounds_text(lo, hi, bounds, sizeof bounds);
  return grid_add(g, "%s", name) && grid_add(g, "%s", x) && grid_add(g, "%s", y) &&
         grid_add(g, "%+.1f %%", rounded(diff)) && grid_add(g, "%s", bounds);
}

static bool print_why(const struct why *w, const char *a, const char *b) {
  struct grid g;
  grid_init(&g, 5, 1);
  bool ok = grid_add(&g, "time per op") && grid_add(&g, "%s", a) && grid_add(&g, "%s", b) &&
            grid_add(&g, "difference") && grid_add(&g, "95 %% interval");
  for (int i = 0; ok && i < BUDGET_STATES; i++) {
    const struct why_part *p = &w->parts[i];
    if (p->a != 0 || p->b != 0)
      ok = add_line(&g, budget_name(p->state, w->by_cpu), p->a, p->b, p->diff, p->lo, p->hi);
  }
  ok = ok && add_line(&g, "= ns/op", w->a, w->b, w->diff, w->lo, w->hi);
  if (ok)
    grid_print(&g, "  ", stdout);
  grid_free(&g);
  return ok;
}

static bool find_column(const struct rundata *d, const char *name, size_t *column,
                        struct error *e) {
  char known[600] = "";
  for (size_t i = 0, used = 0; i < d->columns.count && used < sizeof known; i++) {
    if (strcmp(d->columns.names[i], name) == 0) {
      *column = i;
      return true;
    }
    used += (size_t)snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "",
                             d->columns.names[i]);
  }
  return error_set(e, EXIT_USAGE, "why: %s is not in this run (there are: %s)", name, known);
}

static void print_remark(const struct why *w, const char *a) {
  if (w->rounds)
    wrap_printf(
        stdout,
        "  paired by %zu round%s, means over the middle half of them; per cent of %s's ns/op\n",
        w->rounds, plural((double)w->rounds), a);
  else
    wrap_printf(stdout,
                "  %zu round%s in common, pairing takes %d: the two sides each for itself\n",
                w->common, plural((double)w->common), WHY_FEWEST_PAIRS);
  if (!isfinite(w->lo) || !isfinite(w->hi))
    wrap_printf(stdout, "  [?]: too few rounds for an interval%s\n",
                w->rounds ? ", six are the least" : "");
}

static bool print_row(const struct rundata *d, const struct selection *s, size_t row, size_t a,
                      size_t b, bool *any, struct error *e) {
  struct why w;
  const char *a_name = s->words[1], *b_name = s->words[2];
  unsigned threads = s->threads ? s->threads : d->headline;
  unsigned cpus = (unsigned)rundata_fact_number(d, "binding.cpus", 0);
  const struct rundata_cell *x = rundata_cell(d, row, a, threads);
  const struct rundata_cell *y = rundata_cell(d, row, b, threads);
  if (!x || !y)
    return true;
  if (!why_make(&w, d, x, y, 0, e))
    return e->status == EXIT_NOTHING;
  wrap_printf(stdout, "%s%s, %u thread%s: %s against %s %+.1f %%\n", *any ? "\n" : "",
              d->rows.names[row], threads, plural(threads), b_name, a_name, w.diff);
  *any = true;
  if (!print_why(&w, a_name, b_name))
    return error_set(e, EXIT_INPUT, "out of memory");
  if (cpus && x->team > cpus) {
    wrap_printf(stdout, "  %u threads share %u CPU%s: the same by what the CPUs did\n", x->team,
                cpus, plural(cpus));
    if (!why_make(&w, d, x, y, cpus, e))
      return false;
    if (!print_why(&w, a_name, b_name))
      return error_set(e, EXIT_INPUT, "out of memory");
  }
  print_remark(&w, a_name);
  return true;
}

static bool why_run(const struct selection *s, const struct rundata *d, struct error *e) {
  size_t a, b;
  bool any = false;
  if (!find_column(d, s->words[1], &a, e) || !find_column(d, s->words[2], &b, e))
    return false;
  *e = (struct error){.status = EXIT_NOTHING};
  for (size_t row = 0; row < d->rows.count; row++)
    if (selection_has_case(s, d->rows.names[row]) && !print_row(d, s, row, a, b, &any, e))
      return false;
  if (any)
    return true;
  char reason[sizeof e->text];
  snprintf(reason, sizeof reason, "%.500s", e->text);
  return error_set(e, EXIT_NOTHING, "why: %s and %s have no case in common with these options%s%s",
                   s->words[1], s->words[2], *reason ? ": " : "", reason);
}

#define FORM "poolbench why RUN A B [--case PART] [--threads N]"

int why_main(int argc, char **argv) {
  static const struct selection_command command = {
      .name = "why",
      .form = FORM,
      .words = 3,
      .missing = "a run and two strategies are needed, as in poolbench why results/latest malloc "
                 "per-thread",
      .help =
          "usage: " FORM "\n"
          "\n"
          "Splits the difference in ns/op of strategies A and B into the states of their threads.\n"
          "  --case PART    only cases whose name holds PART\n"
          "  --threads N    at this thread count instead of the run's headline\n",
      .run = why_run,
  };
  return selection_main(&command, argc, argv);
}
