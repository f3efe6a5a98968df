/*
 * What a plan gives up to end in its time, before a run and in it; see plan.h. Pure arithmetic on
 * the cells' rounds: a cell with none is not measured.
 */
#include "harness/plan_parts.h"
#include "harness/plural.h"

#include <string.h>

/* Holm's correction asks this of the smallest p times the number of rows. */
#define HOLM_ALPHA 0.05
/* Samples a side that no number of rows asks for. */
enum { MOST_DECIDING = 20 };

/* --quick measures so many cases at least before it gives up rounds. */
enum { FEWEST_QUICK_CASES = 2 };

/* Which cases --quick gives up, in this order. */
enum case_class { WITHOUT_CURVES, SERIES, WITH_CURVES };

static enum case_class class_of(const struct workload_case *c) {
  return c->flags & CASE_SERIES ? SERIES : c->in_sweep ? WITH_CURVES : WITHOUT_CURVES;
}

static bool is_series(const struct plan_cell *c) {
  return (c->row->info->flags & CASE_SERIES) != 0;
}

static bool fits(const struct plan *p) {
  return plan_expected(p, 0) <= p->budget;
}

/* --- what is needed ---------------------------------------------------------------------- */

/* The smallest two-sided p of n against n samples: 2 / C(2n, n). */
static double smallest_p(unsigned n) {
  double arrangements = 1;
  for (unsigned i = 1; i <= n; i++)
    arrangements *= (double)(n + i) / i;
  return 2 / arrangements;
}

/* Rows of ns/op in one workload, which Holm's correction takes together (verdicts.h). */
static size_t family_rows(const struct plan *p, const struct workload *workload) {
  size_t rows = 0;
  for (size_t i = 0; i < p->cell_count; i++) {
    const struct plan_cell *c = &p->cells[i];
    rows += c->row->workload == workload && c->headline && c->rounds && !c->arm->is_base &&
            !is_series(c);
  }
  return rows;
}

/* A preset's rows are tested one by one, as published. */
unsigned plan_deciding_rounds(const struct plan *p) {
  size_t most = 0;
  for (size_t i = 0; i < p->case_count && !p->preset; i++) {
    size_t rows = family_rows(p, p->cases[i].workload);
    most = rows > most ? rows : most;
  }
  unsigned n = PLAN_FEWEST_ROUNDS;
  while (n < MOST_DECIDING && smallest_p(n) * (double)most >= HOLM_ALPHA)
    n++;
  return n;
}

/* Below that rounds are not given up while anything else can be. */
static unsigned fewest_rounds(const struct plan *p) {
  unsigned needed = plan_deciding_rounds(p);
  return needed > PLAN_FEWEST_OF_ALL ? needed : PLAN_FEWEST_OF_ALL;
}

/* --- rounds ------------------------------------------------------------------------------ */

/* Leaves at most so many rounds to the headline, or to the sweep. */
static void limit_rounds(struct plan *p, bool headline, unsigned most) {
  unsigned *rounds = headline ? &p->rounds : &p->sweep_rounds;
  *rounds = *rounds < most ? *rounds : most;
  for (size_t i = 0; i < p->cell_count; i++)
    if (p->cells[i].headline == headline && p->cells[i].rounds > most)
      p->cells[i].rounds = most;
}

/* Gives up rounds one by one, down to `least`, until the plan fits. */
static void thin_rounds(struct plan *p, bool headline, unsigned least) {
  const unsigned *rounds = headline ? &p->rounds : &p->sweep_rounds;
  while (!fits(p) && *rounds > least)
    limit_rounds(p, headline, *rounds - 1);
}

static unsigned series_rounds(const struct plan *p) {
  unsigned most = 0;
  for (size_t i = 0; i < p->cell_count; i++)
    if (is_series(&p->cells[i]) && p->cells[i].rounds > most)
      most = p->cells[i].rounds;
  return most;
}

