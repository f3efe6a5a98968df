/*
 * What the contract in strategy.h promises, asked of every strategy in the registry. A test is
 * skipped only where the strategy's flags say that the promise is not made. The example in
 * docs/strategies.md is asked too.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "strategies_example.inc" /* the example, taken from the page by make */
#include "tests/strategy_fixture.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { PLAIN, LINE, PAIR_OF_LINES, TABLE, PATTERN, KINDS };

/* An object that holds memory of its own, like a recycled map. Cleared: no entries, table kept. */
struct table {
  uint64_t *slots;
  size_t used, room;
};

static bool table_init(void *p) {
  struct table *t = p;
  *t = (struct table){.slots = heap_alloc(4 * sizeof *t->slots), .room = 4};
  return t->slots != NULL;
}
static void table_clear(void *p) {
  ((struct table *)p)->used = 0;
}
static void table_destroy(void *p) {
  struct table *t = p;
  heap_free(t->slots, t->room * sizeof *t->slots);
}
static size_t table_bytes(const void *p) {
  return sizeof(struct table) + ((const struct table *)p)->room * sizeof(uint64_t);
}

/* An object whose cleared state is no zero anywhere, the first word included. */
struct pattern {
  unsigned char bytes[40];
};
static bool pattern_init(void *p) {
  memset(p, 0xa5, sizeof(struct pattern));
  return true;
}
static void pattern_clear(void *p) {
  memset(p, 0xa5, sizeof(struct pattern));
}

static const struct kind kinds[KINDS] = {
    [PLAIN] = {.name = "plain", .size = 16},
    [LINE] = {.name = "line", .size = 64, .align = 64},
    [PAIR_OF_LINES] = {.name = "pair of lines", .size = 192, .align = 128},
    [TABLE] = {.name = "table",
               .size = sizeof(struct table),
               .init = table_init,
               .clear = table_clear,
               .destroy = table_destroy,
               .bytes = table_bytes},
    [PATTERN] = {.name = "pattern",
                 .size = sizeof(struct pattern),
                 .init = pattern_init,
                 .clear = pattern_clear},
};

static bool is_cleared(unsigned kind, const void *object) {
  if (kind == TABLE) {
    const struct table *t = object;
    return t->slots && t->used == 0 && t->room >= 4;
  }
  if (kind == PATTERN) {
    struct pattern expected;
    memset(&expected, 0xa5, sizeof expected);
    return memcmp(object, &expected, sizeof expected) == 0;
  }
  return true;
}

static bool is_aligned(unsigned kind, const void *object) {
  size_t align = kinds[kind].align ? kinds[kind].align : _Alignof(max_align_t);
  return (uintptr_t)object % align == 0;
}

/* Writes all that a user of the object may write. */
static void use(unsigned kind, void *object, unsigned char value) {
  if (kind == TABLE) {
    struct table *t = object;
    t->slots[t->used++] = value;
  } else {
    memset(object, value, kinds[kind].size);
  }
}

/* The strategy of a spec with or without options. */
static const struct strategy *strategy_of(void **spec) {
  char name[STRATEGY_SPEC_MAX];
  snprintf(name, sizeof name, "%s", (const char *)*spec);
  name[strcspn(name, ":")] = '\0';
  return strcmp(name, fixture_extra->name) == 0 ? fixture_extra : strategy_find(name);
}

static void skip_if(void **spec, unsigned flags) {
  if (strategy_of(spec)->flags & flags)
    skip();
}

static void open_kinds(struct fixture *f, const char *spec) {
  fixture_open(f, spec, kinds, KINDS);
}

