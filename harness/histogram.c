/* Merging and reading histograms; see histogram.h. Recording is inline there. */
#include "harness/histogram.h"

void histogram_merge(struct histogram *into, const struct histogram *from) {
  for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++)
    into->counts[i] += from->counts[i];
  into->total += from->total;
  into->most = from->most > into->most ? from->most : into->most;
}

/* The largest value of a bucket: the one below the next bucket's first. */
static uint64_t bucket_end(unsigned bucket) {
  unsigned shift = bucket < 64 ? 0 : bucket / 32 - 1;
  return (((uint64_t)bucket - shift * 32 + 1) << shift) - 1;
}

uint64_t histogram_least(unsigned permille) {
  unsigned beyond = 1000 - permille;
  return (1000 + beyond - 1) / beyond;
}

bool histogram_quantile(const struct histogram *h, unsigned permille, uint64_t *value) {
  if (h->total < histogram_least(permille))
    return false;
  /* In whole numbers: 0.999 x 1000 in doubles is just above 999, which would be the maximum. */
  uint64_t rank = (h->total * permille + 999) / 1000, seen = 0;
  unsigned bucket = 0;
  while (bucket < HISTOGRAM_BUCKETS - 1 && (seen += h->counts[bucket]) < rank)
    bucket++;
  uint64_t end = bucket == HISTOGRAM_BUCKETS - 1 ? h->most : bucket_end(bucket);
  *value = end < h->most ? end : h->most;
  return true;
}
