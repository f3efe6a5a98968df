/*
 * A client's connection; see connection.h. Nothing here knows of requests: requester.c does.
 */
#include "workloads/request/connection.h"

#include "harness/heap.h"
#include "workloads/request/line.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

_Static_assert(sizeof(struct message) <= MESSAGE_BYTES, "fits the Go program's size");
_Static_assert(sizeof(struct subscription) <= SUBSCRIPTION_BYTES, "fits the Go program's size");

/* The table's entry for a subscription. */
struct table_entry {
  struct table_entry *next;
  struct subscription *subscription;
};

static char *copy_bytes(const char *at, size_t length, size_t size) {
  char *copy = heap_alloc(size);
  if (copy) {
    memcpy(copy, at, length);
    memset(copy + length, 0, size - length);
  }
  return copy;
}

void message_free(struct message *m) {
  if (m->subject)
    heap_free(m->subject, m->subject_length + 1);
  if (m->reply)
    heap_free(m->reply, m->reply_length + 1);
  if (m->payload)
    heap_free(m->payload, m->payload_length);
  heap_free(m, MESSAGE_BYTES);
}

/* Copies a MSG frame out of the read buffer. NULL when out of memory. */
static struct message *message_make(const struct wire_frame *f) {
  struct message *m = heap_calloc(MESSAGE_BYTES);
  if (!m)
    return NULL;
  bool asks = f->word_count == 4;
  m->subject_length = f->words[0].length;
  m->subject = copy_bytes(f->words[0].at, m->subject_length, m->subject_length + 1);
  if (asks) {
    m->reply_length = f->words[2].length;
    m->reply = copy_bytes(f->words[2].at, m->reply_length, m->reply_length + 1);
  }
  m->payload_length = f->payload.length;
  if (m->payload_length > 0)
    m->payload = copy_bytes(f->payload.at, m->payload_length, m->payload_length);
  if (m->subject && (m->reply || !asks) && (m->payload || m->payload_length == 0))
    return m;
  message_free(m);
  return NULL;
}

/* -- failure -- */

void connection_fail(struct connection *c, const char *why) {
  pthread_mutex_lock(&c->mutex);
  if (!c->failed && !c->closing) {
    c->failed = true;
    snprintf(c->why, sizeof c->why, "%s", why);
  }
  pthread_cond_broadcast(&c->answered);
  pthread_mutex_unlock(&c->mutex);
  waiter_cancel(&c->waiter);
  shutdown(c->fd, SHUT_RDWR); /* ends the reader and the broker's session */
}

void connection_why(struct connection *c, char *why, size_t why_size) {
  pthread_mutex_lock(&c->mutex);
  snprintf(why, why_size, "%s", c->failed ? c->why : "the connection is closing");
  pthread_mutex_unlock(&c->mutex);
}

/* -- output; under the mutex -- */

static bool output_append(struct connection *c, const char *data, size_t length) {
  if (length > CONNECTION_OUTPUT - c->output_length)
    return false;
  memcpy(c->output + c->output_length, data, length);
  c->output_length += length;
  return true;
}

static bool output_flush(struct connection *c) {
  bool sent = wire_write(c->fd, c->output, c->output_length);
  c->output_length = 0;
  return sent;
}

/*
 * A write failed: the broker has ended the session. What it said before that may still lie in the
 * socket, so the reason is the reader's: it reads to the end and always fails the connection.
 */
static void write_failed(struct connection *c) {
  shutdown(c->fd, SHUT_RDWR); /* leaves what has been received to be read */
  pthread_mutex_lock(&c->mutex);
  while (!c->failed && !c->closing)
    pthread_cond_wait(&c->answered, &c->mutex);
  pthread_mutex_unlock(&c->mutex);
}

/* Formats a line and leaves it in the output, after what it holds has been sent if need be. */
static bool output_line(struct connection *c, const struct line_argument *arguments, size_t count) {
  struct line line = line_format(arguments, count);
  if (!line.text) {
    connection_fail(c, "out of memory");
    return false;
  }
  pthread_mutex_lock(&c->mutex);
  bool done = output_append(c, line.text, line.length) ||
              (output_flush(c) && output_append(c, line.text, line.length));
  pthread_mutex_unlock(&c->mutex);
  line_free(&line);
  if (!done)
    write_failed(c);
  return done;
}

