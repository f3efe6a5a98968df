/*
 * Finds strategies by name and takes specs like "global-locked:cap=100" apart.
 * Reads the registry that make writes; owns no state.
 */
#include "harness/suggest.h"
#include "strategies/pool.h"

#include <stdio.h>
#include <string.h>

const struct strategy *strategy_find(const char *name) {
  for (size_t i = 0; strategies[i]; i++)
    if (strcmp(strategies[i]->name, name) == 0)
      return strategies[i];
  return NULL;
}

/* The nearest name, and all of them, appended to `why`. Names come from name_at until NULL. */
static void suggest(const char *given, const char *(*name_at)(const struct strategy *, size_t),
                    const struct strategy *s, char *why, size_t size) {
  struct suggest nearest;
  suggest_start(&nearest, given);
  for (size_t i = 0; name_at(s, i); i++)
    suggest_offer(&nearest, name_at(s, i));
  size_t used = strlen(why);
  used += (size_t)snprintf(why + used, size - used, "%s", suggest_text(&nearest, ""));
  for (size_t i = 0; name_at(s, i) && used < size; i++)
    used += (size_t)snprintf(why + used, size - used, "%s%s",
                             i ? ", " : " (there are: ", name_at(s, i));
  if (used < size)
    snprintf(why + used, size - used, ")");
}

static const char *strategy_name_at(const struct strategy *unused, size_t i) {
  (void)unused;
  return strategies[i] ? strategies[i]->name : NULL;
}

static const char *option_key_at(const struct strategy *s, size_t i) {
  return s->options[i].key;
}

static const struct strategy_option *find_option(const struct strategy_option *list,
                                                 const char *key) {
  for (const struct strategy_option *o = list; o && o->key; o++)
    if (strcmp(o->key, key) == 0)
      return o;
  return NULL;
}

const struct strategy_option strategy_common_options[] = {
    {"pools", "shared", "shared,private", "private: a pool for each thread, so nothing is shared"},
    {"states", "on", "on,off", "off: where the time goes is not measured, nor its price paid"},
    {NULL, NULL, NULL, NULL},
};

/* One of the values of a common option, which lists them all. */
static bool check_common(const struct strategy *s, const struct strategy_option *o,
                         const char *value, char *why, size_t why_size) {
  size_t length = strlen(value);
  for (const char *at = o->values; *at; at += strcspn(at, ","), at += *at == ',')
    if (strcspn(at, ",") == length && strncmp(at, value, length) == 0)
      return true;
  snprintf(why, why_size, "strategy %s: %s=%s: it takes %s", s->name, o->key, value, o->values);
  return false;
}

/* Checks "key=value" and that no earlier option has the same key. */
static bool check_option(const struct strategy *s, char *text, const char *const *earlier,
                         size_t earlier_count, char *why, size_t why_size) {
  char *equals = strchr(text, '=');
  if (!equals || equals == text) {
    snprintf(why, why_size, "strategy %s: option \"%s\" is not key=value", s->name, text);
    return false;
  }
  size_t length = (size_t)(equals - text);
  *equals = '\0';
  const struct strategy_option *common = find_option(strategy_common_options, text);
  if (common) {
    if (!check_common(s, common, equals + 1, why, why_size))
      return false;
  } else if (!find_option(s->options, text)) {
    if (!s->options) {
      snprintf(why, why_size, "strategy %s takes no options, \"%s\" was given", s->name, text);
    } else {
      snprintf(why, why_size, "strategy %s has no option \"%s\"", s->name, text);
      suggest(text, option_key_at, s, why, why_size);
    }
    return false;
  }
  *equals = '=';
  for (size_t i = 0; i < earlier_count; i++)
    if (strncmp(earlier[i], text, length + 1) == 0) {
      snprintf(why, why_size, "strategy %s: option \"%.*s\" is given twice", s->name, (int)length,
               text);
      return false;
    }
  return true;
}

bool strategy_given(const char *const *options, size_t count, const char *option) {
  for (size_t i = 0; i < count; i++)
    if (strcmp(options[i], option) == 0)
      return true;
  return false;
}

const struct strategy *strategy_parse(const char *spec, char storage[STRATEGY_SPEC_MAX],
                                      const char *options[STRATEGY_MAX_OPTIONS], size_t *count,
                                      char *why, size_t why_size) {
  *count = 0;
  if (strlen(spec) >= STRATEGY_SPEC_MAX) {
    snprintf(why, why_size, "strategy \"%.30s...\" is longer than %d characters", spec,
             STRATEGY_SPEC_MAX - 1);
    return NULL;
  }
  strcpy(storage, spec);
  char *rest = storage;
  const char *name = strsep(&rest, ":");
  const struct strategy *s = strategy_find(name);
  if (!s) {
    snprintf(why, why_size, "no strategy \"%s\"", name);
    suggest(name, strategy_name_at, NULL, why, why_size);
    return NULL;
  }
  for (char *text; (text = strsep(&rest, ":"));) {
    if (*count == STRATEGY_MAX_OPTIONS) {
      snprintf(why, why_size, "strategy %s: more than %d options", s->name, STRATEGY_MAX_OPTIONS);
      return NULL;
    }
    if (!check_option(s, text, options, *count, why, why_size))
      return NULL;
    options[(*count)++] = text;
  }
  return s;
}
