/* The rare paths of the freelist: growing, emptying, weighing. See freelist.h. */
#include "strategies/support/freelist.h"

#include "harness/heap.h"

#include <string.h>

/* One line of pointers; most lists of a traversal need no second growth. */
#define FIRST_ROOM 16u

void freelist_init(struct freelist *list, const struct kind *kind, uint64_t cap,
                   uint64_t most_bytes) {
  if (cap == 0 || cap > FREELIST_MAX_CAP)
    cap = FREELIST_MAX_CAP;
  if (most_bytes && !kind->bytes && most_bytes / kind->size < cap)
    cap = most_bytes / kind->size;
  *list = (struct freelist){
      .kind = kind, .cap = (uint32_t)cap, .most_bytes = kind->bytes ? most_bytes : 0};
}

void freelist_weigh_out(struct freelist *list, const void *object) {
  list->bytes -= object_bytes(list->kind, object);
}

bool freelist_weigh_in(struct freelist *list, const void *object) {
  uint64_t bytes = object_bytes(list->kind, object);
  if (bytes > list->most_bytes - list->bytes)
    return false;
  list->bytes += bytes;
  return true;
}

bool freelist_grow(struct freelist *list) {
  if (list->room >= list->cap)
    return false;
  uint32_t room = list->room ? list->room * 2 : FIRST_ROOM;
  if (room > list->cap)
    room = list->cap;
  void **items = heap_alloc(room * sizeof *items);
  if (!items)
    return false;
  if (list->items)
    memcpy(items, list->items, list->count * sizeof *items);
  heap_free(list->items, list->room * sizeof *items);
  list->items = items;
  list->room = room;
  return true;
}

struct freelist freelist_take(struct freelist *list) {
  struct freelist taken = *list;
  *list = (struct freelist){.kind = taken.kind, .cap = taken.cap, .most_bytes = taken.most_bytes};
  return taken;
}

void freelist_clear(struct freelist *list) {
  struct freelist taken = freelist_take(list);
  for (uint32_t i = 0; i < taken.count; i++)
    object_free(taken.kind, taken.items[i]);
  heap_free(taken.items, taken.room * sizeof *taken.items);
}

void freelist_held(const struct freelist *list, struct pool_held *held) {
  held->objects += list->count;
  for (uint32_t i = 0; i < list->count; i++)
    held->bytes += object_bytes(list->kind, list->items[i]);
}
