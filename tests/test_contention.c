/*
 * Budgets of a run, differences split by state, and verdicts: on runs written by hand whose states
 * are round numbers, so that every expected figure is worked out here.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/contention.h"
#include "harness/report.h"
#include "harness/why.h"
#include "tests/lock_simulation.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROUNDS 8
static const double noise[ROUNDS] = {1.00, 1.01, 0.99, 1.02, 0.98, 1.005, 0.995, 1.015};

/* ---- a run by hand ---- */

/* What the CPUs did for an op, in ns; what is left of threads x ns/op is the run queue's. */
struct made {
  const char *strategy;
  unsigned threads, team;                           /* team: 0 where all of them measure */
  double ns, work, heap, spin, locked, sleep, scan; /* ns: of an op, the others over all threads */
  double misses, hold, remainder, acquired, gets, steals, scans;
  double foreign; /* NAN: cannot be told */
};

struct folder {
  char folder[64];
  FILE *detail;
  unsigned seq;
  struct rundata d;
  char *text; /* of the last command */
  size_t text_size;
};

static int set_up(void **state) {
  struct folder *p = calloc(1, sizeof *p);
  char path[100];
  snprintf(p->folder, sizeof p->folder, "/tmp/poolbench-contention.XXXXXX");
  if (!mkdtemp(p->folder))
    return -1;
  snprintf(path, sizeof path, "%s/detail.txt", p->folder);
  p->detail = fopen(path, "w");
  *state = p;
  return p->detail ? 0 : -1;
}

static int tear_down(void **state) {
  struct folder *p = *state;
  char command[100];
  rundata_free(&p->d);
  snprintf(command, sizeof command, "rm -rf '%s'", p->folder);
  int status = system(command);
  free(p->text);
  free(p);
  return status;
}

static void write_sample(struct folder *p, const struct made *m, unsigned round) {
  double f = noise[round], queue = (m->team ? m->team : m->threads) * m->ns - m->work - m->heap -
                                   m->spin - m->locked - m->sleep - m->scan - m->remainder;
  p->seq++;
  fprintf(p->detail, "# run beef round %u seq %u\n", round + 1, p->seq);
  fprintf(p->detail, "BenchmarkC/strategy=%s-%u\t100\t%.9g ns/op\t10 allocs/op", m->strategy,
          m->threads, f * m->ns);
  const struct {
    const char *unit;
    double value;
  } units[] = {
      {"cpu-ns/op", f * (m->work + m->heap + m->spin + m->scan)},
      {"miss-%", 10 * m->misses},
      {"foreign-cpu-%", m->foreign},
      {"work-ns/op", f * m->work},
      {"heap-ns/op", f * m->heap},
      {"lockspin-ns/op", f * m->spin},
      {"lockblocked-ns/op", f * m->locked},
      {"cas-ns/op", 0},
      {"scan-ns/op", f * m->scan},
      {"runqueue-ns/op", f * queue},
      {"sleep-ns/op", f * m->sleep},
      {"tail-ns/op", 0},
      {"remainder-ns/op", f * m->remainder},
      {"misses/op", m->misses},
      {"gets/op", m->gets},
      {"steals/op", m->steals},
      {"scans/op", m->scans},
      {"lockhold-ns/op", m->hold},
      {"lockwait-ns/op", f * (m->spin + m->locked)},
      {"lockacq/op", m->acquired},
  };
  for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
    if (!isnan(units[i].value))
      fprintf(p->detail, "\t%.9g %s", units[i].value, units[i].unit);
  fputc('\n', p->detail);
}

static void add(struct folder *p, struct made m) {
  for (unsigned round = 0; round < ROUNDS; round++)
    write_sample(p, &m, round);
}

static void load(struct folder *p) {
  struct error e;
  assert_int_equal(fclose(p->detail), 0);
  if (!rundata_load(&p->d, p->folder, &e))
    fail_msg("%s", e.text);
}

static void near(double value, double expected) {
  if (!(fabs(value - expected) <= 1e-6 * fmax(1, fabs(expected))))
    fail_msg("%.12g instead of %.12g", value, expected);
}

static void holds(const char *text, const char *part) {
  if (!strstr(text, part))
    fail_msg("\"%s\" is not in: %s", part, text);
}

/* ---- budgets ---- */

/* The middle half of eight by ns/op has the noise 0.995, 1, 1.005 and 1.01: mean 1.0025. */
static void the_center_adds_up(void **state) {
  struct folder *p = *state;
  struct budget_set set;
  struct budget_sample c;
  add(p, (struct made){.strategy = "malloc", .threads = 2, .ns = 100, .work = 120, .heap = 40});
  load(p);
  assert_true(budgets_load(&set, &p->d, rundata_cell(&p->d, 0, 0, 2)));
  assert_int_equal(set.n, ROUNDS);
  assert_true(budgets_center(&set, &c));
  near(c.total, 100.25);
  near(c.state[BUDGET_WORK], 60.15);
  near(c.state[BUDGET_HEAP], 20.05);
  near(c.state[BUDGET_RUNQUEUE], 20.05);
  double sum = 0;
  for (int i = 0; i < BUDGET_STATES; i++)
    sum += c.state[i];
  near(sum, c.total);
  budgets_free(&set);
}

static void by_cpu_the_rest_is_idle(void **state) {
  struct folder *p = *state;
  struct budget_set set;
  add(p, (struct made){.strategy = "malloc", .threads = 4, .ns = 100, .work = 120, .heap = 40});
  load(p);
  assert_true(budgets_load(&set, &p->d, rundata_cell(&p->d, 0, 0, 4)));
  budgets_by_cpu(&set, 2);
  near(set.samples[0].state[BUDGET_WORK], 60);
  near(set.samples[0].state[BUDGET_HEAP], 20);
  near(set.samples[0].state[BUDGET_RUNQUEUE], 0);
  near(set.samples[0].state[BUDGET_SLEEP], 20);
  near(set.samples[0].total, 100);
  budgets_free(&set);
}

/* ---- why ---- */

/*
 * Per thread malloc spends 60 + 30 + 10 run queue, pool 60 + 6 + 4: in every round the differences
 * are 24 and 6 per cent of malloc's ns/op times the round's noise, centred 1.0025.
 */
