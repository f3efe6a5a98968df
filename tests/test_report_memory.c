/*
 * What a report says of the memory that stays and of a preset's published tables, on runs written
 * by hand. Expected figures are worked out here.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/kept.h"
#include "harness/published.h"
#include "harness/report.h"
#include "tests/runner_fixture.h"

#include <math.h>

#define MIB 1048576.0

static void load(struct report *r) {
  struct error e;
  if (!report_load(r, scratch, &e))
    fail_msg("%s", e.text);
}

typedef void writer(const struct report *, const char *, const char *, FILE *);

/* What `write` says, to be freed. */
static char *said(writer *write, const struct report *r) {
  char *text = NULL;
  size_t size;
  FILE *memory = open_memstream(&text, &size);
  assert_non_null(memory);
  write(r, "", "", memory);
  fclose(memory);
  return text;
}

static void holds(const char *text, const char *part) {
  if (!strstr(text, part))
    fail_msg("\"%s\" is not in:\n%s", part, text);
}

/* --- series ------------------------------------------------------------------------------ */

/* One mark; bytes in MiB, time in ms. */
struct mark {
  const char *phase;
  double ms, live, pooled, rss, pinnable, ns_op;
};

static void write_series(FILE *f, const char *name, const struct mark *marks, size_t n) {
  fprintf(f, "# run beef round 1 seq 1\nBenchmark%s-8\t1", name);
  for (size_t i = 0; i < n; i++) {
    const struct mark *m = &marks[i];
    fprintf(f, "\t%.0f %s:time-ns\t%.0f %s:live-B\t%.0f %s:pooled-B\t%.0f %s:rss-B", m->ms * 1e6,
            m->phase, m->live * MIB, m->phase, m->pooled * MIB, m->phase, m->rss * MIB, m->phase);
    fprintf(f, "\t%.0f %s:pinnable-B\t%.0f %s:B/owner", m->pinnable * MIB, m->phase,
            m->live * MIB / 1024, m->phase);
    if (m->ns_op > 0)
      fprintf(f, "\t%.0f %s:ns/op", m->ns_op, m->phase);
  }
  fputc('\n', f);
}

/*
 * 1024 owners. `owned` keeps 80 of 100 MiB, a trim frees all of `pool`, `malloc` keeps nothing.
 * Of owned's 110 MiB of RSS over the start 4 belong to somebody, 76 are pooled; of the other 30 it
 * gave back 12 when asked, and its live blocks can pin 10 of the 18 that stayed.
 */
static const struct mark owned[] = {
    {"start", 0, 0, 0, 6, 0, 0},
    {"burst", 100, 100, 40, 116, 9, 0},
    {"after-burst", 200, 80, 76, 126, 10, 0},
    {"trickle-untrimmed", 300, 80, 76, 126, 10, 30000},
    {"trim-1", 400, 80, 76, 126, 10, 0},
    {"trim-2", 500, 80, 76, 126, 10, 0},
    {"idle-1-s", 1500, 80, 76, 126, 10, 0},
    {"idle-5-s", 5500, 80, 76, 116, 10, 0},
    {"trickle-trimmed", 5600, 80, 76, 118, 10, 31000},
    {"released", 5700, 80, 76, 106, 10, 0},
};
static const struct mark pool[] = {
    {"start", 0, 0, 0, 6, 0, 0},
    {"burst", 100, 60, 1, 66, 9, 0},
    {"after-burst", 200, 40, 40, 56, 1, 0},
    {"trickle-untrimmed", 300, 40, 40, 56, 1, 20000},
    {"trim-1", 400, 40, 40, 56, 1, 0},
    {"trim-2", 500, 0, 0, 26, 0, 0},
    {"idle-5-s", 5500, 0, 0, 26, 0, 0},
    {"trickle-trimmed", 5600, 0, 0, 26, 0, 1000},
};
static const struct mark plain[] = {
    {"start", 0, 0, 0, 6, 0, 0},
    {"burst", 100, 60, 0, 66, 9, 0},
    {"after-burst", 200, 0, 0, 6, 0, 0},
    {"trickle-untrimmed", 300, 0, 0, 6, 0, 1200},
    {"trim-2", 500, 0, 0, 6, 0, 0},
    {"idle-5-s", 5500, 0, 0, 7, 0, 0},
    {"trickle-trimmed", 5600, 0, 0, 7, 0, 1100},
};
#define COUNT(a) (sizeof(a) / sizeof(a)[0])

