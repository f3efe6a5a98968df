/*
 * Events that the kernel counts in software, through perf_event_open; see counters.h.
 *
 * They exist in every Linux that has perf events, virtual machines and containers included, as
 * far as perf_event_paranoid and seccomp allow. What happens in the kernel, such as a migration,
 * is only counted for callers that may look into it; faults are tried from the user side, too.
 */
#include "harness/counters.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Names as in perf_event_open(2)'s and `perf list`'s. */
static const struct event {
  const char *name;
  uint64_t config;
  bool always_counts;
  bool user_side; /* happens in user mode, so that it counts with exclude_kernel as well */
} known[] = {
    {"context-switches", PERF_COUNT_SW_CONTEXT_SWITCHES, false, false},
    {"cpu-migrations", PERF_COUNT_SW_CPU_MIGRATIONS, false, false},
    {"page-faults", PERF_COUNT_SW_PAGE_FAULTS, true, true},
    {"minor-faults", PERF_COUNT_SW_PAGE_FAULTS_MIN, true, true},
    {"major-faults", PERF_COUNT_SW_PAGE_FAULTS_MAJ, false, true},
    {"task-clock", PERF_COUNT_SW_TASK_CLOCK, true, true},
    {"alignment-faults", PERF_COUNT_SW_ALIGNMENT_FAULTS, false, true},
    {"emulation-faults", PERF_COUNT_SW_EMULATION_FAULTS, false, true},
};

struct group {
  size_t count;
  int fd[COUNTERS_MAX]; /* -1: could not be opened */
};

static const struct event *find(const char *name) {
  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
    if (strcmp(known[i].name, name) == 0)
      return &known[i];
  return NULL;
}

static bool claims(const char *name) {
  return find(name) != NULL;
}

static bool always_counts(const char *name) {
  return find(name)->always_counts;
}

static bool open_perf(char *why, size_t why_size) {
  (void)why;
  (void)why_size;
  return true;
}

static void explain(int error, char why[COUNTER_WHY_MAX]) {
  if (error == EACCES || error == EPERM)
    snprintf(why, COUNTER_WHY_MAX,
             "not permitted: kernel.perf_event_paranoid above 1 without CAP_PERFMON, or seccomp");
  else if (error == EMFILE || error == ENFILE)
    snprintf(why, COUNTER_WHY_MAX, "too many open files (ulimit -n): fewer threads or events");
  else
    snprintf(why, COUNTER_WHY_MAX, "perf_event_open: %s", strerror(error));
}

static int open_event(const char *name) {
  const struct event *event = find(name);
  struct perf_event_attr attr = {
      .type = PERF_TYPE_SOFTWARE,
      .size = sizeof attr,
      .config = event->config,
      .disabled = 1,
      .exclude_hv = 1,
  };
  int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
  if (fd >= 0 || errno != EACCES || !event->user_side)
    return fd;
  attr.exclude_kernel = 1;
  return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static void *attach(const char *const *events, size_t count, char (*why)[COUNTER_WHY_MAX]) {
  struct group *g = malloc(sizeof *g);
  if (!g)
    return NULL;
  g->count = count;
  for (size_t i = 0; i < count; i++)
    if ((g->fd[i] = open_event(events[i])) < 0)
      explain(errno, why[i]);
  return g;
}

static bool start(void *group) {
  struct group *g = group;
  bool ok = true;
  for (size_t i = 0; i < g->count; i++)
    if (g->fd[i] >= 0)
      ok = ioctl(g->fd[i], PERF_EVENT_IOC_RESET, 0) == 0 &&
           ioctl(g->fd[i], PERF_EVENT_IOC_ENABLE, 0) == 0 && ok;
  return ok;
}

static bool stop(void *group, uint64_t *values) {
  struct group *g = group;
  bool ok = true;
  for (size_t i = 0; i < g->count; i++)
    if (g->fd[i] >= 0)
      ok = ioctl(g->fd[i], PERF_EVENT_IOC_DISABLE, 0) == 0 &&
           read(g->fd[i], &values[i], sizeof values[i]) == (ssize_t)sizeof values[i] && ok;
  return ok;
}

static void detach(void *group) {
  struct group *g = group;
  for (size_t i = 0; i < g->count; i++)
    if (g->fd[i] >= 0)
      close(g->fd[i]);
  free(g);
}

static void list(counter_named *each, void *context) {
  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
    each(context, known[i].name, false);
}

const struct counter_source counter_source_perf = {
    .name = "perf",
    .what = "software events of the kernel",
    .claims = claims,
    .open = open_perf,
    .always_counts = always_counts,
    .attach = attach,
    .start = start,
    .stop = stop,
    .detach = detach,
    .list = list,
};
