/*
 * The team: every op is done once, by bound threads that start, fail, end and are cut off as the
 * contract says. No test depends on how long anything takes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/clock.h"
#include "harness/team.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/single_threaded.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST 64

/* What the hooks saw. Plain fields are written by one member each. */
struct scene {
  uint64_t ops[MOST], calls[MOST], largest[MOST];
  unsigned edges[MOST][2], idle[MOST], opened[MOST], closed[MOST];
  bool bound[MOST], alone[MOST];
  const int *cpu_map;
  unsigned fail_open, fail_run; /* this member fails; MOST: none */
  _Atomic bool gate;            /* when `wait` is set, ops wait for it */
  bool wait;
};

static bool open_member(void *context, unsigned i) {
  struct scene *s = context;
  cpu_set_t set;
  s->opened[i]++;
  s->bound[i] = s->cpu_map && sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) == 1 &&
                CPU_ISSET(s->cpu_map[i], &set);
  return i != s->fail_open;
}

static bool run_member(void *context, unsigned i, uint64_t n) {
  struct scene *s = context;
  struct timespec ms = {0, 1000000};
  while (s->wait && !atomic_load(&s->gate))
    nanosleep(&ms, NULL);
  s->ops[i] += n;
  s->calls[i]++;
  s->largest[i] = n > s->largest[i] ? n : s->largest[i];
  s->alone[i] = __libc_single_threaded != 0;
  return i != s->fail_run;
}

static void edge_member(void *context, unsigned i, enum team_edge edge) {
  ((struct scene *)context)->edges[i][edge]++;
}

static void idle_member(void *context, unsigned i) {
  ((struct scene *)context)->idle[i]++;
}

static void close_member(void *context, unsigned i) {
  ((struct scene *)context)->closed[i]++;
}

static void open_gate(void *context) {
  atomic_store(&((struct scene *)context)->gate, true);
}

static struct team_config config_for(struct scene *s, unsigned threads) {
  return (struct team_config){
      .threads = threads,
      .cpu_map = s->cpu_map,
      .hooks = {open_member, run_member, edge_member, idle_member, close_member},
      .context = s,
  };
}

static struct scene new_scene(void) {
  return (struct scene){.fail_open = MOST, .fail_run = MOST};
}

static struct team *start(struct scene *s, unsigned threads) {
  struct error e;
  struct team_config config = config_for(s, threads);
  struct team *team = team_start(&config, 0, &e);
  if (!team)
    fail_msg("%s", e.text);
  return team;
}

static uint64_t sum(const uint64_t *values) {
  uint64_t all = 0;
  for (int i = 0; i < MOST; i++)
    all += values[i];
  return all;
}

static void does_every_op_once(void **state) {
  (void)state;
  static const unsigned threads[] = {1, 2, 3, MOST};
  static const struct {
    uint64_t ops, grain;
  } work[] = {{1, 1}, {10, 100}, {100003, 7}, {100003, 100003}, {5000, 1}};
  for (size_t t = 0; t < 4; t++)
    for (size_t w = 0; w < 5; w++) {
      struct scene s = new_scene();
      struct team *team = start(&s, threads[t]);
      struct team_phase phase = {.ops = work[w].ops, .grain = work[w].grain};
      struct team_result result;
      assert_int_equal(team_run(team, &phase, &result), TEAM_DONE);
      assert_int_equal(result.ops, work[w].ops);
      assert_int_equal(sum(s.ops), work[w].ops);
      assert_int_equal(sum(s.calls), (work[w].ops + work[w].grain - 1) / work[w].grain);
      for (unsigned i = 0; i < threads[t]; i++) {
        assert_true(s.largest[i] <= work[w].grain);
        assert_int_equal(team_member(team, i)->ops, s.ops[i]);
        assert_int_equal(s.idle[i], 1);
        assert_int_equal(s.edges[i][TEAM_START], 0);
      }
      assert_true(team_stop(team, NS_PER_S * 60));
      for (unsigned i = 0; i < threads[t]; i++)
        assert_int_equal(s.closed[i], 1);
    }
}

