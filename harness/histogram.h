/*
 * Counts of values over many powers of two, at a bounded relative error: HdrHistogram's layout
 * (Tene, hdrhistogram.org) with 64 sub-buckets.
 *
 * Values below 64 have a bucket each; every further power of two is cut into 32 equal ones, so a
 * bucket is at most 1/32 of its values wide. Recording takes a bit scan, a shift and two additions.
 * 4 KiB, no allocation. One writer; readers wait for it.
 */
#ifndef POOLBENCH_HISTOGRAM_H
#define POOLBENCH_HISTOGRAM_H

#include <stdbool.h>
#include <stdint.h>

/* Values of 2^36 and above (69 s in ns) count in the last bucket. */
#define HISTOGRAM_BITS 36
#define HISTOGRAM_BUCKETS ((HISTOGRAM_BITS - 5 + 1) * 32)

/* Zeroed: empty. */
struct histogram {
  uint32_t counts[HISTOGRAM_BUCKETS];
  uint64_t total;
  uint64_t most; /* the largest value, exact */
};

static inline unsigned histogram_bucket(uint64_t value) {
  if (value >> HISTOGRAM_BITS)
    return HISTOGRAM_BUCKETS - 1;
  /* The highest six bits tell the bucket, their place the power of two. */
  unsigned shift = 58 - (unsigned)__builtin_clzll(value | 32);
  return shift * 32 + (unsigned)(value >> shift);
}

/* Fewer than 2^32 values a bucket: a thread that records every microsecond reaches it in an hour.
 */
static inline void histogram_record(struct histogram *h, uint64_t value) {
  h->counts[histogram_bucket(value)]++;
  h->total++;
  if (value > h->most)
    h->most = value;
}

/* Adds what `from` counted. */
void histogram_merge(struct histogram *into, const struct histogram *from);

/*
 * The value that `permille` of a thousand do not exceed: the smallest v with at least
 * permille / 1000 * total values <= v, told as the largest value of its bucket, hence between the
 * exact one and 1/32 above, and never above `most`. False when fewer than 1000 / (1000 - permille)
 * values were recorded (2 for the median, 10, 100, 1000 for p90, p99, p99.9): then none of them
 * lies beyond and the answer would be the largest value under another name.
 */
bool histogram_quantile(const struct histogram *h, unsigned permille, uint64_t *value);

/* How many values that takes. permille < 1000. */
uint64_t histogram_least(unsigned permille);

#endif
