/*
 * Channels; see channel.h. Lock order: a channel's lock, then a waiter's.
 *
 * A sender wakes the waiter while it holds the channel's lock: the receiver takes that lock to
 * leave the channel, so a sender never touches a channel that its receiver has freed.
 */
#include "workloads/request/channel.h"

#include "harness/heap.h"

#include <string.h>

_Static_assert(sizeof(struct channel) <= CHANNEL_BYTES, "fits the Go program's size");

void waiter_init(struct waiter *w) {
  pthread_mutex_init(&w->lock, NULL);
  pthread_cond_init(&w->cond, NULL);
  w->woken = w->cancelled = false;
}

void waiter_destroy(struct waiter *w) {
  pthread_cond_destroy(&w->cond);
  pthread_mutex_destroy(&w->lock);
}

static void waiter_wake(struct waiter *w, bool cancel) {
  pthread_mutex_lock(&w->lock);
  w->woken = true;
  w->cancelled |= cancel;
  pthread_cond_signal(&w->cond);
  pthread_mutex_unlock(&w->lock);
}

void waiter_cancel(struct waiter *w) {
  waiter_wake(w, true);
}

/* Returns false when the waiter was cancelled. */
static bool waiter_sleep(struct waiter *w) {
  pthread_mutex_lock(&w->lock);
  while (!w->woken)
    pthread_cond_wait(&w->cond, &w->lock);
  bool cancelled = w->cancelled;
  w->woken = cancelled;
  pthread_mutex_unlock(&w->lock);
  return !cancelled;
}

struct channel *channel_open(size_t capacity, size_t element) {
  struct channel *c = heap_alloc(CHANNEL_BYTES);
  if (!c)
    return NULL;
  *c = (struct channel){.element = element, .capacity = capacity};
  c->slots = heap_alloc(capacity * element);
  if (!c->slots) {
    heap_free(c, CHANNEL_BYTES);
    return NULL;
  }
  pthread_mutex_init(&c->lock, NULL);
  return c;
}

void channel_close(struct channel *c) {
  pthread_mutex_destroy(&c->lock);
  heap_free(c->slots, c->capacity * c->element);
  heap_free(c, CHANNEL_BYTES);
}

bool channel_send(struct channel *c, const void *element) {
  pthread_mutex_lock(&c->lock);
  bool room = c->count < c->capacity;
  if (room) {
    size_t slot = (c->head + c->count) % c->capacity;
    memcpy(c->slots + slot * c->element, element, c->element);
    c->count++;
    if (c->waiter)
      waiter_wake(c->waiter, false);
  }
  pthread_mutex_unlock(&c->lock);
  return room;
}

bool channel_receive(struct channel *c, void *element) {
  pthread_mutex_lock(&c->lock);
  bool any = c->count > 0;
  if (any) {
    memcpy(element, c->slots + c->head * c->element, c->element);
    c->head = (c->head + 1) % c->capacity;
    c->count--;
  }
  pthread_mutex_unlock(&c->lock);
  return any;
}

/* Sets who is woken by the next send; returns whether there is something to take already. */
static bool channel_watch(struct channel *c, struct waiter *w) {
  pthread_mutex_lock(&c->lock);
  c->waiter = w;
  bool any = c->count > 0;
  pthread_mutex_unlock(&c->lock);
  return any;
}

struct channel *channel_wait(struct waiter *w, struct channel *first, struct channel *second) {
  struct channel *ready = NULL;
  for (bool alive = true; alive && !ready;) {
    if (channel_watch(first, w))
      ready = first;
    else if (channel_watch(second, w))
      ready = second;
    else
      alive = waiter_sleep(w);
  }
  bool first_has = channel_watch(first, NULL);
  channel_watch(second, NULL);
  return ready && first_has ? first : ready;
}
