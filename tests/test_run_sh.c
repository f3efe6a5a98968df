/*
 * run.sh and harness/deps.sh from outside: in a copy of the checkout whose path holds a blank, with
 * a poolbench, an apt-get and packages that are made up. Nothing here measures, builds or installs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define OUTPUT 16384

struct sandbox {
  char root[64];       /* holds "check out", "bin" and the log of what was called */
  char output[OUTPUT]; /* stdout and stderr of the last command */
};

/* The fake poolbench writes its arguments, one in angle brackets each, to $LOG. */
static const char setup_script[] =
    "set -e\n"
    "mkdir -p \"$T/check out/harness\" \"$T/bin\" \"$T/else where\"\n"
    "cp run.sh packages.txt \"$T/check out\"\n"
    "cp harness/deps.sh \"$T/check out/harness\"\n"
    "cd \"$T/check out\"\n"
    "printf 'bash build cmd:bash\\n' >packages.txt\n"
    "cat >fake <<'END'\n"
    "#!/bin/bash\n"
    "{ printf '%s' \"${0##*/}\"; printf ' <%s>' \"$@\"; echo; } >>\"$LOG\"\n"
    "make_folder() { local p; for p; do [[ $p != /*results/* ]] || mkdir -p \"$p\"; done; }\n"
    "wait_long() { exec sleep 30; }\n"
    "wait_for_int() { trap 'echo INT >>\"$LOG\"; exit 130' INT; trap '' TERM; echo ready "
    ">>\"$LOG\"\n"
    "  for ((n = 0; n < 300; n++)); do sleep 0.1; done; }\n"
    "[[ $1 != run ]] || { ${RUN_DOES:-:} \"$@\"; exit \"${RUN_EXIT:-0}\"; }\n"
    "END\n"
    "chmod +x fake\n"
    "printf 'all:\\n\\t@mkdir -p build && cp fake build/poolbench && cp fake build/poolcmp\\n' "
    ">Makefile\n";

/* Runs a bash script with $T and $LOG set; returns its exit status. */
static int shell(struct sandbox *s, const char *script) {
  char path[128];
  snprintf(path, sizeof path, "%s/script", s->root);
  FILE *f = fopen(path, "w");
  assert_non_null(f);
  fprintf(f, "export T=%s LOG=%s/log\n%s\n", s->root, s->root, script);
  assert_int_equal(fclose(f), 0);
  char command[200];
  snprintf(command, sizeof command, "bash %s 2>&1 </dev/null", path);
  FILE *p = popen(command, "r");
  assert_non_null(p);
  size_t n = fread(s->output, 1, sizeof s->output - 1, p);
  s->output[n] = '\0';
  int status = pclose(p);
  assert_true(WIFEXITED(status));
  return WEXITSTATUS(status);
}

/* The lines the fakes wrote, in s->output. */
static const char *calls(struct sandbox *s) {
  shell(s, "cat \"$LOG\" 2>/dev/null");
  return s->output;
}

static void assert_says(const struct sandbox *s, const char *text) {
  if (!strstr(s->output, text))
    fail_msg("\"%s\" is not in:\n%s", text, s->output);
}

static int setup(void **state) {
  struct sandbox *s = calloc(1, sizeof *s);
  if (!s)
    return -1;
  snprintf(s->root, sizeof s->root, "/tmp/poolbench-run-sh.XXXXXX");
  *state = s;
  if (!mkdtemp(s->root))
    return -1;
  return shell(s, setup_script);
}

static int teardown(void **state) {
  struct sandbox *s = *state;
  int status = shell(s, "rm -rf \"$T\"");
  free(s);
  return status;
}

#define HERE "cd \"$T/check out\" && ./run.sh "
#define RUN "cd \"$T/else where\" && \"$T/check out/run.sh\" "

static void options_reach_the_measurement_unchanged_and_a_report_follows(void **state) {
  struct sandbox *s = *state;
  assert_int_equal(shell(s, RUN "--cpus 32 --cases 'Compare/Pod/* x' --no-plots --out 'a b'"), 0);
  assert_string_equal(calls(s),
                      "poolbench <run> <--cpus> <32> <--cases> <Compare/Pod/* x> <--out> <a b>\n"
                      "poolbench <report> <--no-plots> <a b>\n");
  /* report has no -x. */
  assert_int_equal(shell(s, "rm \"$LOG\"; " RUN "--cpus 2 --out=-x"), 0);
  assert_string_equal(calls(s), "poolbench <run> <--cpus> <2> <--out=-x>\n"
                                "poolbench <report> <./-x>\n");
}

