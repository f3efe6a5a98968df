/*
 * Pools without locks at their worst moments. A signal handler gets and puts in the middle of a
 * get or put of its own thread, which is what another thread does there at a preemption: after
 * each instruction in turn, and some thousand times a second. And trims follow closely on one
 * another while threads work, or meet a get or a sequence in its midst.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "strategies/support/restart.h"
#include "tests/strategy_fixture.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
#include <time.h>
#include <ucontext.h>

enum {
  POOLED = 8,
  INTERRUPTS = 4000,
  PERIOD_US = 40,
  GIVE_UP_S = 20,
  TRIMS = 4000,
  ROUNDS = 20000,
  HELD = 8,
  WORKERS = 2,
  FENCES = 200
};

struct item {
  _Atomic unsigned users;
  char rest[60];
};

static bool item_init(void *p) {
  memset(p, 0, sizeof(struct item));
  return true;
}

static const struct kind items = {.name = "item", .size = sizeof(struct item), .init = item_init};

static _Atomic unsigned doubled; /* given out while in use */

static struct item *take(struct fixture *f, struct pool_scope *scope) {
  struct item *item = pool_get(f->s, scope, 0);
  if (atomic_fetch_add(&item->users, 1) != 0)
    atomic_fetch_add(&doubled, 1);
  return item;
}

static void give(struct fixture *f, struct pool_scope *scope, struct item *item) {
  atomic_fetch_sub(&item->users, 1);
  pool_put(f->s, scope, 0, item);
}

static bool runs_here(const char *spec) {
  const char *why;
  return !strstr(spec, "way=rseq") || (restart_self(&why) && restart_can_fence(&why));
}

/* -- interrupted -- */

static struct {
  struct fixture *f;
  struct pool_scope *one, *other; /* of two more attachments of the thread */
  struct item *kept;              /* in `other`'s hands */
  volatile sig_atomic_t count;
} interrupt;

/*
 * Takes the two topmost items and puts the first one back alone: a pop that was about to leave the
 * second one as the new top finds the first one there again (ABA). The next call puts it back.
 */
static void interfere(void) {
  struct fixture *f = interrupt.f;
  if (interrupt.kept) {
    give(f, interrupt.other, interrupt.kept);
    interrupt.kept = NULL;
  } else {
    struct item *first = take(f, interrupt.one);
    interrupt.kept = take(f, interrupt.other);
    give(f, interrupt.one, first);
  }
  interrupt.count++;
}

static void on_alarm(int signal) {
  (void)signal;
  interfere();
}

static void alarm_every(long us) {
  struct itimerval timer = {{0, us}, {0, us}};
  assert_int_equal(setitimer(ITIMER_REAL, &timer, NULL), 0);
}

/* So many are pooled that no get misses: the allocator must not be interrupted by itself. */
static void fill(struct fixture *f, struct pool_scope *scope) {
  struct item *filled[POOLED];
  for (int i = 0; i < POOLED; i++)
    filled[i] = take(f, scope);
  for (int i = 0; i < POOLED; i++)
    give(f, scope, filled[i]);
}

static uint64_t retries_of(const struct pool_stats *stats) {
  return stats->cas_retries + stats->restarts;
}

static void run_interrupted(struct fixture *f, struct pool_scope *scope) {
  struct sigaction act = {.sa_handler = on_alarm}, before;
  struct pool_stats stats = {0};
  time_t give_up = time(NULL) + GIVE_UP_S;
  assert_int_equal(sigaction(SIGALRM, &act, &before), 0);
  alarm_every(PERIOD_US);
  while ((interrupt.count < INTERRUPTS || retries_of(&stats) == 0) && time(NULL) < give_up) {
    for (int i = 0; i < 1000; i++)
      give(f, scope, take(f, scope));
    stats = fixture_stats(f);
  }
  alarm_every(0);
  assert_int_equal(sigaction(SIGALRM, &before, NULL), 0);
}

/* The checker locks, and the thread sanitizer holds signals back. */
#if !defined(POOL_CHECK) && !defined(ANNOTATE_THREADS)
#define SIGNALS_REACH_POOLS true
#else
#define SIGNALS_REACH_POOLS false
#endif

