/*
 * cpu.max and memory.max (version 2), cpu.cfs_quota_us and memory.limit_in_bytes (version 1), from
 * our group up to the root; see cgroup.h.
 */
#include "harness/cgroup.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where a hierarchy is mounted, and which of its groups the mount shows as its top. */
struct mount {
  char point[PATH_MAX];
  char top[PATH_MAX];
};

static bool has_word(const char *list, const char *word) {
  size_t length = strlen(word);
  for (const char *p = list; p; p = strchr(p, ',')) {
    p += *p == ',';
    size_t n = strcspn(p, ",\n ");
    if (n == length && strncmp(p, word, n) == 0)
      return true;
  }
  return false;
}

/* Which hierarchy: version 2 has one for all controllers. */
struct hierarchy {
  bool v2;
  const char *controller; /* "cpu", "memory" */
};

/*
 * A line of mountinfo: "36 35 98:0 /top /point rw,noatime master:1 - cgroup cgroup rw,cpu".
 * true when it mounts the hierarchy: version 2, or version 1 with the controller.
 */
static bool match_mount(const char *line, const struct hierarchy *h, struct mount *m) {
  const char *dash = strstr(line, " - ");
  char type[32], options[512];
  if (!dash || sscanf(dash, " - %31s %*s %511s", type, options) != 2)
    return false;
  if (strcmp(type, h->v2 ? "cgroup2" : "cgroup") != 0 ||
      (!h->v2 && !has_word(options, h->controller)))
    return false;
  return sscanf(line, "%*s %*s %*s %4095s %4095s", m->top, m->point) == 2;
}

static bool find_mount(const char *root, const struct hierarchy *h, struct mount *m) {
  char path[PATH_MAX];
  snprintf(path, sizeof path, "%s/proc/self/mountinfo", root);
  FILE *f = fopen(path, "re");
  char *line = NULL;
  size_t size = 0;
  bool found = false;
  while (f && !found && getline(&line, &size, f) > 0)
    found = match_mount(line, h, m);
  free(line);
  if (f)
    fclose(f);
  return found;
}

/* Our group in the hierarchy, from "0::/path" (version 2) or "1:cpu,cpuacct:/path". */
static bool find_group(const char *root, const struct hierarchy *h, char group[PATH_MAX]) {
  char path[PATH_MAX];
  snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
  FILE *f = fopen(path, "re");
  char *line = NULL;
  size_t size = 0;
  bool found = false;
  while (f && !found && getline(&line, &size, f) > 0) {
    char *controllers = strchr(line, ':');
    char *name = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!name)
      continue;
    *name++ = '\0';
    found = h->v2 ? strncmp(line, "0:", 2) == 0 && controllers[1] == '\0'
                  : has_word(controllers + 1, h->controller);
    if (found)
      snprintf(group, PATH_MAX, "%.*s", (int)strcspn(name, "\n"), name);
  }
  free(line);
  if (f)
    fclose(f);
  return found;
}

static bool read_line(const char *path, char *text, size_t size) {
  FILE *f = fopen(path, "re");
  if (!f)
    return false;
  bool ok = fgets(text, (int)size, f) != NULL;
  fclose(f);
  return ok;
}

/* Called with the folder of our group, then with that of each group above it. */
typedef void take_group(const char *folder, bool v2, void *out);

/* Keeps a group's quota when it is tighter than what is known. */
static void take_quota(const char *folder, bool v2, void *context) {
  struct cgroup_limit *out = context;
  char path[3 * PATH_MAX + 32], text[100];
  double quota = 0, period = 0;
  if (v2) {
    snprintf(path, sizeof path, "%s/cpu.max", folder);
    if (!read_line(path, text, sizeof text) || sscanf(text, "%lf %lf", &quota, &period) != 2)
      return; /* "max 100000" is no limit */
  } else {
    snprintf(path, sizeof path, "%s/cpu.cfs_period_us", folder);
    if (!read_line(path, text, sizeof text) || sscanf(text, "%lf", &period) != 1)
      return;
    snprintf(path, sizeof path, "%s/cpu.cfs_quota_us", folder);
    if (!read_line(path, text, sizeof text) || sscanf(text, "%lf", &quota) != 1)
      return; /* -1 is no limit */
  }
  if (quota <= 0 || period <= 0 || (out->cpus > 0 && out->cpus <= quota / period))
    return;
  out->cpus = quota / period;
  out->period_s = period / 1e6;
  snprintf(out->where, sizeof out->where, "%.299s", path);
}

/* The number behind `label` in a file of a group; "max" is no number. */
static bool read_number(const char *folder, const char *name, const char *label, uint64_t *out) {
  char path[3 * PATH_MAX + 32], line[200];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *f = fopen(path, "re");
  bool found = false;
  size_t length = strlen(label);
  while (f && !found && fgets(line, sizeof line, f))
    found = strncmp(line, label, length) == 0 && line[length + strspn(line + length, " ")] != '-' &&
            sscanf(line + length, "%" SCNu64, out) == 1;
  if (f)
    fclose(f);
  return found;
}

/* Keeps what a group's limit leaves when that is less than what is known. */
static void take_memory(const char *folder, bool v2, void *context) {
  uint64_t *left = context, most, used, idle;
  if (!read_number(folder, v2 ? "memory.max" : "memory.limit_in_bytes", "", &most) ||
      !read_number(folder, v2 ? "memory.current" : "memory.usage_in_bytes", "", &used))
    return;
  if (read_number(folder, "memory.stat", v2 ? "inactive_file " : "total_inactive_file ", &idle))
    used = used > idle ? used - idle : 0;
  uint64_t here = most > used ? most - used : 0;
  *left = here < *left ? here : *left;
}

static void walk(const char *root, struct hierarchy h, take_group *take, void *out) {
  struct mount m;
  char group[PATH_MAX], folder[3 * PATH_MAX];
  if (!find_mount(root, &h, &m) || !find_group(root, &h, group))
    return;
  /* A container sees its own group as the mount's top: that part of the path is not there. */
  const char *below = group;
  size_t top = strcmp(m.top, "/") == 0 ? 0 : strlen(m.top);
  if (top && strncmp(group, m.top, top) == 0)
    below = group + top;
  snprintf(folder, sizeof folder, "%s%s%s", root, m.point, below);
  size_t floor = strlen(root) + strlen(m.point);
  for (;;) {
    while (strlen(folder) > floor && folder[strlen(folder) - 1] == '/')
      folder[strlen(folder) - 1] = '\0';
    take(folder, h.v2, out);
    char *slash = strrchr(folder, '/');
    if (strlen(folder) <= floor || !slash)
      return;
    *slash = '\0';
  }
}

static void walk_both(const char *root, const char *controller, take_group *take, void *out) {
  walk(root, (struct hierarchy){true, controller}, take, out);
  walk(root, (struct hierarchy){false, controller}, take, out);
}

void cgroup_cpu_limit(const char *root, struct cgroup_limit *out) {
  *out = (struct cgroup_limit){0};
  walk_both(root, "cpu", take_quota, out);
}

uint64_t cgroup_memory_left(const char *root) {
  uint64_t left = UINT64_MAX;
  walk_both(root, "memory", take_memory, &left);
  return left;
}

uint64_t cgroup_memory_available(const char *root) {
  char folder[PATH_MAX];
  uint64_t left = cgroup_memory_left(root), kib;
  snprintf(folder, sizeof folder, "%s/proc", root);
  if (read_number(folder, "meminfo", "MemAvailable:", &kib) && kib * 1024 < left)
    left = kib * 1024;
  return left;
}
