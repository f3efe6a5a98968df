/*
 * A sample: one cell measured once by one fresh process, and how it travels.
 *
 * The runner starts `poolbench worker` with the cell on its command line; the worker writes its
 * sample as text to the file descriptor it was given and leaves. Text, so that a broken worker is
 * seen as such: the last line is "end", every other line is one of
 *
 *     poolbench-sample 1            first line: protocol version
 *     ops COUNT                     ops measured, whole
 *     unit VALUE NAME               one measured value, NAME as in UNITS or a counter's "EVENT/op"
 *     missing NAME TEXT             a unit this machine cannot give, and why
 *     flag NAME TEXT                the sample is valid but doubtful: see sample_flag
 *     note KEY TEXT                 a fact for run.json (allocator version, warm-up rounds, ...)
 *     bound SECONDS                 did not do its ops within SECONDS: ns/op > SECONDS / ops
 *     error TEXT                    the sample failed; what and why
 *     end
 */
#ifndef POOLBENCH_SAMPLE_H
#define POOLBENCH_SAMPLE_H

#include "harness/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Which direction is better, for colours and verdicts. */
enum unit_better { BETTER_NONE, BETTER_LOWER, BETTER_HIGHER };

/*
 * The units of a sample. X(id, name, better, headline, what). Units named headline go to
 * samples.txt and sweep.txt, all of them to detail.txt, in this order. The pool's counters
 * (POOL_COUNTERS) and hardware counters follow in detail.txt.
 */
#define UNITS(X)                                                                                  \
  X(NS_OP, "ns/op", BETTER_LOWER, 1, "time from the release of all threads to the last op / ops") \
  X(B_OP, "B/op", BETTER_LOWER, 1, "bytes requested from the heap / ops")                         \
  X(ALLOCS_OP, "allocs/op", BETTER_LOWER, 1, "heap allocations / ops")                            \
  X(CPU_NS, "cpu-ns/op", BETTER_LOWER, 0, "CPU time of the measuring threads / ops")              \
  X(MISS, "miss-%", BETTER_LOWER, 0, "gets served by the allocator")                              \
  X(BLOCKED_NS, "blocked-ns/op", BETTER_LOWER, 0, "threads asleep / ops")                         \
  X(RUNQUEUE_NS, "runqueue-ns/op", BETTER_LOWER, 0, "threads runnable but not running / ops")     \
  X(CTX, "ctx-switches/op", BETTER_LOWER, 0, "context switches / ops")                            \
  X(FAULTS, "faults/op", BETTER_LOWER, 0, "page faults / ops")                                    \
  X(P50, "p50-ns", BETTER_LOWER, 0, "half of the timed ops took no longer")                       \
  X(P90, "p90-ns", BETTER_LOWER, 0, "nine of ten timed ops took no longer")                       \
  X(P99, "p99-ns", BETTER_LOWER, 0, "99 of 100 timed ops took no longer")                         \
  X(P999, "p999-ns", BETTER_LOWER, 0, "999 of 1000 timed ops took no longer")                     \
  X(MAX, "max-ns", BETTER_LOWER, 0, "the longest timed op")                                       \
  X(TIMED, "timed-%", BETTER_NONE, 0, "ops that were timed one by one")                           \
  X(LIVE_PEAK, "live-peak-B", BETTER_LOWER, 0, "largest sum of live heap bytes seen")             \
  X(POOLED, "pooled-B", BETTER_LOWER, 0, "bytes the strategy holds after the measured part")      \
  X(HEAP_HELD, "heap-held-B", BETTER_LOWER, 0, "bytes the allocator holds beyond the live ones")  \
  X(RSS_PEAK, "rss-peak-B", BETTER_LOWER, 0, "VmHWM")                                             \
  X(FOREIGN, "foreign-cpu-%", BETTER_LOWER, 0, "CPU that others used during the measured part")   \
  X(SHARED_LINES, "shared-lines-%", BETTER_LOWER, 0, "lines with live objects of two threads")    \
  X(WORK_NS, "work-ns/op", BETTER_LOWER, 0, "CPU time that no other state claims / ops")          \
  X(HEAP_NS, "heap-ns/op", BETTER_LOWER, 0, "CPU time in the allocator / ops")                    \
  X(SPIN_NS, "lockspin-ns/op", BETTER_LOWER, 0, "CPU time waiting for and releasing locks / ops") \
  X(LOCKED_NS, "lockblocked-ns/op", BETTER_LOWER, 0, "asleep for locks of the strategy / ops")    \
  X(CAS_NS, "cas-ns/op", BETTER_LOWER, 0, "after failed compare-and-swaps / ops")                 \
  X(SCAN_NS, "scan-ns/op", BETTER_LOWER, 0, "searching other shards / ops")                       \
  X(SLEEP_NS, "sleep-ns/op", BETTER_LOWER, 0, "asleep for anything else / ops")                   \
  X(TAIL_NS, "tail-ns/op", BETTER_LOWER, 0, "done, while the last ops of others ran / ops")       \
  X(REMAINDER_NS, "remainder-ns/op", BETTER_NONE, 0, "thread time that no state claims / ops")    \
  X(HANDOFF_NS, "handoff-ns/op", BETTER_LOWER, 0, "part of lock waits after the release / ops")   \
  X(FAULT_NS, "fault-ns/op", BETTER_LOWER, 0, "page faults, at a calibrated price each / ops")    \
  X(HEAP_ERROR_NS, "heap-error-ns/op", BETTER_LOWER, 0, "by how much heap-ns/op may be off")      \
  X(SPEED, "host-speed-%", BETTER_NONE, 0, "calibration loop against the run's median")

