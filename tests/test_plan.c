/*
 * Plans: which cells a command line makes, in which order, how they fit their time. The registries
 * are this file's own, so that expectations do not move with the suites.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- registries -------------------------------------------------------------------------- */

static struct pool *open_any(const struct kind *kinds, size_t count, const struct pool_config *c) {
  (void)kinds, (void)count;
  for (size_t i = 0; i < c->option_count; i++)
    if (strcmp(c->options[i], "lock=bad") == 0) {
      snprintf(c->why, c->why_size, "lock=bad: there are pthread and ticket");
      return NULL;
    } else if (strcmp(c->options[i], "inject=20001") == 0) {
      snprintf(c->why, c->why_size, "inject=20001: give 0..20000 ns");
      return NULL;
    } else if (strcmp(c->options[i], "cap=3") == 0 && c->threads > 3) {
      snprintf(c->why, c->why_size, "cap=3: give at least %u", c->threads);
      return NULL;
    }
  return (struct pool *)1;
}
static void close_any(struct pool *pool) {
  (void)pool;
}

static const struct strategy_option lock_option[] = {
    {"lock", "pthread", "pthread|ticket", "which lock"},
    {"inject", "0", "0..20000 ns", "longer holds"},
    {NULL, NULL, NULL, NULL}};
static const struct strategy_option cap_option[] = {{"cap", "9", "1..9", "how many"},
                                                    {NULL, NULL, NULL, NULL}};

#define STRATEGY(id, text, bits, opts) \
  static const struct strategy id = {  \
      .name = text, .flags = bits, .options = opts, .open = open_any, .close = close_any}
STRATEGY(s_arena, "arena", STRATEGY_OBJECTS_DIE_WITH_SCOPE, NULL);
STRATEGY(s_locked, "global-locked", STRATEGY_ONE_LOCK, lock_option);
STRATEGY(s_malloc, "malloc", STRATEGY_NEVER_HITS, NULL);
STRATEGY(s_null, "null", STRATEGY_ONE_OBJECT, NULL);
STRATEGY(s_owned, "owned", STRATEGY_NEEDS_OWNER, NULL);
STRATEGY(s_thread, "per-thread", 0, cap_option);
STRATEGY(s_freelists, "pooled-freelists", 0, NULL);
/* Goes by the name sync-pool in the presets' tests alone: the others count four by default. */
static struct strategy s_preset = {.name = "for-presets", .open = open_any, .close = close_any};
const struct strategy *const strategies[] = {&s_arena,  &s_locked,    &s_malloc, &s_null, &s_owned,
                                             &s_thread, &s_freelists, &s_preset, NULL};

#define US 1000.0
static const struct workload_case compare_cases[] = {
    {.name = "Compare/Pod/structured",
     .flags = CASE_OUTLIVES_SCOPE,
     .disciplines = DISCIPLINE_ALL,
     .in_sweep = true,
     .op_hint_ns = 40 * US},
    {.name = "Compare/Pod/unstructured", .disciplines = DISCIPLINE_ALL, .op_hint_ns = 60 * US},
    {.name = "Compare/Node/structured",
     .disciplines = DISCIPLINE_ALL,
     .in_sweep = true,
     .op_hint_ns = 80 * US},
    {.name = "Compare/Node/unstructured", .disciplines = DISCIPLINE_ALL, .op_hint_ns = 100 * US},
    {.name = "Compare/Endpoints/structured",
     .disciplines = DISCIPLINE_ALL,
     .in_sweep = true,
     .op_hint_ns = 700 * US},
    {.name = "Compare/Endpoints/unstructured",
     .disciplines = DISCIPLINE_ALL,
     .op_hint_ns = 1500 * US},
    {.name = NULL}};
static const struct workload_case micro_cases[] = {
    {.name = "Micro/pair/64B",
     .flags = CASE_NULL_RUNS,
     .disciplines = DISCIPLINE_BIT(DISCIPLINE_BALANCED),
     .in_sweep = true,
     .op_hint_ns = 10},
    {.name = "Micro/handoff",
     .own_threads = 2,
     .disciplines = DISCIPLINE_BIT(DISCIPLINE_BALANCED),
     .min_threads = 2,
     .op_hint_ns = 50},
    {.name = "Micro/hidden", .flags = CASE_HIDDEN, .disciplines = DISCIPLINE_ALL, .op_hint_ns = 1},
    {.name = "Micro/alone",
     .flags = CASE_ONE_STRATEGY,
     .disciplines = DISCIPLINE_ALL,
     .op_hint_ns = 1},
    {.name = "Micro/few",
     .flags = CASE_FEWER_THREADS,
     .max_threads = 4,
     .disciplines = DISCIPLINE_ALL,
     .op_hint_ns = 1},
    {.name = "Micro/burst",
     .flags = CASE_SERIES | CASE_HAS_OWNER,
     .disciplines = DISCIPLINE_ALL,
     .op_hint_ns = 2e9},
    {.name = NULL}};

static int object_cases(const char *file, struct workload_case *out, size_t room, char *why,
                        size_t why_size) {
  if (strcmp(file, "bad.json") == 0) {
    snprintf(why, why_size, "bad.json:3: '}' expected");
    return -1;
  }
  assert_true(room >= 1);
  out[0] = compare_cases[0];
  out[0].name = "Compare/Pod:web/structured";
  out[0].open_hint_ns = strcmp(file, "large.json") == 0 ? 2e9 : 0;
  return 1;
}

static const struct workload w_compare = {
    .name = "compare", .cases = compare_cases, .object_cases = object_cases};
static const struct strategy_option micro_options[] = {
    {"objects", "1000", "1..1000000", "how many"},
    {"idle", "5", "0..3600", "seconds"},
    {NULL, NULL, NULL, NULL}};

/* Opens what the settings allow; counts what is open. */
static int opened;
static unsigned opened_with;
static bool micro_open(const struct workload_setup *setup, struct workload_state **state) {
  if (setup->options && strstr(setup->options, "objects=999")) {
    snprintf(setup->why, setup->why_size, "999 objects need 9 GiB");
    return false;
  }
  if (setup->options && strstr(setup->options, "objects=998")) {
    snprintf(setup->why, setup->why_size, "objects=998: want fewer");
    return false;
  }
  opened++;
  opened_with = setup->threads;
  *state = (struct workload_state *)&opened;
  return true;
}
static void micro_close(struct workload_state *state) {
  assert_ptr_equal(state, &opened);
  opened--;
}
static const struct workload w_micro = {.name = "micro",
                                        .cases = micro_cases,
                                        .options = micro_options,
                                        .quick_options = "objects=100",
                                        .open = micro_open,
                                        .close = micro_close};
static const struct workload_case checks_cases[] = {
    {.name = "Checks/crash", .flags = CASE_HIDDEN, .disciplines = DISCIPLINE_ALL, .op_hint_ns = 1},
    {.name = NULL}};
static const struct workload w_checks = {.name = "checks", .cases = checks_cases};
const struct workload *const workloads[] = {&w_compare, &w_micro, &w_checks, NULL};

/* --- helpers ----------------------------------------------------------------------------- */

struct fixture {
  struct options options;
  struct allocators allocators;
  struct plan plan;
  char words[400];
};

