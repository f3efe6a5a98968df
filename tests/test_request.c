/*
 * The request workload: what an op allocates, under which strategies it runs, what happens when
 * nobody answers or the answer is late, when sockets or memory cannot be had.
 *
 * The published figures of the change that pooled the timers: Request 17 allocations and 885 B,
 * then 14 and 693 B; OldRequest 55 and 2.63 kB, then 52 and 2.44 kB.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/workload_fixture.h"
#include "workloads/request/requester.h"

#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern const struct workload workload_request;

static struct run run_request(const char *case_name, const char *spec, unsigned threads,
                              uint64_t ops) {
  struct run r = {.workload = &workload_request,
                  .case_name = case_name,
                  .spec = spec,
                  .threads = threads,
                  .warm = 20,
                  .ops = ops};
  run_clean(&r);
  return r;
}

static void assert_within_10_percent(double value, double published) {
  if (value < published * 0.9 || value > published * 1.1)
    fail_msg("%.1f is not within 10 %% of %.1f", value, published);
}

/* What an op costs: exactly so many allocations, bytes within 10 %. */
static void check_profile(const char *case_name, const char *spec, unsigned allocs, double bytes) {
  enum { OPS = 200 };
  struct run r = run_request(case_name, spec, 1, OPS);
  assert_int_equal(r.counted.allocs, (uint64_t)allocs * OPS);
  /* The responder frees the question's four blocks while the answer travels. */
  assert_in_range(r.counted.frees, allocs * OPS - 4, allocs * OPS + 4);
  assert_within_10_percent((double)r.counted.alloc_bytes / OPS, bytes);
}

static void request_allocates_17_blocks_and_pooled_14(void **state) {
  (void)state;
  check_profile("Request", "malloc", 17, 885);
  check_profile("Request", "per-thread", 14, 693);
  check_profile("Request", "pooled-freelists", 14, 693);
  check_profile("Request", "global-locked", 14, 693);
}

static void old_request_allocates_55_blocks_and_pooled_52(void **state) {
  (void)state;
  check_profile("OldRequest", "malloc", 55, 2630);
  check_profile("OldRequest", "per-thread", 52, 2440);
  check_profile("OldRequest", "pooled-freelists", 52, 2440);
  check_profile("OldRequest", "global-locked", 52, 2440);
}

/* The parts of an op that the Go program has for Request, added up by hand. */
static void request_bytes_are_the_listed_parts(void **state) {
  (void)state;
  enum { OPS = 50 };
  const uint64_t channel = 96 + 64, timer = 96 + 24 + 80, messages = 2 * 80, inbox = 64,
                 copies = 2 * 64, id = 24, small = 1 + 2 + 3, broker = 64 + 48 + 8;
  struct run r = run_request("Request", "malloc", 1, OPS);
  assert_int_equal(r.counted.alloc_bytes,
                   OPS * (channel + timer + messages + inbox + copies + id + small + broker));
}

/* What other connections do must not show in what an op allocates. */
static void counts_do_not_depend_on_the_threads(void **state) {
  (void)state;
  enum { OPS = 60, THREADS = 5 };
  struct run r = run_request("Request", "pooled-freelists", THREADS, OPS);
  assert_int_equal(r.counted.allocs, 14 * OPS * THREADS);
  r = run_request("OldRequest", "malloc", THREADS, OPS);
  assert_int_equal(r.counted.allocs, 55 * OPS * THREADS);
}

static void every_op_gets_and_puts_one_timer(void **state) {
  (void)state;
  struct run r = run_request("Request", "per-thread", 2, 100);
  assert_int_equal(r.stats.gets, 200);
  assert_int_equal(r.stats.puts, 200);
  assert_int_equal(r.stats.misses, 0);
  assert_int_equal(r.stats.drops, 0);
  assert_int_equal(r.held.objects, 2);
  assert_int_equal(r.held.bytes, 2 * (96 + 24 + 80));
}

static void every_strategy_runs_it(void **state) {
  (void)state;
  for (size_t i = 0; strategies[i]; i++) {
    if (strategies[i]->flags & STRATEGY_ONE_OBJECT)
      continue;
    run_request("Request", strategies[i]->name, 2, 10);
    run_request("OldRequest", strategies[i]->name, 2, 10);
  }
}

/* -- one connection, by hand -- */

struct lone {
  struct broker *broker;
  struct timer_service timers;
  struct connection *connection;
  const struct strategy *strategy;
  struct pool *pool;
  struct pool_thread *thread;
  struct pool_scope *scope;
  struct pool_owner owner;
  char why[200];
  unsigned failed_gets; /* expected */
  int64_t live_blocks;
};

static int64_t live_blocks(void) {
  struct heap_counts c;
  heap_total(&c);
  return (int64_t)(c.allocs - c.frees);
}

