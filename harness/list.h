/* `poolbench list`: what this build and this machine can measure. */
#ifndef POOLBENCH_LIST_H
#define POOLBENCH_LIST_H

/* Prints suites with their cases, strategies, allocators, presets; returns the exit status. */
int list_main(int argc, char **argv);

#endif
