/*
 * Time and order of a plan: windows, expected durations, thinning to the budget, shuffling.
 * See plan.h. Pure arithmetic.
 */
#include "harness/plan.h"

#include <stdlib.h>

#define MS 1000000u

enum {
  QUICK_FEWEST_ROUNDS = 4, /* 4 against 4 samples can still give p = 0.029 */
  SWEEP_FEWEST_ROUNDS = 4,
};

static const uint64_t LEAST_LIMIT_NS = 3000000000u;
/* A series waits for seconds on purpose; its limit of ten times this leaves room for --set. */
static const uint64_t SERIES_NS = 10000000000u;

uint64_t plan_rotation(unsigned threads, unsigned cpus) {
  return (uint64_t)((threads + cpus - 1) / cpus) * PLAN_SLICE_NS;
}

/* Measured ops overhang the window by about half an op a CPU: 100 ops keep that below 0.5 %. */
static uint64_t long_ops_window(const struct plan_cell *c, uint64_t window) {
  uint64_t longer = (uint64_t)(c->row->info->op_hint_ns * 100);
  return longer > window ? longer : window;
}

static uint64_t cell_window(const struct plan *p, const struct plan_cell *c,
                            const struct plan_machine *m) {
  uint64_t least = PLAN_ROTATIONS * plan_rotation(c->team, m->cpus);
  uint64_t period = (uint64_t)(m->cgroup_period_s * 1e9) * PLAN_ROTATIONS;
  least = period > least ? period : least;
  return p->window > least ? p->window : least;
}

/*
 * Process start, calibration and leaving: 20 ms. Warm-up: a quarter of the window, or two ops
 * a thread where those take longer.
 */
static uint64_t cell_expected(const struct plan_cell *c, const struct plan_machine *m) {
  if (c->row->info->flags & CASE_SERIES)
    return SERIES_NS;
  unsigned running = c->team < m->cpus ? c->team : m->cpus;
  uint64_t two_ops = (uint64_t)(c->row->info->op_hint_ns * 2 * c->team / running);
  uint64_t warmup = c->window / 4 > two_ops ? c->window / 4 : two_ops;
  return 20 * MS + warmup + long_ops_window(c, c->window);
}

unsigned plan_last_round(const struct plan *p) {
  unsigned last = 0;
  for (size_t i = 0; i < p->cell_count; i++)
    last = p->cells[i].rounds > last ? p->cells[i].rounds : last;
  return last;
}

uint64_t plan_expected(const struct plan *p, unsigned done) {
  uint64_t sum = 0;
  for (size_t i = 0; i < p->cell_count; i++)
    if (p->cells[i].rounds > done)
      sum += p->cells[i].expected * (p->cells[i].rounds - done);
  return sum;
}

static bool fits(const struct plan *p) {
  return plan_expected(p, 0) <= p->budget;
}

/* The largest thread count left in the sweep, 0 for none. */
static unsigned largest_in_sweep(const struct plan *p) {
  unsigned most = 0;
  for (size_t i = 0; i < p->cell_count; i++) {
    const struct plan_cell *c = &p->cells[i];
    if (!c->headline && c->rounds && c->threads > most)
      most = c->threads;
  }
  return most;
}

/*
 * Gives up the sweep's thread counts above `keep`, the largest first, until the plan fits: the
 * headline shows that end of the curve anyway.
 */
static void thin_counts(struct plan *p, unsigned keep) {
  char list[200] = "";
  size_t used = 0;
  unsigned threads;
  while (!fits(p) && (threads = largest_in_sweep(p)) > keep) {
    for (size_t i = 0; i < p->cell_count; i++)
      if (!p->cells[i].headline && p->cells[i].threads == threads)
        p->cells[i].rounds = 0;
    if (used < sizeof list - 12)
      used += (size_t)snprintf(list + used, sizeof list - used, "%s%u", used ? ", " : "", threads);
  }
  if (used)
    plan_note(p, "not measured at %s threads: no time for it (--budget changes that)", list);
  if (largest_in_sweep(p) == 0)
    p->sweep_rounds = 0;
}

/* Fewer rounds of the headline or of the sweep, down to `fewest`. */
static void thin_rounds(struct plan *p, bool headline, unsigned fewest) {
  unsigned *rounds = headline ? &p->rounds : &p->sweep_rounds;
  unsigned before = *rounds;
  while (!fits(p) && *rounds > fewest) {
    --*rounds;
    for (size_t i = 0; i < p->cell_count; i++)
      if (p->cells[i].headline == headline && p->cells[i].rounds > *rounds)
        p->cells[i].rounds = *rounds;
  }
  if (*rounds < before)
    plan_note(p, "%u rounds%s instead of %u: no time for more (--budget changes that)", *rounds,
              headline ? "" : " of the sweep", before);
}

