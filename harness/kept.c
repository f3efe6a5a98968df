/* The figures of a series; see kept.h. */
#include "harness/kept.h"

#include "harness/sample.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define UNIT_SIZE 640
#define PHASE_SIZE 80

static double value(const struct rundata *d, const struct rundata_cell *c, const char *phase,
                    const char *unit) {
  char name[UNIT_SIZE];
  double median;
  snprintf(name, sizeof name, "%s:%s", phase, unit);
  return rundata_median(d, c, name, &median) ? median : NAN;
}

/* The phase that comes last among those whose name begins with `prefix`; "" when there is none. */
static void last_phase(const struct rundata *d, const struct rundata_cell *c, const char *prefix,
                       double before_ns, char phase[PHASE_SIZE]) {
  double latest = -1;
  *phase = '\0';
  for (size_t u = 0; u < d->units.count; u++) {
    const char *name = d->units.names[u], *colon = strchr(name, ':');
    double ns;
    if (!sample_is_mark(name) || strncmp(name, prefix, strlen(prefix)) != 0 ||
        !rundata_median(d, c, name, &ns) || ns >= before_ns || ns <= latest)
      continue;
    latest = ns;
    snprintf(phase, PHASE_SIZE, "%.*s", (int)(colon - name), name);
  }
}

/* The peak goes by two names, the last idle wait by its seconds or, without one, the second trim.
 */
static void find_stages(const struct rundata *d, const struct rundata_cell *c,
                        char stages[KEPT_STAGES][PHASE_SIZE]) {
  const char *peak = isnan(value(d, c, "peak", "live-B")) ? "burst" : "peak";
  snprintf(stages[KEPT_PEAK], PHASE_SIZE, "%s", peak);
  snprintf(stages[KEPT_AFTER_BURST], PHASE_SIZE, "after-burst");
  snprintf(stages[KEPT_TRIM_1], PHASE_SIZE, "trim-1");
  snprintf(stages[KEPT_TRIM_2], PHASE_SIZE, "trim-2");
  last_phase(d, c, "idle-", INFINITY, stages[KEPT_IDLE]);
  if (!*stages[KEPT_IDLE])
    snprintf(stages[KEPT_IDLE], PHASE_SIZE, "trim-2");
}

static double in_use(const struct rundata *d, const struct rundata_cell *c, const char *phase) {
  return value(d, c, phase, "live-B") - value(d, c, phase, "pooled-B");
}

/* What went back when the allocator was asked to, 0 where it cannot be asked. */
static double given_back(const struct rundata *d, const struct rundata_cell *c) {
  char before[PHASE_SIZE];
  last_phase(d, c, "", value(d, c, "released", "time-ns"), before);
  double bytes = value(d, c, before, "rss-B") - value(d, c, "released", "rss-B");
  return bytes > 0 ? bytes : 0; /* NAN is not */
}

static void find_causes(const struct rundata *d, const struct rundata_cell *c, const char *idle,
                        struct kept *k) {
  k->stays = k->rss_idle - value(d, c, "start", "rss-B");
  k->in_use = fmax(0, in_use(d, c, idle) - in_use(d, c, "start"));
  k->pooled = value(d, c, idle, "pooled-B");
  /* Live pages that were never touched are not in the RSS: below 0 then. */
  double rest = fmax(0, k->stays - k->in_use - k->pooled);
  double stuck = fmax(0, rest - given_back(d, c));
  k->fragmented = fmin(stuck, value(d, c, idle, "pinnable-B"));
  k->cache = rest - k->fragmented;
}

bool kept_of(const struct rundata *d, const struct rundata_cell *c, struct kept *out) {
  char stages[KEPT_STAGES][PHASE_SIZE];
  if (!c || !c->series)
    return false;
  find_stages(d, c, stages);
  for (int i = 0; i < KEPT_STAGES; i++)
    out->live[i] = value(d, c, stages[i], "live-B");
  /* The drain that follows the peak's mark may allocate, too. */
  out->live[KEPT_PEAK] = fmax(out->live[KEPT_PEAK], out->live[KEPT_AFTER_BURST]);
  out->rss_peak =
      fmax(value(d, c, stages[KEPT_PEAK], "rss-B"), value(d, c, stages[KEPT_AFTER_BURST], "rss-B"));
  out->rss_idle = value(d, c, stages[KEPT_IDLE], "rss-B");
  find_causes(d, c, stages[KEPT_IDLE], out);
  out->share = 100 * out->stays / (out->rss_peak - value(d, c, "start", "rss-B"));
  out->per_owner = value(d, c, stages[KEPT_IDLE], "B/owner");
  out->trickle_before = value(d, c, "trickle-untrimmed", "ns/op");
  out->trickle_after = value(d, c, "trickle-trimmed", "ns/op");
  out->stall = fmax(value(d, c, stages[KEPT_TRIM_1], "stall-ns"),
                    value(d, c, stages[KEPT_TRIM_2], "stall-ns"));
  return true;
}
