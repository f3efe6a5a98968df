/*
 * Objects of the user: complete ones become cases and run; every mistake is named with its file
 * and line or path, and says what would be right; nothing crashes.
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
#include "workloads/compare/load.h"

#include <math.h>
#include <unistd.h>

/* ---- complete objects ---- */

static const struct {
  const char *file;
  const char *structured, *unstructured;
} complete[] = {
    {"tests/data/compare/pod-full.json", "Compare/Pod:pod-full/structured",
     "Compare/Pod:pod-full/unstructured"},
    {"tests/data/compare/node-full.json", "Compare/Node:node-full/structured",
     "Compare/Node:node-full/unstructured"},
    {"tests/data/compare/endpoints-full.json", "Compare/Endpoints:endpoints-full/structured",
     "Compare/Endpoints:endpoints-full/unstructured"},
};
#define COMPLETE (sizeof complete / sizeof *complete)

static void a_file_makes_two_cases(void **state) {
  (void)state;
  for (size_t i = 0; i < COMPLETE; i++) {
    struct workload_case cases[4];
    char why[600] = "";
    int n = workload_compare.object_cases(complete[i].file, cases, 4, why, sizeof why);
    if (n != 2)
      fail_msg("%d cases: %s", n, why);
    assert_string_equal(cases[0].name, complete[i].structured);
    assert_string_equal(cases[1].name, complete[i].unstructured);
    assert_true(cases[0].in_sweep);
    assert_false(cases[1].in_sweep);
    assert_int_equal(cases[0].disciplines, DISCIPLINE_ALL);
  }
}

static const struct workload_case *case_of(const char *name) {
  for (const struct workload_case *c = workload_compare.cases; c->name; c++)
    if (strcmp(c->name, name) == 0)
      return c;
  fail_msg("there is no case %s", name);
  return NULL;
}

/* The hints of the two cases that a file makes, over those of the fixture of its kind. */
static void assert_hints(const char *file, const char *structured, const char *unstructured,
                         double ratio) {
  struct workload_case cases[2];
  char why[600] = "";
  if (workload_compare.object_cases(file, cases, 2, why, sizeof why) != 2)
    fail_msg("%s", why);
  assert_true(cases[0].open_hint_ns > 0);
  double first = cases[0].op_hint_ns / case_of(structured)->op_hint_ns;
  double second = cases[1].op_hint_ns / case_of(unstructured)->op_hint_ns;
  if (fabs(first / ratio - 1) > 1e-9 || fabs(second / ratio - 1) > 1e-9)
    fail_msg("%s: %g and %g times the fixture's, not %g", file, first, second, ratio);
}

/* Values of JSON, counted by the library that reads it. */
static size_t values_of(json_t *json) {
  size_t sum = 1, i;
  const char *key;
  json_t *value;
  if (json_is_object(json))
    json_object_foreach(json, key, value) sum += values_of(value);
  else
    json_array_foreach(json, i, value) sum += values_of(value);
  return sum;
}

/* A fixture as a file takes the time of its case; a Pod of twice its values twice that. */
static void the_hint_grows_with_the_values_of_the_object(void **state) {
  (void)state;
  static const char *const names[][2] = {
      {"Compare/Pod/structured", "Compare/Pod/unstructured"},
      {"Compare/Node/structured", "Compare/Node/unstructured"},
      {"Compare/Endpoints/structured", "Compare/Endpoints/unstructured"}};
  char path[] = "/tmp/poolbench-object-XXXXXX";
  struct error error;
  int fd = mkstemp(path);
  assert_true(fd >= 0);
  close(fd);
  for (int kind = 0; kind < OBJECT_KINDS; kind++) {
    json_t *json = fixture_json(kind, &error), *labels = json_object();
    assert_non_null(json);
    assert_int_equal(json_dump_file(json, path, 0), 0);
    assert_hints(path, names[kind][0], names[kind][1], 1);
    size_t values = values_of(json);
    for (size_t i = 0; i + 1 < values; i++) { /* and the object that holds them */
      char key[32];
      snprintf(key, sizeof key, "key-%zu", i);
      json_object_set_new(labels, key, json_string("x"));
    }
    assert_int_equal(json_object_set_new(json_object_get(json, "metadata"), "annotations", labels),
                     0);
    double ratio = (double)values_of(json) / (double)values;
    assert_true(ratio > 1.8);
    assert_int_equal(json_dump_file(json, path, 0), 0);
    assert_hints(path, names[kind][0], names[kind][1], ratio);
    json_decref(json);
  }
  unlink(path);
}

