/*
 * What the kernel knows about the measuring threads and the machine under them.
 *
 * Everything here is read at the edges of a measured part, never in between. A source that this
 * machine does not have gives false, never 0.
 */
#ifndef POOLBENCH_OSSTAT_H
#define POOLBENCH_OSSTAT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Of one thread, since it started. */
struct os_usage {
  uint64_t cpu_ns; /* CLOCK_THREAD_CPUTIME_ID: exact at the call, not a tick behind */
  uint64_t voluntary, involuntary; /* context switches: it slept; it was made to wait */
  uint64_t minor, major;           /* page faults without and with input */
};

/* Of the calling thread; about 1.5 us. */
void os_usage_thread(struct os_usage *out);

/*
 * Time the thread of this process was runnable without running, from
 * /proc/self/task/TID/schedstat: exact while it sleeps or runs. About 6 us. False where the
 * kernel was built without CONFIG_SCHED_INFO.
 */
bool os_run_delay_ns(pid_t tid, uint64_t *out);

/*
 * The same of the calling thread as it was at `end_ns` (CLOCK_MONOTONIC), when it had had `cpu_ns`
 * of CPU time. It must not have slept since: then the time off its CPU was delay, and is taken off.
 */
bool os_run_delay_at(pid_t tid, uint64_t end_ns, uint64_t cpu_ns, uint64_t *out);

/*
 * Whether the thread of this process sleeps, so that nothing is being added to its run delay. True
 * where that cannot be read. About 20 us.
 */
bool os_sleeps(pid_t tid);

/*
 * How often the CPU quota stopped this process's cgroup or one above it (cgroup 2 or 1).
 * `root` is "" on the real machine; tests give a folder with proc/ and sys/ in it. False when no
 * cgroup with a CPU controller is visible.
 */
bool os_throttled(const char *root, uint64_t *periods);

/* Time that a hypervisor gave to others, all CPUs together, in steps of 10 ms (/proc/stat). */
bool os_steal_ns(const char *root, uint64_t *out);

/* Peak resident set in bytes (VmHWM, which unlike ru_maxrss starts anew with exec). */
bool os_rss_peak(const char *root, uint64_t *bytes);

/* Resident set in bytes now (/proc/self/statm). */
bool os_rss_now(const char *root, uint64_t *bytes);

/* Lets the peak start from the present size; false where the kernel cannot. */
bool os_rss_peak_reset(void);

/* CPUs this process may run on; at least 1. */
unsigned os_allowed_cpus(void);

#endif
