/*
 * The checker; see check.h for what it finds and how.
 *
 * Owns a table of every object's state, by address, for the one pool it follows. An entry stays
 * when its object is freed, so that a second put is told from a foreign pointer, and is taken
 * over when the allocator gives the address out again.
 */
#include "strategies/support/check.h"

#include "strategies/pool.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define POISON 0xdb

extern _Thread_local const char *pool_site;
_Thread_local const char *pool_site;

enum state {
  STATE_NONE,     /* an unused place in the table */
  STATE_FRESH,    /* initialised, not given out yet */
  STATE_LIVE,     /* got */
  STATE_RETURNED, /* on its way back: put or dropped, not yet kept or freed */
  STATE_POOLED,   /* kept; poisoned when there is a shadow */
  STATE_FREED,
};

struct record {
  void *object;
  enum state state;
  unsigned kind;
  const char *got, *returned; /* sites of the last get and of the last put or drop */
  unsigned char *shadow;      /* the cleared content while pooled; room for the kind's size */
};

static struct {
  pthread_mutex_t lock;
  const struct strategy *inner;
  struct strategy wrapped;
  const struct kind *kinds; /* the workload's; NULL: no pool is open */
  size_t kind_count;
  struct kind own_kinds[POOL_MAX_KINDS]; /* what the inner strategy sees */
  struct record *records;                /* open addressing, `room` a power of two */
  size_t room, used;
  check_hook *hook;
  void *hook_arg;
} check = {.lock = PTHREAD_MUTEX_INITIALIZER};

static const char *site_or_unknown(const char *site) {
  return site ? site : "?";
}

/* Called without the lock: a hook may look at the pool. */
__attribute__((format(printf, 5, 6))) static void report(enum check_fault fault, const char *kind,
                                                         const char *first, const char *second,
                                                         const char *format, ...) {
  struct check_report r = {.fault = fault, .kind = kind, .first = first, .second = second};
  va_list args;
  va_start(args, format);
  vsnprintf(r.text, sizeof r.text, format, args);
  va_end(args);
  if (check.hook) {
    check.hook(&r, check.hook_arg);
    return;
  }
  fprintf(stderr, "pool check: %s\n", r.text);
  abort();
}

/* The checker itself cannot go on; there is nobody to report to. */
__attribute__((noreturn)) static void give_up(const char *why) {
  fprintf(stderr, "pool check: %s\n", why);
  abort();
}

/* The place of an object, or the unused one where it belongs. The table is never full. */
static struct record *place_of(struct record *records, size_t room, const void *object) {
  size_t i = ((uintptr_t)object >> 3) * UINT64_C(0x9e3779b97f4a7c15) >> 20;
  for (;; i++) {
    struct record *r = &records[i & (room - 1)];
    if (r->state == STATE_NONE || r->object == object)
      return r;
  }
}

static void grow_table(void) {
  size_t room = check.room ? check.room * 2 : 1024;
  struct record *records = calloc(room, sizeof *records);
  if (!records)
    give_up("out of memory for the table of objects");
  for (size_t i = 0; i < check.room; i++)
    if (check.records[i].state != STATE_NONE)
      *place_of(records, room, check.records[i].object) = check.records[i];
  free(check.records);
  check.records = records;
  check.room = room;
}

/* NULL when the pool never had the object. */
static struct record *find(const void *object) {
  if (check.room == 0)
    return NULL;
  struct record *r = place_of(check.records, check.room, object);
  return r->state == STATE_NONE ? NULL : r;
}

static struct record *find_or_add(void *object) {
  if (2 * (check.used + 1) > check.room)
    grow_table();
  struct record *r = place_of(check.records, check.room, object);
  if (r->state == STATE_NONE)
    check.used++;
  r->object = object;
  return r;
}

static void forget_all(void) {
  for (size_t i = 0; i < check.room; i++)
    free(check.records[i].shadow);
  free(check.records);
  check.records = NULL;
  check.room = check.used = 0;
}

/* Saves the cleared content and poisons the object. */
static void poison(struct record *r) {
  size_t size = check.kinds[r->kind].size;
  if (!r->shadow && !(r->shadow = malloc(size)))
    give_up("out of memory for an object's content");
  memcpy(r->shadow, r->object, size);
  memset(r->object, POISON, size);
}

/*
 * Brings the content back. Returns the offset of the first byte that somebody has written since
 * the put, or the kind's size.
 */
