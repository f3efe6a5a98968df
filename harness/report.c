/*
 * `poolbench report`: the order of things and the command line; see report.h. The only file of the
 * report that prints to the terminal.
 */
#include "harness/report.h"
#include "comparer/poolcmp.h"
#include "harness/plural.h"
#include "harness/published.h"
#include "harness/shellword.h"
#include "harness/why.h"
#include "harness/wrap.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Columns of comparison.txt: wide enough for five strategies side by side, narrower than wrapping.
 */
#define FILE_WIDTH 200

struct report_options {
  const char *folder;
  bool no_plots, plots_only, help;
};

/* --- Facts. */

/* The options as they were given, behind the front door's name. */
static void read_command(struct report *r) {
  char *out = r->facts.command;
  const json_t *word, *list = rundata_fact(&r->data, "command");
  size_t i, size = sizeof r->facts.command;
  json_array_foreach(list, i, word) {
    const char *text = json_string_value(word);
    if (i > 0 && text)
      shellword_add(out, size, text);
  }
  if (*out) {
    char options[sizeof r->facts.command];
    memcpy(options, out, sizeof options);
    snprintf(out, size, "./run.sh%.*s", (int)(size - 10), options);
  }
}

static void read_facts(struct report *r) {
  const struct rundata *d = &r->data;
  struct report_facts *f = &r->facts;
  f->id = rundata_fact_text(d, "id");
  f->host = rundata_fact_text(d, "host.name");
  f->cpu_model = rundata_fact_text(d, "host.cpu_model");
  f->kernel = rundata_fact_text(d, "host.kernel");
  f->placement = rundata_fact_text(d, "binding.line");
  f->policy = rundata_fact_text(d, "binding.policy");
  f->map = rundata_fact_text(d, "binding.map");
  f->preset = rundata_fact_text(d, "preset.name");
  f->compiler = rundata_fact_text(d, "program.compiler");
  f->cpus = rundata_fact_number(d, "binding.cpus", 0);
  f->started = rundata_fact_number(d, "started", 0);
  /* A seed beyond JSON's integers is text. */
  const json_t *seed = rundata_fact(d, "plan.seed");
  if (json_is_integer(seed))
    snprintf(f->seed, sizeof f->seed, "%" JSON_INTEGER_FORMAT, json_integer_value(seed));
  else
    snprintf(f->seed, sizeof f->seed, "%.20s",
             json_is_string(seed) ? json_string_value(seed) : "n/a");
  read_command(r);
}

bool report_load(struct report *r, const char *folder, struct error *e) {
  *r = (struct report){0};
  if (!rundata_load(&r->data, folder, e))
    return false;
  read_facts(r);
  return verdicts_make(&r->verdicts, &r->data, e);
}

void report_free(struct report *r) {
  verdicts_free(&r->verdicts);
  rundata_free(&r->data);
}

/* --- The comparer. */

/* What is put side by side; the base is first in the files, so it is in the tables. */
static const char *column_key(const struct rundata *d) {
  if (d->builds > 1)
    return "/build";
  return d->disciplines > 1 ? "/strategy,/discipline" : "/strategy";
}

/*
 * poolcmp with these arguments (NULL at the end) on files of the run; *text is its output, owned
 * by the caller. Status 4, nothing comparable, still gives tables.
 */
static bool compare(const char *const *arguments, char **text, struct error *e) {
  char *argv[16] = {"poolcmp"}, *complaints = NULL;
  size_t size, complaint_size;
  int argc = 1;
  while (*arguments && argc < 15)
    argv[argc++] = (char *)*arguments++;
  FILE *out = open_memstream(text, &size), *err = open_memstream(&complaints, &complaint_size);
  if (!out || !err)
    return error_set(e, EXIT_INPUT, "out of memory");
  int status = poolcmp_run(argc, argv, out, err);
  fclose(out);
  fclose(err);
  bool ok = status == EXIT_DONE || status == EXIT_NOTHING;
  if (!ok) {
    complaints[strcspn(complaints, "\n")] = '\0';
    error_set(e, (enum exit_status)status, "comparing the samples: %s", complaints);
  }
  free(complaints);
  return ok;
}

