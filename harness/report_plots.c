/*
 * The plots of a report: data files from the comparer's statistics, pictures by gnuplot from the
 * scripts in plots/. See report.h; what the columns mean stands in the scripts.
 */
#include "harness/budgets.h"
#include "harness/gnuplot.h"
#include "harness/plural.h"
#include "harness/report.h"
#include "harness/sample.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A folder's path and a name in it. */
#define PATH_ROOM (PATH_MAX + 64)

/* --- Data files. */

static FILE *create(const struct report *r, const char *name, struct error *e) {
  char path[PATH_ROOM];
  snprintf(path, sizeof path, "%s/plots/%s", r->data.folder, name);
  FILE *f = fopen(path, "we");
  if (!f)
    error_errno(e, EXIT_INPUT, "%s", path);
  return f;
}

static bool finish(FILE *f, const char *name, struct error *e) {
  bool ok = !ferror(f);
  ok = fclose(f) == 0 && ok;
  return ok || error_errno(e, EXIT_INPUT, "writing plots/%s", name);
}

/* The notes that plots/common.gp reads, but for the series. */
static void write_heads(const struct report *r, FILE *f) {
  char caption[400];
  report_caption(r, caption, sizeof caption);
  fprintf(f, "# cpus\t%.0f\n# threads\t%u\n# confidence\t%.0f\n", r->facts.cpus, r->data.headline,
          100 * r->verdicts.confidence);
  fprintf(f, "# caption\t%s\n# base\t%s\n", caption, r->data.columns.names[0]);
}

/* All of them; the series are the strategies. */
static void write_notes(const struct report *r, FILE *f) {
  write_heads(r, f);
  for (size_t i = 0; i < r->data.columns.count; i++)
    fprintf(f, "# series\t%s\n", r->data.columns.names[i]);
}

/* A bound that does not exist is an empty field. */
static void write_bound(FILE *f, double value) {
  fputc('\t', f);
  if (isfinite(value))
    fprintf(f, "%.9g", value);
}

/*
 * Median, bounds, samples. The count comes last because gnuplot does not see empty fields at the
 * end of a line: it would show the bounds of the line before.
 */
static void write_median(const struct report *r, const struct rundata_values *v, FILE *f) {
  struct stats_ranks ranks = stats_median_ranks(v->n, r->verdicts.confidence);
  fprintf(f, "\t%.9g", stats_median(v->sorted, v->n));
  write_bound(f, ranks.lo >= 1 ? v->sorted[ranks.lo - 1] : -INFINITY);
  write_bound(f, ranks.hi <= v->n ? v->sorted[ranks.hi - 1] : INFINITY);
  fprintf(f, "\t%zu\n", v->n);
}

static void write_point(const struct report *r, const struct rundata_cell *c, FILE *f) {
  const struct rundata_values *v = rundata_unit(&r->data, c, "ns/op");
  if (!v)
    return;
  fprintf(f, "%s\t%s\t%u", r->data.rows.names[c->row], r->data.columns.names[c->column],
          c->threads);
  write_median(r, v, f);
}

/* Rows that have more than one thread count. */
static bool has_curve(const struct rundata *d, size_t row) {
  unsigned first = 0;
  for (size_t i = 0; i < d->cell_count; i++)
    if (d->cells[i].row == row && rundata_unit(d, &d->cells[i], "ns/op")) {
      if (first && d->cells[i].threads != first)
        return true;
      first = d->cells[i].threads;
    }
  return false;
}

static size_t curve_rows(const struct rundata *d) {
  size_t n = 0;
  for (size_t row = 0; row < d->rows.count; row++)
    n += has_curve(d, row);
  return n;
}

