/*
 * run.json: a run written down, and read back to go on with it. See run.h and
 * docs/file-format.md. Prints nothing, decides nothing.
 */
#include "harness/cell.h"
#include "harness/digits.h"
#include "harness/presets.h"
#include "harness/run.h"
#include "harness/version.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RECORD_VERSION = 1 };

static const char *const status_names[] = {"running", "complete", "interrupted", "broken"};

/* jansson has no unsigned integers; a seed above its range stays exact as text. */
static json_t *unsigned_number(uint64_t n) {
  char text[24];
  if (n <= INT64_MAX)
    return json_integer((json_int_t)n);
  snprintf(text, sizeof text, "%" PRIu64, n);
  return json_string(text);
}

/* Text that may not be UTF-8 (output of a crashed program). */
static json_t *any_text(const char *text) {
  json_t *j = json_string(text);
  if (j)
    return j;
  char *copy = strdup(text);
  if (!copy)
    return NULL;
  for (char *p = copy; *p; p++)
    if ((unsigned char)*p >= 0x80)
      *p = '?';
  j = json_string(copy);
  free(copy);
  return j;
}

static json_t *text_or_null(const char *text) {
  return text ? any_text(text) : json_null();
}

/* --- identity ---------------------------------------------------------------------------- */

/* FNV-1a, 64 bits, of a file: to tell builds apart, not to withstand an attacker. */
static bool hash_file(const char *path, char out[17], struct error *e) {
  unsigned char bytes[1 << 16];
  uint64_t h = 0xcbf29ce484222325u;
  FILE *f = fopen(path, "re");
  if (!f)
    return error_errno(e, EXIT_INPUT, "%s", path);
  size_t n;
  while ((n = fread(bytes, 1, sizeof bytes, f)) > 0)
    for (size_t i = 0; i < n; i++)
      h = (h ^ bytes[i]) * 0x100000001b3u;
  bool ok = !ferror(f);
  fclose(f);
  snprintf(out, 17, "%016" PRIx64, h);
  return ok || error_errno(e, EXIT_INPUT, "reading %s", path);
}

static bool add_hash(json_t *o, const char *key, const char *path, struct error *e) {
  char hash[17];
  if (!hash_file(path, hash, e))
    return false;
  return json_object_set_new(o, key, json_string(hash)) == 0 ||
         error_set(e, EXIT_INPUT, "out of memory");
}

/* Every variable that sets up an allocator. */
static json_t *environment(void) {
  json_t *o = json_object();
  for (char **entry = environ; o && *entry; entry++) {
    const char *equals = strchr(*entry, '=');
    if (!equals || !allocators_variable(*entry))
      continue;
    char name[100];
    snprintf(name, sizeof name, "%.*s", (int)(equals - *entry), *entry);
    json_object_set_new(o, name, any_text(equals + 1));
  }
  return o;
}

static bool add_files(json_t *o, const struct run *run, struct error *e) {
  char key[600];
  bool ok = add_hash(o, "the program poolbench", run->program, e);
  for (size_t i = 0; ok && i < run->plan.build_count; i++)
    if (run->plan.builds[i].path) {
      snprintf(key, sizeof key, "the build %.500s", run->plan.builds[i].label);
      ok = add_hash(o, key, run->plan.builds[i].path, e);
    }
  for (size_t i = 0; ok && i < run->allocators.count; i++)
    if (run->allocators.items[i].path) {
      snprintf(key, sizeof key, "the allocator %.500s", run->allocators.items[i].label);
      ok = add_hash(o, key, run->allocators.items[i].path, e);
    }
  for (size_t i = 0; ok && i < run->options.object_count; i++) {
    snprintf(key, sizeof key, "the object %.500s", run->options.objects[i]);
    ok = add_hash(o, key, run->options.objects[i], e);
  }
  return ok;
}

