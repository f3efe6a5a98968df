/*
 * The arms of a plan: strategies with their options and disciplines, the base first. See
 * plan_parts.h.
 */
#include "harness/cell.h"
#include "harness/plan_parts.h"
#include "harness/plural.h"
#include "harness/presets.h"

#include <stdlib.h>
#include <string.h>

/* What is measured when --strategies is not given, as far as this build has it. */
static const char *const default_strategies[] = {"malloc",           "global-locked", "per-thread",
                                                 "pooled-freelists", "sync-pool",     NULL};

/*
 * Values of options are known to the strategy alone, so one pool is opened and closed: a bad value
 * is said now, not once a sample.
 */
static bool opens(const struct strategy *s, const char *const *options, size_t count,
                  unsigned threads, char *why, size_t why_size) {
  static const struct kind any = {.name = "probe", .size = 64};
  struct pool_config config = {.options = options,
                               .option_count = count,
                               .threads = threads,
                               .why = why,
                               .why_size = why_size};
  struct pool *pool = s->open(&any, 1, &config);
  if (pool)
    s->close(pool);
  return pool != NULL;
}

static bool check_values(const char *option, const struct strategy *s, const char *const *options,
                         size_t count, const char *spec, struct error *e) {
  char why[300] = "";
  return opens(s, options, count, 1, why, sizeof why) ||
         error_set(e, EXIT_USAGE, "%s: %s: %s", option, spec, why);
}

/* Reads NAME[:key=value...][+discipline]. */
static bool parse_arm(const char *option, const char *text, enum discipline otherwise,
                      struct plan_arm *arm, struct error *e) {
  char storage[STRATEGY_SPEC_MAX], why[600] = "";
  const char *options[STRATEGY_MAX_OPTIONS];
  size_t count;
  const char *plus = strrchr(text, '+');
  *arm = (struct plan_arm){.discipline = otherwise};
  if (plus && !discipline_parse(plus + 1, &arm->discipline))
    return error_set(e, EXIT_USAGE,
                     "%s: %s: unknown discipline \"%s\"; there are balanced, as-merged "
                     "and leaky",
                     option, text, plus + 1);
  arm->spec = strndup(text, plus ? (size_t)(plus - text) : strlen(text));
  if (!arm->spec)
    return plan_out_of_memory(e);
  arm->strategy = strategy_parse(arm->spec, storage, options, &count, why, sizeof why);
  if (arm->strategy && strpbrk(arm->spec, "/ \t")) {
    snprintf(why, sizeof why, "\"%s\" has a slash or a space, which names cannot hold", arm->spec);
    arm->strategy = NULL;
  }
  bool ok = arm->strategy ? check_values(option, arm->strategy, options, count, arm->spec, e)
                          : error_set(e, EXIT_USAGE, "%s: %s", option, why);
  arm->label = ok ? strdup(arm->spec) : NULL;
  if (ok && !arm->label)
    ok = plan_out_of_memory(e);
  if (!ok)
    free(arm->spec);
  return ok;
}

static bool same_arm(const struct plan_arm *a, const struct plan_arm *b) {
  return strcmp(a->label, b->label) == 0 && a->discipline == b->discipline;
}

void plan_free_arm(struct plan_arm *a) {
  free(a->spec);
  free(a->label);
}

/* Takes over arm's strings. An arm that is there already is not added again. */
static bool add_arm(struct plan *p, struct plan_arm *arm, struct error *e) {
  for (size_t i = 0; i < p->arm_count; i++)
    if (same_arm(&p->arms[i], arm)) {
      plan_free_arm(arm);
      return true;
    }
  void *room = plan_grow(p->arms, p->arm_count, sizeof *p->arms, e);
  if (!room) {
    plan_free_arm(arm);
    return false;
  }
  p->arms = room;
  p->arms[p->arm_count++] = *arm;
  return true;
}

/* option: what the text came with, for messages. */
static bool add_arm_of(struct plan *p, const char *option, const char *text, enum discipline d,
                       struct error *e) {
  struct plan_arm arm;
  return parse_arm(option, text, d, &arm, e) && add_arm(p, &arm, e);
}

static bool add_arm_text(struct plan *p, const char *text, enum discipline d, struct error *e) {
  return add_arm_of(p, "--strategies", text, d, e);
}