static void gives_every_member_its_share(void **state) {
  (void)state;
  struct scene s = new_scene();
  struct team *team = start(&s, MOST);
  struct team_phase phase = {.each = 2, .edges = true};
  struct team_result result;
  assert_int_equal(team_run(team, &phase, &result), TEAM_DONE);
  assert_int_equal(team_run(team, &phase, &result), TEAM_DONE);
  assert_int_equal(result.ops, 2 * MOST);
  for (int i = 0; i < MOST; i++) {
    assert_int_equal(s.ops[i], 4);
    assert_int_equal(s.calls[i], 2);
    assert_int_equal(s.edges[i][TEAM_START], 2);
    assert_int_equal(s.edges[i][TEAM_END], 2);
    assert_int_equal(s.idle[i], 2);
  }
  assert_true(team_stop(team, NS_PER_S * 60));
}

/* The time ends with the last op: members that found nothing to do do not stretch it. */
static void time_runs_from_release_to_last_op(void **state) {
  (void)state;
  struct scene s = new_scene();
  struct team *team = start(&s, 8);
  struct team_phase phase = {.ops = 3, .grain = 1};
  struct team_result result;
  uint64_t before = clock_wall_ns(), last = 0;
  assert_int_equal(team_run(team, &phase, &result), TEAM_DONE);
  uint64_t after = clock_wall_ns();
  for (unsigned i = 0; i < 8; i++)
    if (team_member(team, i)->ops != 0 && team_member(team, i)->end_ns > last)
      last = team_member(team, i)->end_ns;
  assert_true(before <= result.release_ns && result.release_ns < last && last <= after);
  assert_int_equal(result.elapsed_ns, last - result.release_ns);
  assert_true(team_stop(team, NS_PER_S * 60));
}

static void binds_each_thread_to_its_cpu(void **state) {
  (void)state;
  cpu_set_t allowed;
  int cpus[MOST], count = 0, map[MOST];
  assert_int_equal(sched_getaffinity(0, sizeof allowed, &allowed), 0);
  for (int cpu = 0; cpu < CPU_SETSIZE && count < MOST; cpu++)
    if (CPU_ISSET(cpu, &allowed))
      cpus[count++] = cpu;
  for (int i = 0; i < MOST; i++)
    map[i] = cpus[i % count];
  struct scene s = new_scene();
  s.cpu_map = map;
  struct team *team = start(&s, MOST);
  for (unsigned i = 0; i < MOST; i++) {
    assert_true(s.bound[i]);
    assert_int_equal(team_member(team, i)->cpu, map[i]);
  }
  assert_true(team_stop(team, NS_PER_S * 60));
}

static void names_a_cpu_that_is_not_there(void **state) {
  (void)state;
  int map[2] = {sched_getcpu(), 900000};
  struct scene s = new_scene();
  struct error e;
  s.cpu_map = map;
  struct team_config config = config_for(&s, 2);
  assert_null(team_start(&config, 0, &e));
  assert_non_null(strstr(e.text, "thread 1"));
  assert_non_null(strstr(e.text, "CPU 900000"));
  assert_int_equal(s.closed[0], 1);
}

/* The caller's sleeping thread is the second one, which keeps glibc in its threaded paths. */
static void one_member_is_not_alone(void **state) {
  (void)state;
  struct scene s = new_scene();
  struct team *team = start(&s, 1);
  struct team_phase phase = {.ops = 1, .grain = 1};
  struct team_result result;
  assert_int_equal(team_run(team, &phase, &result), TEAM_DONE);
  assert_false(s.alone[0]);
  assert_true(team_stop(team, NS_PER_S * 60));
}

static void a_failed_op_stops_all(void **state) {
  (void)state;
  struct scene s = new_scene();
  s.fail_run = 2;
  struct team *team = start(&s, 4);
  struct team_phase each = {.each = 1}, rest = {.ops = UINT64_C(1) << 61, .grain = 1};
  struct team_result result;
  assert_int_equal(team_run(team, &each, &result), TEAM_FAILED);
  assert_int_equal(team_run(team, &rest, &result), TEAM_FAILED); /* would take for ever */
  assert_true(team_stop(team, NS_PER_S * 60));
  for (int i = 0; i < 4; i++)
    assert_int_equal(s.closed[i], 1);
}

static void a_failed_open_starts_nothing(void **state) {
  (void)state;
  struct scene s = new_scene();
  struct error e;
  s.fail_open = 1;
  struct team_config config = config_for(&s, 3);
  assert_null(team_start(&config, 0, &e));
  for (int i = 0; i < 3; i++) {
    assert_int_equal(s.opened[i], 1);
    assert_int_equal(s.closed[i], 1);
  }
}

