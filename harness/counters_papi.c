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

/* Hardware counters are the first component's; the others are no business of threads. */
#define CPU_COMPONENT 0

struct group {
  int set;
  bool multiplexed;
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
  /* Fails only where nothing can be multiplexed; attach then says so of the events. */
  PAPI_multiplex_init();
  const PAPI_component_info_t *cpu = PAPI_get_component_info(CPU_COMPONENT);
  if (cpu && cpu->disabled) {
    snprintf(why, why_size, "no hardware counters: %s", cpu->disabled_reason);
    return false;
  }
  return true;
}

/* PAPI's status. */
static int add(struct group *g, const char *name, char why[COUNTER_WHY_MAX]) {
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
  else
    why[0] = '\0';
  return status;
}

/* PAPI's status: whether some event found no counter free. */
static int add_all(struct group *g, const char *const *events, char (*why)[COUNTER_WHY_MAX]) {
  int result = PAPI_OK;
  g->slots = 0;
  for (size_t i = 0; i < g->count; i++) {
    int status = add(g, events[i], why[i]);
    g->slot[i] = status == PAPI_OK ? g->slots++ : -1;
    result = status == PAPI_ECNFLCT ? status : result;
  }
  return result;
}

static void give_set_back(struct group *g) {
  if (g->set == PAPI_NULL)
    return;
  PAPI_cleanup_eventset(g->set);
  PAPI_destroy_eventset(&g->set);
  g->set = PAPI_NULL;
}

/* A fresh set whose events take turns. It must know its component before it has any. */
static bool multiplex(struct group *g) {
  give_set_back(g);
  return PAPI_create_eventset(&g->set) == PAPI_OK &&
         PAPI_assign_eventset_component(g->set, CPU_COMPONENT) == PAPI_OK &&
         PAPI_set_multiplex(g->set) == PAPI_OK;
}

static void *attach(const char *const *events, size_t count, char (*why)[COUNTER_WHY_MAX]) {
  struct group *g = calloc(1, sizeof *g);
  if (!g)
    return NULL;
  g->set = PAPI_NULL;
  g->count = count;
  PAPI_register_thread();
  int status = PAPI_create_eventset(&g->set);
  if (status == PAPI_OK && add_all(g, events, why) == PAPI_ECNFLCT) {
    g->multiplexed = multiplex(g);
    if (!g->multiplexed) { /* then as many as there are counters */
      give_set_back(g);
      status = PAPI_create_eventset(&g->set);
    }
    if (status == PAPI_OK)
      add_all(g, events, why);
  }
  for (size_t i = 0; i < count && status != PAPI_OK; i++) {
    g->slot[i] = -1;
    g->slots = 0;
    snprintf(why[i], COUNTER_WHY_MAX, "PAPI_create_eventset: %s", PAPI_strerror(status));
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
  give_set_back(g);
  PAPI_unregister_thread();
  free(g);
}

static bool multiplexed(const void *group) {
  return ((const struct group *)group)->multiplexed;
}

/*
 * Native events as PAPI enumerates them, without their masks: there may be thousands of those. PAPI
 * 7.0 crashes on them where the thread was registered and is no more, which it is not once `each`
 * has tried a preset event.
 */
static void list(counter_named *each, void *context) {
  char name[PAPI_MAX_STR_LEN];
  int code = 0 | PAPI_PRESET_MASK;
  if (PAPI_enum_event(&code, PAPI_ENUM_FIRST) == PAPI_OK)
    do {
      if (PAPI_event_code_to_name(code, name) == PAPI_OK)
        each(context, name, false);
    } while (PAPI_enum_event(&code, PAPI_ENUM_EVENTS) == PAPI_OK);
  PAPI_register_thread();
  code = 0 | PAPI_NATIVE_MASK;
  if (PAPI_enum_cmp_event(&code, PAPI_ENUM_FIRST, CPU_COMPONENT) == PAPI_OK)
    do {
      if (PAPI_event_code_to_name(code, name) == PAPI_OK)
        each(context, name, true);
    } while (PAPI_enum_cmp_event(&code, PAPI_ENUM_EVENTS, CPU_COMPONENT) == PAPI_OK);
  PAPI_unregister_thread();
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
#define multiplexed NULL
#define list NULL

#endif

const struct counter_source counter_source_papi = {
    .name = "papi",
    .what = "events of the processor, through PAPI",
    .claims = claims,
    .open = open_papi,
    .always_counts = always_counts,
    .attach = attach,
    .start = start,
    .stop = stop,
    .detach = detach,
    .multiplexed = multiplexed,
    .list = list,
};