static bool add_listed(struct plan *p, const char *list, enum discipline d, struct error *e) {
  char *copy = strdup(list), *rest = copy, *item;
  if (!copy)
    return plan_out_of_memory(e);
  bool ok = true;
  while (ok && (item = strsep(&rest, ",")) != NULL) {
    size_t before = p->arm_count;
    ok = *item ? add_arm_text(p, item, d, e)
               : error_set(e, EXIT_USAGE, "--strategies %s: an empty element", list);
    if (ok && p->arm_count == before)
      ok = error_set(e, EXIT_USAGE,
                     "--strategies %s: %s stands there twice; --twin measures the base twice", list,
                     item);
  }
  free(copy);
  return ok;
}

/* --- Delays planted under a lock. */

/* What a strategy with a lock calls the delay; it knows itself how long one may be. */
#define INJECT "inject"

static bool can_inject(const struct strategy *s) {
  for (const struct strategy_option *o = s->options; o && o->key; o++)
    if (strcmp(o->key, INJECT) == 0)
      return true;
  return false;
}

static bool refuse_lockless(const char *text, const struct strategy *s, struct error *e) {
  char names[300] = "";
  for (size_t i = 0, used = 0; strategies[i] && used < sizeof names; i++)
    if (can_inject(strategies[i]))
      used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "",
                               strategies[i]->name);
  return error_set(e, EXIT_USAGE, "--inject %s: %s has no lock to plant a delay under; there %s %s",
                   text, s->name, *names ? "are" : "is", *names ? names : "none");
}

/* The strategy itself, which the planted arms are compared with. */
static bool add_uninjected(struct plan *p, const char *text, const char *name, enum discipline d,
                           struct error *e) {
  struct plan_arm arm;
  if (!parse_arm("--inject", name, d, &arm, e))
    return false;
  if (can_inject(arm.strategy))
    return add_arm(p, &arm, e);
  plan_free_arm(&arm);
  return refuse_lockless(text, arm.strategy, e);
}

/* name is NAME[:key=value...][+discipline]; the delay goes before the discipline. */
static bool add_delay(struct plan *p, const char *text, const char *name, const char *delay,
                      enum discipline d, struct error *e) {
  char spec[2 * STRATEGY_SPEC_MAX], *end;
  int plain = (int)strcspn(name, "+");
  if (*delay < '0' || *delay > '9' || strtoull(delay, &end, 10) == 0 || *end)
    return error_set(e, EXIT_USAGE,
                     "--inject %s: \"%s\" is no delay; whole ns above 0, as in "
                     "--inject global-locked=200,1000",
                     text, delay);
  if (snprintf(spec, sizeof spec, "%.*s:" INJECT "=%s%s", plain, name, delay, name + plain) >=
      (int)sizeof spec)
    return error_set(e, EXIT_USAGE, "--inject %s: too long", text);
  return add_arm_of(p, "--inject", spec, d, e);
}

/* "global-locked=200,1000": that strategy, and twice more with a delay planted under its lock. */
static bool add_injected(struct plan *p, const char *text, enum discipline d, struct error *e) {
  const char *equals = strrchr(text, '=');
  if (!equals || equals == text)
    return error_set(e, EXIT_USAGE,
                     "--inject %s: a strategy with a lock and a delay in ns, as in --inject "
                     "global-locked=500",
                     text);
  char *name = strndup(text, (size_t)(equals - text)), *list = strdup(equals + 1), *rest = list;
  bool ok = (name && list) || plan_out_of_memory(e);
  ok = ok && add_uninjected(p, text, name, d, e);
  for (char *delay; ok && (delay = strsep(&rest, ",")) != NULL;)
    ok = add_delay(p, text, name, delay, d, e);
  free(name);
  free(list);
  return ok;
}

static bool any_case_has(const struct plan *p, enum case_flag flag) {
  for (size_t i = 0; i < p->case_count; i++)
    if (p->cases[i].info->flags & flag)
      return true;
  return false;
}

static bool add_defaults(struct plan *p, enum discipline d, struct error *e) {
  for (size_t i = 0; default_strategies[i]; i++)
    if (strategy_find(default_strategies[i]) && !add_arm_text(p, default_strategies[i], d, e))
      return false;
  /* Those that only some cases can use, where there are such cases. */
  if (any_case_has(p, CASE_HAS_OWNER) && strategy_find("owned") && !add_arm_text(p, "owned", d, e))
    return false;
  if (any_case_has(p, CASE_NULL_RUNS) && strategy_find("null"))
    return add_arm_text(p, "null", d, e);
  return p->arm_count > 0 || error_set(e, EXIT_USAGE, "this build has no strategies");
}

static bool add_all(struct plan *p, enum discipline d, struct error *e) {
  for (size_t i = 0; strategies[i]; i++)
    if (!add_arm_text(p, strategies[i]->name, d, e))
      return false;
  return true;
}