static bool try_plan(struct fixture *f, const char *line, unsigned cpus, struct error *e) {
  char *argv[24] = {"run"};
  int argc = 1;
  struct plan_machine machine = {.cpus = cpus};
  memset(e, 0, sizeof *e);
  snprintf(f->words, sizeof f->words, "%s", line);
  for (char *word = strtok(f->words, " "); word && argc < 23; word = strtok(NULL, " "))
    argv[argc++] = word;
  if (!options_parse(argc, argv, &f->options, e))
    fail_msg("%s: %s", line, e->text);
  assert_true(allocators_find(&f->allocators, NULL, NULL, e));
  if (plan_build(&f->plan, &f->options, &f->allocators, &machine, e))
    return true;
  allocators_free(&f->allocators);
  return false;
}

static void plan(struct fixture *f, const char *line, unsigned cpus) {
  struct error e;
  if (!try_plan(f, line, cpus, &e))
    fail_msg("%s: %s", line, e.text);
}

static void done(struct fixture *f) {
  plan_free(&f->plan);
  allocators_free(&f->allocators);
}

static void refuses(const char *line, enum exit_status status, ...) {
  struct fixture f;
  struct error e;
  if (try_plan(&f, line, 2, &e))
    fail_msg("%s: was planned", line);
  assert_int_equal(e.status, status);
  va_list words;
  va_start(words, status);
  for (const char *word; (word = va_arg(words, const char *)) != NULL;)
    if (!strstr(e.text, word))
      fail_msg("%s: \"%s\" is not in: %s", line, word, e.text);
  va_end(words);
}

static size_t cells_at(const struct plan *p, unsigned threads) {
  size_t n = 0;
  for (size_t i = 0; i < p->cell_count; i++)
    n += p->cells[i].threads == threads && p->cells[i].rounds > 0;
  return n;
}

static const struct plan_cell *cell(const struct plan *p, const char *name) {
  for (size_t i = 0; i < p->cell_count; i++)
    if (strcmp(p->cells[i].name, name) == 0)
      return &p->cells[i];
  fail_msg("there is no cell %s", name);
  return NULL;
}

static bool notes(const struct plan *p, const char *words) {
  for (size_t i = 0; i < p->note_count; i++)
    if (strstr(p->notes[i], words))
      return true;
  return false;
}

static bool skips(const struct plan *p, const char *name, const char *arm, const char *word) {
  for (size_t i = 0; i < p->skip_count; i++)
    if (strcmp(p->skips[i].case_name, name) == 0 && strcmp(p->skips[i].arm, arm) == 0)
      return strstr(p->skips[i].why, word) != NULL;
  return false;
}

static void a_strategy_that_stands_there_twice_is_refused(void **state) {
  (void)state;
  struct fixture f;
  refuses("--strategies malloc,malloc", EXIT_USAGE, "--strategies malloc,malloc",
          "malloc stands there twice", "--twin", NULL);
  refuses("--strategies per-thread,malloc,per-thread+balanced", EXIT_USAGE,
          "per-thread+balanced stands there twice", NULL);
  plan(&f, "--strategies malloc,malloc+leaky", 2);
  assert_int_equal(f.plan.arm_count, 2);
  done(&f);
}

/* Twenty times what is expected; 8 s at least. */
static void opening_a_large_object_counts_as_time(void **state) {
  (void)state;
  static const char *const lines[] = {"--cpus 2 --strategies malloc --object web.json",
                                      "--cpus 2 --strategies malloc --object large.json"};
  uint64_t expected[2], limit[2];
  for (size_t i = 0; i < 2; i++) {
    struct fixture f;
    plan(&f, lines[i], 2);
    const struct plan_cell *c =
        cell(&f.plan, "BenchmarkCompare/Pod:web/structured/strategy=malloc-2");
    expected[i] = c->expected;
    limit[i] = c->limit;
    done(&f);
  }
  assert_int_equal(expected[1] - expected[0], 2000 * UINT64_C(1000000));
  assert_int_equal(limit[0], UINT64_C(8000000000));
  assert_int_equal(limit[1], 20 * expected[1]);
}

static void a_longer_window_is_said_where_it_is_true(void **state) {
  (void)state;
  static const struct {
    const char *line, *note;
  } lines[] = {
      {"--cpus 1,2 --window 2ms", "window of 15 ms instead of 2: at least 4 turns"},
      {"--cpus 1,8 --window 2ms", "window of up to 60 ms instead of 2: at least 4 turns"},
      {"--cpus 1,8 --window 20ms", "60 ms instead of 20 where threads share CPUs: at least"}};
  for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
    struct fixture f;
    plan(&f, lines[i].line, 2);
    if (!notes(&f.plan, lines[i].note))
      fail_msg("%s: %s", lines[i].line, f.plan.note_count ? f.plan.notes[0] : "no note");
    done(&f);
  }
}

/* Below some budget --quick gives the series up, and the notes on its settings with it. */
static void settings_of_a_series_are_noted_where_it_is_measured(void **state) {
  (void)state;
  bool seen[2] = {false, false};
  for (int seconds = 1; seconds <= 34; seconds += 3) {
    struct fixture f;
    char line[100];
    snprintf(line, sizeof line, "--cpus 2 --suite micro --quick --budget %ds", seconds);
    plan(&f, line, 2);
    bool measured = cell(&f.plan, "BenchmarkMicro/burst/strategy=malloc-2")->rounds > 0;
    seen[measured] = true;
    assert_int_equal(notes(&f.plan, "1 s of idling"), measured);
    assert_int_equal(notes(&f.plan, "with objects=100 (--set objects=1000"), measured);
    done(&f);
  }
  assert_true(seen[false] && seen[true]);
}

static void a_quick_run_that_gives_up_rounds_says_what_is_left(void **state) {
  (void)state;
  struct fixture f;
  plan(&f, "--cpus 2 --quick --strategies malloc,per-thread --cases Compare/Pod/structured", 2);
  assert_true(notes(&f.plan, "quick: 7 samples a side, so p is 0.00058 at best"));
  size_t before = f.plan.note_count;
  plan_shorten(&f.plan, 4, UINT64_C(3600) * 1000000000);
  assert_int_equal(f.plan.rounds, 4);
  assert_int_equal(f.plan.note_count, before + 1);
  assert_true(notes(&f.plan, "quick: 4 rounds: samples took longer"));
  assert_true(notes(&f.plan, "quick: 4 samples a side, so p is 0.029 at best"));
  assert_false(notes(&f.plan, "7 samples a side"));
  done(&f);
}

static void one_build_alone_is_noted(void **state) {
  (void)state;
  struct fixture f;
  plan(&f, "--strategies malloc --arm x=/bin/true", 2);
  assert_true(notes(&f.plan, "build x alone is measured"));
  done(&f);
  plan(&f, "--strategies malloc --arm x=/bin/true --arm y=/bin/true", 2);
  assert_false(notes(&f.plan, "alone"));
  done(&f);
}

/* --- what is measured -------------------------------------------------------------------- */

