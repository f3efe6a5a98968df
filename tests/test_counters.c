/*
 * Counters over stand-in sources, which count what they are told, refuse what they are told, and
 * keep a book of what is open; and the real sources as far as every machine allows.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/counters.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- stand-ins ---- */

static struct {
  int opens, groups, starts;
  bool no_open, no_start, no_memory;
} book;

struct fake_group {
  size_t count;
  uint64_t values[COUNTERS_MAX];
};

static bool claims_a(const char *event) {
  return event[0] == 'a';
}
static bool claims_all(const char *event) {
  return event != NULL;
}
static bool always(const char *event) {
  return strstr(event, "must") != NULL;
}

static bool open_fake(char *why, size_t why_size) {
  book.opens++;
  if (book.no_open)
    strncpy(why, "switched off", why_size);
  return !book.no_open;
}

/* An event is worth the digits at its end; "refuse" in its name means what it says. */
static void *attach_fake(const char *const *events, size_t count, char (*why)[COUNTER_WHY_MAX]) {
  struct fake_group *g = book.no_memory ? NULL : calloc(1, sizeof *g);
  if (!g)
    return NULL;
  book.groups++;
  g->count = count;
  for (size_t i = 0; i < count; i++)
    if (strstr(events[i], "refuse"))
      strcpy(why[i], "refused");
    else
      g->values[i] = strtoull(events[i] + strcspn(events[i], "0123456789"), NULL, 10);
  return g;
}

static bool start_fake(void *group) {
  (void)group;
  book.starts++;
  return !book.no_start;
}

static bool stop_fake(void *group, uint64_t *values) {
  struct fake_group *g = group;
  memcpy(values, g->values, g->count * sizeof *values);
  return true;
}

static void detach_fake(void *group) {
  book.groups--;
  free(group);
}

#define FAKE(given_name, given_claims)                                                      \
  {                                                                                         \
    .name = given_name, .claims = given_claims, .open = open_fake, .always_counts = always, \
    .attach = attach_fake, .start = start_fake, .stop = stop_fake, .detach = detach_fake    \
  }
static const struct counter_source first = FAKE("first", claims_a);
static const struct counter_source second = FAKE("second", claims_all);
static const struct counter_source *const fakes[] = {&first, &second, NULL};

static void list_listing(counter_named *each, void *context) {
  each(context, "cycles", false);
  each(context, "pmu::LINES_IN", true);
}
static const struct counter_source listing = {.name = "listing",
                                              .claims = claims_all,
                                              .open = open_fake,
                                              .always_counts = always,
                                              .attach = attach_fake,
                                              .start = start_fake,
                                              .stop = stop_fake,
                                              .detach = detach_fake,
                                              .list = list_listing};
static const struct counter_source *const listed[] = {&listing, NULL};

static int clear_book(void **state) {
  (void)state;
  memset(&book, 0, sizeof book);
  return 0;
}

/* ---- tests ---- */

static bool known(const struct counter_source *const *sources, const char *event, char text[400]) {
  struct counters c;
  struct error e = {0};
  assert_true(counters_open(&c, event, sources, false, &e));
  strcpy(c.events[0].why, "missing");
  bool is = counters_known(&c, &e);
  if (!is)
    assert_int_equal(e.status, EXIT_USAGE);
  snprintf(text, 400, "%.399s", e.text);
  return is;
}

static void a_name_that_no_source_lists_is_refused(void **state) {
  (void)state;
  char text[400];
  assert_true(known(listed, "cycles", text));
  assert_true(known(listed, "pmu::LINES_IN:ALL", text));
  assert_true(known(listed, "lines_in", text));
  assert_false(known(listed, "LINES_IN_ALL_OF_THEM", text));
  assert_false(known(listed, "cylces", text));
  assert_non_null(strstr(text, "\"cylces\"; did you mean cycles?"));
  assert_false(known(listed, "zebra", text));
  assert_null(strstr(text, "did you mean"));
  /* A source that cannot be opened, or does not list, may know it where it can. */
  book.no_open = true;
  assert_true(known(listed, "zebra", text));
  assert_false(known(listed, "cylces", text));
  book.no_open = false;
  assert_true(known(fakes, "zebra", text));
}

static void what_counts_is_known_whatever_its_name(void **state) {
  (void)state;
  struct counters c;
  struct error e;
  assert_true(counters_open(&c, "zebra", listed, true, &e));
  assert_true(counters_known(&c, &e));
}

static void events_go_to_the_source_that_claims_them(void **state) {
  (void)state;
  struct counters c;
  struct counter_thread t;
  struct error e;
  assert_true(counters_open(&c, "a11,b22,a33,z44", fakes, false, &e));
  assert_int_equal(c.count, 4);
  assert_ptr_equal(c.events[0].source, &first);
  assert_ptr_equal(c.events[1].source, &second);
  assert_ptr_equal(c.events[2].source, &first);
  assert_int_equal(book.opens, 2);
  assert_true(counter_thread_attach(&t, &c));
  counter_thread_start(&t);
  counter_thread_stop(&t);
  assert_int_equal(t.values[0], 11);
  assert_int_equal(t.values[1], 22);
  assert_int_equal(t.values[2], 33);
  assert_int_equal(t.values[3], 44);
  counter_thread_detach(&t);
  counter_thread_detach(&t); /* again is harmless */
  assert_int_equal(book.groups, 0);
}

