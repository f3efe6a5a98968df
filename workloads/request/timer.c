/*
 * Timers and the timer service; see timer.h.
 *
 * The service sleeps until the earliest deadline it knew when it went to sleep. Stopping a timer
 * never wakes it and arming does only for an earlier deadline, so requests that are answered
 * long before their time-out cost it about one wake-up per time-out, not one per request.
 */
#include "workloads/request/timer.h"

#include "harness/heap.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

_Static_assert(sizeof(struct timer) <= TIMER_BYTES, "a timer must fit the Go program's block");
_Static_assert(sizeof(struct timer_tick) == 24, "a tick has the size of a time in Go");

#define NEVER INT64_MAX
/* Enough for the connections that share a service: arming does not allocate in a measured part. */
#define FIRST_CAPACITY 64

int64_t timer_now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void fire(struct timer *t, const struct timer_tick *tick) {
  /* One slot, one tick an arming: the channel of a timer that was retired properly has room. */
  channel_send(t->channel, tick);
}

static bool kind_init(void *object) {
  struct timer *t = object;
  *t = (struct timer){.fire = fire, .state = TIMER_IDLE};
  t->channel = channel_open(1, sizeof(struct timer_tick));
  return t->channel != NULL;
}

static void kind_destroy(void *object) {
  struct timer *t = object;
  channel_close(t->channel);
}

static size_t kind_bytes(const void *object) {
  (void)object;
  return TIMER_BYTES + CHANNEL_BYTES + sizeof(struct timer_tick);
}

const struct kind timer_kind = {
    .name = "timer",
    .size = TIMER_BYTES,
    .init = kind_init,
    .destroy = kind_destroy,
    .bytes = kind_bytes,
};

static void heap_set(struct timer_service *s, size_t position, struct timer *t) {
  s->heap[position] = t;
  t->position = position;
}

static void sift_up(struct timer_service *s, size_t i) {
  struct timer *t = s->heap[i];
  while (i > 0) {
    size_t parent = (i - 1) / 2;
    if (s->heap[parent]->when_ns <= t->when_ns)
      break;
    heap_set(s, i, s->heap[parent]);
    i = parent;
  }
  heap_set(s, i, t);
}

static void sift_down(struct timer_service *s, size_t i) {
  struct timer *t = s->heap[i];
  for (size_t child; (child = 2 * i + 1) < s->count; i = child) {
    if (child + 1 < s->count && s->heap[child + 1]->when_ns < s->heap[child]->when_ns)
      child++;
    if (s->heap[child]->when_ns >= t->when_ns)
      break;
    heap_set(s, i, s->heap[child]);
  }
  heap_set(s, i, t);
}

static void heap_remove(struct timer_service *s, struct timer *t) {
  size_t i = t->position;
  struct timer *last = s->heap[--s->count];
  if (last == t)
    return;
  heap_set(s, i, last);
  sift_up(s, i);
  sift_down(s, last->position);
}

static bool heap_reserve(struct timer_service *s) {
  if (s->count < s->capacity)
    return true;
  size_t bytes = s->capacity * sizeof *s->heap;
  struct timer **grown = heap_alloc(2 * bytes);
  if (!grown)
    return false;
  memcpy(grown, s->heap, bytes);
  heap_free(s->heap, bytes);
  s->heap = grown;
  s->capacity *= 2;
  return true;
}

/* Under the lock, which is let go while the tick is delivered. */
static void expire(struct timer_service *s, struct timer *t, int64_t now_ns) {
  struct timer_tick tick = {t->when_ns, now_ns, t->arming};
  heap_remove(s, t);
  t->state = TIMER_FIRING;
  pthread_mutex_unlock(&s->lock);
  t->fire(t, &tick);
  pthread_mutex_lock(&s->lock);
  if (t->state == TIMER_FIRING)
    t->state = TIMER_IDLE;
  pthread_cond_broadcast(&s->delivered);
}

