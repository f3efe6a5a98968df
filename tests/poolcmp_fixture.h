/*
 * Runs poolcmp inside a test: command lines as a shell splits them, output as strings.
 */
#ifndef POOLCMP_FIXTURE_H
#define POOLCMP_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "comparer/poolcmp.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct outcome {
  int status;
  char *out, *err;
};

static inline void outcome_free(struct outcome *o) {
  free(o->out);
  free(o->err);
}

/* Splits words at spaces; single and double quotes keep them, a backslash escapes in "". */
static inline int split_words(char *line, char **words, int room) {
  int n = 0;
  for (char *p = line; *p && n < room - 1;) {
    while (*p == ' ' || *p == '\n')
      p++;
    if (!*p)
      break;
    char *to = p, quote = 0;
    words[n++] = p;
    for (; *p && (quote || (*p != ' ' && *p != '\n')); p++) {
      if (quote ? *p == quote : *p == '\'' || *p == '"')
        quote = quote ? 0 : *p;
      else
        *to++ = *p == '\\' && quote == '"' ? *++p : *p;
    }
    p += *p != 0;
    *to = 0;
  }
  words[n] = NULL;
  return n;
}

/* Runs `poolcmp COMMAND` in this process. */
static inline struct outcome run_poolcmp(const char *command) {
  struct outcome o = {0};
  char *words[64], *line = strdup(command);
  size_t out_size, err_size;
  FILE *out = open_memstream(&o.out, &out_size), *err = open_memstream(&o.err, &err_size);
  assert_non_null(line);
  assert_non_null(out);
  assert_non_null(err);
  words[0] = (char *)"poolcmp";
  int n = split_words(line, words + 1, 63);
  o.status = poolcmp_run(n + 1, words, out, err);
  assert_int_equal(fclose(out), 0);
  assert_int_equal(fclose(err), 0);
  free(line);
  return o;
}

/* A file's bytes as a string; NULL when it is not there. */
static inline char *read_whole(const char *path) {
  FILE *f = fopen(path, "r");
  if (!f)
    return NULL;
  char *text = NULL, buffer[4096];
  size_t size, n;
  FILE *out = open_memstream(&text, &size);
  assert_non_null(out);
  while ((n = fread(buffer, 1, sizeof buffer, f)) > 0)
    fwrite(buffer, 1, n, out);
  fclose(out);
  fclose(f);
  return text;
}

/* Makes a file of the test's own; returns its path, which lives until the next call of 8. */
static inline const char *write_file(const char *text) {
  static char paths[8][64];
  static int next;
  char *path = paths[next++ % 8];
  strcpy(path, "/tmp/poolcmp-test-XXXXXX");
  int fd = mkstemp(path);
  assert_true(fd >= 0);
  assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
  close(fd);
  return path;
}

#endif
