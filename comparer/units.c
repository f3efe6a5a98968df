/*
 * Units: see units.h. The thresholds are those at which the printed digits round up, so that a
 * value never shows as 1000.0 of one prefix or 0.9999 of the next.
 */
#include "comparer/units.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Walks the tokens of a unit and says whether each stands in the denominator. */
struct unit_walk {
  const char *p, *end;
  struct text token;
  bool denominator;
};

static size_t separator(const char *p, const char *end, uint32_t *rune) {
  size_t n = utf8_decode(p, end, rune);
  return *rune == '*' || *rune == '/' || *rune == '-' || rune_is_space(*rune) ? n : 0;
}

static bool unit_next(struct unit_walk *w) {
  uint32_t rune;
  size_t n;
  while (w->p < w->end && (n = separator(w->p, w->end, &rune))) {
    if (rune == '*' || rune == '/')
      w->denominator = rune == '/';
    w->p += n;
  }
  const char *start = w->p;
  while (w->p < w->end && !separator(w->p, w->end, &rune))
    w->p += utf8_decode(w->p, w->end, &rune);
  w->token = (struct text){start, (size_t)(w->p - start)};
  return w->token.n > 0;
}

bool unit_tidy(struct arena *a, struct text unit, struct text *out, double *factor) {
  /* Each edit turns 2 bytes into at most 3. */
  char *tidy = arena_alloc(a, unit.n * 2 + 1), *to = tidy;
  if (!tidy)
    return false;
  *factor = 1;
  const char *from = unit.p;
  struct unit_walk w = {.p = unit.p, .end = unit.p + unit.n};
  while (unit_next(&w)) {
    const char *instead = NULL;
    if (!w.denominator && text_is(w.token, "ns")) {
      instead = "sec";
      *factor /= 1e9;
    } else if (!w.denominator && text_is(w.token, "MB")) {
      instead = "B";
      *factor *= 1e6;
    }
    const char *upto = instead ? w.token.p : w.p;
    memcpy(to, from, (size_t)(upto - from));
    to += upto - from;
    from = w.p;
    if (instead)
      to = stpcpy(to, instead);
  }
  size_t rest = (size_t)(w.end - from);
  memcpy(to, from, rest);
  to[rest] = 0;
  *out = (struct text){tidy, (size_t)(to - tidy) + rest};
  return true;
}

bool unit_is_binary(struct text unit) {
  struct unit_walk w = {.p = unit.p, .end = unit.p + unit.n};
  while (unit_next(&w))
    if (!w.denominator &&
        (text_is(w.token, "B") || text_is(w.token, "MB") || text_is(w.token, "bytes")))
      return true;
  return false;
}

bool unit_is_time_per_op(struct text unit) {
  return text_is(unit, "sec/op") || text_is(unit, "ns/op");
}

/* Time, memory and events that cost: less is better. Work per second: more is. */
enum better unit_better_default(struct text unit) {
  static const char *const costs[] = {"sec",    "ns",      "B",    "bytes",    "allocs", "faults",
                                      "misses", "retries", "miss", "switches", "waits"};
  static const char *const work[] = {"B",   "MB",   "bytes",    "op",    "ops",
                                     "req", "reqs", "requests", "items", "iters"};
  bool cost = false, done = false, per_second = false;
  struct unit_walk w = {.p = unit.p, .end = unit.p + unit.n};
  while (unit_next(&w)) {
    if (w.denominator) {
      per_second = per_second || text_is(w.token, "s") || text_is(w.token, "sec");
      continue;
    }
    for (size_t i = 0; i < sizeof costs / sizeof *costs; i++)
      cost = cost || text_is(w.token, costs[i]);
    for (size_t i = 0; i < sizeof work / sizeof *work; i++)
      done = done || text_is(w.token, work[i]);
  }
  if (per_second)
    return done ? BETTER_MORE : BETTER_UNKNOWN;
  return cost ? BETTER_LESS : BETTER_UNKNOWN;
}

bool units_init(struct units *u) {
  *u = (struct units){0};
  return intern_init(&u->names) && intern_init(&u->said);
}

void units_free(struct units *u) {
  intern_free(&u->names);
  intern_free(&u->said);
  free(u->said_values);
  free(u->list);
  *u = (struct units){0};
}

/* Enters a name without tidying it. */
static uint32_t units_enter(struct units *u, struct text name) {
  uint32_t id = intern_add(&u->names, name);
  if (id == INTERN_NONE || id < u->count)
    return id;
  struct unit *list = array_grow(u->list, id, &u->room, sizeof *list);
  if (!list)
    return INTERN_NONE;
  u->list = list;
  for (; u->count <= id; u->count++)
    u->list[u->count] = (struct unit){.factor = 1, .tidied = INTERN_NONE, .written = INTERN_NONE};
  u->list[id].name = u->names.strings[id];
  return id;
}

