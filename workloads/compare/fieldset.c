/*
 * Sorted arrays of texts on the counted heap. In the benchmark all sets stay empty.
 */
#include "workloads/compare/fieldset.h"

#include "harness/heap.h"

#define ELEMENT_TEXT 512 /* longest text kept of one element, NUL included */

struct field_set_child {
  struct str element;
  struct field_set set;
};

struct field_set *field_set_new(struct op *op) {
  struct field_set *s = op_alloc(op, sizeof *s);
  if (s)
    *s = (struct field_set){0};
  return s;
}

static void set_clear(struct field_set *s) {
  for (size_t i = 0; i < s->member_count; i++)
    heap_free((char *)s->members[i].ptr, s->members[i].len);
  heap_free(s->members, s->member_capacity * sizeof *s->members);
  for (size_t i = 0; i < s->child_count; i++) {
    heap_free((char *)s->children[i].element.ptr, s->children[i].element.len);
    set_clear(&s->children[i].set); /* no deeper than a path is long */
  }
  heap_free(s->children, s->child_capacity * sizeof *s->children);
}

void field_set_free(struct field_set *s) {
  if (!s)
    return;
  set_clear(s);
  heap_free(s, sizeof *s);
}

/* Both arrays begin their entries with a struct str. Returns the place of `text`, or where it
 * belongs. */
static size_t place_of(const void *entries, size_t count, size_t stride, const struct str *text,
                       bool *found) {
  size_t low = 0, high = count;
  *found = false;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    int c = str_order((const void *)((const char *)entries + middle * stride), text);
    if (c == 0) {
      *found = true;
      return middle;
    }
    if (c < 0)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* Opens a gap at `at`, growing the array by doubling. */
static void *open_gap(struct op *op, void *entries, size_t count, size_t *capacity, size_t stride,
                      size_t at) {
  char *to = entries;
  if (count == *capacity) {
    size_t wider = *capacity ? 2 * *capacity : 4;
    to = op_alloc(op, wider * stride);
    if (!to)
      return NULL;
    if (count)
      memcpy(to, entries, count * stride);
    heap_free(entries, *capacity * stride);
    *capacity = wider;
  }
  memmove(to + (at + 1) * stride, to + at * stride, (count - at) * stride);
  return to;
}

static struct str keep_text(struct op *op, const struct str *text) {
  char *copy = op_alloc(op, text->len);
  if (!copy)
    return (struct str){0};
  memcpy(copy, text->ptr, text->len);
  return (struct str){.ptr = copy, .len = text->len};
}

static bool add_member(struct op *op, struct field_set *s, const struct str *text) {
  bool found;
  size_t at = place_of(s->members, s->member_count, sizeof *s->members, text, &found);
  if (found)
    return true;
  struct str kept = keep_text(op, text);
  if (!kept.ptr)
    return false;
  struct str *members =
      open_gap(op, s->members, s->member_count, &s->member_capacity, sizeof *s->members, at);
  if (!members) {
    heap_free((char *)kept.ptr, kept.len);
    return false;
  }
  s->members = members;
  s->members[at] = kept;
  s->member_count++;
  return true;
}

static struct field_set *child_of(struct op *op, struct field_set *s, const struct str *text) {
  bool found;
  size_t at = place_of(s->children, s->child_count, sizeof *s->children, text, &found);
  if (found)
    return &s->children[at].set;
  struct str kept = keep_text(op, text);
  if (!kept.ptr)
    return NULL;
  struct field_set_child *children =
      open_gap(op, s->children, s->child_count, &s->child_capacity, sizeof *s->children, at);
  if (!children) {
    heap_free((char *)kept.ptr, kept.len);
    return NULL;
  }
  s->children = children;
  s->children[at] = (struct field_set_child){.element = kept};
  s->child_count++;
  return &s->children[at].set;
}

bool field_set_insert(struct op *op, struct field_set *s, const struct path *path) {
  char buffer[ELEMENT_TEXT];
  for (size_t i = 0; i < path->length; i++) {
    size_t n = element_print(path->elements[i], buffer, sizeof buffer);
    struct str text = {.ptr = buffer, .len = (uint32_t)(n < sizeof buffer ? n : sizeof buffer - 1)};
    if (i + 1 == path->length)
      return add_member(op, s, &text);
    s = child_of(op, s, &text);
    if (!s)
      return false;
  }
  return true; /* the root itself is never a member */
}

struct set_printer {
  void (*line)(void *context, const char *path);
  void *context;
  char path[ELEMENT_TEXT * 4];
};

/* Appends text at `length` and returns the new length; what does not fit is cut. */
static size_t append(struct set_printer *p, size_t length, const struct str *text) {
  size_t room = sizeof p->path - 1 - length;
  size_t n = text->len < room ? text->len : room;
  memcpy(p->path + length, text->ptr, n);
  p->path[length + n] = '\0';
  return length + n;
}

static void print_set(const struct field_set *s, struct set_printer *p, size_t length) {
  for (size_t i = 0; i < s->member_count; i++) {
    append(p, length, &s->members[i]);
    p->line(p->context, p->path);
  }
  for (size_t i = 0; i < s->child_count; i++)
    print_set(&s->children[i].set, p, append(p, length, &s->children[i].element));
}

void field_set_print(const struct field_set *s, void (*line)(void *context, const char *path),
                     void *context) {
  struct set_printer p = {.line = line, .context = context};
  print_set(s, &p, 0);
}
