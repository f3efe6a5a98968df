/*
 * The parts below the walkers: trees, times, quantities, the catalog. Expected values are from
 * the definitions (RFC 3339, the quantity syntax of the API) or worked out by hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "harness/heap.h"
#include "workloads/compare/catalog.h"
#include "workloads/compare/report.h"
#include "workloads/compare/text.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static struct str text(const char *s) {
  return str_key(s, strlen(s));
}

/* ---- trees ---- */

static void buckets_hold_six_and_a_half_keys(void **state) {
  (void)state;
  static const struct {
    size_t keys, buckets;
  } want[] = {{0, 1},  {1, 1},  {8, 1},  {9, 2},  {13, 2},
              {14, 4}, {26, 4}, {27, 8}, {52, 8}, {53, 16}};
  for (size_t i = 0; i < sizeof want / sizeof *want; i++)
    assert_int_equal(tree_buckets_for(want[i].keys), want[i].buckets);
}

/* More keys than announced: buckets chain, and everything is still found and freed. */
static void maps_take_more_keys_than_announced(void **state) {
  (void)state;
  static char names[500][8];
  struct node map, value;
  struct map_cursor cursor = {0};
  const struct str *key;
  struct node *found;
  size_t visited = 0;
  assert_true(node_map_new(&map, 3));
  for (int i = 0; i < 500; i++) {
    snprintf(names[i], sizeof names[i], "k%d", i);
    assert_true(node_int(&value, i));
    assert_true(node_map_add(map.map, text(names[i]), value));
  }
  assert_int_equal(map.map->count, 500);
  for (int i = 0; i < 500; i++) {
    struct str name = text(names[i]);
    found = node_map_find(map.map, &name);
    assert_non_null(found);
    assert_int_equal(*found->integer, i);
  }
  assert_null(node_map_find(map.map, &(struct str){"k500", 4, str_hash_bytes("k500", 4)}));
  while (node_map_next(map.map, &cursor, &key, &found))
    visited++;
  assert_int_equal(visited, 500);
  node_free(&map);
}

static void trees_are_equal_by_content(void **state) {
  (void)state;
  struct node a, b, copy, value;
  assert_true(node_map_new(&a, 2) && node_map_new(&b, 20));
  assert_true(node_int(&value, 3) && node_map_add(a.map, text("n"), value));
  assert_true(node_float(&value, 3.0) && node_map_add(b.map, text("n"), value));
  assert_true(node_list_new(&value, 2) && node_map_add(a.map, text("l"), value));
  assert_true(node_list_new(&value, 2) && node_map_add(b.map, text("l"), value));
  assert_true(node_equal(&a, &b)); /* 3 and 3.0 are one number, and null is null */
  assert_true(node_copy(&copy, &a));
  assert_true(node_equal(&copy, &a));
  struct str n = text("n");
  *node_map_find(copy.map, &n)->integer = 4;
  assert_false(node_equal(&copy, &a));
  assert_int_equal(*node_map_find(a.map, &n)->integer, 3);
  node_free(&a);
  node_free(&b);
  node_free(&copy);
}

static void copying_survives_the_failure_of_any_allocation(void **state) {
  (void)state;
  struct node from, copy, value;
  bool done = false;
  assert_true(node_map_new(&from, 2));
  assert_true(node_string(&value, text("v")) && node_map_add(from.map, text("s"), value));
  assert_true(node_list_new(&value, 3) && node_int(&value.list->items[1], 1));
  assert_true(node_map_add(from.map, text("l"), value));
  for (uint64_t k = 1; !done; k++) {
    heap_fail_after(k);
    done = node_copy(&copy, &from);
    heap_fail_after(0);
    assert_int_equal(copy.kind, done ? NODE_MAP : NODE_NULL);
  }
  node_free(&copy);
  node_free(&from);
}

/* ---- times ---- */

static void assert_time(const char *given, int64_t seconds, const char *written) {
  struct str s = text(given);
  struct timestamp t;
  char out[TIME_TEXT + 1] = "";
  assert_true(time_parse(&s, &t));
  assert_int_equal(t.seconds, seconds);
  time_format(&t, out);
  assert_string_equal(out, written);
}

