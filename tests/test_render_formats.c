/*
 * The formats that are poolcmp's own: classic, Markdown, tidy CSV, JSON, ASCII, colour, pages of a
 * given width. What is expected was written by hand from the inputs.
 */
#include "tests/poolcmp_fixture.h"

#include <jansson.h>

/* Six values around a center: center-2 .. center+3 percent of it, so medians are known. */
static void add_samples(char *text, const char *name, long center, const char *unit) {
  for (int i = -2; i <= 3; i++)
    sprintf(text + strlen(text), "Benchmark%s 1 %ld %s\n", name, center * (1000 + i) / 1000, unit);
}

static struct outcome compare_texts(const char *flags, const char *old, const char *new) {
  char line[512];
  const char *a = write_file(old), *b = write_file(new);
  snprintf(line, sizeof line, "%s old=%s new=%s", flags, a, b);
  struct outcome o = run_poolcmp(line);
  unlink(a);
  unlink(b);
  return o;
}

/* The first table of the freelists pull request, from samples with its means and spreads. */
static void classic_prints_the_published_layout(void **state) {
  (void)state;
  static const struct {
    const char *name;
    double old, old_range, new, new_range; /* ns, percent */
  } rows[] = {
      {"Compare/Pod/structured-32", 64600, 8, 44500, 5},
      {"Compare/Node/structured-32", 110000, 11, 82000, 3},
      {"Compare/Endpoints/structured-32", 1000000, 9, 850000, 6},
  };
  char old[4000] = "", new[4000] = "";
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    for (int k = -2; k <= 2; k++) {
      sprintf(old + strlen(old), "Benchmark%s 100 %.0f ns/op\n", rows[i].name,
              rows[i].old * (1 + k * rows[i].old_range / 200));
      sprintf(new + strlen(new), "Benchmark%s 100 %.0f ns/op\n", rows[i].name,
              rows[i].new *(1 + k * rows[i].new_range / 200));
    }
  struct outcome o = compare_texts("-format classic", old, new);
  assert_string_equal(
      o.out,
      "name                             old time/op  new time/op  delta\n"
      "Compare/Pod/structured-32        64.6µs ± 8%  44.5µs ± 5%  -31.11%  (p=0.008 n=5+5)\n"
      "Compare/Node/structured-32        110µs ±11%    82µs ± 3%  -25.45%  (p=0.008 n=5+5)\n"
      "Compare/Endpoints/structured-32  1.00ms ± 9%  0.85ms ± 6%  -15.00%  (p=0.008 n=5+5)\n");
  outcome_free(&o);
}

/* The median of each is half a thousandth above its center. 900 against 1000 and 100 against 100.1:
 * one row changed, the other inside the margin. */
static void markdown_is_aligned_and_says_the_direction(void **state) {
  (void)state;
  char old[1000] = "", new[1000] = "";
  add_samples(old, "Same_as_before", 100000, "ns/op");
  add_samples(new, "Same_as_before", 100000, "ns/op");
  add_samples(old, "A|B", 1000000, "ns/op");
  add_samples(new, "A|B", 900000, "ns/op");
  struct outcome o = compare_texts("-format markdown -sort delta", old, new);
  assert_string_equal(
      o.out,
      "**sec/op**, lower is better\n"
      "\n"
      "| benchmark        |          old |         new | vs base | test        | result |\n"
      "|------------------|-------------:|------------:|--------:|-------------|--------|\n"
      "| A\\|B             | 1000.5µ ± 0% | 900.5µ ± 0% | -10.00% | p=0.002 n=6 | faster |\n"
      "| `Same_as_before` |  100.1µ ± 0% | 100.1µ ± 0% |       ~ | p=1.000 n=6 | same   |\n"
      "| geomean          |       316.4µ |      300.2µ |  -5.13% |             |        |\n");
  outcome_free(&o);
}

/* Four columns are transposed: a line per benchmark and column, none wider than 100. */
static void markdown_transposes_many_columns(void **state) {
  (void)state;
  char text[4000] = "";
  static const char *const names[] = {"malloc", "pool", "arena", "treiber"};
  for (int i = 0; i < 4; i++) {
    char name[64];
    snprintf(name, sizeof name, "X/strategy=%s-4", names[i]);
    add_samples(text, name, 100000 - 20000 * i, "ns/op");
  }
  char line[128];
  const char *path = write_file(text);
  snprintf(line, sizeof line, "-format markdown -col /strategy %s", path);
  struct outcome o = run_poolcmp(line);
  unlink(path);
  assert_non_null(strstr(o.out, "| benchmark | /strategy |"));
  assert_non_null(strstr(o.out, "|           | treiber   |"));
  assert_non_null(strstr(o.out, "| X-4       | malloc    |"));
  for (char *row = strtok(o.out, "\n"); row; row = strtok(NULL, "\n"))
    assert_in_range(text_width(text_of(row)), 0, 100);
  outcome_free(&o);
}

