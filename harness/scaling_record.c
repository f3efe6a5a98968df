/* Forecasts in run.json, and how they did; see scaling.h and docs/file-format.md. */
#include "harness/grid.h"
#include "harness/plural.h"
#include "harness/scaling.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* --- Writing. */

static json_t *entry_of(const struct scaling *s, const struct scaling_curve *c, unsigned threads,
                        const struct scaling_forecast *f) {
  json_t *from = json_array();
  for (size_t i = 0; from && i < c->point_count; i++)
    if (c->points[i].on_cores && (f->model == SCALING_USL || c->points[i].threads <= 2))
      json_array_append_new(from, json_integer((json_int_t)c->points[i].threads));
  return json_pack("{s:s, s:s, s:i, s:s, s:b, s:f, s:f, s:o, s:f, s:o, s:I}", "case",
                   s->data->rows.names[c->row], "strategy", s->data->columns.names[c->column],
                   "threads", (int)threads, "model", scaling_model_name(f->model), "lock",
                   f->model == SCALING_PAIR && c->all.parts.has_lock, "low_ops_s", 1e9 * f->low,
                   "high_ops_s", 1e9 * f->high, "center_ops_s",
                   isnan(f->center) ? json_null() : json_real(1e9 * f->center), "confidence",
                   SCALING_CONFIDENCE, "from_threads", from, "made", (json_int_t)time(NULL));
}

/* The list so far without the forecasts for so many CPUs. */
static json_t *others(const struct rundata *d, unsigned threads) {
  json_t *list = json_array(), *entry;
  size_t i;
  json_array_foreach(json_object_get(d->json, "forecasts"), i,
                     entry) if (json_integer_value(json_object_get(entry, "threads")) !=
                                (json_int_t)threads) json_array_append(list, entry);
  return list;
}

static bool fill(const struct scaling *s, unsigned threads, json_t *list, struct error *e) {
  size_t made = 0;
  for (size_t i = 0; i < s->count; i++) {
    struct scaling_forecast f;
    if (!scaling_forecast(&s->curves[i], threads, &f))
      return error_set(e, EXIT_INPUT, "out of memory");
    if (f.model == SCALING_NONE)
      continue;
    if (json_array_append_new(list, entry_of(s, &s->curves[i], threads, &f)) != 0)
      return error_set(e, EXIT_INPUT, "out of memory");
    made++;
  }
  if (made > 0)
    return true;
  return error_set(
      e, EXIT_NOTHING, "%s: nothing to forecast from: %s", s->data->folder,
      s->why ? s->why : "that needs one and two threads on cores of their own, in three rounds");
}

/* Beside and renamed, so that nobody meets half a file. */
static bool replace(const struct rundata *d, struct error *e) {
  char path[PATH_MAX], fresh[PATH_MAX];
  if (snprintf(path, sizeof path, "%s/run.json", d->folder) >= PATH_MAX - 4)
    return error_set(e, EXIT_INPUT, "%s: the path is too long", d->folder);
  snprintf(fresh, sizeof fresh, "%.*s.new", PATH_MAX - 8, path);
  if (json_dump_file(d->json, fresh, JSON_INDENT(1) | JSON_REAL_PRECISION(10)) == 0 &&
      rename(fresh, path) == 0)
    return true;
  error_errno(e, EXIT_INPUT, "writing %s", path);
  unlink(fresh);
  return false;
}

bool scaling_record(const struct scaling *s, unsigned threads, struct error *e) {
  const struct rundata *d = s->data;
  if (!d->json)
    return error_set(e, EXIT_INPUT, "%s: no run.json that could take the forecasts", d->folder);
  json_t *list = others(d, threads);
  if (!list)
    return error_set(e, EXIT_INPUT, "out of memory");
  if (!fill(s, threads, list, e)) {
    json_decref(list);
    return false;
  }
  return json_object_set_new(d->json, "forecasts", list) == 0
             ? replace(d, e)
             : error_set(e, EXIT_INPUT, "out of memory");
}

/* --- Scoring. */

struct scored {
  const char *row, *column;
  unsigned threads;
  double low, high;                 /* forecast, ops/s */
  double measured, least, greatest; /* ops/s; the interval's ends, or NAN */
};

static bool find_name(const struct rundata_names *names, const char *name, size_t *at) {
  for (*at = 0; *at < names->count; ++*at)
    if (strcmp(names->names[*at], name) == 0)
      return true;
  return false;
}

/* Fills what was measured. false: this run has no such cell. */
static bool measure(const struct rundata *d, struct scored *s) {
  size_t row, column;
  if (!find_name(&d->rows, s->row, &row) || !find_name(&d->columns, s->column, &column))
    return false;
  const struct rundata_values *v =
      rundata_unit(d, rundata_cell(d, row, column, s->threads), "ns/op");
  if (!v)
    return false;
  struct stats_ranks ranks = stats_median_ranks(v->n, SCALING_CONFIDENCE);
  s->measured = 1e9 / stats_median(v->sorted, v->n);
  s->least = ranks.hi <= v->n ? 1e9 / v->sorted[ranks.hi - 1] : NAN;
  s->greatest = ranks.lo >= 1 ? 1e9 / v->sorted[ranks.lo - 1] : NAN;
  return true;
}

