/* The machine repairman, without and with hand-off; see lockmodel.h. */
#include "harness/lockmodel.h"

#include <math.h>
#include <stdlib.h>

double lockmodel_saturation(const struct lock_times *t) {
  return (t->think + t->service) / t->service;
}

struct lockmodel_bounds lockmodel_bounds(const struct lock_times *t, unsigned threads) {
  double n = threads;
  return (struct lockmodel_bounds){
      .low = n / (t->think + n * t->service),
      .high = fmin(n / (t->think + t->service), 1 / t->service),
  };
}

double lockmodel_plain(const struct lock_times *t, unsigned threads) {
  double rate = 0, queue = 0; /* with n - 1 threads, as an arriving one finds it */
  for (unsigned n = 1; n <= threads; n++) {
    double at_lock = t->service * (1 + queue);
    rate = n / (t->think + at_lock);
    queue = rate * at_lock;
  }
  return rate;
}

/* --- A Markov chain whose states reach neighbours only. */

enum {
  MOST_COMING = 8, /* waiters on their way at once; the cost grows with its square */
  WORDS = 3,       /* of a futex mutex: see enum word */
  PHASES = WORDS * (MOST_COMING + 1),
  BAND = PHASES + WORDS, /* one more asleep, or one less and one more coming */
  WIDTH = 2 * BAND + 1
};

struct chain {
  size_t states;
  double *rates; /* WIDTH a state: to the states from BAND below to BAND above */
  double *share; /* stationary probability of each state */
};

static double *rate_of(const struct chain *c, size_t from, size_t to) {
  return &c->rates[from * WIDTH + to + BAND - from];
}

/*
 * Stationary distribution by elimination from the last state to the first (Grassmann, Taksar and
 * Heyman, Operations Research 33(5), 1985). It adds and divides only, so nothing cancels, however
 * far think time, hold and hand-off lie apart. Fill-in stays within the band. States that nothing
 * reaches get 0.
 */
static void solve_chain(struct chain *c) {
  for (size_t n = c->states - 1; n > 0; n--) {
    size_t first = n > BAND ? n - BAND : 0;
    double down = 0;
    for (size_t j = first; j < n; j++)
      down += *rate_of(c, n, j);
    for (size_t i = first; i < n; i++) {
      double *up = rate_of(c, i, n);
      *up = down > 0 ? *up / down : 0;
      for (size_t j = first; *up > 0 && j < n; j++)
        *rate_of(c, i, j) += j == i ? 0 : *up * *rate_of(c, n, j);
    }
  }
  double sum = c->share[0] = 1;
  for (size_t n = 1; n < c->states; n++) {
    c->share[n] = 0;
    for (size_t i = n > BAND ? n - BAND : 0; i < n; i++)
      c->share[n] += c->share[i] * *rate_of(c, i, n);
    sum += c->share[n];
    /* Shares of a crowded lock grow from level to level, beyond what a double holds. */
    if (sum > 1e200) {
      for (size_t i = 0; i <= n; i++)
        c->share[i] /= sum;
      sum = 1;
    }
  }
  for (size_t n = 0; n < c->states; n++)
    c->share[n] /= sum;
}

/* --- The lock as such a chain: how many sleep, how many are on their way, the lock's word. */

enum word {
  FREE,
  HELD,    /* by a thread that met no waiter: its release wakes nobody */
  CROWDED, /* held, and the release wakes a sleeper if there is one; in order always */
};

struct place {
  unsigned asleep, coming;
  enum word word;
};

static size_t state_of(struct place p) {
  return (size_t)p.asleep * PHASES + p.coming * WORDS + p.word;
}

static unsigned thinking(unsigned threads, struct place p) {
  unsigned away = p.asleep + p.coming + (p.word != FREE);
  return threads > away ? threads - away : 0;
}

/* In order a lock that somebody is coming for is as good as taken. */
static bool is_taken(enum lock_rule rule, struct place p) {
  return p.word != FREE || (rule == LOCK_IN_ORDER && p.coming > 0);
}

static struct place after_arrival(enum lock_rule rule, struct place p) {
  if (!is_taken(rule, p)) {
    p.word = rule == LOCK_IN_ORDER ? CROWDED : HELD;
  } else {
    p.asleep++;
    p.word = p.word == FREE ? FREE : CROWDED;
  }
  return p;
}

