/* Opening, summing and closing the pools of a sample; see pools.h. */
#include "harness/pools.h"

#include <stdio.h>
#include <stdlib.h>

bool pools_open(struct pools *p, const struct strategy *strategy, unsigned count,
                const struct kind *kinds, size_t kind_count, const struct pool_config *config) {
  *p = (struct pools){.strategy = strategy, .list = calloc(count, sizeof *p->list)};
  if (!p->list) {
    snprintf(config->why, config->why_size, "out of memory");
    return false;
  }
  for (; p->count < count; p->count++) {
    p->list[p->count] = strategy->open(kinds, kind_count, config);
    if (!p->list[p->count]) {
      pools_close(p);
      return false;
    }
  }
  return true;
}

void pools_close(struct pools *p) {
  for (unsigned i = 0; i < p->count; i++)
    p->strategy->close(p->list[i]);
  free(p->list);
  *p = (struct pools){0};
}

void pools_stats(const struct pools *p, struct pool_stats *out) {
  *out = (struct pool_stats){0};
  for (unsigned i = 0; i < p->count; i++) {
    struct pool_stats one;
    p->strategy->stats(p->list[i], &one);
#define ADD(field, unit, what) out->field += one.field;
    POOL_COUNTERS(ADD)
#undef ADD
#define ADD(field, what) out->field += one.field;
    POOL_TIMES(ADD)
#undef ADD
  }
}

void pools_held(const struct pools *p, struct pool_held *out) {
  *out = (struct pool_held){0};
  for (unsigned i = 0; i < p->count; i++) {
    struct pool_held one;
    p->strategy->held(p->list[i], &one);
    out->objects += one.objects;
    out->bytes += one.bytes;
  }
}

void pools_trim(const struct pools *p) {
  for (unsigned i = 0; i < p->count; i++)
    p->strategy->trim(p->list[i]);
}
