/* Readings of getrusage, /proc and the cgroup file system; see osstat.h. */
#include "harness/osstat.h"

#include "harness/clock.h"

#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* A reading of schedstat that took longer was interrupted. */
#define READ_NS 50000
#define READ_ATTEMPTS 3

void os_usage_thread(struct os_usage *out) {
  struct rusage r = {0};
  getrusage(RUSAGE_THREAD, &r); /* can only fail for a bad argument */
  *out = (struct os_usage){
      .cpu_ns = clock_thread_cpu_ns(),
      .voluntary = (uint64_t)r.ru_nvcsw,
      .involuntary = (uint64_t)r.ru_nivcsw,
      .minor = (uint64_t)r.ru_minflt,
      .major = (uint64_t)r.ru_majflt,
  };
}

/*
 * Reads the start of a /proc or cgroup file as one string. No stdio: it would allocate from the
 * allocator that is being measured.
 */
static bool read_file(const char *path, char *buffer, size_t size) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return false;
  size_t have = 0;
  ssize_t n = 0;
  while (have < size - 1 && (n = read(fd, buffer + have, size - 1 - have)) > 0)
    have += (size_t)n;
  close(fd);
  buffer[have] = '\0';
  return n >= 0 && have > 0;
}

/* The number behind `key` at the start of a line. */
static bool find_number(const char *text, const char *key, uint64_t *out) {
  size_t length = strlen(key);
  for (const char *line = text; line && *line; line = strchr(line, '\n')) {
    line += *line == '\n';
    if (strncmp(line, key, length) == 0 && sscanf(line + length, " %" SCNu64, out) == 1)
      return true;
  }
  return false;
}

bool os_run_delay_ns(pid_t tid, uint64_t *out) {
  char path[64], text[128];
  snprintf(path, sizeof path, "/proc/self/task/%d/schedstat", (int)tid);
  return read_file(path, text, sizeof text) && sscanf(text, "%*s %" SCNu64, out) == 1;
}

bool os_run_delay_at(pid_t tid, uint64_t end_ns, uint64_t cpu_ns, uint64_t *out) {
  uint64_t now = 0, cpu = 0;
  /* Again when it lost the CPU meanwhile: that delay may be in the reading or not. */
  for (int i = 0; i < READ_ATTEMPTS; i++) {
    cpu = clock_thread_cpu_ns();
    now = clock_wall_ns();
    if (!os_run_delay_ns(tid, out))
      return false;
    if (clock_wall_ns() - now < READ_NS)
      break;
  }
  uint64_t since = now - end_ns, on_cpu = cpu - cpu_ns;
  uint64_t late = since > on_cpu ? since - on_cpu : 0;
  if (late >= READ_NS)
    *out -= late < *out ? late : *out;
  return true;
}

/* The state stands behind the name, which may hold anything, brackets too. */
bool os_sleeps(pid_t tid) {
  char path[64], text[512];
  snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)tid);
  const char *name_end = read_file(path, text, sizeof text) ? strrchr(text, ')') : NULL;
  return !name_end || strncmp(name_end, ") R", 3) != 0;
}

bool os_steal_ns(const char *root, uint64_t *out) {
  char path[512], text[512]; /* only the first line is wanted */
  uint64_t ticks;
  long per_second = sysconf(_SC_CLK_TCK);
  snprintf(path, sizeof path, "%s/proc/stat", root);
  if (per_second <= 0 || !read_file(path, text, sizeof text) ||
      sscanf(text, "cpu %*u %*u %*u %*u %*u %*u %*u %" SCNu64, &ticks) != 1)
    return false;
  *out = ticks * (NS_PER_S / (uint64_t)per_second);
  return true;
}

bool os_rss_peak(const char *root, uint64_t *bytes) {
  char path[512], text[4096];
  uint64_t kib;
  snprintf(path, sizeof path, "%s/proc/self/status", root);
  if (!read_file(path, text, sizeof text) || !find_number(text, "VmHWM:", &kib))
    return false;
  *bytes = kib * 1024;
  return true;
}

