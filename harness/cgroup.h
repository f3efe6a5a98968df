/*
 * The CPU limit that control groups put on this process, versions 1 and 2. Reads only.
 */
#ifndef POOLBENCH_CGROUP_H
#define POOLBENCH_CGROUP_H

#include <stdbool.h>
#include <stddef.h>

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

#endif
