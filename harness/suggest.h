/*
 * "Did you mean": the nearest of a set of words, for messages about a word that is not in it.
 */
#ifndef POOLBENCH_SUGGEST_H
#define POOLBENCH_SUGGEST_H

#include <stddef.h>

struct suggest {
  const char *word; /* the unknown one */
  const char *best; /* the nearest so far; NULL: none is near */
  size_t best_cost;
  char text[160];
};

/* Starts a search; then offer every known word; then read `best`. The words are not copied. */
void suggest_start(struct suggest *s, const char *word);
void suggest_offer(struct suggest *s, const char *known);

/*
 * What to add to a message: "; did you mean X?", with `prefix` ("--") before X; "" when nothing is
 * near. Lives in s.
 */
const char *suggest_text(struct suggest *s, const char *prefix);

/*
 * Insertions, deletions, replacements and swaps of neighbours that turn a into b, where all
 * but the first 63 bytes of each are left out (optimal string alignment distance). Upper and
 * lower case are the same.
 */
size_t suggest_distance(const char *a, const char *b);

#endif
