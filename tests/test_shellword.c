/* Words as a shell has to be given them: what sh reads back is what went in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/shellword.h"

#include <stdio.h>
#include <string.h>

static void a_plain_word_stays_as_it_is(void **state) {
  (void)state;
  char out[100] = "poolcmp";
  shellword_add(out, sizeof out, "-col");
  shellword_add(out, sizeof out, "/strategy");
  shellword_add(out, sizeof out, "results/20260101-000000-host/samples.txt");
  assert_string_equal(out, "poolcmp -col /strategy results/20260101-000000-host/samples.txt");
}

static void a_shell_reads_back_each_word(void **state) {
  (void)state;
  static const char *const words[] = {
      "a b", "it's", "", "\"$HOME\"", "`id`", "a\tb", "*", "~", "a;b", "\\", "#", "!", "\xc3\xbc",
  };
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
    char command[200] = "printf '<%s>'", read[100] = "", expected[100];
    shellword_add(command, sizeof command, words[i]);
    FILE *shell = popen(command, "r");
    assert_non_null(shell);
    assert_true(fread(read, 1, sizeof read - 1, shell) > 0);
    assert_int_equal(pclose(shell), 0);
    snprintf(expected, sizeof expected, "<%s>", words[i]);
    assert_string_equal(read, expected);
  }
}

static void nothing_is_written_beyond_the_room(void **state) {
  (void)state;
  for (size_t size = 1; size < 12; size++) {
    char out[16];
    memset(out, 'x', sizeof out);
    out[0] = '\0';
    shellword_add(out, size, "a 'b' c");
    assert_true(strlen(out) < size);
    for (size_t i = size; i < sizeof out; i++)
      assert_int_equal(out[i], 'x');
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_plain_word_stays_as_it_is),
      cmocka_unit_test(a_shell_reads_back_each_word),
      cmocka_unit_test(nothing_is_written_beyond_the_room),
  };
  return cmocka_run_group_tests_name("shellword", tests, NULL, NULL);
}
