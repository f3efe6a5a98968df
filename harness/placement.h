/*
 * Where threads run: which CPU each thread of a team is bound to.
 *
 * The only user of hwloc's topology. Everything stays inside the allowed set (affinity mask and
 * cpuset of the process, narrowed by --cpuset). When there are more threads than CPUs the order
 * starts again from its beginning: oversubscription, which is said.
 */
#ifndef POOLBENCH_PLACEMENT_H
#define POOLBENCH_PLACEMENT_H

#include "harness/error.h"

#include <hwloc.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * The order in which CPUs are filled. Cores of a faster kind come before slower ones in all of
 * them, where the machine knows kinds.
 */
enum bind_policy {
  BIND_CORE,    /* one thread per core, then the cores' other hardware threads */
  BIND_PU,      /* neighbouring hardware threads first: the most sharing */
  BIND_NUMA,    /* in turn over NUMA nodes, inside a node as BIND_CORE */
  BIND_PACKAGE, /* in turn over packages, inside a package as BIND_CORE */
  BIND_NONE,    /* the scheduler decides */
};

/* "core", "pu", "numa", "package", "none". */
const char *bind_policy_name(enum bind_policy p);
bool bind_policy_parse(const char *text, enum bind_policy *out);

struct placement {
  enum bind_policy policy;
  int *order; /* OS numbers of the usable CPUs in the order they are filled */
  int *node;  /* NUMA node (OS number) of each, same order */
  unsigned cpus, cores, packages, nodes; /* usable ones */
  unsigned core_kinds;                   /* 1 unless cores are unequal */
  char *cpu_list;                        /* usable CPUs: "0-3,8"; owned */
};

/*
 * Reads the topology of this machine, without I/O devices. NULL with e filled on failure; the
 * caller destroys it by hwloc_topology_destroy.
 */
hwloc_topology_t placement_topology(struct error *e);

/*
 * Plans on `topology`. allowed: OS numbers of the CPUs this process may use, NULL for all of the
 * topology. cpuset: the user's narrower list ("0-3,8") or NULL; a malformed one, or a CPU that is
 * not allowed, is an error (EXIT_USAGE) that says which CPUs are.
 */
bool placement_init(struct placement *p, hwloc_topology_t topology, hwloc_const_bitmap_t allowed,
                    const char *cpuset, enum bind_policy policy, struct error *e);
void placement_free(struct placement *p);

/* The CPU of a thread by its number, and that CPU's NUMA node. Of no meaning under BIND_NONE. */
static inline int placement_cpu(const struct placement *p, unsigned thread) {
  return p->order[thread % p->cpus];
}
static inline int placement_node(const struct placement *p, unsigned thread) {
  return p->node[thread % p->cpus];
}

/*
 * The sentence before measuring, without host facts:
 * "32 threads on 2 CPUs (16 a CPU, oversubscribed), 1 NUMA node".
 */
void placement_line(const struct placement *p, unsigned threads, char *text, size_t size);

/*
 * The map in words: the CPU of each thread in thread order, and the NUMA node that the memory it
 * touches first comes from. Steps as taskset writes them, A-B:STEP:
 * "threads in order on CPUs 0-62:2,1-15:2; first touch on NUMA node 0 (threads 0-15,32-39), 1
 * (16-31)". Cut off with "..." where it does not fit.
 */
void placement_map_line(const struct placement *p, unsigned threads, char *text, size_t size);

#endif
