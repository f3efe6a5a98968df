/*
 * From options and registries to cells; see plan.h. Times and order are schedule.c's.
 */
#include "harness/plan.h"
#include "harness/cell.h"
#include "harness/presets.h"
#include "harness/suggest.h"

#include <fnmatch.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum {
  DEFAULT_ROUNDS = 10,
  DEFAULT_SWEEP_ROUNDS = 6,
  QUICK_ROUNDS = 6,
  QUICK_SWEEP_ROUNDS = 4,
  SERIES_ROUNDS = 3,
  OBJECT_CASES_ROOM = 8, /* cases that one object file can make */
  NAME_MAX_LENGTH = 400,
};
static const uint64_t MS = 1000000, SECOND = 1000000000;

/* What is measured when --strategies is not given, as far as this build has it. */
static const char *const default_strategies[] = {"malloc",           "global-locked", "per-thread",
                                                 "pooled-freelists", "sync-pool",     NULL};

static bool out_of_memory(struct error *e) {
  return error_set(e, EXIT_INPUT, "out of memory");
}

/* Makes room for one more element; *room doubles. */
static bool grow(void **items, size_t count, size_t size, struct error *e) {
  if ((count & (count - 1)) != 0) /* room is always a power of two */
    return true;
  void *bigger = realloc(*items, (count ? count * 2 : 1) * size);
  if (!bigger)
    return out_of_memory(e);
  *items = bigger;
  return true;
}

void plan_note(struct plan *p, const char *format, ...) {
  if (p->note_count == PLAN_MAX_NOTES)
    return;
  va_list args;
  va_start(args, format);
  vsnprintf(p->notes[p->note_count++], sizeof p->notes[0], format, args);
  va_end(args);
}

/* --- cases ------------------------------------------------------------------------------- */

static bool add_case(struct plan *p, const struct workload *w, const struct workload_case *c,
                     const char *object, struct error *e) {
  if (!grow((void **)&p->cases, p->case_count, sizeof *p->cases, e))
    return false;
  p->cases[p->case_count++] = (struct plan_case){.workload = w, .info = c, .object = object};
  return true;
}

/* Is the case wanted by one of the patterns? A hidden one must be called by its name. */
static bool case_matches(const struct workload_case *c, const char *patterns) {
  if (!patterns)
    return !(c->flags & CASE_HIDDEN);
  char copy[4096];
  snprintf(copy, sizeof copy, "%s", patterns);
  for (char *rest = copy, *pattern; (pattern = strsep(&rest, ",")) != NULL;) {
    if (strcmp(pattern, c->name) == 0)
      return true;
    if (!(c->flags & CASE_HIDDEN) && fnmatch(pattern, c->name, 0) == 0)
      return true;
  }
  return false;
}

static bool known_suite(const char *suite, struct error *e) {
  struct suggest near;
  char list[300] = "";
  size_t used = 0;
  suggest_start(&near, suite);
  suggest_offer(&near, "all");
  for (size_t i = 0; workloads[i]; i++) {
    if (strcmp(workloads[i]->name, suite) == 0)
      return true;
    suggest_offer(&near, workloads[i]->name);
    if (used < sizeof list)
      used += (size_t)snprintf(list + used, sizeof list - used, "%s, ", workloads[i]->name);
  }
  return strcmp(suite, "all") == 0 ||
         error_set(e, EXIT_USAGE, "--suite: unknown suite \"%s\"%s%s%s; there are %sall", suite,
                   near.best ? "; did you mean " : "", near.best ? near.best : "",
                   near.best ? "?" : "", list);
}

