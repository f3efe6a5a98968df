/*
 * The command line of commands that look at some cells of a run: the run and further words,
 * --case PART, --threads N. Loads the run, calls the command and prints what went wrong.
 */
#ifndef POOLBENCH_SELECTION_H
#define POOLBENCH_SELECTION_H

#include "harness/rundata.h"

#define SELECTION_MOST_WORDS 3
#define SELECTION_MOST_THREADS 65536

/* Strings point into argv. */
struct selection {
  const char *words[SELECTION_MOST_WORDS]; /* the run comes first */
  const char *part;                        /* of a case's name; NULL: all cases */
  unsigned threads;                        /* 0: not given */
};

struct selection_command {
  const char *name;    /* "why" */
  const char *form;    /* "poolbench why RUN A B [--case PART] [--threads N]" */
  const char *missing; /* what to say when there are fewer words than it takes */
  const char *help;
  size_t words; /* that it takes, all of them needed */
  bool (*run)(const struct selection *s, const struct rundata *d, struct error *e);
};

/* Returns an exit status. */
int selection_main(const struct selection_command *c, int argc, char **argv);

bool selection_has_case(const struct selection *s, const char *row);

/*
 * A whole number from 1 to `most`. text NULL: the command line ended. false with e, which names
 * the command and the option.
 */
bool selection_count(const char *command, const char *option, const char *text, unsigned most,
                     unsigned *out, struct error *e);

#endif