bool connection_publish(struct connection *c, struct text subject, struct text reply,
                        struct text payload) {
  char frame[WIRE_MAX_FRAME];
  size_t length = wire_message(frame, "PUB", subject, (struct text){NULL, 0}, reply, payload);
  if (length == 0) {
    connection_fail(c, "PUB longer than the protocol allows");
    return false;
  }
  pthread_mutex_lock(&c->mutex);
  if (length > CONNECTION_OUTPUT - c->output_length)
    output_flush(c); /* if that fails, so does the next write */
  bool sent = length <= CONNECTION_OUTPUT ? output_append(c, frame, length) && output_flush(c)
                                          : wire_write(c->fd, frame, length);
  pthread_mutex_unlock(&c->mutex);
  if (!sent)
    write_failed(c);
  return sent;
}

bool connection_flush(struct connection *c) {
  static const char ping[] = "PING\r\n";
  pthread_mutex_lock(&c->mutex);
  bool sent = output_flush(c) && wire_write(c->fd, ping, sizeof ping - 1);
  uint64_t mine = ++c->pings;
  while (sent && c->pongs < mine && !c->failed && !c->closing)
    pthread_cond_wait(&c->answered, &c->mutex);
  bool handled = c->pongs >= mine;
  pthread_mutex_unlock(&c->mutex);
  if (!sent)
    write_failed(c);
  return handled;
}

static void note_pong(struct connection *c) {
  pthread_mutex_lock(&c->mutex);
  c->pongs++;
  pthread_cond_broadcast(&c->answered);
  pthread_mutex_unlock(&c->mutex);
}

/* -- subscriptions -- */

static void *delivery_main(void *argument) {
  struct subscription *s = argument;
  heap_thread_begin();
  pthread_mutex_lock(&s->lock);
  for (;;) {
    while (!s->first && !s->ending)
      pthread_cond_wait(&s->cond, &s->lock);
    struct message *m = s->first;
    if (!m)
      break;
    s->first = m->next;
    if (!s->first)
      s->last = &s->first;
    pthread_mutex_unlock(&s->lock);
    s->handler(s->connection, m);
    pthread_mutex_lock(&s->lock);
  }
  pthread_mutex_unlock(&s->lock);
  heap_thread_end();
  return NULL;
}

static void subscription_free(struct subscription *s) {
  if (s->subject)
    heap_free(s->subject, s->subject_length + 1);
  if (s->sid_text)
    heap_free(s->sid_text, SID_SIZE);
  pthread_cond_destroy(&s->cond);
  pthread_mutex_destroy(&s->lock);
  heap_free(s, SUBSCRIPTION_BYTES);
}

static struct subscription *subscription_make(struct connection *c, struct text subject,
                                              message_handler *handler, struct channel *channel) {
  struct subscription *s = heap_alloc(SUBSCRIPTION_BYTES);
  if (!s)
    return NULL;
  *s = (struct subscription){
      .connection = c, .subject_length = subject.length, .handler = handler, .channel = channel};
  pthread_mutex_init(&s->lock, NULL);
  pthread_cond_init(&s->cond, NULL);
  s->last = &s->first;
  s->subject = copy_bytes(subject.at, subject.length, subject.length + 1);
  s->sid_text = heap_calloc(SID_SIZE);
  if (s->subject && s->sid_text)
    return s;
  subscription_free(s);
  return NULL;
}

/* By the sid's text, as it comes in a MSG. Sids count up, so their last digits spread them. */
static struct table_entry **bucket_of(struct connection *c, struct text sid) {
  size_t hash = 0;
  for (size_t i = 0; i < sid.length; i++)
    hash = hash * 10 + (unsigned char)sid.at[i];
  return &c->table[hash % SUBSCRIPTION_BUCKETS];
}

static struct text sid_of(const struct subscription *s) {
  return (struct text){s->sid_text, strlen(s->sid_text)};
}

/* Gives it a sid and makes it known to the reader. */
static bool table_add(struct connection *c, struct subscription *s) {
  struct table_entry *e = heap_alloc(sizeof *e);
  if (!e)
    return false;
  pthread_rwlock_wrlock(&c->table_lock);
  s->sid = ++c->next_sid;
  snprintf(s->sid_text, SID_SIZE, "%" PRIu64, s->sid);
  struct table_entry **bucket = bucket_of(c, sid_of(s));
  *e = (struct table_entry){*bucket, s};
  *bucket = e;
  pthread_rwlock_unlock(&c->table_lock);
  return true;
}

