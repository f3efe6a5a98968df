/*
 * False sharing: which cache lines hold live objects of two threads at once.
 *
 * A pass of ops of its own, after everything else has been measured, because recording every get
 * costs more than most gets. The workload reaches its strategy through a table of functions that
 * is a copy of the strategy's; for the pass get, put and drop in it are exchanged for ones that
 * keep a table of lines, so that the pool, its threads and what they hold stay as they were.
 *
 * An object is its getter's from get to put or drop, whoever calls those, and covers `size` bytes
 * (what hangs off it is not followed). Objects got before the pass are not seen until they have
 * been put and got again. An object is entered after get has returned and taken out before put is
 * called: what is told shared has been shared, as long as every object is put or dropped, also one
 * that would end with its scope.
 *
 * State is global, since get and put carry no pool: one pool at a time. Its memory is mapped from
 * the kernel, not taken from the malloc under test.
 */
#ifndef POOLBENCH_LINES_H
#define POOLBENCH_LINES_H

#include "strategies/strategy.h"

#include <stdbool.h>
#include <stdint.h>

#define LINES_BYTES 64 /* of a line: every x86, most ARM */

/* Half of it is used, further lines are lost; 28 MiB, of which little is touched. */
#define LINES_MOST (1u << 19)

/* A copy of the strategy for the workload to call; valid, and the only one, until the next call. */
const struct strategy *lines_strategy(const struct strategy *inner);

/* lines: on which an object of the kind was got; shared: with one of another thread besides. */
struct lines_count {
  uint64_t lines, shared;
};

struct lines_result {
  struct lines_count all, kind[POOL_MAX_KINDS];
  uint64_t lost; /* times that a line found no room in the table */
};

/*
 * Starts and ends the recording. No thread is in a get, put or drop meanwhile, and each is told of
 * it by something that orders memory (the release of a phase does). start: false when out of
 * memory.
 */
bool lines_start(const struct kind *kinds, size_t kind_count);
void lines_stop(struct lines_result *out);

#endif
