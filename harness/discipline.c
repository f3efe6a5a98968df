/* Names of the disciplines; see workloads/workload.h. */
#include "workloads/workload.h"

#include <string.h>

static const char *const names[] = {
    [DISCIPLINE_BALANCED] = "balanced",
    [DISCIPLINE_AS_MERGED] = "as-merged",
    [DISCIPLINE_LEAKY] = "leaky",
};

const char *discipline_name(enum discipline d) {
  return names[d];
}

bool discipline_parse(const char *text, enum discipline *out) {
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    if (strcmp(text, names[i]) == 0) {
      *out = (enum discipline)i;
      return true;
    }
  return false;
}
