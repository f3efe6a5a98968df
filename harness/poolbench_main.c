/*
 * The program poolbench: finds the command and calls it. Commands print and return their exit
 * status; the only other thing here is the overview.
 */
#include "harness/cell.h"
#include "harness/contention.h"
#include "harness/list.h"
#include "harness/probe.h"
#include "harness/report.h"
#include "harness/run.h"
#include "harness/scaling.h"
#include "harness/suggest.h"
#include "harness/version.h"
#include "harness/why.h"

#include <errno.h>
#include <string.h>

struct command {
  const char *name;
  int (*main)(int argc, char **argv);
  const char *what; /* NULL: started by other commands */
};

static const struct command commands[] = {
    {"run", run_main, "measure strategies on workloads; writes results/<time>-<host>/"},
    {"list", list_main, "what can be measured here: cases, strategies, allocators, counters"},
    {"report", report_main, "tables, review comment and plots of a finished run"},
    {"scaling", scaling_main, "how strategies scale, and what more CPUs would bring"},
    {"contention", contention_main, "where the time of a run's threads goes, and what limits it"},
    {"why", why_main, "a difference between two strategies of a run, state by state"},
    {"worker", worker_main, NULL},
    {"probe", probe_main, NULL},
};
enum { COMMAND_COUNT = sizeof commands / sizeof commands[0] };

static void help(FILE *out) {
  fputs("usage: poolbench COMMAND [options]\n\n", out);
  for (int i = 0; i < COMMAND_COUNT; i++)
    if (commands[i].what)
      fprintf(out, "  %-12s %s\n", commands[i].name, commands[i].what);
  fputs("  --version    the version and how it was built\n\n"
        "`poolbench COMMAND --help` says more. Results are compared by poolcmp.\n"
        "Exit status: 0 done, 1 a gate found a regression, 2 wrong usage, 3 a file cannot\n"
        "be read or written, 4 nothing to compare, 5 samples failed, 6 packages are\n"
        "missing, 130 interrupted.\n",
        out);
}

static int unknown(const char *name) {
  struct suggest near;
  suggest_start(&near, name);
  for (int i = 0; i < COMMAND_COUNT; i++)
    if (commands[i].what)
      suggest_offer(&near, commands[i].name);
  fprintf(stderr, "poolbench: unknown command \"%s\"%s; `poolbench --help` lists them\n", name,
          suggest_text(&near, ""));
  return EXIT_USAGE;
}

/* What was printed may not have arrived; a command that has said what was wrong says enough. */
static int finish(int status) {
  bool lost = ferror(stdout);
  errno = 0; /* that of an earlier write is gone */
  bool arrived = fflush(stdout) == 0 && !lost;
  if (arrived || status != EXIT_DONE)
    return status;
  fprintf(stderr, "poolbench: standard output: %s\n",
          errno ? strerror(errno) : "not all of it could be written");
  return EXIT_INPUT;
}

static int run_command(int argc, char **argv) {
  if (argc < 2) {
    help(stderr);
    return EXIT_USAGE;
  }
  if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
      (strcmp(argv[1], "help") == 0 && argc == 2)) {
    help(stdout);
    return EXIT_DONE;
  }
  if (strcmp(argv[1], "--version") == 0) {
    printf("poolbench %s\n", POOLBENCH_VERSION);
    return EXIT_DONE;
  }
  for (int i = 0; i < COMMAND_COUNT; i++)
    if (strcmp(argv[1], commands[i].name) == 0)
      return commands[i].main(argc - 1, argv + 1);
  return unknown(argv[1]);
}

int main(int argc, char **argv) {
  /* `help COMMAND` is `COMMAND --help`. */
  char *asked[] = {argv[0], argc > 2 ? argv[2] : NULL, (char[]){"--help"}, NULL};
  if (argc == 3 && strcmp(argv[1], "help") == 0)
    return finish(run_command(3, asked));
  return finish(run_command(argc, argv));
}