static void ok(struct connection *c, struct message *m) {
  connection_publish(c, (struct text){m->reply, m->reply_length}, (struct text){NULL, 0},
                     (struct text){"ok", 2});
  message_free(m);
}

static void message_dropped(struct connection *c, struct message *m) {
  (void)c;
  message_free(m);
}

/* On the heap: when a test fails its threads live on, and must not do so in a dead stack frame. */
static struct lone *lone_open(void) {
  struct lone *l = calloc(1, sizeof *l);
  assert_non_null(l);
  l->strategy = strategy_find("per-thread");
  heap_thread_begin();
  l->live_blocks = live_blocks();
  struct pool_config config = {.threads = 1, .why = l->why, .why_size = sizeof l->why};
  l->pool = l->strategy->open(&timer_kind, 1, &config);
  assert_non_null(l->pool);
  l->thread = l->strategy->attach(l->pool);
  l->scope = pool_begin(l->strategy, l->pool, l->thread, &l->owner);
  l->broker = broker_open();
  assert_non_null(l->broker);
  assert_true(timer_service_open(&l->timers, l->why, sizeof l->why));
  l->connection = connection_open(l->broker, &l->timers, 3, 1, l->why, sizeof l->why);
  assert_non_null(l->connection);
  return l;
}

static void lone_close(struct lone *l) {
  connection_close(l->connection);
  timer_service_close(&l->timers);
  broker_close(l->broker);
  pool_end(l->strategy, l->pool, l->scope);
  l->strategy->detach(l->pool, l->thread);
  struct pool_stats stats;
  l->strategy->stats(l->pool, &stats);
  assert_int_equal(stats.gets,
                   stats.puts + l->failed_gets); /* the timer went back on every way out */
  l->strategy->close(l->pool);
  assert_int_equal(live_blocks(), l->live_blocks);
  heap_thread_end();
  free(l);
}

static void lone_serve_inboxes(struct lone *l) {
  char inboxes[INBOX_PREFIX + 2];
  snprintf(inboxes, sizeof inboxes, "%s>", l->connection->prefix);
  assert_non_null(
      connection_serve(l->connection, (struct text){inboxes, strlen(inboxes)}, requester_deliver));
}

static struct request lone_request(const struct lone *l, const char *subject, int64_t timeout_ns) {
  return (struct request){.strategy = l->strategy,
                          .scope = l->scope,
                          .subject = {subject, strlen(subject)},
                          .question = {"q", 1},
                          .timeout_ns = timeout_ns};
}

typedef enum request_outcome ask_function(struct connection *, const struct request *,
                                          struct message **);

/* Waits for the reader and the delivery thread to have seen all that came before. */
static void expect_reply(struct lone *l, ask_function *ask, const char *subject) {
  struct message *reply;
  struct request r = lone_request(l, subject, 10000000000);
  assert_int_equal(ask(l->connection, &r, &reply), REQUEST_REPLIED);
  assert_int_equal(reply->payload_length, 2);
  assert_memory_equal(reply->payload, "ok", 2);
  message_free(reply);
}

static void flush_returns_when_the_broker_has_subscribed(void **state) {
  (void)state;
  struct lone *l = lone_open();
  assert_non_null(connection_serve(l->connection, (struct text){"a.b.c", 5}, ok));
  assert_int_equal(broker_nodes(l->broker), 0); /* the line waits for company */
  assert_true(connection_flush(l->connection));
  assert_int_equal(broker_nodes(l->broker), 3);
  assert_true(connection_flush(l->connection));
  lone_close(l);
}

static void a_request_that_nobody_serves_times_out(void **state) {
  (void)state;
  struct message *reply;
  struct lone *l = lone_open();
  lone_serve_inboxes(l);
  struct request r = lone_request(l, "nobody", 2000000);
  int64_t start = timer_now_ns();
  assert_int_equal(request_shared(l->connection, &r, &reply), REQUEST_TIMED_OUT);
  assert_true(timer_now_ns() - start >= 2000000);
  assert_null(reply);
  assert_int_equal(l->connection->waiting_count, 0); /* its entry is gone */
  assert_int_equal(request_subscribing(l->connection, &r, &reply), REQUEST_TIMED_OUT);
  assert_null(reply);
  lone_close(l);
}

/*
 * Time-outs of a nanosecond: replies come late, or just in time. Either way each op has one
 * outcome, entries do not pile up, and the reply to one request never answers another.
 */
