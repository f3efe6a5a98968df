/*
 * Binding plans on machines that are not here: synthetic topologies, and what the order of threads
 * must be on them, counted by hand from hwloc's numbering (PUs of a core are neighbours).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/placement.h"

#include <string.h>

static hwloc_topology_t synthetic(const char *description) {
  hwloc_topology_t t;
  assert_int_equal(hwloc_topology_init(&t), 0);
  assert_int_equal(hwloc_topology_set_synthetic(t, description), 0);
  assert_int_equal(hwloc_topology_load(t), 0);
  return t;
}

static void place(struct placement *p, hwloc_topology_t t, const char *allowed, const char *cpuset,
                  enum bind_policy policy) {
  struct error e;
  hwloc_bitmap_t set = NULL;
  if (allowed) {
    set = hwloc_bitmap_alloc();
    assert_int_equal(hwloc_bitmap_list_sscanf(set, allowed), 0);
  }
  if (!placement_init(p, t, set, cpuset, policy, &e))
    fail_msg("refused: %s", e.text);
  hwloc_bitmap_free(set);
}

/* The first n threads run on these CPUs. */
static void runs_on(const struct placement *p, unsigned n, const int *cpus) {
  for (unsigned i = 0; i < n; i++)
    if (placement_cpu(p, i) != cpus[i])
      fail_msg("thread %u runs on CPU %d instead of %d", i, placement_cpu(p, i), cpus[i]);
}

static void says(const struct placement *p, unsigned threads, const char *expected) {
  char line[300];
  placement_line(p, threads, line, sizeof line);
  assert_string_equal(line, expected);
}

static void maps(const struct placement *p, unsigned threads, const char *expected) {
  char line[300];
  placement_map_line(p, threads, line, sizeof line);
  assert_string_equal(line, expected);
}

static void one_core_with_siblings_is_one(void **state) {
  (void)state;
  hwloc_topology_t t = synthetic("core:1 pu:2");
  struct placement p;
  place(&p, t, NULL, NULL, BIND_CORE);
  says(&p, 1, "1 thread on 2 CPUs, 1 NUMA node");
  says(&p, 2, "2 threads on 2 CPUs (1 core, siblings share it), 1 NUMA node");
  placement_free(&p);
  hwloc_topology_destroy(t);
}

/* 2 packages x 16 cores x 2 hardware threads: PU 2c and 2c+1 belong to core c. */
static void a_server_fills_cores_before_siblings(void **state) {
  (void)state;
  hwloc_topology_t t = synthetic("package:2 [numa] core:16 pu:2");
  struct placement p;
  place(&p, t, NULL, NULL, BIND_CORE);
  assert_int_equal(p.cpus, 64);
  assert_int_equal(p.cores, 32);
  assert_int_equal(p.packages, 2);
  assert_int_equal(p.nodes, 2);
  for (unsigned i = 0; i < 32; i++)
    assert_int_equal(placement_cpu(&p, i), 2 * i);
  for (unsigned i = 0; i < 32; i++)
    assert_int_equal(placement_cpu(&p, 32 + i), 2 * i + 1);
  for (unsigned i = 0; i < 6; i++)
    assert_int_equal(placement_cpu(&p, 64 + i), 2 * i);
  says(&p, 32, "32 threads on 64 CPUs, 2 NUMA nodes");
  says(&p, 40, "40 threads on 64 CPUs (32 cores, siblings share them), 2 NUMA nodes");
  says(&p, 128, "128 threads on 64 CPUs (2 a CPU, oversubscribed), 2 NUMA nodes");
  says(&p, 100, "100 threads on 64 CPUs (1 or 2 a CPU, oversubscribed), 2 NUMA nodes");
  maps(&p, 2, "threads in order on CPUs 0,2; first touch on NUMA node 0");
  maps(&p, 40,
       "threads in order on CPUs 0-62:2,1-15:2; first touch on NUMA node 0 (threads "
       "0-15,32-39), 1 (16-31)");
  maps(&p, 66,
       "threads in order on CPUs 0-62:2,1-63:2, then around again; first touch on NUMA "
       "node 0 (threads 0-15,32-47,64,65), 1 (16-31,48-63)");
  char cut[24];
  placement_map_line(&p, 66, cut, sizeof cut);
  assert_string_equal(cut, "threads in order on ...");
  placement_free(&p);
  hwloc_topology_destroy(t);
}

