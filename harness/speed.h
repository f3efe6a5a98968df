/*
 * How fast the machine is right now: a fixed piece of work, timed.
 *
 * On shared hosts a neighbour slows the clock, the caches and the memory without showing as CPU
 * time taken. The loop is the same in every sample of a run, so samples whose loop deviates from
 * the run's median were measured on another machine, so to speak.
 */
#ifndef POOLBENCH_SPEED_H
#define POOLBENCH_SPEED_H

#include <stdbool.h>
#include <stdint.h>

/*
 * About 1 ms of dependent arithmetic plus about 1 ms of dependent loads that miss the first and
 * second level caches. Both are cut into pieces and the median piece counts, so that being
 * preempted in one does not show (that is foreign CPU, another unit). Its 8 MiB are mapped, not
 * allocated, and gone afterwards, but they do show in the peak resident set. False when they
 * cannot be had.
 */
bool speed_measure(uint64_t *ns);

#endif