/* The arm goes to the front, the others keep their order. */
static void move_to_front(struct plan *p, size_t at) {
  struct plan_arm arm = p->arms[at];
  memmove(&p->arms[1], &p->arms[0], at * sizeof arm);
  p->arms[0] = arm;
}

/* The base: --base, else malloc where it is measured, else the first strategy of the list. */
static bool choose_base(struct plan *p, const struct options *o, struct error *e) {
  size_t at = 0;
  if (o->base) {
    struct plan_arm base;
    if (!parse_arm("--base", o->base, o->discipline, &base, e))
      return false;
    while (at < p->arm_count && !same_arm(&p->arms[at], &base))
      at++;
    if (at == p->arm_count) {
      if (!add_arm(p, &base, e))
        return false;
    } else {
      plan_free_arm(&base);
    }
  } else {
    while (at < p->arm_count && strcmp(p->arms[at].label, "malloc") != 0)
      at++;
    at = at == p->arm_count ? 0 : at;
  }
  move_to_front(p, at);
  p->arms[0].is_base = true;
  return true;
}

/* The base a second time, right after it, under a name of its own. */
static bool add_twin(struct plan *p, struct error *e) {
  struct plan_arm twin = p->arms[0];
  char label[STRATEGY_SPEC_MAX + 8];
  snprintf(label, sizeof label, "%s:twin", twin.spec);
  twin.spec = strdup(twin.spec);
  twin.label = strdup(label);
  twin.is_base = false;
  twin.is_twin = true;
  if (!twin.spec || !twin.label) {
    plan_free_arm(&twin);
    return plan_out_of_memory(e);
  }
  if (!add_arm(p, &twin, e))
    return false;
  struct plan_arm last = p->arms[p->arm_count - 1];
  memmove(&p->arms[2], &p->arms[1], (p->arm_count - 2) * sizeof last);
  p->arms[1] = last;
  return true;
}

static bool add_preset(struct plan *p, struct error *e) {
  for (const char *const *spec = p->preset->columns; *spec; spec++)
    if (!add_arm_text(p, *spec, DISCIPLINE_BALANCED, e))
      return false;
  p->arms[0].is_base = true;
  return true;
}

bool plan_choose_arms(struct plan *p, const struct options *o, struct error *e) {
  bool ok;
  if (p->preset)
    ok = add_preset(p, e);
  else if (!o->strategies)
    ok = add_defaults(p, o->discipline, e);
  else if (strcmp(o->strategies, "all") == 0)
    ok = add_all(p, o->discipline, e);
  else
    ok = add_listed(p, o->strategies, o->discipline, e);
  ok = ok && (!o->inject || add_injected(p, o->inject, o->discipline, e));
  ok = ok && (p->preset || choose_base(p, o, e));
  ok = ok && (!o->twin || add_twin(p, e));
  if (ok && p->preset) { /* pointers only now: the arms no longer move */
    p->preset_old = &p->arms[0];
    p->preset_new = &p->arms[p->preset->new_column + (o->twin ? 1 : 0)];
  }
  return ok;
}

/* The measured cell of the arm that attaches the most threads; NULL: none is measured. */
static const struct plan_cell *fullest_cell(const struct plan *p, const struct plan_arm *arm) {
  const struct plan_cell *fullest = NULL;
  unsigned most = 0;
  for (size_t i = 0; i < p->cell_count; i++) {
    const struct plan_cell *c = &p->cells[i];
    unsigned attached = cell_attached(c->row->info, c->team);
    if (c->arm != arm || c->rounds == 0 || attached <= most)
      continue;
    fullest = c;
    most = attached;
  }
  return fullest;
}

bool plan_check_threads(const struct plan *p, struct error *e) {
  for (size_t i = 0; i < p->arm_count; i++) {
    const struct plan_cell *c = fullest_cell(p, &p->arms[i]);
    char storage[STRATEGY_SPEC_MAX], why[600] = "";
    const char *options[STRATEGY_MAX_OPTIONS], *spec = p->arms[i].spec;
    size_t count;
    if (!c)
      continue;
    unsigned threads = cell_attached(c->row->info, c->team);
    const struct strategy *s = strategy_parse(spec, storage, options, &count, why, sizeof why);
    if (!s || !opens(s, options, count, threads, why, sizeof why))
      return error_set(e, EXIT_USAGE, "%s cannot run %s, which has %u thread%s at --cpus %u: %s",
                       spec, c->row->info->name, threads, plural(threads), c->threads, why);
  }
  return true;
}
