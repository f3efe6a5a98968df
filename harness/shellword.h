/*
 * Words of a command line as a shell has to be given them, for commands that are printed to be
 * copied.
 */
#ifndef POOLBENCH_SHELLWORD_H
#define POOLBENCH_SHELLWORD_H

#include <stddef.h>

/* Appends a blank and the word to out, quoted where needed; size is all of out's room. */
void shellword_add(char *out, size_t size, const char *word);

#endif
