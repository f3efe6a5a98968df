/*
 * Readings of the kernel and of the allocator: made-up /proc and cgroup trees with known numbers,
 * and the real ones as far as they can be checked against another source.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/clock.h"
#include "harness/footprint.h"
#include "harness/osstat.h"
#include "harness/speed.h"

#include <gnu/libc-version.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static char root[64];

static void write_file(const char *path, const char *text) {
  char full[512];
  snprintf(full, sizeof full, "%s%s", root, path);
  for (char *slash = full + strlen(root) + 1; (slash = strchr(slash, '/')) != NULL; slash++) {
    *slash = '\0';
    mkdir(full, 0700);
    *slash = '/';
  }
  FILE *f = fopen(full, "w");
  assert_non_null(f);
  assert_true(fputs(text, f) >= 0);
  assert_int_equal(fclose(f), 0);
}

static int new_root(void **state) {
  (void)state;
  strcpy(root, "/tmp/poolbench-osstat-XXXXXX");
  return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state) {
  (void)state;
  char command[128];
  snprintf(command, sizeof command, "rm -rf '%s'", root);
  return system(command);
}

#define V2_STAT "usage_usec 5\nnr_periods 40\nnr_throttled "

static void sums_throttling_up_the_cgroup_tree(void **state) {
  (void)state;
  uint64_t n;
  assert_false(os_throttled(root, &n)); /* no cgroups at all */
  write_file("/proc/self/cgroup", "0::/a.slice/job\n");
  assert_false(os_throttled(root, &n)); /* no CPU controller in sight */
  write_file("/sys/fs/cgroup/a.slice/job/cpu.stat", V2_STAT "3\nthrottled_usec 9\n");
  write_file("/sys/fs/cgroup/a.slice/cpu.stat", V2_STAT "40\n");
  write_file("/sys/fs/cgroup/cpu.stat", "usage_usec 5\n"); /* the root has no quota */
  assert_true(os_throttled(root, &n));
  assert_int_equal(n, 43);
}

static void reads_version_1_too(void **state) {
  (void)state;
  uint64_t n;
  write_file("/proc/self/cgroup",
             "7:cpuset:/x\n4:cpu,cpuacct:/docker/1f\n1:name=systemd:/y\n0::/\n");
  write_file("/sys/fs/cgroup/cpu,cpuacct/docker/1f/cpu.stat", "nr_periods 9\nnr_throttled 5\n");
  write_file("/sys/fs/cgroup/cpu,cpuacct/cpu.stat", "nr_periods 9\nnr_throttled 0\n");
  assert_true(os_throttled(root, &n));
  assert_int_equal(n, 5);
}

/* In a container the path is the host's, and the mount's root is our own group. */
static void falls_back_to_the_mount_in_a_container(void **state) {
  (void)state;
  uint64_t n;
  write_file("/proc/self/cgroup", "0::/kubepods/pod7/abc\n");
  write_file("/sys/fs/cgroup/cpu.stat", V2_STAT "8\n");
  assert_true(os_throttled(root, &n));
  assert_int_equal(n, 8);
}

static void survives_odd_cgroup_files(void **state) {
  (void)state;
  uint64_t n;
  char long_path[3000];
  memset(long_path, 'x', sizeof long_path);
  memcpy(long_path, "0::/", 4);
  long_path[sizeof long_path - 2] = '\n';
  long_path[sizeof long_path - 1] = '\0';
  write_file("/proc/self/cgroup", long_path);
  assert_false(os_throttled(root, &n));
  write_file("/proc/self/cgroup", "nonsense\n:\n::\n");
  assert_false(os_throttled(root, &n));
}

static void reads_steal_and_peak(void **state) {
  (void)state;
  uint64_t n;
  assert_false(os_steal_ns(root, &n));
  assert_false(os_rss_peak(root, &n));
  write_file("/proc/stat", "cpu  100 2 30 4000 5 6 7 250 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n");
  write_file("/proc/self/status",
             "Name:\tx\nVmPeak:\t   900 kB\nVmHWM:\t    1234 kB\nVmRSS:\t 5 kB\n");
  assert_true(os_steal_ns(root, &n));
  assert_true(n == 250 * (UINT64_C(1000000000) / (uint64_t)sysconf(_SC_CLK_TCK)));
  assert_true(os_rss_peak(root, &n));
  assert_int_equal(n, 1234 * 1024);
}