static void objects_are_aligned_and_cleared(void **spec) {
  struct fixture f;
  open_kinds(&f, *spec);
  unsigned live = f.s->flags & STRATEGY_ONE_OBJECT ? 1 : 50;
  for (int round = 0; round < 3; round++) {
    struct pool_scope *scope = fixture_begin(&f, f.thread, &f.owner);
    for (unsigned kind = 0; kind < KINDS; kind++) {
      void *objects[50];
      for (unsigned i = 0; i < live; i++) {
        objects[i] = pool_get(f.s, scope, kind);
        assert_non_null(objects[i]);
        assert_true(is_aligned(kind, objects[i]));
        assert_true(is_cleared(kind, objects[i]));
        use(kind, objects[i], (unsigned char)i);
      }
      for (unsigned i = live; i-- > 0;)
        pool_put(f.s, scope, kind, objects[i]);
    }
    pool_end(f.s, f.pool, scope);
  }
  fixture_close(&f);
}

static void live_objects_do_not_overlap(void **spec) {
  skip_if(spec, STRATEGY_ONE_OBJECT);
  struct fixture f;
  open_kinds(&f, *spec);
  struct pool_scope *scope = fixture_begin(&f, f.thread, &f.owner);
  enum { LIVE = 100 };
  unsigned char *objects[LIVE];
  for (int round = 0; round < 2; round++) {
    for (unsigned i = 0; i < LIVE; i++) {
      objects[i] = pool_get(f.s, scope, i % 3);
      memset(objects[i], (int)i, kinds[i % 3].size);
    }
    for (unsigned i = 0; i < LIVE; i++)
      for (size_t b = 0; b < kinds[i % 3].size; b++)
        assert_int_equal(objects[i][b], i);
    for (unsigned i = 0; i < LIVE; i++)
      pool_put(f.s, scope, i % 3, objects[i]);
  }
  pool_end(f.s, f.pool, scope);
  fixture_close(&f);
}

/* 100 gets, all misses; 100 puts; 100 gets, all hits. */
static void what_was_put_is_got_again(void **spec) {
  skip_if(spec, STRATEGY_OBJECTS_DIE_WITH_SCOPE);
  struct fixture f;
  open_kinds(&f, *spec);
  bool one = f.s->flags & STRATEGY_ONE_OBJECT;
  bool never = f.s->flags & STRATEGY_NEVER_HITS;
  unsigned live = one ? 1 : 100;
  struct pool_scope *scope = fixture_begin(&f, f.thread, &f.owner);
  void *objects[100];
  for (int round = 0; round < 2; round++) {
    for (unsigned i = 0; i < live; i++)
      objects[i] = pool_get(f.s, scope, PLAIN);
    for (unsigned i = 0; i < live; i++)
      pool_put(f.s, scope, PLAIN, objects[i]);
  }
  pool_end(f.s, f.pool, scope);
  struct pool_stats stats = fixture_stats(&f);
  assert_int_equal(stats.gets, 2 * live);
  assert_int_equal(stats.puts, 2 * live);
  assert_int_equal(stats.misses, one ? 0 : never ? 200 : 100);
  assert_int_equal(stats.drops, 0);
  assert_int_equal(stats.overflows, 0);
  fixture_close(&f);
}

static void scopes_nest(void **spec) {
  struct fixture f;
  open_kinds(&f, *spec);
  bool one = f.s->flags & STRATEGY_ONE_OBJECT;
  bool die = f.s->flags & STRATEGY_OBJECTS_DIE_WITH_SCOPE;
  struct pool_owner inner_owner = {0};
  for (int round = 0; round < 3; round++) {
    struct pool_scope *outer = fixture_begin(&f, f.thread, &f.owner);
    void *a = pool_get(f.s, outer, PATTERN);
    struct pool_scope *inner = fixture_begin(&f, f.thread, &inner_owner);
    void *b = pool_get(f.s, inner, one ? PLAIN : PATTERN);
    assert_non_null(a);
    assert_non_null(b);
    assert_ptr_not_equal(a, b);
    assert_true(is_cleared(PATTERN, a));
    /* Objects may go back through another scope than they came from. */
    pool_put(f.s, die ? outer : inner, PATTERN, a);
    if (die || one)
      pool_put(f.s, inner, one ? PLAIN : PATTERN, b);
    pool_end(f.s, f.pool, inner);
    if (!die && !one)
      pool_put(f.s, outer, PATTERN, b);
    void *c = pool_get(f.s, outer, PATTERN);
    assert_true(is_cleared(PATTERN, c));
    pool_put(f.s, outer, PATTERN, c);
    pool_end(f.s, f.pool, outer);
  }
  fixture_release(&f, &inner_owner);
  fixture_close(&f);
}

