/*
 * What the files that build a plan share. For plan*.c and schedule.c alone.
 */
#ifndef POOLBENCH_PLAN_PARTS_H
#define POOLBENCH_PLAN_PARTS_H

#include "harness/plan.h"

/* plan_rows.c: fills cases, by --suite, --cases, --object, --set or the preset. */
bool plan_choose_cases(struct plan *p, const struct options *o, struct error *e);

/* plan_rows.c: notes settings that nobody gave, of the series that are left; after the schedule. */
void plan_note_settings(struct plan *p, const struct options *o);

/*
 * plan_arms.c: fills arms, by --strategies, --base, --discipline, --twin or the preset, after the
 * cases: the defaults depend on them.
 */
bool plan_choose_arms(struct plan *p, const struct options *o, struct error *e);
void plan_free_arm(struct plan_arm *a);

/*
 * plan_arms.c: refuses an arm that cannot be opened for as many threads as its cells attach; after
 * the schedule, which may give cells up.
 */
bool plan_check_threads(const struct plan *p, struct error *e);

/* plan_fit.c: gives up cells and rounds until the expected time is within the budget; notes it. */
void plan_fit(struct plan *p, unsigned cpus);

/*
 * plan.c: room for one more element after `count`, as realloc gives it; NULL with e. Doubles at
 * powers of two, so that no capacity is kept.
 */
void *plan_grow(void *items, size_t count, size_t size, struct error *e);

/* Fills e; returns false. */
bool plan_out_of_memory(struct error *e);

#endif
