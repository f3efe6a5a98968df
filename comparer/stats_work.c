/* The statistics' workspace: scratch buffers that only grow, and what the caches hold. */
#include "comparer/stats_work.h"

#include <stdlib.h>

struct stats_work *stats_work_new(void) {
  return calloc(1, sizeof(struct stats_work));
}

void stats_work_free(struct stats_work *w) {
  if (!w)
    return;
  for (size_t i = 0; i < SCRATCH_KINDS; i++)
    free(w->scratch[i].memory);
  for (size_t i = 0; i < CDF_SLOTS; i++)
    free(w->cdf[i].p);
  for (size_t i = 0; i <= SIGNED_RANK_EXACT_MAX; i++)
    free(w->signed_rank_cdf[i]);
  free(w);
}

void *work_scratch(struct stats_work *w, enum scratch kind, size_t n, size_t size) {
  if (n == 0)
    n = 1;
  if (n > SIZE_MAX / 2 / size)
    return NULL;
  size_t bytes = n * size;
  if (bytes > w->scratch[kind].size) {
    /* Grown by half beyond the need: rows of slowly growing n must not copy each time. */
    size_t grown = bytes + bytes / 2;
    void *memory = malloc(grown);
    if (!memory)
      return NULL;
    free(w->scratch[kind].memory);
    w->scratch[kind].memory = memory;
    w->scratch[kind].size = grown;
  }
  return w->scratch[kind].memory;
}