static void a_difference_is_the_sum_of_its_states(void **state) {
  struct folder *p = *state;
  struct why w;
  struct error e;
  add(p, (struct made){.strategy = "malloc", .threads = 2, .ns = 100, .work = 120, .heap = 60});
  add(p, (struct made){.strategy = "pool", .threads = 2, .ns = 70, .work = 120, .heap = 12});
  load(p);
  const struct rundata *d = &p->d;
  assert_true(why_make(&w, d, rundata_cell(d, 0, 0, 2), rundata_cell(d, 0, 1, 2), 0, &e));
  assert_int_equal(w.rounds, ROUNDS);
  near(w.diff, -30);
  assert_int_equal(w.parts[0].state, BUDGET_HEAP);
  near(w.parts[0].diff, -24);
  assert_int_equal(w.parts[1].state, BUDGET_RUNQUEUE);
  near(w.parts[1].diff, -6);
  double sum = 0;
  for (int i = 0; i < BUDGET_STATES; i++)
    sum += w.parts[i].diff;
  near(sum, w.diff);
  /* All rounds lie between 0.98 and 1.02 times the difference. */
  assert_true(w.lo >= -30 * 1.02 && w.lo < -29.9 && w.hi <= -30 * 0.975 && w.hi > -30.1);
  char text[200];
  why_short(&w, text, sizeof text);
  assert_string_equal(text, "allocator -24.0 %; run queue -6.0 %");
}

static void what_has_no_states_says_so(void **state) {
  struct folder *p = *state;
  struct why w;
  struct error e;
  fputs("BenchmarkC/strategy=malloc-2\t1\t100 ns/op\nBenchmarkC/strategy=pool-2\t1\t90 ns/op\n",
        p->detail);
  load(p);
  const struct rundata *d = &p->d;
  assert_false(why_make(&w, d, rundata_cell(d, 0, 0, 2), rundata_cell(d, 0, 1, 2), 0, &e));
  assert_int_equal(e.status, EXIT_NOTHING);
  holds(e.text, "no states");
}

static void a_bound_has_no_states(void **state) {
  struct folder *p = *state;
  struct why w;
  struct error e;
  add(p, (struct made){.strategy = "malloc", .threads = 2, .ns = 100, .work = 120});
  fputs("# run beef round 1 seq 99\n# flag bound did not finish in 8.0 s\n"
        "BenchmarkC/strategy=spin-2\t1\t1e8 ns/op\n",
        p->detail);
  load(p);
  const struct rundata *d = &p->d;
  assert_false(why_make(&w, d, rundata_cell(d, 0, 0, 2), rundata_cell(d, 0, 1, 2), 0, &e));
  assert_int_equal(e.status, EXIT_NOTHING);
  holds(e.text, "spin did not finish in its time limit");
}

/* Rounds that only one side has are left out; with none in common both stand for themselves. */
static void rounds_are_paired(void **state) {
  struct folder *p = *state;
  struct why w;
  struct error e;
  struct made m = {.strategy = "malloc", .threads = 2, .ns = 100, .work = 120};
  for (unsigned round = 0; round < 4; round++)
    write_sample(p, &m, round);
  m.strategy = "late";
  for (unsigned round = 1; round < 5; round++)
    write_sample(p, &m, round);
  m.strategy = "other";
  for (unsigned round = 4; round < 8; round++)
    write_sample(p, &m, round);
  load(p);
  const struct rundata *d = &p->d;
  assert_true(why_make(&w, d, rundata_cell(d, 0, 0, 2), rundata_cell(d, 0, 1, 2), 0, &e));
  assert_int_equal(w.rounds, 3);
  near(w.diff, 0);
  assert_true(why_make(&w, d, rundata_cell(d, 0, 0, 2), rundata_cell(d, 0, 2, 2), 0, &e));
  assert_int_equal(w.rounds, 0);
  assert_int_equal(w.common, 0);
}

/* ---- verdicts, on two CPUs ---- */

static struct contention judge(struct folder *p, size_t column, unsigned threads) {
  struct contention c;
  assert_true(contention_judge(&c, &p->d, 0, column, threads, 2));
  return c;
}

/* One thread: 100 ns, 60 of work and 40 in the allocator. */
static const struct made alone = {.strategy = "s", .threads = 1, .ns = 100, .work = 60, .heap = 40};

static struct contention verdict(struct folder *p, struct made m) {
  m.strategy = "s";
  add(p, alone);
  add(p, m);
  load(p);
  return judge(p, 0, m.threads);
}

static void what_halves_the_time_scales(void **state) {
  struct contention c =
      verdict(*state, (struct made){.threads = 2, .ns = 51, .work = 61, .heap = 41});
  assert_int_equal(c.verdict, CONTENTION_SCALES);
  near(c.efficiency, 100 / 102.0);
  holds(c.text, "1.96x the throughput of one thread on 2 CPUs");
  holds(c.text, "more than 2 CPUs");
}

/* 200 ns of CPU against 100: 80 spinning, 20 of more work. */
static void spinning_is_the_locks(void **state) {
  struct contention c = verdict(
      *state,
      (struct made){.threads = 2, .ns = 100, .work = 80, .heap = 40, .spin = 80, .hold = 50});
  assert_int_equal(c.verdict, CONTENTION_LOCK);
  near(c.efficiency, 0.5);
  holds(c.text, "80 % of the lost CPU time");
  holds(c.text, "N* = 3.0 threads"); /* Z = 100, S = 50 */
}

/* Threads asleep for the lock leave their CPUs idle: 100 of 200 ns. */
static void idle_behind_the_lock_is_the_locks(void **state) {
  struct contention c = verdict(
      *state, (struct made){.threads = 2, .ns = 100, .work = 60, .heap = 40, .locked = 100});
  assert_int_equal(c.verdict, CONTENTION_LOCK);
  holds(c.text, "100 % of the lost CPU time");
}

static void idle_without_a_lock_is_not_decided(void **state) {
  struct contention c =
      verdict(*state, (struct made){.threads = 2, .ns = 100, .work = 60, .heap = 40, .sleep = 100});
  assert_int_equal(c.verdict, CONTENTION_UNKNOWN);
  holds(c.text, "idle");
}

static void a_slower_allocator_is_named(void **state) {
  struct contention c =
      verdict(*state, (struct made){.threads = 2, .ns = 100, .work = 70, .heap = 130});
  assert_int_equal(c.verdict, CONTENTION_HEAP);
  holds(c.text, "90 % of the lost CPU time");
}

static void more_misses_are_named(void **state) {
  struct contention c =
      verdict(*state, (struct made){.threads = 2, .ns = 100, .work = 70, .heap = 130, .misses = 5});
  assert_int_equal(c.verdict, CONTENTION_MISSES);
  holds(c.text, "50 % of its gets");
}

static void searching_is_named(void **state) {
  struct contention c =
      verdict(*state, (struct made){.threads = 2, .ns = 100, .work = 60, .heap = 40, .scan = 100});
  assert_int_equal(c.verdict, CONTENTION_RETRIES);
}

/* 90 more of work; where nothing is shared it is 30, a third. */
static void slower_execution_is_split_by_the_private_arm(void **state) {
  struct folder *p = *state;
  add(p, alone);
  add(p, (struct made){.strategy = "s", .threads = 2, .ns = 95, .work = 150, .heap = 40});
  add(p, (struct made){.strategy = "per-thread", .threads = 1, .ns = 60, .work = 60});
  add(p, (struct made){.strategy = "per-thread", .threads = 2, .ns = 45, .work = 90});
  load(p);
  struct contention c = judge(p, 0, 2);
  assert_int_equal(c.verdict, CONTENTION_SLOWER);
  near(c.slower, 90 * 1.0025);
  near(c.slower_machine, 30 * 1.0025);
  assert_string_equal(c.private_arm, "per-thread");
  holds(c.text, "33 % of it also without sharing");
}