static size_t unpoison(struct record *r) {
  size_t size = check.kinds[r->kind].size, changed = 0;
  const unsigned char *bytes = r->object;
  while (changed < size && bytes[changed] == POISON)
    changed++;
  memcpy(r->object, r->shadow, size);
  return changed;
}

static void report_write(const struct record *r, size_t offset, const char *site) {
  const char *kind = check.kinds[r->kind].name;
  report(CHECK_USE_AFTER_PUT, kind, r->returned, site,
         "use after put: kind %s, put at %s, was written at byte %zu before %s", kind, r->returned,
         offset, site ? site : "it was freed");
}

/*
 * The kinds' functions. Those of the workload are called without the lock, for they may block; but
 * bytes, which only reads, under it, so that the shadow stays.
 */

static bool kind_init(unsigned kind, void *object) {
  pthread_mutex_lock(&check.lock);
  struct record *r = find_or_add(object);
  free(r->shadow);
  *r = (struct record){.object = object, .state = STATE_FRESH, .kind = kind};
  pthread_mutex_unlock(&check.lock);
  if (!check.kinds[kind].init || check.kinds[kind].init(object))
    return true;
  pthread_mutex_lock(&check.lock);
  find(object)->state = STATE_FREED;
  pthread_mutex_unlock(&check.lock);
  return false;
}

static const struct kind *kind_of(void *object) {
  pthread_mutex_lock(&check.lock);
  const struct record *r = find(object);
  const struct kind *kind = r ? &check.kinds[r->kind] : NULL;
  pthread_mutex_unlock(&check.lock);
  if (!kind)
    give_up("the strategy clears or destroys an object that it never initialised");
  return kind;
}

static void kind_clear(void *object) {
  const struct kind *kind = kind_of(object);
  if (kind->clear)
    kind->clear(object);
  pthread_mutex_lock(&check.lock);
  struct record *r = find(object);
  poison(r);
  r->state = STATE_POOLED;
  pthread_mutex_unlock(&check.lock);
}

static void kind_destroy(void *object) {
  const struct kind *kind = kind_of(object);
  pthread_mutex_lock(&check.lock);
  struct record *r = find(object), seen = *r;
  size_t changed = seen.state == STATE_POOLED ? unpoison(r) : kind->size;
  r->state = STATE_FREED;
  pthread_mutex_unlock(&check.lock);
  if (changed < kind->size)
    report_write(&seen, changed, NULL);
  if (seen.state == STATE_LIVE && !(check.inner->flags & STRATEGY_OBJECTS_DIE_WITH_SCOPE))
    report(CHECK_LEAK, kind->name, seen.got, NULL,
           "leak: kind %s, got at %s, was neither put nor dropped when the strategy freed it",
           kind->name, seen.got);
  if (kind->destroy)
    kind->destroy(object);
}

static size_t kind_bytes(const void *object) {
  pthread_mutex_lock(&check.lock);
  const struct record *r = find(object);
  const struct kind *kind = &check.kinds[r->kind];
  size_t bytes = kind->size;
  if (kind->bytes)
    bytes = kind->bytes(r->state == STATE_POOLED ? r->shadow : object);
  pthread_mutex_unlock(&check.lock);
  return bytes;
}

/* init alone must know its kind without a record: one function a kind. */
#define FOR_EACH_KIND(X) \
  X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15)
#define INIT(n)                        \
  static bool init_##n(void *object) { \
    return kind_init(n, object);       \
  }
FOR_EACH_KIND(INIT)
static bool (*const inits[])(void *object) = {
#define INIT_NAME(n) init_##n,
    FOR_EACH_KIND(INIT_NAME)};
_Static_assert(sizeof inits / sizeof inits[0] == POOL_MAX_KINDS, "one init a kind");

/* The strategy's functions. */

static struct pool *checked_open(const struct kind *kinds, size_t kind_count,
                                 const struct pool_config *config) {
  if (check.kinds) {
    snprintf(config->why, config->why_size, "the checker follows one pool at a time");
    return NULL;
  }
  if (kind_count > POOL_MAX_KINDS)
    return check.inner->open(kinds, kind_count, config); /* refuses them by itself */
  check.kinds = kinds;
  check.kind_count = kind_count;
  for (size_t i = 0; i < kind_count; i++) {
    check.own_kinds[i] = kinds[i];
    check.own_kinds[i].init = inits[i];
    check.own_kinds[i].clear = kind_clear;
    check.own_kinds[i].destroy = kind_destroy;
    check.own_kinds[i].bytes = kind_bytes;
  }
  struct pool *pool = check.inner->open(check.own_kinds, kind_count, config);
  if (!pool)
    check.kinds = NULL;
  return pool;
}

