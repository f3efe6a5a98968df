/*
 * The report on a run written by hand: figures, sentences and files are checked against numbers
 * worked out here, not by the code under test.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/gnuplot.h"
#include "harness/report.h"
#include "harness/wrap.h"

#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

struct place {
  char folder[64];
  char *text; /* of the last read_file or print */
};

static int make_place(void **state) {
  struct place *p = calloc(1, sizeof *p);
  if (!p)
    return -1;
  snprintf(p->folder, sizeof p->folder, "/tmp/poolbench-report.XXXXXX");
  *state = p;
  return mkdtemp(p->folder) ? 0 : -1;
}

static int remove_place(void **state) {
  struct place *p = *state;
  char command[100];
  snprintf(command, sizeof command, "rm -rf '%s'", p->folder);
  int status = system(command);
  free(p->text);
  free(p);
  return status;
}

static void write_file(const struct place *p, const char *name, const char *text) {
  char path[200];
  snprintf(path, sizeof path, "%s/%s", p->folder, name);
  FILE *f = fopen(path, "w");
  assert_non_null(f);
  assert_true(fputs(text, f) >= 0);
  assert_int_equal(fclose(f), 0);
}

static const char *read_file(struct place *p, const char *name) {
  char path[200];
  snprintf(path, sizeof path, "%s/%s", p->folder, name);
  FILE *f = fopen(path, "r");
  if (!f)
    fail_msg("%s is not there", path);
  free(p->text);
  p->text = calloc(1, 1 << 16);
  assert_non_null(p->text);
  size_t n = fread(p->text, 1, (1 << 16) - 1, f);
  p->text[n] = '\0';
  fclose(f);
  return p->text;
}

static bool exists(const struct place *p, const char *name) {
  char path[200];
  snprintf(path, sizeof path, "%s/%s", p->folder, name);
  return access(path, F_OK) == 0;
}

static void assert_holds(const char *text, const char *part) {
  if (!strstr(text, part))
    fail_msg("\"%s\" is not in:\n%s", part, text);
}

/*
 * Two cases, three strategies, eight rounds at 4 threads and a sweep of 1 thread. In Case/a fast
 * takes half and slow twice of malloc's time, in Case/b fast is within its noise.
 */
static const double noise[8] = {1.00, 1.01, 0.99, 1.02, 0.98, 1.005, 0.995, 1.015};

static void write_sample(FILE *f, const char *row, const char *strategy, int threads, int round,
                         double ns, bool every_unit) {
  bool pool = strcmp(strategy, "malloc") != 0, locked = strcmp(strategy, "slow") == 0;
  fprintf(f, "# run beef round %d seq %d\n", round, round);
  if (every_unit && (round == 3 || round == 4) && locked && threads == 4)
    fputs("# flag foreign-cpu 9 % of the CPU\n", f);
  fprintf(f, "Benchmark%s/strategy=%s-%d\t100\t%.6g ns/op\t%d B/op\t%d allocs/op", row, strategy,
          threads, ns, pool ? 600 : 1000, pool ? 6 : 10);
  if (every_unit)
    fprintf(f, "\t%.6g cpu-ns/op\t%d lockacq/op\t%d contended/op\t%d lockwait-ns/op\t%d pooled-B",
            1.9 * ns, locked ? 40 : 0, locked ? 10 : 0, locked ? 1500 : 0, pool ? 2048 : 0);
  if (every_unit)
    fprintf(f, "\t%d live-peak-B\t1572864 rss-peak-B", pool ? 6144 : 4096);
  if (every_unit)
    fprintf(f, "\t%.9g p50-ns\t%.9g p99-ns\t2.5 timed-%%", 0.45 * ns, 7 * ns);
  if (every_unit && round <= 3)
    fprintf(f, "\t%d shared-lines-%%", locked ? 12 : 0);
  fputc('\n', f);
}

static void write_samples(const struct place *p, const char *name, bool every_unit, bool sweep) {
  static const char *const strategies[] = {"malloc", "fast", "slow"};
  static const double ratio[2][3] = {{1, 0.5, 2}, {1, 1.003, 2}};
  char path[200];
  snprintf(path, sizeof path, "%s/%s", p->folder, name);
  FILE *f = fopen(path, "w");
  assert_non_null(f);
  fputs("goos: linux\ngoarch: amd64\ncpu: test\nallocator: glibc 2.36\n", f);
  for (int round = 1; round <= 8; round++)
    for (int row = 0; row < 2; row++)
      for (int s = 0; s < 3; s++) {
        double ns = 1000 * (row + 1) * ratio[row][s] * noise[(round + s) % 8];
        if (sweep)
          write_sample(f, row ? "Case/b" : "Case/a", strategies[s], 1, round, 2 * ns, every_unit);
        write_sample(f, row ? "Case/b" : "Case/a", strategies[s], 4, round, ns, every_unit);
      }
  assert_int_equal(fclose(f), 0);
}

static const char run_json[] =
    "{\"version\": 1, \"id\": \"beef\", \"started\": 1796061600,"
    " \"command\": [\"run\", \"--cpus\", \"4\", \"--cases\", \"Case/*\", \"--out\", \"it's\"],"
    " \"program\": {\"compiler\": \"gcc 12.2.0\"},"
    " \"host\": {\"name\": \"box\", \"cpu_model\": \"Test CPU\", \"kernel\": \"Linux 6.1\"},"
    " \"binding\": {\"cpus\": 2, \"line\": \"4 threads on 2 CPUs (2 a CPU, oversubscribed)\","
    " \"policy\": \"core\", \"map\": \"threads in order on CPUs 0,1; first touch on NUMA node 0\"},"
    " \"preset\": null, \"plan\": {\"seed\": \"18446744073709551615\", \"notes\": [\"a note\"],"
    " \"skipped\": [{\"case\": \"Case/b\", \"strategy\": \"arena\", \"why\": \"outlives\"},"
    " {\"case\": \"Case/c\", \"strategy\": \"arena\", \"why\": \"outlives\"},"
    " {\"case\": \"Case/c\", \"strategy\": \"null\", \"why\": \"outlives\"}]},"
    " \"failed\": [{\"name\": \"BenchmarkCase/a/strategy=slow-4\", \"round\": 5, \"what\":"
    " \"crash\", \"why\": \"signal 11\"}],"
    " \"facts\": {\"counters-multiplexed\": \"two of four\"},"
    " \"missing\": {\"PAPI_TOT_CYC/op\": \"no counters\", \"PAPI_TOT_INS/op\": \"no counters\"}}";

