/* The rare paths of the freelist: growing, emptying, weighing. See freelist.h. */
#include "strategies/support/freelist.h"

#include "harness/heap.h"

#include <string.h>

/* One line of pointers; most lists of a traversal need no second growth. */
#define FIRST_ROOM 16u

void freelist_init(struct freelist *list, const struct kind *kind, uint64_t cap) {
  *list = (struct freelist){
      .kind = kind, .cap = cap && cap < FREELIST_MAX_CAP ? (uint32_t)cap : FREELIST_MAX_CAP};
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

uint32_t freelist_clear(struct freelist *list) {
  uint32_t count = list->count;
  for (uint32_t i = 0; i < count; i++)
    object_free(list->kind, list->items[i]);
  heap_free(list->items, list->room * sizeof *list->items);
  freelist_init(list, list->kind, list->cap);
  return count;
}

void freelist_held(const struct freelist *list, struct pool_held *held) {
  held->objects += list->count;
  for (uint32_t i = 0; i < list->count; i++)
    held->bytes += object_bytes(list->kind, list->items[i]);
}