struct guest {
  struct fixture *f;
  unsigned kind;
  void **objects;
  unsigned count;
  bool leaves_first; /* detaches before the main thread looks */
};

/* Another thread that puts what the main thread got. */
static void *guest_puts(void *arg) {
  struct guest *guest = arg;
  struct fixture *f = guest->f;
  struct pool_owner owner = {0};
  heap_thread_begin();
  struct pool_thread *thread = f->s->attach(f->pool);
  struct pool_scope *scope = fixture_begin(f, thread, &owner);
  for (unsigned i = 0; i < guest->count; i++)
    pool_put(f->s, scope, guest->kind, guest->objects[i]);
  pool_end(f->s, f->pool, scope);
  fixture_release(f, &owner);
  f->s->detach(f->pool, thread);
  heap_thread_end();
  return NULL;
}

static void run_guest(struct guest *guest, void *(*body)(void *)) {
  pthread_t id;
  assert_int_equal(pthread_create(&id, NULL, body, guest), 0);
  assert_int_equal(pthread_join(id, NULL), 0);
}

static void objects_outlive_scope_and_thread(void **spec) {
  skip_if(spec, STRATEGY_ONE_OBJECT | STRATEGY_OBJECTS_DIE_WITH_SCOPE);
  struct fixture f;
  open_kinds(&f, *spec);
  void *objects[20];
  struct pool_scope *scope = fixture_begin(&f, f.thread, &f.owner);
  for (unsigned i = 0; i < 20; i++)
    use(TABLE, objects[i] = pool_get(f.s, scope, TABLE), (unsigned char)i);
  pool_end(f.s, f.pool, scope);
  run_guest(&(struct guest){.f = &f, .kind = TABLE, .objects = objects, .count = 10}, guest_puts);
  for (unsigned i = 10; i < 20; i++)
    assert_int_equal(((struct table *)objects[i])->slots[0], i);
  scope = fixture_begin(&f, f.thread, &f.owner);
  for (unsigned i = 10; i < 20; i++)
    pool_put(f.s, scope, TABLE, objects[i]);
  pool_end(f.s, f.pool, scope);
  struct pool_stats stats = fixture_stats(&f);
  assert_int_equal(stats.gets, 20);
  assert_int_equal(stats.puts, 20);
  fixture_close(&f);
}

static bool has_option(const struct strategy *s, const char *key) {
  for (const struct strategy_option *o = s->options; o && o->key; o++)
    if (strcmp(o->key, key) == 0)
      return true;
  return false;
}

static void cap_bounds_what_is_kept(void **spec) {
  struct fixture f;
  if (!has_option(strategy_of(spec), "cap"))
    skip();
  char capped[100];
  snprintf(capped, sizeof capped, "%s:cap=10", (const char *)*spec);
  open_kinds(&f, capped);
  void *objects[35];
  struct pool_scope *scope = fixture_begin(&f, f.thread, &f.owner);
  for (int round = 0; round < 2; round++) {
    for (unsigned i = 0; i < 35; i++)
      objects[i] = pool_get(f.s, scope, TABLE);
    for (unsigned i = 0; i < 35; i++)
      pool_put(f.s, scope, TABLE, objects[i]);
  }
  pool_end(f.s, f.pool, scope);
  assert_int_equal(fixture_held(&f).objects, 10);
  struct pool_stats stats = fixture_stats(&f);
  assert_int_equal(stats.overflows, 2 * 25);
  assert_int_equal(stats.misses, 35 + 25);
  assert_int_equal(stats.puts, 70);
  fixture_close(&f);
}