/* When this returns the reader has let go of the subscription. */
static void table_remove(struct connection *c, struct subscription *s) {
  pthread_rwlock_wrlock(&c->table_lock);
  struct table_entry **at = bucket_of(c, sid_of(s));
  while ((*at)->subscription != s)
    at = &(*at)->next;
  struct table_entry *e = *at;
  *at = e->next;
  pthread_rwlock_unlock(&c->table_lock);
  heap_free(e, sizeof *e);
}

/* Under the table's lock. NULL when nobody has this sid any more. */
static struct subscription *table_find(struct connection *c, struct text sid) {
  for (struct table_entry *e = *bucket_of(c, sid); e; e = e->next) {
    struct text have = sid_of(e->subscription);
    if (have.length == sid.length && memcmp(have.at, sid.at, sid.length) == 0)
      return e->subscription;
  }
  return NULL;
}

static bool send_sub(struct connection *c, const struct subscription *s) {
  const struct line_argument words[] = {{"SUB", 0}, {s->subject, 0}, {"", 0}, {NULL, s->sid}};
  return output_line(c, words, sizeof words / sizeof words[0]);
}

static bool send_unsub(struct connection *c, const struct subscription *s, unsigned most) {
  const struct line_argument words[] = {{"UNSUB", 0}, {NULL, s->sid}, {NULL, most}};
  return output_line(c, words, most > 0 ? 3 : 2);
}

/* Stops the delivery thread, if there is one, after what it has been given. */
static void delivery_stop(struct subscription *s) {
  if (!s->has_thread)
    return;
  pthread_mutex_lock(&s->lock);
  s->ending = true;
  pthread_cond_signal(&s->cond);
  pthread_mutex_unlock(&s->lock);
  pthread_join(s->thread, NULL);
}

static bool delivery_start(struct subscription *s) {
  int error = pthread_create(&s->thread, NULL, delivery_main, s);
  if (error != 0) {
    char why[120];
    snprintf(why, sizeof why, "cannot start a delivery thread: %s", strerror(error));
    connection_fail(s->connection, why);
    return false;
  }
  s->has_thread = true;
  return true;
}

/* A subscription in the table; NULL: failed. */
static struct subscription *subscribe(struct connection *c, struct text subject,
                                      message_handler *handler, struct channel *channel) {
  struct subscription *s = subscription_make(c, subject, handler, channel);
  if (s && table_add(c, s))
    return s;
  if (s)
    subscription_free(s);
  connection_fail(c, "out of memory");
  return NULL;
}

void connection_unsubscribe(struct connection *c, struct subscription *s, bool tell) {
  if (tell)
    send_unsub(c, s, 0);
  table_remove(c, s);
  delivery_stop(s);
  subscription_free(s);
}

struct subscription *connection_serve(struct connection *c, struct text subject,
                                      message_handler *handler) {
  struct subscription *s = subscribe(c, subject, handler, NULL);
  if (!s)
    return NULL;
  if (delivery_start(s) && send_sub(c, s))
    return s;
  connection_unsubscribe(c, s, false);
  return NULL;
}

struct subscription *connection_subscribe(struct connection *c, struct text subject,
                                          struct channel *channel, unsigned most) {
  struct subscription *s = subscribe(c, subject, NULL, channel);
  if (!s)
    return NULL;
  if (send_sub(c, s) && send_unsub(c, s, most))
    return s;
  connection_unsubscribe(c, s, false);
  return NULL;
}

/* -- the reader -- */

/* Under the table's lock. A message for nobody is freed, as is one that finds no room. */
static void hand_over(struct subscription *s, struct message *m) {
  if (!s) {
    message_free(m);
  } else if (s->channel) {
    if (!channel_send(s->channel, &m))
      message_free(m);
  } else {
    pthread_mutex_lock(&s->lock);
    *s->last = m;
    s->last = &m->next;
    pthread_cond_signal(&s->cond);
    pthread_mutex_unlock(&s->lock);
  }
}

static bool receive(struct connection *c, const struct wire_frame *f) {
  struct message *m = message_make(f);
  if (!m) {
    connection_fail(c, "reader: out of memory");
    return false;
  }
  pthread_rwlock_rdlock(&c->table_lock);
  hand_over(table_find(c, f->words[1]), m);
  pthread_rwlock_unlock(&c->table_lock);
  return true;
}

