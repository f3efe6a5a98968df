/* Pairs of samples of one round; see pairing.h. */
#include "comparer/pairing.h"
#include "comparer/stats_work.h"

#include <stdio.h>
#include <stdlib.h>

struct place {
  uint32_t run, round;
  size_t index; /* in its series */
};

static int by_round(const void *a, const void *b) {
  const struct place *x = a, *y = b;
  if (x->run != y->run)
    return x->run < y->run ? -1 : 1;
  if (x->round != y->round)
    return x->round < y->round ? -1 : 1;
  return (x->index > y->index) - (x->index < y->index);
}

/* The places of the samples that have one, sorted; the number of them. */
static size_t places(const struct series *s, struct place *out) {
  size_t n = 0;
  for (size_t i = 0; s->origins && i < s->n; i++)
    if (s->origins[i].run)
      out[n++] = (struct place){s->origins[i].run, s->origins[i].round, i};
  qsort(out, n, sizeof *out, by_round);
  return n;
}

/* How many places from i on belong to this round. */
static size_t in_round(const struct place *p, size_t n, size_t i, uint32_t run, uint32_t round) {
  size_t end = i;
  while (end < n && p[end].run == run && p[end].round == round)
    end++;
  return end - i;
}

bool pairing_find(struct stats_work *w, const struct series *base, const struct series *other,
                  double *base_out, double *other_out, struct pairing *out) {
  *out = (struct pairing){0};
  struct place *a = work_scratch(w, SCRATCH_PAIRS, base->n + other->n, sizeof *a);
  if (!a)
    return false;
  size_t na = places(base, a);
  struct place *b = a + na;
  size_t nb = places(other, b);
  out->incomplete = base->n - na + other->n - nb;

  for (size_t i = 0, j = 0; i < na || j < nb;) {
    const struct place *first = j == nb || (i < na && by_round(&a[i], &b[j]) < 0) ? &a[i] : &b[j];
    uint32_t run = first->run, round = first->round;
    size_t ka = in_round(a, na, i, run, round), kb = in_round(b, nb, j, run, round);
    size_t pairs = ka < kb ? ka : kb;
    for (size_t k = 0; k < pairs; k++) {
      base_out[out->pairs] = base->values[a[i + k].index];
      other_out[out->pairs++] = other->values[b[j + k].index];
    }
    i += ka;
    j += kb;
    out->incomplete += ka - pairs + kb - pairs;
    bool last = (i == na || a[i].run != run) && (j == nb || b[j].run != run);
    out->missing_base += !last && ka < kb;
    out->missing_other += !last && kb < ka;
  }
  return true;
}

bool pairing_acceptable(const struct pairing *p, char *why, size_t why_size) {
  size_t all = p->pairs + p->incomplete;
  if (p->pairs == 0)
    snprintf(why, why_size,
             "no round holds both sides; only rounds of one run pair (drop -paired, or measure "
             "both in one run)");
  else if ((p->missing_base == 0) != (p->missing_other == 0))
    snprintf(why, why_size,
             "%s side alone lacks %zu of %zu rounds: the survivors are no fair sample (drop "
             "-paired, or find out why it fails)",
             p->missing_base ? "the base" : "the new",
             p->missing_base ? p->missing_base : p->missing_other, all);
  else if (10 * p->incomplete > all)
    snprintf(why, why_size, "%zu of %zu pairs are incomplete, more than a tenth (drop -paired)",
             p->incomplete, all);
  else
    return true;
  return false;
}