static void results_go_to_the_checkout_from_wherever_it_is_called(void **state) {
  struct sandbox *s = *state;
  assert_int_equal(shell(s, "cd \"$T/check out\" && ./run.sh --cpus 2"), 0);
  assert_string_equal(calls(s), "poolbench <run> <--cpus> <2>\n"
                                "poolbench <report> <results/latest>\n");
  /* The fake makes the folder behind --out, as poolbench does. */
  assert_int_equal(shell(s, "rm \"$LOG\"; export RUN_DOES=make_folder; " RUN "--cpus 2"), 0);
  assert_int_equal(
      shell(s, "grep -cE \"<--out> <$T/check out/results/[0-9]{8}-[0-9]{6}-.+>\" \"$LOG\" &&\n"
               "cd \"$T/check out/results\" && [[ -d latest && $(readlink latest) != */* ]]"),
      0);
  assert_int_equal(shell(s, "rm \"$LOG\"; " RUN "--resume"), 0);
  char expected[400];
  snprintf(expected, sizeof expected,
           "poolbench <run> <--resume> <%s/check out/results/latest>\n"
           "poolbench <report> <%s/check out/results/latest>\n",
           s->root, s->root);
  assert_string_equal(calls(s), expected);
}

static void the_measurement_knows_who_started_it(void **state) {
  struct sandbox *s = *state;
  assert_int_equal(
      shell(s, "export RUN_DOES='eval echo by \"$POOLBENCH_STARTED_BY\" #'\n" HERE "--cpus 2"), 0);
  assert_says(s, "by ./run.sh\n");
  assert_int_equal(shell(s, "export RUN_DOES='eval echo by \"$POOLBENCH_STARTED_BY\" #'\n"
                            "cd \"$T/check out\" && bash run.sh --cpus 2"),
                   0);
  assert_says(s, "by ./run.sh\n");
}

static void a_failed_measurement_keeps_its_status_and_has_no_report(void **state) {
  struct sandbox *s = *state;
  assert_int_equal(shell(s, "export RUN_EXIT=3; " HERE "--cpus 2"), 3);
  assert_string_equal(calls(s), "poolbench <run> <--cpus> <2>\n");
  assert_int_equal(shell(s, "export RUN_EXIT=2; " HERE "--cpus 2"), 2);
  assert_int_equal(shell(s, "export RUN_EXIT=130; " HERE "--cpus 2"), 130);
}

static void failed_samples_still_get_a_report(void **state) {
  struct sandbox *s = *state;
  assert_int_equal(shell(s, "export RUN_EXIT=5; " RUN "run --resume 'old run'"), 5);
  assert_string_equal(calls(s), "poolbench <run> <--resume> <old run>\n"
                                "poolbench <report> <old run>\n");
}

static void listing_needs_no_report(void **state) {
  struct sandbox *s = *state;
  assert_int_equal(shell(s, HERE "--cpus 4 --dry-run"), 0);
  assert_string_equal(calls(s), "poolbench <run> <--cpus> <4> <--dry-run>\n");
}

static void commands_pass_their_arguments_on(void **state) {
  struct sandbox *s = *state;
  assert_int_equal(shell(s, RUN "compare -col /strategy 'a b.txt'"), 0);
  assert_int_equal(shell(s, RUN "plot 'a run'"), 0);
  assert_int_equal(shell(s, RUN "list"), 0);
  assert_string_equal(calls(s), "poolcmp <-col> </strategy> <a b.txt>\n"
                                "poolbench <report> <--plots-only> <a run>\n"
                                "poolbench <list>\n");
}

static void help_neither_builds_nor_installs(void **state) {
  struct sandbox *s = *state;
  assert_int_equal(shell(s, RUN "--help"), 0);
  assert_says(s, "usage: ./run.sh");
  assert_int_equal(shell(s, "test ! -e \"$T/check out/build\""), 0);
}

static void a_wrong_command_is_a_usage_error(void **state) {
  struct sandbox *s = *state;
  assert_int_equal(shell(s, RUN "mesure"), 2);
  assert_says(s, "no command 'mesure'");
  assert_int_equal(shell(s, RUN), 2);
}

