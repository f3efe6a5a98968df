/*
 * Bounded channels and a wait on two of them at once: what a requester needs to take whichever
 * comes first, the reply or the time-out. Elements are copied in and out.
 *
 * A channel costs two heap blocks, itself (96 B) and its slots, like a Go channel of pointers.
 */
#ifndef POOLBENCH_REQUEST_CHANNEL_H
#define POOLBENCH_REQUEST_CHANNEL_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

/* Where one thread sleeps. It outlives every channel that points at it. */
struct waiter {
  pthread_mutex_t lock;
  pthread_cond_t cond;
  bool woken;
  bool cancelled; /* for good: the connection is going */
};

struct channel {
  pthread_mutex_t lock;
  struct waiter *waiter; /* at most one thread waits on a channel */
  unsigned char *slots;
  size_t element, capacity, count, head; /* bytes; elements */
};
/* The block a channel is given; the Go program's size. */
#define CHANNEL_BYTES 96

void waiter_init(struct waiter *w);
void waiter_destroy(struct waiter *w);
/* Ends the wait of its thread, now and for ever. */
void waiter_cancel(struct waiter *w);

/* Two allocations; NULL when out of memory. */
struct channel *channel_open(size_t capacity, size_t element);
/* The caller knows that no send is under way. Elements still inside are the caller's to free. */
void channel_close(struct channel *c);

/* Never block. false: full, or empty. */
bool channel_send(struct channel *c, const void *element);
bool channel_receive(struct channel *c, void *element);

/*
 * Sleeps until one of the two has an element and returns it, `first` when both have; NULL when
 * the waiter was cancelled. The calling thread must be the only receiver of both, so that the
 * element is still there when it receives.
 */
struct channel *channel_wait(struct waiter *w, struct channel *first, struct channel *second);

#endif