static void ticks_while_ops_run(void **state) {
  (void)state;
  struct scene s = new_scene();
  s.wait = true; /* ops end only after a tick */
  struct team *team = start(&s, 2);
  struct team_phase phase = {.ops = 2, .grain = 1, .tick_ns = NS_PER_MS, .tick = open_gate};
  struct team_result result;
  assert_int_equal(team_run(team, &phase, &result), TEAM_DONE);
  assert_true(team_stop(team, NS_PER_S * 60));
}

static void a_deadline_cuts_off(void **state) {
  (void)state;
  struct scene s = new_scene();
  s.wait = true;
  struct team *team = start(&s, 2);
  struct team_phase phase = {.ops = 1000, .grain = 1, .deadline_ns = clock_wall_ns() + NS_PER_MS};
  struct team_result result;
  assert_int_equal(team_run(team, &phase, &result), TEAM_LATE);
  assert_true(result.elapsed_ns > 0);
  assert_false(team_stop(team, NS_PER_MS)); /* both are still in their op */
  open_gate(&s);
  assert_true(team_stop(team, NS_PER_S * 60));
  assert_true(sum(s.ops) <= 2); /* nothing was handed out after the deadline */
  assert_int_equal(s.closed[0], 1);
  assert_int_equal(s.closed[1], 1);
}

#if defined __has_feature
#define FEATURE(x) __has_feature(x)
#else
#define FEATURE(x) 0
#endif
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__ || FEATURE(address_sanitizer) || \
    FEATURE(thread_sanitizer)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

/* In a child, because the address space stays small. Returns what to exit with. */
static int start_too_many(void) {
  struct rlimit space = {256u << 20, 256u << 20};
  struct scene s = new_scene();
  struct error e;
  struct team_config config = config_for(&s, 4096);
  config.hooks = (struct team_hooks){.run = run_member};
  if (setrlimit(RLIMIT_AS, &space) != 0)
    return 1;
  if (team_start(&config, 0, &e))
    return 2;
  return strstr(e.text, "of 4096") && strstr(e.text, "fewer threads") ? 0 : 3;
}

static long mapped_pages(void) {
  long pages = 0;
  FILE *f = fopen("/proc/self/statm", "r");
  assert_non_null(f);
  assert_int_equal(fscanf(f, "%ld", &pages), 1);
  fclose(f);
  return pages;
}

/* The first failure leaves the C library a stack for the next thread, the second one nothing. */
static void a_team_without_its_first_thread_leaves_nothing(void **state) {
  (void)state;
  if (SANITIZED)
    skip();
  static const int cpu_map[] = {100000};
  struct scene s = new_scene();
  struct error e;
  struct team_config config = config_for(&s, 1);
  config.cpu_map = cpu_map;
  assert_null(team_start(&config, 0, &e));
  assert_non_null(strstr(e.text, "thread 0 cannot be bound to CPU 100000"));
  long before = mapped_pages();
  assert_null(team_start(&config, 0, &e));
  assert_int_equal(mapped_pages(), before);
}

static void says_which_thread_could_not_start(void **state) {
  (void)state;
  if (SANITIZED) /* they need terabytes of address space */
    skip();
  pid_t child = fork();
  if (child == 0)
    _exit(start_too_many());
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(does_every_op_once),
      cmocka_unit_test(gives_every_member_its_share),
      cmocka_unit_test(time_runs_from_release_to_last_op),
      cmocka_unit_test(binds_each_thread_to_its_cpu),
      cmocka_unit_test(names_a_cpu_that_is_not_there),
      cmocka_unit_test(one_member_is_not_alone),
      cmocka_unit_test(a_failed_op_stops_all),
      cmocka_unit_test(a_failed_open_starts_nothing),
      cmocka_unit_test(ticks_while_ops_run),
      cmocka_unit_test(a_deadline_cuts_off),
      cmocka_unit_test(a_team_without_its_first_thread_leaves_nothing),
      cmocka_unit_test(says_which_thread_could_not_start),
  };
  return cmocka_run_group_tests_name("team", tests, NULL, NULL);
}