static int make_run(void **state) {
  if (make_place(state) != 0)
    return -1;
  struct place *p = *state;
  write_samples(p, "samples.txt", false, false);
  write_samples(p, "detail.txt", true, true);
  write_file(p, "run.json", run_json);
  return 0;
}

static void load(struct report *r, const struct place *p) {
  struct error e;
  if (!report_load(r, p->folder, &e))
    fail_msg("%s", e.text);
}

/* --- Loading. */

static void cells_are_found_by_row_column_and_threads(void **state) {
  struct report r;
  load(&r, *state);
  const struct rundata *d = &r.data;
  assert_int_equal(d->rows.count, 2);
  assert_string_equal(d->rows.names[0], "Case/a");
  assert_int_equal(d->columns.count, 3);
  assert_string_equal(d->columns.names[0], "malloc");
  assert_int_equal(d->count_count, 2);
  assert_int_equal(d->counts[0], 1);
  assert_int_equal(d->headline, 4);
  /* The middle two of 1000 x noise are 1000 and 1005. */
  double median;
  assert_true(rundata_median(d, rundata_cell(d, 0, 0, 4), "ns/op", &median));
  assert_true(fabs(median - 1002.5) < 1e-6);
  assert_true(rundata_headline(d, 0, 0) == rundata_cell(d, 0, 0, 4));
  assert_null(rundata_cell(d, 0, 0, 2));
  assert_false(rundata_median(d, rundata_cell(d, 0, 0, 4), "p999-ns", &median));
  report_free(&r);
}

static void builds_become_columns_and_strategies_rows(void **state) {
  struct place *p = *state;
  write_file(p, "detail.txt",
             "BenchmarkC/strategy=malloc/build=base-2\t1\t100 ns/op\n"
             "BenchmarkC/strategy=malloc/build=new-2\t1\t90 ns/op\n"
             "BenchmarkC/strategy=lock:kind=ticket/build=base-2\t1\t100 ns/op\n");
  struct report r;
  load(&r, p);
  assert_int_equal(r.data.columns.count, 2);
  assert_string_equal(r.data.columns.names[1], "new");
  assert_string_equal(r.data.rows.names[1], "C/lock:kind=ticket");
  report_free(&r);
}

static void disciplines_and_allocators_that_vary_stand_in_names(void **state) {
  struct place *p = *state;
  write_file(p, "detail.txt",
             "allocator: glibc 2.36\n"
             "BenchmarkC/strategy=a/discipline=leaky-2\t1\t100 ns/op\n"
             "BenchmarkC/strategy=a-2\t1\t90 ns/op\n"
             "allocator: jemalloc 5.3.0\n"
             "BenchmarkC/strategy=a-2\t1\t80 ns/op\n");
  struct report r;
  load(&r, p);
  assert_string_equal(r.data.columns.names[0], "a+leaky");
  assert_string_equal(r.data.columns.names[1], "a");
  assert_string_equal(r.data.rows.names[0], "C@glibc");
  assert_string_equal(r.data.rows.names[1], "C@jemalloc");
  report_free(&r);
}

/* As long as a file of somebody else may have them: neither cut nor taken for one another. */
static void names_may_have_any_length(void **state) {
  struct place *p = *state;
  static char case_name[701], discipline[401], text[8000], row[1200];
  memset(case_name, 'c', sizeof case_name - 1);
  memset(discipline, 'd', sizeof discipline - 1);
  snprintf(text, sizeof text,
           "Benchmark%s/strategy=a/discipline=%s/build=x-2\t1\t100 ns/op\n"
           "Benchmark%s/strategy=a/discipline=%s1/build=x-2\t1\t100 ns/op\n"
           "Benchmark%s/strategy=a/build=y-2\t1\t90 ns/op\n",
           case_name, discipline, case_name, discipline, case_name);
  write_file(p, "detail.txt", text);
  struct report r;
  load(&r, p);
  snprintf(row, sizeof row, "%s/a+%s1", case_name, discipline);
  assert_int_equal(r.data.rows.count, 3);
  assert_string_equal(r.data.rows.names[1], row);
  assert_string_equal(r.data.columns.names[1], "y");
  report_free(&r);
}

static void a_pace_of_trims_is_no_row_of_its_own(void **state) {
  struct place *p = *state;
  write_file(p, "detail.txt",
             "BenchmarkC/a/strategy=x/discipline=leaky/trim=10ms-2\t1\t100 ns/op\n"
             "BenchmarkC/a/strategy=y/trim=10ms-2\t1\t100 ns/op\n");
  struct report r;
  load(&r, p);
  assert_int_equal(r.data.rows.count, 1);
  assert_string_equal(r.data.rows.names[0], "C/a");
  assert_string_equal(r.data.columns.names[0], "x+leaky");
  report_free(&r);
}

static void refused(struct place *p, const char *folder, enum exit_status status,
                    const char *says) {
  struct report r;
  struct error e;
  (void)p;
  assert_false(report_load(&r, folder, &e));
  assert_int_equal(e.status, status);
  assert_holds(e.text, says);
  report_free(&r);
}