bool os_rss_now(const char *root, uint64_t *bytes) {
  char path[512], text[128];
  uint64_t pages;
  long page = sysconf(_SC_PAGESIZE);
  snprintf(path, sizeof path, "%s/proc/self/statm", root);
  if (page <= 0 || !read_file(path, text, sizeof text) || sscanf(text, "%*u %" SCNu64, &pages) != 1)
    return false;
  *bytes = pages * (uint64_t)page;
  return true;
}

bool os_rss_peak_reset(void) {
  int fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
  if (fd < 0)
    return false;
  bool done = write(fd, "5", 1) == 1; /* proc(5): resets the peak resident set */
  close(fd);
  return done;
}

unsigned os_allowed_cpus(void) {
  for (size_t cpus = 1024; cpus <= 1024 * 1024; cpus *= 4) { /* EINVAL: the kernel has more */
    cpu_set_t *set = CPU_ALLOC(cpus);
    size_t size = CPU_ALLOC_SIZE(cpus);
    if (!set)
      return 1;
    int count = sched_getaffinity(0, size, set) == 0 ? CPU_COUNT_S(size, set) : 0;
    CPU_FREE(set);
    if (count > 0)
      return (unsigned)count;
  }
  return 1;
}

/* ---- cgroups ---- */

/* Where a controller's files may lie; version 1 has a tree per controller, version 2 one for all.
 */
static const char *const cpu_trees_v1[] = {"cpu", "cpu,cpuacct", "cpuacct,cpu"};
static const char *const trees_v2[] = {"", "unified"};

static bool names_controller(const char *list, size_t length, const char *name) {
  size_t n = strlen(name);
  for (const char *word = list; word < list + length;) {
    const char *comma = memchr(word, ',', (size_t)(list + length - word));
    size_t word_length = (size_t)((comma ? comma : list + length) - word);
    if (word_length == n && memcmp(word, name, n) == 0)
      return true;
    word += word_length + 1;
  }
  return false;
}

/*
 * Sums nr_throttled from `group` up to the tree's root: a quota above stops us as well. Inside a
 * container the path may not exist; the root of the mount is then the container's own group.
 */
static bool sum_throttled(const char *tree, const char *group, uint64_t *sum) {
  char path[1024], text[1024];
  char *cut;
  bool any = false;
  int base = snprintf(path, sizeof path, "%s", tree);
  if (base < 0 || (size_t)base >= sizeof path - 32 ||
      strlen(group) >= sizeof path - 32 - (size_t)base)
    return false;
  strcpy(path + base, strcmp(group, "/") == 0 ? "" : group);
  for (;;) {
    uint64_t n;
    size_t length = strlen(path);
    strcpy(path + length, "/cpu.stat");
    if (read_file(path, text, sizeof text) && find_number(text, "nr_throttled ", &n)) {
      *sum += n;
      any = true;
    }
    path[length] = '\0';
    cut = strrchr(path + base, '/');
    if (!cut)
      return any;
    *cut = '\0';
  }
}

static bool sum_first_tree(const char *root, const char *const *trees, size_t count,
                           const char *group, uint64_t *sum) {
  for (size_t i = 0; i < count; i++) {
    char tree[600];
    snprintf(tree, sizeof tree, "%s/sys/fs/cgroup%s%s", root, *trees[i] ? "/" : "", trees[i]);
    if (sum_throttled(tree, group, sum))
      return true;
  }
  return false;
}

/* A line of /proc/self/cgroup is "ID:CONTROLLERS:PATH"; version 2 has no controllers in it. */
bool os_throttled(const char *root, uint64_t *periods) {
  char path[512], text[4096];
  bool any = false;
  *periods = 0;
  snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
  if (!read_file(path, text, sizeof text))
    return false;
  char *save = NULL;
  for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
    char *controllers = strchr(line, ':');
    char *group = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!group)
      continue;
    size_t length = (size_t)(group - controllers - 1);
    if (length == 0)
      any |= sum_first_tree(root, trees_v2, sizeof trees_v2 / sizeof *trees_v2, group + 1, periods);
    else if (names_controller(controllers + 1, length, "cpu"))
      any |= sum_first_tree(root, cpu_trees_v1, sizeof cpu_trees_v1 / sizeof *cpu_trees_v1,
                            group + 1, periods);
  }
  return any;
}
