/*
 * From rows, arms and builds to cells; see plan.h. Rows are plan_rows.c's, arms plan_arms.c's,
 * times and order schedule.c's.
 */
#include "harness/cell.h"
#include "harness/plan_parts.h"
#include "harness/presets.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum {
  DEFAULT_ROUNDS = 10,
  DEFAULT_SWEEP_ROUNDS = 6,
  QUICK_ROUNDS = 7,
  QUICK_SWEEP_ROUNDS = 3,
  SERIES_ROUNDS = 3,
  NAME_MAX_LENGTH = 400,
};
static const uint64_t MS = 1000000, SECOND = 1000000000;

bool plan_out_of_memory(struct error *e) {
  return error_set(e, EXIT_INPUT, "out of memory");
}

void *plan_grow(void *items, size_t count, size_t size, struct error *e) {
  if ((count & (count - 1)) != 0) /* room is always a power of two */
    return items;
  void *bigger = realloc(items, (count ? count * 2 : 1) * size);
  if (!bigger)
    plan_out_of_memory(e);
  return bigger;
}

void plan_note(struct plan *p, const char *format, ...) {
  if (p->note_count == PLAN_MAX_NOTES)
    return;
  va_list args;
  va_start(args, format);
  vsnprintf(p->notes[p->note_count++], sizeof p->notes[0], format, args);
  va_end(args);
}

/* --- builds ------------------------------------------------------------------------------ */

static bool choose_builds(struct plan *p, const struct options *o, struct error *e) {
  p->build_count = o->arm_count ? o->arm_count : 1;
  p->builds = calloc(p->build_count, sizeof *p->builds);
  if (!p->builds)
    return plan_out_of_memory(e);
  for (size_t i = 0; i < o->arm_count; i++) {
    const char *equals = strchr(o->arms[i], '=');
    p->builds[i].label = strndup(o->arms[i], (size_t)(equals - o->arms[i]));
    p->builds[i].path = strdup(equals + 1);
    if (!p->builds[i].label || !p->builds[i].path)
      return plan_out_of_memory(e);
  }
  if (o->arm_count == 1)
    plan_note(p, "build %s alone is measured; a second --arm is one to compare it with",
              p->builds[0].label);
  return true;
}

/* --- cells ------------------------------------------------------------------------------- */

static bool add_skip(struct plan *p, const struct plan_case *row, const struct plan_arm *a,
                     const char *why, struct error *e) {
  for (size_t i = 0; i < p->skip_count; i++)
    if (p->skips[i].case_name == row->info->name && p->skips[i].arm == a->label &&
        strcmp(p->skips[i].why, why) == 0)
      return true;
  void *room = plan_grow(p->skips, p->skip_count, sizeof *p->skips, e);
  if (!room)
    return false;
  p->skips = room;
  struct plan_skip *s = &p->skips[p->skip_count++];
  *s = (struct plan_skip){.case_name = row->info->name, .arm = a->label};
  snprintf(s->why, sizeof s->why, "%s", why);
  return true;
}

static bool name_cell(const struct plan *p, struct plan_cell *c, struct error *e) {
  char text[NAME_MAX_LENGTH], tail[100] = "", discipline[60] = "", trim[60] = "";
  if (c->arm->discipline != DISCIPLINE_BALANCED)
    snprintf(discipline, sizeof discipline, "/discipline=%s", discipline_name(c->arm->discipline));
  snprintf(tail, sizeof tail, "%s%.60s-%u", c->build->label ? "/build=" : "",
           c->build->label ? c->build->label : "", c->threads);
  /* A series trims at its own marks. */
  if (p->trim && !(c->row->info->flags & CASE_SERIES))
    snprintf(trim, sizeof trim, "/trim=%.50s", p->trim);
  snprintf(text, sizeof text, "Benchmark%s/strategy=%s%s%s%s", c->row->info->name, c->arm->label,
           discipline, trim, tail);
  c->name = strdup(text);
  snprintf(text, sizeof text, "Benchmark%s%s", c->row->info->name, tail);
  c->pair_name = strdup(text);
  return (c->name && c->pair_name) || plan_out_of_memory(e);
}

