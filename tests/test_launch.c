/*
 * Samples' processes that behave and that do not: shell scripts that print a sample, crash, hang,
 * write garbage, flood, leave children behind.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/launch.h"
#include "tests/runner_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <time.h>

#define GOOD_SAMPLE "printf 'poolbench-sample 1\\nops 5\\nunit 12.5 ns/op\\nend\\n' >&3\n"
static const uint64_t SECOND = 1000000000;

static struct launcher launcher;

static int open_all(void **state) {
  struct error e;
  return scratch_open(state) == 0 && launcher_open(&launcher, &e) ? 0 : -1;
}

static int close_all(void **state) {
  launcher_close(&launcher);
  return scratch_close(state);
}

static void run(const char *script, uint64_t timeout, struct launch_result *r) {
  scratch_script("worker", script);
  char *argv[] = {"poolbench", "worker", NULL};
  struct launch_request request = {
      .program = scratch_path("worker"), .argv = argv, .pad = 100, .timeout_ns = timeout};
  launch(&launcher, &request, r);
}

static void ends_as(const char *script, enum launch_outcome outcome, const char *word) {
  struct launch_result r;
  run(script, 20 * SECOND, &r);
  if (r.outcome != outcome)
    fail_msg("%s: %s (%s)", script, launch_outcome_name(r.outcome), r.why);
  if (!strstr(r.why, word))
    fail_msg("%s: \"%s\" is not in: %s", script, word, r.why);
  sample_free(&r.sample);
}

static void a_whole_sample_is_read(void **state) {
  (void)state;
  struct launch_result r;
  double ns;
  run("echo to stdout; echo to stderr >&2\n" GOOD_SAMPLE, 20 * SECOND, &r);
  assert_int_equal(r.outcome, LAUNCH_SAMPLE);
  assert_int_equal(r.sample.ops, 5);
  assert_true(sample_get(&r.sample, "ns/op", &ns) && ns > 12.4 && ns < 12.6);
  assert_non_null(strstr(r.output, "to stdout\n"));
  assert_non_null(strstr(r.output, "to stderr\n"));
  sample_free(&r.sample);
}

static void a_crash_is_told_by_its_signal(void **state) {
  (void)state;
  ends_as("kill -SEGV $$", LAUNCH_CRASHED, "signal 11");
  ends_as("exit 3", LAUNCH_CRASHED, "status 3");
  /* A sample that was written before the crash does not count: the process was broken. */
  ends_as(GOOD_SAMPLE "kill -ABRT $$", LAUNCH_CRASHED, "signal 6");
}

static void garbage_is_quoted(void **state) {
  (void)state;
  ends_as("echo hello >&3", LAUNCH_GARBAGE, "hello");
  ends_as("true", LAUNCH_GARBAGE, "without a word");
  ends_as("printf 'poolbench-sample 1\\nops 5\\n' >&3", LAUNCH_GARBAGE, "no sample");
  ends_as("head -c 3000000 /dev/zero >&3", LAUNCH_GARBAGE, "more than");
}

static void a_hang_is_killed_with_all_its_children(void **state) {
  (void)state;
  struct launch_result r;
  char *pid = NULL, after[40];
  /* Longer and longer, until even a busy machine has started the child in that time. */
  for (uint64_t timeout = SECOND / 2; !pid && timeout <= 16 * SECOND; timeout *= 2) {
    run("sleep 1000 & cd $(dirname $0); echo $! >new; mv new child; wait", timeout, &r);
    assert_int_equal(r.outcome, LAUNCH_HUNG);
    snprintf(after, sizeof after, "%.1f s", (double)timeout / 1e9);
    assert_non_null(strstr(r.why, after));
    pid = scratch_read("child");
  }
  assert_non_null(pid);
  /* The grandchild is gone, or a zombie that its new parent has yet to collect. */
  char path[60], state_line[400] = "";
  snprintf(path, sizeof path, "/proc/%d/stat", atoi(pid));
  for (int i = 0; i < 200; i++) {
    FILE *f = fopen(path, "r");
    if (!f || !fgets(state_line, sizeof state_line, f) || strstr(state_line, ") Z ")) {
      if (f)
        fclose(f);
      free(pid);
      return;
    }
    fclose(f);
    nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
  }
  fail_msg("the child still runs: %s", state_line);
}

