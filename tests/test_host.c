/*
 * Machine facts read from made-up trees of /proc and /sys, in the words that real kernels use.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/host.h"
#include "tests/runner_fixture.h"

static void limit_is(double cpus, double period_s) {
  struct cgroup_limit limit;
  cgroup_cpu_limit(scratch, &limit);
  assert_true(limit.cpus > cpus - 1e-9 && limit.cpus < cpus + 1e-9);
  assert_true(limit.period_s > period_s - 1e-9 && limit.period_s < period_s + 1e-9);
}

#define V2_MOUNT "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"

static void version_2_gives_the_tightest_group_up_to_the_root(void **state) {
  (void)state;
  scratch_write("proc/self/mountinfo", V2_MOUNT);
  scratch_write("proc/self/cgroup", "0::/user.slice/job\n");
  scratch_write("sys/fs/cgroup/user.slice/job/cpu.max", "max 100000\n");
  limit_is(0, 0);
  scratch_write("sys/fs/cgroup/user.slice/job/cpu.max", "300000 100000\n");
  limit_is(3, 0.1);
  scratch_write("sys/fs/cgroup/user.slice/cpu.max", "75000 50000\n");
  limit_is(1.5, 0.05);
  scratch_write("sys/fs/cgroup/cpu.max", "900000 100000\n");
  limit_is(1.5, 0.05);
}

static void version_1_reads_quota_and_period(void **state) {
  (void)state;
  scratch_write("proc/self/mountinfo",
                "33 32 0:29 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
                "34 32 0:30 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n");
  scratch_write("proc/self/cgroup", "5:cpuset:/\n4:cpu,cpuacct:/docker/ab\n");
  scratch_write("sys/fs/cgroup/cpu,cpuacct/docker/ab/cpu.cfs_period_us", "100000\n");
  scratch_write("sys/fs/cgroup/cpu,cpuacct/docker/ab/cpu.cfs_quota_us", "-1\n");
  limit_is(0, 0);
  scratch_write("sys/fs/cgroup/cpu,cpuacct/docker/ab/cpu.cfs_quota_us", "50000\n");
  limit_is(0.5, 0.1);
}

/* In a container the mount shows the group itself as its top. */
static void a_container_sees_its_own_group_as_the_top(void **state) {
  (void)state;
  scratch_write("proc/self/mountinfo",
                "41 40 0:30 /docker/ab /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu\n");
  scratch_write("proc/self/cgroup", "4:cpu:/docker/ab\n");
  scratch_write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  scratch_write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "200000\n");
  limit_is(2, 0.1);
}

static void damaged_or_missing_files_limit_nothing(void **state) {
  (void)state;
  limit_is(0, 0);
  scratch_write("proc/self/mountinfo", "nonsense\n - \n" V2_MOUNT);
  scratch_write("proc/self/cgroup", "\n:\n0::\n");
  scratch_write("sys/fs/cgroup/cpu.max", "100000\n");
  limit_is(0, 0);
  scratch_write("sys/fs/cgroup/cpu.max", "0 0\n");
  limit_is(0, 0);
}

