/*
 * Loading of a run; see rundata.h. Names are taken apart here and nowhere else in the harness.
 */
#include "harness/rundata.h"
#include "comparer/reader.h"
#include "comparer/sort.h"
#include "harness/infile.h"
#include "harness/sample.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The parts of "Compare/Pod/structured/strategy=malloc/discipline=leaky/build=new-32". */
struct name_parts {
  struct text row, strategy, discipline, build, trim; /* trim: the same in all of a run */
  unsigned threads;                                   /* 1 without a suffix, as Go writes it */
};

static bool no_memory(struct error *e) {
  return error_set(e, EXIT_INPUT, "out of memory while reading the run");
}

/* Grows *list to hold one element more. */
static bool grow(void *list, size_t count, size_t *room, size_t element) {
  void **array = list;
  if (count < *room)
    return true;
  void *moved = array_grow(*array, count, room, element);
  if (moved)
    *array = moved;
  return moved != NULL;
}

static bool names_add(struct rundata_names *list, const char *name, size_t length, size_t *index) {
  for (*index = 0; *index < list->count; ++*index)
    if (strlen(list->names[*index]) == length && memcmp(list->names[*index], name, length) == 0)
      return true;
  char *copy = strndup(name, length);
  if (!copy || !grow(&list->names, list->count, &list->room, sizeof *list->names)) {
    free(copy);
    return false;
  }
  list->names[list->count++] = copy;
  return true;
}

static void names_free(struct rundata_names *list) {
  for (size_t i = 0; i < list->count; i++)
    free(list->names[i]);
  free(list->names);
}

/* --- Names. */

static bool part_value(struct text part, const char *key, struct text *value) {
  struct text k = text_of(key);
  if (!text_starts(part, k))
    return false;
  *value = (struct text){part.p + k.n, part.n - k.n};
  return true;
}

static struct name_parts split_name(struct text name) {
  struct name_parts parts = {.threads = 1};
  size_t digits = name.n;
  while (digits > 0 && name.p[digits - 1] >= '0' && name.p[digits - 1] <= '9')
    digits--;
  if (digits > 1 && digits < name.n && name.p[digits - 1] == '-' && name.n - digits < 9) {
    parts.threads = (unsigned)strtoul(name.p + digits, NULL, 10);
    name.n = digits - 1;
  }
  parts.row = (struct text){name.p, 0};
  for (size_t at = 0; at < name.n;) {
    const char *slash = memchr(name.p + at, '/', name.n - at);
    size_t end = slash ? (size_t)(slash - name.p) : name.n;
    struct text part = {name.p + at, end - at};
    if (!part_value(part, "strategy=", &parts.strategy) &&
        !part_value(part, "discipline=", &parts.discipline) &&
        !part_value(part, "build=", &parts.build) && !part_value(part, "trim=", &parts.trim))
      parts.row.n = end;
    at = end + 1;
  }
  return parts;
}

/* --- Samples. */

/* The allocator's label in the configuration in force: the first word of its value. */
static struct text allocator_label(const struct reader *r) {
  for (size_t i = 0; i < r->config_count; i++)
    if (text_is(r->strings.strings[r->config[i].key], "allocator")) {
      struct text value = r->strings.strings[r->config[i].value];
      const char *blank = memchr(value.p, ' ', value.n);
      return (struct text){value.p, blank ? (size_t)(blank - value.p) : value.n};
    }
  return (struct text){"", 0};
}

/*
 * The cell of this name. Files hold cells in one order again and again, so the search starts
 * behind the cell found last and nearly always ends there.
 */
static struct rundata_cell *find_cell(struct rundata *d, struct text name, struct text allocator,
                                      size_t *last) {
  for (size_t i = 0; i < d->cell_count; i++) {
    size_t at = (*last + 1 + i) % d->cell_count;
    if (text_is(name, d->cells[at].name) && text_is(allocator, d->cells[at].allocator)) {
      *last = at;
      return &d->cells[at];
    }
  }
  if (!grow(&d->cells, d->cell_count, &d->cell_room, sizeof *d->cells))
    return NULL;
  struct rundata_cell *c = &d->cells[d->cell_count];
  *c = (struct rundata_cell){.name = strndup(name.p, name.n),
                             .allocator = strndup(allocator.p, allocator.n)};
  *last = d->cell_count++;
  return c->name && c->allocator ? c : NULL;
}

