/*
 * The limits that control groups put on this process, versions 1 and 2. Reads only.
 */
#ifndef POOLBENCH_CGROUP_H
#define POOLBENCH_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cgroup_limit {
  double cpus;     /* quota / period of the tightest group above us; 0: no limit */
  double period_s; /* its period */
  char where[300]; /* the file that says so */
};

/*
 * root is "" on a real machine and the prefix of a made-up tree in tests: root/proc/self/cgroup,
 * root/proc/self/mountinfo and the mount points they name. What cannot be read limits nothing.
 */
void cgroup_cpu_limit(const char *root, struct cgroup_limit *out);

/*
 * Bytes that the memory limits leave, of the group that leaves least; UINT64_MAX: no limit. Of
 * what a group uses, file cache that nobody touched lately counts as free: the kernel drops it
 * before it refuses memory.
 */
uint64_t cgroup_memory_left(const char *root);

/* The same and no more than the kernel's own estimate for the machine (MemAvailable). */
uint64_t cgroup_memory_available(const char *root);

#endif