static void policies_share_more_or_less(void **state) {
  (void)state;
  hwloc_topology_t t = synthetic("package:2 [numa] core:16 pu:2");
  struct placement p;
  place(&p, t, NULL, NULL, BIND_PU);
  runs_on(&p, 4, (int[]){0, 1, 2, 3});
  placement_free(&p);
  place(&p, t, NULL, NULL, BIND_PACKAGE);
  runs_on(&p, 6, (int[]){0, 32, 2, 34, 4, 36});
  placement_free(&p);
  place(&p, t, NULL, NULL, BIND_NUMA);
  runs_on(&p, 6, (int[]){0, 32, 2, 34, 4, 36});
  maps(&p, 6,
       "threads in order on CPUs 0,32,2,34,4,36; first touch on NUMA node 0 (threads "
       "0,2,4), 1 (1,3,5)");
  assert_int_equal(placement_node(&p, 0), 0);
  assert_int_equal(placement_node(&p, 65), 1); /* the 64 CPUs again, and their second */
  placement_free(&p);
  place(&p, t, NULL, NULL, BIND_NONE);
  says(&p, 4, "4 threads on 64 CPUs, not bound, 2 NUMA nodes");
  maps(&p, 4,
       "threads on any of CPUs 0-63, where their memory comes from is the scheduler's "
       "choice");
  placement_free(&p);
  hwloc_topology_destroy(t);
}

/* NUMA nodes within a package: turns go over nodes, not packages. */
static void nodes_and_packages_are_told_apart(void **state) {
  (void)state;
  hwloc_topology_t t = synthetic("package:2 group:2 [numa] core:2 pu:1");
  struct placement p;
  place(&p, t, NULL, NULL, BIND_NUMA);
  assert_int_equal(p.nodes, 4);
  runs_on(&p, 8, (int[]){0, 2, 4, 6, 1, 3, 5, 7});
  placement_free(&p);
  place(&p, t, NULL, NULL, BIND_PACKAGE);
  runs_on(&p, 8, (int[]){0, 4, 1, 5, 2, 6, 3, 7});
  placement_free(&p);
  hwloc_topology_destroy(t);
}

/* 4 fast cores with two hardware threads, then 4 slow ones with one: CPUs 8, 10, 12, 14. */
static hwloc_topology_t laptop(void) {
  hwloc_topology_t t = synthetic("package:1 core:8 pu:2");
  hwloc_bitmap_t keep = hwloc_bitmap_alloc(), fast = hwloc_bitmap_alloc(),
                 slow = hwloc_bitmap_alloc();
  hwloc_bitmap_list_sscanf(keep, "0-8,10,12,14");
  hwloc_bitmap_list_sscanf(fast, "0-7");
  hwloc_bitmap_list_sscanf(slow, "8,10,12,14");
  assert_int_equal(hwloc_topology_restrict(t, keep, 0), 0);
  assert_int_equal(hwloc_cpukinds_register(t, fast, 1, 0, NULL, 0), 0);
  assert_int_equal(hwloc_cpukinds_register(t, slow, 0, 0, NULL, 0), 0);
  hwloc_bitmap_free(keep);
  hwloc_bitmap_free(fast);
  hwloc_bitmap_free(slow);
  return t;
}

static void a_laptop_fills_fast_cores_first(void **state) {
  (void)state;
  hwloc_topology_t t = laptop();
  struct placement p;
  place(&p, t, NULL, NULL, BIND_CORE);
  assert_int_equal(p.cpus, 12);
  assert_int_equal(p.cores, 8);
  assert_int_equal(p.core_kinds, 2);
  runs_on(&p, 12, (int[]){0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7});
  says(&p, 8, "8 threads on 12 CPUs, cores of unequal speed, 1 NUMA node");
  placement_free(&p);
  place(&p, t, NULL, NULL, BIND_PU);
  runs_on(&p, 12, (int[]){0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14});
  placement_free(&p);
  place(&p, t, NULL, "8,10", BIND_CORE);
  assert_int_equal(p.core_kinds, 1);
  placement_free(&p);
  hwloc_topology_destroy(t);
}