static bool write_curves(const struct report *r, struct error *e) {
  const struct rundata *d = &r->data;
  FILE *f = create(r, "curves.tsv", e);
  if (!f)
    return false;
  fprintf(f, "# Median ns/op and its %.0f %% interval from order statistics.\n",
          100 * r->verdicts.confidence);
  write_notes(r, f);
  fputs("# columns\tcase\tseries\tthreads\tns/op\tlow\thigh\tsamples\n", f);
  for (size_t row = 0; row < d->rows.count; row++)
    for (size_t column = 0; has_curve(d, row) && column < d->columns.count; column++)
      for (size_t t = 0; t < d->count_count; t++)
        write_point(r, rundata_cell(d, row, column, d->counts[t]), f);
  return finish(f, "curves.tsv", e);
}

/* The units of percentiles, and the share of ops that took no longer. */
static const struct {
  const char *unit, *share;
} percentiles[] = {{"p50-ns", "0.5"}, {"p90-ns", "0.9"}, {"p99-ns", "0.99"}, {"p999-ns", "0.999"}};

static void write_percentile(const struct report *r, const struct rundata_cell *c, const char *unit,
                             const char *share, FILE *f) {
  const struct rundata_values *v = rundata_unit(&r->data, c, unit);
  if (!v || v->n == 0 || !report_has_percentile(&r->data, c, unit))
    return;
  fprintf(f, "%s\t%s\t%s", r->data.rows.names[c->row], r->data.columns.names[c->column], share);
  write_median(r, v, f);
}

static bool write_latency(const struct report *r, struct error *e) {
  const struct rundata *d = &r->data;
  FILE *f = create(r, "latency.tsv", e);
  if (!f)
    return false;
  fprintf(f,
          "# Percentiles of single ops at %u thread%s: median over the samples and its %.0f %% "
          "interval.\n",
          d->headline, plural(d->headline), 100 * r->verdicts.confidence);
  write_notes(r, f);
  fputs("# columns\tcase\tseries\tshare of ops\tns\tlow\thigh\tsamples\n", f);
  for (size_t row = 0; row < d->rows.count; row++)
    for (size_t column = 0; column < d->columns.count; column++) {
      const struct rundata_cell *c = rundata_headline(d, row, column);
      for (size_t p = 0; c && p < sizeof percentiles / sizeof percentiles[0]; p++)
        write_percentile(r, c, percentiles[p].unit, percentiles[p].share, f);
    }
  return finish(f, "latency.tsv", e);
}

static const char *verdict_word(enum verdict v) {
  static const char *const words[] = {[VERDICT_NONE] = "undecided",
                                      [VERDICT_SAME] = "same",
                                      [VERDICT_FASTER] = "faster",
                                      [VERDICT_SLOWER] = "slower",
                                      [VERDICT_UNDECIDED] = "undecided"};
  return words[v];
}

static bool write_deltas(const struct report *r, struct error *e) {
  FILE *f = create(r, "delta.tsv", e);
  if (!f)
    return false;
  fprintf(f,
          "# ns/op against the base at %u thread%s: ratio and its %.0f %% interval "
          "(Hodges-Lehmann), p after Holm.\n",
          r->data.headline, plural(r->data.headline), 100 * r->verdicts.confidence);
  write_notes(r, f);
  fputs("# columns\tcase\tseries\tratio\tlow\thigh\tp\tverdict\n", f);
  for (size_t i = 0; i < r->verdicts.counts[VERDICT_NS]; i++) {
    const struct row_verdict *v = &r->verdicts.rows[VERDICT_NS][i];
    const struct comparison *c = &v->comparison;
    fprintf(f, "%s\t%s\t%.9g", r->data.rows.names[v->row], r->data.columns.names[v->column],
            1 + c->delta.center);
    write_bound(f, 1 + c->delta.lo);
    write_bound(f, 1 + c->delta.hi);
    fprintf(f, "\t%.6g\t%s\n", c->p_adjusted, verdict_word(c->verdict));
  }
  return finish(f, "delta.tsv", e);
}

