/* cpu.max (version 2) and cpu.cfs_quota_us (version 1), up to the root; see cgroup.h. */
#include "harness/cgroup.h"

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

/*
 * A line of mountinfo: "36 35 98:0 /top /point rw,noatime master:1 - cgroup cgroup rw,cpu".
 * true when it mounts the hierarchy: version 2, or version 1 with the cpu controller.
 */
static bool match_mount(const char *line, bool v2, struct mount *m) {
  const char *dash = strstr(line, " - ");
  char type[32], options[512];
  if (!dash || sscanf(dash, " - %31s %*s %511s", type, options) != 2)
    return false;
  if (strcmp(type, v2 ? "cgroup2" : "cgroup") != 0 || (!v2 && !has_word(options, "cpu")))
    return false;
  return sscanf(line, "%*s %*s %*s %4095s %4095s", m->top, m->point) == 2;
}

static bool find_mount(const char *root, bool v2, struct mount *m) {
  char path[PATH_MAX];
  snprintf(path, sizeof path, "%s/proc/self/mountinfo", root);
  FILE *f = fopen(path, "re");
  char *line = NULL;
  size_t size = 0;
  bool found = false;
  while (f && !found && getline(&line, &size, f) > 0)
    found = match_mount(line, v2, m);
  free(line);
  if (f)
    fclose(f);
  return found;
}

/* Our group in the hierarchy, from "0::/path" (version 2) or "1:cpu,cpuacct:/path". */
static bool find_group(const char *root, bool v2, char group[PATH_MAX]) {
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
    found = v2 ? strncmp(line, "0:", 2) == 0 && controllers[1] == '\0'
               : has_word(controllers + 1, "cpu");
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

/* Reads one group's quota and keeps it when it is tighter than what is known. */
static void take_group(const char *folder, bool v2, struct cgroup_limit *out) {
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

static void walk(const char *root, bool v2, struct cgroup_limit *out) {
  struct mount m;
  char group[PATH_MAX], folder[3 * PATH_MAX];
  if (!find_mount(root, v2, &m) || !find_group(root, v2, group))
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
    take_group(folder, v2, out);
    char *slash = strrchr(folder, '/');
    if (strlen(folder) <= floor || !slash)
      return;
    *slash = '\0';
  }
}

void cgroup_cpu_limit(const char *root, struct cgroup_limit *out) {
  *out = (struct cgroup_limit){0};
  walk(root, true, out);
  walk(root, false, out);
}