/* Every pattern of --cases must name something, so that a typo is not a smaller run. */
static bool check_patterns(const struct plan *p, const char *patterns, const char *suite,
                           struct error *e) {
  char copy[4096];
  if (strlen(patterns) >= sizeof copy)
    return error_set(e, EXIT_USAGE, "--cases: longer than %zu characters", sizeof copy - 1);
  snprintf(copy, sizeof copy, "%s", patterns);
  for (char *rest = copy, *pattern; (pattern = strsep(&rest, ",")) != NULL;) {
    bool found = false;
    for (size_t i = 0; i < p->case_count && !found; i++)
      found = case_matches(p->cases[i].info, pattern);
    if (found)
      continue;
    struct suggest near;
    suggest_start(&near, pattern);
    for (size_t w = 0; workloads[w]; w++)
      for (const struct workload_case *c = workloads[w]->cases; c->name; c++)
        if (!(c->flags & CASE_HIDDEN))
          suggest_offer(&near, c->name);
    return error_set(
        e, EXIT_USAGE, "--cases: no case%s%s matches \"%s\"%s%s%s; `poolbench list` names them",
        strcmp(suite, "all") == 0 ? "" : " of suite ", strcmp(suite, "all") == 0 ? "" : suite,
        pattern, near.best ? "; did you mean " : "", near.best ? near.best : "",
        near.best ? "?" : "");
  }
  return true;
}

/* Asks the workloads of the suite for the cases that an object file makes. */
static bool add_object(struct plan *p, const struct workload *w, const char *file,
                       const char *patterns, struct error *e) {
  char why[600] = "";
  struct workload_case *room = &p->object_cases[p->object_case_count];
  int n = w->object_cases(file, room, OBJECT_CASES_ROOM, why, sizeof why);
  if (n < 0)
    return error_set(e, EXIT_INPUT, "--object %s: %s", file, why);
  p->object_case_count += (size_t)n;
  for (int i = 0; i < n; i++) {
    for (size_t k = 0; k < p->case_count; k++)
      if (strcmp(p->cases[k].info->name, room[i].name) == 0)
        return error_set(e, EXIT_USAGE,
                         "--object %s: a second file would be called %s; rename one of them", file,
                         room[i].name);
    if (case_matches(&room[i], patterns) && !add_case(p, w, &room[i], file, e))
      return false;
  }
  return true;
}

static bool in_suite(const struct workload *w, const char *suite) {
  return strcmp(suite, "all") == 0 || strcmp(suite, w->name) == 0;
}

static bool add_objects(struct plan *p, const struct options *o, const char *suite,
                        const char *patterns, struct error *e) {
  bool taken = false;
  if (o->object_count == 0)
    return true;
  p->object_cases = calloc(o->object_count * OBJECT_CASES_ROOM, sizeof *p->object_cases);
  if (!p->object_cases)
    return out_of_memory(e);
  for (size_t i = 0; workloads[i] && !taken; i++) {
    if (!workloads[i]->object_cases || !in_suite(workloads[i], suite))
      continue;
    taken = true;
    for (size_t k = 0; k < o->object_count; k++)
      if (!add_object(p, workloads[i], o->objects[k], patterns, e))
        return false;
  }
  return taken || error_set(e, EXIT_USAGE,
                            "--object %s: suite %s takes no objects; suite compare "
                            "does",
                            o->objects[0], suite);
}

static bool has_setting(const struct workload *w, const char *key, size_t length) {
  for (const struct strategy_option *k = w->options; k && k->key; k++)
    if (strlen(k->key) == length && strncmp(k->key, key, length) == 0)
      return true;
  return false;
}

/* Gives one KEY=VALUE of --set to the cases that know it. Returns how many did; -1: no memory. */
static int give_setting(struct plan *p, const char *setting) {
  int taken = 0;
  for (size_t i = 0; i < p->case_count; i++) {
    struct plan_case *c = &p->cases[i];
    if (!(c->info->flags & CASE_SERIES) ||
        !has_setting(c->workload, setting, strcspn(setting, "=")))
      continue;
    char *longer = NULL;
    if (asprintf(&longer, "%s%s%s", c->options ? c->options : "", c->options ? "," : "", setting) <
        0)
      return -1;
    free(c->options);
    c->options = longer;
    taken++;
  }
  return taken;
}