/*
 * bytes=200 keeps of 35 objects of 16 B twelve (192 B), and of tables with 4 slots of 8 B, which
 * weigh 24 + 32 = 56 B, three (168 B); room that a get has made is filled again.
 */
static void bytes_bound_what_is_kept(void **spec) {
  static const unsigned weighed[] = {PLAIN, TABLE}, kept[] = {12, 3};
  if (!has_option(strategy_of(spec), "bytes") || strstr(*spec, "size=1"))
    skip(); /* the depot of small magazines has bytes of its own */
  char bounded[100];
  struct fixture f;
  snprintf(bounded, sizeof bounded, "%s:bytes=200", (const char *)*spec);
  for (int i = 0; i < 2; i++) {
    void *objects[35];
    open_kinds(&f, bounded);
    struct pool_scope *scope = fixture_begin(&f, f.thread, &f.owner);
    for (int round = 0; round < 3; round++) {
      for (unsigned n = 0; n < 35; n++)
        objects[n] = pool_get(f.s, scope, weighed[i]);
      for (unsigned n = 0; n < 35; n++)
        pool_put(f.s, scope, weighed[i], objects[n]);
    }
    pool_end(f.s, f.pool, scope);
    assert_int_equal(fixture_held(&f).objects, kept[i]);
    assert_true(fixture_held(&f).bytes <= 200);
    assert_int_equal(fixture_stats(&f).overflows, 3 * (35 - kept[i]));
    fixture_close(&f);
  }
}

/* One big object is not kept where there is a bound below it, and many small ones still are. */
static void a_big_object_is_not_kept(void **spec) {
  if (!has_option(strategy_of(spec), "bytes"))
    skip();
  char bounded[100];
  struct fixture f;
  snprintf(bounded, sizeof bounded, "%s:bytes=1000", (const char *)*spec);
  open_kinds(&f, bounded);
  struct pool_scope *scope = fixture_begin(&f, f.thread, &f.owner);
  struct table *big = pool_get(f.s, scope, TABLE), *small = pool_get(f.s, scope, TABLE);
  table_destroy(big);
  big->slots = heap_alloc(1000 * sizeof *big->slots);
  big->room = 1000;
  pool_put(f.s, scope, TABLE, big);
  pool_put(f.s, scope, TABLE, small);
  pool_end(f.s, f.pool, scope);
  assert_int_equal(fixture_held(&f).objects, 1);
  assert_int_equal(fixture_stats(&f).overflows, 1);
  fixture_close(&f);
}

static void drop_frees_and_does_not_recycle(void **spec) {
  struct fixture f;
  open_kinds(&f, *spec);
  bool frees = !(f.s->flags & (STRATEGY_ONE_OBJECT | STRATEGY_OBJECTS_DIE_WITH_SCOPE));
  struct pool_scope *scope = fixture_begin(&f, f.thread, &f.owner);
  int64_t before = fixture_live_bytes();
  void *object = pool_get(f.s, scope, TABLE);
  use(TABLE, object, 1);
  pool_drop(f.s, f.thread, TABLE, object);
  if (frees)
    assert_int_equal(fixture_live_bytes(), before);
  pool_end(f.s, f.pool, scope);
  if (frees)
    assert_int_equal(fixture_held(&f).objects, 0);
  struct pool_stats stats = fixture_stats(&f);
  assert_int_equal(stats.drops, 1);
  assert_int_equal(stats.gets, 1);
  assert_int_equal(stats.puts, 0);
  fixture_close(&f);
}

