/* Quoting for a POSIX shell; see shellword.h. */
#include "harness/shellword.h"

#include <stdio.h>
#include <string.h>

void shellword_add(char *out, size_t size, const char *word) {
  size_t used = strlen(out);
  if (*word && !strpbrk(word, " \t\n*?'\"\\$&;|<>()[]{}`~#!")) {
    snprintf(out + used, size - used, " %s", word);
    return;
  }
  used += (size_t)snprintf(out + used, size - used, " '");
  for (; *word && used < size; word++)
    used += (size_t)snprintf(out + used, size - used, *word == '\'' ? "'\\''" : "%c", *word);
  if (used < size)
    snprintf(out + used, size - used, "'");
}
