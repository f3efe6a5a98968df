/*
 * The reader: line kinds, number syntax, what is refused and how it is said. Expected values
 * follow the Go benchmark format and Go's literal syntax.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "comparer/number.h"
#include "comparer/reader.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static struct reader reader;

static int setup(void **state) {
  (void)state;
  return reader_init(&reader) ? 0 : -1;
}

static int teardown(void **state) {
  (void)state;
  reader_free(&reader);
  return 0;
}

static int open_bytes(const char *bytes, size_t n) {
  int fd = memfd_create("input", 0);
  assert_true(fd >= 0);
  assert_int_equal(write(fd, bytes, n), (ssize_t)n);
  assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
  reader_open(&reader, fd);
  return fd;
}

static int open_text(const char *text) {
  return open_bytes(text, strlen(text));
}

#define assert_text(t, want)                   \
  do {                                         \
    struct text got_ = (t);                    \
    assert_int_equal(got_.n, strlen(want));    \
    assert_memory_equal(got_.p, want, got_.n); \
  } while (0)

static const char *unit_name(size_t i) {
  return reader.units.list[reader.values[i].unit].name.p;
}

static void results_have_name_values_and_tidied_units(void **state) {
  (void)state;
  int fd = open_text("BenchmarkX/a=1-8 \t 100\t 1500 ns/op  2 MB/s\t7 B/op\n");
  assert_int_equal(reader_next(&reader), RECORD_RESULT);
  assert_text(reader.name, "X/a=1-8");
  assert_int_equal(reader.value_count, 3);
  assert_string_equal(unit_name(0), "sec/op");
  assert_float_equal(reader.values[0].value, 1.5e-6, 1e-20);
  assert_string_equal(unit_name(1), "B/s");
  assert_float_equal(reader.values[1].value, 2e6, 0);
  assert_string_equal(unit_name(2), "B/op");
  assert_int_equal(reader_next(&reader), RECORD_END);
  close(fd);
}

static void names_may_stand_alone_and_numbers_of_iterations_are_checked(void **state) {
  (void)state;
  int fd = open_text("BenchmarkVerbose\nBenchmark 0 1 x\nBenchmarkN -3 1 x\n");
  assert_int_equal(reader_next(&reader), RECORD_RESULT);
  assert_text(reader.name, "");
  assert_int_equal(reader_next(&reader), RECORD_RESULT);
  assert_text(reader.name, "N");
  assert_int_equal(reader_next(&reader), RECORD_END);
  close(fd);
}

static void wrong_lines_are_complaints_with_their_number(void **state) {
  (void)state;
  static const struct {
    const char *line, *message;
  } cases[] = {
      {"BenchmarkA 10", "missing measurements"},
      {"BenchmarkA x 5 ns/op", "parsing iteration count: invalid syntax"},
      {"BenchmarkA 1.5 5 ns/op", "parsing iteration count: invalid syntax"},
      {"BenchmarkA 99999999999999999999 5 ns/op", "parsing iteration count: value out of range"},
      {"BenchmarkA 10 5", "missing units"},
      {"BenchmarkA 10 abc ns/op", "parsing measurement: invalid syntax"},
      {"BenchmarkA 10 5 ns/op 6", "missing units"},
      {"BenchmarkA 10 1e309 x", "parsing measurement: value out of range"},
      {"BenchmarkA 10 1e308 MB", "parsing measurement: value out of range"},
      {"BenchmarkA 10 NaN x",
       "parsing measurement: not a finite number; NaN and infinities cannot be compared"},
      {"BenchmarkA 10 -Inf x",
       "parsing measurement: not a finite number; NaN and infinities cannot be compared"},
      {"BenchmarkA\xff 10 5 x", "not valid UTF-8"},
      {"key: \xff", "not valid UTF-8"},
      {"Unit", "missing unit"},
      {"Unit x y", "expected key=value"},
      {"Unit x =y", "expected key=value"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[200];
    snprintf(text, sizeof text, "PASS\n%s\nBenchmarkGood 1 5 x\n", cases[i].line);
    int fd = open_text(text);
    assert_int_equal(reader_next(&reader), RECORD_COMPLAINT);
    assert_string_equal(reader.message, cases[i].message);
    assert_int_equal(reader.line, 2);
    assert_int_equal(reader_next(&reader), RECORD_RESULT);
    assert_text(reader.name, "Good");
    close(fd);
  }
}

static void spaces_are_unicode_spaces(void **state) {
  (void)state;
  int fd = open_text("BenchmarkA\xc2\xa0"
                     "10\xe3\x80\x80"
                     "5 ns/op\x0b\n");
  assert_int_equal(reader_next(&reader), RECORD_RESULT);
  assert_text(reader.name, "A");
  assert_int_equal(reader.value_count, 1);
  close(fd);
}

static void configuration_is_set_changed_and_deleted(void **state) {
  (void)state;
  int fd = open_text("a: 1\nb:  two words \nBenchmarkA 1 1 x\na: 2\nb:\nBenchmarkA 1 1 x\n"
                     "Upper: no\nno space:x\nnocolon\nno:blank\n a: indented\nBenchmarkA 1 1 x\n");
  const struct intern *s = &reader.strings;
  assert_int_equal(reader_next(&reader), RECORD_RESULT);
  assert_int_equal(reader.config_count, 2);
  assert_text(s->strings[reader.config[1].value], "two words ");
  uint64_t before = reader.config_hash[0];
  assert_int_equal(reader_next(&reader), RECORD_RESULT);
  assert_int_equal(reader.config_count, 1);
  assert_text(s->strings[reader.config[0].key], "a");
  assert_text(s->strings[reader.config[0].value], "2");
  assert_true(reader.config_hash[0] != before);
  before = reader.config_hash[0];
  assert_int_equal(reader_next(&reader), RECORD_RESULT);
  assert_int_equal(reader.config_count, 1);
  assert_true(reader.config_hash[0] == before);
  close(fd);
  fd = open_text("BenchmarkA 1 1 x\n");
  assert_int_equal(reader_next(&reader), RECORD_RESULT);
  assert_int_equal(reader.config_count, 0);
  close(fd);
}

static void the_first_unit_metadata_stands(void **state) {
  (void)state;
  int fd = open_text("Unit ns/op assume=exact better=lower assume=exact assume=nothing\n"
                     "BenchmarkA 1 1 ns/op\n");
  assert_int_equal(reader_next(&reader), RECORD_COMPLAINT);
  assert_string_equal(reader.message, "metadata assume of unit ns/op already set to exact");
  assert_int_equal(reader_next(&reader), RECORD_RESULT);
  assert_true(reader.units.list[reader.values[0].unit].exact);
  assert_int_equal(reader.units.list[reader.values[0].unit].better, BETTER_LESS);
  close(fd);
}

static void run_comments_belong_to_the_result_below(void **state) {
  (void)state;
  int fd = open_text("# run 5f2c round 3 seq 17\n# flag not-steady misses still fall\n"
                     "BenchmarkA 1 1 x\nBenchmarkA 1 1 x\n"
                     "# run the tests twice\nBenchmarkA 1 1 x\n");
  assert_int_equal(reader_next(&reader), RECORD_RESULT);
  assert_int_not_equal(reader.origin.run, 0);
  assert_int_equal(reader.origin.round, 3);
  assert_int_equal(reader.origin.seq, 17);
  assert_int_equal(reader.origin.flags, SAMPLE_NOT_STEADY);
  for (int i = 0; i < 2; i++) {
    assert_int_equal(reader_next(&reader), RECORD_RESULT);
    assert_int_equal(reader.origin.run, 0);
    assert_int_equal(reader.origin.flags, 0);
  }
  close(fd);
}

static void headers_count_processes(void **state) {
  (void)state;
  int fd = open_text("goos: l\npkg: a\nBenchmarkA 1 1 x\nBenchmarkA 1 1 x\n"
                     "goos: l\npkg: a\nBenchmarkA 1 1 x\n");
  static const uint32_t want[] = {1, 1, 2};
  for (int i = 0; i < 3; i++) {
    assert_int_equal(reader_next(&reader), RECORD_RESULT);
    assert_int_equal(reader.process, want[i]);
  }
  close(fd);
}

static void a_name_after_a_refused_line_is_new(void **state) {
  (void)state;
  int fd = open_text("BenchmarkA 1 1 x\nBenchmarkB 1 bad x\nBenchmarkB 1 1 x\nBenchmarkB 1 1 x\n");
  assert_int_equal(reader_next(&reader), RECORD_RESULT);
  assert_int_equal(reader_next(&reader), RECORD_COMPLAINT);
  assert_int_equal(reader_next(&reader), RECORD_RESULT);
  assert_true(reader.name_changed);
  assert_int_equal(reader_next(&reader), RECORD_RESULT);
  assert_false(reader.name_changed);
  close(fd);
}

static void crlf_byte_order_mark_and_missing_newline_are_read(void **state) {
  (void)state;
  int fd = open_text("\xef\xbb\xbf"
                     "BenchmarkA 1 5 x\r\nk: v\r\nBenchmarkB 1 6 x");
  assert_int_equal(reader_next(&reader), RECORD_RESULT);
  assert_text(reader.name, "A");
  assert_string_equal(unit_name(0), "x");
  assert_int_equal(reader_next(&reader), RECORD_RESULT);
  assert_text(reader.strings.strings[reader.config[0].value], "v");
  assert_int_equal(reader_next(&reader), RECORD_END);
  close(fd);
}

static void other_encodings_are_named(void **state) {
  (void)state;
  static const struct {
    const char *bytes;
    size_t n;
    const char *says;
  } cases[] = {
      {"\xff\xfe"
       "B\0e\0",
       6, "UTF-16"},
      {"\xfe\xff\0B\0e", 6, "UTF-16"},
      {"\x1f\x8b\x08\0", 4, "gzip"},
      {"\x28\xb5\x2f\xfd....", 8, "zstd"},
      {"\x7f"
       "ELF....",
       8, "program"},
      {"BenchmarkA 1 5 x\n\0\0", 19, "NUL"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    int fd = open_bytes(cases[i].bytes, cases[i].n);
    assert_int_equal(reader_next(&reader), RECORD_FATAL);
    assert_non_null(strstr(reader.message, cases[i].says));
    close(fd);
  }
}

/* Lines longer than a block, and one that ends exactly with it. */
static void lines_may_be_longer_than_a_block(void **state) {
  (void)state;
  size_t n = 600000;
  char *text = malloc(n + 100);
  assert_non_null(text);
  for (size_t length = 262143; length <= 262145; length++) {
    memset(text, '#', length);
    size_t size = length + (size_t)sprintf(text + length, "\nBenchmarkA 1 5 x\n");
    int fd = open_bytes(text, size);
    assert_int_equal(reader_next(&reader), RECORD_RESULT);
    assert_int_equal(reader.line, 2);
    close(fd);
  }
  memcpy(text, "Benchmark", 9);
  memset(text + 9, 'n', n);
  int fd = open_bytes(text, 9 + n + (size_t)sprintf(text + 9 + n, " 1 5 x\n"));
  assert_int_equal(reader_next(&reader), RECORD_RESULT);
  assert_int_equal(reader.name.n, n);
  close(fd);
  free(text);
}