enum unit_id {
#define UNIT_ID(id, name, better, headline, what) UNIT_##id,
  UNITS(UNIT_ID)
#undef UNIT_ID
      UNIT_COUNT
};

struct unit_info {
  const char *name;
  enum unit_better better;
  bool headline;
  const char *what;
};
extern const struct unit_info unit_infos[UNIT_COUNT];

/* Flags a sample can carry (the NAME of a flag line). */
#define FLAG_NOT_STEADY "not-steady" /* warm-up ended before misses/op settled */
#define FLAG_FOREIGN "foreign-cpu"   /* others used more than 5 % of the CPU */
#define FLAG_THROTTLED "throttled"   /* the cgroup's quota stopped us */
#define FLAG_HOST_SPEED "host-speed" /* calibration more than 5 % off the run's median (runner) */
#define FLAG_SHORT_OPS "few-ops"     /* the window held too few ops for the tail to be small */

/*
 * Notes that the runner sums, compares or puts in the headers of a file (the KEY of a note line).
 * Those in -ns are decimal numbers. What other notes say is for people.
 */
#define NOTE_MEASURED "measured-ns" /* wall time of the measured part */
#define NOTE_WARMUP "warmup-ns"     /* wall time of the warm-up */
#define NOTE_SPEED "speed-ns"       /* time of the fixed calibration loop, see harness/speed.h */
#define NOTE_ALLOCATOR "allocator"  /* "glibc", "jemalloc", ... */
#define NOTE_ALLOCATOR_VERSION "allocator-version"
#define NOTE_ALLOCATOR_PATH "allocator-path"
#define NOTE_MULTIPLEXED "counters-multiplexed"
#define NOTE_THREADS "threads-measured" /* when CASE_FEWER_THREADS made them fewer */

struct sample_value {
  char *name;
  double value;
};
struct sample_text {
  char *name;
  char *text;
};

/* Growing lists; sample_free frees them. A zeroed struct is an empty sample. */
struct sample {
  uint64_t ops;
  struct sample_value *values;
  size_t value_count;
  struct sample_text *missing, *flags, *notes;
  size_t missing_count, flag_count, note_count;
  double bound_s; /* 0, or the time in which `ops` were not done: ns/op > bound_s / ops */
  char *error;    /* NULL, or why the sample failed */
};

/* Builders; false when out of memory. */
bool sample_add(struct sample *s, const char *unit, double value);
bool sample_add_missing(struct sample *s, const char *unit, const char *why);
bool sample_add_flag(struct sample *s, const char *flag, const char *why);
bool sample_add_note(struct sample *s, const char *key, const char *text);
bool sample_set_error(struct sample *s, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The value of a unit; false when the sample does not have it. */
bool sample_get(const struct sample *s, const char *unit, double *value);

/*
 * Is it the time of a series' mark, "PHASE:time-ns"? Every mark has one, and no other sample; a
 * colon alone proves nothing, since names of hardware events have them.
 */
bool sample_is_mark(const char *unit);

/* Writes the sample in the form above. false when the stream failed. */
bool sample_write(const struct sample *s, FILE *out);

/*
 * Reads what a worker wrote. Anything that is not exactly that form (no "end", an unknown
 * line, a value that is no finite number, a unit twice) is an error that quotes the line.
 */
bool sample_read(const char *text, size_t length, struct sample *s, struct error *e);

void sample_free(struct sample *s);

#endif