static bool add_cell(struct plan *p, const struct plan_cell *like, struct error *e) {
  void *room = plan_grow(p->cells, p->cell_count, sizeof *p->cells, e);
  if (!room)
    return false;
  p->cells = room;
  struct plan_cell *c = &p->cells[p->cell_count];
  *c = *like;
  unsigned series = p->quick ? 1 : SERIES_ROUNDS;
  c->rounds = c->headline ? p->rounds : p->sweep_rounds;
  /* A series takes seconds and shows megabytes: a few are enough. */
  if ((c->row->info->flags & CASE_SERIES) && c->rounds > series)
    c->rounds = series;
  p->cell_count++;
  return name_cell(p, c, e);
}

/* All arms and builds of one row at one thread count. */
static bool add_row(struct plan *p, struct plan_cell like, struct error *e) {
  const struct workload_case *info = like.row->info;
  like.team = like.threads;
  if ((info->flags & CASE_FEWER_THREADS) && info->max_threads && like.threads > info->max_threads)
    like.team = info->max_threads;
  for (size_t a = 0; a < p->arm_count; a++) {
    char why[120];
    like.arm = &p->arms[a];
    if ((info->flags & CASE_ONE_STRATEGY) && !like.arm->is_base && !like.arm->is_twin)
      continue;
    bool fits =
        cell_fits(info, like.arm->strategy, like.arm->discipline, like.team, why, sizeof why) &&
        (!strstr(like.arm->spec, ":" STRATEGY_PRIVATE_POOLS) ||
         cell_fits_private(info, why, sizeof why));
    if (!fits) {
      if (like.headline && !add_skip(p, like.row, like.arm, why, e))
        return false;
      continue;
    }
    for (size_t b = 0; b < p->build_count; b++) {
      like.build = &p->builds[b];
      if (!add_cell(p, &like, e))
        return false;
    }
  }
  return true;
}

/*
 * Thread counts below the headline: those of the list, or 1, 2, 4 ... below N for a single
 * number. Returns how many.
 */
static size_t sweep_counts(const struct plan *p, const struct options *o, unsigned *counts) {
  size_t n = 0;
  if (o->count_count > 1) {
    for (size_t i = 0; i < o->count_count; i++)
      if (o->counts[i] != p->headline)
        counts[n++] = o->counts[i];
    return n;
  }
  for (unsigned t = 1; p->sweep_rounds && t < p->headline; t *= 2)
    counts[n++] = t;
  return n;
}

static bool add_cells(struct plan *p, const struct options *o, const struct allocators *allocators,
                      struct error *e) {
  unsigned counts[OPTIONS_MAX_COUNTS];
  size_t count = sweep_counts(p, o, counts);
  for (size_t k = 0; k < allocators->count; k++)
    for (size_t i = 0; i < p->case_count; i++) {
      struct plan_cell like = {.row = &p->cases[i],
                               .allocator = &allocators->items[k],
                               .threads = p->headline,
                               .headline = true};
      if (!add_row(p, like, e))
        return false;
      like.headline = false;
      for (size_t t = 0; t < count; t++) {
        like.threads = counts[t];
        /*
         * A list of counts is meant for every case, a number only for the cases with curves; what
         * memory stays is asked at the headline alone.
         */
        bool wanted = (o->count_count > 1 || like.row->info->in_sweep) &&
                      !(like.row->info->flags & CASE_SERIES);
        if (wanted && !add_row(p, like, e))
          return false;
      }
    }
  if (p->cell_count > 0)
    return true;
  return p->skip_count ? error_set(e, EXIT_USAGE, "nothing to run: %s cannot run under %s: %s",
                                   p->skips[0].case_name, p->skips[0].arm, p->skips[0].why)
                       : error_set(e, EXIT_USAGE, "nothing to run: the suite has no cases");
}

/* --- the whole --------------------------------------------------------------------------- */

