/* Names, specs and their errors: what a user types after --strategies. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "strategies/pool.h"

#include <stdlib.h>
#include <string.h>

static char storage[STRATEGY_SPEC_MAX];
static const char *options[STRATEGY_MAX_OPTIONS];
static size_t count;
static char why[300];

static const struct strategy *parse(const char *spec) {
  why[0] = '\0';
  return strategy_parse(spec, storage, options, &count, why, sizeof why);
}

static void refused(const char *spec, const char *expected) {
  assert_null(parse(spec));
  if (!strstr(why, expected))
    fail_msg("\"%s\" says \"%s\", not \"%s\"", spec, why, expected);
}

static void the_required_ones_are_there(void **state) {
  (void)state;
  static const char *const names[] = {"null", "malloc", "global-locked", "per-thread",
                                      "pooled-freelists"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    const struct strategy *s = strategy_find(names[i]);
    assert_non_null(s);
    assert_string_equal(s->name, names[i]);
  }
  assert_null(strategy_find("nul"));
  assert_null(strategy_find(""));
}

static void they_are_sorted_and_complete(void **state) {
  (void)state;
  for (size_t i = 0; strategies[i]; i++) {
    const struct strategy *s = strategies[i];
    if (i)
      assert_true(strcmp(strategies[i - 1]->name, s->name) < 0);
    assert_non_null(s->summary);
    assert_true(s->open && s->close && s->attach && s->detach && s->begin && s->end && s->get &&
                s->put && s->drop && s->release && s->trim && s->quiesce && s->stats && s->held);
    for (const struct strategy_option *o = s->options; o && o->key; o++)
      assert_true(o->fallback && o->values && o->what);
  }
}

static void a_spec_is_a_name_and_options(void **state) {
  (void)state;
  assert_ptr_equal(parse("malloc"), strategy_find("malloc"));
  assert_int_equal(count, 0);
  assert_ptr_equal(parse("pooled-freelists:cap=5:slot=none"), strategy_find("pooled-freelists"));
  assert_int_equal(count, 2);
  assert_string_equal(options[0], "cap=5");
  assert_string_equal(options[1], "slot=none");
}

static void a_wrong_name_is_answered_with_the_nearest(void **state) {
  (void)state;
  refused("mallock", "no strategy \"mallock\"; did you mean malloc?");
  refused("per_thread", "did you mean per-thread?");
  refused("global-lock", "did you mean global-locked?");
  refused("xyzzy", "no strategy \"xyzzy\" (there are: ");
  refused("", "no strategy \"\"");
  refused(":cap=1", "no strategy \"\"");
  parse("xyzzy");
  assert_non_null(strstr(why, "pooled-freelists"));
}

static void a_wrong_option_is_named(void **state) {
  (void)state;
  refused("per-thread:cup=3", "per-thread has no option \"cup\"; did you mean cap?");
  refused("malloc:cap=3", "malloc takes no options, \"cap\" was given");
  refused("per-thread:cap", "option \"cap\" is not key=value");
  refused("per-thread:=3", "option \"=3\" is not key=value");
  refused("per-thread:", "option \"\" is not key=value");
  refused("per-thread:cap=3:cap=4", "option \"cap\" is given twice");
  refused("malloc:states=of", "states=of: it takes on,off");
  refused("malloc:pools=own", "pools=own: it takes shared,private");
  refused("per-thread:cap=3:", "option \"\" is not key=value");
}

static void a_long_spec_is_refused(void **state) {
  (void)state;
  char longest[STRATEGY_SPEC_MAX + 1];
  memset(longest, 'x', sizeof longest - 1);
  longest[sizeof longest - 1] = '\0';
  refused(longest, "longer than 199 characters");
  longest[STRATEGY_SPEC_MAX - 1] = '\0';
  refused(longest, "no strategy");
}

/* A message never runs over the caller's buffer, however short that is. */
static void a_short_buffer_is_enough(void **state) {
  (void)state;
  static const char *const specs[] = {"mallock", "xyzzy", "per-thread:cup=3", "malloc:a=b"};
  for (size_t i = 0; i < sizeof specs / sizeof *specs; i++)
    for (size_t size = 1; size < sizeof why; size++) {
      memset(why, '#', sizeof why);
      assert_null(strategy_parse(specs[i], storage, options, &count, why, size));
      assert_true(strnlen(why, size) < size);
      assert_int_equal(why[size], '#');
    }
}

/* A folder with the Makefile and empty files: the registry is made of their names alone, and
 * objects depend on the flags. */
static void make_follows_files_and_flags_that_come_and_go(void **state) {
  (void)state;
  assert_int_equal(
      system(
          "set -e; root=$PWD; t=$(mktemp -d /tmp/poolbench-registry.XXXXXX); cd $t\n"
          "trap 'rm -rf $t' EXIT; unset MAKEFLAGS MAKELEVEL BUILD\n"
          "cp $root/Makefile .; mkdir strategies workloads; touch strategies/a-b.c strategies/c.c "
          "workloads/w.c\n"
          "names() { make -s b/registry.c BUILD=b; grep -o '&[a-z_]*' b/registry.c | tr '\\n' ' '; "
          "}\n"
          "[ \"$(names)\" = '&strategy_a_b &strategy_c &workload_w ' ]\n"
          "before=$(stat -c %y b/registry.c); names; [ \"$(stat -c %y b/registry.c)\" = "
          "\"$before\" ]\n"
          "rm strategies/c.c; [ \"$(names)\" = '&strategy_a_b &workload_w ' ]\n"
          "touch workloads/v.c; [ \"$(names)\" = '&strategy_a_b &workload_v &workload_w ' ]\n"
          "touch b/flags\n"
          "for o in -O0 -O1; do make -s b/flags BUILD=b CFLAGS=$o; grep -q -- \" $o \" b/flags; "
          "done\n"),
      0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(make_follows_files_and_flags_that_come_and_go),
      cmocka_unit_test(the_required_ones_are_there),
      cmocka_unit_test(they_are_sorted_and_complete),
      cmocka_unit_test(a_spec_is_a_name_and_options),
      cmocka_unit_test(a_wrong_name_is_answered_with_the_nearest),
      cmocka_unit_test(a_wrong_option_is_named),
      cmocka_unit_test(a_long_spec_is_refused),
      cmocka_unit_test(a_short_buffer_is_enough),
  };
  return cmocka_run_group_tests_name("registry", tests, NULL, NULL);
}
