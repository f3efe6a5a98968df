/*
 * The map that a handler collects notifications in: names (16 B keys) to entries (104 B).
 *
 * Open addressing with linear probing over slots of 120 B; 8 slots at first, doubled when more
 * than 13 of 16 are taken. An empty map that never held anything has no slots. Clearing keeps the
 * slots and zeroes them all, as each holds references that a cleared map must not keep; walking
 * looks at every slot. Both cost what the map's capacity is, not what it holds: one update in a
 * map that once held a thousand costs as much as a thousand.
 */
#ifndef POOLBENCH_HANDLERS_MAP_H
#define POOLBENCH_HANDLERS_MAP_H

#include "strategies/strategy.h"

struct map_key {
  const char *text; /* not owned; NULL: the slot is empty */
  size_t length;
};

/* A point in time and its zone, as the Go program's entries keep three of. */
struct instant {
  uint64_t wall, monotonic;
  const void *zone;
};

struct event;

struct map_entry {
  uint64_t hash; /* of the key; the map's */
  struct event *event;
  struct instant subscribed, modified, cached;
  struct map_key collection;
};

struct map_slot {
  struct map_key key;
  struct map_entry entry;
};

struct map {
  struct map_slot *slots;
  size_t capacity, count;
};

/* The block a map is given besides its slots: the Go program's size. */
#define MAP_BYTES 48

/* The kind that the strategy recycles. destroy and clear leave the events alone. */
extern const struct kind map_kind;

/*
 * The entry of a key, made if need be (then zero but for the hash). NULL when out of memory; the
 * map is unchanged then.
 */
struct map_entry *map_at(struct map *m, struct map_key key);

/* Walks the entries: start with *at = 0; NULL at the end. */
struct map_slot *map_next(const struct map *m, size_t *at);

/* Keeps the capacity. Costs nothing when the map is empty already. */
void map_clear(struct map *m);

/* Slots that a map has once it has held `count` entries. */
size_t map_capacity_for(size_t count);

#endif