/* Every setting must reach a case, so that a typo is not a run with the defaults. */
static bool give_settings(struct plan *p, const char *settings, struct error *e) {
  char *copy = strdup(settings), *rest = copy, *setting;
  bool ok = copy || out_of_memory(e);
  while (ok && (setting = strsep(&rest, ",")) != NULL) {
    int taken = strchr(setting, '=') ? give_setting(p, setting) : 0;
    if (taken < 0)
      ok = out_of_memory(e);
    else if (taken == 0)
      ok = error_set(e, EXIT_USAGE,
                     "--set %s: \"%s\" is no KEY=VALUE of a chosen case; `poolbench list` shows "
                     "which cases have settings",
                     settings, setting);
  }
  free(copy);
  return ok;
}

static bool choose_cases(struct plan *p, const struct options *o, struct error *e) {
  const char *patterns = p->preset ? p->preset->cases : o->cases;
  const char *suite = o->suite ? o->suite : patterns ? "all" : "compare";
  if (!known_suite(suite, e))
    return false;
  for (size_t i = 0; workloads[i]; i++)
    for (const struct workload_case *c = workloads[i]->cases;
         in_suite(workloads[i], suite) && c->name; c++)
      if (case_matches(c, patterns) && !add_case(p, workloads[i], c, NULL, e))
        return false;
  if (!add_objects(p, o, suite, patterns, e))
    return false;
  if (p->preset && p->case_count == 0)
    return error_set(e, EXIT_USAGE, "--preset %s needs the workload %s, which this build lacks",
                     p->preset->name, p->preset->workload);
  if (patterns && !p->preset && !check_patterns(p, patterns, suite, e))
    return false;
  return !o->set || give_settings(p, o->set, e);
}

/* --- arms -------------------------------------------------------------------------------- */

/*
 * Values of options are known to the strategy alone, so one pool is opened and closed: a bad value
 * is said now, not once a sample.
 */
static bool check_values(const char *option, const struct strategy *s, const char *const *options,
                         size_t count, const char *spec, struct error *e) {
  static const struct kind any = {.name = "probe", .size = 64};
  char why[300] = "";
  struct pool_config config = {
      .options = options, .option_count = count, .threads = 1, .why = why, .why_size = sizeof why};
  struct pool *pool = s->open(&any, 1, &config);
  if (!pool)
    return error_set(e, EXIT_USAGE, "%s: %s: %s", option, spec, why);
  s->close(pool);
  return true;
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
    return out_of_memory(e);
  arm->strategy = strategy_parse(arm->spec, storage, options, &count, why, sizeof why);
  if (arm->strategy && strpbrk(arm->spec, "/ \t")) {
    snprintf(why, sizeof why, "\"%s\" has a slash or a space, which names cannot hold", arm->spec);
    arm->strategy = NULL;
  }
  bool ok = arm->strategy ? check_values(option, arm->strategy, options, count, arm->spec, e)
                          : error_set(e, EXIT_USAGE, "%s: %s", option, why);
  arm->label = ok ? strdup(arm->spec) : NULL;
  if (ok && !arm->label)
    ok = out_of_memory(e);
  if (!ok)
    free(arm->spec);
  return ok;
}

static bool same_arm(const struct plan_arm *a, const struct plan_arm *b) {
  return strcmp(a->label, b->label) == 0 && a->discipline == b->discipline;
}

static void free_arm(struct plan_arm *a) {
  free(a->spec);
  free(a->label);
}

/* Takes over arm's strings. An arm that is there already is not added again. */
static bool add_arm(struct plan *p, struct plan_arm *arm, struct error *e) {
  for (size_t i = 0; i < p->arm_count; i++)
    if (same_arm(&p->arms[i], arm)) {
      free_arm(arm);
      return true;
    }
  if (!grow((void **)&p->arms, p->arm_count, sizeof *p->arms, e)) {
    free_arm(arm);
    return false;
  }
  p->arms[p->arm_count++] = *arm;
  return true;
}