/* Two texts, each owned by the caller of the comparer, in one; `heading` is the second one's. */
static bool join(char **text, char *first, const char *heading, char *second, struct error *e) {
  bool ok = asprintf(text, "%s%s%s", first, second ? heading : "", second ? second : "") >= 0;
  if (!ok)
    *text = NULL;
  free(first);
  free(second);
  return ok || error_set(e, EXIT_INPUT, "out of memory");
}

/* Is a row of every strategy under one allocator and under another? */
static bool has_allocators(const struct report *r) {
  return r->data.allocators > 1 && report_has_ops(r);
}

/*
 * comparison.txt, and what the terminal shows: benchstat's layout. Its tables keep allocators
 * apart, so the times of several follow side by side, a table a strategy, the first the base.
 */
static bool compare_text(const struct report *r, size_t width, char **text, struct error *e) {
  char samples[PATH_MAX], width_text[16], *first = NULL, *second = NULL;
  snprintf(samples, sizeof samples, "%s/samples.txt", r->data.folder);
  snprintf(width_text, sizeof width_text, "%zu", width);
  const char *arguments[] = {"-col", column_key(&r->data), "-width", width_text, samples, NULL};
  const char *times[] = {
      "-table", column_key(&r->data), "-col",  "allocator", "-filter", ".unit:ns/op",
      "-width", width_text,           samples, NULL};
  if (!compare(arguments, &first, e) || (has_allocators(r) && !compare(times, &second, e))) {
    free(first);
    return false;
  }
  return join(text, first,
              "\nallocators side by side; all are called through the dynamic linker, which costs\n"
              "  small pairs some 30 % against a malloc that is linked statically\n",
              second, e);
}

/* ns/op with intervals, corrected p and verdicts, of the samples that pass the filter. */
static bool compare_filtered(const struct report *r, const char *table, const char *column,
                             const char *filter, char **text, struct error *e) {
  char samples[PATH_MAX];
  snprintf(samples, sizeof samples, "%s/samples.txt", r->data.folder);
  enum { TWIN = 12 };
  const char *arguments[] = {"-table",   table,   "-col",     column, "-format",
                             "markdown", "-ci",   "-correct", "holm", "-filter",
                             filter,     samples, NULL,       NULL,   NULL};
  const char *twin = rundata_twin(&r->data);
  if (twin) {
    arguments[TWIN] = "-twin";
    arguments[TWIN + 1] = twin;
  }
  return compare(arguments, text, e);
}

/* The first parts of the names of a family's cases: .name:("Handlers" OR "HandlersIdle"). */
static void family_filter(const struct report *r, size_t family, FILE *out) {
  const struct rundata *d = &r->data;
  const char *last = "", *workload = r->verdicts.families[family].workload;
  bool any = false;
  fputs(".unit:ns/op .name:(", out);
  for (size_t row = 0; row < d->rows.count; row++) {
    const char *name = d->rows.names[row];
    size_t length = strcspn(name, "/");
    bool again = strncmp(name, last, length) == 0 && strcspn(last, "/") == length;
    if (again || strcmp(verdicts_workload(name), workload) != 0)
      continue;
    fprintf(out, "%s\"%.*s\"", any ? " OR " : "", (int)length, name);
    last = name;
    any = true;
  }
  fputc(')', out);
}

/* As verdicts.h decides: a table a family of tests. */
static bool compare_families(const struct report *r, char **text, struct error *e) {
  const char *column = column_key(&r->data);
  if (r->verdicts.family_count < 2)
    return compare_filtered(r, ".config", column, ".unit:ns/op", text, e);
  size_t size;
  FILE *out = open_memstream(text, &size);
  bool ok = out != NULL;
  for (size_t f = 0; ok && f < r->verdicts.family_count; f++) {
    char *filter = NULL, *part = NULL;
    size_t length;
    FILE *memory = open_memstream(&filter, &length);
    if ((ok = memory != NULL)) {
      family_filter(r, f, memory);
      ok = fclose(memory) == 0 && compare_filtered(r, ".config", column, filter, &part, e);
    }
    if (ok)
      fprintf(out, "%s%s", f ? "\n" : "", part);
    free(filter);
    free(part);
  }
  if (out)
    ok = fclose(out) == 0 && ok;
  return ok || e->status || error_set(e, EXIT_INPUT, "out of memory");
}

