/* Formatting of error values, and printing them at the end; see error.h. */
#include "harness/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool error_set(struct error *e, enum exit_status status, const char *format, ...) {
  va_list args;
  va_start(args, format);
  e->status = status;
  vsnprintf(e->text, sizeof e->text, format, args);
  va_end(args);
  return false;
}

bool error_errno(struct error *e, enum exit_status status, const char *format, ...) {
  int saved = errno;
  va_list args;
  va_start(args, format);
  e->status = status;
  int n = vsnprintf(e->text, sizeof e->text, format, args);
  va_end(args);
  if (n >= 0 && (size_t)n < sizeof e->text)
    snprintf(e->text + n, sizeof e->text - (size_t)n, ": %s", strerror(saved));
  return false;
}

int error_finish(bool ok, const struct error *e) {
  if (ok)
    return EXIT_DONE;
  fflush(stdout); /* so that the error comes last where both go to one place */
  fprintf(stderr, "poolbench: %s\n", e->text);
  return (int)e->status;
}