static bool add_arm_text(struct plan *p, const char *text, enum discipline d, struct error *e) {
  struct plan_arm arm;
  return parse_arm("--strategies", text, d, &arm, e) && add_arm(p, &arm, e);
}

static bool add_listed(struct plan *p, const char *list, enum discipline d, struct error *e) {
  char *copy = strdup(list), *rest = copy, *item;
  if (!copy)
    return out_of_memory(e);
  bool ok = true;
  while (ok && (item = strsep(&rest, ",")) != NULL)
    ok = *item ? add_arm_text(p, item, d, e)
               : error_set(e, EXIT_USAGE, "--strategies %s: an empty element", list);
  free(copy);
  return ok;
}

static bool any_case_runs_null(const struct plan *p) {
  for (size_t i = 0; i < p->case_count; i++)
    if (p->cases[i].info->flags & CASE_NULL_RUNS)
      return true;
  return false;
}

static bool add_defaults(struct plan *p, enum discipline d, struct error *e) {
  for (size_t i = 0; default_strategies[i]; i++)
    if (strategy_find(default_strategies[i]) && !add_arm_text(p, default_strategies[i], d, e))
      return false;
  if (any_case_runs_null(p) && strategy_find("null"))
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
      free_arm(&base);
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
    free_arm(&twin);
    return out_of_memory(e);
  }
  if (!add_arm(p, &twin, e))
    return false;
  struct plan_arm last = p->arms[p->arm_count - 1];
  memmove(&p->arms[2], &p->arms[1], (p->arm_count - 2) * sizeof last);
  p->arms[1] = last;
  return true;
}

/* The first of the column's specs that this build can run. */
static const char *column_spec(const struct preset_column *column) {
  for (size_t i = 0; column->specs[i]; i++) {
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(column->specs[i], "+:"), column->specs[i]);
    if (strategy_find(name))
      return column->specs[i];
  }
  return NULL;
}

static bool add_preset(struct plan *p, struct error *e) {
  for (const struct preset_column *c = p->preset->columns; c->specs[0]; c++) {
    const char *spec = column_spec(c);
    if (!spec)
      return error_set(e, EXIT_USAGE, "--preset %s needs the strategy %s, which this build lacks",
                       p->preset->name, c->specs[0]);
    if (!add_arm_text(p, spec, DISCIPLINE_BALANCED, e))
      return false;
    if (c->stand_in && spec != c->specs[0])
      plan_note(p, "%s", c->stand_in);
  }
  p->arms[0].is_base = true;
  return true;
}

static bool choose_arms(struct plan *p, const struct options *o, struct error *e) {
  bool ok;
  if (p->preset)
    ok = add_preset(p, e);
  else if (!o->strategies)
    ok = add_defaults(p, o->discipline, e) && choose_base(p, o, e);
  else if (strcmp(o->strategies, "all") == 0)
    ok = add_all(p, o->discipline, e) && choose_base(p, o, e);
  else
    ok = add_listed(p, o->strategies, o->discipline, e) && choose_base(p, o, e);
  ok = ok && (!o->twin || add_twin(p, e));
  if (ok && p->preset) { /* pointers only now: the arms no longer move */
    p->preset_old = &p->arms[0];
    p->preset_new = &p->arms[o->twin ? 2 : 1];
  }
  return ok;
}

/* --- builds ------------------------------------------------------------------------------ */

static bool choose_builds(struct plan *p, const struct options *o, struct error *e) {
  p->build_count = o->arm_count ? o->arm_count : 1;
  p->builds = calloc(p->build_count, sizeof *p->builds);
  if (!p->builds)
    return out_of_memory(e);
  for (size_t i = 0; i < o->arm_count; i++) {
    const char *equals = strchr(o->arms[i], '=');
    p->builds[i].label = strndup(o->arms[i], (size_t)(equals - o->arms[i]));
    p->builds[i].path = strdup(equals + 1);
    if (!p->builds[i].label || !p->builds[i].path)
      return out_of_memory(e);
  }
  return true;
}

