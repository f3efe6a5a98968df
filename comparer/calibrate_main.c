/*
 * Simulates what poolcmp claims: false alarms, coverage, power, on made-up samples whose truth is
 * known. Prints markdown for docs/statistics.md; exits 1 if a figure leaves its range.
 *
 * Goes through analysis.h as poolcmp does, so that scale, pairing, families and verdicts are in
 * what is measured. Every table has a seed of its own: figures do not move when another changes.
 */
#include "comparer/analysis.h"
#include "comparer/sort.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 64, NULL_ROWS = 20000, COVERAGE_ROWS = 40000, POWER_ROWS = 5000 };

/* --- random numbers --- */

struct random {
  uint64_t state;
};

/* SplitMix64 (Steele, Lea and Flood 2014). */
static uint64_t random_bits(struct random *r) {
  uint64_t z = r->state += 0x9e3779b97f4a7c15;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

static double uniform(struct random *r) {
  return ((double)(random_bits(r) >> 11) + 0.5) * 0x1p-53; /* never 0 or 1 */
}

static double normal(struct random *r) {
  return sqrt(-2 * log(uniform(r))) * cos(2 * M_PI * uniform(r));
}

enum shape { NORMAL, LOGNORMAL, EXPONENTIAL, BIMODAL, UNIFORM };

/* Timings around 1: spread 5 %, spread 10 %, a floor and a tail, two modes 15 % apart, 10 % wide.
 */
static double draw(struct random *r, enum shape shape) {
  switch (shape) {
  case NORMAL:
    return 1 + 0.05 * normal(r);
  case LOGNORMAL:
    return exp(0.1 * normal(r));
  case EXPONENTIAL:
    return 1 - 0.2 * log(uniform(r));
  case BIMODAL:
    return (uniform(r) < 0.5 ? 1 : 1.15) * (1 + 0.02 * normal(r));
  case UNIFORM:
    return 0.95 + 0.1 * uniform(r);
  }
  return 1;
}

/* --- one simulated row --- */

struct side {
  double values[MOST], sorted[MOST];
  struct sample_origin origins[MOST];
  struct series series;
};

struct simulation {
  struct stats_work *work;
  struct random random;
  struct side base, other;
  bool failed;  /* out of memory: nothing printed from here on is true */
  bool outside; /* a figure left its range */
};

static void side_finish(struct side *s, size_t n) {
  memcpy(s->sorted, s->values, n * sizeof *s->values);
  sort_doubles(s->sorted, n);
  for (size_t i = 0; i < n; i++)
    s->origins[i] = (struct sample_origin){
        .run = 1, .round = (uint32_t)i + 1, .seq = (uint32_t)i, .process = (uint32_t)i + 1};
  s->series = (struct series){s->values, s->sorted, s->origins, n};
}

static struct comparison compare(struct simulation *s, const struct analysis_options *o) {
  struct comparison c;
  char why[200];
  if (!analysis_compare(s->work, &s->base.series, &s->other.series, o, &c, why, sizeof why)) {
    fprintf(stderr, "calibrate: %s\n", why[0] ? why : "out of memory");
    s->failed = true;
  }
  return c;
}

static const struct analysis_options plain = {
    .alpha = 0.05, .confidence = 0.95, .margin = 0.03, .better = BETTER_LESS};

static struct analysis_options with(bool ci, bool paired) {
  struct analysis_options o = plain;
  o.ci = ci;
  o.paired = paired;
  return o;
}

/* A percentage with the range that it must lie in; marks and counts what does not. */
static void print_share(struct simulation *s, double share, double lo, double hi) {
  bool inside = 100 * share >= lo && 100 * share <= hi;
  printf(" %.1f%s |", 100 * share, inside ? "" : " (out of range)");
  s->outside = s->outside || !inside;
}

/* --- designs: how the samples of a row come to be --- */

struct design {
  const char *name;
  double noise;   /* standard deviation of a sample, log scale */
  double drift;   /* rise over the whole run, log scale */
  double mood;    /* standard deviation of what the samples of a round share */
  double process; /* standard deviation of what the samples of a process share */
  bool blocked;   /* all of the base first, then all of the other; else in rounds */
  bool one_process;
  bool paired;
  double lo, hi; /* range of the false alarms in percent */
};

/*
 * n samples a side, the other `effect` larger (log). Time runs from 0 to 1 over the run; in rounds
 * the two follow each other in random order.
 */
static void measure(struct simulation *s, const struct design *d, size_t n, double effect) {
  struct random *r = &s->random;
  double process[2] = {d->process * normal(r), d->process * normal(r)};
  for (size_t i = 0; i < n; i++) {
    double mood = d->mood * normal(r), span = 2 * (double)n;
    bool base_first = uniform(r) < 0.5;
    for (int side = 0; side < 2; side++) {
      double at = d->blocked ? (double)i + (side ? (double)n : 0)
                             : 2 * (double)i + (base_first == (side == 1));
      double of_process = d->one_process ? process[side] : d->process * normal(r);
      double v = exp(d->drift * at / span + mood + of_process + d->noise * normal(r) +
                     (side ? effect : 0));
      (side ? &s->other : &s->base)->values[i] = v;
    }
  }
  side_finish(&s->base, n);
  side_finish(&s->other, n);
}

/* The share of rows whose p reaches alpha. */
static double alarms(struct simulation *s, const struct design *d, size_t n, double effect,
                     size_t rows) {
  struct analysis_options o = with(false, d->paired);
  size_t count = 0;
  for (size_t i = 0; i < rows && !s->failed; i++) {
    measure(s, d, n, effect);
    count += compare(s, &o).significant;
  }
  return (double)count / (double)rows;
}

/*
 * n untied values a side such that in u pairs of values the other side exceeds the base; for
 * paired, such that the ranks of the falling pairs add up to u.
 */
static void arrange(struct simulation *s, size_t n, size_t u, bool paired) {
  for (size_t i = n; i-- > 0;) {
    size_t take = paired ? (u >= i + 1 ? i + 1 : 0) : u < n ? u : n;
    u -= take;
    double rank = (double)i + 1;
    s->base.values[i] = paired ? 1 : rank;
    s->other.values[i] =
        paired ? exp((take ? -0.001 : 0.001) * rank) : (double)take + 0.5 + rank / 1000;
  }
  side_finish(&s->base, n);
  side_finish(&s->other, n);
}

/* The highest level up to 5 % that the exact test has with n samples. */
static double attainable(struct simulation *s, size_t n, bool paired) {
  struct analysis_options o = with(false, paired);
  double level = 0;
  for (size_t u = 0; u < n * n && !s->failed; u++) {
    arrange(s, n, u, paired);
    double p = compare(s, &o).p;
    if (p > 0.05)
      break;
    level = p;
  }
  return level;
}

static void false_alarms(struct simulation *s) {
  static const struct design designs[] = {
      {.name = "steady machine", .noise = 0.02, .lo = 4, .hi = 6},
      {.name = "steady machine, `-paired`", .noise = 0.02, .paired = true, .lo = 4, .hi = 6},
      {.name = "drift of 4 %, one side after the other",
       .noise = 0.02,
       .drift = 0.04,
       .blocked = true,
       .lo = 45,
       .hi = 60},
      {.name = "drift of 4 %, in rounds", .noise = 0.02, .drift = 0.04, .lo = 1, .hi = 4},
      {.name = "drift of 4 %, in rounds, `-paired`",
       .noise = 0.02,
       .drift = 0.04,
       .paired = true,
       .lo = 4,
       .hi = 6},
      {.name = "one process a side, ten values each; processes differ by 2 %",
       .noise = 0.02,
       .process = 0.02,
       .one_process = true,
       .lo = 45,
       .hi = 60},
      {.name = "ten processes a side, one value each, the same spread",
       .noise = 0.02,
       .process = 0.02,
       .lo = 4,
       .hi = 6},
  };
  s->random.state = 1;
  printf("### False alarms\n\n"
         "%d rows without a difference, 10 samples a side, noise 2 %%, alpha 0.05. Attainable by "
         "the exact tests: %.1f %% unpaired, %.1f %% paired.\n\n"
         "| how it was measured | called different, %% |\n| --- | ---: |\n",
         NULL_ROWS, 100 * attainable(s, 10, false), 100 * attainable(s, 10, true));
  for (size_t i = 0; i < sizeof designs / sizeof *designs; i++) {
    printf("| %s |", designs[i].name);
    print_share(s, alarms(s, &designs[i], 10, 0, NULL_ROWS), designs[i].lo, designs[i].hi);
    printf("\n");
  }
}

/* --- coverage --- */

enum target { RATIO, DIFFERENCE, PAIRED };

/*
 * Both sides of one shape, the other 10 % larger (or by 0.1 for a difference). For pairs each
 * round has a mood of 20 %, which the ratio of a pair does not see.
 */
static double coverage(struct simulation *s, enum shape shape, size_t n, enum target target) {
  struct analysis_options o = with(true, target == PAIRED);
  size_t covered = 0;
  for (size_t i = 0; i < COVERAGE_ROWS && !s->failed; i++) {
    for (size_t k = 0; k < n; k++) {
      double mood = target == PAIRED ? exp(0.2 * normal(&s->random)) : 1;
      double a = draw(&s->random, shape), b = draw(&s->random, shape);
      /* Values below 0 have no ratio: compared by difference. */
      s->base.values[k] = target == DIFFERENCE ? a - 9 : mood * a;
      s->other.values[k] = target == DIFFERENCE ? b - 9 + 0.1 : mood * b * 1.1;
    }
    side_finish(&s->base, n);
    side_finish(&s->other, n);
    struct comparison c = compare(s, &o);
    covered += c.delta.lo <= 0.1 && c.delta.hi >= 0.1;
  }
  return (double)covered / COVERAGE_ROWS;
}

static void coverages(struct simulation *s) {
  static const char *const titles[] = {"ratio", "difference", "ratio, `-paired`"};
  static const size_t sizes[] = {6, 10, 20};
  s->random.state = 2;
  printf("\n### Coverage of the 95 %% interval\n\n"
         "%d rows each, true change 10 %%; the exact level is what the test that is inverted "
         "attains.\n\n"
         "| interval of | n | normal | log-normal | exponential | bimodal | exact level |\n"
         "| --- | ---: | ---: | ---: | ---: | ---: | ---: |\n",
         COVERAGE_ROWS);
  for (int target = RATIO; target <= PAIRED; target++)
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
      printf("| %s | %zu |", titles[target], sizes[k]);
      for (enum shape shape = NORMAL; shape <= BIMODAL; shape++)
        print_share(s, coverage(s, shape, sizes[k], target), 94, 97);
      printf(" %.1f |\n", 100 * (1 - attainable(s, sizes[k], target == PAIRED)));
    }
}

