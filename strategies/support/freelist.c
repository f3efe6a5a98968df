/* The rare paths of the freelist: growing, weighing, emptying. See freelist.h. */
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
  bool weighed = most_bytes && kind->bytes;
  *list = (struct freelist){.kind = kind,
                            .floor = weighed ? UINT32_MAX : 0,
                            .cap = (uint32_t)cap,
                            .most_bytes = weighed ? most_bytes : 0};
}

/* false at the cap or when out of memory. */
static bool grow(struct freelist *list) {
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
  list->ceiling = list->most_bytes || list->kind->clear ? 0 : room;
  return true;
}

void *freelist_pop_slow(struct freelist *list) {
  if (list->count == 0)
    return NULL;
  void *object = list->items[--list->count];
  if (list->most_bytes)
    list->bytes -= object_bytes(list->kind, object);
  return object;
}

bool freelist_push_slow(struct freelist *list, void *object) {
  if (list->count == list->room && !grow(list))
    return false;
  if (list->most_bytes) {
    uint64_t bytes = object_bytes(list->kind, object);
    if (bytes > list->most_bytes - list->bytes)
      return false;
    list->bytes += bytes;
  }
  list->items[list->count++] = object;
  return true;
}

void *freelist_get_slow(struct freelist *list, struct pool_counters *counters) {
  void *object = freelist_pop_slow(list);
  if (object)
    return object;
  pool_count(&counters->misses, 1);
  return object_new(list->kind);
}

void freelist_put_slow(struct freelist *list, struct pool_counters *counters, void *object) {
  object_clear(list->kind, object);
  if (freelist_push_slow(list, object))
    return;
  pool_count(&counters->overflows, 1);
  object_free(list->kind, object);
}

struct freelist freelist_take(struct freelist *list) {
  struct freelist taken = *list;
  *list = (struct freelist){
      .kind = taken.kind, .floor = taken.floor, .cap = taken.cap, .most_bytes = taken.most_bytes};
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
