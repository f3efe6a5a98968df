/*
 * `poolbench run`: sets a run up, measures its rounds, ends it. See run.h.
 *
 * Here is what happens in which order. The plan is plan.h's, a sample measure.c's, what is said
 * announce.c's, files runfiles.h's.
 */
#include "harness/run.h"
#include "harness/list.h"
#include "harness/plural.h"
#include "harness/probe.h"
#include "harness/progress.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

static const uint64_t PROBE_TIMEOUT_NS = 10000000000u;

static uint64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* --- setting up -------------------------------------------------------------------------- */

static bool draw_random(uint64_t *out, struct error *e) {
  return getrandom(out, sizeof *out, 0) == (ssize_t)sizeof *out ||
         error_errno(e, EXIT_INPUT, "drawing a seed");
}

/* The machine: topology, usable CPUs, facts. */
static bool look_at_machine(struct run *run, struct error *e) {
  hwloc_topology_t topology = placement_topology(e);
  hwloc_bitmap_t allowed = topology ? hwloc_bitmap_alloc() : NULL;
  if (!topology)
    return false;
  bool ok = allowed != NULL || error_set(e, EXIT_INPUT, "out of memory");
  if (ok && hwloc_get_cpubind(topology, allowed, HWLOC_CPUBIND_THREAD) != 0)
    hwloc_bitmap_copy(allowed, hwloc_topology_get_topology_cpuset(topology));
  host_read("", &run->host);
  run->topology = record_topology(topology);
  ok = ok && placement_init(&run->placement, topology, allowed, run->options.cpuset,
                            run->options.bind, e);
  hwloc_bitmap_free(allowed);
  hwloc_topology_destroy(topology);
  return ok;
}

static bool check_builds(const struct plan *p, struct error *e) {
  for (size_t i = 0; i < p->build_count; i++)
    if (p->builds[i].path && access(p->builds[i].path, X_OK) != 0)
      return error_errno(e, EXIT_INPUT, "--arm %s=%s: cannot be run", p->builds[i].label,
                         p->builds[i].path);
  return true;
}

static bool make_plan(struct run *run, struct error *e) {
  struct plan_machine machine = {.cpus = run->placement.cpus};
  if (run->host.cgroup.cpus > 0 && run->host.cgroup.cpus < run->placement.cpus)
    machine.cgroup_period_s = run->host.cgroup.period_s;
  if (!allocators_find(&run->allocators, run->options.allocators, NULL, e) ||
      !plan_build(&run->plan, &run->options, &run->allocators, &machine, e) ||
      !check_builds(&run->plan, e) || !plan_rehearse(&run->plan, e))
    return false;
  run->cells = calloc(run->plan.cell_count, sizeof *run->cells);
  return run->cells || error_set(e, EXIT_INPUT, "out of memory");
}

/* What a probe told about its allocator and about counters. */
static bool take_probe(struct run *run, struct allocator_arm *a, const struct sample *s,
                       struct error *e) {
  const char *name = run_note(s, NOTE_ALLOCATOR);
  const char *version = run_note(s, NOTE_ALLOCATOR_VERSION);
  const char *library = run_note(s, NOTE_ALLOCATOR_PATH);
  const char *counters = run_note(s, PROBE_COUNTERS);
  snprintf(a->version, sizeof a->version, "%.79s", version ? version : "");
  snprintf(a->library, sizeof a->library, "%.299s", library ? library : "");
  snprintf(run->counters, sizeof run->counters, "%.999s", counters ? counters : "");
  if (!allocators_check_label(a, name ? name : "", e))
    return false;
  return run_keep_facts(run, s) || error_set(e, EXIT_INPUT, "out of memory");
}

/* What a process said, as the end of a message. */
static void end_at_its_words(char *output) {
  size_t length = strlen(output);
  while (length > 0 && output[length - 1] == '\n')
    output[--length] = '\0';
}

static bool probe_failed(const struct allocator_arm *a, const struct launch_result *r,
                         struct error *e) {
  if (r->outcome == LAUNCH_INTERRUPTED)
    return error_set(e, EXIT_INTERRUPTED, "%s", r->why);
  const char *why = r->outcome == LAUNCH_SAMPLE ? r->sample.error : r->why;
  if (r->outcome == LAUNCH_SAMPLE && strncmp(why, "counters: ", 10) == 0)
    return error_set(e, EXIT_USAGE, "--%s", why);
  return error_set(e, EXIT_INPUT, "%s%s %s: %s%s%s", a->path ? "--allocators: " : "", a->label,
                   a->path ? "does not serve as an allocator" : "cannot be measured", why,
                   r->output[0] ? ": " : "", r->output);
}

