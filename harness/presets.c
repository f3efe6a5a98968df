/* The published comparisons; see presets.h. Facts of the pull requests, no code. */
#include "harness/presets.h"
#include "harness/suggest.h"

#include <stddef.h>
#include <string.h>

static const struct preset presets[] = {
    {
        .name = "k8s-freelists",
        .summary = "freelists instead of sync.Pool in Kubernetes' structured merge and diff",
        .workload = "compare",
        .cases = "Compare/Pod/structured,Compare/Pod/unstructured,Compare/Node/structured,"
                 "Compare/Node/unstructured,Compare/Endpoints/structured,"
                 "Compare/Endpoints/unstructured",
        .threads = 32,
        .columns = {{{"sync-pool+leaky", "per-thread+leaky"},
                     "per-thread with leaky use stands in for sync-pool, which this build lacks: "
                     "its misses are the old code's, its search of other shards is not"},
                    {{"pooled-freelists+as-merged"}, NULL},
                    {{"sync-pool", "per-thread"}, NULL},
                    {{"malloc"}, NULL}},
    },
    {
        .name = "nats-timers",
        .summary = "pooled timers in the requests of a NATS client",
        .workload = "request",
        .cases = "Request,OldRequest",
        .threads = 8,
        .columns = {{{"malloc"}, NULL}, {{"sync-pool", "per-thread"}, NULL}},
    },
    {
        .name = "diderot-maps",
        .summary = "pooled notification maps in an xDS server's subscription handlers",
        .workload = "handlers",
        .cases = "Handlers/*",
        .threads = 8,
        .columns = {{{"owned"}, NULL}, {{"sync-pool", "per-thread"}, NULL}},
    },
};
enum { PRESET_COUNT = sizeof presets / sizeof presets[0] };

const struct preset *preset_at(unsigned n) {
  return n < PRESET_COUNT ? &presets[n] : NULL;
}

const struct preset *preset_find(const char *name, struct error *e) {
  struct suggest near;
  suggest_start(&near, name);
  for (int i = 0; i < PRESET_COUNT; i++) {
    if (strcmp(presets[i].name, name) == 0)
      return &presets[i];
    suggest_offer(&near, presets[i].name);
  }
  error_set(e, EXIT_USAGE,
            "--preset: unknown preset \"%s\"%s%s%s; there are k8s-freelists, nats-timers and "
            "diderot-maps",
            name, near.best ? "; did you mean " : "", near.best ? near.best : "",
            near.best ? "?" : "");
  return NULL;
}