static void the_peak_follows_touched_memory(void **state) {
  (void)state;
  uint64_t before, after, reset;
  size_t size = 32u << 20;
  assert_true(os_rss_peak("", &before));
  char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert_true(p != MAP_FAILED);
  memset(p, 1, size);
  assert_int_equal(munmap(p, size), 0);
  assert_true(os_rss_peak("", &after));
  assert_true(after >= before + size / 2);
  if (!os_rss_peak_reset())
    skip();
  assert_true(os_rss_peak("", &reset));
  assert_true(reset <= after - size / 2);
}

static void usage_grows_with_use(void **state) {
  (void)state;
  struct os_usage a, b;
  uint64_t delay;
  long pages = 64, page = sysconf(_SC_PAGESIZE);
  os_usage_thread(&a);
  char *p = mmap(NULL, (size_t)(pages * page), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                 -1, 0);
  assert_true(p != MAP_FAILED);
  madvise(p, (size_t)(pages * page), MADV_NOHUGEPAGE);
  for (long i = 0; i < pages; i++)
    p[i * page] = 1;
  munmap(p, (size_t)(pages * page));
  usleep(1000);
  os_usage_thread(&b);
  assert_true(b.cpu_ns > a.cpu_ns);
  assert_true(b.minor - a.minor >= (uint64_t)pages);
  assert_true(b.voluntary > a.voluntary);
  if (access("/proc/self/schedstat", R_OK) == 0)
    assert_true(os_run_delay_ns((pid_t)syscall(SYS_gettid), &delay));
  assert_false(os_run_delay_ns(1 << 29, &delay)); /* no such thread */
  assert_true(os_allowed_cpus() >= 1);
}

/* Since the machine was started there was more time than this thread has waited or had. */
static void delay_is_told_as_of_a_moment(void **state) {
  (void)state;
  uint64_t then, now;
  pid_t tid = (pid_t)syscall(SYS_gettid);
  if (access("/proc/self/schedstat", R_OK) != 0)
    skip();
  assert_true(os_run_delay_at(tid, clock_wall_ns(), clock_thread_cpu_ns(), &then));
  assert_true(os_run_delay_ns(tid, &now));
  assert_true(then <= now);
  assert_true(os_run_delay_at(tid, 0, 0, &then));
  assert_true(then == 0);
  assert_false(os_run_delay_at(1 << 29, 0, 0, &then)); /* no such thread */
}

struct stat_thread {
  _Atomic pid_t tid;
  _Atomic bool quit;
  pthread_mutex_t held;
};

static void *spins(void *arg) {
  struct stat_thread *t = arg;
  prctl(PR_SET_NAME, "a) S (b"); /* as if it slept */
  atomic_store(&t->tid, (pid_t)syscall(SYS_gettid));
  while (!atomic_load(&t->quit))
    ;
  return NULL;
}

static void *waits(void *arg) {
  struct stat_thread *t = arg;
  prctl(PR_SET_NAME, "a) R (b");
  atomic_store(&t->tid, (pid_t)syscall(SYS_gettid));
  pthread_mutex_lock(&t->held);
  pthread_mutex_unlock(&t->held);
  return NULL;
}

static void tells_sleep_from_waiting_for_a_cpu(void **state) {
  (void)state;
  struct stat_thread t = {.held = PTHREAD_MUTEX_INITIALIZER};
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, spins, &t), 0);
  while (atomic_load(&t.tid) == 0)
    usleep(100);
  for (int i = 0; i < 20; i++)
    assert_false(os_sleeps(atomic_load(&t.tid)));
  atomic_store(&t.quit, true);
  assert_int_equal(pthread_join(thread, NULL), 0);
  atomic_store(&t.tid, 0);
  pthread_mutex_lock(&t.held);
  assert_int_equal(pthread_create(&thread, NULL, waits, &t), 0);
  while (atomic_load(&t.tid) == 0 || !os_sleeps(atomic_load(&t.tid)))
    usleep(100); /* for ever, if that cannot be seen */
  pthread_mutex_unlock(&t.held);
  assert_int_equal(pthread_join(thread, NULL), 0);
  assert_true(os_sleeps(1 << 29)); /* no such thread: not one to wait for */
}

