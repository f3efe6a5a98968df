/*
 * The text protocol and the broker's subscription table, by themselves.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "harness/heap.h"
#include "workloads/request/line.h"
#include "workloads/request/subjects.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static struct text text(const char *s) {
  return (struct text){s, strlen(s)};
}

static bool is(struct text t, const char *expected) {
  return t.length == strlen(expected) && memcmp(t.at, expected, t.length) == 0;
}

/* -- frames -- */

struct feed {
  int fd;
  const char *bytes;
  size_t length, step;
};

static void *feed_main(void *argument) {
  struct feed *f = argument;
  for (size_t at = 0; at < f->length; at += f->step)
    wire_write(f->fd, f->bytes + at, f->length - at < f->step ? f->length - at : f->step);
  shutdown(f->fd, SHUT_WR);
  return NULL;
}

/* What a reader makes of these bytes, sent `step` at a time and then ended. */
struct reading {
  struct wire_reader reader;
  struct wire_frame frame;
  char why[200];
  int fds[2];
  struct feed feed;
  pthread_t feeder;
};

static void reading_open(struct reading *r, const char *bytes, size_t step) {
  memset(r, 0, sizeof *r);
  assert_true(wire_pair(r->fds, r->why, sizeof r->why));
  r->reader.fd = r->fds[0];
  r->feed = (struct feed){r->fds[1], bytes, strlen(bytes), step};
  assert_int_equal(pthread_create(&r->feeder, NULL, feed_main, &r->feed), 0);
}

static enum wire_status reading_next(struct reading *r) {
  return wire_read(&r->reader, &r->frame, r->why, sizeof r->why);
}

static void reading_close(struct reading *r) {
  close(r->fds[0]);
  pthread_join(r->feeder, NULL);
  close(r->fds[1]);
}

static void frames_come_whole_wherever_the_stream_is_cut(void **state) {
  (void)state;
  const char *bytes = "SUB a.b 1\r\nPUB a.b _INBOX.x 5\r\nq\r\nqq\r\nMSG a.b 1 0\r\n\r\n"
                      "UNSUB 1 2\r\nPING\r\n-ERR any text at all, of many words\r\n";
  for (size_t step = 1; step <= strlen(bytes); step++) {
    struct reading r;
    reading_open(&r, bytes, step);
    assert_int_equal(reading_next(&r), WIRE_FRAME);
    assert_int_equal(r.frame.verb, WIRE_SUB);
    assert_true(r.frame.word_count == 2 && is(r.frame.words[0], "a.b") &&
                is(r.frame.words[1], "1"));
    assert_int_equal(reading_next(&r), WIRE_FRAME);
    assert_int_equal(r.frame.verb, WIRE_PUB);
    assert_true(is(r.frame.words[1], "_INBOX.x") && is(r.frame.payload, "q\r\nqq"));
    assert_int_equal(reading_next(&r), WIRE_FRAME);
    assert_true(r.frame.verb == WIRE_MSG && r.frame.payload.length == 0);
    assert_int_equal(reading_next(&r), WIRE_FRAME);
    assert_true(r.frame.verb == WIRE_UNSUB && is(r.frame.words[1], "2"));
    assert_int_equal(reading_next(&r), WIRE_FRAME);
    assert_true(r.frame.verb == WIRE_PING && r.frame.word_count == 0);
    assert_int_equal(reading_next(&r), WIRE_FRAME);
    assert_true(r.frame.verb == WIRE_ERR && is(r.frame.words[0], "any text at all, of many words"));
    assert_int_equal(reading_next(&r), WIRE_CLOSED);
    reading_close(&r);
  }
}

