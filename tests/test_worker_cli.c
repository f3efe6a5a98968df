/*
 * Cells by name: what is found, what fits, what is refused, and the worker's command line in child
 * processes, over the self-test workload.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/cell.h"
#include "harness/sample.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- names ---- */

static void names_that_do_not_exist_are_errors(void **state) {
  (void)state;
  struct cell cell = {
      .case_name = "Fake/plain", .strategy = "malloc", .threads = 1, .window_ns = 1, .join = true};
  struct sample s = {0};
  worker_measure(&cell, &s);
  assert_non_null(strstr(s.error, "Fake/plain"));
  sample_free(&s);
  cell.case_name = "Selftest/heap";
  cell.strategy = "maloc";
  worker_measure(&cell, &s);
  assert_non_null(strstr(s.error, "maloc"));
  sample_free(&s);
  cell.strategy = "malloc";
  cell.discipline = DISCIPLINE_LEAKY;
  worker_measure(&cell, &s);
  assert_non_null(strstr(s.error, "leaky"));
  sample_free(&s);
}

/* Returns the line that was wrong, or 0. */
static int look_up_object_cases(void) {
  const struct workload *w;
  struct workload_case found;
  struct error e;
  const char *own = "Compare/Pod:pod/structured", *pod = "workloads/objects/pod.json";
#define CHECK(condition) \
  if (!(condition))      \
  return __LINE__ % 256
  CHECK(cell_find_case("Compare/Pod/structured", NULL, &w, &found, &e));
  CHECK(strcmp(w->name, "compare") == 0);
  CHECK(!cell_find_case(own, NULL, &w, &found, &e) && e.status == EXIT_USAGE);
  CHECK(cell_find_case(own, pod, &w, &found, &e) && strcmp(found.name, own) == 0);
  CHECK(!cell_find_case("Compare/Pod:x/structured", "no/such.json", &w, &found, &e));
  CHECK(e.status == EXIT_INPUT && strstr(e.text, "no/such.json"));
#undef CHECK
  return 0;
}

/* In a child: the names of its cases live as long as the process, a leak to the sanitizer. */
static void an_object_file_brings_cases_of_its_own(void **state) {
  (void)state;
  int status;
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0)
    _exit(look_up_object_cases());
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
}

static void says_what_a_strategy_cannot_run(void **state) {
  (void)state;
  struct workload_case c = {.disciplines = DISCIPLINE_BIT(DISCIPLINE_BALANCED)};
  struct strategy s = {.name = "s"};
  char why[200];
  enum discipline balanced = DISCIPLINE_BALANCED;
  assert_true(cell_fits(&c, &s, balanced, 1, why, sizeof why));
  assert_false(cell_fits(&c, &s, DISCIPLINE_LEAKY, 1, why, sizeof why));
  s.flags = STRATEGY_ONE_OBJECT;
  assert_false(cell_fits(&c, &s, balanced, 1, why, sizeof why));
  c.flags = CASE_NULL_RUNS;
  assert_true(cell_fits(&c, &s, balanced, 1, why, sizeof why));
  s.flags = STRATEGY_NEEDS_OWNER;
  assert_false(cell_fits(&c, &s, balanced, 1, why, sizeof why));
  c.flags = CASE_HAS_OWNER | CASE_OUTLIVES_SCOPE;
  assert_true(cell_fits(&c, &s, balanced, 1, why, sizeof why));
  s.flags = STRATEGY_OBJECTS_DIE_WITH_SCOPE;
  assert_false(cell_fits(&c, &s, balanced, 1, why, sizeof why));
  assert_non_null(strstr(why, "outlive"));
  s.flags = 0;
  c.min_threads = 2, c.max_threads = 4;
  assert_false(cell_fits(&c, &s, balanced, 1, why, sizeof why));
  assert_true(cell_fits(&c, &s, balanced, 4, why, sizeof why));
  assert_false(cell_fits(&c, &s, balanced, 5, why, sizeof why));
  c.flags = CASE_FEWER_THREADS;
  assert_true(cell_fits(&c, &s, balanced, 5, why, sizeof why));
}

/* ---- the command line, in a child ---- */

#define ARGS 24

/* Runs `worker ARGS... --fd FD`; returns the wait status and what came through FD. */
static int run_child(char *const *args, char *out, size_t size) {
  char *argv[ARGS] = {"worker"}, fd_text[16];
  int ends[2], status, count = 1;
  assert_int_equal(pipe(ends), 0);
  for (; *args; args++)
    argv[count++] = *args;
  snprintf(fd_text, sizeof fd_text, "%d", ends[1]);
  argv[count++] = "--fd";
  argv[count++] = fd_text;
  fflush(NULL);
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    signal(SIGSEGV, SIG_DFL); /* cmocka's handler would take the test back */
    close(ends[0]);
    if (!freopen("/dev/null", "w", stderr))
      _exit(99);
    _exit(worker_main(count, argv));
  }
  close(ends[1]);
  size_t have = 0;
  ssize_t n;
  while ((n = read(ends[0], out + have, size - 1 - have)) > 0)
    have += (size_t)n;
  out[have] = '\0';
  close(ends[0]);
  assert_int_equal(waitpid(child, &status, 0), child);
  return status;
}