json_t *record_identity(const struct run *run, struct error *e) {
  json_t *o = json_pack("{s:s, s:s, s:s, s:o}", "the processor", run->host.cpu_model, "the kernel",
                        run->host.kernel, "the usable CPUs", run->placement.cpu_list,
                        "allocator settings in the environment", environment());
  if (!o) {
    error_set(e, EXIT_INPUT, "out of memory");
    return NULL;
  }
  if (!add_files(o, run, e)) {
    json_decref(o);
    return NULL;
  }
  return o;
}

/* The first key whose value differs between the two, NULL: none. */
static const char *differing_key(json_t *a, json_t *b) {
  const char *key;
  json_t *value;
  json_object_foreach(a, key, value) if (!json_equal(value, json_object_get(b, key))) return key;
  json_object_foreach(b, key, value) if (!json_object_get(a, key)) return key;
  return NULL;
}

/* --- parts of the record ----------------------------------------------------------------- */

static json_t *strings(char *const *items, size_t n) {
  json_t *a = json_array();
  for (size_t i = 0; a && i < n; i++)
    json_array_append_new(a, any_text(items[i]));
  return a;
}

static json_t *program_part(void) {
  return json_pack("{s:s, s:s, s:s}", "version", POOLBENCH_VERSION, "compiler", POOLBENCH_COMPILER,
                   "flags", POOLBENCH_FLAGS);
}

static json_t *host_part(const struct run *run) {
  const struct host *h = &run->host;
  json_t *limit = h->cgroup.cpus > 0
                      ? json_pack("{s:f, s:f, s:s}", "cpus", h->cgroup.cpus, "period_s",
                                  h->cgroup.period_s, "file", h->cgroup.where)
                      : json_null();
  return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:I, s:f, s:o, s:O?}",
                   "name", h->name, "cpu_model", h->cpu_model, "arch", h->arch, "kernel", h->kernel,
                   "governor", h->governor, "turbo", h->turbo, "smt", h->smt,
                   "transparent_huge_pages", h->thp, "aslr", h->aslr, "virtualization",
                   h->virtualization, "memory_bytes", (json_int_t)h->memory_bytes, "load_average",
                   h->load1, "cgroup_cpu_limit", limit, "topology", run->topology);
}

/* Which CPU every thread is bound to, and where its first-touched memory comes from. */
static json_t *map_of(const struct placement *p, unsigned threads) {
  json_t *cpus = json_array(), *nodes = json_array();
  for (unsigned i = 0; cpus && nodes && i < threads; i++) {
    json_array_append_new(cpus, json_integer(placement_cpu(p, i)));
    json_array_append_new(nodes, json_integer(placement_node(p, i)));
  }
  return json_pack("{s:i, s:o, s:o}", "threads", (int)threads, "cpus", cpus, "first_touch_nodes",
                   nodes);
}

static json_t *binding_part(const struct run *run) {
  const struct placement *p = &run->placement;
  char line[300], map[1000];
  json_t *maps = json_array();
  placement_map_line(p, run->plan.headline, map, sizeof map);
  placement_line(p, run->plan.headline, line, sizeof line);
  for (size_t i = 0; maps && i < run->plan.cell_count && p->policy != BIND_NONE; i++) {
    unsigned threads = run->plan.cells[i].team;
    bool seen = false;
    for (size_t j = 0; j < i && !seen; j++)
      seen = run->plan.cells[j].team == threads;
    if (!seen)
      json_array_append_new(maps, map_of(p, threads));
  }
  return json_pack("{s:s, s:s, s:i, s:i, s:i, s:i, s:i, s:s, s:s, s:o}", "policy",
                   bind_policy_name(p->policy), "cpuset", p->cpu_list, "cpus", (int)p->cpus,
                   "cores", (int)p->cores, "packages", (int)p->packages, "numa_nodes",
                   (int)p->nodes, "kinds_of_cores", (int)p->core_kinds, "line", line, "map", map,
                   "maps", maps);
}

