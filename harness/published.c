/* The published tables; see published.h. Figures only. */
#include "harness/published.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct published all[] = {
    {.preset = "k8s-freelists",
     .layout = PUBLISHED_CLASSIC,
     .cpus = 32,
     .tables = {"name                               old time/op    new time/op    delta\n"
                "Compare/Pod/structured-32            64.6µs ± 8%    44.5µs ± 5%  -31.17%  "
                "(p=0.008 n=5+5)\n"
                "Compare/Pod/unstructured-32          74.9µs ± 7%    66.0µs ±43%     ~     "
                "(p=0.151 n=5+5)\n"
                "Compare/Node/structured-32            110µs ±11%      82µs ± 3%  -25.38%  "
                "(p=0.008 n=5+5)\n"
                "Compare/Node/unstructured-32          126µs ± 5%     105µs ± 6%  -16.28%  "
                "(p=0.008 n=5+5)\n"
                "Compare/Endpoints/structured-32      1.00ms ± 9%    0.85ms ± 6%  -14.92%  "
                "(p=0.008 n=5+5)\n"
                "Compare/Endpoints/unstructured-32    2.04ms ± 5%    1.87ms ± 6%   -8.12%  "
                "(p=0.008 n=5+5)\n",
                "name                               old alloc/op   new alloc/op   delta\n"
                "Compare/Pod/structured-32            26.1kB ± 0%    26.5kB ± 0%   +1.42%  "
                "(p=0.008 n=5+5)\n"
                "Compare/Pod/unstructured-32          59.6kB ± 0%    60.2kB ± 0%   +0.97%  "
                "(p=0.008 n=5+5)\n"
                "Compare/Node/structured-32           54.3kB ± 0%    54.4kB ± 0%   +0.21%  "
                "(p=0.008 n=5+5)\n"
                "Compare/Node/unstructured-32          106kB ± 0%     110kB ± 0%   +4.24%  "
                "(p=0.008 n=5+5)\n"
                "Compare/Endpoints/structured-32       349kB ± 0%     332kB ± 0%   -4.84%  "
                "(p=0.008 n=5+5)\n"
                "Compare/Endpoints/unstructured-32    2.04MB ± 0%    2.10MB ± 0%   +2.87%  "
                "(p=0.008 n=5+5)\n",
                "name                               old allocs/op  new allocs/op  delta\n"
                "Compare/Pod/structured-32               799 ± 0%       809 ± 0%   +1.25%  "
                "(p=0.008 n=5+5)\n"
                "Compare/Pod/unstructured-32           1.23k ± 0%     1.26k ± 0%   +2.19%  "
                "(p=0.008 n=5+5)\n"
                "Compare/Node/structured-32            1.62k ± 0%     1.63k ± 0%   +0.43%  "
                "(p=0.016 n=4+5)\n"
                "Compare/Node/unstructured-32          2.45k ± 0%     2.62k ± 0%   +7.19%  "
                "(p=0.008 n=5+5)\n"
                "Compare/Endpoints/structured-32       8.20k ± 0%     8.20k ± 0%     ~     "
                "(p=0.333 n=5+5)\n"
                "Compare/Endpoints/unstructured-32     32.4k ± 0%     37.0k ± 0%  +14.03%  "
                "(p=0.008 n=5+5)\n"},
     .why = {NULL,
             "the published old column allocates less than the same Go code does when it is built "
             "today, whose losses the old column here has",
             "the published old column has 799 to 32.4k allocations, the same Go code built today "
             "842 to 34.2k: the old column here has the losses of today's; the published new "
             "column has up to 4.6k more than the old one, which the 2 to 98 objects that the "
             "merged code loses in an op do not explain"}},
    {.preset = "nats-timers",
     .layout = PUBLISHED_CLASSIC,
     .cpus = 8,
     .tables = {"name                              old time/op    new time/op    delta\n"
                "Request-8                           43.9µs ± 5%    43.4µs ± 1%     ~     (p=0.690 "
                "n=5+5)\n"
                "OldRequest-8                        60.0µs ± 3%    57.5µs ± 2%   -4.30%  (p=0.008 "
                "n=5+5)\n",
                "name                              old alloc/op   new alloc/op   delta\n"
                "Request-8                             885B ± 0%      693B ± 0%  -21.71%  (p=0.008 "
                "n=5+5)\n"
                "OldRequest-8                        2.63kB ± 0%    2.44kB ± 0%   -7.27%  (p=0.000 "
                "n=5+4)\n",
                "name                              old allocs/op  new allocs/op  delta\n"
                "Request-8                             17.0 ± 0%      14.0 ± 0%  -17.65%  (p=0.008 "
                "n=5+5)\n"
                "OldRequest-8                          55.0 ± 0%      52.0 ± 0%   -5.45%  (p=0.008 "
                "n=5+5)\n"},
     .why = {"an op wakes a thread six or seven times, beside which three allocations are little",
             NULL, NULL}},
    {.preset = "diderot-maps",
     .why_until_trimmed = true,
     .layout = PUBLISHED_TEXT,
     .cpus = 8,
     .tables = {"                      │     old      │                 new                 │\n"
                "                      │    sec/op    │   sec/op     vs base                │\n"
                "Handlers/____1_subs-8   125.8n ± 12%   125.2n ± 9%        ~ (p=0.670 n=10)\n"
                "Handlers/___10_subs-8   1.965µ ±  3%   1.921µ ± 3%   -2.21% (p=0.030 n=10)\n"
                "Handlers/__100_subs-8   20.72µ ±  5%   20.74µ ± 4%        ~ (p=0.869 n=10)\n"
                "Handlers/_1000_subs-8   221.4µ ± 15%   243.8µ ± 8%  +10.10% (p=0.029 n=10)\n"
                "Handlers/10000_subs-8   2.491m ±  5%   2.591m ± 4%        ~ (p=0.165 n=10)\n"
                "geomean                 19.51µ         19.94µ        +2.22%\n",
                "                      │     old      │                  new                  │\n"
                "                      │     B/op     │     B/op      vs base                 │\n"
                "Handlers/____1_subs-8     128.0 ± 0%     128.0 ± 0%       ~ (p=1.000 n=10) ¹\n"
                "Handlers/___10_subs-8   1.250Ki ± 0%   1.254Ki ± 0%  +0.31% (p=0.000 n=10)\n"
                "Handlers/__100_subs-8   12.50Ki ± 0%   12.70Ki ± 0%  +1.57% (p=0.000 n=10)\n"
                "Handlers/_1000_subs-8   125.4Ki ± 0%   132.5Ki ± 1%  +5.67% (p=0.000 n=10)\n"
                "Handlers/10000_subs-8   1.258Mi ± 0%   1.334Mi ± 2%  +5.98% (p=0.000 n=10)\n"
                "geomean                 12.58Ki        12.92Ki       +2.67%\n"
                "¹ all samples are equal\n",
                "                      │     old     │                 new                 │\n"
                "                      │  allocs/op  │  allocs/op   vs base                │\n"
                "Handlers/____1_subs-8    1.000 ± 0%    1.000 ± 0%       ~ (p=1.000 n=10) ¹\n"
                "Handlers/___10_subs-8    10.00 ± 0%    10.00 ± 0%       ~ (p=1.000 n=10) ¹\n"
                "Handlers/__100_subs-8    100.0 ± 0%    100.0 ± 0%       ~ (p=1.000 n=10) ¹\n"
                "Handlers/_1000_subs-8   1.002k ± 0%   1.003k ± 0%  +0.10% (p=0.005 n=10)\n"
                "Handlers/10000_subs-8   10.23k ± 0%   10.24k ± 0%       ~ (p=0.402 n=10)\n"
                "geomean                  100.5         100.5       +0.05%\n"
                "¹ all samples are equal\n"},
     .why = {"of five rows, two were published with p of 0.03: no correction for five tests would "
             "keep them",
             "there, each garbage collection empties the pool, and maps grow anew; here nothing "
             "does without --trim (10ms will do)",
             "there, maps that grow anew after a garbage collection allocate; here nothing empties "
             "the pool without --trim (10ms will do)"}},
};

