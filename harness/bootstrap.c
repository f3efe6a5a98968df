/* Resampling of rounds; see bootstrap.h. */
#include "harness/bootstrap.h"

#include "comparer/sort.h"
#include "comparer/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct round {
  uint64_t id, cells; /* a bit for each cell that has samples of this round */
  unsigned drawn;     /* how often, in the current draw */
};

struct bootstrap {
  struct round *rounds; /* stratum by stratum */
  size_t round_count, most;
  size_t cells, ns[BOOTSTRAP_CELLS];
  size_t *round_of[BOOTSTRAP_CELLS]; /* index into rounds of each sample */
  double *scratch;                   /* the values drawn */
  uint64_t state;
};

/* splitmix64 (Steele, Lea, Flood, OOPSLA 2014): any seed is a good one. */
static uint64_t random_bits(uint64_t *state) {
  uint64_t z = *state += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

static size_t random_below(uint64_t *state, size_t n) {
  return (size_t)(((unsigned __int128)random_bits(state) * n) >> 64);
}

/* The round of a sample, added when it is new. Samples without one get ids that no round has. */
static size_t find_round(struct bootstrap *b, uint64_t id) {
  if (id == 0)
    id = UINT64_MAX - b->round_count;
  for (size_t i = 0; i < b->round_count; i++)
    if (b->rounds[i].id == id)
      return i;
  b->rounds[b->round_count].id = id;
  return b->round_count++;
}

static int by_stratum(const void *x, const void *y) {
  const struct round *a = x, *b = y;
  if (a->cells != b->cells)
    return a->cells < b->cells ? -1 : 1;
  return a->id < b->id ? -1 : a->id > b->id;
}

static size_t stratum_end(const struct bootstrap *b, size_t start) {
  size_t end = start;
  while (end < b->round_count && b->rounds[end].cells == b->rounds[start].cells)
    end++;
  return end;
}

static bool take(struct bootstrap *b, const uint64_t *const *rounds) {
  size_t total = 0;
  for (size_t c = 0; c < b->cells; c++)
    total += b->ns[c];
  uint64_t *ids = calloc(total + 1, sizeof *ids);
  b->rounds = calloc(total + 1, sizeof *b->rounds);
  bool ok = ids && b->rounds;
  for (size_t c = 0, at = 0; ok && c < b->cells; c++) {
    b->round_of[c] = calloc(b->ns[c] + 1, sizeof **b->round_of);
    ok = b->round_of[c] != NULL;
    for (size_t k = 0; ok && k < b->ns[c]; k++, at++) {
      size_t r = find_round(b, rounds[c][k]);
      b->rounds[r].cells |= 1ull << c;
      ids[at] = b->rounds[r].id;
    }
  }
  /* Sorting moves the rounds, so samples look theirs up again. */
  if (ok)
    qsort(b->rounds, b->round_count, sizeof *b->rounds, by_stratum);
  for (size_t c = 0, at = 0; ok && c < b->cells; c++)
    for (size_t k = 0; k < b->ns[c]; k++, at++) {
      size_t r = 0;
      while (b->rounds[r].id != ids[at])
        r++;
      b->round_of[c][k] = r;
    }
  free(ids);
  return ok;
}

struct bootstrap *bootstrap_new(size_t cells, const size_t *ns, const uint64_t *const *rounds,
                                uint64_t seed) {
  struct bootstrap *b = calloc(1, sizeof *b);
  if (!b)
    return NULL;
  b->cells = cells < BOOTSTRAP_CELLS ? cells : BOOTSTRAP_CELLS;
  b->state = seed;
  for (size_t c = 0; c < b->cells; c++) {
    b->ns[c] = ns[c];
    b->most = ns[c] > b->most ? ns[c] : b->most;
  }
  bool ok = take(b, rounds);
  /* In the worst draw one round is every round of its stratum. */
  b->scratch = ok ? calloc(b->most * b->round_count + 1, sizeof *b->scratch) : NULL;
  if (b->scratch)
    return b;
  bootstrap_free(b);
  return NULL;
}

void bootstrap_free(struct bootstrap *b) {
  if (!b)
    return;
  for (size_t c = 0; c < b->cells; c++)
    free(b->round_of[c]);
  free(b->rounds);
  free(b->scratch);
  free(b);
}

size_t bootstrap_fewest(const struct bootstrap *b) {
  size_t fewest = b->round_count;
  for (size_t start = 0; start < b->round_count;) {
    size_t end = stratum_end(b, start);
    fewest = end - start < fewest ? end - start : fewest;
    start = end;
  }
  return fewest;
}

void bootstrap_draw(struct bootstrap *b) {
  for (size_t i = 0; i < b->round_count; i++)
    b->rounds[i].drawn = 0;
  for (size_t start = 0; start < b->round_count;) {
    size_t end = stratum_end(b, start), m = end - start;
    for (size_t k = 0; k < (m > 1 ? m - 1 : 1); k++)
      b->rounds[start + random_below(&b->state, m)].drawn++;
    start = end;
  }
}

double bootstrap_median(struct bootstrap *b, size_t cell, const double *values) {
  size_t n = 0;
  for (size_t k = 0; k < b->ns[cell]; k++)
    for (unsigned times = b->rounds[b->round_of[cell][k]].drawn; times > 0; times--)
      b->scratch[n++] = values[k];
  if (n == 0)
    return NAN;
  sort_doubles(b->scratch, n);
  return stats_median(b->scratch, n);
}

struct bootstrap_interval bootstrap_interval(double *drawn, size_t n, double confidence) {
  sort_doubles(drawn, n);
  size_t cut = (size_t)((1 - confidence) / 2 * (double)n);
  cut = n == 0 ? 0 : cut >= n ? n - 1 : cut;
  if (n == 0)
    return (struct bootstrap_interval){NAN, NAN};
  return (struct bootstrap_interval){drawn[cut], drawn[n - 1 - cut]};
}
