/* Resolving, proving and reading events through their sources; see counters.h. */
#include "harness/counters.h"
#include "harness/suggest.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

const struct counter_source *const counter_sources[] = {&counter_source_perf, &counter_source_papi,
                                                        NULL};

/* ---- the list ---- */

static bool add_event(struct counters *c, const char *name, size_t length, struct error *e) {
  if (length == 0)
    return error_set(e, EXIT_USAGE,
                     "counters: an empty name in the list; names are separated "
                     "by one comma, as in PAPI_TOT_CYC,page-faults");
  if (length >= COUNTER_NAME_MAX)
    return error_set(e, EXIT_USAGE, "counters: name \"%.20s...\" is longer than %d characters",
                     name, COUNTER_NAME_MAX - 1);
  if (c->count == COUNTERS_MAX)
    return error_set(e, EXIT_USAGE, "counters: more than %d events", COUNTERS_MAX);
  struct counter_state *event = &c->events[c->count];
  *event = (struct counter_state){0};
  memcpy(event->name, name, length);
  for (size_t i = 0; i < c->count; i++)
    if (strcmp(c->events[i].name, event->name) == 0)
      return error_set(e, EXIT_USAGE, "counters: %s is listed twice", event->name);
  c->count++;
  return true;
}

static bool parse(struct counters *c, const char *list, struct error *e) {
  while (*list) {
    size_t length = strcspn(list, ",");
    if (!add_event(c, list, length, e))
      return false;
    list += length;
    if (*list == ',' && *++list == '\0')
      return add_event(c, list, 0, e);
  }
  return true;
}

/* ---- sources ---- */

/* The events of one source that are not known to be missing, as attach wants them. */
struct selection {
  const char *names[COUNTERS_MAX];
  size_t at[COUNTERS_MAX]; /* index in counters.events */
  size_t count;
};

static void select_events(const struct counters *c, const struct counter_source *source,
                          struct selection *out) {
  out->count = 0;
  for (size_t i = 0; i < c->count; i++)
    if (c->events[i].source == source && c->events[i].why[0] == '\0') {
      out->names[out->count] = c->events[i].name;
      out->at[out->count++] = i;
    }
}

static void all_missing(struct counters *c, const struct counter_source *source, const char *why) {
  for (size_t i = 0; i < c->count; i++)
    if (c->events[i].source == source && c->events[i].why[0] == '\0')
      snprintf(c->events[i].why, sizeof c->events[i].why, "%s", why);
}

static void find_sources(struct counters *c) {
  for (size_t i = 0; i < c->count; i++) {
    const struct counter_source *const *s = c->sources;
    while (s[1] && !(*s)->claims(c->events[i].name))
      s++;
    c->events[i].source = *s;
  }
}

static void open_source(struct counters *c, const struct counter_source *source) {
  struct selection mine;
  char why[COUNTER_WHY_MAX] = "";
  select_events(c, source, &mine);
  bool opened = mine.count != 0 && source->open(why, sizeof why);
  for (size_t i = 0; i < mine.count; i++)
    c->events[mine.at[i]].source_opened = opened;
  if (mine.count != 0 && !opened)
    all_missing(c, source, why);
}

/* ---- the proof ---- */

/*
 * Work that moves whatever counter works at all: arithmetic, loads and stores over fresh pages,
 * a system call.
 */
static void exercise(void) {
  size_t size = (size_t)1 << 20;
  volatile unsigned char *memory =
      mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  volatile unsigned x = 1;
  for (unsigned i = 0; i < 100000; i++)
    x = x * 1664525u + 1013904223u;
  if (memory != MAP_FAILED) {
    for (size_t i = 0; i < size; i += 64)
      memory[i]++;
    munmap((void *)(uintptr_t)memory, size);
  }
  sched_yield();
}

static void prove(struct counters *c) {
  struct counter_thread t = {0};
  if (!counter_thread_attach(&t, c)) {
    for (size_t i = 0; c->sources[i]; i++)
      all_missing(c, c->sources[i], "out of memory");
    return;
  }
  counter_thread_start(&t);
  exercise();
  counter_thread_stop(&t);
  for (size_t i = 0; i < c->count; i++) {
    struct counter_state *event = &c->events[i];
    if (event->why[0] == '\0' && t.why[i][0] == '\0' && t.values[i] == 0 &&
        event->source->always_counts(event->name))
      snprintf(t.why[i], sizeof t.why[i], "opens, but counts nothing on this machine");
    if (event->why[0] == '\0')
      memcpy(event->why, t.why[i], sizeof event->why);
  }
  counter_thread_detach(&t);
}

