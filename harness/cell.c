/*
 * What a cell's words stand for: the case of a name, and whether a strategy can run it.
 *
 * Runner and worker both ask here, so that the plan skips exactly what a sample would refuse.
 */
#include "harness/cell.h"

#include "harness/plural.h"

#include <stdio.h>
#include <string.h>

/* Room for the cases that one object file brings; a Pod, Node or Endpoints file brings two. */
#define OBJECT_CASES 32

static const struct workload_case *find_in(const struct workload_case *cases, size_t count,
                                           const char *name) {
  for (size_t i = 0; i < count && cases[i].name; i++)
    if (strcmp(cases[i].name, name) == 0)
      return &cases[i];
  return NULL;
}

/* The workload's own list lives on, the one read from a file is copied out (its texts live on). */
static bool find_object_case(const struct workload *w, const char *file, const char *name,
                             struct workload_case *copy, bool *found, struct error *e) {
  struct workload_case cases[OBJECT_CASES];
  char why[sizeof e->text - 100] = "";
  int n = w->object_cases(file, cases, OBJECT_CASES, why, sizeof why);
  if (n < 0)
    return error_set(e, EXIT_INPUT, "%s", why);
  const struct workload_case *c = find_in(cases, (size_t)n, name);
  *found = c != NULL;
  if (c)
    *copy = *c;
  return true;
}

bool cell_find_case(const char *name, const char *object_file, const struct workload **workload,
                    struct workload_case *found, struct error *e) {
  for (const struct workload *const *w = workloads; *w; w++) {
    const struct workload_case *c = find_in((*w)->cases, SIZE_MAX, name);
    bool has = c != NULL;
    if (c)
      *found = *c;
    else if (object_file && (*w)->object_cases &&
             !find_object_case(*w, object_file, name, found, &has, e))
      return false;
    if (has) {
      *workload = *w;
      return true;
    }
  }
  return error_set(e, EXIT_USAGE, "no case \"%s\"%s%s; `poolbench list` names them", name,
                   object_file ? " here or in " : "", object_file ? object_file : "");
}

static bool refuse(char *why, size_t why_size, const char *text) {
  snprintf(why, why_size, "%s", text);
  return false;
}

bool cell_fits(const struct workload_case *c, const struct strategy *s, enum discipline discipline,
               unsigned threads, char *why, size_t why_size) {
  if ((s->flags & STRATEGY_ONE_OBJECT) && !(c->flags & CASE_NULL_RUNS))
    return refuse(why, why_size, "the case holds several objects, the strategy has one a thread");
  if ((s->flags & STRATEGY_OBJECTS_DIE_WITH_SCOPE) && (c->flags & CASE_OUTLIVES_SCOPE))
    return refuse(why, why_size, "objects outlive their scope, the strategy ends them with it");
  if ((s->flags & STRATEGY_NEEDS_OWNER) && !(c->flags & CASE_HAS_OWNER))
    return refuse(why, why_size, "the strategy needs an owner, the case has none");
  if (!(c->disciplines & DISCIPLINE_BIT(discipline))) {
    snprintf(why, why_size, "discipline %s means nothing here", discipline_name(discipline));
    return false;
  }
  if (threads < c->min_threads) {
    snprintf(why, why_size, "the case needs at least %u thread%s", c->min_threads,
             plural(c->min_threads));
    return false;
  }
  if (c->max_threads != 0 && threads > c->max_threads && !(c->flags & CASE_FEWER_THREADS)) {
    snprintf(why, why_size, "the case takes at most %u thread%s", c->max_threads,
             plural(c->max_threads));
    return false;
  }
  return true;
}

bool cell_fits_private(const struct workload_case *c, char *why, size_t why_size) {
  if (c->own_threads != 0 || (c->flags & (CASE_OWN_THREAD_EACH | CASE_BLOCKS)))
    return refuse(why, why_size, "threads of the case pass objects on, private pools cannot");
  if (c->flags & (CASE_OUTLIVES_SCOPE | CASE_HAS_OWNER))
    return refuse(why, why_size, "objects may be put by another thread, private pools cannot");
  if (c->flags & CASE_SERIES)
    return refuse(why, why_size, "a series looks into one pool, private ones are many");
  return true;
}

unsigned cell_attached(const struct workload_case *c, unsigned threads) {
  return threads + c->own_threads + (c->flags & CASE_OWN_THREAD_EACH ? threads : 0);
}