/* --- power --- */

static void power_of_a_planted_change(struct simulation *s) {
  static const double noises[] = {0.02, 0.04, 0.06, 0.08};
  s->random.state = 3;
  printf("\n### Power\n\n"
         "%d rows, planted change 10 %%, 10 samples a side.\n\n"
         "| noise, %% | found, %% | smallest effect stated, %% |\n| ---: | ---: | ---: |\n",
         POWER_ROWS);
  for (size_t i = 0; i < sizeof noises / sizeof *noises; i++) {
    struct design d = {.noise = noises[i]};
    printf("| %.0f |", 100 * noises[i]);
    print_share(s, alarms(s, &d, 10, log(1.1), POWER_ROWS), noises[i] > 0.07 ? 60 : 80, 100);
    printf(" %.1f |\n", 100 * expm1(stats_smallest_effect(noises[i], 10, 10, 0.05)));
  }
}

/* The formula has the normal's quantiles and no small-sample correction: say what that costs. */
static void power_at_the_smallest_effect(struct simulation *s) {
  static const size_t sizes[] = {6, 10, 20, 50};
  s->random.state = 9;
  printf("\n%d rows, planted change of just the smallest effect stated for 80 %% power, noise "
         "2 %%: found, %%.\n\n"
         "| n | unpaired | `-paired` |\n| ---: | ---: | ---: |\n",
         POWER_ROWS);
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    struct design d = {.noise = 0.02};
    size_t n = sizes[i];
    printf("| %zu |", n);
    print_share(s, alarms(s, &d, n, stats_smallest_effect(0.02, n, n, 0.05), POWER_ROWS),
                n < 10 ? 60 : 70, 85);
    d.paired = true; /* the difference of two samples spreads by sqrt 2 more */
    double effect = stats_smallest_effect_paired(0.02 * M_SQRT2, n, 0.05);
    print_share(s, alarms(s, &d, n, effect, POWER_ROWS), n < 10 ? 45 : 65, 85);
    printf("\n");
  }
}