/* A cell keeps the units that it has alone: a file may name thousands, each in a cell of its own.
 */
static struct rundata_values *cell_values(struct rundata_cell *c, size_t unit) {
  for (size_t i = 0; i < c->unit_count; i++)
    if (c->units[i].unit == unit)
      return &c->units[i];
  if (!grow(&c->units, c->unit_count, &c->unit_room, sizeof *c->units))
    return NULL;
  c->units[c->unit_count] = (struct rundata_values){.unit = unit};
  return &c->units[c->unit_count++];
}

static bool add_value(struct rundata_values *v, double value, struct sample_origin origin) {
  size_t room = v->room;
  if (!grow(&v->values, v->n, &room, sizeof *v->values) ||
      !grow(&v->origins, v->n, &v->room, sizeof *v->origins))
    return false;
  v->values[v->n] = value;
  v->origins[v->n++] = origin;
  return true;
}

static bool add_flags(struct rundata *d, size_t cell, unsigned flags) {
  for (unsigned bit = 1; bit && bit <= flags; bit <<= 1) {
    if (!(flags & bit))
      continue;
    size_t i = 0;
    while (i < d->flag_count && (d->flags[i].cell != cell || d->flags[i].flag != bit))
      i++;
    if (i == d->flag_count) {
      if (!grow(&d->flags, d->flag_count, &d->flag_room, sizeof *d->flags))
        return false;
      d->flags[d->flag_count++] = (struct rundata_flag){.cell = cell, .flag = bit};
    }
    d->flags[i].count++;
  }
  return true;
}

static bool add_sample(struct rundata *d, struct reader *r, size_t *last) {
  struct rundata_cell *c = find_cell(d, r->name, allocator_label(r), last);
  if (!c || !add_flags(d, (size_t)(c - d->cells), r->origin.flags))
    return false;
  for (size_t i = 0; i < r->value_count; i++) {
    const struct unit *unit = &r->units.list[r->values[i].written];
    size_t index;
    if (!names_add(&d->units, unit->name.p, unit->name.n, &index))
      return false;
    struct rundata_values *v = cell_values(c, index);
    /* The reader tidies units (ns to s); reports speak in the units of the files. */
    if (!v || !add_value(v, r->values[i].value / unit->factor, r->origin))
      return false;
  }
  return true;
}

/*
 * A kill between two files of a round leaves samples in detail.txt that round.part still holds:
 * one of a cell's round is the one already known.
 */
static bool add_unfinished(struct rundata *d, struct reader *r, size_t *last) {
  struct rundata_cell *c = find_cell(d, r->name, allocator_label(r), last);
  if (!c)
    return false;
  for (size_t u = 0; r->origin.round && u < c->unit_count; u++)
    for (size_t i = 0; i < c->units[u].n; i++)
      if (c->units[u].origins[i].round == r->origin.round)
        return true;
  return add_sample(d, r, last);
}

/* --- Files. */

enum presence { MUST_EXIST, MAY_BE_MISSING };

/* Opens folder/name; *fd is -1 when it may be missing and is. */
static bool open_file(const char *folder, const char *name, enum presence presence, int *fd,
                      struct error *e) {
  char path[4096];
  if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path)
    return error_set(e, EXIT_INPUT, "%s: the path is too long", folder);
  *fd = infile_open(path, e);
  if (*fd >= 0)
    return true;
  if (presence == MAY_BE_MISSING && errno == ENOENT) {
    *e = (struct error){0};
    return true;
  }
  if (errno == ENOENT && access(folder, F_OK) == 0)
    return error_set(e, EXIT_INPUT,
                     "%s: has no %s, so it is not the folder of a run with a whole round", folder,
                     name);
  return errno == ENOENT ? error_errno(e, EXIT_INPUT, "%s", folder) : false;
}

/*
 * Calls visit for every sample of a file. A wrong line is an error where it stands, except in
 * round.part, whose last line a crash may have cut.
 */
