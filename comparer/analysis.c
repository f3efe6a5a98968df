/*
 * From two series to a comparison, from many comparisons to verdicts; see analysis.h.
 *
 * Chooses the test and the scale, asks stats.h for the figures and applies the rules of
 * docs/statistics.md. Holds no formula of its own.
 */
#include "comparer/analysis.h"
#include "comparer/pairing.h"
#include "comparer/stats_work.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct stats_estimate no_estimate = {NAN, NAN, NAN};

static bool positive(const struct series *s) {
  return s->sorted[0] > 0;
}

static bool wants_interval(const struct analysis_options *o) {
  return o->ci || o->verdicts || o->paired;
}

/* --- verdicts --- */

/* The margin in the units of the shift: of the base's center where differences are compared. */
static double margin_of(const struct comparison *c, const struct analysis_options *o) {
  return c->absolute ? o->margin * fabs(c->base_center) : o->margin;
}

static enum verdict direction(double delta, const struct analysis_options *o) {
  if (!(delta < 0 || delta > 0))
    return VERDICT_UNDECIDED;
  bool more = delta > 0, more_is_better = o->better == BETTER_MORE;
  return more == more_is_better ? VERDICT_FASTER : VERDICT_SLOWER;
}

/*
 * Whether 0 is outside the shifts that the test accepts. An interval that ends at 0 leaves that
 * open: with ties the test may reject 0 itself and accept what lies just beside it.
 */
static bool excludes_zero(const struct comparison *c, const struct analysis_options *o) {
  bool ends_at_zero = c->shift.lo == 0 || c->shift.hi == 0;
  return c->shift.lo > 0 || c->shift.hi < 0 || (ends_at_zero && c->p <= work_alpha(o->confidence));
}

static void judge(struct comparison *c, const struct analysis_options *o) {
  if (!c->exact)
    c->significant = c->p_adjusted <= o->alpha;
  if (isnan(c->shift.center)) {
    c->verdict = c->significant ? direction(c->delta.center, o) : VERDICT_UNDECIDED;
    return;
  }
  double margin = margin_of(c, o);
  if (c->shift.lo >= -margin && c->shift.hi <= margin)
    c->verdict = VERDICT_SAME;
  else if (c->significant && excludes_zero(c, o))
    c->verdict = direction(c->shift.center, o);
  else
    c->verdict = VERDICT_UNDECIDED;
}

/* --- what the samples can show --- */

static double sum_of_squares(const double *x, size_t n, bool log_scale) {
  double mean = 0, squares = 0; /* Welford: the values may be far from 0 and close together */
  for (size_t i = 0; i < n; i++) {
    double v = log_scale ? log(x[i]) : x[i], d = v - mean;
    mean += d / (double)(i + 1);
    squares += d * (v - mean);
  }
  return squares;
}

static double pooled_spread(const struct series *a, const struct series *b) {
  if (a->n + b->n < 3)
    return NAN;
  double squares = sum_of_squares(a->values, a->n, true) + sum_of_squares(b->values, b->n, true);
  return sqrt(squares / (double)(a->n + b->n - 2));
}

/* The level at which one row of this family has to show: Holm's first step. */
static double shared_alpha(size_t family, const struct analysis_options *o) {
  return o->correct == CORRECT_HOLM && family > 1 ? o->alpha / (double)family : o->alpha;
}

static void judge_power(struct comparison *c, size_t family, const struct analysis_options *o) {
  double alpha = shared_alpha(family, o), effect = log1p(o->margin);
  bool too_few = c->min_p > alpha * (1 + 1e-12);
  if (too_few)
    c->doubts |= DOUBT_TOO_FEW;
  if (isnan(c->spread))
    return;
  size_t least = analysis_gate_samples(family, o), n;
  if (o->paired) {
    c->smallest_effect = expm1(stats_smallest_effect_paired(c->spread, c->pairs, alpha));
    n = stats_pairs_needed(c->spread, effect, alpha);
  } else {
    c->smallest_effect = expm1(stats_smallest_effect(c->spread, c->n_base, c->n, alpha));
    n = stats_samples_needed(c->spread, effect, alpha);
  }
  if (too_few)
    c->smallest_effect = INFINITY;
  c->needed = n == 0 || least == 0 ? 0 : n < least ? least : n;
}

