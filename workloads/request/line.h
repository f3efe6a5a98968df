/*
 * Formatted protocol lines with the Go program's allocation profile: SUB and UNSUB are rare in its
 * design and so were formatted the easy way, by a general formatter that boxes every argument.
 */
#ifndef POOLBENCH_REQUEST_LINE_H
#define POOLBENCH_REQUEST_LINE_H

#include <stddef.h>
#include <stdint.h>

/* A text, or with text NULL a number. */
struct line_argument {
  const char *text;
  uint64_t number;
};

#define LINE_MAX_ARGUMENTS 4

struct line {
  char *text; /* ends with \r\n, not terminated */
  size_t length, size;
};

/*
 * The arguments (at most LINE_MAX_ARGUMENTS) joined by spaces, empty texts left out. text is NULL
 * when out of memory. Allocates a list (16 B an argument), a box each (16 B a text, 8 B a number),
 * a text for each number (16 B) and the line, which starts with 24 B and grows by doubling; all
 * but the line are freed on return.
 */
struct line line_format(const struct line_argument *arguments, size_t count);
void line_free(struct line *l);

#endif