/* 6 cases x 4 strategies at 32; 3 structured cases x 4 at 1, 2, 4, 8, 16. */
static void the_default_is_the_compare_suite_with_a_sweep(void **state) {
  (void)state;
  struct fixture f;
  plan(&f, "--cpus 32", 2);
  assert_int_equal(cells_at(&f.plan, 32), 24);
  for (unsigned t = 1; t < 32; t *= 2)
    assert_int_equal(cells_at(&f.plan, t), 12);
  assert_int_equal(cells_at(&f.plan, 3), 0);
  assert_int_equal(f.plan.cell_count, 24 + 5 * 12);
  assert_string_equal(f.plan.cells[0].name, "BenchmarkCompare/Pod/structured/strategy=malloc-32");
  assert_true(f.plan.cells[0].arm->is_base);
  assert_int_equal(f.plan.cells[0].rounds, 10);
  assert_true(f.plan.cells[0].headline);
  const struct plan_cell *c = cell(&f.plan, "BenchmarkCompare/Pod/structured/strategy=malloc-4");
  assert_int_equal(c->rounds, 6);
  assert_false(c->headline);
  done(&f);
}

static void the_base_comes_first_whatever_is_listed(void **state) {
  (void)state;
  struct fixture f;
  plan(&f, "--cpus 2 --strategies per-thread,global-locked,malloc", 2);
  assert_string_equal(f.plan.arms[0].label, "malloc");
  assert_string_equal(f.plan.arms[1].label, "per-thread");
  done(&f);
  plan(&f, "--cpus 2 --strategies per-thread,malloc --base global-locked", 2);
  assert_int_equal(f.plan.arm_count, 3);
  assert_string_equal(f.plan.arms[0].label, "global-locked");
  done(&f);
  plan(&f, "--cpus 2 --strategies per-thread,global-locked", 2);
  assert_int_equal(f.plan.arm_count, 2);
  assert_string_equal(f.plan.arms[0].label, "per-thread");
  done(&f);
}

static void a_list_of_counts_measures_all_of_them_alike(void **state) {
  (void)state;
  struct fixture f;
  plan(&f, "--cpus 1,8,2 --strategies malloc", 2);
  assert_int_equal(f.plan.headline, 8);
  assert_int_equal(cells_at(&f.plan, 1), 6);
  assert_int_equal(cells_at(&f.plan, 2), 6);
  assert_int_equal(cells_at(&f.plan, 8), 6);
  assert_int_equal(cell(&f.plan, "BenchmarkCompare/Pod/unstructured/strategy=malloc-1")->rounds,
                   10);
  done(&f);
}

static void without_counts_all_cpus_are_used(void **state) {
  (void)state;
  struct fixture f;
  plan(&f, "--strategies malloc", 6);
  assert_int_equal(f.plan.headline, 6);
  assert_int_equal(cells_at(&f.plan, 4), 3);
  done(&f);
}

static void no_sweep_when_not_wanted_or_not_possible(void **state) {
  (void)state;
  struct fixture f;
  plan(&f, "--cpus 32 --sweep-rounds 0", 2);
  assert_int_equal(f.plan.cell_count, 24);
  done(&f);
  plan(&f, "--cpus 1", 2);
  assert_int_equal(f.plan.cell_count, 24);
  done(&f);
}

static void patterns_choose_cases_of_every_suite(void **state) {
  (void)state;
  struct fixture f;
  plan(&f, "--cpus 1 --strategies malloc --cases */Pod/*,Micro/pair/64B", 2);
  assert_int_equal(f.plan.case_count, 3);
  done(&f);
  plan(&f, "--cpus 1 --strategies malloc --cases Micro/*", 2);
  assert_int_equal(f.plan.case_count, 5); /* not the hidden one */
  done(&f);
  plan(&f, "--cpus 1 --strategies malloc --cases Micro/hidden", 2);
  assert_int_equal(f.plan.case_count, 1);
  done(&f);
}

/* Whether a value suits the threads is the strategy's to say, for all that a case attaches. */
static void a_value_that_does_not_suit_the_threads_is_refused(void **state) {
  (void)state;
  struct fixture f;
  refuses("--cpus 4 --strategies malloc,per-thread:cap=3", EXIT_USAGE,
          "per-thread:cap=3 cannot run", "Compare/Pod/structured",
          "4 threads at --cpus 4: cap=3: give at least 4", NULL);
  refuses("--cpus 2 --strategies per-thread:cap=3 --cases Micro/pair/64B,Micro/handoff", EXIT_USAGE,
          "Micro/handoff, which has 4 threads at --cpus 2", NULL);
  plan(&f, "--cpus 2 --strategies per-thread:cap=3 --cases Micro/pair/64B", 2);
  done(&f);
  plan(&f, "--cpus 1,3 --strategies per-thread:cap=3", 2);
  done(&f);
}

static void what_cannot_run_is_skipped_by_name(void **state) {
  (void)state;
  struct fixture f;
  plan(&f, "--cpus 1 --suite micro --strategies malloc,null,owned,per-thread+leaky,arena", 2);
  assert_true(skips(&f.plan, "Micro/handoff", "null", "several objects"));
  assert_true(skips(&f.plan, "Micro/pair/64B", "owned", "owner"));
  assert_true(skips(&f.plan, "Micro/pair/64B", "per-thread", "leaky"));
  assert_true(skips(&f.plan, "Micro/handoff", "malloc", "threads"));
  cell(&f.plan, "BenchmarkMicro/pair/64B/strategy=null-1");
  done(&f);
  plan(&f, "--cpus 1 --strategies arena,malloc", 2);
  assert_true(skips(&f.plan, "Compare/Pod/structured", "arena", "outlive"));
  done(&f);
}

static void a_case_of_one_strategy_runs_under_the_base_alone(void **state) {
  (void)state;
  struct fixture f;
  plan(&f, "--cpus 1 --cases Micro/alone --strategies malloc,per-thread", 2);
  assert_int_equal(f.plan.cell_count, 1);
  assert_string_equal(f.plan.cells[0].name, "BenchmarkMicro/alone/strategy=malloc-1");
  done(&f);
}

static void a_case_for_few_threads_keeps_its_name_and_a_small_team(void **state) {
  (void)state;
  struct fixture f;
  plan(&f, "--cpus 8 --cases Micro/few --strategies malloc --sweep-rounds 0", 2);
  assert_int_equal(f.plan.cell_count, 1);
  assert_int_equal(f.plan.cells[0].threads, 8);
  assert_int_equal(f.plan.cells[0].team, 4);
  assert_true(
      notes(&f.plan, "fewer threads than asked for, as many as the case can use: Micro/few 4"));
  done(&f);
}

static void settings_reach_the_series_that_know_them(void **state) {
  (void)state;
  struct fixture f;
  plan(&f, "--cpus 2 --suite micro --strategies malloc --set objects=5,objects=6", 2);
  const struct plan_cell *c = cell(&f.plan, "BenchmarkMicro/burst/strategy=malloc-2");
  assert_string_equal(c->row->options, "objects=5,objects=6");
  assert_int_equal(c->rounds, 3);
  assert_null(cell(&f.plan, "BenchmarkMicro/pair/64B/strategy=malloc-2")->row->options);
  done(&f);
  refuses("--suite micro --set objekts=5", EXIT_USAGE, "objekts=5", "poolbench list", NULL);
  refuses("--suite micro --set objects", EXIT_USAGE, "KEY=VALUE", NULL);
  refuses("--suite compare --set objects=5", EXIT_USAGE, "chosen case", NULL);
}

