/*
 * Where benchstat prints something wrong, the right value: p by enumerating every arrangement of
 * the pooled sample (worked out outside this program), the rest by hand.
 */
#include "tests/poolcmp_fixture.h"

/* A file of one benchmark with these values of a unit. */
static const char *file_of(const char *name, const char *unit, const double *v, size_t n) {
  char text[8192] = "";
  size_t used = 0;
  for (size_t i = 0; i < n; i++)
    used += (size_t)snprintf(text + used, sizeof text - used, "Benchmark%s 1 %.17g %s\n", name,
                             v[i], unit);
  return write_file(text);
}

static struct outcome compare_files(const char *flags, const char *old, const char *new) {
  char line[512];
  snprintf(line, sizeof line, "%s old=%s new=%s", flags, old, new);
  struct outcome o = run_poolcmp(line);
  unlink(old);
  unlink(new);
  return o;
}

#define VALUES(...) (const double[]){__VA_ARGS__}, sizeof((double[]){__VA_ARGS__}) / sizeof(double)

/* 268 of 385 arrangements are at least as far out: 0.6961, not 0.635 one way and 0.757 the other.
 */
static void tied_p_does_not_depend_on_the_order_of_files(void **state) {
  (void)state;
  for (int swapped = 0; swapped < 2; swapped++) {
    const char *a = file_of("A", "ns/op", VALUES(10, 11, 12, 11, 10, 11, 10, 11, 12));
    const char *b = file_of("A", "ns/op", VALUES(11, 10, 10, 13, 11, 10));
    struct outcome o = swapped ? compare_files("", b, a) : compare_files("", a, b);
    assert_non_null(strstr(o.out, swapped ? "~ (p=0.696 n=6+9)" : "~ (p=0.696 n=9+6)"));
    outcome_free(&o);
  }
}

/* One against five equal values: 1/6, where benchstat prints 1.667. Three against five: 1/56. */
static void tied_p_is_never_above_1(void **state) {
  (void)state;
  struct outcome o =
      compare_files("", file_of("A", "x", VALUES(4)), file_of("A", "x", VALUES(3, 3, 3, 3, 3)));
  assert_non_null(strstr(o.out, "~ (p=0.167 n=1+5)"));
  outcome_free(&o);
  o = compare_files("", file_of("A", "x", VALUES(4, 4, 4)),
                    file_of("A", "x", VALUES(3, 3, 3, 3, 3)));
  assert_non_null(strstr(o.out, "-25.00% (p=0.018 n=3+5)"));
  outcome_free(&o);
}

/* A published row of benchstat "(p=0.000 n=5+4)": with all different, all tied sides p is 1/126. */
static void five_against_four_cannot_be_below_0008(void **state) {
  (void)state;
  struct outcome o = compare_files(
      "-format classic", file_of("OldRequest-8", "B/op", VALUES(2630, 2630, 2630, 2630, 2630)),
      file_of("OldRequest-8", "B/op", VALUES(2440, 2440, 2440, 2440)));
  assert_string_equal(o.out, "name          old alloc/op  new alloc/op  delta\n"
                             "OldRequest-8   2.63kB ± 0%   2.44kB ± 0%  -7.22%  (p=0.008 n=5+4)\n");
  outcome_free(&o);
}

/* Sixty against sixty far apart: below every printable p, in both directions. */
static void p_is_never_left_out(void **state) {
  (void)state;
  double low[60], high[60];
  for (int i = 0; i < 60; i++) {
    low[i] = 100 + i;
    high[i] = 1000 + i;
  }
  struct outcome o =
      compare_files("", file_of("A", "ns/op", high, 60), file_of("A", "ns/op", low, 60));
  assert_non_null(strstr(o.out, "(p=0.000 n=60)"));
  outcome_free(&o);
  o = compare_files("-format markdown", file_of("A", "ns/op", high, 60),
                    file_of("A", "ns/op", low, 60));
  assert_non_null(strstr(o.out, "p<0.001 n=60"));
  outcome_free(&o);
}

/* 1 2 3 against 4 5 6: p is 2/20, exactly alpha, so it is significant. */
static void p_equal_to_alpha_is_significant(void **state) {
  (void)state;
  struct outcome o = compare_files("-alpha 0.1", file_of("A", "ns/op", VALUES(1, 2, 3)),
                                   file_of("A", "ns/op", VALUES(4, 5, 6)));
  assert_non_null(strstr(o.out, "+150.00% (p=0.100 n=3)"));
  outcome_free(&o);
}