/* Two tables, one of them grown: held says 2 objects and both tables' bytes. */
static void held_counts_what_hangs_off_an_object(void **spec) {
  skip_if(spec, STRATEGY_ONE_OBJECT | STRATEGY_NEVER_HITS | STRATEGY_OBJECTS_DIE_WITH_SCOPE);
  struct fixture f;
  open_kinds(&f, *spec);
  struct pool_scope *scope = fixture_begin(&f, f.thread, &f.owner);
  struct table *a = pool_get(f.s, scope, TABLE), *b = pool_get(f.s, scope, TABLE);
  table_destroy(a);
  a->slots = heap_alloc(100 * sizeof *a->slots);
  a->room = 100;
  pool_put(f.s, scope, TABLE, a);
  pool_put(f.s, scope, TABLE, b);
  pool_end(f.s, f.pool, scope);
  struct pool_held held = fixture_held(&f);
  assert_int_equal(held.objects, 2);
  assert_int_equal(held.bytes, 2 * sizeof(struct table) + 104 * sizeof(uint64_t));
  fixture_close(&f);
}

static void fill(struct fixture *f, unsigned count) {
  void *objects[100];
  struct pool_scope *scope = fixture_begin(f, f->thread, &f->owner);
  for (unsigned i = 0; i < count; i++)
    objects[i] = pool_get(f->s, scope, TABLE);
  for (unsigned i = 0; i < count; i++)
    pool_put(f->s, scope, TABLE, objects[i]);
  pool_end(f->s, f->pool, scope);
}

/* After two trims (a strategy may keep a victim for one) nothing is kept. */
static void trim_frees_what_is_pooled(void **spec) {
  skip_if(spec, STRATEGY_ONE_OBJECT | STRATEGY_NEEDS_OWNER);
  struct fixture f;
  open_kinds(&f, *spec);
  fill(&f, 1);
  for (int i = 0; i < 2; i++) {
    f.s->trim(f.pool);
    f.s->quiesce(f.pool, f.thread);
  }
  int64_t base = fixture_live_bytes();
  fill(&f, 100);
  assert_true(f.s->flags & STRATEGY_NEVER_HITS || fixture_live_bytes() > base);
  for (int i = 0; i < 2; i++) {
    f.s->trim(f.pool);
    f.s->quiesce(f.pool, f.thread);
  }
  assert_int_equal(fixture_held(&f).objects, 0);
  assert_int_equal(fixture_live_bytes(), base);
  fill(&f, 100);
  fixture_close(&f);
}

/* A busy thread never calls quiesce: its next scopes trim. */
static void trim_happens_at_begin_and_end(void **spec) {
  skip_if(spec, STRATEGY_ONE_OBJECT | STRATEGY_NEEDS_OWNER);
  struct fixture f;
  open_kinds(&f, *spec);
  fill(&f, 100);
  for (int i = 0; i < 2; i++) {
    f.s->trim(f.pool);
    struct pool_scope *scope = fixture_begin(&f, f.thread, &f.owner);
    pool_end(f.s, f.pool, scope);
  }
  assert_int_equal(fixture_held(&f).objects, 0);
  fill(&f, 100);
  for (int i = 0; i < 2; i++) {
    struct pool_scope *scope = fixture_begin(&f, f.thread, &f.owner);
    f.s->trim(f.pool);
    pool_end(f.s, f.pool, scope);
  }
  assert_int_equal(fixture_held(&f).objects, 0);
  fixture_close(&f);
}

struct counted_guest {
  struct fixture *f;
  pthread_barrier_t *counted, *looked;
};

/* 5 gets, 3 puts, 2 drops of kind PLAIN; one at a time. */
static void count_some(struct fixture *f, struct pool_thread *thread, struct pool_owner *owner) {
  struct pool_scope *scope = fixture_begin(f, thread, owner);
  for (int i = 0; i < 5; i++) {
    void *object = pool_get(f->s, scope, PLAIN);
    if (i < 3)
      pool_put(f->s, scope, PLAIN, object);
    else
      pool_drop(f->s, thread, PLAIN, object);
  }
  pool_end(f->s, f->pool, scope);
}

static void *guest_counts(void *arg) {
  struct counted_guest *guest = arg;
  struct fixture *f = guest->f;
  struct pool_owner owner = {0};
  heap_thread_begin();
  struct pool_thread *thread = f->s->attach(f->pool);
  count_some(f, thread, &owner);
  pthread_barrier_wait(guest->counted);
  pthread_barrier_wait(guest->looked);
  fixture_release(f, &owner);
  f->s->detach(f->pool, thread);
  heap_thread_end();
  return NULL;
}

