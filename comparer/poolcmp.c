/*
 * poolcmp as a library: see poolcmp.h. Puts the stages together: reader, group, table, render.
 */
#include "comparer/poolcmp.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_COMPLAINTS 100 /* shown of one file */
#define MAX_DOUBTFUL_ROWS 10

/* Causes, never shapes of the data: what -exclude-flagged acts on. */
#define EXCLUDED_FLAGS (SAMPLE_NOT_STEADY | SAMPLE_FOREIGN_CPU | SAMPLE_THROTTLED)

/* ---- reading ---- */

struct input {
  const char *path;
  const char *label;
  bool labelled;
};

/* LABEL=PATH or PATH; the same path again becomes path#0, path#1. */
static struct input *make_inputs(const struct poolcmp_options *o, struct arena *a) {
  struct input *inputs = arena_alloc(a, (o->input_count + 1) * sizeof *inputs);
  struct intern seen;
  uint32_t *counts = calloc(o->input_count + 2, sizeof *counts);
  uint32_t *given = calloc(o->input_count + 2, sizeof *given);
  bool ok = intern_init(&seen) && inputs && counts && given;
  for (size_t i = 0; ok && i < o->input_count; i++) {
    const char *word = o->inputs[i], *equals = strchr(word, '=');
    inputs[i] = (struct input){equals ? equals + 1 : word, word, equals != NULL};
    if (equals) {
      inputs[i].label = arena_copy(a, (struct text){word, (size_t)(equals - word)});
      ok = inputs[i].label != NULL;
    } else {
      uint32_t id = intern_add(&seen, text_of(word));
      ok = id != INTERN_NONE;
      if (ok)
        counts[id]++;
    }
  }
  for (size_t i = 0; ok && i < o->input_count; i++) {
    if (inputs[i].labelled)
      continue;
    uint32_t id = intern_add(&seen, text_of(inputs[i].path));
    if (counts[id] == 1)
      continue;
    inputs[i].label = arena_printf(a, "%s#%u", inputs[i].path, given[id]++);
    ok = inputs[i].label != NULL;
  }
  free(counts);
  free(given);
  intern_free(&seen);
  return ok ? inputs : NULL;
}

static enum poolcmp_status no_memory(FILE *err) {
  fprintf(err, "poolcmp: out of memory\n");
  return POOLCMP_INPUT;
}

static enum poolcmp_status read_records(struct poolcmp *p, const struct input *in, uint32_t file,
                                        FILE *err) {
  size_t shown = 0;
  for (;;) {
    switch (reader_next(&p->reader)) {
    case RECORD_END:
      if (shown > MAX_COMPLAINTS)
        fprintf(err, "%s: %zu more lines like these\n", in->path, shown - MAX_COMPLAINTS);
      return POOLCMP_DONE;
    case RECORD_FATAL:
      fprintf(err, "poolcmp: %s:%llu: %s\n", in->path, (unsigned long long)p->reader.line + 1,
              p->reader.message);
      return POOLCMP_INPUT;
    case RECORD_COMPLAINT:
      p->complaints++;
      if (shown++ < MAX_COMPLAINTS)
        fprintf(err, "%s:%llu: %s\n", in->path, (unsigned long long)p->reader.line,
                p->reader.message);
      break;
    case RECORD_RESULT:
      if (!group_add(&p->group, &p->reader, text_of(in->label), file))
        return no_memory(err);
      break;
    }
  }
}

static enum poolcmp_status read_input(struct poolcmp *p, const struct input *in, uint32_t file,
                                      FILE *err) {
  bool is_stdin = strcmp(in->path, "-") == 0;
  int fd = is_stdin ? STDIN_FILENO : open(in->path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    fprintf(err, "poolcmp: open %s: %s\n", in->path, strerror(errno));
    return POOLCMP_INPUT;
  }
  struct stat kind;
  enum poolcmp_status status = POOLCMP_INPUT;
  if (fstat(fd, &kind) == 0 && S_ISDIR(kind.st_mode)) {
    fprintf(err, "poolcmp: %s is a directory; name a file, for a run its samples.txt\n", in->path);
  } else {
    reader_open(&p->reader, fd);
    status = read_records(p, in, file, err);
  }
  if (!is_stdin)
    close(fd);
  return status;
}

/* ---- loading ---- */

/* What the format and the inputs ask for beyond the flags. */
static struct table_options complete(const struct poolcmp_options *o, const struct poolcmp *p) {
  struct table_options t = o->table;
  bool own = o->format == FORMAT_MARKDOWN || o->format == FORMAT_TIDY || o->format == FORMAT_JSON;
  t.ci = t.ci || t.paired;
  t.verdicts = t.verdicts || own || o->margin_set || o->gate || t.twin;
  t.means = t.means || o->format == FORMAT_CLASSIC;
  t.doubts = t.doubts || own || p->reader.runs.count > 1;
  return t;
}

