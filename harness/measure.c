/*
 * One sample of a run: the worker's command line, and what becomes of its answer. See run.h.
 */
#include "harness/cell.h"
#include "harness/run.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { ENVIRONMENT_PAD = 4096 }; /* the stack's start varies over a page */

/* Beyond the worker's own limit: it should have reported a bound by then. */
static const uint64_t GRACE_NS = 3000000000u;

bool run_add_failure(struct run *run, const struct run_failure *f) {
  struct run_failure *bigger =
      realloc(run->failures, (run->failure_count + 1) * sizeof *run->failures);
  if (!bigger)
    return false;
  run->failures = bigger;
  run->failures[run->failure_count++] = *f;
  return true;
}

/* Notes that say the same of every sample. */
static const char *const fact_notes[] = {"live-peak-period-ns", NOTE_MULTIPLEXED, NULL};

bool run_keep_facts(struct run *run, const struct sample *s) {
  for (size_t i = 0; fact_notes[i]; i++) {
    const char *text = run_note(s, fact_notes[i]);
    if (text && !run_note(&run->facts, fact_notes[i]) &&
        !sample_add_note(&run->facts, fact_notes[i], text))
      return false;
  }
  for (size_t i = 0; i < s->missing_count; i++) {
    bool known = false;
    for (size_t k = 0; k < run->facts.missing_count && !known; k++)
      known = strcmp(run->facts.missing[k].name, s->missing[i].name) == 0;
    if (!known && !sample_add_missing(&run->facts, s->missing[i].name, s->missing[i].text))
      return false;
  }
  return true;
}

const char *run_note(const struct sample *s, const char *key) {
  for (size_t i = 0; i < s->note_count; i++)
    if (strcmp(s->notes[i].name, key) == 0)
      return s->notes[i].text;
  return NULL;
}

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
    used += (size_t)snprintf(text + used, room - used, "%s%d", i ? "," : "", placement_cpu(p, i));
  return text;
}

/* The worker's command line. Numbers live in the struct, the map is the caller's. */
struct worker_line {
  char threads[16], window[24], limit[24], seed[24], fd[8], trim[24];
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
  if (run->plan.trim) {
    uint64_t ns = run->plan.trim_ns;
    snprintf(w->trim, sizeof w->trim, "%" PRIu64, ns ? ns : run->plan.trim_bytes);
    w->argv[n++] = ns ? "--trim-ns" : "--trim-bytes";
    w->argv[n++] = w->trim;
  }
  if (c->allocator->path) {
    w->argv[n++] = "--expect-allocator";
    w->argv[n++] = c->allocator->path;
  }
  if (round <= PLAN_LINES_ROUNDS)
    w->argv[n++] = "--lines";
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
  const char *text = run_note(s, key);
  return text ? strtoull(text, NULL, 10) : 0;
}

/* Takes a good sample over into the run. */
static bool keep_sample(struct run *run, struct result *item, struct error *e) {
  struct sample *s = &item->sample;
  uint64_t speed = note_number(s, NOTE_SPEED);
  run->times.measured_ns += note_number(s, NOTE_MEASURED);
  run->times.warmup_ns += note_number(s, NOTE_WARMUP);
  bool ok = run_keep_facts(run, s) && value_of_bound(s) &&
            (speed == 0 || sample_add(s, UNIT_CALIBRATION, (double)speed));
  struct run_cell *c = &run->cells[item->cell];
  unsigned arenas = (unsigned)note_number(s, "arenas");
  c->arenas = arenas > c->arenas ? arenas : c->arenas;
  c->failures = 0;
  c->bounds = s->bound_s > 0 ? c->bounds + 1 : 0;
  c->given_up = c->bounds >= RUN_GIVE_UP_AFTER;
  if (!ok) {
    sample_free(s);
    return error_set(e, EXIT_INPUT, "out of memory");
  }
  struct results_frame frame = {&run->plan, &run->host, run->id};
  if (!results_add(&run->results, item, e))
    return false;
  if (runfiles_append(&run->files, &frame, &run->results.items[run->results.count - 1], e))
    return true;
  sample_free(&run->results.items[--run->results.count].sample); /* it is not on disk */
  return false;
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
  run->cells[item->cell].given_up = ++run->cells[item->cell].failures >= RUN_GIVE_UP_AFTER;
  return true;
}

bool run_measure(struct run *run, struct launcher *l, const char *program,
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