static void late_replies_answer_no_other_request(void **state) {
  (void)state;
  enum { REQUESTS = 300 };
  unsigned replied = 0;
  struct lone *l = lone_open();
  lone_serve_inboxes(l);
  assert_non_null(connection_serve(l->connection, (struct text){"srv", 3}, ok));
  for (int i = 0; i < REQUESTS; i++) {
    struct message *reply;
    struct request r = lone_request(l, "srv", 1);
    uint64_t id = l->connection->next_id;
    enum request_outcome outcome = request_shared(l->connection, &r, &reply);
    assert_int_not_equal(outcome, REQUEST_FAILED);
    assert_int_equal(l->connection->waiting_count, 0);
    if (outcome == REQUEST_REPLIED) {
      char expected[2] = {"0123456789abcdefghijklmnopqrstuvwxyz"[id % 36],
                          "0123456789abcdefghijklmnopqrstuvwxyz"[id / 36 % 36]};
      assert_memory_equal(reply->subject + INBOX_PREFIX + 12, expected, 2);
      message_free(reply);
      replied++;
    }
  }
  expect_reply(l, request_shared, "srv");
  /* All that was published before the last answer has been delivered, each once. */
  assert_int_equal(l->connection->late_replies + replied, REQUESTS);
  assert_true(l->connection->late_replies > 0);
  lone_close(l);
}

static void old_requests_leave_no_subscription_behind(void **state) {
  (void)state;
  struct lone *l = lone_open();
  assert_non_null(connection_serve(l->connection, (struct text){"srv", 3}, ok));
  expect_reply(l, request_subscribing, "srv");
  size_t nodes = broker_nodes(l->broker);
  assert_int_equal(nodes, 2); /* srv and _INBOX */
  for (int i = 0; i < 100; i++) {
    struct message *reply;
    struct request r = lone_request(l, i % 2 ? "srv" : "nobody", 1 + i % 3 * 20000);
    if (request_subscribing(l->connection, &r, &reply) == REQUEST_REPLIED)
      message_free(reply);
  }
  expect_reply(l, request_subscribing, "srv");
  assert_int_equal(broker_nodes(l->broker), nodes);
  lone_close(l);
}

static void a_broken_connection_fails_the_request_with_the_reason(void **state) {
  (void)state;
  struct message *reply;
  char why[200];
  struct lone *l = lone_open();
  struct request r = lone_request(l, "bad..subject", 10000000000);
  /* An empty token cannot be subscribed to: the broker says so and ends the session. */
  assert_non_null(connection_serve(l->connection, (struct text){"bad..subject", 12}, ok));
  assert_false(connection_flush(l->connection));
  assert_int_equal(request_shared(l->connection, &r, &reply), REQUEST_FAILED);
  connection_why(l->connection, why, sizeof why);
  assert_non_null(strstr(why, "subject or sid not valid"));
  assert_int_equal(request_subscribing(l->connection, &r, &reply), REQUEST_FAILED);
  lone_close(l);
}

static void *publish_late(void *argument) {
  struct lone *l = argument;
  heap_thread_begin();
  bool sent = connection_publish(l->connection, (struct text){"srv", 3}, (struct text){NULL, 0},
                                 (struct text){"q", 1});
  heap_thread_end();
  return sent ? l : NULL;
}

static void write_raw(struct lone *l, const char *text) {
  assert_true(wire_write(l->connection->fd, text, strlen(text)));
}

/* The reader stands still before it comes to the broker's -ERR, and a write fails meanwhile. */
static void a_write_that_fails_leaves_the_reason_to_the_broker(void **state) {
  (void)state;
  char why[200];
  pthread_t writer;
  void *sent;
  struct lone *l = lone_open();
  struct connection *c = l->connection;
  assert_non_null(connection_serve(c, (struct text){"srv", 3}, message_dropped));
  assert_true(connection_flush(c));
  pthread_rwlock_wrlock(&c->table_lock); /* what the reader needs for a message */
  write_raw(l, "PUB srv 1\r\nq\r\nSUB bad..subject 7\r\n");
  /* POLLHUP, which need not be asked for: the broker has said it and gone. */
  struct pollfd gone = {.fd = c->fd};
  assert_int_equal(poll(&gone, 1, 60000), 1);
  assert_int_equal(pthread_create(&writer, NULL, publish_late, l), 0);
  /* Time for a writer to give a reason of its own; without one this waits in vain. */
  bool failed = false;
  for (int i = 0; i < 50 && !failed; i++) {
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    pthread_mutex_lock(&c->mutex);
    failed = c->failed;
    pthread_mutex_unlock(&c->mutex);
  }
  pthread_rwlock_unlock(&c->table_lock);
  assert_int_equal(pthread_join(writer, &sent), 0);
  assert_null(sent);
  connection_why(c, why, sizeof why);
  assert_string_equal(why, "the broker says: subject or sid not valid");
  lone_close(l);
}

/* -- refusals -- */

