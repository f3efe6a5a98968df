/*
 * Requests; see requester.h. What an op allocates on this side: the channel for the reply (96 and
 * 64 B), the id (24 B), the inbox (64 B), and the timer unless the strategy had one.
 */
#include "workloads/request/requester.h"

#include "harness/heap.h"

#include <string.h>

#define REPLY_CAPACITY 8 /* pointers: the Go program's 64 B */
#define FIRST_WAITING 8

/* What a request holds while it waits, freed in one place on every way out. */
struct attempt {
  struct connection *connection;
  const struct request *request;
  struct channel *replies; /* of struct message * */
  char *id;                /* ID_LENGTH + 1 */
  char *inbox;             /* INBOX_LENGTH + 1 */
  struct timer *timer;
};

/* Eleven digits of base 36, least first: distinct for 36^11 values. */
static void write_digits(char *to, uint64_t value) {
  static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyz";
  for (int i = 0; i < 11; i++, value /= 36)
    to[i] = digits[value % 36];
}

static char *make_id(struct connection *c) {
  char *id = heap_alloc(ID_LENGTH + 1);
  if (!id)
    return NULL;
  write_digits(id, c->id_salt);
  id[11] = '.';
  write_digits(id + 12, c->next_id++);
  id[ID_LENGTH] = '\0';
  return id;
}

static char *make_inbox(const struct connection *c, const char *id) {
  char *inbox = heap_alloc(INBOX_LENGTH + 1);
  if (!inbox)
    return NULL;
  memcpy(inbox, c->prefix, INBOX_PREFIX);
  memcpy(inbox + INBOX_PREFIX, id, ID_LENGTH + 1);
  return inbox;
}

static void attempt_end(struct attempt *a) {
  struct message *late;
  if (a->timer) {
    timer_retire(a->connection->timers, a->timer);
    pool_put(a->request->strategy, a->request->scope, a->request->timer_kind, a->timer);
  }
  if (a->replies) {
    while (channel_receive(a->replies, &late))
      message_free(late);
    channel_close(a->replies);
  }
  heap_free(a->inbox, INBOX_LENGTH + 1);
  heap_free(a->id, ID_LENGTH + 1);
}

static bool attempt_begin(struct attempt *a, struct connection *c, const struct request *r) {
  *a = (struct attempt){.connection = c, .request = r};
  a->replies = channel_open(REPLY_CAPACITY, sizeof(struct message *));
  a->id = make_id(c);
  a->inbox = a->id ? make_inbox(c, a->id) : NULL;
  if (a->replies && a->inbox)
    return true;
  connection_fail(c, "out of memory");
  attempt_end(a);
  return false;
}

/* Takes a timer, arms it and waits for whichever comes first; a reply wins over the time-out. */
static enum request_outcome await_reply(struct attempt *a, struct message **reply) {
  struct connection *c = a->connection;
  const struct request *r = a->request;
  a->timer = pool_get(r->strategy, r->scope, r->timer_kind);
  if (!a->timer || !timer_arm(c->timers, a->timer, r->timeout_ns)) {
    connection_fail(c, "timer: out of memory");
    return REQUEST_FAILED;
  }
  struct channel *ready = channel_wait(&c->waiter, a->replies, a->timer->channel);
  if (!ready)
    return REQUEST_FAILED;
  if (ready == a->timer->channel)
    return REQUEST_TIMED_OUT;
  channel_receive(a->replies, reply);
  return REQUEST_REPLIED;
}

/* -- Request -- */

static bool waiting_reserve(struct connection *c) {
  if (c->waiting_count < c->waiting_capacity)
    return true;
  size_t capacity = c->waiting_capacity ? 2 * c->waiting_capacity : FIRST_WAITING;
  struct waiting *grown = heap_alloc(capacity * sizeof *grown);
  if (!grown)
    return false;
  if (c->waiting) {
    memcpy(grown, c->waiting, c->waiting_count * sizeof *grown);
    heap_free(c->waiting, c->waiting_capacity * sizeof *grown);
  }
  c->waiting = grown;
  c->waiting_capacity = capacity;
  return true;
}