static FILE *create(const char *name) {
  FILE *f = fopen(scratch_path(name), "w");
  assert_non_null(f);
  return f;
}

static int open_series(void **state) {
  if (scratch_open(state) != 0)
    return -1;
  FILE *f = create("detail.txt");
  write_series(f, "Idle/all/strategy=malloc", plain, COUNT(plain));
  write_series(f, "Idle/all/strategy=pool", pool, COUNT(pool));
  write_series(f, "Idle/all/strategy=owned", owned, COUNT(owned));
  fclose(f);
  return 0;
}

#define NEAR(value, expected) assert_true(fabs((value) - (expected)) < 1e-6)

static void what_stays_is_told_by_cause(void **state) {
  (void)state;
  struct report r;
  struct kept k;
  load(&r);
  assert_true(kept_of(&r.data, rundata_headline(&r.data, 0, 2), &k));
  NEAR(k.live[KEPT_PEAK], 100 * MIB);
  NEAR(k.live[KEPT_TRIM_1], 80 * MIB);
  NEAR(k.live[KEPT_IDLE], 80 * MIB);
  NEAR(k.rss_peak, 126 * MIB); /* the drain's, which follows the burst's mark */
  NEAR(k.rss_idle, 116 * MIB); /* the longest wait's */
  NEAR(k.share, 100 * 110.0 / 120);
  NEAR(k.stays, 110 * MIB);
  NEAR(k.in_use, 4 * MIB);
  NEAR(k.pooled, 76 * MIB);
  NEAR(k.fragmented, 10 * MIB);
  NEAR(k.cache, 20 * MIB);
  NEAR(k.per_owner, 80 * MIB / 1024);
  /* Nothing is live, so nothing is pinned, though no allocator was asked. */
  assert_true(kept_of(&r.data, rundata_headline(&r.data, 0, 1), &k));
  NEAR(k.cache, 20 * MIB);
  NEAR(k.fragmented, 0);
  /* What goes back on request is no fragmentation, however much could be. */
  report_free(&r);
}

static void what_goes_back_when_asked_is_cache(void **state) {
  (void)state;
  struct mark m[COUNT(owned)];
  struct report r;
  struct kept k;
  memcpy(m, owned, sizeof owned);
  m[7].pinnable = 50;
  m[9].rss = 91; /* 27 of the 30 went */
  FILE *f = create("detail.txt");
  write_series(f, "Idle/all/strategy=owned", m, COUNT(m));
  fclose(f);
  load(&r);
  assert_true(kept_of(&r.data, rundata_headline(&r.data, 0, 0), &k));
  NEAR(k.fragmented, 3 * MIB);
  NEAR(k.cache, 27 * MIB);
  report_free(&r);
}

static void what_the_series_lacks_is_no_number(void **state) {
  (void)state;
  struct report r;
  struct kept k;
  load(&r);
  assert_true(kept_of(&r.data, rundata_headline(&r.data, 0, 0), &k));
  assert_true(isnan(k.live[KEPT_TRIM_1]));
  assert_true(isnan(k.stall));
  assert_false(kept_of(&r.data, NULL, &k));
  report_free(&r);
}

static void the_table_shows_each_stage(void **state) {
  (void)state;
  struct report r;
  struct grid g;
  char *text = NULL;
  size_t size;
  load(&r);
  assert_true(report_has_memory(&r));
  assert_false(report_has_ops(&r));
  assert_true(report_memory(&r, false, &g));
  FILE *memory = open_memstream(&text, &size);
  grid_print(&g, "", memory);
  fclose(memory);
  holds(text,
        "          live peak  after burst   trim 1   trim 2     idle  RSS peak  RSS idle   kept\n"
        "Idle/all\n"
        "  malloc    60.0MiB            0        -        0        0   66.0MiB   7.00MiB  1.67%\n"
        "  pool      60.0MiB      40.0MiB  40.0MiB        0        0   66.0MiB   26.0MiB  33.3%\n"
        "  owned      100MiB      80.0MiB  80.0MiB  80.0MiB  80.0MiB    126MiB    116MiB  91.7%\n");
  free(text);
  grid_free(&g);
  report_free(&r);
}

