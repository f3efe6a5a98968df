/*
 * Grouping and projections: which cell a result falls into, in which order, what is filtered and
 * what a cell admits to have mixed. Expected groupings are worked out by hand from the inputs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "comparer/group.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct fixture {
  struct reader reader;
  struct group group;
  struct arena arena;
};

static const struct group_expressions defaults = {".config", ".fullname", ".file", "", "*"};

static void start(struct fixture *f, struct group_expressions e) {
  const char *message;
  *f = (struct fixture){0};
  assert_true(reader_init(&f->reader));
  if (!group_init(&f->group, &e, &message))
    fail_msg("%s", message);
}

static void read_text(struct fixture *f, const char *label, uint32_t file, const char *text) {
  int fd = memfd_create("input", 0);
  assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
  assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
  reader_open(&f->reader, fd);
  while (reader_next(&f->reader) == RECORD_RESULT)
    assert_true(group_add(&f->group, &f->reader, text_of(label), file));
  close(fd);
}

static void finish(struct fixture *f) {
  assert_true(group_finish(&f->group, &f->reader.strings, f->reader.units.count));
}

static void stop(struct fixture *f) {
  arena_free(&f->arena);
  group_free(&f->group);
  reader_free(&f->reader);
}

/* "table|row|column|unit n" of every cell, one a line, in order. */
static const char *describe(struct fixture *f) {
  const struct intern *s = &f->reader.strings;
  char *all = arena_printf(&f->arena, "%s", "");
  for (size_t i = 0; i < f->group.cell_count; i++) {
    const struct cell *c = f->group.cells[i];
    all = arena_printf(&f->arena, "%s%s|%s|%s|%s %zu\n", all,
                       projection_label(&f->group.table, c->table, s, &f->arena),
                       projection_label(&f->group.row, c->row, s, &f->arena),
                       projection_label(&f->group.column, c->column, s, &f->arena),
                       f->reader.units.list[c->unit].name.p, c->n);
  }
  return all;
}

#define check_groups(f, e, text, want)      \
  do {                                      \
    start(f, e);                            \
    read_text(f, "a", 0, text);             \
    finish(f);                              \
    assert_string_equal(describe(f), want); \
    stop(f);                                \
  } while (0)

static void results_group_by_configuration_name_and_file(void **state) {
  (void)state;
  struct fixture f;
  start(&f, defaults);
  read_text(&f, "old", 0, "os: l\nBenchmarkB 1 1 ns/op 2 B/op\nBenchmarkA 1 1 ns/op\n");
  read_text(&f, "new", 1,
            "os: l\nBenchmarkA 1 1 ns/op\nBenchmarkB 1 1 ns/op\nBenchmarkB 1 1 ns/op\n");
  finish(&f);
  assert_string_equal(describe(&f), "l|B|old|sec/op 1\nl|B|new|sec/op 2\n"
                                    "l|A|old|sec/op 1\nl|A|new|sec/op 1\nl|B|old|B/op 1\n");
  stop(&f);
}

/* Keys inside .config: byte order of their values, missing first; named keys: as they appear. */
static void configurations_sort_by_value(void **state) {
  (void)state;
  const char *text = "pkg: z\nBenchmarkA 1 1 x\npkg: a\nBenchmarkA 1 1 x\nhost: h\n"
                     "BenchmarkA 1 1 x\n";
  struct fixture f;
  check_groups(&f, defaults, text, "a|A|a|x 1\na h|A|a|x 1\nz|A|a|x 1\n");
  struct group_expressions e = defaults;
  e.table = "pkg,host";
  check_groups(&f, e, text, "z|A|a|x 1\na|A|a|x 1\na h|A|a|x 1\n");
}