static void too_many_configuration_keys_are_refused(void **state) {
  (void)state;
  char text[32000];
  size_t n = 0;
  for (int i = 0; i <= READER_MAX_CONFIG; i++)
    n += (size_t)snprintf(text + n, sizeof text - n, "key%d: v\n", i);
  int fd = open_bytes(text, n);
  assert_int_equal(reader_next(&reader), RECORD_FATAL);
  assert_non_null(strstr(reader.message, "1000 configuration keys"));
  close(fd);
}

/* ---- numbers ---- */

static void numbers_follow_go(void **state) {
  (void)state;
  static const struct {
    const char *text;
    enum number_status status;
    double value;
  } cases[] = {
      {"0", NUMBER_OK, 0},
      {"00012", NUMBER_OK, 12},
      {"5.", NUMBER_OK, 5},
      {".5", NUMBER_OK, .5},
      {"+1e-3", NUMBER_OK, 1e-3},
      {"-2E+3", NUMBER_OK, -2000},
      {"1_000.5", NUMBER_OK, 1000.5},
      {"0x1p10", NUMBER_OK, 1024},
      {"0x_1.8p1", NUMBER_OK, 3},
      {"-0X.8P-1", NUMBER_OK, -.25},
      {"9007199254740993", NUMBER_OK, 9007199254740992.},
      {"123456789012345678", NUMBER_OK, 123456789012345680.},
      {"0.1234567890123456789", NUMBER_OK, 0.1234567890123456789},
      {"1e-400", NUMBER_OK, 0},
      {"", NUMBER_SYNTAX, 0},
      {".", NUMBER_SYNTAX, 0},
      {"1e", NUMBER_SYNTAX, 0},
      {"1e+", NUMBER_SYNTAX, 0},
      {"0x10", NUMBER_SYNTAX, 0},
      {"0xp1", NUMBER_SYNTAX, 0},
      {"_1", NUMBER_SYNTAX, 0},
      {"1_", NUMBER_SYNTAX, 0},
      {"1__2", NUMBER_SYNTAX, 0},
      {"1_.5", NUMBER_SYNTAX, 0},
      {"1._5", NUMBER_SYNTAX, 0},
      {"1,000", NUMBER_SYNTAX, 0},
      {"--1", NUMBER_SYNTAX, 0},
      {"1 ", NUMBER_SYNTAX, 0},
      {"infinit", NUMBER_SYNTAX, 0},
      {"+nan", NUMBER_SYNTAX, 0},
      {"1e309", NUMBER_RANGE, 0},
      {"0x1p1024", NUMBER_RANGE, 0},
      {"nan", NUMBER_NOT_FINITE, 0},
      {"-Infinity", NUMBER_NOT_FINITE, 0},
      {"INF", NUMBER_NOT_FINITE, 0},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    double v = 0;
    assert_int_equal(number_parse(text_of(cases[i].text), &v), cases[i].status);
    if (cases[i].status == NUMBER_OK && v != cases[i].value)
      fail_msg("%s is %.17g", cases[i].text, v);
  }
}