static double smallest_p(size_t n, const struct analysis_options *o) {
  return o->paired ? stats_signed_rank_min_p(n) : stats_mwu_min_p(n, n);
}

size_t analysis_gate_samples(size_t family, const struct analysis_options *o) {
  double rows = o->correct == CORRECT_NONE || family == 0 ? 1 : (double)family;
  for (size_t n = 1; o->alpha > 0 && n <= 1000; n++)
    if (smallest_p(n, o) * rows <= o->alpha * (1 + 1e-12))
      return n;
  return 0;
}

/* --- one comparison --- */

static int compare_runs(const void *a, const void *b) {
  uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return (x > y) - (x < y);
}

static size_t distinct_runs(const struct series *s, uint32_t *out) {
  size_t n = 0, kept = 0;
  for (size_t i = 0; s->origins && i < s->n; i++)
    if (s->origins[i].run && (n == 0 || out[n - 1] != s->origins[i].run))
      out[n++] = s->origins[i].run;
  qsort(out, n, sizeof *out, compare_runs);
  for (size_t i = 0; i < n; i++)
    if (kept == 0 || out[kept - 1] != out[i])
      out[kept++] = out[i];
  return kept;
}

/* Both sides name their runs, and one took part in a run that the other did not. */
static bool other_runs(struct stats_work *w, const struct series *a, const struct series *b,
                       bool *differ) {
  *differ = false;
  if (!a->origins || !b->origins)
    return true;
  uint32_t *runs = work_scratch(w, SCRATCH_RUNS, a->n + b->n, sizeof *runs);
  if (!runs)
    return false;
  size_t na = distinct_runs(a, runs), nb = distinct_runs(b, runs + na);
  *differ = na && nb && na != nb;
  for (size_t i = 0; !*differ && i < na && i < nb; i++)
    *differ = runs[i] != runs[na + i];
  return true;
}

static bool has_bound(const struct series *s) {
  for (size_t i = 0; s->origins && i < s->n; i++)
    if (s->origins[i].flags & SAMPLE_BOUND)
      return true;
  return false;
}

/* From ratios to relative changes. A ratio of 0 or infinity is no bound. */
static struct stats_estimate relative(struct stats_estimate ratio) {
  return (struct stats_estimate){ratio.center - 1, ratio.lo > 0 ? ratio.lo - 1 : -INFINITY,
                                 ratio.hi - 1};
}

/* Benchmarks that are counted, not sampled: the difference of the modes stands for itself. */
static void compare_exact(const struct series *base, const struct series *c,
                          struct comparison *out) {
  out->exact = true;
  out->base_center = stats_mode(base->sorted, base->n);
  out->center = stats_mode(c->sorted, c->n);
  out->absolute = !(out->base_center > 0);
  double d = out->absolute ? out->center - out->base_center : out->center / out->base_center - 1;
  out->delta = out->shift = (struct stats_estimate){d, d, d};
  out->significant = out->center != out->base_center;
}

static bool compare_unpaired(struct stats_work *w, const struct series *base,
                             const struct series *c, const struct analysis_options *o,
                             struct comparison *out) {
  struct stats_mwu test;
  if (!stats_mwu(w, base->sorted, base->n, c->sorted, c->n, &test))
    return false;
  out->p = test.p;
  out->p_exact = test.exact;
  out->all_equal = test.all_equal;
  out->min_p = stats_mwu_min_p(base->n, c->n);
  if (!wants_interval(o))
    return true;
  if (out->absolute)
    return stats_shift(w, base->sorted, base->n, c->sorted, c->n, o->confidence, &out->shift);
  out->spread = pooled_spread(base, c);
  if (!stats_ratio(w, base->sorted, base->n, c->sorted, c->n, o->confidence, &out->shift))
    return false;
  out->shift = relative(out->shift);
  return true;
}