#define CASE(name) "--case", "Selftest/" name, "--strategy", "malloc", "--window", "1000000"

static void the_command_line_measures(void **state) {
  (void)state;
  static char text[1 << 16];
  struct sample s;
  struct error e;
  char *join[] = {CASE("heap"), "--threads", "2",       "--cpu-map",   "none", "--join",
                  "--seed",     "7",         "--limit", "60000000000", NULL};
  char *leave[] = {CASE("heap"), "--threads", "1", "--discipline", "balanced", NULL};
  char *const *const lines[] = {join, leave};
  for (int i = 0; i < 2; i++) {
    assert_int_equal(run_child(lines[i], text, sizeof text), 0);
    if (!sample_read(text, strlen(text), &s, &e))
      fail_msg("%s\n%s", e.text, text);
    if (s.error)
      fail_msg("%s", s.error);
    double allocs, bytes;
    assert_true(sample_get(&s, "allocs/op", &allocs) && allocs == 2);
    assert_true(sample_get(&s, "B/op", &bytes) && bytes == 128);
    sample_free(&s);
  }
}

static void misbehaviour_shows(void **state) {
  (void)state;
  static char text[1 << 16];
  struct sample s;
  struct error e;
  char *crash[] = {CASE("crash"), "--threads", "1", NULL};
  int status = run_child(crash, text, sizeof text);
  assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) != 0); /* a sanitizer exits */
  assert_false(sample_read(text, strlen(text), &s, &e));

  char *leave[] = {CASE("exit"), "--threads", "2", NULL};
  assert_int_equal(run_child(leave, text, sizeof text), 0);
  assert_false(sample_read(text, strlen(text), &s, &e));

  char *hang[] = {CASE("hang"), "--threads", "2", "--limit", "30000000", NULL};
  assert_int_equal(run_child(hang, text, sizeof text), 0);
  assert_true(sample_read(text, strlen(text), &s, &e));
  assert_true(s.bound_s > 0);
  assert_int_equal(s.ops, 2);
  sample_free(&s);

  /* Ops that end while the bound is being written: their threads must find everything in place. */
  char *late[] = {"--case",   "Selftest/sleep", "--strategy", "malloc",
                  "--window", "3600000000000",  "--threads",  "8",
                  "--limit",  "30000000",       NULL};
  assert_int_equal(run_child(late, text, sizeof text), 0);
  assert_true(sample_read(text, strlen(text), &s, &e));
  assert_true(s.bound_s > 0);
  sample_free(&s);

  char *fails[] = {CASE("fail"), "--threads", "2", NULL};
  assert_int_equal(run_child(fails, text, sizeof text), 0);
  assert_true(sample_read(text, strlen(text), &s, &e));
  assert_non_null(strstr(s.error, "this op always fails"));
  sample_free(&s);
}

static void a_wrong_line_is_a_usage_error(void **state) {
  (void)state;
  static char text[1 << 16];
  char *bad[][12] = {
      {"--case", "Selftest/heap", "--strategy", "malloc"},
      {CASE("heap"), "--threads", "0"},
      {CASE("heap"), "--threads", "4097"},
      {CASE("heap"), "--threads", "2x"},
      {CASE("heap"), "--threads", "-1"},
      {CASE("heap"), "--threads", "2", "--cpu-map", "0"},
      {CASE("heap"), "--threads", "2", "--cpu-map", "0,0,0"},
      {CASE("heap"), "--threads", "2", "--cpu-map", "0,x"},
      {CASE("heap"), "--threads", "1", "--window", "0"},
      {CASE("heap"), "--threads", "1", "--discipline", "lazy"},
      {CASE("heap"), "--threads", "1", "--nonsense", "1"},
  };
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    int status = run_child(bad[i], text, sizeof text);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), EXIT_USAGE);
    assert_string_equal(text, "");
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(names_that_do_not_exist_are_errors),
      cmocka_unit_test(an_object_file_brings_cases_of_its_own),
      cmocka_unit_test(says_what_a_strategy_cannot_run),
      cmocka_unit_test(the_command_line_measures),
      cmocka_unit_test(misbehaviour_shows),
      cmocka_unit_test(a_wrong_line_is_a_usage_error),
  };
  return cmocka_run_group_tests_name("worker command line", tests, NULL, NULL);
}