/* At 2 threads 52 ns, at 8 another 100. */
static void oversubscription_is_named(void **state) {
  struct folder *p = *state;
  add(p, alone);
  add(p, (struct made){.strategy = "s", .threads = 2, .ns = 52, .work = 62, .heap = 42});
  add(p,
      (struct made){.strategy = "s", .threads = 8, .ns = 100, .work = 60, .heap = 40, .spin = 100});
  load(p);
  assert_int_equal(judge(p, 0, 2).verdict, CONTENTION_SCALES);
  struct contention c = judge(p, 0, 8);
  assert_int_equal(c.verdict, CONTENTION_CROWDED);
  holds(c.text, "limited by oversubscription");
  holds(c.text, "limited by its lock");
}

static void what_was_not_measured_is_not_decided(void **state) {
  struct folder *p = *state;
  add(p, (struct made){.strategy = "s", .threads = 2, .ns = 52, .work = 62, .heap = 42});
  load(p);
  struct contention c = judge(p, 0, 2);
  assert_int_equal(c.verdict, CONTENTION_UNKNOWN);
  assert_true(isnan(c.efficiency));
  holds(c.text, "one thread");
}

static void a_busy_machine_decides_nothing(void **state) {
  struct contention c = verdict(
      *state, (struct made){.threads = 2, .ns = 100, .work = 60, .heap = 40, .foreign = 40});
  assert_int_equal(c.verdict, CONTENTION_UNKNOWN);
  holds(c.text, "40 %");
}

/* What others took from one thread would look like efficiency. */
static void one_busy_thread_decides_nothing(void **state) {
  struct folder *p = *state;
  struct made m = alone;
  m.foreign = 50;
  add(p, m);
  m = (struct made){.strategy = "s", .threads = 2, .ns = 51, .work = 61, .heap = 41};
  add(p, m);
  load(p);
  struct contention c = judge(p, 0, 2);
  assert_int_equal(c.verdict, CONTENTION_UNKNOWN);
  holds(c.text, "others had 50 % of the CPU time of one thread");
}

/*
 * Threads that sleep behind their lock leave CPUs idle, which looks like others' use. Samples that
 * tell nevertheless had next to none of either; so the other strategies of the rounds are asked.
 */
static void who_cannot_tell_asks_its_neighbours(void **state) {
  struct folder *p = *state;
  struct made locked = {.strategy = "locked", .threads = 4, .ns = 200, .work = 100, .locked = 500};
  struct made m = alone;
  add(p, m);
  m.strategy = "locked";
  add(p, m);
  add(p, (struct made){.strategy = "s", .threads = 4, .ns = 51, .work = 102, .foreign = 30});
  for (unsigned round = 0; round < ROUNDS; round++) {
    locked.foreign = round == 0 ? 1 : NAN;
    write_sample(p, &locked, round);
  }
  load(p);
  struct contention c = judge(p, 1, 4);
  assert_int_equal(c.verdict, CONTENTION_UNKNOWN);
  holds(c.text, "others had 30 % of the CPU time beside other strategies");
}

static void quiet_neighbours_let_a_lock_be_blamed(void **state) {
  struct folder *p = *state;
  struct made m = alone;
  add(p, m);
  m.strategy = "locked";
  add(p, m);
  add(p, (struct made){.strategy = "s", .threads = 4, .ns = 51, .work = 102, .foreign = 2});
  add(p, (struct made){.strategy = "locked",
                       .threads = 4,
                       .ns = 200,
                       .work = 100,
                       .locked = 500,
                       .foreign = NAN});
  load(p);
  assert_int_equal(judge(p, 1, 4).verdict, CONTENTION_LOCK);
}

static void a_large_remainder_decides_nothing(void **state) {
  struct contention c = verdict(
      *state, (struct made){.threads = 2, .ns = 100, .work = 60, .heap = 40, .remainder = 20});
  assert_int_equal(c.verdict, CONTENTION_UNKNOWN);
  holds(c.text, "no state claims 10 %");
}

/* Half of ten allocations are misses, so half of the allocator's 40 of 100 ns, and 10 of waiting.
 */
static void the_ceiling_is_what_misses_and_waits_cost(void **state) {
  struct folder *p = *state;
  add(p, (struct made){.strategy = "malloc",
                       .threads = 2,
                       .ns = 60,
                       .work = 50,
                       .heap = 40,
                       .spin = 10,
                       .misses = 5});
  load(p);
  near(contention_ceiling(&p->d, 0, 2), 0.3);
  assert_true(isnan(contention_ceiling(&p->d, 0, 1)));
}

/* 2 holds an op, 50 ns more each: 100 planted, of which 75 come out. */
static void sensitivity_is_what_comes_out(void **state) {
  struct folder *p = *state;
  struct sensitivity s;
  add(p, (struct made){.strategy = "l", .threads = 2, .ns = 100, .work = 120, .acquired = 2});
  add(p, (struct made){
             .strategy = "l:inject=50", .threads = 2, .ns = 175, .work = 120, .acquired = 2});
  load(p);
  assert_true(contention_sensitivity(&s, &p->d, 0, 1, 2));
  assert_int_equal(s.without, 0);
  near(s.delay_ns, 50);
  near(s.slope, 0.75 * 1.0025);
  assert_true(s.lo <= s.slope && s.slope <= s.hi);
  assert_false(contention_sensitivity(&s, &p->d, 0, 0, 2));
}

/* ---- the commands ---- */

static void write_json(const struct folder *p, const char *text) {
  char path[100];
  snprintf(path, sizeof path, "%s/run.json", p->folder);
  FILE *f = fopen(path, "w");
  assert_non_null(f);
  assert_true(fputs(text, f) >= 0);
  assert_int_equal(fclose(f), 0);
}

/*
 * Of eight threads asked for, the case used three on four CPUs: 300 ns of thread time an op, of
 * which 180 are work. One thread takes 300.
 */
