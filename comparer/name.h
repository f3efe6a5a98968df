/*
 * Benchmark names: their base, their /key=value parts, their -N.
 *
 * A name is what stands after "Benchmark". A suffix -N (digits only) is its gomaxprocs; the rest
 * splits at each '/'.
 */
#ifndef POOLCMP_NAME_H
#define POOLCMP_NAME_H

#include "comparer/text.h"

/* Up to the first '/', or without -N when there is none. */
struct text name_base(struct text name);

/* N of the suffix -N; empty when there is none. */
struct text name_gomaxprocs(struct text name);

/* The text after `key=` in the first part that has it; key begins with '/'. Empty: not there. */
struct text name_part(struct text name, struct text key);

/* What a full name leaves out because another key of the command line stands for it. */
struct name_cut {
  bool base;               /* .name: becomes "*" */
  const struct text *keys; /* "/key" of each part to cut */
  size_t key_count;
  bool gomaxprocs; /* also cuts -N */
};

/* Writes the name without what is cut to out (name.n + 1 bytes of room); returns its length. */
size_t name_without(struct text name, const struct name_cut *cut, char *out);

#endif
