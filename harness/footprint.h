/*
 * Which malloc this process has, proved, and what it holds.
 *
 * The proof: the dynamic linker is asked which file the symbol malloc comes from, as every call
 * to malloc does. Names and versions come from what that library itself exports, so that a
 * preload that silently did not happen, or an allocator under another's name, is seen.
 */
#ifndef POOLBENCH_FOOTPRINT_H
#define POOLBENCH_FOOTPRINT_H

#include "harness/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct allocator {
  char name[64];    /* "glibc", "jemalloc", "gperftools", "mimalloc", "tbbmalloc", "sanitizer", by
                       the file's name or what it exports; else the name up to its first dot */
  char version[64]; /* "unknown" when the library does not tell */
  char path[512];   /* the file that malloc is in */
};

void allocator_identify(struct allocator *out);

/*
 * Checks a claim: a name as above, or a path (anything with a slash), which must be the same
 * file. False with both the claim and the truth in `e`.
 */
bool allocator_expect(const struct allocator *found, const char *claim, struct error *e);

/*
 * Bytes the allocator has from the system, by its own account, while no thread allocates:
 * glibc's arenas and mapped chunks, jemalloc's resident and mimalloc's committed memory,
 * gperftools' heap less what it gave back. False with `why` for one that does not tell.
 */
bool allocator_system_bytes(const struct allocator *a, uint64_t *bytes, char *why, size_t why_size);

/*
 * Has the allocator give back what it caches, as far as the calling thread may ask for that: its
 * own cache and what is shared. False for one that has no such call. heap_release of heap.h is
 * this for the allocator that the process has.
 */
bool allocator_release(const struct allocator *a);

/* Arenas that glibc made (at most 8 a CPU); false for other allocators. Allocates. */
bool allocator_arenas(const struct allocator *a, unsigned *count);

#endif
