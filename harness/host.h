/*
 * Facts about the machine that belong beside a measurement. Reads /proc and /sys only; what
 * does not exist here is "n/a", never a guess.
 */
#ifndef POOLBENCH_HOST_H
#define POOLBENCH_HOST_H

#include "harness/cgroup.h"

#include <stddef.h>
#include <stdint.h>

#define HOST_TEXT 160

struct host {
  char name[HOST_TEXT];
  char cpu_model[HOST_TEXT];
  char arch[32];   /* uname's machine: "x86_64" */
  char goarch[32]; /* Go's name of it: "amd64" */
  char kernel[HOST_TEXT];
  char governor[32];       /* of every CPU, "mixed" where they differ */
  char turbo[16];          /* "on", "off" or "n/a" */
  char thp[32];            /* transparent huge pages: "always", "madvise", "never" */
  char aslr[32];           /* "full", "partial", "off" */
  char virtualization[64]; /* "none", or what /proc and /sys tell: "vm", "container, vm" */
  char smt[16];            /* "on", "off", "n/a" */
  uint64_t memory_bytes;
  double load1; /* load average over a minute when the run began; negative: unknown */
  struct cgroup_limit cgroup;
};

/* root as for cgroup_cpu_limit. */
void host_read(const char *root, struct host *h);

/* ", governor n/a, turbo n/a[, cgroup limits to 1.5 CPUs]": the end of the line before measuring.
 */
void host_line(const struct host *h, char *text, size_t size);

#endif