/* Forecasts that `other` can answer: the cell is there, and it had a core a thread. */
static size_t collect(const struct rundata *run, const struct rundata *other, double cores,
                      struct scored *list, size_t *too_many) {
  const json_t *entry;
  size_t i, n = 0;
  *too_many = 0;
  json_array_foreach(rundata_fact(run, "forecasts"), i, entry) {
    struct scored s = {
        .row = json_string_value(json_object_get(entry, "case")),
        .column = json_string_value(json_object_get(entry, "strategy")),
        .threads = (unsigned)json_integer_value(json_object_get(entry, "threads")),
        .low = json_number_value(json_object_get(entry, "low_ops_s")),
        .high = json_number_value(json_object_get(entry, "high_ops_s")),
    };
    if (!s.row || !s.column || !measure(other, &s))
      continue;
    if (s.threads > cores)
      ++*too_many;
    else
      list[n++] = s;
  }
  return n;
}

static const char *rate(double ops_s, char text[GRID_VALUE]) {
  grid_value(GRID_COUNT, ops_s, text);
  return text;
}

static const char *outcome(const struct scored *s) {
  if (s->measured >= s->low && s->measured <= s->high)
    return "inside";
  bool touches = s->least <= s->high && s->greatest >= s->low;
  return touches ? "touches" : s->measured < s->low ? "below" : "above";
}

/* How far outside, in % of the nearer end; 0 inside. */
static double distance(const struct scored *s) {
  if (s->measured < s->low)
    return 100 * (s->measured / s->low - 1);
  return s->measured > s->high ? 100 * (s->measured / s->high - 1) : 0;
}

static bool print_scores(const struct scored *list, size_t n, FILE *out) {
  struct grid g;
  grid_init(&g, 6, 2);
  bool ok = grid_add(&g, "case") && grid_add(&g, "strategy") && grid_add(&g, "threads") &&
            grid_add(&g, "forecast, ops/s") && grid_add(&g, "measured") && grid_add(&g, "outcome");
  for (size_t i = 0; ok && i < n; i++) {
    char low[GRID_VALUE], high[GRID_VALUE], measured[GRID_VALUE];
    ok = grid_add(&g, "%s", list[i].row) && grid_add(&g, "%s", list[i].column) &&
         grid_add(&g, "%u", list[i].threads) &&
         grid_add(&g, "%s to %s", rate(list[i].low, low), rate(list[i].high, high)) &&
         grid_add(&g, "%s", rate(list[i].measured, measured));
    double off = distance(&list[i]);
    ok = ok && (off == 0 ? grid_add(&g, "%s", outcome(&list[i]))
                         : grid_add(&g, "%s by %+.0f %%", outcome(&list[i]), off));
  }
  if (ok)
    grid_print(&g, "  ", out);
  grid_free(&g);
  return ok;
}

/* Pairs of one case and thread count that the forecast told apart, and what was measured. */
static void print_order(const struct scored *list, size_t n, FILE *out) {
  size_t pairs = 0, told = 0, right = 0, wrong = 0;
  for (size_t i = 0; i < n; i++)
    for (size_t k = i + 1; k < n; k++) {
      const struct scored *a = &list[i], *b = &list[k];
      if (strcmp(a->row, b->row) != 0 || a->threads != b->threads)
        continue;
      pairs++;
      if (a->low <= b->high && b->low <= a->high)
        continue;
      told++;
      bool a_first = a->low > b->high;
      const struct scored *first = a_first ? a : b, *second = a_first ? b : a;
      right += first->least > second->greatest;
      wrong += first->greatest < second->least;
    }
  fprintf(
      out,
      "order: of %zu pair%s of strategies the forecast told %zu apart; %zu right, %zu wrong, %zu "
      "not decided by what was measured\n",
      pairs, plural((double)pairs), told, right, wrong, told - right - wrong);
}

bool scaling_score(const struct rundata *run, const struct rundata *other, FILE *out,
                   struct error *e) {
  const json_t *forecasts = rundata_fact(run, "forecasts");
  double cores =
      rundata_fact_number(other, "binding.cores", rundata_fact_number(other, "binding.cpus", 0));
  size_t too_many, inside = 0;
  if (json_array_size(forecasts) == 0)
    return error_set(e, EXIT_NOTHING,
                     "%s holds no forecasts; make them first: poolbench scaling --forecast N %s",
                     run->folder, run->folder);
  struct scored *list = calloc(json_array_size(forecasts), sizeof *list);
  if (!list)
    return error_set(e, EXIT_INPUT, "out of memory");
  size_t n = collect(run, other, cores, list, &too_many);
  bool ok = n > 0 ||
            (too_many > 0 ? error_set(e, EXIT_NOTHING,
                                      "%s had %.0f core%s: its cells with more threads than that "
                                      "say nothing about forecasts for as many CPUs",
                                      other->folder, cores, plural(cores))
                          : error_set(e, EXIT_NOTHING,
                                      "%s has none of the cells (case, strategy, threads) that %s "
                                      "has forecasts for",
                                      other->folder, run->folder));
  if (n > 0) {
    fprintf(out, "forecasts of %s against %s\n", run->folder, other->folder);
    ok = print_scores(list, n, out) || error_set(e, EXIT_INPUT, "out of memory");
    for (size_t i = 0; i < n; i++)
      inside += distance(&list[i]) == 0;
    fprintf(out, "%zu of %zu inside their interval\n", inside, n);
    print_order(list, n, out);
  }
  free(list);
  return ok;
}
