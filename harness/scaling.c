/* From a run's samples to the figures of its scaling; see scaling.h. Prints nothing. */
#include "harness/scaling.h"
#include "harness/plural.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The units that the models read, of one thread count each. */
enum figure { TIME, ACQUISITIONS, HOLD, WAIT, FIGURES };
static const char *const figure_units[FIGURES] = {"ns/op", "lockacq/op", "lockhold-ns/op",
                                                  "lockwait-ns/op"};

/* --- The machine. */

/* Cores that threads got, one each, in the order they were bound; 0 with s->why. */
static void find_cores(struct scaling *s, unsigned most) {
  const struct rundata *d = s->data;
  double cpus = rundata_fact_number(d, "binding.cpus", 0);
  double cores = rundata_fact_number(d, "binding.cores", cpus);
  double quota = rundata_fact_number(d, "host.cgroup_cpu_limit.cpus", INFINITY);
  const char *policy = rundata_fact_text(d, "binding.policy");
  s->cpus = (unsigned)cpus;
  if (!(cores >= 1))
    s->why = "run.json does not say on how many cores this was measured";
  else if (policy && strcmp(policy, "pu") == 0 && cpus > cores)
    s->why = "threads shared cores from the second one on (--bind pu)";
  else
    s->cores = (unsigned)fmin(fmin(cores, floor(quota)), most ? most : cores);
}

/* --- Points. */

static void add_point(struct scaling_curve *c, const struct scaling *s,
                      const struct rundata_cell *cell, const struct rundata_values *v) {
  struct stats_ranks ranks = stats_median_ranks(v->n, SCALING_CONFIDENCE);
  struct scaling_point *p = &c->points[c->point_count++];
  *p = (struct scaling_point){
      .threads = cell->threads,
      .ns = {stats_median(v->sorted, v->n), ranks.lo >= 1 ? v->sorted[ranks.lo - 1] : NAN,
             ranks.hi <= v->n ? v->sorted[ranks.hi - 1] : NAN},
  };
  p->on_cores = cell->threads <= s->cores && !rundata_has_bound(v) && p->ns.value > 0 &&
                c->on_cores < BOOTSTRAP_CELLS && cell->team == cell->threads;
  c->on_cores += p->on_cores;
}

static bool collect_points(struct scaling_curve *c, const struct scaling *s) {
  const struct rundata *d = s->data;
  c->points = calloc(d->count_count + 1, sizeof *c->points);
  for (size_t i = 0; c->points && i < d->count_count; i++) {
    const struct rundata_cell *cell = rundata_cell(d, c->row, c->column, d->counts[i]);
    const struct rundata_values *v = rundata_unit(d, cell, figure_units[TIME]);
    if (v)
      add_point(c, s, cell, v);
  }
  return c->points != NULL;
}

/* --- One draw: every figure of every point on cores, then the models. */

struct sources {
  const struct rundata_values *values[BOOTSTRAP_CELLS][FIGURES];
  unsigned threads[BOOTSTRAP_CELLS];
  double log_variances[BOOTSTRAP_CELLS];
  size_t ns[BOOTSTRAP_CELLS], count, one, two; /* one, two: their index, count when not there */
  bool spins;
};

static double log_variance(const struct rundata_values *v) {
  double mean = 0, sum = 0;
  for (size_t i = 0; i < v->n; i++)
    mean += log(v->values[i]) / (double)v->n;
  for (size_t i = 0; i < v->n; i++)
    sum += (log(v->values[i]) - mean) * (log(v->values[i]) - mean);
  return v->n > 1 ? sum / (double)(v->n - 1) : 0;
}

/* Ticket and MCS locks serve in order and never sleep. */
static bool column_spins(const char *column) {
  return strstr(column, "lock=ticket") != NULL || strstr(column, "lock=mcs") != NULL;
}

