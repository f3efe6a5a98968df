/* Formatted protocol lines; see line.h. */
#include "workloads/request/line.h"

#include "harness/heap.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define FIRST_SIZE 24
#define DIGITS_SIZE 16 /* 15 digits: years of requests */

struct text_box {
  const char *at;
  size_t length;
};

/* One element of the argument list: a boxed text or a boxed number with its digits. */
struct boxed {
  void *box;
  char *digits; /* NULL: the box is a text's */
};

static bool box_text(const char *text, struct boxed *out) {
  struct text_box *box = heap_alloc(sizeof *box);
  if (!box)
    return false;
  *box = (struct text_box){text, strlen(text)};
  out->box = box;
  return true;
}

static bool box_number(uint64_t number, struct boxed *out) {
  uint64_t *box = heap_alloc(sizeof *box);
  if (!box)
    return false;
  *box = number;
  out->box = box;
  out->digits = heap_alloc(DIGITS_SIZE);
  return out->digits != NULL && snprintf(out->digits, DIGITS_SIZE, "%" PRIu64, *box) < DIGITS_SIZE;
}

static void unbox(const struct line_argument *argument, struct boxed *b) {
  if (argument->text) {
    heap_free(b->box, sizeof(struct text_box));
  } else {
    heap_free(b->box, sizeof(uint64_t));
    heap_free(b->digits, DIGITS_SIZE);
  }
}

static bool append(struct line *l, const char *at, size_t length) {
  size_t size = l->size ? l->size : FIRST_SIZE;
  while (size < l->length + length)
    size *= 2;
  if (size > l->size) {
    char *grown = heap_alloc(size);
    if (!grown)
      return false;
    if (l->text)
      memcpy(grown, l->text, l->length);
    heap_free(l->text, l->size);
    l->text = grown;
    l->size = size;
  }
  memcpy(l->text + l->length, at, length);
  l->length += length;
  return true;
}

static bool append_boxed(struct line *l, const struct boxed *b) {
  const struct text_box *text = b->box;
  const char *at = b->digits ? b->digits : text->at;
  size_t length = b->digits ? strlen(b->digits) : text->length;
  if (length == 0)
    return true;
  return (l->length == 0 || append(l, " ", 1)) && append(l, at, length);
}

static bool join(struct line *l, const struct line_argument *arguments, struct boxed *list,
                 size_t count) {
  for (size_t i = 0; i < count; i++)
    if (!(arguments[i].text ? box_text(arguments[i].text, &list[i])
                            : box_number(arguments[i].number, &list[i])))
      return false;
  for (size_t i = 0; i < count; i++)
    if (!append_boxed(l, &list[i]))
      return false;
  return append(l, "\r\n", 2);
}

struct line line_format(const struct line_argument *arguments, size_t count) {
  struct line l = {0};
  struct boxed *list = heap_calloc(count * sizeof *list);
  if (!list)
    return l;
  bool done = join(&l, arguments, list, count);
  for (size_t i = 0; i < count; i++)
    unbox(&arguments[i], &list[i]);
  heap_free(list, count * sizeof *list);
  if (!done)
    line_free(&l);
  return l;
}

void line_free(struct line *l) {
  heap_free(l->text, l->size);
  *l = (struct line){0};
}