static void stats_sum_present_and_past_threads(void **spec) {
  struct fixture f;
  open_kinds(&f, *spec);
  pthread_barrier_t counted, looked;
  pthread_barrier_init(&counted, NULL, 2);
  pthread_barrier_init(&looked, NULL, 2);
  struct counted_guest guest = {&f, &counted, &looked};
  pthread_t id;
  assert_int_equal(pthread_create(&id, NULL, guest_counts, &guest), 0);
  pthread_barrier_wait(&counted);
  count_some(&f, f.thread, &f.owner);
  struct pool_stats present = fixture_stats(&f);
  pthread_barrier_wait(&looked);
  pthread_join(id, NULL);
  struct pool_stats past = fixture_stats(&f);
  assert_int_equal(present.gets, 10);
  assert_int_equal(present.puts, 6);
  assert_int_equal(present.drops, 4);
  assert_int_equal(past.gets, 10);
  assert_int_equal(past.puts, 6);
  assert_int_equal(past.drops, 4);
  pthread_barrier_destroy(&counted);
  pthread_barrier_destroy(&looked);
  fixture_close(&f);
}

/* The life of a pool; every NULL is followed as a caller must. Nothing else is looked at. */
static void live_through(const char *spec) {
  struct fixture f;
  if (!fixture_try_open(&f, spec, kinds, KINDS))
    return;
  unsigned live = f.s->flags & STRATEGY_ONE_OBJECT ? 1 : 20;
  f.thread = f.s->attach(f.pool);
  for (int round = 0; f.thread && round < 2; round++) {
    struct pool_scope *scope = fixture_begin(&f, f.thread, &f.owner);
    for (unsigned kind = 0; scope && kind < KINDS; kind++) {
      void *objects[20];
      for (unsigned i = 0; i < live; i++)
        objects[i] = pool_get(f.s, scope, kind);
      for (unsigned i = 0; i < live; i++)
        if (objects[i] && kind == TABLE && i == 0)
          pool_drop(f.s, f.thread, kind, objects[i]);
        else if (objects[i])
          pool_put(f.s, scope, kind, objects[i]);
    }
    if (scope)
      pool_end(f.s, f.pool, scope);
    f.s->trim(f.pool);
  }
  fixture_close(&f); /* checks the balance */
}

/* Every allocation of that life fails once, alone. */
static void any_allocation_may_fail(void **spec) {
  struct heap_counts before, after;
  int64_t live = fixture_live_bytes();
  heap_total(&before);
  live_through(*spec);
  heap_total(&after);
  uint64_t allocations = after.allocs - before.allocs;
  assert_true(allocations > 0);
  for (uint64_t k = 1; k <= allocations; k++) {
    heap_fail_after(k);
    live_through(*spec);
    heap_fail_after(0);
    assert_int_equal(fixture_live_bytes(), live);
  }
}

static void kinds_are_checked(void **spec) {
  struct fixture f;
  struct kind odd[POOL_MAX_KINDS + 1] = {{.name = "odd", .size = 24, .align = 24}};
  assert_false(fixture_try_open(&f, *spec, odd, 1));
  assert_non_null(strstr(f.why, "kind odd"));
  assert_non_null(strstr(f.why, "power of two"));
  odd[0] = (struct kind){.name = "small", .size = sizeof(void *) - 1};
  assert_false(fixture_try_open(&f, *spec, odd, 1));
  assert_non_null(strstr(f.why, "kind small: size 7, alignment 0; a size is at least 8"));
  assert_false(fixture_try_open(&f, *spec, odd, 0));
  assert_false(fixture_try_open(&f, *spec, odd, POOL_MAX_KINDS + 1));
  assert_non_null(strstr(f.why, "17 kinds"));
}

