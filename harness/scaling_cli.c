/*
 * `poolbench scaling RUN`: the command line, and the data of plots/scaling.gp. The only file on
 * scaling that prints to the terminal.
 */
#include "harness/plural.h"
#include "harness/report.h"
#include "harness/scaling.h"
#include "harness/selection.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct scaling_options {
  const char *folder, *other;
  unsigned forecast, cores;
  bool no_plots, help;
};

/* --- The plot's data. */

struct plot {
  const struct scaling *scaling;
  unsigned forecast;
};

static void write_number(FILE *f, double value) {
  fputc('\t', f);
  if (isfinite(value))
    fprintf(f, "%.9g", value);
}

static void write_line(const struct scaling *s, const struct scaling_curve *c, const char *kind,
                       double threads, double rate, double low, double high, FILE *f) {
  fprintf(f, "%s\t%s\t%g", s->data->rows.names[c->row], s->data->columns.names[c->column], threads);
  write_number(f, 1e9 * rate);
  write_number(f, 1e9 * low);
  write_number(f, 1e9 * high);
  fprintf(f, "\t%s\n", kind); /* last, since gnuplot cannot tell empty last fields from none */
}

static void write_points(const struct scaling *s, const struct scaling_curve *c, FILE *f) {
  for (size_t i = 0; i < c->point_count; i++) {
    const struct scaling_point *p = &c->points[i];
    write_line(s, c, p->on_cores ? "point" : "over", p->threads, 1 / p->ns.value, 1 / p->ns.high,
               1 / p->ns.low, f);
  }
}

/* The law as a curve; of two points the line between them. Returns where it ends. */
static unsigned write_fit(const struct scaling *s, const struct scaling_curve *c, FILE *f) {
  unsigned last = 2;
  for (size_t i = 0; i < c->point_count; i++)
    last = c->fitted && c->points[i].on_cores ? c->points[i].threads : last;
  if (c->fitted)
    for (int i = 0; i <= 24; i++) {
      double n = pow(last, i / 24.0);
      write_line(s, c, "fit", n, usl_rate(&c->all.usl, n), NAN, NAN, f);
    }
  if (!c->fitted && c->has_pair) {
    write_line(s, c, "fit", 1, 1 / c->all.pair.one, NAN, NAN, f);
    write_line(s, c, "fit", 2, 2 / c->all.pair.two, NAN, NAN, f);
  }
  return last;
}

static bool write_forecast(const struct plot *p, const struct scaling_curve *c, unsigned last,
                           FILE *f) {
  struct scaling_forecast at;
  if (last >= p->forecast || (!c->fitted && !c->has_pair))
    return true;
  for (unsigned n = last;; n = 2 * n < p->forecast ? 2 * n : p->forecast) {
    if (!scaling_forecast(c, n, &at))
      return false;
    if (at.model != SCALING_NONE)
      write_line(p->scaling, c, "forecast", n, at.center, at.low, at.high, f);
    if (n == p->forecast)
      return true;
  }
}

/* What memory does not suffice for is left out of the picture; the tables have said so before. */
static void write_plot(const void *context, FILE *f) {
  const struct plot *p = context;
  fputs("# columns\tcase\tseries\tthreads\tops/s\tlow\thigh\tkind\n", f);
  for (size_t i = 0; i < p->scaling->count; i++) {
    const struct scaling_curve *c = &p->scaling->curves[i];
    if (c->point_count < 2)
      continue;
    write_points(p->scaling, c, f);
    if (!write_forecast(p, c, write_fit(p->scaling, c, f), f))
      return;
  }
}

static bool has_curve(const struct scaling *s) {
  for (size_t i = 0; i < s->count; i++)
    if (s->curves[i].point_count > 1)
      return true;
  return false;
}

/* --- The command. */