static bool waiting_add(struct connection *c, const char *id, struct channel *channel) {
  pthread_mutex_lock(&c->mutex);
  bool room = waiting_reserve(c);
  if (room)
    c->waiting[c->waiting_count++] = (struct waiting){id, channel};
  pthread_mutex_unlock(&c->mutex);
  if (!room)
    connection_fail(c, "out of memory");
  return room;
}

/* Under the mutex. Takes the entry out; NULL when there is none. */
static struct channel *waiting_take(struct connection *c, const char *id) {
  for (size_t i = 0; i < c->waiting_count; i++)
    if (memcmp(c->waiting[i].id, id, ID_LENGTH) == 0) {
      struct channel *channel = c->waiting[i].channel;
      c->waiting[i] = c->waiting[--c->waiting_count];
      return channel;
    }
  return NULL;
}

/*
 * Sends under the mutex: a requester that holds the mutex and finds its entry gone knows that
 * the reply is in its channel, and one that finds it there knows that none will come.
 */
void requester_deliver(struct connection *c, struct message *m) {
  bool ours = m->subject_length == INBOX_LENGTH && memcmp(m->subject, c->prefix, INBOX_PREFIX) == 0;
  pthread_mutex_lock(&c->mutex);
  struct channel *channel = ours ? waiting_take(c, m->subject + INBOX_PREFIX) : NULL;
  bool sent = channel && channel_send(channel, &m);
  c->late_replies += !sent;
  pthread_mutex_unlock(&c->mutex);
  if (!sent)
    message_free(m);
}

/* Whoever comes with the reply now finds nobody. */
static void waiting_remove(struct connection *c, const char *id) {
  pthread_mutex_lock(&c->mutex);
  waiting_take(c, id);
  pthread_mutex_unlock(&c->mutex);
}

/* Once no reply can come any more: a time-out that lost the race against one is none. */
static enum request_outcome settle(struct attempt *a, enum request_outcome outcome,
                                   struct message **reply) {
  if (outcome == REQUEST_TIMED_OUT && channel_receive(a->replies, reply))
    return REQUEST_REPLIED;
  return outcome;
}

enum request_outcome request_shared(struct connection *c, const struct request *r,
                                    struct message **reply) {
  struct attempt a;
  enum request_outcome outcome = REQUEST_FAILED;
  *reply = NULL;
  if (!attempt_begin(&a, c, r))
    return REQUEST_FAILED;
  if (waiting_add(c, a.id, a.replies)) {
    struct text inbox = {a.inbox, INBOX_LENGTH};
    if (connection_publish(c, r->subject, inbox, r->question))
      outcome = await_reply(&a, reply);
    if (outcome != REQUEST_REPLIED)
      waiting_remove(c, a.id);
    outcome = settle(&a, outcome, reply);
  }
  attempt_end(&a);
  return outcome;
}

/* -- OldRequest -- */

enum request_outcome request_subscribing(struct connection *c, const struct request *r,
                                         struct message **reply) {
  struct attempt a;
  enum request_outcome outcome = REQUEST_FAILED;
  *reply = NULL;
  if (!attempt_begin(&a, c, r))
    return REQUEST_FAILED;
  struct text inbox = {a.inbox, INBOX_LENGTH};
  struct subscription *s = connection_subscribe(c, inbox, a.replies, 1);
  if (s) {
    if (connection_publish(c, r->subject, inbox, r->question))
      outcome = await_reply(&a, reply);
    /* After its one message the broker has ended the subscription by itself. */
    connection_unsubscribe(c, s, outcome == REQUEST_TIMED_OUT);
    outcome = settle(&a, outcome, reply);
  }
  attempt_end(&a);
  return outcome;
}