static void what_is_no_run_is_refused_by_name(void **state) {
  struct place *p = *state;
  char path[200];
  refused(p, "/nowhere/run", EXIT_INPUT, "/nowhere/run");
  refused(p, p->folder, EXIT_INPUT, "detail.txt");
  write_file(p, "detail.txt", "goos: linux\n");
  refused(p, p->folder, EXIT_NOTHING, "no samples");
  snprintf(path, sizeof path, "%s/detail.txt", p->folder);
  refused(p, path, EXIT_INPUT, "not a run's folder");
  write_file(p, "detail.txt",
             "BenchmarkC/strategy=a-2\t1\t100 ns/op\nBenchmarkC/strategy=a-2\t1\tNaN ns/op\n");
  refused(p, p->folder, EXIT_INPUT, "detail.txt:2");
  write_file(p, "detail.txt", "BenchmarkC/strategy=a-2\t1\t100 ns/op\n");
  write_file(p, "run.json", "{\"version\": 1,\n");
  refused(p, p->folder, EXIT_INPUT, "run.json:");
}

static void an_unfinished_round_counts_and_its_cut_line_does_not(void **state) {
  struct place *p = *state;
  write_file(p, "detail.txt", "BenchmarkC/strategy=a-2\t1\t100 ns/op\n");
  write_file(p, "round.part",
             "BenchmarkC/strategy=a-2\t1\t120 ns/op\nBenchmarkC/strategy=a-2\t1\t13");
  struct report r;
  load(&r, p);
  assert_true(r.data.partial);
  const struct rundata_values *v = rundata_unit(&r.data, &r.data.cells[0], "ns/op");
  assert_int_equal(v->n, 2);
  report_free(&r);
}

/* A kill after detail.txt was renamed and before round.part was removed leaves samples in both. */
static void a_sample_that_both_files_hold_counts_once(void **state) {
  struct place *p = *state;
  write_file(p, "detail.txt", "# run beef round 1 seq 1\nBenchmarkC/strategy=a-2\t1\t100 ns/op\n");
  write_file(p, "round.part",
             "# run beef round 1 seq 1\nBenchmarkC/strategy=a-2\t1\t100 ns/op\n"
             "# run beef round 2 seq 1\nBenchmarkC/strategy=a-2\t1\t120 ns/op\n");
  struct report r;
  load(&r, p);
  const struct rundata_values *v = rundata_unit(&r.data, &r.data.cells[0], "ns/op");
  assert_int_equal(v->n, 2);
  assert_true(fabs(v->values[1] - 120) < 1e-6);
  report_free(&r);
}

static void a_fifo_is_not_waited_for(void **state) {
  struct place *p = *state;
  char path[200];
  snprintf(path, sizeof path, "%s/run.json", p->folder);
  assert_int_equal(mkfifo(path, 0666), 0);
  write_file(p, "detail.txt", "BenchmarkC/strategy=a-2\t1\t100 ns/op\n");
  refused(p, p->folder, EXIT_INPUT, "run.json: not a file but a FIFO");
}

/* --- Verdicts and words. */

static void verdicts_follow_from_the_samples(void **state) {
  struct report r;
  load(&r, *state);
  struct verdict_tally fast = verdicts_tally(&r.verdicts, VERDICT_NS, 1);
  assert_int_equal(fast.rows, 2);
  assert_int_equal(fast.better, 1);
  assert_int_equal(fast.same, 1); /* +0.3 % with 1 % noise lies inside 3 % */
  assert_true(fabs(fast.best_low - -0.5) < 0.02);
  struct verdict_tally slow = verdicts_tally(&r.verdicts, VERDICT_NS, 2);
  assert_int_equal(slow.worse, 2);
  /* 600 of 1000 bytes in every sample: exact, -40 %. */
  struct verdict_tally bytes = verdicts_tally(&r.verdicts, VERDICT_BYTES, 1);
  assert_int_equal(bytes.better, 2);
  assert_true(fabs(bytes.best_low - -0.4) < 1e-9);
  report_free(&r);
}

typedef void writer(const struct report *, const char *, const char *, FILE *);

static const char *said(struct place *p, writer *write, const struct report *r) {
  size_t size;
  free(p->text);
  p->text = NULL;
  FILE *memory = open_memstream(&p->text, &size);
  assert_non_null(memory);
  write(r, "`", "- ", memory);
  fclose(memory);
  return p->text;
}

static void findings_say_how_many_and_how_much(void **state) {
  struct place *p = *state;
  struct report r;
  load(&r, p);
  const char *text = said(p, report_findings, &r);
  assert_holds(text, "- Time per op against `malloc`: `fast` faster in 1 of 2 (-50");
  assert_holds(text, "the same in 1; `slow` slower in 2 of 2 (+");
  assert_holds(text, "- Allocations per op against `malloc`: `fast` fewer in 2 of 2 (-40.0 %); "
                     "`slow` fewer in 2 of 2 (-40.0 %).\n");
  report_free(&r);
}

static void too_few_rounds_for_the_family_are_said(void **state) {
  struct place *p = *state;
  /* 3 rounds: p is at least 2 / C(6, 3) = 0.1. Alone it is decided from 4 rounds on: 2 / C(8, 4).
   */
  write_file(p, "detail.txt",
             "BenchmarkC/strategy=a-2\t1\t100 ns/op\nBenchmarkC/strategy=a-2\t1\t101 ns/op\n"
             "BenchmarkC/strategy=a-2\t1\t102 ns/op\nBenchmarkC/strategy=b-2\t1\t200 ns/op\n"
             "BenchmarkC/strategy=b-2\t1\t201 ns/op\nBenchmarkC/strategy=b-2\t1\t202 ns/op\n");
  struct report r;
  load(&r, p);
  const char *text = said(p, report_undecided, &r);
  assert_holds(text, "the smallest p of so few rounds, 0.1, times 1 row is above 0.05");
  assert_holds(text, "(--rounds 4)");
  assert_holds(text,
               "- `C` `b`: +99.0 % (so few rounds give no interval); a change of 3 % would take "
               "4 rounds\n");
  assert_null(strstr(text, "would decide")); /* a change of 99 % does not take more than these 4 */
  report_free(&r);
}

