/* Tables and sentences on scaling; see scaling.h. Computes nothing but what it prints. */
#include "harness/grid.h"
#include "harness/plural.h"
#include "harness/scaling.h"
#include "harness/wrap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool no_memory(struct error *e) {
  return error_set(e, EXIT_INPUT, "out of memory");
}

/* --- Figures as text. */

/* Ops per second from ops/ns, "1.24M". */
static const char *rate_text(double rate, char text[GRID_VALUE]) {
  if (isfinite(rate))
    grid_value(GRID_COUNT, 1e9 * rate, text);
  else
    snprintf(text, GRID_VALUE, "-");
  return text;
}

enum { TEXT = 4 * GRID_VALUE };

/* "0.031 [0.028, 0.036]"; without an interval the value alone. */
static const char *value_text(const struct scaling_value *v, int digits, char text[TEXT]) {
  if (isnan(v->low))
    snprintf(text, TEXT, "%.*g [?]", digits, v->value);
  else
    snprintf(text, TEXT, "%.*g [%.*g, %.*g]", digits, v->value, digits, v->low, digits, v->high);
  return text;
}

static const char *threads_text(double threads, char text[GRID_VALUE]) {
  if (threads > 1e6)
    snprintf(text, GRID_VALUE, "none");
  else
    snprintf(text, GRID_VALUE, threads < 9.95 ? "%.1f" : "%.0f", threads);
  return text;
}

static const char *peak_text(const struct scaling_value *v, char text[TEXT]) {
  char value[GRID_VALUE], low[GRID_VALUE], high[GRID_VALUE];
  threads_text(v->value, value);
  if (isnan(v->low))
    snprintf(text, TEXT, "%s [?]", value);
  else
    snprintf(text, TEXT, "%s [%s, %s]", value, threads_text(v->low, low),
             threads_text(v->high, high));
  return text;
}

static const char *ns_text(double ns, char text[GRID_VALUE]) {
  grid_value(GRID_NS, ns, text);
  return text;
}

static const char *column_name(const struct scaling *s, const struct scaling_curve *c) {
  return s->data->columns.names[c->column];
}

static const struct scaling_point *point_at(const struct scaling_curve *c, unsigned threads) {
  for (size_t i = 0; i < c->point_count; i++)
    if (c->points[i].threads == threads)
      return &c->points[i];
  return NULL;
}

static double point_rate(const struct scaling_point *p) {
  return 1 / p->ns.value;
}

/* --- One table a kind: a head, then rows, the case on a line of its own before its first row. */

struct table {
  struct grid grid;
  size_t columns, at; /* of the row under way */
  unsigned row;       /* the case written last */
  bool any, ok;
};

static void table_text(struct table *t, const char *text) {
  t->ok = t->ok && grid_add(&t->grid, "%s", text);
  t->at++;
}

static void table_start(struct table *t, const char *const *heads) {
  size_t n = 0;
  while (heads[n])
    n++;
  *t = (struct table){.columns = n, .ok = true};
  grid_init(&t->grid, n, 1);
  for (size_t i = 0; i < n; i++)
    table_text(t, heads[i]);
}

static void table_row(struct table *t, const struct scaling *s, const struct scaling_curve *c) {
  char name[300];
  if (!t->any || t->row != c->row) {
    table_text(t, s->data->rows.names[c->row]);
    for (size_t i = 1; i < t->columns; i++)
      table_text(t, "");
  }
  t->any = true;
  t->row = c->row;
  snprintf(name, sizeof name, "  %s", column_name(s, c));
  table_text(t, name);
}

/* Prints title, table and a note, unless no row came. false when out of memory. */
static bool table_print(struct table *t, const char *title, const char *note, FILE *out) {
  if (t->ok && t->any) {
    fprintf(out, "%s\n", title);
    grid_print(&t->grid, "  ", out);
    wrap_printf(out, "%s\n", note);
  }
  bool ok = t->ok;
  grid_free(&t->grid);
  return ok;
}

