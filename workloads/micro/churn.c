/*
 * Micro/churn: threads that start, use 64 objects and end. Who keeps a leaving thread's objects,
 * and does the next one find them? An op is the whole life of such a thread, its start and its
 * join included, so most of the time is the system's; look at misses and at what stays.
 */
#include "workloads/micro/micro.h"

#include "harness/heap.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define USED 64

static const struct kind kind = MICRO_KIND(64);

/* Gets and puts in one scope. NULL, or what found no memory. */
static const char *use_objects(const struct workload_thread *t, struct pool_thread *self) {
  void *objects[USED];
  unsigned got = 0;
  struct pool_scope *scope = pool_begin(t->strategy, t->pool, self, NULL);
  if (!scope)
    return "begin";
  while (got < USED && (objects[got] = pool_get(t->strategy, scope, 0))) {
    micro_touch(objects[got], got);
    got++;
  }
  for (unsigned i = got; i-- > 0;)
    pool_put(t->strategy, scope, 0, objects[i]);
  pool_end(t->strategy, t->pool, scope);
  return got == USED ? NULL : "get";
}

/* The life of a short thread. Returns NULL, or what found no memory. */
static void *live_and_leave(void *arg) {
  const struct workload_thread *t = arg;
  heap_thread_begin();
  struct pool_thread *self = t->strategy->attach(t->pool);
  const char *failed = self ? use_objects(t, self) : "attach";
  if (self)
    t->strategy->detach(t->pool, self);
  heap_thread_end();
  return (void *)(uintptr_t)failed;
}

static void run(struct workload_thread *t, uint64_t n) {
  for (uint64_t i = 0; i < n; i++) {
    pthread_t id;
    void *failed;
    int error = pthread_create(&id, NULL, live_and_leave, t);
    if (!error)
      error = pthread_join(id, &failed);
    if (error) {
      t->failed = true;
      snprintf(t->why, sizeof t->why, "a short thread cannot be started: %s", strerror(error));
      return;
    }
    if (failed) {
      micro_out_of_memory(t, failed);
      return;
    }
  }
}

const struct micro_shape micro_churn = {.kinds = &kind, .kind_count = 1, .run = run};