/* 28.2 ms for the process, the hint of 2 s for 1000 objects, and what it waits on purpose. */
static void a_series_takes_its_hint_and_its_idle_waits(void **state) {
  (void)state;
  static const struct {
    const char *line;
    uint64_t ms;
  } lines[] = {{"--cpus 2 --cases Micro/burst", 7000},
               {"--cpus 2 --cases Micro/burst --set idle=20", 22000},
               {"--cpus 2 --cases Micro/burst --set objects=3,idle=60,idle=0", 6},
               {"--cpus 2 --cases Micro/burst --set objects=3000", 11000},
               {"--cpus 2 --cases Micro/burst --quick", 1200},
               {"--cpus 2 --cases Micro/burst --quick --set objects=1000", 3000},
               {"--cpus 2 --suite all", 3000},
               {"--cpus 2 --suite all --set idle=4", 6000}};
  for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
    struct fixture f;
    plan(&f, lines[i].line, 2);
    uint64_t expected = cell(&f.plan, "BenchmarkMicro/burst/strategy=malloc-2")->expected;
    assert_in_range(expected, 28199000 + lines[i].ms * 1000000, 28201000 + lines[i].ms * 1000000);
    done(&f);
  }
}

/* Names do not tell that a series was smaller, so the options and a note do. */
static void a_quick_series_is_smaller_and_says_so(void **state) {
  (void)state;
  struct fixture f;
  plan(&f, "--cpus 2 --quick --cases Micro/burst,Micro/pair/64B", 2);
  const struct plan_cell *c = cell(&f.plan, "BenchmarkMicro/burst/strategy=malloc-2");
  assert_string_equal(c->row->options, "idle=1,objects=100");
  assert_int_equal(c->rounds, 1);
  assert_true(notes(&f.plan, "objects=100 (--set objects=1000"));
  done(&f);
  plan(&f, "--cpus 2 --quick --cases Micro/burst --set idle=2,objects=50", 2);
  c = cell(&f.plan, "BenchmarkMicro/burst/strategy=malloc-2");
  assert_string_equal(c->row->options, "idle=2,objects=50");
  assert_false(notes(&f.plan, "objects="));
  done(&f);
  plan(&f, "--cpus 2 --cases Micro/burst", 2);
  assert_null(cell(&f.plan, "BenchmarkMicro/burst/strategy=malloc-2")->row->options);
  done(&f);
}

static void memory_is_watched_at_the_headline_only(void **state) {
  (void)state;
  struct fixture f;
  plan(&f, "--cpus 1,2,4 --suite micro --strategies malloc --budget none", 2);
  size_t series = 0;
  for (size_t i = 0; i < f.plan.cell_count; i++)
    series += (f.plan.cells[i].row->info->flags & CASE_SERIES) != 0;
  assert_int_equal(series, 1);
  assert_true(cell(&f.plan, "BenchmarkMicro/burst/strategy=malloc-4")->headline);
  done(&f);
}

static void owned_joins_where_a_case_has_owners(void **state) {
  (void)state;
  struct fixture f;
  plan(&f, "--cpus 2 --cases Micro/burst", 2);
  cell(&f.plan, "BenchmarkMicro/burst/strategy=owned-2");
  done(&f);
  plan(&f, "--cpus 2 --cases Micro/pair/64B", 2);
  for (size_t i = 0; i < f.plan.arm_count; i++)
    assert_string_not_equal(f.plan.arms[i].label, "owned");
  done(&f);
}

/* In names and notes only when asked for; series trim by themselves. */
static void a_pace_of_trims_stands_in_names(void **state) {
  (void)state;
  struct fixture f;
  plan(&f, "--cpus 2 --suite all --strategies malloc,per-thread+leaky --trim 10ms", 2);
  cell(&f.plan, "BenchmarkCompare/Pod/structured/strategy=malloc/trim=10ms-2");
  const struct plan_cell *c = cell(
      &f.plan, "BenchmarkCompare/Pod/structured/strategy=per-thread/discipline=leaky/trim=10ms-2");
  assert_string_equal(c->pair_name, "BenchmarkCompare/Pod/structured-2");
  cell(&f.plan, "BenchmarkMicro/burst/strategy=malloc-2");
  assert_non_null(strstr(f.plan.notes[0], "every 10ms"));
  done(&f);
}

/* What cannot be opened is refused before anything is measured; what can leaves nothing open. */
static void heavy_cases_are_rehearsed_with_the_most_threads(void **state) {
  (void)state;
  struct fixture f;
  struct error e = {0};
  opened = 0;
  plan(&f, "--cpus 1,8,4 --cases Micro/burst,Micro/few", 2);
  assert_true(plan_rehearse(&f.plan, &e));
  assert_int_equal(opened, 0);
  assert_int_equal(opened_with, 8);
  done(&f);
  plan(&f, "--cpus 2 --cases Micro/burst --set objects=998", 2);
  assert_false(plan_rehearse(&f.plan, &e));
  assert_string_equal(e.text, "--set: Micro/burst: objects=998: want fewer");
  done(&f);
  plan(&f, "--cpus 2 --cases Micro/burst --set objects=999", 2);
  assert_false(plan_rehearse(&f.plan, &e));
  assert_int_equal(e.status, EXIT_USAGE);
  assert_string_equal(e.text, "Micro/burst: 999 objects need 9 GiB");
  done(&f);
}

static void names_carry_what_differs(void **state) {
  (void)state;
  struct fixture f;
  plan(&f,
       "--cpus 2 --sweep-rounds 0 --cases Compare/Pod/structured --strategies "
       "malloc,global-locked:lock=ticket,per-thread+leaky",
       2);
  cell(&f.plan, "BenchmarkCompare/Pod/structured/strategy=malloc-2");
  cell(&f.plan, "BenchmarkCompare/Pod/structured/strategy=global-locked:lock=ticket-2");
  const struct plan_cell *c =
      cell(&f.plan, "BenchmarkCompare/Pod/structured/strategy=per-thread/discipline=leaky-2");
  assert_string_equal(c->arm->spec, "per-thread");
  assert_string_equal(c->pair_name, "BenchmarkCompare/Pod/structured-2");
  done(&f);
  plan(&f,
       "--cpus 2 --sweep-rounds 0 --cases Compare/Pod/structured --strategies malloc "
       "--discipline as-merged --arm old=/x --arm new=/y",
       2);
  assert_int_equal(f.plan.cell_count, 2);
  assert_string_equal(f.plan.cells[0].name, "BenchmarkCompare/Pod/structured/strategy=malloc/"
                                            "discipline=as-merged/build=old-2");
  assert_string_equal(f.plan.cells[1].build->path, "/y");
  done(&f);
}

static void a_twin_is_the_base_under_another_name(void **state) {
  (void)state;
  struct fixture f;
  plan(&f, "--cpus 2 --twin --strategies per-thread,malloc", 2);
  assert_int_equal(f.plan.arm_count, 3);
  assert_string_equal(f.plan.arms[0].label, "malloc");
  assert_string_equal(f.plan.arms[1].label, "malloc:twin");
  assert_string_equal(f.plan.arms[1].spec, "malloc");
  assert_string_equal(f.plan.arms[2].label, "per-thread");
  cell(&f.plan, "BenchmarkCompare/Pod/structured/strategy=malloc:twin-2");
  done(&f);
}

