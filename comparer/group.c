/*
 * Grouping: see group.h.
 *
 * All that decides where a result belongs (its name, the configuration in force, its file) is a
 * context; keys are computed once a context. A line in the same context as the line before costs
 * one comparison a value.
 */
#include "comparer/group.h"

#include <stdlib.h>

/* Chunks of a cell hold 3, 7, 15, then 31 values: 32 to 256 bytes with the link. */
struct chunk {
  struct chunk *next;
  double values[];
};
#define SMALL_CHUNK 3
#define LARGE_CHUNK 31

static size_t larger_chunk(size_t room) {
  return room < LARGE_CHUNK ? room * 2 + 1 : room;
}

/* Where the measurements of a context go, by position in the line. */
struct binding {
  uint32_t unit;
  struct cell *cell; /* NULL: the filter drops it */
};

struct context {
  uint32_t name, state, file;
  uint32_t table, row, column, residue;
  bool dropped;
  struct binding *bindings;
  size_t binding_count, binding_room;
};

/* ---- expressions ---- */

static bool parse_list(struct group *g, const char *flag, const char *text,
                       struct projection_expr *out, const char **message) {
  struct expr_error e;
  if (projection_parse(&g->arena, text, out, &e))
    return true;
  char *where = expr_error_format(&g->arena, text, &e);
  *message = where ? arena_printf(&g->arena, "parsing %s: %s", flag, where) : NULL;
  return false;
}

/* Notes the keys that leave .config and .fullname; says whether a group key itself is used. */
static bool collect_named(struct group *g, const struct projection_expr *lists, size_t count,
                          bool *uses_config, bool *uses_fullname) {
  size_t keys = 0;
  for (size_t i = 0; i < count; i++)
    keys += lists[i].count;
  struct text *subnames = arena_alloc(&g->arena, keys * sizeof *subnames);
  struct text *settings = arena_alloc(&g->arena, keys * sizeof *settings);
  if (!subnames || !settings)
    return false;
  struct named_keys *named = &g->named;
  named->cut.keys = subnames;
  named->settings = settings;
  for (size_t i = 0; i < count; i++)
    for (size_t k = 0; k < lists[i].count; k++) {
      const struct key *key = &lists[i].parts[k].key;
      *uses_config = *uses_config || key->kind == KEY_CONFIG;
      *uses_fullname = *uses_fullname || key->kind == KEY_FULLNAME;
      named->cut.base = named->cut.base || key->kind == KEY_NAME;
      if (key->kind == KEY_SETTING)
        settings[named->setting_count++] = key->text;
      if (key->kind != KEY_SUBNAME)
        continue;
      subnames[named->cut.key_count++] = key->text;
      named->cut.gomaxprocs = named->cut.gomaxprocs || text_is(key->text, "/gomaxprocs");
    }
  return true;
}

/* What no list names: .config and .fullname as far as they are unused. */
static bool init_residue(struct group *g, bool uses_config, bool uses_fullname) {
  static const struct text config = {".config", 7}, fullname = {".fullname", 9};
  struct projection_part *parts = arena_alloc(&g->arena, 2 * sizeof *parts);
  if (!parts)
    return false;
  struct projection_expr rest = {.parts = parts};
  if (!uses_config)
    parts[rest.count++] = (struct projection_part){.key = {KEY_CONFIG, config}};
  if (!uses_fullname)
    parts[rest.count++] = (struct projection_part){.key = {KEY_FULLNAME, fullname}};
  return projection_init(&g->residue, &rest);
}

static bool has_fixed(const struct projection_expr *e) {
  for (size_t i = 0; i < e->count; i++)
    if (e->parts[i].order == ORDER_FIXED)
      return true;
  return false;
}