static json_t *cell_part(const struct run *run, size_t i) {
  const struct plan_cell *c = &run->plan.cells[i];
  return json_pack(
      "{s:s, s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:i, s:i, s:b, s:b, s:b, s:i, s:I, s:b, s:i}",
      "name", c->name, "case", c->row->info->name, "strategy", c->arm->label, "discipline",
      discipline_name(c->arm->discipline), "allocator", c->allocator->label, "build",
      text_or_null(c->build->label), "object", text_or_null(c->row->object), "options",
      text_or_null(c->row->options), "threads", (int)c->threads, "team", (int)c->team, "headline",
      c->headline, "base", c->arm->is_base, "twin", c->arm->is_twin, "rounds", (int)c->rounds,
      "window_ns", (json_int_t)c->window, "given_up", run->cells[i].given_up, "arenas",
      (int)run->cells[i].arenas);
}

static json_t *skips_part(const struct plan *p) {
  json_t *a = json_array();
  for (size_t i = 0; a && i < p->skip_count; i++)
    json_array_append_new(a, json_pack("{s:s, s:s, s:s}", "case", p->skips[i].case_name, "strategy",
                                       p->skips[i].arm, "why", p->skips[i].why));
  return a;
}

static json_t *plan_part(const struct run *run) {
  const struct plan *p = &run->plan;
  json_t *cells = json_array(), *notes = json_array();
  for (size_t i = 0; cells && i < p->cell_count; i++)
    json_array_append_new(cells, cell_part(run, i));
  for (size_t i = 0; notes && i < p->note_count; i++)
    json_array_append_new(notes, any_text(p->notes[i]));
  return json_pack("{s:o, s:i, s:i, s:i, s:s, s:b, s:I, s:o, s:f, s:o, s:o, s:o}", "seed",
                   unsigned_number(p->seed), "threads", (int)p->headline, "rounds", (int)p->rounds,
                   "sweep_rounds", (int)p->sweep_rounds, "base", p->arms[0].label, "quick",
                   p->quick, "window_ns", (json_int_t)p->window, "trim", text_or_null(p->trim),
                   "expected_s", (double)plan_expected(p, 0) / 1e9, "cells", cells, "skipped",
                   skips_part(p), "notes", notes);
}

/* Which file of a preset holds which column. */
static json_t *preset_part(const struct plan *p) {
  if (!p->preset)
    return json_null();
  return json_pack("{s:s, s:{s:s, s:s, s:s}, s:{s:s, s:s, s:s}}", "name", p->preset->name, "old",
                   "file", "old.txt", "strategy", p->preset_old->label, "discipline",
                   discipline_name(p->preset_old->discipline), "new", "file", "new.txt", "strategy",
                   p->preset_new->label, "discipline", discipline_name(p->preset_new->discipline));
}

static json_t *allocators_part(const struct allocators *a) {
  json_t *list = json_array();
  for (size_t i = 0; list && i < a->count; i++)
    json_array_append_new(
        list, json_pack("{s:s, s:s, s:o, s:s, s:s}", "name", a->items[i].label, "version",
                        a->items[i].version, "path", text_or_null(a->items[i].path), "linkage",
                        a->items[i].path ? "preloaded" : "linked", "library", a->items[i].library));
  return list;
}

static json_t *missing_allocators(const struct allocators *a) {
  json_t *list = json_array();
  for (size_t i = 0; list && i < a->missing_count; i++)
    json_array_append_new(list, json_pack("{s:s, s:s}", "name", a->missing[i].name, "package",
                                          a->missing[i].package));
  return list;
}

static json_t *texts(const struct sample_text *items, size_t n) {
  json_t *o = json_object();
  for (size_t i = 0; o && i < n; i++)
    json_object_set_new(o, items[i].name, any_text(items[i].text));
  return o;
}

static json_t *failure_part(const struct run *run, const struct run_failure *f) {
  return json_pack("{s:s, s:s, s:i, s:i, s:s, s:o, s:o}", "name", run->plan.cells[f->cell].name,
                   "allocator", run->plan.cells[f->cell].allocator->label, "round", (int)f->round,
                   "seq", (int)f->seq, "what", f->what, "why", any_text(f->why), "output",
                   any_text(f->output));
}

static json_t *failures_part(const struct run *run) {
  json_t *a = json_array();
  for (size_t i = 0; a && i < run->failure_count; i++)
    json_array_append_new(a, failure_part(run, &run->failures[i]));
  return a;
}