static bool read_samples(struct rundata *d, struct reader *r, const char *file,
                         enum presence presence,
                         bool (*visit)(struct rundata *, struct reader *, size_t *),
                         size_t *samples, struct error *e) {
  int fd;
  if (!open_file(d->folder, file, presence, &fd, e))
    return false;
  *samples = 0;
  if (fd < 0)
    return true;
  reader_open(r, fd);
  size_t last = 0;
  bool ok = true;
  for (enum record_kind kind; ok && (kind = reader_next(r)) != RECORD_END;) {
    if (kind == RECORD_RESULT) {
      ++*samples;
      ok = visit(d, r, &last) || no_memory(e);
    } else if (kind == RECORD_FATAL && r->line == 0) { /* of the file as a whole */
      ok = error_set(e, EXIT_INPUT, "%s/%s: %s", d->folder, file, r->message);
    } else if (kind == RECORD_FATAL || presence == MUST_EXIST) {
      ok = error_set(e, EXIT_INPUT, "%s/%s:%llu: %s", d->folder, file, (unsigned long long)r->line,
                     r->message);
    }
  }
  close(fd);
  return ok;
}

/* samples.txt is read for one thing: which cells are the headline. */
static bool mark_headline(struct rundata *d, struct reader *r, size_t *last) {
  struct rundata_cell *c = find_cell(d, r->name, allocator_label(r), last);
  if (c)
    c->headline = true;
  return c != NULL;
}

static bool load_json(struct rundata *d, struct error *e) {
  int fd;
  if (!open_file(d->folder, "run.json", MAY_BE_MISSING, &fd, e))
    return false;
  if (fd < 0)
    return true;
  json_error_t why;
  FILE *f = fdopen(fd, "r"); /* json_loadfd asks the kernel for each byte */
  if (!f) {
    close(fd);
    return no_memory(e);
  }
  d->json = json_loadf(f, 0, &why);
  fclose(f);
  return d->json || error_set(e, EXIT_INPUT, "%s/run.json:%d: %s", d->folder, why.line, why.text);
}

/* --- What the cells are rows and columns of. */

static bool add_count(struct rundata *d, unsigned threads) {
  size_t at = 0;
  while (at < d->count_count && d->counts[at] < threads)
    at++;
  if (at < d->count_count && d->counts[at] == threads)
    return true;
  unsigned *counts = realloc(d->counts, (d->count_count + 1) * sizeof *counts);
  if (!counts)
    return false;
  d->counts = counts;
  memmove(counts + at + 1, counts + at, (d->count_count - at) * sizeof *counts);
  counts[at] = threads;
  d->count_count++;
  return true;
}

/* How many different allocators, disciplines and builds the names speak of. */
static bool count_axes(struct rundata *d) {
  struct rundata_names allocators = {0}, disciplines = {0}, builds = {0};
  bool ok = true;
  size_t unused;
  for (size_t i = 0; ok && i < d->cell_count; i++) {
    struct name_parts p = split_name(text_of(d->cells[i].name));
    ok = names_add(&allocators, d->cells[i].allocator, strlen(d->cells[i].allocator), &unused) &&
         names_add(&disciplines, p.discipline.p ? p.discipline.p : "", p.discipline.n, &unused) &&
         names_add(&builds, p.build.p ? p.build.p : "", p.build.n, &unused);
  }
  d->allocators = allocators.count;
  d->disciplines = disciplines.count;
  d->builds = builds.count;
  names_free(&allocators);
  names_free(&disciplines);
  names_free(&builds);
  return ok;
}

/* Adds t to the text in out, which has room for it. */
static void append(char *out, const char *between, struct text t) {
  if (t.n)
    sprintf(out + strlen(out), "%s%.*s", *out ? between : "", (int)t.n, t.p);
}

static bool place_names(struct rundata *d, struct rundata_cell *c, const char *row,
                        const char *column) {
  size_t row_index, column_index;
  if (!names_add(&d->rows, row, strlen(row), &row_index) ||
      !names_add(&d->columns, column, strlen(column), &column_index))
    return false;
  c->row = (unsigned)row_index;
  c->column = (unsigned)column_index;
  return add_count(d, c->threads);
}

/*
 * Builds are compared with builds, so they become the columns and the strategy moves into the row;
 * otherwise columns are strategies, with their discipline where it varies.
 */
static bool place_cell(struct rundata *d, struct rundata_cell *c) {
  struct name_parts p = split_name(text_of(c->name));
  /* The name's parts, none more than twice (a row can have one in its middle), and an allocator. */
  size_t room = 2 * strlen(c->name) + strlen(c->allocator) + sizeof "/+@";
  char *row = calloc(2, room), *column = row + room;
  if (!row)
    return false;
  append(row, "", p.row);
  if (d->builds > 1) {
    append(row, "/", p.strategy);
    append(column, "", p.build);
  } else {
    append(column, "", p.strategy);
  }
  if (d->disciplines > 1)
    append(d->builds > 1 ? row : column, "+", p.discipline);
  if (d->allocators > 1)
    append(row, "@", text_of(c->allocator));
  if (!*column)
    strcpy(column, "-");
  c->threads = c->team = p.threads;
  bool ok = place_names(d, c, row, column);
  free(row);
  return ok;
}

