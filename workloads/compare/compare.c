/*
 * The workload: validate two equal objects and compare them, as a server does on every update.
 *
 * One op is twice [take the object, as a C struct or as a tree built for the occasion, and
 * validate it], then one comparison, whose result must be three empty field sets. Owns the case
 * names, the kinds and what a thread keeps; the walkers do the work. Objects and schemas are
 * read-only and shared; all that an op writes belongs to its thread.
 */
#include "workloads/compare/convert.h"
#include "workloads/compare/fixtures.h"
#include "workloads/compare/walkers.h"

#include "harness/heap.h"

#include <stdio.h>
#include <string.h>

enum mode { STRUCTURED, UNSTRUCTURED };

#define OP_TEXT(mode) "twice [" mode ", validate it], compare the two"
#define OP_STRUCTURED OP_TEXT("wrap a typed object")
#define OP_UNSTRUCTURED OP_TEXT("build a tree of a typed object, wrap it")

static const struct workload_case cases[] = {
    {.name = "Compare/Pod/structured",
     .what = OP_STRUCTURED,
     .disciplines = DISCIPLINE_ALL,
     .in_sweep = true,
     .op_hint_ns = 60e3},
    {.name = "Compare/Pod/unstructured",
     .what = OP_UNSTRUCTURED,
     .disciplines = DISCIPLINE_ALL,
     .op_hint_ns = 100e3},
    {.name = "Compare/Node/structured",
     .what = OP_STRUCTURED,
     .disciplines = DISCIPLINE_ALL,
     .in_sweep = true,
     .op_hint_ns = 110e3},
    {.name = "Compare/Node/unstructured",
     .what = OP_UNSTRUCTURED,
     .disciplines = DISCIPLINE_ALL,
     .op_hint_ns = 180e3},
    {.name = "Compare/Endpoints/structured",
     .what = OP_STRUCTURED,
     .disciplines = DISCIPLINE_ALL,
     .in_sweep = true,
     .op_hint_ns = 1e6},
    {.name = "Compare/Endpoints/unstructured",
     .what = OP_UNSTRUCTURED,
     .disciplines = DISCIPLINE_ALL,
     .op_hint_ns = 3e6},
    {.name = NULL},
};

struct workload_state {
  struct catalog catalog;
  struct object object;
  enum mode mode;
  enum discipline discipline;
};

/* ---- kinds ---- */

/* The rest is written before it is read. */
static bool typed_value_init(void *view) {
  struct typed_value *v = view;
  v->copy = NULL;
  v->text = NULL;
  return true;
}

const struct kind compare_kinds[KIND_COUNT] = {
    [KIND_TREE_VALUE] = {.name = "tree value", .size = sizeof(struct tree_value)},
    [KIND_TYPED_VALUE] = {.name = "typed value",
                          .size = sizeof(struct typed_value),
                          .init = typed_value_init,
                          .clear = typed_value_clear,
                          .destroy = typed_value_clear},
    [KIND_TYPED_MAP] = {.name = "typed map", .size = sizeof(struct typed_map_view)},
    [KIND_TYPED_STRUCT] = {.name = "typed struct", .size = sizeof(struct typed_struct)},
    [KIND_TYPED_LIST] = {.name = "typed list", .size = sizeof(struct typed_list_view)},
    [KIND_LIST_RANGE] = {.name = "list range", .size = sizeof(struct list_range)},
    [KIND_VALIDATE_WALKER] = {.name = "validate walker", .size = VALIDATE_WALKER_BYTES},
    [KIND_MERGE_WALKER] = {.name = "merge walker", .size = MERGE_WALKER_BYTES},
};

static const struct kind *kinds(struct workload_state *state, size_t *count) {
  (void)state;
  *count = KIND_COUNT;
  return compare_kinds;
}

/* ---- objects of the user ---- */

static const char *const suffixes[] = {"structured", "unstructured"};

/*
 * Names live until the process ends, whoever has forgotten them: they hang off here. One thread
 * makes them, before any other starts.
 */
