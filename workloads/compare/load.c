/*
 * Reads files and JSON, finds out the kind, validates, decodes. Objects are checked under the
 * strategy malloc, in a pool of their own that is gone when loading is over.
 */
#include "workloads/compare/load.h"

#include "harness/heap.h"
#include "harness/infile.h"
#include "workloads/compare/walkers.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* ---- JSON to tree ---- */

struct reader {
  struct arena *arena;
  char *why;
  size_t why_size;
};

static bool refuse(struct reader *r, const char *why) {
  snprintf(r->why, r->why_size, "%s", why);
  return false;
}

static bool read_json(struct reader *r, const json_t *json, struct node *out, int depth);

static bool read_string(struct reader *r, const json_t *json, struct node *out) {
  size_t length = json_string_length(json);
  struct str text = arena_str(r->arena, json_string_value(json), length);
  if (!text.ptr || !node_string(out, text))
    return refuse(r, length < UINT32_MAX ? "out of memory" : "a string is longer than 4 GiB");
  return true;
}

static bool read_list(struct reader *r, const json_t *json, struct node *out, int depth) {
  size_t count = json_array_size(json);
  if (!node_list_new(out, count))
    return refuse(r, "out of memory");
  for (size_t i = 0; i < count; i++)
    if (!read_json(r, json_array_get(json, i), &out->list->items[i], depth + 1))
      return false;
  return true;
}

static bool read_map(struct reader *r, json_t *json, struct node *out, int depth) {
  const char *key;
  json_t *value;
  if (!node_map_new(out, json_object_size(json)))
    return refuse(r, "out of memory");
  json_object_foreach(json, key, value) {
    struct str name = arena_str(r->arena, key, strlen(key));
    struct node child;
    if (!name.ptr)
      return refuse(r, "out of memory");
    if (!read_json(r, value, &child, depth + 1)) {
      node_free(&child);
      return false;
    }
    if (!node_map_add(out->map, name, child))
      return refuse(r, "out of memory");
  }
  return true;
}

/* On failure *out holds what was read so far. */
static bool read_json(struct reader *r, const json_t *json, struct node *out, int depth) {
  *out = (struct node){.kind = NODE_NULL};
  if (depth >= MAX_DEPTH) {
    snprintf(r->why, r->why_size, "nested more than %d levels deep", MAX_DEPTH);
    return false;
  }
  switch (json_typeof(json)) {
  case JSON_OBJECT:
    return read_map(r, (json_t *)json, out, depth);
  case JSON_ARRAY:
    return read_list(r, json, out, depth);
  case JSON_STRING:
    return read_string(r, json, out);
  case JSON_INTEGER:
    return node_int(out, json_integer_value(json)) || refuse(r, "out of memory");
  case JSON_REAL:
    return node_float(out, json_real_value(json)) || refuse(r, "out of memory");
  case JSON_TRUE:
  case JSON_FALSE:
    *out = (struct node){.kind = NODE_BOOL, .boolean = json_is_true(json)};
    return true;
  case JSON_NULL:
    return true;
  }
  return true;
}

bool tree_of_json(const json_t *json, struct arena *arena, struct node *out, char *why,
                  size_t why_size) {
  struct reader r = {arena, why, why_size};
  if (read_json(&r, json, out, 0))
    return true;
  node_free(out);
  return false;
}

/* ---- kind ---- */

static bool ends_with(const char *text, const char *end) {
  size_t n = strlen(text), m = strlen(end);
  return n >= m && strcmp(text + n - m, end) == 0;
}

static const struct object_kind *kind_of(const char *name, const json_t *root,
                                         const struct catalog *catalog, struct error *error) {
  const char *kind = json_string_value(json_object_get(root, "kind"));
  const char *version = json_string_value(json_object_get(root, "apiVersion"));
  if (!json_is_object(root)) {
    error_set(error, EXIT_INPUT, "%s: not an object; give one Pod, Node or Endpoints", name);
    return NULL;
  }
  if (!kind || !version) {
    error_set(error, EXIT_INPUT, "%s: no %s; give an object as `kubectl get -o json` prints it",
              name, kind ? "apiVersion" : "kind");
    return NULL;
  }
  if (ends_with(kind, "List")) {
    error_set(error, EXIT_INPUT, "%s: a %s; pick one item, as in `kubectl get pod NAME -o json`",
              name, kind);
    return NULL;
  }
  for (int i = 0; i < OBJECT_KINDS; i++)
    if (strcmp(kind, catalog->objects[i].kind) == 0 &&
        strcmp(version, catalog->objects[i].api_version) == 0)
      return &catalog->objects[i];
  error_set(error, EXIT_INPUT, "%s: a %s of %s; only Pod, Node and Endpoints of v1 can be compared",
            name, kind, version);
  return NULL;
}