/* Runs body on a pool with three attachments of this thread, kept on its CPU. */
static void with_interference(const char *spec,
                              void (*body)(struct fixture *f, struct pool_scope *scope)) {
  struct fixture f;
  cpu_set_t before;
  if (!runs_here(spec) || !SIGNALS_REACH_POOLS)
    skip();
  fixture_stay_on_cpu(0, &before);
  fixture_open(&f, spec, &items, 1);
  struct pool_thread *one = f.s->attach(f.pool), *other = f.s->attach(f.pool);
  struct pool_scope *scope = fixture_begin(&f, f.thread, NULL);
  doubled = 0;
  interrupt.f = &f;
  interrupt.kept = NULL;
  interrupt.count = 0;
  interrupt.one = fixture_begin(&f, one, NULL);
  interrupt.other = fixture_begin(&f, other, NULL);
  fill(&f, scope);
  fill(&f, interrupt.one);
  fill(&f, interrupt.other);
  body(&f, scope);
  if (interrupt.kept)
    interfere();
  struct pool_stats stats = fixture_stats(&f);
  assert_int_equal(doubled, 0);
  assert_int_equal(stats.misses, POOLED);
  assert_int_equal(stats.puts, stats.gets);
  assert_int_equal(fixture_held(&f).objects, POOLED);
  assert_true(retries_of(&stats) > 0);
  f.s->detach(f.pool, one);
  f.s->detach(f.pool, other);
  fixture_close(&f);
  assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
}

static void an_interrupted_get_or_put_begins_again(void **spec) {
  with_interference(*spec, run_interrupted);
}

#if defined(__x86_64__)

#define TRAP_FLAG 0x100 /* of the flags register: SIGTRAP after each instruction */

static struct {
  unsigned done, interfere_at;
  void (*interfere)(void);
} steps;

static void on_step(int signal, siginfo_t *info, void *context) {
  (void)signal, (void)info;
  if (++steps.done < steps.interfere_at)
    return;
  steps.interfere();
  ((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG; /* once is enough */
}

/* The stack below the red zone, which belongs to the compiler. */
static inline void trap_flag_on(void) {
  __asm__ volatile("leaq -128(%%rsp), %%rsp\n\tpushfq\n\torq %0, (%%rsp)\n\tpopfq\n\t"
                   "leaq 128(%%rsp), %%rsp" ::"i"(TRAP_FLAG)
                   : "memory", "cc");
}

static inline void trap_flag_off(void) {
  __asm__ volatile("leaq -128(%%rsp), %%rsp\n\tpushfq\n\tandq %0, (%%rsp)\n\tpopfq\n\t"
                   "leaq 128(%%rsp), %%rsp" ::"i"(~TRAP_FLAG)
                   : "memory", "cc");
}

/*
 * false: it has fewer instructions. If the item that the interference kept was left on the pool,
 * the next get gives it out again.
 */
static bool step_through(struct fixture *f, struct pool_scope *scope, bool get) {
  struct item *item = get ? NULL : take(f, scope);
  steps.done = 0;
  trap_flag_on();
  if (get)
    item = take(f, scope);
  else
    give(f, scope, item);
  trap_flag_off();
  bool reached = steps.done >= steps.interfere_at;
  give(f, scope, take(f, scope));
  if (get)
    give(f, scope, item);
  if (interrupt.kept)
    interfere();
  return reached;
}

/* Interference after the first instruction of a get, the second one, and so on; then of a put. */
static void run_stepped(struct fixture *f, struct pool_scope *scope) {
  struct sigaction act = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO}, before;
  assert_int_equal(sigaction(SIGTRAP, &act, &before), 0);
  steps.interfere = interfere;
  for (int get = 0; get < 2; get++) {
    steps.interfere_at = 1;
    while (step_through(f, scope, get) && doubled == 0)
      steps.interfere_at++;
    assert_true(steps.interfere_at > 1); /* else nothing was trapped */
  }
  assert_int_equal(sigaction(SIGTRAP, &before, NULL), 0);
  assert_int_equal(doubled, 0); /* before the walk that counts what is held */
}

static void interference_after_any_instruction_is_noticed(void **spec) {
  with_interference(*spec, run_stepped);
}

/*
 * treiber: a trim takes the nodes of the two items of kind 0, puts follow that use them again: the
 * lower one's for kind 1, the upper one's for kind 0. No get is among them, so that only the trim
 * can tell a get that has read both nodes that the upper one's link has changed.
 */
static void trim_and_put_again(void) {
  struct fixture *f = interrupt.f;
  f->s->trim(f->pool);
  for (unsigned kind = 2; kind-- > 0;) {
    struct item *item = heap_alloc(sizeof *item);
    item_init(item);
    pool_put(f->s, interrupt.one, kind, item);
  }
}

/* false: a get has fewer instructions. */
static bool get_amid_trim(void) {
  const struct kind two[] = {items, items};
  struct fixture f;
  fixture_open(&f, "treiber", two, 2);
  struct pool_thread *one = f.s->attach(f.pool);
  struct pool_scope *scope = fixture_begin(&f, f.thread, NULL);
  struct item *upper = take(&f, scope), *lower = take(&f, scope), *got[3];
  interrupt.f = &f;
  interrupt.one = fixture_begin(&f, one, NULL); /* without a node of its own */
  give(&f, scope, lower);
  give(&f, scope, upper);
  steps.done = 0;
  trap_flag_on();
  got[0] = pool_get(f.s, scope, 0);
  trap_flag_off();
  bool reached = steps.done >= steps.interfere_at;
  got[1] = pool_get(f.s, scope, 0);
  got[2] = pool_get(f.s, scope, 1);
  assert_ptr_not_equal(got[1], got[2]);
  for (int i = 0; i < 3; i++)
    pool_drop(f.s, f.thread, i == 2, got[i]);
  f.s->detach(f.pool, one);
  fixture_close(&f);
  return reached;
}

static void a_get_notices_a_trim_after_any_instruction(void **state) {
  (void)state;
  struct sigaction act = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO}, before;
  if (!SIGNALS_REACH_POOLS)
    skip();
  assert_int_equal(sigaction(SIGTRAP, &act, &before), 0);
  steps.interfere = trim_and_put_again;
  for (steps.interfere_at = 1; get_amid_trim();)
    steps.interfere_at++;
  assert_true(steps.interfere_at > 1);
  assert_int_equal(sigaction(SIGTRAP, &before, NULL), 0);
}