bool group_init(struct group *g, const struct group_expressions *e, const char **message) {
  *g = (struct group){.context_slots = 64, .slot_count = 64};
  *message = NULL;
  struct expr_error error;
  g->filter = filter_parse(&g->arena, e->filter, &error);
  if (!g->filter) {
    char *where = expr_error_format(&g->arena, e->filter, &error);
    *message = where ? arena_printf(&g->arena, "parsing -filter: %s", where) : NULL;
    return false;
  }
  struct projection_expr lists[4];
  if (!parse_list(g, "-table", e->table, &lists[0], message) ||
      !parse_list(g, "-row", e->row, &lists[1], message) ||
      !parse_list(g, "-col", e->column, &lists[2], message) ||
      !parse_list(g, "-ignore", e->ignore, &lists[3], message))
    return false;
  bool uses_config = false, uses_fullname = false;
  g->filter_all = strcmp(e->filter, "*") == 0;
  g->filter_units = filter_has_units(g->filter);
  for (size_t i = 0; i < 4; i++)
    g->fixed = g->fixed || has_fixed(&lists[i]);
  g->contexts = calloc(g->context_slots, sizeof *g->contexts);
  g->slots = calloc(g->slot_count, sizeof *g->slots);
  /* -ignore only takes part by naming keys and by its fixed orders. */
  return g->contexts && g->slots && intern_init(&g->names) && intern_init(&g->states) &&
         intern_init(&g->counted) && collect_named(g, lists, 4, &uses_config, &uses_fullname) &&
         projection_init(&g->table, &lists[0]) && projection_init(&g->row, &lists[1]) &&
         projection_init(&g->column, &lists[2]) && projection_init(&g->ignore, &lists[3]) &&
         init_residue(g, uses_config, uses_fullname);
}

void group_free(struct group *g) {
  for (size_t i = 0; i < g->context_slots && g->contexts; i++)
    if (g->contexts[i])
      free(g->contexts[i]->bindings);
  free(g->contexts);
  for (size_t i = 0; i < g->cell_count; i++) {
    free(g->cells[i]->origins);
    free(g->cells[i]->differs);
  }
  free(g->cells);
  free(g->slots);
  free(g->column_rank);
  filter_free(g->filter);
  intern_free(&g->names);
  intern_free(&g->states);
  intern_free(&g->counted);
  projection_free(&g->table);
  projection_free(&g->row);
  projection_free(&g->column);
  projection_free(&g->ignore);
  projection_free(&g->residue);
  arena_free(&g->arena);
  *g = (struct group){0};
}

/* ---- contexts ---- */

static struct text filter_value(void *context, const struct key *key) {
  return subject_value(context, key);
}

/* Whether filters that look at the whole result drop it. */
static bool drops_result(const struct group *g, struct subject *s) {
  if (g->fixed && (!projection_keeps(&g->table, s) || !projection_keeps(&g->row, s) ||
                   !projection_keeps(&g->column, s) || !projection_keeps(&g->ignore, s)))
    return true;
  if (g->filter_all || g->filter_units)
    return false;
  return !filter_match(g->filter, &(struct filter_subject){.value = filter_value, .context = s});
}

static uint64_t context_hash(uint32_t name, uint32_t state, uint32_t file) {
  return hash_mix((uint64_t)name << 32 | state, file);
}

static bool rehash_contexts(struct group *g) {
  size_t count = g->context_slots * 2;
  struct context **slots = calloc(count, sizeof *slots);
  if (!slots)
    return false;
  for (size_t i = 0; i < g->context_slots; i++) {
    struct context *c = g->contexts[i];
    if (!c)
      continue;
    size_t at = context_hash(c->name, c->state, c->file) & (count - 1);
    while (slots[at])
      at = (at + 1) & (count - 1);
    slots[at] = c;
  }
  free(g->contexts);
  g->contexts = slots;
  g->context_slots = count;
  return true;
}

