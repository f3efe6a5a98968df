/*
 * Requests over a connection: ask a subject a question and wait for the answer with a time-out.
 *
 * Two ways. Request: one subscription serves all inboxes of the connection, a table of waiting
 * requests finds whom a reply is for. OldRequest: each request subscribes to an inbox of its own.
 * In both the timer comes from the strategy, and goes back to it on every way out.
 */
#ifndef POOLBENCH_REQUEST_REQUESTER_H
#define POOLBENCH_REQUEST_REQUESTER_H

#include "strategies/pool.h"
#include "workloads/request/connection.h"

enum request_outcome {
  REQUEST_REPLIED,
  REQUEST_TIMED_OUT,
  REQUEST_FAILED, /* connection_why says what happened */
};

struct request {
  const struct strategy *strategy;
  struct pool_scope *scope;
  unsigned timer_kind; /* index of timer_kind among the pool's kinds */
  struct text subject, question;
  int64_t timeout_ns;
};

/* On REQUEST_REPLIED *reply is the caller's to free (message_free), else NULL. */
enum request_outcome request_shared(struct connection *c, const struct request *r,
                                    struct message **reply);
enum request_outcome request_subscribing(struct connection *c, const struct request *r,
                                         struct message **reply);

/* Handler of a connection's subscription to all its inboxes: finds the request that waits. */
void requester_deliver(struct connection *c, struct message *m);

#endif