/* ---- size ---- */

static void count(struct object *o, const struct node *node) {
  struct map_cursor cursor = {0};
  const struct str *key;
  struct node *value;
  o->values++;
  if (node->kind == NODE_LIST) {
    o->lists++;
    o->items += node->list->count;
    for (size_t i = 0; i < node->list->count; i++)
      count(o, &node->list->items[i]);
  } else if (node->kind == NODE_MAP) {
    while (node_map_next(node->map, &cursor, &key, &value))
      count(o, value);
  }
}

/* Where a value stands, up to the root, whose parent is NULL. */
struct place {
  const struct place *parent;
  struct element element;
};

static bool refuse_list(const char *name, const struct place *at, size_t items,
                        struct error *error) {
  struct path path = {.length = 0};
  char text[REPORT_LINE_SIZE];
  for (const struct place *p = at; p->parent; p = p->parent)
    path.length++;
  for (size_t i = path.length; i-- > 0; at = at->parent)
    path.elements[i] = &at->element;
  path_print(&path, text, sizeof text);
  return error_set(
      error, EXIT_INPUT,
      "%s: %s: has %zu items, must have at most %zu: the time to tell them apart grows "
      "with the square of their number",
      name, text, items, KEYED_ITEMS_LIMIT);
}

/* Before validation, which would take as long as what is refused. */
static bool check_lists(const char *name, const struct node *node, const struct schema *schema,
                        const struct place *at, struct error *error) {
  struct map_cursor cursor = {0};
  const struct str *key;
  struct node *value;
  if (!schema)
    return true; /* opaque, or a mistake that validation will name */
  if (node->kind == NODE_LIST && schema->atom == ATOM_LIST) {
    size_t n = node->list->count;
    if (schema->relation != RELATION_ATOMIC && n > KEYED_ITEMS_LIMIT)
      return refuse_list(name, at, n, error);
    for (size_t i = 0; i < n; i++) {
      struct place item = {at, {.index = &(int64_t){(int64_t)i}}};
      if (!check_lists(name, &node->list->items[i], schema->elements, &item, error))
        return false;
    }
  } else if (node->kind == NODE_MAP && schema->atom == ATOM_MAP) {
    while (node_map_next(node->map, &cursor, &key, &value)) {
      struct place entry = {at, {.field = key}};
      if (!check_lists(name, value, schema_entry(schema, key), &entry, error))
        return false;
    }
  }
  return true;
}

/* ---- validation ---- */

/* false when out of memory. */
static bool check_tree(const struct object *o, struct op *op, struct report *report) {
  struct pool_scope *outer;
  struct value root;
  if (!op_begin(op, &outer))
    return false;
  bool ok = value_of_tree(op, &o->trees[0], &root);
  if (ok) {
    ok = validate(op, root, o->kind->schema, report);
    value_put(op, root);
  }
  op_end(op, outer);
  return ok;
}

static bool check_in_pool(const struct object *o, struct report *report, char *why,
                          size_t why_size) {
  struct pool_config config = {.threads = 1, .why = why, .why_size = why_size};
  struct op op;
  snprintf(why, why_size, "out of memory");
  if (!op_open(&op, o->items, o->lists))
    return false;
  op.strategy = strategy_find("malloc");
  op.pool = op.strategy ? op.strategy->open(compare_kinds, KIND_COUNT, &config) : NULL;
  op.thread = op.pool ? op.strategy->attach(op.pool) : NULL;
  bool ok = op.thread && check_tree(o, &op, report);
  if (op.thread)
    op.strategy->detach(op.pool, op.thread);
  if (op.pool)
    op.strategy->close(op.pool);
  op_close(&op);
  return ok;
}

static bool check(const char *name, const struct object *o, struct error *error) {
  struct report *report = heap_calloc(sizeof *report);
  char why[200] = "out of memory";
  bool ok = report && check_in_pool(o, report, why, sizeof why);
  if (!ok)
    error_set(error, EXIT_INPUT, "%s: %s", name, why);
  else if (report->count > 1)
    ok = error_set(error, EXIT_INPUT, "%s: %s (and %zu more)", name, report->lines[0],
                   report->count - 1);
  else if (report->count == 1)
    ok = error_set(error, EXIT_INPUT, "%s: %s", name, report->lines[0]);
  heap_free(report, sizeof *report);
  return ok;
}

/* ---- objects ---- */

/* Reads one of the two equal objects; they share nothing, as two that came over a network. */
static bool read_tree(const char *name, const json_t *root, struct object *o, int i,
                      struct error *error) {
  char why[REPORT_LINE_SIZE];
  if (!tree_of_json(root, &o->arena, &o->trees[i], why, sizeof why))
    return error_set(error, EXIT_INPUT, "%s: %s", name, why);
  return true;
}