static void strange_file_names_make_plain_case_names(void **state) {
  (void)state;
  char path[] = "/tmp/poolbench a=b*\xc3\xa4.x.jsonXXXXXX", why[600], expected[200];
  struct workload_case cases[2];
  int fd = mkstemp(path);
  assert_true(fd >= 0);
  dprintf(fd, "{\"apiVersion\":\"v1\",\"kind\":\"Pod\"}");
  close(fd);
  assert_int_equal(workload_compare.object_cases(path, cases, 2, why, sizeof why), 2);
  snprintf(expected, sizeof expected, "Compare/Pod:poolbench-a-b---.x/structured");
  assert_string_equal(cases[0].name, expected);
  unlink(path);
}

static void complete_objects_run(void **state) {
  (void)state;
  for (size_t i = 0; i < COMPLETE; i++)
    for (int mode = 0; mode < 2; mode++) {
      struct running r;
      const struct strategy *s = strategy_find("pooled-freelists");
      const char *name = mode ? complete[i].unstructured : complete[i].structured;
      if (!running_try_open(&r, s, name, complete[i].file, DISCIPLINE_LEAKY))
        fail_msg("%s", r.why);
      running_attach(&r, s);
      running_run(&r, 3);
      running_close(&r);
    }
}

/* Nothing of a complete object is lost on the way through the C structs. */
static void complete_objects_survive_the_round_trip(void **state) {
  (void)state;
  for (size_t i = 0; i < COMPLETE; i++) {
    struct object o;
    struct error error;
    struct op op = {0};
    struct node built;
    if (!object_load_file(complete[i].file, &catalog, &o, &error))
      fail_msg("%s", error.text);
    assert_true(tree_of_typed(&op, o.kind->type, o.typed[0], &built));
    if (i == OBJECT_POD) { /* a quantity given as a number is written as text */
      const struct node *at = &o.trees[0];
      static const char *const path[] = {"spec",      "containers", NULL,
                                         "resources", "requests",   "cpu"};
      for (size_t p = 0; p < 6; p++) {
        struct str name = path[p] ? str_key(path[p], strlen(path[p])) : (struct str){0};
        at = path[p] ? node_map_find(at->map, &name) : &at->list->items[0];
        assert_non_null(at);
      }
      assert_int_equal(at->kind, NODE_INT);
      node_free((struct node *)at);
      assert_true(node_string((struct node *)at, str_key("1", 1)));
    }
    assert_true(node_equal(&built, &o.trees[0]));
    node_free(&built);
    object_free(&o);
  }
}

/* ---- mistakes ---- */

static void assert_refused(const char *text, const char *want) {
  struct object o;
  struct error error;
  if (object_load_text("f.json", text, strlen(text), &catalog, &o, &error))
    fail_msg("accepted: %s", text);
  if (!strstr(error.text, want))
    fail_msg("\"%s\" does not say \"%s\"", error.text, want);
  assert_int_equal(error.status, EXIT_INPUT);
}

static void files_that_are_no_json_are_refused(void **state) {
  (void)state;
  assert_refused("", "f.json: empty");
  assert_refused(" \n\t", "f.json: empty");
  assert_refused("apiVersion: v1\nkind: Pod\n", "f.json: looks like YAML; give JSON");
  assert_refused("---\nkind: Pod\n", "YAML");
  assert_refused("\xEF\xBB\xBF{\"kind\": \"Pod\"}", "f.json: starts with a byte order mark");
  assert_refused("{\"apiVersion\":\"v1\",\n\"kind\":\"Pod\",\n\"spec\":{", "f.json:3:");
  assert_refused("{\"kind\":\"Pod\"} x", "f.json:1:");
  assert_refused("{\"kind\":\"Pod\",\"kind\":\"Pod\"}", "duplicate object key");
  assert_refused("{\"kind\":\"P\xff\"}", "f.json:1:");
  assert_refused("{\"kind\":\"P\\u0000\"}", "f.json:1:");
  assert_refused("\x7f"
                 "ELF",
                 "f.json:1:");
  assert_refused("{\"a\":99999999999999999999999}", "too big integer");
  assert_refused("{\"a\":1e999}", "real number overflow");
}