static void times_are_read_and_written_as_rfc_3339(void **state) {
  (void)state;
  assert_time("1970-01-01T00:00:00Z", 0, "1970-01-01T00:00:00Z");
  assert_time("2000-02-29T23:59:59Z", 951868799, "2000-02-29T23:59:59Z");
  assert_time("2024-05-06T09:08:09+02:00", 1714979289, "2024-05-06T07:08:09Z");
  assert_time("2024-05-06T00:08:09.25-07:00", 1714979289, "2024-05-06T07:08:09Z");
  assert_time("1969-12-31T23:59:58Z", -2, "1969-12-31T23:59:58Z");
  assert_time("0000-01-01T00:00:00Z", -62167219200, "0000-01-01T00:00:00Z");
  assert_time("9999-12-31T23:59:59Z", 253402300799, "9999-12-31T23:59:59Z");
}

/* Against the C library's calendar, on every 13th day of 1600 years. */
static void calendar_agrees_with_the_c_library(void **state) {
  (void)state;
  for (time_t t = -30000000000; t < 20000000000; t += 13 * 86400 + 3661) {
    struct tm tm;
    char expected[TIME_TEXT + 1], got[TIME_TEXT + 1] = "";
    struct timestamp stamp = {.seconds = t, .set = true}, back;
    assert_non_null(gmtime_r(&t, &tm));
    snprintf(expected, sizeof expected, "%04u-%02u-%02uT%02u:%02u:%02uZ",
             (unsigned)(tm.tm_year + 1900) % 10000, (unsigned)(tm.tm_mon + 1) % 100,
             (unsigned)tm.tm_mday % 100, (unsigned)tm.tm_hour % 100, (unsigned)tm.tm_min % 100,
             (unsigned)tm.tm_sec % 100);
    time_format(&stamp, got);
    assert_string_equal(got, expected);
    struct str s = text(got);
    assert_true(time_parse(&s, &back));
    assert_int_equal(back.seconds, t);
  }
}

static void wrong_times_are_refused(void **state) {
  (void)state;
  static const char *const wrong[] = {
      "",
      "2024-05-06",
      "2024-05-06 07:08:09Z",
      "2024-05-06T07:08:09",
      "2024-13-06T07:08:09Z",
      "2024-00-06T07:08:09Z",
      "2023-02-29T07:08:09Z",
      "2024-04-31T07:08:09Z",
      "2024-05-06T24:08:09Z",
      "2024-05-06T07:60:09Z",
      "2024-05-06T07:08:09.Z",
      "2024-05-06T07:08:09+2:00",
      "2024-05-06T07:08:09Zx",
      "9999-12-31T23:59:59-01:00",
  };
  struct timestamp t;
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    struct str s = text(wrong[i]);
    if (time_parse(&s, &t))
      fail_msg("accepted: %s", wrong[i]);
  }
}

/* ---- quantities ---- */

static void quantities_have_their_value(void **state) {
  (void)state;
  static const struct {
    const char *text;
    double value;
  } want[] = {{"0", 0},      {"1", 1},        {"-5", -5},
              {"+5", 5},     {"500m", 0.5},   {"1.5Gi", 1610612736},
              {"2e3", 2000}, {"2E3", 2000},   {"1e-3", 1e-3},
              {"3k", 3000},  {"1Ki", 1024},   {".5", 0.5},
              {"5.", 5},     {"100n", 1e-7},  {"7u", 7e-6},
              {"1E", 1e18},  {"1Ei", 0x1p60}, {"32880524Ki", 33669656576}};
  struct quantity q;
  for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
    struct str s = text(want[i].text);
    if (!quantity_parse(&s, &q))
      fail_msg("refused: %s", want[i].text);
    double off = q.value - want[i].value, size = want[i].value < 0 ? -want[i].value : want[i].value;
    if (off > 1e-12 * size || off < -1e-12 * size)
      fail_msg("%s is %g", want[i].text, q.value);
  }
}