static size_t count_fields(const char *line) {
  size_t n = 1;
  bool quoted = false;
  for (; *line && *line != '\n'; line++) {
    quoted = quoted != (*line == '"');
    n += *line == ',' && !quoted;
  }
  return n;
}

static void tidy_has_a_record_per_row_and_column(void **state) {
  (void)state;
  char old[1000] = "k: a,b\n", new[1000] = "k: a,b\n";
  add_samples(old, "A", 1000000, "ns/op");
  add_samples(new, "A", 900000, "ns/op");
  struct outcome o = compare_texts("-format tidy", old, new);
  size_t lines = 0, fields = count_fields(o.out);
  assert_int_equal(fields, 25);
  char *save, *line = strtok_r(o.out, "\n", &save);
  for (; line; line = strtok_r(NULL, "\n", &save), lines++)
    assert_int_equal(count_fields(line), fields);
  assert_int_equal(lines, 3);
  outcome_free(&o);
  o = compare_texts("-format tidy", old, new);
  assert_non_null(strstr(o.out, "\nsec/op,A,new,6,0.00090045"));
  assert_non_null(strstr(o.out,
                         ",relative,mann-whitney,0.0021645021645021645,0.0021645021645021645,"
                         "true,faster,"));
  assert_non_null(strstr(o.out, "\"a,b\""));
  outcome_free(&o);
}

static void json_is_valid_and_complete(void **state) {
  (void)state;
  char old[1000] = "k: \"q\"\\\n", new[1000] = "k: \"q\"\\\n";
  add_samples(old, "A", 1000000, "ns/op");
  add_samples(new, "A", 900000, "ns/op");
  add_samples(new, "New", 1, "B/op");
  struct outcome o = compare_texts("-format json -correct holm", old, new);
  json_error_t e;
  json_t *root = json_loads(o.out, 0, &e);
  if (!root)
    fail_msg("%s at %d", e.text, e.position);
  assert_int_equal(json_integer_value(json_object_get(root, "version")), 1);
  assert_int_equal(json_integer_value(json_object_get(root, "family")), 1);
  json_t *table = json_array_get(json_object_get(root, "tables"), 0);
  assert_string_equal(json_string_value(json_object_get(json_object_get(table, "keys"), "k")),
                      "\"q\"\\");
  json_t *cell = json_array_get(
      json_object_get(json_array_get(json_object_get(table, "rows"), 0), "cells"), 1);
  json_t *c = json_object_get(cell, "comparison");
  assert_string_equal(json_string_value(json_object_get(c, "verdict")), "faster");
  assert_float_equal(json_real_value(json_object_get(c, "p")), 1. / 462, 1e-12);
  json_t *delta = json_object_get(c, "delta");
  assert_float_equal(json_real_value(json_object_get(delta, "estimate")), -0.1, 1e-3);
  assert_true(json_real_value(json_object_get(delta, "hi")) < -0.09);
  json_decref(root);
  outcome_free(&o);
}

static void ascii_has_no_other_bytes(void **state) {
  (void)state;
  char old[1000] = "", new[1000] = "";
  add_samples(old, "A", 1000, "ns/op");
  sprintf(new, "BenchmarkA 1 500 ns/op\n");
  static const char *const formats[] = {"text", "classic", "markdown", "csv"};
  for (size_t i = 0; i < 4; i++) {
    char flags[64];
    snprintf(flags, sizeof flags, "-ascii -ci -format %s", formats[i]);
    struct outcome o = compare_texts(flags, old, new);
    assert_true(o.out[0] != 0);
    for (const char *p = o.out; *p; p++)
      if ((unsigned char)*p >= 0x80)
        fail_msg("%s: %s", formats[i], o.out);
    outcome_free(&o);
  }
}

static void colour_marks_better_and_worse(void **state) {
  (void)state;
  char old[2000] = "", new[2000] = "";
  add_samples(old, "A", 1000000, "ns/op");
  add_samples(new, "A", 900000, "ns/op");
  add_samples(old, "A", 1000, "MB/s");
  add_samples(new, "A", 900, "MB/s");
  struct outcome o = compare_texts("-color always", old, new);
  assert_non_null(strstr(o.out, "\x1b[32m-10.00%\x1b[0m"));
  assert_non_null(strstr(o.out, "\x1b[31m"));
  outcome_free(&o);
  o = compare_texts("", old, new); /* no terminal */
  assert_null(strchr(o.out, '\x1b'));
  outcome_free(&o);
}

/* Five columns in 80 characters: pages that repeat the base, none wider. */
static void pages_keep_to_the_width(void **state) {
  (void)state;
  char text[4000] = "";
  for (int i = 0; i < 5; i++) {
    char name[64];
    snprintf(name, sizeof name, "X/strategy=s%d-4", i);
    add_samples(text, name, 100000 - 10000 * i, "ns/op");
  }
  char line[128];
  const char *path = write_file(text);
  snprintf(line, sizeof line, "-width 80 -col /strategy %s", path);
  struct outcome o = run_poolcmp(line);
  unlink(path);
  size_t pages = 0;
  for (const char *p = o.out; (p = strstr(p, "│      s0      │")); p++)
    pages++;
  assert_int_equal(pages, 4);
  for (char *row = strtok(o.out, "\n"); row; row = strtok(NULL, "\n"))
    assert_in_range(text_width(text_of(row)), 0, 80);
  outcome_free(&o);
}