/* --- Curves: throughput at each thread count. */

bool scaling_is_curve(const struct scaling_curve *c) {
  return c->point_count >= 2;
}

static size_t count_curves(const struct scaling *s) {
  size_t n = 0;
  for (size_t i = 0; i < s->count; i++)
    n += scaling_is_curve(&s->curves[i]);
  return n;
}

static bool show_curves(const struct scaling *s, FILE *out) {
  enum { MOST = 10 };
  const struct rundata *d = s->data;
  const char *heads[MOST + 2] = {""};
  char texts[MOST][16];
  size_t first = d->count_count > MOST ? d->count_count - MOST : 0, n = d->count_count - first;
  bool over = false;
  for (size_t i = 0; i < n; i++) {
    bool is_over = s->cpus > 0 && d->counts[first + i] > s->cpus;
    snprintf(texts[i], sizeof texts[i], "%u%s", d->counts[first + i], is_over ? "*" : "");
    heads[i + 1] = texts[i];
    over |= is_over;
  }
  struct table t;
  table_start(&t, heads);
  for (size_t i = 0; i < s->count; i++) {
    const struct scaling_curve *c = &s->curves[i];
    if (!scaling_is_curve(c))
      continue;
    table_row(&t, s, c);
    for (size_t k = first; k < d->count_count; k++) {
      const struct scaling_point *p = point_at(c, d->counts[k]);
      char text[GRID_VALUE];
      table_text(&t, rate_text(p ? point_rate(p) : NAN, text));
    }
  }
  return table_print(
      &t, "throughput, ops/s of all threads together, by threads",
      over ? "  * more threads than CPUs: shows the scheduler, enters no model\n" : "", out);
}

/* --- The scalability law. */

static bool show_law(const struct scaling *s, FILE *out) {
  static const char *const heads[] = {"",      "ops/s", "sigma", "kappa", "peak, threads",
                                      "error", NULL};
  struct table t;
  table_start(&t, heads);
  for (size_t i = 0; i < s->count; i++) {
    const struct scaling_curve *c = &s->curves[i];
    char text[TEXT], rate[GRID_VALUE];
    if (!c->fitted)
      continue;
    table_row(&t, s, c);
    table_text(&t, rate_text(c->all.usl.lambda, rate));
    table_text(&t, value_text(&c->sigma, 2, text));
    table_text(&t, value_text(&c->kappa, 2, text));
    table_text(&t, peak_text(&c->peak, text));
    snprintf(text, sizeof text, "%.1f %%", 100 * c->misfit);
    table_text(&t, text);
  }
  return table_print(&t, "scalability law, fitted on cores (95 % intervals)",
                     "  ops/s: of one thread; sigma: serial share; kappa: price of each pair of "
                     "threads; error: of the worst point\n",
                     out);
}

static bool show_pairs(const struct scaling *s, FILE *out) {
  static const char *const heads[] = {"", "speed-up of two", "sigma + 2 kappa", NULL};
  struct table t;
  table_start(&t, heads);
  for (size_t i = 0; i < s->count; i++) {
    const struct scaling_curve *c = &s->curves[i];
    char text[TEXT];
    if (c->fitted || !c->has_pair)
      continue;
    table_row(&t, s, c);
    snprintf(text, sizeof text, "%.2f", 2 / (1 + c->excess.value));
    table_text(&t, text);
    table_text(&t, value_text(&c->excess, 2, text));
  }
  return table_print(&t, "scalability law: not fitted, so one figure of it (95 % intervals)",
                     "  below 0: two threads do more than twice the work of one\n", out);
}

static bool refused_for(const struct scaling_curve *c, const char *why) {
  return scaling_is_curve(c) && !c->fitted && strcmp(c->why, why) == 0;
}

/* One line for the curves that were refused for the same reason as c; nothing if one stood before
 * it. */
