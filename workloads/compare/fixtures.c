/*
 * The fixtures, assembled into the program from the files of workloads/objects. Their content is
 * made up; their shapes (tests/test_compare_shapes.c) are those of the objects that the measured
 * programs compared. The Endpoints file holds one address, from which the others are made.
 */
#include "workloads/compare/fixtures.h"

#include <stdio.h>
#include <string.h>

#define INCLUDE_FILE(symbol, path)                               \
  __asm__(".pushsection .rodata\n"                               \
          ".globl " #symbol ", " #symbol "_end\n"                \
          ".hidden " #symbol ", " #symbol "_end\n" #symbol ":\n" \
          ".incbin \"" path "\"\n" #symbol "_end:\n"             \
          ".popsection\n");                                      \
  extern const char symbol[], symbol##_end[]

INCLUDE_FILE(fixture_pod, "workloads/objects/pod.json");
INCLUDE_FILE(fixture_node, "workloads/objects/node.json");
INCLUDE_FILE(fixture_endpoints, "workloads/objects/endpoints.json");

static const struct {
  const char *name, *text, *end;
} fixtures[OBJECT_KINDS] = {
    [OBJECT_POD] = {"workloads/objects/pod.json", fixture_pod, fixture_pod_end},
    [OBJECT_NODE] = {"workloads/objects/node.json", fixture_node, fixture_node_end},
    [OBJECT_ENDPOINTS] = {"workloads/objects/endpoints.json", fixture_endpoints,
                          fixture_endpoints_end},
};

static bool set_string(json_t *object, const char *key, const char *text) {
  return json_object_set_new(object, key, json_string(text)) == 0;
}

/* The i-th address: 1000 different ones, all of the template's lengths. */
static json_t *address(const json_t *template, unsigned i) {
  char ip[32], name[64], uid[64], version[32];
  json_t *a = json_deep_copy(template), *ref = json_object_get(a, "targetRef");
  const char *old_name = json_string_value(json_object_get(ref, "name"));
  const char *old_uid = json_string_value(json_object_get(ref, "uid"));
  if (!old_name || strlen(old_name) < 5 || !old_uid || strlen(old_uid) < 8)
    goto failed;
  snprintf(ip, sizeof ip, "10.%u.%u.%u", 2 + i / 900, i % 900 / 90, 10 + i % 90);
  snprintf(name, sizeof name, "%.*s%05u", (int)strlen(old_name) - 5, old_name, i);
  snprintf(uid, sizeof uid, "%08x%s", (i + 1) * 2654435761u, old_uid + 8);
  snprintf(version, sizeof version, "%u", 5033000 + i);
  if (set_string(a, "ip", ip) && set_string(ref, "name", name) && set_string(ref, "uid", uid) &&
      set_string(ref, "resourceVersion", version))
    return a;
failed:
  json_decref(a);
  return NULL;
}

static bool add_addresses(json_t *endpoints) {
  json_t *subset = json_array_get(json_object_get(endpoints, "subsets"), 0);
  json_t *addresses = json_object_get(subset, "addresses");
  json_t *template = json_array_get(addresses, 0);
  bool ok = template != NULL;
  json_incref(template);
  json_array_clear(addresses);
  for (unsigned i = 0; ok && i < ENDPOINTS_ADDRESSES; i++) {
    json_t *a = address(template, i);
    ok = a && json_array_append_new(addresses, a) == 0;
  }
  json_decref(template);
  return ok;
}

json_t *fixture_json(int object, struct error *error) {
  json_error_t wrong;
  size_t size = (size_t)(fixtures[object].end - fixtures[object].text);
  json_t *root = json_loadb(fixtures[object].text, size, JSON_REJECT_DUPLICATES, &wrong);
  if (!root) {
    error_set(error, EXIT_INPUT, "%s:%d:%d: not JSON: %s", fixtures[object].name, wrong.line,
              wrong.column, wrong.text);
    return NULL;
  }
  if (object != OBJECT_ENDPOINTS || add_addresses(root))
    return root;
  error_set(error, EXIT_INPUT, "%s: no .subsets[0].addresses[0] with targetRef, or out of memory",
            fixtures[object].name);
  json_decref(root);
  return NULL;
}

bool fixture_load(int object, const struct catalog *catalog, struct object *out,
                  struct error *error) {
  json_t *root = fixture_json(object, error);
  if (!root)
    return false;
  bool ok = object_load_json(fixtures[object].name, root, catalog, out, error);
  json_decref(root);
  return ok;
}