static void a_stopped_process_is_a_hang(void **state) {
  (void)state;
  struct launch_result r;
  run("kill -STOP $$", SECOND / 2, &r);
  assert_int_equal(r.outcome, LAUNCH_HUNG);
}

/* A child that keeps the pipes open must not keep us once the worker itself has ended. */
static void a_child_left_behind_does_not_hold_us(void **state) {
  (void)state;
  struct launch_result r;
  run("sleep 1000 &\n" GOOD_SAMPLE, 20 * SECOND, &r);
  assert_int_equal(r.outcome, LAUNCH_SAMPLE);
  assert_true(r.wall_ns < 15 * SECOND);
  sample_free(&r.sample);
}

static void only_the_end_of_long_output_is_kept(void **state) {
  (void)state;
  struct launch_result r;
  /* 13 bytes a line; the pause makes it two pieces, of which the second does not fill the room. */
  run("i=1000; while [ $i -lt 1500 ]; do echo line no $i; i=$((i+1));"
      "[ $i = 1430 ] && sleep 0.2; done\n" GOOD_SAMPLE,
      20 * SECOND, &r);
  assert_int_equal(r.outcome, LAUNCH_SAMPLE);
  char expected[13 * 500 + 1];
  for (int i = 0; i < 500; i++)
    snprintf(expected + 13 * i, 14, "line no %d\n", 1000 + i);
  size_t length = strlen(r.output);
  assert_int_equal(length, sizeof r.output - 1);
  assert_string_equal(r.output, expected + strlen(expected) - length);
  sample_free(&r.sample);
}

/* So low that the worker's descriptors have no place above those it is given. */
static void a_low_limit_of_open_files_is_named(void **state) {
  (void)state;
  struct launch_result r;
  struct rlimit before, low;
  assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
  low = before;
  low.rlim_cur = 10;
  assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
  run(GOOD_SAMPLE, 20 * SECOND, &r);
  assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
  assert_int_equal(r.outcome, LAUNCH_NOT_STARTED);
  assert_non_null(strstr(r.why, "Too many open files; the limit is low: ulimit -n 1024"));
}

/* Descriptors 0 to 3 and nothing else; stdin is empty; the signals are not blocked. */
static void nothing_is_inherited_by_accident(void **state) {
  (void)state;
  struct launch_result r;
  int null = open("/dev/null", O_RDONLY), leak = dup2(null, 57); /* not closed on exec */
  assert_int_equal(leak, 57);
  run("ls /proc/$$/fd | sort -n | tr '\\n' ' '; cat; grep -E 'SigBlk|SigIgn' /proc/self/status; "
      "echo pgrp $(cut -d' ' -f5 /proc/$$/stat) pid $$\n" GOOD_SAMPLE,
      20 * SECOND, &r);
  close(leak);
  close(null);
  assert_int_equal(r.outcome, LAUNCH_SAMPLE);
  assert_int_equal(strncmp(r.output, "0 1 2 3 ", 8), 0);
  assert_null(strstr(r.output, " 57 "));
  assert_non_null(strstr(r.output, "SigBlk:\t0000000000000000"));
  int pgrp, pid;
  assert_int_equal(sscanf(strstr(r.output, "pgrp"), "pgrp %d pid %d", &pgrp, &pid), 2);
  assert_int_equal(pgrp, pid);
  sample_free(&r.sample);
}

