/* Samples as Go benchmark text; see results.h. */
#include "harness/results.h"

#include "comparer/sort.h"
#include "comparer/stats.h"
#include "harness/digits.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define HOST_SPEED_MOST_OFF 5.0 /* %: beyond, a sample is flagged */

/* --- in memory --------------------------------------------------------------------------- */

bool results_add(struct results *r, const struct result *item, struct error *e) {
  if (r->count == r->room) {
    size_t room = r->room ? r->room * 2 : 256;
    struct result *bigger = realloc(r->items, room * sizeof *bigger);
    if (!bigger) {
      struct sample s = item->sample;
      sample_free(&s);
      return error_set(e, EXIT_INPUT, "out of memory");
    }
    r->items = bigger;
    r->room = room;
  }
  r->items[r->count++] = *item;
  return true;
}

bool results_have(const struct results *r, unsigned cell, unsigned round) {
  for (size_t i = 0; i < r->count; i++)
    if (r->items[i].cell == cell && r->items[i].round == round)
      return true;
  return false;
}

void results_free(struct results *r) {
  for (size_t i = 0; i < r->count; i++)
    sample_free(&r->items[i].sample);
  free(r->items);
  *r = (struct results){0};
}

double results_median_calibration(const struct results *r) {
  double *values = malloc((r->count + 1) * sizeof *values);
  size_t n = 0;
  if (!values)
    return 0;
  for (size_t i = 0; i < r->count; i++)
    if (sample_get(&r->items[i].sample, UNIT_CALIBRATION, &values[n]) && values[n] > 0)
      n++;
  sort_doubles(values, n);
  double median = n == 0 ? 0 : stats_median(values, n);
  free(values);
  return median;
}

/* --- writing ----------------------------------------------------------------------------- */

void results_write_head(FILE *out, const struct results_frame *f) {
  fprintf(out, "goos: linux\ngoarch: %s\ncpu: %s\n", f->host->goarch, f->host->cpu_model);
}

static const struct allocator_arm *write_allocator(FILE *out, const struct allocator_arm *now,
                                                   const struct allocator_arm *before) {
  if (now != before)
    fprintf(out, "allocator: %s%s%s\n", now->label, now->version[0] ? " " : "", now->version);
  return now;
}

/*
 * Whole numbers in full, others with at least six significant digits: enough that rounding stays
 * far below any spread, without digits that nobody measured.
 */
static void write_value(FILE *out, double value) {
  double size = fabs(value);
  if (value == floor(value) && size < 1e15) {
    fprintf(out, "%.0f", value);
    return;
  }
  int decimals = 5 - (size > 0 ? (int)floor(log10(size)) : 0);
  decimals = decimals < 0 ? 0 : decimals > 12 ? 12 : decimals;
  char text[64];
  int n = snprintf(text, sizeof text, "%.*f", decimals, value);
  while (strchr(text, '.') && n > 1 && (text[n - 1] == '0' || text[n - 1] == '.')) {
    bool point = text[n - 1] == '.';
    text[--n] = '\0';
    if (point)
      break;
  }
  fputs(text, out);
}

/*
 * Counts of the files for comparing: beyond thousandths of an object or a byte they are what was
 * left of the warm-up, and one such value would have its whole row shown in millionths.
 */
static double to_thousandths(const char *unit, double value) {
  bool count = strcmp(unit, unit_infos[UNIT_ALLOCS_OP].name) == 0 ||
               strcmp(unit, unit_infos[UNIT_B_OP].name) == 0;
  return count ? round(1000 * value) / 1000 : value;
}

static bool is_headline(const char *unit) {
  for (int i = 0; i < UNIT_COUNT; i++)
    if (unit_infos[i].headline && strcmp(unit, unit_infos[i].name) == 0)
      return true;
  return false;
}

/* A flag's text on one line, whatever it holds. */
static void write_flag(FILE *out, const char *name, const char *text) {
  fprintf(out, "# flag %s ", name);
  for (; *text; text++)
    fputc((unsigned char)*text < ' ' ? ' ' : *text, out);
  fputc('\n', out);
}

/* The speed of the host around the sample in % of the run's median; 0: not known. */
static double host_speed(const struct sample *s, double median) {
  double own;
  return median > 0 && sample_get(s, UNIT_CALIBRATION, &own) && own > 0 ? 100 * median / own : 0;
}

bool results_speed_flag(const struct sample *s, double median, char text[RESULTS_FLAG_TEXT]) {
  double speed = host_speed(s, median);
  if (speed <= 0 || fabs(speed - 100) <= HOST_SPEED_MOST_OFF)
    return false;
  snprintf(text, RESULTS_FLAG_TEXT, "the host ran at %.1f %% of this run's median speed", speed);
  return true;
}

static void write_flags(FILE *out, const struct sample *s, double median) {
  char text[RESULTS_FLAG_TEXT];
  for (size_t i = 0; i < s->flag_count; i++)
    write_flag(out, s->flags[i].name, s->flags[i].text);
  if (results_speed_flag(s, median, text))
    write_flag(out, FLAG_HOST_SPEED, text);
}

