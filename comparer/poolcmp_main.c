/*
 * The program poolcmp; everything is in poolcmp.c so that others can call it.
 */
#include "comparer/poolcmp.h"

int main(int argc, char **argv) {
  return poolcmp_run(argc, argv, stdout, stderr);
}