/* A twin that no table has is a mistake on the command line. */
static bool twin_exists(const struct table_set *set) {
  for (size_t i = 0; i < set->count; i++)
    for (size_t k = 1; k < set->tables[i].column_count; k++) {
      const struct table_column *c = &set->tables[i].columns[k];
      if (!strcmp(c->label, set->options.twin))
        return true;
      for (size_t l = 0; l < set->level_count; l++)
        if (!strcmp(c->levels[l], set->options.twin))
          return true;
    }
  return false;
}

/* A gate whose smallest p is above alpha could never fire: refused, with the way out. */
static enum poolcmp_status check_gate(const struct poolcmp *p, const struct poolcmp_options *o,
                                      FILE *err) {
  const struct table_set *set = &p->tables;
  double reachable = set->best_min_p;
  if (set->options.correct != CORRECT_NONE)
    reachable *= (double)set->family;
  if (set->family == 0 || reachable <= set->options.alpha)
    return POOLCMP_DONE;
  if (!o->gate) {
    if (set->options.correct != CORRECT_NONE)
      fprintf(
          err,
          "poolcmp: note: with these samples no p of the %zu rows can reach %g once corrected\n",
          set->family, set->options.alpha);
    return POOLCMP_DONE;
  }
  struct analysis_options a = {.alpha = set->options.alpha,
                               .confidence = set->options.confidence,
                               .paired = set->options.paired,
                               .correct = set->options.correct,
                               .margin = set->options.margin};
  size_t need = analysis_gate_samples(set->family, &a);
  fprintf(err,
          "poolcmp: -gate cannot fire: the smallest p of these samples, %.2g over %zu rows, is "
          "above alpha %g; ",
          set->best_min_p, set->family, set->options.alpha);
  if (need)
    fprintf(err, "measure at least %zu %s, or compare fewer rows\n", need,
            set->options.paired ? "rounds" : "rounds a side");
  else
    fprintf(err, "compare fewer rows or raise -alpha\n");
  return POOLCMP_USAGE;
}

static enum poolcmp_status make_tables(struct poolcmp *p, const struct poolcmp_options *o,
                                       FILE *err) {
  struct table_options t = complete(o, p);
  struct table_error e;
  if (!group_finish(&p->group, &p->reader.strings, p->reader.units.count))
    return no_memory(err);
  if (!table_set_make(&p->tables, &p->group, &p->reader, &t, &e)) {
    if (!e.refused)
      return no_memory(err);
    fprintf(err, "poolcmp: -paired: %s\n", e.text);
    return POOLCMP_NOTHING;
  }
  if (t.twin && p->tables.count && !twin_exists(&p->tables)) {
    fprintf(err, "poolcmp: -twin %s: no column of that name beside the base\n", t.twin);
    return POOLCMP_USAGE;
  }
  return check_gate(p, o, err);
}

enum poolcmp_status poolcmp_load(struct poolcmp *p, const struct poolcmp_options *o, FILE *err) {
  *p = (struct poolcmp){0};
  const char *message;
  if (!reader_init(&p->reader))
    return no_memory(err);
  if (!group_init(&p->group, &o->group, &message)) {
    if (!message)
      return no_memory(err);
    fprintf(err, "poolcmp: %s\n", message);
    return POOLCMP_USAGE;
  }
  p->group.exclude_flags = o->exclude_flagged ? EXCLUDED_FLAGS : 0;
  struct input *inputs = make_inputs(o, &p->group.arena);
  if (!inputs)
    return no_memory(err);
  for (size_t i = 0; i < o->input_count; i++) {
    enum poolcmp_status status = read_input(p, &inputs[i], (uint32_t)i, err);
    if (status != POOLCMP_DONE)
      return status;
  }
  return make_tables(p, o, err);
}

void poolcmp_free(struct poolcmp *p) {
  table_set_free(&p->tables);
  group_free(&p->group);
  reader_free(&p->reader);
}

/* ---- notes ---- */

static void note_pooling(const struct poolcmp *p, FILE *err) {
  size_t files = 0, names = 0;
  const struct cell *file_cell = NULL, *name_cell = NULL;
  for (size_t i = 0; i < p->group.cell_count; i++) {
    const struct cell *c = p->group.cells[i];
    files += cell_pools_files(c);
    names += c->pools_names;
    file_cell = cell_pools_files(c) && !file_cell ? c : file_cell;
    name_cell = c->pools_names && !name_cell ? c : name_cell;
  }
  const struct text *full = p->group.names.strings;
  if (files)
    fprintf(err,
            "poolcmp: note: %zu of %zu cells pool samples of several files, the first with %s\n",
            files, p->group.cell_count, full[file_cell->name].p);
  if (names)
    fprintf(err, "poolcmp: note: %zu of %zu cells pool several benchmarks, the first with %s\n",
            names, p->group.cell_count, full[name_cell->name].p);
  if (p->group.repeated)
    fprintf(err,
            "poolcmp: note: %zu values are of samples that were read before (same run, same seq) "
            "and count once, the first with %s\n",
            p->group.repeated, full[p->group.repeated_name].p);
}

