/*
 * The allocators below the strategies: where their libraries are and what they are called.
 *
 * Nothing is loaded here. A library takes the place of malloc in a sample's process by
 * LD_PRELOAD; the sample proves that it did.
 */
#ifndef POOLBENCH_ALLOCATORS_H
#define POOLBENCH_ALLOCATORS_H

#include "harness/error.h"

#include <stdbool.h>
#include <stddef.h>

#define ALLOCATORS_MAX 16

struct allocator_arm {
  char *label;    /* "glibc", "jemalloc", or the user's label */
  char *path;     /* library to preload; NULL: what the process has without one */
  bool user_path; /* given as LABEL=/path */
  /* What a process with it told: "" until then. */
  char version[80];
  char library[300]; /* the file that its malloc is in */
};

struct allocators {
  struct allocator_arm items[ALLOCATORS_MAX];
  size_t count;
  /* Known allocators that "all" asked for and this machine lacks, with Debian's package. */
  struct {
    const char *name, *package;
  } missing[ALLOCATORS_MAX];
  size_t missing_count;
};

/*
 * list: NULL (glibc alone), "all", or names and LABEL=/path separated by commas, kept in that
 * order. folders: where libraries are looked for, NULL at the end; NULL: this machine's usual
 * ones. Fails for an unknown name (EXIT_USAGE, with the nearest), a known one that is not
 * installed (EXIT_PACKAGES, with its package), a path that is no readable shared library
 * (EXIT_INPUT).
 */
bool allocators_find(struct allocators *a, const char *list, const char *const *folders,
                     struct error *e);
void allocators_free(struct allocators *a);

/*
 * LABEL=/path claims, by a known allocator's name, what the library is. found: the name of the
 * allocator that a process with it has. False, EXIT_USAGE: that is another known one. A library
 * that nobody knows is taken at its word.
 */
bool allocators_check_label(const struct allocator_arm *a, const char *found, struct error *e);

/* Does this environment variable ("NAME=value" or "NAME") set up an allocator? For the record. */
bool allocators_variable(const char *entry);

#endif