static void report_leaks(void) {
  const struct record *first = NULL;
  size_t count = 0;
  for (size_t i = 0; i < check.room; i++)
    if (check.records[i].state == STATE_LIVE && count++ == 0)
      first = &check.records[i];
  if (count == 0)
    return;
  const char *kind = check.kinds[first->kind].name;
  report(CHECK_LEAK, kind, first->got, NULL,
         "leak: %zu object%s neither put nor dropped at close; one is of kind %s, got at %s", count,
         count == 1 ? "" : "s", kind, first->got);
}

static void checked_close(struct pool *pool) {
  if (!(check.inner->flags & STRATEGY_OBJECTS_DIE_WITH_SCOPE))
    report_leaks();
  check.inner->close(pool);
  forget_all();
  check.kinds = NULL;
}

static const char *take_site(void) {
  const char *site = site_or_unknown(pool_site);
  pool_site = NULL;
  return site;
}

static void *checked_get(struct pool_scope *scope, unsigned kind) {
  const char *site = take_site();
  void *object = check.inner->get(scope, kind);
  if (!object)
    return NULL;
  size_t size = check.kinds[kind].size, align = check.kinds[kind].align;
  pthread_mutex_lock(&check.lock);
  struct record *r = find_or_add(object), seen = *r;
  size_t changed = seen.state == STATE_POOLED ? unpoison(r) : size;
  r->kind = kind;
  r->state = STATE_LIVE;
  r->got = site;
  pthread_mutex_unlock(&check.lock);
  const char *name = check.kinds[kind].name;
  if (changed < size)
    report_write(&seen, changed, site);
  if (seen.state == STATE_LIVE)
    report(CHECK_GIVEN_TWICE, name, seen.got, site,
           "given twice: kind %s, got at %s and, before it was put, again at %s", name, seen.got,
           site);
  if ((uintptr_t)object % (align ? align : _Alignof(max_align_t)) != 0)
    report(CHECK_MISALIGNED, name, NULL, site, "misaligned: kind %s, got at %s, is at %p", name,
           site, object);
  return object;
}

/* Takes the object back from its user. false when it cannot be: that has been reported. */
static bool take_back(void *object, unsigned kind, const char *verb, const char *site) {
  pthread_mutex_lock(&check.lock);
  struct record *r = find(object);
  struct record seen = r ? *r : (struct record){0};
  bool good = r && seen.state == STATE_LIVE && seen.kind == kind;
  if (good) {
    r->state = STATE_RETURNED;
    r->returned = site;
  }
  pthread_mutex_unlock(&check.lock);
  if (good)
    return true;
  if (seen.state == STATE_NONE || seen.state == STATE_FRESH || !seen.got) {
    report(CHECK_FOREIGN, NULL, NULL, site,
           "foreign pointer: %p, %s at %s as kind %s, did not come from this pool", object, verb,
           site, check.kinds[kind].name);
  } else if (seen.state == STATE_LIVE) {
    const char *name = check.kinds[seen.kind].name;
    report(CHECK_WRONG_KIND, name, seen.got, site,
           "wrong kind: kind %s, got at %s, is %s at %s as kind %s", name, seen.got, verb, site,
           check.kinds[kind].name);
  } else {
    const char *name = check.kinds[seen.kind].name;
    report(CHECK_DOUBLE_PUT, name, seen.returned, site,
           "double put: kind %s, given back at %s, is %s again at %s", name, seen.returned, verb,
           site);
  }
  return false;
}

static void checked_put(struct pool_scope *scope, unsigned kind, void *object) {
  if (take_back(object, kind, "put", take_site()))
    check.inner->put(scope, kind, object);
}

static void checked_drop(struct pool_thread *thread, unsigned kind, void *object) {
  if (take_back(object, kind, "dropped", take_site()))
    check.inner->drop(thread, kind, object);
}

const struct strategy *check_wrap(const struct strategy *inner) {
  check.inner = inner;
  check.wrapped = *inner;
  check.wrapped.open = checked_open;
  check.wrapped.close = checked_close;
  check.wrapped.get = checked_get;
  check.wrapped.put = checked_put;
  check.wrapped.drop = checked_drop;
  return &check.wrapped;
}

void check_on_report(check_hook *hook, void *arg) {
  check.hook = hook;
  check.hook_arg = arg;
}

const struct strategy *strategy_checked(const struct strategy *s) {
#ifdef POOL_CHECK
  return check_wrap(s);
#else
  return s;
#endif
}