static void note_processes(const struct poolcmp *p, FILE *err) {
  if (p->tables.one_process)
    fprintf(err,
            "poolcmp: note: %zu of %zu comparisons have many values of one process (-count): what "
            "differs may be the process, not the code; run the binary afresh for each value\n",
            p->tables.one_process, p->tables.compared);
}

/* A misspelt key is one that no result has: it takes together what it was to tell apart. */
static void note_absent_keys(const struct poolcmp *p, const char *flag,
                             const struct projection *list, FILE *err) {
  for (size_t i = 0; i < list->field_count && list->key_count; i++) {
    const struct key *key = &list->expr.parts[list->fields[i].part].key;
    if ((key->kind != KEY_SUBNAME && key->kind != KEY_SETTING) || projection_has_value(list, i))
      continue;
    fprintf(err, "poolcmp: note: %s %.*s: no result%s has that key%s\n", flag, (int)key->text.n,
            key->text.p, p->group.filter_all ? "" : " that -filter keeps",
            key->text.p[0] == '.' ? "; those with a point are .name .fullname .file .config" : "");
  }
}

static bool has_unit(const struct units *u, const char *name) {
  for (size_t i = 1; i < u->count; i++)
    if (text_is(u->list[i].name, name))
      return true;
  return false;
}

/* -exact for a unit that is not there leaves the one that was meant under a test. */
static void note_absent_units(const struct poolcmp *p, const struct table_options *o, FILE *err) {
  const struct units *u = &p->reader.units;
  for (size_t i = 0; i < o->exact_unit_count && p->tables.count; i++) {
    if (has_unit(u, o->exact_units[i]))
      continue;
    fprintf(err, "poolcmp: note: -exact %s: no input has that unit; there are", o->exact_units[i]);
    for (uint32_t k = 1; k < u->count; k++)
      if (u->list[k].tidied == k)
        fprintf(err, " %s", u->list[u->list[k].written].name.p);
    fputc('\n', err);
  }
}

/* Rows with doubts, where the input says where its samples come from. */
static void note_doubts(const struct poolcmp *p, FILE *err) {
  const unsigned hidden = HIDDEN_DOUBTS;
  size_t n = 0;
  if (p->reader.runs.count <= 1)
    return;
  for (size_t i = 0; i < p->tables.count; i++) {
    const struct table *t = &p->tables.tables[i];
    for (size_t r = 0; r < t->row_count && t->in_family; r++)
      for (size_t k = 0; k < t->rows[r].count; k++) {
        const struct table_cell *c = &t->cells[t->rows[r].first + k];
        char doubts[RENDER_TEXT];
        format_doubts((c->doubts | c->comparison.doubts) & ~hidden, ", ", doubts);
        const char *row = t->rows[r].label, *column = t->columns[c->column].label;
        if (*doubts && n++ < MAX_DOUBTFUL_ROWS)
          fprintf(err, "poolcmp: note: %s%s%s: %s\n", *row || *column ? row : t->unit,
                  *row && *column ? ", " : "", column, doubts);
      }
  }
  if (n > MAX_DOUBTFUL_ROWS)
    fprintf(err, "poolcmp: note: %zu more with doubts (-format tidy lists them)\n",
            n - MAX_DOUBTFUL_ROWS);
}

void poolcmp_notes(const struct poolcmp *p, const struct poolcmp_options *o, FILE *err) {
  note_absent_keys(p, "-table", &p->group.table, err);
  note_absent_keys(p, "-row", &p->group.row, err);
  note_absent_keys(p, "-col", &p->group.column, err);
  note_absent_units(p, &o->table, err);
  note_pooling(p, err);
  if (o->exclude_flagged)
    fprintf(err, "poolcmp: note: -exclude-flagged left out %zu of %zu results\n", p->group.excluded,
            p->group.results + p->group.excluded);
  if (p->tables.other_run)
    fprintf(err, "poolcmp: note: base and other columns were measured in different runs, at "
                 "different times: the machine may have changed between them\n");
  note_processes(p, err);
  if (o->format == FORMAT_TEXT || o->format == FORMAT_CSV || o->format == FORMAT_CLASSIC)
    note_doubts(p, err);
}

/* ---- verdict and output ---- */