static void objects_make_cases_of_their_own(void **state) {
  (void)state;
  struct fixture f;
  plan(&f, "--cpus 2 --object web.json --strategies malloc --sweep-rounds 0", 2);
  assert_int_equal(f.plan.case_count, 7);
  const struct plan_cell *c =
      cell(&f.plan, "BenchmarkCompare/Pod:web/structured/strategy=malloc-2");
  assert_string_equal(c->row->object, "web.json");
  done(&f);
  refuses("--object bad.json", EXIT_INPUT, "--object: bad.json:3", NULL);
  refuses("--object a.json --object b.json", EXIT_USAGE, "b.json", "rename", NULL);
  refuses("--suite micro --object a.json", EXIT_USAGE, "takes no objects", NULL);
}

static int with_sync_pool(void **state) {
  (void)state;
  s_preset.name = "sync-pool";
  return 0;
}

static int without_sync_pool(void **state) {
  (void)state;
  s_preset.name = "for-presets";
  return 0;
}

static void a_preset_has_its_columns_in_order(void **state) {
  (void)state;
  static const char *const columns[] = {"sync-pool", "sync-pool", "pooled-freelists", "malloc"};
  struct fixture f;
  plan(&f, "--preset k8s-freelists", 2);
  assert_int_equal(f.plan.arm_count, 4);
  for (int i = 0; i < 4; i++)
    assert_string_equal(f.plan.arms[i].label, columns[i]);
  assert_int_equal(f.plan.headline, 32);
  assert_int_equal(f.plan.sweep_rounds, 0);
  assert_ptr_equal(f.plan.preset_old, &f.plan.arms[0]);
  assert_int_equal(f.plan.preset_old->discipline, DISCIPLINE_LEAKY);
  assert_string_equal(f.plan.preset_new->label, "pooled-freelists");
  assert_int_equal(f.plan.preset_new->discipline, DISCIPLINE_AS_MERGED);
  done(&f);
  plan(&f, "--preset k8s-freelists --twin", 2);
  assert_string_equal(f.plan.arms[1].label, "sync-pool:twin");
  assert_ptr_equal(f.plan.preset_new, &f.plan.arms[3]);
  done(&f);
  refuses("--preset nats-timers", EXIT_USAGE, "the suite has no cases", NULL);
  refuses("--preset k8s-freelist", EXIT_USAGE, "did you mean k8s-freelists", NULL);
}

static void unknown_words_name_the_nearest(void **state) {
  (void)state;
  refuses("--suite comparee", EXIT_USAGE, "did you mean compare", NULL);
  refuses("--cases Compare/Pod/structurd", EXIT_USAGE, "did you mean Compare/Pod/structured", NULL);
  refuses("--suite micro --cases Compare/*", EXIT_USAGE, "no case of suite micro", NULL);
  refuses("--strategies maloc", EXIT_USAGE, "--strategies", "malloc", NULL);
  refuses("--strategies malloc,,null", EXIT_USAGE, "empty element", NULL);
  refuses("--strategies malloc+leeky", EXIT_USAGE, "unknown discipline \"leeky\"", NULL);
  refuses("--strategies global-locked:lck=x", EXIT_USAGE, "lck", NULL);
  refuses("--strategies global-locked:lock=bad", EXIT_USAGE, "pthread and ticket", NULL);
  refuses("--base maloc", EXIT_USAGE, "--base", "malloc", NULL);
  refuses("--strategies owned", EXIT_USAGE, "nothing to run", "owner", NULL);
  refuses("--cpus 1 --cases Micro/handoff", EXIT_USAGE, "needs at least 2 threads", NULL);
}

/* --- delays planted under a lock --------------------------------------------------------- */

static void assert_arms(const struct plan *p, const char *labels) {
  char text[400] = "";
  for (size_t i = 0; i < p->arm_count; i++) {
    size_t used = strlen(text);
    snprintf(text + used, sizeof text - used, "%s%s%s", i ? " " : "", p->arms[i].label,
             p->arms[i].discipline == DISCIPLINE_LEAKY ? "+leaky" : "");
  }
  assert_string_equal(text, labels);
}

static void suites_without_a_case_to_offer_are_not_named(void **state) {
  (void)state;
  struct fixture f;
  struct error e;
  assert_false(try_plan(&f, "--suite chceks", 2, &e));
  assert_non_null(strstr(e.text, "there are compare, micro, all"));
  assert_null(strstr(e.text, "checks"));
}