static void write_comments(FILE *out, const struct results_frame *f, const struct result *item,
                           double median) {
  fprintf(out, "# run %s round %u seq %u\n", f->run_id, item->round, item->seq);
  write_flags(out, &item->sample, median);
}

/* The length of a unit's phase ("trim-1:rss-B"), 0 for one without. */
static size_t phase_length(const char *unit) {
  const char *colon = strchr(unit, ':');
  return colon ? (size_t)(colon - unit) : 0;
}

/* "BenchmarkA/strategy=malloc-4" becomes "BenchmarkA/strategy=malloc/phase=trim-1-4". */
static void write_phase_name(FILE *out, const char *name, const char *unit) {
  const char *threads = strrchr(name, '-');
  size_t length = threads ? (size_t)(threads - name) : strlen(name);
  fprintf(out, "%.*s/phase=%.*s%s\t1", (int)length, name, (int)phase_length(unit), unit,
          name + length);
}

/* A series: its phases in the order of their marks, each a line with the same comments. */
static void write_phases(FILE *out, const struct results_frame *f, const struct result *item,
                         double median) {
  const struct sample *s = &item->sample;
  const char *before = "";
  for (size_t i = 0; i < s->value_count; i++) {
    const char *unit = s->values[i].name;
    size_t phase = phase_length(unit);
    if (phase == 0)
      continue;
    if (strncmp(unit, before, phase + 1) != 0) {
      if (*before)
        fputc('\n', out);
      write_comments(out, f, item, median);
      write_phase_name(out, f->plan->cells[item->cell].name, unit);
      before = unit;
    }
    fputc('\t', out);
    write_value(out, s->values[i].value);
    fprintf(out, " %s", unit + phase + 1);
  }
  fputc('\n', out);
}

static void write_lines(FILE *out, const struct results_frame *f, const struct result *item,
                        bool every_unit, bool pair_name, double median) {
  const struct plan_cell *c = &f->plan->cells[item->cell];
  const struct sample *s = &item->sample;
  double speed = host_speed(s, median);
  write_comments(out, f, item, median);
  fprintf(out, "%s\t%" PRIu64, pair_name ? c->pair_name : c->name, s->ops ? s->ops : 1);
  for (size_t i = 0; i < s->value_count; i++) {
    if (!every_unit && !is_headline(s->values[i].name))
      continue;
    double value = s->values[i].value;
    fputc('\t', out);
    write_value(out, every_unit ? value : to_thousandths(s->values[i].name, value));
    fprintf(out, " %s", s->values[i].name);
  }
  if (every_unit && speed > 0) {
    fputc('\t', out);
    write_value(out, speed);
    fprintf(out, " %s", unit_infos[UNIT_SPEED].name);
  }
  fputc('\n', out);
}

const struct allocator_arm *results_write_one(FILE *out, const struct results_frame *f,
                                              const struct result *item,
                                              const struct allocator_arm *allocator) {
  allocator = write_allocator(out, f->plan->cells[item->cell].allocator, allocator);
  write_lines(out, f, item, true, false, 0);
  return allocator;
}

/* A series has no ns/op, and a line without a value is no benchmark line. */
static bool has_headline_value(const struct sample *s) {
  for (size_t i = 0; i < s->value_count; i++)
    if (is_headline(s->values[i].name))
      return true;
  return false;
}

static bool is_series(const struct sample *s) {
  for (size_t i = 0; i < s->value_count; i++)
    if (sample_is_mark(s->values[i].name))
      return true;
  return false;
}

bool results_have_series(const struct results *r) {
  for (size_t i = 0; i < r->count; i++)
    if (is_series(&r->items[i].sample))
      return true;
  return false;
}

static bool chosen(const struct results_frame *f, const struct result *item,
                   enum results_choice choice) {
  const struct plan_cell *c = &f->plan->cells[item->cell];
  if (choice == RESULTS_MEMORY)
    return is_series(&item->sample);
  if (choice != RESULTS_DETAIL && !has_headline_value(&item->sample))
    return false;
  switch (choice) {
  case RESULTS_HEADLINE:
    return c->headline;
  case RESULTS_SWEEP:
    return !c->headline;
  case RESULTS_OLD:
    return c->headline && c->arm == f->plan->preset_old;
  case RESULTS_NEW:
    return c->headline && c->arm == f->plan->preset_new;
  case RESULTS_DETAIL:
  case RESULTS_MEMORY:
    break;
  }
  return true;
}

static int in_plan_order(const void *a, const void *b) {
  const struct result *x = *(const struct result *const *)a, *y = *(const struct result *const *)b;
  if (x->round != y->round)
    return x->round < y->round ? -1 : 1;
  return (x->cell > y->cell) - (x->cell < y->cell);
}