static void findings_name_who_keeps_and_whose_updates_are_slow(void **state) {
  (void)state;
  struct report r;
  load(&r);
  char *text = said(report_memory_findings, &r);
  holds(text, "Memory in Idle/all: still live after two trims and the idle wait with owned "
              "(80.0MiB, 80 % of its peak, 80.0KiB an owner, pooled); next to nothing live with "
              "malloc, pool; but pages still held, mostly in the allocator's cache, with pool "
              "(20.0MiB).\n");
  /* After the trims 1000, 1100 and 31000 ns: the lower median is 1100, five times that 5500. */
  holds(text, "An update in Idle/all: slow after the trims, too, since big objects stay with their "
              "owners, with owned (30.0µs, then 31.0µs); slow until trimmed, since the pool hands "
              "big objects to whoever comes next, with pool (20.0µs, then 1.00µs); fast "
              "throughout with malloc.\n");
  free(text);
  report_free(&r);
}

/* A pool that was emptied has no big objects to blame, and neither has malloc. */
static void reasons_of_slow_updates_fit_what_is_held(void **state) {
  (void)state;
  struct mark emptied[COUNT(pool)], cold[COUNT(plain)];
  struct report r;
  memcpy(emptied, pool, sizeof pool);
  memcpy(cold, plain, sizeof plain);
  emptied[3].ns_op = 600;
  emptied[7].ns_op = 6000;
  cold[3].ns_op = 9000;
  FILE *f = create("detail.txt");
  write_series(f, "Idle/all/strategy=malloc", plain, COUNT(plain));
  write_series(f, "Idle/all/strategy=emptied", emptied, COUNT(emptied));
  write_series(f, "Idle/all/strategy=cold", cold, COUNT(cold));
  fclose(f);
  load(&r);
  char *text = said(report_memory_findings, &r);
  holds(text,
        "An update in Idle/all: slow once trimmed, since objects are made and grow anew, with "
        "emptied (600ns, then 6.00µs); slow before the trims, though next to nothing was "
        "pooled, with cold (9.00µs, then 1.10µs); fast throughout with malloc.\n");
  free(text);
  report_free(&r);
}

/* The lines of a picture: what an update cost where there were any, and a last field that is there.
 */
static void the_picture_has_memory_and_updates(void **state) {
  (void)state;
  struct report r;
  struct error e;
  char *said = NULL;
  size_t size;
  load(&r);
  FILE *say = open_memstream(&said, &size);
  assert_int_equal(setenv("POOLBENCH_PLOTS", "/nowhere", 1), 0); /* the data only */
  assert_true(report_plots(&r, say, &e));
  fclose(say);
  free(said);
  char *text = scratch_read("plots/memory.tsv");
  assert_non_null(text);
  holds(text, "\nIdle/all\tmalloc\t1\tstart\t0\t0\t\t6291456\n");
  holds(text, "\nIdle/all\tmalloc\t4\ttrickle-untrimmed\t300000000\t0\t1200\t6291456\n");
  assert_null(strstr(strstr(text, "\nIdle/all"), "\t\n"));
  /* What is asked of the allocator at the end is no step of the series. */
  assert_null(strstr(text, "released"));
  free(text);
  report_free(&r);
}

