/*
 * Command lines of `poolbench run`: right ones give what they say, wrong ones a message that names
 * the option, the fault and a remedy.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/options.h"
#include "harness/suggest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_WORDS = 20 };

/* Splits a line at spaces; "''" stands for an empty word. */
static bool parse(const char *line, struct options *o, struct error *e) {
  static char words[500];
  char *argv[MOST_WORDS + 1] = {"run"};
  int argc = 1;
  snprintf(words, sizeof words, "%s", line);
  for (char *word = strtok(words, " "); word && argc < MOST_WORDS; word = strtok(NULL, " "))
    argv[argc++] = strcmp(word, "''") == 0 ? "" : word;
  memset(e, 0, sizeof *e);
  return options_parse(argc, argv, o, e);
}

static void takes(const char *line, struct options *o) {
  struct error e;
  if (!parse(line, o, &e))
    fail_msg("%s: refused: %s", line, e.text);
}

/* Refused as wrong usage, with every one of the words (up to NULL) in the message. */
static void refuses(const char *line, ...) {
  struct options o;
  struct error e;
  if (parse(line, &o, &e))
    fail_msg("%s: was taken", line);
  assert_int_equal(e.status, EXIT_USAGE);
  va_list words;
  va_start(words, line);
  for (const char *word; (word = va_arg(words, const char *)) != NULL;)
    if (!strstr(e.text, word))
      fail_msg("%s: \"%s\" is not in: %s", line, word, e.text);
  va_end(words);
}

static void values_follow_after_a_space_or_an_equals_sign(void **state) {
  (void)state;
  struct options o;
  takes("--cpus 32 --rounds=7 -seed 5 --out=some/dir", &o);
  assert_int_equal(o.count_count, 1);
  assert_int_equal(o.counts[0], 32);
  assert_int_equal(o.rounds, 7);
  assert_true(o.seed_given);
  assert_int_equal(o.seed, 5);
  assert_string_equal(o.out, "some/dir");
}

static void nothing_given_leaves_the_defaults_to_the_plan(void **state) {
  (void)state;
  struct options o;
  takes("", &o);
  assert_int_equal(o.count_count, 0);
  assert_int_equal(o.rounds, 0);
  assert_int_equal(o.sweep_rounds, -1);
  assert_int_equal(o.discipline, DISCIPLINE_BALANCED);
  assert_int_equal(o.bind, BIND_CORE);
  assert_null(o.suite);
}

static void a_list_of_thread_counts_is_kept_in_order(void **state) {
  (void)state;
  struct options o;
  takes("--cpus 1,32,4", &o);
  assert_int_equal(o.count_count, 3);
  assert_int_equal(o.counts[0], 1);
  assert_int_equal(o.counts[1], 32);
  assert_int_equal(o.counts[2], 4);
}

static void wrong_thread_counts_say_what_would_be_right(void **state) {
  (void)state;
  refuses("--cpus 0", "--cpus 0", "at least one thread", NULL);
  refuses("--cpus -1", "-1", "not a number of threads", NULL);
  refuses("--cpus abc", "abc", "--cpus 32", NULL);
  refuses("--cpus 0-31", "a CPU set?", "--cpuset 0-31", NULL);
  refuses("--cpus 1000000", "at most 4096", NULL);
  refuses("--cpus 18446744073709551617", "at most 4096", NULL);
  refuses("--cpus ''", "empty list", NULL);
  refuses("--cpus=", "empty list", NULL);
  refuses("--cpus 1,,2", "empty element", NULL);
  refuses("--cpus 1,2,", "empty element", NULL);
  refuses("--cpus 2,2", "twice", NULL);
  refuses("--cpus 3.5", "3.5", NULL);
  refuses("--cpus", "--cpus needs a value", NULL);
}

static void unknown_options_name_the_nearest(void **state) {
  (void)state;
  refuses("--cpu 4", "--cpu", "did you mean --cpus", NULL);
  refuses("--roundz 4", "did you mean --rounds", NULL);
  refuses("--allocatr x", "did you mean --allocators", NULL);
  refuses("--zzzzzzzzz", "poolbench run --help", NULL);
  refuses("32", "\"32\" is not an option", "--cpus 32", NULL);
}

static void two_dashes_end_the_options(void **state) {
  (void)state;
  struct options o;
  struct error e;
  char *argv[] = {"run", "--quick", "--", "--twin", NULL};
  assert_true(options_parse(3, argv, &o, &e));
  assert_true(o.quick);
  assert_false(options_parse(4, argv, &o, &e));
  assert_int_equal(e.status, EXIT_USAGE);
  assert_non_null(strstr(e.text, "\"--twin\" behind --"));
}

