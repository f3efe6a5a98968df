/*
 * Writes benchmark text of a given size, for measuring poolcmp. The same arguments give the same
 * bytes.
 *
 *     benchgen SIDE SAMPLES [BENCHMARKS [TIES [rounds]]]
 *
 * SIDE is 0 or 1: the two files of a pair. Each line has four units. TIES: over both files that
 * many pairs of equal values in each benchmark and unit, the rest differs; with -1 values repeat
 * at random. "rounds" orders lines by sample first instead of by benchmark.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct plan {
  long side, samples, benchmarks, ties;
};

static uint64_t mix(uint64_t x) {
  x ^= x >> 31;
  x *= 0x9E3779B97F4A7C15u;
  x ^= x >> 29;
  x *= 0xBF58476D1CE4E5B9u;
  return x ^ x >> 32;
}

/*
 * The offset of a sample from its center, in 0 .. 8191. An odd step makes all offsets of a
 * benchmark differ, over both sides (up to 4096 samples a side).
 */
static long offset(const struct plan *p, long benchmark, int unit, long sample) {
  uint64_t i = 2 * (uint64_t)sample + (uint64_t)p->side;
  uint64_t seed = mix((uint64_t)benchmark * 8 + (uint64_t)unit + 1);
  if (p->ties < 0)
    return (long)(mix(seed + i) % 40) * 200;
  if (i < 2 * (uint64_t)p->ties)
    i &= ~(uint64_t)1;
  uint64_t step = (seed % 1024 * 2 + 1) * 2053;
  return (long)((i * step + (seed >> 32)) % 8192);
}

static void write_line(const struct plan *p, long benchmark, long sample) {
  long v[4];
  for (int unit = 0; unit < 4; unit++)
    v[unit] = offset(p, benchmark, unit, sample);
  /* Each benchmark has its center; side 1 is slower in one of four. */
  long center = 20000 + (long)(mix((uint64_t)benchmark) % 900000);
  long shift = p->side && benchmark % 4 == 0 ? center / 50 : 0;
  printf("BenchmarkSuite%02ld/case=%04ld/size=%ld-8 \t %7ld\t %7ld.%01ld ns/op\t %6ld.%02ld MB/s"
         "\t %7ld B/op\t %5ld allocs/op\n",
         benchmark / 100, benchmark, 64L << benchmark % 8, 1000000 - sample, center + shift + v[0],
         benchmark % 10, 900 + v[1] / 100, v[1] % 100, 4096 + v[2], 100 + v[3]);
}

int main(int argc, char **argv) {
  struct plan p = {0, 10, 2000, 0};
  long *const out[] = {&p.side, &p.samples, &p.benchmarks, &p.ties};
  for (int i = 1; i < argc && i <= 4; i++)
    *out[i - 1] = strtol(argv[i], NULL, 10);
  int rounds = argc > 5 && strcmp(argv[5], "rounds") == 0;
  if (argc < 3 || p.samples < 1 || p.benchmarks < 1 || p.side < 0 || p.side > 1) {
    fprintf(stderr, "usage: benchgen SIDE SAMPLES [BENCHMARKS [TIES [rounds]]]\n");
    return 2;
  }
  printf("goos: linux\ngoarch: amd64\npkg: example.com/suite\n");
  long outer = rounds ? p.samples : p.benchmarks, inner = rounds ? p.benchmarks : p.samples;
  for (long i = 0; i < outer; i++)
    for (long k = 0; k < inner; k++)
      write_line(&p, rounds ? k : i, rounds ? i : k);
  printf("PASS\n");
  return fflush(stdout) == 0 && !ferror(stdout) ? 0 : 3;
}
