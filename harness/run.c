/*
 * `poolbench run`: sets a run up, measures its rounds, ends it. See run.h.
 *
 * The plan comes from plan.h, processes are launch.h's, files runfiles.h's. Here is what happens
 * in which order, and what is said to the user.
 */
#include "harness/run.h"
#include "harness/cell.h"
#include "harness/list.h"
#include "harness/probe.h"
#include "harness/progress.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

enum {
  GIVE_UP_AFTER = 2,      /* failures, or bounds, in a row: the cell would cost its limit again */
  SWEEP_LEAST_ROUNDS = 4, /* a sweep that proves too slow keeps this many */
  ENVIRONMENT_PAD = 4096, /* the stack's start varies over a page */
};

/* Beyond the worker's own limit: it should have reported a bound by then. */
static const uint64_t GRACE_NS = 3000000000u;
static const uint64_t PROBE_TIMEOUT_NS = 10000000000u;

static uint64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

bool run_add_failure(struct run *run, const struct run_failure *f) {
  struct run_failure *bigger =
      realloc(run->failures, (run->failure_count + 1) * sizeof *run->failures);
  if (!bigger)
    return false;
  run->failures = bigger;
  run->failures[run->failure_count++] = *f;
  return true;
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

static bool make_plan(struct run *run, struct error *e) {
  struct plan_machine machine = {.cpus = run->placement.cpus};
  if (run->host.cgroup.cpus > 0 && run->host.cgroup.cpus < run->placement.cpus)
    machine.cgroup_period_s = run->host.cgroup.period_s;
  if (!allocators_find(&run->allocators, run->options.allocators, NULL, e) ||
      !plan_build(&run->plan, &run->options, &run->allocators, &machine, e))
    return false;
  run->cells = calloc(run->plan.cell_count, sizeof *run->cells);
  return run->cells || error_set(e, EXIT_INPUT, "out of memory");
}

/* Keeps the first of each name. */
static bool keep_facts(struct run *run, const struct sample *s) {
  for (size_t i = 0; i < s->missing_count; i++) {
    bool known = false;
    for (size_t k = 0; k < run->facts.missing_count && !known; k++)
      known = strcmp(run->facts.missing[k].name, s->missing[i].name) == 0;
    if (!known && !sample_add_missing(&run->facts, s->missing[i].name, s->missing[i].text))
      return false;
  }
  return true;
}

static const char *note(const struct sample *s, const char *key) {
  for (size_t i = 0; i < s->note_count; i++)
    if (strcmp(s->notes[i].name, key) == 0)
      return s->notes[i].text;
  return NULL;
}

/*
 * Asks a process that has the allocator which malloc it got, and which counters open: a library
 * that is no allocator is refused here, not once a sample.
 */
static bool probe(struct run *run, struct launcher *l, struct allocator_arm *a, struct error *e) {
  char *argv[] = {"poolbench",
                  "probe",
                  "--allocator",
                  a->path ? a->path : "any",
                  run->options.counters ? "--counters" : NULL,
                  (char *)run->options.counters,
                  NULL};
  struct launch_request request = {
      .program = run->program, .argv = argv, .preload = a->path, .timeout_ns = PROBE_TIMEOUT_NS};
  struct launch_result result;
  launch(l, &request, &result);
  bool ok = result.outcome == LAUNCH_SAMPLE && !result.sample.error;
  if (result.outcome == LAUNCH_INTERRUPTED)
    error_set(e, EXIT_INTERRUPTED, "%s", result.why);
  else if (!ok)
    error_set(e, EXIT_INPUT, "%s%s %s: %s%s%s", a->path ? "--allocators: " : "", a->label,
              a->path ? "does not serve as an allocator" : "cannot be measured",
              result.outcome == LAUNCH_SAMPLE ? result.sample.error : result.why,
              result.output[0] ? ": " : "", result.output);
  if (ok) {
    const char *version = note(&result.sample, NOTE_ALLOCATOR_VERSION);
    const char *counters = note(&result.sample, PROBE_COUNTERS);
    snprintf(a->version, sizeof a->version, "%.79s", version ? version : "");
    if (counters)
      snprintf(run->counters, sizeof run->counters, "%.999s", counters);
    ok = keep_facts(run, &result.sample) || error_set(e, EXIT_INPUT, "out of memory");
  }
  sample_free(&result.sample);
  return ok;
}

static bool probe_all(struct run *run, struct launcher *l, struct error *e) {
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

/* Goes on with a recorded run: what it measured, and how far it came. */
static bool begin_again(struct run *run, const json_t *record, struct error *e) {
  struct results_frame frame = {&run->plan, &run->host, run->id};
  if (!record_resume(record, run, e) || !runfiles_load(&run->files, &frame, &run->results, e))
    return false;
  run->rounds_done = (unsigned)json_integer_value(json_object_get(record, "rounds_done"));
  return true;
}

/* --- what is said ------------------------------------------------------------------------ */

static void print_machine(const struct run *run) {
  char line[300], host[200];
  placement_line(&run->placement, run->plan.headline, line, sizeof line);
  host_line(&run->host, host, sizeof host);
  printf("%s%s\n", line, host);
}

static void print_list(const char *before, const char *item, bool first) {
  printf("%s%s", first ? before : ", ", item);
}

static void print_arms(const struct run *run) {
  const struct plan *p = &run->plan;
  for (size_t i = 0; i < p->arm_count; i++) {
    char text[STRATEGY_SPEC_MAX + 40];
    bool plain = p->arms[i].discipline == DISCIPLINE_BALANCED;
    snprintf(text, sizeof text, "%s%s%s%s", p->arms[i].label, plain ? "" : "+",
             plain ? "" : discipline_name(p->arms[i].discipline), i == 0 ? " (base)" : "");
    print_list("strategies: ", text, i == 0);
  }
  putchar('\n');
  for (size_t i = 0; run->allocators.count > 1 && i < run->allocators.count; i++)
    print_list("allocators: ", run->allocators.items[i].label, i == 0);
  if (run->allocators.count > 1)
    putchar('\n');
  for (size_t i = 0; i < run->allocators.missing_count; i++)
    printf("skipped: allocator %s is not installed (apt-get install %s)\n",
           run->allocators.missing[i].name, run->allocators.missing[i].package);
}

/* A skipped strategy once for each reason, with the cases or their number. */
static void print_skips(const struct plan *p) {
  for (size_t i = 0; i < p->skip_count; i++) {
    const struct plan_skip *s = &p->skips[i];
    size_t same = 0, earlier = 0;
    for (size_t k = 0; k < p->skip_count; k++)
      if (p->skips[k].arm == s->arm && strcmp(p->skips[k].why, s->why) == 0) {
        same++;
        earlier += k < i;
      }
    if (earlier)
      continue;
    if (same == 1)
      printf("skipped: %s under %s: %s\n", s->case_name, s->arm, s->why);
    else
      printf("skipped: %s and %zu more under %s: %s\n", s->case_name, same - 1, s->arm, s->why);
  }
}

static void print_plan(const struct run *run) {
  const struct plan *p = &run->plan;
  size_t headline = 0, sweep = 0, samples = 0;
  char time[16];
  for (size_t i = 0; i < p->cell_count; i++) {
    const struct plan_cell *c = &p->cells[i];
    *(c->headline ? &headline : &sweep) += c->rounds ? 1 : 0;
    samples += c->rounds;
  }
  print_arms(run);
  print_skips(p);
  for (size_t i = 0; i < p->note_count; i++)
    printf("note: %s\n", p->notes[i]);
  progress_time((double)plan_expected(p, 0) / 1e9, time);
  printf("%zu cell%s at %u thread%s in %u round%s", headline, headline == 1 ? "" : "s", p->headline,
         p->headline == 1 ? "" : "s", p->rounds, p->rounds == 1 ? "" : "s");
  if (sweep)
    printf(", %zu at other counts in %u", sweep, p->sweep_rounds);
  printf(": %zu samples, about %s; seed %" PRIu64 "\n", samples, time, p->seed);
}

static void print_cells(const struct plan *p) {
  for (size_t i = 0; i < p->cell_count; i++) {
    const struct plan_cell *c = &p->cells[i];
    if (c->rounds)
      printf("%-70s %-10s %3u rounds, window %4" PRIu64 " ms, about %5.1f s\n", c->name + 9,
             c->allocator->label, c->rounds, c->window / 1000000,
             (double)(c->expected * c->rounds) / 1e9);
  }
}

/* The last line of what a worker printed, without its newline. */
static void print_last_line(const char *output) {
  size_t end = strlen(output);
  while (end > 0 && output[end - 1] == '\n')
    end--;
  size_t start = end;
  while (start > 0 && output[start - 1] != '\n')
    start--;
  if (end > start)
    printf("        it said: %.*s\n", (int)(end - start), output + start);
}

static void print_failures(const struct run *run) {
  enum { SHOWN = 10 };
  for (size_t i = 0; i < run->failure_count && i < SHOWN; i++) {
    const struct run_failure *f = &run->failures[i];
    printf("failed: %s, round %u: %s: %s\n", run->plan.cells[f->cell].name + 9, f->round, f->what,
           f->why);
    print_last_line(f->output);
  }
  if (run->failure_count > SHOWN)
    printf("failed: %zu more, all in %s/run.json\n", run->failure_count - SHOWN, run->files.folder);
  for (size_t i = 0; i < run->plan.cell_count; i++)
    if (run->cells[i].given_up)
      printf("given up: %s after %d in a row that failed or hit their limit\n",
             run->plan.cells[i].name + 9, GIVE_UP_AFTER);
}

/* The run ended early: what is there, and how to use it and to go on. */
static void print_kept(const struct run *run) {
  const char *folder = run->files.folder;
  printf("kept: %u whole rounds, %zu samples in all, in %s\n", run->rounds_done, run->results.count,
         folder);
  printf("compare what is there:  poolcmp -col /strategy %s/%s\n", folder,
         run->rounds_done ? "samples.txt" : "round.part");
  printf("go on:                  poolbench run --resume %s\n", folder);
}

static void print_end(const struct run *run) {
  char time[16];
  const struct run_times *t = &run->times;
  progress_time((double)t->wall_ns / 1e9, time);
  print_failures(run);
  if (run->status == RUN_COMPLETE)
    printf("done: %zu samples in %s; %.0f %% of it measured, %.0f %% warm-up; %s\n",
           run->results.count, time, 100 * (double)t->measured_ns / (double)t->wall_ns,
           100 * (double)t->warmup_ns / (double)t->wall_ns, run->files.folder);
  else
    print_kept(run);
}

/* --- a sample ---------------------------------------------------------------------------- */

/* "0,1,0,1", or "none". The caller frees it. */
static char *cpu_map_text(const struct placement *p, unsigned threads) {
  size_t room = (size_t)threads * 12 + 8, used = 0;
  char *text = malloc(room);
  if (!text)
    return NULL;
  if (p->policy == BIND_NONE) {
    strcpy(text, "none");
    return text;
  }
  for (unsigned i = 0; i < threads; i++)
    used += (size_t)snprintf(text + used, room - used, "%s%d", i ? "," : "", p->order[i % p->cpus]);
  return text;
}

/* The worker's command line. Numbers live in the struct, the map is the caller's. */
struct worker_line {
  char threads[16], window[24], limit[24], seed[24], fd[8];
  char *argv[40];
};

static void make_line(struct worker_line *w, const struct run *run, const struct plan_cell *c,
                      unsigned round, char *map) {
  size_t n = 0;
  snprintf(w->threads, sizeof w->threads, "%u", c->team);
  snprintf(w->window, sizeof w->window, "%" PRIu64, c->window);
  snprintf(w->limit, sizeof w->limit, "%" PRIu64, c->limit);
  /* The same for all cells of a round: they measure the same data. */
  snprintf(w->seed, sizeof w->seed, "%" PRIu64, plan_random(run->plan.seed, round, 1) >> 1);
  snprintf(w->fd, sizeof w->fd, "%d", LAUNCH_FD);
  char *const words[] = {
      "poolbench",    "worker",
      "--case",       (char *)c->row->info->name,
      "--strategy",   c->arm->spec,
      "--threads",    w->threads,
      "--cpu-map",    map,
      "--window",     w->window,
      "--limit",      w->limit,
      "--seed",       w->seed,
      "--discipline", (char *)discipline_name(c->arm->discipline),
      "--fd",         w->fd,
      "--counters",   (char *)run->counters,
  };
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
    w->argv[n++] = words[i];
  if (c->row->object) {
    w->argv[n++] = "--object";
    w->argv[n++] = (char *)c->row->object;
  }
  if (c->row->options) {
    w->argv[n++] = "--options";
    w->argv[n++] = c->row->options;
  }
  if (c->allocator->path) {
    w->argv[n++] = "--expect-allocator";
    w->argv[n++] = c->allocator->path;
  }
  w->argv[n] = NULL;
}

/* A bound as a value: `ops` were not done in bound_s, so an op takes longer than their ratio. */
static bool value_of_bound(struct sample *s) {
  char text[100];
  double value;
  if (s->bound_s <= 0)
    return true;
  snprintf(text, sizeof text, "did not finish in %.1f s: ns/op is above this value", s->bound_s);
  if (!sample_add_flag(s, FLAG_BOUND, text))
    return false;
  return sample_get(s, unit_infos[UNIT_NS_OP].name, &value) ||
         sample_add(s, unit_infos[UNIT_NS_OP].name,
                    s->bound_s * 1e9 / (double)(s->ops ? s->ops : 1));
}

static uint64_t note_number(const struct sample *s, const char *key) {
  const char *text = note(s, key);
  return text ? strtoull(text, NULL, 10) : 0;
}

/* Takes a good sample over into the run. */
static bool keep_sample(struct run *run, struct result *item, struct error *e) {
  struct sample *s = &item->sample;
  uint64_t speed = note_number(s, NOTE_SPEED);
  run->times.measured_ns += note_number(s, NOTE_MEASURED);
  run->times.warmup_ns += note_number(s, NOTE_WARMUP);
  bool ok = keep_facts(run, s) && value_of_bound(s) &&
            (speed == 0 || sample_add(s, UNIT_CALIBRATION, (double)speed));
  struct run_cell *c = &run->cells[item->cell];
  c->failures = 0;
  c->bounds = s->bound_s > 0 ? c->bounds + 1 : 0;
  c->given_up = c->bounds >= GIVE_UP_AFTER;
  if (!ok) {
    sample_free(s);
    return error_set(e, EXIT_INPUT, "out of memory");
  }
  struct results_frame frame = {&run->plan, &run->host, run->id};
  return results_add(&run->results, item, e) &&
         runfiles_append(&run->files, &frame, &run->results.items[run->results.count - 1], e);
}

static bool keep_failure(struct run *run, const struct result *item, const struct launch_result *r,
                         struct error *e) {
  bool said = r->outcome == LAUNCH_SAMPLE;
  struct run_failure f = {.cell = item->cell,
                          .round = item->round,
                          .seq = item->seq,
                          .what = said ? "error" : launch_outcome_name(r->outcome),
                          .why = strdup(said ? r->sample.error : r->why),
                          .output = strdup(r->output)};
  if (!f.why || !f.output || !run_add_failure(run, &f)) {
    free(f.why);
    free(f.output);
    return error_set(e, EXIT_INPUT, "out of memory");
  }
  run->cells[item->cell].given_up = ++run->cells[item->cell].failures >= GIVE_UP_AFTER;
  return true;
}

/* Measures one cell once. false with e: the run cannot go on (interrupted, or no file to write). */
static bool measure(struct run *run, struct launcher *l, const char *program,
                    const struct result *where, struct error *e) {
  const struct plan_cell *c = &run->plan.cells[where->cell];
  struct worker_line line;
  struct launch_result r;
  char *map = cpu_map_text(&run->placement, c->team);
  if (!map)
    return error_set(e, EXIT_INPUT, "out of memory");
  make_line(&line, run, c, where->round, map);
  uint64_t random = plan_random(run->plan.seed, where->round, where->cell + 2);
  struct launch_request request = {.program = program,
                                   .argv = line.argv,
                                   .preload = c->allocator->path,
                                   .pad = (unsigned)(random % ENVIRONMENT_PAD),
                                   .timeout_ns = c->limit + GRACE_NS};
  launch(l, &request, &r);
  free(map);
  run->times.samples_ns += r.wall_ns;
  struct result item = *where;
  item.sample = r.sample;
  if (r.outcome == LAUNCH_SAMPLE && !r.sample.error)
    return keep_sample(run, &item, e);
  bool ok = r.outcome == LAUNCH_INTERRUPTED ? error_set(e, EXIT_INTERRUPTED, "%s", r.why)
                                            : keep_failure(run, where, &r, e);
  sample_free(&r.sample);
  return ok;
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

/* Expected time of the samples that are there, to say how far the run is. */
static double share_done(const struct run *run, uint64_t whole) {
  uint64_t done = 0;
  for (size_t i = 0; i < run->results.count; i++)
    done += run->plan.cells[run->results.items[i].cell].expected;
  return whole ? (double)done / (double)whole : 1;
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
    bool skip = run->cells[order[i]].given_up || was_tried(run, order[i], round);
    progress_show(p, (double)*done / (double)whole, round, plan_last_round(&run->plan), c->name + 9,
                  now());
    if (!skip) {
      struct result where = {.cell = order[i], .round = round, .seq = (unsigned)i + 1};
      ok = measure(run, l, c->build->path ? c->build->path : run->program, &where, e);
      *done += c->expected;
    }
  }
  free(order);
  return ok;
}

/* The plan was too optimistic: later rounds of the sweep make way for the headline's. */
static void shorten(struct run *run, unsigned round) {
  struct plan *p = &run->plan;
  uint64_t spent = run->times.wall_ns + (now() - run->session_start);
  uint64_t expected = plan_expected(p, 0) - plan_expected(p, round);
  if (!p->sweep_is_ours || p->sweep_rounds <= round || round + 1 < SWEEP_LEAST_ROUNDS || !expected)
    return;
  double pace = (double)spent / (double)expected;
  if ((double)spent + pace * (double)plan_expected(p, round) <= (double)p->budget)
    return;
  p->sweep_rounds = round < SWEEP_LEAST_ROUNDS ? SWEEP_LEAST_ROUNDS : round;
  for (size_t i = 0; i < p->cell_count; i++)
    if (!p->cells[i].headline && p->cells[i].rounds > p->sweep_rounds)
      p->cells[i].rounds = p->sweep_rounds;
  plan_note(p, "sweep ended after %u rounds: samples took longer than planned", p->sweep_rounds);
}

static bool all_rounds(struct run *run, struct launcher *l, struct progress *p, struct error *e) {
  struct results_frame frame = {&run->plan, &run->host, run->id};
  uint64_t whole = plan_expected(&run->plan, 0);
  uint64_t done = (uint64_t)(share_done(run, whole) * (double)whole);
  for (unsigned round = run->rounds_done + 1; round <= plan_last_round(&run->plan); round++) {
    if (!run_round(run, l, round, p, whole, &done, e) ||
        !runfiles_publish(&run->files, &frame, &run->results, round, e))
      return false;
    run->rounds_done = round;
    shorten(run, round);
    if (!write_record(run, e))
      return false;
  }
  return true;
}

/* Writes down how it ended. A disk that is full keeps the record of the last whole round. */
static void finish(struct run *run, bool whole, const struct error *why, struct error *e) {
  run->status = whole                             ? RUN_COMPLETE
                : why->status == EXIT_INTERRUPTED ? RUN_INTERRUPTED
                                                  : RUN_BROKEN;
  run->ended = time(NULL);
  if (!write_record(run, e) && !whole)
    e->text[0] = '\0'; /* the first error is the one to tell */
  runfiles_close(&run->files);
}

static int measure_all(struct run *run, struct launcher *l) {
  struct error e = {0}, last = {0};
  struct progress progress;
  uint64_t whole = plan_expected(&run->plan, 0);
  run->status = RUN_RUNNING;
  progress_start(&progress, stderr, share_done(run, whole), now());
  bool ok = write_record(run, &e) && all_rounds(run, l, &progress, &e);
  progress_clear(&progress);
  finish(run, ok, &e, &last);
  if (!ok)
    fprintf(stderr, "poolbench: %s\n", e.text);
  else if (last.text[0])
    fprintf(stderr, "poolbench: %s\n", last.text);
  print_end(run);
  if (!ok)
    return e.status;
  return last.text[0] ? (int)last.status : run->failure_count ? EXIT_SAMPLES : EXIT_DONE;
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
  plan_free(&run->plan);
  allocators_free(&run->allocators);
  placement_free(&run->placement);
}

/* From the plan to the end of the run, for a new one (record NULL) or a resumed one. */
static int start(struct run *run, const json_t *record, struct error *e) {
  struct launcher l;
  if (!prepare(run, e) || (!record && !begin_new(run, e)))
    return e->status;
  print_machine(run);
  if (run->options.dry_run) {
    print_plan(run);
    print_cells(&run->plan);
    return EXIT_DONE;
  }
  run->identity = record_identity(run, e);
  if (!run->identity || (record && !begin_again(run, record, e)) || !launcher_open(&l, e))
    return e->status;
  print_plan(run);
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
    return list_counters(run.options.counters);
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