static void show_refusal(const struct scaling *s, const struct scaling_curve *c, FILE *out) {
  size_t same = 0, all = count_curves(s);
  for (size_t i = 0; i < s->count; i++) {
    if (refused_for(&s->curves[i], c->why) && &s->curves[i] < c)
      return;
    same += refused_for(&s->curves[i], c->why);
  }
  if (same < all)
    wrap_printf(out, "  no fit of the law for %zu of %zu curves (%s %s%s): %s\n", same, all,
                s->data->rows.names[c->row], column_name(s, c), same > 1 ? " ..." : "", c->why);
  else
    wrap_printf(out, "  no fit of the law: %s\n", c->why);
}

/* Returns whether there were any. */
static bool show_refused(const struct scaling *s, FILE *out) {
  bool any = false;
  for (size_t i = 0; i < s->count; i++)
    if (scaling_is_curve(&s->curves[i]) && !s->curves[i].fitted) {
      show_refusal(s, &s->curves[i], out);
      any = true;
    }
  return any;
}

/* CPU that others took looks like contention to every model. */
static bool show_disturbed(const struct scaling *s, FILE *out) {
  const struct rundata *d = s->data;
  size_t disturbed = 0, samples = 0;
  for (size_t i = 0; i < d->cell_count; i++) {
    const struct rundata_values *v = rundata_unit(d, &d->cells[i], "ns/op");
    if (!v || d->cells[i].threads > s->cores)
      continue;
    samples += v->n;
    for (size_t k = 0; k < v->n; k++)
      disturbed += (v->origins[k].flags & (SAMPLE_FOREIGN_CPU | SAMPLE_THROTTLED)) != 0;
  }
  if (disturbed > 0)
    wrap_printf(
        out,
        "  %zu of %zu samples on cores had to share their CPUs or were throttled: models take "
        "that for contention; measure on a quiet machine\n",
        disturbed, samples);
  return disturbed > 0;
}

static void show_why(const struct scaling *s, FILE *out) {
  bool pairs = false, unsure = false, any = show_refused(s, out);
  for (size_t i = 0; i < s->count; i++) {
    pairs |= !s->curves[i].fitted && s->curves[i].has_pair;
    unsure |= s->curves[i].has_pair && s->curves[i].draw_count == 0;
  }
  if (pairs)
    wrap_printf(
        out,
        "  one and two threads give the sum sigma + 2 kappa alone: how much of it is "
        "contention and how much coherence is not decided on this machine; four thread counts on "
        "as many cores would decide it\n");
  if (unsure)
    wrap_printf(out, "  [?]: no interval and no forecast of fewer than %d rounds\n",
                SCALING_MIN_ROUNDS);
  any |= show_disturbed(s, out);
  if (any || unsure)
    fputc('\n', out);
}

/* --- Locks. */

/* What both rules say of a number of threads; a lock that spins knows only one. */
struct lock_answers {
  struct lock_load in_order, barging;
};

static bool solve_both(const struct pair_parts *p, unsigned threads, struct lock_answers *out) {
  struct lock_times times = p->lock;
  times.handoff = p->in_order;
  if (!lockmodel_solve(&times, LOCK_IN_ORDER, threads, &out->in_order))
    return false;
  times.handoff = p->barging;
  out->barging = out->in_order;
  return p->spins || lockmodel_solve(&times, LOCK_BARGING, threads, &out->barging);
}

static void range_text(const char *low, const char *high, char text[TEXT]) {
  snprintf(text, TEXT, strcmp(low, high) ? "%s to %s" : "%s", low, high);
}

/* Without blanks: rows of these are long. */
static void rate_range(double low, double high, char text[TEXT]) {
  char first[GRID_VALUE], second[GRID_VALUE];
  rate_text(low, first);
  rate_text(high, second);
  snprintf(text, TEXT, strcmp(first, second) ? "%s–%s" : "%s", first, second);
}

static void percent_range(double a, double b, char text[TEXT]) {
  char low[GRID_VALUE], high[GRID_VALUE];
  snprintf(low, sizeof low, "%.0f", 100 * fmin(a, b));
  snprintf(high, sizeof high, "%.0f", 100 * fmax(a, b));
  range_text(low, high, text);
  strcat(text, " %");
}