static void a_failed_build_shows_what_the_compiler_said(void **state) {
  struct sandbox *s = *state;
  shell(s, "printf 'all:\\n\\t@echo heap.c:7: error: oops; false\\n' >\"$T/check out/Makefile\"");
  assert_int_equal(shell(s, RUN "--cpus 2"), 3);
  assert_says(s, "heap.c:7: error: oops");
}

/* A folder in the log's place, as root may write everywhere. */
static void a_checkout_that_cannot_be_written_to_is_named(void **state) {
  struct sandbox *s = *state;
  assert_int_equal(shell(s, "mkdir -p \"$T/check out/build/make.log\"; " RUN "--cpus 2"), 3);
  assert_says(s, "check out/build/make.log: building needs a checkout of your own");
  assert_null(strstr(s->output, "the build failed"));
}

static void a_signal_to_the_script_alone_ends_the_measurement(void **state) {
  struct sandbox *s = *state;
  int status = shell(s, "export RUN_DOES='wait_long'\ncd \"$T/check out\"\n./run.sh --cpus 2 &\n"
                        "for ((i = 0; i < 100; i++)); do [[ -s $LOG ]] && break; sleep 0.05; done\n"
                        "kill -TERM $!\n"
                        "wait $!");
  assert_int_equal(status, 130);
  assert_string_equal(calls(s), "poolbench <run> <--cpus> <2>\n");
}

/* A group of its own stands in for the terminal's, which Ctrl-C signals as a whole. */
static void ctrl_c_reaches_the_measurement_as_such(void **state) {
  struct sandbox *s = *state;
  int status = shell(s, "export RUN_DOES='wait_for_int'\ncd \"$T/check out\"\nset -m\n"
                        "./run.sh --cpus 2 &\n"
                        "for ((i = 0; i < 600; i++)); do grep -qs ready \"$LOG\" && break\n"
                        "sleep 0.05; done\n"
                        "kill -INT -- -$!\n"
                        "wait $!");
  assert_int_equal(status, 130);
  assert_string_equal(calls(s), "poolbench <run> <--cpus> <2>\nready\nINT\n");
}

static void another_revision_is_built_and_becomes_an_arm(void **state) {
  struct sandbox *s = *state;
  if (shell(s, "command -v git") != 0)
    skip();
  assert_int_equal(shell(s, RUN "--cpus 2 --against main"), 2);
  assert_says(s, "needs a git checkout");
  assert_int_equal(
      shell(s, "cd \"$T/check out\" && git init -q -b main . && echo build >.gitignore &&\n"
               "git add -A && git -c user.name=a -c user.email=a@b commit -qm one &&\n"
               "echo >>packages.txt"),
      0);
  assert_int_equal(shell(s, RUN "--cpus 2 --against nowhere"), 2);
  assert_says(s, "no revision 'nowhere'");
  assert_int_equal(shell(s, RUN "--cpus 2 --against main"), 0);
  assert_says(s, "uncommitted changes");
  assert_int_equal(
      shell(s, "grep -c -- \"<--arm> <base=$T/check out/build/against/$(git -C \"$T/check out\" "
               "rev-parse main)/build/poolbench> <--arm> <new=$T/check out/build/poolbench>\" "
               "\"$LOG\""),
      0);
}

/* --- deps.sh. A fake apt-get "installs" by making the command that the probe looks for. */

#define FAKE_APT                                                                                   \
  "printf 'tool-a build cmd:tool-a\\ntool-b plots cmd:tool-b\\n' >\"$T/check out/packages.txt\"\n" \
  "cat >\"$T/bin/apt-get\" <<'END'\n"                                                              \
  "#!/bin/bash\n"                                                                                  \
  "echo \"apt-get $*\" >>\"$LOG\"\n"                                                               \
  "[[ $* != *update* ]] || exit 0\n"                                                               \
  "for p; do\n"                                                                                    \
  "  [[ $p == tool-* ]] || continue\n"                                                             \
  "  if [[ \" $BROKEN \" == *\" $p \"* ]]; then echo \"E: Unable to locate package $p\"; exit "    \
  "100; fi\n"                                                                                      \
  "done\n"                                                                                         \
  "for p; do [[ $p != tool-* ]] || { : >\"$T/bin/$p\"; chmod +x \"$T/bin/$p\"; }; done\n"          \
  "END\n"                                                                                          \
  "printf '#!/bin/bash\\n[[ $1 != -n ]] || shift\\nexec \"$@\"\\n' >\"$T/bin/sudo\"\n"             \
  "cp \"$T/bin/sudo\" \"$T/bin/dpkg\"\n"                                                           \
  "chmod +x \"$T/bin\"/*\n"                                                                        \
  "PATH=$T/bin:$PATH\n"
