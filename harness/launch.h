/*
 * One sample: starts a fresh process, reads what it reports, and cleans up after it.
 *
 * A worker gets a process group of its own, /dev/null as input, a pipe for its sample (file
 * descriptor LAUNCH_FD) and one for its stdout and stderr; every other descriptor is closed.
 * Signals that end a run (SIGINT, SIGTERM, SIGHUP) are read from a signalfd, so that no handler
 * and no global state is needed: they are blocked while a launcher exists. One that was ignored
 * when we were started stays ignored (nohup, a shell's background job).
 */
#ifndef POOLBENCH_LAUNCH_H
#define POOLBENCH_LAUNCH_H

#include "harness/error.h"
#include "harness/sample.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#define LAUNCH_FD 3 /* what the worker must be given as --fd */

struct launcher {
  int signals; /* signalfd: the three above and SIGCHLD */
  sigset_t old_mask;
  struct sigaction old_child; /* SIGCHLD: a parent that ignored it would take our exit statuses */
};

/* Blocks the signals of this thread and opens the signalfd; close puts the mask back. */
bool launcher_open(struct launcher *l, struct error *e);
void launcher_close(struct launcher *l);

/* The signal that asked us to stop since the last look; 0: none. Does not wait. */
int launcher_interrupted(struct launcher *l);

struct launch_request {
  const char *program; /* path of the worker; "/proc/self/exe" for this program */
  char *const *argv;   /* NULL at the end */
  const char *preload; /* LD_PRELOAD of the worker, NULL: none */
  unsigned pad;        /* bytes by which the environment grows, which moves the stack as well */
  uint64_t timeout_ns; /* killed after this time */
};

enum launch_outcome {
  LAUNCH_SAMPLE,      /* a well-formed sample; sample.error may still be set */
  LAUNCH_CRASHED,     /* ended by a signal or with a status, without a whole sample */
  LAUNCH_HUNG,        /* did not end in its time and was killed */
  LAUNCH_GARBAGE,     /* ended well, but what it wrote is no sample */
  LAUNCH_INTERRUPTED, /* we were asked to stop; it was killed */
  LAUNCH_NOT_STARTED,
};

/* "crashed", "hung" ... for run.json. */
const char *launch_outcome_name(enum launch_outcome o);

struct launch_result {
  enum launch_outcome outcome;
  struct sample sample; /* for LAUNCH_SAMPLE; free with sample_free */
  char why[400];        /* for the others: one line */
  char output[2000];    /* the end of what it printed on stdout and stderr */
  int signal;           /* LAUNCH_INTERRUPTED: which */
  uint64_t wall_ns;
};

/* Runs the worker to its end. The outcome says all; the caller frees the sample. */
void launch(struct launcher *l, const struct launch_request *request, struct launch_result *out);

#endif
