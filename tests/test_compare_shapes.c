/*
 * The shapes of the fixtures: sizes, counts, histograms, string lengths, depth. The expected
 * figures are those of the objects that the measured programs compared; 2 % are allowed where a
 * figure is a size, none where it is a count. Asked of the JSON and of the trees built from it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/compare_fixture.h"
#include "workloads/compare/convert.h"
#include "workloads/compare/fixtures.h"

#define MAX_STRINGS 8000
#define MAX_LENGTH 1001 /* of a list or map */

struct measures {
  unsigned maps, lists, scalars, strings, integers, booleans, nulls, depth;
  unsigned entries, longest_key;
  size_t key_bytes, string_bytes;
  unsigned keys_per_map[MAX_LENGTH], list_lengths[MAX_LENGTH];
  unsigned string_count, string_lengths[MAX_STRINGS];
};

struct pair {
  unsigned length, count; /* so many maps or lists are so long */
};

struct wanted {
  int object;
  size_t json_bytes;
  unsigned maps, lists, scalars, strings, integers, booleans, nulls, depth, entries;
  double key_mean;
  unsigned longest_key;
  struct pair keys[12], items[6]; /* length 0 and count 0 end them */
  double string_mean;
  unsigned string_p50, string_p90, string_max;
  size_t string_bytes;
};

static const struct wanted wanted[] = {
    {.object = OBJECT_POD,
     .json_bytes = 2713,
     .maps = 33,
     .lists = 9,
     .scalars = 95,
     .strings = 78,
     .integers = 7,
     .booleans = 4,
     .nulls = 6,
     .depth = 8,
     .entries = 113,
     .key_mean = 8.8,
     .longest_key = 29,
     .keys =
         {{0, 1}, {1, 8}, {2, 8}, {3, 1}, {4, 6}, {5, 4}, {6, 1}, {7, 1}, {8, 1}, {9, 1}, {12, 1}},
     .items = {{1, 5}, {2, 1}, {3, 1}, {4, 1}, {9, 1}},
     .string_mean = 12.7,
     .string_p50 = 9,
     .string_p90 = 20,
     .string_max = 73,
     .string_bytes = 988},
    {.object = OBJECT_NODE,
     .json_bytes = 10382,
     .maps = 58,
     .lists = 30,
     .scalars = 219,
     .strings = 193,
     .integers = 26,
     .depth = 5,
     .entries = 203,
     .key_mean = 10.1,
     .longest_key = 54,
     .keys = {{1, 2}, {2, 35}, {3, 1}, {5, 3}, {6, 13}, {7, 1}, {9, 2}, {10, 1}},
     .items = {{2, 25}, {3, 1}, {6, 2}, {13, 1}, {25, 1}},
     .string_mean = 34.8,
     .string_p50 = 21,
     .string_p90 = 87,
     .string_max = 123,
     .string_bytes = 6726},
    {.object = OBJECT_ENDPOINTS,
     .json_bytes = 171349,
     .maps = 2005,
     .lists = 3,
     .scalars = 6012,
     .strings = 6011,
     .integers = 1,
     .depth = 6,
     .entries = 7017,
     .key_mean = 6.6,
     .longest_key = 17,
     .keys = {{1, 1}, {2, 1001}, {3, 1}, {4, 1}, {5, 1000}, {7, 1}},
     .items = {{1, 2}, {1000, 1}},
     .string_mean = 13.7,
     .string_p50 = 9,
     .string_p90 = 36,
     .string_max = 36,
     .string_bytes = 82121},
};
#define OBJECTS (sizeof wanted / sizeof *wanted)

static void measure(struct measures *s, const struct node *node, unsigned depth);

static void measure_map(struct measures *s, const struct node_map *map, unsigned depth) {
  struct map_cursor cursor = {0};
  const struct str *key;
  struct node *value;
  assert_true(map->count < MAX_LENGTH);
  s->maps++;
  s->keys_per_map[map->count]++;
  while (node_map_next(map, &cursor, &key, &value)) {
    s->entries++;
    s->key_bytes += key->len;
    s->longest_key = key->len > s->longest_key ? key->len : s->longest_key;
    measure(s, value, depth + 1);
  }
}

