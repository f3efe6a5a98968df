/*
 * Right results on objects that differ, and right errors on objects that are wrong. Every case is
 * asked of typed objects and of trees, which must agree. The expected paths are written by hand
 * from the rules: maps by key, keyed lists by their keys whatever the order, atomic lists and
 * maps as one leaf, a container that one side lacks together with all that is in it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/compare_fixture.h"
#include "workloads/compare/convert.h"
#include "workloads/compare/load.h"

static const char pod[] =
    "{'apiVersion': 'v1', 'kind': 'Pod',"
    " 'metadata': {'name': 'p', 'creationTimestamp': '2024-05-06T07:08:09Z',"
    "  'labels': {'app': 'a'}, 'finalizers': ['f/1'],"
    "  'managedFields': [{'manager': 'm', 'fieldsV1': {'f:spec': {'f:x': {}}}}]},"
    " 'spec': {'nodeSelector': {'disk': 'ssd'}, 'tolerations': [{'key': 't', 'operator': "
    "'Exists'}],"
    "  'containers': ["
    "   {'name': 'x', 'image': 'i:1', 'args': ['-a', '-b'],"
    "    'env': [{'name': 'A', 'value': '1'}, {'name': 'B', 'value': '2'}],"
    "    'ports': [{'containerPort': 80, 'protocol': 'TCP'}, {'containerPort': 53, 'protocol': "
    "'UDP'}],"
    "    'resources': {'limits': {'cpu': '500m', 'memory': '1Gi'}},"
    "    'livenessProbe': {'httpGet': {'path': '/', 'port': 80}}},"
    "   {'name': 'y', 'image': 'i:2'}]}}";

static const char node[] =
    "{'apiVersion': 'v1', 'kind': 'Node', 'metadata': {'name': 'n', 'creationTimestamp': null},"
    " 'spec': {'podCIDRs': ['10.0.0.0/24']},"
    " 'status': {'capacity': {'cpu': '8'},"
    "  'addresses': [{'type': 'InternalIP', 'address': '10.0.0.1'}],"
    "  'conditions': [{'type': 'Ready', 'status': 'True', 'lastHeartbeatTime': null,"
    "   'lastTransitionTime': '2024-05-06T07:08:09Z'}],"
    "  'images': [{'names': ['a', 'b'], 'sizeBytes': 5}]}}";

static const char endpoints[] =
    "{'apiVersion': 'v1', 'kind': 'Endpoints', 'metadata': {'name': 'e', 'creationTimestamp': "
    "null},"
    " 'subsets': [{'addresses': [{'ip': '10.0.0.1'}, {'ip': '10.0.0.2'}],"
    "  'ports': [{'port': 80}]}]}";

/* ---- objects from edited text ---- */

static char *double_quoted(const char *text) {
  char *copy = strdup(text);
  assert_non_null(copy);
  for (char *c = copy; *c; c++)
    if (*c == '\'')
      *c = '"';
  return copy;
}

static json_t *json_of(const char *text) {
  json_error_t wrong;
  char *copy = double_quoted(text);
  json_t *json = json_loads(copy, JSON_DECODE_ANY, &wrong);
  if (!json)
    fail_msg("%s: %s", copy, wrong.text);
  free(copy);
  return json;
}

static json_t *step(json_t *at, const char *name) {
  return json_is_array(at) ? json_array_get(at, (size_t)atoi(name)) : json_object_get(at, name);
}

static void replace(json_t *parent, const char *name, json_t *value) {
  if (!json_is_array(parent)) {
    value ? json_object_set_new(parent, name, value) : json_object_del(parent, name);
  } else if (strcmp(name, "+") == 0) {
    json_array_append_new(parent, value);
  } else {
    size_t i = (size_t)atoi(name);
    value ? json_array_set_new(parent, i, value) : json_array_remove(parent, i);
  }
}

/* Sets what is at a path ("/spec/containers/0/env/+" appends), or removes it when text is NULL. */
static void edit(json_t *root, const char *path, const char *text) {
  char copy[200];
  json_t *at = root;
  snprintf(copy, sizeof copy, "%s", path);
  char *rest = copy, *name = strsep(&rest, "/");
  for (name = strsep(&rest, "/"); rest; name = strsep(&rest, "/")) {
    at = step(at, name);
    if (!at)
      fail_msg("%s: nothing at %s", path, name);
  }
  replace(at, name, text ? json_of(text) : NULL);
}

struct change {
  const char *path, *text;
};