/* A comparison was asked for: by -col or -gate, or by files under several labels. */
static bool wants_comparison(const struct poolcmp_options *o) {
  if (o->column_set || o->gate)
    return o->gate || *o->group.column;
  for (size_t i = 1; i < o->input_count; i++) {
    const char *a = o->inputs[0], *b = o->inputs[i];
    const char *x = strchr(a, '='), *y = strchr(b, '=');
    bool same = x && y && x - a == y - b && strncmp(a, b, (size_t)(x - a)) == 0;
    if (!same)
      return true;
  }
  return false;
}

enum poolcmp_status poolcmp_verdict(const struct poolcmp *p, const struct poolcmp_options *o,
                                    FILE *err) {
  if (p->complaints) {
    fprintf(err, "poolcmp: %zu line%s refused\n", p->complaints, p->complaints == 1 ? "" : "s");
    return POOLCMP_INPUT;
  }
  if (p->tables.count == 0) {
    fprintf(err, "poolcmp: nothing to compare: the inputs hold no results%s\n",
            strcmp(o->group.filter, "*") ? " that -filter keeps" : "");
    return POOLCMP_NOTHING;
  }
  if (p->tables.compared == 0 && wants_comparison(o)) {
    fprintf(err, "poolcmp: nothing was compared: no row has results in the first column and in "
                 "another\n");
    return POOLCMP_NOTHING;
  }
  if (o->gate && p->tables.regressions) {
    fprintf(err, "poolcmp: gate: %zu regression%s\n", p->tables.regressions,
            p->tables.regressions == 1 ? "" : "s");
    return POOLCMP_REGRESSION;
  }
  return POOLCMP_DONE;
}

/* What was printed may not have arrived. */
static bool flush(FILE *out, FILE *err) {
  if (fflush(out) == 0 && !ferror(out))
    return true;
  fprintf(err, "poolcmp: writing the output: %s\n", strerror(errno));
  return false;
}

bool poolcmp_render(const struct poolcmp *p, const struct poolcmp_options *o, FILE *out,
                    FILE *err) {
  bool ok = true;
  switch (o->format) {
  case FORMAT_TEXT:
    ok = render_text(&p->tables, &o->render, out);
    break;
  case FORMAT_CSV:
    ok = render_csv(&p->tables, &o->render, out, err);
    break;
  case FORMAT_CLASSIC:
    ok = render_classic(&p->tables, &o->render, out);
    break;
  case FORMAT_MARKDOWN:
    ok = render_markdown(&p->tables, &o->render, out);
    break;
  case FORMAT_TIDY:
    ok = render_tidy(&p->tables, out);
    break;
  case FORMAT_JSON:
    ok = render_json(&p->tables, out);
    break;
  }
  if (!ok)
    no_memory(err);
  return ok && flush(out, err);
}

/* What depends on where the output goes: colour and width on a terminal only. */
static void look_at_output(struct poolcmp_options *o, FILE *out) {
  int fd = fileno(out);
  bool terminal = fd >= 0 && isatty(fd);
  const char *no_color = getenv("NO_COLOR"), *kind = getenv("TERM");
  bool plain = !kind || strcmp(kind, "dumb") == 0 || (no_color && *no_color);
  o->render.color = o->color == COLOR_ALWAYS || (o->color == COLOR_AUTO && terminal && !plain);
  struct winsize size;
  if (terminal && !o->width_set && ioctl(fd, TIOCGWINSZ, &size) == 0)
    o->render.width = size.ws_col;
  o->render.verdicts = o->margin_set || o->gate || o->table.twin;
  o->render.exact_p =
      o->table.ci || o->table.paired || o->table.correct != CORRECT_NONE || o->render.verdicts;
}

static int run(struct poolcmp_options *o, FILE *out, FILE *err) {
  struct poolcmp p;
  look_at_output(o, out);
  enum poolcmp_status status = poolcmp_load(&p, o, err);
  if (status == POOLCMP_DONE) {
    if (!poolcmp_render(&p, o, out, err)) {
      status = POOLCMP_INPUT;
    } else {
      poolcmp_notes(&p, o, err);
      status = poolcmp_verdict(&p, o, err);
    }
  }
  poolcmp_free(&p);
  return status;
}

int poolcmp_run(int argc, char **argv, FILE *out, FILE *err) {
  struct poolcmp_options o;
  char error[300];
  int status;
  poolcmp_options_init(&o);
  if (!poolcmp_options_parse(&o, argc - 1, argv + 1, error, sizeof error)) {
    fprintf(err, "poolcmp: %s\n", error);
    status = POOLCMP_USAGE;
  } else if (o.help) {
    poolcmp_help(out);
    status = flush(out, err) ? POOLCMP_DONE : POOLCMP_INPUT;
  } else {
    status = run(&o, out, err);
  }
  poolcmp_options_free(&o);
  return status;
}