static void choose_numbers(struct plan *p, const struct options *o, const struct plan_machine *m) {
  bool list = o->count_count > 1;
  for (size_t i = 0; i < o->count_count; i++)
    p->headline = o->counts[i] > p->headline ? o->counts[i] : p->headline;
  if (o->count_count == 0)
    p->headline = p->preset ? p->preset->threads : m->cpus;
  p->quick = o->quick;
  p->rounds = o->rounds ? o->rounds : o->quick ? QUICK_ROUNDS : DEFAULT_ROUNDS;
  /* The counts of a list are wanted alike; a number's sweep is for the curve. */
  unsigned sweep = o->quick ? QUICK_SWEEP_ROUNDS : DEFAULT_SWEEP_ROUNDS;
  if (list || sweep > p->rounds)
    sweep = p->rounds;
  p->sweep_rounds = o->sweep_rounds >= 0 ? (unsigned)o->sweep_rounds : sweep;
  if (p->preset && o->sweep_rounds < 0 && !list)
    p->sweep_rounds = 0; /* the published table has one thread count */
  p->sweep_is_ours = !list && o->sweep_rounds < 0;
  bool all = o->suite && strcmp(o->suite, "all") == 0;
  p->rounds_are_ours = !o->rounds;
  p->hurried = p->hurried || all || o->quick;
  p->window = o->window_ns ? o->window_ns : (o->quick ? 80 : 200) * MS;
  /* A preset's quick run has all rows of the published table to fit in. */
  unsigned quick = p->preset ? 38 : 34;
  unsigned budget = o->quick ? quick : all ? 560 : 280, slack = o->quick ? 3 : all ? 25 : 12;
  p->budget = o->budget_ns ? o->budget_ns : budget * SECOND;
  p->latest = o->budget_ns ? o->budget_ns : (budget + slack) * SECOND;
  p->seed = o->seed;
  p->trim = o->trim;
  p->trim_ns = o->trim_ns;
  p->trim_bytes = o->trim_bytes;
}

/* Rows are named by the threads that were asked for, so it is said where fewer measure. */
static void note_fewer_threads(struct plan *p) {
  char list[400] = "";
  size_t used = 0;
  const struct plan_case *last = NULL;
  for (size_t i = 0; i < p->cell_count; i++) {
    const struct plan_cell *c = &p->cells[i];
    bool first = c->row != last && c->allocator == p->cells[0].allocator;
    bool measured = c->headline && c->rounds > 0;
    if (!measured || c->team >= c->threads || !first || used >= sizeof list)
      continue;
    used += (size_t)snprintf(list + used, sizeof list - used, "%s%s %u", last ? ", " : "",
                             c->row->info->name, c->team);
    last = c->row;
  }
  if (last)
    plan_note(p, "fewer threads than asked for, as many as the case can use: %s", list);
}

static bool build(struct plan *p, const struct options *o, const struct allocators *allocators,
                  const struct plan_machine *machine, bool hurried, struct error *e) {
  *p = (struct plan){.hurried = hurried};
  if (o->preset && !(p->preset = preset_find(o->preset, e)))
    return false;
  choose_numbers(p, o, machine);
  if (p->trim)
    plan_note(p, "pools are trimmed after every %s%s, as a garbage collector would", p->trim,
              p->trim_bytes ? " that the program allocates" : "");
  bool ok = plan_choose_cases(p, o, e) && plan_choose_arms(p, o, e) && choose_builds(p, o, e) &&
            add_cells(p, o, allocators, e);
  if (ok) {
    plan_schedule(p, o, machine);
    plan_note_settings(p, o);
    note_fewer_threads(p);
    ok = plan_check_threads(p, e);
  }
  if (!ok)
    plan_free(p);
  return ok;
}

bool plan_build(struct plan *p, const struct options *o, const struct allocators *allocators,
                const struct plan_machine *machine, struct error *e) {
  if (!build(p, o, allocators, machine, false, e))
    return false;
  if (p->hurried || plan_expected(p, 0) <= p->budget)
    return true;
  /* All was given up that may be, and it is still too long: less idling then. */
  plan_free(p);
  return build(p, o, allocators, machine, true, e);
}

void plan_free(struct plan *p) {
  for (size_t i = 0; i < p->arm_count; i++)
    plan_free_arm(&p->arms[i]);
  for (size_t i = 0; p->builds && i < p->build_count; i++) {
    free(p->builds[i].label);
    free(p->builds[i].path);
  }
  for (size_t i = 0; i < p->cell_count; i++) {
    free(p->cells[i].name);
    free(p->cells[i].pair_name);
  }
  free(p->arms);
  free(p->builds);
  for (size_t i = 0; i < p->case_count; i++)
    free(p->cases[i].options);
  free(p->cases);
  free(p->object_cases);
  free(p->cells);
  free(p->skips);
  *p = (struct plan){0};
}