/* Of cores 0..3 with PUs 0-7 only these are allowed: a sibling alone counts as its core. */
static void holes_in_the_allowed_set_are_kept(void **state) {
  (void)state;
  hwloc_topology_t t = synthetic("package:1 core:4 pu:2");
  struct placement p;
  place(&p, t, "1,4-5,7", NULL, BIND_CORE);
  assert_int_equal(p.cpus, 4);
  assert_int_equal(p.cores, 3);
  runs_on(&p, 5, (int[]){1, 4, 7, 5, 1});
  assert_string_equal(p.cpu_list, "1,4-5,7");
  maps(&p, 4, "threads in order on CPUs 1,4,7,5; first touch on NUMA node 0");
  placement_free(&p);
  place(&p, t, "1,4-5,7", "4,7", BIND_CORE);
  runs_on(&p, 3, (int[]){4, 7, 4});
  placement_free(&p);
  hwloc_topology_destroy(t);
}

static void one_cpu_takes_all_threads(void **state) {
  (void)state;
  hwloc_topology_t t = synthetic("package:2 [numa] core:2 pu:2");
  struct placement p;
  place(&p, t, NULL, "3", BIND_CORE);
  runs_on(&p, 3, (int[]){3, 3, 3});
  says(&p, 32, "32 threads on 1 CPU (32 a CPU, oversubscribed), 1 NUMA node");
  says(&p, 1, "1 thread on 1 CPU, 1 NUMA node");
  maps(&p, 32, "threads in order on CPU 3; first touch on NUMA node 0");
  placement_free(&p);
  hwloc_topology_destroy(t);
}

static void refused(hwloc_topology_t t, const char *cpuset, const char *word) {
  struct placement p;
  struct error e;
  if (placement_init(&p, t, NULL, cpuset, BIND_CORE, &e))
    fail_msg("--cpuset %s was taken", cpuset);
  assert_int_equal(e.status, EXIT_USAGE);
  if (!strstr(e.text, word))
    fail_msg("--cpuset %s: \"%s\" is not in: %s", cpuset, word, e.text);
}

static void wrong_cpusets_say_what_may_be_used(void **state) {
  (void)state;
  hwloc_topology_t t = synthetic("package:1 core:2 pu:1");
  refused(t, "0-3", "CPU 2-3 is not there");
  refused(t, "0-3", "it may use 0-1");
  refused(t, "5", "CPU 5");
  refused(t, "1-0", "0-3,8");
  refused(t, "a", "0-3,8");
  refused(t, "0,", "0-3,8");
  refused(t, "0-", "0-3,8");
  refused(t, "", "0-3,8");
  refused(t, "0 1", "0-3,8");
  refused(t, "99999999999999999999", "0-3,8");
  hwloc_topology_destroy(t);
}

static void policies_have_names(void **state) {
  (void)state;
  enum bind_policy p;
  assert_true(bind_policy_parse("package", &p));
  assert_int_equal(p, BIND_PACKAGE);
  assert_string_equal(bind_policy_name(BIND_NUMA), "numa");
  assert_false(bind_policy_parse("socket", &p));
}

static void this_machine_can_be_read(void **state) {
  (void)state;
  struct error e;
  hwloc_topology_t t = placement_topology(&e);
  assert_non_null(t);
  struct placement p;
  place(&p, t, NULL, NULL, BIND_CORE);
  assert_true(p.cpus >= 1 && p.cores >= 1 && p.cores <= p.cpus);
  placement_free(&p);
  hwloc_topology_destroy(t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_server_fills_cores_before_siblings),
      cmocka_unit_test(one_core_with_siblings_is_one),
      cmocka_unit_test(policies_share_more_or_less),
      cmocka_unit_test(nodes_and_packages_are_told_apart),
      cmocka_unit_test(a_laptop_fills_fast_cores_first),
      cmocka_unit_test(holes_in_the_allowed_set_are_kept),
      cmocka_unit_test(one_cpu_takes_all_threads),
      cmocka_unit_test(wrong_cpusets_say_what_may_be_used),
      cmocka_unit_test(policies_have_names),
      cmocka_unit_test(this_machine_can_be_read),
  };
  return cmocka_run_group_tests_name("placement", tests, NULL, NULL);
}
