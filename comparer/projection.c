/*
 * Projections: see projection.h.
 */
#include "comparer/projection.h"

#include "comparer/number.h"

#include <math.h>
#include <stdlib.h>

struct text subject_value(const struct subject *s, const struct key *key) {
  switch (key->kind) {
  case KEY_NAME:
    return name_base(s->name);
  case KEY_FULLNAME:
    return s->name;
  case KEY_FILE:
    return s->file;
  case KEY_SUBNAME:
    return name_part(s->name, key->text);
  case KEY_SETTING:
    for (size_t i = 0; i < s->reader->config_count; i++) {
      const struct config_entry *e = &s->reader->config[i];
      if (text_equal(s->reader->strings.strings[e->key], key->text))
        return s->reader->strings.strings[e->value];
    }
    break;
  case KEY_UNIT:
  case KEY_CONFIG:
    break;
  }
  return (struct text){"", 0};
}

static struct projection_field *add_field(struct projection *p, struct text name, size_t part) {
  struct projection_field *fields =
      array_grow(p->fields, p->field_count, &p->field_room, sizeof *fields);
  if (!fields)
    return NULL;
  p->fields = fields;
  uint32_t *row = array_grow(p->row, p->field_count, &p->row_room, sizeof *row);
  if (!row)
    return NULL;
  p->row = row;
  p->row[p->field_count] = 0;
  struct projection_field *f = &p->fields[p->field_count++];
  *f = (struct projection_field){.name = name, .part = part, .setting = INTERN_NONE};
  return f;
}

bool projection_init(struct projection *p, const struct projection_expr *expr) {
  *p = (struct projection){.expr = *expr, .slot_count = 64};
  p->slots = calloc(p->slot_count, sizeof *p->slots);
  bool ok = p->slots != NULL;
  for (size_t i = 0; ok && i < expr->count; i++)
    if (expr->parts[i].key.kind != KEY_CONFIG)
      ok = add_field(p, expr->parts[i].key.text, i) != NULL;
  if (!ok)
    projection_free(p);
  return ok;
}

void projection_free(struct projection *p) {
  for (size_t i = 0; i < p->field_count; i++)
    free(p->fields[i].seen);
  free(p->fields);
  free(p->flat);
  free(p->field_of_setting);
  free(p->keys);
  free(p->slots);
  free(p->row);
  free(p->name);
  arena_free(&p->arena);
  *p = (struct projection){0};
}

/* ---- keys ---- */

static bool is_named(const struct named_keys *named, struct text key) {
  for (size_t i = 0; i < named->setting_count; i++)
    if (text_equal(named->settings[i], key))
      return true;
  return false;
}

/* The field of a configuration key in .config: 1 + index, UINT32_MAX for none, 0 no memory. */
static uint32_t field_of_setting(struct projection *p, size_t part, uint32_t setting,
                                 const struct named_keys *named, const struct intern *strings) {
  if (setting >= p->field_of_setting_room) {
    size_t room = (size_t)strings->count * 2;
    uint32_t *map = realloc(p->field_of_setting, room * sizeof *map);
    if (!map)
      return 0;
    memset(map + p->field_of_setting_room, 0, (room - p->field_of_setting_room) * sizeof *map);
    p->field_of_setting = map;
    p->field_of_setting_room = room;
  }
  uint32_t *at = &p->field_of_setting[setting];
  if (*at)
    return *at;
  if (is_named(named, strings->strings[setting]))
    return *at = UINT32_MAX;
  struct projection_field *f = add_field(p, strings->strings[setting], part);
  if (!f)
    return 0;
  f->setting = setting;
  return *at = (uint32_t)p->field_count;
}

static bool project_config(struct projection *p, size_t part, const struct subject *s,
                           const struct named_keys *named, const struct intern *strings) {
  for (size_t i = 0; i < s->reader->config_count; i++) {
    struct config_entry e = s->reader->config[i];
    uint32_t field = field_of_setting(p, part, e.key, named, strings);
    if (field == 0)
      return false;
    if (field != UINT32_MAX)
      p->row[field - 1] = e.value;
  }
  return true;
}

/* The full name without what other keys stand for. */
static bool cut_name(struct projection *p, struct text name, const struct name_cut *cut,
                     struct text *out) {
  *out = name;
  if (!cut->base && cut->key_count == 0)
    return true;
  if (name.n + 1 > p->name_room) {
    char *room = realloc(p->name, name.n * 2 + 64);
    if (!room)
      return false;
    p->name = room;
    p->name_room = name.n * 2 + 64;
  }
  *out = (struct text){p->name, name_without(name, cut, p->name)};
  return true;
}

