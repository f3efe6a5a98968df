/*
 * Makes, orders, prints and collects path elements.
 */
#include "workloads/compare/path.h"

#include "harness/heap.h"

#include <inttypes.h>
#include <stdio.h>

/* ---- making ---- */

static bool is_scalar(enum node_kind k) {
  return k == NODE_BOOL || k == NODE_INT || k == NODE_FLOAT || k == NODE_STRING;
}

static struct key *key_new(struct op *op, size_t fields) {
  struct key *key = op_alloc(op, sizeof *key);
  if (!key)
    return NULL;
  *key = (struct key){.capacity = fields};
  key->fields = op_alloc(op, fields * sizeof *key->fields);
  if (key->fields)
    return key;
  heap_free(key, sizeof *key);
  return NULL;
}

static void key_free(struct key *key) {
  heap_free(key->fields, key->capacity * sizeof *key->fields);
  heap_free(key, sizeof *key);
}

/* Fills the key's fields from the item; *why is set when one is missing or no scalar. */
static bool key_read(struct op *op, struct key *key, const struct schema *list, struct map_ref item,
                     char *why) {
  for (unsigned i = 0; i < list->key_count; i++) {
    const struct str *name = &list->keys[i];
    struct value v;
    if (!map_get(op, item, name, &v))
      return false;
    if (v.form == FORM_NONE) {
      snprintf(why, ELEMENT_WHY, "has no key field \"%.*s\"", (int)name->len, name->ptr);
      return true;
    }
    value_hold(op, v, LOSS_STILL);
    if (!is_scalar(value_kind(v))) {
      snprintf(why, ELEMENT_WHY, "has a key field \"%.*s\" that is not a scalar", (int)name->len,
               name->ptr);
      return true;
    }
    key->fields[key->count++] = (struct key_field){*name, v};
  }
  return true;
}

static bool keyed_element(struct op *op, const struct schema *list, struct value item,
                          struct element *out, char *why) {
  struct map_ref map;
  if (value_kind(item) != NODE_MAP) {
    snprintf(why, ELEMENT_WHY,
             "is not an object, but items of this list are told apart by \"%.*s\"",
             (int)list->keys[0].len, list->keys[0].ptr);
    return true;
  }
  if (!map_of(op, item, &map))
    return false;
  struct key *key = key_new(op, list->key_count);
  bool ok = key && key_read(op, key, list, map, why);
  map_put(op, map);
  if (ok && !*why)
    out->key = key;
  else if (key)
    key_free(key);
  return ok;
}

static bool set_element(struct op *op, struct value item, struct element *out, char *why) {
  if (!is_scalar(value_kind(item))) {
    snprintf(why, ELEMENT_WHY, "is not a scalar, but this list is a set of scalars");
    return true;
  }
  out->value = op_alloc(op, sizeof *out->value);
  if (!out->value)
    return false;
  *out->value = item;
  return true;
}

bool element_of_item(struct op *op, const struct schema *list, struct value item,
                     struct element *out, char why[ELEMENT_WHY]) {
  *out = (struct element){0};
  *why = '\0';
  return list->relation == RELATION_KEYED ? keyed_element(op, list, item, out, why)
                                          : set_element(op, item, out, why);
}

void element_free(struct element *e) {
  if (e->key)
    key_free(e->key);
  heap_free(e->value, sizeof *e->value);
  *e = (struct element){0};
}

/* ---- order and equality ---- */

static int key_order(const struct key *a, const struct key *b) {
  for (size_t i = 0; i < a->count && i < b->count; i++) {
    int c = str_order(&a->fields[i].name, &b->fields[i].name);
    if (c == 0)
      c = value_order(a->fields[i].value, b->fields[i].value);
    if (c != 0)
      return c;
  }
  return (a->count > b->count) - (a->count < b->count);
}

/* Elements of one list are of one form: by key or by value. */
static int element_order(const struct element *a, const struct element *b) {
  return a->key ? key_order(a->key, b->key) : value_order(*a->value, *b->value);
}

static bool element_equal(struct op *op, const struct element *a, const struct element *b,
                          bool *equal) {
  if (!a->key)
    return value_equal(op, *a->value, *b->value, equal);
  *equal = a->key->count == b->key->count;
  for (size_t i = 0; *equal && i < a->key->count; i++) {
    const struct key_field *x = &a->key->fields[i], *y = &b->key->fields[i];
    if (!str_equal(&x->name, &y->name))
      *equal = false;
    else if (!value_equal(op, x->value, y->value, equal))
      return false;
  }
  return true;
}

/* ---- sets ---- */

struct valued_element {
  struct element element;
  struct value value;
};

static struct element *entry_at(const struct element_set *s, size_t i) {
  return (struct element *)(s->entries + i * s->stride);
}

bool element_set_open(struct op *op, struct element_set *s, size_t room, bool with_values) {
  size_t stride = with_values ? sizeof(struct valued_element) : sizeof(struct element);
  *s = (struct element_set){.room = room, .stride = stride};
  if (room == 0)
    return true;
  s->entries = op_alloc(op, room * s->stride);
  return s->entries != NULL;
}

