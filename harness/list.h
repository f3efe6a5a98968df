/* `poolbench list`: what this build and this machine can measure. */
#ifndef POOLBENCH_LIST_H
#define POOLBENCH_LIST_H

/* Prints suites with their cases, strategies, allocators, counters, presets; returns the exit
 * status. */
int list_main(int argc, char **argv);

/* Prints which of the events (NULL: the default ones) count here, and why the others do not. */
int list_counters(const char *events);

/* The same of every event that a source of counters knows. */
int list_all_counters(void);

#endif