static void planted_delays_are_arms_beside_their_strategy(void **state) {
  (void)state;
  static const struct {
    const char *line, *arms;
  } cases[] = {
      {"--strategies malloc --inject global-locked=500",
       "malloc global-locked global-locked:inject=500"},
      {"--strategies malloc,global-locked --inject global-locked=1,20000",
       "malloc global-locked global-locked:inject=1 global-locked:inject=20000"},
      /* The same delay twice is one arm. */
      {"--strategies malloc --inject global-locked=100,100",
       "malloc global-locked global-locked:inject=100"},
      /* Options and a discipline go with both. */
      {"--strategies malloc --inject global-locked:lock=ticket=7",
       "malloc global-locked:lock=ticket global-locked:lock=ticket:inject=7"},
      {"--strategies malloc --inject global-locked+leaky=7",
       "malloc global-locked+leaky global-locked:inject=7+leaky"},
      /* Without a list the default strategies stay. */
      {"--inject global-locked=5",
       "malloc global-locked per-thread pooled-freelists global-locked:inject=5"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct fixture f;
    plan(&f, cases[i].line, 2);
    assert_arms(&f.plan, cases[i].arms);
    done(&f);
  }
  struct fixture f;
  plan(&f, "--cpus 1,2 --strategies malloc --inject global-locked=500", 2);
  cell(&f.plan, "BenchmarkCompare/Pod/structured/strategy=global-locked:inject=500-1");
  cell(&f.plan, "BenchmarkCompare/Pod/structured/strategy=global-locked:inject=500-2");
  done(&f);
}

static void wrong_delays_say_what_would_be_right(void **state) {
  (void)state;
  refuses("--inject globl-locked=5", EXIT_USAGE, "--inject: ", "global-locked", NULL);
  refuses("--inject malloc=5", EXIT_USAGE, "--inject malloc=5: malloc has no lock",
          "there are global-locked", NULL);
  refuses("--inject per-thread:cap=3=5", EXIT_USAGE, "per-thread has no lock", NULL);
  refuses("--inject global-locked=0", EXIT_USAGE, "\"0\" is no delay; whole ns above 0", NULL);
  refuses("--inject global-locked=00", EXIT_USAGE, "\"00\" is no delay", NULL);
  refuses("--inject global-locked=-5", EXIT_USAGE, "\"-5\" is no delay", NULL);
  refuses("--inject global-locked=5,x", EXIT_USAGE, "\"x\" is no delay", NULL);
  refuses("--inject global-locked=1e3", EXIT_USAGE, "\"1e3\" is no delay", NULL);
  refuses("--inject global-locked=5,,6", EXIT_USAGE, "\"\" is no delay", NULL);
  refuses("--inject global-locked=20001", EXIT_USAGE, "--inject: global-locked:inject=20001",
          "0..20000 ns", NULL);
  refuses("--inject global-locked", EXIT_USAGE, "as in --inject global-locked=500", NULL);
  refuses("--inject =5", EXIT_USAGE, "as in --inject global-locked=500", NULL);
  refuses("--inject global-locked+leeky=5", EXIT_USAGE, "unknown discipline \"leeky\"", NULL);
}

/* --- time -------------------------------------------------------------------------------- */

/* 32 threads on 2 CPUs: 16 a CPU, 3.75 ms each, are 60 ms; four of them 240. */
static void windows_hold_four_rotations(void **state) {
  (void)state;
  struct fixture f;
  assert_int_equal(plan_rotation(32, 2), 60000000);
  assert_int_equal(plan_rotation(33, 2), 63750000);
  plan(&f, "--cpus 32", 2);
  assert_int_equal(f.plan.cells[0].window, 240000000);
  assert_int_equal(cell(&f.plan, "BenchmarkCompare/Pod/structured/strategy=malloc-8")->window,
                   200000000);
  done(&f);
  plan(&f, "--cpus 32 --window 50ms", 2);
  assert_int_equal(f.plan.cells[0].window, 240000000);
  assert_non_null(strstr(f.plan.notes[0], "240 ms instead of 50"));
  assert_int_equal(cell(&f.plan, "BenchmarkCompare/Pod/structured/strategy=malloc-2")->window,
                   50000000);
  done(&f);
}

/* 8 s at least; a series is expected to take 10 s. */
static void limits_leave_room_for_a_busy_host(void **state) {
  (void)state;
  struct fixture f;
  plan(&f, "--cpus 2 --suite all --strategies malloc --budget none", 2);
  for (size_t i = 0; i < f.plan.cell_count; i++)
    assert_true(f.plan.cells[i].limit >= UINT64_C(8000000000) &&
                f.plan.cells[i].limit >= 20 * f.plan.cells[i].expected);
  /* However short it should be: objects may be made more and larger. */
  assert_true(cell(&f.plan, "BenchmarkMicro/burst/strategy=malloc-2")->limit ==
              UINT64_C(100000000000));
  done(&f);
}

static void a_default_run_fits_five_minutes(void **state) {
  (void)state;
  struct fixture f;
  plan(&f, "--cpus 32", 2);
  assert_true(plan_expected(&f.plan, 0) < UINT64_C(300) * 1000000000);
  assert_int_equal(f.plan.note_count, 0);
  done(&f);
}

/*
 * By hand, from what docs/method.md says a sample is. 32 threads on 2 CPUs rotate in 60 ms and have
 * a window of 240 ms: 28 ms + 32 x 0.1 ms of process, 1.3 rotations of warm-up, the window. An op
 * of 700 us behind one lock takes eight times as long, 5.6 ms of CPU or 2.8 ms of the team: 100
 * ops a CPU are 560 ms; two ops a thread to warm up are 179.2 ms, and one a thread for the shared
 * lines 89.6 ms, where others take 10 ms and a rotation; the table of lines is 30 ms.
 */
static void a_sample_is_expected_to_take_what_its_steps_take(void **state) {
  (void)state;
  static const struct {
    const char *name;
    double ms, lines_ms;
  } cells[] = {
      {"BenchmarkCompare/Pod/structured/strategy=malloc-32", 31.2 + 78 + 240, 100},
      {"BenchmarkCompare/Endpoints/structured/strategy=global-locked-32", 31.2 + 179.2 + 560,
       119.6},
      {"BenchmarkCompare/Endpoints/structured/strategy=malloc-32", 31.2 + 78 + 240, 100},
      {"BenchmarkCompare/Endpoints/structured/strategy=global-locked-1", 28.1 + 32.5 + 200, 40},
      {"BenchmarkCompare/Pod/structured/strategy=malloc-2", 28.2 + 32.5 + 200, 40},
  };
  struct fixture f;
  plan(&f, "--cpus 32", 2);
  for (size_t i = 0; i < sizeof cells / sizeof cells[0]; i++) {
    const struct plan_cell *c = cell(&f.plan, cells[i].name);
    assert_in_range(c->expected, cells[i].ms * 1e6 - 3e6, cells[i].ms * 1e6 + 3e6);
    assert_in_range(c->lines, cells[i].lines_ms * 1e6 - 1e5, cells[i].lines_ms * 1e6 + 1e5);
    assert_true(plan_sample_time(c, 1) == c->expected + c->lines);
    assert_true(plan_sample_time(c, 2) == c->expected);
  }
  uint64_t rest = plan_expected(&f.plan, 1), lines = 0, once = 0;
  for (size_t i = 0; i < f.plan.cell_count; i++) {
    lines += f.plan.cells[i].lines;
    once += f.plan.cells[i].expected;
  }
  assert_true(plan_expected(&f.plan, 0) == rest + once + lines);
  done(&f);
}

/* 2 / C(2n, n) is 0.0286, 0.0079, 0.0022, 0.00058 for 4 to 7: times the rows below 0.05. */
static void deciding_takes_rounds_by_the_number_of_rows(void **state) {
  (void)state;
  static const struct {
    const char *line;
    unsigned rounds;
  } lines[] = {{"--cases Compare/Pod/structured --strategies malloc,per-thread", 4},
               {"--cases Compare/Pod/* --strategies malloc,per-thread", 5},
               {"--cases Compare/*/structured --strategies malloc,per-thread,global-locked", 5},
               {"--suite compare --strategies malloc,per-thread,global-locked", 6},
               {"--suite compare", 6},
               {"--cases Micro/burst", 4},
               {"--suite compare --strategies malloc", 4}};
  for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
    struct fixture f;
    char line[200];
    snprintf(line, sizeof line, "--cpus 2 %s", lines[i].line);
    plan(&f, line, 2);
    assert_int_equal(plan_deciding_rounds(&f.plan), lines[i].rounds);
    done(&f);
  }
}

static void a_quick_run_fits_forty_seconds_and_can_decide(void **state) {
  (void)state;
  static const char *const lines[] = {"--quick --cpus 2",
                                      "--quick --cpus 32",
                                      "--quick --cpus 1",
                                      "--quick --cpus 8",
                                      "--quick --suite all --cpus 2",
                                      "--quick --suite micro --cpus 32"};
  for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
    struct fixture f;
    plan(&f, lines[i], 2);
    assert_true(plan_expected(&f.plan, 0) <= UINT64_C(34) * 1000000000);
    assert_true(f.plan.rounds >= plan_deciding_rounds(&f.plan));
    assert_true(cells_at(&f.plan, f.plan.headline) >= 2 * f.plan.arm_count - 2);
    done(&f);
  }
}

/* The published table has six rows, and so has the replay: only rounds make way. */
static void a_quick_preset_keeps_its_rows(void **state) {
  (void)state;
  struct fixture f;
  plan(&f, "--quick --preset k8s-freelists", 2);
  assert_true(plan_expected(&f.plan, 0) <= UINT64_C(38) * 1000000000);
  assert_int_equal(cells_at(&f.plan, 32), 6 * 4);
  assert_true(f.plan.rounds >= 4 && f.plan.rounds < 7);
  done(&f);
}