#endif

/* -- trims among work -- */

struct trimmed {
  struct fixture *f;
  _Atomic bool over;
  _Atomic unsigned rounds;
};

static void *work(void *arg) {
  struct trimmed *trimmed = arg;
  struct fixture *f = trimmed->f;
  heap_thread_begin();
  struct pool_thread *thread = f->s->attach(f->pool);
  while (!atomic_load(&trimmed->over)) {
    struct pool_scope *scope = fixture_begin(f, thread, NULL);
    struct item *held[HELD];
    for (int i = 0; i < HELD; i++)
      held[i] = take(f, scope);
    for (int i = 0; i < HELD; i++)
      give(f, scope, held[i]);
    pool_end(f->s, f->pool, scope);
    atomic_fetch_add(&trimmed->rounds, 1);
  }
  f->s->detach(f->pool, thread);
  heap_thread_end();
  return NULL;
}

/* Long enough, now and then, for a worker to have put all that it held. */
static void trim_at_random(struct fixture *f, struct trimmed *trimmed) {
  unsigned seed = 1;
  for (int i = 0; i < TRIMS || atomic_load(&trimmed->rounds) < ROUNDS; i++) {
    for (int spins = rand_r(&seed) % 4096; spins > 0; spins--)
      atomic_load(&trimmed->over);
    f->s->trim(f->pool);
  }
}

static void trims_and_work_do_not_meet(void **spec) {
  struct fixture f;
  if (!runs_here(*spec))
    skip();
  fixture_open(&f, *spec, &items, 1);
  struct trimmed trimmed = {.f = &f};
  pthread_t ids[WORKERS];
  doubled = 0;
  for (int i = 0; i < WORKERS; i++)
    assert_int_equal(pthread_create(&ids[i], NULL, work, &trimmed), 0);
  trim_at_random(&f, &trimmed);
  atomic_store(&trimmed.over, true);
  for (int i = 0; i < WORKERS; i++)
    pthread_join(ids[i], NULL);
  f.s->trim(f.pool);
  f.s->quiesce(f.pool, f.thread);
  assert_int_equal(doubled, 0);
  assert_int_equal(fixture_held(&f).objects, 0);
  fixture_close(&f);
}

