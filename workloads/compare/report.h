/*
 * What is wrong with an object: a few lines of "path: text", kept in the order of their paths, so
 * that two ways of walking an object report the same.
 */
#ifndef POOLBENCH_COMPARE_REPORT_H
#define POOLBENCH_COMPARE_REPORT_H

#include <stdarg.h>
#include <stddef.h>

#define REPORT_LINES 8
#define REPORT_LINE_SIZE 320

/* Start from {0}. */
struct report {
  size_t count; /* all that were added; the first REPORT_LINES of them are kept */
  char lines[REPORT_LINES][REPORT_LINE_SIZE];
};

/* Adds "path: text"; the root's path is "." */
void report_add(struct report *r, const char *path, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void report_vadd(struct report *r, const char *path, const char *format, va_list args)
    __attribute__((format(printf, 3, 0)));

#endif
