/*
 * The broker: takes SUB, UNSUB and PUB from its sessions and routes messages between them.
 *
 * A session is the broker's end of a connection, with a thread that reads from it; that thread
 * also writes what it routes to the sessions it goes to.
 */
#ifndef POOLBENCH_REQUEST_BROKER_H
#define POOLBENCH_REQUEST_BROKER_H

#include "workloads/request/subjects.h"

struct broker;
struct session;

/* NULL when out of memory. */
struct broker *broker_open(void);
/* All sessions have been closed. */
void broker_close(struct broker *b);

/*
 * Serves the connection whose end is fd; owns fd from now on. NULL: `why` says what the system
 * refused, and fd is closed.
 */
struct session *broker_accept(struct broker *b, int fd, char *why, size_t why_size);

/* Ends the session and its subscriptions and joins its thread. */
void broker_drop(struct session *session);

/* Nodes in the subscription table, for tests. */
size_t broker_nodes(struct broker *b);

#endif