/* Fills p->row. The fields of a part that is not .config were made in its order. */
static bool project(struct projection *p, const struct subject *s, const struct named_keys *named,
                    struct intern *strings) {
  for (size_t i = 0; i < p->field_count; i++)
    p->row[i] = 0;
  size_t field = 0;
  for (size_t i = 0; i < p->expr.count; i++) {
    const struct key *key = &p->expr.parts[i].key;
    if (key->kind == KEY_CONFIG) {
      if (!project_config(p, i, s, named, strings))
        return false;
      continue;
    }
    struct text value = subject_value(s, key);
    if (key->kind == KEY_FULLNAME && !cut_name(p, value, &named->cut, &value))
      return false;
    uint32_t id = intern_add(strings, value);
    if (id == INTERN_NONE)
      return false;
    p->row[field++] = id;
  }
  return true;
}

/* Notes the values of a new key in the order of their first appearance. */
static bool observe(struct projection *p, const struct projection_key *key) {
  for (size_t i = 0; i < p->field_count; i++) {
    struct projection_field *f = &p->fields[i];
    if (f->setting != INTERN_NONE || p->expr.parts[f->part].order != ORDER_FIRST)
      continue;
    uint32_t value = i < key->count ? key->values[i] : 0;
    if (value >= f->seen_room) {
      size_t room = ((size_t)value + 1) * 2;
      uint32_t *seen = realloc(f->seen, room * sizeof *seen);
      if (!seen)
        return false;
      memset(seen + f->seen_room, 0, (room - f->seen_room) * sizeof *seen);
      f->seen = seen;
      f->seen_room = room;
    }
    if (!f->seen[value])
      f->seen[value] = ++f->seen_count;
  }
  return true;
}

static bool rehash_keys(struct projection *p) {
  size_t count = p->slot_count * 2;
  uint32_t *slots = calloc(count, sizeof *slots);
  if (!slots)
    return false;
  for (size_t i = 0; i < p->key_count; i++) {
    size_t at = p->keys[i].hash & (count - 1);
    while (slots[at])
      at = (at + 1) & (count - 1);
    slots[at] = (uint32_t)i + 1;
  }
  free(p->slots);
  p->slots = slots;
  p->slot_count = count;
  return true;
}

uint32_t projection_key_of(struct projection *p, const struct subject *s,
                           const struct named_keys *named, struct intern *strings) {
  if (p->expr.count && !project(p, s, named, strings))
    return NO_KEY;
  size_t n = p->field_count;
  while (n > 0 && p->row[n - 1] == 0)
    n--;
  uint64_t hash = hash_bytes(p->row, n * sizeof *p->row);
  size_t at = hash & (p->slot_count - 1);
  for (; p->slots[at]; at = (at + 1) & (p->slot_count - 1)) {
    const struct projection_key *k = &p->keys[p->slots[at] - 1];
    if (k->hash == hash && k->count == n &&
        (n == 0 || memcmp(k->values, p->row, n * sizeof *p->row) == 0))
      return p->slots[at] - 1;
  }
  struct projection_key *keys = array_grow(p->keys, p->key_count, &p->key_room, sizeof *keys);
  uint32_t *values = keys ? arena_alloc(&p->arena, n * sizeof *values) : NULL;
  if (keys)
    p->keys = keys;
  if (!values)
    return NO_KEY;
  if (n)
    memcpy(values, p->row, n * sizeof *values);
  p->keys[p->key_count] = (struct projection_key){values, (uint32_t)n, hash};
  if (!observe(p, &p->keys[p->key_count]))
    return NO_KEY;
  p->slots[at] = (uint32_t)++p->key_count;
  if (2 * p->key_count > p->slot_count && !rehash_keys(p))
    return NO_KEY;
  return (uint32_t)p->key_count - 1;
}

bool projection_keeps(const struct projection *p, const struct subject *s) {
  for (size_t i = 0; i < p->expr.count; i++) {
    const struct projection_part *part = &p->expr.parts[i];
    if (part->order != ORDER_FIXED)
      continue;
    struct text value = subject_value(s, &part->key);
    bool listed = false;
    for (size_t k = 0; k < part->fixed_count && !listed; k++)
      listed = text_equal(part->fixed[k], value);
    if (!listed)
      return false;
  }
  return true;
}

bool projection_has_value(const struct projection *p, size_t field) {
  for (size_t k = 0; k < p->key_count; k++)
    if (field < p->keys[k].count && p->keys[k].values[field])
      return true;
  return false;
}

struct text projection_value(const struct projection *p, uint32_t key, size_t field,
                             const struct intern *strings) {
  const struct projection_key *k = &p->keys[key];
  return strings->strings[field < k->count ? k->values[field] : 0];
}

bool projection_finish(struct projection *p) {
  p->flat = malloc((p->field_count + 1) * sizeof *p->flat);
  if (!p->flat)
    return false;
  size_t n = 0;
  for (size_t part = 0; part < p->expr.count; part++)
    for (size_t i = 0; i < p->field_count; i++)
      if (p->fields[i].part == part)
        p->flat[n++] = i;
  return true;
}

