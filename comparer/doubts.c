/*
 * What makes one series of samples doubtful: its shape, its order, its flags. Nothing is removed.
 *
 * The checks are strict, since a table has hundreds of series; their rates of false alarm come
 * from `make calibrate` and stand in docs/statistics.md. Shape is reported only when it is larger
 * than the margin: smaller than that it cannot bear on a verdict.
 */
#include "comparer/analysis.h"

#include <math.h>

enum {
  SHAPE_MIN = 6,   /* samples below which neither modes nor fences mean anything */
  TREND_MAX = 2000 /* samples that the quadratic trend test looks at */
};

static unsigned flag_doubts(const struct series *s) {
  static const struct {
    unsigned flag, doubt;
  } map[] = {
      {SAMPLE_NOT_STEADY, DOUBT_NOT_STEADY}, {SAMPLE_FOREIGN_CPU, DOUBT_FOREIGN_CPU},
      {SAMPLE_THROTTLED, DOUBT_THROTTLED},   {SAMPLE_HOST_SPEED, DOUBT_HOST_SPEED},
      {SAMPLE_FEW_OPS, DOUBT_FEW_OPS},       {SAMPLE_BOUND, DOUBT_BOUND},
  };
  unsigned flags = 0, doubts = 0;
  for (size_t i = 0; i < s->n; i++)
    flags |= s->origins[i].flags;
  for (size_t i = 0; i < sizeof map / sizeof *map; i++)
    if (flags & map[i].flag)
      doubts |= map[i].doubt;
  return doubts;
}

/* A process writes its values one after another, so they are neighbours within a series. */
static bool shares_process(const struct series *s) {
  for (size_t i = 1; i < s->n; i++)
    if (s->origins[i].process && s->origins[i].process == s->origins[i - 1].process)
      return true;
  return false;
}

static int sign(double a, double b) {
  return (a > b) - (a < b);
}

/*
 * Mann-Kendall test of values against measured order, summed over runs (the seasonal form of
 * Hirsch and Slack), normal with ties and continuity; two-sided at 0.001. Below 8 samples no order
 * can reach that. Needs no memory; of long series it takes evenly spaced samples.
 */
static bool has_trend(const struct series *s) {
  size_t step = (s->n + TREND_MAX - 1) / TREND_MAX;
  double score = 0, variance = 0;
  for (size_t i = 0; i < s->n; i += step) {
    const struct sample_origin *a = &s->origins[i];
    if (!a->run)
      continue;
    double in_run = 0, equal = 0; /* size of this sample's run and of its tie group in it */
    for (size_t j = 0; j < s->n; j += step) {
      const struct sample_origin *b = &s->origins[j];
      if (b->run != a->run)
        continue;
      in_run++;
      equal += s->values[j] == s->values[i];
      if (j > i)
        score += sign(b->seq, a->seq) * sign(s->values[j], s->values[i]);
    }
    /* m (m-1) (2m+5) / 18 for the run less the same for its ties, one share a sample. */
    variance += ((in_run - 1) * (2 * in_run + 5) - (equal - 1) * (2 * equal + 5)) / 18;
  }
  return variance > 0 && erfc((fabs(score) - 1) / sqrt(2 * variance)) < 0.001;
}

/* Hyndman and Fan's definition 8 on sorted values. */
static double quantile(const double *x, size_t n, double q) {
  double at = ((double)n + 1.0 / 3) * q + 1.0 / 3;
  if (at <= 1)
    return x[0];
  if (at >= (double)n)
    return x[n - 1];
  size_t i = (size_t)at;
  return x[i - 1] + (at - (double)i) * (x[i] - x[i - 1]);
}

/* Tukey's far fences: more than three interquartile ranges outside the quartiles. */
static bool has_outliers(const struct series *s, double margin) {
  double q1 = quantile(s->sorted, s->n, 0.25), q3 = quantile(s->sorted, s->n, 0.75);
  double median = stats_median(s->sorted, s->n), far = margin * fabs(median);
  double least = s->sorted[0], most = s->sorted[s->n - 1];
  return (least < q1 - 3 * (q3 - q1) && median - least > far) ||
         (most > q3 + 3 * (q3 - q1) && most - median > far);
}

/*
 * Two modes: the best split of the sorted values into two groups, each of at least three and a
 * fifth of all, explains more of the variance (Otsu's criterion) than the best split of a uniform
 * sample does in 99 of 100 cases. The uniform is the hardest of the distributions with one mode
 * (0.75 in the limit; normal 0.64), so a normal sample is called bimodal about once in 1000. The
 * critical value is fitted to a simulation and within 0.003 of it from n = 8 on, above it below.
 */
static bool has_two_modes(const struct series *s, double margin) {
  double n = (double)s->n, origin = stats_median(s->sorted, s->n), sum = 0, squares = 0;
  for (size_t i = 0; i < s->n; i++) {
    double d = s->sorted[i] - origin;
    sum += d;
    squares += d * d;
  }
  size_t least = (s->n + 4) / 5 > 3 ? (s->n + 4) / 5 : 3;
  double total = squares - sum * sum / n, best = 0, apart = 0, low = 0;
  for (size_t i = 1; i + least <= s->n; i++) {
    low += s->sorted[i - 1] - origin;
    double m = (double)i, gap = (sum - low) / (n - m) - low / m, between = gap * gap * m * (n - m);
    if (i >= least && between > best) {
      best = between;
      apart = gap;
    }
  }
  double critical = 0.75 + (0.65 - 0.42 / n) / sqrt(n);
  return best / n > critical * total && apart > margin * fabs(origin);
}

unsigned analysis_series_doubts(const struct series *c, const struct analysis_options *o) {
  unsigned doubts = 0;
  if (c->origins) {
    doubts |= flag_doubts(c);
    if (shares_process(c))
      doubts |= DOUBT_ONE_PROCESS;
  }
  if (o->exact || c->n < SHAPE_MIN)
    return doubts;
  if (c->origins && has_trend(c))
    doubts |= DOUBT_TREND;
  if (has_outliers(c, o->margin))
    doubts |= DOUBT_OUTLIERS;
  if (has_two_modes(c, o->margin))
    doubts |= DOUBT_BIMODAL;
  return doubts;
}
