/*
 * Measuring threads; see team.h.
 *
 * Two futex words carry all order: `released` (phase number, stored with release by the caller,
 * read with acquire by members) publishes the phase; `finished` (the same number, stored by the
 * last member to arrive) publishes what the members did. The ops counter needs no order at all.
 */
#include "harness/team.h"

#include "harness/clock.h"
#include "harness/pages.h"
#include "harness/plural.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Ops recurse over trees of some ten levels; 1 MiB is far more, and only touched pages cost. */
#define STACK_BYTES (1u << 20)

/* What other threads write stays off the line that members read in every grain. */
#define LINE 128

struct member {
  struct team_member public;
  struct team *team;
  pthread_t thread;
} __attribute__((aligned(LINE)));

struct team {
  struct team_config config;
  struct member *members;
  unsigned started;
  struct team_phase phase; /* written while all are parked */
  bool quit;               /* likewise */
  _Atomic bool failed;
  _Atomic uint32_t released __attribute__((aligned(LINE)));
  _Atomic uint32_t finished __attribute__((aligned(LINE)));
  _Atomic unsigned running;
  _Atomic uint64_t next __attribute__((aligned(LINE))); /* first op not yet handed out */
};

/* Sleeps while *word is `value`, at most `timeout`; may return early. */
static void futex_wait(_Atomic uint32_t *word, uint32_t value, const struct timespec *timeout) {
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, timeout, NULL, 0);
}