char *projection_label(const struct projection *p, uint32_t key, const struct intern *strings,
                       struct arena *a) {
  size_t room = 1, n = 0;
  for (size_t i = 0; i < p->field_count; i++)
    room += projection_value(p, key, p->flat[i], strings).n + 1;
  char *label = arena_alloc(a, room);
  if (!label)
    return NULL;
  for (size_t i = 0; i < p->field_count; i++) {
    struct text value = projection_value(p, key, p->flat[i], strings);
    if (value.n == 0)
      continue;
    if (n)
      label[n++] = ' ';
    memcpy(label + n, value.p, value.n);
    n += value.n;
  }
  label[n] = 0;
  return label;
}

/* ---- order ---- */

/* The first run of digits and points, with k K M G T P E Z Y, i for 1024, behind it. */
static bool loose_number(struct text t, double *out) {
  static const char prefixes[] = "KMGTPEZY";
  size_t i = 0, n;
  while (i < t.n && !((t.p[i] >= '0' && t.p[i] <= '9') || t.p[i] == '.'))
    i++;
  for (n = 0; i + n < t.n && ((t.p[i + n] >= '0' && t.p[i + n] <= '9') || t.p[i + n] == '.');)
    n++;
  if (n == 0 || number_parse((struct text){t.p + i, n}, out) != NUMBER_OK)
    return false;
  i += n;
  if (i == t.n || !t.p[i])
    return true;
  const char *prefix = strchr(prefixes, t.p[i] == 'k' ? 'K' : t.p[i]);
  if (prefix)
    *out *= pow(i + 1 < t.n && t.p[i + 1] == 'i' ? 1024 : 1000, (double)(prefix - prefixes + 1));
  return true;
}

/* Infinities sort as numbers, NaN behind them. */
static bool sort_number(struct text t, double *out) {
  switch (number_parse(t, out)) {
  case NUMBER_OK:
    return true;
  case NUMBER_NOT_FINITE:
    *out = (t.p[t.n - 1] | 32) == 'n' ? NAN : t.p[0] == '-' ? -INFINITY : INFINITY;
    return true;
  case NUMBER_SYNTAX:
  case NUMBER_RANGE:
    break;
  }
  return loose_number(t, out);
}

static int compare_numbers(struct text a, struct text b) {
  double x, y;
  bool is_x = sort_number(a, &x), is_y = sort_number(b, &y);
  if (!is_x || !is_y)
    return is_y - is_x;
  if (isnan(x) || isnan(y))
    return isnan(x) - isnan(y);
  return (x > y) - (x < y);
}

static size_t fixed_place(const struct projection_part *part, struct text t) {
  size_t place = 0;
  for (size_t i = 0; i < part->fixed_count; i++)
    if (text_equal(part->fixed[i], t))
      place = i;
  return place;
}

struct sort_context {
  const struct projection *p;
  const struct intern *strings;
};

static int compare_field(const struct sort_context *c, size_t field, uint32_t a, uint32_t b) {
  const struct projection_field *f = &c->p->fields[field];
  const struct projection_part *part = &c->p->expr.parts[f->part];
  struct text x = c->strings->strings[a], y = c->strings->strings[b];
  int order = 0;
  switch (part->order) {
  case ORDER_FIRST:
    /* Inside .config nobody looks at the order of appearance. */
    if (f->setting == INTERN_NONE)
      order = f->seen[a] < f->seen[b] ? -1 : f->seen[a] > f->seen[b];
    break;
  case ORDER_NUM:
    order = compare_numbers(x, y);
    break;
  case ORDER_FIXED: {
    size_t i = fixed_place(part, x), j = fixed_place(part, y);
    order = i < j ? -1 : i > j;
    break;
  }
  case ORDER_ALPHA:
    break;
  }
  return order ? order : text_compare(x, y);
}

static int compare_keys(const void *a, const void *b, void *context) {
  const struct sort_context *c = context;
  const struct projection_key *x = &c->p->keys[*(const uint32_t *)a];
  const struct projection_key *y = &c->p->keys[*(const uint32_t *)b];
  for (size_t i = 0; i < c->p->field_count; i++) {
    size_t field = c->p->flat[i];
    uint32_t v = field < x->count ? x->values[field] : 0;
    uint32_t w = field < y->count ? y->values[field] : 0;
    int order = v == w ? 0 : compare_field(c, field, v, w);
    if (order)
      return order;
  }
  return 0;
}

uint32_t *projection_ranks(const struct projection *p, const struct intern *strings) {
  uint32_t *sorted = malloc((p->key_count + 1) * sizeof *sorted);
  uint32_t *rank = malloc((p->key_count + 1) * sizeof *rank);
  if (sorted && rank) {
    struct sort_context c = {p, strings};
    for (size_t i = 0; i < p->key_count; i++)
      sorted[i] = (uint32_t)i;
    qsort_r(sorted, p->key_count, sizeof *sorted, compare_keys, &c);
    for (size_t i = 0; i < p->key_count; i++)
      rank[sorted[i]] = (uint32_t)i;
  } else {
    free(rank);
    rank = NULL;
  }
  free(sorted);
  return rank;
}