bool counters_open(struct counters *c, const char *list,
                   const struct counter_source *const *sources, bool with_proof, struct error *e) {
  *c = (struct counters){.sources = sources};
  if (!parse(c, list ? list : COUNTERS_DEFAULT, e))
    return false;
  find_sources(c);
  for (size_t i = 0; sources[i]; i++)
    open_source(c, sources[i]);
  if (with_proof && c->count != 0)
    prove(c);
  return true;
}

bool counters_probe(const char *list, struct counters *out, struct error *e) {
  return counters_open(out, list, counter_sources, true, e);
}

/* ---- names ---- */

struct name_search {
  const char *name;
  bool found;
  struct suggest near;
  char nearest[COUNTER_NAME_MAX]; /* names live as long as the call that lists them */
};

/* Is `listed` the event of `name`, which may have unit masks behind and the PMU's name left out? */
static bool is_event(const char *name, const char *listed) {
  const char *plain = strstr(listed, "::");
  size_t length = strlen(listed);
  if (strncasecmp(name, listed, length) == 0 && (name[length] == '\0' || name[length] == ':'))
    return true;
  return plain && is_event(name, plain + 2);
}

static void compare_name(void *context, const char *listed, bool native) {
  struct name_search *s = context;
  (void)native;
  s->found = s->found || is_event(s->name, listed);
  suggest_offer(&s->near, listed);
  if (s->near.best == listed) {
    snprintf(s->nearest, sizeof s->nearest, "%s", listed);
    s->near.best = s->nearest;
  }
}

static bool is_known(const struct counters *c, const struct counter_state *event, struct error *e) {
  struct name_search search = {.name = event->name};
  bool listed = true;
  suggest_start(&search.near, event->name);
  for (size_t i = 0; c->sources[i] && !search.found; i++)
    if (c->sources[i]->list)
      c->sources[i]->list(compare_name, &search);
    else
      listed = listed && c->sources[i] != event->source;
  const char *best = search.near.best;
  if (search.found || (!best && !(listed && event->source_opened)))
    return true;
  return error_set(e, EXIT_USAGE,
                   "counters: unknown event \"%s\"%s%s%s; `poolbench run --list-counters` names "
                   "them",
                   event->name, best ? "; did you mean " : "", best ? best : "", best ? "?" : "");
}

bool counters_known(const struct counters *c, struct error *e) {
  for (size_t i = 0; i < c->count; i++)
    if (c->events[i].why[0] != '\0' && !is_known(c, &c->events[i], e))
      return false;
  return true;
}

/* ---- threads ---- */

bool counter_thread_attach(struct counter_thread *t, const struct counters *c) {
  *t = (struct counter_thread){.counters = c};
  for (size_t s = 0; c->sources[s]; s++) {
    struct selection mine;
    char why[COUNTERS_MAX][COUNTER_WHY_MAX] = {{0}};
    select_events(c, c->sources[s], &mine);
    if (mine.count == 0)
      continue;
    t->groups[s] = c->sources[s]->attach(mine.names, mine.count, why);
    if (!t->groups[s]) {
      counter_thread_detach(t);
      return false;
    }
    for (size_t i = 0; i < mine.count; i++)
      memcpy(t->why[mine.at[i]], why[i], COUNTER_WHY_MAX);
  }
  return true;
}

/* A source that fails to start or stop makes its events missing in this thread. */
static void source_failed(struct counter_thread *t, const struct selection *mine,
                          const char *what) {
  for (size_t i = 0; i < mine->count; i++)
    if (t->why[mine->at[i]][0] == '\0')
      snprintf(t->why[mine->at[i]], COUNTER_WHY_MAX, "%s", what);
}

void counter_thread_start(struct counter_thread *t) {
  for (size_t s = 0; t->counters && t->counters->sources[s]; s++) {
    struct selection mine;
    if (!t->groups[s] || t->counters->sources[s]->start(t->groups[s]))
      continue;
    select_events(t->counters, t->counters->sources[s], &mine);
    source_failed(t, &mine, "could not be started");
  }
}

void counter_thread_stop(struct counter_thread *t) {
  for (size_t s = 0; t->counters && t->counters->sources[s]; s++) {
    struct selection mine;
    uint64_t values[COUNTERS_MAX] = {0};
    if (!t->groups[s])
      continue;
    select_events(t->counters, t->counters->sources[s], &mine);
    if (!t->counters->sources[s]->stop(t->groups[s], values))
      source_failed(t, &mine, "could not be read");
    const struct counter_source *source = t->counters->sources[s];
    for (size_t i = 0; i < mine.count; i++) {
      t->values[mine.at[i]] = values[i];
      t->multiplexed[mine.at[i]] = source->multiplexed && source->multiplexed(t->groups[s]);
    }
  }
}

void counter_thread_detach(struct counter_thread *t) {
  for (size_t s = 0; t->counters && t->counters->sources[s]; s++)
    if (t->groups[s]) {
      t->counters->sources[s]->detach(t->groups[s]);
      t->groups[s] = NULL;
    }
}