static void an_unused_source_is_not_opened(void **state) {
  (void)state;
  struct counters c;
  struct error e;
  assert_true(counters_open(&c, "b1", fakes, true, &e));
  assert_int_equal(book.opens, 1);
  assert_true(counters_open(&c, "", fakes, true, &e));
  assert_int_equal(c.count, 0);
  assert_int_equal(book.opens, 1);
  struct counter_thread t;
  assert_true(counter_thread_attach(&t, &c));
  counter_thread_start(&t);
  counter_thread_stop(&t);
  counter_thread_detach(&t);
  assert_int_equal(book.groups, 0);
}

static void what_does_not_count_is_missing_with_the_reason(void **state) {
  (void)state;
  struct counters c;
  struct error e;
  assert_true(counters_open(&c, "a-must5,a-must0,a-may0,a-refuse,b6", fakes, true, &e));
  assert_string_equal(c.events[0].why, "");
  assert_non_null(strstr(c.events[1].why, "counts nothing"));
  assert_string_equal(c.events[2].why, ""); /* 0 can be true of it */
  assert_string_equal(c.events[3].why, "refused");
  assert_string_equal(c.events[4].why, "");
  assert_int_equal(book.groups, 0);

  struct counter_thread t;
  assert_true(counter_thread_attach(&t, &c)); /* the missing ones are left out */
  counter_thread_start(&t);
  counter_thread_stop(&t);
  assert_int_equal(t.values[0], 5);
  assert_int_equal(t.values[1], 0);
  assert_int_equal(t.values[4], 6);
  counter_thread_detach(&t);
}

static void a_closed_source_closes_its_events_only(void **state) {
  (void)state;
  struct counters c;
  struct error e;
  book.no_open = true;
  assert_true(counters_open(&c, "a1", fakes, true, &e));
  assert_string_equal(c.events[0].why, "switched off");
  book.no_open = false;
  book.no_start = true;
  assert_true(counters_open(&c, "a1,b2", fakes, true, &e));
  assert_non_null(strstr(c.events[1].why, "started"));
  assert_int_equal(book.groups, 0);
}

static void running_out_of_memory_leaves_nothing_open(void **state) {
  (void)state;
  struct counters c;
  struct counter_thread t;
  struct error e;
  book.no_memory = true;
  assert_true(counters_open(&c, "a1,b2", fakes, true, &e));
  assert_non_null(strstr(c.events[0].why, "memory"));
  assert_true(counters_open(&c, "a1,b2", fakes, false, &e));
  assert_false(counter_thread_attach(&t, &c));
  assert_int_equal(book.groups, 0);
}

static void refuses_lists_that_make_no_sense(void **state) {
  (void)state;
  char long_list[4 * COUNTERS_MAX + 8] = "", long_name[COUNTER_NAME_MAX + 1];
  for (int i = 0; i <= COUNTERS_MAX; i++)
    sprintf(long_list + strlen(long_list), "%se%d", i ? "," : "", i);
  memset(long_name, 'n', sizeof long_name - 1);
  long_name[sizeof long_name - 1] = '\0';
  const struct {
    const char *list, *says;
  } bad[] = {
      {"a,,b", "empty name"}, {",a", "empty name"},        {"a,", "empty name"},
      {"a,b,a", "twice"},     {long_list, "more than 16"}, {long_name, "longer than 63"},
  };
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    struct counters c;
    struct error e = {0};
    assert_false(counters_open(&c, bad[i].list, fakes, true, &e));
    assert_non_null(strstr(e.text, bad[i].says));
    assert_int_equal(e.status, EXIT_USAGE);
  }
}

/* On any machine: an event either counts or says why not; faults that happen are seen. */
static void the_real_sources_count_or_say_why(void **state) {
  (void)state;
  struct counters c;
  struct counter_thread t;
  struct error e;
  assert_true(counters_probe("page-faults,PAPI_TOT_INS,no-such-event", &c, &e));
  assert_true(c.events[2].why[0] != '\0');
  assert_true(counter_thread_attach(&t, &c));
  counter_thread_start(&t);
  size_t size = 1u << 20;
  volatile char *p = aligned_alloc(4096, size);
  assert_non_null(p);
  for (size_t i = 0; i < size; i += 4096)
    p[i] = 1;
  counter_thread_stop(&t);
  free((void *)p);
  for (size_t i = 0; i < 2; i++)
    if (c.events[i].why[0] == '\0') {
      assert_string_equal(t.why[i], "");
      assert_true(t.values[i] >= 1);
    }
  counter_thread_detach(&t);
}

int main(void) {
#define CLEAR(test) cmocka_unit_test_setup(test, clear_book)
  const struct CMUnitTest tests[] = {
      CLEAR(events_go_to_the_source_that_claims_them),
      CLEAR(a_name_that_no_source_lists_is_refused),
      CLEAR(what_counts_is_known_whatever_its_name),
      CLEAR(an_unused_source_is_not_opened),
      CLEAR(what_does_not_count_is_missing_with_the_reason),
      CLEAR(a_closed_source_closes_its_events_only),
      CLEAR(running_out_of_memory_leaves_nothing_open),
      CLEAR(refuses_lists_that_make_no_sense),
      CLEAR(the_real_sources_count_or_say_why),
  };
  return cmocka_run_group_tests_name("counters", tests, NULL, NULL);
}