static void more_rounds_do_not_finish_a_cell(void **state) {
  struct place *p = *state;
  char text[1000] = "";
  for (int i = 0; i < 4; i++)
    strcat(text, "BenchmarkC/strategy=a-2\t1\t100 ns/op\n");
  for (int i = 0; i < 2; i++)
    strcat(text, "# run beef round 1 seq 1\n# flag bound did not finish in 8.0 s\n"
                 "BenchmarkC/strategy=spin-2\t1\t1e8 ns/op\n");
  write_file(p, "detail.txt", text);
  struct report r;
  load(&r, p);
  assert_holds(said(p, report_undecided, &r),
               "- `C` `spin`: > +99999900.0 %, as it did not finish in its time limit; more rounds "
               "do not help\n");
  report_free(&r);
}

/*
 * 5 rounds: p is at least 2 / C(10, 5) = 0.0079, which Holm carries over 4 rows and not over 8. The
 * rows of two workloads answer two questions.
 */
static void each_workload_is_a_family(void **state) {
  struct place *p = *state;
  char path[200];
  snprintf(path, sizeof path, "%s/detail.txt", p->folder);
  FILE *f = fopen(path, "w");
  assert_non_null(f);
  for (int round = 1; round <= 5; round++)
    for (int row = 0; row < 8; row++)
      for (int fast = 0; fast < 2; fast++)
        fprintf(f, "Benchmark%s/%d/strategy=%s-2\t1\t%d ns/op\n", row < 4 ? "Compare" : "Micro",
                row % 4, fast ? "fast" : "malloc", (fast ? 1000 : 2000) + round + row);
  assert_int_equal(fclose(f), 0);
  struct report r;
  load(&r, p);
  assert_int_equal(r.verdicts.family_count, 2);
  assert_string_equal(r.verdicts.families[0].workload, "compare");
  assert_string_equal(r.verdicts.families[1].workload, "micro");
  assert_int_equal(r.verdicts.families[1].rows, 4);
  assert_holds(said(p, report_findings, &r), "`fast` faster in 8 of 8");
  assert_null(strstr(said(p, report_undecided, &r), "no row of ns/op"));
  report_free(&r);
}

static void caveats_name_everything_that_casts_doubt(void **state) {
  struct place *p = *state;
  struct report r;
  load(&r, p);
  const char *text = said(p, report_caveats, &r);
  assert_holds(text, "- oversubscribed: 4 threads on 2 CPUs");
  assert_holds(text, "- foreign-cpu: 4 samples in 2 cells (`Case/a/strategy=slow-4` ...)");
  assert_holds(text, "- failed: `Case/a/strategy=slow-4` in round 5: crash, signal 11\n");
  assert_holds(text, "- skipped: `Case/b` and 1 more under `arena`, outlives\n"
                     "- skipped: `Case/c` under `null`, outlives\n");
  assert_holds(text, "- PAPI_TOT_CYC/op, PAPI_TOT_INS/op: not measured, no counters\n");
  assert_holds(text, "- event counters took turns, two of four\n");
  assert_holds(text, "- a note\n");
  report_free(&r);
}

static void the_contention_table_shows_what_exists(void **state) {
  struct place *p = *state;
  struct report r;
  load(&r, p);
  struct grid g;
  assert_true(report_contention(&r, false, &g));
  size_t size;
  FILE *memory = open_memstream(&p->text, &size);
  grid_print(&g, "", memory);
  fclose(memory);
  /* Nothing was blocked or scanned, so there is no such column; 10 of 40 is 25 %. */
  assert_holds(p->text, "             CPU  locks  contended  lock wait\n"
                        "Case/a\n"
                        "  malloc  1.90µs      0          -          0\n"
                        "  fast     952ns      0          -          0\n"
                        "  slow    3.81µs     40      25.0%     1.50µs\n");
  grid_free(&g);
  report_free(&r);
}

static void the_footprint_table_shows_who_holds_what(void **state) {
  struct place *p = *state;
  struct report r;
  load(&r, p);
  struct grid g;
  assert_true(report_has_footprint(&r));
  assert_true(report_footprint(&r, false, &g));
  size_t size;
  FILE *memory = open_memstream(&p->text, &size);
  grid_print(&g, "", memory);
  fclose(memory);
  /* This allocator does not tell what it holds. */
  assert_holds(p->text, "          live peak   pooled  RSS peak\n"
                        "Case/a\n"
                        "  malloc    4.00KiB        0   1.50MiB\n"
                        "  fast      6.00KiB  2.00KiB   1.50MiB\n");
  grid_free(&g);
  report_free(&r);
}

/* The median of the noise is 1.0025: p50 is 0.45 and p99 seven times of 1002.5 ns under malloc. */
static void the_latency_table_shows_percentiles(void **state) {
  struct place *p = *state;
  struct report r;
  load(&r, p);
  struct grid g;
  assert_true(report_has_latency(&r));
  assert_true(report_latency(&r, false, &g));
  size_t size;
  FILE *memory = open_memstream(&p->text, &size);
  grid_print(&g, "", memory);
  fclose(memory);
  assert_holds(p->text, "             p50     p99  ops timed  shared lines\n"
                        "Case/a\n"
                        "  malloc   451ns  7.02µs      2.50%             0\n"
                        "  fast     226ns  3.51µs      2.50%             0\n"
                        "  slow     902ns  14.0µs      2.50%         12.0%\n");
  assert_holds(report_latency_remark(&r), "scheduler"); /* 4 threads on 2 CPUs */
  r.facts.cpus = 4;
  assert_string_equal(report_latency_remark(&r), "");
  grid_free(&g);
  report_free(&r);
}

/*
 * Under a one sample of three is too short for a p99.9: the median of the others', 80, would stand
 * beside a median of the longest ops of 80, and above it had the third been shorter.
 */