static void find_sources(const struct scaling *s, const struct scaling_curve *c,
                         struct sources *out) {
  const struct rundata *d = s->data;
  *out = (struct sources){.spins = column_spins(d->columns.names[c->column])};
  out->spins |= column_spins(d->rows.names[c->row]); /* builds side by side: strategies are rows */
  for (size_t i = 0; i < c->point_count; i++) {
    if (!c->points[i].on_cores)
      continue;
    const struct rundata_cell *cell = rundata_cell(d, c->row, c->column, c->points[i].threads);
    size_t at = out->count++;
    out->threads[at] = cell->threads;
    for (int f = 0; f < FIGURES; f++) {
      const struct rundata_values *v = rundata_unit(d, cell, figure_units[f]);
      bool parallel = v && (f == TIME || v->n == out->values[at][TIME]->n);
      out->values[at][f] = parallel ? v : NULL;
    }
    out->ns[at] = out->values[at][TIME]->n;
    out->log_variances[at] = log_variance(out->values[at][TIME]);
  }
  out->one = out->two = out->count;
  for (size_t i = 0; i < out->count; i++) {
    out->one = out->threads[i] == 1 ? i : out->one;
    out->two = out->threads[i] == 2 ? i : out->two;
  }
}

/* The median of a figure, over all rounds without a bootstrap; 0 where it was not measured. */
static double median_of(const struct sources *src, struct bootstrap *b, size_t at,
                        enum figure figure) {
  const struct rundata_values *v = src->values[at][figure];
  if (!v)
    return 0;
  return b ? bootstrap_median(b, at, v->values) : stats_median(v->sorted, v->n);
}

static void pair_of(const struct sources *src, struct bootstrap *b, struct pair_times *out) {
  size_t one = src->one, two = src->two;
  *out = (struct pair_times){.one = median_of(src, b, one, TIME),
                             .two = 2 * median_of(src, b, two, TIME),
                             .spins = src->spins};
  if (!src->values[one][HOLD] || !src->values[two][HOLD] || !src->values[two][WAIT])
    return;
  out->acquisitions = median_of(src, b, two, ACQUISITIONS);
  out->hold_one = median_of(src, b, one, HOLD);
  out->hold_two = median_of(src, b, two, HOLD);
  out->wait_two = median_of(src, b, two, WAIT);
}

static size_t points_of(const struct sources *src, struct bootstrap *b,
                        struct usl_point points[BOOTSTRAP_CELLS]) {
  for (size_t i = 0; i < src->count; i++)
    points[i] = (struct usl_point){.threads = src->threads[i],
                                   .y = src->threads[i] * median_of(src, b, i, TIME)};
  usl_weights(points, src->log_variances, src->ns, src->count);
  return src->count;
}

/* Fills one draw. *failed: out of memory. Returns whether the law could be fitted, if wanted. */
static bool make_draw(const struct sources *src, struct bootstrap *b, bool law, bool lock,
                      struct scaling_draw *out, bool *failed) {
  struct usl_point points[BOOTSTRAP_CELLS];
  if (src->one < src->count && src->two < src->count) {
    pair_of(src, b, &out->pair);
    if (!lock)
      out->pair.acquisitions = 0;
    *failed |= !forecast_parts(&out->pair, &out->parts);
  }
  return !law || usl_fit(points, points_of(src, b, points), &out->usl);
}

/* --- Draws and their intervals. */

static struct bootstrap *start_bootstrap(const struct sources *src) {
  uint64_t *rounds[BOOTSTRAP_CELLS] = {0};
  bool ok = true;
  for (size_t i = 0; ok && i < src->count; i++) {
    const struct rundata_values *v = src->values[i][TIME];
    rounds[i] = calloc(v->n + 1, sizeof **rounds);
    ok = rounds[i] != NULL;
    for (size_t k = 0; ok && k < v->n; k++)
      rounds[i][k] =
          v->origins[k].run ? (uint64_t)v->origins[k].run << 32 | v->origins[k].round : 0;
  }
  const uint64_t *lists[BOOTSTRAP_CELLS];
  memcpy(lists, rounds, sizeof lists);
  struct bootstrap *b = ok ? bootstrap_new(src->count, src->ns, lists, 1) : NULL;
  for (size_t i = 0; i < src->count; i++)
    free(rounds[i]);
  return b;
}

static bool make_draws(struct scaling_curve *c, const struct sources *src) {
  struct bootstrap *b = start_bootstrap(src);
  bool failed = !b;
  if (b && bootstrap_fewest(b) >= SCALING_MIN_ROUNDS) {
    c->draws = calloc(SCALING_DRAWS, sizeof *c->draws);
    failed = !c->draws;
    for (size_t i = 0; !failed && i < SCALING_DRAWS; i++) {
      struct scaling_draw *draw = &c->draws[c->draw_count];
      bootstrap_draw(b);
      c->draw_count += make_draw(src, b, c->fitted, i < SCALING_LOCK_DRAWS, draw, &failed);
    }
  }
  bootstrap_free(b);
  return !failed;
}