static void a_smaller_team_is_what_the_states_add_up_over(void **state) {
  struct folder *p = *state;
  struct budget_set set;
  struct contention c;
  add(p, (struct made){.strategy = "s", .threads = 1, .ns = 300, .work = 180, .heap = 120});
  add(p,
      (struct made){.strategy = "s", .threads = 8, .team = 3, .ns = 100, .work = 180, .heap = 120});
  add(p, (struct made){.strategy = "s", .threads = 16, .team = 1, .ns = 300, .work = 300});
  write_json(p, "{\"plan\": {\"cells\": ["
                "{\"name\": \"BenchmarkC/strategy=s-8\", \"threads\": 8, \"team\": 3},"
                "{\"name\": \"BenchmarkC/strategy=s-16\", \"threads\": 16, \"team\": 1}]}}");
  load(p);
  assert_int_equal(rundata_cell(&p->d, 0, 0, 1)->team, 1);
  assert_true(budgets_load(&set, &p->d, rundata_cell(&p->d, 0, 0, 8)));
  near(set.samples[0].total, 100);
  near(set.samples[0].state[BUDGET_WORK], 60);
  near(set.samples[0].state[BUDGET_HEAP], 40);
  budgets_by_cpu(&set, 4);
  near(set.samples[0].state[BUDGET_WORK], 60);
  near(set.samples[0].state[BUDGET_SLEEP], 0);
  budgets_free(&set);
  assert_true(contention_judge(&c, &p->d, 0, 0, 8, 4));
  assert_int_equal(c.verdict, CONTENTION_SCALES);
  near(c.efficiency, 1);
  holds(c.text, "3.00x the throughput of one thread on 3 CPUs");
  assert_true(contention_judge(&c, &p->d, 0, 0, 16, 4));
  assert_string_equal(c.text, "one thread: nothing to share");
}

/* Runs a command with what it prints, on both streams, in p->text. Returns its status. */
static int command(struct folder *p, int (*program)(int, char **), const char *const *arguments) {
  char *argv[12] = {"command"}, path[100];
  int argc = 1, out = dup(STDOUT_FILENO), err = dup(STDERR_FILENO);
  snprintf(path, sizeof path, "%s/printed", p->folder);
  int file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  while (*arguments)
    argv[argc++] = (char *)*arguments++;
  fflush(stdout);
  assert_true(out >= 0 && err >= 0 && file >= 0);
  dup2(file, STDOUT_FILENO);
  dup2(file, STDERR_FILENO);
  int status = program(argc, argv);
  fflush(stdout);
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  close(out);
  close(err);
  free(p->text);
  p->text = calloc(1, 1 << 16);
  assert_non_null(p->text);
  assert_true(pread(file, p->text, (1 << 16) - 1, 0) >= 0);
  close(file);
  return status;
}
#define COMMAND(p, program, ...) command(p, program, (const char *const[]){__VA_ARGS__, NULL})

/* Joins the lines of wrapped sentences: what goes on is set in by four columns. */
static void unwrap(char *text) {
  for (char *at; (at = strstr(text, "\n    ")) != NULL;)
    memmove(at, at + 4, strlen(at + 4) + 1);
}

static size_t times(const char *text, const char *part) {
  size_t n = 0;
  for (; (text = strstr(text, part)) != NULL; text++)
    n++;
  return n;
}

/* Characters of the longest line. */
static size_t widest_line(const char *text) {
  size_t widest = 0, n = 0;
  for (; *text; text++)
    if (*text == '\n') {
      widest = n > widest ? n : widest;
      n = 0;
    } else {
      n += ((unsigned char)*text & 0xC0) != 0x80;
    }
  return widest;
}

/* Five strategies at one and two threads on two CPUs, one with a lock. */
static void write_sweep(struct folder *p) {
  static const char *const names[] = {"malloc", "global-locked", "per-thread", "pooled-freelists",
                                      "sync-pool"};
  for (size_t i = 0; i < 5; i++) {
    struct made m = {.strategy = names[i], .threads = 1, .ns = 12345, .work = 12000, .heap = 300};
    m.hold = m.acquired = i == 1 ? 100 : 0;
    add(p, m);
    m.threads = 2;
    m.ns = 7000;
    add(p, m);
  }
  assert_int_equal(fclose(p->detail), 0);
  write_json(p, "{\"binding\": {\"policy\": \"core\", \"cpus\": 2, \"cores\": 2}}");
}

static void the_tables_fit_a_page_and_scaling_follows_once(void **state) {
  struct folder *p = *state;
  write_sweep(p);
  assert_int_equal(COMMAND(p, contention_main, p->folder), EXIT_DONE);
  holds(p->text, "C, 1 thread on 2 CPUs");
  holds(p->text, "C, 2 threads on 2 CPUs");
  assert_true(widest_line(p->text) <= 100);
  /* Each strategy heads one column at each thread count, in one of two tables. */
  assert_int_equal(times(p->text, "  per op "), 4);
  assert_int_equal(times(p->text, " sync-pool\n"), 2);
  assert_int_equal(times(p->text, "throughput, ops/s"), 1);
  assert_int_equal(times(p->text, "no fit of the law"), 1);
  holds(p->text, "  no fit of the law: 2 thread counts on 2 cores; the law needs 4\n");
}

static void one_thread_count_has_one_line_on_scaling(void **state) {
  struct folder *p = *state;
  add(p, alone);
  assert_int_equal(fclose(p->detail), 0);
  write_json(p, "{\"binding\": {\"cpus\": 1, \"cores\": 1}}");
  assert_int_equal(COMMAND(p, contention_main, p->folder), EXIT_DONE);
  holds(p->text, "C, 1 thread on 1 CPU:");
  holds(p->text, "\n\nno word on scaling: every case was measured at one thread count");
  assert_null(strstr(p->text, "law"));
}

static void commands_look_at_the_cells_that_were_asked_for(void **state) {
  struct folder *p = *state;
  write_sweep(p);
  assert_int_equal(COMMAND(p, contention_main, "--threads", "2", p->folder), EXIT_DONE);
  holds(p->text, "2 threads on 2 CPUs");
  assert_null(strstr(p->text, "1 thread on"));
  assert_null(strstr(p->text, "throughput, ops/s"));
  assert_int_equal(COMMAND(p, contention_main, p->folder, "-case", "D"), EXIT_NOTHING);
  assert_int_equal(COMMAND(p, why_main, p->folder, "malloc", "per-thread", "--threads", "1"),
                   EXIT_DONE);
  holds(p->text, "C, 1 thread: per-thread against malloc");
  assert_int_equal(COMMAND(p, why_main, p->folder, "malloc", "per-thread", "--case", "D"),
                   EXIT_NOTHING);
}

static void one_round_in_common_is_not_called_none(void **state) {
  struct folder *p = *state;
  struct made m = {.strategy = "malloc", .threads = 2, .ns = 100, .work = 120};
  for (unsigned round = 0; round < 4; round++)
    write_sample(p, &m, round);
  m.strategy = "late";
  for (unsigned round = 3; round < 7; round++)
    write_sample(p, &m, round);
  assert_int_equal(fclose(p->detail), 0);
  write_json(p, "{\"binding\": {\"cpus\": 2, \"cores\": 2}}");
  assert_int_equal(COMMAND(p, why_main, p->folder, "malloc", "late"), EXIT_DONE);
  holds(p->text, "  1 round in common, pairing takes 2: the two sides each for itself\n");
}