static void figures_of_latency_do_not_fall_from_left_to_right(void **state) {
  struct place *p = *state;
  struct report r;
  struct grid g;
  size_t size;
  write_file(p, "detail.txt",
             "BenchmarkC/strategy=a-2\t1\t9 ns/op\t5 p50-ns\t20 p90-ns\t90 p999-ns\t100 max-ns\n"
             "BenchmarkC/strategy=a-2\t1\t9 ns/op\t6 p50-ns\t11 p90-ns\t20 max-ns\n"
             "BenchmarkC/strategy=a-2\t1\t9 ns/op\t7 p50-ns\t12 p90-ns\t70 p999-ns\t80 max-ns\n"
             "BenchmarkC/strategy=b-2\t1\t9 ns/op\t5 p50-ns\t20 p90-ns\t30 p999-ns\t40 max-ns\n");
  load(&r, p);
  assert_true(report_latency(&r, false, &g));
  FILE *memory = open_memstream(&p->text, &size);
  assert_non_null(memory);
  grid_print(&g, "", memory);
  fclose(memory);
  grid_free(&g);
  assert_string_equal(p->text, "        p50     p90   p99.9  longest\n"
                               "C\n"
                               "  a  6.00ns  12.0ns       -    100ns\n"
                               "  b  5.00ns  20.0ns  30.0ns   40.0ns\n");
  report_free(&r);
}

/* The text of a table within a width; the caller frees it. */
static char *within(const struct grid *g, size_t width) {
  char *text = NULL;
  size_t size;
  FILE *memory = open_memstream(&text, &size);
  assert_non_null(memory);
  grid_print_within(g, "  ", width, memory);
  assert_int_equal(fclose(memory), 0);
  return text;
}

static void a_table_that_is_too_wide_comes_in_blocks(void **state) {
  (void)state;
  static const char *const texts[] = {"",    "one", "two", "three", /* a heading follows */
                                      "Row", "",    "",    "",      "  x", "10", "200", "3"};
  struct grid g;
  grid_init(&g, 4, 1);
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
    assert_true(grid_add(&g, "%s", texts[i]));
  char *whole = within(&g, 22), *cut = within(&g, 21), *single = within(&g, 1);
  assert_string_equal(whole, "       one  two  three\n"
                             "  Row\n"
                             "    x   10  200      3\n");
  assert_string_equal(cut, "       one  two\n  Row\n    x   10  200\n\n"
                           "       three\n  Row\n    x      3\n");
  assert_string_equal(single, "       one\n  Row\n    x   10\n\n"
                              "       two\n  Row\n    x  200\n\n"
                              "       three\n  Row\n    x      3\n");
  free(whole);
  free(cut);
  free(single);
  grid_free(&g);
}

static void values_have_three_digits_and_a_prefix(void **state) {
  (void)state;
  static const struct {
    enum grid_kind kind;
    double value;
    const char *text;
  } cases[] = {
      {GRID_NS, 0, "0"},
      {GRID_NS, 0.5, "0.50ns"},
      {GRID_NS, 999.4, "999ns"},
      {GRID_NS, 999.6, "1.00µs"},
      {GRID_NS, 22140, "22.1µs"},
      {GRID_NS, 3.2e12, "3200s"},
      {GRID_COUNT, 441, "441"},
      {GRID_COUNT, 1620, "1.62k"},
      {GRID_COUNT, 0.04, "0.04"},
      {GRID_COUNT, 0.00009, "0.0001"},
      {GRID_COUNT, 0.00001, "<0.0001"},
      {GRID_BYTES, 1024, "1.00KiB"},
      {GRID_BYTES, 1023, "1023B"},
      {GRID_PERCENT, 100, "100%"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    char text[GRID_VALUE];
    grid_value(cases[i].kind, cases[i].value, text);
    assert_string_equal(text, cases[i].text);
  }
}

static void sentences_are_broken_at_blanks(void **state) {
  (void)state;
  static const struct {
    const char *text, *printed;
    size_t width;
  } cases[] = {
      {"  aa bb cc\nd\n", "  aa bb\n    cc\nd\n", 8},
      {"unbreakable a", "unbreakable\n  a\n", 4},
      {"µµµ µµµ", "µµµ µµµ\n", 7}, /* characters, not bytes */
      {"", "", 10},
      {"a\n\nb\n", "a\n\nb\n", 10},
      {"aaa 12 %, b", "aaa\n  12 %,\n  b\n", 6}, /* a figure and its per cent sign */
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    char *text = NULL;
    size_t size;
    FILE *memory = open_memstream(&text, &size);
    wrap_print(cases[i].text, cases[i].width, memory);
    fclose(memory);
    assert_string_equal(text, cases[i].printed);
    free(text);
  }
}

static void sentences_are_as_wide_as_the_terminal(void **state) {
  (void)state;
  char *text = NULL, first[21];
  size_t size;
  FILE *memory = open_memstream(&text, &size);
  assert_int_equal(wrap_terminal(memory, 77), 77);
  wrap_printf(memory, "%097d %d %s\n", 1, 2, "x");
  fclose(memory);
  assert_string_equal(text + 96, "1 2\n  x\n"); /* a page */
  free(text);
  int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0)
    skip(); /* no pseudo-terminals here */
  struct winsize window = {.ws_row = 24, .ws_col = 50};
  FILE *terminal = fopen(ptsname(master), "r+e");
  assert_non_null(terminal);
  assert_int_equal(ioctl(fileno(terminal), TIOCSWINSZ, &window), 0);
  assert_int_equal(wrap_terminal(terminal, 77), 50);
  wrap_printf(terminal, "%047d %d %s\n", 1, 2, "x");
  fflush(terminal);
  char line[80] = "";
  /* What was written arrives in pieces on a busy machine. */
  for (ssize_t had = 0, n; had < 56; had += n)
    assert_true((n = read(master, line + had, sizeof line - 1 - (size_t)had)) > 0);
  snprintf(first, sizeof first, "%.20s", line + 46);
  assert_string_equal(first, "1 2\r\n  x\r\n");
  window.ws_col = 39;
  assert_int_equal(ioctl(fileno(terminal), TIOCSWINSZ, &window), 0);
  assert_int_equal(wrap_terminal(terminal, 77), 77);
  fclose(terminal);
  close(master);
}

