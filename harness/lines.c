/* The table of lines; see lines.h. */
#include "harness/lines.h"

#include "harness/pages.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

/* Objects of 8 bytes and more: so many may begin on a line. */
#define SLOTS (LINES_BYTES / 8)

/* Neighbouring lines share a lock and lie side by side: an object of many lines takes one lock. */
#define GROUP 32
#define PARTS 64
#define PART_LINES (LINES_MOST / PARTS)

struct line {
  uintptr_t number; /* address / LINES_BYTES; 0: unused, page 0 holds no objects */
  /* Whose the object is that begins at a slot, or that reaches into the line at slot 0. */
  uint32_t holder[SLOTS]; /* thread; 0: nobody's */
  uint8_t kind[SLOTS];    /* of that object */
  uint16_t seen, shared;  /* bits: kinds that were live here, and beside another thread's */
};
_Static_assert(POOL_MAX_KINDS <= 16, "a bit for each kind");

struct part {
  pthread_mutex_t lock;
  uint32_t used;
  uint64_t lost;
  struct line *lines;
} __attribute__((aligned(POOL_LINE)));

static struct {
  const struct strategy *inner;
  struct strategy table;
  size_t sizes[POOL_MAX_KINDS];
  struct line *lines;
  struct part parts[PARTS];
  _Atomic uint32_t threads;
} watch;

/* The number of the calling thread in this process, from 1. */
static uint32_t this_thread(void) {
  static _Thread_local uint32_t number;
  if (number == 0)
    number = atomic_fetch_add_explicit(&watch.threads, 1, memory_order_relaxed) + 1;
  return number;
}

/* Open addressing by linear probing; NULL: no room, for which half of the part is left empty. */
static struct line *place_of(struct part *part, uintptr_t number, uint64_t hash) {
  size_t i = (size_t)(hash >> 32) * GROUP + number % GROUP;
  for (;; i++) {
    struct line *line = &part->lines[i % PART_LINES];
    if (line->number == number)
      return line;
    if (line->number != 0)
      continue;
    if (part->used >= PART_LINES / 2)
      return NULL;
    part->used++;
    line->number = number;
    return line;
  }
}

static void enter(struct line *line, unsigned slot, unsigned kind, uint32_t thread) {
  uint16_t mine = (uint16_t)(1u << kind);
  line->seen |= mine;
  for (unsigned s = 0; s < SLOTS; s++)
    if (line->holder[s] != 0 && line->holder[s] != thread)
      line->shared |= (uint16_t)(mine | 1u << line->kind[s]);
  line->holder[slot] = thread;
  line->kind[slot] = (uint8_t)kind;
}

/* Enters the object on its lines as the thread's, or (thread 0) takes it out. */
static void on_each_line(const void *object, unsigned kind, uint32_t thread) {
  uintptr_t start = (uintptr_t)object, number = start / LINES_BYTES;
  uintptr_t last = (start + watch.sizes[kind] - 1) / LINES_BYTES;
  unsigned slot = start % LINES_BYTES / 8;
  while (number <= last) {
    uint64_t hash = (number / GROUP) * UINT64_C(0x9e3779b97f4a7c15);
    struct part *part = &watch.parts[hash >> 58];
    pthread_mutex_lock(&part->lock);
    do {
      struct line *line = place_of(part, number, hash);
      if (!line)
        part->lost++;
      else if (thread)
        enter(line, slot, kind, thread);
      else
        line->holder[slot] = 0;
      slot = 0;
    } while (++number <= last && number % GROUP != 0);
    pthread_mutex_unlock(&part->lock);
  }
}

static void *watched_get(struct pool_scope *scope, unsigned kind) {
  void *object = watch.inner->get(scope, kind);
  if (object)
    on_each_line(object, kind, this_thread());
  return object;
}

static void watched_put(struct pool_scope *scope, unsigned kind, void *object) {
  on_each_line(object, kind, 0);
  watch.inner->put(scope, kind, object);
}

static void watched_drop(struct pool_thread *thread, unsigned kind, void *object) {
  on_each_line(object, kind, 0);
  watch.inner->drop(thread, kind, object);
}

const struct strategy *lines_strategy(const struct strategy *inner) {
  watch.inner = inner;
  watch.table = *inner;
  return &watch.table;
}

bool lines_start(const struct kind *kinds, size_t kind_count) {
  watch.lines = pages_map(LINES_MOST * sizeof *watch.lines);
  if (!watch.lines)
    return false;
  for (size_t i = 0; i < kind_count; i++)
    watch.sizes[i] = kinds[i].size;
  for (size_t i = 0; i < PARTS; i++)
    watch.parts[i] =
        (struct part){.lock = PTHREAD_MUTEX_INITIALIZER, .lines = watch.lines + i * PART_LINES};
  watch.table.get = watched_get;
  watch.table.put = watched_put;
  watch.table.drop = watched_drop;
  return true;
}

static void count(struct lines_count *c, bool is_shared) {
  c->lines++;
  c->shared += is_shared;
}

void lines_stop(struct lines_result *out) {
  *out = (struct lines_result){0};
  watch.table.get = watch.inner->get;
  watch.table.put = watch.inner->put;
  watch.table.drop = watch.inner->drop;
  for (size_t i = 0; i < PARTS; i++)
    out->lost += watch.parts[i].lost;
  for (size_t i = 0; i < LINES_MOST; i++) {
    const struct line *line = &watch.lines[i];
    if (line->seen != 0)
      count(&out->all, line->shared != 0);
    for (unsigned k = 0; k < POOL_MAX_KINDS; k++)
      if (line->seen >> k & 1)
        count(&out->kind[k], line->shared >> k & 1);
  }
  pages_unmap(watch.lines, LINES_MOST * sizeof *watch.lines);
  watch.lines = NULL;
}