#if RESTART_SEQUENCES

/* A thread that stays in a sequence of its own; its stores are for the test alone. */
static struct { _Atomic uint32_t ping, pong, restarts, stop; } spinner;

static void *spin_in_sequence(void *unused) {
  const char *why;
  struct rseq *self = restart_self(&why);
  uint64_t scratch;
  __asm__ volatile(
      ".pushsection __rseq_cs, \"aw\"\n\t"
      ".balign 32\n"
      "3:\n\t"
      ".long 0, 0\n\t"
      ".quad 1f, 2f - 1f, 4f\n\t"
      ".popsection\n"
      "0:\n\t"
      "leaq 3b(%%rip), %[scratch]\n\t"
      "movq %[scratch], %[armed]\n"
      "1:\n\t"
      "movl %[ping], %k[scratch]\n\t"
      "movl %k[scratch], %[pong]\n\t"
      "cmpl $0, %[stop]\n\t"
      "je 1b\n"
      "2:\n\t"
      ".pushsection __rseq_failure, \"ax\"\n\t"
      ".byte 0x0f, 0xb9, 0x3d\n\t"
      ".long %c[signature]\n"
      "4:\n\t"
      "incl %[restarts]\n\t"
      "jmp 0b\n\t"
      ".popsection\n"
      : [scratch] "=&r"(scratch), [armed] "=m"(self->rseq_cs),
        [pong] "=m"(*(uint32_t *)&spinner.pong), [restarts] "+m"(*(uint32_t *)&spinner.restarts)
      : [ping] "m"(*(uint32_t *)&spinner.ping), [stop] "m"(*(uint32_t *)&spinner.stop),
        [signature] "i"(RSEQ_SIG)
      : "memory", "cc");
  return unused;
}

static void wait_for_pong(uint32_t ping) {
  atomic_store(&spinner.ping, ping);
  while (atomic_load(&spinner.pong) != ping)
    sched_yield();
}

/*
 * per-cpu: a sequence that runs when a trim begins has been restarted when it ends. One that was
 * preempted meanwhile has been anyway, so with one CPU this shows nothing.
 */
static void a_trim_restarts_every_sequence(void **state) {
  (void)state;
  struct fixture f;
  pthread_t id;
  if (!runs_here("per-cpu:way=rseq"))
    skip();
  fixture_open(&f, "per-cpu:way=rseq", &items, 1);
  assert_int_equal(pthread_create(&id, NULL, spin_in_sequence, NULL), 0);
  for (uint32_t i = 0; i < FENCES; i++) {
    wait_for_pong(2 * i + 1);
    uint32_t before = atomic_load(&spinner.restarts);
    f.s->trim(f.pool);
    wait_for_pong(2 * i + 2);
    assert_true(atomic_load(&spinner.restarts) != before);
  }
  atomic_store(&spinner.stop, 1);
  pthread_join(id, NULL);
  fixture_close(&f);
}

#endif

#define WITH(test, spec) \
  { #test ": " spec, test, NULL, NULL, (void *)(uintptr_t)spec }

int main(void) {
  const struct CMUnitTest tests[] = {
    WITH(an_interrupted_get_or_put_begins_again, "per-cpu:way=rseq"),
#if defined(__x86_64__)
    WITH(interference_after_any_instruction_is_noticed, "treiber"),
    cmocka_unit_test(a_get_notices_a_trim_after_any_instruction),
#endif
#if RESTART_SEQUENCES
    cmocka_unit_test(a_trim_restarts_every_sequence),
#endif
    WITH(trims_and_work_do_not_meet, "magazine"),
    WITH(trims_and_work_do_not_meet, "magazine:size=1"),
    WITH(trims_and_work_do_not_meet, "treiber"),
    WITH(trims_and_work_do_not_meet, "per-cpu:way=rseq"),
    WITH(trims_and_work_do_not_meet, "per-cpu:way=lock"),
  };
  heap_thread_begin();
  return cmocka_run_group_tests_name("strategies_shared", tests, NULL, NULL);
}
