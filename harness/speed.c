/* The calibration loop; see speed.h. Its constants are part of the unit: do not tune them. */
#include "harness/speed.h"

#include "harness/clock.h"

#include <stdlib.h>
#include <sys/mman.h>

#define PIECES 5
#define STEPS 120000 /* multiply and add, 5 cycles each: 0.2 ms at 3 GHz */
#define LOADS 4000   /* some 50 ns each where 8 MiB lie in the third level */
#define BYTES ((size_t)8 << 20)
#define LINES (BYTES / 64)     /* a power of two */
#define MULTIPLIER 1103515245u /* = 1 mod 4, with an odd increment: visits every line */

static int compare(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

static uint64_t median(uint64_t pieces[PIECES]) {
  qsort(pieces, PIECES, sizeof *pieces, compare);
  return pieces[PIECES / 2];
}

static uint64_t time_arithmetic(void) {
  uint64_t x = 1, start = clock_wall_ns();
  for (int i = 0; i < STEPS; i++) {
    x = x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    __asm__ volatile("" : "+r"(x)); /* one step after the other, none folded */
  }
  return clock_wall_ns() - start;
}

/* The next line depends on what the last load gave (always 0), as in a list of nodes. */
static uint64_t time_loads(const volatile uint32_t *memory, uint32_t *line) {
  uint32_t at = *line;
  uint64_t start = clock_wall_ns();
  for (int i = 0; i < LOADS; i++)
    at = (at * MULTIPLIER + 12345u + memory[(size_t)at * 16]) & (LINES - 1);
  *line = at;
  return clock_wall_ns() - start;
}

bool speed_measure(uint64_t *ns) {
  uint64_t arithmetic[PIECES], loads[PIECES];
  uint32_t line = 0;
  uint32_t *memory =
      mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (memory == MAP_FAILED)
    return false;
  for (int i = 0; i < PIECES; i++) {
    arithmetic[i] = time_arithmetic();
    loads[i] = time_loads(memory, &line);
  }
  munmap(memory, BYTES);
  *ns = PIECES * (median(arithmetic) + median(loads));
  return true;
}
