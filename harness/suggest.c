/* The nearest known word; see suggest.h. Only strings, no state. */
#include "harness/suggest.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { LONGEST = 63 };

static size_t min3(size_t a, size_t b, size_t c) {
  size_t m = a < b ? a : b;
  return m < c ? m : c;
}

static int lower(char c) {
  return tolower((unsigned char)c);
}

size_t suggest_distance(const char *a, const char *b) {
  size_t rows = strnlen(a, LONGEST), columns = strnlen(b, LONGEST);
  size_t d[LONGEST + 1][LONGEST + 1];
  for (size_t i = 0; i <= rows; i++)
    d[i][0] = i;
  for (size_t j = 0; j <= columns; j++)
    d[0][j] = j;
  for (size_t i = 1; i <= rows; i++)
    for (size_t j = 1; j <= columns; j++) {
      size_t differs = lower(a[i - 1]) != lower(b[j - 1]);
      d[i][j] = min3(d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + differs);
      if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
          lower(a[i - 2]) == lower(b[j - 1]) && d[i - 2][j - 2] + 1 < d[i][j])
        d[i][j] = d[i - 2][j - 2] + 1;
    }
  return d[rows][columns];
}

void suggest_start(struct suggest *s, const char *word) {
  s->word = word;
  s->best = NULL;
  /* A third of the word may be wrong, at least two letters: beyond that a guess misleads. */
  size_t allowed = strlen(word) / 3;
  s->best_cost = (allowed < 2 ? 2 : allowed) + 1;
}

void suggest_offer(struct suggest *s, const char *known) {
  size_t cost = suggest_distance(s->word, known);
  /* A word cut short ("glob" for "global-locked") is near whatever is missing. */
  size_t length = strlen(s->word);
  if (length >= 3 && strncasecmp(s->word, known, length) == 0 && cost > 1)
    cost = 1;
  if (cost < s->best_cost) {
    s->best = known;
    s->best_cost = cost;
  }
}

const char *suggest_text(struct suggest *s, const char *prefix) {
  s->text[0] = '\0';
  if (s->best)
    snprintf(s->text, sizeof s->text, "; did you mean %s%s?", prefix, s->best);
  return s->text;
}
