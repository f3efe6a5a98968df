/*
 * The request workload: one op asks a question over a connection, through a broker, and gets the
 * answer, with a timer against waiting for ever. The strategy says where the timers come from.
 *
 * Each measuring thread has its own connection, on which it also serves the subject it asks:
 *
 *     requester -> broker -> reader -> responder -> broker -> reader -> reply delivery -> requester
 *
 * each arrow a thread that hands on and then sleeps. The sockets are pairs of Unix stream sockets:
 * what a hop costs is the hand-over between two threads through the kernel, as with TCP over
 * loopback, but no port, route or congestion window can make one run differ from the next.
 *
 * The threads of a connection are started by the measuring thread and so keep to its CPU: the
 * path is sequential, a second CPU could not help it, and N threads use N CPUs, not all of them.
 */
#include "workloads/request/requester.h"
#include "workloads/workload.h"

#include "harness/heap.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

/* More than a run ever has in flight, so that a time-out is a finding and not a slow machine. */
#define TIMEOUT_NS 1000000000
/* As many connections arm their timers with one service, as several P of Go share a heap. */
#define CONNECTIONS_PER_SERVICE 8
/* Subjects have two characters of 64. */
#define MAX_CONNECTIONS 4096
/* Two ends of a socket pair a connection, and what the process has open besides. */
#define FDS_PER_CONNECTION 2
#define FDS_BESIDES 16

struct workload_state {
  bool subscribing; /* OldRequest */
  unsigned connections;
  uint64_t seed;
  struct broker *broker;
  struct timer_service *services; /* room for all that the connections need */
  unsigned service_count;         /* those that run */
};

/* A measuring thread's. */
struct asker {
  struct connection *connection;
  char subject[3];
};

static const struct workload_case cases[] = {
    {.name = "Request",
     .what = "one question and answer; replies come through one subscription",
     .flags = CASE_BLOCKS | CASE_HAS_OWNER,
     .disciplines = DISCIPLINE_BIT(DISCIPLINE_BALANCED),
     .max_threads = MAX_CONNECTIONS,
     .in_sweep = true,
     .op_hint_ns = 70e3},
    {.name = "OldRequest",
     .what = "one question and answer; each subscribes to an inbox of its own",
     .flags = CASE_BLOCKS | CASE_HAS_OWNER,
     .disciplines = DISCIPLINE_BIT(DISCIPLINE_BALANCED),
     .max_threads = MAX_CONNECTIONS,
     .op_hint_ns = 80e3},
    {.name = NULL},
};

/* Raises the soft limit of open files if it must and may. */
static bool files_suffice(unsigned connections, char *why, size_t why_size) {
  rlim_t need = (rlim_t)connections * FDS_PER_CONNECTION + FDS_BESIDES;
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) {
    snprintf(why, why_size, "cannot read the limit of open files");
    return false;
  }
  if (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= need)
    return true;
  unsigned long long allowed = limit.rlim_max;
  if (limit.rlim_max == RLIM_INFINITY || limit.rlim_max >= need) {
    limit.rlim_cur = need;
    if (setrlimit(RLIMIT_NOFILE, &limit) == 0)
      return true;
  }
  unsigned long long fit = allowed > FDS_BESIDES ? (allowed - FDS_BESIDES) / FDS_PER_CONNECTION : 0;
  char fewer[60] = "";
  if (fit > 0)
    snprintf(fewer, sizeof fewer, " or use at most %llu thread%s", fit, fit == 1 ? "" : "s");
  snprintf(why, why_size,
           "%u thread%s %llu open files (%d a connection and %d besides), the limit RLIMIT_NOFILE "
           "is %llu: raise it (ulimit -Hn %llu)%s",
           connections, connections == 1 ? " needs" : "s need", (unsigned long long)need,
           FDS_PER_CONNECTION, FDS_BESIDES, allowed, (unsigned long long)need, fewer);
  return false;
}

static void close_services(struct workload_state *s) {
  for (unsigned i = 0; i < s->service_count; i++)
    timer_service_close(&s->services[i]);
}

static unsigned services_needed(const struct workload_state *s) {
  return (s->connections + CONNECTIONS_PER_SERVICE - 1) / CONNECTIONS_PER_SERVICE;
}

static bool open_services(struct workload_state *s, char *why, size_t why_size) {
  for (; s->service_count < services_needed(s); s->service_count++)
    if (!timer_service_open(&s->services[s->service_count], why, why_size))
      return false;
  return true;
}

static void request_close(struct workload_state *s) {
  close_services(s);
  if (s->services)
    heap_free(s->services, services_needed(s) * sizeof *s->services);
  if (s->broker)
    broker_close(s->broker);
  heap_free(s, sizeof *s);
}

