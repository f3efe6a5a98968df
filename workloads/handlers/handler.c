/*
 * Handlers and the send loop; see handler.h. The two locks are never held together.
 */
#include "workloads/handlers/handler.h"

#include "harness/heap.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

_Static_assert(sizeof(struct event) == 128, "the Go program's allocation of a notify");

uint64_t handlers_now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static struct pool_owner *owner_for(const struct strategy *s, struct handler *h) {
  return s->flags & STRATEGY_NEEDS_OWNER ? &h->owner : NULL;
}

void handler_init(struct handler *h) {
  *h = (struct handler){0};
  pthread_mutex_init(&h->lock, NULL);
}

static void free_events(struct map *m) {
  size_t at = 0;
  for (struct map_slot *s; (s = map_next(m, &at));)
    heap_free(s->entry.event, sizeof *s->entry.event);
}

void handler_destroy(struct handler *h, struct workload_thread *t) {
  if (h->map) {
    free_events(h->map);
    pool_drop(t->strategy, t->pool_thread, 0, h->map);
  }
  if (owner_for(t->strategy, h))
    t->strategy->release(t->pool, &h->owner);
  pthread_mutex_destroy(&h->lock);
}

/* Under the handler's lock. NULL when out of memory. */
static struct map *take_map(struct handler *h, struct workload_thread *t) {
  const struct strategy *s = t->strategy;
  struct pool_scope *scope = pool_begin(s, t->pool, t->pool_thread, owner_for(s, h));
  if (!scope)
    return NULL;
  struct map *m = pool_get(s, scope, 0);
  pool_end(s, t->pool, scope);
  return m;
}

/* Under the handler's lock. The event replaces one that has not been sent. */
static bool add_event(struct map *m, struct map_key name, uint64_t sequence) {
  struct event *e = heap_alloc(sizeof *e);
  if (!e)
    return false;
  struct map_entry *entry = map_at(m, name);
  if (!entry) {
    heap_free(e, sizeof *e);
    return false;
  }
  heap_free(entry->event, sizeof *entry->event);
  *e = (struct event){.name = name, .sequence = sequence, .modified = {.wall = sequence}};
  entry->event = e;
  entry->modified = e->modified;
  return true;
}

enum notify_result handler_notify(struct handler *h, struct workload_thread *t, struct map_key name,
                                  uint64_t sequence) {
  pthread_mutex_lock(&h->lock);
  bool first = !h->map;
  if (first)
    h->map = take_map(h, t);
  bool added = h->map && add_event(h->map, name, sequence);
  pthread_mutex_unlock(&h->lock);
  if (!added)
    return NOTIFY_NO_MEMORY;
  return first ? NOTIFY_FIRST : NOTIFY_ADDED;
}

/* -- the loop's thread -- */

/* The client's end when nobody says otherwise: takes everything. */
static bool accept_event(struct send_loop *loop, const struct event *e) {
  loop->sent++;
  loop->sent_bytes += sizeof e->resource;
  return true;
}

static void loop_fail(struct send_loop *loop, const char *why) {
  pthread_mutex_lock(&loop->lock);
  if (!loop->failed)
    snprintf(loop->why, sizeof loop->why, "send loop: %s", why);
  loop->failed = true;
  pthread_mutex_unlock(&loop->lock);
}

/* Sends in the map's order; frees every event, sent or not. */
static bool send_all(struct send_loop *loop, struct map *m) {
  bool sent = true;
  size_t at = 0;
  for (struct map_slot *s; (s = map_next(m, &at));) {
    sent = sent && loop->send(loop, s->entry.event);
    heap_free(s->entry.event, sizeof *s->entry.event);
  }
  return sent;
}

/* The owner's uses are ordered by the handler's lock; a pool needs none. */
static bool put_map(struct send_loop *loop, struct handler *h, struct map *m) {
  const struct strategy *s = loop->strategy;
  struct pool_owner *owner = owner_for(s, h);
  if (owner)
    pthread_mutex_lock(&h->lock);
  struct pool_scope *scope = pool_begin(s, loop->pool, loop->thread, owner);
  if (scope) {
    pool_put(s, scope, 0, m);
    pool_end(s, loop->pool, scope);
  }
  if (owner)
    pthread_mutex_unlock(&h->lock);
  return scope != NULL;
}

/* The client reads again when it is let go. */
static void wait_for_client(struct send_loop *loop, struct handler *h) {
  pthread_mutex_lock(&loop->lock);
  h->in_flight = true;
  pthread_cond_broadcast(&loop->changed);
  while (h->held)
    pthread_cond_wait(&loop->changed, &loop->lock);
  pthread_mutex_unlock(&loop->lock);
}

static struct map *swap_map(struct handler *h) {
  pthread_mutex_lock(&h->lock);
  struct map *m = h->map;
  h->map = NULL;
  pthread_mutex_unlock(&h->lock);
  return m;
}

/* Cleared here and not only by put: with an owner, put is inside the lock. */
static void send_and_put(struct send_loop *loop, struct handler *h, struct map *m) {
  if (!send_all(loop, m)) {
    pool_drop(loop->strategy, loop->thread, 0, m);
    loop_fail(loop, "a send failed");
    return;
  }
  map_clear(m);
  if (!put_map(loop, h, m)) {
    pool_drop(loop->strategy, loop->thread, 0, m);
    loop_fail(loop, "out of memory");
  }
}

