/* Whole numbers: what is one, and what only looks like one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/digits.h"

#include <string.h>

static void digits_alone_are_a_number(void **state) {
  (void)state;
  static const struct {
    const char *text;
    uint64_t value;
  } cases[] = {{"0", 0},
               {"7", 7},
               {"0042", 42},
               {"18446744073709551615", UINT64_MAX},
               {"00000000000000000000018446744073709551615", UINT64_MAX}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    uint64_t value;
    assert_true(digits_parse(cases[i].text, strlen(cases[i].text), &value));
    assert_true(value == cases[i].value);
  }
}

static void all_else_is_none(void **state) {
  (void)state;
  static const char *const cases[] = {"",    "-1",  "+1",  " 1",  "1 ",
                                      "0x1", "1e3", "1.0", "1,2", "18446744073709551616",
                                      "a",   "1a",  "\n",  "/",   "99999999999999999999999"};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    uint64_t value = 5;
    if (digits_parse(cases[i], strlen(cases[i]), &value))
      fail_msg("\"%s\" was taken for a number", cases[i]);
    assert_true(value == 5);
  }
}

static void no_more_than_the_given_bytes_are_read(void **state) {
  (void)state;
  uint64_t value;
  assert_true(digits_parse("12,34", 2, &value));
  assert_true(value == 12);
  assert_false(digits_parse("12", 0, &value));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(digits_alone_are_a_number),
      cmocka_unit_test(all_else_is_none),
      cmocka_unit_test(no_more_than_the_given_bytes_are_read),
  };
  return cmocka_run_group_tests_name("digits", tests, NULL, NULL);
}
