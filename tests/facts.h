/*
 * Reads the tables of tests/data/stats for the tests of the statistics: tab-separated fields, lists
 * of numbers separated by commas, one header line. For tests only: a bad table fails the test. And
 * the memory that the statistics work in.
 */
#ifndef TESTS_FACTS_H
#define TESTS_FACTS_H

#include "comparer/stats.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct facts {
  FILE *file;
  char *line;
  size_t size;
  char *field[16];
  int fields;
};

static inline struct facts facts_open(const char *path) {
  struct facts f = {.file = fopen(path, "r")};
  if (!f.file || getline(&f.line, &f.size, f.file) < 0)
    fail_msg("%s: cannot be read; tests run in the project's top folder", path);
  return f;
}

static inline bool facts_next(struct facts *f) {
  if (getline(&f->line, &f->size, f->file) < 0) {
    fclose(f->file);
    free(f->line);
    return false;
  }
  f->line[strcspn(f->line, "\n")] = 0;
  char *rest = f->line;
  for (f->fields = 0; rest && f->fields < 16;)
    f->field[f->fields++] = strsep(&rest, "\t");
  return true;
}

static inline int facts_compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static inline void facts_sort(double *x, size_t n) {
  qsort(x, n, sizeof *x, facts_compare);
}

static inline size_t facts_list(char *text, double *out, size_t most) {
  size_t n = 0;
  for (char *item = strtok(text, ","); item; item = strtok(NULL, ",")) {
    if (n == most)
      fail_msg("a list of more than %zu numbers", most);
    out[n++] = strtod(item, NULL);
  }
  return n;
}

/* Small whole numbers that look random and are the same everywhere. */
static inline unsigned facts_random(unsigned long long *state, unsigned below) {
  *state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
  return (unsigned)((*state >> 33) % below);
}

/* A group's setup and teardown: its state is a struct stats_work. */
static inline int work_open(void **state) {
  return (*state = stats_work_new()) ? 0 : -1;
}

static inline int work_close(void **state) {
  stats_work_free(*state);
  return 0;
}

#endif