typedef double quantity(const struct scaling_draw *d);

static double of_sigma(const struct scaling_draw *d) {
  return d->usl.sigma;
}
static double of_kappa(const struct scaling_draw *d) {
  return d->usl.kappa;
}
static double of_peak(const struct scaling_draw *d) {
  return usl_peak(&d->usl);
}
static double of_excess(const struct scaling_draw *d) {
  return d->pair.two / d->pair.one - 1;
}
static double of_saturation(const struct scaling_draw *d) {
  return lockmodel_saturation(&d->parts.lock);
}
static double of_in_order(const struct scaling_draw *d) {
  return d->parts.in_order;
}
static double of_barging(const struct scaling_draw *d) {
  return d->parts.barging;
}

static struct scaling_value value_of(const struct scaling_curve *c, quantity *q, bool lock) {
  double drawn[SCALING_DRAWS];
  struct scaling_value v = {q(&c->all), NAN, NAN};
  size_t n = 0;
  for (size_t i = 0; i < c->draw_count; i++)
    if (!lock || c->draws[i].parts.has_lock)
      drawn[n++] = q(&c->draws[i]);
  if (n > 0) {
    struct bootstrap_interval i = bootstrap_interval(drawn, n, SCALING_CONFIDENCE);
    v.low = i.low;
    v.high = i.high;
  }
  return v;
}

/* --- The curve. */

static void say_why_no_law(struct scaling_curve *c, const struct scaling *s) {
  if (s->why)
    snprintf(c->why, sizeof c->why, "%s", s->why);
  else
    snprintf(c->why, sizeof c->why, "%zu thread count%s on %u core%s; the law needs %d",
             c->on_cores, plural((double)c->on_cores), s->cores, plural(s->cores), USL_MIN_COUNTS);
}

static void look_at_lock(struct scaling_curve *c, const struct sources *src,
                         const struct rundata *d) {
  double acquisitions = median_of(src, NULL, src->two, ACQUISITIONS), contended;
  const struct rundata_cell *cell = rundata_cell(d, c->row, c->column, 2);
  c->collisions = NAN;
  if (acquisitions > 0 && rundata_median(d, cell, "contended/op", &contended))
    c->collisions = contended / acquisitions;
  if (!c->all.parts.has_lock) {
    c->why_no_lock = acquisitions > 0 ? "how long its lock is held was not measured" : NULL;
    return;
  }
  c->saturation = value_of(c, of_saturation, true);
  c->in_order = value_of(c, of_in_order, true);
  c->barging = value_of(c, of_barging, true);
}

static bool make_curve(struct scaling_curve *c, const struct scaling *s) {
  struct sources src;
  struct usl_point points[BOOTSTRAP_CELLS];
  bool failed = false;
  if (!collect_points(c, s))
    return false;
  find_sources(s, c, &src);
  c->fitted = c->on_cores >= USL_MIN_COUNTS;
  c->has_pair = src.one < src.count && src.two < src.count;
  if (c->fitted && !make_draw(&src, NULL, true, true, &c->all, &failed)) {
    c->fitted = false;
    snprintf(c->why, sizeof c->why, "no law with a rate above 0 fits these points");
  } else if (!c->fitted) {
    say_why_no_law(c, s);
    make_draw(&src, NULL, false, true, &c->all, &failed);
  }
  if (failed || ((c->fitted || c->has_pair) && !make_draws(c, &src)))
    return false;
  if (c->fitted) {
    c->misfit = usl_misfit(&c->all.usl, points, points_of(&src, NULL, points));
    c->sigma = value_of(c, of_sigma, false);
    c->kappa = value_of(c, of_kappa, false);
    c->peak = value_of(c, of_peak, false);
  }
  if (c->has_pair) {
    c->excess = value_of(c, of_excess, false);
    look_at_lock(c, &src, s->data);
  }
  return true;
}

