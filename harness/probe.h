/*
 * `poolbench probe`: a process says what it has, before the plan relies on it.
 *
 *     poolbench probe --allocator PATH|any [--counters LIST]
 *
 * It writes a sample without values to descriptor 3: notes on its malloc (NOTE_ALLOCATOR ...), a
 * note PROBE_COUNTERS with the events that count here, and a missing line for each that does
 * not. A malloc that is not in PATH is an error. The counters of a machine are asked for in such
 * a process because a library for them can take long to start, or crash.
 */
#ifndef POOLBENCH_PROBE_H
#define POOLBENCH_PROBE_H

#define PROBE_COUNTERS "counters"

/* argv[0] is "probe". Returns the exit status. */
int probe_main(int argc, char **argv);

#endif
