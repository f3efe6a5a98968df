/*
 * Tables as data, the column layout and sorting. Expected values by hand.
 */
#include "tests/poolcmp_fixture.h"

#include "comparer/layout.h"
#include "comparer/sort.h"

#include <math.h>

/* Loads one or two texts under the labels old and new. */
static void load(struct poolcmp *p, struct poolcmp_options *o, const char *old, const char *new) {
  char a[100], b[100];
  const char *paths[2] = {write_file(old), new ? write_file(new) : NULL};
  snprintf(a, sizeof a, "old=%s", paths[0]);
  snprintf(b, sizeof b, "new=%s", new ? paths[1] : "");
  const char *inputs[] = {a, b};
  o->inputs = inputs;
  o->input_count = new ? 2 : 1;
  assert_int_equal(poolcmp_load(p, o, stderr), POOLCMP_DONE);
  o->inputs = NULL;
  unlink(paths[0]);
  if (new)
    unlink(paths[1]);
}

static void rows_columns_and_cells_are_there(void **state) {
  (void)state;
  struct poolcmp p;
  struct poolcmp_options o;
  poolcmp_options_init(&o);
  load(&p, &o, "goos: l\nBenchmarkA 1 10 ns/op\nBenchmarkA 1 30 ns/op\nBenchmarkB 1 5 ns/op\n",
       "goos: l\nBenchmarkA 1 40 ns/op\nBenchmarkC 1 5 ns/op\n");
  const struct table_set *set = &p.tables;
  assert_int_equal(set->count, 1);
  const struct table *t = &set->tables[0];
  assert_string_equal(t->unit, "sec/op");
  assert_string_equal(t->written_unit, "ns/op");
  assert_string_equal(set->key_names[0], "goos");
  assert_string_equal(t->keys[0], "l");
  assert_int_equal(t->column_count, 2);
  assert_string_equal(t->columns[1].label, "new");
  assert_int_equal(t->row_count, 3);
  const struct table_cell *a = table_cell_at(t, &t->rows[0], 1);
  assert_true(a->compared);
  assert_float_equal(a->comparison.base_center, 20e-9, 1e-20);
  assert_float_equal(a->center, 40e-9, 1e-20);
  assert_null(table_cell_at(t, &t->rows[1], 1));
  assert_null(table_cell_at(t, &t->rows[2], 0));
  assert_int_equal(set->incomplete_rows, 2);
  assert_int_equal(set->compared, 1);
  assert_int_equal(set->family, 1);
  /* Only row A is in both: its ratio is the geometric mean; base: sqrt(20 x 5). */
  assert_float_equal(t->columns[1].ratio, 2, 1e-12);
  assert_float_equal(t->columns[0].geomean, 10e-9, 1e-20);
  poolcmp_free(&p);
}

static void exact_units_are_modes_without_a_test(void **state) {
  (void)state;
  struct poolcmp p;
  struct poolcmp_options o;
  poolcmp_options_init(&o);
  o.exact_units[0] = "ns/op";
  o.table.exact_units = o.exact_units;
  o.table.exact_unit_count = 1;
  load(&p, &o, "BenchmarkA 1 10 ns/op\nBenchmarkA 1 10 ns/op\nBenchmarkA 1 70 ns/op\n",
       "BenchmarkA 1 12 ns/op\n");
  const struct table *t = &p.tables.tables[0];
  assert_true(t->exact);
  assert_false(t->in_family);
  assert_float_equal(t->cells[0].center, 10e-9, 1e-20);
  assert_float_equal(t->cells[0].hi, 70e-9, 1e-20);
  assert_string_equal(t->cells[0].summary_note,
                      "exact distribution expected, but values range from 1e-08 to 7e-08");
  assert_true(t->cells[1].comparison.exact);
  poolcmp_free(&p);
}

