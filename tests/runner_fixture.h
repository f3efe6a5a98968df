/*
 * Helpers for tests of the runner: a scratch folder that is removed afterwards, and small files in
 * it. Header only; each suite that includes it has its own copy.
 */
#ifndef POOLBENCH_RUNNER_FIXTURE_H
#define POOLBENCH_RUNNER_FIXTURE_H

#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* The folder of the running test, set by scratch_open. */
static char scratch[64];

static int scratch_remove_one(const char *path, const struct stat *info, int type,
                              struct FTW *where) {
  (void)info, (void)type, (void)where;
  return remove(path);
}

static inline int scratch_open(void **state) {
  (void)state;
  snprintf(scratch, sizeof scratch, "/tmp/poolbench-test-XXXXXX");
  return mkdtemp(scratch) ? 0 : -1;
}

static inline int scratch_close(void **state) {
  (void)state;
  return nftw(scratch, scratch_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* A suite in the background, or under nohup, is started with some of these ignored. */
static inline void usual_signals(void) {
  static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
  for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
    signal(ends[i], SIG_DFL);
}

/* scratch/NAME; valid until the fourth call from now. */
static inline const char *scratch_path(const char *name) {
  static char paths[4][400];
  static unsigned next;
  char *path = paths[next++ % 4];
  snprintf(path, sizeof paths[0], "%s/%s", scratch, name);
  return path;
}

/* Writes scratch/NAME, making its folders. */
static inline void scratch_write(const char *name, const char *text) {
  char path[400];
  snprintf(path, sizeof path, "%s/%s", scratch, name);
  for (char *p = path + strlen(scratch) + 1; (p = strchr(p, '/')) != NULL; p++) {
    *p = '\0';
    mkdir(path, 0777);
    *p = '/';
  }
  FILE *f = fopen(path, "w");
  if (!f || fputs(text, f) < 0 || fclose(f) != 0)
    fail_msg("cannot write %s", path);
}

/* An executable shell script. */
static inline void scratch_script(const char *name, const char *body) {
  char text[4000];
  snprintf(text, sizeof text, "#!/bin/sh\n%s", body);
  scratch_write(name, text);
  if (chmod(scratch_path(name), 0755) != 0)
    fail_msg("cannot make %s executable", name);
}

/* From now on no file grows beyond that: a full disk. Returns the limit before, to be set again. */
static inline rlim_t limit_files(rlim_t most) {
  struct rlimit limit;
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
  rlim_t before = limit.rlim_cur;
  limit.rlim_cur = most;
  signal(SIGXFSZ, SIG_IGN);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
  return before;
}

/* The whole of scratch/NAME, to be freed; NULL when it is not there. */
static inline char *scratch_read(const char *name) {
  FILE *f = fopen(scratch_path(name), "r");
  if (!f)
    return NULL;
  size_t room = 1 << 20, n;
  char *text = malloc(room);
  n = text ? fread(text, 1, room - 1, f) : 0;
  if (text)
    text[n] = '\0';
  fclose(f);
  return text;
}

#endif