static void allocators_stand_side_by_side(void **state) {
  (void)state;
  struct report r;
  struct grid g;
  char *text = NULL;
  size_t size;
  FILE *f = create("detail.txt");
  fputs("allocator: glibc 2.36\n", f);
  write_series(f, "Burst/a/strategy=malloc", pool, COUNT(pool));
  write_series(f, "Burst/b/strategy=malloc", plain, COUNT(plain));
  fputs("allocator: jemalloc 5.3.0\n", f);
  write_series(f, "Burst/a/strategy=malloc", owned, COUNT(owned));
  fclose(f);
  load(&r);
  assert_true(report_memory_allocators(&r, &g));
  FILE *memory = open_memstream(&text, &size);
  grid_print(&g, "", memory);
  fclose(memory);
  holds(text, "kept share of the peak  strategy  glibc  jemalloc\n"
              "Burst/a                 malloc     0.33      0.92\n"
              "Burst/b                 malloc     0.02         -\n");
  free(text);
  grid_free(&g);
  report_free(&r);
}

/* Ops and series in one run: each in its own tables. */
static void ops_and_series_do_not_mix(void **state) {
  (void)state;
  struct report r;
  struct grid g;
  FILE *f = create("detail.txt");
  fputs("BenchmarkC/a/strategy=malloc-8\t9\t100 ns/op\t50 cpu-ns/op\t3 perf::TASK-CLOCK:u/op\n", f);
  write_series(f, "Idle/all/strategy=malloc", plain, COUNT(plain));
  fclose(f);
  load(&r);
  assert_true(report_has_memory(&r) && report_has_ops(&r));
  for (int memory = 0; memory <= 1; memory++) {
    char *text = NULL;
    size_t size;
    assert_true(memory ? report_memory(&r, false, &g) : report_contention(&r, false, &g));
    FILE *out = open_memstream(&text, &size);
    grid_print(&g, "", out);
    fclose(out);
    holds(text, memory ? "Idle/all" : "C/a");
    assert_null(strstr(text, memory ? "C/a" : "Idle/all"));
    free(text);
    grid_free(&g);
  }
  report_free(&r);
}

/* --- published tables -------------------------------------------------------------------- */

static struct published_row row_of(const char *line) {
  struct published_row row;
  if (!published_read(line, strlen(line), &row))
    fail_msg("no row: %s", line);
  return row;
}

static void published_lines_are_read(void **state) {
  (void)state;
  struct published_row row =
      row_of("Compare/Node/structured-32  1.62k ± 0%  1.63k ± 0%   +0.43%  (p=0.016 n=4+5)");
  assert_string_equal(row.name, "Compare/Node/structured-32");
  assert_int_equal(row.sign, 1);
  NEAR(row.delta, 0.0043);
  NEAR(row.p, 0.016);
  assert_true(row.n1 == 4 && row.n2 == 5);
  row = row_of("Handlers/____1_subs-8   125.8n ± 12%   125.2n ± 9%        ~ (p=0.670 n=10)");
  assert_true(row.sign == 0 && row.n1 == 10 && row.n2 == 10);
  NEAR(row.spread, 0.21);
  row = row_of("Compare/Pod/unstructured-32  74.9µs ± 7%  66.0µs ±43%  ~  (p=0.151 n=5+5)");
  NEAR(row.spread, 0.50);
  row = row_of("a  1  2  -31.17%  (p=0.008 n=5+5)");
  assert_int_equal(row.sign, -1);
  static const char *const none[] = {"name  old time/op  new time/op  delta", "geomean 1 2 +2.22%",
                                     "¹ all samples are equal", ""};
  for (size_t i = 0; i < COUNT(none); i++)
    assert_false(published_read(none[i], strlen(none[i]), &row));
}

/* 1 / C(9, 5) = 1/126 = 0.0079; 2 / C(9, 4) = 0.0159 is the least without ties. */
static void impossible_p_are_found(void **state) {
  (void)state;
  struct published_row row = {.p = 0.000, .n1 = 5, .n2 = 4};
  assert_false(published_p_possible(&row));
  row.p = 0.016;
  assert_true(published_p_possible(&row));
  row.p = 0.008;
  assert_true(published_p_possible(&row));
  row = (struct published_row){.p = 0.000, .n1 = 10, .n2 = 10}; /* 1/184756 */
  assert_true(published_p_possible(&row));
}