static void add_flag(json_t *list, const struct run *run, const struct result *item,
                     const char *flag, const char *text) {
  json_array_append_new(list,
                        json_pack("{s:s, s:i, s:s, s:o}", "name", run->plan.cells[item->cell].name,
                                  "round", (int)item->round, "flag", flag, "text", any_text(text)));
}

/* Samples that are doubtful; the files carry the same flags. */
static json_t *flags_part(const struct run *run) {
  json_t *a = json_array();
  double median = results_median_calibration(&run->results);
  char text[RESULTS_FLAG_TEXT];
  for (size_t i = 0; a && i < run->results.count; i++) {
    const struct result *item = &run->results.items[i];
    for (size_t k = 0; k < item->sample.flag_count; k++)
      add_flag(a, run, item, item->sample.flags[k].name, item->sample.flags[k].text);
    if (results_speed_flag(&item->sample, median, text))
      add_flag(a, run, item, FLAG_HOST_SPEED, text);
  }
  return a;
}

static double share(uint64_t part, uint64_t whole) {
  return whole ? (double)part / (double)whole : 0;
}

static json_t *times_part(const struct run_times *t) {
  return json_pack("{s:I, s:I, s:I, s:I, s:f, s:f}", "wall_ns", (json_int_t)t->wall_ns,
                   "samples_ns", (json_int_t)t->samples_ns, "measured_ns",
                   (json_int_t)t->measured_ns, "warmup_ns", (json_int_t)t->warmup_ns,
                   "measured_share", share(t->measured_ns, t->wall_ns), "warmup_share",
                   share(t->warmup_ns, t->wall_ns));
}

json_t *record_write(const struct run *run) {
  json_t *o = json_pack("{s:i, s:s, s:s, s:I, s:I, s:i, s:i}", "version", RECORD_VERSION, "id",
                        run->id, "status", status_names[run->status], "started",
                        (json_int_t)run->started, "ended", (json_int_t)run->ended, "rounds_done",
                        (int)run->rounds_done, "samples", (int)run->results.count);
  if (!o)
    return NULL;
  const struct {
    const char *key;
    json_t *part;
  } parts[] = {
      {"command", strings(run->argv, (size_t)run->argc)},
      {"program", program_part()},
      {"host", host_part(run)},
      {"binding", binding_part(run)},
      {"allocators", allocators_part(&run->allocators)},
      {"allocators_missing", missing_allocators(&run->allocators)},
      {"environment", environment()},
      {"preset", preset_part(&run->plan)},
      {"times", times_part(&run->times)},
      {"failed", failures_part(run)},
      {"flagged", flags_part(run)},
      {"missing", texts(run->facts.missing, run->facts.missing_count)},
      {"facts", texts(run->facts.notes, run->facts.note_count)},
      {"counters", json_string(run->counters)},
      {"plan", plan_part(run)},
      {"identity", json_incref(run->identity)},
  };
  bool ok = true;
  for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
    ok &= json_object_set_new(o, parts[i].key, parts[i].part) == 0;
  if (run->forecasts)
    ok &= json_object_set(o, "forecasts", run->forecasts) == 0;
  if (ok)
    return o;
  json_decref(o);
  return NULL;
}

/* --- reading back ------------------------------------------------------------------------ */

void record_free_command(int argc, char **argv) {
  for (int i = 0; argv && i < argc; i++)
    free(argv[i]);
  free(argv);
}

bool record_command(const json_t *record, int *argc, char ***argv, struct error *e) {
  const json_t *list = json_object_get(record, "command");
  size_t n = json_array_size(list);
  if (json_integer_value(json_object_get(record, "version")) != RECORD_VERSION || n == 0)
    return error_set(e, EXIT_INPUT, "run.json is not of version %d, or holds no command",
                     RECORD_VERSION);
  *argv = calloc(n + 1, sizeof **argv);
  *argc = (int)n;
  bool ok = *argv != NULL;
  for (size_t i = 0; ok && i < n; i++) {
    const char *word = json_string_value(json_array_get(list, i));
    (*argv)[i] = word ? strdup(word) : NULL;
    ok = (*argv)[i] != NULL;
  }
  if (ok)
    return true;
  record_free_command((int)n, *argv);
  *argv = NULL;
  return error_set(e, EXIT_INPUT, "run.json: its command is damaged");
}