static struct place after_release(struct place p) {
  if (p.word == CROWDED && p.asleep > 0 && p.coming < MOST_COMING) {
    p.asleep--;
    p.coming++;
  }
  p.word = FREE;
  return p;
}

/* Who comes and finds the lock taken sleeps again, and sees to it that the release wakes. */
static struct place after_coming(struct place p) {
  p.coming--;
  p.asleep += p.word != FREE;
  p.word = CROWDED;
  return p;
}

static void fill_state(struct chain *c, const struct lock_times *t, enum lock_rule rule,
                       unsigned threads, struct place p) {
  double think = fmax(t->think, 1e-9 * t->service), handoff = fmax(t->handoff, 1e-9 * t->service);
  size_t from = state_of(p);
  if (thinking(threads, p) > 0)
    *rate_of(c, from, state_of(after_arrival(rule, p))) += thinking(threads, p) / think;
  if (p.word != FREE)
    *rate_of(c, from, state_of(after_release(p))) += 1 / t->service;
  if (p.coming > 0)
    *rate_of(c, from, state_of(after_coming(p))) += p.coming / handoff;
}

/* Calls visit for all places of `threads` threads. In order at most one comes, to a free lock. */
static void each_place(enum lock_rule rule, unsigned threads, void (*visit)(void *, struct place),
                       void *context) {
  for (unsigned asleep = 0; asleep < threads; asleep++)
    for (unsigned coming = 0; coming <= MOST_COMING; coming++)
      for (enum word word = FREE; word <= CROWDED; word++) {
        bool in_order = coming == 0 ? word == CROWDED || (word == FREE && asleep == 0)
                                    : coming == 1 && word == FREE;
        if (asleep + coming + (word != FREE) <= threads && (rule == LOCK_BARGING || in_order))
          visit(context, (struct place){asleep, coming, word});
      }
}

struct solution {
  struct chain chain;
  const struct lock_times *times;
  enum lock_rule rule;
  unsigned threads;
  double held, waiting, wanting, colliding;
};

static void fill(void *context, struct place p) {
  struct solution *s = context;
  fill_state(&s->chain, s->times, s->rule, s->threads, p);
}

static void sum(void *context, struct place p) {
  struct solution *s = context;
  double share = s->chain.share[state_of(p)], arriving = share * thinking(s->threads, p);
  s->held += p.word != FREE ? share : 0;
  s->waiting += share * (p.asleep + p.coming);
  s->wanting += arriving;
  s->colliding += is_taken(s->rule, p) ? arriving : 0;
}

bool lockmodel_solve(const struct lock_times *t, enum lock_rule rule, unsigned threads,
                     struct lock_load *out) {
  struct solution s = {.times = t, .rule = rule, .threads = threads};
  s.chain.states = ((size_t)threads + 1) * PHASES;
  s.chain.rates = calloc(s.chain.states * WIDTH, sizeof *s.chain.rates);
  s.chain.share = calloc(s.chain.states, sizeof *s.chain.share);
  bool ok = s.chain.rates && s.chain.share;
  if (ok) {
    each_place(rule, threads, fill, &s);
    solve_chain(&s.chain);
    each_place(rule, threads, sum, &s);
    /* Waits by Little's law; collisions as arrivals see the chain. */
    out->rate = s.held / t->service;
    out->wait = s.waiting / out->rate;
    out->collisions = s.wanting > 0 ? s.colliding / s.wanting : 0;
  }
  free(s.chain.rates);
  free(s.chain.share);
  return ok;
}

bool lockmodel_handoff(const struct lock_times *t, enum lock_rule rule, double wait,
                       double *handoff) {
  struct lock_times trial = *t;
  double low = 1e-3 * t->service, high = LOCKMODEL_MOST_HANDOFF * t->service;
  for (int i = 0; i < 40; i++) {
    struct lock_load load;
    trial.handoff = sqrt(low * high);
    if (!lockmodel_solve(&trial, rule, 2, &load))
      return false;
    *(load.wait < wait ? &low : &high) = trial.handoff;
  }
  *handoff = low > 1e-3 * t->service ? low : 0;
  return true;
}