static void the_calibration_loop_takes_time(void **state) {
  (void)state;
  uint64_t ns = 0;
  assert_true(speed_measure(&ns));
  assert_true(ns > 0);
}

static void proves_the_allocator(void **state) {
  (void)state;
  struct allocator a;
  struct error e;
  uint64_t before, after;
  char why[160] = "";
  allocator_identify(&a);
  assert_true(allocator_expect(&a, a.name, &e));
  assert_false(allocator_expect(&a, "nonesuch", &e));
  assert_non_null(strstr(e.text, a.name));
  assert_non_null(strstr(e.text, "nonesuch"));
  if (a.path[0] == '/') {
    assert_true(allocator_expect(&a, a.path, &e));
    assert_false(allocator_expect(&a, "/bin/sh", &e));
  }
  if (strcmp(a.name, "glibc") != 0) { /* a sanitizer's, which does not tell */
    assert_false(allocator_system_bytes(&a, &before, why, sizeof why));
    assert_true(why[0] != '\0');
    return;
  }
  unsigned arenas = 0;
  assert_string_equal(a.version, gnu_get_libc_version());
  assert_true(allocator_arenas(&a, &arenas));
  assert_true(arenas >= 1);
  assert_true(allocator_system_bytes(&a, &before, why, sizeof why));
  void *volatile p = malloc(8u << 20); /* volatile: a pair that nobody looks at may be removed */
  assert_non_null(p);
  assert_true(allocator_system_bytes(&a, &after, why, sizeof why));
  assert_true(after >= before + (8u << 20));
  free(p);
}

/*
 * 64 MiB in blocks of glibc's heap, with one at its top that stays: nothing of it goes back by
 * itself, nearly all when asked.
 */
static void what_the_allocator_caches_goes_back_when_asked(void **state) {
  (void)state;
  enum { BLOCKS = 2048, SIZE = 32768 };
  struct allocator a = {"nothing", "0", "/lib/libnothing.so"};
  static void *blocks[BLOCKS];
  uint64_t before, after;
  assert_false(allocator_release(&a));
  allocator_identify(&a);
  if (strcmp(a.name, "glibc") != 0)
    skip();
  for (int i = 0; i < BLOCKS; i++) {
    blocks[i] = malloc(SIZE);
    assert_non_null(blocks[i]);
    memset(blocks[i], 1, SIZE);
  }
  for (int i = 0; i + 1 < BLOCKS; i++)
    free(blocks[i]);
  assert_true(os_rss_now("", &before));
  assert_true(allocator_release(&a));
  assert_true(os_rss_now("", &after));
  assert_true(after + (48u << 20) < before);
  free(blocks[BLOCKS - 1]);
}

int main(void) {
#define WITH_ROOT(test) cmocka_unit_test_setup_teardown(test, new_root, remove_root)
  const struct CMUnitTest tests[] = {
      WITH_ROOT(sums_throttling_up_the_cgroup_tree),
      WITH_ROOT(reads_version_1_too),
      WITH_ROOT(falls_back_to_the_mount_in_a_container),
      WITH_ROOT(survives_odd_cgroup_files),
      WITH_ROOT(reads_steal_and_peak),
      cmocka_unit_test(the_peak_follows_touched_memory),
      cmocka_unit_test(usage_grows_with_use),
      cmocka_unit_test(delay_is_told_as_of_a_moment),
      cmocka_unit_test(tells_sleep_from_waiting_for_a_cpu),
      cmocka_unit_test(the_calibration_loop_takes_time),
      cmocka_unit_test(proves_the_allocator),
      cmocka_unit_test(what_the_allocator_caches_goes_back_when_asked),
  };
  return cmocka_run_group_tests_name("osstat", tests, NULL, NULL);
}