/* Text of a record's member, "" when it is not there. */
static const char *member(const json_t *o, const char *key) {
  const char *text = json_string_value(json_object_get(o, key));
  return text ? text : "";
}

static uint64_t member_number(const json_t *o, const char *key) {
  return (uint64_t)json_integer_value(json_object_get(o, key));
}

/* A number that decides what is measured: one that no run has must not start one without an end. */
static bool member_within(const json_t *o, const char *key, uint64_t most, uint64_t *out,
                          struct error *e) {
  const json_t *value = json_object_get(o, key);
  *out = (uint64_t)json_integer_value(value);
  return (json_is_integer(value) && *out <= most) ||
         error_set(e, EXIT_INPUT,
                   "run.json is damaged: its %s is no whole number from 0 to %" PRIu64, key, most);
}

static bool member_rounds(const json_t *o, const char *key, unsigned *out, struct error *e) {
  uint64_t n;
  bool ok = member_within(o, key, OPTIONS_MAX_ROUNDS, &n, e);
  *out = (unsigned)n;
  return ok;
}

static const char *failure_name(const char *text) {
  for (int o = LAUNCH_SAMPLE; o <= LAUNCH_NOT_STARTED; o++)
    if (strcmp(text, launch_outcome_name((enum launch_outcome)o)) == 0)
      return launch_outcome_name((enum launch_outcome)o);
  return "error";
}

static bool resume_failures(const json_t *list, struct run *run, struct error *e) {
  size_t i;
  const json_t *item;
  json_array_foreach(list, i, item) {
    struct run_failure f = {.round = (unsigned)member_number(item, "round"),
                            .seq = (unsigned)member_number(item, "seq"),
                            .what = failure_name(member(item, "what"))};
    const struct plan *p = &run->plan;
    while (f.cell < p->cell_count &&
           (strcmp(p->cells[f.cell].name, member(item, "name")) != 0 ||
            strcmp(p->cells[f.cell].allocator->label, member(item, "allocator")) != 0))
      f.cell++;
    if (f.cell == p->cell_count)
      continue;
    f.why = strdup(member(item, "why"));
    f.output = strdup(member(item, "output"));
    if (!f.why || !f.output || !run_add_failure(run, &f)) {
      free(f.why);
      free(f.output);
      return error_set(e, EXIT_INPUT, "out of memory");
    }
  }
  return true;
}

/* The plan must be the recorded one, cell by cell, else rounds would not belong together. */
static bool same_plan(const json_t *cells, struct plan *p, struct run_cell *state,
                      struct error *e) {
  bool same = json_array_size(cells) == p->cell_count;
  for (size_t i = 0; same && i < p->cell_count; i++) {
    const json_t *c = json_array_get(cells, i);
    same = strcmp(member(c, "name"), p->cells[i].name) == 0 &&
           strcmp(member(c, "allocator"), p->cells[i].allocator->label) == 0;
    if (same && (!member_rounds(c, "rounds", &p->cells[i].rounds, e) ||
                 !member_within(c, "window_ns", CELL_MAX_WINDOW_NS, &p->cells[i].window, e)))
      return false;
    state[i].given_up = json_is_true(json_object_get(c, "given_up"));
    state[i].arenas = (unsigned)member_number(c, "arenas");
  }
  return same || error_set(e, EXIT_INPUT,
                           "cannot go on with this run: its plan is not the one that its "
                           "command makes here; start a new one");
}

static bool resume_texts(const json_t *o, bool (*add)(struct sample *, const char *, const char *),
                         struct sample *facts, struct error *e) {
  const char *key;
  json_t *value;
  json_object_foreach((json_t *)o, key, value) {
    const char *text = json_string_value(value);
    if (text && !add(facts, key, text))
      return error_set(e, EXIT_INPUT, "out of memory");
  }
  return true;
}