/* --- Files. */

static int report(struct place *p, const char *option) {
  char *argv[] = {"report", p->folder, (char *)option, NULL};
  return report_main(option ? 3 : 2, argv);
}

/* What the report writes to a stream; in the file "printed" of the run's folder. */
static const char *written(struct place *p, int stream, int expected) {
  char path[200];
  snprintf(path, sizeof path, "%s/printed", p->folder);
  fflush(stdout);
  int before = dup(stream);
  FILE *f = fopen(path, "w");
  assert_true(f && before >= 0 && dup2(fileno(f), stream) >= 0);
  int status = report(p, "--no-plots");
  fflush(stdout);
  dup2(before, stream);
  close(before);
  fclose(f);
  assert_int_equal(status, expected);
  return read_file(p, "printed");
}

static const char *printed(struct place *p) {
  return written(p, STDOUT_FILENO, EXIT_DONE);
}

static void a_run_without_samples_is_told_in_one_line(void **state) {
  struct place *p = *state;
  char path[200];
  snprintf(path, sizeof path, "%s/samples.txt", p->folder);
  assert_int_equal(unlink(path), 0);
  const char *text = written(p, STDERR_FILENO, EXIT_INPUT);
  assert_holds(text, "samples.txt");
  assert_int_equal(strcspn(text, "\n") + 1, strlen(text));
}

static void only_files_that_are_there_are_listed(void **state) {
  struct place *p = *state;
  assert_null(strstr(printed(p), "sweep.txt"));
  write_file(p, "sweep.txt", read_file(p, "samples.txt"));
  assert_holds(printed(p), "for poolcmp or benchstat; sweep.txt: the other counts\n");
}

/* What stands there is replaced as a whole, not written into. */
static void a_fifo_in_a_tables_place_is_not_waited_for(void **state) {
  struct place *p = *state;
  char path[200];
  struct stat info;
  snprintf(path, sizeof path, "%s/comparison.txt", p->folder);
  assert_int_equal(mkfifo(path, 0666), 0);
  printed(p);
  assert_int_equal(stat(path, &info), 0);
  assert_true(S_ISREG(info.st_mode) && info.st_size > 0);
  assert_false(exists(p, "comparison.txt.new"));
}

static void the_review_is_complete_and_fits_a_comment(void **state) {
  struct place *p = *state;
  assert_int_equal(report(p, "--no-plots"), EXIT_DONE);
  const char *text = read_file(p, "review.md");
  assert_true(strlen(text) < 65536);
  assert_holds(text, "### `Case/*` at 4 threads, 2 strategies against `malloc`\n");
  assert_holds(text, "Test CPU, 4 threads on 2 CPUs (2 a CPU, oversubscribed), Linux 6.1. "
                     "2026-11-30 18:00 UTC, gcc 12.2.0.\n"
                     "Binding `core`: threads in order on CPUs 0,1; first touch on NUMA node 0.\n"
                     "`./run.sh --cpus 4");
  assert_holds(text, "`./run.sh --cpus 4 --cases 'Case/*' --out 'it'\\''s'`\n");
  assert_holds(text, "| Case/a | malloc |");
  assert_holds(text, "seed 18446744073709551615, run beef");
  /* All of malloc's values lie above all of fast's: exact p = 2 / C(16, 8) = 0.000155; x 4 rows. */
  assert_holds(text, "p<0.001 holm=0.001 n=8");
  assert_holds(text, "| Case/b | 1000B, 10 | 600B, 6 | 600B, 6 |\n");
  assert_false(exists(p, "plots"));
}

static void a_full_disk_leaves_the_last_report(void **state) {
  struct place *p = *state;
  struct rlimit before, limit;
  assert_int_equal(report(p, "--no-plots"), EXIT_DONE);
  char *first = strdup(read_file(p, "comparison.txt"));
  assert_non_null(first);
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
  limit = before;
  limit.rlim_cur = strlen(first) / 2;
  signal(SIGXFSZ, SIG_IGN);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
  int status = report(p, "--no-plots");
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
  signal(SIGXFSZ, SIG_DFL);
  assert_int_equal(status, EXIT_INPUT);
  assert_string_equal(read_file(p, "comparison.txt"), first);
  assert_false(exists(p, "comparison.txt.new"));
  free(first);
}

static void a_review_that_would_not_fit_leaves_tables_out_and_says_so(void **state) {
  struct place *p = *state;
  struct report r;
  size_t size = 0;
  load(&r, p);
  char *table = malloc(70001);
  assert_non_null(table);
  memset(table, 'x', 70000);
  table[70000] = '\0';
  FILE *memory = open_memstream(&p->text, &size);
  assert_non_null(memory);
  assert_true(report_review(&r, table, "old new delta\n", memory));
  fclose(memory);
  assert_true(size < 65536);
  assert_holds(p->text, "they are in comparison.txt");
  assert_holds(p->text, "```\nold new delta\n```\n");
  assert_holds(p->text, "Time per op against `malloc`");
  free(table);
  report_free(&r);
}

static void the_comparison_is_benchstats_layout_with_the_base_first(void **state) {
  struct place *p = *state;
  assert_int_equal(report(p, "--no-plots"), EXIT_DONE);
  const char *text = read_file(p, "comparison.txt");
  const char *base = strstr(text, "malloc"), *other = strstr(text, "fast");
  assert_non_null(base);
  assert_true(other && base < other);
  /* All of malloc's values lie above all of fast's: exact p = 2 / C(16, 8) = 0.000155. */
  assert_holds(text, "(p=0.000 n=8)");
  assert_holds(text, "geomean");
}

/* Eight rounds of one case; under the second allocator malloc takes half the time, fast the same.
 */
