/* The program poolbench from outside: help of every command, and output that does not arrive. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OUTPUT = 16384, LINES = 40, COLUMNS = 96 };

static char output[OUTPUT];

/* Runs the program of the build folder that this suite is in; output holds both its streams. */
static int poolbench(const char *arguments) {
  char self[PATH_MAX] = "", command[PATH_MAX + 200];
  assert_true(readlink("/proc/self/exe", self, sizeof self - 1) > 0);
  char *folder = strstr(self, "/tests/test_");
  assert_non_null(folder);
  *folder = '\0';
  snprintf(command, sizeof command, "'%s/poolbench' 2>&1 </dev/null %s", self, arguments);
  FILE *p = popen(command, "r");
  assert_non_null(p);
  output[fread(output, 1, sizeof output - 1, p)] = '\0';
  int status = pclose(p);
  assert_true(WIFEXITED(status));
  return WEXITSTATUS(status);
}

static void every_command_has_a_help_that_fits_a_screen(void **state) {
  (void)state;
  const char *const commands[] = {"run", "list",   "report", "scaling", "contention",
                                  "why", "worker", "probe",  ""};
  for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
    char arguments[50];
    size_t lines = 0, longest = 0;
    snprintf(arguments, sizeof arguments, "%s --help", commands[i]);
    assert_int_equal(poolbench(arguments), 0);
    if (strncmp(output, "usage: ", 7) != 0)
      fail_msg("%s: %s", arguments, output);
    for (char *line = output; *line; line += strcspn(line, "\n") + 1, lines++)
      longest = strcspn(line, "\n") > longest ? strcspn(line, "\n") : longest;
    if (lines > LINES || longest > COLUMNS)
      fail_msg("%s: %zu lines of up to %zu columns", arguments, lines, longest);
  }
}

static void help_takes_a_command(void **state) {
  (void)state;
  assert_int_equal(poolbench("help list"), 0);
  assert_non_null(strstr(output, "usage: poolbench list"));
  assert_int_equal(poolbench("help nosuch"), 2);
  assert_non_null(strstr(output, "unknown command \"nosuch\""));
}

static void output_that_does_not_arrive_is_an_error(void **state) {
  (void)state;
  const char *const commands[] = {"list",          "--help",         "run --help", "--version",
                                  "report --help", "scaling --help", "why --help"};
  for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
    char arguments[50];
    snprintf(arguments, sizeof arguments, "%s >/dev/full", commands[i]);
    assert_int_equal(poolbench(arguments), 3);
    assert_non_null(strstr(output, "poolbench: standard output: "));
    snprintf(arguments, sizeof arguments, "%s >&-", commands[i]);
    assert_int_equal(poolbench(arguments), 3);
  }
}

static void what_is_not_understood_is_wrong_usage(void **state) {
  (void)state;
  assert_int_equal(poolbench(""), 2);
  assert_int_equal(poolbench("reprot"), 2);
  assert_non_null(strstr(output, "did you mean report?"));
  assert_int_equal(poolbench("list --help --all"), 0);
  assert_int_equal(poolbench("list all"), 2);
  assert_int_equal(poolbench("worker --nosuch 1"), 2);
  assert_non_null(strstr(output, "poolbench worker --help"));
  assert_int_equal(poolbench("report --no-plots --plots-only x"), 2);
  assert_non_null(strstr(output, "leave nothing to make"));
}

/* Behind it a run's name may begin with a dash. */
static void two_dashes_end_the_options(void **state) {
  (void)state;
  assert_int_equal(poolbench("list --"), 0);
  assert_int_equal(poolbench("list -- all"), 2);
  assert_non_null(strstr(output, "\"all\" was given"));
  const char *const commands[] = {"report --no-plots -- --help", "scaling -- --help",
                                  "contention -- --help", "why -- --help a b"};
  for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
    assert_int_equal(poolbench(commands[i]), 3);
    if (!strstr(output, "--help"))
      fail_msg("%s: %s", commands[i], output);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_command_has_a_help_that_fits_a_screen),
      cmocka_unit_test(help_takes_a_command),
      cmocka_unit_test(output_that_does_not_arrive_is_an_error),
      cmocka_unit_test(what_is_not_understood_is_wrong_usage),
      cmocka_unit_test(two_dashes_end_the_options),
  };
  return cmocka_run_group_tests_name("program", tests, NULL, NULL);
}
