/* Machine facts from /proc and /sys; see host.h. */
#include "harness/host.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

/* The first line of root/path without its newline; false (and text untouched) if there is none. */
static bool first_line(const char *root, const char *path, char *text, size_t size) {
  char full[PATH_MAX], line[512];
  snprintf(full, sizeof full, "%s%s", root, path);
  FILE *f = fopen(full, "re");
  if (!f)
    return false;
  bool ok = fgets(line, sizeof line, f) != NULL;
  fclose(f);
  if (!ok)
    return false;
  line[strcspn(line, "\n")] = '\0';
  snprintf(text, size, "%.*s", (int)size - 1, line);
  return true;
}

static bool exists(const char *root, const char *path) {
  char full[PATH_MAX];
  snprintf(full, sizeof full, "%s%s", root, path);
  return access(full, F_OK) == 0;
}

/* Calls take(key, value) for each "key : value" line of a file in /proc. */
static void each_pair(const char *root, const char *path,
                      void (*take)(struct host *, const char *, const char *), struct host *h) {
  char full[PATH_MAX];
  snprintf(full, sizeof full, "%s%s", root, path);
  FILE *f = fopen(full, "re");
  char *line = NULL;
  size_t size = 0;
  while (f && getline(&line, &size, f) > 0) {
    char *colon = strchr(line, ':');
    if (!colon)
      continue;
    char *end = colon;
    while (end > line && (end[-1] == ' ' || end[-1] == '\t'))
      end--;
    *end = '\0';
    char *value = colon + 1 + strspn(colon + 1, " \t");
    value[strcspn(value, "\n")] = '\0';
    take(h, line, value);
  }
  free(line);
  if (f)
    fclose(f);
}

static void take_cpuinfo(struct host *h, const char *key, const char *value) {
  /* x86, then the names other architectures use. */
  bool model = strcmp(key, "model name") == 0 || strcmp(key, "cpu model") == 0 ||
               strcmp(key, "cpu") == 0 || strcmp(key, "Model") == 0;
  if (model && strcmp(h->cpu_model, "n/a") == 0)
    snprintf(h->cpu_model, sizeof h->cpu_model, "%.*s", HOST_TEXT - 1, value);
  if (strcmp(key, "flags") == 0 && strstr(value, "hypervisor"))
    snprintf(h->virtualization, sizeof h->virtualization, "vm");
}

static void take_meminfo(struct host *h, const char *key, const char *value) {
  if (strcmp(key, "MemTotal") == 0)
    h->memory_bytes = strtoull(value, NULL, 10) * 1024;
}

static void read_governor(const char *root, struct host *h) {
  char path[120], governor[32];
  for (int cpu = 0; cpu < 4096; cpu++) {
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d", cpu);
    if (!exists(root, path))
      break;
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cpufreq/scaling_governor", cpu);
    if (!first_line(root, path, governor, sizeof governor))
      continue;
    if (strcmp(h->governor, "n/a") == 0)
      snprintf(h->governor, sizeof h->governor, "%s", governor);
    else if (strcmp(h->governor, governor) != 0)
      snprintf(h->governor, sizeof h->governor, "mixed");
  }
}

static void read_turbo(const char *root, struct host *h) {
  char text[16];
  if (first_line(root, "/sys/devices/system/cpu/intel_pstate/no_turbo", text, sizeof text))
    snprintf(h->turbo, sizeof h->turbo, "%s", text[0] == '1' ? "off" : "on");
  else if (first_line(root, "/sys/devices/system/cpu/cpufreq/boost", text, sizeof text))
    snprintf(h->turbo, sizeof h->turbo, "%s", text[0] == '1' ? "on" : "off");
}

/* The kernel marks the choice: "always [madvise] never". */
static void read_thp(const char *root, struct host *h) {
  char text[100];
  if (!first_line(root, "/sys/kernel/mm/transparent_hugepage/enabled", text, sizeof text))
    return;
  char *open = strchr(text, '['), *close = open ? strchr(open, ']') : NULL;
  if (close)
    snprintf(h->thp, sizeof h->thp, "%.*s", (int)(close - open - 1), open + 1);
}

static void read_aslr(const char *root, struct host *h) {
  static const char *const names[] = {"off", "partial", "full"};
  char text[16];
  if (first_line(root, "/proc/sys/kernel/randomize_va_space", text, sizeof text) &&
      text[0] >= '0' && text[0] <= '2')
    snprintf(h->aslr, sizeof h->aslr, "%s", names[text[0] - '0']);
}

static void read_smt(const char *root, struct host *h) {
  char text[16];
  if (first_line(root, "/sys/devices/system/cpu/smt/active", text, sizeof text))
    snprintf(h->smt, sizeof h->smt, "%s", text[0] == '1' ? "on" : "off");
}

static void read_container(const char *root, struct host *h) {
  if (!exists(root, "/.dockerenv") && !exists(root, "/run/.containerenv"))
    return;
  bool vm = strcmp(h->virtualization, "vm") == 0;
  snprintf(h->virtualization, sizeof h->virtualization, "%s", vm ? "container, vm" : "container");
}

static void read_uname(struct host *h) {
  static const struct {
    const char *machine, *go;
  } names[] = {{"x86_64", "amd64"}, {"aarch64", "arm64"}, {"i686", "386"}, {"armv7l", "arm"}};
  struct utsname u;
  if (uname(&u) != 0)
    return;
  snprintf(h->name, sizeof h->name, "%.*s", HOST_TEXT - 1, u.nodename);
  snprintf(h->kernel, sizeof h->kernel, "%.70s %.70s", u.sysname, u.release);
  snprintf(h->arch, sizeof h->arch, "%.31s", u.machine);
  snprintf(h->goarch, sizeof h->goarch, "%.31s", u.machine);
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    if (strcmp(u.machine, names[i].machine) == 0)
      snprintf(h->goarch, sizeof h->goarch, "%s", names[i].go);
}

void host_read(const char *root, struct host *h) {
  *h = (struct host){.name = "unknown",
                     .cpu_model = "n/a",
                     .arch = "n/a",
                     .goarch = "n/a",
                     .kernel = "n/a",
                     .governor = "n/a",
                     .turbo = "n/a",
                     .thp = "n/a",
                     .aslr = "n/a",
                     .virtualization = "none",
                     .smt = "n/a",
                     .load1 = -1};
  read_uname(h);
  each_pair(root, "/proc/cpuinfo", take_cpuinfo, h);
  each_pair(root, "/proc/meminfo", take_meminfo, h);
  read_governor(root, h);
  read_turbo(root, h);
  read_thp(root, h);
  read_aslr(root, h);
  read_smt(root, h);
  read_container(root, h);
  char load[64];
  if (first_line(root, "/proc/loadavg", load, sizeof load))
    h->load1 = strtod(load, NULL);
  cgroup_cpu_limit(root, &h->cgroup);
}

void host_line(const struct host *h, char *text, size_t size) {
  char limit[60] = "";
  if (h->cgroup.cpus > 0)
    snprintf(limit, sizeof limit, ", cgroup limits to %.3g CPUs", h->cgroup.cpus);
  snprintf(text, size, ", governor %s, turbo %s%s", h->governor, h->turbo, limit);
}
