/*
 * Keeps report lines sorted as they come; there are few.
 */
#include "workloads/compare/report.h"

#include <stdio.h>
#include <string.h>

void report_vadd(struct report *r, const char *path, const char *format, va_list args) {
  char line[REPORT_LINE_SIZE];
  int n = snprintf(line, sizeof line, "%s: ", *path ? path : ".");
  if (n > 0 && (size_t)n < sizeof line)
    vsnprintf(line + n, sizeof line - (size_t)n, format, args);
  r->count++;
  size_t kept = r->count < REPORT_LINES ? r->count : REPORT_LINES;
  if (r->count > REPORT_LINES && strcmp(line, r->lines[kept - 1]) >= 0)
    return;
  size_t at = kept - 1;
  for (; at > 0 && strcmp(line, r->lines[at - 1]) < 0; at--)
    memcpy(r->lines[at], r->lines[at - 1], REPORT_LINE_SIZE);
  memcpy(r->lines[at], line, REPORT_LINE_SIZE);
}

void report_add(struct report *r, const char *path, const char *format, ...) {
  va_list args;
  va_start(args, format);
  report_vadd(r, path, format, args);
  va_end(args);
}
