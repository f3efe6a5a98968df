/* Comparisons of a run; see verdicts.h. */
#include "harness/verdicts.h"
#include "workloads/workload.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const unit_names[VERDICT_UNITS] = {
    [VERDICT_NS] = "ns/op", [VERDICT_BYTES] = "B/op", [VERDICT_ALLOCS] = "allocs/op"};

static bool constant(const struct rundata_values *v) {
  return v->sorted[0] == v->sorted[v->n - 1];
}

const char *verdicts_workload(const char *case_name) {
  size_t length = strcspn(case_name, "/");
  for (size_t w = 0; workloads[w]; w++)
    for (const struct workload_case *c = workloads[w]->cases; c->name; c++)
      if (strcspn(c->name, "/") == length && strncmp(c->name, case_name, length) == 0)
        return workloads[w]->name;
  return "";
}

static unsigned family_of(struct verdicts *v, const char *case_name) {
  const char *workload = verdicts_workload(case_name);
  size_t f = 0;
  while (f < v->family_count && strcmp(v->families[f].workload, workload) != 0)
    f++;
  if (f == v->family_count && f < VERDICT_FAMILIES)
    v->families[v->family_count++].workload = workload;
  return (unsigned)(f < VERDICT_FAMILIES ? f : VERDICT_FAMILIES - 1);
}

/* Compares every column of every row that has both sides; *out has room for all. */
static bool compare_unit(const struct rundata *d, struct stats_work *work, enum verdict_unit unit,
                         struct analysis_options o, struct row_verdict *out, size_t *count,
                         struct error *e) {
  for (unsigned row = 0; row < d->rows.count; row++) {
    const char *name = unit_names[unit];
    const struct rundata_values *base = rundata_unit(d, rundata_headline(d, row, 0), name);
    for (unsigned column = 1; base && column < d->columns.count; column++) {
      const struct rundata_values *other = rundata_unit(d, rundata_headline(d, row, column), name);
      if (!other)
        continue;
      /* Ops are counted whole, so counts per op are mostly exact. */
      o.exact = unit != VERDICT_NS && constant(base) && constant(other);
      struct series a = rundata_series(base), b = rundata_series(other);
      struct row_verdict *r = &out[*count];
      *r = (struct row_verdict){.row = row, .column = column};
      char why[200] = "out of memory";
      if (!analysis_compare(work, &a, &b, &o, &r->comparison, why, sizeof why))
        return error_set(e, EXIT_INPUT, "comparing %s %s with %s: %s", d->rows.names[row],
                         d->columns.names[column], d->columns.names[0], why);
      ++*count;
    }
  }
  return true;
}

/* The rows of ns/op by family, corrected and judged. */
static bool decide_families(struct verdicts *v, const struct analysis_options *o) {
  struct row_verdict *rows = v->rows[VERDICT_NS];
  size_t n = v->counts[VERDICT_NS];
  struct comparison **list = malloc((n ? n : 1) * sizeof *list);
  bool ok = list != NULL;
  for (size_t f = 0; ok && f < v->family_count; f++) {
    struct verdict_family *family = &v->families[f];
    for (size_t i = 0; i < n; i++)
      if (rows[i].family == f)
        list[family->rows++] = &rows[i].comparison;
    ok = analysis_family(list, family->rows, o);
  }
  free(list);
  return ok;
}

/* Rows outside of the families, each by itself. */
static bool decide_each(struct row_verdict *rows, size_t n, const struct analysis_options *o) {
  bool ok = true;
  for (size_t i = 0; ok && i < n; i++) {
    struct comparison *one = &rows[i].comparison;
    ok = analysis_family(&one, 1, o);
  }
  return ok;
}

static void find_families(struct verdicts *v, const struct rundata *d) {
  for (size_t i = 0; i < v->counts[VERDICT_NS]; i++) {
    struct row_verdict *r = &v->rows[VERDICT_NS][i];
    r->family = family_of(v, d->rows.names[r->row]);
  }
}

/* Differences no larger than those of the base from itself are no findings. */
static bool apply_twin(struct row_verdict *rows, size_t n, const struct rundata *d) {
  const char *twin = rundata_twin(d);
  const struct comparison **twins = calloc(n + 1, sizeof *twins);
  struct comparison **others = calloc(n + 1, sizeof *others);
  size_t twin_count = 0, other_count = 0;
  for (size_t i = 0; twin && twins && others && i < n; i++) {
    if (d->columns.names[rows[i].column] == twin)
      twins[twin_count++] = &rows[i].comparison;
    else
      others[other_count++] = &rows[i].comparison;
  }
  if (twin_count > 0)
    analysis_apply_twin(others, other_count, analysis_twin_limit(twins, twin_count));
  bool ok = twins && others;
  free(twins);
  free(others);
  return ok;
}

bool verdicts_make(struct verdicts *v, const struct rundata *d, struct error *e) {
  *v = (struct verdicts){.alpha = 0.05, .confidence = 0.95, .margin = 0.03};
  struct analysis_options o = {.alpha = v->alpha,
                               .confidence = v->confidence,
                               .ci = true,
                               .correct = CORRECT_HOLM,
                               .margin = v->margin,
                               .better = BETTER_LESS};
  struct stats_work *work = stats_work_new();
  if (!work)
    return error_set(e, EXIT_INPUT, "out of memory");
  bool ok = true;
  for (int u = 0; ok && u < VERDICT_UNITS; u++) {
    size_t room = d->rows.count * d->columns.count;
    v->rows[u] = calloc(room ? room : 1, sizeof *v->rows[u]);
    ok = v->rows[u] || error_set(e, EXIT_INPUT, "out of memory");
    ok = ok && compare_unit(d, work, (enum verdict_unit)u, o, v->rows[u], &v->counts[u], e);
    if (ok && u != VERDICT_NS)
      ok = decide_each(v->rows[u], v->counts[u], &o) || error_set(e, EXIT_INPUT, "out of memory");
  }
  if (ok) {
    find_families(v, d);
    ok = (decide_families(v, &o) && apply_twin(v->rows[VERDICT_NS], v->counts[VERDICT_NS], d)) ||
         error_set(e, EXIT_INPUT, "out of memory");
  }
  stats_work_free(work);
  return ok;
}

void verdicts_free(struct verdicts *v) {
  for (int u = 0; u < VERDICT_UNITS; u++)
    free(v->rows[u]);
  *v = (struct verdicts){0};
}

/* The relative change; of exact units, which have no ratio estimate, that of the centers. */
static double relative(const struct comparison *c) {
  return c->absolute || c->exact ? c->center / c->base_center - 1 : c->delta.center;
}

static void widen(double delta, size_t n, double *low, double *high) {
  *low = n == 1 ? delta : fmin(*low, delta);
  *high = n == 1 ? delta : fmax(*high, delta);
}

struct verdict_tally verdicts_tally(const struct verdicts *v, enum verdict_unit unit,
                                    unsigned column) {
  struct verdict_tally t = {0};
  for (size_t i = 0; i < v->counts[unit]; i++) {
    const struct row_verdict *r = &v->rows[unit][i];
    if (r->column != column)
      continue;
    t.rows++;
    switch (r->comparison.verdict) {
    case VERDICT_FASTER:
      widen(relative(&r->comparison), ++t.better, &t.best_low, &t.best_high);
      break;
    case VERDICT_SLOWER:
      widen(relative(&r->comparison), ++t.worse, &t.worst_low, &t.worst_high);
      break;
    case VERDICT_SAME:
      t.same++;
      break;
    case VERDICT_NONE:
    case VERDICT_UNDECIDED:
      t.undecided++;
      break;
    }
  }
  return t;
}
