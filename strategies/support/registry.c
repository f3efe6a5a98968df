/*
 * Finds strategies by name and takes specs like "global-locked:cap=100" apart.
 * Reads the registry that make writes; owns no state.
 */
#include "strategies/pool.h"

#include <stdio.h>
#include <string.h>

const struct strategy *strategy_find(const char *name) {
  for (size_t i = 0; strategies[i]; i++)
    if (strcmp(strategies[i]->name, name) == 0)
      return strategies[i];
  return NULL;
}

static size_t smallest(size_t a, size_t b, size_t c) {
  size_t ab = a < b ? a : b;
  return ab < c ? ab : c;
}

/* Levenshtein's distance of two texts; a long text counts by its first characters. */
static size_t distance(const char *a, const char *b) {
  enum { LONGEST = 40 };
  size_t row[LONGEST + 1];
  size_t na = strnlen(a, LONGEST), nb = strnlen(b, LONGEST);
  for (size_t j = 0; j <= nb; j++)
    row[j] = j;
  for (size_t i = 1; i <= na; i++) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= nb; j++) {
      size_t above = row[j];
      row[j] = smallest(above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1]));
      diagonal = above;
    }
  }
  return row[nb];
}

/* The nearest name, and all of them, appended to `why`. Names come from name_at until NULL. */
static void suggest(const char *given, const char *(*name_at)(const struct strategy *, size_t),
                    const struct strategy *s, char *why, size_t size) {
  const char *nearest = NULL;
  size_t best = 0;
  for (size_t i = 0; name_at(s, i); i++) {
    size_t d = distance(given, name_at(s, i));
    if (!nearest || d < best) {
      nearest = name_at(s, i);
      best = d;
    }
  }
  size_t used = strlen(why);
  if (nearest && best <= strlen(nearest) / 2)
    used += (size_t)snprintf(why + used, size - used, "; did you mean %s?", nearest);
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

static const struct strategy_option *find_option(const struct strategy *s, const char *key) {
  for (const struct strategy_option *o = s->options; o && o->key; o++)
    if (strcmp(o->key, key) == 0)
      return o;
  return NULL;
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
  if (!find_option(s, text)) {
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