void element_set_close(struct element_set *s, bool free_elements) {
  for (size_t i = 0; free_elements && i < s->count; i++)
    element_free(entry_at(s, i));
  heap_free(s->entries, s->room * s->stride);
  *s = (struct element_set){0};
}

/* The first entry that is not before e. */
static size_t lower_bound(const struct element_set *s, const struct element *e) {
  size_t low = 0, high = s->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (element_order(entry_at(s, middle), e) < 0)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

bool element_set_find(struct op *op, const struct element_set *s, const struct element *e,
                      bool *found, struct value *value) {
  size_t at = lower_bound(s, e);
  *found = false;
  if (value)
    *value = (struct value){FORM_NONE, NULL};
  if (at == s->count)
    return true;
  if (!element_equal(op, entry_at(s, at), e, found))
    return false;
  if (*found && value)
    *value = ((const struct valued_element *)entry_at(s, at))->value;
  return true;
}

bool element_set_insert(struct op *op, struct element_set *s, const struct element *e,
                        struct value value) {
  size_t at = lower_bound(s, e);
  bool found = false;
  if (at < s->count && !element_equal(op, entry_at(s, at), e, &found))
    return false;
  unsigned char *slot = s->entries + at * s->stride;
  memmove(slot + s->stride, slot, (s->count - at) * s->stride);
  *entry_at(s, at) = *e;
  if (s->stride == sizeof(struct valued_element))
    ((struct valued_element *)entry_at(s, at))->value = value;
  s->count++;
  return true;
}

/* ---- printing ---- */

struct printer {
  char *out;
  size_t size, length; /* length may pass size: what did not fit is cut */
};

static void put_char(struct printer *p, char c) {
  if (p->length + 1 < p->size)
    p->out[p->length] = c;
  p->length++;
}

static void put_text(struct printer *p, const char *text, size_t n) {
  for (size_t i = 0; i < n; i++)
    put_char(p, text[i]);
}

/* As a JSON string, control characters as \u00XX. */
static void put_quoted(struct printer *p, const struct str *s) {
  static const char hex[] = "0123456789abcdef";
  put_char(p, '"');
  for (uint32_t i = 0; i < s->len; i++) {
    unsigned char c = (unsigned char)s->ptr[i];
    if (c < 0x20) {
      put_text(p, "\\u00", 4);
      put_char(p, hex[c >> 4]);
      put_char(p, hex[c & 15]);
      continue;
    }
    if (c == '"' || c == '\\')
      put_char(p, '\\');
    put_char(p, (char)c);
  }
  put_char(p, '"');
}

static void put_value(struct printer *p, struct value v) {
  char number[40];
  switch (value_kind(v)) {
  case NODE_STRING:
    put_quoted(p, value_string(v));
    return;
  case NODE_BOOL:
    put_text(p, value_boolean(v) ? "true" : "false", value_boolean(v) ? 4 : 5);
    return;
  case NODE_INT:
    put_text(p, number, (size_t)snprintf(number, sizeof number, "%" PRId64, value_integer(v)));
    return;
  case NODE_FLOAT:
    put_text(p, number, (size_t)snprintf(number, sizeof number, "%.17g", value_number(v)));
    return;
  default:
    put_text(p, "?", 1);
  }
}

static bool is_plain(const struct str *name) {
  for (uint32_t i = 0; i < name->len; i++) {
    char c = name->ptr[i];
    if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
          c == '-'))
      return false;
  }
  return name->len > 0;
}

static void put_field(struct printer *p, const struct str *name) {
  if (is_plain(name)) {
    put_char(p, '.');
    put_text(p, name->ptr, name->len);
    return;
  }
  put_char(p, '[');
  put_quoted(p, name);
  put_char(p, ']');
}

static void put_element(struct printer *p, const struct element *e) {
  char number[24];
  if (e->field) {
    put_field(p, e->field);
    return;
  }
  put_char(p, '[');
  for (size_t i = 0; e->key && i < e->key->count; i++) {
    if (i > 0)
      put_char(p, ',');
    put_text(p, e->key->fields[i].name.ptr, e->key->fields[i].name.len);
    put_char(p, '=');
    put_value(p, e->key->fields[i].value);
  }
  if (e->value) {
    put_char(p, '=');
    put_value(p, *e->value);
  }
  if (e->index)
    put_text(p, number, (size_t)snprintf(number, sizeof number, "%" PRId64, *e->index));
  put_char(p, ']');
}

static void finish(struct printer *p) {
  if (p->size > 0)
    p->out[p->length < p->size ? p->length : p->size - 1] = '\0';
}

size_t element_print(const struct element *e, char *out, size_t size) {
  struct printer p = {out, size, 0};
  put_element(&p, e);
  finish(&p);
  return p.length;
}

void path_print(const struct path *path, char *out, size_t size) {
  struct printer p = {out, size, 0};
  for (size_t i = 0; i < path->length; i++)
    put_element(&p, path->elements[i]);
  finish(&p);
}