/*
 * Asks a process that has the allocator which malloc it got, and which counters open: a library
 * that is no allocator is refused here, not once a sample.
 */
static bool probe(struct run *run, struct launcher *l, struct allocator_arm *a, struct error *e) {
  char *counters = (char *)run->options.counters;
  char *argv[] = {"poolbench",
                  "probe",
                  "--allocator",
                  a->path ? a->path : "any",
                  counters ? "--counters" : NULL,
                  counters,
                  NULL};
  struct launch_request request = {
      .program = run->program, .argv = argv, .preload = a->path, .timeout_ns = PROBE_TIMEOUT_NS};
  struct launch_result r;
  launch(l, &request, &r);
  end_at_its_words(r.output);
  bool ok = r.outcome == LAUNCH_SAMPLE && !r.sample.error ? take_probe(run, a, &r.sample, e)
                                                          : probe_failed(a, &r, e);
  sample_free(&r.sample);
  return ok;
}

/* Asks a build of --arm for a probe's sample, which counts nothing: is it a poolbench? */
static bool probe_build(const struct plan_build *b, struct launcher *l, struct error *e) {
  char *argv[] = {"poolbench", "probe", "--allocator", "any", "--counters", "", NULL};
  struct launch_request request = {
      .program = b->path, .argv = argv, .timeout_ns = PROBE_TIMEOUT_NS};
  struct launch_result r;
  launch(l, &request, &r);
  end_at_its_words(r.output);
  bool ok = r.outcome == LAUNCH_SAMPLE && !r.sample.error;
  if (r.outcome == LAUNCH_INTERRUPTED)
    error_set(e, EXIT_INTERRUPTED, "%s", r.why);
  else if (!ok)
    error_set(e, EXIT_INPUT, "--arm %s=%s: is no poolbench that can be measured: %s%s%s", b->label,
              b->path, r.outcome == LAUNCH_SAMPLE ? r.sample.error : r.why, r.output[0] ? ": " : "",
              r.output);
  sample_free(&r.sample);
  return ok;
}

static bool probe_all(struct run *run, struct launcher *l, struct error *e) {
  for (size_t i = 0; i < run->plan.build_count; i++)
    if (run->plan.builds[i].path && !probe_build(&run->plan.builds[i], l, e))
      return false;
  for (size_t i = 0; i < run->allocators.count; i++)
    if (!probe(run, l, &run->allocators.items[i], e))
      return false;
  return true;
}

static bool prepare(struct run *run, struct error *e) {
  return look_at_machine(run, e) && make_plan(run, e);
}

/* A new run: its ID, seed and folder. */
static bool begin_new(struct run *run, struct error *e) {
  uint64_t id;
  if (!draw_random(&id, e))
    return false;
  if (!run->options.seed_given) {
    if (!draw_random(&run->plan.seed, e))
      return false;
    run->plan.seed >>= 32; /* short enough to be typed again */
  }
  snprintf(run->id, sizeof run->id, "%08" PRIx32, (uint32_t)id);
  run->started = time(NULL);
  return true;
}

/* --- rounds ------------------------------------------------------------------------------ */

static bool write_record(struct run *run, struct error *e) {
  uint64_t t = now();
  run->times.wall_ns += t - run->session_start;
  run->session_start = t;
  json_t *record = record_write(run);
  if (!record)
    return error_set(e, EXIT_INPUT, "out of memory");
  bool ok = runfiles_write_json(&run->files, record, e);
  json_decref(record);
  return ok;
}

/* Expected time of the samples that were taken or failed, to say how far the run is. */
static uint64_t time_done(const struct run *run) {
  uint64_t done = 0;
  for (size_t i = 0; i < run->results.count; i++)
    done +=
        plan_sample_time(&run->plan.cells[run->results.items[i].cell], run->results.items[i].round);
  for (size_t i = 0; i < run->failure_count; i++)
    done += plan_sample_time(&run->plan.cells[run->failures[i].cell], run->failures[i].round);
  return done;
}

static bool was_tried(const struct run *run, unsigned cell, unsigned round) {
  for (size_t i = 0; i < run->failure_count; i++)
    if (run->failures[i].cell == cell && run->failures[i].round == round)
      return true;
  return results_have(&run->results, cell, round);
}

