/* Budgets of cells; see budgets.h. */
#include "harness/budgets.h"

#include "comparer/sort.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[BUDGET_STATES] = {
    [BUDGET_WORK] = "work",          [BUDGET_HEAP] = "allocator",
    [BUDGET_SPIN] = "lock, on CPU",  [BUDGET_LOCKED] = "lock, asleep",
    [BUDGET_CAS] = "CAS retries",    [BUDGET_SCAN] = "scans",
    [BUDGET_RUNQUEUE] = "run queue", [BUDGET_SLEEP] = "other sleep",
    [BUDGET_TAIL] = "done early",    [BUDGET_REMAINDER] = "remainder",
};

const char *budget_name(enum budget_state state, bool by_cpu) {
  return by_cpu && state == BUDGET_SLEEP ? "CPUs idle or others'" : names[state];
}

bool budget_is_by_cpu(enum budget_state state) {
  return state <= BUDGET_SCAN ? state != BUDGET_LOCKED : state == BUDGET_SLEEP;
}

static bool same_sample(const struct sample_origin *a, const struct sample_origin *b) {
  return a->run == b->run && a->round == b->round && a->seq == b->seq;
}

/* The value of the sample that `total` number i belongs to. Lists are mostly parallel. */
static bool find(const struct rundata_values *total, size_t i, const struct rundata_values *v,
                 double *value) {
  for (size_t tried = 0; v && tried < v->n; tried++) {
    size_t k = (i + tried) % v->n;
    if (same_sample(&total->origins[i], &v->origins[k])) {
      *value = v->values[k];
      return true;
    }
  }
  return false;
}

static bool load(struct budget_set *b, const struct rundata *d, const struct rundata_cell *c,
                 int states) {
  *b = (struct budget_set){.threads = c ? c->team : 0};
  const struct rundata_values *total = c ? rundata_unit(d, c, "ns/op") : NULL;
  if (!total || !total->origins)
    return true;
  b->samples = calloc(total->n, sizeof *b->samples);
  if (!b->samples)
    return false;
  for (size_t i = 0; i < total->n; i++) {
    struct budget_sample s = {
        .total = total->values[i], .run = total->origins[i].run, .round = total->origins[i].round};
    bool all = true;
    for (int k = 0; all && k < states; k++) {
      const char *unit = unit_infos[budget_units[k]].name;
      all = find(total, i, rundata_unit(d, c, unit), &s.state[k]);
      s.state[k] /= c->team;
    }
    if (all)
      b->samples[b->n++] = s;
  }
  return true;
}

bool budgets_load(struct budget_set *b, const struct rundata *d, const struct rundata_cell *c) {
  return load(b, d, c, BUDGET_STATES);
}

bool budgets_load_totals(struct budget_set *b, const struct rundata *d,
                         const struct rundata_cell *c) {
  return load(b, d, c, 0);
}

void budgets_free(struct budget_set *b) {
  free(b->samples);
  *b = (struct budget_set){0};
}

void budgets_by_cpu(struct budget_set *b, unsigned cpus) {
  double factor = (double)b->threads / (b->threads < cpus ? b->threads : cpus);
  for (size_t i = 0; i < b->n; i++) {
    struct budget_sample *s = &b->samples[i], old = *s;
    memset(s->state, 0, sizeof s->state);
    s->state[BUDGET_SLEEP] = s->total;
    for (int k = 0; k < BUDGET_SLEEP; k++)
      if (budget_is_by_cpu((enum budget_state)k)) {
        s->state[k] = factor * old.state[k];
        s->state[BUDGET_SLEEP] -= s->state[k];
      }
  }
}

static int by_total(const void *a, const void *b) {
  double x = ((const struct budget_sample *)a)->total, y = ((const struct budget_sample *)b)->total;
  return (x > y) - (x < y);
}

bool budgets_center(const struct budget_set *b, struct budget_sample *out) {
  *out = (struct budget_sample){0};
  struct budget_sample *sorted = malloc(b->n * sizeof *sorted);
  if (!sorted)
    return false;
  memcpy(sorted, b->samples, b->n * sizeof *sorted);
  qsort(sorted, b->n, sizeof *sorted, by_total);
  size_t first = b->n / 4, last = b->n - b->n / 4;
  for (size_t i = first; i < last; i++) {
    out->total += sorted[i].total / (double)(last - first);
    for (int k = 0; k < BUDGET_STATES; k++)
      out->state[k] += sorted[i].state[k] / (double)(last - first);
  }
  free(sorted);
  return true;
}

bool budgets_interval(const struct budget_set *b, enum budget_state state, double *lo, double *hi) {
  double *values = malloc(b->n * sizeof *values);
  if (!values)
    return false;
  for (size_t i = 0; i < b->n; i++)
    values[i] = b->samples[i].state[state];
  sort_doubles(values, b->n);
  struct stats_ranks ranks = stats_median_ranks(b->n, 0.95);
  *lo = ranks.lo >= 1 ? values[ranks.lo - 1] : -INFINITY;
  *hi = ranks.hi <= b->n ? values[ranks.hi - 1] : INFINITY;
  free(values);
  return true;
}

bool budgets_pair(const struct budget_set *a, const struct budget_set *b, struct budget_set *out) {
  *out = (struct budget_set){.threads = b->threads};
  out->samples = calloc(a->n ? a->n : 1, sizeof *out->samples);
  bool *used = calloc(b->n ? b->n : 1, sizeof *used);
  if (!out->samples || !used) {
    free(used);
    budgets_free(out);
    return false;
  }
  for (size_t i = 0; i < a->n; i++) {
    size_t k = 0;
    while (k < b->n && (used[k] || a->samples[i].run != b->samples[k].run ||
                        a->samples[i].round != b->samples[k].round))
      k++;
    if (k == b->n || a->samples[i].round == 0)
      continue;
    used[k] = true;
    struct budget_sample *d = &out->samples[out->n++];
    *d = b->samples[k];
    d->total -= a->samples[i].total;
    for (int s = 0; s < BUDGET_STATES; s++)
      d->state[s] -= a->samples[i].state[s];
  }
  free(used);
  return true;
}
