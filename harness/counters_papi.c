/*
 * Hardware events through PAPI; see counters.h.
 *
 * The library is initialised only when one of its events is asked for: that costs from half a
 * millisecond (no counters) to tens of them, and memory from the malloc under test.
 */
#include "harness/counters.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* PAPI claims whatever nobody else does: native events have names of any form. */
static bool claims(const char *name) {
  (void)name;
  return true;
}

#ifdef HAVE_PAPI

#include <papi.h>
#include <pthread.h>

struct group {
  int set;
  size_t count;
  int slot[COUNTERS_MAX]; /* position in the set's values; -1: could not be added */
  int slots;
};

/* Cycles and instructions move whatever the work; misses and snoops may rightly be 0. */
static bool always_counts(const char *name) {
  return strcmp(name, "PAPI_TOT_CYC") == 0 || strcmp(name, "PAPI_TOT_INS") == 0;
}

static bool open_papi(char *why, size_t why_size) {
  int status = PAPI_library_init(PAPI_VER_CURRENT);
  if (status != PAPI_VER_CURRENT) {
    snprintf(why, why_size, "PAPI_library_init: %s",
             status > 0 ? "another version than at build" : PAPI_strerror(status));
    return false;
  }
  status = PAPI_thread_init(pthread_self);
  if (status != PAPI_OK) {
    snprintf(why, why_size, "PAPI_thread_init: %s", PAPI_strerror(status));
    return false;
  }
  const PAPI_component_info_t *cpu = PAPI_get_component_info(0);
  if (cpu && cpu->disabled) {
    snprintf(why, why_size, "no hardware counters: %s", cpu->disabled_reason);
    return false;
  }
  return true;
}

static bool add(struct group *g, const char *name, char why[COUNTER_WHY_MAX]) {
  int code, status;
  char text[COUNTER_NAME_MAX]; /* PAPI's argument is not const */
  snprintf(text, sizeof text, "%s", name);
  status = PAPI_event_name_to_code(text, &code);
  if (status == PAPI_OK)
    status = PAPI_add_event(g->set, code);
  if (status == PAPI_ECNFLCT)
    snprintf(why, COUNTER_WHY_MAX, "does not fit beside the events before it");
  else if (status != PAPI_OK)
    snprintf(why, COUNTER_WHY_MAX, "PAPI: %s", PAPI_strerror(status));
  return status == PAPI_OK;
}

static void *attach(const char *const *events, size_t count, char (*why)[COUNTER_WHY_MAX]) {
  struct group *g = calloc(1, sizeof *g);
  if (!g)
    return NULL;
  g->set = PAPI_NULL;
  g->count = count;
  PAPI_register_thread();
  int status = PAPI_create_eventset(&g->set);
  for (size_t i = 0; i < count; i++) {
    g->slot[i] = -1;
    if (status != PAPI_OK)
      snprintf(why[i], COUNTER_WHY_MAX, "PAPI_create_eventset: %s", PAPI_strerror(status));
    else if (add(g, events[i], why[i]))
      g->slot[i] = g->slots++;
  }
  return g;
}

static bool start(void *group) {
  struct group *g = group;
  return g->slots == 0 || PAPI_start(g->set) == PAPI_OK;
}

static bool stop(void *group, uint64_t *values) {
  struct group *g = group;
  long long counts[COUNTERS_MAX] = {0};
  if (g->slots != 0 && PAPI_stop(g->set, counts) != PAPI_OK)
    return false;
  for (size_t i = 0; i < g->count; i++)
    if (g->slot[i] >= 0)
      values[i] = (uint64_t)counts[g->slot[i]];
  return true;
}

static void detach(void *group) {
  struct group *g = group;
  if (g->set != PAPI_NULL) {
    PAPI_cleanup_eventset(g->set);
    PAPI_destroy_eventset(&g->set);
  }
  PAPI_unregister_thread();
  free(g);
}

#else /* the others are never called after open has failed */

static bool always_counts(const char *name) {
  (void)name;
  return false;
}

static bool open_papi(char *why, size_t why_size) {
  snprintf(why, why_size, "built without PAPI (Debian package libpapi-dev)");
  return false;
}

#define attach NULL
#define start NULL
#define stop NULL
#define detach NULL

#endif

const struct counter_source counter_source_papi = {
    .name = "papi",
    .claims = claims,
    .open = open_papi,
    .always_counts = always_counts,
    .attach = attach,
    .start = start,
    .stop = stop,
    .detach = detach,
};