static bool run_round(struct run *run, struct launcher *l, unsigned round, struct progress *p,
                      uint64_t whole, uint64_t *done, struct error *e) {
  unsigned *order = calloc(run->plan.cell_count, sizeof *order);
  if (!order)
    return error_set(e, EXIT_INPUT, "out of memory");
  size_t n = plan_order(&run->plan, round, order);
  bool ok = true;
  for (size_t i = 0; ok && i < n; i++) {
    const struct plan_cell *c = &run->plan.cells[order[i]];
    bool tried = was_tried(run, order[i], round);
    progress_show(p, (double)*done / (double)whole, round, plan_last_round(&run->plan), c->name + 9,
                  now());
    if (!tried && !run->cells[order[i]].given_up) {
      struct result where = {.cell = order[i], .round = round, .seq = (unsigned)i + 1};
      ok = run_measure(run, l, c->build->path ? c->build->path : run->program, &where, e);
    }
    *done += tried ? 0 : plan_sample_time(c, round);
  }
  free(order);
  return ok;
}

/* Measures what a resumed run lacks of the rounds that it had done. */
static bool fill_gaps(struct run *run, struct launcher *l, struct progress *p, uint64_t whole,
                      uint64_t *done, struct error *e) {
  struct results_frame frame = {&run->plan, &run->host, run->id};
  size_t before = run->results.count;
  for (unsigned round = 1; round <= run->rounds_done; round++)
    if (!run_round(run, l, round, p, whole, done, e))
      return false;
  return run->results.count == before ||
         runfiles_publish(&run->files, &frame, &run->results, run->rounds_done, e);
}

static bool all_rounds(struct run *run, struct launcher *l, struct progress *p, struct error *e) {
  struct results_frame frame = {&run->plan, &run->host, run->id};
  uint64_t whole = plan_expected(&run->plan, 0), done = time_done(run);
  if (!fill_gaps(run, l, p, whole, &done, e))
    return false;
  for (unsigned round = run->rounds_done + 1; round <= plan_last_round(&run->plan); round++) {
    if (!run_round(run, l, round, p, whole, &done, e) ||
        !runfiles_publish(&run->files, &frame, &run->results, round, e))
      return false;
    run->rounds_done = round;
    plan_shorten(&run->plan, round, run->times.wall_ns + (now() - run->session_start));
    uint64_t longer = whole;
    whole = plan_expected(&run->plan, 0);
    progress_resize(p, (double)longer / (double)whole);
    if (!write_record(run, e))
      return false;
  }
  return true;
}

/* More threads than arenas share them, and wait for each other inside malloc. */
static void note_arenas(struct run *run) {
  unsigned arenas = 0;
  for (size_t i = 0; i < run->plan.cell_count; i++)
    if (run->plan.cells[i].headline && run->cells[i].arenas > arenas)
      arenas = run->cells[i].arenas;
  if (arenas && arenas < run->plan.headline)
    plan_note(&run->plan, "glibc made at most %u arena%s for %u threads, which share them", arenas,
              plural(arenas), run->plan.headline);
}

/* Writes down how it ended. A disk that is full keeps the record of the last whole round. */
static void finish(struct run *run, bool whole, const struct error *why, struct error *e) {
  run->status = whole                             ? RUN_COMPLETE
                : why->status == EXIT_INTERRUPTED ? RUN_INTERRUPTED
                                                  : RUN_BROKEN;
  run->ended = time(NULL);
  if (whole)
    note_arenas(run);
  if (!write_record(run, e) && !whole)
    e->text[0] = '\0'; /* the first error is the one to tell */
  runfiles_close(&run->files);
}

/* 0, or EXIT_SAMPLES when some failed. */
static int samples_status(const struct run *run) {
  return run->failure_count ? EXIT_SAMPLES : EXIT_DONE;
}

static int measure_all(struct run *run, struct launcher *l) {
  struct error e = {0}, last = {0};
  struct progress progress;
  uint64_t whole = plan_expected(&run->plan, 0);
  run->status = RUN_RUNNING;
  progress_start(&progress, stderr, whole ? (double)time_done(run) / (double)whole : 1, now());
  bool ok = write_record(run, &e) && all_rounds(run, l, &progress, &e);
  progress_clear(&progress);
  finish(run, ok, &e, &last);
  if (!ok)
    fprintf(stderr, "poolbench: %s\n", e.text);
  else if (last.text[0])
    fprintf(stderr, "poolbench: %s\n", last.text);
  announce_end(run);
  if (!ok)
    return e.status;
  return last.text[0] ? (int)last.status : samples_status(run);
}

