/*
 * The memory that stays: tables and sentences of a report on series; see report.h and kept.h.
 * Medians of few samples: nothing is tested, so nothing is called significant.
 */
#include "harness/kept.h"
#include "harness/report.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* What is below this part of the peak is not worth a name. */
#define NEGLIGIBLE 0.05
/* An update that costs so many times what is usual after the trims is slow: a big map takes twenty
 * times the time of a small one and more, and medians of three rounds are off by less than this. */
#define SLOW 5.0

struct column {
  const char *head;
  enum grid_kind kind;
  size_t at; /* of a double in struct kept */
};

#define AT(field) offsetof(struct kept, field)
static const struct column over_time[] = {
    {"live peak", GRID_BYTES, AT(live[KEPT_PEAK])},
    {"after burst", GRID_BYTES, AT(live[KEPT_AFTER_BURST])},
    {"trim 1", GRID_BYTES, AT(live[KEPT_TRIM_1])},
    {"trim 2", GRID_BYTES, AT(live[KEPT_TRIM_2])},
    {"idle", GRID_BYTES, AT(live[KEPT_IDLE])},
    {"RSS peak", GRID_BYTES, AT(rss_peak)},
    {"RSS idle", GRID_BYTES, AT(rss_idle)},
    {"kept", GRID_PERCENT, AT(share)},
    {NULL, GRID_BYTES, 0},
};
static const struct column causes[] = {
    {"stays", GRID_BYTES, AT(stays)},
    {"in use", GRID_BYTES, AT(in_use)},
    {"pooled", GRID_BYTES, AT(pooled)},
    {"cache", GRID_BYTES, AT(cache)},
    {"fragmented", GRID_BYTES, AT(fragmented)},
    {"per owner", GRID_BYTES, AT(per_owner)},
    {"update before trims", GRID_NS, AT(trickle_before)},
    {"after", GRID_NS, AT(trickle_after)},
    {"trim stall", GRID_NS, AT(stall)},
    {NULL, GRID_BYTES, 0},
};

#define MOST_COLUMNS 16

static double figure(const struct kept *k, const struct column *c) {
  return *(const double *)((const char *)k + c->at);
}

bool report_has_memory(const struct report *r) {
  for (size_t i = 0; i < r->data.cell_count; i++)
    if (r->data.cells[i].series)
      return true;
  return false;
}

bool report_has_ops(const struct report *r) {
  for (size_t i = 0; i < r->data.cell_count; i++)
    if (!r->data.cells[i].series)
      return true;
  return false;
}

/* A column without a value anywhere is left out. */
static bool is_shown(const struct rundata *d, const struct column *column) {
  struct kept k;
  for (size_t i = 0; i < d->cell_count; i++)
    if (kept_of(d, &d->cells[i], &k) && !isnan(figure(&k, column)))
      return true;
  return false;
}

static bool add_figures(struct grid *g, const struct kept *k, const struct column *columns,
                        const bool *shown) {
  for (size_t i = 0; columns[i].head; i++) {
    char text[GRID_VALUE] = "-";
    if (!shown[i])
      continue;
    if (!isnan(figure(k, &columns[i])))
      grid_value(columns[i].kind, figure(k, &columns[i]), text);
    if (!grid_add(g, "%s", text))
      return false;
  }
  return true;
}

static bool add_case_line(struct grid *g, const char *name) {
  bool ok = grid_add(g, "%s", name);
  for (size_t i = 1; ok && i < g->columns; i++)
    ok = grid_add(g, "%s", "");
  return ok;
}

/* In a terminal the case has a line of its own, unless there is one strategy only. */
static bool add_row(const struct report *r, size_t row, bool markdown, const struct column *columns,
                    const bool *shown, struct grid *g) {
  const struct rundata *d = &r->data;
  bool named = false, alone = d->columns.count == 1;
  for (size_t column = 0; column < d->columns.count; column++) {
    struct kept k;
    if (!kept_of(d, rundata_headline(d, row, column), &k))
      continue;
    if (!markdown && !named && !alone && !add_case_line(g, d->rows.names[row]))
      return false;
    if (markdown && !grid_add(g, "%s", named ? "" : d->rows.names[row]))
      return false;
    named = true;
    const char *name = !markdown && alone ? d->rows.names[row] : d->columns.names[column];
    if (!grid_add(g, "%s%s", markdown || alone ? "" : "  ", name) ||
        !add_figures(g, &k, columns, shown))
      return false;
  }
  return true;
}

static bool make_table(const struct report *r, bool markdown, const struct column *columns,
                       struct grid *g) {
  bool shown[MOST_COLUMNS];
  size_t count = markdown ? 2 : 1;
  for (size_t i = 0; columns[i].head; i++)
    count += shown[i] = is_shown(&r->data, &columns[i]);
  grid_init(g, count, markdown ? 2 : 1);
  bool ok = (!markdown || grid_add(g, "case")) && grid_add(g, "%s", markdown ? "strategy" : "");
  for (size_t i = 0; ok && columns[i].head; i++)
    ok = !shown[i] || grid_add(g, "%s", columns[i].head);
  for (size_t row = 0; ok && row < r->data.rows.count; row++)
    ok = add_row(r, row, markdown, columns, shown, g);
  return ok;
}

