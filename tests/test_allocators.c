/*
 * Finding allocators: in made-up library folders, by name and by path, with clear refusals.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/allocators.h"
#include "tests/runner_fixture.h"

#include <elf.h>

/* The beginning of a 64-bit shared library: enough to be taken for one. */
static void library(const char *name) {
  unsigned char head[64] = {0x7f, 'E', 'L', 'F', 2, 1, 1};
  head[EI_NIDENT] = ET_DYN;
  scratch_write(name, "");
  FILE *f = fopen(scratch_path(name), "w");
  assert_non_null(f);
  assert_int_equal(fwrite(head, 1, sizeof head, f), sizeof head);
  fclose(f);
}

static bool find(struct allocators *a, const char *list, struct error *e) {
  const char *folders[] = {scratch_path("first"), scratch_path("second"), NULL};
  return allocators_find(a, list, folders, e);
}

static void refuses(const char *list, enum exit_status status, const char *word) {
  struct allocators a;
  struct error e;
  if (find(&a, list, &e))
    fail_msg("%s was taken", list);
  assert_int_equal(e.status, status);
  if (!strstr(e.text, word))
    fail_msg("%s: \"%s\" is not in: %s", list, word, e.text);
}

static void nothing_given_is_glibc_without_preload(void **state) {
  (void)state;
  struct allocators a;
  struct error e;
  assert_true(find(&a, NULL, &e));
  assert_int_equal(a.count, 1);
  assert_string_equal(a.items[0].label, "glibc");
  assert_null(a.items[0].path);
  allocators_free(&a);
}

static void names_are_found_in_the_first_folder_that_has_them(void **state) {
  (void)state;
  struct allocators a;
  struct error e;
  library("first/libjemalloc.so.2");
  library("second/libjemalloc.so.2");
  library("second/libmimalloc.so.2");
  assert_true(find(&a, "mimalloc,glibc,jemalloc", &e));
  assert_int_equal(a.count, 3);
  assert_string_equal(a.items[0].path, scratch_path("second/libmimalloc.so.2"));
  assert_null(a.items[1].path);
  assert_string_equal(a.items[2].path, scratch_path("first/libjemalloc.so.2"));
  allocators_free(&a);
}

static void all_skips_what_is_missing_and_names_its_package(void **state) {
  (void)state;
  struct allocators a;
  struct error e;
  library("first/libtbbmalloc_proxy.so.2");
  assert_true(find(&a, "all", &e));
  assert_int_equal(a.count, 2);
  assert_string_equal(a.items[1].label, "tbbmalloc");
  assert_int_equal(a.missing_count, 3);
  assert_string_equal(a.missing[0].name, "jemalloc");
  assert_string_equal(a.missing[0].package, "libjemalloc2");
  allocators_free(&a);
}

static void a_missing_one_asked_for_by_name_is_an_error(void **state) {
  (void)state;
  refuses("jemalloc", EXIT_PACKAGES, "apt-get install libjemalloc2");
  refuses("glibc,gperftools", EXIT_PACKAGES, "libtcmalloc-minimal4");
}

static void own_builds_are_labelled_paths(void **state) {
  (void)state;
  struct allocators a;
  struct error e;
  char list[300];
  library("a.so");
  library("b.so");
  snprintf(list, sizeof list, "old=%s,new=%s", scratch_path("a.so"), scratch_path("b.so"));
  assert_true(find(&a, list, &e));
  assert_int_equal(a.count, 2);
  assert_string_equal(a.items[1].label, "new");
  assert_true(a.items[1].user_path);
  allocators_free(&a);
}

static void wrong_lists_say_what_would_be_right(void **state) {
  (void)state;
  char list[200];
  refuses("jemaloc", EXIT_USAGE, "did you mean jemalloc");
  refuses("tcmalloc", EXIT_USAGE, "tcmalloc is gperftools");
  refuses("tcmalloc", EXIT_USAGE, "gperftools");
  refuses("glibc,glibc", EXIT_USAGE, "twice");
  refuses("glibc,", EXIT_USAGE, "empty element");
  refuses("=/x.so", EXIT_USAGE, "LABEL=/path");
  refuses("x=relative.so", EXIT_USAGE, "LABEL=/path");
  refuses("a b=/x.so", EXIT_USAGE, "label has letters");
  refuses("x=/no/such.so", EXIT_INPUT, "No such file");
  refuses("x=/no such.so", EXIT_USAGE, "LD_PRELOAD");
  scratch_write("text.so", "hello, this is not a library at all");
  snprintf(list, sizeof list, "x=%s", scratch_path("text.so"));
  refuses(list, EXIT_INPUT, "not a shared library");
  scratch_write("short.so", "\177ELF");
  snprintf(list, sizeof list, "x=%s", scratch_path("short.so"));
  refuses(list, EXIT_INPUT, "not a shared library");
}

static void variables_of_allocators_are_recognised(void **state) {
  (void)state;
  assert_true(allocators_variable("MALLOC_CONF=narenas:1"));
  assert_true(allocators_variable("MIMALLOC_VERBOSE=1"));
  assert_true(allocators_variable("GLIBC_TUNABLES=x"));
  assert_true(allocators_variable("TCMALLOC_MAX_TOTAL_THREAD_CACHE_BYTES=1"));
  assert_false(allocators_variable("PATH=/bin"));
}

#define IN_SCRATCH(test) cmocka_unit_test_setup_teardown(test, scratch_open, scratch_close)

/* Only two known names can contradict each other. */
static void a_label_does_not_claim_what_the_library_is_not(void **state) {
  (void)state;
  struct error e = {0};
  struct allocator_arm a = {.label = (char[]){"jemalloc"}, .path = (char[]){"/x.so"}};
  a.user_path = true;
  assert_true(allocators_check_label(&a, "jemalloc", &e));
  assert_true(allocators_check_label(&a, "x", &e)); /* an own build by the file's name */
  assert_false(allocators_check_label(&a, "gperftools", &e));
  assert_int_equal(e.status, EXIT_USAGE);
  assert_non_null(strstr(e.text, "jemalloc=/x.so: this library is gperftools, not jemalloc"));
  assert_non_null(strstr(e.text, "gperftools=/x.so"));
  a.user_path = false; /* found by its name */
  assert_true(allocators_check_label(&a, "gperftools", &e));
  a = (struct allocator_arm){.label = (char[]){"mine"}, .user_path = true};
  assert_true(allocators_check_label(&a, "gperftools", &e));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      IN_SCRATCH(nothing_given_is_glibc_without_preload),
      IN_SCRATCH(names_are_found_in_the_first_folder_that_has_them),
      IN_SCRATCH(all_skips_what_is_missing_and_names_its_package),
      IN_SCRATCH(a_missing_one_asked_for_by_name_is_an_error),
      IN_SCRATCH(own_builds_are_labelled_paths),
      IN_SCRATCH(wrong_lists_say_what_would_be_right),
      IN_SCRATCH(variables_of_allocators_are_recognised),
      cmocka_unit_test(a_label_does_not_claim_what_the_library_is_not),
  };
  return cmocka_run_group_tests_name("allocators", tests, NULL, NULL);
}