static bool request_open(const struct workload_setup *setup, struct workload_state **out) {
  if (setup->threads > MAX_CONNECTIONS) {
    snprintf(setup->why, setup->why_size, "%u threads: at most %d have a subject of their own",
             setup->threads, MAX_CONNECTIONS);
    return false;
  }
  if (!files_suffice(setup->threads, setup->why, setup->why_size))
    return false;
  struct workload_state *s = heap_calloc(sizeof *s);
  if (!s) {
    snprintf(setup->why, setup->why_size, "out of memory");
    return false;
  }
  s->subscribing = strcmp(setup->case_name, "OldRequest") == 0;
  s->connections = setup->threads;
  s->seed = setup->seed;
  s->broker = broker_open();
  s->services = heap_calloc(services_needed(s) * sizeof *s->services);
  if (!s->broker || !s->services)
    snprintf(setup->why, setup->why_size, "out of memory");
  else if (open_services(s, setup->why, setup->why_size)) {
    *out = s;
    return true;
  }
  request_close(s);
  return false;
}

static const struct kind *request_kinds(struct workload_state *s, size_t *count) {
  (void)s;
  *count = 1;
  return &timer_kind;
}

static void answer(struct connection *c, struct message *m) {
  if (m->reply)
    connection_publish(c, (struct text){m->reply, m->reply_length}, (struct text){NULL, 0},
                       (struct text){"ok", 2});
  message_free(m);
}

static void name_subject(char subject[3], unsigned index) {
  static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  subject[0] = letters[index / 64];
  subject[1] = letters[index % 64];
  subject[2] = '\0';
}

/*
 * Serves the subject and, for Request, all inboxes of the connection. Flushed, because every SUB
 * that the broker sees makes the matches that its sessions have cached old, and in the measured
 * part those of Request must hit.
 */
static bool serve(const struct workload_state *s, struct asker *a) {
  struct connection *c = a->connection;
  char inboxes[INBOX_PREFIX + 2];
  snprintf(inboxes, sizeof inboxes, "%s>", c->prefix);
  if (!s->subscribing &&
      !connection_serve(c, (struct text){inboxes, strlen(inboxes)}, requester_deliver))
    return false;
  return connection_serve(c, (struct text){a->subject, 2}, answer) && connection_flush(c);
}

static bool request_thread_open(struct workload_thread *t) {
  struct workload_state *s = t->state;
  struct asker *a = heap_calloc(sizeof *a);
  if (!a) {
    snprintf(t->why, sizeof t->why, "out of memory");
    return false;
  }
  name_subject(a->subject, t->index);
  struct timer_service *timers = &s->services[t->index / CONNECTIONS_PER_SERVICE];
  a->connection = connection_open(s->broker, timers, t->index, s->seed, t->why, sizeof t->why);
  if (a->connection && serve(s, a)) {
    t->local = a;
    return true;
  }
  if (a->connection) {
    connection_why(a->connection, t->why, sizeof t->why);
    connection_close(a->connection);
  }
  heap_free(a, sizeof *a);
  return false;
}

static void request_thread_close(struct workload_thread *t) {
  struct asker *a = t->local;
  if (!a)
    return;
  t->strategy->release(t->pool, &a->connection->owner);
  connection_close(a->connection);
  heap_free(a, sizeof *a);
  t->local = NULL;
}

/* Says what is wrong with an op's result; frees the reply. */
static void check_reply(struct workload_thread *t, enum request_outcome outcome,
                        struct message *reply) {
  struct asker *a = t->local;
  t->failed = true;
  if (outcome == REQUEST_FAILED)
    connection_why(a->connection, t->why, sizeof t->why);
  else if (outcome == REQUEST_TIMED_OUT)
    snprintf(t->why, sizeof t->why, "a request timed out after %d ms", TIMEOUT_NS / 1000000);
  else if (reply->payload_length != 2 || memcmp(reply->payload, "ok", 2) != 0)
    snprintf(t->why, sizeof t->why, "a reply of %zu bytes is not \"ok\"", reply->payload_length);
  else
    t->failed = false;
  if (reply)
    message_free(reply);
}

static void request_run(struct workload_thread *t, uint64_t n) {
  struct asker *a = t->local;
  struct request r = {.strategy = t->strategy,
                      .subject = {a->subject, 2},
                      .question = {"q", 1},
                      .timeout_ns = TIMEOUT_NS};
  for (; n > 0 && !t->failed; n--) {
    struct message *reply = NULL;
    r.scope = pool_begin(t->strategy, t->pool, t->pool_thread, &a->connection->owner);
    if (!r.scope) {
      t->failed = true;
      snprintf(t->why, sizeof t->why, "out of memory");
      return;
    }
    enum request_outcome outcome = t->state->subscribing
                                       ? request_subscribing(a->connection, &r, &reply)
                                       : request_shared(a->connection, &r, &reply);
    pool_end(t->strategy, t->pool, r.scope);
    check_reply(t, outcome, reply);
  }
}

const struct workload workload_request = {
    .name = "request",
    .summary = "request and reply through a broker; timers from the strategy",
    .cases = cases,
    .open = request_open,
    .close = request_close,
    .kinds = request_kinds,
    .thread_open = request_thread_open,
    .thread_close = request_thread_close,
    .run = request_run,
};
