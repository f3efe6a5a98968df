/*
 * Output against Go's benchstat, byte for byte: tests/data/benchstat holds inputs, command line
 * and what benchstat printed (golang.org/x/perf at 712aea8). BENCHSTAT_CASES may name a folder
 * with more of them.
 */
#include "tests/poolcmp_fixture.h"

#include <dirent.h>

static const char *root;

struct tally {
  int run, differ;
};

/* Where benchstat is wrong; tests of the right values are in test_render_right.c. */
static bool benchstat_is_wrong(const char *name, const char *kind) {
  static const char *const wrong[] = {"015", "019", "020", "021", "027", "028", "029",
                                      "031", "033", "035", "038", "041", "098"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
    if (strncmp(name, wrong[i], 3) == 0)
      return true;
  bool ragged = strncmp(name, "040", 3) == 0 || strncmp(name, "056", 3) == 0;
  return strstr(name, "-err-") != NULL || (ragged && strcmp(kind, "csv") == 0);
}

static struct outcome run_case(const char *command, const char *format) {
  char line[4096];
  snprintf(line, sizeof line, "-format %s %s", format, command);
  int keep = dup(STDIN_FILENO), in = open("stdin", O_RDONLY);
  if (in < 0)
    in = open("/dev/null", O_RDONLY);
  assert_true(keep >= 0 && in >= 0);
  dup2(in, STDIN_FILENO);
  close(in);
  struct outcome o = run_poolcmp(line);
  dup2(keep, STDIN_FILENO);
  close(keep);
  return o;
}

static void compare_case(const char *name, const char *kind, const char *format, struct tally *t) {
  char path[64];
  snprintf(path, sizeof path, "expected.%s", kind);
  char *want = read_whole(path), *command = read_whole("cmd");
  if (want && command && !benchstat_is_wrong(name, kind)) {
    struct outcome o = run_case(command, format);
    t->run++;
    if (strcmp(o.out, want)) {
      t->differ++;
      print_error("%s, %s:\n--- benchstat\n%s--- poolcmp\n%s", name, format, want, o.out);
    }
    outcome_free(&o);
  }
  free(want);
  free(command);
}

static void compare_all(const char *cases, const char *kind, const char *format, struct tally *t) {
  DIR *dir = opendir(cases);
  assert_non_null(dir);
  for (struct dirent *e; (e = readdir(dir));) {
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", cases, e->d_name);
    if (e->d_name[0] == '.' || chdir(path) != 0)
      continue;
    compare_case(e->d_name, kind, format, t);
    assert_int_equal(chdir(root), 0);
  }
  closedir(dir);
}

static void check(const char *kind, const char *format) {
  struct tally t = {0};
  compare_all("tests/data/benchstat", kind, format, &t);
  assert_in_range(t.run, 50, 1000);
  const char *more = getenv("BENCHSTAT_CASES");
  if (more)
    compare_all(more, kind, format, &t);
  assert_int_equal(t.differ, 0);
}

static void text_is_benchstats(void **state) {
  (void)state;
  check("txt", "text");
}

static void csv_is_benchstats(void **state) {
  (void)state;
  check("csv", "csv");
}

int main(void) {
  static char here[4096];
  root = getcwd(here, sizeof here);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(text_is_benchstats),
      cmocka_unit_test(csv_is_benchstats),
  };
  return cmocka_run_group_tests_name("render_benchstat", tests, NULL, NULL);
}