static void thin_series(struct plan *p, unsigned least) {
  for (unsigned most; !fits(p) && (most = series_rounds(p)) > least;)
    for (size_t i = 0; i < p->cell_count; i++)
      if (is_series(&p->cells[i]) && p->cells[i].rounds >= most)
        p->cells[i].rounds = most - 1;
}

/* --- the sweep --------------------------------------------------------------------------- */

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
  unsigned threads;
  while (p->sweep_is_ours && !fits(p) && (threads = largest_in_sweep(p)) > keep)
    for (size_t i = 0; i < p->cell_count; i++)
      if (!p->cells[i].headline && p->cells[i].threads == threads)
        p->cells[i].rounds = 0;
}

/* Takes counts back, the smallest first, where giving up other things has made room for them. */
static void regain_counts(struct plan *p) {
  unsigned last = 0, threads;
  do {
    threads = UINT32_MAX;
    for (size_t i = 0; i < p->cell_count; i++)
      if (!p->cells[i].headline && p->cells[i].threads > last && p->cells[i].threads < threads)
        threads = p->cells[i].threads;
    for (size_t i = 0; i < p->cell_count; i++)
      if (!p->cells[i].headline && p->cells[i].threads == threads)
        p->cells[i].rounds = p->sweep_rounds;
    last = threads;
  } while (threads < UINT32_MAX && fits(p));
  thin_counts(p, 0);
}

/* --- cases ------------------------------------------------------------------------------- */

/* Expected time of all samples of a case; 0 when it is not measured. */
static uint64_t case_time(const struct plan *p, const struct plan_case *row) {
  uint64_t sum = 0;
  for (size_t i = 0; i < p->cell_count; i++)
    for (unsigned round = 1; p->cells[i].row == row && round <= p->cells[i].rounds; round++)
      sum += plan_sample_time(&p->cells[i], round);
  return sum;
}

/* The case of the class that takes longest, the last of equals; NULL: there is none. */
static const struct plan_case *dearest_case(const struct plan *p, enum case_class class) {
  const struct plan_case *dearest = NULL;
  uint64_t most = 1;
  for (size_t i = 0; i < p->case_count; i++) {
    uint64_t time = case_time(p, &p->cases[i]);
    if (class_of(p->cases[i].info) != class || time < most)
      continue;
    most = time;
    dearest = &p->cases[i];
  }
  return dearest;
}

/* Cases that are measured, without series if there are others. */
static size_t cases_left(const struct plan *p) {
  size_t series = 0, others = 0;
  for (size_t i = 0; i < p->case_count; i++)
    if (case_time(p, &p->cases[i]) > 0)
      *(class_of(p->cases[i].info) == SERIES ? &series : &others) += 1;
  return others ? others : series;
}

/*
 * Gives up cases of the class, the dearest first, until the plan fits: so most of them stay. Those
 * that give the run its rows (series only where there is nothing else) stay `least`.
 */
static void thin_cases(struct plan *p, enum case_class class, size_t least) {
  const struct plan_case *row;
  while (!fits(p) && (row = dearest_case(p, class)) != NULL) {
    bool counts =
        class != SERIES || (!dearest_case(p, WITH_CURVES) && !dearest_case(p, WITHOUT_CURVES));
    if (counts && cases_left(p) <= least)
      return;
    for (size_t i = 0; i < p->cell_count; i++)
      if (p->cells[i].row == row)
        p->cells[i].rounds = 0;
  }
}

/* --- notes ------------------------------------------------------------------------------- */

struct before {
  unsigned rounds, sweep_rounds, series;
};

/* Appends to a list in text, as far as it has room; one that has none is counted. */
static void list_item(char *text, size_t size, size_t *left_out, const char *item) {
  size_t used = strlen(text);
  if (used + strlen(item) + 3 > size)
    (*left_out)++;
  else
    snprintf(text + used, size - used, "%s%s", used ? ", " : "", item);
}