/* By hand: of 10 gets 2 missed and 3 stole, so 5 were local; malloc has no shards to search. */
static void gets_that_neither_miss_nor_steal_are_local_hits(void **state) {
  struct folder *p = *state;
  struct made m = {.strategy = "malloc", .threads = 2, .ns = 100, .work = 200, .gets = 10};
  add(p, m);
  m.strategy = "sync-pool";
  m.misses = 2;
  m.steals = 3;
  m.scans = 8;
  add(p, m);
  assert_int_equal(fclose(p->detail), 0);
  write_json(p, "{\"binding\": {\"cpus\": 2, \"cores\": 2}}");
  assert_int_equal(COMMAND(p, contention_main, "--threads", "2", p->folder), EXIT_DONE);
  const char *row = strstr(p->text, "local hits");
  char malloc_has[16], sync_pool_has[16];
  assert_non_null(row);
  assert_int_equal(sscanf(row, "local hits %15s %15s", malloc_has, sync_pool_has), 2);
  assert_string_equal(malloc_has, "-");
  assert_string_equal(sync_pool_has, "5");
}

static void without_a_search_there_is_no_row_of_local_hits(void **state) {
  struct folder *p = *state;
  add(p, (struct made){.strategy = "malloc", .threads = 2, .ns = 100, .work = 200, .gets = 10});
  assert_int_equal(fclose(p->detail), 0);
  write_json(p, "{\"binding\": {\"cpus\": 2, \"cores\": 2}}");
  assert_int_equal(COMMAND(p, contention_main, "--threads", "2", p->folder), EXIT_DONE);
  assert_null(strstr(p->text, "local hits"));
}

static void wrong_command_lines_say_what_is_right(void **state) {
  struct folder *p = *state;
  write_sweep(p);
  assert_int_equal(COMMAND(p, contention_main, "--threads", "2x", p->folder), EXIT_USAGE);
  holds(p->text, "contention: --threads needs a number from 1 to 65536, not 2x");
  assert_int_equal(COMMAND(p, contention_main, p->folder, "--threads", "-2"), EXIT_USAGE);
  assert_int_equal(COMMAND(p, contention_main, p->folder, "--threads", "+2"), EXIT_USAGE);
  assert_int_equal(COMMAND(p, contention_main, p->folder, "--threads"), EXIT_USAGE);
  assert_int_equal(COMMAND(p, contention_main, p->folder, "--case"), EXIT_USAGE);
  holds(p->text, "poolbench contention RUN [--case PART] [--threads N]");
  assert_int_equal(COMMAND(p, contention_main, p->folder, p->folder), EXIT_USAGE);
  assert_int_equal(COMMAND(p, contention_main, NULL), EXIT_USAGE);
  holds(p->text, "which run?");
  assert_int_equal(COMMAND(p, why_main, p->folder, "malloc"), EXIT_USAGE);
  holds(p->text, "two strategies are needed");
  assert_int_equal(COMMAND(p, why_main, p->folder, "malloc", "pool"), EXIT_USAGE);
  holds(p->text, "there are: malloc, global-locked");
  assert_int_equal(COMMAND(p, why_main, "/nonexistent/run", "a", "b"), EXIT_INPUT);
  assert_int_equal(COMMAND(p, why_main, "x", "--help"), EXIT_DONE);
  holds(p->text, "usage: poolbench why RUN A B");
}

/* ---- the plot of budgets ---- */

/* malloc's states are 60, 20 and 20 of 100 ns, pool's 30, 10 and 10; four threads share two CPUs.
 */
static void write_budgets(struct folder *p, unsigned threads) {
  add(p,
      (struct made){.strategy = "malloc", .threads = threads, .ns = 100, .work = 120, .heap = 40});
  add(p, (struct made){.strategy = "pool", .threads = threads, .ns = 50, .work = 60, .heap = 20});
  assert_int_equal(fclose(p->detail), 0);
  write_json(p, "{\"id\": \"beef\", \"binding\": {\"cpus\": 2, \"cores\": 2}}");
}

/* The text of a file of the run, in p->text. */
static const char *read_back(struct folder *p, const char *name) {
  char path[100];
  snprintf(path, sizeof path, "%s/%s", p->folder, name);
  FILE *f = fopen(path, "r");
  if (!f)
    fail_msg("%s is not there", path);
  free(p->text);
  p->text = calloc(1, 1 << 17);
  assert_non_null(p->text);
  assert_true(fread(p->text, 1, (1 << 17) - 1, f) > 0);
  fclose(f);
  return p->text;
}

/* With the scripts of this folder, or without any. */
static void plot(struct folder *p, bool scripts) {
  struct report r;
  struct error e;
  char folder[100], copy[200];
  snprintf(folder, sizeof folder, "%s/scripts", p->folder);
  snprintf(copy, sizeof copy, "mkdir '%s' && %s", folder, scripts ? "cp plots/*.gp " : ": ");
  size_t used = strlen(copy);
  snprintf(copy + used, sizeof copy - used, "'%s'", folder);
  assert_int_equal(system(copy), 0);
  if (!report_load(&r, p->folder, &e))
    fail_msg("%s", e.text);
  setenv("POOLBENCH_PLOTS", folder, 1);
  FILE *nowhere = fopen("/dev/null", "w");
  assert_non_null(nowhere);
  if (!report_plots(&r, nowhere, &e))
    fail_msg("%s", e.text);
  fclose(nowhere);
  unsetenv("POOLBENCH_PLOTS");
  report_free(&r);
}

/* Means over the middle half have 1.0025 of the figures; per cent are of malloc's ns/op. */
static void budget_data_holds_states_that_add_up_to_the_bar(void **state) {
  struct folder *p = *state;
  write_budgets(p, 2);
  plot(p, false);
  const char *text = read_back(p, "plots/budget.tsv");
  holds(text, "# cpus\t2\n# threads\t2\n");
  holds(text, "# base\tmalloc\n# series\twork\n# series\tallocator\n");
  holds(text, "# columns\tcase\tstrategy\tstate\tns\tpercent\n"
              "C\tmalloc\twork\t60.15\t60\n"
              "C\tmalloc\tallocator\t20.05\t20\n"
              "C\tmalloc\trun queue\t20.05\t20\n"
              "C\tpool\twork\t30.075\t30\n"
              "C\tpool\tallocator\t10.025\t10\n"
              "C\tpool\trun queue\t10.025\t10\n");
}

/* The run queue of shared CPUs is no state of theirs; what they were not used for is. */
static void budget_data_is_of_cpus_where_threads_share_them(void **state) {
  struct folder *p = *state;
  write_budgets(p, 4);
  plot(p, false);
  const char *text = read_back(p, "plots/budget.tsv");
  assert_null(strstr(text, "run queue"));
  holds(text, "C\tmalloc\twork\t60.15\t60\n"
              "C\tmalloc\tallocator\t20.05\t20\n"
              "C\tmalloc\tCPUs idle or others'\t20.05\t20\n"
              "C\tpool\twork\t30.075\t30\n");
}

