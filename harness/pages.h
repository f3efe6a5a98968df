/*
 * Memory of the harness itself, straight from the kernel.
 *
 * What the harness keeps while ops run must not come from the malloc under test: it would count
 * as held by the allocator and move the objects that are measured. Page aligned and zeroed; pages
 * that are never touched cost nothing.
 */
#ifndef POOLBENCH_PAGES_H
#define POOLBENCH_PAGES_H

#include <stddef.h>
#include <sys/mman.h>

/* NULL when out of memory. */
static inline void *pages_map(size_t size) {
  void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return p == MAP_FAILED ? NULL : p;
}

/* NULL is allowed; size as mapped. */
static inline void pages_unmap(void *p, size_t size) {
  if (p)
    munmap(p, size);
}

#endif