#define DEPS "\"$T/check out/harness/deps.sh\" "

static void missing_packages_are_installed_by_one_call(void **state) {
  struct sandbox *s = *state;
  assert_int_equal(shell(s, FAKE_APT DEPS "install build plots"), 0);
  assert_says(s, "installing: tool-a tool-b");
  assert_int_equal(shell(s, "grep -c 'install -y --no-install-recommends tool-a tool-b$' \"$LOG\""),
                   0);
  /* The second time nothing is missing, so apt is not called. */
  assert_int_equal(shell(s, "rm \"$LOG\"; PATH=$T/bin:$PATH " DEPS "install build plots"), 0);
  assert_string_equal(s->output, "");
  assert_int_equal(shell(s, "test ! -e \"$LOG\""), 0);
}

static void an_optional_package_that_is_not_to_be_had_costs_only_itself(void **state) {
  struct sandbox *s = *state;
  assert_int_equal(shell(s, FAKE_APT "export BROKEN=tool-b; " DEPS "install build plots"), 0);
  assert_says(s, "not installed: tool-b (E: Unable to locate package tool-b)");
  assert_says(s, "going on without: plots");
  assert_int_equal(shell(s, "test -x \"$T/bin/tool-a\""), 0);
}

static void a_required_package_that_is_not_to_be_had_is_status_6(void **state) {
  struct sandbox *s = *state;
  assert_int_equal(shell(s, FAKE_APT "export BROKEN=tool-a; " DEPS "install build plots"), 6);
  assert_says(s, "still missing: tool-a");
}

static void checking_prints_the_line_and_installs_nothing(void **state) {
  struct sandbox *s = *state;
  assert_int_equal(shell(s, FAKE_APT DEPS "check build plots"), 6);
  assert_says(s, "apt-get install -y --no-install-recommends tool-a tool-b");
  assert_int_equal(shell(s, "test ! -e \"$LOG\""), 0);
  assert_int_equal(shell(s, FAKE_APT DEPS "check '' plots"), 0);
  assert_says(s, "going on without: plots");
}

static void without_apt_the_packages_are_named(void **state) {
  struct sandbox *s = *state;
  assert_int_equal(
      shell(s, FAKE_APT
            "rm \"$T/bin\"/*\n"
            "for t in bash awk grep sed dirname cat; do ln -s \"$(type -P $t)\" \"$T/bin\"; done\n"
            "PATH=$T/bin\n" DEPS "install build plots"),
      6);
  assert_says(s, "has no apt");
  assert_says(s, "    tool-a\n    tool-b\n");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(options_reach_the_measurement_unchanged_and_a_report_follows),
      TEST(results_go_to_the_checkout_from_wherever_it_is_called),
      TEST(the_measurement_knows_who_started_it),
      TEST(a_failed_measurement_keeps_its_status_and_has_no_report),
      TEST(failed_samples_still_get_a_report),
      TEST(listing_needs_no_report),
      TEST(commands_pass_their_arguments_on),
      TEST(help_neither_builds_nor_installs),
      TEST(a_wrong_command_is_a_usage_error),
      TEST(a_failed_build_shows_what_the_compiler_said),
      TEST(a_signal_to_the_script_alone_ends_the_measurement),
      TEST(ctrl_c_reaches_the_measurement_as_such),
      TEST(a_checkout_that_cannot_be_written_to_is_named),
      TEST(another_revision_is_built_and_becomes_an_arm),
      TEST(missing_packages_are_installed_by_one_call),
      TEST(an_optional_package_that_is_not_to_be_had_costs_only_itself),
      TEST(a_required_package_that_is_not_to_be_had_is_status_6),
      TEST(checking_prints_the_line_and_installs_nothing),
      TEST(without_apt_the_packages_are_named),
  };
  /* A shell that finds it ignored, as what runs beside a script does, cannot take it back. */
  signal(SIGINT, SIG_DFL);
  return cmocka_run_group_tests_name("run_sh", tests, NULL, NULL);
}