/* The log ratio, the same but for its sign when the sides are exchanged: ties stay ties. */
static double log_ratio(double base, double c) {
  return c >= base ? log(c / base) : -log(base / c);
}

static bool compare_paired(struct stats_work *w, const struct series *base, const struct series *c,
                           const struct analysis_options *o, struct comparison *out, char *why,
                           size_t why_size) {
  size_t most = base->n < c->n ? base->n : c->n;
  double *d = work_scratch(w, SCRATCH_RATIOS, 2 * most, sizeof *d);
  struct pairing pairing;
  if (!d || !pairing_find(w, base, c, d, d + most, &pairing))
    return false;
  const double *others = d + most;
  out->pairs = pairing.pairs;
  out->incomplete_pairs = pairing.incomplete;
  if (!pairing_acceptable(&pairing, why, why_size))
    return false;

  size_t n = pairing.pairs;
  for (size_t i = 0; i < n; i++)
    d[i] = out->absolute ? others[i] - d[i] : log_ratio(d[i], others[i]);
  struct stats_signed_rank test;
  if (!stats_signed_rank(w, d, n, &test) ||
      !stats_signed_rank_interval(w, d, n, o->confidence, &out->shift))
    return false;
  out->p = test.p;
  out->p_exact = test.exact;
  out->all_equal = true;
  for (size_t i = 0; i < n; i++)
    out->all_equal = out->all_equal && d[i] == 0;
  out->min_p = stats_signed_rank_min_p(n);
  if (out->absolute)
    return true;
  if (n > 1)
    out->spread = sqrt(sum_of_squares(d, n, false) / (double)(n - 1));
  const struct stats_estimate *s = &out->shift;
  out->shift =
      (struct stats_estimate){expm1(s->center), isinf(s->lo) ? s->lo : expm1(s->lo), expm1(s->hi)};
  return true;
}

static bool compare_sampled(struct stats_work *w, const struct series *base, const struct series *c,
                            const struct analysis_options *o, struct comparison *out, char *why,
                            size_t why_size) {
  out->base_center = stats_median(base->sorted, base->n);
  out->center = stats_median(c->sorted, c->n);
  bool estimate = o->ci || o->paired;
  out->absolute = wants_interval(o) ? !positive(base) || !positive(c) : out->base_center == 0;
  if (!(o->paired ? compare_paired(w, base, c, o, out, why, why_size)
                  : compare_unpaired(w, base, c, o, out)))
    return false;
  /* A sample that did not finish is only known to be larger: nothing bounds its side. */
  if (wants_interval(o) && has_bound(c))
    out->shift.hi = INFINITY;
  if (wants_interval(o) && has_bound(base))
    out->shift.lo = -INFINITY;

  bool difference = estimate ? out->absolute : out->base_center == 0;
  double medians = difference ? out->center - out->base_center : out->center / out->base_center - 1;
  out->delta = estimate ? out->shift : (struct stats_estimate){medians, NAN, NAN};
  out->p_adjusted = out->p;
  return true;
}