static void sleep_until(struct timer_service *s, int64_t deadline_ns) {
  s->sleep_until_ns = deadline_ns;
  if (deadline_ns == NEVER) {
    pthread_cond_wait(&s->wake, &s->lock);
  } else {
    struct timespec at = {.tv_sec = deadline_ns / 1000000000, .tv_nsec = deadline_ns % 1000000000};
    pthread_cond_timedwait(&s->wake, &s->lock, &at);
  }
  s->sleep_until_ns = 0; /* awake: arming need not signal */
}

static void *service_main(void *argument) {
  struct timer_service *s = argument;
  heap_thread_begin();
  pthread_mutex_lock(&s->lock);
  while (!s->stopping) {
    int64_t now_ns = timer_now_ns();
    int64_t next_ns = s->count > 0 ? s->heap[0]->when_ns : NEVER;
    if (next_ns <= now_ns)
      expire(s, s->heap[0], now_ns);
    else
      sleep_until(s, next_ns);
  }
  pthread_mutex_unlock(&s->lock);
  heap_thread_end();
  return NULL;
}

static void service_init(struct timer_service *s) {
  pthread_condattr_t monotonic;
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  pthread_cond_init(&s->wake, &monotonic);
  pthread_condattr_destroy(&monotonic);
  pthread_cond_init(&s->delivered, NULL);
  pthread_mutex_init(&s->lock, NULL);
}

static void service_free(struct timer_service *s) {
  pthread_cond_destroy(&s->wake);
  pthread_cond_destroy(&s->delivered);
  pthread_mutex_destroy(&s->lock);
  heap_free(s->heap, s->capacity * sizeof *s->heap);
}

bool timer_service_open(struct timer_service *s, char *why, size_t why_size) {
  *s = (struct timer_service){.capacity = FIRST_CAPACITY};
  s->heap = heap_alloc(s->capacity * sizeof *s->heap);
  if (!s->heap) {
    snprintf(why, why_size, "timer service: out of memory");
    return false;
  }
  service_init(s);
  int error = pthread_create(&s->thread, NULL, service_main, s);
  if (error != 0) {
    snprintf(why, why_size, "timer service: cannot start its thread: %s", strerror(error));
    service_free(s);
    return false;
  }
  return true;
}

void timer_service_close(struct timer_service *s) {
  pthread_mutex_lock(&s->lock);
  s->stopping = true;
  pthread_cond_signal(&s->wake);
  pthread_mutex_unlock(&s->lock);
  pthread_join(s->thread, NULL);
  service_free(s);
}

bool timer_arm(struct timer_service *s, struct timer *t, int64_t delay_ns) {
  int64_t when_ns = timer_now_ns() + delay_ns;
  pthread_mutex_lock(&s->lock);
  bool room = heap_reserve(s);
  if (room) {
    t->when_ns = when_ns;
    t->arming++;
    t->state = TIMER_ARMED;
    s->heap[s->count] = t;
    sift_up(s, s->count++);
    if (when_ns < s->sleep_until_ns)
      pthread_cond_signal(&s->wake);
  }
  pthread_mutex_unlock(&s->lock);
  return room;
}

static bool stop_locked(struct timer_service *s, struct timer *t) {
  if (t->state != TIMER_ARMED)
    return false;
  heap_remove(s, t);
  t->state = TIMER_IDLE;
  return true;
}

bool timer_stop(struct timer_service *s, struct timer *t) {
  pthread_mutex_lock(&s->lock);
  bool stopped = stop_locked(s, t);
  pthread_mutex_unlock(&s->lock);
  return stopped;
}

void timer_retire(struct timer_service *s, struct timer *t) {
  pthread_mutex_lock(&s->lock);
  bool stopped = stop_locked(s, t);
  while (t->state == TIMER_FIRING)
    pthread_cond_wait(&s->delivered, &s->lock);
  pthread_mutex_unlock(&s->lock);
  struct timer_tick tick;
  if (!stopped)
    channel_receive(t->channel, &tick);
}
