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

struct chain {
  size_t states, band;
  double *rates; /* 2 band + 1 a state: to the states from `band` below to `band` above */
  double *share; /* stationary probability of each state */
};

static bool chain_start(struct chain *c, size_t states, size_t band) {
  *c = (struct chain){.states = states, .band = band};
  c->rates = calloc(states * (2 * band + 1), sizeof *c->rates);
  c->share = calloc(states, sizeof *c->share);
  return c->rates && c->share;
}

static void chain_free(struct chain *c) {
  free(c->rates);
  free(c->share);
}

static double *rate_of(const struct chain *c, size_t from, size_t to) {
  return &c->rates[from * (2 * c->band + 1) + to + c->band - from];
}

/*
 * Stationary distribution by elimination from the last state to the first (Grassmann, Taksar and
 * Heyman, Operations Research 33(5), 1985). It adds and divides only, so nothing cancels, however
 * far think time, hold and hand-off lie apart. Fill-in stays within the band. States that nothing
 * reaches get 0.
 */
static void chain_solve(struct chain *c) {
  for (size_t n = c->states - 1; n > 0; n--) {
    size_t first = n > c->band ? n - c->band : 0;
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
    for (size_t i = n > c->band ? n - c->band : 0; i < n; i++)
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

/* Waiters on their way at once; what it costs grows with its square. */
enum { MOST_COMING = 8 };

enum word {
  FREE,
  HELD,    /* by a thread that met no waiter: its release wakes nobody */
  CROWDED, /* held, and the release wakes a sleeper if there is one; in order always */
  WORDS
};

struct place {
  unsigned asleep, coming;
  enum word word;
};

struct model {
  struct chain chain;
  const struct lock_times *times;
  enum lock_rule rule;
  unsigned threads, most_coming;
  double held, waiting, wanting, colliding; /* sums over the solved chain */
};

static size_t phases_of(const struct model *m) {
  return (size_t)WORDS * (m->most_coming + 1);
}

static size_t state_of(const struct model *m, struct place p) {
  return p.asleep * phases_of(m) + (size_t)p.coming * WORDS + p.word;
}

static unsigned thinking(const struct model *m, struct place p) {
  unsigned away = p.asleep + p.coming + (p.word != FREE);
  return m->threads > away ? m->threads - away : 0;
}

/* In order a lock that somebody is coming for is as good as taken. */
static bool is_taken(const struct model *m, struct place p) {
  return p.word != FREE || (m->rule == LOCK_IN_ORDER && p.coming > 0);
}

static struct place after_arrival(const struct model *m, struct place p) {
  if (!is_taken(m, p)) {
    p.word = m->rule == LOCK_IN_ORDER ? CROWDED : HELD;
  } else {
    p.asleep++;
    p.word = p.word == FREE ? FREE : CROWDED;
  }
  return p;
}

static struct place after_release(const struct model *m, struct place p) {
  if (p.word == CROWDED && p.asleep > 0 && p.coming < m->most_coming) {
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

static void add_rates(struct model *m, struct place p) {
  const struct lock_times *t = m->times;
  /* No time is quite 0, or a rate would be infinite. */
  double think = fmax(t->think, 1e-9 * t->service), handoff = fmax(t->handoff, 1e-9 * t->service);
  size_t from = state_of(m, p);
  if (thinking(m, p) > 0)
    *rate_of(&m->chain, from, state_of(m, after_arrival(m, p))) += thinking(m, p) / think;
  if (p.word != FREE)
    *rate_of(&m->chain, from, state_of(m, after_release(m, p))) += 1 / t->service;
  if (p.coming > 0)
    *rate_of(&m->chain, from, state_of(m, after_coming(p))) += p.coming / handoff;
}

static void add_shares(struct model *m, struct place p) {
  double share = m->chain.share[state_of(m, p)], arriving = share * thinking(m, p);
  m->held += p.word != FREE ? share : 0;
  m->waiting += share * (p.asleep + p.coming);
  m->wanting += arriving;
  m->colliding += is_taken(m, p) ? arriving : 0;
}

/* All places of so many threads. In order one comes at most, to a lock that is free for it. */
static void each_place(struct model *m, void (*visit)(struct model *, struct place)) {
  for (unsigned asleep = 0; asleep < m->threads; asleep++)
    for (unsigned coming = 0; coming <= m->most_coming; coming++)
      for (enum word word = FREE; word <= CROWDED; word++) {
        bool in_order = coming == 0 ? word == CROWDED || (word == FREE && asleep == 0)
                                    : coming == 1 && word == FREE;
        if (asleep + coming + (word != FREE) <= m->threads && (m->rule == LOCK_BARGING || in_order))
          visit(m, (struct place){asleep, coming, word});
      }
}

bool lockmodel_solve(const struct lock_times *t, enum lock_rule rule, unsigned threads,
                     struct lock_load *out) {
  struct model m = {.times = t, .rule = rule, .threads = threads, .most_coming = 1};
  if (rule == LOCK_BARGING && threads > 2)
    m.most_coming = threads - 1 < MOST_COMING ? threads - 1 : MOST_COMING;
  /* Neighbours: one more asleep, or one less asleep and one more coming. */
  size_t phases = phases_of(&m);
  bool ok = chain_start(&m.chain, (threads + (size_t)1) * phases, phases + WORDS);
  if (ok) {
    each_place(&m, add_rates);
    chain_solve(&m.chain);
    each_place(&m, add_shares);
    /* Waits by Little's law; collisions as arrivals see the chain. */
    out->rate = m.held / t->service;
    out->wait = m.waiting / out->rate;
    out->collisions = m.wanting > 0 ? m.colliding / m.wanting : 0;
  }
  chain_free(&m.chain);
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