static void write_two_allocators(const struct place *p, const char *name) {
  static const char *const allocators[] = {"zz 1", "aa 2"};
  static const double ns[2][2] = {{1000, 300}, {500, 300}};
  char path[200];
  snprintf(path, sizeof path, "%s/%s", p->folder, name);
  FILE *f = fopen(path, "w");
  assert_non_null(f);
  for (int round = 1; round <= 8; round++)
    for (int a = 0; a < 2; a++) {
      fprintf(f, "allocator: %s\n", allocators[a]);
      for (int s = 0; s < 2; s++)
        write_sample(f, "Case/a", s ? "fast" : "malloc", 4, round,
                     ns[a][s] * noise[(round + a) % 8], false);
    }
  assert_int_equal(fclose(f), 0);
}

/* Is `part` in the row of Case/a, of the table under this heading? */
static bool table_row_has(const char *text, const char *heading, const char *part) {
  const char *at = strstr(text, heading);
  at = at ? strstr(at, "\nCase/a-4 ") : NULL;
  return at && memmem(at + 1, strcspn(at + 1, "\n"), part, strlen(part));
}

/* Two builds of one allocator are compared with each other, not only strategies under each. */
static void several_allocators_stand_side_by_side(void **state) {
  struct place *p = *state;
  assert_int_equal(report(p, "--no-plots"), EXIT_DONE);
  assert_null(strstr(read_file(p, "comparison.txt"), "side by side"));
  write_two_allocators(p, "samples.txt");
  write_two_allocators(p, "detail.txt");
  assert_int_equal(report(p, "--no-plots"), EXIT_DONE);
  const char *at =
      strstr(read_file(p, "comparison.txt"), "\nallocators side by side; all are called");
  assert_non_null(at);
  const char *first = strstr(at, "zz 1"), *second = strstr(at, "aa 2");
  assert_true(first && second && first < second); /* as listed: the base first */
  assert_true(table_row_has(at, "/strategy: malloc\n", "-50.00% (p=0.000 n=8)"));
  assert_true(table_row_has(at, "/strategy: fast\n", "~ (p="));
  at = strstr(read_file(p, "review.md"), "Allocators side by side; all are called");
  assert_non_null(at);
  assert_non_null(strstr(at, "lower is better - /strategy: malloc\n"));
}

static void plot_data_holds_medians_and_ratios_with_intervals(void **state) {
  struct place *p = *state;
  struct report r;
  struct error e;
  char scripts[100];
  load(&r, p);
  snprintf(scripts, sizeof scripts, "%s/scripts", p->folder);
  assert_int_equal(mkdir(scripts, 0777), 0);
  setenv("POOLBENCH_PLOTS", scripts, 1); /* no scripts there: no pictures, but the data */
  FILE *nowhere = fopen("/dev/null", "w");
  assert_true(report_plots(&r, nowhere, &e));
  fclose(nowhere);
  unsetenv("POOLBENCH_PLOTS");
  const char *text = read_file(p, "plots/curves.tsv");
  assert_holds(text, "# cpus\t2\n# threads\t4\n# confidence\t95\n# caption\tbox · Test CPU · 2 "
                     "CPUs · 2026-11-30 18:00 UTC · run beef\n"
                     "# base\tmalloc\n# series\tmalloc\n# series\tfast\n# series\tslow\n");
  /* n = 8: 1st to 7th of {980 .. 1020}; binomial(8, 1/2) leaves (1 + 9) / 256 outside, 3.9 %. */
  assert_holds(text, "Case/a\tmalloc\t4\t1002.5\t980\t1015\t8\n");
  text = read_file(p, "plots/latency.tsv");
  assert_holds(text, "Case/a\tmalloc\t0.5\t451.125\t441\t456.75\t8\n");
  assert_holds(text, "Case/a\tmalloc\t0.99\t7017.5\t6860\t7105\t8\n");
  assert_null(strstr(text, "\t0.9\t"));
  text = read_file(p, "plots/delta.tsv");
  /* Half of malloc's; no pair of samples is further off than the extremes of the noise. */
  const char *row = strstr(text, "Case/a\tfast\t");
  double ratio, low, high, least = 0.5 * 0.98 / 1.02, most = 0.5 * 1.02 / 0.98;
  assert_non_null(row);
  assert_int_equal(sscanf(row, "Case/a\tfast\t%lf\t%lf\t%lf\t", &ratio, &low, &high), 3);
  assert_true(fabs(ratio - 0.5) < 0.005);
  assert_true(least <= low && low < ratio && ratio < high && high <= most);
  assert_holds(text, "\tfaster\n");
  assert_holds(text, "Case/b\tslow\t");
  report_free(&r);
}

static void pictures_are_drawn_when_gnuplot_is_there(void **state) {
  struct place *p = *state;
  if (system("command -v gnuplot >/dev/null") != 0)
    skip();
  char command[200], scripts[100];
  snprintf(command, sizeof command, "mkdir '%s/scripts' && cp plots/*.gp '%s/scripts'", p->folder,
           p->folder);
  assert_int_equal(system(command), 0);
  snprintf(scripts, sizeof scripts, "%s/scripts", p->folder);
  setenv("POOLBENCH_PLOTS", scripts, 1);
  int status = report(p, "--plots-only");
  unsetenv("POOLBENCH_PLOTS");
  assert_int_equal(status, EXIT_DONE);
  static const char *const names[] = {"throughput", "time", "delta", "latency"};
  for (size_t i = 0; i < 4; i++) {
    char name[64];
    snprintf(name, sizeof name, "plots/%s.svg", names[i]);
    const char *svg = read_file(p, name);
    assert_holds(svg, "Case/a");
    assert_holds(svg, "</svg>");
    snprintf(name, sizeof name, "plots/%s.png", names[i]);
    assert_memory_equal(read_file(p, name), "\x89PNG\r\n\x1a\n", 8);
  }
  assert_true(exists(p, "scripts/latest/delta.svg"));
  assert_false(exists(p, "comparison.txt"));
}

