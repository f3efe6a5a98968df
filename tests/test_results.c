/*
 * The files of a run: their text, what survives a full disk or a cut, and that what is written can
 * be read back. Lines are compared with ones written by hand from docs/file-format.md.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/presets.h"
#include "harness/runfiles.h"
#include "tests/runner_fixture.h"

#include <fcntl.h>

/* --- a plan of two strategies, under two allocators, at 4 threads and 1 --------------------- */

static struct allocator_arm allocators[] = {{.label = "glibc", .version = "2.36"},
                                            {.label = "jemalloc", .version = "5.3.0"}};
static struct plan_arm arms[] = {{.label = "malloc", .is_base = true}, {.label = "per-thread"}};
static struct plan_cell cells[] = {
    {.name = "BenchmarkA/strategy=malloc-4", .pair_name = "BenchmarkA-4", .headline = true},
    {.name = "BenchmarkA/strategy=per-thread-4", .pair_name = "BenchmarkA-4", .headline = true},
    {.name = "BenchmarkA/strategy=malloc-1", .pair_name = "BenchmarkA-1"},
    {.name = "BenchmarkA/strategy=malloc-4", .pair_name = "BenchmarkA-4", .headline = true},
};
static struct plan the_plan = {.cells = cells, .cell_count = 4, .sweep_rounds = 2};
static const struct host host = {.goarch = "amd64", .cpu_model = "Imagined CPU"};
static struct results_frame frame = {&the_plan, &host, "abcd1234"};
static struct results results;

#define HEAD "goos: linux\ngoarch: amd64\ncpu: Imagined CPU\n"

static int open_plan(void **state) {
  for (int i = 0; i < 4; i++) {
    cells[i].arm = &arms[i == 1];
    cells[i].allocator = &allocators[i == 3];
  }
  the_plan.preset = NULL;
  return scratch_open(state);
}

static int close_plan(void **state) {
  results_free(&results);
  return scratch_close(state);
}

static struct result make(unsigned cell, unsigned round, unsigned seq, double ns) {
  struct result r = {.cell = cell, .round = round, .seq = seq, .sample = {.ops = 100}};
  assert_true(sample_add(&r.sample, "ns/op", ns) && sample_add(&r.sample, "B/op", 64) &&
              sample_add(&r.sample, "miss-%", 12.5));
  return r;
}

static void add(unsigned cell, unsigned round, unsigned seq, double ns) {
  struct error e;
  struct result r = make(cell, round, seq, ns);
  assert_true(results_add(&results, &r, &e));
}

static char *text_of(enum results_choice choice, unsigned rounds) {
  char *text = NULL;
  size_t size = 0;
  FILE *out = open_memstream(&text, &size);
  assert_non_null(out);
  assert_true(
      results_write(out, &frame, &results, choice, rounds, results_median_calibration(&results)));
  fclose(out);
  return text;
}

static void writes(enum results_choice choice, unsigned rounds, const char *expected) {
  char *text = text_of(choice, rounds);
  assert_string_equal(text, expected);
  free(text);
}

/* --- text -------------------------------------------------------------------------------- */

static void files_are_in_plan_order_whatever_was_measured_first(void **state) {
  (void)state;
  add(3, 1, 1, 7);
  add(1, 1, 2, 20);
  add(2, 1, 3, 5);
  add(0, 1, 4, 10);
  add(0, 2, 1, 11); /* of an unfinished round */
  writes(RESULTS_HEADLINE, 1,
         HEAD "allocator: glibc 2.36\n"
              "# run abcd1234 round 1 seq 4\n"
              "BenchmarkA/strategy=malloc-4\t100\t10 ns/op\t64 B/op\n"
              "# run abcd1234 round 1 seq 2\n"
              "BenchmarkA/strategy=per-thread-4\t100\t20 ns/op\t64 B/op\n"
              "allocator: jemalloc 5.3.0\n"
              "# run abcd1234 round 1 seq 1\n"
              "BenchmarkA/strategy=malloc-4\t100\t7 ns/op\t64 B/op\n");
  writes(RESULTS_SWEEP, 1,
         HEAD "allocator: glibc 2.36\n"
              "# run abcd1234 round 1 seq 3\n"
              "BenchmarkA/strategy=malloc-1\t100\t5 ns/op\t64 B/op\n");
}

static void detail_has_every_unit(void **state) {
  (void)state;
  add(2, 1, 3, 5);
  writes(RESULTS_DETAIL, 1,
         HEAD "allocator: glibc 2.36\n"
              "# run abcd1234 round 1 seq 3\n"
              "BenchmarkA/strategy=malloc-1\t100\t5 ns/op\t64 B/op\t12.5 miss-%\n");
}