/* Keys are computed when the first of its measurements passes: an order of appearance counts. */
static bool fill_keys(struct group *g, struct context *c, const struct subject *s,
                      struct intern *strings) {
  c->table = projection_key_of(&g->table, s, &g->named, strings);
  c->row = projection_key_of(&g->row, s, &g->named, strings);
  c->column = projection_key_of(&g->column, s, &g->named, strings);
  c->residue = projection_key_of(&g->residue, s, &g->named, strings);
  return c->table != NO_KEY && c->row != NO_KEY && c->column != NO_KEY && c->residue != NO_KEY;
}

/* The number of the configuration in force; equal hashes of 128 bits are taken for equal sets. */
static uint32_t find_state(struct group *g, const struct reader *r) {
  if (!g->last || g->last_config[0] != r->config_hash[0] ||
      g->last_config[1] != r->config_hash[1]) {
    g->last_state =
        intern_add(&g->states, (struct text){(const char *)r->config_hash, sizeof r->config_hash});
    memcpy(g->last_config, r->config_hash, sizeof g->last_config);
  }
  return g->last_state;
}

static struct context *find_context(struct group *g, struct reader *r, struct subject *s,
                                    uint32_t file) {
  uint32_t name = intern_add(&g->names, s->name), state = find_state(g, r);
  if (name == INTERN_NONE || state == INTERN_NONE)
    return NULL;
  size_t at = context_hash(name, state, file) & (g->context_slots - 1);
  for (; g->contexts[at]; at = (at + 1) & (g->context_slots - 1)) {
    struct context *c = g->contexts[at];
    if (c->name == name && c->state == state && c->file == file)
      return c;
  }
  struct context *c = arena_alloc(&g->arena, sizeof *c);
  if (!c)
    return NULL;
  *c = (struct context){.name = name, .state = state, .file = file, .table = NO_KEY};
  c->dropped = drops_result(g, s);
  g->contexts[at] = c;
  if (2 * ++g->context_count > g->context_slots && !rehash_contexts(g))
    return NULL;
  return c;
}

/* ---- cells ---- */

static uint64_t cell_hash(const struct cell *c) {
  return hash_mix((uint64_t)c->table << 32 | c->row, (uint64_t)c->column << 32 | c->unit);
}

static bool same_cell(const struct cell *a, const struct cell *b) {
  return a->table == b->table && a->row == b->row && a->column == b->column && a->unit == b->unit;
}

static bool rehash_cells(struct group *g) {
  size_t count = g->slot_count * 2;
  struct cell **slots = calloc(count, sizeof *slots);
  if (!slots)
    return false;
  for (size_t i = 0; i < g->cell_count; i++) {
    size_t at = cell_hash(g->cells[i]) & (count - 1);
    while (slots[at])
      at = (at + 1) & (count - 1);
    slots[at] = g->cells[i];
  }
  free(g->slots);
  g->slots = slots;
  g->slot_count = count;
  return true;
}

/* The cell equal to `wanted`, made if need be. */
static struct cell *find_cell(struct group *g, const struct cell *wanted) {
  size_t at = cell_hash(wanted) & (g->slot_count - 1);
  for (; g->slots[at]; at = (at + 1) & (g->slot_count - 1))
    if (same_cell(g->slots[at], wanted))
      return g->slots[at];
  struct cell **cells = array_grow(g->cells, g->cell_count, &g->cell_room, sizeof *cells);
  if (!cells)
    return NULL;
  g->cells = cells;
  struct cell *c = arena_alloc(&g->arena, sizeof *c);
  if (!c)
    return NULL;
  *c = *wanted;
  g->cells[g->cell_count++] = g->slots[at] = c;
  return 2 * g->cell_count > g->slot_count && !rehash_cells(g) ? NULL : c;
}