/* Rows, changes and impossible p of each table, counted by eye in the pull requests. */
static void the_tables_are_whole(void **state) {
  (void)state;
  static const struct {
    const char *preset;
    int rows[3], changes[3], impossible;
  } expected[] = {{"k8s-freelists", {6, 6, 6}, {5, 6, 5}, 0},
                  {"nats-timers", {2, 2, 2}, {1, 2, 2}, 1},
                  {"diderot-maps", {5, 5, 5}, {2, 4, 1}, 0}};
  for (size_t i = 0; i < COUNT(expected); i++) {
    const struct published *p = published_find(expected[i].preset);
    int impossible = 0;
    assert_non_null(p);
    for (int unit = 0; unit < PUBLISHED_UNITS; unit++) {
      int rows = 0, changes = 0;
      for (const char *at = p->tables[unit]; *at; at += strcspn(at, "\n") + 1) {
        struct published_row row;
        if (!published_read(at, strcspn(at, "\n"), &row))
          continue;
        rows++;
        changes += row.sign != 0;
        impossible += !published_p_possible(&row);
      }
      assert_int_equal(rows, expected[i].rows[unit]);
      assert_int_equal(changes, expected[i].changes[unit]);
    }
    assert_int_equal(impossible, expected[i].impossible);
  }
  assert_null(published_find("nothing"));
  assert_null(published_find(NULL));
}

/* Eight samples of a row under malloc and sync-pool; every miss of the old one looks 32 times. */
static void write_timers(FILE *f, const char *name, double old_ns, double new_ns, int old_allocs,
                         int new_allocs) {
  static const double noise[8] = {1.00, 1.01, 0.99, 1.02, 0.98, 1.005, 0.995, 1.015};
  for (int i = 0; i < 8; i++)
    fprintf(f,
            "Benchmark%s/strategy=malloc-8\t9\t%.5g ns/op\t%d B/op\t%d allocs/op\t100 miss-%%\t"
            "%d misses/op\t%d scans/op\n"
            "Benchmark%s/strategy=sync-pool-8\t9\t%.5g ns/op\t%d B/op\t%d allocs/op\t1.5 miss-%%\n",
            name, old_ns * noise[i], 50 * old_allocs, old_allocs, old_allocs, 32 * old_allocs, name,
            new_ns * noise[(i + 3) % 8], 50 * new_allocs, new_allocs);
}

static void preset_json(const char *cpus) {
  char text[400];
  snprintf(text, sizeof text,
           "{\"binding\": {\"cpus\": %s}, \"preset\": {\"name\": \"nats-timers\","
           " \"new\": {\"strategy\": \"sync-pool\", \"discipline\": \"balanced\"}}}",
           cpus);
  scratch_write("run.json", text);
}

/* `tables` as poolcmp lays them out; the figures in it do not matter to the lines. */
static char *preset_said(size_t width) {
  static const char tables[] = "name       old time/op  new time/op  delta\n"
                               "Request-8    1ms ± 0%     1ms ± 0%  ~ (p=1.000 n=8+8)\n"
                               "\n"
                               "name       old alloc/op  new alloc/op  delta\n"
                               "Request-8    1B ± 0%     1B ± 0%  ~ (p=1.000 n=8+8)\n";
  struct report r;
  char *text = NULL;
  size_t size;
  load(&r);
  FILE *memory = open_memstream(&text, &size);
  assert_true(report_preset(&r, tables, width, memory));
  fclose(memory);
  report_free(&r);
  return text;
}

/* Sentences as they were before they were broken into lines. */
static char *in_one_line(char *text) {
  for (char *at; (at = strstr(text, "\n  ")) != NULL;) {
    *at = ' ';
    memmove(at + 1, at + 3, strlen(at + 3) + 1);
  }
  return text;
}

/*
 * Published: time ~ and -4.3 %, allocations fewer in both. Here: both times down by a fifth, one
 * allocation count down, one up.
 */