/* Runs in a child: the limits are not to be had back. */
static int few_files(void) {
  struct rlimit limit = {40, 40};
  char why[300] = "";
  struct workload_state *ws;
  struct workload_setup setup = {
      .case_name = "Request", .threads = 32, .why = why, .why_size = sizeof why};
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
    return 1;
  if (workload_request.open(&setup, &ws))
    return 2;
  /* 32 x 2 + 16 = 80 needed; (40 - 16) / 2 = 12 fit */
  if (!strstr(why, "32 threads need 80 open files") || !strstr(why, "is 40") ||
      !strstr(why, "at most 12 threads")) {
    fprintf(stderr, "%s\n", why);
    return 3;
  }
  setup.threads = 12;
  if (!workload_request.open(&setup, &ws))
    return 4;
  workload_request.close(ws);
  return 0;
}

/* The files are there at open and gone at thread_open: the socket itself is refused. */
static int no_file_left(void) {
  char why[300] = "";
  struct workload_state *ws;
  struct workload_setup setup = {
      .case_name = "Request", .threads = 1, .why = why, .why_size = sizeof why};
  if (!workload_request.open(&setup, &ws))
    return 1;
  struct rlimit limit = {3, 3};
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
    return 2;
  struct workload_thread t = {.state = ws, .threads = 1};
  if (workload_request.thread_open(&t))
    return 3;
  if (!strstr(t.why, "cannot open a pair of sockets") || !strstr(t.why, "ulimit -n"))
    return 4;
  workload_request.close(ws);
  return 0;
}

static void in_a_child(int (*body)(void)) {
  fflush(NULL);
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0)
    _exit(body());
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 0);
}

static void too_few_open_files_are_refused_with_what_is_needed(void **state) {
  (void)state;
  in_a_child(few_files);
  in_a_child(no_file_left);
}

static void too_many_threads_are_refused(void **state) {
  (void)state;
  char why[200] = "";
  struct workload_state *ws;
  struct workload_setup setup = {
      .case_name = "Request", .threads = 4097, .why = why, .why_size = sizeof why};
  assert_false(workload_request.open(&setup, &ws));
  assert_non_null(strstr(why, "4096"));
}

static void fail_allocation(ask_function *ask, uint64_t n, uint64_t timer) {
  struct message *reply;
  struct lone *l = lone_open();
  lone_serve_inboxes(l);
  assert_non_null(connection_serve(l->connection, (struct text){"srv", 3}, ok));
  struct request r = lone_request(l, "srv", 10000000000);
  heap_fail_after(n);
  enum request_outcome outcome = ask(l->connection, &r, &reply);
  heap_fail_after(0);
  enum request_outcome expected = n < timer + TIMER_ALLOCATIONS ? REQUEST_FAILED : REQUEST_REPLIED;
  if (outcome != expected)
    fail_msg("allocation %d failed: outcome %d", (int)n, (int)outcome);
  if (outcome == REQUEST_REPLIED)
    message_free(reply);
  l->failed_gets = n >= timer && outcome == REQUEST_FAILED;
  lone_close(l);
}

/*
 * The requester's n-th allocation fails, for every n that an op reaches. The timer's three are
 * its last. Before it come, for Request: channel 2, id, inbox, first table of waiting requests;
 * for OldRequest: channel 2, id, inbox, subscription 3 and its table's entry, the lines 8 and 7.
 * What the strategy allocates to keep the timer is no failure.
 */
static void out_of_memory_fails_the_op_and_leaks_nothing(void **state) {
  (void)state;
  for (uint64_t n = 1; n <= 30; n++) {
    fail_allocation(request_shared, n, 6);
    fail_allocation(request_subscribing, n, 24);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(request_allocates_17_blocks_and_pooled_14),
      cmocka_unit_test(old_request_allocates_55_blocks_and_pooled_52),
      cmocka_unit_test(request_bytes_are_the_listed_parts),
      cmocka_unit_test(counts_do_not_depend_on_the_threads),
      cmocka_unit_test(every_op_gets_and_puts_one_timer),
      cmocka_unit_test(every_strategy_runs_it),
      cmocka_unit_test(flush_returns_when_the_broker_has_subscribed),
      cmocka_unit_test(a_request_that_nobody_serves_times_out),
      cmocka_unit_test(late_replies_answer_no_other_request),
      cmocka_unit_test(old_requests_leave_no_subscription_behind),
      cmocka_unit_test(a_broken_connection_fails_the_request_with_the_reason),
      cmocka_unit_test(a_write_that_fails_leaves_the_reason_to_the_broker),
      cmocka_unit_test(too_few_open_files_are_refused_with_what_is_needed),
      cmocka_unit_test(too_many_threads_are_refused),
      cmocka_unit_test(out_of_memory_fails_the_op_and_leaks_nothing),
  };
  return cmocka_run_group_tests_name("request", tests, NULL, NULL);
}