/* The review's tables. */
static bool compare_markdown(const struct report *r, char **text, struct error *e) {
  char *first = NULL, *second = NULL;
  if (!compare_families(r, &first, e) ||
      (has_allocators(r) &&
       !compare_filtered(r, column_key(&r->data), "allocator", ".unit:ns/op", &second, e))) {
    free(first);
    return false;
  }
  return join(
      text, first,
      "\nAllocators side by side; all are called through the dynamic linker, which costs small "
      "pairs some 30 % against a malloc that is linked statically.\n\n",
      second, e);
}

/* All of a preset's columns in the older layout, which shows any number of them; NULL for two. */
static bool compare_columns(const struct report *r, size_t width, char **text, struct error *e) {
  char samples[PATH_MAX], width_text[16];
  *text = NULL;
  if (r->data.columns.count < 3)
    return true;
  snprintf(samples, sizeof samples, "%s/samples.txt", r->data.folder);
  snprintf(width_text, sizeof width_text, "%zu", width);
  const char *arguments[] = {"-format", "classic",  "-col",  column_key(&r->data),
                             "-width",  width_text, samples, NULL};
  return compare(arguments, text, e);
}

/* The two columns beside the published ones, then all columns; the caller frees *text. */
static bool add_published(const struct report *r, const char *two, const char *all, size_t width,
                          char **text, struct error *e) {
  size_t size;
  FILE *memory = open_memstream(text, &size);
  bool ok = memory && report_preset(r, two, width, memory);
  if (ok && all)
    fprintf(memory, "all columns\n%s\n", all);
  if (memory)
    ok = fclose(memory) == 0 && ok;
  return ok || error_set(e, EXIT_INPUT, "out of memory");
}

/* The pull request's own layout, from the two files that a preset's run writes. */
static bool compare_preset(const struct report *r, size_t width, char **text, struct error *e) {
  char old[PATH_MAX], new[PATH_MAX];
  snprintf(old, sizeof old, "%s/old.txt", r->data.folder);
  snprintf(new, sizeof new, "%s/new.txt", r->data.folder);
  *text = NULL;
  if (access(old, R_OK) != 0 || access(new, R_OK) != 0)
    return true;
  char old_label[PATH_MAX + 8], new_label[PATH_MAX + 8];
  snprintf(old_label, sizeof old_label, "old=%s", old);
  snprintf(new_label, sizeof new_label, "new=%s", new);
  const struct published *p = published_find(r->facts.preset);
  const char *layout = p && p->layout == PUBLISHED_TEXT ? "text" : "classic";
  const char *arguments[] = {"-format", layout, old_label, new_label, NULL};
  char *two = NULL, *all = NULL;
  bool ok = compare(arguments, &two, e) && compare_columns(r, width, &all, e) &&
            add_published(r, two, all, width, text, e);
  free(two);
  free(all);
  return ok;
}

/* --- Files and terminal. */

/* Beside and renamed: nobody meets half a file, and a FIFO of that name is not waited for. */
static bool write_file(const struct report *r, const char *name, const char *text,
                       struct error *e) {
  char path[PATH_MAX], beside[PATH_MAX + 8];
  snprintf(path, sizeof path, "%s/%s", r->data.folder, name);
  snprintf(beside, sizeof beside, "%s.new", path);
  unlink(beside);
  FILE *f = fopen(beside, "we");
  if (!f)
    return error_errno(e, EXIT_INPUT, "%s", beside);
  bool ok = fputs(text, f) >= 0;
  ok = fclose(f) == 0 && ok && rename(beside, path) == 0;
  if (ok)
    return true;
  error_errno(e, EXIT_INPUT, "writing %s", path);
  unlink(beside);
  return false;
}

static bool write_review(const struct report *r, const char *table, const char *preset,
                         struct error *e) {
  char *text = NULL;
  size_t size;
  FILE *memory = open_memstream(&text, &size);
  if (!memory)
    return error_set(e, EXIT_INPUT, "out of memory");
  bool ok = report_review(r, table, preset, memory) || error_set(e, EXIT_INPUT, "out of memory");
  fclose(memory);
  ok = ok && write_file(r, "review.md", text, e);
  free(text);
  return ok;
}

static size_t terminal_width(void) {
  return wrap_terminal(stdout, FILE_WIDTH);
}

