/*
 * Subscription handlers and the send loop that drains them.
 *
 * A notify puts an event under its name into the handler's map, inside the handler's lock. A
 * handler without a map takes one from the strategy first and queues itself with the send loop.
 * The loop takes the map and leaves none, sends the events without the lock, clears the map and
 * puts it back: one thread gets what another puts. A send that fails drops the map.
 *
 * Strategies that need an owner get the handler as owner, and every use of it is inside the
 * handler's lock: then two maps stay with each handler, one filled while the other is sent.
 * Others get none, and put outside the lock.
 */
#ifndef POOLBENCH_HANDLERS_HANDLER_H
#define POOLBENCH_HANDLERS_HANDLER_H

#include "workloads/handlers/map.h"
#include "workloads/workload.h"

#include <pthread.h>
#include <sched.h>

/* What a notify allocates, inside the lock: 128 B as in the Go program. */
struct event {
  struct map_key name;
  uint64_t sequence;
  struct instant modified;
  unsigned char resource[80];
};

struct handler {
  pthread_mutex_t lock;
  struct map *map; /* events since the last drain, or NULL; under the lock */
  struct pool_owner owner;
  struct handler *next; /* in the loop's queue; this and below under the loop's lock */
  bool held;            /* its client does not read: the map is taken, then the loop waits */
  bool in_flight;       /* its map is taken and not yet put back */
};

struct send_loop;

/* The client's end. false: the send failed. */
typedef bool send_function(struct send_loop *loop, const struct event *e);

/* One thread that serves all handlers, attached to the pool like a measuring one. */
struct send_loop {
  pthread_mutex_t lock;
  pthread_cond_t work;    /* for the loop */
  pthread_cond_t changed; /* for those who wait for it */
  struct handler *first, **last;
  bool busy, stopping, quiesce;
  atomic_bool failed; /* set under the lock, once why says how; read anywhere */
  char why[160];

  const struct strategy *strategy;
  struct pool *pool;
  struct pool_thread *thread; /* the loop's own */
  pthread_t pthread;
  bool timed; /* measure drain_ns; set while the loop is idle */

  /* Of the loop's thread; read when it is idle. */
  uint64_t sent, sent_bytes, drains, drain_ns;
  uint64_t quiesce_ns; /* of the last one */
  send_function *send;
};

/* CLOCK_MONOTONIC in ns. */
uint64_t handlers_now_ns(void);

void handler_init(struct handler *h);
/* Frees the events and drops the map; t's strategy forgets the owner. The loop is idle. */
void handler_destroy(struct handler *h, struct workload_thread *t);

enum notify_result { NOTIFY_ADDED, NOTIFY_FIRST, NOTIFY_NO_MEMORY };

/* NOTIFY_FIRST: the handler has just got its map and wants send_loop_queue. */
enum notify_result handler_notify(struct handler *h, struct workload_thread *t, struct map_key name,
                                  uint64_t sequence);

/*
 * Starts the loop's thread on `cpus` (NULL: where the caller runs). false: `why` says what was
 * refused. t gives strategy and pool; the thread attaches itself.
 */
bool send_loop_start(struct send_loop *loop, const struct workload_thread *t, const cpu_set_t *cpus,
                     char *why, size_t why_size);
/* Drains what is queued, detaches and joins. */
void send_loop_stop(struct send_loop *loop);

void send_loop_queue(struct send_loop *loop, struct handler *h);
/* Waits until nothing is queued or under way. false: the loop failed, see why. */
bool send_loop_wait_idle(struct send_loop *loop);

/*
 * A client that does not read: hold queues the handler and returns when its map has been taken;
 * nothing is sent until let_go, which returns when all was sent and the map put back. One
 * handler at a time and thread. false: the loop failed.
 */
bool send_loop_hold(struct send_loop *loop, struct handler *h);
bool send_loop_let_go(struct send_loop *loop, struct handler *h);

/* Has the idle loop's thread quiesce, for a trim. */
void send_loop_quiesce(struct send_loop *loop);

#endif