static void times_need_a_known_unit(void **state) {
  (void)state;
  struct options o;
  takes("--window 200ms", &o);
  assert_int_equal(o.window_ns, 200000000);
  takes("--window 1.5s", &o);
  assert_int_equal(o.window_ns, 1500000000);
  takes("--budget 5m", &o);
  assert_true(o.budget_ns == UINT64_C(300000000000));
  takes("--budget none", &o);
  assert_true(o.budget_ns == UINT64_MAX);
  refuses("--window 200", "200 what?", "200ms", NULL);
  refuses("--window 0x10ms", "give a time with its unit", NULL);
  refuses("--window 0", "above 0", NULL);
  refuses("--window 200msec", "unknown unit \"msec\"", "ns, us, ms, s, m", NULL);
  refuses("--window 2h", "unknown unit \"h\"", NULL);
  refuses("--window -3ms", "-3ms", "200ms", NULL);
  refuses("--window nan", "200ms", NULL);
  refuses("--window inf", "200ms", NULL);
  refuses("--window 0x10ms", "200ms", NULL);
  refuses("--window 1e300s", "at most a day", NULL);
  refuses("--window 0ms", "above 0", NULL);
  refuses("--window 10us", "1ms to 60s", NULL);
  refuses("--window 61s", "1ms to 60s", NULL);
}

static void numbers_have_bounds(void **state) {
  (void)state;
  struct options o;
  takes("--sweep-rounds 0", &o);
  assert_int_equal(o.sweep_rounds, 0);
  refuses("--rounds 0", "--rounds 0", "1 to 1000", NULL);
  refuses("--rounds 1001", "1 to 1000", NULL);
  refuses("--rounds x", "whole number", NULL);
  refuses("--sweep-rounds -1", "whole number", NULL);
  refuses("--seed 1.5", "whole number", NULL);
}

static void closed_sets_of_words_are_checked(void **state) {
  (void)state;
  struct options o;
  takes("--discipline as-merged --bind numa", &o);
  assert_int_equal(o.discipline, DISCIPLINE_AS_MERGED);
  assert_int_equal(o.bind, BIND_NUMA);
  refuses("--discipline leeky", "did you mean leaky", NULL);
  refuses("--bind socket", "core, pu, numa, package and none", NULL);
}

static void arms_are_labelled_paths(void **state) {
  (void)state;
  struct options o;
  takes("--arm old=/tmp/a --arm new=/tmp/b", &o);
  assert_int_equal(o.arm_count, 2);
  assert_string_equal(o.arms[1], "new=/tmp/b");
  refuses("--arm /tmp/a", "LABEL=/path", NULL);
  refuses("--arm =x", "LABEL=/path", NULL);
  refuses("--arm a=", "LABEL=/path", NULL);
  refuses("--arm a/b=/x", "label has letters", NULL);
  refuses("--arm a=/x --arm a=/y", "two builds of one label", NULL);
}

static void resume_takes_a_folder_or_none(void **state) {
  (void)state;
  struct options o;
  takes("--resume", &o);
  assert_true(o.resume);
  assert_null(o.resume_dir);
  takes("--resume some/run", &o);
  assert_string_equal(o.resume_dir, "some/run");
  takes("--resume --no-plots", &o);
  assert_null(o.resume_dir);
  assert_true(o.no_plots);
}

static void contradictions_are_refused(void **state) {
  (void)state;
  refuses("--resume x --cpus 2", "takes the plan from the run", NULL);
  refuses("--resume x --seed 3", "takes the plan from the run", NULL);
  refuses("--dry-run --resume x", "--dry-run", "takes the plan from the run", NULL);
  refuses("--resume x --window 1s --no-plots", "leave --window out", NULL);
  refuses("--preset k8s-freelists --suite micro", "fixes suite", NULL);
  refuses("--preset k8s-freelists --discipline leaky", "fixes suite", "discipline", NULL);
  refuses("--bind none --cpuset 0", "--bind none", NULL);
  refuses("--quick=yes", "takes no value", NULL);
}