static void measure_scalar(struct measures *s, const struct node *node) {
  s->scalars++;
  s->integers += node->kind == NODE_INT;
  s->booleans += node->kind == NODE_BOOL;
  s->nulls += node->kind == NODE_NULL;
  if (node->kind != NODE_STRING)
    return;
  assert_true(s->string_count < MAX_STRINGS);
  s->string_lengths[s->string_count++] = node->string->len;
  s->string_bytes += node->string->len;
  s->strings++;
}

static void measure(struct measures *s, const struct node *node, unsigned depth) {
  s->depth = depth > s->depth ? depth : s->depth;
  if (node->kind == NODE_MAP) {
    measure_map(s, node->map, depth);
  } else if (node->kind == NODE_LIST) {
    assert_true(node->list->count < MAX_LENGTH);
    s->lists++;
    s->list_lengths[node->list->count]++;
    for (size_t i = 0; i < node->list->count; i++)
      measure(s, &node->list->items[i], depth + 1);
  } else {
    measure_scalar(s, node);
  }
}

static void assert_near(double got, double want) {
  if (got < 0.98 * want || got > 1.02 * want)
    fail_msg("%g is not within 2 %% of %g", got, want);
}

static void assert_histogram(const unsigned *got, const struct pair *want) {
  unsigned expected[MAX_LENGTH] = {0};
  for (; want->count; want++)
    expected[want->length] = want->count;
  for (unsigned i = 0; i < MAX_LENGTH; i++)
    assert_int_equal(got[i], expected[i]);
}

static int by_size(const void *a, const void *b) {
  unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;
  return (x > y) - (x < y);
}

static void assert_strings(struct measures *s, const struct wanted *w) {
  unsigned n = s->string_count;
  qsort(s->string_lengths, n, sizeof *s->string_lengths, by_size);
  assert_near((double)s->string_bytes / n, w->string_mean);
  assert_near((double)s->string_bytes, (double)w->string_bytes);
  assert_int_equal(s->string_lengths[n / 2], w->string_p50);
  assert_int_equal(s->string_lengths[n * 9 / 10], w->string_p90);
  assert_int_equal(s->string_lengths[n - 1], w->string_max);
}

static void assert_shape(const struct node *tree, const struct wanted *w) {
  static struct measures s;
  s = (struct measures){0};
  measure(&s, tree, 0);
  assert_int_equal(s.maps, w->maps);
  assert_int_equal(s.lists, w->lists);
  assert_int_equal(s.scalars, w->scalars);
  assert_int_equal(s.strings, w->strings);
  assert_int_equal(s.integers, w->integers);
  assert_int_equal(s.booleans, w->booleans);
  assert_int_equal(s.nulls, w->nulls);
  assert_int_equal(s.depth, w->depth);
  assert_int_equal(s.entries, w->entries);
  assert_near((double)s.key_bytes / s.entries, w->key_mean);
  assert_int_equal(s.longest_key, w->longest_key);
  assert_histogram(s.keys_per_map, w->keys);
  assert_histogram(s.list_lengths, w->items);
  assert_strings(&s, w);
}

static void json_is_as_large(void **state) {
  (void)state;
  for (size_t i = 0; i < OBJECTS; i++) {
    struct error error;
    json_t *json = fixture_json(wanted[i].object, &error);
    assert_non_null(json);
    char *text = json_dumps(json, JSON_COMPACT);
    assert_non_null(text);
    assert_near((double)strlen(text), (double)wanted[i].json_bytes);
    free(text);
    json_decref(json);
  }
}

static void json_has_the_shape(void **state) {
  (void)state;
  for (size_t i = 0; i < OBJECTS; i++) {
    struct object o;
    struct error error;
    if (!fixture_load(wanted[i].object, &catalog, &o, &error))
      fail_msg("%s", error.text);
    assert_shape(&o.trees[0], &wanted[i]);
    object_free(&o);
  }
}

/* A typed object loses nothing of the JSON: the trees built from it have the same shape. */
static void built_trees_have_the_shape(void **state) {
  (void)state;
  for (size_t i = 0; i < OBJECTS; i++) {
    struct object o;
    struct error error;
    struct op op = {0};
    struct node tree;
    assert_true(fixture_load(wanted[i].object, &catalog, &o, &error));
    assert_true(tree_of_typed(&op, o.kind->type, o.typed[1], &tree));
    assert_shape(&tree, &wanted[i]);
    assert_true(node_equal(&tree, &o.trees[0]));
    node_free(&tree);
    object_free(&o);
  }
}

