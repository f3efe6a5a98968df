/*
 * Runs a command a few times and prints the least CPU time and the largest memory it took, for
 * `make bench-poolcmp`. Its output goes to /dev/null.
 *
 *     benchrun REPEATS COMMAND...          prints "CPU-SECONDS MEGABYTES"
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

struct cost {
  double cpu_s;
  long peak_kb;
};

static void be_quiet(void) {
  int null = open("/dev/null", O_WRONLY);
  if (null >= 0) {
    dup2(null, STDOUT_FILENO);
    dup2(null, STDERR_FILENO);
  }
}

/* false when the command could not be run or was killed. */
static int run_once(char **command, struct cost *cost) {
  pid_t pid = fork();
  if (pid < 0)
    return 0;
  if (pid == 0) {
    be_quiet();
    execvp(command[0], command);
    _exit(127);
  }
  struct rusage use;
  int status;
  if (wait4(pid, &status, 0, &use) < 0 || !WIFEXITED(status) || WEXITSTATUS(status) == 127)
    return 0;
  cost->cpu_s = (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
                (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) * 1e-6;
  cost->peak_kb = use.ru_maxrss;
  return 1;
}

int main(int argc, char **argv) {
  long repeats = argc > 2 ? strtol(argv[1], NULL, 10) : 0;
  if (repeats < 1) {
    fprintf(stderr, "usage: benchrun REPEATS COMMAND...\n");
    return 2;
  }
  struct cost best = {1e9, 0};
  for (long i = 0; i < repeats; i++) {
    struct cost c;
    if (!run_once(argv + 2, &c)) {
      fprintf(stderr, "benchrun: %s did not run\n", argv[2]);
      return 3;
    }
    best.cpu_s = c.cpu_s < best.cpu_s ? c.cpu_s : best.cpu_s;
    best.peak_kb = c.peak_kb > best.peak_kb ? c.peak_kb : best.peak_kb;
  }
  printf("%.3f %.0f\n", best.cpu_s, (double)best.peak_kb / 1024);
  return 0;
}