/* Three phases; one of them has a unit more, and its name is how another begins. */
static void a_series_is_a_line_for_each_phase(void **state) {
  (void)state;
  struct error e;
  struct result r = {.cell = 1, .round = 1, .seq = 2, .sample = {.ops = 1}};
  assert_true(
      sample_add(&r.sample, "trim-1:time-ns", 5) && sample_add(&r.sample, "trim-1:live-B", 4096) &&
      sample_add(&r.sample, "trim-1:stall-ns", 77) &&
      sample_add(&r.sample, "trim-1-more:live-B", 5) && sample_add(&r.sample, "trim:live-B", 6) &&
      sample_add(&r.sample, "calibration-ns", 9));
  assert_true(sample_add_flag(&r.sample, "throttled", "0.2 s"));
  assert_false(results_have_series(&results));
  add(0, 1, 1, 10);
  assert_true(sample_add(&results.items[0].sample, "perf::TASK-CLOCK:u/op", 3));
  assert_false(results_have_series(&results));
  assert_true(results_add(&results, &r, &e));
  assert_true(results_have_series(&results));
  writes(RESULTS_MEMORY, 1,
         HEAD
         "allocator: glibc 2.36\n"
         "# run abcd1234 round 1 seq 2\n# flag throttled 0.2 s\n"
         "BenchmarkA/strategy=per-thread/phase=trim-1-4\t1\t5 time-ns\t4096 live-B\t77 stall-ns\n"
         "# run abcd1234 round 1 seq 2\n# flag throttled 0.2 s\n"
         "BenchmarkA/strategy=per-thread/phase=trim-1-more-4\t1\t5 live-B\n"
         "# run abcd1234 round 1 seq 2\n# flag throttled 0.2 s\n"
         "BenchmarkA/strategy=per-thread/phase=trim-4\t1\t6 live-B\n");
  writes(RESULTS_HEADLINE, 1,
         HEAD "allocator: glibc 2.36\n# run abcd1234 round 1 seq 1\n"
              "BenchmarkA/strategy=malloc-4\t100\t10 ns/op\t64 B/op\n");
}

static void columns_of_a_preset_have_equal_names(void **state) {
  (void)state;
  struct error e;
  the_plan.preset = preset_find("k8s-freelists", &e);
  the_plan.preset_old = &arms[0];
  the_plan.preset_new = &arms[1];
  add(0, 1, 1, 10);
  add(1, 1, 2, 20);
  writes(RESULTS_OLD, 1,
         HEAD "allocator: glibc 2.36\n# run abcd1234 round 1 seq 1\n"
              "BenchmarkA-4\t100\t10 ns/op\t64 B/op\n");
  writes(RESULTS_NEW, 1,
         HEAD "allocator: glibc 2.36\n# run abcd1234 round 1 seq 2\n"
              "BenchmarkA-4\t100\t20 ns/op\t64 B/op\n");
}

static void values_keep_what_was_measured(void **state) {
  (void)state;
  static const struct {
    double value;
    const char *text;
  } cases[] = {{1951234, "1951234"},
               {1951234.4, "1951234"},
               {64600.51, "64600.5"},
               {12.345678, "12.3457"},
               {0.5, "0.5"},
               {100, "100"},
               {0.0001234567, "0.000123457"},
               {710.0000003, "710"},
               {0, "0"},
               {9007199254740992.0, "9007199254740992"}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    char expected[80];
    add(0, 1, 1, cases[i].value);
    snprintf(expected, sizeof expected, "\t100\t%s ns/op\t64 B/op\n", cases[i].text);
    char *text = text_of(RESULTS_HEADLINE, 1);
    if (!strstr(text, expected))
      fail_msg("%s is not in %s", expected, text);
    free(text);
    results_free(&results);
  }
}

/* Thousandths in the files for comparing; times and the detail keep their digits. */
static void tiny_counts_are_rounded_for_comparing(void **state) {
  (void)state;
  struct error e;
  struct result r = {.cell = 0, .round = 1, .seq = 1, .sample = {.ops = 100}};
  assert_true(sample_add(&r.sample, "ns/op", 0.0001234567) &&
              sample_add(&r.sample, "B/op", 0.0338512) &&
              sample_add(&r.sample, "allocs/op", 0.00000489));
  assert_true(results_add(&results, &r, &e));
  char *text = text_of(RESULTS_HEADLINE, 1);
  assert_non_null(strstr(text, "\t0.000123457 ns/op\t0.034 B/op\t0 allocs/op\n"));
  free(text);
  text = text_of(RESULTS_DETAIL, 1);
  assert_non_null(strstr(text, "\t0.000123457 ns/op\t0.0338512 B/op\t0.00000489 allocs/op\n"));
  free(text);
}