uint32_t units_add(struct units *u, struct text name) {
  uint32_t id = units_enter(u, name);
  if (id == INTERN_NONE || u->list[id].tidied != INTERN_NONE)
    return id;
  struct text tidy;
  double factor;
  if (!unit_tidy(&u->names.arena, u->list[id].name, &tidy, &factor))
    return INTERN_NONE;
  uint32_t tidied = units_enter(u, tidy);
  if (tidied == INTERN_NONE)
    return INTERN_NONE;
  u->list[id].factor = factor;
  u->list[id].tidied = tidied;
  struct unit *t = &u->list[tidied];
  if (t->tidied == INTERN_NONE || t->written == INTERN_NONE) {
    t->tidied = tidied;
    t->written = id;
    t->better = unit_better_default(t->name);
  }
  return id;
}

/* What these words mean for the unit; unknown keys and values mean nothing. */
static void units_apply(struct unit *t, struct text key, struct text value) {
  if (text_is(key, "assume"))
    t->exact = text_is(value, "exact");
  else if (text_is(key, "better") && text_is(value, "lower"))
    t->better = BETTER_LESS;
  else if (text_is(key, "better") && text_is(value, "higher"))
    t->better = BETTER_MORE;
  else if (text_is(key, "better"))
    t->better = BETTER_UNKNOWN;
}

const char *units_set(struct units *u, uint32_t unit, struct text key, struct text value,
                      bool *ok) {
  uint32_t tidied = u->list[unit].tidied;
  char *name = arena_alloc(&u->said.arena, key.n + 16);
  uint32_t known = u->said.count, id = INTERN_NONE;
  if (name) {
    size_t n = (size_t)snprintf(name, 16, "%u=", tidied);
    memcpy(name + n, key.p, key.n);
    id = intern_add(&u->said, (struct text){name, n + key.n});
  }
  *ok = id != INTERN_NONE;
  if (!*ok)
    return NULL;
  if (id < known)
    return text_is(value, u->said_values[id]) ? NULL : u->said_values[id];
  const char **values = array_grow(u->said_values, id, &u->said_room, sizeof *values);
  if (values)
    u->said_values = values;
  *ok = values && (values[id] = arena_copy(&u->said.arena, value)) != NULL;
  if (*ok)
    units_apply(&u->list[tidied], key, value);
  return NULL;
}

struct prefix {
  double factor;
  const char *name;
  double three, two, one; /* at least 100.0, 10.00, 1.000 once rounded */
};

static const struct prefix decimal[] = {{1e12, "T", 99.995e12, 9.9995e12, .99995e12},
                                        {1e9, "G", 99.995e9, 9.9995e9, .99995e9},
                                        {1e6, "M", 99.995e6, 9.9995e6, .99995e6},
                                        {1e3, "k", 99.995e3, 9.9995e3, .99995e3},
                                        {1, "", 99.995, 9.9995, .99995},
                                        {1e-3, "m", 99.995e-3, 9.9995e-3, .99995e-3},
                                        {1e-6, "µ", 99.995e-6, 9.9995e-6, .99995e-6},
                                        {1e-9, "n", 99.995e-9, 9.9995e-9, .99995e-9}};
#define BINARY_PREFIX(exponent, name)                                       \
  {                                                                         \
    0x1p##exponent, name, 99.995 * 0x1p##exponent, 9.9995 * 0x1p##exponent, \
        .99995 * 0x1p##exponent                                             \
  }
static const struct prefix binary[] = {BINARY_PREFIX(40, "Ti"), BINARY_PREFIX(30, "Gi"),
                                       BINARY_PREFIX(20, "Mi"), BINARY_PREFIX(10, "Ki"),
                                       BINARY_PREFIX(0, "")};

struct scale scale_for(const double *values, size_t n, bool is_binary) {
  double least = 0;
  for (size_t i = 0; i < n; i++) {
    double v = fabs(values[i]);
    if (v != 0 && (least == 0 || v < least))
      least = v;
  }
  if (least == 0)
    return (struct scale){3, 1, ""};
  const struct prefix *list = is_binary ? binary : decimal, *last = NULL;
  size_t count = is_binary ? sizeof binary / sizeof *binary : sizeof decimal / sizeof *decimal;
  for (size_t i = 0; i < count; i++) {
    last = &list[i];
    if (least >= last->three)
      return (struct scale){1, last->factor, last->name};
    if (least >= last->two)
      return (struct scale){2, last->factor, last->name};
    if (least >= last->one)
      return (struct scale){3, last->factor, last->name};
  }
  /* Smaller than the smallest prefix: more decimals, ten at most. */
  static const double more[] = {9.9995e-1, 9.9995e-2, 9.9995e-3, 9.9995e-4,
                                9.9995e-5, 9.9995e-6, 9.9995e-7, 9.9995e-8};
  size_t i = 0;
  while (i < 7 && least / last->factor < more[i])
    i++;
  return (struct scale){3 + (int)i, last->factor, last->name};
}

size_t scale_format(struct scale s, double v, char out[SCALE_TEXT]) {
  return (size_t)snprintf(out, SCALE_TEXT, "%.*f%s", s.decimals, v / s.factor, s.prefix);
}
