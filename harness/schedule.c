/*
 * Time and order of a plan: windows, expected durations, thinning to the budget, shuffling.
 * See plan.h. Pure arithmetic.
 */
#include "harness/plan.h"

#include <stdlib.h>
#include <string.h>

#define MS 1000000u

/*
 * A cell may take this many times what is expected, and this long at least, before it is a bound:
 * on a shared host a neighbour can slow it several times, and that is no property of the cell.
 */
enum { LIMIT_FACTOR = 20 };
static const uint64_t LEAST_LIMIT_NS = 8000000000u;
/* Objects that --set makes many more and larger than by default take their time. */
static const uint64_t SERIES_LIMIT_NS = 100000000000u;

uint64_t plan_rotation(unsigned threads, unsigned cpus) {
  return (uint64_t)((threads + cpus - 1) / cpus) * PLAN_SLICE_NS;
}

uint64_t plan_idle(const struct plan_case *row) {
  const char *text = NULL;
  for (const struct strategy_option *o = row->workload->options; o && o->key; o++)
    if (strcmp(o->key, PLAN_IDLE) == 0)
      text = o->fallback;
  for (const char *at = row->options; at && text && *at;) {
    if (strncmp(at, PLAN_IDLE "=", strlen(PLAN_IDLE) + 1) == 0)
      text = at + strlen(PLAN_IDLE) + 1;
    at += strcspn(at, ",");
    at += *at == ',';
  }
  return text ? strtoull(text, NULL, 10) * 1000 * MS : 0;
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
    return 20 * MS + (uint64_t)c->row->info->op_hint_ns + plan_idle(c->row);
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

/* Fewer rounds of the sweep, down to four. */
static void thin_sweep_rounds(struct plan *p) {
  unsigned before = p->sweep_rounds;
  while (!fits(p) && p->sweep_rounds > PLAN_FEWEST_ROUNDS)
    plan_limit_rounds(p, false, p->sweep_rounds - 1);
  if (p->sweep_rounds < before)
    plan_note(p, "%u rounds of the sweep instead of %u: no time for more (--budget changes that)",
              p->sweep_rounds, before);
}

void plan_limit_rounds(struct plan *p, bool headline, unsigned most) {
  unsigned *rounds = headline ? &p->rounds : &p->sweep_rounds;
  *rounds = *rounds < most ? *rounds : most;
  for (size_t i = 0; i < p->cell_count; i++)
    if (p->cells[i].headline == headline && p->cells[i].rounds > most)
      p->cells[i].rounds = most;
}

/* What is left would end after the budget at the pace so far. */
static bool too_slow(const struct plan *p, unsigned round, uint64_t spent) {
  uint64_t left = plan_expected(p, round), done = plan_expected(p, 0) - left;
  return done && (double)spent * (1 + (double)left / (double)done) > (double)p->budget;
}

/* Gives up rounds one by one, down to `least`, until the rest fits at the pace so far. */
static bool shorten(struct plan *p, bool headline, unsigned least, unsigned round, uint64_t spent) {
  unsigned *rounds = headline ? &p->rounds : &p->sweep_rounds, before = *rounds;
  unsigned floor = round > least ? round : least;
  while (*rounds > floor && too_slow(p, round, spent))
    plan_limit_rounds(p, headline, *rounds - 1);
  return *rounds < before;
}

/* The pace of the first rounds is a guess, and waiting loses nothing: four are done anyway. */
void plan_shorten(struct plan *p, unsigned round, uint64_t spent) {
  if (round < PLAN_FEWEST_ROUNDS)
    return;
  if (p->sweep_is_ours && shorten(p, false, PLAN_FEWEST_ROUNDS, round, spent))
    plan_note(p, "sweep of %u rounds: samples took longer than planned", p->sweep_rounds);
  if (p->quick && shorten(p, true, PLAN_FEWEST_ROUNDS, round, spent))
    plan_note(p, "quick: %u rounds: samples took longer than planned", p->rounds);
  else if (p->rounds_are_ours && shorten(p, true, PLAN_FEWEST_OF_ALL, round, spent))
    plan_note(p, "%u rounds: samples took longer than planned", p->rounds);
}

/*
 * What --quick gives up, from best to least: the first that fits is taken. Rounds go last, and not
 * below six before the curves are gone: Holm over 24 rows (four strategies against the base in six
 * cases) decides nothing with six samples a side, over 12 rows nothing with five.
 */
struct quick_level {
  bool curves_only; /* only cases that have curves */
  unsigned rounds;  /* of the headline */
  unsigned keep;    /* counts of the sweep up to this one must fit; larger ones may */
};
static const struct quick_level quick_levels[] = {
    {false, 7, 2}, {false, 7, 1}, {true, 7, 2}, {true, 7, 1},
    {true, 6, 1},  {true, 6, 0},  {true, 5, 0}, {true, PLAN_FEWEST_ROUNDS, 0}};
enum { QUICK_LEVELS = sizeof quick_levels / sizeof quick_levels[0] };

static uint64_t expected_at(const struct plan *p, const struct quick_level *level, bool curves) {
  uint64_t sum = 0;
  for (size_t i = 0; i < p->cell_count; i++) {
    const struct plan_cell *c = &p->cells[i];
    unsigned rounds = c->headline && c->rounds > level->rounds ? level->rounds : c->rounds;
    if (level->curves_only && curves && !c->row->info->in_sweep)
      continue;
    if (c->headline || c->threads <= level->keep)
      sum += c->expected * rounds;
  }
  return sum;
}

static bool any_curves(const struct plan *p, bool wanted) {
  for (size_t i = 0; i < p->case_count; i++)
    if (p->cases[i].info->in_sweep == wanted)
      return true;
  return false;
}

static void drop_cases_without_curves(struct plan *p) {
  for (size_t i = 0; i < p->cell_count; i++)
    if (!p->cells[i].row->info->in_sweep)
      p->cells[i].rounds = 0;
  plan_note(p, "quick: only the cases that have curves; a full run measures all of the suite");
}

/*
 * Returns the thread count up to which the sweep must stay. A preset keeps its rows, which are the
 * published table's, and gives up rounds only.
 */
static unsigned apply_quick(struct plan *p) {
  bool curves = any_curves(p, true) && !p->preset;
  int level = 0;
  while (level < QUICK_LEVELS - 1 && expected_at(p, &quick_levels[level], curves) > p->budget)
    level++;
  if (quick_levels[level].curves_only && curves && any_curves(p, false))
    drop_cases_without_curves(p);
  plan_limit_rounds(p, true, quick_levels[level].rounds);
  return quick_levels[level].keep;
}

/* Suite all has more rows than ten minutes have rounds: fewer rounds, but of every case. */
static void thin_rounds(struct plan *p) {
  unsigned before = p->rounds;
  while (!fits(p) && p->rounds > PLAN_FEWEST_OF_ALL)
    plan_limit_rounds(p, true, p->rounds - 1);
  if (p->rounds < before)
    plan_note(p, "%u rounds instead of %u: no time for more (--rounds or --budget change that)",
              p->rounds, before);
}

/* The sweep gives way before the headline, which --quick and suite all alone may cut. */
static void fit_budget(struct plan *p, unsigned cpus) {
  if (fits(p))
    return;
  unsigned keep = p->quick ? apply_quick(p) : cpus < 2 ? 1 : 2;
  if (p->sweep_is_ours) {
    thin_counts(p, keep);
    thin_sweep_rounds(p);
    thin_counts(p, 0);
  }
  if (p->rounds_are_ours)
    thin_rounds(p);
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

/* The smallest two-sided p of n against n samples: 2 / C(2n, n). */
static double smallest_p(unsigned n) {
  double arrangements = 1;
  for (unsigned i = 1; i <= n; i++)
    arrangements *= (double)(n + i) / i;
  return 2 / arrangements;
}

static void note_few_rounds(struct plan *p) {
  if (p->quick)
    plan_note(p,
              "quick: %u samples a side, so p is %.2g at best; differences of a few percent and "
              "many rows at once stay undecided",
              p->rounds, smallest_p(p->rounds));
}

void plan_schedule(struct plan *p, const struct options *o, const struct plan_machine *m) {
  for (size_t i = 0; i < p->cell_count; i++) {
    struct plan_cell *c = &p->cells[i];
    c->window = cell_window(p, c, m);
    c->expected = cell_expected(c, m);
    c->limit = LIMIT_FACTOR * c->expected;
    uint64_t least = c->row->info->flags & CASE_SERIES ? SERIES_LIMIT_NS : LEAST_LIMIT_NS;
    c->limit = c->limit > least ? c->limit : least;
  }
  note_windows(p, o, m);
  fit_budget(p, m->cpus);
  note_few_rounds(p);
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