/* benchstat puts 0 ns/op into a table of its own. Enumeration: 83/462. */
static void zero_stays_in_its_table(void **state) {
  (void)state;
  struct outcome o = compare_files("", file_of("A", "ns/op", VALUES(0, 0, 0, 5, 6, 7)),
                                   file_of("A", "ns/op", VALUES(0, 5, 6, 7, 8, 9)));
  assert_null(strstr(o.out, "ns/op"));
  assert_non_null(strstr(o.out, "~ (p=0.180 n=6)"));
  outcome_free(&o);
}

/* Nothing in common: the heading is as wide as it needs to be, and the status says it. */
static void headings_do_not_stick_out(void **state) {
  (void)state;
  struct outcome o = compare_files("", file_of("OnlyOld", "x", VALUES(1, 1, 1, 1, 1, 1)),
                                   file_of("OnlyNew", "x", VALUES(2, 2, 2, 2, 2, 2)));
  assert_string_equal(o.out,
                      "        │    old     │         new         │\n"
                      "        │     x      │     x       vs base │\n"
                      "OnlyOld   1.000 ± 0%\n"
                      "OnlyNew                2.000 ± 0%\n"
                      "geomean   1.000        2.000       ? ¹ ²\n"
                      "¹ benchmark set differs from baseline; geomeans may not be comparable\n"
                      "² ratios must be >0 to compute geomean\n");
  assert_int_equal(o.status, POOLCMP_NOTHING);
  outcome_free(&o);
}

/* Every row of a CSV table has as many fields as its heading: 7 here. */
static void csv_rows_are_padded(void **state) {
  (void)state;
  struct outcome o = compare_files("-format csv", file_of("OnlyOld", "x", VALUES(1, 1)),
                                   file_of("OnlyNew", "x", VALUES(2, 2)));
  int rows = 0;
  for (char *line = strtok(o.out, "\n"); line; line = strtok(NULL, "\n"), rows++) {
    int commas = 0;
    for (char *p = line; *p; p++)
      commas += *p == ',';
    assert_int_equal(commas, 6);
  }
  assert_int_equal(rows, 5);
  outcome_free(&o);
}

/* benchstat gives up on a line of more than 64 KiB. */
static void long_lines_are_read(void **state) {
  (void)state;
  static char text[400000];
  size_t n = 0;
  for (int i = 0; i < 20000; i++)
    n += (size_t)snprintf(text + n, sizeof text - n, "# a long comment");
  n += (size_t)snprintf(text + n, sizeof text - n, "\nBenchmarkA 1 5 ns/op\n");
  const char *path = write_file(text);
  char line[128];
  snprintf(line, sizeof line, "x=%s", path);
  struct outcome o = run_poolcmp(line);
  assert_non_null(strstr(o.out, "A   5.000n"));
  assert_int_equal(o.status, POOLCMP_DONE);
  unlink(path);
  outcome_free(&o);
}

/* Two of three samples ran into their limit: the median is known from below only. */
static void a_bound_is_not_printed_as_a_time(void **state) {
  (void)state;
  const char *path = write_file("# run 1a round 1 seq 1\n"
                                "BenchmarkA/s=a-1 1 10 ns/op\n"
                                "# run 1a round 1 seq 2\n# flag bound did not finish in 8 s\n"
                                "BenchmarkA/s=b-1 1 5000 ns/op\n"
                                "# run 1a round 2 seq 3\n# flag bound did not finish in 8 s\n"
                                "BenchmarkA/s=b-1 1 6000 ns/op\n"
                                "# run 1a round 3 seq 4\n"
                                "BenchmarkA/s=b-1 1 7000 ns/op\n");
  char line[128];
  for (int markdown = 0; markdown < 2; markdown++) {
    snprintf(line, sizeof line, "-col /s -filter .unit:ns/op %s %s",
             markdown ? "-format markdown" : "", path);
    struct outcome o = run_poolcmp(line);
    assert_non_null(strstr(o.out, "> 6000.00n ± ∞"));
    assert_null(strstr(o.out, "> 10.00n"));
    assert_non_null(strstr(o.out, "2 of 3 samples did not finish in their time limit"));
    outcome_free(&o);
  }
  unlink(path);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(tied_p_does_not_depend_on_the_order_of_files),
      cmocka_unit_test(tied_p_is_never_above_1),
      cmocka_unit_test(five_against_four_cannot_be_below_0008),
      cmocka_unit_test(p_is_never_left_out),
      cmocka_unit_test(p_equal_to_alpha_is_significant),
      cmocka_unit_test(zero_stays_in_its_table),
      cmocka_unit_test(headings_do_not_stick_out),
      cmocka_unit_test(csv_rows_are_padded),
      cmocka_unit_test(long_lines_are_read),
      cmocka_unit_test(a_bound_is_not_printed_as_a_time),
  };
  return cmocka_run_group_tests_name("render_right", tests, NULL, NULL);
}