static void budgets_are_drawn_when_gnuplot_is_there(void **state) {
  struct folder *p = *state;
  if (system("command -v gnuplot >/dev/null") != 0)
    skip();
  write_budgets(p, 2);
  plot(p, true);
  assert_memory_equal(read_back(p, "plots/budget.png"), "\x89PNG\r\n\x1a\n", 8);
  const char *svg = read_back(p, "plots/budget.svg");
  holds(svg, "Where the time of an op goes at 2 threads");
  holds(svg, ">malloc<");
  holds(svg, ">allocator<");
  /* The script's own sums of the states: 100.25 and 50.125 ns. */
  holds(svg, ">100 ns<");
  holds(svg, ">50.1 ns<");
  holds(svg, "</svg>");
}

/* A run without states has no bars: the data file is empty and no picture is made. */
static void runs_without_states_have_no_budget_picture(void **state) {
  struct folder *p = *state;
  char path[100];
  fputs("BenchmarkC/strategy=malloc-2\t1\t100 ns/op\n", p->detail);
  assert_int_equal(fclose(p->detail), 0);
  write_json(p, "{\"binding\": {\"cpus\": 2, \"cores\": 2}}");
  plot(p, true);
  assert_null(strstr(read_back(p, "plots/budget.tsv"), "\nC\t"));
  snprintf(path, sizeof path, "%s/plots/budget.svg", p->folder);
  assert_int_equal(access(path, F_OK), -1);
}

/* What the report says of the run's strategies, into p->text. */
static void print_verdicts(struct folder *p) {
  struct report r;
  struct error e;
  size_t size;
  write_json(p, "{\"binding\": {\"cpus\": 2, \"cores\": 2}}");
  assert_true(report_load(&r, p->folder, &e));
  free(p->text);
  FILE *memory = open_memstream(&p->text, &size);
  assert_non_null(memory);
  report_verdicts(&r, "`", "- ", memory);
  fclose(memory);
  report_free(&r);
}

/* Two whose efficiency is 0.90 but for the noise, and one that is clearly above. */
static void strategies_with_one_verdict_share_its_sentence(void **state) {
  struct folder *p = *state;
  static const char *const names[] = {"fine", "near", "close"};
  static const double two[] = {50, 55.5, 55.6};
  for (size_t i = 0; i < 3; i++) {
    struct made m = alone;
    m.strategy = names[i];
    add(p, m);
    m.threads = 2;
    m.ns = two[i];
    add(p, m);
  }
  load(p);
  print_verdicts(p);
  holds(p->text, "- `near` (0.8");
  holds(p->text, "), `close` (0.8");
  holds(p->text, ") C: not decided: an efficiency of 0.90 is called scaling");
  holds(p->text, "- `fine` C: scales: 2.00x");
  assert_null(strstr(strstr(p->text, "not decided") + 1, "not decided"));
}

/* ---- planted delays, against a simulated lock ---- */

/* ns/op of two threads that take a lock twice an op, a CPU each. */
static double simulated(enum shape shape, double think, double hold) {
  struct world w = {2, {hold, think, 0}, shape, shape, shape, LOCK_IN_ORDER};
  return 2 / simulate(w, 300000).rate;
}

/*
 * Holds of 100 ns, and 100 more planted. What must come out is what the simulation shows; that it
 * is 1 for a lock that is always taken and 1/2 for one that never is needs no simulation.
 */
static void planted_delays_come_out_as_in_a_simulated_queue(void **state) {
  struct folder *p = *state;
  static const struct {
    const char *name, *planted;
    enum shape shape;
    double think, least, most;
  } locks[] = {{"busy", "busy:inject=100", FIXED, 1, 0.99, 1.01},
               {"idle", "idle:inject=100", FIXED, 20000, 0.495, 0.505},
               {"both", "both:inject=100", EXPONENTIAL, 200, 0.6, 0.95}};
  double truth[3];
  for (size_t i = 0; i < 3; i++) {
    struct made m = {.strategy = locks[i].name, .threads = 2, .acquired = 2};
    double without = m.ns = simulated(locks[i].shape, locks[i].think, 100);
    add(p, m);
    m.strategy = locks[i].planted;
    m.ns = simulated(locks[i].shape, locks[i].think, 200);
    add(p, m);
    truth[i] = (m.ns - without) / (2 * 100);
  }
  load(p);
  for (size_t i = 0; i < 3; i++) {
    struct sensitivity s;
    assert_true(contention_sensitivity(&s, &p->d, 0, 2 * i + 1, 2));
    assert_int_equal(s.without, 2 * i);
    near(s.slope, truth[i] * 1.0025);
    if (s.slope < locks[i].least || s.slope > locks[i].most)
      fail_msg("%s: %g is not in %g .. %g", locks[i].name, s.slope, locks[i].least, locks[i].most);
    assert_true(s.lo <= s.slope && s.slope <= s.hi);
  }
  write_json(p, "{\"binding\": {\"cpus\": 2, \"cores\": 2}}");
  assert_int_equal(COMMAND(p, contention_main, p->folder), EXIT_DONE);
  assert_true(widest_line(p->text) <= 100);
  unwrap(p->text);
  holds(p->text, "  busy: of 100 ns more under its lock a share of 1.00 comes out in ns/op (");
  holds(p->text, "; 1 is a saturated lock, 0.50 one that is not.\n");
  holds(p->text, "  idle: of 100 ns more under its lock a share of 0.50 comes out in ns/op (");
  print_verdicts(p);
  holds(p->text, "- `busy` C: of 100 ns more under its lock a share of 1.00 comes out in ns/op (");
}

/*
 * sensitivity_is_what_comes_out on a kernel that gives no states; others had 20 % of one of the
 * two.
 */
static void sensitivity_needs_no_states(void **state) {
  struct folder *p = *state;
  struct sensitivity s;
  for (unsigned round = 0; round < ROUNDS; round++)
    fprintf(p->detail,
            "# run beef round %u seq %u\n"
            "BenchmarkC/strategy=l-2\t1\t%.9g ns/op\t2 lockacq/op\t0 foreign-cpu-%%\n"
            "# run beef round %u seq %u\n"
            "BenchmarkC/strategy=l:inject=50-2\t1\t%.9g ns/op\t2 lockacq/op\t20 foreign-cpu-%%\n",
            round + 1, 2 * round, 100 * noise[round], round + 1, 2 * round + 1, 175 * noise[round]);
  load(p);
  assert_true(contention_sensitivity(&s, &p->d, 0, 1, 2));
  near(s.slope, 0.75 * 1.0025);
  near(s.foreign, 20);
  write_json(p, "{\"binding\": {\"cpus\": 2, \"cores\": 2}}");
  assert_int_equal(COMMAND(p, contention_main, p->folder, "--threads", "2"), EXIT_DONE);
  unwrap(p->text);
  holds(p->text, "C, 2 threads on 2 CPUs: no states were measured\n  l: of 50 ns more under its "
                 "lock a share of 0.75 comes out in ns/op (");
  holds(p->text, "others had 20 % of the CPU time, which is in it.\n");
}