static void orders_are_first_alpha_num_or_fixed(void **state) {
  (void)state;
  const char *text = "BenchmarkA/s=1Mi 1 1 x\nBenchmarkA/s=16 1 1 x\nBenchmarkA/s=x 1 1 x\n"
                     "BenchmarkA/s=4k 1 1 x\nBenchmarkA/s=4.0k 1 1 x\n";
  struct fixture f;
  struct group_expressions e = defaults;
  e.row = "/s";
  check_groups(&f, e, text, "|1Mi|a|x 1\n|16|a|x 1\n|x|a|x 1\n|4k|a|x 1\n|4.0k|a|x 1\n");
  e.row = "/s@alpha";
  check_groups(&f, e, text, "|16|a|x 1\n|1Mi|a|x 1\n|4.0k|a|x 1\n|4k|a|x 1\n|x|a|x 1\n");
  e.row = "/s@num"; /* equal numbers by bytes; what is no number comes last */
  check_groups(&f, e, text, "|16|a|x 1\n|4.0k|a|x 1\n|4k|a|x 1\n|1Mi|a|x 1\n|x|a|x 1\n");
  e.row = "/s@(x 16)"; /* also a filter */
  check_groups(&f, e, text, "|x|a|x 1\n|16|a|x 1\n");
}

static void named_keys_leave_name_and_configuration(void **state) {
  (void)state;
  const char *text = "os: l\narch: x\nBenchmarkA/s=1/t=2-8 1 1 x\nBenchmarkA/s=3/t=2-4 1 1 x\n";
  struct fixture f;
  struct group_expressions e = defaults;
  e.column = "/s,/gomaxprocs";
  e.ignore = "os";
  check_groups(&f, e, text, "x|A/t=2|1 8|x 1\nx|A/t=2|3 4|x 1\n");
  e = defaults;
  e.column = "os";
  e.ignore = ".name";
  check_groups(&f, e, text, "x|*/s=1/t=2-8|l|x 1\nx|*/s=3/t=2-4|l|x 1\n");
}

static void filters_drop_results_and_measurements(void **state) {
  (void)state;
  const char *text = "BenchmarkA 1 1 ns/op 2 B/op\nBenchmarkB 1 1 ns/op 2 B/op\n";
  struct fixture f;
  struct group_expressions e = defaults;
  e.filter = "-.name:A OR .unit:B/op";
  check_groups(&f, e, text, "|A|a|B/op 1\n|B|a|B/op 1\n|B|a|sec/op 1\n");
  e.filter = ".name:C";
  check_groups(&f, e, text, "");
}

/* What a filter drops has no place in the order of appearance. */
static void dropped_results_do_not_count_as_seen(void **state) {
  (void)state;
  const char *text = "BenchmarkB/k=1 1 1 x\nBenchmarkA/k=2 1 1 x\nBenchmarkB/k=2 1 1 x\n";
  struct fixture f;
  struct group_expressions e = defaults;
  e.row = ".name";
  e.filter = "/k:2";
  check_groups(&f, e, text, "|A|a|x 1\n|B|a|x 1\n");
}

static const char *residue_of(struct fixture *f, size_t cell) {
  const char *text = cell_residue(&f->group, f->group.cells[cell], &f->arena);
  return text ? text : "";
}

static void cells_say_what_they_mix(void **state) {
  (void)state;
  struct fixture f;
  struct group_expressions e = defaults;
  e.row = ".name";
  e.table = "";
  start(&f, e);
  read_text(&f, "x", 0, "cpu: 1\nBenchmarkA/s=1 1 1 x\nBenchmarkB 1 1 x\n");
  read_text(&f, "x", 1, "cpu: 2\nBenchmarkA/s=2 1 1 x\ncpu: 1\nBenchmarkB 1 1 x\n");
  finish(&f);
  assert_string_equal(residue_of(&f, 0), "benchmarks vary in cpu, .fullname");
  assert_true(f.group.cells[0]->pools_names);
  assert_true(cell_pools_files(f.group.cells[0]));
  assert_string_equal(residue_of(&f, 1), "");
  assert_false(f.group.cells[1]->pools_names);
  assert_true(cell_pools_files(f.group.cells[1]));
  stop(&f);
  e.ignore = ".fullname,cpu";
  start(&f, e);
  read_text(&f, "x", 0, "cpu: 1\nBenchmarkA/s=1 1 1 x\ncpu: 2\nBenchmarkA/s=2 1 1 x\n");
  finish(&f);
  assert_string_equal(residue_of(&f, 0), "");
  assert_true(f.group.cells[0]->pools_names);
  stop(&f);
}