/* One side of a comparison, decoded without validation, so that it may be wrong. */
struct side {
  const struct object_kind *kind;
  struct arena arena;
  struct node read, built; /* from the JSON, from the typed object */
  const void *typed;
};

static void side_open(struct side *s, const char *text, const struct change *changes) {
  char why[400];
  struct op op = {0};
  json_t *json = json_of(text);
  for (; changes && changes->path; changes++)
    edit(json, changes->path, changes->text);
  *s = (struct side){.kind = NULL};
  for (int i = 0; i < OBJECT_KINDS; i++)
    if (strcmp(json_string_value(json_object_get(json, "kind")), catalog.objects[i].kind) == 0)
      s->kind = &catalog.objects[i];
  assert_non_null(s->kind);
  assert_true(tree_of_json(json, &s->arena, &s->read, why, sizeof why));
  s->typed = typed_of_tree(s->kind, &s->read, &s->arena, why, sizeof why);
  if (!s->typed)
    fail_msg("%s", why);
  assert_true(tree_of_typed(&op, s->kind->type, s->typed, &s->built));
  json_decref(json);
}

static void side_close(struct side *s) {
  node_free(&s->read);
  node_free(&s->built);
  arena_free(&s->arena);
}

/* ---- ops outside of the workload ---- */

static void op_start_under(struct op *op, const char *strategy) {
  static const struct pool_config config = {.threads = 1};
  assert_true(op_open(op, 100, 100));
  op->strategy = strategy_checked(strategy_find(strategy));
  op->pool = op->strategy->open(compare_kinds, KIND_COUNT, &config);
  assert_non_null(op->pool);
  op->thread = op->strategy->attach(op->pool);
  assert_non_null(op->thread);
  op->scope = pool_begin(op->strategy, op->pool, op->thread, NULL);
  assert_non_null(op->scope);
}

static void op_start(struct op *op) {
  op_start_under(op, "per-thread");
}

static void op_stop(struct op *op) {
  pool_end(op->strategy, op->pool, op->scope);
  op->strategy->detach(op->pool, op->thread);
  op->strategy->close(op->pool);
  op_close(op);
}

static struct value root_of(struct op *op, const struct side *s, bool structured) {
  struct value v;
  assert_true(structured ? value_of_typed(op, s->kind->type, s->typed, &v)
                         : value_of_tree(op, &s->built, &v));
  return v;
}

/* ---- results ---- */

#define MAX_LINES 40

struct lines {
  size_t count;
  char *text[MAX_LINES];
};

static void add_line(void *context, const char *path) {
  struct lines *l = context;
  assert_true(l->count < MAX_LINES);
  l->text[l->count] = strdup(path);
  assert_non_null(l->text[l->count++]);
}