/* Cases without curves go first, then the dearest; no strategy does, and no rounds. */
static void a_quick_run_gives_up_cases_before_rounds(void **state) {
  (void)state;
  struct fixture f;
  plan(&f, "--quick --cpus 32 --budget 30s", 2);
  assert_int_equal(cells_at(&f.plan, 32), 8);
  assert_int_equal(f.plan.rounds, 7);
  assert_int_equal(cell(&f.plan, "BenchmarkCompare/Pod/structured/strategy=malloc-32")->rounds, 7);
  assert_int_equal(
      cell(&f.plan, "BenchmarkCompare/Node/structured/strategy=global-locked-32")->rounds, 7);
  assert_true(notes(&f.plan, "Compare/Pod/unstructured"));
  assert_true(notes(&f.plan, "Compare/Endpoints/structured"));
  assert_true(notes(&f.plan, "not measured at 16, 8, 4, 2, 1 threads"));
  done(&f);
  plan(&f, "--quick --cpus 2 --budget 12s", 2);
  assert_true(notes(&f.plan, "not measured at 1 thread:"));
  done(&f);
  /* The dearest, not the last. */
  plan(&f, "--quick --cpus 32 --suite all --budget 36s", 2);
  assert_int_equal(cell(&f.plan, "BenchmarkMicro/pair/64B/strategy=malloc-32")->rounds, 7);
  assert_int_equal(cell(&f.plan, "BenchmarkCompare/Node/structured/strategy=malloc-32")->rounds, 7);
  assert_int_equal(
      cell(&f.plan, "BenchmarkCompare/Endpoints/structured/strategy=malloc-32")->rounds, 0);
  done(&f);
  /* Then rounds that decide (6 rows: 5), then the second case, then the other rounds. */
  static const struct {
    unsigned seconds;
    size_t cells;
    unsigned rounds;
  } budgets[] = {{19, 8, 6}, {12, 4, 5}, {3, 4, 4}};
  for (size_t i = 0; i < sizeof budgets / sizeof budgets[0]; i++) {
    char line[60];
    snprintf(line, sizeof line, "--quick --cpus 32 --budget %us", budgets[i].seconds);
    plan(&f, line, 2);
    assert_int_equal(cells_at(&f.plan, 32), budgets[i].cells);
    assert_int_equal(f.plan.rounds, budgets[i].rounds);
    done(&f);
  }
  plan(&f, "--quick --cpus 32 --budget 3s --rounds 9", 2);
  assert_int_equal(f.plan.rounds, 9);
  done(&f);
}

/* Half of the default's time: counts go first, from the top, then rounds that decide nothing more.
 */
static void a_small_budget_thins_the_sweep_first(void **state) {
  (void)state;
  struct fixture f;
  plan(&f, "--cpus 32 --budget 150s", 2);
  assert_true(plan_expected(&f.plan, 0) <= UINT64_C(150) * 1000000000);
  assert_int_equal(cells_at(&f.plan, 32), 24);
  assert_int_equal(f.plan.rounds, 10);
  assert_int_equal(cells_at(&f.plan, 16), 0);
  assert_int_equal(cells_at(&f.plan, 1), 12);
  assert_true(notes(&f.plan, "16"));
  done(&f);
  plan(&f, "--cpus 32 --budget 10s --rounds 10", 2);
  assert_int_equal(cells_at(&f.plan, 32), 24);
  assert_int_equal(f.plan.rounds, 10);
  assert_int_equal(f.plan.sweep_rounds, 0);
  assert_non_null(strstr(f.plan.notes[f.plan.note_count - 1], "takes longer than 10 s"));
  done(&f);
  plan(&f, "--cpus 32 --budget 80s", 2);
  assert_true(plan_expected(&f.plan, 0) <= UINT64_C(80) * 1000000000);
  assert_int_equal(cells_at(&f.plan, 32), 24);
  assert_in_range(f.plan.rounds, 6, 9);
  done(&f);
}

/*
 * 60 s of idling, three times for each of five strategies, are 15 minutes: two rounds, then one
 * make room; what the user wants to wait is not shortened. Without that wish it is, in the end.
 */
static void memory_over_time_gives_up_rounds_after_the_sweep(void **state) {
  (void)state;
  static const struct {
    const char *line;
    unsigned rounds;
    const char *note;
  } lines[] = {
      {"--cpus 2 --cases Micro/burst,Micro/pair/64B --set idle=60 --budget 16m", 3, NULL},
      {"--cpus 2 --cases Micro/burst,Micro/pair/64B --set idle=60 --budget 12m", 2, "in 2 rounds"},
      {"--cpus 2 --cases Micro/burst,Micro/pair/64B --set idle=60 --budget 6m", 1, "in 1 round "},
      {"--cpus 2 --cases Micro/burst,Micro/pair/64B --set idle=60", 1, "takes longer than 280 s"},
      {"--cpus 2 --cases Micro/burst,Micro/pair/64B --budget 25s", 1, "1 s of idling"}};
  for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
    struct fixture f;
    plan(&f, lines[i].line, 2);
    assert_int_equal(cell(&f.plan, "BenchmarkMicro/burst/strategy=owned-2")->rounds,
                     lines[i].rounds);
    if (lines[i].note && !notes(&f.plan, lines[i].note))
      fail_msg("%s: no note has \"%s\"", lines[i].line, lines[i].note);
    done(&f);
  }
}

/* Suite all gives up rounds as well, never below five; not those that were asked for. */
static void suite_all_gives_up_rounds_to_fit(void **state) {
  (void)state;
  struct fixture f;
  plan(&f, "--cpus 32 --suite all", 2);
  assert_int_equal(f.plan.rounds, 10);
  assert_true(plan_expected(&f.plan, 0) <= UINT64_C(560) * 1000000000);
  done(&f);
  plan(&f, "--cpus 32 --suite all --sweep-rounds 0 --budget none", 2);
  uint64_t whole = plan_expected(&f.plan, 0);
  done(&f);
  char line[100];
  snprintf(line, sizeof line, "--cpus 32 --suite all --budget %llus",
           (unsigned long long)(whole / 1000000000 * 8 / 10));
  plan(&f, line, 2);
  assert_in_range(f.plan.rounds, 7, 9); /* 33 rows: seven can decide them */
  assert_true(plan_expected(&f.plan, 0) <= f.plan.budget);
  assert_int_equal(cell(&f.plan, "BenchmarkMicro/burst/strategy=malloc-32")->rounds, 2);
  assert_true(notes(&f.plan, "rounds instead of 10"));
  done(&f);
  plan(&f, "--cpus 32 --suite all --budget 9s", 2);
  assert_int_equal(f.plan.rounds, 5);
  done(&f);
  plan(&f, "--cpus 32 --suite all --budget 9s --rounds 8", 2);
  assert_int_equal(f.plan.rounds, 8);
  done(&f);
}

/*
 * At a measured pace. Rounds of a plan without a sweep and without series take the same time, T;
 * after four of them that took s x T each the whole takes rounds x s x T.
 */
static void rounds_give_way_to_slow_samples(void **state) {
  (void)state;
  static const struct {
    const char *line;
    double pace; /* of the first four rounds, times what makes the plan just fit */
    unsigned rounds;
  } runs[] = {{"--cpus 2 --suite all --strategies malloc --sweep-rounds 0", 0.99, 10},
              {"--cpus 2 --suite all --strategies malloc --sweep-rounds 0", 1.24, 8},
              {"--cpus 2 --suite all --strategies malloc --sweep-rounds 0", 9, 5},
              {"--cpus 2 --suite all --strategies malloc --sweep-rounds 0 --rounds 10", 9, 10},
              {"--cpus 2 --suite compare --strategies malloc --sweep-rounds 0", 9, 5},
              {"--cpus 2 --suite compare --sweep-rounds 0", 9, 6}};
  for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++) {
    struct fixture f;
    plan(&f, runs[i].line, 2);
    assert_int_equal(f.plan.rounds, 10);
    for (size_t k = 0; k < f.plan.cell_count; k++) {
      f.plan.cells[k].lines = 0;
      if (f.plan.cells[k].row->info->flags & CASE_SERIES)
        f.plan.cells[k].rounds = 0;
    }
    size_t noted = f.plan.note_count;
    plan_shorten(&f.plan, 3, UINT64_MAX / 2); /* too early to judge */
    assert_int_equal(f.plan.rounds, 10);
    plan_shorten(&f.plan, 4, (uint64_t)(runs[i].pace * (double)f.plan.latest / 10 * 4));
    assert_int_equal(f.plan.rounds, runs[i].rounds);
    assert_int_equal(f.plan.note_count, noted + (runs[i].rounds < 10));
    done(&f);
  }
}