static void the_environment_grows_by_the_pad_and_carries_the_preload(void **state) {
  (void)state;
  struct launch_result r;
  setenv("LD_PRELOAD", "libm.so.6", 1);
  setenv("KEPT", "yes", 1);
  scratch_script("worker",
                 "echo kept=$KEPT preload=$LD_PRELOAD pad=${#POOLBENCH_PAD}\n" GOOD_SAMPLE);
  char *argv[] = {"poolbench", "worker", NULL};
  struct launch_request request = {
      .program = scratch_path("worker"), .argv = argv, .pad = 1234, .timeout_ns = 20 * SECOND};
  launch(&launcher, &request, &r);
  assert_int_equal(r.outcome, LAUNCH_SAMPLE);
  assert_non_null(strstr(r.output, "kept=yes preload= pad=1234"));
  sample_free(&r.sample);
  unsetenv("LD_PRELOAD");
  unsetenv("KEPT");
}

static void what_cannot_be_started_says_so(void **state) {
  (void)state;
  struct launch_result r;
  char *argv[] = {"poolbench", "worker", NULL};
  struct launch_request request = {
      .program = "/no/such/program", .argv = argv, .timeout_ns = SECOND};
  launch(&launcher, &request, &r);
  assert_int_equal(r.outcome, LAUNCH_NOT_STARTED);
  assert_non_null(strstr(r.why, "/no/such/program"));
  assert_non_null(strstr(r.why, strerror(ENOENT)));
}

static void a_signal_to_us_ends_the_worker(void **state) {
  (void)state;
  struct launch_result r;
  run("kill -TERM $PPID; sleep 1000", 20 * SECOND, &r);
  assert_int_equal(r.outcome, LAUNCH_INTERRUPTED);
  assert_int_equal(r.signal, SIGTERM);
  assert_non_null(strstr(r.why, "SIGTERM"));
  assert_int_equal(launcher_interrupted(&launcher), 0);
}

/* As under nohup; and as under a parent that ignores SIGCHLD, where waitpid finds nobody. */
static void what_was_ignored_stays_ignored(void **state) {
  (void)state;
  struct launch_result r;
  struct error e;
  launcher_close(&launcher);
  signal(SIGHUP, SIG_IGN);
  signal(SIGINT, SIG_IGN);
  signal(SIGCHLD, SIG_IGN);
  assert_true(launcher_open(&launcher, &e));
  run("kill -HUP $PPID; kill -INT $PPID; sleep 0.1\n" GOOD_SAMPLE, 20 * SECOND, &r);
  assert_int_equal(r.outcome, LAUNCH_SAMPLE);
  sample_free(&r.sample);
  ends_as("exit 3", LAUNCH_CRASHED, "status 3");
  launcher_close(&launcher);
  usual_signals();
  signal(SIGCHLD, SIG_DFL);
  assert_true(launcher_open(&launcher, &e));
}

#define WITH_LAUNCHER(test) cmocka_unit_test_setup_teardown(test, open_all, close_all)

int main(void) {
  usual_signals();
  const struct CMUnitTest tests[] = {
      WITH_LAUNCHER(a_whole_sample_is_read),
      WITH_LAUNCHER(a_crash_is_told_by_its_signal),
      WITH_LAUNCHER(garbage_is_quoted),
      WITH_LAUNCHER(a_hang_is_killed_with_all_its_children),
      WITH_LAUNCHER(a_stopped_process_is_a_hang),
      WITH_LAUNCHER(a_child_left_behind_does_not_hold_us),
      WITH_LAUNCHER(only_the_end_of_long_output_is_kept),
      WITH_LAUNCHER(a_low_limit_of_open_files_is_named),
      WITH_LAUNCHER(nothing_is_inherited_by_accident),
      WITH_LAUNCHER(the_environment_grows_by_the_pad_and_carries_the_preload),
      WITH_LAUNCHER(what_cannot_be_started_says_so),
      WITH_LAUNCHER(a_signal_to_us_ends_the_worker),
      WITH_LAUNCHER(what_was_ignored_stays_ignored),
  };
  return cmocka_run_group_tests_name("launch", tests, NULL, NULL);
}