static int by_text(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

static void assert_set(const char *what, const struct field_set *set,
                       const char *const want[MAX_LINES]) {
  struct lines got = {0};
  size_t wanted = 0;
  while (want[wanted])
    wanted++;
  field_set_print(set, add_line, &got);
  qsort(got.text, got.count, sizeof *got.text, by_text);
  for (size_t i = 0; i < got.count || i < wanted; i++) {
    const char *g = i < got.count ? got.text[i] : "nothing", *w = i < wanted ? want[i] : "nothing";
    if (strcmp(g, w) != 0)
      fail_msg("%s: %s where %s was expected", what, g, w);
  }
  for (size_t i = 0; i < got.count; i++)
    free(got.text[i]);
}

/* Expected paths in byte order. */
struct outcome {
  const char *added[MAX_LINES], *modified[MAX_LINES], *removed[MAX_LINES];
};

static void compare_sides(const struct side *l, const struct side *r, bool structured,
                          const struct outcome *want) {
  struct op op;
  static struct report report;
  struct comparison c;
  report.count = 0;
  op_start(&op);
  struct value a = root_of(&op, l, structured), b = root_of(&op, r, structured);
  assert_true(validate(&op, a, l->kind->schema, &report));
  assert_true(validate(&op, b, r->kind->schema, &report));
  assert_true(compare(&op, a, b, l->kind->schema, &c, &report));
  if (report.count > 0)
    fail_msg("%s", report.lines[0]);
  assert_set("added", c.added, want->added);
  assert_set("modified", c.modified, want->modified);
  assert_set("removed", c.removed, want->removed);
  comparison_free(&c);
  value_put(&op, b);
  value_put(&op, a);
  op_stop(&op);
}

/* The object against itself with a change, both ways round: added and removed change places. */
static void expect(const char *text, const struct change *changes, const struct outcome *want) {
  struct side l, r;
  struct outcome back = *want;
  memcpy(back.added, want->removed, sizeof back.added);
  memcpy(back.removed, want->added, sizeof back.removed);
  side_open(&l, text, NULL);
  side_open(&r, text, changes);
  for (int structured = 0; structured <= 1; structured++) {
    compare_sides(&l, &r, structured, want);
    compare_sides(&r, &l, structured, &back);
  }
  side_close(&r);
  side_close(&l);
}

#define CHANGES(...) ((const struct change[]){__VA_ARGS__, {NULL, NULL}})
#define EXPECT(text, changes, ...) expect(text, changes, &(struct outcome){__VA_ARGS__})

static void equal_objects_have_no_differences(void **state) {
  (void)state;
  EXPECT(pod, NULL, .added = {NULL});
  EXPECT(node, NULL, .added = {NULL});
  EXPECT(endpoints, NULL, .added = {NULL});
}

static void a_changed_scalar_is_modified(void **state) {
  (void)state;
  EXPECT(pod, CHANGES({"/spec/containers/0/image", "'i:9'"}),
         .modified = {".spec.containers[name=\"x\"].image"});
  EXPECT(pod, CHANGES({"/metadata/creationTimestamp", "'2024-05-06T07:08:10Z'"}),
         .modified = {".metadata.creationTimestamp"});
  EXPECT(pod, CHANGES({"/spec/containers/0/resources/limits/cpu", "'501m'"}),
         .modified = {".spec.containers[name=\"x\"].resources.limits.cpu"});
  EXPECT(node, CHANGES({"/status/conditions/0/status", "'False'"}),
         .modified = {".status.conditions[type=\"Ready\"].status"});
}

/* The same instant in another zone is the same time. */
static void times_are_compared_in_utc(void **state) {
  (void)state;
  EXPECT(pod, CHANGES({"/metadata/creationTimestamp", "'2024-05-06T09:08:09+02:00'"}),
         .added = {NULL});
}

static void an_int_or_string_may_change_its_type(void **state) {
  (void)state;
  EXPECT(pod, CHANGES({"/spec/containers/0/livenessProbe/httpGet/port", "'http'"}),
         .modified = {".spec.containers[name=\"x\"].livenessProbe.httpGet.port"});
  EXPECT(pod, CHANGES({"/spec/containers/0/livenessProbe/httpGet/port", "'80'"}),
         .modified = {".spec.containers[name=\"x\"].livenessProbe.httpGet.port"});
}

static void a_keyed_item_is_added_with_its_fields(void **state) {
  (void)state;
  EXPECT(pod, CHANGES({"/spec/containers/0/env/+", "{'name': 'C', 'value': '3'}"}),
         .added = {".spec.containers[name=\"x\"].env[name=\"C\"]",
                   ".spec.containers[name=\"x\"].env[name=\"C\"].name",
                   ".spec.containers[name=\"x\"].env[name=\"C\"].value"});
}

static void a_keyed_item_is_removed_with_its_fields(void **state) {
  (void)state;
  EXPECT(pod, CHANGES({"/spec/containers/0/ports/0", NULL}),
         .removed = {
             ".spec.containers[name=\"x\"].ports[containerPort=80,protocol=\"TCP\"]",
             ".spec.containers[name=\"x\"].ports[containerPort=80,protocol=\"TCP\"].containerPort",
             ".spec.containers[name=\"x\"].ports[containerPort=80,protocol=\"TCP\"].protocol"});
}

static void the_order_of_keyed_items_does_not_matter(void **state) {
  (void)state;
  EXPECT(
      pod,
      CHANGES(
          {"/spec/containers/0/env", "[{'name': 'B', 'value': '2'}, {'name': 'A', 'value': '1'}]"},
          {"/spec/containers/0/ports",
           "[{'containerPort': 53, 'protocol': 'UDP'}, {'containerPort': 80, 'protocol': 'TCP'}]"}),
      .added = {NULL});
}

static void a_change_deep_inside_keyed_items_has_their_keys_in_its_path(void **state) {
  (void)state;
  EXPECT(pod,
         CHANGES({"/spec/containers/0/ports/1/name", "'dns'"},
                 {"/spec/containers/0/env/1/value", "'3'"}),
         .added = {".spec.containers[name=\"x\"].ports[containerPort=53,protocol=\"UDP\"].name"},
         .modified = {".spec.containers[name=\"x\"].env[name=\"B\"].value"});
}

/* Another key is another item. */
static void a_changed_key_removes_and_adds(void **state) {
  (void)state;
  EXPECT(pod, CHANGES({"/spec/containers/1/name", "'z'"}),
         .added = {".spec.containers[name=\"z\"]", ".spec.containers[name=\"z\"].image",
                   ".spec.containers[name=\"z\"].name"},
         .removed = {".spec.containers[name=\"y\"]", ".spec.containers[name=\"y\"].image",
                     ".spec.containers[name=\"y\"].name"});
}

static void an_atomic_list_is_one_leaf(void **state) {
  (void)state;
  EXPECT(pod, CHANGES({"/spec/containers/0/args/1", "'-c'"}),
         .modified = {".spec.containers[name=\"x\"].args"});
  EXPECT(pod, CHANGES({"/spec/containers/0/args", "['-b', '-a']"}),
         .modified = {".spec.containers[name=\"x\"].args"});
  EXPECT(pod, CHANGES({"/spec/tolerations/0/effect", "'NoSchedule'"}),
         .modified = {".spec.tolerations"});
  EXPECT(node, CHANGES({"/status/images/0/names/1", "'c'"}), .modified = {".status.images"});
  EXPECT(endpoints, CHANGES({"/subsets/0/addresses/1/ip", "'10.0.0.3'"}), .modified = {".subsets"});
  EXPECT(endpoints, CHANGES({"/subsets/0/addresses/+", "{'ip': '10.0.0.3'}"}),
         .modified = {".subsets"});
}

static void an_atomic_map_is_one_leaf(void **state) {
  (void)state;
  EXPECT(pod, CHANGES({"/spec/nodeSelector/disk", "'hdd'"}), .modified = {".spec.nodeSelector"});
  EXPECT(pod, CHANGES({"/spec/nodeSelector/zone", "'b'"}), .modified = {".spec.nodeSelector"});
  EXPECT(pod, CHANGES({"/spec/nodeSelector", "{'zone': 'ssd'}"}),
         .modified = {".spec.nodeSelector"});
}

static void opaque_parts_are_one_leaf(void **state) {
  (void)state;
  EXPECT(pod, CHANGES({"/metadata/managedFields/0/fieldsV1/f:spec/f:y", "{}"}),
         .modified = {".metadata.managedFields"});
}

static void map_keys_are_added_and_removed(void **state) {
  (void)state;
  EXPECT(pod, CHANGES({"/metadata/labels/tier", "'web'"}, {"/metadata/labels/app", NULL}),
         .added = {".metadata.labels.tier"}, .removed = {".metadata.labels.app"});
  EXPECT(node, CHANGES({"/status/capacity/example.com~gpu", "'1'"}),
         .added = {".status.capacity[\"example.com~gpu\"]"});
}

static void set_items_are_told_apart_by_their_value(void **state) {
  (void)state;
  EXPECT(pod, CHANGES({"/metadata/finalizers", "['f/2', 'f/1']"}),
         .added = {".metadata.finalizers[=\"f/2\"]"});
  EXPECT(node, CHANGES({"/spec/podCIDRs/0", "'10.0.1.0/24'"}),
         .added = {".spec.podCIDRs[=\"10.0.1.0/24\"]"},
         .removed = {".spec.podCIDRs[=\"10.0.0.0/24\"]"});
}

static void a_container_that_is_gone_is_removed_with_its_content(void **state) {
  (void)state;
  EXPECT(pod, CHANGES({"/spec/containers/0/env", NULL}, {"/metadata/labels", NULL}),
         .removed = {".metadata.labels", ".metadata.labels.app", ".spec.containers[name=\"x\"].env",
                     ".spec.containers[name=\"x\"].env[name=\"A\"]",
                     ".spec.containers[name=\"x\"].env[name=\"A\"].name",
                     ".spec.containers[name=\"x\"].env[name=\"A\"].value",
                     ".spec.containers[name=\"x\"].env[name=\"B\"]",
                     ".spec.containers[name=\"x\"].env[name=\"B\"].name",
                     ".spec.containers[name=\"x\"].env[name=\"B\"].value"});
}

static void an_empty_container_is_not_an_absent_one(void **state) {
  (void)state;
  EXPECT(pod, CHANGES({"/spec/securityContext", "{}"}, {"/spec/volumes", "[]"}),
         .added = {".spec.securityContext", ".spec.volumes"});
  EXPECT(pod, CHANGES({"/spec/containers/0/args", "[]"}),
         .modified = {".spec.containers[name=\"x\"].args"});
}

/* Null is absent, except for times, which are always there. */
static void null_is_absent_or_an_unset_time(void **state) {
  (void)state;
  EXPECT(pod, CHANGES({"/spec/nodeName", "null"}, {"/spec/affinity", "null"}), .added = {NULL});
  EXPECT(pod, CHANGES({"/spec/containers/1/image", "null"}),
         .removed = {".spec.containers[name=\"y\"].image"});
  EXPECT(pod, CHANGES({"/metadata/creationTimestamp", "null"}),
         .modified = {".metadata.creationTimestamp"});
  EXPECT(node, CHANGES({"/status/conditions/0/lastHeartbeatTime", "'2024-05-06T07:08:09Z'"}),
         .modified = {".status.conditions[type=\"Ready\"].lastHeartbeatTime"});
}

/* ---- wrong objects ---- */

static void validate_root(struct op *op, const struct schema *schema, struct value v,
                          struct report *report) {
  report->count = 0;
  assert_true(validate(op, v, schema, report));
  value_put(op, v);
}

static void assert_report(const struct report *r, const char *const *want) {
  size_t n = 0;
  for (; want[n]; n++) {
    if (n >= r->count)
      fail_msg("nothing reported where \"%s\" was expected", want[n]);
    assert_string_equal(r->lines[n], want[n]);
  }
  assert_int_equal(r->count, n);
}

/* What the walker says of the typed object, of the tree built from it, of the JSON's own tree. */
static void expect_wrong(const char *text, const struct change *changes, const char *const *want) {
  static struct report report;
  struct side s;
  struct op op;
  side_open(&s, text, changes);
  op_start(&op);
  for (int structured = 0; structured <= 1; structured++) {
    validate_root(&op, s.kind->schema, root_of(&op, &s, structured), &report);
    assert_report(&report, want);
  }
  struct value v;
  assert_true(value_of_tree(&op, &s.read, &v));
  validate_root(&op, s.kind->schema, v, &report);
  assert_report(&report, want);
  op_stop(&op);
  side_close(&s);
}

#define WRONG(text, changes, ...) \
  expect_wrong(text, changes, (const char *const[]){__VA_ARGS__, NULL})

static void duplicate_keys_are_reported(void **state) {
  (void)state;
  WRONG(pod, CHANGES({"/spec/containers/0/ports/+", "{'containerPort': 80, 'protocol': 'TCP'}"}),
        ".spec.containers[name=\"x\"].ports: has two items with the key "
        "[containerPort=80,protocol=\"TCP\"]");
  WRONG(pod, CHANGES({"/metadata/finalizers/+", "'f/1'"}),
        ".metadata.finalizers: has two items with the key [=\"f/1\"]");
  WRONG(node, CHANGES({"/status/addresses/+", "{'type': 'InternalIP', 'address': '10.0.0.9'}"}),
        ".status.addresses: has two items with the key [type=\"InternalIP\"]");
}

static void missing_key_fields_are_reported(void **state) {
  (void)state;
  WRONG(pod, CHANGES({"/spec/containers/0/ports/1/protocol", NULL}),
        ".spec.containers[name=\"x\"].ports[1]: has no key field \"protocol\"");
  WRONG(pod, CHANGES({"/spec/containers/1/name", NULL}),
        ".spec.containers[1]: has no key field \"name\"");
}

static void all_mistakes_are_reported_in_order_of_their_paths(void **state) {
  (void)state;
  WRONG(pod,
        CHANGES({"/spec/containers/1/name", NULL}, {"/metadata/finalizers/+", "'f/1'"},
                {"/spec/containers/0/ports/0/protocol", NULL}),
        ".metadata.finalizers: has two items with the key [=\"f/1\"]",
        ".spec.containers[1]: has no key field \"name\"",
        ".spec.containers[name=\"x\"].ports[0]: has no key field \"protocol\"");
}

/* Of what only a tree can hold: the walker and the loader, which guards typed objects, agree. */
static void expect_wrong_tree(const char *path, const char *value, const char *want) {
  static struct report report;
  char why[400];
  struct node tree;
  struct arena arena = {NULL};
  struct object object;
  struct error error;
  struct op op;
  struct value v;
  json_t *json = json_of(pod);
  edit(json, path, value);
  assert_true(tree_of_json(json, &arena, &tree, why, sizeof why));
  op_start(&op);
  assert_true(value_of_tree(&op, &tree, &v));
  validate_root(&op, catalog.objects[OBJECT_POD].schema, v, &report);
  assert_report(&report, (const char *const[]){want, NULL});
  assert_false(object_load_json("f", json, &catalog, &object, &error));
  assert_string_equal(error.text + strlen("f: "), want);
  op_stop(&op);
  node_free(&tree);
  arena_free(&arena);
  json_decref(json);
}

static void wrong_types_are_reported(void **state) {
  (void)state;
  expect_wrong_tree("/spec/nodeName", "5", ".spec.nodeName: is a number, must be a string");
  expect_wrong_tree("/spec/hostNetwork", "'yes'",
                    ".spec.hostNetwork: is a string, must be a boolean");
  expect_wrong_tree("/spec/priority", "true", ".spec.priority: is a boolean, must be a number");
  expect_wrong_tree("/spec/containers/0/ports", "{}",
                    ".spec.containers[name=\"x\"].ports: is an object, must be a list");
  expect_wrong_tree("/spec/containers/0/resources", "[]",
                    ".spec.containers[name=\"x\"].resources: is a list, must be an object");
  expect_wrong_tree("/spec/containers/0/livenessProbe/httpGet/port", "true",
                    ".spec.containers[name=\"x\"].livenessProbe.httpGet.port: is a boolean, must "
                    "be a string or a number");
  expect_wrong_tree("/metadata/labels/app", "{}",
                    ".metadata.labels.app: is an object, must be a string");
  expect_wrong_tree("/spec/containers/0/args/1", "7",
                    ".spec.containers[name=\"x\"].args[1]: is a number, must be a string");
}

static void unknown_fields_are_reported(void **state) {
  (void)state;
  expect_wrong_tree("/spec/containers/0/imagePullPollicy", "'Always'",
                    ".spec.containers[name=\"x\"].imagePullPollicy: is not a field of this object");
  expect_wrong_tree("/sttatus", "{}", ".sttatus: is not a field of this object");
  expect_wrong_tree("/spec/tolerations/0/keyy", "'a'",
                    ".spec.tolerations[0].keyy: is not a field of this object");
}

static void items_that_cannot_be_keyed_are_reported(void **state) {
  (void)state;
  expect_wrong_tree("/spec/containers/1", "'y'",
                    ".spec.containers[1]: is not an object, but items of this list are told apart "
                    "by \"name\"");
  expect_wrong_tree("/spec/containers/1/name", "{}",
                    ".spec.containers[1]: has a key field \"name\" that is not a scalar");
  expect_wrong_tree("/metadata/finalizers/0", "{}",
                    ".metadata.finalizers[0]: is not a scalar, but this list is a set of scalars");
}

/* compare does not count on valid objects: it reports instead of comparing the wrong items. */
static void comparing_duplicates_is_reported(void **state) {
  (void)state;
  static struct report report;
  struct side l, r;
  struct comparison c;
  struct op op;
  side_open(&l, pod, NULL);
  side_open(&r, pod, CHANGES({"/spec/containers/0/env/+", "{'name': 'A', 'value': '1'}"}));
  for (int structured = 0; structured <= 1; structured++) {
    report.count = 0;
    op_start(&op);
    struct value a = root_of(&op, &l, structured), b = root_of(&op, &r, structured);
    assert_true(compare(&op, a, b, l.kind->schema, &c, &report));
    assert_report(&report, (const char *const[]){
                               ".spec.containers[name=\"x\"].env: right is a list with two items "
                               "of key [name=\"A\"], must be without duplicates",
                               NULL});
    comparison_free(&c);
    value_put(&op, b);
    value_put(&op, a);
    op_stop(&op);
  }
  side_close(&r);
  side_close(&l);
}

/* A field set of many paths: the tree grows, keeps its order and prints every path once. */
static void many_differences_are_all_found(void **state) {
  (void)state;
  static const char *const want[] = {".metadata.labels.k0",
                                     ".metadata.labels.k1",
                                     ".metadata.labels.k2",
                                     ".metadata.labels.k3",
                                     ".metadata.labels.k4",
                                     ".metadata.labels.k5",
                                     ".metadata.labels.k6",
                                     ".metadata.labels.k7",
                                     ".metadata.labels.k8",
                                     ".metadata.labels.k9",
                                     NULL};
  struct outcome o = {.added = {NULL}};
  memcpy(o.added, want, sizeof want);
  expect(pod,
         CHANGES({"/metadata/labels/k3", "'v'"}, {"/metadata/labels/k1", "'v'"},
                 {"/metadata/labels/k4", "'v'"}, {"/metadata/labels/k0", "'v'"},
                 {"/metadata/labels/k9", "'v'"}, {"/metadata/labels/k5", "'v'"},
                 {"/metadata/labels/k2", "'v'"}, {"/metadata/labels/k6", "'v'"},
                 {"/metadata/labels/k8", "'v'"}, {"/metadata/labels/k7", "'v'"}),
         &o);
}

/* One comparison with its k-th allocation failing; true when no allocation was the k-th. */
static bool compare_without_memory(const struct side *l, const struct side *r, bool structured,
                                   uint64_t k) {
  static struct report report;
  struct comparison c;
  struct op op;
  report.count = 0;
  op_start_under(&op, "malloc"); /* every get allocates, and no put does */
  struct value a = root_of(&op, l, structured), b = root_of(&op, r, structured);
  heap_fail_after(k);
  bool done = compare(&op, a, b, l->kind->schema, &c, &report);
  heap_fail_after(0);
  assert_int_equal(done, !op.out_of_memory);
  assert_int_equal(report.count, 0);
  comparison_free(&c);
  value_put(&op, b);
  value_put(&op, a);
  op_stop(&op);
  return done;
}

/* Results need memory too. That nothing leaks is checked when the suite ends. */
static void a_result_survives_the_failure_of_any_allocation(void **state) {
  (void)state;
  struct side l, r;
  side_open(&l, pod, NULL);
  side_open(&r, pod, CHANGES({"/spec/containers/0/env", NULL}, {"/metadata/labels/b", "'c'"}));
  for (int structured = 0; structured <= 1; structured++) {
    uint64_t k = 1;
    while (!compare_without_memory(&l, &r, structured, k))
      k++;
    assert_true(k > 100); /* as many places were tried */
  }
  side_close(&r);
  side_close(&l);
}

/* ---- random edits of complete objects ---- */

static uint64_t random_state;

/* xorshift64: the same edits in every run. */
static size_t random_below(size_t n) {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return (size_t)(random_state >> 11) % n;
}

/* A place somewhere in the object: its parent and the name of the child. false at the root. */
static bool random_place(json_t *at, json_t **parent, char name[200]) {
  *parent = NULL;
  for (size_t depth = 1 + random_below(10); depth > 0; depth--) {
    size_t count = json_is_object(at) ? json_object_size(at) : json_array_size(at);
    if (count == 0)
      break;
    size_t chosen = random_below(count);
    *parent = at;
    if (json_is_array(at)) {
      snprintf(name, 200, "%zu", chosen);
    } else {
      void *entry = json_object_iter(at);
      while (chosen-- > 0)
        entry = json_object_iter_next(at, entry);
      snprintf(name, 200, "%s", json_object_iter_key(entry));
    }
    at = step(at, name);
  }
  return *parent != NULL;
}

static void random_edit(json_t *root) {
  static const char *const values[] = {NULL, NULL,   NULL,   "'x'", "'y'", "'250m'",
                                       "7",  "true", "null", "{}",  "[]",  "['a', 'b']"};
  json_t *parent;
  char name[200];
  const char *text = values[random_below(sizeof values / sizeof *values)];
  if (random_place(root, &parent, name))
    replace(parent, name, text ? json_of(text) : NULL);
}

static void write_line(void *context, const char *path) {
  fprintf(context, "%s\n", path);
}

/* The object as one or the other; the tree is to be freed after its value was put. */
static struct value root_of_object(struct op *op, const struct object *o, bool structured,
                                   struct node *tree) {
  struct value v;
  *tree = (struct node){.kind = NODE_NULL};
  if (structured) {
    assert_true(value_of_typed(op, o->kind->type, o->typed[0], &v));
    return v;
  }
  assert_true(tree_of_typed(op, o->kind->type, o->typed[0], tree));
  assert_true(value_of_tree(op, tree, &v));
  return v;
}

static char *text_of(const struct comparison *c) {
  char *text = NULL;
  size_t size;
  FILE *out = open_memstream(&text, &size);
  assert_non_null(out);
  field_set_print(c->added, write_line, out);
  fprintf(out, "--\n");
  field_set_print(c->modified, write_line, out);
  fprintf(out, "--\n");
  field_set_print(c->removed, write_line, out);
  fclose(out);
  return text;
}

/* Everything a comparison found, as text owned by the caller. */
static char *findings(const struct object *l, const struct object *r, bool structured) {
  static struct report report;
  struct op op;
  struct comparison c;
  struct node trees[2];
  op_start(&op);
  struct value a = root_of_object(&op, l, structured, &trees[0]);
  struct value b = root_of_object(&op, r, structured, &trees[1]);
  report.count = 0;
  assert_true(compare(&op, a, b, l->kind->schema, &c, &report));
  assert_int_equal(report.count, 0);
  /* The plain recursion over both trees is the judge of whether there is anything to find. */
  if (!structured)
    assert_int_equal(comparison_empty(&c), node_equal(&trees[0], &trees[1]));
  char *text = text_of(&c);
  comparison_free(&c);
  value_put(&op, b);
  value_put(&op, a);
  op_stop(&op);
  node_free(&trees[0]);
  node_free(&trees[1]);
  return text;
}

/* true when the edited object was still a valid one and the comparisons agreed. */
static bool agree_on_an_edit(const json_t *base, const struct object *original) {
  struct object edited;
  struct error error;
  json_t *json = json_deep_copy(base);
  assert_non_null(json);
  for (size_t edits = 1 + random_below(2); edits > 0; edits--)
    random_edit(json);
  bool valid = object_load_json("edited", json, &catalog, &edited, &error);
  json_decref(json);
  if (!valid)
    return false;
  if (edited.kind == original->kind) {
    char *typed = findings(original, &edited, true), *tree = findings(original, &edited, false);
    assert_string_equal(typed, tree);
    free(typed);
    free(tree);
  }
  object_free(&edited);
  return true;
}

static void random_edits_are_found_alike(void **state) {
  (void)state;
  static const char *const files[] = {"tests/data/compare/pod-full.json",
                                      "tests/data/compare/node-full.json",
                                      "tests/data/compare/endpoints-full.json"};
  random_state = 88172645463325252u;
  for (size_t i = 0; i < 3; i++) {
    struct object original;
    struct error error;
    json_t *base = json_load_file(files[i], 0, NULL);
    assert_non_null(base);
    assert_true(object_load_json("original", base, &catalog, &original, &error));
    unsigned valid = 0;
    for (int edit = 0; edit < 400; edit++)
      valid += agree_on_an_edit(base, &original);
    assert_in_range(valid, 40, 399);
    object_free(&original);
    json_decref(base);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(equal_objects_have_no_differences),
      cmocka_unit_test(a_changed_scalar_is_modified),
      cmocka_unit_test(times_are_compared_in_utc),
      cmocka_unit_test(an_int_or_string_may_change_its_type),
      cmocka_unit_test(a_keyed_item_is_added_with_its_fields),
      cmocka_unit_test(a_keyed_item_is_removed_with_its_fields),
      cmocka_unit_test(the_order_of_keyed_items_does_not_matter),
      cmocka_unit_test(a_change_deep_inside_keyed_items_has_their_keys_in_its_path),
      cmocka_unit_test(a_changed_key_removes_and_adds),
      cmocka_unit_test(an_atomic_list_is_one_leaf),
      cmocka_unit_test(an_atomic_map_is_one_leaf),
      cmocka_unit_test(opaque_parts_are_one_leaf),
      cmocka_unit_test(map_keys_are_added_and_removed),
      cmocka_unit_test(set_items_are_told_apart_by_their_value),
      cmocka_unit_test(a_container_that_is_gone_is_removed_with_its_content),
      cmocka_unit_test(an_empty_container_is_not_an_absent_one),
      cmocka_unit_test(null_is_absent_or_an_unset_time),
      cmocka_unit_test(duplicate_keys_are_reported),
      cmocka_unit_test(missing_key_fields_are_reported),
      cmocka_unit_test(all_mistakes_are_reported_in_order_of_their_paths),
      cmocka_unit_test(wrong_types_are_reported),
      cmocka_unit_test(unknown_fields_are_reported),
      cmocka_unit_test(items_that_cannot_be_keyed_are_reported),
      cmocka_unit_test(comparing_duplicates_is_reported),
      cmocka_unit_test(many_differences_are_all_found),
      cmocka_unit_test(a_result_survives_the_failure_of_any_allocation),
      cmocka_unit_test(random_edits_are_found_alike),
  };
  return cmocka_run_group_tests_name("compare_results", tests, open_catalog, close_catalog);
}