/* The fast path must round as the C library does, digit for digit. */
static void plain_digits_round_correctly(void **state) {
  (void)state;
  uint64_t x = 88172645463325252u;
  for (int i = 0; i < 200000; i++) {
    char text[40];
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    snprintf(text, sizeof text, "%llu.%0*llu", (unsigned long long)(x % 10000000),
             1 + (int)(x >> 60), (unsigned long long)(x >> 20) % 10000000);
    double v;
    assert_int_equal(number_parse(text_of(text), &v), NUMBER_OK);
    if (v != strtod(text, NULL))
      fail_msg("%s is %.17g", text, v);
  }
}

static void integers_have_64_bits(void **state) {
  (void)state;
  int64_t v;
  assert_int_equal(number_parse_integer(text_of("9223372036854775807"), &v), NUMBER_OK);
  assert_true(v == INT64_MAX);
  assert_int_equal(number_parse_integer(text_of("-9223372036854775808"), &v), NUMBER_OK);
  assert_true(v == INT64_MIN);
  assert_int_equal(number_parse_integer(text_of("9223372036854775808"), &v), NUMBER_RANGE);
  assert_int_equal(number_parse_integer(text_of("99999999999999999999x"), &v), NUMBER_SYNTAX);
  assert_int_equal(number_parse_integer(text_of("+"), &v), NUMBER_SYNTAX);
}