/* A bound minus a time is no difference. */
static void a_bound_has_no_sensitivity(void **state) {
  struct folder *p = *state;
  struct sensitivity s;
  add(p, (struct made){.strategy = "l", .threads = 2, .ns = 100, .work = 120, .acquired = 2});
  fputs("# run beef round 1 seq 99\n# flag bound did not finish in 8.0 s\n"
        "BenchmarkC/strategy=l:inject=50-2\t1\t1e8 ns/op\t2 lockacq/op\n",
        p->detail);
  load(p);
  assert_false(contention_sensitivity(&s, &p->d, 0, 1, 2));
}

/* Nothing is left out without a word: neither what did not finish nor cases without a sweep. */
static void what_has_no_verdict_is_named(void **state) {
  struct folder *p = *state;
  add(p, alone);
  add(p, (struct made){.strategy = "s", .threads = 2, .ns = 51, .work = 61, .heap = 41});
  fputs("# run beef round 1 seq 99\n# flag bound did not finish in 8.0 s\n"
        "BenchmarkC/strategy=spin-2\t1\t1e8 ns/op\n",
        p->detail);
  for (int i = 0; i < 5; i++)
    fprintf(p->detail,
            "# run beef round 1 seq %d\nBenchmark%c/strategy=s-2\t1\t9 ns/op\t9 work-ns/op\n",
            100 + i, "DEFGH"[i]);
  assert_int_equal(fclose(p->detail), 0);
  write_json(p, "{\"binding\": {\"cpus\": 2, \"cores\": 2}}");
  assert_int_equal(COMMAND(p, contention_main, p->folder, "--threads", "2"), EXIT_DONE);
  unwrap(p->text);
  holds(p->text, "  spin: not decided: it did not finish in its time limit; fewer threads");
  print_verdicts(p);
  holds(p->text, "- `spin` C: not decided: it did not finish in its time limit; fewer threads");
  holds(p->text, "- D, E, F, G and 1 more: not decided: there are no samples with one thread to "
                 "compare with (--cpus 1,2, or a longer --budget)\n");
}

/* Each of two threads: (140 - 60) / 2 ns more than one, (120 - 60) / 2 where nothing is shared. */
static void slower_execution_stands_below_the_states(void **state) {
  struct folder *p = *state;
  struct made m = alone;
  add(p, m);
  m.strategy = "s:pools=private";
  add(p, m);
  m = (struct made){.strategy = "s", .threads = 2, .ns = 100, .work = 140, .heap = 40};
  add(p, m);
  m.strategy = "s:pools=private";
  m.work = 120;
  add(p, m);
  assert_int_equal(fclose(p->detail), 0);
  write_json(p, "{\"binding\": {\"cpus\": 2, \"cores\": 2}}");
  assert_int_equal(COMMAND(p, contention_main, p->folder, "--threads", "2"), EXIT_DONE);
  const char *line = strstr(p->text, "\n  of work: slower execution ");
  double own = 0, arm = 0, machine = 0;
  assert_non_null(line);
  assert_int_equal(sscanf(line,
                          " of work: slower execution %lfns %lfns"
                          " of that without sharing %lfns -",
                          &own, &arm, &machine),
                   3);
  near(own, 40.1);
  near(arm, 30.1);
  near(machine, 30.1);
  assert_int_equal(COMMAND(p, contention_main, p->folder, "--threads", "1"), EXIT_DONE);
  assert_null(strstr(p->text, "slower execution"));
}

/* ---- the limits in a report ---- */

static FILE *open_report(struct folder *p, struct report *r) {
  struct error e;
  if (!report_load(r, p->folder, &e))
    fail_msg("%s", e.text);
  free(p->text);
  p->text = NULL;
  FILE *memory = open_memstream(&p->text, &p->text_size); /* written to when it is closed */
  assert_non_null(memory);
  return memory;
}

static const char *limits(struct folder *p, bool markdown) {
  struct report r;
  FILE *memory = open_report(p, &r);
  assert_true(report_limits(&r, markdown, memory));
  fclose(memory);
  report_free(&r);
  return p->text;
}

/*
 * The runs of a_difference_is_the_sum_of_its_states: per thread 60 of work, 30 in the allocator and
 * 10 in the run queue against 60, 6 and 4. The parts are of means, the delta is of ratios.
 */
static void a_decided_difference_has_its_parts(void **state) {
  struct folder *p = *state;
  struct report r;
  add(p, (struct made){.strategy = "malloc", .threads = 2, .ns = 100, .work = 120, .heap = 60});
  add(p, (struct made){.strategy = "pool", .threads = 2, .ns = 70, .work = 120, .heap = 12});
  assert_int_equal(fclose(p->detail), 0);
  write_json(p, "{\"binding\": {\"policy\": \"core\", \"cpus\": 2, \"cores\": 2}}");
  FILE *memory = open_report(p, &r);
  report_why(&r, "`", "- ", memory);
  fclose(memory);
  report_free(&r);
  holds(p->text, "- `pool` C -30.");
  holds(p->text, " %: allocator -24.0 %; run queue -6.0 %; all parts -30.0 %\n");
}

static size_t lines(const char *text) {
  return times(text, "\n");
}

/*
 * malloc: 2 x 60 / 100 - 1 = 0.2, and the ceiling of the_ceiling_is_what_misses_and_waits_cost.
 * The lock: 2 x 62.5 / 100 - 1 = 0.25, held for 20 of 100 ns: N* = (80 + 20) / 20.
 */
static void limits_are_a_row_a_strategy_and_a_ceiling(void **state) {
  struct folder *p = *state;
  struct made m = {.strategy = "malloc", .threads = 1, .ns = 100, .work = 60, .heap = 40};
  add(p, m);
  m = (struct made){
      .strategy = "malloc", .threads = 2, .ns = 60, .work = 50, .heap = 40, .spin = 10};
  m.misses = 5;
  add(p, m);
  m = (struct made){.strategy = "locked", .threads = 1, .ns = 100, .work = 100, .acquired = 1};
  m.hold = 20;
  add(p, m);
  m.threads = 2;
  m.ns = 62.5;
  m.spin = 5;
  add(p, m);
  assert_int_equal(fclose(p->detail), 0);
  write_json(p, "{\"binding\": {\"policy\": \"core\", \"cpus\": 2, \"cores\": 2}}");
  const char *text = limits(p, false);
  holds(text, "limits of scaling: sigma + 2 kappa [95 %] of one and two threads; N*: threads that "
              "keep a lock busy\n");
  holds(text, "\n  malloc");
  holds(text, "  0.2 [0.2, 0.2]\n"); /* a round's noise is the same in all of its samples */
  holds(text, "  0.25 [0.25, 0.25], N* 5.0\n");
  holds(text, "30.0 %\n  ceiling: the share of malloc's CPU time");
  assert_int_equal(lines(text), 7);
  text = limits(p, true);
  holds(text, "|  | C |\n| --- | ---: |\n| malloc | 0.2 [");
  holds(text, "| ceiling | 30.0 % |\n");
  /* Both go into what ./run.sh prints and into review.md. */
  char shell[200];
  snprintf(shell, sizeof shell, "cd '%s' && grep -v -e '-1\t' detail.txt >samples.txt", p->folder);
  assert_int_equal(system(shell), 0);
  assert_int_equal(COMMAND(p, report_main, "--no-plots", p->folder), EXIT_DONE);
  holds(p->text, "\nlimits of scaling: ");
  snprintf(shell, sizeof shell, "grep -q '^| ceiling | 30.0 %% |' '%s/review.md'", p->folder);
  assert_int_equal(system(shell), 0);
}