bool report_memory(const struct report *r, bool markdown, struct grid *g) {
  return make_table(r, markdown, over_time, g);
}

bool report_memory_causes(const struct report *r, bool markdown, struct grid *g) {
  return make_table(r, markdown, causes, g);
}

/* --- Allocators side by side. */

static const struct rundata_cell *of_allocator(const struct rundata *d, const char *row,
                                               size_t length, size_t column,
                                               const char *allocator) {
  for (size_t i = 0; i < d->cell_count; i++) {
    const struct rundata_cell *c = &d->cells[i];
    if (c->series && c->column == column && strcmp(c->allocator, allocator) == 0 &&
        strncmp(d->rows.names[c->row], row, length) == 0 && d->rows.names[c->row][length] == '@')
      return c;
  }
  return NULL;
}

/* The allocators in file order; their number, at most `room`. */
static size_t list_allocators(const struct rundata *d, const char **list, size_t room) {
  size_t n = 0;
  for (size_t i = 0; i < d->cell_count; i++) {
    bool known = !d->cells[i].series;
    for (size_t k = 0; k < n; k++)
      known |= strcmp(list[k], d->cells[i].allocator) == 0;
    if (!known && n < room)
      list[n++] = d->cells[i].allocator;
  }
  return n;
}

static bool add_allocators(const struct rundata *d, const struct rundata_cell *c,
                           const char *const *list, size_t n, struct grid *g) {
  const char *row = d->rows.names[c->row], *at = strrchr(row, '@');
  size_t length = at ? (size_t)(at - row) : strlen(row);
  bool ok = grid_add(g, "%.*s", (int)length, row) && grid_add(g, "%s", d->columns.names[c->column]);
  for (size_t i = 0; ok && i < n; i++) {
    struct kept k;
    char text[GRID_VALUE] = "-";
    if (kept_of(d, of_allocator(d, row, length, c->column, list[i]), &k) && !isnan(k.share))
      snprintf(text, sizeof text, "%.2f", k.share / 100);
    ok = grid_add(g, "%s", text);
  }
  return ok;
}

bool report_memory_allocators(const struct report *r, struct grid *g) {
  const struct rundata *d = &r->data;
  const char *list[MOST_COLUMNS];
  size_t n = list_allocators(d, list, MOST_COLUMNS);
  grid_init(g, n + 2, 2);
  bool ok = grid_add(g, "kept share of the peak") && grid_add(g, "%s", "strategy");
  for (size_t i = 0; ok && i < n; i++)
    ok = grid_add(g, "%s", list[i]);
  /* The first allocator has every row that can be measured at all. */
  for (size_t i = 0; ok && n > 0 && i < d->cell_count; i++)
    if (d->cells[i].series && strcmp(d->cells[i].allocator, list[0]) == 0)
      ok = add_allocators(d, &d->cells[i], list, n, g);
  return ok;
}

/* --- Sentences. */

/* The strategies of a row for which `wanted` holds, with what `say` prints behind each name. */
struct clause {
  const char *text; /* before the names */
  bool (*wanted)(const struct kept *k, double reference);
  void (*say)(const struct kept *k, FILE *out);
};

static bool stays_live(const struct kept *k, double reference) {
  (void)reference;
  return k->live[KEPT_IDLE] > NEGLIGIBLE * k->live[KEPT_PEAK];
}
static bool goes(const struct kept *k, double reference) {
  return !stays_live(k, reference);
}
static bool holds_pages(const struct kept *k) {
  return !stays_live(k, 0) && k->share > 100 * NEGLIGIBLE;
}
/* Nothing to speak of is live then, so one of the other two causes is the largest. */
static bool holds_fragments(const struct kept *k, double reference) {
  (void)reference;
  return holds_pages(k) && k->fragmented > k->cache;
}
static bool holds_cache(const struct kept *k, double reference) {
  return holds_pages(k) && !holds_fragments(k, reference);
}
/* Slow before the trims only: by what was pooled then, or, with nothing pooled, by something else.
 */
static bool slow_at_first(const struct kept *k, double usual) {
  return k->trickle_before >= SLOW * usual && k->trickle_after < SLOW * usual;
}
static bool had_pooled(const struct kept *k) {
  return k->live[KEPT_AFTER_BURST] > NEGLIGIBLE * k->live[KEPT_PEAK];
}
static bool cured(const struct kept *k, double usual) {
  return slow_at_first(k, usual) && had_pooled(k);
}
static bool slow_unpooled(const struct kept *k, double usual) {
  return slow_at_first(k, usual) && !had_pooled(k);
}
/* Slow after the trims, too: by what survived them, or because nothing did. */
static bool never_cured(const struct kept *k, double usual) {
  return k->trickle_after >= SLOW * usual && stays_live(k, 0);
}
static bool made_anew(const struct kept *k, double usual) {
  return k->trickle_after >= SLOW * usual && !stays_live(k, 0);
}
static bool always_fast(const struct kept *k, double usual) {
  return k->trickle_before < SLOW * usual && k->trickle_after < SLOW * usual;
}

