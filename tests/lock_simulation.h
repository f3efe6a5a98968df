/*
 * Discrete-event simulation of N threads that think, then take one lock: what the lock model and
 * the forecasts are checked against. Shares no code with them. In order it is a ticket lock;
 * barging it is the word of a futex mutex as glibc has it: 0 free, 1 held, 2 held and somebody may
 * sleep. Deterministic: the random numbers start at a fixed seed.
 */
#ifndef POOLBENCH_TESTS_LOCK_SIMULATION_H
#define POOLBENCH_TESTS_LOCK_SIMULATION_H

#include "harness/lockmodel.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

enum { MOST_THREADS = 64 };
enum shape { FIXED, EXPONENTIAL };

struct world {
  unsigned threads;
  struct lock_times times;
  enum shape think, service, handoff;
  enum lock_rule rule;
};

enum place { THINKS, HOLDS, SLEEPS, COMES };

struct simulation {
  struct world w;
  enum place place[MOST_THREADS];
  double at[MOST_THREADS]; /* when the thread's current activity ends */
  unsigned queue[MOST_THREADS], queued;
  int word; /* in order: 2 also while the lock is on its way to the next */
  uint64_t random;
  double waited, since[MOST_THREADS]; /* of the visit under way: when it came to the lock */
  unsigned long done, arrived, collided;
};

static inline double uniform(uint64_t *state) {
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return ((double)(*state >> 11) + 0.5) / 9007199254740992.0;
}

static inline double draw(struct simulation *s, enum shape shape, double mean) {
  return shape == FIXED ? mean : -mean * log(uniform(&s->random));
}

static inline void hold(struct simulation *s, unsigned i, double now) {
  s->waited += now - s->since[i];
  s->place[i] = HOLDS;
  s->at[i] = now + draw(s, s->w.service, s->w.times.service);
}

static inline void release(struct simulation *s, double now) {
  int word = s->word;
  s->word = 0;
  if (s->queued == 0 || word != 2)
    return;
  unsigned next = s->queue[0];
  s->queued--;
  for (unsigned k = 0; k < s->queued; k++)
    s->queue[k] = s->queue[k + 1];
  s->place[next] = COMES;
  s->at[next] = now + draw(s, s->w.handoff, s->w.times.handoff);
  if (s->w.rule == LOCK_IN_ORDER)
    s->word = 2;
}

/* A sleeper that comes knows of contention and leaves 2; who meets a free lock leaves 1. */
static inline void want(struct simulation *s, unsigned i, double now) {
  bool comes = s->place[i] == COMES;
  if (!comes) {
    s->since[i] = now;
    s->arrived++;
    s->collided += s->word != 0;
  }
  bool mine = s->word == 0 || (comes && s->w.rule == LOCK_IN_ORDER);
  s->word = mine && !comes ? 1 : 2;
  if (mine) {
    hold(s, i, now);
    return;
  }
  s->place[i] = SLEEPS;
  s->at[i] = INFINITY;
  s->queue[s->queued++] = i;
}

static inline void step(struct simulation *s, double *now) {
  unsigned next = 0;
  for (unsigned i = 1; i < s->w.threads; i++)
    if (s->at[i] < s->at[next])
      next = i;
  *now = s->at[next];
  if (s->place[next] != HOLDS) {
    want(s, next, *now);
    return;
  }
  s->done++;
  release(s, *now);
  s->place[next] = THINKS;
  s->at[next] = *now + draw(s, s->w.think, s->w.times.think);
}

static inline struct lock_load simulate(struct world w, unsigned long acquisitions) {
  struct simulation s = {.w = w, .random = 88172645463325252u};
  double now = 0;
  for (unsigned i = 0; i < w.threads; i++)
    s.at[i] = draw(&s, EXPONENTIAL, w.times.think + 1e-9);
  while (s.done < acquisitions / 10)
    step(&s, &now);
  double begun = now;
  s.done = s.arrived = s.collided = 0;
  s.waited = 0;
  while (s.done < acquisitions)
    step(&s, &now);
  return (struct lock_load){(double)s.done / (now - begun), s.waited / (double)s.done,
                            (double)s.collided / (double)s.arrived};
}

#endif