static void lines_say_what_reproduces_and_why(void **state) {
  (void)state;
  FILE *f = create("detail.txt");
  write_timers(f, "Request", 100, 80, 17, 14);
  write_timers(f, "OldRequest", 200, 160, 55, 56);
  fclose(f);
  preset_json("2");
  char *text = in_one_line(preset_said(300));
  holds(text, "nats-timers: pooled timers in the requests of a NATS client; old: malloc, new: "
              "sync-pool; each row is tested by itself, as published\n");
  holds(text,
        "=> time/op reproduces in part: of 1 published change, 1 the same way here; of 1 "
        "published ~, 0 ~ here; Request-8 changed by -20.00 % here, more than the 7 % that its "
        "published spread hides; here 8 threads share 2 CPUs (there: 8), so at most 2 contend "
        "at a time, and sizes of changes are not comparable; each miss of "
        "the old column looks at every shard: 17 to 55 misses x 32 shards = 544 to 1.76k "
        "scans/op, of which most are in the CPU's own cache here, while any of 8 CPUs may "
        "have written them last there; misses, of the gets: old 100%, new 1.50%; an op wakes "
        "a thread");
  holds(text, "=> alloc/op reproduces in part: of 2 published changes, 1 the same way here, 1 the "
              "other way; the published p=0.000 of OldRequest-8 is none that 5 and 4 samples can "
              "give");
  holds(text, "=> allocs/op reproduces in part: of 2 published changes, 1 the same way here, 1 the "
              "other way\n");
  /* A table that the replay lacks still shows the published one. */
  holds(text, "\npublished\nname                              old allocs/op");
  free(text);
}

/* Published: Request 43.9 ± 5 %, 43.4 ± 1 %, ~. A small change here is no contradiction to that. */
static void a_change_within_the_published_spread_is_said_so(void **state) {
  (void)state;
  FILE *f = create("detail.txt");
  write_timers(f, "Request", 100, 96, 17, 14);
  write_timers(f, "OldRequest", 200, 190, 55, 52);
  fclose(f);
  preset_json("8");
  char *text = in_one_line(preset_said(300));
  holds(text, "of 1 published ~, 0 ~ here; Request-8 changed by -4.00 % here, within the 7 % that "
              "its published spread hides;");
  holds(text, "=> allocs/op reproduces: of 2 published changes, 2 the same way here\n");
  free(text);
}

/* A replay at another thread count is compared all the same, and the difference is said. */
static void other_thread_counts_are_named(void **state) {
  (void)state;
  FILE *f = create("detail.txt");
  for (int i = 0; i < 8; i++)
    fprintf(f,
            "BenchmarkRequest/strategy=malloc-1\t9\t%d ns/op\t850 B/op\t17 allocs/op\n"
            "BenchmarkRequest/strategy=sync-pool-1\t9\t%d ns/op\t700 B/op\t14 allocs/op\n",
            100 + i, 101 + i);
  fclose(f);
  preset_json("2");
  char *text = in_one_line(preset_said(300));
  holds(text,
        "=> allocs/op reproduces: of 1 published change, 1 the same way here; 1 of 2 rows were "
        "measured; here 1 thread ran, there 8\n");
  holds(text, "1 ~ here; 1 of 2 rows were measured; here 1 thread ran, there 8");
  assert_null(strstr(text, "share 2 CPUs"));
  free(text);
}

static void what_reproduces_whole_is_said_so(void **state) {
  (void)state;
  FILE *f = create("detail.txt");
  write_timers(f, "Request", 100, 100, 17, 14);
  write_timers(f, "OldRequest", 200, 160, 55, 52);
  fclose(f);
  preset_json("8");
  char *text = in_one_line(preset_said(300));
  holds(text, "=> time/op reproduces: of 1 published change, 1 the same way here; of 1 published "
              "~, 1 ~ here; each miss of the old column looks at every shard: 17 to 55 misses x 32 "
              "shards = 544 to 1.76k scans/op; misses");
  holds(text, "=> allocs/op reproduces: of 2 published changes, 2 the same way here\n");
  free(text);
  f = create("detail.txt");
  write_timers(f, "OldRequest", 200, 200, 55, 55);
  fclose(f);
  text = in_one_line(preset_said(300));
  holds(text, "=> time/op does not reproduce: of 1 published change, 0 the same way here, 1 none "
              "(~); 1 of 2 rows were measured");
  free(text);
}

