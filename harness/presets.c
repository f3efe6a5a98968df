/* The published comparisons; see presets.h. Facts of the pull requests, no code. */
#include "harness/presets.h"
#include "harness/suggest.h"

#include <stddef.h>
#include <string.h>

static const struct preset presets[] = {
    {
        .name = "k8s-freelists",
        .summary = "freelists instead of sync.Pool in Kubernetes' structured merge and diff",
        .cases = "Compare/Pod/structured,Compare/Pod/unstructured,Compare/Node/structured,"
                 "Compare/Node/unstructured,Compare/Endpoints/structured,"
                 "Compare/Endpoints/unstructured",
        .threads = 32,
        .columns = {"sync-pool+leaky", "sync-pool", "pooled-freelists+as-merged", "malloc"},
        .new_column = 2,
    },
    {
        .name = "nats-timers",
        .summary = "pooled timers in the requests of a NATS client",
        .cases = "Request,OldRequest",
        .threads = 8,
        .columns = {"malloc", "sync-pool"},
        .new_column = 1,
    },
    {
        .name = "diderot-maps",
        .summary = "pooled notification maps in an xDS server's subscription handlers",
        .cases = "Handlers/*",
        .threads = 8,
        .columns = {"owned", "sync-pool"},
        .new_column = 1,
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
            "--preset: unknown preset \"%s\"%s; there are k8s-freelists, nats-timers and "
            "diderot-maps",
            name, suggest_text(&near, ""));
  return NULL;
}