/* --- cells ------------------------------------------------------------------------------- */

static bool add_skip(struct plan *p, const struct plan_case *row, const struct plan_arm *a,
                     const char *why, struct error *e) {
  for (size_t i = 0; i < p->skip_count; i++)
    if (p->skips[i].case_name == row->info->name && p->skips[i].arm == a->label &&
        strcmp(p->skips[i].why, why) == 0)
      return true;
  if (!grow((void **)&p->skips, p->skip_count, sizeof *p->skips, e))
    return false;
  struct plan_skip *s = &p->skips[p->skip_count++];
  *s = (struct plan_skip){.case_name = row->info->name, .arm = a->label};
  snprintf(s->why, sizeof s->why, "%s", why);
  return true;
}

static bool name_cell(struct plan_cell *c, struct error *e) {
  char text[NAME_MAX_LENGTH], tail[100] = "", discipline[60] = "";
  if (c->arm->discipline != DISCIPLINE_BALANCED)
    snprintf(discipline, sizeof discipline, "/discipline=%s", discipline_name(c->arm->discipline));
  snprintf(tail, sizeof tail, "%s%.60s-%u", c->build->label ? "/build=" : "",
           c->build->label ? c->build->label : "", c->threads);
  snprintf(text, sizeof text, "Benchmark%s/strategy=%s%s%s", c->row->info->name, c->arm->label,
           discipline, tail);
  c->name = strdup(text);
  snprintf(text, sizeof text, "Benchmark%s%s", c->row->info->name, tail);
  c->pair_name = strdup(text);
  return (c->name && c->pair_name) || out_of_memory(e);
}

static bool add_cell(struct plan *p, const struct plan_cell *like, struct error *e) {
  if (!grow((void **)&p->cells, p->cell_count, sizeof *p->cells, e))
    return false;
  struct plan_cell *c = &p->cells[p->cell_count];
  *c = *like;
  unsigned series = p->quick ? 1 : SERIES_ROUNDS;
  c->rounds = c->headline ? p->rounds : p->sweep_rounds;
  /* A series takes seconds and shows megabytes: a few are enough. */
  if ((c->row->info->flags & CASE_SERIES) && c->rounds > series)
    c->rounds = series;
  p->cell_count++;
  return name_cell(c, e);
}

/* All arms and builds of one row at one thread count. */
static bool add_row(struct plan *p, struct plan_cell like, struct error *e) {
  const struct workload_case *info = like.row->info;
  like.team = like.threads;
  if ((info->flags & CASE_FEWER_THREADS) && info->max_threads && like.threads > info->max_threads)
    like.team = info->max_threads;
  for (size_t a = 0; a < p->arm_count; a++) {
    char why[120];
    like.arm = &p->arms[a];
    if ((info->flags & CASE_ONE_STRATEGY) && !like.arm->is_base && !like.arm->is_twin)
      continue;
    if (!cell_fits(info, like.arm->strategy, like.arm->discipline, like.team, why, sizeof why)) {
      if (like.headline && !add_skip(p, like.row, like.arm, why, e))
        return false;
      continue;
    }
    for (size_t b = 0; b < p->build_count; b++) {
      like.build = &p->builds[b];
      if (!add_cell(p, &like, e))
        return false;
    }
  }
  return true;
}

/*
 * Thread counts below the headline: those of the list, or 1, 2, 4 ... below N for a single
 * number. Returns how many.
 */
static size_t sweep_counts(const struct plan *p, const struct options *o, unsigned *counts) {
  size_t n = 0;
  if (o->count_count > 1) {
    for (size_t i = 0; i < o->count_count; i++)
      if (o->counts[i] != p->headline)
        counts[n++] = o->counts[i];
    return n;
  }
  for (unsigned t = 1; p->sweep_rounds && t < p->headline; t *= 2)
    counts[n++] = t;
  return n;
}

