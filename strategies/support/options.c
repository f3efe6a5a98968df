/* Reading option values; see options.h. */
#include "strategies/support/options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct strategy_option *find(const struct strategy *s, const char *key) {
  const struct strategy_option *option = s->options;
  while (strcmp(option->key, key) != 0)
    option++;
  return option;
}

static const char *given_or_fallback(const struct strategy *s, const struct pool_config *config,
                                     const char *key) {
  size_t length = strlen(key);
  for (size_t i = 0; i < config->option_count; i++)
    if (strncmp(config->options[i], key, length) == 0 && config->options[i][length] == '=')
      return config->options[i] + length + 1;
  return find(s, key)->fallback;
}

static bool refuse(const struct strategy *s, const struct pool_config *config, const char *key,
                   const char *value) {
  snprintf(config->why, config->why_size, "%s=%s: give %s", key, value, find(s, key)->values);
  return false;
}

bool option_number(const struct strategy *s, const struct pool_config *config, const char *key,
                   uint64_t min, uint64_t max, uint64_t *out) {
  const char *text = given_or_fallback(s, config, key);
  char *end;
  errno = 0;
  unsigned long long value = strtoull(text, &end, 10);
  if (*text < '0' || *text > '9' || *end || errno || value < min || value > max)
    return refuse(s, config, key, text);
  *out = value;
  return true;
}

bool option_choice(const struct strategy *s, const struct pool_config *config, const char *key,
                   const char *const *choices, unsigned *out) {
  const char *text = given_or_fallback(s, config, key);
  for (unsigned i = 0; choices[i]; i++)
    if (strcmp(choices[i], text) == 0) {
      *out = i;
      return true;
    }
  return refuse(s, config, key, text);
}