static void wrong_quantities_are_refused(void **state) {
  (void)state;
  static const char *const wrong[] = {
      "",   "m",   "1.2.3", "1 Gi", "Gi1",   "1gi", "1mi",  "--1",
      "1e", "1e+", "1e1.5", "0x10", "1e999", ".",   "lots", "1234567890123456789"};
  struct quantity q;
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    struct str s = text(wrong[i]);
    if (quantity_parse(&s, &q))
      fail_msg("accepted: %s", wrong[i]);
  }
}

/* ---- the catalog ---- */

/* Descriptor and schema know the same fields, at any depth. */
static void assert_same_fields(const struct type *type, const struct schema *schema) {
  if (type->shape == SHAPE_LIST || type->shape == SHAPE_MAP) {
    assert_int_equal(schema->atom, type->shape == SHAPE_LIST ? ATOM_LIST : ATOM_MAP);
    assert_int_not_equal(schema->relation, RELATION_NONE);
    for (unsigned i = 0; i < schema->key_count; i++) /* key fields are scalars of the items */
      assert_int_equal(schema_entry(schema->elements, &schema->keys[i])->atom, ATOM_SCALAR);
    assert_same_fields(type->elements, schema->elements);
  }
  for (size_t i = 0; type->shape == SHAPE_OBJECT && i < type->field_count; i++) {
    const struct field *f = &type->fields[i];
    const struct schema *entry = schema_entry(schema, &f->name);
    assert_non_null(entry);
    assert_ptr_equal(type_field(type, &f->name), f);
    if (i > 0)
      assert_true(str_order(&type->fields[i - 1].name, &f->name) < 0);
    assert_same_fields(f->type, entry);
  }
}

static void descriptors_and_schemas_agree(void **state) {
  (void)state;
  struct catalog c;
  struct str nothing = text("nothing");
  assert_true(catalog_open(&c));
  for (int i = 0; i < OBJECT_KINDS; i++) {
    assert_same_fields(c.objects[i].type, c.objects[i].schema);
    assert_null(type_field(c.objects[i].type, &nothing));
    assert_null(schema_entry(c.objects[i].schema, &nothing));
  }
  catalog_close(&c);
}

/* ---- reports ---- */

static void reports_keep_the_first_lines_in_order(void **state) {
  (void)state;
  static struct report r;
  char path[8];
  for (int i = 0; i < 26; i++) {
    snprintf(path, sizeof path, ".%c", 'a' + (i * 7) % 26);
    report_add(&r, path, "is %d", i);
  }
  assert_int_equal(r.count, 26);
  for (int i = 0; i < REPORT_LINES; i++) {
    assert_int_equal(r.lines[i][1], 'a' + i);
    assert_int_equal(r.lines[i][2], ':');
  }
  r.count = 0;
  report_add(&r, "", "is wrong");
  assert_string_equal(r.lines[0], ".: is wrong");
}

static int count_this_thread(void **state) {
  (void)state;
  heap_thread_begin();
  return 0;
}

static int nothing_leaked(void **state) {
  (void)state;
  struct heap_counts c;
  heap_total(&c);
  return c.alloc_bytes == c.freed_bytes ? 0 : -1;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(buckets_hold_six_and_a_half_keys),
      cmocka_unit_test(maps_take_more_keys_than_announced),
      cmocka_unit_test(trees_are_equal_by_content),
      cmocka_unit_test(copying_survives_the_failure_of_any_allocation),
      cmocka_unit_test(times_are_read_and_written_as_rfc_3339),
      cmocka_unit_test(calendar_agrees_with_the_c_library),
      cmocka_unit_test(wrong_times_are_refused),
      cmocka_unit_test(quantities_have_their_value),
      cmocka_unit_test(wrong_quantities_are_refused),
      cmocka_unit_test(descriptors_and_schemas_agree),
      cmocka_unit_test(reports_keep_the_first_lines_in_order),
  };
  return cmocka_run_group_tests_name("compare_parts", tests, count_this_thread, nothing_leaked);
}