/* Keeps the cases that have curves, where there are such and others. */
static void thin_cases(struct plan *p) {
  bool curves = false, others = false;
  for (size_t i = 0; i < p->case_count; i++)
    *(p->cases[i].info->in_sweep ? &curves : &others) = true;
  if (fits(p) || !curves || !others)
    return;
  for (size_t i = 0; i < p->cell_count; i++)
    if (!p->cells[i].row->info->in_sweep)
      p->cells[i].rounds = 0;
  plan_note(p, "quick: only the cases that have curves; a full run measures all of the suite");
}

/* Would it fit if the sweep's thread counts above `keep` were given up? */
static bool fits_without_counts(const struct plan *p, unsigned keep) {
  uint64_t saved = 0;
  for (size_t i = 0; i < p->cell_count; i++)
    if (!p->cells[i].headline && p->cells[i].threads > keep)
      saved += p->cells[i].expected * p->cells[i].rounds;
  return plan_expected(p, 0) - saved <= p->budget;
}

/* The sweep gives way before the headline; the headline is cut by --quick alone. */
static void fit_budget(struct plan *p, unsigned cpus) {
  unsigned keep = cpus < 2 ? 1 : 2;
  if (p->quick && !fits_without_counts(p, keep))
    thin_cases(p);
  if (p->sweep_is_ours)
    thin_counts(p, keep);
  if (p->quick)
    thin_rounds(p, true, QUICK_FEWEST_ROUNDS + 1);
  if (p->sweep_is_ours) {
    thin_rounds(p, false, SWEEP_FEWEST_ROUNDS);
    thin_counts(p, 0);
  }
  if (p->quick)
    thin_rounds(p, true, QUICK_FEWEST_ROUNDS);
  if (!fits(p))
    plan_note(p, "this takes longer than %llu s; fewer cases, strategies or rounds are shorter",
              (unsigned long long)(p->budget / 1000 / MS));
}

static void note_windows(struct plan *p, const struct options *o, const struct plan_machine *m) {
  uint64_t most = 0;
  for (size_t i = 0; i < p->cell_count; i++)
    most = p->cells[i].window > most ? p->cells[i].window : most;
  if (most > p->window && o->window_ns)
    plan_note(p,
              "window of %llu ms instead of %llu where threads share CPUs: at least %d turns "
              "of every thread",
              (unsigned long long)(most / MS), (unsigned long long)(p->window / MS),
              PLAN_ROTATIONS);
  if (m->cgroup_period_s > 0)
    plan_note(p, "a cgroup limits the CPUs: samples can be throttled, and are flagged then");
}

void plan_schedule(struct plan *p, const struct options *o, const struct plan_machine *m) {
  for (size_t i = 0; i < p->cell_count; i++) {
    struct plan_cell *c = &p->cells[i];
    c->window = cell_window(p, c, m);
    c->expected = cell_expected(c, m);
    /* A cell ten times slower than planned is still measured; one beyond that is a bound. */
    c->limit = 10 * c->expected > LEAST_LIMIT_NS ? 10 * c->expected : LEAST_LIMIT_NS;
  }
  note_windows(p, o, m);
  fit_budget(p, m->cpus);
}

/* Steele, Lea and Flood's SplitMix64, which needs no seeding beyond a number. */
static uint64_t splitmix(uint64_t *state) {
  uint64_t z = (*state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

uint64_t plan_random(uint64_t seed, uint64_t a, uint64_t b) {
  uint64_t state = seed;
  state = splitmix(&state) ^ a;
  state = splitmix(&state) ^ b;
  return splitmix(&state);
}

size_t plan_order(const struct plan *p, unsigned round, unsigned *order) {
  size_t n = 0;
  for (size_t i = 0; i < p->cell_count; i++)
    if (p->cells[i].rounds >= round)
      order[n++] = (unsigned)i;
  uint64_t state = plan_random(p->seed, round, 0);
  for (size_t i = n; i > 1; i--) {
    /* Modulo bias is below 2^-50 for any plan that fits memory. */
    size_t j = (size_t)(splitmix(&state) % i);
    unsigned swap = order[i - 1];
    order[i - 1] = order[j];
    order[j] = swap;
  }
  return n;
}