struct kept_name {
  struct kept_name *next;
  char text[];
};
static struct kept_name *kept_names;

/* "Compare/Pod:web/structured" of kind Pod and file .../web.json; NULL: out of memory. */
static const char *object_case_name(const char *kind, const char *file, enum mode mode) {
  const char *slash = strrchr(file, '/'), *stem = slash ? slash + 1 : file;
  const char *dot = strrchr(stem, '.');
  int length = dot && dot > stem ? (int)(dot - stem) : (int)strlen(stem);
  size_t size = strlen(kind) + (size_t)length + 40;
  struct kept_name *kept = heap_alloc(sizeof *kept + size);
  if (!kept)
    return NULL;
  kept->next = kept_names;
  kept_names = kept;
  char *name = kept->text;
  int start = snprintf(name, size, "Compare/%s:", kind);
  snprintf(name + start, size - (size_t)start, "%.*s/%s", length, stem, suffixes[mode]);
  for (char *c = name + start; c < name + start + length; c++)
    if (!strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-", *c))
      *c = '-';
  return name;
}

/* JSON values of the fixtures, for which the hints of the cases above are. */
static const size_t fixture_values[OBJECT_KINDS] = {
    [OBJECT_POD] = 137, [OBJECT_NODE] = 307, [OBJECT_ENDPOINTS] = 8020};

/* Reading a file into two objects takes a microsecond or two a value, and a worker does it twice.
 */
#define OPEN_NS_PER_VALUE 5e3

/*
 * The file's cases are those of its kind's fixture under other names. An op visits every value a
 * few times, so its time grows with them.
 */
static int name_cases(const char *file, const struct object *object, int kind,
                      struct workload_case *out, size_t room) {
  int count = 0;
  for (int mode = STRUCTURED; mode <= UNSTRUCTURED && (size_t)count < room; mode++, count++) {
    out[count] = cases[2 * kind + mode];
    out[count].op_hint_ns *= (double)object->values / (double)fixture_values[kind];
    out[count].open_hint_ns = (double)object->values * OPEN_NS_PER_VALUE;
    out[count].name = object_case_name(object->kind->kind, file, (enum mode)mode);
    if (!out[count].name)
      return -1;
  }
  return count;
}

static int object_cases(const char *file, struct workload_case *out, size_t room, char *why,
                        size_t why_size) {
  struct catalog catalog;
  struct object object;
  struct error error;
  int count = -1;
  snprintf(why, why_size, "%s: out of memory", file);
  if (!catalog_open(&catalog))
    return -1;
  if (object_load_file(file, &catalog, &object, &error)) {
    count = name_cases(file, &object, (int)(object.kind - catalog.objects), out, room);
    object_free(&object);
  } else {
    snprintf(why, why_size, "%s", error.text);
  }
  catalog_close(&catalog);
  return count;
}

/* ---- open and close ---- */

static bool ends_with(const char *text, const char *end) {
  size_t n = strlen(text), m = strlen(end);
  return n >= m && strcmp(text + n - m, end) == 0;
}

/* The OBJECT_* in "Compare/KIND/...", or -1. */
static int fixture_of(const char *case_name) {
  for (int i = 0; cases[i].name; i++)
    if (strcmp(case_name, cases[i].name) == 0)
      return i / 2;
  return -1;
}

static bool load(struct workload_state *s, const struct workload_setup *setup,
                 struct error *error) {
  if (setup->object_file)
    return object_load_file(setup->object_file, &s->catalog, &s->object, error);
  int fixture = fixture_of(setup->case_name);
  if (fixture < 0)
    return error_set(error, EXIT_USAGE, "no case %s in workload compare", setup->case_name);
  return fixture_load(fixture, &s->catalog, &s->object, error);
}

static bool open_state(const struct workload_setup *setup, struct workload_state **state) {
  struct error error;
  struct workload_state *s = heap_calloc(sizeof *s);
  if (!s || !catalog_open(&s->catalog)) {
    snprintf(setup->why, setup->why_size, "out of memory");
    heap_free(s, sizeof *s);
    return false;
  }
  s->mode = ends_with(setup->case_name, "/unstructured") ? UNSTRUCTURED : STRUCTURED;
  s->discipline = setup->discipline;
  if (load(s, setup, &error)) {
    *state = s;
    return true;
  }
  snprintf(setup->why, setup->why_size, "%s", error.text);
  catalog_close(&s->catalog);
  heap_free(s, sizeof *s);
  return false;
}

static void close_state(struct workload_state *s) {
  object_free(&s->object);
  catalog_close(&s->catalog);
  heap_free(s, sizeof *s);
}

/* ---- ops ---- */

/* What a thread keeps between ops, on cache lines of its own. */
struct local {
  struct op op;
  struct report report;
};

static size_t local_size(void) {
  return (sizeof(struct local) + POOL_LINE - 1) & ~(size_t)(POOL_LINE - 1);
}

static bool thread_open(struct workload_thread *t) {
  const struct object *object = &t->state->object;
  struct local *l = heap_alloc_aligned(local_size(), POOL_LINE);
  if (!l || !op_open(&l->op, object->items, object->lists)) {
    heap_free(l, local_size());
    snprintf(t->why, sizeof t->why, "out of memory");
    return false;
  }
  l->report.count = 0;
  l->op.strategy = t->strategy;
  l->op.pool = t->pool;
  l->op.thread = t->pool_thread;
  l->op.discipline = t->state->discipline;
  t->local = l;
  return true;
}

static void thread_close(struct workload_thread *t) {
  struct local *l = t->local;
  if (!l)
    return;
  op_close(&l->op);
  heap_free(l, local_size());
  t->local = NULL;
}

/* An object that was found valid, which is what a comparison takes. */
struct valid_object {
  struct value root;
  const struct schema *schema;
  const struct object_kind *kind;
  struct node tree; /* what the root is a view of, unless it is a typed object */
};

static bool take_root(struct op *op, const struct workload_state *s, int side,
                      struct valid_object *v) {
  const struct object_kind *kind = s->object.kind;
  const void *typed = s->object.typed[side];
  if (s->mode == STRUCTURED)
    return value_of_typed(op, kind->type, typed, &v->root);
  return tree_of_typed(op, kind->type, typed, &v->tree) && value_of_tree(op, &v->tree, &v->root);
}

/* Frees the object. A root that was not given back is dropped: something failed. */
static void discard(struct op *op, struct valid_object *v) {
  if (!v)
    return;
  if (v->root.form != FORM_NONE)
    pool_drop(op->strategy, op->thread, value_recycled(v->root), v->root.view);
  node_free(&v->tree);
  heap_free(v, sizeof *v);
}

/*
 * The first traversals. The root is taken in the scope around the op where there is one, else in
 * the traversal's. false when out of memory, or when the report says what is not valid.
 */
static bool take_and_validate(struct local *l, const struct workload_state *s, int side,
                              struct valid_object *v) {
  struct op *op = &l->op;
  struct pool_scope *around = op->scope, *outer;
  if (around && !take_root(op, s, side, v))
    return false;
  if (!op_begin(op, &outer))
    return false;
  bool ok = (around || take_root(op, s, side, v)) && validate(op, v->root, v->schema, &l->report) &&
            l->report.count == 0;
  op_end(op, outer);
  return ok;
}

static struct valid_object *take_valid(struct local *l, const struct workload_state *s, int side) {
  struct valid_object *v = op_alloc(&l->op, sizeof *v);
  if (!v)
    return NULL;
  *v = (struct valid_object){.schema = s->object.kind->schema, .kind = s->object.kind};
  if (take_and_validate(l, s, side, v))
    return v;
  discard(&l->op, v);
  return NULL;
}

static void give_back_roots(struct op *op, struct valid_object *a, struct valid_object *b) {
  op_give_back(op, value_recycled(b->root), b->root.view, LOSS_STILL);
  op_give_back(op, value_recycled(a->root), a->root.view, LOSS_STILL);
  a->root.form = b->root.form = FORM_NONE;
}

struct first_path {
  char text[120];
};

static void keep_first(void *context, const char *path) {
  struct first_path *first = context;
  if (!*first->text)
    snprintf(first->text, sizeof first->text, "%s", path);
}

/* A comparison of equal objects that found something: names the first path. */
static void complain_unequal(struct workload_thread *t, const struct comparison *c) {
  struct first_path first = {""};
  field_set_print(c->added, keep_first, &first);
  field_set_print(c->modified, keep_first, &first);
  field_set_print(c->removed, keep_first, &first);
  snprintf(t->why, sizeof t->why, "equal objects were found to differ at %s", first.text);
}

/* The last traversal, after which the roots go back. false as above. */
static bool compare_roots(struct local *l, struct valid_object *a, struct valid_object *b,
                          struct comparison *c) {
  struct op *op = &l->op;
  struct pool_scope *around = op->scope, *outer;
  if (!op_begin(op, &outer))
    return false;
  bool ok = compare(op, a->root, b->root, a->schema, c, &l->report) && l->report.count == 0;
  if (!around)
    give_back_roots(op, a, b);
  op_end(op, outer);
  if (around)
    give_back_roots(op, a, b);
  return ok;
}

/* true: the objects are equal, as they must be. */
static bool compare_valid(struct workload_thread *t, struct valid_object *a,
                          struct valid_object *b) {
  struct local *l = t->local;
  struct comparison *c = op_alloc(&l->op, sizeof *c);
  if (!c)
    return false;
  *c = (struct comparison){0};
  bool ok = compare_roots(l, a, b, c);
  if (ok && !comparison_empty(c)) {
    complain_unequal(t, c);
    ok = false;
  }
  comparison_free(c);
  heap_free(c, sizeof *c);
  return ok;
}

static bool run_traversals(struct workload_thread *t) {
  struct local *l = t->local;
  struct valid_object *a = take_valid(l, t->state, 0);
  struct valid_object *b = a ? take_valid(l, t->state, 1) : NULL;
  bool ok = b && compare_valid(t, a, b);
  discard(&l->op, b);
  discard(&l->op, a);
  return ok;
}

/*
 * The roots are taken in the scope of the validation and given back in that of the comparison.
 * Where objects die with their scope, they come from one more scope around all three traversals;
 * elsewhere it would only keep a second borrowed freelist busy.
 */
static bool run_op(struct workload_thread *t) {
  struct local *l = t->local;
  struct pool_scope *outer;
  bool around = t->strategy->flags & STRATEGY_OBJECTS_DIE_WITH_SCOPE;
  if (around && !op_begin(&l->op, &outer))
    return false;
  bool ok = run_traversals(t);
  if (around)
    op_end(&l->op, outer);
  op_drop_lost(&l->op);
  return ok;
}

static void fail(struct workload_thread *t) {
  struct local *l = t->local;
  t->failed = true;
  if (l->op.out_of_memory)
    snprintf(t->why, sizeof t->why, "out of memory");
  else if (l->report.count > 0)
    snprintf(t->why, sizeof t->why, "%.*s", (int)sizeof t->why - 1, l->report.lines[0]);
  l->op.out_of_memory = false;
  l->report.count = 0;
}

static void run(struct workload_thread *t, uint64_t n) {
  for (; n > 0; n--)
    if (!run_op(t)) {
      fail(t);
      return;
    }
}

const struct workload workload_compare = {
    .name = "compare",
    .summary = "validate and compare API objects (Pod, Node, Endpoints), typed and untyped",
    .cases = cases,
    .object_cases = object_cases,
    .open = open_state,
    .close = close_state,
    .kinds = kinds,
    .thread_open = thread_open,
    .thread_close = thread_close,
    .run = run,
};
