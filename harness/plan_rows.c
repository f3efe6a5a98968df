/*
 * The rows of a plan: which cases, of which suites and object files, with which settings. See
 * plan_parts.h.
 */
#include "harness/plan_parts.h"
#include "harness/presets.h"
#include "harness/suggest.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

enum { OBJECT_CASES_ROOM = 8 }; /* cases that one object file can make */

static bool add_case(struct plan *p, const struct workload *w, const struct workload_case *c,
                     const char *object, struct error *e) {
  void *room = plan_grow(p->cases, p->case_count, sizeof *p->cases, e);
  if (!room)
    return false;
  p->cases = room;
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

/* Has it a case that runs without being called by its name? */
static bool is_offered(const struct workload *w) {
  for (const struct workload_case *c = w->cases; c->name; c++)
    if (!(c->flags & CASE_HIDDEN))
      return true;
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
    if (!is_offered(workloads[i]))
      continue;
    suggest_offer(&near, workloads[i]->name);
    if (used < sizeof list)
      used += (size_t)snprintf(list + used, sizeof list - used, "%s, ", workloads[i]->name);
  }
  return strcmp(suite, "all") == 0 ||
         error_set(e, EXIT_USAGE, "--suite: unknown suite \"%s\"%s; there are %sall", suite,
                   suggest_text(&near, ""), list);
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
    return error_set(e, EXIT_USAGE,
                     "--cases: no case%s%s matches \"%s\"%s; `poolbench list` names them",
                     strcmp(suite, "all") == 0 ? "" : " of suite ",
                     strcmp(suite, "all") == 0 ? "" : suite, pattern, suggest_text(&near, ""));
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
    return error_set(e, EXIT_INPUT, "--object: %s", why);
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
    return plan_out_of_memory(e);
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

/*
 * Gives one KEY=VALUE of --set to the cases that know it, of one workload if `only` is not NULL.
 * Returns how many did; -1: no memory.
 */
static int give_setting(struct plan *p, const char *setting, const struct workload *only) {
  int taken = 0;
  for (size_t i = 0; i < p->case_count; i++) {
    struct plan_case *c = &p->cases[i];
    if (!(c->info->flags & CASE_SERIES) || (only && c->workload != only) ||
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
  bool ok = copy || plan_out_of_memory(e);
  while (ok && (setting = strsep(&rest, ",")) != NULL) {
    int taken = strchr(setting, '=') ? give_setting(p, setting, NULL) : 0;
    if (taken < 0)
      ok = plan_out_of_memory(e);
    else if (taken == 0)
      ok = error_set(e, EXIT_USAGE,
                     "--set %s: \"%s\" is no KEY=VALUE of a chosen case; `poolbench list` shows "
                     "which cases have settings",
                     settings, setting);
  }
  free(copy);
  return ok;
}

/* Did the user say what this setting should be? */
static bool is_given(const struct options *o, const char *key, size_t length) {
  for (const char *at = o->set; at && *at;) {
    if (strncmp(at, key, length) == 0 && at[length] == '=')
      return true;
    at += strcspn(at, ",");
    at += *at == ',';
  }
  return false;
}

/* Is memory over time measured of a case that has this setting? workload: NULL for any. */
static bool measures_series(const struct plan *p, const struct workload *workload, const char *key,
                            size_t length) {
  for (size_t i = 0; i < p->cell_count; i++) {
    const struct plan_case *row = p->cells[i].row;
    if (p->cells[i].rounds && (row->info->flags & CASE_SERIES) &&
        (!workload || row->workload == workload) && has_setting(row->workload, key, length))
      return true;
  }
  return false;
}

/* A second of idling where there is no time for more, unless the user says how long. */
static bool shorten_idle(struct plan *p, const struct options *o, struct error *e) {
  if (!p->hurried || is_given(o, PLAN_IDLE, strlen(PLAN_IDLE)))
    return true;
  return give_setting(p, PLAN_IDLE "=1", NULL) >= 0 || plan_out_of_memory(e);
}

/* One KEY=VALUE of a workload's quick_options. */
static bool give_quick(struct plan *p, const struct options *o, const struct workload *w,
                       const char *setting, struct error *e) {
  bool given = is_given(o, setting, strcspn(setting, "="));
  return given || give_setting(p, setting, w) >= 0 || plan_out_of_memory(e);
}

/* Smaller sizes for --quick, unless the user says which; names of cells do not tell, notes do. */
static bool shrink_series(struct plan *p, const struct options *o, struct error *e) {
  for (size_t i = 0; p->quick && workloads[i]; i++) {
    if (!workloads[i]->quick_options)
      continue;
    char *copy = strdup(workloads[i]->quick_options), *rest = copy, *setting;
    bool ok = copy || plan_out_of_memory(e);
    while (ok && (setting = strsep(&rest, ",")) != NULL)
      ok = give_quick(p, o, workloads[i], setting, e);
    free(copy);
    if (!ok)
      return false;
  }
  return true;
}

static void note_quick_setting(struct plan *p, const struct workload *w, const char *setting,
                               size_t length) {
  for (const struct strategy_option *k = w->options; k && k->key; k++)
    if (strlen(k->key) == strcspn(setting, "=") && strncmp(k->key, setting, strlen(k->key)) == 0)
      plan_note(p, "quick: memory over time of suite %s with %.*s (--set %s=%s: the usual size)",
                w->name, (int)length, setting, k->key, k->fallback);
}

void plan_note_settings(struct plan *p, const struct options *o) {
  size_t idle = strlen(PLAN_IDLE);
  if (p->hurried && !is_given(o, PLAN_IDLE, idle) && measures_series(p, NULL, PLAN_IDLE, idle))
    plan_note(p, "memory is watched for 1 s of idling (--set " PLAN_IDLE "=5: for 5 s)");
  for (size_t i = 0; p->quick && workloads[i]; i++)
    for (const char *at = workloads[i]->quick_options; at && *at;) {
      size_t length = strcspn(at, ","), key = strcspn(at, "=");
      if (!is_given(o, at, key) && measures_series(p, workloads[i], at, key))
        note_quick_setting(p, workloads[i], at, length);
      at += length + (at[length] == ',');
    }
}

bool plan_choose_cases(struct plan *p, const struct options *o, struct error *e) {
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
  if (patterns && !p->preset && !check_patterns(p, patterns, suite, e))
    return false;
  return shorten_idle(p, o, e) && shrink_series(p, o, e) &&
         (!o->set || give_settings(p, o->set, e));
}