static void other_kinds_are_refused(void **state) {
  (void)state;
  assert_refused("[]", "not an object; give one Pod, Node or Endpoints");
  assert_refused("3", "not JSON");
  assert_refused("{}", "no kind; give an object as `kubectl get -o json` prints it");
  assert_refused("{\"kind\":\"Pod\"}", "no apiVersion");
  assert_refused("{\"kind\":7,\"apiVersion\":\"v1\"}", "no kind");
  assert_refused("{\"kind\":\"List\",\"apiVersion\":\"v1\",\"items\":[]}", "a List; pick one item");
  assert_refused("{\"kind\":\"PodList\",\"apiVersion\":\"v1\"}", "a PodList; pick one item");
  assert_refused("{\"kind\":\"Deployment\",\"apiVersion\":\"apps/v1\"}",
                 "a Deployment of apps/v1; only Pod, Node and Endpoints of v1");
  assert_refused("{\"kind\":\"Pod\",\"apiVersion\":\"v2\"}", "a Pod of v2; only");
}

#define POD(rest) "{\"kind\":\"Pod\",\"apiVersion\":\"v1\"," rest "}"

static void fields_outside_of_the_schema_are_refused(void **state) {
  (void)state;
  assert_refused(POD("\"spec\":{\"containers\":[{\"name\":\"x\",\"colour\":1}]}"),
                 "f.json: .spec.containers[name=\"x\"].colour: is not a field of this object");
  assert_refused(POD("\"a\":1,\"b\":2,\"c\":3"), ".a: is not a field of this object (and 2 more)");
}

static void values_that_a_typed_object_cannot_hold_are_refused(void **state) {
  (void)state;
  assert_refused(POD("\"spec\":{\"priority\":1.5}"), ".spec.priority: must be a whole number");
  assert_refused(POD("\"metadata\":{\"creationTimestamp\":\"yesterday\"}"),
                 ".metadata.creationTimestamp: must be a time like 2006-01-02T15:04:05Z");
  assert_refused(POD("\"spec\":{\"containers\":[{\"name\":\"x\",\"resources\":{\"limits\":{\"cpu\":"
                     "\"lots\"}}}]}"),
                 ".spec.containers[name=\"x\"].resources.limits.cpu: must be a quantity");
  assert_refused(POD("\"spec\":{\"overhead\":{\"cpu\":0.5}}"),
                 ".spec.overhead.cpu: must be a quantity in quotes");
  assert_refused(POD("\"metadata\":{\"labels\":{\"a\":null}}"),
                 ".metadata.labels.a: is null, which this map cannot hold");
  assert_refused(POD("\"spec\":{\"containers\":[{\"name\":\"x\",\"args\":[\"a\",null]}]}"),
                 ".spec.containers[name=\"x\"].args[1]: is null, which this list cannot hold");
  assert_refused(POD("\"spec\":{\"containers\":[{\"name\":\"x\",\"livenessProbe\":{\"httpGet\":{"
                     "\"port\":8.5}}}]}"),
                 ".spec.containers[name=\"x\"].livenessProbe.httpGet.port: must be a whole number "
                 "or a string");
  assert_refused(POD("\"spec\":{\"containers\":[{\"name\":\"x\"},{\"name\":\"x\"}]}"),
                 ".spec.containers: has two items with the key [name=\"x\"]");
}

/* A Pod of one container whose environment has n names, in descending order, or n arguments. */
static bool load_long(size_t n, bool keyed, struct error *error) {
  struct object o;
  char *text = malloc(100 + 30 * n);
  assert_non_null(text);
  size_t used = (size_t)sprintf(text,
                                "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"spec\":{\"containers\":["
                                "{\"name\":\"x\",\"%s\":[",
                                keyed ? "env" : "args");
  for (size_t i = n; i-- > 0;)
    used += (size_t)sprintf(text + used, keyed ? "{\"name\":\"V%06zu\"}%s" : "\"%zu\"%s", i,
                            i > 0 ? "," : "]}]}}");
  bool ok = object_load_text("f.json", text, used, &catalog, &o, error);
  free(text);
  if (ok)
    object_free(&o);
  return ok;
}