static bool add_lock(struct table *t, const struct scaling_curve *c) {
  char text[TEXT], small[GRID_VALUE];
  const struct pair_parts *p = &c->all.parts;
  struct lock_answers a;
  if (!solve_both(p, 2, &a))
    return false;
  table_text(t, ns_text(p->lock.service, small));
  table_text(t, ns_text(p->lock.think, small));
  table_text(t, peak_text(&c->saturation, text));
  table_text(t, ns_text(p->in_order, small));
  /* Somebody always runs under barging, so it cannot explain waits beyond the other's cycle. */
  bool too_long = p->barging > 0.99 * LOCKMODEL_MOST_HANDOFF * p->lock.service;
  table_text(t, p->spins ? "-" : too_long ? "none" : ns_text(p->barging, small));
  percent_range(a.in_order.collisions, a.barging.collisions, text);
  table_text(t, text);
  snprintf(text, sizeof text, isnan(c->collisions) ? "-" : "%.0f %%", 100 * c->collisions);
  table_text(t, text);
  double growth = c->all.pair.two - c->all.pair.one;
  double lock = p->wait + c->all.pair.hold_two - c->all.pair.hold_one;
  snprintf(text, sizeof text, growth > 0.01 * c->all.pair.one ? "%.0f %%" : "-",
           100 * lock / growth);
  table_text(t, text);
  return true;
}

static bool show_locks(const struct scaling *s, FILE *out) {
  static const char *const heads[] = {"",           "hold S",     "think Z",  "N*",    "W, kept",
                                      "W, barging", "collisions", "measured", "share", NULL};
  struct table t;
  table_start(&t, heads);
  for (size_t i = 0; i < s->count; i++) {
    const struct scaling_curve *c = &s->curves[i];
    if (!c->has_pair || !c->all.parts.has_lock)
      continue;
    table_row(&t, s, c);
    t.ok = add_lock(&t, c) && t.ok;
  }
  return table_print(
      &t, "locks, per acquisition, from one and two threads",
      "  N*: threads that keep the lock busy. W: the hand-off that explains the waits of two "
      "threads when the lock is kept for the waiter, and when others may take it meanwhile.\n"
      "  collisions: how often two threads meet by the model, which was not told, and as "
      "measured.\n"
      "  share: the lock's of what an op costs more with two threads\n",
      out);
}

static void table_error(struct table *t, double low, double high, double measured) {
  char text[TEXT], first[GRID_VALUE], second[GRID_VALUE];
  snprintf(first, sizeof first, "%+.0f", 100 * (low / measured - 1));
  snprintf(second, sizeof second, "%+.0f", 100 * (high / measured - 1));
  range_text(first, second, text);
  strcat(text, " %");
  table_text(t, text);
}

/* The recursion, its bounds and the chain against one point, in ops/s. */
static bool add_lock_point(struct table *t, const struct pair_parts *p,
                           const struct scaling_point *at) {
  char text[TEXT], small[GRID_VALUE];
  struct lock_answers a;
  if (!solve_both(p, at->threads, &a))
    return false;
  struct lockmodel_bounds b = lockmodel_bounds(&p->lock, at->threads);
  double per = p->acquisitions, plain = lockmodel_plain(&p->lock, at->threads) / per;
  double worst = fmin(a.in_order.rate, a.barging.rate) / per;
  double best = fmax(a.in_order.rate, a.barging.rate) / per;
  snprintf(text, sizeof text, "%u", at->threads);
  table_text(t, text);
  rate_range(b.low / per, b.high / per, text);
  table_text(t, text);
  table_text(t, rate_text(plain, small));
  rate_range(worst, best, text);
  table_text(t, text);
  table_text(t, rate_text(point_rate(at), small));
  table_error(t, plain, plain, point_rate(at));
  table_error(t, worst, best, point_rate(at));
  return true;
}