/* In files of runs a unit that never varies is exact; in files of others it is tested. */
static void constants_of_runs_are_exact(void **state) {
  (void)state;
  for (int runs = 0; runs < 2; runs++) {
    char old[500] = "", new[500] = "";
    for (int i = 0; i < 4; i++) {
      const char *word = runs ? "run" : "ran";
      sprintf(old + strlen(old), "# %s r round %d seq %d\n", word, i, 2 * i);
      sprintf(old + strlen(old), "BenchmarkA 1 10 allocs/op\n");
      sprintf(new + strlen(new), "# %s r round %d seq %d\n", word, i, 2 * i + 1);
      sprintf(new + strlen(new), "BenchmarkA 1 12 allocs/op\n");
    }
    struct poolcmp p;
    struct poolcmp_options o;
    poolcmp_options_init(&o);
    load(&p, &o, old, new);
    assert_int_equal(p.tables.tables[0].cells[1].comparison.exact, runs);
    poolcmp_free(&p);
  }
}

static void rows_sort_and_hide(void **state) {
  (void)state;
  char old[4000] = "", new[4000] = "";
  static const int factor[] = {100, 103, 150, 60}; /* A same, B +3 %, C +50 %, D -40 % */
  for (int i = 0; i < 6; i++)
    for (int k = 0; k < 4; k++) {
      sprintf(old + strlen(old), "Benchmark%c 1 %d ns/op\n", 'A' + k, 100000 + i);
      sprintf(new + strlen(new), "Benchmark%c 1 %d ns/op\n", 'A' + k,
              factor[k] * 1000 + (k ? i : 5 - i));
    }
  struct poolcmp p;
  struct poolcmp_options o;
  poolcmp_options_init(&o);
  o.table.sort = SORT_DELTA;
  o.table.changed_only = true;
  load(&p, &o, old, new);
  const struct table *t = &p.tables.tables[0];
  const char *want = "DCBA"; /* |log 0.6| > |log 1.5| */
  for (int i = 0; i < 4; i++) {
    assert_int_equal(t->rows[i].label[0], want[i]);
    assert_int_equal(t->rows[i].hidden, want[i] == 'A');
  }
  poolcmp_free(&p);
}

/* ---- geometric mean ---- */

/* The last digit as benchstat's CSV prints it; the values are from its output. */
static void geometric_means_have_gos_last_digit(void **state) {
  (void)state;
  static const double a[] = {1.4914000000000002e-06}, b[] = {5000}, c[] = {5.05e-08, 1.483e-07};
  static const double d[] = {1, 0};
  assert_true(geometric_mean(a, 1) == 1.4914e-06);
  assert_true(geometric_mean(b, 1) == 5000.000000000004);
  assert_true(geometric_mean(c, 2) == 8.653987520212869e-08);
  assert_true(isnan(geometric_mean(d, 2)));
  assert_true(isnan(geometric_mean(d, 0)));
  static const double extremes[] = {5e-324, 1.7e308};
  assert_true(fabs(log(geometric_mean(extremes, 2)) - (log(5e-324) + log(1.7e308)) / 2) < 1e-9);
}

/* ---- sorting ---- */

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void check_sorted(double *x, size_t n) {
  double *want = malloc(n * sizeof *want);
  assert_non_null(want);
  memcpy(want, x, n * sizeof *want);
  qsort(want, n, sizeof *want, by_value);
  sort_doubles(x, n);
  assert_memory_equal(x, want, n * sizeof *want);
  free(want);
}

