/*
 * A client's connection: its socket, its subscriptions, and the threads that serve it.
 *
 * The reader thread takes messages off the socket and hands them to their subscription. A
 * subscription with a handler has a delivery thread that runs it; one with a channel gives the
 * messages to whoever waits on that. The reader allocates a message, its receiver frees it: every
 * message crosses threads between malloc and free.
 *
 * Locks: the connection's mutex (output, waiting requests, failure), a rwlock for the table of
 * subscriptions (the reader takes it for reading), and a mutex and condition variable for each
 * subscription's queue. Order: table, subscription's queue or channel; mutex, channel.
 */
#ifndef POOLBENCH_REQUEST_CONNECTION_H
#define POOLBENCH_REQUEST_CONNECTION_H

#include "workloads/request/broker.h"
#include "workloads/request/timer.h"

/* "_INBOX.", 16 digits, a dot, 15 digits, a dot: what all inboxes of a connection begin with. */
#define INBOX_PREFIX 40
/* 11 digits, a dot, 11 digits. */
#define ID_LENGTH 23
#define INBOX_LENGTH (INBOX_PREFIX + ID_LENGTH)

struct connection;
struct subscription;

/* The texts are terminated blocks of their own. */
struct message {
  struct message *next;
  char *subject, *reply; /* reply: NULL when none is asked for */
  char *payload;         /* not terminated; NULL when empty */
  size_t subject_length, reply_length, payload_length;
};
/* The Go program's size of the block, here and below; a struct may need less. */
#define MESSAGE_BYTES 80

/* Gets the message to free. Runs on the subscription's delivery thread. */
typedef void message_handler(struct connection *c, struct message *m);

struct subscription {
  pthread_mutex_t lock;
  pthread_cond_t cond;
  struct message *first, **last; /* queue for the delivery thread */
  struct connection *connection;
  char *subject, *sid_text; /* owned, terminated; the latter is the table's key */
  size_t subject_length;
  uint64_t sid;
  message_handler *handler; /* or else */
  struct channel *channel;  /* of struct message * */
  pthread_t thread;
  bool ending;
  bool has_thread;
};
#define SUBSCRIPTION_BYTES 192

/* A request that waits for its reply. */
struct waiting {
  const char *id;          /* ID_LENGTH bytes, the requester's */
  struct channel *channel; /* of struct message * */
};

#define SUBSCRIPTION_BUCKETS 64
#define CONNECTION_OUTPUT 1024

struct connection {
  pthread_mutex_t mutex;
  /* Under the mutex. */
  char output[CONNECTION_OUTPUT];
  size_t output_length;
  struct waiting *waiting; /* one a requester: a scan of a handful */
  size_t waiting_count, waiting_capacity;
  uint64_t late_replies; /* whose request had timed out */
  uint64_t pings, pongs;
  pthread_cond_t answered; /* a pong, or failed */
  bool closing, failed;
  char why[200];

  pthread_rwlock_t table_lock;
  struct table_entry *table[SUBSCRIPTION_BUCKETS];
  uint64_t next_sid;

  struct session *session; /* the broker's side */
  struct timer_service *timers;
  struct waiter waiter;    /* the requester's */
  struct pool_owner owner; /* of the timers */
  char prefix[INBOX_PREFIX + 1];
  uint64_t next_id, id_salt;
  int fd;
  pthread_t reader_thread;
  bool has_reader;
  struct wire_reader reader;
};

/*
 * Connects to the broker. index and seed make the connection's inboxes unique. NULL: `why` says
 * what was refused.
 */
struct connection *connection_open(struct broker *b, struct timer_service *timers, unsigned index,
                                   uint64_t seed, char *why, size_t why_size);
/* Ends the threads and frees everything. No request is under way. */
void connection_close(struct connection *c);

/* Fails the connection for good and wakes its requester; the first reason is kept. */
void connection_fail(struct connection *c, const char *why);
/* Copies the reason. */
void connection_why(struct connection *c, char *why, size_t why_size);

/* Serves a subject: the handler runs on a thread of its own. NULL: failed, connection_why. */
struct subscription *connection_serve(struct connection *c, struct text subject,
                                      message_handler *handler);

/*
 * Subscribes and lets messages go into the channel, at most `most` of them. The lines to the
 * broker wait for the next publish. NULL: failed.
 */
struct subscription *connection_subscribe(struct connection *c, struct text subject,
                                          struct channel *channel, unsigned most);
/* Afterwards no message goes into the channel any more. tell: the broker does not know yet. */
void connection_unsubscribe(struct connection *c, struct subscription *s, bool tell);

/* Sends PUB and what waits in the output. reply may be empty. false: failed. */
bool connection_publish(struct connection *c, struct text subject, struct text reply,
                        struct text payload);

/* Sends what waits in the output and returns when the broker has handled it. false: failed. */
bool connection_flush(struct connection *c);

void message_free(struct message *m);

#endif