static void power_of_pairs(struct simulation *s) {
  static const struct design designs[] = {
      {.name = "drift of 4 %", .noise = 0.02, .drift = 0.04},
      {.name = "drift of 20 %", .noise = 0.02, .drift = 0.20},
      {.name = "rounds differ by 5 %", .noise = 0.02, .mood = 0.05},
  };
  static const size_t sizes[] = {10, 20};
  s->random.state = 4;
  printf("\n%d rows, planted change 3 %%, noise 2 %%, measured in rounds:\n\n"
         "| machine | n | found unpaired, %% | found with `-paired`, %% |\n"
         "| --- | ---: | ---: | ---: |\n",
         POWER_ROWS);
  for (size_t i = 0; i < sizeof designs / sizeof *designs; i++)
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
      struct design d = designs[i];
      printf("| %s | %zu |", d.name, sizes[k]);
      print_share(s, alarms(s, &d, sizes[k], log(1.03), POWER_ROWS), 0, 100);
      d.paired = true;
      print_share(s, alarms(s, &d, sizes[k], log(1.03), POWER_ROWS), 75, 100);
      printf("\n");
    }
}

/* --- verdicts --- */

static void same_within_the_margin(struct simulation *s) {
  static const double noises[] = {0.01, 0.02, 0.04};
  static const double effects[] = {0, 0.015, 0.03};
  struct analysis_options o = with(true, false);
  s->random.state = 5;
  printf("\n### Verdicts\n\n"
         "%d rows, 10 samples a side, margin 3 %%: share called `same`. At a true change of the "
         "margin it should be 2.5 %% at most.\n\n"
         "| noise, %% | no change | 1.5 %% | 3 %% |\n| ---: | ---: | ---: | ---: |\n",
         POWER_ROWS);
  for (size_t i = 0; i < sizeof noises / sizeof *noises; i++) {
    printf("| %.0f |", 100 * noises[i]);
    for (size_t k = 0; k < sizeof effects / sizeof *effects; k++) {
      struct design d = {.noise = noises[i]};
      size_t same = 0;
      for (size_t row = 0; row < POWER_ROWS && !s->failed; row++) {
        measure(s, &d, 10, log1p(effects[k]));
        same += compare(s, &o).verdict == VERDICT_SAME;
      }
      print_share(s, (double)same / POWER_ROWS, 0, effects[k] > 0.02 ? 3 : 100);
    }
    printf("\n");
  }
}