static bool was_measured(const struct rundata *d, size_t row, size_t column) {
  for (size_t i = 0; i < d->count_count; i++)
    if (rundata_unit(d, rundata_cell(d, row, column, d->counts[i]), figure_units[TIME]))
      return true;
  return false;
}

bool scaling_make(struct scaling *s, const struct rundata *data, unsigned most_cores,
                  struct error *e) {
  *s = (struct scaling){.data = data};
  find_cores(s, most_cores);
  s->curves = calloc(data->rows.count * data->columns.count + 1, sizeof *s->curves);
  bool ok = s->curves != NULL;
  for (unsigned row = 0; ok && row < data->rows.count; row++)
    for (unsigned column = 0; ok && column < data->columns.count; column++)
      if (was_measured(data, row, column)) {
        struct scaling_curve *c = &s->curves[s->count++];
        *c = (struct scaling_curve){.row = row, .column = column};
        ok = make_curve(c, s);
      }
  return ok || error_set(e, EXIT_INPUT, "out of memory");
}

static void free_curve(struct scaling_curve *c) {
  free(c->points);
  free(c->draws);
}

void scaling_free(struct scaling *s) {
  for (size_t i = 0; i < s->count; i++)
    free_curve(&s->curves[i]);
  free(s->curves);
  *s = (struct scaling){0};
}

void scaling_keep(struct scaling *s, const char *part) {
  size_t kept = 0;
  for (size_t i = 0; i < s->count; i++)
    if (!part || strstr(s->data->rows.names[s->curves[i].row], part))
      s->curves[kept++] = s->curves[i];
    else
      free_curve(&s->curves[i]);
  s->count = kept;
}

const struct scaling_curve *scaling_find(const struct scaling *s, unsigned row, unsigned column) {
  for (size_t i = 0; i < s->count; i++)
    if (s->curves[i].row == row && s->curves[i].column == column)
      return &s->curves[i];
  return NULL;
}

/* --- Forecasts. */

const char *scaling_model_name(enum scaling_model m) {
  static const char *const names[] = {"none", "two-point", "usl"};
  return names[m];
}

static bool draw_forecast(const struct scaling_draw *d, bool law, unsigned threads,
                          struct forecast *out) {
  if (law) {
    out->low = out->high = usl_rate(&d->usl, threads);
    return true;
  }
  return forecast_pair(&d->pair, &d->parts, threads, out);
}

bool scaling_forecast(const struct scaling_curve *c, unsigned threads,
                      struct scaling_forecast *out) {
  double lows[SCALING_DRAWS], highs[SCALING_DRAWS], least[SCALING_DRAWS], most[SCALING_DRAWS];
  struct forecast f;
  size_t n = 0;
  *out = (struct scaling_forecast){.low = NAN, .high = NAN, .center = NAN, .speed_up = {NAN, NAN}};
  if (!c->fitted && !c->has_pair)
    return true;
  for (size_t i = 0; i < c->draw_count; i++) {
    if (!c->fitted && c->all.parts.has_lock && !c->draws[i].parts.has_lock)
      continue; /* a draw that did not go through the lock model */
    if (!draw_forecast(&c->draws[i], c->fitted, threads, &f))
      return false;
    double one = c->fitted ? 1 / c->draws[i].usl.lambda : c->draws[i].pair.one;
    lows[n] = f.low;
    highs[n] = f.high;
    least[n] = f.low * one;
    most[n++] = f.high * one;
  }
  /* Without an interval of its samples a forecast would claim to know them exactly. */
  if (n == 0)
    return true;
  out->model = c->fitted ? SCALING_USL : SCALING_PAIR;
  out->low = bootstrap_interval(lows, n, SCALING_CONFIDENCE).low;
  out->high = bootstrap_interval(highs, n, SCALING_CONFIDENCE).high;
  out->speed_up.low = bootstrap_interval(least, n, SCALING_CONFIDENCE).low;
  out->speed_up.high = bootstrap_interval(most, n, SCALING_CONFIDENCE).high;
  if (c->fitted) {
    /* Beyond the points the law errs by no less than it does at them. */
    out->center = usl_rate(&c->all.usl, threads);
    out->low /= 1 + c->misfit;
    out->high *= 1 + c->misfit;
    out->speed_up.low /= 1 + c->misfit;
    out->speed_up.high *= 1 + c->misfit;
  }
  return true;
}