/* A heading and what `write` has to say, if anything. */
static void print_list(const struct report *r, const char *heading,
                       void (*write)(const struct report *, const char *, const char *, FILE *)) {
  char *text = NULL;
  size_t size = 0;
  FILE *memory = open_memstream(&text, &size);
  if (!memory)
    return;
  write(r, "", "  ", memory);
  fclose(memory);
  if (size > 0) {
    printf("%s\n", heading);
    wrap_print(text, terminal_width(), stdout);
    putchar('\n');
  }
  free(text);
}

static bool print_grid(const char *title, struct grid *g, bool made, struct error *e) {
  if (made) {
    wrap_print(title, terminal_width(), stdout);
    grid_print_within(g, "  ", terminal_width(), stdout);
    putchar('\n');
  }
  grid_free(g);
  return made || error_set(e, EXIT_INPUT, "out of memory");
}

static bool print_contention(const struct report *r, struct error *e) {
  struct grid g;
  char title[200];
  if (!report_has_ops(r))
    return true;
  snprintf(title, sizeof title,
           "where the time goes at %u thread%s, per op (medians; CPU, blocked and run queue are "
           "sums over the threads)",
           r->data.headline, plural(r->data.headline));
  bool made = report_contention(r, false, &g);
  return print_grid(title, &g, made, e);
}

static bool print_latency(const struct report *r, struct error *e) {
  struct grid g;
  char title[400];
  if (!report_has_latency(r))
    return true;
  snprintf(title, sizeof title,
           "how long single ops take at %u thread%s (" REPORT_LATENCY_WHAT ")%s", r->data.headline,
           plural(r->data.headline), report_latency_remark(r));
  bool made = report_latency(r, false, &g);
  return print_grid(title, &g, made, e);
}

static bool print_footprint(const struct report *r, struct error *e) {
  struct grid g;
  if (!report_has_footprint(r))
    return true;
  bool made = report_footprint(r, false, &g);
  return print_grid(REPORT_FOOTPRINT_TITLE, &g, made, e);
}

static bool print_memory(const struct report *r, struct error *e) {
  struct grid g;
  if (!report_has_memory(r))
    return true;
  bool made = report_memory(r, false, &g);
  if (!print_grid(REPORT_MEMORY_TITLE, &g, made, e))
    return false;
  made = report_memory_causes(r, false, &g);
  if (!print_grid(REPORT_CAUSES_TITLE, &g, made, e))
    return false;
  if (r->data.allocators < 2)
    return true;
  made = report_memory_allocators(r, &g);
  return print_grid("the same share, allocators side by side", &g, made, e);
}

static bool has_file(const char *folder, const char *name) {
  char path[PATH_MAX + 20];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return access(path, F_OK) == 0;
}

static void print_files(const struct report *r, bool plots) {
  const char *folder = r->data.folder;
  printf("files in %s\n"
         "  comparison.txt   the tables above\n"
         "%s%s"
         "  samples.txt      %u thread%s, for poolcmp or benchstat%s\n"
         "  detail.txt       every unit; run.json: plan, machine, failures\n",
         folder, r->facts.preset ? "  published.txt    the same beside the published tables\n" : "",
         report_has_memory(r) ? "  memory.txt       what memory stays, by phase\n" : "",
         r->data.headline, plural(r->data.headline),
         has_file(folder, "sweep.txt") ? "; sweep.txt: the other counts" : "");
  if (plots)
    puts("  plots/           pictures as SVG and PNG, where gnuplot is there, and their data");
  char review[PATH_MAX + 16], word[2 * PATH_MAX] = "";
  snprintf(review, sizeof review, "%s/review.md", folder);
  shellword_add(word, sizeof word, review);
  printf("into a review: gh pr comment --body-file%s   (or paste it)\n", word);
}

/* Code in a review comment scrolls sideways beyond about this width. */
#define REVIEW_WIDTH 110

/* What a preset's run has beside the comparison: for files, for the review and for the terminal. */
static bool preset_tables(const struct report *r, char **review, char **shown, struct error *e) {
  char *file = NULL;
  bool ok = compare_preset(r, FILE_WIDTH, &file, e) && compare_preset(r, REVIEW_WIDTH, review, e) &&
            compare_preset(r, terminal_width(), shown, e) &&
            (!file || write_file(r, "published.txt", file, e));
  free(file);
  return ok;
}