/* One cell's marks in the order of their times; the last one, an intervention, is left out. */
static void write_marks(const struct report *r, const struct rundata_cell *c, FILE *f) {
  const struct rundata *d = &r->data;
  double after = -1;
  for (int step = 1;; step++) {
    const char *next = NULL;
    double ns, least = INFINITY, live, rss, update;
    for (size_t u = 0; u < d->units.count; u++)
      if (sample_is_mark(d->units.names[u]) && rundata_median(d, c, d->units.names[u], &ns) &&
          ns > after && ns < least) {
        least = ns;
        next = d->units.names[u];
      }
    if (!next || strncmp(next, "released:", 9) == 0)
      return;
    char name[200];
    int phase = (int)strcspn(next, ":");
    phase = phase < 150 ? phase : 150;
    snprintf(name, sizeof name, "%.*s:live-B", phase, next);
    bool has_live = rundata_median(d, c, name, &live);
    snprintf(name, sizeof name, "%.*s:ns/op", phase, next);
    bool has_update = rundata_median(d, c, name, &update);
    snprintf(name, sizeof name, "%.*s:rss-B", phase, next);
    if (has_live && rundata_median(d, c, name, &rss)) {
      fprintf(f, "%s\t%s\t%d\t%.*s\t%.9g\t%.0f\t", d->rows.names[c->row],
              d->columns.names[c->column], step, phase, next, least, live);
      if (has_update && update > 0)
        fprintf(f, "%.9g", update);
      fprintf(f, "\t%.0f\n", rss);
    }
    after = least;
  }
}

static bool write_memory(const struct report *r, struct error *e) {
  FILE *f = create(r, "memory.tsv", e);
  if (!f)
    return false;
  fputs("# Medians at the marks of a series: ns since it began, live bytes, ns an update where the "
        "phase has updates, resident bytes.\n",
        f);
  write_notes(r, f);
  fputs("# columns\tcase\tseries\tstep\tphase\ttime-ns\tlive-B\tns/op\trss-B\n", f);
  for (size_t row = 0; row < r->data.rows.count; row++)
    for (size_t column = 0; column < r->data.columns.count; column++) {
      const struct rundata_cell *c = rundata_headline(&r->data, row, column);
      if (c && c->series)
        write_marks(r, c, f);
    }
  return finish(f, "memory.tsv", e);
}

/* The states of one cell, as bars are stacked; by CPU time where threads share CPUs. */
static bool write_states(const struct report *r, const struct rundata_cell *c, double base,
                         FILE *f) {
  struct budget_set set;
  struct budget_sample center;
  unsigned cpus = (unsigned)r->facts.cpus;
  bool by_cpu = cpus > 0 && c->threads > cpus;
  if (!budgets_load(&set, &r->data, c))
    return false;
  if (by_cpu)
    budgets_by_cpu(&set, cpus);
  bool ok = set.n == 0 || budgets_center(&set, &center);
  for (int k = 0; ok && set.n > 0 && k < BUDGET_STATES; k++)
    if (center.state[k] > 0)
      fprintf(f, "%s\t%s\t%s\t%.9g\t%.9g\n", r->data.rows.names[c->row],
              r->data.columns.names[c->column], budget_name((enum budget_state)k, by_cpu),
              center.state[k], 100 * center.state[k] / base);
  budgets_free(&set);
  return ok;
}