static void what_was_asked_for_is_not_thinned(void **state) {
  (void)state;
  struct fixture f;
  plan(&f, "--cpus 1,2,32 --budget 10s", 2);
  assert_int_equal(cells_at(&f.plan, 1), 24);
  done(&f);
  plan(&f, "--cpus 32 --sweep-rounds 9 --budget 10s", 2);
  assert_int_equal(f.plan.sweep_rounds, 9);
  assert_int_equal(cells_at(&f.plan, 16), 12);
  done(&f);
}

/* --- order ------------------------------------------------------------------------------- */

static void a_round_holds_every_cell_once_in_an_order_of_its_own(void **state) {
  (void)state;
  struct fixture f;
  plan(&f, "--cpus 32 --seed 7", 2);
  unsigned first[200], again[200], second[200];
  bool seen[200] = {false};
  size_t n = plan_order(&f.plan, 1, first);
  assert_int_equal(n, f.plan.cell_count);
  for (size_t i = 0; i < n; i++) {
    assert_false(seen[first[i]]);
    seen[first[i]] = true;
  }
  assert_int_equal(plan_order(&f.plan, 1, again), n);
  assert_memory_equal(first, again, n * sizeof first[0]);
  assert_int_equal(plan_order(&f.plan, 2, second), n);
  assert_memory_not_equal(first, second, n * sizeof first[0]);
  /* The sweep has 6 rounds: the seventh is the headline's. */
  assert_int_equal(plan_order(&f.plan, 7, second), 24);
  f.plan.seed = 8;
  plan_order(&f.plan, 1, second);
  assert_memory_not_equal(first, second, n * sizeof first[0]);
  done(&f);
}

/*
 * Over many rounds each cell's mean position is the middle, where the mean's standard deviation is
 * 0.29 n / sqrt(rounds), and a random permutation has one fixed point, with variance one.
 */
static void shuffling_prefers_no_place(void **state) {
  (void)state;
  struct fixture f;
  plan(&f, "--cpus 2 --sweep-rounds 0 --rounds 1000 --budget none --seed 3", 2);
  enum { CELLS = 24, ROUNDS = 1000 };
  double sum[CELLS] = {0};
  unsigned order[CELLS], fixed = 0;
  for (unsigned r = 1; r <= ROUNDS; r++) {
    assert_int_equal(plan_order(&f.plan, r, order), CELLS);
    for (unsigned i = 0; i < CELLS; i++) {
      sum[order[i]] += i;
      fixed += order[i] == i;
    }
  }
  for (int i = 0; i < CELLS; i++) {
    double mean = sum[i] / ROUNDS, off = mean - (CELLS - 1) / 2.0;
    assert_true(off < 1.1 && off > -1.1); /* five standard deviations */
  }
  assert_in_range(fixed, ROUNDS - 158, ROUNDS + 158); /* five, too */
  done(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_default_is_the_compare_suite_with_a_sweep),
      cmocka_unit_test(the_base_comes_first_whatever_is_listed),
      cmocka_unit_test(a_list_of_counts_measures_all_of_them_alike),
      cmocka_unit_test(without_counts_all_cpus_are_used),
      cmocka_unit_test(no_sweep_when_not_wanted_or_not_possible),
      cmocka_unit_test(patterns_choose_cases_of_every_suite),
      cmocka_unit_test(a_value_that_does_not_suit_the_threads_is_refused),
      cmocka_unit_test(what_cannot_run_is_skipped_by_name),
      cmocka_unit_test(a_case_of_one_strategy_runs_under_the_base_alone),
      cmocka_unit_test(a_case_for_few_threads_keeps_its_name_and_a_small_team),
      cmocka_unit_test(settings_reach_the_series_that_know_them),
      cmocka_unit_test(names_carry_what_differs),
      cmocka_unit_test(a_twin_is_the_base_under_another_name),
      cmocka_unit_test(objects_make_cases_of_their_own),
      cmocka_unit_test_setup_teardown(a_preset_has_its_columns_in_order, with_sync_pool,
                                      without_sync_pool),
      cmocka_unit_test_setup_teardown(a_quick_preset_keeps_its_rows, with_sync_pool,
                                      without_sync_pool),
      cmocka_unit_test(unknown_words_name_the_nearest),
      cmocka_unit_test(suites_without_a_case_to_offer_are_not_named),
      cmocka_unit_test(planted_delays_are_arms_beside_their_strategy),
      cmocka_unit_test(wrong_delays_say_what_would_be_right),
      cmocka_unit_test(windows_hold_four_rotations),
      cmocka_unit_test(limits_leave_room_for_a_busy_host),
      cmocka_unit_test(a_default_run_fits_five_minutes),
      cmocka_unit_test(a_quick_run_fits_forty_seconds_and_can_decide),
      cmocka_unit_test(a_small_budget_thins_the_sweep_first),
      cmocka_unit_test(a_quick_run_gives_up_cases_before_rounds),
      cmocka_unit_test(a_sample_is_expected_to_take_what_its_steps_take),
      cmocka_unit_test(deciding_takes_rounds_by_the_number_of_rows),
      cmocka_unit_test(memory_over_time_gives_up_rounds_after_the_sweep),
      cmocka_unit_test(suite_all_gives_up_rounds_to_fit),
      cmocka_unit_test(rounds_give_way_to_slow_samples),
      cmocka_unit_test(what_was_asked_for_is_not_thinned),
      cmocka_unit_test(a_series_takes_its_hint_and_its_idle_waits),
      cmocka_unit_test(a_quick_series_is_smaller_and_says_so),
      cmocka_unit_test(a_strategy_that_stands_there_twice_is_refused),
      cmocka_unit_test(opening_a_large_object_counts_as_time),
      cmocka_unit_test(a_longer_window_is_said_where_it_is_true),
      cmocka_unit_test(settings_of_a_series_are_noted_where_it_is_measured),
      cmocka_unit_test(a_quick_run_that_gives_up_rounds_says_what_is_left),
      cmocka_unit_test(one_build_alone_is_noted),
      cmocka_unit_test(memory_is_watched_at_the_headline_only),
      cmocka_unit_test(owned_joins_where_a_case_has_owners),
      cmocka_unit_test(a_pace_of_trims_stands_in_names),
      cmocka_unit_test(heavy_cases_are_rehearsed_with_the_most_threads),
      cmocka_unit_test(a_round_holds_every_cell_once_in_an_order_of_its_own),
      cmocka_unit_test(shuffling_prefers_no_place),
  };
  return cmocka_run_group_tests_name("plan", tests, NULL, NULL);
}