static void objects_repeat_and_empty_texts_are_refused(void **state) {
  (void)state;
  struct options o;
  takes("--object a.json --object b.json", &o);
  assert_int_equal(o.object_count, 2);
  assert_string_equal(o.objects[1], "b.json");
  refuses("--object ''", "kubectl", NULL);
  refuses("--strategies ''", "nothing given", NULL);
  refuses("--out ''", "nothing given", NULL);
  takes("--counters ''", &o);
  assert_string_equal(o.counters, "");
}

static void help_fits_a_screen(void **state) {
  (void)state;
  char *text = NULL;
  size_t size = 0, lines = 0, longest = 0;
  FILE *out = open_memstream(&text, &size);
  assert_non_null(out);
  options_help(out);
  fclose(out);
  for (char *line = text; *line; line += strcspn(line, "\n") + 1) {
    size_t length = strcspn(line, "\n");
    longest = length > longest ? length : longest;
    lines++;
  }
  free(text);
  assert_in_range(lines, 24, 40);
  assert_in_range(longest, 1, 80);
}

/* Distances by hand: kitten and sitting are the textbook pair. */
static void nearness_counts_edits_and_swaps(void **state) {
  (void)state;
  assert_int_equal(suggest_distance("kitten", "sitting"), 3);
  assert_int_equal(suggest_distance("malloc", "malloc"), 0);
  assert_int_equal(suggest_distance("mallco", "malloc"), 1);
  assert_int_equal(suggest_distance("", "abc"), 3);
  assert_int_equal(suggest_distance("Pod", "pod"), 0);
  struct suggest s;
  suggest_start(&s, "xyzzy");
  suggest_offer(&s, "malloc");
  assert_null(s.best);
  assert_string_equal(suggest_text(&s, "--"), "");
  suggest_offer(&s, "xyzy");
  assert_string_equal(suggest_text(&s, "--"), "; did you mean --xyzy?");
}

static void trims_are_paced_by_time_or_bytes(void **state) {
  (void)state;
  struct options o;
  takes("--trim 10ms", &o);
  assert_true(o.trim_ns == 10000000 && o.trim_bytes == 0);
  assert_string_equal(o.trim, "10ms");
  takes("--trim 1.5s", &o);
  assert_true(o.trim_ns == 1500000000);
  takes("--trim 4MiB", &o);
  assert_true(o.trim_bytes == 4 << 20 && o.trim_ns == 0);
  takes("--trim 200kB", &o);
  assert_true(o.trim_bytes == 200000);
  takes("--trim 10ms --trim 65536B", &o);
  assert_true(o.trim_bytes == 65536 && o.trim_ns == 0);
  refuses("--trim 0", "--trim 0:", "10ms", "4MiB", NULL);
  refuses("--trim 0ms", "from 1ms to 60s", NULL);
  refuses("--trim -5ms", "-5ms", "from 1ms to 60s", NULL);
  refuses("--trim=-4MiB", "-4MiB", "at least 64KiB", NULL);
  refuses("--trim 0B", "at least 64KiB", NULL);
  refuses("--trim 999us", "from 1ms to 60s", NULL);
  refuses("--trim 0x10ms", "from 1ms to 60s", NULL);
  refuses("--trim 0x1p20B", "64KiB", NULL);
  refuses("--trim 10", "--trim 10:", "10ms", NULL);
  refuses("--trim 5XB", "at least 64KiB", NULL);
  refuses("--trim 9999999999GiB", "at least 64KiB", NULL);
  refuses("--trim=", "nothing", NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(trims_are_paced_by_time_or_bytes),
      cmocka_unit_test(values_follow_after_a_space_or_an_equals_sign),
      cmocka_unit_test(nothing_given_leaves_the_defaults_to_the_plan),
      cmocka_unit_test(a_list_of_thread_counts_is_kept_in_order),
      cmocka_unit_test(wrong_thread_counts_say_what_would_be_right),
      cmocka_unit_test(unknown_options_name_the_nearest),
      cmocka_unit_test(two_dashes_end_the_options),
      cmocka_unit_test(times_need_a_known_unit),
      cmocka_unit_test(numbers_have_bounds),
      cmocka_unit_test(closed_sets_of_words_are_checked),
      cmocka_unit_test(arms_are_labelled_paths),
      cmocka_unit_test(resume_takes_a_folder_or_none),
      cmocka_unit_test(contradictions_are_refused),
      cmocka_unit_test(objects_repeat_and_empty_texts_are_refused),
      cmocka_unit_test(help_fits_a_screen),
      cmocka_unit_test(nearness_counts_edits_and_swaps),
  };
  return cmocka_run_group_tests_name("options", tests, NULL, NULL);
}