static bool sort_values(struct rundata_cell *c) {
  for (size_t i = 0; i < c->unit_count; i++) {
    struct rundata_values *v = &c->units[i];
    if (v->n == 0)
      continue;
    v->sorted = malloc(v->n * sizeof *v->sorted);
    if (!v->sorted)
      return false;
    memcpy(v->sorted, v->values, v->n * sizeof *v->sorted);
    sort_doubles(v->sorted, v->n);
  }
  return true;
}

static bool arrange(struct rundata *d, struct error *e) {
  if (!count_axes(d))
    return no_memory(e);
  for (size_t i = 0; i < d->cell_count; i++)
    if (!place_cell(d, &d->cells[i]) || !sort_values(&d->cells[i]))
      return no_memory(e);
  return true;
}

static bool is_series(const struct rundata *d, const struct rundata_cell *c) {
  for (size_t u = 0; u < c->unit_count; u++)
    if (c->units[u].n > 0 && sample_is_mark(d->units.names[c->units[u].unit]))
      return true;
  return false;
}

/*
 * A run that was stopped before its first round ended has no samples.txt: the most threads then.
 * Series are measured at the headline only.
 */
static void find_headline(struct rundata *d, bool marked) {
  for (size_t i = 0; i < d->cell_count; i++) {
    struct rundata_cell *c = &d->cells[i];
    c->series = is_series(d, c);
    if (c->series)
      c->headline = true;
    else if (!marked)
      c->headline = c->threads == d->counts[d->count_count - 1];
    if (c->headline && c->threads > d->headline)
      d->headline = c->threads;
  }
}

/* run.json says where a case used fewer threads than it was asked for. */
static void find_teams(struct rundata *d) {
  const json_t *cell, *cells = rundata_fact(d, "plan.cells");
  size_t i;
  json_array_foreach(cells, i, cell) {
    const char *name = json_string_value(json_object_get(cell, "name"));
    json_int_t team = json_integer_value(json_object_get(cell, "team"));
    /* The reader takes Go's prefix off. */
    if (!name || strncmp(name, "Benchmark", 9) != 0)
      continue;
    for (size_t k = 0; k < d->cell_count; k++)
      if (team > 0 && team < d->cells[k].threads && strcmp(name + 9, d->cells[k].name) == 0)
        d->cells[k].team = (unsigned)team;
  }
}

static bool load_all(struct rundata *d, struct reader *r, struct error *e) {
  size_t finished = 0, unfinished = 0, headline = 0;
  if (!load_json(d, e) || !read_samples(d, r, "detail.txt", MUST_EXIST, add_sample, &finished, e) ||
      !read_samples(d, r, "round.part", MAY_BE_MISSING, add_unfinished, &unfinished, e) ||
      !read_samples(d, r, "samples.txt", MAY_BE_MISSING, mark_headline, &headline, e) ||
      !arrange(d, e))
    return false;
  if (finished + unfinished == 0)
    return error_set(e, EXIT_NOTHING, "%s: no samples in detail.txt", d->folder);
  d->partial = unfinished > 0;
  find_headline(d, headline > 0);
  find_teams(d);
  return true;
}

/* results/latest names another run tomorrow; what is printed must not. NULL without memory. */
static char *real_name(const char *folder) {
  char target[PATH_MAX], *name = NULL;
  ssize_t n = readlink(folder, target, sizeof target - 1);
  const char *slash = strrchr(folder, '/');
  if (n <= 0 || target[0] == '/' || !slash || !slash[1])
    return strdup(folder);
  target[n] = '\0';
  return asprintf(&name, "%.*s/%s", (int)(slash - folder), folder, target) < 0 ? NULL : name;
}