bool results_write(FILE *out, const struct results_frame *f, const struct results *r,
                   enum results_choice choice, unsigned rounds, double median) {
  const struct result **sorted = malloc((r->count + 1) * sizeof *sorted);
  size_t n = 0;
  if (!sorted)
    return false;
  for (size_t i = 0; i < r->count; i++)
    if (r->items[i].round <= rounds && chosen(f, &r->items[i], choice))
      sorted[n++] = &r->items[i];
  qsort(sorted, n, sizeof *sorted, in_plan_order);
  results_write_head(out, f);
  const struct allocator_arm *allocator = NULL;
  for (size_t i = 0; i < n; i++) {
    allocator = write_allocator(out, f->plan->cells[sorted[i]->cell].allocator, allocator);
    if (choice == RESULTS_MEMORY)
      write_phases(out, f, sorted[i], median);
    else
      write_lines(out, f, sorted[i], choice == RESULTS_DETAIL,
                  choice == RESULTS_OLD || choice == RESULTS_NEW, median);
  }
  free(sorted);
  return true;
}

/* --- reading ----------------------------------------------------------------------------- */

struct reader {
  const char *path;
  unsigned line;
  const struct results_frame *frame;
  struct results *results;
  char allocator[80]; /* label in force */
  struct result item; /* what the comments before a sample's line said */
  struct error *e;
};

static bool bad(struct reader *r, const char *what) {
  return error_set(r->e, EXIT_INPUT, "%s:%u: %s", r->path, r->line, what);
}

static bool find_cell(const struct reader *r, const char *name, unsigned *cell) {
  const struct plan *p = r->frame->plan;
  for (size_t i = 0; i < p->cell_count; i++)
    if (strcmp(p->cells[i].name, name) == 0 &&
        strcmp(p->cells[i].allocator->label, r->allocator) == 0) {
      *cell = (unsigned)i;
      return true;
    }
  return false;
}

/* "NAME TEXT", as after "# flag ". What the writer makes itself is made again, not kept. */
static bool read_flag(struct reader *r, char *text) {
  size_t name = strcspn(text, " ");
  char *rest = text + name + (text[name] != '\0');
  text[name] = '\0';
  if (strcmp(text, FLAG_HOST_SPEED) == 0)
    return true;
  return sample_add_flag(&r->item.sample, text, rest) || bad(r, "out of memory");
}

static bool read_values(struct reader *r, char **rest) {
  char *number, *unit;
  while ((number = strsep(rest, "\t ")) != NULL) {
    char *end;
    unit = strsep(rest, "\t");
    double value = strtod(number, &end);
    if (!unit || end == number || *end != '\0' || !isfinite(value))
      return bad(r, "a value and its unit were expected");
    if (strcmp(unit, unit_infos[UNIT_SPEED].name) != 0 && !sample_add(&r->item.sample, unit, value))
      return bad(r, "out of memory");
  }
  return true;
}

/* A sample's line ends what its comments began. */
static bool read_sample(struct reader *r, char *text) {
  char *rest = text;
  const char *name = strsep(&rest, "\t"), *ops = strsep(&rest, "\t");
  if (r->item.round == 0)
    return bad(r, "a sample without its `# run` line");
  if (!find_cell(r, name, &r->item.cell))
    return bad(r, "a sample of another plan");
  if (!ops || !digits_parse(ops, strlen(ops), &r->item.sample.ops))
    return bad(r, "a number of ops was expected");
  if (!read_values(r, &rest))
    return false;
  struct result item = r->item;
  r->item = (struct result){0};
  if (results_have(r->results, item.cell, item.round)) {
    sample_free(&item.sample);
    return true;
  }
  return results_add(r->results, &item, r->e);
}

static bool read_run(struct reader *r, const char *text) {
  char id[40];
  sample_free(&r->item.sample);
  r->item = (struct result){0};
  if (sscanf(text, "%39s round %9u seq %9u", id, &r->item.round, &r->item.seq) != 3 ||
      r->item.round == 0)
    return bad(r, "\"# run ID round N seq K\" was expected");
  return strcmp(id, r->frame->run_id) == 0 || bad(r, "a sample of another run");
}

static bool read_line(struct reader *r, char *text) {
  if (strncmp(text, "# run ", 6) == 0)
    return read_run(r, text + 6);
  if (strncmp(text, "# flag ", 7) == 0)
    return read_flag(r, text + 7);
  if (strncmp(text, "allocator: ", 11) == 0)
    snprintf(r->allocator, sizeof r->allocator, "%.*s", (int)strcspn(text + 11, " "), text + 11);
  if (strncmp(text, "Benchmark", 9) == 0)
    return read_sample(r, text);
  return true;
}

bool results_read(const char *path, FILE *in, const struct results_frame *f, struct results *r,
                  struct error *e) {
  struct reader reader = {.path = path, .frame = f, .results = r, .e = e};
  char *line = NULL;
  size_t size = 0;
  ssize_t n;
  bool ok = true;
  while (ok && (n = getline(&line, &size, in)) > 0 && line[n - 1] == '\n') {
    line[n - 1] = '\0';
    reader.line++;
    ok = read_line(&reader, line);
  }
  if (ok && ferror(in))
    ok = error_errno(e, EXIT_INPUT, "reading %s", path);
  sample_free(&reader.item.sample);
  free(line);
  return ok;
}