/* Every path with a list, its relation, its keys and how many items it has in all. */
struct list_wanted {
  int object;
  const char *path; /* fields, "*" for the items of a list */
  enum relation relation;
  const char *key;
  size_t items;
};

static const struct list_wanted lists[] = {
    {OBJECT_POD, "metadata ownerReferences", RELATION_KEYED, "uid", 1},
    {OBJECT_POD, "spec containers", RELATION_KEYED, "name", 1},
    {OBJECT_POD, "spec containers * args", RELATION_ATOMIC, NULL, 9},
    {OBJECT_POD, "spec containers * env", RELATION_KEYED, "name", 3},
    {OBJECT_POD, "spec containers * volumeMounts", RELATION_KEYED, "mountPath", 1},
    {OBJECT_POD, "spec containers * ports", RELATION_KEYED, "containerPort", 0},
    {OBJECT_POD, "spec volumes", RELATION_KEYED, "name", 1},
    {OBJECT_POD, "spec tolerations", RELATION_ATOMIC, NULL, 2},
    {OBJECT_POD, "status conditions", RELATION_KEYED, "type", 4},
    {OBJECT_POD, "status containerStatuses", RELATION_ATOMIC, NULL, 1},
    {OBJECT_NODE, "status addresses", RELATION_KEYED, "type", 3},
    {OBJECT_NODE, "status conditions", RELATION_KEYED, "type", 13},
    {OBJECT_NODE, "status images", RELATION_ATOMIC, NULL, 25},
    {OBJECT_NODE, "status images * names", RELATION_ATOMIC, NULL, 50},
    {OBJECT_NODE, "status volumesAttached", RELATION_ATOMIC, NULL, 6},
    {OBJECT_NODE, "status volumesInUse", RELATION_ATOMIC, NULL, 6},
    {OBJECT_ENDPOINTS, "subsets", RELATION_ATOMIC, NULL, 1},
    {OBJECT_ENDPOINTS, "subsets * addresses", RELATION_ATOMIC, NULL, 1000},
    {OBJECT_ENDPOINTS, "subsets * ports", RELATION_ATOMIC, NULL, 1},
};

/* The items below the path, and the schema there. */
static size_t items_at(const struct node *node, const struct schema *schema, const char *path,
                       const struct schema **found) {
  if (!*path) {
    *found = schema;
    return node && node->kind == NODE_LIST ? node->list->count : 0;
  }
  size_t length = strcspn(path, " "), sum = 0;
  const char *rest = path + length + (path[length] == ' ');
  if (*path == '*') {
    assert_int_equal(schema->atom, ATOM_LIST);
    for (size_t i = 0; node && i < node->list->count; i++)
      sum += items_at(&node->list->items[i], schema->elements, rest, found);
    return sum;
  }
  struct str name = str_key(path, length);
  const struct schema *child = schema_entry(schema, &name);
  assert_non_null(child);
  return items_at(node ? node_map_find(node->map, &name) : NULL, child, rest, found);
}

static void lists_have_their_relation_keys_and_length(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
    struct object o;
    struct error error;
    const struct schema *schema = NULL;
    assert_true(fixture_load(lists[i].object, &catalog, &o, &error));
    assert_int_equal(items_at(&o.trees[0], o.kind->schema, lists[i].path, &schema), lists[i].items);
    assert_non_null(schema);
    assert_int_equal(schema->relation, lists[i].relation);
    if (lists[i].key) {
      struct str key = str_key(lists[i].key, strlen(lists[i].key));
      assert_true(str_equal(&schema->keys[0], &key));
    }
    object_free(&o);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(json_is_as_large),
      cmocka_unit_test(json_has_the_shape),
      cmocka_unit_test(built_trees_have_the_shape),
      cmocka_unit_test(lists_have_their_relation_keys_and_length),
  };
  return cmocka_run_group_tests_name("compare_shapes", tests, open_catalog, close_catalog);
}
