/*
 * Errors as values: what was tried, on what, why it failed and what would be right.
 *
 * Functions that can fail take a `struct error *` and return false (or NULL) with it filled.
 * Only main prints and exits.
 */
#ifndef POOLBENCH_ERROR_H
#define POOLBENCH_ERROR_H

#include <stdbool.h>
#include <stddef.h>

/* Exit status of poolbench, poolcmp and run.sh. */
enum exit_status {
  EXIT_DONE = 0,
  EXIT_REGRESSION = 1,   /* a gate found one */
  EXIT_USAGE = 2,        /* the command line is wrong */
  EXIT_INPUT = 3,        /* a file cannot be read or written, or holds nonsense */
  EXIT_NOTHING = 4,      /* nothing comparable */
  EXIT_SAMPLES = 5,      /* some samples failed; the rest is there */
  EXIT_PACKAGES = 6,     /* packages are missing */
  EXIT_INTERRUPTED = 130 /* Ctrl-C or kill; what was measured is on disk */
};

struct error {
  enum exit_status status;
  char text[1000];
};

/* Fills e and returns false, so that a caller can `return error_set(e, ...)`. */
bool error_set(struct error *e, enum exit_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same with ": " and strerror(errno) appended. */
bool error_errno(struct error *e, enum exit_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/*
 * The end of a command's main: returns EXIT_DONE when ok, else flushes what was printed so far,
 * prints e on stderr and returns its status. Whether all output arrived, the program's main sees.
 */
int error_finish(bool ok, const struct error *e);

#endif