static void note_cases(struct plan *p) {
  char list[260] = "", more[40] = "";
  size_t left_out = 0;
  for (size_t i = 0; i < p->case_count; i++) {
    bool planned = false;
    for (size_t k = 0; k < p->cell_count && !planned; k++)
      planned = p->cells[k].row == &p->cases[i];
    if (planned && case_time(p, &p->cases[i]) == 0)
      list_item(list, sizeof list, &left_out, p->cases[i].info->name);
  }
  if (left_out)
    snprintf(more, sizeof more, " and %zu more", left_out);
  if (*list)
    plan_note(p, "quick: not measured: %s%s; a full run or a larger --budget does that", list,
              more);
}

/* Is anything measured at that count besides the headline? */
static bool in_sweep(const struct plan *p, unsigned threads) {
  for (size_t i = 0; i < p->cell_count; i++)
    if (!p->cells[i].headline && p->cells[i].threads == threads && p->cells[i].rounds)
      return true;
  return false;
}

/* The counts that were given up, the largest first: each is the next below the one before. */
static void note_counts(struct plan *p) {
  char list[200] = "", number[16];
  size_t left_out = 0;
  for (unsigned last = UINT32_MAX, threads; last > 0; last = threads) {
    threads = 0;
    for (size_t i = 0; i < p->cell_count; i++)
      if (!p->cells[i].headline && p->cells[i].threads < last && p->cells[i].threads > threads)
        threads = p->cells[i].threads;
    snprintf(number, sizeof number, "%u", threads);
    if (threads && !in_sweep(p, threads))
      list_item(list, sizeof list, &left_out, number);
  }
  if (*list)
    plan_note(p, "not measured at %s thread%s: no time for it (--budget changes that)", list,
              strcmp(list, "1") == 0 ? "" : "s");
}

static void note_given_up(struct plan *p, const struct before *before) {
  unsigned series = series_rounds(p);
  note_cases(p);
  note_counts(p);
  if (p->sweep_rounds && p->sweep_rounds < before->sweep_rounds)
    plan_note(p, "%u round%s of the sweep instead of %u: no time for more (--budget changes that)",
              p->sweep_rounds, plural(p->sweep_rounds), before->sweep_rounds);
  if (series && series < before->series)
    plan_note(p,
              "memory over time in %u round%s instead of %u: no time for more (--budget changes "
              "that)",
              series, plural(series), before->series);
  if (p->rounds < before->rounds)
    plan_note(p, "%u round%s instead of %u: no time for more (--rounds or --budget change that)",
              p->rounds, plural(p->rounds), before->rounds);
  if (!fits(p))
    plan_note(p, "this takes longer than %llu s; fewer cases, strategies or rounds are shorter",
              (unsigned long long)(p->budget / 1000000000));
}

#define A_SIDE "quick: %u sample%s a side, so p is %.2g at best; "

/* The same of fewer rounds comes in its place. */
static void drop_note_quick(struct plan *p) {
  for (size_t i = 0; i < p->note_count; i++)
    if (strncmp(p->notes[i], A_SIDE, strcspn(A_SIDE, "%")) == 0 &&
        strstr(p->notes[i], " a side,")) {
      memmove(&p->notes[i], &p->notes[i + 1], (--p->note_count - i) * sizeof p->notes[0]);
      return;
    }
}

static void note_quick(struct plan *p) {
  drop_note_quick(p);
  unsigned needed = plan_deciding_rounds(p);
  double least = smallest_p(p->rounds);
  if (p->rounds >= needed)
    plan_note(p, A_SIDE "differences of a few percent stay undecided", p->rounds, plural(p->rounds),
              least);
  else
    plan_note(p, A_SIDE "so many rows at once need %u, and none can be decided", p->rounds,
              plural(p->rounds), least, needed);
}

/* --- before a run ------------------------------------------------------------------------ */

/*
 * --quick. Rounds go last and not below what Holm's correction needs: a run of fewer cases decides
 * something, a run of fewer rounds nothing. A preset keeps its rows, which are the published
 * table's.
 */