static void broken_input_is_named(void **state) {
  (void)state;
  static char long_line[400];
  memset(long_line, 'x', sizeof long_line - 1);
  const struct {
    const char *bytes, *why;
  } cases[] = {
      {"HELLO a\r\n", "unknown verb: \"HELLO a\""},
      {"\r\n", "not words separated by one space"},
      {"SUB  a 1\r\n", "not words separated by one space"},
      {"SUB a 1 \r\n", "not words separated by one space"},
      {"SUB a\r\n", "wrong number of words"},
      {"PING 1\r\n", "wrong number of words"},
      {"UNSUB 1 2 3\r\n", "wrong number of words"},
      {"PUB a b c 1\r\nx\r\n", "wrong number of words"},
      {"PUB a b c d e f\r\n", "not words separated by one space"},
      {"PUB a x\r\n", "payload size is no number"},
      {"PUB a -1\r\n", "payload size is no number"},
      {"PUB a 1025\r\n", "payload size is no number up to 1024"},
      {"PUB a 99999999999999999999999\r\n", "payload size is no number"},
      {"PUB a 1\r\nxyz\r\n", "payload not followed by a line end"},
      {"SUB a", "ended in the middle of a frame"},
      {"PUB a 3\r\nab", "ended in the middle of a frame"},
      {long_line, "line longer than 256 bytes"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct reading r;
    reading_open(&r, cases[i].bytes, 1000);
    assert_int_equal(reading_next(&r), WIRE_BROKEN);
    if (!strstr(r.why, cases[i].why))
      fail_msg("%s: \"%s\" does not say \"%s\"", cases[i].bytes, r.why, cases[i].why);
    reading_close(&r);
  }
}

static void messages_are_made_as_they_are_read(void **state) {
  (void)state;
  char out[WIRE_MAX_FRAME], payload[WIRE_MAX_PAYLOAD + 1] = {0};
  struct text none = {NULL, 0};
  size_t n = wire_message(out, "MSG", text("a"), text("7"), text("r"), text("ok"));
  assert_true(is((struct text){out, n}, "MSG a 7 r 2\r\nok\r\n"));
  n = wire_message(out, "PUB", text("a"), none, none, none);
  assert_true(is((struct text){out, n}, "PUB a 0\r\n\r\n"));
  struct text longest = {payload, WIRE_MAX_PAYLOAD}, longer = {payload, WIRE_MAX_PAYLOAD + 1};
  assert_int_equal(wire_message(out, "PUB", text("a"), none, none, longest), 10 + 2 + 1024 + 2);
  assert_int_equal(wire_message(out, "PUB", text("a"), none, none, longer), 0);
  struct text wide = {payload, WIRE_MAX_LINE};
  assert_int_equal(wire_message(out, "PUB", wide, none, none, none), 0);
}

static void formatted_lines_box_their_arguments(void **state) {
  (void)state;
  const struct line_argument words[] = {{"SUB", 0}, {"a.b", 0}, {"", 0}, {NULL, 12}};
  struct heap_counts before, after;
  heap_thread_begin();
  heap_total(&before);
  struct line l = line_format(words, 4);
  heap_total(&after);
  assert_true(is((struct text){l.text, l.length}, "SUB a.b 12\r\n"));
  line_free(&l);
  /* The list 4 x 16, three texts 16, a number 8, its digits 16, the line 24. */
  assert_int_equal(after.allocs - before.allocs, 1 + 3 + 1 + 1 + 1);
  assert_int_equal(after.alloc_bytes - before.alloc_bytes, 64 + 48 + 8 + 16 + 24);
  assert_int_equal(after.allocs - before.allocs - (after.frees - before.frees), 1);
  for (uint64_t n = 1; n <= 7; n++) {
    heap_total(&before);
    heap_fail_after(n);
    l = line_format(words, 4);
    heap_fail_after(0);
    heap_total(&after);
    assert_null(l.text);
    assert_int_equal(after.allocs - before.allocs, after.frees - before.frees);
  }
  heap_thread_end();
}

/* -- the subscription table -- */

struct table {
  struct subjects subjects;
  struct match_cache cache;
  struct subscriber *list; /* of the one session there is; the table does not look into it */
};

static void table_open(struct table *t) {
  memset(t, 0, sizeof *t);
  assert_true(subjects_init(&t->subjects));
}

static void table_close(struct table *t) {
  subjects_end_all(&t->subjects, &t->list);
  match_cache_free(&t->cache);
  subjects_free(&t->subjects);
}

static enum subjects_result add(struct table *t, const char *subject, const char *sid) {
  return subjects_add(&t->subjects, NULL, &t->list, text(subject), text(sid));
}

/* The sids that a subject reaches, as digits in ascending order: "13". */
static const char *reached(struct table *t, const char *subject) {
  static char sids[SUBJECTS_MAX_TARGETS + 1];
  struct target targets[SUBJECTS_MAX_TARGETS];
  size_t count, n = 0;
  assert_int_equal(subjects_route(&t->subjects, &t->cache, text(subject), targets, &count),
                   SUBJECTS_DONE);
  for (char digit = '0'; digit <= '9'; digit++)
    for (size_t i = 0; i < count; i++)
      if (targets[i].sid[0] == digit)
        sids[n++] = digit;
  sids[n] = '\0';
  return sids;
}

static void subjects_reach_who_subscribed_to_them(void **state) {
  (void)state;
  struct table t;
  table_open(&t);
  assert_int_equal(add(&t, "a", "1"), SUBJECTS_DONE);
  assert_int_equal(add(&t, "a.b", "2"), SUBJECTS_DONE);
  assert_int_equal(add(&t, "a.>", "3"), SUBJECTS_DONE);
  assert_int_equal(add(&t, "a.b", "4"), SUBJECTS_DONE);
  assert_int_equal(add(&t, ">", "5"), SUBJECTS_DONE);
  assert_int_equal(add(&t, "a.b.>", "6"), SUBJECTS_DONE);
  for (int twice = 0; twice < 2; twice++) { /* from the trie, then from the cache */
    assert_string_equal(reached(&t, "a"), "15");
    assert_string_equal(reached(&t, "a.b"), "2345");
    assert_string_equal(reached(&t, "a.b.c"), "356");
    assert_string_equal(reached(&t, "a.c.d"), "35");
    assert_string_equal(reached(&t, "ab"), "5");
    assert_string_equal(reached(&t, "b"), "5");
  }
  assert_int_equal(subjects_end(&t.subjects, &t.list, text("2"), 0), SUBJECTS_DONE);
  assert_string_equal(reached(&t, "a.b"), "345"); /* the cached match is old and not used */
  assert_int_equal(add(&t, "a.b", "7"), SUBJECTS_DONE);
  assert_string_equal(reached(&t, "a.b"), "3457");
  table_close(&t);
}

static void bad_subjects_are_refused(void **state) {
  (void)state;
  static const char *const bad[] = {"",
                                    ".",
                                    "a.",
                                    ".a",
                                    "a..b",
                                    ">.a",
                                    "a.>.b",
                                    "a.1234567890123456789012345678",
                                    "1.2.3.4.5.6.7.8.9.10.11.12.13.14.15.16.17"};
  struct table t;
  table_open(&t);
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
    if (add(&t, bad[i], "1") != SUBJECTS_BAD)
      fail_msg("\"%s\" was accepted", bad[i]);
  assert_int_equal(add(&t, "a", "1234567890123456"), SUBJECTS_BAD);
  assert_int_equal(add(&t, "a", ""), SUBJECTS_BAD);
  assert_int_equal(subjects_nodes(&t.subjects), 0);
  table_close(&t);
}

static void a_bounded_subscription_gets_so_many_messages(void **state) {
  (void)state;
  struct table t;
  table_open(&t);
  add(&t, "a", "1");
  subjects_end(&t.subjects, &t.list, text("1"), 2);
  assert_string_equal(reached(&t, "a"), "1");
  assert_string_equal(reached(&t, "a"), "1");
  assert_string_equal(reached(&t, "a"), "");
  add(&t, "b", "2");
  assert_string_equal(reached(&t, "b"), "2");
  subjects_end(&t.subjects, &t.list, text("2"), 1); /* it has had its one */
  assert_string_equal(reached(&t, "b"), "");
  subjects_end(&t.subjects, &t.list, text("99"), 1); /* unknown: no error */
  table_close(&t);
}

static void too_many_receivers_are_refused(void **state) {
  (void)state;
  struct table t;
  struct target targets[SUBJECTS_MAX_TARGETS];
  size_t count;
  table_open(&t);
  for (int i = 0; i <= SUBJECTS_MAX_TARGETS; i++)
    assert_int_equal(add(&t, "a", "1"), SUBJECTS_DONE);
  assert_int_equal(subjects_route(&t.subjects, &t.cache, text("a"), targets, &count),
                   SUBJECTS_TOO_MANY);
  assert_int_equal(count, 0);
  table_close(&t);
}

/*
 * By hand: a fresh subject of five tokens below a level that stays costs four nodes (48 B) and
 * tokens (36 B), a subscriber (96 B), its copies of subject (64 B) and sid (16 B) and a list of
 * five spans (8 B each). Ending it frees all but the list and adds the key (16 B), freed too.
 */
static void a_fresh_subject_costs_what_the_go_program_lists(void **state) {
  (void)state;
  const char *inbox = "_INBOX.aaaaaaaaaaaaaaaa.bbbbbbbbbbbbbbb.ccccccccccc.ddddddddddd";
  struct table t;
  struct heap_counts a, b;
  heap_thread_begin();
  table_open(&t);
  assert_int_equal(add(&t, "_INBOX", "1"), SUBJECTS_DONE);
  heap_total(&a);
  assert_int_equal(add(&t, inbox, "2"), SUBJECTS_DONE);
  heap_total(&b);
  assert_int_equal(b.allocs - a.allocs, 4 + 4 + 1 + 2 + 1);
  assert_int_equal(b.alloc_bytes - a.alloc_bytes, 4 * 48 + 4 * 36 + 96 + 64 + 16 + 5 * 8);
  subjects_end(&t.subjects, &t.list, text("2"), 0);
  heap_total(&b);
  assert_int_equal(b.allocs - a.allocs, b.frees - a.frees);
  assert_int_equal(subjects_nodes(&t.subjects), 1);
  /* A miss of the cache: match, list and copy of the subject; a hit: nothing. */
  heap_total(&a);
  reached(&t, "_INBOX");
  heap_total(&b);
  assert_int_equal(b.allocs - a.allocs, 3);
  assert_int_equal(b.alloc_bytes - a.alloc_bytes, 48 + 8 + 7);
  reached(&t, "_INBOX");
  heap_total(&a);
  assert_int_equal(a.allocs, b.allocs);
  subjects_end(&t.subjects, &t.list, text("1"), 0);
  assert_int_equal(subjects_nodes(&t.subjects), 1); /* the first level stays */
  table_close(&t);
  heap_thread_end();
}

static void out_of_memory_keeps_nothing(void **state) {
  (void)state;
  for (uint64_t n = 1; n <= 15; n++) {
    struct table t;
    struct heap_counts a, b;
    heap_thread_begin();
    table_open(&t);
    heap_total(&a);
    heap_fail_after(n);
    enum subjects_result result = add(&t, "a.b.c.d.e", "1");
    heap_fail_after(0);
    heap_total(&b);
    /* spans, subscriber, its two texts, five nodes with their tokens: 14 */
    assert_int_equal(result, n <= 14 ? SUBJECTS_NO_MEMORY : SUBJECTS_DONE);
    if (n <= 14) /* nodes of the first level stay, here "a" */
      assert_in_range(b.allocs - a.allocs - (b.frees - a.frees), 0, 2);
    table_close(&t);
    heap_total(&b);
    assert_int_equal(b.allocs, b.frees);
    heap_thread_end();
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(frames_come_whole_wherever_the_stream_is_cut),
      cmocka_unit_test(broken_input_is_named),
      cmocka_unit_test(messages_are_made_as_they_are_read),
      cmocka_unit_test(formatted_lines_box_their_arguments),
      cmocka_unit_test(subjects_reach_who_subscribed_to_them),
      cmocka_unit_test(bad_subjects_are_refused),
      cmocka_unit_test(a_bounded_subscription_gets_so_many_messages),
      cmocka_unit_test(too_many_receivers_are_refused),
      cmocka_unit_test(a_fresh_subject_costs_what_the_go_program_lists),
      cmocka_unit_test(out_of_memory_keeps_nothing),
  };
  return cmocka_run_group_tests_name("request wire", tests, NULL, NULL);
}