/* *bars: there is something to draw. */
static bool write_budgets(const struct report *r, bool *bars, struct error *e) {
  const struct rundata *d = &r->data;
  FILE *f = create(r, "budget.tsv", e);
  bool by_cpu = r->facts.cpus > 0 && d->headline > r->facts.cpus;
  if (!f)
    return false;
  fputs("# States of threads (docs/contention.md), means over the middle half of the rounds.\n", f);
  write_heads(r, f);
  for (int k = 0; k < BUDGET_STATES; k++)
    if (!by_cpu || budget_is_by_cpu((enum budget_state)k))
      fprintf(f, "# series\t%s\n", budget_name((enum budget_state)k, by_cpu));
  fputs("# columns\tcase\tstrategy\tstate\tns\tpercent\n", f);
  *bars = false;
  bool ok = true;
  for (size_t row = 0; row < d->rows.count; row++) {
    struct budget_set base;
    struct budget_sample center;
    if (!budgets_load(&base, d, rundata_headline(d, row, 0)))
      ok = false;
    bool has = ok && base.n > 0 && budgets_center(&base, &center);
    for (size_t column = 0; has && ok && column < d->columns.count; column++) {
      const struct rundata_cell *c = rundata_headline(d, row, column);
      ok = !c || write_states(r, c, center.total, f);
      *bars = true;
    }
    budgets_free(&base);
  }
  return finish(f, "budget.tsv", e) && (ok || error_set(e, EXIT_INPUT, "out of memory"));
}

/* --- Pictures. */

/* Where the scripts are. A checkout gets the link plots/latest, an installed folder does not. */
struct scripts {
  char folder[PATH_MAX];
  bool in_checkout;
};

static bool holds_scripts(const char *above, const char *below, struct scripts *s) {
  char script[PATH_ROOM];
  if (snprintf(s->folder, sizeof s->folder, "%s%s", above, below) >= PATH_MAX)
    return false;
  snprintf(script, sizeof script, "%s/common.gp", s->folder);
  return access(script, R_OK) == 0;
}

/*
 * Where POOLBENCH_PLOTS says, else above this program: a checkout's plots/ (build/poolbench, or
 * deeper: build/asan/poolbench), or the share of where it is installed.
 */
static bool find_scripts(struct scripts *s) {
  const char *told = getenv("POOLBENCH_PLOTS");
  s->in_checkout = true;
  if (told)
    return holds_scripts(told, "", s);
  char self[PATH_MAX];
  ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
  if (n < 0)
    return false;
  self[n] = '\0';
  for (char *slash; (slash = strrchr(self, '/')) != NULL && slash != self;) {
    *slash = '\0';
    s->in_checkout = holds_scripts(self, "/plots", s);
    if (s->in_checkout || holds_scripts(self, "/share/poolbench/plots", s))
      return true;
  }
  return false;
}

/* One plot in both forms. A picture of an earlier report does not survive a failed one. */
static enum gnuplot_result draw(const struct report *r, const struct scripts *scripts,
                                const char *name, const char *data, struct error *e) {
  static const char *const forms[] = {"svg", "png"};
  char script[PATH_ROOM], input[PATH_ROOM], picture[PATH_ROOM];
  enum gnuplot_result result = GNUPLOT_DREW;
  snprintf(script, sizeof script, "%s/%s.gp", scripts->folder, name);
  snprintf(input, sizeof input, "%s/plots/%s", r->data.folder, data);
  for (size_t i = 0; result == GNUPLOT_DREW && i < 2; i++) {
    snprintf(picture, sizeof picture, "%s/plots/%s.%s", r->data.folder, name, forms[i]);
    if (unlink(picture) != 0 && errno != ENOENT) {
      error_errno(e, EXIT_INPUT, "%s", picture);
      return GNUPLOT_FAILED;
    }
    result = gnuplot_draw(script, input, picture, e);
  }
  return result;
}

/*
 * plots/latest of the checkout shows the newest run's pictures: a link, replaced by a rename, and
 * relative for a run inside the checkout, which may be moved. A convenience: where it cannot be
 * made (read-only checkout) nothing else suffers.
 */
