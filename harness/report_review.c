/*
 * review.md: the run as a review comment, complete without pictures. See report.h.
 */
#include "harness/plural.h"
#include "harness/report.h"
#include "harness/why.h"

#include <stdlib.h>
#include <string.h>

/* GitHub's limit is 65,536 characters; bytes are never fewer. */
#define REVIEW_MOST 60000

/* What the cases have in common, as a pattern; a single name, or "12 cases". */
static void common_name(const struct rundata *d, char *out, size_t size) {
  size_t length = strlen(d->rows.names[0]);
  for (size_t i = 1; i < d->rows.count; i++)
    while (length > 0 && strncmp(d->rows.names[0], d->rows.names[i], length) != 0)
      length--;
  while (d->rows.count > 1 && length > 0 && d->rows.names[0][length - 1] != '/')
    length--;
  if (length > 0)
    snprintf(out, size, "`%.*s%s`", (int)length, d->rows.names[0], d->rows.count > 1 ? "*" : "");
  else
    snprintf(out, size, "%zu cases", d->rows.count);
}

static void title(const struct report *r, FILE *out) {
  const struct rundata *d = &r->data;
  char name[300];
  common_name(d, name, sizeof name);
  fprintf(out, "### %s%s%s at %u thread%s", r->facts.preset ? r->facts.preset : "",
          r->facts.preset ? ": " : "", name, d->headline, plural(d->headline));
  const char *what = d->builds > 1 ? "build" : "strategy",
             *many = d->builds > 1 ? "builds" : "strategies";
  if (d->columns.count > 1)
    fprintf(out, ", %zu %s against `%s`", d->columns.count - 1, d->columns.count == 2 ? what : many,
            d->columns.names[0]);
  fputs("\n\n", out);
}

static void machine(const struct report *r, FILE *out) {
  const struct report_facts *f = &r->facts;
  char when[40];
  report_time(f->started, when, sizeof when);
  fprintf(out, "%s, %s, %s. %s, %s.\n", f->cpu_model ? f->cpu_model : "CPU n/a",
          f->placement ? f->placement : "placement n/a", f->kernel ? f->kernel : "kernel n/a", when,
          f->compiler ? f->compiler : "compiler n/a");
  if (f->policy && f->map)
    fprintf(out, "Binding `%s`: %s.\n", f->policy, f->map);
}

/* "the 24 rows of ns/op", or of several workloads "the rows of ns/op of each workload (24 ...)". */
static void families(const struct verdicts *v, FILE *out) {
  if (v->family_count == 1) {
    fprintf(out, "the %zu rows of ns/op", v->families[0].rows);
    return;
  }
  fputs("the rows of ns/op of each workload (", out);
  for (size_t f = 0; f < v->family_count; f++)
    fprintf(out, "%s%s %zu", f ? ", " : "", v->families[f].workload, v->families[f].rows);
  fputc(')', out);
}

static void how(const struct report *r, FILE *out) {
  const struct report_facts *f = &r->facts;
  fprintf(
      out,
      "Each sample is a fresh process; cells were measured in shuffled rounds (seed %s, run "
      "%s); ns/op is the time from the release of all threads to the last op, divided by all "
      "ops.\n"
      "Deltas are Hodges-Lehmann estimates with %.0f %% intervals; a difference counts when the "
      "exact Mann-Whitney test, Holm-corrected over ",
      f->seed, f->id ? f->id : "n/a", 100 * r->verdicts.confidence);
  families(&r->verdicts, out);
  fprintf(out, ", gives p <= %.2f; \"same\" means inside %.0f %%.\n", r->verdicts.alpha,
          100 * r->verdicts.margin);
}

/* "20.0KiB, 710": medians of B/op and allocs/op. */
static bool add_memory(const struct rundata *d, const struct rundata_cell *c, struct grid *g) {
  double bytes, allocs;
  char b[GRID_VALUE], a[GRID_VALUE];
  if (!rundata_median(d, c, "B/op", &bytes) || !rundata_median(d, c, "allocs/op", &allocs))
    return grid_add(g, "-");
  grid_value(GRID_BYTES, bytes, b);
  grid_value(GRID_COUNT, allocs, a);
  return grid_add(g, "%s, %s", b, a);
}

/* Rows of memory over time have no op to count. */
static bool has_ops(const struct rundata *d, size_t row) {
  for (size_t i = 0; i < d->cell_count; i++)
    if (d->cells[i].row == row && d->cells[i].headline && !d->cells[i].series)
      return true;
  return false;
}

/* The other two tables of the comparison in one; all of them stand in comparison.txt. */
static bool memory_table(const struct report *r, struct grid *g) {
  const struct rundata *d = &r->data;
  grid_init(g, d->columns.count + 1, 1);
  bool ok = grid_add(g, "bytes and allocations per op");
  for (size_t column = 0; ok && column < d->columns.count; column++)
    ok = grid_add(g, "%s", d->columns.names[column]);
  for (size_t row = 0; ok && row < d->rows.count; row++) {
    if (!has_ops(d, row))
      continue;
    ok = grid_add(g, "%s", d->rows.names[row]);
    for (size_t column = 0; ok && column < d->columns.count; column++)
      ok = add_memory(d, rundata_headline(d, row, column), g);
  }
  return ok;
}