static void say_live(const struct kept *k, FILE *out) {
  char live[GRID_VALUE], owner[GRID_VALUE];
  grid_value(GRID_BYTES, k->live[KEPT_IDLE], live);
  grid_value(GRID_BYTES, k->per_owner, owner);
  fprintf(out, " (%s, %.0f %% of its peak", live, 100 * k->live[KEPT_IDLE] / k->live[KEPT_PEAK]);
  if (!isnan(k->per_owner))
    fprintf(out, ", %s an owner", owner);
  fprintf(out, ", %s)", k->pooled > k->in_use ? "pooled" : "in use");
}
static void say_pages(const struct kept *k, FILE *out) {
  char stays[GRID_VALUE];
  grid_value(GRID_BYTES, k->stays, stays);
  fprintf(out, " (%s)", stays);
}
static void say_trickle(const struct kept *k, FILE *out) {
  char before[GRID_VALUE], after[GRID_VALUE];
  grid_value(GRID_NS, k->trickle_before, before);
  grid_value(GRID_NS, k->trickle_after, after);
  fprintf(out, " (%s, then %s)", before, after);
}

static const struct clause memory_clauses[] = {
    {"still live after two trims and the idle wait with", stays_live, say_live},
    {"next to nothing live with", goes, NULL},
    {"but pages still held, mostly in the allocator's cache, with", holds_cache, say_pages},
    {"but pages still held, mostly by fragmentation, with", holds_fragments, say_pages},
};
static const struct clause trickle_clauses[] = {
    {"slow after the trims, too, since big objects stay with their owners, with", never_cured,
     say_trickle},
    {"slow until trimmed, since the pool hands big objects to whoever comes next, with", cured,
     say_trickle},
    {"slow once trimmed, since objects are made and grow anew, with", made_anew, say_trickle},
    {"slow before the trims, though next to nothing was pooled, with", slow_unpooled, say_trickle},
    {"fast throughout with", always_fast, NULL},
};

/* One clause, if it has a name in it. Returns whether it had. */
static bool write_clause(const struct report *r, size_t row, const struct clause *clause,
                         double reference, bool first, const char *tick, FILE *out) {
  const struct rundata *d = &r->data;
  bool any = false;
  for (size_t column = 0; column < d->columns.count; column++) {
    struct kept k;
    if (!kept_of(d, rundata_headline(d, row, column), &k) || !clause->wanted(&k, reference))
      continue;
    if (any)
      fputs(", ", out);
    else
      fprintf(out, "%s%s ", first ? " " : "; ", clause->text);
    fprintf(out, "%s%s%s", tick, d->columns.names[column], tick);
    if (clause->say)
      clause->say(&k, out);
    any = true;
  }
  return any;
}

static void write_clauses(const struct report *r, size_t row, const char *what,
                          const struct clause *list, size_t n, double reference, const char *tick,
                          const char *bullet, FILE *out) {
  bool any = false;
  fprintf(out, "%s%s in %s%s%s:", bullet, what, tick, r->data.rows.names[row], tick);
  for (size_t i = 0; i < n; i++)
    any |= write_clause(r, row, &list[i], reference, !any, tick, out);
  fputs(any ? ".\n" : " -\n", out);
}

/*
 * What an update of a row usually costs after the trims: the lower median over the strategies, so
 * that neither one slow strategy nor one lucky figure decides. NAN when the case has no updates.
 */
static double usual_update(const struct rundata *d, size_t row) {
  double costs[MOST_COLUMNS];
  size_t n = 0;
  for (size_t column = 0; column < d->columns.count && n < MOST_COLUMNS; column++) {
    struct kept k;
    if (!kept_of(d, rundata_headline(d, row, column), &k) || isnan(k.trickle_after))
      continue;
    size_t at = n++;
    for (; at > 0 && costs[at - 1] > k.trickle_after; at--)
      costs[at] = costs[at - 1];
    costs[at] = k.trickle_after;
  }
  return n ? costs[(n - 1) / 2] : NAN;
}

static bool has_series(const struct rundata *d, size_t row) {
  for (size_t i = 0; i < d->cell_count; i++)
    if (d->cells[i].row == row && d->cells[i].series)
      return true;
  return false;
}

void report_memory_findings(const struct report *r, const char *tick, const char *bullet,
                            FILE *out) {
  enum { MEMORY = sizeof memory_clauses / sizeof memory_clauses[0] };
  enum { TRICKLE = sizeof trickle_clauses / sizeof trickle_clauses[0] };
  for (size_t row = 0; row < r->data.rows.count; row++) {
    if (!has_series(&r->data, row))
      continue;
    /* With one strategy the tables say it all, above all that of the allocators. */
    if (r->data.columns.count > 1)
      write_clauses(r, row, "Memory", memory_clauses, MEMORY, 0, tick, bullet, out);
    double usual = usual_update(&r->data, row);
    if (!isnan(usual))
      write_clauses(r, row, "An update", trickle_clauses, TRICKLE, usual, tick, bullet, out);
  }
}