static void a_flag_stands_between_and_stays_on_one_line(void **state) {
  (void)state;
  struct error e;
  struct result r = make(0, 1, 1, 10);
  assert_true(sample_add_flag(&r.sample, "not-steady", "two\nlines"));
  assert_true(results_add(&results, &r, &e));
  char *text = text_of(RESULTS_HEADLINE, 1);
  assert_non_null(strstr(text, "seq 1\n# flag not-steady two lines\nBenchmarkA"));
  free(text);
}

/* Medians 1000; one sample took 1100: 90.9 % of the speed; one 1040: within 5 %. */
static void slow_hosts_are_flagged_against_the_median(void **state) {
  (void)state;
  static const double calibration[] = {1000, 1000, 1100, 1040, 990};
  struct error e;
  for (unsigned i = 0; i < 5; i++) {
    struct result r = make(0, i + 1, 1, 10);
    assert_true(sample_add(&r.sample, UNIT_CALIBRATION, calibration[i]));
    assert_true(results_add(&results, &r, &e));
  }
  assert_true(results_median_calibration(&results) == 1000);
  char *text = text_of(RESULTS_DETAIL, 5);
  const char *flag = strstr(text, "# flag host-speed the host ran at 90.9 %");
  assert_non_null(flag);
  assert_null(strstr(flag + 1, "# flag"));
  assert_non_null(strstr(text, "1100 calibration-ns\t90.9091 host-speed-%"));
  free(text);
}

/* --- reading back ------------------------------------------------------------------------ */

static bool read_text(const char *text, struct results *r, struct error *e) {
  FILE *in = fmemopen((void *)text, strlen(text), "r");
  assert_non_null(in);
  bool ok = results_read("some.txt", in, &frame, r, e);
  fclose(in);
  return ok;
}

static void what_is_written_is_read_back(void **state) {
  (void)state;
  struct error e;
  struct result r = make(1, 1, 2, 20.125);
  assert_true(sample_add_flag(&r.sample, "few-ops", "only 3 ops"));
  assert_true(sample_add(&r.sample, UNIT_CALIBRATION, 1000));
  assert_true(results_add(&results, &r, &e));
  add(3, 1, 1, 7);
  char *text = text_of(RESULTS_DETAIL, 1);
  struct results again = {0};
  if (!read_text(text, &again, &e))
    fail_msg("%s", e.text);
  assert_int_equal(again.count, 2);
  assert_int_equal(again.items[0].cell, 1);
  assert_int_equal(again.items[1].cell, 3); /* told from cell 0 by its allocator */
  assert_int_equal(again.items[0].seq, 2);
  results_free(&results);
  results = again;
  char *second = text_of(RESULTS_DETAIL, 1);
  assert_string_equal(second, text);
  free(text);
  free(second);
}

#define RUN "# run abcd1234 round 1 seq 1\n"
#define SAMPLE "BenchmarkA/strategy=malloc-4\t100\t10 ns/op\t64 B/op\n"

static void a_cut_off_last_line_is_left_out(void **state) {
  (void)state;
  struct error e;
  assert_true(read_text(HEAD "allocator: glibc 2.36\n" RUN SAMPLE
                             "# run abcd1234 round 1 seq 2\nBenchmarkA/strategy=per-thread-4\t1",
                        &results, &e));
  assert_int_equal(results.count, 1);
}

static void a_sample_that_is_there_is_not_added_twice(void **state) {
  (void)state;
  struct error e;
  assert_true(read_text(HEAD "allocator: glibc 2.36\n" RUN SAMPLE RUN SAMPLE, &results, &e));
  assert_int_equal(results.count, 1);
}

static void refuses(const char *text, const char *word) {
  struct error e;
  if (read_text(text, &results, &e))
    fail_msg("was read: %s", text);
  assert_int_equal(e.status, EXIT_INPUT);
  if (!strstr(e.text, word))
    fail_msg("\"%s\" is not in: %s", word, e.text);
}