/* A heading and what `write` has to say, if anything. false without memory. */
static bool section(const struct report *r, const char *heading,
                    void (*write)(const struct report *, const char *, const char *, FILE *),
                    FILE *out) {
  char *text = NULL;
  size_t size = 0;
  FILE *memory = open_memstream(&text, &size);
  if (!memory)
    return false;
  write(r, "`", "- ", memory);
  bool ok = fclose(memory) == 0;
  if (ok && size > 0)
    fprintf(out, "%s%s%s\n", heading, *heading ? "\n\n" : "", text);
  free(text);
  return ok;
}

/* A table made by `make`, in markdown. false without memory. */
static bool grid_section(const struct report *r, const char *heading,
                         bool (*make)(const struct report *, struct grid *), FILE *out) {
  struct grid g;
  bool ok = make(r, &g);
  if (ok) {
    fputs(heading, out);
    grid_markdown(&g, out);
    fputc('\n', out);
  }
  grid_free(&g);
  return ok;
}

static bool contention_table(const struct report *r, struct grid *g) {
  return report_contention(r, true, g);
}

static bool latency_table(const struct report *r, struct grid *g) {
  return report_latency(r, true, g);
}

static bool footprint_table(const struct report *r, struct grid *g) {
  return report_footprint(r, true, g);
}

static bool footprint_section(const struct report *r, FILE *out) {
  return !report_has_footprint(r) ||
         grid_section(r, REPORT_FOOTPRINT_TITLE "\n\n", footprint_table, out);
}

static bool latency_section(const struct report *r, FILE *out) {
  if (!report_has_latency(r))
    return true;
  fprintf(out, "How long single ops take (" REPORT_LATENCY_WHAT ")%s\n\n",
          report_latency_remark(r));
  return grid_section(r, "", latency_table, out);
}

static bool kept_table(const struct report *r, struct grid *g) {
  return report_memory(r, true, g);
}

static bool causes_table(const struct report *r, struct grid *g) {
  return report_memory_causes(r, true, g);
}

static bool write_memory(const struct report *r, FILE *out) {
  return (r->data.allocators < 2 || grid_section(r, "", report_memory_allocators, out)) &&
         grid_section(r, REPORT_MEMORY_TITLE "\n\n", kept_table, out) &&
         grid_section(r, REPORT_CAUSES_TITLE "\n\n", causes_table, out);
}

/* What poolcmp made. */
struct tables {
  const char *time, *preset;
};

/* What is left out, in this order, where the whole does not fit a comment. */
enum { WITH_ALL, WITHOUT_CONTENTION, WITHOUT_TABLES };

static bool write_tables(const struct report *r, const struct tables *t, int level, FILE *out) {
  if (t->preset)
    fprintf(out, "```\n%s```\n\n", t->preset);
  if (level >= WITHOUT_TABLES) {
    fputs("The tables are too long for a comment; they are in comparison.txt.\n\n", out);
    return true;
  }
  bool ok = !report_has_memory(r) || write_memory(r, out);
  if (!ok || !report_has_ops(r))
    return ok;
  fprintf(out, "%s\n", t->time);
  return grid_section(r, "", memory_table, out) &&
         (level >= WITHOUT_CONTENTION ||
          (grid_section(r,
                        "Where the time goes, per op (medians; CPU, blocked and run queue are sums "
                        "over the threads)\n\n",
                        contention_table, out) &&
           footprint_section(r, out) && latency_section(r, out)));
}

static bool write_review(const struct report *r, const struct tables *t, int level, FILE *out) {
  title(r, out);
  bool ok = section(r, "", report_findings, out) && section(r, "", report_memory_findings, out);
  machine(r, out);
  if (r->facts.command[0])
    fprintf(out, "`%s`\n", r->facts.command);
  fputc('\n', out);
  ok = ok && write_tables(r, t, level, out) &&
       (level >= WITHOUT_CONTENTION ||
        (section(r, "W" REPORT_WHY_TITLE, report_why, out) &&
         section(r, "What limits each strategy", report_verdicts, out) &&
         report_limits(r, true, out))) &&
       section(r, "Not decided by this run", report_undecided, out) &&
       section(r, "To read it with care", report_caveats, out);
  how(r, out);
  return ok;
}

bool report_review(const struct report *r, const char *table, const char *preset, FILE *out) {
  const struct tables t = {table, preset};
  for (int level = WITH_ALL; level <= WITHOUT_TABLES; level++) {
    char *text = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&text, &size);
    if (!memory)
      return false;
    bool ok = write_review(r, &t, level, memory);
    ok = fclose(memory) == 0 && ok;
    bool fits = ok && (size <= REVIEW_MOST || level == WITHOUT_TABLES);
    if (fits)
      fwrite(text, 1, size, out);
    free(text);
    if (!ok || fits)
      return ok;
  }
  return false;
}