static bool show_lock_errors(const struct scaling *s, FILE *out) {
  static const char *const heads[] = {"",         "threads", "bounds", "W = 0", "with W",
                                      "measured", "error",   "with W", NULL};
  struct table t;
  table_start(&t, heads);
  for (size_t i = 0; i < s->count; i++) {
    const struct scaling_curve *c = &s->curves[i];
    bool named = false;
    for (size_t k = 0; k < c->point_count && c->has_pair && c->all.parts.has_lock; k++) {
      if (c->points[k].threads < 2 || !c->points[k].on_cores)
        continue;
      if (named)
        table_text(&t, "");
      else
        table_row(&t, s, c);
      named = true;
      t.ok = add_lock_point(&t, &c->all.parts, &c->points[k]) && t.ok;
    }
  }
  return table_print(
      &t, "lock model against the points on cores, ops/s",
      "  bounds and W = 0 leave out the hand-off. With it the waits of two threads are fitted, "
      "so its error there is what is not the lock's: slower execution, the allocator, memory\n",
      out);
}

static void show_unmeasured_locks(const struct scaling *s, FILE *out) {
  size_t n = 0;
  const char *why = NULL;
  for (size_t i = 0; i < s->count; i++)
    if (s->curves[i].why_no_lock) {
      why = s->curves[i].why_no_lock;
      n++;
    }
  if (why)
    wrap_printf(out, "  no lock model for %zu curve%s: %s\n\n", n, plural((double)n), why);
}

/* --- In short. */

void scaling_short(const struct scaling_curve *c, char text[SCALING_SHORT]) {
  char value[TEXT], peak[GRID_VALUE];
  size_t used = 0;
  *text = '\0';
  if (c->fitted)
    used = (size_t)snprintf(text, SCALING_SHORT, "sigma %.2g, kappa %.2g, peak %s", c->sigma.value,
                            c->kappa.value, threads_text(c->peak.value, peak));
  else if (c->has_pair)
    used = (size_t)snprintf(text, SCALING_SHORT, "%s", value_text(&c->excess, 2, value));
  if (c->has_pair && c->all.parts.has_lock)
    snprintf(text + used, SCALING_SHORT - used, ", N* %s", threads_text(c->saturation.value, peak));
}

/* --- Forecasts. */

static const char *word_of(const struct scaling_forecast *f, unsigned threads) {
  if (f->speed_up.low >= 0.8 * threads)
    return "scales";
  if (f->speed_up.high < 0.5 * threads)
    return "does not scale";
  return "not decided on this machine";
}

static bool add_forecast(struct table *t, const struct scaling_curve *c, unsigned threads,
                         const struct scaling_forecast *f) {
  char low[GRID_VALUE], high[GRID_VALUE], text[TEXT];
  snprintf(text, sizeof text, "%s to %s", rate_text(f->low, low), rate_text(f->high, high));
  table_text(t, text);
  snprintf(text, sizeof text, "%.3g to %.3g", f->speed_up.low, f->speed_up.high);
  table_text(t, text);
  table_text(t, f->model == SCALING_USL ? "law"
                : c->all.parts.has_lock ? "lock + two points"
                                        : "two points");
  table_text(t, word_of(f, threads));
  return true;
}

struct ranked {
  const struct scaling_curve *curve;
  struct scaling_forecast forecast;
};

static int by_rate(const void *a, const void *b) {
  const struct scaling_forecast *x = &((const struct ranked *)a)->forecast,
                                *y = &((const struct ranked *)b)->forecast;
  double p = x->low * x->high, q = y->low * y->high; /* by the middle on a logarithmic scale */
  return p > q ? -1 : p < q;
}