/* Blocks repeat name and base; nothing is cut without a width, nor a difference from its columns.
 */
static void classic_blocks_keep_to_the_width(void **state) {
  (void)state;
  const char *path = write_file("BenchmarkX/s=a 1 10 ns/op\nBenchmarkX/s=b 1 20 ns/op\n"
                                "BenchmarkX/s=c 1 30 ns/op\nBenchmarkX/s=d 1 40 ns/op\n"
                                "BenchmarkY/s=a 1 50 ns/op\nBenchmarkY/s=d 1 60 ns/op\n"
                                "BenchmarkZ/s=b 1 70 ns/op\nBenchmarkZ/s=d 1 80 ns/op\n"
                                "BenchmarkW/s=c 1 90 ns/op\n");
  static const struct {
    const char *flags, *want;
  } cases[] = {
      {"", "name \\ time/op  a            b            c            d\n"
           "X               10.0ns ± 0%  20.0ns ± 0%  30.0ns ± 0%  40.0ns ± 0%\n"
           "Y               50.0ns ± 0%                            60.0ns ± 0%\n"
           "Z                            70.0ns ± 0%               80.0ns ± 0%\n"
           "W                                         90.0ns ± 0%\n"},
      {"-width 53", "name \\ time/op  a            b            c\n"
                    "X               10.0ns ± 0%  20.0ns ± 0%  30.0ns ± 0%\n"
                    "Y               50.0ns ± 0%\n"
                    "Z                            70.0ns ± 0%\n"
                    "W                                         90.0ns ± 0%\n\n"
                    "name \\ time/op  a            d\n"
                    "X               10.0ns ± 0%  40.0ns ± 0%\n"
                    "Y               50.0ns ± 0%  60.0ns ± 0%\n"
                    "Z                            80.0ns ± 0%\n"
                    "W             \n"},
      {"-width 40 -filter '.name:(X OR Z)'", "name \\ time/op  a            b\n"
                                             "X               10.0ns ± 0%  20.0ns ± 0%\n"
                                             "Z                            70.0ns ± 0%\n\n"
                                             "name \\ time/op  a            c\n"
                                             "X               10.0ns ± 0%  30.0ns ± 0%\n"
                                             "Z             \n\n"
                                             "name \\ time/op  a            d\n"
                                             "X               10.0ns ± 0%  40.0ns ± 0%\n"
                                             "Z                            80.0ns ± 0%\n"},
      {"-width 1 -filter '/s:(a OR b OR d) .name:X'", "name \\ time/op  a            b\n"
                                                      "X               10.0ns ± 0%  20.0ns ± 0%\n\n"
                                                      "name \\ time/op  a            d\n"
                                                      "X               10.0ns ± 0%  40.0ns ± 0%\n"},
      {"-width 20 -filter '/s:(a OR b)'",
       "name  old time/op  new time/op  delta\n"
       "X     10.0ns ± 0%  20.0ns ± 0%   ~     (p=1.000 n=1+1)\n"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char line[256];
    snprintf(line, sizeof line, "-format classic -col /s -row .name %s %s", cases[i].flags, path);
    struct outcome o = run_poolcmp(line);
    assert_string_equal(o.out, cases[i].want);
    outcome_free(&o);
  }
  unlink(path);
}

static void intervals_stand_in_every_row(void **state) {
  (void)state;
  char old[1000] = "", new[1000] = "";
  add_samples(old, "A", 100000, "ns/op");
  add_samples(new, "A", 100000, "ns/op");
  struct outcome o = compare_texts("-ci -correct holm", old, new);
  assert_non_null(strstr(o.out, "~ +0.00% [-0.30%, +0.30%] (p=1.000 holm=1.000 n=6)"));
  assert_non_null(strstr(o.out, "\nfamily: 1 test of sec/op, corrected by Holm\n"));
  outcome_free(&o);
  o = compare_texts("-ci", "BenchmarkA 1 5 x\n", "BenchmarkA 1 6 x\n");
  assert_non_null(strstr(o.out, "[-∞, +∞]"));
  outcome_free(&o);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(classic_prints_the_published_layout),
      cmocka_unit_test(markdown_is_aligned_and_says_the_direction),
      cmocka_unit_test(markdown_transposes_many_columns),
      cmocka_unit_test(tidy_has_a_record_per_row_and_column),
      cmocka_unit_test(json_is_valid_and_complete),
      cmocka_unit_test(ascii_has_no_other_bytes),
      cmocka_unit_test(colour_marks_better_and_worse),
      cmocka_unit_test(pages_keep_to_the_width),
      cmocka_unit_test(classic_blocks_keep_to_the_width),
      cmocka_unit_test(intervals_stand_in_every_row),
  };
  return cmocka_run_group_tests_name("render_formats", tests, NULL, NULL);
}