enum { FAMILY = 52, TABLES = 1000 };

/* The share of tables of null rows with at least one alarm. */
static double table_alarms(struct simulation *s, enum correction correct) {
  static const struct design d = {.noise = 0.02};
  struct analysis_options o = with(false, false);
  struct comparison rows[FAMILY], *family[FAMILY];
  size_t tables = 0;
  o.correct = correct;
  for (size_t t = 0; t < TABLES && !s->failed; t++) {
    for (size_t i = 0; i < FAMILY; i++) {
      measure(s, &d, 10, 0);
      rows[i] = compare(s, &o);
      family[i] = &rows[i];
    }
    if (!analysis_family(family, FAMILY, &o))
      s->failed = true;
    bool any = false;
    for (size_t i = 0; i < FAMILY; i++)
      any = any || rows[i].significant;
    tables += any;
  }
  return (double)tables / TABLES;
}

static void families(struct simulation *s) {
  s->random.state = 6;
  printf("\n%d tables of %d rows without a difference: tables with a false alarm, %%.\n\n"
         "| `-correct none` | `holm` | `bh` |\n| ---: | ---: | ---: |\n|",
         TABLES, FAMILY);
  print_share(s, table_alarms(s, CORRECT_NONE), 80, 98);
  print_share(s, table_alarms(s, CORRECT_HOLM), 0, 6);
  print_share(s, table_alarms(s, CORRECT_BH), 0, 6);
  printf("\n");
}

