/* Runs gnuplot; see gnuplot.h. */
#include "harness/gnuplot.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* What gnuplot says, up to size - 1 bytes; the rest is read and dropped. */
static void drain(int fd, char *text, size_t size) {
  size_t used = 0;
  char more[4096];
  for (ssize_t n; (n = read(fd, more, sizeof more)) != 0;) {
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      break;
    size_t take = (size_t)n < size - 1 - used ? (size_t)n : size - 1 - used;
    memcpy(text + used, more, take);
    used += take;
  }
  text[used] = '\0';
}

/* posix_spawnp with stderr in a pipe. Returns an errno value. */
static int start(char *const argv[], int pipe_end, pid_t *pid) {
  posix_spawn_file_actions_t actions;
  int failed = posix_spawn_file_actions_init(&actions);
  if (failed)
    return failed;
  failed = posix_spawn_file_actions_adddup2(&actions, pipe_end, STDERR_FILENO);
  if (!failed)
    failed = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  if (!failed)
    failed = posix_spawnp(pid, argv[0], &actions, NULL, argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  return failed;
}

/*
 * Does the picture end as its form does, with </svg> or the chunk IEND? gnuplot does not look
 * whether its writes succeed, and leaves with 0 on a full disk.
 */
static bool is_whole(const char *picture) {
  char end[33] = "";
  FILE *f = fopen(picture, "re");
  if (!f)
    return false;
  if (fseek(f, -(long)(sizeof end - 1), SEEK_END) != 0)
    rewind(f); /* shorter than that */
  size_t n = fread(end, 1, sizeof end - 1, f);
  fclose(f);
  return memmem(end, n, "</svg>", 6) || memmem(end, n, "IEND", 4);
}

enum gnuplot_result gnuplot_draw(const char *script, const char *data, const char *picture,
                                 struct error *e) {
  char *argv[] = {"gnuplot", "-c", (char *)script, (char *)data, (char *)picture, NULL};
  int ends[2];
  pid_t pid;
  if (pipe2(ends, O_CLOEXEC) != 0) {
    error_errno(e, EXIT_INPUT, "a pipe to gnuplot");
    return GNUPLOT_FAILED;
  }
  int failed = start(argv, ends[1], &pid);
  close(ends[1]);
  if (failed) {
    close(ends[0]);
    errno = failed;
    error_errno(e, EXIT_INPUT, "gnuplot");
    return failed == ENOENT ? GNUPLOT_MISSING : GNUPLOT_FAILED;
  }
  char said[600];
  int status = 0;
  drain(ends[0], said, sizeof said);
  close(ends[0]);
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  bool done = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  if (done && is_whole(picture))
    return GNUPLOT_DREW;
  error_set(e, EXIT_INPUT, "gnuplot could not draw %s: %s", picture,
            done ? "only a part of it was written; is the disk full?" : said);
  return GNUPLOT_FAILED;
}