const struct published *published_find(const char *preset) {
  for (size_t i = 0; preset && i < sizeof all / sizeof all[0]; i++)
    if (strcmp(all[i].preset, preset) == 0)
      return &all[i];
  return NULL;
}

/* "(p=0.008 n=5+4)" or "(p=0.030 n=10)". */
static void read_test(const char *text, struct published_row *row) {
  int n = sscanf(text, "(p=%lf n=%u+%u)", &row->p, &row->n1, &row->n2);
  if (n == 2)
    row->n2 = row->n1;
  else if (n != 3)
    row->p = row->n1 = row->n2 = 0;
}

/* The word before the test: "~" or "-31.17%". */
static void read_delta(const char *line, const char *test, struct published_row *row) {
  const char *end = test;
  while (end > line && end[-1] == ' ')
    end--;
  const char *word = end;
  while (word > line && word[-1] != ' ')
    word--;
  row->delta = *word == '~' ? 0 : strtod(word, NULL) / 100;
  row->sign = (row->delta > 0) - (row->delta < 0);
}

/* "64.6µs ± 8%    44.5µs ±43%": both, up to the test. */
static double read_spread(const char *line, const char *test) {
  static const char sign[] = "±";
  double percent = 0;
  for (const char *at = line; (at = strstr(at, sign)) != NULL && at < test;) {
    at += sizeof sign - 1;
    percent += strtod(at, NULL);
  }
  return percent / 100;
}

bool published_read(const char *line, size_t length, struct published_row *row) {
  char text[300];
  if (length >= sizeof text)
    return false;
  snprintf(text, sizeof text, "%.*s", (int)length, line);
  const char *test = strstr(text, "(p=");
  *row = (struct published_row){.sign = 0};
  if (!test || sscanf(text, "%63s", row->name) != 1)
    return false;
  read_delta(text, test, row);
  row->spread = read_spread(text, test);
  read_test(test, row);
  return true;
}

/* The most extreme of all arrangements has 1 of C(n1 + n2, n1); p is printed to three digits. */
bool published_p_possible(const struct published_row *row) {
  double arrangements = 1;
  for (unsigned i = 1; i <= row->n1; i++)
    arrangements *= (double)(row->n2 + i) / i;
  return row->n1 == 0 || row->p + 0.0005 >= 1 / arrangements;
}