static bool tables(const struct report *r, struct error *e) {
  char *text = NULL, *markdown = NULL, *shown = NULL, *preset = NULL, *review = NULL;
  size_t width = terminal_width();
  bool ok = compare_text(r, FILE_WIDTH, &text, e) && compare_markdown(r, &markdown, e) &&
            preset_tables(r, &review, &preset, e) &&
            (width == FILE_WIDTH || compare_text(r, width, &shown, e));
  ok = ok && write_file(r, "comparison.txt", text, e) && write_review(r, markdown, review, e);
  if (ok) {
    if (preset)
      printf("%s\n", preset);
    if (report_has_ops(r))
      printf("%s\n", shown ? shown : text);
  }
  free(text);
  free(markdown);
  free(shown);
  free(preset);
  free(review);
  return ok;
}

static bool make(const struct report *r, const struct report_options *o, struct error *e) {
  if (!o->plots_only) {
    if (!tables(r, e) || !print_contention(r, e) || !print_footprint(r, e) ||
        !print_latency(r, e) || !print_memory(r, e))
      return false;
    print_list(r, "findings", report_findings);
    print_list(r, "what memory stays", report_memory_findings);
    print_list(r, "w" REPORT_WHY_TITLE, report_why);
    print_list(r, "what limits each strategy", report_verdicts);
    if (!report_limits(r, false, stdout))
      return error_set(e, EXIT_INPUT, "out of memory");
    print_list(r, "not decided", report_undecided);
    print_list(r, "to read it with care", report_caveats);
  }
  /* Pictures come last: whatever goes wrong with them, the tables are there. */
  bool drawn = o->no_plots || report_plots(r, stdout, e);
  if (o->plots_only)
    printf("plots in %s/plots\n", r->data.folder);
  else
    print_files(r, !o->no_plots);
  return drawn;
}

static bool parse(int argc, char **argv, struct report_options *o, struct error *e) {
  bool options = true; /* until "--" */
  for (int i = 1; i < argc; i++) {
    const char *word = argv[i];
    const char *name = word + (strncmp(word, "--", 2) == 0 ? 2 : 1);
    bool is_option = options && word[0] == '-';
    if (is_option && strcmp(word, "--") == 0)
      options = false;
    else if (!is_option && !o->folder)
      o->folder = word;
    else if (!is_option)
      return error_set(e, EXIT_USAGE, "report: one run at a time, but there are %s and %s",
                       o->folder, word);
    else if (strcmp(name, "help") == 0 || strcmp(name, "h") == 0)
      o->help = true;
    else if (strcmp(name, "no-plots") == 0)
      o->no_plots = true;
    else if (strcmp(name, "plots-only") == 0)
      o->plots_only = true;
    else
      return error_set(e, EXIT_USAGE,
                       "report: unknown option %s; usage: poolbench report [--no-plots | "
                       "--plots-only] RUN",
                       word);
  }
  if (!o->folder && !o->help)
    return error_set(e, EXIT_USAGE, "report: which run? poolbench report results/latest");
  if (o->no_plots && o->plots_only)
    return error_set(e, EXIT_USAGE, "report: --no-plots and --plots-only leave nothing to make");
  return true;
}

static void help(FILE *out) {
  fputs("usage: poolbench report [--no-plots | --plots-only] RUN\n\n"
        "Makes comparison.txt, review.md and plots/ in the run's folder from its samples and\n"
        "prints the tables, what was found, what was not decided and what casts doubt.\n\n"
        "  --no-plots    tables only\n"
        "  --plots-only  pictures only (./run.sh plot RUN)\n\n"
        "  poolbench report results/latest\n\n"
        "POOLBENCH_PLOTS names the folder of the gnuplot scripts where they are not found.\n",
        out);
}

int report_main(int argc, char **argv) {
  struct report_options o = {0};
  struct report r = {0};
  struct error e;
  bool ok = parse(argc, argv, &o, &e);
  if (ok && o.help)
    help(stdout);
  else
    ok = ok && report_load(&r, o.folder, &e) && make(&r, &o, &e);
  report_free(&r);
  return error_finish(ok, &e);
}