/* X(n) = n / (100 (1 + 0.1 (n - 1))): sigma is 0.1. */
static void limits_of_a_fitted_law_are_named(void **state) {
  struct folder *p = *state;
  for (unsigned n = 1; n <= 8; n *= 2)
    add(p, (struct made){.strategy = "malloc", .threads = n, .ns = (90 + 10 * n) / (double)n});
  assert_int_equal(fclose(p->detail), 0);
  write_json(p, "{\"binding\": {\"policy\": \"core\", \"cpus\": 8, \"cores\": 8}}");
  const char *text = limits(p, false);
  holds(text, "limits of scaling: the fitted law");
  holds(text, "  sigma 0.1, kappa ");
}

static void limits_that_are_not_known_are_one_line(void **state) {
  struct folder *p = *state;
  add(p, (struct made){.strategy = "malloc", .threads = 2, .ns = 60});
  assert_int_equal(fclose(p->detail), 0);
  write_json(p, "{\"binding\": {\"policy\": \"core\", \"cpus\": 2, \"cores\": 2}}");
  assert_string_equal(limits(p, false), ""); /* one thread count, so no curve */
  char path[100];
  snprintf(path, sizeof path, "%s/detail.txt", p->folder);
  p->detail = fopen(path, "w");
  assert_non_null(p->detail);
  fputs("BenchmarkC/strategy=malloc-2\t1\t60 ns/op\nBenchmarkC/strategy=malloc-4\t1\t60 ns/op\n",
        p->detail);
  assert_int_equal(fclose(p->detail), 0);
  assert_string_equal(limits(p, false),
                      "limits of scaling: not known; 1 thread count on 2 cores; the law needs 4, "
                      "and one and two threads are not among them\n\n");
}

/* Eight cases with names of 30 characters: three columns fit beside the strategies, or two. */
static void limits_of_many_cases_come_in_tables_that_fit_a_page(void **state) {
  struct folder *p = *state;
  for (int i = 0; i < 8; i++)
    for (int n = 1; n <= 2; n++)
      for (int round = 1; round <= 6; round++)
        fprintf(p->detail,
                "# run beef round %d seq 1\n"
                "BenchmarkACaseWithAVeryLongName/of/its%d/strategy=malloc-%d\t1\t%d ns/op\n",
                round, i, n, 100 + round);
  assert_int_equal(fclose(p->detail), 0);
  write_json(p, "{\"binding\": {\"policy\": \"core\", \"cpus\": 2, \"cores\": 2}}");
  const char *text = limits(p, false);
  assert_true(widest_line(text) <= 100);
  for (int i = 0; i < 8; i++) {
    char name[60];
    snprintf(name, sizeof name, "ACaseWithAVeryLongName/of/its%d", i);
    assert_int_equal(times(text, name), 1);
  }
}

#define ON_A_RUN(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      ON_A_RUN(the_center_adds_up),
      ON_A_RUN(by_cpu_the_rest_is_idle),
      ON_A_RUN(a_difference_is_the_sum_of_its_states),
      ON_A_RUN(what_has_no_states_says_so),
      ON_A_RUN(a_bound_has_no_states),
      ON_A_RUN(rounds_are_paired),
      ON_A_RUN(what_halves_the_time_scales),
      ON_A_RUN(spinning_is_the_locks),
      ON_A_RUN(idle_behind_the_lock_is_the_locks),
      ON_A_RUN(idle_without_a_lock_is_not_decided),
      ON_A_RUN(a_slower_allocator_is_named),
      ON_A_RUN(more_misses_are_named),
      ON_A_RUN(searching_is_named),
      ON_A_RUN(slower_execution_is_split_by_the_private_arm),
      ON_A_RUN(oversubscription_is_named),
      ON_A_RUN(what_was_not_measured_is_not_decided),
      ON_A_RUN(a_busy_machine_decides_nothing),
      ON_A_RUN(one_busy_thread_decides_nothing),
      ON_A_RUN(who_cannot_tell_asks_its_neighbours),
      ON_A_RUN(quiet_neighbours_let_a_lock_be_blamed),
      ON_A_RUN(a_large_remainder_decides_nothing),
      ON_A_RUN(sensitivity_is_what_comes_out),
      ON_A_RUN(sensitivity_needs_no_states),
      ON_A_RUN(a_bound_has_no_sensitivity),
      ON_A_RUN(slower_execution_stands_below_the_states),
      ON_A_RUN(what_has_no_verdict_is_named),
      ON_A_RUN(the_ceiling_is_what_misses_and_waits_cost),
      ON_A_RUN(budget_data_holds_states_that_add_up_to_the_bar),
      ON_A_RUN(budget_data_is_of_cpus_where_threads_share_them),
      ON_A_RUN(budgets_are_drawn_when_gnuplot_is_there),
      ON_A_RUN(runs_without_states_have_no_budget_picture),
      ON_A_RUN(strategies_with_one_verdict_share_its_sentence),
      ON_A_RUN(planted_delays_come_out_as_in_a_simulated_queue),
      ON_A_RUN(a_decided_difference_has_its_parts),
      ON_A_RUN(limits_are_a_row_a_strategy_and_a_ceiling),
      ON_A_RUN(limits_of_a_fitted_law_are_named),
      ON_A_RUN(limits_that_are_not_known_are_one_line),
      ON_A_RUN(limits_of_many_cases_come_in_tables_that_fit_a_page),
      ON_A_RUN(a_smaller_team_is_what_the_states_add_up_over),
      ON_A_RUN(the_tables_fit_a_page_and_scaling_follows_once),
      ON_A_RUN(one_thread_count_has_one_line_on_scaling),
      ON_A_RUN(commands_look_at_the_cells_that_were_asked_for),
      ON_A_RUN(one_round_in_common_is_not_called_none),
      ON_A_RUN(gets_that_neither_miss_nor_steal_are_local_hits),
      ON_A_RUN(without_a_search_there_is_no_row_of_local_hits),
      ON_A_RUN(wrong_command_lines_say_what_is_right),
  };
  return cmocka_run_group_tests_name("contention", tests, NULL, NULL);
}