static void numbers_are_written_in_their_shortest_form(void **state) {
  (void)state;
  static const struct {
    double v;
    const char *text;
  } cases[] = {
      {0, "0"},
      {-3, "-3"},
      {0.1, "0.1"},
      {1e-5, "1e-05"},
      {0.0001, "0.0001"},
      {999999, "999999"},
      {1e6, "1e+06"},
      {1234567, "1.234567e+06"},
      {0.3, "0.3"},
      {0.1 + 0.2, "0.30000000000000004"},
      {5e-324, "5e-324"},
      {DBL_MAX, "1.7976931348623157e+308"},
      {1e22, "1e+22"},
      {123.456, "123.456"},
      {1.4914000000000002e-06, "1.4914000000000002e-06"},
      {100, "100"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[NUMBER_TEXT];
    number_shortest(cases[i].v, text);
    assert_string_equal(text, cases[i].text);
  }
}

/* ---- units ---- */

static void units_are_tidied_in_the_numerator(void **state) {
  (void)state;
  static const struct {
    const char *unit, *tidied;
    double factor;
  } cases[] = {
      {"ns/op", "sec/op", 1e-9},   {"MB/s", "B/s", 1e6},
      {"p99-ns", "p99-sec", 1e-9}, {"ns*MB/ns", "sec*B/ns", 1e-3},
      {"x/ns", "x/ns", 1},         {"x/ns*ns", "x/ns*sec", 1e-9},
      {"nsx", "nsx", 1},           {"ns-ns", "sec-sec", 1e-18},
      {"B/op", "B/op", 1},
  };
  struct arena a = {0};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct text tidied;
    double factor;
    assert_true(unit_tidy(&a, text_of(cases[i].unit), &tidied, &factor));
    assert_string_equal(tidied.p, cases[i].tidied);
    assert_true(fabs(factor / cases[i].factor - 1) < 1e-15);
  }
  arena_free(&a);
}