static bool read_typed(const char *name, struct object *o, int i, struct error *error) {
  char why[REPORT_LINE_SIZE + 100];
  o->typed[i] = typed_of_tree(o->kind, &o->trees[i], &o->arena, why, sizeof why);
  return o->typed[i] || error_set(error, EXIT_INPUT, "%s: %s", name, why);
}

static bool load(const char *name, const json_t *root, struct object *o, struct error *error) {
  if (!read_tree(name, root, o, 0, error) || !read_tree(name, root, o, 1, error))
    return false;
  count(o, &o->trees[0]);
  return check_lists(name, &o->trees[0], o->kind->schema, &(struct place){NULL, {0}}, error) &&
         check(name, o, error) && read_typed(name, o, 0, error) && read_typed(name, o, 1, error);
}

bool object_load_json(const char *name, const json_t *root, const struct catalog *catalog,
                      struct object *out, struct error *error) {
  *out = (struct object){.kind = NULL};
  out->kind = kind_of(name, root, catalog, error);
  if (out->kind && load(name, root, out, error))
    return true;
  object_free(out);
  return false;
}

void object_free(struct object *o) {
  node_free(&o->trees[0]);
  node_free(&o->trees[1]);
  arena_free(&o->arena);
  *o = (struct object){.kind = NULL};
}

static bool looks_like_yaml(const char *text, size_t size) {
  static const char *const starts[] = {"apiVersion:", "kind:", "metadata:", "---", "#", "%YAML"};
  for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
    size_t n = strlen(starts[i]);
    if (size >= n && memcmp(text, starts[i], n) == 0)
      return true;
  }
  return false;
}

bool object_load_text(const char *name, const char *text, size_t size,
                      const struct catalog *catalog, struct object *out, struct error *error) {
  static const char mark[] = "\xEF\xBB\xBF";
  json_error_t wrong;
  size_t skip = 0;
  *out = (struct object){.kind = NULL};
  if (size >= strlen(mark) && memcmp(text, mark, strlen(mark)) == 0)
    return error_set(error, EXIT_INPUT,
                     "%s: starts with a byte order mark (UTF-8 BOM), which JSON does not allow: "
                     "remove it",
                     name);
  while (skip < size && isspace((unsigned char)text[skip]))
    skip++;
  if (skip == size)
    return error_set(error, EXIT_INPUT,
                     "%s: empty; give an object as `kubectl get -o json` prints it", name);
  if (looks_like_yaml(text + skip, size - skip))
    return error_set(error, EXIT_INPUT, "%s: looks like YAML; give JSON: `kubectl get ... -o json`",
                     name);
  json_t *root = json_loadb(text, size, JSON_REJECT_DUPLICATES, &wrong);
  if (!root)
    return error_set(error, EXIT_INPUT, "%s:%d:%d: not JSON: %s", name, wrong.line, wrong.column,
                     wrong.text);
  bool ok = object_load_json(name, root, catalog, out, error);
  json_decref(root);
  return ok;
}

/* A file's text. */
struct text {
  char *bytes;
  size_t size, room;
};

static void text_free(struct text *t) {
  heap_free(t->bytes, t->room);
}

static bool text_widen(struct text *t) {
  size_t room = t->room ? 2 * t->room : (size_t)1 << 16;
  char *wider = heap_alloc(room);
  if (!wider)
    return false;
  if (t->size > 0)
    memcpy(wider, t->bytes, t->size);
  text_free(t);
  t->bytes = wider;
  t->room = room;
  return true;
}

/* Reads all there is, or up to what is too much. */
static bool read_all(const char *path, FILE *file, struct text *t, struct error *error) {
  *t = (struct text){NULL, 0, 0};
  do {
    if (t->size == t->room && !text_widen(t))
      return error_set(error, EXIT_INPUT, "%s: out of memory", path);
    t->size += fread(t->bytes + t->size, 1, t->room - t->size, file);
  } while (t->size == t->room && t->size <= OBJECT_FILE_LIMIT);
  if (ferror(file))
    return error_errno(error, EXIT_INPUT, "%s: cannot be read", path);
  if (t->size > OBJECT_FILE_LIMIT)
    return error_set(error, EXIT_INPUT, "%s: larger than %zu MiB", path, OBJECT_FILE_LIMIT >> 20);
  return true;
}

bool object_load_file(const char *path, const struct catalog *catalog, struct object *out,
                      struct error *error) {
  struct text text;
  FILE *file = infile_stream(path, error);
  *out = (struct object){.kind = NULL};
  if (!file)
    return false;
  bool ok = read_all(path, file, &text, error) &&
            object_load_text(path, text.bytes, text.size, catalog, out, error);
  text_free(&text);
  fclose(file);
  return ok;
}
