/*
 * The command line of `poolbench run`: parsing and messages, nothing else.
 *
 * Only the form of values is checked here (numbers, units, known words of closed sets). What
 * depends on the build or the machine (strategies, cases, CPUs, files) is checked by plan.h,
 * placement.h and allocators.h.
 */
#ifndef POOLBENCH_OPTIONS_H
#define POOLBENCH_OPTIONS_H

#include "harness/error.h"
#include "harness/placement.h"
#include "workloads/workload.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define OPTIONS_MAX_COUNTS 64
#define OPTIONS_MAX_OBJECTS 32
#define OPTIONS_MAX_ARMS 8
#define OPTIONS_MAX_ROUNDS 1000

/* Strings point into argv. NULL, 0 or false means "not given" unless said otherwise. */
struct options {
  unsigned counts[OPTIONS_MAX_COUNTS]; /* --cpus as given, no count twice */
  size_t count_count;
  const char *suite, *cases, *strategies, *allocators, *base, *cpuset, *out, *preset, *counters,
      *set, *trim, *inject;
  const char *objects[OPTIONS_MAX_OBJECTS];
  size_t object_count;
  const char *arms[OPTIONS_MAX_ARMS]; /* LABEL=PATH, checked for that form */
  size_t arm_count;
  enum discipline discipline; /* DISCIPLINE_BALANCED when not given */
  enum bind_policy bind;      /* BIND_CORE when not given */
  unsigned rounds;
  int sweep_rounds; /* -1: not given; 0: no sweep */
  uint64_t window_ns, budget_ns;
  uint64_t trim_ns, trim_bytes; /* --trim: one of them; both 0: never */
  uint64_t seed;
  bool seed_given, quick, twin, no_plots, list, list_counters, dry_run, help, resume;
  const char *resume_dir; /* with resume: NULL means results/latest */
};

/*
 * Parses argv[1..]; `--name value` and `--name=value`, one dash or two. false: e says which
 * option, what was wrong and what would be right (EXIT_USAGE).
 */
bool options_parse(int argc, char **argv, struct options *o, struct error *e);

void options_help(FILE *out);

#endif