static void drain(struct send_loop *loop, struct handler *h, bool held) {
  uint64_t start_ns = loop->timed ? handlers_now_ns() : 0;
  struct map *m = swap_map(h);
  if (held)
    wait_for_client(loop, h);
  if (m)
    send_and_put(loop, h, m);
  loop->drains++;
  if (loop->timed)
    loop->drain_ns += handlers_now_ns() - start_ns;
}

static struct handler *pop(struct send_loop *loop) {
  struct handler *h = loop->first;
  loop->first = h->next;
  if (!loop->first)
    loop->last = &loop->first;
  return h;
}

/* Under the lock, with nothing queued. */
static void rest(struct send_loop *loop) {
  if (loop->quiesce) {
    uint64_t start_ns = handlers_now_ns();
    loop->strategy->quiesce(loop->pool, loop->thread);
    loop->quiesce_ns = handlers_now_ns() - start_ns;
    loop->quiesce = false;
  }
  loop->busy = false;
  pthread_cond_broadcast(&loop->changed);
  if (!loop->stopping)
    pthread_cond_wait(&loop->work, &loop->lock);
}

static void serve(struct send_loop *loop) {
  pthread_mutex_lock(&loop->lock);
  while (loop->first || !loop->stopping) {
    if (!loop->first) {
      rest(loop);
      continue;
    }
    loop->busy = true;
    struct handler *h = pop(loop);
    bool held = h->held;
    pthread_mutex_unlock(&loop->lock);
    drain(loop, h, held);
    pthread_mutex_lock(&loop->lock);
    if (held) {
      h->in_flight = false;
      pthread_cond_broadcast(&loop->changed);
    }
  }
  pthread_mutex_unlock(&loop->lock);
}

static void *loop_main(void *argument) {
  struct send_loop *loop = argument;
  heap_thread_begin();
  struct pool_thread *thread = loop->strategy->attach(loop->pool);
  if (!thread)
    loop_fail(loop, "out of memory");
  pthread_mutex_lock(&loop->lock);
  loop->thread = thread;
  loop->busy = false;
  pthread_cond_broadcast(&loop->changed);
  pthread_mutex_unlock(&loop->lock);
  if (thread) {
    serve(loop);
    loop->strategy->detach(loop->pool, thread);
  }
  heap_thread_end();
  return NULL;
}

/* -- from outside -- */

static void loop_destroy(struct send_loop *loop) {
  pthread_cond_destroy(&loop->changed);
  pthread_cond_destroy(&loop->work);
  pthread_mutex_destroy(&loop->lock);
}

void send_loop_stop(struct send_loop *loop) {
  pthread_mutex_lock(&loop->lock);
  loop->stopping = true;
  pthread_cond_signal(&loop->work);
  pthread_mutex_unlock(&loop->lock);
  pthread_join(loop->pthread, NULL);
  loop_destroy(loop);
}

bool send_loop_start(struct send_loop *loop, const struct workload_thread *t, const cpu_set_t *cpus,
                     char *why, size_t why_size) {
  send_function *send = loop->send ? loop->send : accept_event;
  *loop = (struct send_loop){.strategy = t->strategy, .pool = t->pool, .send = send, .busy = true};
  loop->last = &loop->first;
  pthread_mutex_init(&loop->lock, NULL);
  pthread_cond_init(&loop->work, NULL);
  pthread_cond_init(&loop->changed, NULL);
  int error = pthread_create(&loop->pthread, NULL, loop_main, loop);
  if (error != 0) {
    snprintf(why, why_size, "cannot start the send loop's thread: %s", strerror(error));
    loop_destroy(loop);
    return false;
  }
  if (cpus) /* if that is refused, it runs where its starter does */
    pthread_setaffinity_np(loop->pthread, sizeof *cpus, cpus);
  if (send_loop_wait_idle(loop)) /* attached */
    return true;
  snprintf(why, why_size, "%s", loop->why);
  send_loop_stop(loop);
  return false;
}

void send_loop_queue(struct send_loop *loop, struct handler *h) {
  pthread_mutex_lock(&loop->lock);
  h->next = NULL;
  *loop->last = h;
  loop->last = &h->next;
  pthread_cond_signal(&loop->work);
  pthread_mutex_unlock(&loop->lock);
}

bool send_loop_wait_idle(struct send_loop *loop) {
  pthread_mutex_lock(&loop->lock);
  while (loop->first || loop->busy)
    pthread_cond_wait(&loop->changed, &loop->lock);
  bool fine = !loop->failed;
  pthread_mutex_unlock(&loop->lock);
  return fine;
}

bool send_loop_hold(struct send_loop *loop, struct handler *h) {
  pthread_mutex_lock(&loop->lock);
  h->held = true;
  pthread_mutex_unlock(&loop->lock);
  send_loop_queue(loop, h);
  pthread_mutex_lock(&loop->lock);
  while (!h->in_flight)
    pthread_cond_wait(&loop->changed, &loop->lock);
  bool fine = !loop->failed;
  pthread_mutex_unlock(&loop->lock);
  return fine;
}

bool send_loop_let_go(struct send_loop *loop, struct handler *h) {
  pthread_mutex_lock(&loop->lock);
  h->held = false;
  pthread_cond_broadcast(&loop->changed);
  while (h->in_flight)
    pthread_cond_wait(&loop->changed, &loop->lock);
  bool fine = !loop->failed;
  pthread_mutex_unlock(&loop->lock);
  return fine;
}

void send_loop_quiesce(struct send_loop *loop) {
  pthread_mutex_lock(&loop->lock);
  loop->quiesce = true;
  pthread_cond_signal(&loop->work);
  while (loop->quiesce)
    pthread_cond_wait(&loop->changed, &loop->lock);
  pthread_mutex_unlock(&loop->lock);
}