/* Notes which residue fields differ between the first context of a cell and this one. */
static bool note_residue(struct group *g, struct cell *cell, uint32_t residue) {
  const struct projection_key *a = &g->residue.keys[cell->residue];
  const struct projection_key *b = &g->residue.keys[residue];
  size_t words = g->residue.field_count / 64 + 1;
  if (words > cell->differs_words) {
    uint64_t *differs = realloc(cell->differs, words * sizeof *differs);
    if (!differs)
      return false;
    memset(differs + cell->differs_words, 0, (words - cell->differs_words) * sizeof *differs);
    cell->differs = differs;
    cell->differs_words = words;
  }
  for (size_t i = 0; i < g->residue.field_count; i++) {
    uint32_t v = i < a->count ? a->values[i] : 0, w = i < b->count ? b->values[i] : 0;
    if (v != w)
      cell->differs[i / 64] |= (uint64_t)1 << (i % 64);
  }
  return true;
}

/* Finds where a measurement of this context goes and remembers it for its position. */
static bool bind(struct group *g, struct reader *r, struct subject *s, struct context *c, size_t i,
                 uint32_t file) {
  const struct measurement *m = &r->values[i];
  struct binding b = {.unit = m->unit};
  struct filter_subject f = {filter_value, s, r->units.list[m->unit].name,
                             r->units.list[m->written].name};
  if (!g->filter_units || filter_match(g->filter, &f)) {
    if (c->table == NO_KEY && !fill_keys(g, c, s, &r->strings))
      return false;
    struct cell wanted = {.table = c->table,
                          .row = c->row,
                          .column = c->column,
                          .unit = m->unit,
                          .name = c->name,
                          .file = file,
                          .first_files = SIZE_MAX,
                          .residue = c->residue,
                          .process = UINT64_MAX};
    b.cell = find_cell(g, &wanted);
    if (!b.cell)
      return false;
    b.cell->pools_names = b.cell->pools_names || b.cell->name != c->name;
    if (b.cell->first_files == SIZE_MAX && b.cell->file != file)
      b.cell->first_files = b.cell->n;
    if (b.cell->residue != c->residue && !note_residue(g, b.cell, c->residue))
      return false;
  }
  struct binding *bindings = array_grow(c->bindings, i, &c->binding_room, sizeof *bindings);
  if (!bindings)
    return false;
  c->bindings = bindings;
  c->bindings[i] = b;
  if (i >= c->binding_count)
    c->binding_count = i + 1;
  return true;
}

static bool add_chunk(struct group *g, struct cell *c) {
  size_t room = c->last ? larger_chunk(c->chunk_room) : SMALL_CHUNK;
  struct chunk *chunk = arena_alloc(&g->arena, sizeof *chunk + room * sizeof(double));
  if (!chunk)
    return false;
  chunk->next = NULL;
  if (c->last)
    c->last->next = chunk;
  else
    c->first = chunk;
  c->last = chunk;
  c->chunk_room = room;
  c->last_used = 0;
  return true;
}

/* Origins exist from the first sample on that has one; those before it get an empty one. */
static bool add_origin(struct cell *c, const struct sample_origin *o) {
  while (c->n >= c->origin_room) {
    size_t room = c->origin_room ? c->origin_room * 2 : 16;
    struct sample_origin *origins = realloc(c->origins, room * sizeof *origins);
    if (!origins)
      return false;
    memset(origins + c->origin_room, 0, (room - c->origin_room) * sizeof *origins);
    c->origins = origins;
    c->origin_room = room;
  }
  c->origins[c->n] = *o;
  return true;
}

/* What the samples of one line have in common. */
struct line_origin {
  struct sample_origin origin;
  bool known;       /* the file says something about the line */
  uint64_t process; /* by headers; 0: unknown, or said by origin */
};

static bool add_value(struct group *g, struct cell *c, double value, const struct line_origin *o) {
  if (c->last_used == c->chunk_room && !add_chunk(g, c))
    return false;
  if ((o->known || c->origins) && !add_origin(c, &o->origin))
    return false;
  if (o->process) {
    c->one_process = c->one_process || c->process == o->process;
    c->process = o->process;
  }
  c->last->values[c->last_used++] = value;
  c->n++;
  return true;
}

/*
 * Counts a line in *count. Where samples are left out, those of a run's detail.txt and samples.txt
 * are the same ones; a line without a run is a sample of its own.
 */