/* --- the command ------------------------------------------------------------------------- */

static void free_run(struct run *run) {
  for (size_t i = 0; i < run->failure_count; i++) {
    free(run->failures[i].why);
    free(run->failures[i].output);
  }
  free(run->failures);
  free(run->cells);
  results_free(&run->results);
  sample_free(&run->facts);
  json_decref(run->identity);
  json_decref(run->topology);
  json_decref(run->forecasts);
  plan_free(&run->plan);
  allocators_free(&run->allocators);
  placement_free(&run->placement);
}

/* A file that lost its end holds less than run.json counts as done. */
static bool has_gaps(const struct run *run) {
  for (unsigned round = 1; round <= run->rounds_done; round++)
    for (unsigned i = 0; i < run->plan.cell_count; i++)
      if (run->plan.cells[i].rounds >= round && !run->cells[i].given_up &&
          !was_tried(run, i, round))
        return true;
  return false;
}

/* Goes on with a recorded run: what it measured, and how far it came. */
static bool begin_again(struct run *run, const json_t *record, struct error *e) {
  struct results_frame frame = {&run->plan, &run->host, run->id};
  if (!record_resume(record, run, e) || !runfiles_load(&run->files, &frame, &run->results, e))
    return false;
  if (has_gaps(run))
    run->status = RUN_RUNNING;
  return true;
}

/* From the plan to the end of the run, for a new one (record NULL) or a resumed one. */
static int start(struct run *run, const json_t *record, struct error *e) {
  struct launcher l;
  if (!prepare(run, e) || (!record && !begin_new(run, e)))
    return e->status;
  announce_machine(run);
  if (run->options.dry_run) {
    announce_plan(run);
    announce_cells(&run->plan);
    return EXIT_DONE;
  }
  run->identity = record_identity(run, e);
  unsigned rounds = run->plan.rounds, sweep_rounds = run->plan.sweep_rounds;
  if (!run->identity || (record && !begin_again(run, record, e)))
    return e->status;
  announce_plan(run);
  if (record && run->status == RUN_COMPLETE) {
    announce_complete(run, rounds, sweep_rounds);
    return samples_status(run);
  }
  if (!launcher_open(&l, e))
    return e->status;
  int status = -1;
  if (!probe_all(run, &l, e) ||
      (!record && !runfiles_create(&run->files, run->options.out, run->host.name, e)))
    status = e->status;
  fflush(stdout);
  if (status < 0)
    status = measure_all(run, &l);
  launcher_close(&l);
  return status;
}

/* The options of the recorded run are parsed anew; the plan follows from them. */
static int resume(struct run *run, struct error *e) {
  char **argv = NULL;
  int argc = 0, status = EXIT_INPUT;
  json_t *record = NULL;
  if (runfiles_open(&run->files, run->options.resume_dir, e))
    record = runfiles_read_json(&run->files, e);
  if (record && record_command(record, &argc, &argv, e)) {
    if (options_parse(argc, argv, &run->options, e)) {
      run->argc = argc;
      run->argv = argv;
      status = start(run, record, e);
    } else {
      status = e->status;
    }
  }
  json_decref(record);
  free_run(run);
  record_free_command(argc, argv);
  return status;
}

int run_main(int argc, char **argv) {
  struct error e = {0};
  struct run run = {
      .argc = argc, .argv = argv, .program = "/proc/self/exe", .session_start = now()};
  if (!options_parse(argc, argv, &run.options, &e)) {
    fprintf(stderr, "poolbench run: %s\n", e.text);
    return e.status;
  }
  if (run.options.help) {
    options_help(stdout);
    return EXIT_DONE;
  }
  if (run.options.list)
    return list_main(0, NULL);
  if (run.options.list_counters)
    return run.options.counters ? list_counters(run.options.counters) : list_all_counters();
  int status;
  if (run.options.resume) {
    status = resume(&run, &e);
  } else {
    status = start(&run, NULL, &e);
    free_run(&run);
  }
  if (e.text[0])
    fprintf(stderr, "poolbench run: %s\n", e.text);
  return status;
}
