/*
 * What this program is: its version and how it was compiled. make passes the flags; a compiler
 * tells its own name.
 */
#ifndef POOLBENCH_VERSION_H
#define POOLBENCH_VERSION_H

#define POOLBENCH_VERSION "1.0"

#ifdef __clang__
#define POOLBENCH_COMPILER __VERSION__
#else
#define POOLBENCH_COMPILER "gcc " __VERSION__
#endif

#ifndef POOLBENCH_FLAGS
#define POOLBENCH_FLAGS "unknown"
#endif

#endif