static bool add_cells(struct plan *p, const struct options *o, const struct allocators *allocators,
                      struct error *e) {
  unsigned counts[OPTIONS_MAX_COUNTS];
  size_t count = sweep_counts(p, o, counts);
  for (size_t k = 0; k < allocators->count; k++)
    for (size_t i = 0; i < p->case_count; i++) {
      struct plan_cell like = {.row = &p->cases[i],
                               .allocator = &allocators->items[k],
                               .threads = p->headline,
                               .headline = true};
      if (!add_row(p, like, e))
        return false;
      like.headline = false;
      for (size_t t = 0; t < count; t++) {
        like.threads = counts[t];
        /* A list of counts is meant for every case, a number only for the cases with curves. */
        if ((o->count_count > 1 || like.row->info->in_sweep) && !add_row(p, like, e))
          return false;
      }
    }
  if (p->cell_count > 0)
    return true;
  return p->skip_count ? error_set(e, EXIT_USAGE, "nothing to run: %s cannot run under %s: %s",
                                   p->skips[0].case_name, p->skips[0].arm, p->skips[0].why)
                       : error_set(e, EXIT_USAGE, "nothing to run: the suite has no cases");
}

/* --- the whole --------------------------------------------------------------------------- */

static void choose_numbers(struct plan *p, const struct options *o, const struct plan_machine *m) {
  bool list = o->count_count > 1;
  for (size_t i = 0; i < o->count_count; i++)
    p->headline = o->counts[i] > p->headline ? o->counts[i] : p->headline;
  if (o->count_count == 0)
    p->headline = p->preset ? p->preset->threads : m->cpus;
  p->quick = o->quick;
  p->rounds = o->rounds ? o->rounds : o->quick ? QUICK_ROUNDS : DEFAULT_ROUNDS;
  /* The counts of a list are wanted alike; a number's sweep is for the curve. */
  unsigned sweep = o->quick ? QUICK_SWEEP_ROUNDS : DEFAULT_SWEEP_ROUNDS;
  if (list || sweep > p->rounds)
    sweep = p->rounds;
  p->sweep_rounds = o->sweep_rounds >= 0 ? (unsigned)o->sweep_rounds : sweep;
  if (p->preset && o->sweep_rounds < 0 && !list)
    p->sweep_rounds = 0; /* the published table has one thread count */
  p->sweep_is_ours = !list && o->sweep_rounds < 0;
  p->window = o->window_ns ? o->window_ns : (o->quick ? 80 : 200) * MS;
  bool all = o->suite && strcmp(o->suite, "all") == 0;
  p->budget = o->budget_ns ? o->budget_ns : (o->quick ? 32 : all ? 560 : 260) * SECOND;
  p->seed = o->seed;
}

bool plan_build(struct plan *p, const struct options *o, const struct allocators *allocators,
                const struct plan_machine *machine, struct error *e) {
  *p = (struct plan){0};
  if (o->preset && !(p->preset = preset_find(o->preset, e)))
    return false;
  choose_numbers(p, o, machine);
  bool ok = choose_cases(p, o, e) && choose_arms(p, o, e) && choose_builds(p, o, e) &&
            add_cells(p, o, allocators, e);
  if (ok)
    plan_schedule(p, o, machine);
  else
    plan_free(p);
  return ok;
}

void plan_free(struct plan *p) {
  for (size_t i = 0; i < p->arm_count; i++)
    free_arm(&p->arms[i]);
  for (size_t i = 0; p->builds && i < p->build_count; i++) {
    free(p->builds[i].label);
    free(p->builds[i].path);
  }
  for (size_t i = 0; i < p->cell_count; i++) {
    free(p->cells[i].name);
    free(p->cells[i].pair_name);
  }
  free(p->arms);
  free(p->builds);
  for (size_t i = 0; i < p->case_count; i++)
    free(p->cases[i].options);
  free(p->cases);
  free(p->object_cases);
  free(p->cells);
  free(p->skips);
  *p = (struct plan){0};
}
