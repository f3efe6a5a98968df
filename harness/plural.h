/* The ending of a counted noun: "1 thread", "2 threads". */
#ifndef POOLBENCH_PLURAL_H
#define POOLBENCH_PLURAL_H

static inline const char *plural(double n) {
  return n == 1 ? "" : "s";
}

#endif
