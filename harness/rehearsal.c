/*
 * Opening what a plan will measure, once and in the runner's process; see plan.h. Measures nothing
 * and leaves nothing behind.
 */
#include "harness/plan.h"

#include <stdio.h>
#include <string.h>

/* What such cases open is not small: sockets, threads, memory by the gigabyte. */
#define HEAVY (CASE_SERIES | CASE_BLOCKS)

/* The largest team that measures the case; 0: none does. */
static unsigned largest_team(const struct plan *p, const struct plan_case *row) {
  unsigned most = 0;
  for (size_t i = 0; i < p->cell_count; i++)
    if (p->cells[i].row == row && p->cells[i].team > most)
      most = p->cells[i].team;
  return most;
}

/* Is it one of the row's settings that `why` complains about, as in "handlers=0: ..."? */
static bool blames_setting(const struct plan_case *row, const char *why) {
  char setting[100];
  for (const char *at = row->options; at && *at;) {
    size_t length = strcspn(at, ",");
    snprintf(setting, sizeof setting, "%.*s:", (int)length, at);
    if (strstr(why, setting))
      return true;
    at += length + (at[length] == ',');
  }
  return false;
}

static bool rehearse(const struct plan_case *row, unsigned threads, struct error *e) {
  char why[500] = "no reason given";
  struct workload_state *state;
  struct workload_setup setup = {.case_name = row->info->name,
                                 .object_file = row->object,
                                 .discipline = DISCIPLINE_BALANCED,
                                 .threads = threads,
                                 .options = row->options,
                                 .why = why,
                                 .why_size = sizeof why};
  if (!row->workload->open(&setup, &state)) {
    /* "HandlersIdle: ..." names itself. */
    bool named = strncmp(why, row->info->name, strcspn(row->info->name, "/")) == 0;
    return error_set(e, EXIT_USAGE, "%s%s%s%s", blames_setting(row, why) ? "--set: " : "",
                     named ? "" : row->info->name, named ? "" : ": ", why);
  }
  row->workload->close(state);
  return true;
}

bool plan_rehearse(const struct plan *p, struct error *e) {
  for (size_t i = 0; i < p->case_count; i++) {
    unsigned threads = largest_team(p, &p->cases[i]);
    if (threads > 0 && (p->cases[i].info->flags & HEAVY) && !rehearse(&p->cases[i], threads, e))
      return false;
  }
  return true;
}