/* All that was decided so far, also on the way: the rebuilt plan knows of its beginning alone. */
static void resume_notes(const json_t *notes, struct plan *p) {
  p->note_count = 0;
  for (size_t i = 0; i < json_array_size(notes); i++)
    if (json_string_value(json_array_get(notes, i)))
      plan_note(p, "%s", json_string_value(json_array_get(notes, i)));
}

/* As unsigned_number wrote it. */
static bool resume_seed(const json_t *seed, uint64_t *out, struct error *e) {
  const char *text = json_string_value(seed);
  if (!text)
    *out = (uint64_t)json_integer_value(seed);
  return !text || digits_parse(text, strlen(text), out) ||
         error_set(e, EXIT_INPUT, "run.json: its seed \"%.40s\" is no number", text);
}

bool record_resume(const json_t *record, struct run *run, struct error *e) {
  const json_t *plan = json_object_get(record, "plan"), *times = json_object_get(record, "times");
  const char *key = differing_key(json_object_get(record, "identity"), run->identity);
  if (key)
    return error_set(e, EXIT_INPUT,
                     "cannot go on with this run: %s changed since it began, so samples would "
                     "not belong together; start a new one",
                     key);
  if (!same_plan(json_object_get(plan, "cells"), &run->plan, run->cells, e) ||
      !member_rounds(plan, "rounds", &run->plan.rounds, e) ||
      !member_rounds(plan, "sweep_rounds", &run->plan.sweep_rounds, e) ||
      !member_rounds(record, "rounds_done", &run->rounds_done, e))
    return false;
  run->status = strcmp(member(record, "status"), status_names[RUN_COMPLETE]) == 0 ? RUN_COMPLETE
                                                                                  : RUN_RUNNING;
  snprintf(run->id, sizeof run->id, "%.23s", member(record, "id"));
  if (!resume_seed(json_object_get(plan, "seed"), &run->plan.seed, e))
    return false;
  resume_notes(json_object_get(plan, "notes"), &run->plan);
  run->started = (time_t)member_number(record, "started");
  run->times =
      (struct run_times){member_number(times, "wall_ns"), member_number(times, "samples_ns"),
                         member_number(times, "measured_ns"), member_number(times, "warmup_ns")};
  /* A forecast stands as it was made; later samples do not change what was said. */
  run->forecasts = json_incref(json_object_get(record, "forecasts"));
  return resume_texts(json_object_get(record, "missing"), sample_add_missing, &run->facts, e) &&
         resume_texts(json_object_get(record, "facts"), sample_add_note, &run->facts, e) &&
         resume_failures(json_object_get(record, "failed"), run, e);
}

/* --- topology ---------------------------------------------------------------------------- */

static json_t *caches(hwloc_topology_t t) {
  static const struct {
    hwloc_obj_type_t type;
    const char *name;
  } kinds[] = {{HWLOC_OBJ_L1CACHE, "L1d"}, {HWLOC_OBJ_L2CACHE, "L2"}, {HWLOC_OBJ_L3CACHE, "L3"}};
  json_t *a = json_array();
  for (size_t i = 0; a && i < sizeof kinds / sizeof kinds[0]; i++) {
    int n = hwloc_get_nbobjs_by_type(t, kinds[i].type);
    hwloc_obj_t o = n > 0 ? hwloc_get_obj_by_type(t, kinds[i].type, 0) : NULL;
    if (o)
      json_array_append_new(a, json_pack("{s:s, s:i, s:I, s:i}", "name", kinds[i].name, "count", n,
                                         "bytes", (json_int_t)o->attr->cache.size, "line",
                                         (int)o->attr->cache.linesize));
  }
  return a;
}

json_t *record_topology(hwloc_topology_t t) {
  return json_pack("{s:i, s:i, s:i, s:i, s:o}", "packages",
                   hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_PACKAGE), "cores",
                   hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_CORE), "cpus",
                   hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_PU), "numa_nodes",
                   hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_NUMANODE), "caches", caches(t));
}