static void values_keep_their_order_over_many_chunks(void **state) {
  (void)state;
  struct fixture f;
  char *text = malloc(200000);
  size_t n = 0;
  assert_non_null(text);
  for (int i = 0; i < 1000; i++)
    n += (size_t)sprintf(text + n, "BenchmarkA 1 %d x\nBenchmarkB 1 %d y\n", i, 2 * i);
  start(&f, defaults);
  read_text(&f, "a", 0, text);
  finish(&f);
  double values[1000];
  assert_int_equal(f.group.cell_count, 2);
  for (int c = 0; c < 2; c++) {
    assert_int_equal(f.group.cells[c]->n, 1000);
    assert_null(f.group.cells[c]->origins);
    cell_values(f.group.cells[c], values);
    for (int i = 0; i < 1000; i++)
      assert_float_equal(values[i], (c + 1) * i, 0);
  }
  stop(&f);
  free(text);
}

static void origins_exist_from_the_first_sample_that_has_one(void **state) {
  (void)state;
  struct fixture f;
  start(&f, defaults);
  f.group.exclude_flags = SAMPLE_THROTTLED;
  read_text(&f, "a", 0,
            "BenchmarkA 1 1 x\nBenchmarkB 1 1 x\n# run r round 7 seq 1\nBenchmarkA 1 2 x\n"
            "# run r round 8 seq 2\n# flag throttled\nBenchmarkA 1 3 x\n"
            "# run r round 9 seq 3\nBenchmarkA 1 4 x\n");
  finish(&f);
  const struct cell *c = f.group.cells[0];
  assert_int_equal(c->n, 3);
  assert_int_equal(f.group.excluded, 1);
  assert_int_equal(c->origins[0].run, 0);
  assert_int_equal(c->origins[1].round, 7);
  assert_int_equal(c->origins[2].round, 9);
  assert_int_not_equal(c->origins[1].process, c->origins[2].process);
  assert_null(f.group.cells[1]->origins);
  stop(&f);
}

/* Rounds of one benchmark, as a run writes them; the value is 100 + round. */
static void read_rounds(struct fixture *f, uint32_t file, const char *run, int from, int to) {
  char text[2000];
  int used = 0;
  for (int r = from; r <= to; r++)
    used += snprintf(text + used, sizeof text - (size_t)used,
                     "# run %s round %d seq %d\nBenchmarkA 1 %d x\n", run, r, 10 + r, 100 + r);
  read_text(f, "a", file, text);
}

/* One run's detail.txt and samples.txt: rounds 1 to 12, then 5 to 14 of which 8 are known. */
static void a_sample_read_twice_counts_once(void **state) {
  (void)state;
  struct fixture f;
  double values[30];
  start(&f, defaults);
  read_rounds(&f, 0, "5f2c", 1, 12);
  read_rounds(&f, 1, "5f2c", 5, 14);
  finish(&f);
  struct cell *c = f.group.cells[0];
  assert_int_equal(c->n, 14);
  assert_int_equal(f.group.repeated, 8);
  assert_true(cell_pools_files(c));
  cell_values(c, values);
  for (int i = 0; i < 14; i++) {
    assert_int_equal(values[i], 101 + i);
    assert_int_equal(c->origins[i].round, 1 + i);
  }
  stop(&f);
}