/* What the broker sent instead of a message; always ends the reader. */
static void reader_end(struct connection *c, enum wire_status status, const struct wire_frame *f,
                       const char *what) {
  char why[sizeof c->why + 40];
  if (status == WIRE_CLOSED)
    snprintf(why, sizeof why, "the broker closed the connection");
  else if (status == WIRE_BROKEN)
    snprintf(why, sizeof why, "from the broker: %s", what);
  else if (f->verb == WIRE_ERR)
    snprintf(why, sizeof why, "the broker says: %.*s", (int)f->words[0].length, f->words[0].at);
  else
    snprintf(why, sizeof why, "a client takes MSG, PONG and -ERR");
  connection_fail(c, why);
}

static void *reader_main(void *argument) {
  struct connection *c = argument;
  struct wire_frame frame;
  char why[160];
  heap_thread_begin();
  for (;;) {
    enum wire_status status = wire_read(&c->reader, &frame, why, sizeof why);
    bool fine = status == WIRE_FRAME && (frame.verb == WIRE_MSG || frame.verb == WIRE_PONG);
    if (!fine)
      reader_end(c, status, &frame, why);
    else if (frame.verb == WIRE_PONG)
      note_pong(c);
    else
      fine = receive(c, &frame);
    if (!fine)
      break;
  }
  heap_thread_end();
  return NULL;
}

/* -- open and close -- */

/* A small mixer (splitmix64), so that names differ in every digit. */
static uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/*
 * The first token below _INBOX is the connection's alone (mix is one to one): an op of OldRequest
 * then makes and prunes four nodes of the broker's trie, whatever other connections do.
 */
static void name_inboxes(struct connection *c, unsigned index, uint64_t seed) {
  snprintf(c->prefix, sizeof c->prefix, "_INBOX.%016" PRIx64 ".%07x%08x.", mix(seed ^ mix(index)),
           (unsigned)(mix(seed) & 0xfffffff), index);
  c->id_salt = mix(seed ^ mix(~(uint64_t)index));
}

static struct connection *connection_make(struct timer_service *timers, unsigned index,
                                          uint64_t seed) {
  struct connection *c = heap_calloc(sizeof *c);
  if (!c)
    return NULL;
  pthread_mutex_init(&c->mutex, NULL);
  pthread_cond_init(&c->answered, NULL);
  pthread_rwlock_init(&c->table_lock, NULL);
  waiter_init(&c->waiter);
  c->timers = timers;
  c->fd = -1;
  name_inboxes(c, index, seed);
  return c;
}

static void connection_free(struct connection *c) {
  if (c->fd >= 0)
    close(c->fd);
  if (c->waiting)
    heap_free(c->waiting, c->waiting_capacity * sizeof *c->waiting);
  waiter_destroy(&c->waiter);
  pthread_rwlock_destroy(&c->table_lock);
  pthread_cond_destroy(&c->answered);
  pthread_mutex_destroy(&c->mutex);
  heap_free(c, sizeof *c);
}

/* Both ends of the socket and the threads at them. */
static bool connect_to(struct connection *c, struct broker *b, char *why, size_t why_size) {
  int fds[2];
  if (!wire_pair(fds, why, why_size))
    return false;
  c->fd = c->reader.fd = fds[0];
  c->session = broker_accept(b, fds[1], why, why_size);
  if (!c->session)
    return false;
  int error = pthread_create(&c->reader_thread, NULL, reader_main, c);
  c->has_reader = error == 0;
  if (error != 0)
    snprintf(why, why_size, "cannot start a reader thread: %s", strerror(error));
  return c->has_reader;
}

/* What is still subscribed; the reader has ended. */
static void unsubscribe_all(struct connection *c) {
  for (size_t i = 0; i < SUBSCRIPTION_BUCKETS; i++)
    while (c->table[i])
      connection_unsubscribe(c, c->table[i]->subscription, false);
}

void connection_close(struct connection *c) {
  pthread_mutex_lock(&c->mutex);
  c->closing = true;
  pthread_mutex_unlock(&c->mutex);
  if (c->fd >= 0)
    shutdown(c->fd, SHUT_RDWR);
  if (c->has_reader)
    pthread_join(c->reader_thread, NULL);
  unsubscribe_all(c);
  if (c->session)
    broker_drop(c->session);
  connection_free(c);
}

struct connection *connection_open(struct broker *b, struct timer_service *timers, unsigned index,
                                   uint64_t seed, char *why, size_t why_size) {
  struct connection *c = connection_make(timers, index, seed);
  if (!c) {
    snprintf(why, why_size, "connection %u: out of memory", index);
    return NULL;
  }
  if (connect_to(c, b, why, why_size))
    return c;
  connection_close(c);
  return NULL;
}