/* Every length over the borders of the methods, with shapes that are hard for each. */
static void doubles_sort_whatever_their_shape(void **state) {
  (void)state;
  static double x[3000];
  uint64_t seed = 1;
  for (size_t n = 1; n < 1200; n += n < 100 ? 1 : 37)
    for (int shape = 0; shape < 9; shape++) {
      for (size_t i = 0; i < n; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        double r = (double)(seed >> 11) / 9007199254740992.;
        switch (shape) {
        case 0:
          x[i] = r;
          break;
        case 1:
          x[i] = 7;
          break;
        case 2:
          x[i] = (double)(n - i);
          break;
        case 3:
          x[i] = (double)(i % 3);
          break;
        case 4:
          x[i] = i == n / 2 ? 1e300 : r * 1e-9;
          break; /* one bucket holds all but one */
        case 5:
          x[i] = (double)(i < n / 2 ? i : n - i);
          break;
        case 6:
          x[i] = i % 2 ? 1.7e308 : -1.7e308;
          break; /* their distance is infinite */
        case 7:
          x[i] = (double)(seed >> 62) * 5e-324;
          break;
        default:
          x[i] = exp(200 * r);
          break;
        }
      }
      check_sorted(x, n);
    }
}

/* ---- layout ---- */

static char *written(struct layout *l) {
  char *text = NULL;
  size_t n;
  FILE *out = open_memstream(&text, &n);
  assert_true(layout_write(l, out));
  fclose(out);
  layout_free(l);
  return text;
}

static void add(struct layout *l, uint32_t span, const char *text, enum align align) {
  layout_add(l, (struct layout_cell){.span = span, .text = text, .align = align});
}

static void columns_are_as_wide_as_their_widest_cell(void **state) {
  (void)state;
  struct layout l = {0};
  layout_row(&l);
  add(&l, 1, "name", ALIGN_LEFT);
  add(&l, 1, "µ", ALIGN_RIGHT);
  layout_row(&l);
  add(&l, 1, "x", ALIGN_LEFT);
  add(&l, 1, "12345", ALIGN_RIGHT);
  add(&l, 1, "", ALIGN_LEFT);
  char *text = written(&l);
  assert_string_equal(text, "name     µ\nx    12345\n");
  free(text);
}

/*
 * A cell over three columns of 2, 2, 2: 12 are needed, the fixed one keeps its 2, the
 * others get 5 each.
 */
static void spanning_cells_widen_free_columns(void **state) {
  (void)state;
  struct layout l = {0};
  layout_row(&l);
  add(&l, 3, "123456789012", ALIGN_LEFT);
  add(&l, 1, "!", ALIGN_LEFT);
  layout_row(&l);
  add(&l, 1, "aa", ALIGN_LEFT);
  add(&l, 1, "b", ALIGN_LEFT);
  add(&l, 1, "c", ALIGN_RIGHT);
  layout_fix(&l, 1);
  char *text = written(&l);
  assert_string_equal(text, "123456789012 !\naa    b    c\n");
  free(text);
}

/*
 * Ten characters over three columns, the widest first, each time the average rounded up: b and c
 * are wider by their margin, so b gets 4, c and a 3.
 */
static void shared_width_is_rounded_up(void **state) {
  (void)state;
  struct layout l = {0};
  layout_row(&l);
  add(&l, 3, "1234567890", ALIGN_LEFT);
  layout_row(&l);
  add(&l, 1, "a", ALIGN_RIGHT);
  add(&l, 1, "b", ALIGN_RIGHT);
  add(&l, 1, "c", ALIGN_RIGHT);
  char *text = written(&l);
  assert_string_equal(text, "1234567890\n  a   b  c\n");
  free(text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rows_columns_and_cells_are_there),
      cmocka_unit_test(exact_units_are_modes_without_a_test),
      cmocka_unit_test(constants_of_runs_are_exact),
      cmocka_unit_test(rows_sort_and_hide),
      cmocka_unit_test(geometric_means_have_gos_last_digit),
      cmocka_unit_test(doubles_sort_whatever_their_shape),
      cmocka_unit_test(columns_are_as_wide_as_their_widest_cell),
      cmocka_unit_test(spanning_cells_widen_free_columns),
      cmocka_unit_test(shared_width_is_rounded_up),
  };
  return cmocka_run_group_tests_name("table", tests, NULL, NULL);
}