static bool count_line(struct group *g, const struct sample_origin *o, size_t *count) {
  uint64_t sample[] = {o->run, o->seq, o->name};
  uint32_t known = g->counted.count;
  if (g->exclude_flags && o->run) {
    uint32_t id = intern_add(&g->counted, (struct text){(const char *)sample, sizeof sample});
    if (id == INTERN_NONE)
      return false;
    *count += id >= known;
  } else {
    ++*count;
  }
  return true;
}

bool group_add(struct group *g, struct reader *r, struct text label, uint32_t file) {
  struct subject s = {r->name, label, r};
  struct context *c = g->last;
  if (!c || r->name_changed || g->last_file != file || g->last_config[0] != r->config_hash[0] ||
      g->last_config[1] != r->config_hash[1]) {
    c = g->last = find_context(g, r, &s, file);
    if (!c)
      return false;
    g->last_file = file;
  }
  if (c->dropped)
    return true;
  struct line_origin o = {.origin = r->origin, .known = r->origin.run || r->origin.flags};
  o.origin.name = c->name;
  if (r->origin.flags & g->exclude_flags)
    return count_line(g, &o.origin, &g->excluded);
  if (!r->origin.run && r->process)
    o.process = (uint64_t)file << 32 | r->process;
  bool used = false;
  for (size_t i = 0; i < r->value_count; i++) {
    if ((i >= c->binding_count || c->bindings[i].unit != r->values[i].unit) &&
        !bind(g, r, &s, c, i, file))
      return false;
    struct cell *cell = c->bindings[i].cell;
    used = used || cell;
    if (cell && !add_value(g, cell, r->values[i].value, &o))
      return false;
  }
  return !used || count_line(g, &o.origin, &g->results);
}

/* ---- results ---- */

void cell_values(const struct cell *c, double *out) {
  size_t room = SMALL_CHUNK, left = c->n;
  for (const struct chunk *k = c->first; k && left; k = k->next) {
    size_t n = left < room ? left : room;
    memcpy(out, k->values, n * sizeof *out);
    out += n;
    left -= n;
    room = larger_chunk(room);
  }
}

bool cell_pools_files(const struct cell *c) {
  return c->n > c->first_files;
}

/* ---- samples that were read twice ---- */

static int compare_origins(const void *a, const void *b, void *context) {
  const struct sample_origin *origins = context;
  size_t i = *(const size_t *)a, k = *(const size_t *)b;
  const struct sample_origin *x = &origins[i], *y = &origins[k];
  const uint64_t by[][2] = {{x->run, y->run}, {x->seq, y->seq}, {x->name, y->name}, {i, k}};
  for (size_t at = 0; at < sizeof by / sizeof *by; at++)
    if (by[at][0] != by[at][1])
      return by[at][0] < by[at][1] ? -1 : 1;
  return 0;
}

static bool same_sample(const struct sample_origin *a, const struct sample_origin *b) {
  return a->run == b->run && a->seq == b->seq && a->name == b->name;
}

/* One pass, which is all that a cell of one run's file costs: its rounds ascend. */
static bool may_repeat(const struct cell *c) {
  for (size_t i = 1; c->origins && i < c->n; i++) {
    const struct sample_origin *a = &c->origins[i - 1], *b = &c->origins[i];
    if (b->run < a->run || (b->run == a->run && b->round <= a->round))
      return true;
  }
  return false;
}

/* Moves the samples that stay to the front, in their order. */
static void keep(struct cell *c, const bool *again, const double *values) {
  size_t room = SMALL_CHUNK, used = 0, kept = 0, first_files = c->first_files;
  struct chunk *chunk = c->first;
  for (size_t i = 0; i < c->n; i++) {
    if (again[i]) {
      first_files -= c->first_files != SIZE_MAX && i < c->first_files;
      continue;
    }
    if (used == room) {
      chunk = chunk->next;
      room = larger_chunk(room);
      used = 0;
    }
    chunk->values[used++] = values[i];
    c->origins[kept++] = c->origins[i];
  }
  c->n = kept;
  c->first_files = first_files;
}