static bool make(const struct report *r, const struct scaling_options *o, struct error *e) {
  struct scaling s;
  bool ok = scaling_make(&s, &r->data, o->cores, e) && scaling_show(&s, o->forecast, stdout, e) &&
            (o->forecast == 0 || scaling_record(&s, o->forecast, e));
  if (ok && o->forecast)
    printf("forecasts are in %s/run.json; a run on %u core%s scores them:\n"
           "  poolbench scaling --score OTHER_RUN %s\n",
           r->data.folder, o->forecast, plural(o->forecast), r->data.folder);
  if (ok && !o->no_plots && has_curve(&s)) {
    struct plot p = {&s, o->forecast};
    ok = report_plot(r, "scaling", write_plot, &p, stdout, e);
    if (ok)
      printf("plot: %s/plots/scaling.svg\n", r->data.folder);
  }
  scaling_free(&s);
  return ok;
}

static bool score(const struct report *r, const char *folder, struct error *e) {
  struct rundata other = {0};
  bool ok = rundata_load(&other, folder, e) && scaling_score(&r->data, &other, stdout, e);
  rundata_free(&other);
  return ok;
}

static bool parse_option(const char *word, const char *value, struct scaling_options *o, bool *used,
                         struct error *e) {
  const char *name = word + (strncmp(word, "--", 2) == 0 ? 2 : 1);
  *used = false;
  if (strcmp(name, "help") == 0 || strcmp(name, "h") == 0) {
    o->help = true;
  } else if (strcmp(name, "no-plots") == 0) {
    o->no_plots = true;
  } else if (strcmp(name, "forecast") == 0) {
    *used = true;
    return selection_count("scaling", "--forecast", value, SCALING_MOST_CPUS, &o->forecast, e);
  } else if (strcmp(name, "cores") == 0) {
    *used = true;
    return selection_count("scaling", "--cores", value, SCALING_MOST_CPUS, &o->cores, e);
  } else if (strcmp(name, "score") == 0) {
    *used = true;
    o->other = value;
    return value || error_set(e, EXIT_USAGE, "scaling: --score needs the folder of another run");
  } else {
    return error_set(e, EXIT_USAGE,
                     "scaling: unknown option %s; usage: poolbench scaling [--forecast N] [--cores "
                     "K] [--score OTHER] [--no-plots] RUN",
                     word);
  }
  return true;
}

static bool parse(int argc, char **argv, struct scaling_options *o, struct error *e) {
  bool options = true; /* until "--" */
  for (int i = 1; i < argc; i++) {
    bool used = false;
    if (options && strcmp(argv[i], "--") == 0) {
      options = false;
    } else if (options && argv[i][0] == '-') {
      if (!parse_option(argv[i], i + 1 < argc ? argv[i + 1] : NULL, o, &used, e))
        return false;
      i += used;
    } else if (o->folder) {
      return error_set(e, EXIT_USAGE, "scaling: one run at a time, but there are %s and %s",
                       o->folder, argv[i]);
    } else {
      o->folder = argv[i];
    }
  }
  if (!o->folder && !o->help)
    return error_set(e, EXIT_USAGE, "scaling: which run? poolbench scaling results/latest");
  return true;
}

static void help(FILE *out) {
  fputs("usage: poolbench scaling [options] RUN\n\n"
        "How throughput grows with threads: the scalability law fitted to the points that had a\n"
        "core for every thread, and what the strategies' locks explain of it.\n\n"
        "  --forecast N    what N threads on N cores would do, as intervals; kept in run.json\n"
        "  --score OTHER   how the forecasts in RUN did against a run with as many cores\n"
        "  --cores K       use points of up to K threads only, as if there were no more cores;\n"
        "                  with --forecast and then --score RUN a run tests the forecasts itself\n"
        "  --no-plots      no plots/scaling.svg\n\n"
        "  poolbench scaling --forecast 32 results/latest\n",
        out);
}

int scaling_main(int argc, char **argv) {
  struct scaling_options o = {0};
  struct report r = {0};
  struct error e;
  bool ok = parse(argc, argv, &o, &e);
  if (ok && o.help)
    help(stdout);
  else
    ok = ok && report_load(&r, o.folder, &e) &&
         (o.other && !o.forecast ? true : make(&r, &o, &e)) && (!o.other || score(&r, o.other, &e));
  report_free(&r);
  return error_finish(ok, &e);
}