static void a_file_of_known_samples_adds_nothing(void **state) {
  (void)state;
  struct fixture f;
  start(&f, defaults);
  read_rounds(&f, 0, "5f2c", 5, 9);
  read_rounds(&f, 1, "5f2c", 5, 9);
  finish(&f);
  assert_int_equal(f.group.cells[0]->n, 5);
  assert_false(cell_pools_files(f.group.cells[0]));
  stop(&f);
}

/* Other runs, other benchmarks of the same process, and lines that do not say where from. */
static void samples_that_only_look_alike_all_count(void **state) {
  (void)state;
  struct fixture f;
  struct group_expressions e = defaults;
  e.ignore = "/phase";
  start(&f, e);
  read_text(&f, "a", 0,
            "# run 1 round 1 seq 4\nBenchmarkA/phase=one 1 1 x\n"
            "# run 1 round 1 seq 4\nBenchmarkA/phase=two 1 1 x\n"
            "# run 2 round 1 seq 4\nBenchmarkA/phase=one 1 1 x\n");
  read_text(&f, "a", 1,
            "# run 1 round 1 seq 5\nBenchmarkA/phase=one 1 1 x\n"
            "# flag throttled x\nBenchmarkA/phase=one 1 1 x\nBenchmarkA/phase=one 1 1 x\n");
  finish(&f);
  assert_string_equal(describe(&f), "|A|a|x 6\n");
  assert_int_equal(f.group.repeated, 0);
  stop(&f);
}

static void many_values_of_one_process_are_noticed(void **state) {
  (void)state;
  struct fixture f;
  start(&f, defaults);
  read_text(&f, "a", 0,
            "goos: l\nBenchmarkA 1 1 x\nBenchmarkB 1 1 x\n"
            "goos: l\nBenchmarkA 1 1 x\nBenchmarkC 1 1 x\nBenchmarkC 1 1 x\n");
  read_text(&f, "a", 1, "goos: l\nBenchmarkB 1 1 x\n");
  finish(&f);
  assert_false(f.group.cells[0]->one_process);
  assert_false(f.group.cells[1]->one_process);
  assert_true(f.group.cells[2]->one_process);
  stop(&f);
}

static void wrong_expressions_name_their_flag(void **state) {
  (void)state;
  static const struct {
    struct group_expressions e;
    const char *message;
  } cases[] = {
      {{".config", ".name@x", ".file", "", "*"}, "parsing -row: syntax error: unknown order"},
      {{".config", ".fullname", ".unit", "", "*"}, "parsing -col: syntax error: .unit is only"},
      {{".config@(a)", ".fullname", ".file", "", "*"}, "parsing -table: syntax error: fixed"},
      {{".config", ".fullname", ".file", "a,", "*"}, "parsing -ignore: syntax error: expected"},
      {{".config", ".fullname", ".file", "", "a"}, "parsing -filter: syntax error: expected"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct group g;
    const char *message;
    assert_false(group_init(&g, &cases[i].e, &message));
    assert_non_null(strstr(message, cases[i].message));
    group_free(&g);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(results_group_by_configuration_name_and_file),
      cmocka_unit_test(configurations_sort_by_value),
      cmocka_unit_test(orders_are_first_alpha_num_or_fixed),
      cmocka_unit_test(named_keys_leave_name_and_configuration),
      cmocka_unit_test(filters_drop_results_and_measurements),
      cmocka_unit_test(dropped_results_do_not_count_as_seen),
      cmocka_unit_test(cells_say_what_they_mix),
      cmocka_unit_test(values_keep_their_order_over_many_chunks),
      cmocka_unit_test(origins_exist_from_the_first_sample_that_has_one),
      cmocka_unit_test(a_sample_read_twice_counts_once),
      cmocka_unit_test(a_file_of_known_samples_adds_nothing),
      cmocka_unit_test(samples_that_only_look_alike_all_count),
      cmocka_unit_test(many_values_of_one_process_are_noticed),
      cmocka_unit_test(wrong_expressions_name_their_flag),
  };
  return cmocka_run_group_tests_name("group", tests, NULL, NULL);
}