/* An op would take too long on it; what is not told apart by key may be as long as it likes. */
static void long_keyed_lists_are_refused(void **state) {
  (void)state;
  struct error error;
  assert_true(load_long(KEYED_ITEMS_LIMIT, true, &error));
  assert_true(load_long(KEYED_ITEMS_LIMIT + 1, false, &error));
  assert_false(load_long(KEYED_ITEMS_LIMIT + 1, true, &error));
  assert_non_null(strstr(error.text, "f.json: .spec.containers[0].env: has 10001 items, must have "
                                     "at most 10000:"));
  assert_int_equal(error.status, EXIT_INPUT);
}

static void deep_nesting_is_refused(void **state) {
  (void)state;
  static char text[20000];
  static const int depths[] = {60, 70, 3000};
  for (size_t i = 0; i < 3; i++) {
    struct object o;
    struct error error;
    size_t n = (size_t)sprintf(text, POD("\"metadata\":{\"managedFields\":[{\"fieldsV1\":"));
    n -= 1; /* POD's last brace comes at the end */
    for (int d = 4; d < depths[i]; d++)
      n += (size_t)sprintf(text + n, "[");
    for (int d = 4; d < depths[i]; d++)
      n += (size_t)sprintf(text + n, "]");
    n += (size_t)sprintf(text + n, "}]}}");
    bool ok = object_load_text("f.json", text, n, &catalog, &o, &error);
    assert_int_equal(ok, depths[i] < MAX_DEPTH);
    if (ok)
      object_free(&o);
    else
      assert_non_null(strstr(error.text, depths[i] < 2000 ? "nested more than 64 levels deep"
                                                          : "maximum parsing depth reached"));
  }
}

static void a_file_that_cannot_be_read_is_named(void **state) {
  (void)state;
  struct workload_case cases[2];
  char why[600];
  assert_int_equal(workload_compare.object_cases("/no/such.json", cases, 2, why, sizeof why), -1);
  assert_string_equal(why, "/no/such.json: No such file or directory");
  assert_int_equal(workload_compare.object_cases("/tmp", cases, 2, why, sizeof why), -1);
  assert_string_equal(why, "/tmp: not a file but a folder");
}

static void an_unknown_case_is_named(void **state) {
  (void)state;
  struct running r;
  assert_false(running_try_open(&r, strategy_find("malloc"), "Compare/Job/structured", NULL,
                                DISCIPLINE_BALANCED));
  assert_string_equal(r.why, "no case Compare/Job/structured in workload compare");
}

/* Every prefix of a complete object is refused: no byte is read past the end. */
static void truncated_files_are_refused(void **state) {
  (void)state;
  FILE *file = fopen("tests/data/compare/endpoints-full.json", "r");
  static char text[4096];
  assert_non_null(file);
  size_t size = fread(text, 1, sizeof text, file);
  fclose(file);
  assert_true(size < sizeof text);
  while (size > 0 && text[size - 1] != '}')
    size--;
  for (size_t n = 0; n < size; n++) {
    struct object o;
    struct error error;
    char *exact = malloc(n ? n : 1);
    assert_non_null(exact);
    memcpy(exact, text, n);
    assert_false(object_load_text("f.json", exact, n, &catalog, &o, &error));
    free(exact);
  }
}

/*
 * The names of cases stay: two a file, for every complete object, the strange file name and two
 * files of every kind.
 */
static int close_all_but_names(void **state) {
  (void)state;
  struct heap_counts c;
  catalog_close(&catalog);
  heap_total(&c);
  return c.allocs - c.frees == 2 * (COMPLETE + 1 + 2 * OBJECT_KINDS) ? 0 : -1;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_file_makes_two_cases),
      cmocka_unit_test(the_hint_grows_with_the_values_of_the_object),
      cmocka_unit_test(strange_file_names_make_plain_case_names),
      cmocka_unit_test(complete_objects_run),
      cmocka_unit_test(complete_objects_survive_the_round_trip),
      cmocka_unit_test(files_that_are_no_json_are_refused),
      cmocka_unit_test(other_kinds_are_refused),
      cmocka_unit_test(fields_outside_of_the_schema_are_refused),
      cmocka_unit_test(values_that_a_typed_object_cannot_hold_are_refused),
      cmocka_unit_test(long_keyed_lists_are_refused),
      cmocka_unit_test(deep_nesting_is_refused),
      cmocka_unit_test(a_file_that_cannot_be_read_is_named),
      cmocka_unit_test(an_unknown_case_is_named),
      cmocka_unit_test(truncated_files_are_refused),
  };
  return cmocka_run_group_tests_name("compare_load", tests, open_catalog, close_all_but_names);
}