static void fit_quick(struct plan *p, unsigned keep) {
  if (p->preset) {
    thin_rounds(p, true, PLAN_FEWEST_ROUNDS);
    return;
  }
  thin_counts(p, keep);
  thin_cases(p, WITHOUT_CURVES, FEWEST_QUICK_CASES);
  thin_cases(p, SERIES, 1);
  thin_counts(p, 0);
  thin_cases(p, WITH_CURVES, FEWEST_QUICK_CASES);
  if (p->rounds_are_ours)
    thin_rounds(p, true, plan_deciding_rounds(p));
  thin_cases(p, WITH_CURVES, 1);
  thin_cases(p, WITHOUT_CURVES, 1);
  if (p->rounds_are_ours)
    thin_rounds(p, true, PLAN_FEWEST_ROUNDS);
}

/*
 * The sweep gives way first, then memory over time, which varies little from sample to sample, then
 * rounds down to those that Holm's correction needs: ten are more than that. Suite all has more
 * rows than ten minutes have rounds.
 */
static void fit_full(struct plan *p, unsigned keep) {
  thin_counts(p, keep);
  if (p->sweep_is_ours)
    thin_rounds(p, false, PLAN_FEWEST_ROUNDS);
  thin_series(p, 2);
  thin_counts(p, 0);
  if (p->rounds_are_ours)
    thin_rounds(p, true, fewest_rounds(p));
  thin_series(p, 1);
  if (p->rounds_are_ours && p->hurried)
    thin_rounds(p, true, PLAN_FEWEST_OF_ALL);
  if (p->sweep_is_ours)
    regain_counts(p);
}

void plan_fit(struct plan *p, unsigned cpus) {
  const struct before before = {p->rounds, p->sweep_rounds, series_rounds(p)};
  unsigned keep = cpus < 2 ? 1 : 2; /* of the sweep: what scaling from one to two CPUs needs */
  if (p->quick)
    fit_quick(p, keep);
  else
    fit_full(p, keep);
  if (largest_in_sweep(p) == 0)
    p->sweep_rounds = 0;
  note_given_up(p, &before);
  if (p->quick)
    note_quick(p);
}

/* --- in a run ---------------------------------------------------------------------------- */

/* What is left would end too late at the pace so far. */
static bool too_slow(const struct plan *p, unsigned round, uint64_t spent) {
  uint64_t left = plan_expected(p, round), done = plan_expected(p, 0) - left;
  return done && (double)spent * (1 + (double)left / (double)done) > (double)p->latest;
}

/* Gives up rounds one by one, down to `least`, until the rest fits at the pace so far. */
static bool shorten(struct plan *p, bool headline, unsigned least, unsigned round, uint64_t spent) {
  unsigned *rounds = headline ? &p->rounds : &p->sweep_rounds, before = *rounds;
  unsigned floor = round > least ? round : least;
  while (*rounds > floor && too_slow(p, round, spent))
    limit_rounds(p, headline, *rounds - 1);
  return *rounds < before;
}

/* The pace of the first rounds is a guess, and waiting loses nothing: four are done anyway. */
void plan_shorten(struct plan *p, unsigned round, uint64_t spent) {
  if (round < PLAN_FEWEST_ROUNDS)
    return;
  if (p->sweep_is_ours && shorten(p, false, PLAN_FEWEST_ROUNDS, round, spent))
    plan_note(p, "sweep of %u round%s: samples took longer than planned", p->sweep_rounds,
              plural(p->sweep_rounds));
  bool all = p->hurried && !p->quick;
  unsigned least = p->quick ? plan_deciding_rounds(p) : all ? PLAN_FEWEST_OF_ALL : fewest_rounds(p);
  if (p->rounds_are_ours && shorten(p, true, least, round, spent)) {
    plan_note(p, "%s%u round%s: samples took longer than planned", p->quick ? "quick: " : "",
              p->rounds, plural(p->rounds));
    if (p->quick)
      note_quick(p);
  }
}