/* "per-thread > global-locked; not separated: ...": only what intervals tell apart is an order. */
static void show_order(const struct scaling *s, struct ranked *list, size_t n, FILE *out) {
  qsort(list, n, sizeof *list, by_rate);
  bool any = false;
  for (size_t i = 0; i < n; i++) {
    size_t below = 0;
    for (size_t k = i + 1; k < n; k++)
      if (list[i].forecast.low > list[k].forecast.high) {
        if (!any)
          fprintf(out, "  %s:\n", s->data->rows.names[list[0].curve->row]);
        fprintf(out, "%s%s", below ? ", " : "    ", below ? "" : column_name(s, list[i].curve));
        fprintf(out, "%s%s", below ? "" : " before ", column_name(s, list[k].curve));
        below++;
        any = true;
      }
    if (below)
      fputc('\n', out);
  }
  if (!any && n > 1)
    fprintf(out, "  %s: no order is decided\n", s->data->rows.names[list[0].curve->row]);
}

static bool forecast_all(const struct scaling *s, unsigned threads, struct ranked *list,
                         size_t *count) {
  *count = 0;
  for (size_t i = 0; i < s->count; i++) {
    struct scaling_forecast f;
    if (!scaling_forecast(&s->curves[i], threads, &f))
      return false;
    if (f.model != SCALING_NONE)
      list[(*count)++] = (struct ranked){&s->curves[i], f};
  }
  return true;
}

static bool print_forecasts(const struct scaling *s, unsigned threads, struct ranked *list,
                            size_t n, FILE *out) {
  static const char *const heads[] = {"", "ops/s", "speed-up over one", "from", "", NULL};
  char title[120];
  struct table t;
  bool pairs = false;
  table_start(&t, heads);
  for (size_t i = 0; i < n; i++) {
    pairs |= list[i].forecast.model == SCALING_PAIR;
    table_row(&t, s, list[i].curve);
    add_forecast(&t, list[i].curve, threads, &list[i].forecast);
  }
  snprintf(title, sizeof title, "forecast: %u thread%s on %u core%s", threads, plural(threads),
           threads, plural(threads));
  if (!table_print(&t, title,
                   pairs ? "  scales: at least 0.8 of one core's rate each. What is not the lock's "
                           "is taken as serial at one end and as paid by every pair of threads "
                           "at the other\n"
                         : "  scales: at least 0.8 of one core's rate each\n",
                   out))
    return false;
  if (n > 0)
    fprintf(out, "order at %u core%s, as far as intervals lie apart\n", threads, plural(threads));
  for (size_t i = 0, end; i < n; i = end) {
    for (end = i; end < n && list[end].curve->row == list[i].curve->row; end++) {
    }
    show_order(s, list + i, end - i, out);
  }
  wrap_printf(out, "%s\n",
              n > 0 ? ""
                    : "no forecast: needs one and two threads on cores of their own, in three "
                      "rounds\n");
  return true;
}

static bool show_forecasts(const struct scaling *s, unsigned threads, FILE *out) {
  struct ranked *list = calloc(s->count + 1, sizeof *list);
  size_t n;
  bool ok = list && forecast_all(s, threads, list, &n) && print_forecasts(s, threads, list, n, out);
  free(list);
  return ok;
}

static bool show_models(const struct scaling *s, FILE *out) {
  if (!show_curves(s, out) || !show_law(s, out) || !show_pairs(s, out))
    return false;
  show_why(s, out);
  if (!show_locks(s, out) || !show_lock_errors(s, out))
    return false;
  show_unmeasured_locks(s, out);
  return true;
}

bool scaling_show(const struct scaling *s, unsigned forecast, FILE *out, struct error *e) {
  bool ok = true;
  if (count_curves(s) == 0)
    wrap_printf(
        out,
        "no word on scaling: every case was measured at one thread count (--cpus 1,2,4 measures "
        "three)\n");
  else
    ok = show_models(s, out) && (forecast == 0 || show_forecasts(s, forecast, out));
  return ok || no_memory(e);
}

bool scaling_print(const struct rundata *data, const char *part, unsigned forecast, FILE *out,
                   struct error *e) {
  struct scaling s;
  bool ok = scaling_make(&s, data, 0, e);
  if (ok) {
    scaling_keep(&s, part);
    ok = scaling_show(&s, forecast, out, e);
  }
  scaling_free(&s);
  return ok;
}