static void what_does_not_belong_is_refused_with_its_line(void **state) {
  (void)state;
  refuses(HEAD SAMPLE, "some.txt:4: a sample without its `# run` line");
  refuses(HEAD "# run 9999 round 1 seq 1\n", "another run");
  refuses(HEAD "# run abcd1234 round x\n", "# run ID round N seq K");
  refuses(HEAD "allocator: glibc 2.36\n" RUN "BenchmarkB-4\t1\t1 ns/op\n", "another plan");
  refuses(HEAD "allocator: tcmalloc 1\n" RUN SAMPLE, "another plan");
  refuses(HEAD "allocator: glibc 2.36\n" RUN "BenchmarkA/strategy=malloc-4\tx\t1 ns/op\n",
          "number of ops");
  refuses(HEAD "allocator: glibc 2.36\n" RUN "BenchmarkA/strategy=malloc-4\t1\tnan ns/op\n",
          "a value and its unit");
  refuses(HEAD "allocator: glibc 2.36\n" RUN "BenchmarkA/strategy=malloc-4\t1\t5\n",
          "a value and its unit");
}

/* --- files ------------------------------------------------------------------------------- */

static void create(struct runfiles *files) {
  struct error e;
  if (!runfiles_create(files, scratch_path("run"), "host", &e))
    fail_msg("%s", e.text);
}

static bool there(const char *name) {
  return access(scratch_path(name), F_OK) == 0;
}

static void a_round_moves_from_the_part_to_the_files(void **state) {
  (void)state;
  struct runfiles files;
  struct error e;
  create(&files);
  add(1, 1, 1, 20);
  assert_true(runfiles_append(&files, &frame, &results.items[0], &e));
  char *part = scratch_read("run/round.part");
  assert_string_equal(part, HEAD "allocator: glibc 2.36\n# run abcd1234 round 1 seq 1\n"
                                 "BenchmarkA/strategy=per-thread-4\t100\t20 ns/op\t64 B/op"
                                 "\t12.5 miss-%\n");
  free(part);
  assert_false(there("run/samples.txt"));
  add(0, 1, 2, 10);
  assert_true(runfiles_append(&files, &frame, &results.items[1], &e));
  assert_true(runfiles_publish(&files, &frame, &results, 1, &e));
  assert_false(there("run/round.part"));
  assert_true(there("run/samples.txt") && there("run/sweep.txt") && there("run/detail.txt"));
  assert_false(there("run/old.txt"));
  assert_false(there("run/samples.txt.new"));
  runfiles_close(&files);
}

static void a_run_is_loaded_from_its_files_and_its_part(void **state) {
  (void)state;
  struct runfiles files;
  struct error e;
  create(&files);
  add(0, 1, 1, 10);
  assert_true(runfiles_publish(&files, &frame, &results, 1, &e));
  add(0, 2, 1, 11);
  assert_true(runfiles_append(&files, &frame, &results.items[1], &e));
  runfiles_close(&files);
  results_free(&results);
  assert_true(runfiles_open(&files, scratch_path("run"), &e));
  assert_true(runfiles_load(&files, &frame, &results, &e));
  assert_int_equal(results.count, 2);
  assert_int_equal(results.items[1].round, 2);
  runfiles_close(&files);
}

/* Writes fail in the middle. */
static void a_write_that_fails_leaves_whole_files(void **state) {
  (void)state;
  struct runfiles files;
  struct error e;
  create(&files);
  add(0, 1, 1, 10);
  assert_true(runfiles_publish(&files, &frame, &results, 1, &e));
  char *samples = scratch_read("run/samples.txt");
  /* Room for one sample more and a piece of another. */
  rlim_t before = limit_files(strlen(samples) + 150);
  bool failed = false;
  size_t kept = 0;
  for (unsigned i = 0; i < 3 && !failed; i++) {
    add(0, 2 + i, 1, 10);
    failed = !runfiles_append(&files, &frame, &results.items[results.count - 1], &e);
    kept += !failed;
  }
  bool published = runfiles_publish(&files, &frame, &results, 4, &e);
  limit_files(before);
  assert_true(failed && kept >= 1);
  assert_false(published);
  assert_int_equal(e.status, EXIT_INPUT);
  assert_non_null(strstr(e.text, "cannot write"));
  char *after = scratch_read("run/samples.txt"), *part = scratch_read("run/round.part");
  assert_string_equal(after, samples);
  assert_int_equal(part[strlen(part) - 1], '\n');
  assert_false(there("run/detail.txt.new") || there("run/samples.txt.new"));
  runfiles_close(&files);
  results_free(&results);
  assert_true(runfiles_open(&files, scratch_path("run"), &e));
  assert_true(runfiles_load(&files, &frame, &results, &e));
  assert_int_equal(results.count, 1 + kept);
  runfiles_close(&files);
  free(samples);
  free(after);
  free(part);
}

