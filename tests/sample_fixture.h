/* What a sample holds, for tests that know what must be there. Include after cmocka.h. */
#ifndef POOLBENCH_SAMPLE_FIXTURE_H
#define POOLBENCH_SAMPLE_FIXTURE_H

#include "harness/sample.h"

#include <string.h>

/* The value of a unit that the sample must have. */
static inline double get(const struct sample *s, const char *unit) {
  double value = 0;
  if (!sample_get(s, unit, &value))
    fail_msg("no unit %s%s%s", unit, s->error ? "; error: " : "", s->error ? s->error : "");
  return value;
}

/* The text of that name among a sample's flags, notes or missing units; NULL: none. */
static inline const char *text_of(const struct sample_text *list, size_t count, const char *name) {
  for (size_t i = 0; i < count; i++)
    if (strcmp(list[i].name, name) == 0)
      return list[i].text;
  return NULL;
}

#endif
