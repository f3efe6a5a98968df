/* `poolbench probe`; see probe.h. One process, a few milliseconds. */
#include "harness/probe.h"
#include "harness/counters.h"
#include "harness/footprint.h"
#include "harness/launch.h"
#include "harness/sample.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

struct probe_options {
  const char *allocator; /* path that malloc must come from; NULL: any */
  const char *counters;  /* NULL: the default ones */
};

static bool parse(int argc, char **argv, struct probe_options *o) {
  *o = (struct probe_options){0};
  for (int i = 1; i < argc; i += 2) {
    if (i + 1 == argc)
      return false;
    if (strcmp(argv[i], "--allocator") == 0)
      o->allocator = strcmp(argv[i + 1], "any") == 0 ? NULL : argv[i + 1];
    else if (strcmp(argv[i], "--counters") == 0)
      o->counters = argv[i + 1];
    else
      return false;
  }
  return true;
}

static bool probe_allocator(const struct probe_options *o, struct sample *s) {
  struct allocator found;
  struct error e;
  allocator_identify(&found);
  if (o->allocator && !allocator_expect(&found, o->allocator, &e))
    return sample_set_error(s, "%s", e.text);
  return sample_add_note(s, NOTE_ALLOCATOR, found.name) &&
         sample_add_note(s, NOTE_ALLOCATOR_VERSION, found.version) &&
         sample_add_note(s, NOTE_ALLOCATOR_PATH, found.path);
}

static bool probe_counters(const struct probe_options *o, struct sample *s) {
  struct counters c;
  struct error e;
  char list[COUNTERS_MAX * (COUNTER_NAME_MAX + 1)] = "";
  size_t used = 0;
  if (!counters_probe(o->counters, &c, &e) || (o->counters && !counters_known(&c, &e)))
    return sample_set_error(s, "%s", e.text);
  for (size_t i = 0; i < c.count; i++) {
    const struct counter_state *event = &c.events[i];
    char unit[COUNTER_NAME_MAX + 8];
    snprintf(unit, sizeof unit, "%s/op", event->name);
    if (event->why[0] && !sample_add_missing(s, unit, event->why))
      return false;
    if (!event->why[0])
      used +=
          (size_t)snprintf(list + used, sizeof list - used, "%s%s", used ? "," : "", event->name);
  }
  return sample_add_note(s, PROBE_COUNTERS, list);
}

int probe_main(int argc, char **argv) {
  struct probe_options o;
  struct sample s = {.ops = 1};
  if (argc == 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
    fputs("usage: none by hand\n\n"
          "`poolbench run` starts a probe before it measures: a process with the allocator\n"
          "under test that says whether it is in use, and which counters count.\n",
          stdout);
    return EXIT_DONE;
  }
  errno = 0;
  FILE *out = fdopen(LAUNCH_FD, "w");
  /* An allocator that gives nothing need not set errno; stderr takes no memory. */
  if (!out && errno != EBADF && errno != EINVAL) {
    fputs("its malloc returned no memory\n", stderr);
    return EXIT_INPUT;
  }
  if (!out || !parse(argc, argv, &o)) {
    fputs("poolbench probe: is started by `poolbench run`, which gives it descriptor 3\n", stderr);
    return EXIT_USAGE;
  }
  struct timespec start, end;
  clock_gettime(CLOCK_MONOTONIC, &start);
  bool ok = probe_allocator(&o, &s) && (s.error || probe_counters(&o, &s));
  clock_gettime(CLOCK_MONOTONIC, &end);
  /* The op of this sample is the probe; one without ns/op is taken for a broken one. */
  ok = ok && sample_add(&s, unit_infos[UNIT_NS_OP].name,
                        (double)(end.tv_sec - start.tv_sec) * 1e9 +
                            (double)(end.tv_nsec - start.tv_nsec));
  ok = ok && sample_write(&s, out) && fflush(out) == 0;
  fclose(out);
  sample_free(&s);
  return ok ? EXIT_DONE : EXIT_INPUT;
}
