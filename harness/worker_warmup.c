/* The warm-up: how long, and when it has settled. Arithmetic is in pace.h. */
#include "harness/worker_parts.h"

#include "harness/clock.h"
#include "harness/pace.h"

#include <stdio.h>

struct warmup {
  struct pool_stats seen;       /* at the end of the last stretch */
  struct pace_misses last, now; /* the last two stretches */
  uint64_t took_ns, spent_ns;   /* by the last stretch, by all */
  unsigned stretches;
  bool steady;
};

static bool warm_stretch(struct worker *w, struct warmup *warm, const struct team_phase *phase) {
  struct team_result result;
  struct pool_stats stats;
  if (!worker_run(w, phase, &result))
    return false;
  pools_stats(&w->pools, &stats);
  warm->last = warm->now;
  warm->now = (struct pace_misses){result.ops, stats.gets - warm->seen.gets,
                                   stats.misses - warm->seen.misses};
  warm->seen = stats;
  warm->steady = warm->stretches > 0 && pace_steady(&warm->last, &warm->now);
  warm->stretches++;
  warm->took_ns = result.elapsed_ns;
  warm->spent_ns += result.elapsed_ns;
  w->wall_ns = (double)result.elapsed_ns / (double)result.ops;
  return true;
}

static void note_warmup(struct worker *w, const struct warmup *warm) {
  char text[160];
  w->warmup_ns = warm->spent_ns;
  worker_note_number(w, "warmup-stretches", warm->stretches);
  if (warm->steady)
    return;
  snprintf(text, sizeof text, "misses/op %.4g, then %.4g, when %.3g ms of warm-up were over",
           (double)warm->last.misses / (double)warm->last.ops,
           (double)warm->now.misses / (double)warm->now.ops,
           (double)warm->spent_ns / (double)NS_PER_MS);
  if (!sample_add_flag(w->sample, FLAG_NOT_STEADY, text))
    worker_out_of_memory(w);
}

/*
 * Two ops on every thread, one by one because the first one finds everything cold; then
 * stretches, each as long as all before it or as is left, until two successive ones agree and the
 * least time is over, or the most time is. The first stretches of fast ops are far too short, which
 * only shows that the ops are fast: the next one is planned with the better rate, and the last one
 * must have taken about as long as planned.
 */
bool worker_warm_up(struct worker *w) {
  const struct cell *cell = &w->cell;
  struct warmup warm = {0};
  uint64_t least = pace_warmup_min_ns(cell->window_ns, cell->threads, w->cpus);
  uint64_t most =
      cell->warmup_limit_ns ? cell->warmup_limit_ns : pace_warmup_max_ns(cell->window_ns);
  least = least < most ? least : most;
  pools_stats(&w->pools, &warm.seen);
  struct team_phase each = {.each = 1, .deadline_ns = w->deadline_ns};
  worker_start_trims(w);
  if (!warm_stretch(w, &warm, &each) || !warm_stretch(w, &warm, &each))
    return false;
  for (bool rated = false;
       !rated || ((warm.spent_ns < least || !warm.steady) && warm.spent_ns < most);) {
    uint64_t end = warm.steady ? least : most, left = end > warm.spent_ns ? end - warm.spent_ns : 0;
    uint64_t aim = warm.spent_ns < left ? warm.spent_ns : left;
    aim = aim > NS_PER_MS ? aim : NS_PER_MS;
    struct team_phase stretch = {
        .ops = pace_ops((double)aim, w->wall_ns),
        .grain = pace_grain(worker_busy_ns(w)),
        .deadline_ns = w->deadline_ns,
        .tick_ns = worker_look_period(w),
        .tick = worker_trims(w) ? worker_trim_when_due : NULL,
    };
    if (!warm_stretch(w, &warm, &stretch))
      return false;
    rated = warm.took_ns >= aim / 2;
  }
  note_warmup(w, &warm);
  return true;
}
