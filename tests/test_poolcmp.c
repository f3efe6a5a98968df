/*
 * The program: command line, exit status, notes on stderr. Expected status after the design's
 * table: 0 done, 1 regression, 2 usage, 3 input, 4 nothing to compare.
 */
#include "tests/poolcmp_fixture.h"

static const char *old_path, *new_path, *slow_path, *empty_path, *broken_path;

/* n lines of A and B around a center, in thousandths of it. */
static const char *samples(int n, long center, const char *head) {
  char text[8000];
  size_t used = (size_t)snprintf(text, sizeof text, "%s", head);
  for (int i = 0; i < n; i++)
    used += (size_t)snprintf(text + used, sizeof text - used,
                             "BenchmarkA 1 %ld ns/op 7 B/op\nBenchmarkB 1 %ld ns/op 7 B/op\n",
                             center + i * center / 1000, center + i * center / 1000);
  return write_file(text);
}

static int make_files(void **state) {
  (void)state;
  old_path = strdup(samples(10, 100000, ""));
  new_path = strdup(samples(10, 100000, ""));
  slow_path = strdup(samples(10, 120000, ""));
  empty_path = strdup(write_file("goos: linux\nPASS\n"));
  broken_path = strdup(write_file("BenchmarkA 1 5 ns/op\nBenchmarkA 1 NaN ns/op\n"));
  return 0;
}

static int remove_files(void **state) {
  (void)state;
  const char *paths[] = {old_path, new_path, slow_path, empty_path, broken_path};
  for (size_t i = 0; i < 5; i++) {
    unlink(paths[i]);
    free((void *)paths[i]);
  }
  return 0;
}

/* Runs `poolcmp FLAGS old=A new=B` and checks status and a piece of what it says on stderr. */
static void check(const char *flags, const char *a, const char *b, int status, const char *says) {
  char line[1000];
  snprintf(line, sizeof line, "%s old=%s%s%s", flags, a, b ? " new=" : "", b ? b : "");
  struct outcome o = run_poolcmp(line);
  if (o.status != status || !strstr(o.err, says))
    fail_msg("%s: status %d, %s", line, o.status, o.err);
  outcome_free(&o);
}

static void status_says_what_happened(void **state) {
  (void)state;
  check("", old_path, slow_path, 0, "");
  check("", old_path, NULL, 0, "");
  check("", old_path, "/nonexistent", 3, "open /nonexistent: No such file or directory");
  check("", "/tmp", NULL, 3, "is a directory");
  check("", broken_path, NULL, 3, ":2: parsing measurement: not a finite number");
  check("", empty_path, old_path, 4, "nothing was compared");
  check("", empty_path, empty_path, 4, "hold no results");
  check("-filter .name:C", old_path, new_path, 4, "hold no results that -filter keeps");
  check("-col /none", old_path, NULL, 4, "nothing was compared");
  check("-col ''", old_path, new_path, 0, "pool samples of several files");
}

/* A missing file must leave nothing on stdout that could be taken for a result. */
static void a_missing_file_prints_no_table(void **state) {
  (void)state;
  char line[200];
  snprintf(line, sizeof line, "%s /nonexistent", old_path);
  struct outcome o = run_poolcmp(line);
  assert_string_equal(o.out, "");
  outcome_free(&o);
}