static void better_directions_are_known(void **state) {
  (void)state;
  static const struct {
    const char *unit;
    enum better better;
  } cases[] = {
      {"sec/op", BETTER_LESS},      {"B/op", BETTER_LESS},        {"allocs/op", BETTER_LESS},
      {"B/s", BETTER_MORE},         {"ops/s", BETTER_MORE},       {"p99-sec", BETTER_LESS},
      {"live-peak-B", BETTER_LESS}, {"miss-%", BETTER_LESS},      {"host-speed-%", BETTER_UNKNOWN},
      {"widgets", BETTER_UNKNOWN},  {"faults/s", BETTER_UNKNOWN},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    assert_int_equal(unit_better_default(text_of(cases[i].unit)), cases[i].better);
}

/* Facts of benchstat: the digits at which a prefix or a decimal changes. */
static void scales_change_where_digits_round_up(void **state) {
  (void)state;
  static const struct {
    double v;
    bool binary;
    const char *text;
  } cases[] = {
      {0.99995506607140106, false, "1.000"},
      {-2.6643653446918159e-09, false, "-2.664n"},
      {0, false, "0.000"},
      {99.994, false, "99.99"},
      {99.996, false, "100.0"},
      {999.94, false, "999.9"},
      {999.96, false, "1.000k"},
      {1e15, false, "1000.0T"},
      {0.5e-9, false, "0.5000n"},
      {0.9994e-10, false, "0.09994n"},
      {1e-20, false, "0.0000000000n"},
      {1023, true, "1023.0"},
      {1024, true, "1.000Ki"},
      {1048500, true, "1023.9Ki"},
      {1048576, true, "1.000Mi"},
      {0.5, true, "0.5000"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[SCALE_TEXT];
    scale_format(scale_for(&cases[i].v, 1, cases[i].binary), cases[i].v, text);
    assert_string_equal(text, cases[i].text);
  }
}

#define READER_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      READER_TEST(results_have_name_values_and_tidied_units),
      READER_TEST(names_may_stand_alone_and_numbers_of_iterations_are_checked),
      READER_TEST(wrong_lines_are_complaints_with_their_number),
      READER_TEST(spaces_are_unicode_spaces),
      READER_TEST(configuration_is_set_changed_and_deleted),
      READER_TEST(the_first_unit_metadata_stands),
      READER_TEST(run_comments_belong_to_the_result_below),
      READER_TEST(headers_count_processes),
      READER_TEST(a_name_after_a_refused_line_is_new),
      READER_TEST(crlf_byte_order_mark_and_missing_newline_are_read),
      READER_TEST(other_encodings_are_named),
      READER_TEST(lines_may_be_longer_than_a_block),
      READER_TEST(too_many_configuration_keys_are_refused),
      cmocka_unit_test(numbers_follow_go),
      cmocka_unit_test(plain_digits_round_correctly),
      cmocka_unit_test(integers_have_64_bits),
      cmocka_unit_test(numbers_are_written_in_their_shortest_form),
      cmocka_unit_test(units_are_tidied_in_the_numerator),
      cmocka_unit_test(better_directions_are_known),
      cmocka_unit_test(scales_change_where_digits_round_up),
  };
  return cmocka_run_group_tests_name("reader", tests, NULL, NULL);
}