bool rundata_load(struct rundata *d, const char *folder, struct error *e) {
  *d = (struct rundata){.folder = real_name(folder)};
  struct stat st;
  if (!d->folder)
    return no_memory(e);
  if (stat(folder, &st) != 0)
    return error_errno(e, EXIT_INPUT, "%s", *folder ? folder : "a run's folder without a name");
  if (!S_ISDIR(st.st_mode))
    return error_set(e, EXIT_INPUT, "%s: not a run's folder but a file; give results/<run>",
                     folder);
  struct reader r;
  if (!reader_init(&r))
    return no_memory(e);
  bool ok = load_all(d, &r, e);
  reader_free(&r);
  return ok;
}

void rundata_free(struct rundata *d) {
  for (size_t i = 0; i < d->cell_count; i++) {
    struct rundata_cell *c = &d->cells[i];
    for (size_t u = 0; u < c->unit_count; u++) {
      free(c->units[u].values);
      free(c->units[u].sorted);
      free(c->units[u].origins);
    }
    free(c->units);
    free(c->name);
    free(c->allocator);
  }
  free(d->cells);
  free(d->flags);
  free(d->counts);
  names_free(&d->rows);
  names_free(&d->columns);
  names_free(&d->units);
  json_decref(d->json);
  free(d->folder);
  *d = (struct rundata){0};
}

/* --- Looking things up. */

const struct rundata_cell *rundata_cell(const struct rundata *d, size_t row, size_t column,
                                        unsigned threads) {
  for (size_t i = 0; i < d->cell_count; i++)
    if (d->cells[i].row == row && d->cells[i].column == column && d->cells[i].threads == threads)
      return &d->cells[i];
  return NULL;
}

const struct rundata_cell *rundata_headline(const struct rundata *d, size_t row, size_t column) {
  for (size_t i = 0; i < d->cell_count; i++)
    if (d->cells[i].headline && d->cells[i].row == row && d->cells[i].column == column)
      return &d->cells[i];
  return NULL;
}

const struct rundata_values *rundata_unit(const struct rundata *d, const struct rundata_cell *c,
                                          const char *unit) {
  for (size_t i = 0; c && i < c->unit_count; i++)
    if (c->units[i].n > 0 && strcmp(d->units.names[c->units[i].unit], unit) == 0)
      return &c->units[i];
  return NULL;
}

bool rundata_has_bound(const struct rundata_values *v) {
  for (size_t i = 0; v && v->origins && i < v->n; i++)
    if (v->origins[i].flags & SAMPLE_BOUND)
      return true;
  return false;
}

struct series rundata_series(const struct rundata_values *v) {
  return (struct series){
      .values = v->values, .sorted = v->sorted, .origins = v->origins, .n = v->n};
}

bool rundata_median(const struct rundata *d, const struct rundata_cell *c, const char *unit,
                    double *median) {
  const struct rundata_values *v = rundata_unit(d, c, unit);
  if (v)
    *median = stats_median(v->sorted, v->n);
  return v != NULL;
}

const char *rundata_twin(const struct rundata *d) {
  size_t base = d->columns.count ? strlen(d->columns.names[0]) : 0;
  for (size_t i = 1; i < d->columns.count; i++)
    if (strncmp(d->columns.names[i], d->columns.names[0], base) == 0 &&
        strcmp(d->columns.names[i] + base, ":twin") == 0)
      return d->columns.names[i];
  return NULL;
}

const char *rundata_flag_name(unsigned flag) {
  switch (flag) {
  case SAMPLE_NOT_STEADY:
    return FLAG_NOT_STEADY;
  case SAMPLE_FOREIGN_CPU:
    return FLAG_FOREIGN;
  case SAMPLE_THROTTLED:
    return FLAG_THROTTLED;
  case SAMPLE_HOST_SPEED:
    return FLAG_HOST_SPEED;
  case SAMPLE_FEW_OPS:
    return FLAG_SHORT_OPS;
  case SAMPLE_BOUND:
    return "bound";
  }
  return "unknown";
}

const json_t *rundata_fact(const struct rundata *d, const char *path) {
  const json_t *at = d->json;
  while (at && *path) {
    char key[64];
    size_t length = strcspn(path, ".");
    snprintf(key, sizeof key, "%.*s", (int)length, path);
    at = json_object_get(at, key);
    path += length + (path[length] == '.');
  }
  return at;
}

const char *rundata_fact_text(const struct rundata *d, const char *path) {
  return json_string_value(rundata_fact(d, path));
}

double rundata_fact_number(const struct rundata *d, const char *path, double fallback) {
  const json_t *value = rundata_fact(d, path);
  return json_is_number(value) ? json_number_value(value) : fallback;
}