/*
 * A table of 30 rows in which each arm carries a bias of its own in each row (a layout, a
 * placement) that replication inside the arm does not average out. Half of the rows gain 20 % as
 * well.
 */
struct twin_outcome {
  size_t false_before, false_after, true_before, true_after;
};

static void twin_table(struct simulation *s, double bias, struct twin_outcome *out) {
  enum { ROWS = 30 };
  static const struct design d = {.noise = 0.01};
  struct analysis_options o = with(true, false);
  struct comparison rows[ROWS], twins[ROWS], *others[ROWS];
  const struct comparison *all[ROWS];
  for (size_t i = 0; i < ROWS; i++) {
    double base = bias * normal(&s->random);
    measure(s, &d, 10, bias * normal(&s->random) - base);
    twins[i] = compare(s, &o);
    measure(s, &d, 10, bias * normal(&s->random) - base + (i % 2 ? log(0.8) : 0));
    rows[i] = compare(s, &o);
    all[i] = &twins[i];
    others[i] = &rows[i];
  }
  for (int after = 0; after < 2; after++) {
    for (size_t i = 0; i < ROWS; i++) {
      bool finding = rows[i].verdict == VERDICT_FASTER || rows[i].verdict == VERDICT_SLOWER;
      size_t *count = i % 2 ? (after ? &out->true_after : &out->true_before)
                            : (after ? &out->false_after : &out->false_before);
      *count += finding;
    }
    analysis_apply_twin(others, ROWS, analysis_twin_limit(all, ROWS));
  }
}

static void twins(struct simulation *s) {
  enum { TWIN_TABLES = 200, HALF = 15 };
  static const double biases[] = {0, 0.02, 0.04};
  s->random.state = 7;
  printf("\n%d tables of 30 rows with a twin; half of the rows gain 20 %%. Each arm carries a bias "
         "of its own in each row.\n\n"
         "| bias, %% | false findings, %% | after the twin, %% | true findings, %% | after the "
         "twin, %% |\n| ---: | ---: | ---: | ---: | ---: |\n",
         TWIN_TABLES);
  for (size_t i = 0; i < sizeof biases / sizeof *biases; i++) {
    struct twin_outcome out = {0};
    for (size_t t = 0; t < TWIN_TABLES && !s->failed; t++)
      twin_table(s, biases[i], &out);
    double rows = (double)TWIN_TABLES * HALF;
    printf("| %.0f |", 100 * biases[i]);
    print_share(s, (double)out.false_before / rows, 0, 100);
    print_share(s, (double)out.false_after / rows, 0, 8);
    print_share(s, (double)out.true_before / rows, 95, 100);
    print_share(s, (double)out.true_after / rows, 85, 100);
    printf("\n");
  }
}