static void futex_wake(_Atomic uint32_t *word) {
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

/* ---- members ---- */

/* Ends the handing out; a member in a grain finishes it. */
static void stop_handing_out(struct team *team) {
  atomic_store_explicit(&team->next, team->phase.ops, memory_order_relaxed);
}

static void fail(struct team *team) {
  atomic_store_explicit(&team->failed, true, memory_order_relaxed);
  stop_handing_out(team);
}

static void work(struct member *m) {
  struct team *team = m->team;
  const struct team_hooks *hooks = &team->config.hooks;
  const struct team_phase *phase = &team->phase;
  void *context = team->config.context;
  unsigned index = (unsigned)(m - team->members);
  if (phase->each) {
    m->public.ops = phase->each;
    if (!hooks->run(context, index, phase->each))
      fail(team);
    return;
  }
  for (;;) {
    uint64_t first = atomic_fetch_add_explicit(&team->next, phase->grain, memory_order_relaxed);
    if (first >= phase->ops)
      return;
    uint64_t left = phase->ops - first, n = left < phase->grain ? left : phase->grain;
    if (!hooks->run(context, index, n)) {
      fail(team);
      return;
    }
    m->public.ops += n;
  }
}

static void run_phase(struct member *m) {
  struct team *team = m->team;
  const struct team_hooks *hooks = &team->config.hooks;
  void *context = team->config.context;
  unsigned index = (unsigned)(m - team->members);
  bool edges = team->phase.edges && hooks->edge;
  m->public.ops = 0;
  if (edges)
    hooks->edge(context, index, TEAM_START);
  work(m);
  m->public.end_ns = clock_wall_ns();
  if (edges)
    hooks->edge(context, index, TEAM_END);
  if (hooks->idle)
    hooks->idle(context, index);
}

/* The last one to arrive wakes the caller. */
static void arrive(struct team *team, uint32_t phase) {
  if (atomic_fetch_sub_explicit(&team->running, 1, memory_order_acq_rel) != 1)
    return;
  atomic_store_explicit(&team->finished, phase, memory_order_release);
  futex_wake(&team->finished);
}

static void *member_main(void *arg) {
  struct member *m = arg;
  struct team *team = m->team;
  const struct team_hooks *hooks = &team->config.hooks;
  unsigned index = (unsigned)(m - team->members);
  m->public.tid = (pid_t)syscall(SYS_gettid);
  if (hooks->open && !hooks->open(team->config.context, index))
    fail(team);
  for (uint32_t phase = 1;; phase++) { /* phase 0 is opening */
    arrive(team, phase - 1);
    while (atomic_load_explicit(&team->released, memory_order_acquire) != phase)
      futex_wait(&team->released, phase - 1, NULL);
    if (team->quit)
      break;
    run_phase(m);
  }
  if (hooks->close)
    hooks->close(team->config.context, index);
  arrive(team, atomic_load_explicit(&team->released, memory_order_relaxed));
  return NULL;
}

/* ---- the caller's side ---- */

/* Waits for the phase to end, ticking; false when the deadline came first. */
static bool wait_finished(struct team *team, uint32_t phase, uint64_t deadline_ns, uint64_t tick_ns,
                          void (*tick)(void *context)) {
  uint32_t seen;
  uint64_t next_tick = tick ? clock_wall_ns() + tick_ns : UINT64_MAX;
  while ((seen = atomic_load_explicit(&team->finished, memory_order_acquire)) != phase) {
    uint64_t now = clock_wall_ns();
    if (deadline_ns != 0 && now >= deadline_ns)
      return false;
    if (now >= next_tick) {
      tick(team->config.context);
      next_tick = now + tick_ns;
    }
    uint64_t until = deadline_ns != 0 && deadline_ns < next_tick ? deadline_ns : next_tick;
    uint64_t wait = until - now;
    struct timespec t = {(time_t)(wait / NS_PER_S), (long)(wait % NS_PER_S)};
    futex_wait(&team->finished, seen, until == UINT64_MAX ? NULL : &t);
  }
  return true;
}

static void release(struct team *team, uint32_t phase) {
  atomic_store_explicit(&team->next, 0, memory_order_relaxed);
  atomic_store_explicit(&team->running, team->started, memory_order_relaxed);
  atomic_store_explicit(&team->released, phase, memory_order_release);
  futex_wake(&team->released);
}

enum team_status team_run(struct team *team, const struct team_phase *phase,
                          struct team_result *result) {
  uint32_t number = atomic_load_explicit(&team->released, memory_order_relaxed) + 1;
  team->phase = *phase;
  *result = (struct team_result){.release_ns = clock_wall_ns()};
  release(team, number);
  if (!wait_finished(team, number, phase->deadline_ns, phase->tick_ns, phase->tick)) {
    stop_handing_out(team);
    result->elapsed_ns = clock_wall_ns() - result->release_ns;
    return TEAM_LATE;
  }
  for (unsigned i = 0; i < team->started; i++) {
    const struct team_member *m = &team->members[i].public;
    result->ops += m->ops;
    if (m->ops != 0 && m->end_ns - result->release_ns > result->elapsed_ns)
      result->elapsed_ns = m->end_ns - result->release_ns;
  }
  return atomic_load_explicit(&team->failed, memory_order_relaxed) ? TEAM_FAILED : TEAM_DONE;
}

const struct team_member *team_member(const struct team *team, unsigned index) {
  return &team->members[index].public;
}

static void unmap(struct team *team) {
  pages_unmap(team->members, team->config.threads * sizeof *team->members);
  pages_unmap(team, sizeof *team);
}

bool team_stop(struct team *team, uint64_t grace_ns) {
  uint32_t number = atomic_load_explicit(&team->released, memory_order_relaxed) + 1;
  uint64_t deadline_ns = clock_wall_ns() + grace_ns;
  /* After a late phase its members must all have arrived before `quit` may be written. */
  if (!wait_finished(team, number - 1, deadline_ns, 0, NULL))
    return false;
  team->quit = true;
  release(team, number);
  /* Of no members none arrives. */
  if (team->started > 0 && !wait_finished(team, number, deadline_ns, 0, NULL))
    return false;
  for (unsigned i = 0; i < team->started; i++)
    pthread_join(team->members[i].thread, NULL); /* cannot fail, and it has nothing left to do */
  unmap(team);
  return true;
}

/* ---- starting ---- */

static bool set_cpu(pthread_attr_t *attr, int cpu) {
  cpu_set_t *set = CPU_ALLOC((size_t)cpu + 1);
  size_t size = CPU_ALLOC_SIZE((size_t)cpu + 1);
  if (!set)
    return false;
  CPU_ZERO_S(size, set);
  CPU_SET_S((size_t)cpu, size, set);
  int status = pthread_attr_setaffinity_np(attr, size, set);
  CPU_FREE(set);
  return status == 0;
}

static int start_member(struct team *team, unsigned index) {
  struct member *m = &team->members[index];
  m->team = team;
  m->public.cpu = team->config.cpu_map ? team->config.cpu_map[index] : -1;
  pthread_attr_t attr;
  int status = pthread_attr_init(&attr);
  if (status != 0)
    return status;
  status = pthread_attr_setstacksize(&attr, STACK_BYTES);
  /* Bound before it first runs, so that its stack and heap are first touched on its CPU. */
  if (status == 0 && m->public.cpu >= 0 && !set_cpu(&attr, m->public.cpu))
    status = ENOMEM;
  if (status == 0)
    status = pthread_create(&m->thread, &attr, member_main, m);
  pthread_attr_destroy(&attr);
  return status;
}

static void explain_start(struct error *e, const struct team *team, unsigned index, int status) {
  struct rlimit processes = {RLIM_INFINITY, RLIM_INFINITY};
  int cpu = team->config.cpu_map ? team->config.cpu_map[index] : -1;
  if (status == EINVAL && cpu >= 0) {
    error_set(e, EXIT_USAGE,
              "thread %u cannot be bound to CPU %d: it does not exist or is outside the set "
              "this process may use (see taskset -p %d)",
              index, cpu, (int)getpid());
    return;
  }
  if (getrlimit(RLIMIT_NPROC, &processes) == 0 && processes.rlim_cur != RLIM_INFINITY)
    error_set(e, EXIT_SAMPLES,
              "cannot start thread %u of %u: %s; the limit is %llu processes and threads a user "
              "(ulimit -u), the cgroup's pids.max or the address space (ulimit -v): use fewer "
              "threads or raise it",
              index + 1, team->config.threads, strerror(status),
              (unsigned long long)processes.rlim_cur);
  else
    error_set(e, EXIT_SAMPLES,
              "cannot start thread %u of %u: %s; use fewer threads, or raise the cgroup's "
              "pids.max or the address space (ulimit -v)",
              index + 1, team->config.threads, strerror(status));
}

/* Lets those that did start leave again. */
static void give_up(struct team *team) {
  unsigned missing = team->config.threads - team->started;
  for (unsigned i = 0; i < missing; i++)
    arrive(team, 0);
  team_stop(team, NS_PER_S); /* a thread that hangs in open keeps the team's memory */
}

struct team *team_start(const struct team_config *config, uint64_t deadline_ns, struct error *e) {
  struct team *team = pages_map(sizeof *team);
  struct member *members = pages_map(config->threads * sizeof *members);
  if (!team || !members) {
    pages_unmap(team, sizeof *team);
    pages_unmap(members, config->threads * sizeof *members);
    error_set(e, EXIT_SAMPLES, "out of memory for %u thread%s", config->threads,
              plural(config->threads));
    return NULL;
  }
  team->config = *config;
  team->members = members;
  atomic_store_explicit(&team->finished, UINT32_MAX, memory_order_relaxed); /* 0 means opened */
  atomic_store_explicit(&team->running, config->threads, memory_order_relaxed);
  for (; team->started < config->threads; team->started++) {
    int status = start_member(team, team->started);
    if (status != 0) {
      explain_start(e, team, team->started, status);
      give_up(team);
      return NULL;
    }
  }
  bool late = !wait_finished(team, 0, deadline_ns, 0, NULL);
  if (!late && !atomic_load_explicit(&team->failed, memory_order_relaxed))
    return team;
  error_set(e, EXIT_SAMPLES,
            late ? "threads did not start within the time limit"
                 : "a thread could not start its work");
  team_stop(team, NS_PER_S);
  return NULL;
}