static void option_values_are_checked(void **spec) {
  static const char *const values[] = {"", "-1", "abc", "1x", "99999999999999999999", " 5"};
  const struct strategy *s = strategy_of(spec);
  if (!s->options)
    skip();
  for (const struct strategy_option *o = s->options; o->key; o++)
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
      char text[100];
      struct fixture f;
      snprintf(text, sizeof text, "%s:%s=%s", s->name, o->key, values[i]);
      assert_false(fixture_try_open(&f, text, kinds, KINDS));
      assert_non_null(strstr(f.why, o->key));
      assert_non_null(strstr(f.why, o->values));
    }
}

/* The options' own fallbacks must pass their own check. */
static void fallbacks_can_be_given(void **spec) {
  const struct strategy *s = strategy_of(spec);
  if (!s->options)
    skip();
  for (const struct strategy_option *o = s->options; o->key; o++) {
    char text[100];
    struct fixture f;
    snprintf(text, sizeof text, "%s:%s=%s", s->name, o->key, o->fallback);
    fixture_open(&f, text, kinds, KINDS);
    fixture_close(&f);
  }
}

struct promise {
  const char *name;
  void (*test)(void **spec);
};

#define PROMISE(test) \
  { #test, test }
static const struct promise promises[] = {
    PROMISE(objects_are_aligned_and_cleared),
    PROMISE(live_objects_do_not_overlap),
    PROMISE(what_was_put_is_got_again),
    PROMISE(scopes_nest),
    PROMISE(objects_outlive_scope_and_thread),
    PROMISE(cap_bounds_what_is_kept),
    PROMISE(bytes_bound_what_is_kept),
    PROMISE(a_big_object_is_not_kept),
    PROMISE(drop_frees_and_does_not_recycle),
    PROMISE(held_counts_what_hangs_off_an_object),
    PROMISE(trim_frees_what_is_pooled),
    PROMISE(trim_happens_at_begin_and_end),
    PROMISE(stats_sum_present_and_past_threads),
    PROMISE(any_allocation_may_fail),
    PROMISE(kinds_are_checked),
    PROMISE(option_values_are_checked),
    PROMISE(fallbacks_can_be_given),
};
enum { PROMISES = sizeof promises / sizeof promises[0] };

/* Options that change what a strategy does, not only how much. */
static const char *const variants[] = {
    "pooled-freelists:slot=none",
    "global-locked:lock=adaptive",
    "global-locked:lock=ticket",
    "global-locked:lock=mcs",
    "magazine:size=1",
    "magazine:size=1:lock=ticket",
    "per-cpu:way=lock",
};
enum { VARIANTS = sizeof variants / sizeof variants[0] };

int main(void) {
  size_t strategy_count = 0;
  while (strategies[strategy_count])
    strategy_count++;
  size_t count = strategy_count + VARIANTS + 1;
  fixture_extra = &strategy_shelf;
  struct CMUnitTest *tests = calloc(count * PROMISES, sizeof *tests);
  char(*names)[100] = calloc(count * PROMISES, sizeof *names);
  if (!tests || !names)
    return 2;
  for (size_t i = 0; i < count * PROMISES; i++) {
    const struct promise *promise = &promises[i % PROMISES];
    size_t arm = i / PROMISES;
    const char *spec = arm < strategy_count              ? strategies[arm]->name
                       : arm < strategy_count + VARIANTS ? variants[arm - strategy_count]
                                                         : fixture_extra->name;
    snprintf(names[i], sizeof names[i], "%s: %s", spec, promise->name);
    tests[i] = (struct CMUnitTest){
        .name = names[i], .test_func = promise->test, .initial_state = (void *)(uintptr_t)spec};
  }
  /* So that a pool that goes by the CPU finds again what it was given. */
  cpu_set_t before;
  fixture_stay_on_cpu(0, &before);
  heap_thread_begin();
  int failed = _cmocka_run_group_tests("strategies", tests, count * PROMISES, NULL, NULL);
  heap_thread_end();
  free(names);
  free(tests);
  return failed;
}