static void wrong_usage_is_explained(void **state) {
  (void)state;
  static const struct {
    const char *flags, *says;
  } cases[] = {
      {"-nope", "flag provided but not defined: -nope"},
      {"-alpha 2", "invalid value \"2\" for flag -alpha: expected a number in [0, 1]"},
      {"-alpha nan", "invalid value \"nan\" for flag -alpha"},
      {"-confidence x", "for flag -confidence"},
      {"-margin -1", "for flag -margin"},
      {"-format html", "expected text, classic, markdown, csv, tidy or json"},
      {"-correct x", "expected none, holm or bh"},
      {"-sort x", "expected delta, name, p or none"},
      {"-color x", "expected auto, always or never"},
      {"-width x", "expected a number of characters"},
      {"-ci=maybe", "expected true or false"},
      {"-filter a:b:c", "parsing -filter: syntax error: unexpected \":\"\n\ta:b:c\n\t   ^"},
      {"-row .name@x", "parsing -row: syntax error: unknown order"},
      {"-twin none", "-twin none: no column of that name"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    check(cases[i].flags, old_path, new_path, 2, cases[i].says);
  struct outcome o = run_poolcmp("");
  assert_int_equal(o.status, 2);
  assert_non_null(strstr(o.err, "no inputs"));
  outcome_free(&o);
  o = run_poolcmp("x -col");
  assert_non_null(strstr(o.err, "flag needs an argument: -col"));
  outcome_free(&o);
}

static void flags_have_one_dash_or_two_and_stand_anywhere(void **state) {
  (void)state;
  static const char *const forms[] = {"-format csv %s %s", "--format csv %s %s",
                                      "-format=csv %s %s", "--format=csv %s %s",
                                      "%s %s -format csv", "-ci=false -format csv -- %s %s"};
  char *want = NULL;
  for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
    char line[500], flags[200];
    const char *percent = strchr(forms[i], '%');
    snprintf(flags, sizeof flags, "%.*s", (int)(percent - forms[i]), forms[i]);
    snprintf(line, sizeof line, "%s %s %s %s", flags, old_path, slow_path,
             i == 4 ? "-format csv" : "");
    struct outcome o = run_poolcmp(line);
    if (!want)
      want = strdup(o.out);
    assert_string_equal(o.out, want);
    assert_int_equal(o.status, 0);
    outcome_free(&o);
  }
  assert_int_equal(want[0], ',');
  free(want);
}

static void help_fits_a_screen(void **state) {
  (void)state;
  static const char *const flags[] = {"-h", "-help", "--help"};
  for (size_t i = 0; i < 3; i++) {
    struct outcome o = run_poolcmp(flags[i]);
    size_t lines = 0;
    assert_int_equal(o.status, 0);
    for (char *line = strtok(o.out, "\n"); line; line = strtok(NULL, "\n"), lines++)
      assert_in_range(strlen(line), 0, 90);
    assert_in_range(lines, 20, 40);
    outcome_free(&o);
  }
}

static void gates_fire_on_regressions_alone(void **state) {
  (void)state;
  check("-gate", old_path, slow_path, 1, "gate: 2 regressions");
  check("-gate", slow_path, old_path, 0, "");
  check("-gate", old_path, new_path, 0, "");
  check("-gate -margin 0.25", old_path, slow_path, 0, "");
  check("", old_path, slow_path, 0, "");
  check("-gate", old_path, empty_path, 4, "nothing was compared");
}

/* Three a side: no p below 2/20 exists. Two rows at 0.05: 2/C(10,5) x 2 = 0.016 is enough. */
static void gates_that_cannot_fire_are_refused(void **state) {
  (void)state;
  const char *few = strdup(samples(3, 100000, ""));
  const char *slow = strdup(samples(3, 200000, ""));
  check("-gate", few, slow, 2, "measure at least 5 rounds a side");
  check("-correct holm", few, slow, 0, "no p of the 2 rows can reach 0.05");
  unlink(few);
  unlink(slow);
  free((void *)few);
  free((void *)slow);
}

/* Rounds of a run: seq gives the order, `at` when it began. */
static const char *run_file(const char *id, int rounds, double factor) {
  char text[8000];
  size_t used = 0;
  for (int r = 1; r <= rounds; r++)
    for (int side = 0; side < 2; side++)
      used += (size_t)snprintf(text + used, sizeof text - used,
                               "# run %s round %d seq %d\n%sBenchmarkA/strategy=%s 1 %.0f ns/op\n",
                               id, r, 2 * r + side, r == 2 && side ? "# flag throttled x\n" : "",
                               side ? "pool" : "malloc", (side ? factor : 1) * (100000 + r * 977));
  return write_file(text);
}

static void rounds_of_a_run_pair(void **state) {
  (void)state;
  char line[300];
  const char *path = run_file("5f2c", 10, 0.9);
  snprintf(line, sizeof line, "-paired -col /strategy %s", path);
  struct outcome o = run_poolcmp(line);
  /* Ten pairs with one ratio: the smallest p of the signed-rank test, 2/1024. */
  assert_non_null(strstr(o.out, "-10.00% [-10.00%, -10.00%] (p=0.002 n=10 pairs)"));
  outcome_free(&o);
  snprintf(line, sizeof line, "-exclude-flagged -col /strategy %s", path);
  o = run_poolcmp(line);
  assert_non_null(strstr(o.out, "n=10+9"));
  assert_non_null(strstr(o.err, "-exclude-flagged left out 1 of 20 results"));
  outcome_free(&o);
  unlink(path);
}

static void different_runs_never_pair_and_are_said(void **state) {
  (void)state;
  const char *a = run_file("5f2c", 10, 1), *b = run_file("77aa", 10, 1);
  check("-filter /strategy:malloc", a, b, 0, "measured in different runs");
  check("-paired -filter /strategy:malloc", a, b, 4, "-paired: A/strategy=malloc, new, sec/op:");
  unlink(a);
  unlink(b);
}

/* Whether `poolcmp FLAGS FILE` says a line on stderr. */
static bool says(const char *flags, const char *path, const char *line) {
  char command[500];
  snprintf(command, sizeof command, "%s %s", flags, path);
  struct outcome o = run_poolcmp(command);
  bool said = strstr(o.err, line) != NULL;
  outcome_free(&o);
  return said;
}

static void keys_that_no_result_has_are_said(void **state) {
  (void)state;
  const char *note = "note: -row .nam: no result has that key; those with a point are .name";
  assert_true(says("-row .nam", old_path, note));
  assert_true(says("-col /none", old_path, "note: -col /none: no result has that key\n"));
  assert_true(says("-table os -filter .name:A", old_path,
                   "note: -table os: no result that -filter keeps has that key\n"));
  assert_false(says("-row '' -col .name -ignore os", old_path, "has that key"));
  /* Some results have it, others do not. */
  const char *path = write_file("BenchmarkA 1 5 ns/op\nos: x\nBenchmarkB/k=1 1 5 ns/op\n");
  assert_false(says("-row os,/k", path, "has that key"));
  unlink(path);
}

/* No name before the comma, and a row that has neither name is called by its unit. */
static void doubts_stand_behind_a_name(void **state) {
  (void)state;
  const char *path = run_file("5f2c", 10, 0.9);
  assert_true(says("-row '' -col /strategy", path, "note: pool: trend, throttled\n"));
  assert_true(says("-row '' -col ''", path, "note: sec/op: throttled\n"));
  assert_false(says("-row '' -col /strategy", path, "note: , "));
  unlink(path);
}

static void units_that_no_input_has_are_said(void **state) {
  (void)state;
  const char *note = "note: -exact alloc/op: no input has that unit; there are ns/op B/op\n";
  assert_true(says("-exact alloc/op", old_path, note));
  check("-gate -exact B/op,alloc/op", old_path, new_path, 0, note);
  assert_false(says("-exact B/op -exact ns/op -exact sec/op", old_path, "no input has"));
  assert_false(says("-exact B/op -filter .unit:ns/op", old_path, "no input has"));
}

static void pooling_is_said(void **state) {
  (void)state;
  char line[500];
  snprintf(line, sizeof line, "x=%s x=%s", old_path, new_path);
  struct outcome o = run_poolcmp(line);
  assert_int_equal(o.status, 0);
  assert_non_null(strstr(o.err, "4 of 4 cells pool samples of several files"));
  outcome_free(&o);
  snprintf(line, sizeof line, "-row os -ignore .fullname %s", old_path);
  o = run_poolcmp(line);
  assert_non_null(strstr(o.err, "2 of 2 cells pool several benchmarks, the first with A"));
  outcome_free(&o);
}

/* As with a run's detail.txt and samples.txt: n is that of one of them, and nothing is pooled. */
static void a_run_given_twice_counts_once(void **state) {
  (void)state;
  char line[300];
  const char *path = run_file("5f2c", 10, 0.9);
  snprintf(line, sizeof line, "-col /strategy run=%s run=%s", path, path);
  struct outcome o = run_poolcmp(line);
  assert_int_equal(o.status, 0);
  assert_non_null(strstr(o.out, "n=10)"));
  assert_non_null(strstr(o.err, "20 values are of samples that were read before"));
  assert_null(strstr(o.err, "pool samples"));
  outcome_free(&o);
  snprintf(line, sizeof line, "-exclude-flagged -col /strategy run=%s run=%s", path, path);
  o = run_poolcmp(line);
  assert_non_null(strstr(o.err, "-exclude-flagged left out 1 of 20 results"));
  outcome_free(&o);
  unlink(path);
}

static void many_values_of_one_process_are_said(void **state) {
  (void)state;
  const char *a = strdup(samples(6, 100000, "goos: linux\npkg: p\n"));
  const char *b = samples(6, 110000, "goos: linux\npkg: p\n");
  check("", a, b, 0, "4 of 4 comparisons have many values of one process");
  unlink(b);
  struct outcome o = run_poolcmp(a);
  assert_null(strstr(o.err, "process"));
  outcome_free(&o);
  unlink(a);
  free((void *)a);
}

/* The same path twice: two columns, told apart. */
static void the_same_path_twice_is_numbered(void **state) {
  (void)state;
  char line[500], want[200];
  snprintf(line, sizeof line, "-format csv %s %s", old_path, old_path);
  snprintf(want, sizeof want, ",%s#0,,%s#1,,,\n", old_path, old_path);
  struct outcome o = run_poolcmp(line);
  assert_non_null(strstr(o.out, want));
  outcome_free(&o);
}

/*
 * With 4 threads the base measured twice differs by 5 %: a change of 3 % is no finding, one of
 * 30 % is. With 8 threads it differs by 0.1 %, and 3 % is a finding there.
 */
static void a_twin_takes_down_small_changes(void **state) {
  (void)state;
  char text[32000];
  size_t used = 0;
  static const struct {
    const char *name;
    int permille;
  } columns[] = {{"base", 1000}, {"twin", 1050}, {"small", 970}, {"large", 700}};
  for (int row = 0; row < 3; row++)
    for (size_t c = 0; c < 8; c++)
      for (int i = 0; i < 10; i++)
        used +=
            (size_t)snprintf(text + used, sizeof text - used, "BenchmarkR%d/s=%s-%d 1 %d ns/op\n",
                             row, columns[c % 4].name, c < 4 ? 4 : 8,
                             (c == 5 ? 1001 : columns[c % 4].permille) * 100 + i);
  char line[200];
  const char *path = write_file(text);
  snprintf(line, sizeof line, "-format tidy -margin 0.001 -twin twin -col /s %s", path);
  struct outcome o = run_poolcmp(line);
  unlink(path);
  int undecided = 0, faster = 0;
  for (char *row = strtok(o.out, "\n"); row; row = strtok(NULL, "\n")) {
    bool small = strstr(row, ",small,10,"), four = strstr(row, "-4,");
    if (!small && !strstr(row, ",large,10,"))
      continue;
    assert_non_null(strstr(row, small && four ? ",undecided," : ",faster,"));
    assert_int_equal(strstr(row, ",twin,") != NULL, small && four);
    undecided += small && four;
    faster += !(small && four);
  }
  assert_int_equal(undecided, 3);
  assert_int_equal(faster, 9);
  outcome_free(&o);
}

static void inputs_may_come_from_stdin(void **state) {
  (void)state;
  int keep = dup(STDIN_FILENO), in = open(slow_path, O_RDONLY);
  assert_true(keep >= 0 && in >= 0);
  dup2(in, STDIN_FILENO);
  close(in);
  char line[200];
  snprintf(line, sizeof line, "%s -", old_path);
  struct outcome o = run_poolcmp(line);
  dup2(keep, STDIN_FILENO);
  close(keep);
  assert_non_null(strstr(o.out, "+20.00% (p=0.000 n=10)"));
  outcome_free(&o);
}

/* Output that cannot be written is an error. */
static void a_full_disk_is_an_error(void **state) {
  (void)state;
  FILE *full = fopen("/dev/full", "w");
  if (!full)
    skip();
  const char *const prints[] = {old_path, "--help"};
  for (size_t i = 0; i < 2; i++) {
    char *words[] = {(char *)"poolcmp", (char *)prints[i], NULL}, *err_text = NULL;
    size_t n;
    FILE *err = open_memstream(&err_text, &n);
    assert_int_equal(poolcmp_run(2, words, full, err), 3);
    fclose(err);
    clearerr(full);
    assert_non_null(strstr(err_text, "No space left on device"));
    free(err_text);
  }
  fclose(full);
}

/* Whether a comparison on a terminal of this kind is coloured; less than a terminal buffers. */
static bool is_colored(const char *kind, const char *no_color) {
  char text[4096];
  char *words[] = {(char *)"poolcmp", (char *)old_path, (char *)slow_path};
  int keyboard = posix_openpt(O_RDWR | O_NOCTTY);
  if (keyboard < 0 || grantpt(keyboard) != 0 || unlockpt(keyboard) != 0)
    skip();
  FILE *screen = fopen(ptsname(keyboard), "w"), *err = fopen("/dev/null", "w");
  assert_non_null(screen);
  assert_non_null(err);
  setenv("TERM", kind, 1);
  setenv("NO_COLOR", no_color, 1);
  assert_int_equal(poolcmp_run(3, words, screen, err), 0);
  fclose(screen);
  fclose(err);
  bool colored = false;
  for (ssize_t n; (n = read(keyboard, text, sizeof text)) > 0;)
    colored = colored || memchr(text, '\033', (size_t)n) != NULL;
  close(keyboard);
  return colored;
}

static void colour_is_for_terminals_that_have_it(void **state) {
  (void)state;
  assert_true(is_colored("xterm", ""));
  assert_false(is_colored("xterm", "1"));
  assert_false(is_colored("dumb", ""));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(colour_is_for_terminals_that_have_it),
      cmocka_unit_test(status_says_what_happened),
      cmocka_unit_test(a_missing_file_prints_no_table),
      cmocka_unit_test(wrong_usage_is_explained),
      cmocka_unit_test(flags_have_one_dash_or_two_and_stand_anywhere),
      cmocka_unit_test(help_fits_a_screen),
      cmocka_unit_test(gates_fire_on_regressions_alone),
      cmocka_unit_test(gates_that_cannot_fire_are_refused),
      cmocka_unit_test(rounds_of_a_run_pair),
      cmocka_unit_test(different_runs_never_pair_and_are_said),
      cmocka_unit_test(keys_that_no_result_has_are_said),
      cmocka_unit_test(doubts_stand_behind_a_name),
      cmocka_unit_test(units_that_no_input_has_are_said),
      cmocka_unit_test(pooling_is_said),
      cmocka_unit_test(a_run_given_twice_counts_once),
      cmocka_unit_test(many_values_of_one_process_are_said),
      cmocka_unit_test(the_same_path_twice_is_numbered),
      cmocka_unit_test(a_twin_takes_down_small_changes),
      cmocka_unit_test(inputs_may_come_from_stdin),
      cmocka_unit_test(a_full_disk_is_an_error),
  };
  return cmocka_run_group_tests_name("poolcmp", tests, make_files, remove_files);
}