static void link_latest(const struct report *r, const char *scripts) {
  char folder[PATH_ROOM], run[PATH_MAX], here[PATH_MAX], target[PATH_ROOM];
  char link[PATH_ROOM], fresh[PATH_ROOM];
  snprintf(folder, sizeof folder, "%s/plots", r->data.folder);
  if (!realpath(folder, run) || !realpath(scripts, here))
    return;
  size_t checkout = (size_t)(strrchr(here, '/') - here);
  bool inside = strncmp(run, here, checkout) == 0 && run[checkout] == '/';
  snprintf(target, sizeof target, "%s%s", inside ? ".." : "", inside ? run + checkout : run);
  snprintf(link, sizeof link, "%s/latest", here);
  snprintf(fresh, sizeof fresh, "%s/.latest.new", here);
  unlink(fresh);
  if (symlink(target, fresh) == 0 && rename(fresh, link) != 0)
    unlink(fresh);
}

bool report_plots(const struct report *r, FILE *say, struct error *e) {
  char folder[PATH_ROOM];
  struct scripts scripts;
  if (snprintf(folder, sizeof folder, "%s/plots", r->data.folder) >= PATH_MAX)
    return error_set(e, EXIT_INPUT, "%s: the path is too long", r->data.folder);
  if (mkdir(folder, 0777) != 0 && errno != EEXIST)
    return error_errno(e, EXIT_INPUT, "%s", folder);
  bool memory = report_has_memory(r);
  bool bars = false;
  if (!write_curves(r, e) || !write_deltas(r, e) || !write_budgets(r, &bars, e) ||
      !write_latency(r, e) || (memory && !write_memory(r, e)))
    return false;
  if (!find_scripts(&scripts)) {
    fprintf(say, "no plots: the scripts in plots/ are not beside this program; POOLBENCH_PLOTS "
                 "says where they are\n");
    return true;
  }
  size_t curves = curve_rows(&r->data);
  const struct {
    const char *name, *data, *why_not;
    bool wanted;
  } plots[] = {
      {"throughput", "curves.tsv", "every case has one thread count, so no curve", curves > 0},
      {"time", "curves.tsv", "the same", curves > 0},
      {"delta", "delta.tsv", "nothing to compare", r->verdicts.counts[VERDICT_NS] > 0},
      {"budget", "budget.tsv", NULL, bars},
      {"latency", "latency.tsv", "no op was timed by itself", report_has_latency(r)},
      {"memory", "memory.tsv", NULL, memory},
  };
  for (size_t i = 0; i < sizeof plots / sizeof plots[0]; i++) {
    if (!plots[i].wanted) {
      if (plots[i].why_not)
        fprintf(say, "no plot %s: %s\n", plots[i].name, plots[i].why_not);
      continue;
    }
    enum gnuplot_result result = draw(r, &scripts, plots[i].name, plots[i].data, e);
    if (result == GNUPLOT_MISSING) {
      fprintf(say,
              "no plots: gnuplot is not installed (apt-get install gnuplot-nox; then "
              "./run.sh plot %s)\n",
              r->data.folder);
      return true;
    }
    if (result == GNUPLOT_FAILED)
      return false;
  }
  if (scripts.in_checkout)
    link_latest(r, scripts.folder);
  return true;
}

bool report_plot(const struct report *r, const char *name, void (*write)(const void *, FILE *),
                 const void *context, FILE *say, struct error *e) {
  char folder[PATH_ROOM], data[100];
  struct scripts scripts;
  snprintf(folder, sizeof folder, "%s/plots", r->data.folder);
  snprintf(data, sizeof data, "%.90s.tsv", name);
  if (mkdir(folder, 0777) != 0 && errno != EEXIST)
    return error_errno(e, EXIT_INPUT, "%s", folder);
  FILE *f = create(r, data, e);
  if (!f)
    return false;
  write_notes(r, f);
  write(context, f);
  if (!finish(f, data, e))
    return false;
  enum gnuplot_result result = GNUPLOT_MISSING;
  if (find_scripts(&scripts))
    result = draw(r, &scripts, name, data, e);
  if (result == GNUPLOT_MISSING)
    fprintf(say, "no picture of plots/%s: gnuplot, or the scripts in plots/, are not there\n",
            data);
  return result != GNUPLOT_FAILED;
}
