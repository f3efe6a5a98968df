/* Opening a thread's timing and reading its slow clocks; see timing.h. */
#include "strategies/support/timing.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

void timing_open(struct pool_timing *timing, const struct span_clock *clock) {
  *timing = (struct pool_timing){.clock = clock, .delay_fd = -1};
  if (!clock)
    return;
  span_gap_start(&timing->hold, TIMING_HOLD_GAP);
  span_gap_start(&timing->scan, TIMING_SCAN_GAP);
  /* May fail (no descriptor left, no CONFIG_SCHED_INFO): delay then stays in the wait's rest. */
  timing->delay_fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
}

void timing_close(struct pool_timing *timing) {
  if (timing->clock && timing->delay_fd >= 0)
    close(timing->delay_fd);
}

/* The second number of the file; 0 when it cannot be read. */
static uint64_t read_delay(const struct pool_timing *timing) {
  char text[100];
  unsigned long long delay;
  if (timing->delay_fd < 0)
    return 0;
  ssize_t length = pread(timing->delay_fd, text, sizeof text - 1, 0);
  if (length <= 0)
    return 0;
  text[length] = '\0';
  return sscanf(text, "%*u %llu", &delay) == 1 ? delay : 0;
}

/* The CPU clock innermost: reading the file is in neither wait. */
void timing_read_before(const struct pool_timing *timing, struct pool_clocks *out) {
  out->delay_ns = read_delay(timing);
  out->at_ns = clock_wall_ns();
  out->cpu_ns = clock_thread_cpu_ns();
}

void timing_read_after(const struct pool_timing *timing, struct pool_clocks *out) {
  out->cpu_ns = clock_thread_cpu_ns();
  out->at_ns = clock_wall_ns();
  out->delay_ns = read_delay(timing);
}

uint64_t timing_read_cost_ns(void) {
  uint64_t least = UINT64_MAX;
  for (int i = 0; i < 100; i++) {
    uint64_t before = clock_thread_cpu_ns(), cost = clock_thread_cpu_ns() - before;
    least = cost < least ? cost : least;
  }
  return least;
}

void timing_count_retries(struct pool_counters *counters, const struct timing_retries *r) {
  const struct span_clock *clock = counters->timing.clock;
  uint64_t ns;
  pool_count(&counters->cas_retries, r->failures);
  if (clock && span_ns(clock, 0, r->ticks, &ns))
    pool_count(&counters->cas_ns, ns);
}

void timing_count_scan(struct pool_counters *counters, uint64_t begin,
                       const struct timing_retries *retries) {
  struct pool_timing *timing = &counters->timing;
  uint64_t ns;
  if (span_ns(timing->clock, begin + retries->ticks, span_end(), &ns))
    pool_count(&counters->scan_ns, ns * timing->scan.weight);
  span_gap_draw(&timing->scan);
}