bool analysis_compare(struct stats_work *w, const struct series *base, const struct series *c,
                      const struct analysis_options *o, struct comparison *out, char *why,
                      size_t why_size) {
  if (why_size)
    why[0] = 0;
  *out = (struct comparison){.base_center = NAN,
                             .center = NAN,
                             .p = NAN,
                             .p_adjusted = NAN,
                             .delta = no_estimate,
                             .shift = no_estimate,
                             .n_base = base->n,
                             .n = c->n,
                             .spread = NAN,
                             .smallest_effect = NAN,
                             .min_p = NAN};
  if (base->n == 0 || c->n == 0)
    return true;
  bool differ;
  if (!other_runs(w, base, c, &differ))
    return false;
  if (differ)
    out->doubts |= DOUBT_OTHER_RUN;
  if (o->exact)
    compare_exact(base, c, out);
  else if (!compare_sampled(w, base, c, o, out, why, why_size))
    return false;
  judge_power(out, 1, o);
  judge(out, o);
  return true;
}

/* --- families --- */

bool analysis_family(struct comparison **rows, size_t n, const struct analysis_options *o) {
  double *p = malloc((n ? n : 1) * sizeof *p);
  if (!p)
    return false;
  size_t family = 0, at = 0;
  for (size_t i = 0; i < n; i++)
    if (!isnan(rows[i]->p))
      p[family++] = rows[i]->p;
  bool ok = true;
  if (o->correct == CORRECT_HOLM)
    ok = stats_holm(p, family, family, p);
  else if (o->correct == CORRECT_BH)
    ok = stats_benjamini_hochberg(p, family, family, p);
  for (size_t i = 0; ok && i < n; i++) {
    if (isnan(rows[i]->p))
      continue;
    rows[i]->p_adjusted = p[at++];
    judge_power(rows[i], family, o);
    judge(rows[i], o);
  }
  free(p);
  return ok;
}

/* |delta|, as a fraction of the base also where differences are compared; NAN without a base. */
static double size_of(const struct comparison *c) {
  double base = c->absolute ? fabs(c->base_center) : 1;
  return base > 0 ? fabs(c->delta.center) / base : NAN;
}

static bool counts_for_twin(const struct comparison *c) {
  return c->verdict != VERDICT_NONE && !c->exact && !isnan(size_of(c));
}

/* Rows whose |delta| is at most t; all rows that count, for t = INFINITY. */
static size_t count_upto(const struct comparison *const *rows, size_t n, double t) {
  size_t count = 0;
  for (size_t i = 0; i < n; i++)
    count += counts_for_twin(rows[i]) && size_of(rows[i]) <= t;
  return count;
}

/*
 * The k-th smallest |delta|. Needs no memory, so that the limit cannot fail: halves the range of
 * bit patterns, which for numbers above 0 are in the order of the values.
 */
static double kth_size(const struct comparison *const *rows, size_t n, size_t k) {
  double found = INFINITY;
  uint64_t lo = 0, hi;
  memcpy(&hi, &found, sizeof hi);
  while (lo < hi) {
    uint64_t mid = lo + (hi - lo) / 2;
    double t;
    memcpy(&t, &mid, sizeof t);
    if (count_upto(rows, n, t) >= k)
      hi = mid;
    else
      lo = mid + 1;
  }
  memcpy(&found, &lo, sizeof found);
  return found;
}

double analysis_twin_limit(const struct comparison *const *twin_rows, size_t n) {
  size_t rows = count_upto(twin_rows, n, INFINITY);
  if (rows == 0)
    return 0;
  if (rows < 20)
    return kth_size(twin_rows, n, rows);
  double at = ((double)rows + 1.0 / 3) * 0.95 + 1.0 / 3;
  size_t i = (size_t)at;
  double below = kth_size(twin_rows, n, i), above = kth_size(twin_rows, n, i + 1);
  return below + (at - (double)i) * (above - below);
}

void analysis_apply_twin(struct comparison **rows, size_t n, double limit) {
  for (size_t i = 0; i < n; i++) {
    struct comparison *c = rows[i];
    bool finding = c->verdict == VERDICT_FASTER || c->verdict == VERDICT_SLOWER;
    if (finding && counts_for_twin(c) && size_of(c) < limit) {
      c->verdict = VERDICT_UNDECIDED;
      c->doubts |= DOUBT_TWIN;
    }
  }
}