static void facts_are_read_as_the_kernel_writes_them(void **state) {
  (void)state;
  struct host h;
  char line[200];
  scratch_write("proc/cpuinfo", "processor\t: 0\nmodel name\t: Imagined CPU @ 3.1GHz\n"
                                "flags\t\t: fpu sse hypervisor\n\nprocessor\t: 1\n"
                                "model name\t: Another\n");
  scratch_write("proc/meminfo", "MemTotal:       16384 kB\nMemFree: 1 kB\n");
  scratch_write("proc/loadavg", "0.25 0.10 0.05 1/100 77\n");
  scratch_write("proc/sys/kernel/randomize_va_space", "2\n");
  scratch_write("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
  scratch_write("sys/devices/system/cpu/intel_pstate/no_turbo", "1\n");
  scratch_write("sys/devices/system/cpu/smt/active", "1\n");
  scratch_write("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n");
  scratch_write("sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "performance\n");
  host_read(scratch, &h);
  assert_string_equal(h.cpu_model, "Imagined CPU @ 3.1GHz");
  assert_string_equal(h.virtualization, "vm");
  assert_int_equal(h.memory_bytes, 16384 * 1024);
  assert_true(h.load1 > 0.249 && h.load1 < 0.251);
  assert_string_equal(h.aslr, "full");
  assert_string_equal(h.thp, "madvise");
  assert_string_equal(h.turbo, "off");
  assert_string_equal(h.smt, "on");
  assert_string_equal(h.governor, "performance");
  host_line(&h, line, sizeof line);
  assert_string_equal(line, ", governor performance, turbo off");
  scratch_write("sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "powersave\n");
  scratch_write(".dockerenv", "");
  host_read(scratch, &h);
  assert_string_equal(h.governor, "mixed");
  assert_string_equal(h.virtualization, "container, vm");
}

static void what_is_not_there_is_not_guessed(void **state) {
  (void)state;
  struct host h;
  char line[200];
  host_read(scratch, &h);
  assert_string_equal(h.cpu_model, "n/a");
  assert_string_equal(h.turbo, "n/a");
  assert_string_equal(h.thp, "n/a");
  assert_true(h.load1 < 0);
  h.cgroup.cpus = 1.5;
  host_line(&h, line, sizeof line);
  assert_string_equal(line, ", governor n/a, turbo n/a, cgroup limits to 1.5 CPUs");
}

#define IN_SCRATCH(test) cmocka_unit_test_setup_teardown(test, scratch_open, scratch_close)

/* A group's own limit, less what it uses; file cache that lies idle counts as free. */
static void memory_that_version_2_leaves(void **state) {
  (void)state;
  scratch_write("proc/self/mountinfo", V2_MOUNT);
  scratch_write("proc/self/cgroup", "0::/user.slice/job\n");
  scratch_write("proc/meminfo", "MemTotal: 9000 kB\nMemFree: 1 kB\nMemAvailable:    8000 kB\n");
  assert_true(cgroup_memory_left(scratch) == UINT64_MAX);
  assert_true(cgroup_memory_available(scratch) == 8000 * 1024);
  scratch_write("sys/fs/cgroup/user.slice/job/memory.max", "max\n");
  scratch_write("sys/fs/cgroup/user.slice/job/memory.current", "900000\n");
  assert_true(cgroup_memory_left(scratch) == UINT64_MAX);
  scratch_write("sys/fs/cgroup/user.slice/job/memory.max", "5000000\n");
  assert_true(cgroup_memory_left(scratch) == 4100000);
  scratch_write("sys/fs/cgroup/user.slice/job/memory.stat",
                "anon 5\nfile 700000\ninactive_file 600000\nactive_file 100000\n");
  assert_true(cgroup_memory_left(scratch) == 4700000);
  assert_true(cgroup_memory_available(scratch) == 4700000);
  /* The group above leaves less, the root more. */
  scratch_write("sys/fs/cgroup/memory.max", "9000000\n");
  scratch_write("sys/fs/cgroup/memory.current", "0\n");
  scratch_write("sys/fs/cgroup/user.slice/memory.max", "3000000\n");
  scratch_write("sys/fs/cgroup/user.slice/memory.current", "2000000\n");
  assert_true(cgroup_memory_left(scratch) == 1000000);
  scratch_write("sys/fs/cgroup/user.slice/memory.current", "3500000\n");
  assert_true(cgroup_memory_left(scratch) == 0);
}

/* Version 1 says "no limit" by a number beyond any machine; -1 is none either. */
static void memory_that_version_1_leaves(void **state) {
  (void)state;
  scratch_write("proc/self/mountinfo",
                "41 40 0:30 /docker/ab /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu\n"
                "42 40 0:31 /docker/ab /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n");
  scratch_write("proc/self/cgroup", "4:cpu:/docker/ab\n3:memory:/docker/ab\n");
  scratch_write("proc/meminfo", "MemAvailable: 8000 kB\n");
  scratch_write("sys/fs/cgroup/cpu/memory.limit_in_bytes", "1\n"); /* not that hierarchy's */
  scratch_write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  scratch_write("sys/fs/cgroup/memory/memory.usage_in_bytes", "1000000\n");
  assert_true(cgroup_memory_available(scratch) == 8000 * 1024);
  scratch_write("sys/fs/cgroup/memory/memory.limit_in_bytes", "-1\n");
  assert_true(cgroup_memory_left(scratch) == UINT64_MAX);
  scratch_write("sys/fs/cgroup/memory/memory.limit_in_bytes", "4000000\n");
  scratch_write("sys/fs/cgroup/memory/memory.stat",
                "inactive_file 900000\ntotal_inactive_file 500000\n");
  assert_true(cgroup_memory_available(scratch) == 3500000);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      IN_SCRATCH(version_2_gives_the_tightest_group_up_to_the_root),
      IN_SCRATCH(version_1_reads_quota_and_period),
      IN_SCRATCH(a_container_sees_its_own_group_as_the_top),
      IN_SCRATCH(damaged_or_missing_files_limit_nothing),
      IN_SCRATCH(memory_that_version_2_leaves),
      IN_SCRATCH(memory_that_version_1_leaves),
      IN_SCRATCH(facts_are_read_as_the_kernel_writes_them),
      IN_SCRATCH(what_is_not_there_is_not_guessed),
  };
  return cmocka_run_group_tests_name("host", tests, NULL, NULL);
}