/* The reason that a collector empties the pool is none where --trim does. */
static void reasons_depend_on_the_run(void **state) {
  (void)state;
  static const char *const plans[] = {"{\"trim\": null}", "{\"trim\": \"10ms\"}"};
  FILE *f = create("detail.txt");
  write_timers(f, "Handlers/___10_subs", 100, 100, 10, 10);
  fclose(f);
  for (int trimmed = 0; trimmed <= 1; trimmed++) {
    char json[300];
    snprintf(json, sizeof json,
             "{\"binding\": {\"cpus\": 8}, \"plan\": %s, \"preset\": {\"name\": "
             "\"diderot-maps\", \"new\": {\"strategy\": \"sync-pool\"}}}",
             plans[trimmed]);
    scratch_write("run.json", json);
    char *text = in_one_line(preset_said(300));
    holds(text,
          "=> B/op does not reproduce: of 1 published change, 0 the same way here, 1 none (~)");
    assert_true((strstr(text, "empties the pool") == NULL) == trimmed);
    free(text);
  }
}

static void published_tables_stand_beside_where_there_is_room(void **state) {
  (void)state;
  FILE *f = create("detail.txt");
  write_timers(f, "Request", 100, 100, 17, 14);
  fclose(f);
  preset_json("8");
  /* The widest line of ours has 53 columns, four blanks follow. */
  char *text = preset_said(300);
  holds(text, "here                                                     published\n"
              "name       old time/op  new time/op  delta               name    ");
  holds(text, "Request-8    1ms ± 0%     1ms ± 0%  ~ (p=1.000 n=8+8)    Request-8  ");
  holds(text, "\n                                                         OldRequest-8  ");
  free(text);
  text = preset_said(80);
  holds(text, "here\nname       old time/op  new time/op  delta\nRequest-8    1ms");
  holds(text, "published\nname                              old time/op");
  free(text);
}

/* Tables are as wide as they are; sentences end at 120 columns or at the terminal's. */
static void sentences_are_broken_into_lines(void **state) {
  (void)state;
  FILE *f = create("detail.txt");
  write_timers(f, "Request", 100, 80, 17, 14);
  fclose(f);
  preset_json("2");
  static const size_t widths[] = {300, 90};
  for (int i = 0; i < 2; i++) {
    size_t most = widths[i] < 120 ? widths[i] : 120, lines = 0;
    char *text = preset_said(widths[i]);
    for (const char *at = strstr(text, "=> time/op"); at && *at != '\n';
         at += strcspn(at, "\n") + 1, lines++)
      assert_true(strcspn(at, "\n") <= most);
    assert_true(lines >= 3);
    free(text);
  }
}

int main(void) {
#define SERIES(test) cmocka_unit_test_setup_teardown(test, open_series, scratch_close)
#define FOLDER(test) cmocka_unit_test_setup_teardown(test, scratch_open, scratch_close)
  const struct CMUnitTest tests[] = {
      SERIES(what_stays_is_told_by_cause),
      SERIES(what_goes_back_when_asked_is_cache),
      SERIES(what_the_series_lacks_is_no_number),
      SERIES(the_table_shows_each_stage),
      SERIES(findings_name_who_keeps_and_whose_updates_are_slow),
      SERIES(reasons_of_slow_updates_fit_what_is_held),
      SERIES(the_picture_has_memory_and_updates),
      SERIES(allocators_stand_side_by_side),
      SERIES(ops_and_series_do_not_mix),
      cmocka_unit_test(published_lines_are_read),
      cmocka_unit_test(impossible_p_are_found),
      cmocka_unit_test(the_tables_are_whole),
      FOLDER(lines_say_what_reproduces_and_why),
      FOLDER(a_change_within_the_published_spread_is_said_so),
      FOLDER(other_thread_counts_are_named),
      FOLDER(what_reproduces_whole_is_said_so),
      FOLDER(reasons_depend_on_the_run),
      FOLDER(published_tables_stand_beside_where_there_is_room),
      FOLDER(sentences_are_broken_into_lines),
  };
  return cmocka_run_group_tests_name("report_memory", tests, NULL, NULL);
}