static void gnuplots_own_words_are_reported(void **state) {
  struct place *p = *state;
  if (system("command -v gnuplot >/dev/null") != 0)
    skip();
  char script[100];
  struct error e;
  write_file(p, "broken.gp", "plot nonsense +\n");
  snprintf(script, sizeof script, "%s/broken.gp", p->folder);
  assert_int_equal(gnuplot_draw(script, "data", "picture.svg", &e), GNUPLOT_FAILED);
  assert_holds(e.text, "nonsense");
}

/* As on a full disk: gnuplot is content with itself, but the picture has no end. */
static void a_picture_that_is_cut_off_is_no_picture(void **state) {
  struct place *p = *state;
  static const struct {
    const char *content;
    enum gnuplot_result result;
  } pictures[] = {{"<svg>short</svg>\\n", GNUPLOT_DREW},
                  {"<svg> more than a line of a picture, whole </svg>\\n", GNUPLOT_DREW},
                  {"PNG more than a line of a picture IEND\\256B", GNUPLOT_DREW},
                  {"<svg> more than a line of a picture, cut o", GNUPLOT_FAILED},
                  {"<svg></svg> and then far more than an end", GNUPLOT_FAILED},
                  {"", GNUPLOT_FAILED}};
  char *path = strdup(getenv("PATH")), with[5000], script[300], picture[200];
  assert_non_null(path);
  snprintf(with, sizeof with, "%s:%s", p->folder, path);
  snprintf(picture, sizeof picture, "%s/picture.svg", p->folder);
  for (size_t i = 0; i < sizeof pictures / sizeof pictures[0]; i++) {
    struct error e = {0};
    snprintf(script, sizeof script, "#!/bin/sh\nprintf '%s' >\"$4\"\n", pictures[i].content);
    write_file(p, "gnuplot", script);
    snprintf(script, sizeof script, "%s/gnuplot", p->folder);
    assert_int_equal(chmod(script, 0755), 0);
    setenv("PATH", with, 1);
    enum gnuplot_result result = gnuplot_draw("any.gp", "data", picture, &e);
    setenv("PATH", path, 1);
    assert_int_equal(result, pictures[i].result);
    if (result == GNUPLOT_FAILED)
      assert_holds(e.text, "is the disk full?");
  }
  free(path);
}

static void without_gnuplot_only_the_pictures_are_missing(void **state) {
  struct place *p = *state;
  char *path = strdup(getenv("PATH"));
  assert_non_null(path);
  setenv("PATH", "/nonexistent", 1);
  int status = report(p, NULL);
  setenv("PATH", path, 1);
  free(path);
  assert_int_equal(status, EXIT_DONE);
  assert_true(exists(p, "comparison.txt"));
  assert_true(exists(p, "plots/curves.tsv"));
  assert_false(exists(p, "plots/throughput.svg"));
}

static void wrong_options_are_usage_errors(void **state) {
  struct place *p = *state;
  assert_int_equal(report(p, "--no-plot"), EXIT_USAGE);
  assert_int_equal(report(p, "another-run"), EXIT_USAGE);
  char *argv[] = {"report", NULL, NULL};
  assert_int_equal(report_main(1, argv), EXIT_USAGE);
  argv[1] = "--help";
  assert_int_equal(report_main(2, argv), EXIT_DONE);
}

#define PLACE(f) cmocka_unit_test_setup_teardown(f, make_place, remove_place)
#define WITH_RUN(f) cmocka_unit_test_setup_teardown(f, make_run, remove_place)

int main(void) {
  const struct CMUnitTest tests[] = {
      WITH_RUN(cells_are_found_by_row_column_and_threads),
      PLACE(builds_become_columns_and_strategies_rows),
      PLACE(disciplines_and_allocators_that_vary_stand_in_names),
      PLACE(names_may_have_any_length),
      PLACE(a_pace_of_trims_is_no_row_of_its_own),
      PLACE(what_is_no_run_is_refused_by_name),
      PLACE(an_unfinished_round_counts_and_its_cut_line_does_not),
      PLACE(a_sample_that_both_files_hold_counts_once),
      PLACE(a_fifo_is_not_waited_for),
      WITH_RUN(verdicts_follow_from_the_samples),
      WITH_RUN(findings_say_how_many_and_how_much),
      PLACE(too_few_rounds_for_the_family_are_said),
      PLACE(more_rounds_do_not_finish_a_cell),
      PLACE(each_workload_is_a_family),
      WITH_RUN(caveats_name_everything_that_casts_doubt),
      WITH_RUN(the_contention_table_shows_what_exists),
      WITH_RUN(the_footprint_table_shows_who_holds_what),
      WITH_RUN(the_latency_table_shows_percentiles),
      PLACE(figures_of_latency_do_not_fall_from_left_to_right),
      cmocka_unit_test(a_table_that_is_too_wide_comes_in_blocks),
      cmocka_unit_test(values_have_three_digits_and_a_prefix),
      cmocka_unit_test(sentences_are_broken_at_blanks),
      cmocka_unit_test(sentences_are_as_wide_as_the_terminal),
      WITH_RUN(a_run_without_samples_is_told_in_one_line),
      WITH_RUN(only_files_that_are_there_are_listed),
      WITH_RUN(a_fifo_in_a_tables_place_is_not_waited_for),
      WITH_RUN(a_full_disk_leaves_the_last_report),
      WITH_RUN(the_review_is_complete_and_fits_a_comment),
      WITH_RUN(a_review_that_would_not_fit_leaves_tables_out_and_says_so),
      WITH_RUN(the_comparison_is_benchstats_layout_with_the_base_first),
      WITH_RUN(several_allocators_stand_side_by_side),
      WITH_RUN(plot_data_holds_medians_and_ratios_with_intervals),
      WITH_RUN(pictures_are_drawn_when_gnuplot_is_there),
      WITH_RUN(gnuplots_own_words_are_reported),
      WITH_RUN(a_picture_that_is_cut_off_is_no_picture),
      WITH_RUN(without_gnuplot_only_the_pictures_are_missing),
      WITH_RUN(wrong_options_are_usage_errors),
  };
  return cmocka_run_group_tests_name("report", tests, NULL, NULL);
}
