/* `poolbench list`; see list.h. Reads the registries and looks for libraries; starts nothing. */
#include "harness/list.h"
#include "harness/allocators.h"
#include "harness/counters.h"
#include "harness/presets.h"
#include "workloads/workload.h"

#include <stdio.h>
#include <string.h>

static void list_cases(const struct workload *w) {
  printf("\nsuite %s: %s\n", w->name, w->summary);
  for (const struct workload_case *c = w->cases; c->name; c++)
    printf("  %-32s %s%s\n", c->name, c->what, c->flags & CASE_HIDDEN ? " (only by its name)" : "");
  for (const struct strategy_option *o = w->options; o && o->key; o++)
    printf("    --set %s=%-12s %s (%s)\n", o->key, o->values, o->what, o->fallback);
}

static void list_options(const struct strategy_option *list) {
  for (const struct strategy_option *o = list; o && o->key; o++)
    printf("    :%s=%-12s %s (%s)\n", o->key, o->values, o->what, o->fallback);
}

static void list_strategies(void) {
  puts("\nstrategies (--strategies NAME[:option=value][+discipline],...)");
  for (size_t i = 0; strategies[i]; i++) {
    printf("  %-18s %s\n", strategies[i]->name, strategies[i]->summary);
    list_options(strategies[i]->options);
  }
  puts("  and with every strategy");
  list_options(strategy_common_options);
}

static void list_allocators(void) {
  struct allocators a;
  struct error e;
  puts("\nallocators (--allocators NAME,... or LABEL=/path/lib.so)");
  if (!allocators_find(&a, "all", NULL, &e)) {
    printf("  %s\n", e.text);
    return;
  }
  for (size_t i = 0; i < a.count; i++)
    printf("  %-18s %s\n", a.items[i].label, a.items[i].path ? a.items[i].path : "linked");
  for (size_t i = 0; i < a.missing_count; i++)
    printf("  %-18s not installed: apt-get install %s\n", a.missing[i].name, a.missing[i].package);
  allocators_free(&a);
}

static void print_counter(const char *name, const char *why) {
  printf("  %-18s %s%s\n", name, why[0] ? "missing: " : "counts", why);
}

/* Of the processor's own events only the names: each would have to be tried with its masks. */
static void print_known(void *context, const char *name, bool native) {
  struct counters c;
  struct error e;
  size_t *natives = context;
  if (native)
    printf("%s%s", (*natives)++ ? ", " : "  native events: ", name);
  else if (counters_probe(name, &c, &e))
    print_counter(name, c.events[0].why);
  else
    print_counter(name, e.text);
}

static void list_source(const struct counter_source *s) {
  char why[COUNTER_WHY_MAX] = "";
  size_t natives = 0;
  printf("%s: %s\n", s->name, s->what);
  if (!s->open(why, sizeof why))
    printf("  none: %s\n", why);
  else if (s->list)
    s->list(print_known, &natives);
  if (natives)
    puts("\n  (with unit masks, as in EVENT:MASK; papi_native_avail explains them)");
}

int list_all_counters(void) {
  for (size_t i = 0; counter_sources[i]; i++)
    list_source(counter_sources[i]);
  puts("--counters EVENT,EVENT,... counts up to 16 of them per thread; '' counts none. More than "
       "the\n"
       "processor has counters for take turns (multiplexing), and the run says so.");
  return EXIT_DONE;
}

int list_counters(const char *events) {
  struct counters c;
  struct error e;
  if (!counters_probe(events, &c, &e)) {
    fprintf(stderr, "poolbench: --counters: %s\n", e.text);
    return e.status;
  }
  for (size_t i = 0; i < c.count; i++)
    print_counter(c.events[i].name, c.events[i].why);
  return EXIT_DONE;
}

static void list_presets(void) {
  puts("\npresets (--preset NAME)");
  for (unsigned i = 0; preset_at(i); i++)
    printf("  %-18s %s\n", preset_at(i)->name, preset_at(i)->summary);
}

int list_main(int argc, char **argv) {
  if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
    fputs("usage: poolbench list\n\n"
          "What can be measured here: cases by suite, strategies with their options,\n"
          "allocators, the counters of a run without --counters, and presets.\n\n"
          "  poolbench run --list-counters    every counter there is, tried one by one\n",
          stdout);
    return EXIT_DONE;
  }
  int first = argc > 1 && strcmp(argv[1], "--") == 0 ? 2 : 1;
  if (argc > first) {
    fprintf(stderr, "poolbench list: takes no arguments, but \"%s\" was given\n", argv[first]);
    return EXIT_USAGE;
  }
  puts("disciplines (--discipline): balanced, as-merged, leaky");
  for (size_t i = 0; workloads[i]; i++)
    list_cases(workloads[i]);
  list_strategies();
  list_allocators();
  puts("\ncounters (--counters LIST; these are asked for by default)");
  list_counters(NULL);
  list_presets();
  return EXIT_DONE;
}
