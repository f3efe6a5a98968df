/*
 * Time and order of a plan: windows, expected durations, shuffling. See plan.h. Pure arithmetic.
 */
#include "harness/pace.h"
#include "harness/plan_parts.h"

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

/*
 * Of a process: start, calibrations, opening, leaving; and a little for each thread. Then what the
 * pass for shared lines takes beside its ops: its table.
 */
#define START_NS (28u * MS)
#define THREAD_NS (MS / 10)
#define LINES_TABLE_NS (30u * MS)
#define LINES_PASS_NS (10u * MS)

/* Misses per op seldom agree in the least time that a warm-up takes. */
#define WARMUP_FACTOR 1.3

/* What waiting for the one lock of a strategy makes of an op; from 3 to 10 under Compare. */
#define ONE_LOCK_FACTOR 8

uint64_t plan_rotation(unsigned threads, unsigned cpus) {
  return (uint64_t)((threads + cpus - 1) / cpus) * PLAN_SLICE_NS;
}

/*
 * The row's value of one of its workload's options: the last one in row->options, else the
 * default. Ends at a comma or at the end of the string.
 */
static const char *setting(const struct plan_case *row, const struct strategy_option *option) {
  const char *text = option->fallback;
  size_t length = strlen(option->key);
  for (const char *at = row->options; at && *at;) {
    if (strncmp(at, option->key, length) == 0 && at[length] == '=')
      text = at + length + 1;
    at += strcspn(at, ",");
    at += *at == ',';
  }
  return text;
}

/* How long a series waits, ns. */
static uint64_t idle_time(const struct plan_case *row) {
  for (const struct strategy_option *o = row->workload->options; o && o->key; o++)
    if (strcmp(o->key, PLAN_IDLE) == 0)
      return strtoull(setting(row, o), NULL, 10) * 1000 * MS;
  return 0;
}

/* How many times the default's work a series has, by its settings that are plain numbers. */
static double series_size(const struct plan_case *row) {
  double size = 1;
  for (const struct strategy_option *o = row->workload->options; o && o->key; o++) {
    char *end;
    double usual = o->fallback ? strtod(o->fallback, &end) : 0;
    if (usual > 0 && *end == '\0' && strcmp(o->key, PLAN_IDLE) != 0)
      size *= strtod(setting(row, o), NULL) / usual;
  }
  return size;
}

static uint64_t cell_window(const struct plan *p, const struct plan_cell *c,
                            const struct plan_machine *m) {
  uint64_t least = PLAN_ROTATIONS * plan_rotation(c->team, m->cpus);
  uint64_t period = (uint64_t)(m->cgroup_period_s * 1e9) * PLAN_ROTATIONS;
  least = period > least ? period : least;
  return p->window > least ? p->window : least;
}

/* The team's time per op. */
static double op_wall(const struct plan_cell *c, unsigned running) {
  bool waits = running > 1 && (c->arm->strategy->flags & STRATEGY_ONE_LOCK) &&
               !strstr(c->arm->spec, ":" STRATEGY_PRIVATE_POOLS);
  return c->row->info->op_hint_ns * (waits ? ONE_LOCK_FACTOR : 1) / running;
}

/* By the arithmetic with which the worker will go about it; see pace.h. */
static void expect(struct plan_cell *c, const struct plan_machine *m) {
  unsigned running = c->team < m->cpus ? c->team : m->cpus;
  uint64_t start = START_NS + c->team * THREAD_NS + (uint64_t)c->row->info->open_hint_ns;
  if (c->row->info->flags & CASE_SERIES) {
    c->expected =
        start + idle_time(c->row) + (uint64_t)(c->row->info->op_hint_ns * series_size(c->row));
    return;
  }
  double wall = op_wall(c, running), each = wall * c->team;
  double measured = (double)pace_measured_ops(c->window, wall, running, c->team) * wall;
  double warmup = WARMUP_FACTOR * (double)pace_warmup_min_ns(c->window, c->team, running);
  double lines = (double)(LINES_PASS_NS + pace_rotation_ns(c->team, running));
  measured = measured > (double)c->window ? measured : (double)c->window;
  warmup = warmup > 2 * each ? warmup : 2 * each;
  c->expected = start + (uint64_t)(warmup + measured);
  c->lines = LINES_TABLE_NS + (uint64_t)(lines > each ? lines : each);
}

unsigned plan_last_round(const struct plan *p) {
  unsigned last = 0;
  for (size_t i = 0; i < p->cell_count; i++)
    last = p->cells[i].rounds > last ? p->cells[i].rounds : last;
  return last;
}

uint64_t plan_sample_time(const struct plan_cell *c, unsigned round) {
  return c->expected + (round <= PLAN_LINES_ROUNDS ? c->lines : 0);
}

uint64_t plan_expected(const struct plan *p, unsigned done) {
  uint64_t sum = 0;
  for (size_t i = 0; i < p->cell_count; i++)
    for (unsigned round = done + 1; round <= p->cells[i].rounds; round++)
      sum += plan_sample_time(&p->cells[i], round);
  return sum;
}

static void note_windows(struct plan *p, const struct options *o, const struct plan_machine *m) {
  uint64_t most = 0, least = UINT64_MAX;
  for (size_t i = 0; i < p->cell_count; i++) {
    most = p->cells[i].window > most ? p->cells[i].window : most;
    least = p->cells[i].window < least ? p->cells[i].window : least;
  }
  /* A thread alone on its CPU has turns, too: a short window grows there as well. */
  if (most > p->window && o->window_ns)
    plan_note(p, "window of %s%llu ms instead of %llu%s: at least %d turns of every thread",
              least > p->window && least < most ? "up to " : "", (unsigned long long)(most / MS),
              (unsigned long long)(p->window / MS),
              least == p->window ? " where threads share CPUs" : "", PLAN_ROTATIONS);
  if (m->cgroup_period_s > 0)
    plan_note(p, "a cgroup limits the CPUs: samples can be throttled, and are flagged then");
}

void plan_schedule(struct plan *p, const struct options *o, const struct plan_machine *m) {
  for (size_t i = 0; i < p->cell_count; i++) {
    struct plan_cell *c = &p->cells[i];
    c->window = cell_window(p, c, m);
    expect(c, m);
    c->limit = LIMIT_FACTOR * c->expected;
    uint64_t least = c->row->info->flags & CASE_SERIES ? SERIES_LIMIT_NS : LEAST_LIMIT_NS;
    c->limit = c->limit > least ? c->limit : least;
  }
  note_windows(p, o, m);
  plan_fit(p, m->cpus);
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