/* --- doubts --- */

static double doubted(struct simulation *s, const struct analysis_options *o, enum shape shape,
                      size_t n, unsigned doubt) {
  size_t count = 0;
  for (size_t i = 0; i < NULL_ROWS; i++) {
    for (size_t k = 0; k < n; k++)
      s->base.values[k] = draw(&s->random, shape);
    side_finish(&s->base, n);
    count += (analysis_series_doubts(&s->base.series, o) & doubt) != 0;
  }
  return (double)count / NULL_ROWS;
}

static void doubts_of_shapes(struct simulation *s) {
  static const struct {
    const char *name;
    unsigned doubt;
    double most[5]; /* percent, in the order of the columns */
  } checks[] = {
      {"trend", DOUBT_TREND, {0.2, 0.2, 0.2, 0.2, 0.2}},
      {"bimodal", DOUBT_BIMODAL, {0.3, 0.5, 1.2, 1.5, 100}},
      {"outliers", DOUBT_OUTLIERS, {4, 4, 100, 2, 100}}, /* a long tail has outliers */
  };
  static const enum shape order[] = {NORMAL, LOGNORMAL, EXPONENTIAL, UNIFORM, BIMODAL};
  static const size_t sizes[] = {10, 20, 50};
  struct analysis_options o = plain;
  o.margin = 0;
  s->random.state = 8;
  printf("\n### Doubts\n\n"
         "%d series each, margin 0: flagged, %%. The bimodal samples have modes 15 %% apart, each "
         "2 %% wide.\n\n"
         "| doubt | n | normal | log-normal | exponential | uniform | bimodal |\n"
         "| --- | ---: | ---: | ---: | ---: | ---: | ---: |\n",
         NULL_ROWS);
  for (size_t i = 0; i < sizeof checks / sizeof *checks; i++)
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
      printf("| %s | %zu |", checks[i].name, sizes[k]);
      for (size_t j = 0; j < sizeof order / sizeof *order; j++)
        print_share(s, doubted(s, &o, order[j], sizes[k], checks[i].doubt), 0, checks[i].most[j]);
      printf("\n");
    }
}

static void trends_found(struct simulation *s) {
  static const size_t sizes[] = {10, 20, 50};
  static const double noises[] = {0.01, 0.02};
  s->random.state = 10;
  printf("\n%d series that drift by 4 %%: flagged as trend, %%.\n\n"
         "| n | noise 1 %% | noise 2 %% |\n| ---: | ---: | ---: |\n",
         POWER_ROWS);
  for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
    printf("| %zu |", sizes[k]);
    for (size_t i = 0; i < sizeof noises / sizeof *noises; i++) {
      struct design d = {.noise = noises[i], .drift = 0.04};
      size_t count = 0;
      for (size_t row = 0; row < POWER_ROWS; row++) {
        measure(s, &d, sizes[k], 0);
        count += (analysis_series_doubts(&s->base.series, &plain) & DOUBT_TREND) != 0;
      }
      print_share(s, (double)count / POWER_ROWS, sizes[k] < 50 ? 0 : 60, 100);
    }
    printf("\n");
  }
}

int main(void) {
  static struct simulation s;
  s.work = stats_work_new();
  if (!s.work) {
    fprintf(stderr, "calibrate: out of memory\n");
    return 1;
  }
  false_alarms(&s);
  coverages(&s);
  power_of_a_planted_change(&s);
  power_at_the_smallest_effect(&s);
  power_of_pairs(&s);
  same_within_the_margin(&s);
  families(&s);
  twins(&s);
  doubts_of_shapes(&s);
  trends_found(&s);
  stats_work_free(s.work);
  return s.failed || s.outside;
}