static bool drop_repeated(struct group *g, struct cell *c) {
  size_t known = 0, dropped = 0;
  size_t *order = malloc(c->n * sizeof *order);
  bool *again = calloc(c->n, sizeof *again);
  double *values = malloc(c->n * sizeof *values);
  bool ok = order && again && values;
  for (size_t i = 0; ok && i < c->n; i++)
    if (c->origins[i].run)
      order[known++] = i;
  if (known)
    qsort_r(order, known, sizeof *order, compare_origins, c->origins);
  for (size_t i = 1; i < known; i++)
    if (same_sample(&c->origins[order[i - 1]], &c->origins[order[i]])) {
      again[order[i]] = true;
      dropped++;
    }
  if (dropped) {
    if (!g->repeated)
      g->repeated_name = c->name;
    g->repeated += dropped;
    cell_values(c, values);
    keep(c, again, values);
  }
  free(order);
  free(again);
  free(values);
  return ok;
}

/* ---- in order ---- */

struct cell_order {
  const uint32_t *table, *row, *column, *unit;
};

static int compare_cells(const void *a, const void *b, void *context) {
  const struct cell_order *o = context;
  const struct cell *x = *(struct cell *const *)a, *y = *(struct cell *const *)b;
  const uint32_t by[4][2] = {{o->table[x->table], o->table[y->table]},
                             {o->unit[x->unit], o->unit[y->unit]},
                             {o->row[x->row], o->row[y->row]},
                             {o->column[x->column], o->column[y->column]}};
  for (int i = 0; i < 4; i++)
    if (by[i][0] != by[i][1])
      return by[i][0] < by[i][1] ? -1 : 1;
  return 0;
}

bool group_finish(struct group *g, const struct intern *strings, size_t unit_count) {
  if (!projection_finish(&g->table) || !projection_finish(&g->row) ||
      !projection_finish(&g->column) || !projection_finish(&g->residue))
    return false;
  uint32_t *table = projection_ranks(&g->table, strings);
  uint32_t *row = projection_ranks(&g->row, strings);
  uint32_t *column = projection_ranks(&g->column, strings);
  uint32_t *unit = calloc(unit_count + 1, sizeof *unit);
  bool ok = table && row && column && unit;
  for (size_t i = 0; ok && i < g->cell_count; i++)
    ok = !may_repeat(g->cells[i]) || drop_repeated(g, g->cells[i]);
  uint32_t seen = 0;
  for (size_t i = 0; ok && i < g->cell_count; i++) /* cells stand in order of appearance */
    if (!unit[g->cells[i]->unit])
      unit[g->cells[i]->unit] = ++seen;
  if (ok && g->cell_count)
    qsort_r(g->cells, g->cell_count, sizeof *g->cells, compare_cells,
            &(struct cell_order){table, row, column, unit});
  free(table);
  free(row);
  free(unit);
  g->column_rank = column;
  return ok;
}

const char *cell_residue(const struct group *g, const struct cell *c, struct arena *a) {
  if (!c->differs)
    return NULL;
  size_t room = sizeof "benchmarks vary in ", n = 0;
  for (size_t i = 0; i < g->residue.field_count; i++)
    room += g->residue.fields[i].name.n + 2;
  char *text = arena_alloc(a, room);
  if (!text)
    return NULL;
  for (size_t i = 0; i < g->residue.field_count; i++) {
    size_t field = g->residue.flat[i];
    if (field / 64 >= c->differs_words || !(c->differs[field / 64] >> (field % 64) & 1))
      continue;
    struct text name = g->residue.fields[field].name;
    n += strlen(strcpy(text + n, n ? ", " : "benchmarks vary in "));
    memcpy(text + n, name.p, name.n);
    n += name.n;
  }
  text[n] = 0;
  return n ? text : NULL;
}