static void a_folder_with_something_in_it_is_refused(void **state) {
  (void)state;
  struct runfiles files;
  struct error e;
  scratch_write("full/file", "x");
  assert_false(runfiles_create(&files, scratch_path("full"), "host", &e));
  assert_int_equal(e.status, EXIT_INPUT);
  assert_non_null(strstr(e.text, "--resume"));
  assert_false(runfiles_create(&files, scratch_path("full/file"), "host", &e));
  assert_int_equal(mkdir(scratch_path("empty"), 0777), 0);
  assert_true(runfiles_create(&files, scratch_path("empty"), "host", &e));
  assert_false(runfiles_create(&files, "/proc/no-such-place", "host", &e));
  assert_int_equal(e.status, EXIT_INPUT);
  assert_false(runfiles_open(&files, scratch_path("missing"), &e));
}

static void a_run_of_its_own_is_dated_and_latest(void **state) {
  (void)state;
  struct runfiles files, second;
  struct error e;
  char here[1000], target[300] = "";
  assert_non_null(getcwd(here, sizeof here));
  assert_int_equal(chdir(scratch), 0);
  assert_true(runfiles_create(&files, NULL, "some-host", &e));
  assert_true(runfiles_create(&second, NULL, "some-host", &e));
  assert_true(readlink("results/latest", target, sizeof target - 1) > 0);
  runfiles_close(&second);
  assert_true(runfiles_open(&files, NULL, &e));
  assert_int_equal(chdir(here), 0);
  assert_string_equal(strrchr(second.folder, '/') + 1, target);
  assert_string_equal(files.folder, second.folder);
  assert_non_null(strstr(second.folder, "-some-host"));
}

static void a_folder_takes_one_run_at_a_time(void **state) {
  (void)state;
  struct runfiles files, second;
  struct error e;
  assert_true(runfiles_create(&files, scratch_path("taken"), "host", &e));
  assert_false(runfiles_create(&second, scratch_path("taken"), "host", &e));
  assert_int_equal(e.status, EXIT_INPUT);
  assert_non_null(strstr(e.text, "another poolbench measures into"));
  assert_false(runfiles_open(&second, scratch_path("taken"), &e));
  runfiles_close(&files);
  assert_true(runfiles_open(&second, scratch_path("taken"), &e));
  runfiles_close(&second);
}

static void a_broken_record_is_told_with_its_place(void **state) {
  (void)state;
  struct runfiles files;
  struct error e;
  scratch_write("run/run.json", "{\"version\": 1,\n \"id\": \n");
  assert_true(runfiles_open(&files, scratch_path("run"), &e));
  assert_null(runfiles_read_json(&files, &e));
  assert_non_null(strstr(e.text, "run.json:"));
  assert_int_equal(unlink(scratch_path("run/run.json")), 0);
  assert_null(runfiles_read_json(&files, &e));
  assert_int_equal(e.status, EXIT_INPUT);
}

#define WITH_PLAN(test) cmocka_unit_test_setup_teardown(test, open_plan, close_plan)

int main(void) {
  const struct CMUnitTest tests[] = {
      WITH_PLAN(files_are_in_plan_order_whatever_was_measured_first),
      WITH_PLAN(detail_has_every_unit),
      WITH_PLAN(a_series_is_a_line_for_each_phase),
      WITH_PLAN(columns_of_a_preset_have_equal_names),
      WITH_PLAN(values_keep_what_was_measured),
      WITH_PLAN(tiny_counts_are_rounded_for_comparing),
      WITH_PLAN(a_flag_stands_between_and_stays_on_one_line),
      WITH_PLAN(slow_hosts_are_flagged_against_the_median),
      WITH_PLAN(what_is_written_is_read_back),
      WITH_PLAN(a_cut_off_last_line_is_left_out),
      WITH_PLAN(a_sample_that_is_there_is_not_added_twice),
      WITH_PLAN(what_does_not_belong_is_refused_with_its_line),
      WITH_PLAN(a_round_moves_from_the_part_to_the_files),
      WITH_PLAN(a_run_is_loaded_from_its_files_and_its_part),
      WITH_PLAN(a_write_that_fails_leaves_whole_files),
      WITH_PLAN(a_folder_with_something_in_it_is_refused),
      WITH_PLAN(a_run_of_its_own_is_dated_and_latest),
      WITH_PLAN(a_folder_takes_one_run_at_a_time),
      WITH_PLAN(a_broken_record_is_told_with_its_place),
  };
  return cmocka_run_group_tests_name("results", tests, NULL, NULL);
}
