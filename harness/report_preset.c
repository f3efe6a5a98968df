/*
 * A preset's report: the replay's tables in the pull request's layout, the published ones beside
 * them or, where there is no room, below, and under each a line that says what reproduces. See
 * report.h. What is said follows from both tables' directions and from this run's figures.
 */
#include "harness/plural.h"
#include "harness/presets.h"
#include "harness/published.h"
#include "harness/report.h"
#include "harness/wrap.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GAP 4

static const char *const unit_words[PUBLISHED_UNITS][2] = {
    {"time/op", "sec/op"}, {"alloc/op", "B/op"}, {"allocs/op", "allocs/op"}};

/* --- Two texts side by side. */

/* The line at *at without its newline; moves *at behind it. false at the end. */
static bool next_line(const char **at, const char *end, const char **line, size_t *length) {
  if (*at >= end)
    return false;
  *line = *at;
  *length = strcspn(*at, "\n");
  if (*at + *length > end)
    *length = (size_t)(end - *at);
  *at += *length + 1;
  return true;
}

static size_t text_width(const char *text, const char *end) {
  const char *line;
  size_t length, widest = 0;
  while (next_line(&text, end, &line, &length)) {
    size_t n = wrap_columns(line, length);
    widest = n > widest ? n : widest;
  }
  return widest;
}

static void pad(size_t n, FILE *out) {
  while (n-- > 0)
    fputc(' ', out);
}

/* `left` ends at left_end; `right` is a string. */
static void print_beside(const char *left, const char *left_end, const char *right, FILE *out) {
  const char *right_end = right + strlen(right), *line;
  size_t width = text_width(left, left_end), length;
  fputs("here", out);
  pad(width + GAP - 4, out);
  fputs("published\n", out);
  for (;;) {
    size_t used = 0;
    bool any = next_line(&left, left_end, &line, &length);
    if (any) {
      fwrite(line, 1, length, out);
      used = wrap_columns(line, length);
    }
    if (next_line(&right, right_end, &line, &length)) {
      pad(width + GAP - used, out);
      fwrite(line, 1, length, out);
    } else if (!any) {
      return;
    }
    fputc('\n', out);
  }
}

static void print_both(const char *ours, const char *end, const char *published, size_t width,
                       FILE *out) {
  size_t both = text_width(ours, end) + GAP + text_width(published, published + strlen(published));
  if (both <= width) {
    print_beside(ours, end, published, out);
    return;
  }
  fprintf(out, "here\n%.*s\npublished\n%s", (int)(end - ours), ours, published);
}

/* --- Which of ours belongs to which of theirs. */

/* Tables are set apart by blank lines; *end is behind the last newline of this one. */
static const char *table_end(const char *text) {
  const char *blank = strstr(text, "\n\n");
  return blank ? blank + 1 : text + strlen(text);
}

/* A word of the head, which is one line or two; " alloc/op" is not in "allocs/op". */
static bool is_table_of(const char *text, const char *end, const char *unit) {
  const char *line;
  size_t length;
  for (int i = 0; i < 6 && next_line(&text, end, &line, &length); i++) {
    const char *at = memmem(line, length, unit, strlen(unit));
    if (at && at > line && at[-1] == ' ')
      return true;
  }
  return false;
}

/* Behind the lines that describe the machine ("goos: linux"). */
static const char *skip_configuration(const char *text) {
  while (*text >= 'a' && *text <= 'z' && text[strspn(text, "abcdefghijklmnopqrstuvwxyz-")] == ':')
    text += strcspn(text, "\n") + 1;
  return text;
}

/* NULL when the replay has no table of that unit. */
static const char *find_table(const char *tables, const char *unit, const char **end) {
  for (const char *at = tables; *at; at = *end + (**end == '\n')) {
    *end = table_end(at);
    if (is_table_of(at, *end, unit))
      return skip_configuration(at);
  }
  return NULL;
}

/* --- What reproduces. */

struct tally {
  size_t changes, same, opposite, none; /* published changes, and what they are here */
  size_t still, moved;                  /* published "~": is "~" here, or is a change */
  size_t measured, rows;
  double least_sight; /* the largest change that could hide in a row where none was found */
  double hidden;      /* the published change of that row */
  struct move {       /* of the moved rows, the one that the published spread hides least */
    char name[64];
    double here, there, beyond; /* the change; what is hidden; how much the former is larger */
  } move;
};

/* Figures after "±" are rounded to a per cent, and there are two. */
#define SPREAD_ROUNDING 0.01

static void note_move(const struct published_row *row, const struct comparison *c,
                      struct tally *t) {
  double there = row->spread + SPREAD_ROUNDING, beyond = fabs(c->delta.center) - there;
  bool first = t->moved++ == 0;
  if (c->absolute || (!first && beyond <= t->move.beyond))
    return;
  t->move = (struct move){.here = c->delta.center, .there = there, .beyond = beyond};
  snprintf(t->move.name, sizeof t->move.name, "%s", row->name);
}

/*
 * By the case: "Request" of "Request-8", whatever the number of threads. With several allocators
 * the first one's rows, which are the first in the tables.
 */
static const struct row_verdict *find_verdict(const struct report *r, int unit, unsigned column,
                                              const char *name) {
  size_t length = (size_t)(strrchr(name, '-') ? strrchr(name, '-') - name : 0);
  for (size_t i = 0; i < r->verdicts.counts[unit]; i++) {
    const struct row_verdict *v = &r->verdicts.rows[unit][i];
    const char *row = r->data.rows.names[v->row];
    if (v->column == column && strcspn(row, r->data.allocators > 1 ? "@" : "") == length &&
        strncmp(row, name, length) == 0)
      return v;
  }
  return NULL;
}

/* As in the published tables: no correction for many rows. */
static int direction_here(const struct report *r, const struct comparison *c) {
  bool differs = c->exact ? c->delta.center != 0 : c->p <= r->verdicts.alpha;
  return !differs || c->delta.center == 0 ? 0 : c->delta.center > 0 ? 1 : -1;
}

static void count_row(const struct report *r, int unit, unsigned column,
                      const struct published_row *row, struct tally *t) {
  const struct row_verdict *v = find_verdict(r, unit, column, row->name);
  t->rows++;
  if (!v)
    return;
  t->measured++;
  int here = direction_here(r, &v->comparison);
  if (row->sign == 0) {
    if (here == 0)
      t->still++;
    else
      note_move(row, &v->comparison, t);
    return;
  }
  t->changes++;
  t->same += here == row->sign;
  t->opposite += here == -row->sign;
  t->none += here == 0;
  double sight = v->comparison.smallest_effect;
  if (here == 0 && isfinite(sight) && sight > fabs(row->delta) && sight > t->least_sight) {
    t->least_sight = sight;
    t->hidden = row->delta;
  }
}

static void read_rows(const struct report *r, const struct published *p, int unit, unsigned column,
                      struct tally *t, FILE *impossible) {
  const char *at = p->tables[unit], *end = at + strlen(at), *line;
  size_t length;
  while (next_line(&at, end, &line, &length)) {
    struct published_row row;
    if (!published_read(line, length, &row))
      continue;
    count_row(r, unit, column, &row, t);
    if (!published_p_possible(&row))
      fprintf(impossible,
              "; the published p=%.3f of %s is none that %u and %u samples can give (old benchstat "
              "got ties wrong)",
              row.p, row.name, row.n1, row.n2);
  }
}

static bool all_reproduced(const struct tally *t) {
  return t->same == t->changes && t->moved == 0;
}

/* Rows without a change speak for a table of such rows only. */
static const char *verdict_of(const struct tally *t) {
  if (t->measured == 0)
    return "not measured";
  if (all_reproduced(t))
    return "reproduces";
  return (t->changes ? t->same : t->still) > 0 ? "reproduces in part" : "does not reproduce";
}

static void say_counts(const struct tally *t, FILE *out) {
  if (t->changes > 0) {
    fprintf(out, " of %zu published change%s, %zu the same way here", t->changes,
            plural((double)t->changes), t->same);
    if (t->opposite > 0)
      fprintf(out, ", %zu the other way", t->opposite);
    if (t->none > 0)
      fprintf(out, ", %zu none (~)", t->none);
  }
  if (t->still + t->moved > 0)
    fprintf(out, "%s of %zu published ~, %zu ~ here", t->changes > 0 ? ";" : "",
            t->still + t->moved, t->still);
  if (*t->move.name)
    fprintf(out, "; %s changed by %+.2f %% here, %s the %.0f %% that its published spread hides",
            t->move.name, 100 * t->move.here, t->move.beyond > 0 ? "more than" : "within",
            100 * t->move.there);
  if (t->measured < t->rows)
    fprintf(out, "; %zu of %zu rows were measured", t->measured, t->rows);
}

/* The least and the greatest median of a unit over the rows of one column. */
struct range {
  double low, high;
};

/* false when no row has the unit. */
static bool range_of(const struct report *r, unsigned column, const char *unit,
                     struct range *range) {
  *range = (struct range){INFINITY, -INFINITY};
  for (size_t row = 0; row < r->data.rows.count; row++) {
    double value;
    const struct rundata_cell *c = rundata_headline(&r->data, row, column);
    if (!c || !rundata_median(&r->data, c, unit, &value))
      continue;
    range->low = fmin(range->low, value);
    range->high = fmax(range->high, value);
  }
  return range->low <= range->high;
}

/* "4.28k to 64.8k", or one of them where both read alike. */
static void say_range(const struct range *range, enum grid_kind kind, FILE *out) {
  char low[GRID_VALUE], high[GRID_VALUE];
  grid_value(kind, range->low, low);
  grid_value(kind, range->high, high);
  fputs(low, out);
  if (strcmp(low, high) != 0)
    fprintf(out, " to %s", high);
}

static void say_misses(const struct report *r, unsigned column, FILE *out) {
  struct range old, new;
  if (!range_of(r, 0, "miss-%", &old) || !range_of(r, column, "miss-%", &new) || old.high <= 0)
    return;
  fputs("; misses, of the gets: old ", out);
  say_range(&old, GRID_PERCENT, out);
  fputs(", new ", out);
  say_range(&new, GRID_PERCENT, out);
}

/*
 * What a search of all shards costs is the sharing of their lines, which few CPUs have little of:
 * its count is what a larger machine pays for.
 */
static void say_scans(const struct report *r, const struct published *p, FILE *out) {
  struct range scans, misses;
  if (!range_of(r, 0, "scans/op", &scans) || !range_of(r, 0, "misses/op", &misses) ||
      misses.high <= 0 || scans.high < 2 * misses.high)
    return;
  fputs("; each miss of the old column looks at every shard: ", out);
  say_range(&misses, GRID_COUNT, out);
  fprintf(out, " misses x %.0f shards = ", scans.high / misses.high);
  say_range(&scans, GRID_COUNT, out);
  fputs(" scans/op", out);
  if (r->facts.cpus > 0 && r->facts.cpus < p->cpus)
    fprintf(
        out,
        ", of which most are in the CPU's own cache here, while any of %u CPUs may have written "
        "them last there",
        p->cpus);
}

/* Why a table of times came out otherwise, as far as this run's figures tell. */
static void why_times(const struct report *r, const struct published *p, unsigned column,
                      const struct tally *t, FILE *out) {
  if (r->facts.cpus > 0 && r->facts.cpus < p->cpus && r->data.headline > r->facts.cpus)
    fprintf(out,
            "; here %u threads share %.0f CPU%s (there: %u), so at most %.0f contend at a time, "
            "and sizes of changes are not comparable",
            r->data.headline, r->facts.cpus, plural(r->facts.cpus), p->cpus, r->facts.cpus);
  say_scans(r, p, out);
  say_misses(r, column, out);
  if (t->least_sight > 0)
    fprintf(out,
            "; a change as small as the published %+.1f %% is out of this run's sight (%.1f %%)",
            100 * t->hidden, 100 * t->least_sight);
}

/* Differences between the programs hold where there is something to explain. */
static const char *known_reason(const struct report *r, const struct published *p, int unit,
                                const struct tally *t) {
  bool trimmed = unit != VERDICT_NS && p->why_until_trimmed &&
                 rundata_fact_text(&r->data, "plan.trim") != NULL;
  return t->measured > 0 && !all_reproduced(t) && !trimmed ? p->why[unit] : NULL;
}

static bool write_line(const struct report *r, const struct published *p, int unit, unsigned column,
                       size_t width, FILE *out) {
  struct tally t = {0};
  char *impossible = NULL, *line = NULL;
  size_t size;
  FILE *remarks = open_memstream(&impossible, &size), *memory = open_memstream(&line, &size);
  bool ok = remarks && memory;
  if (ok) {
    read_rows(r, p, unit, column, &t, remarks);
    fprintf(memory, "=> %s", unit_words[unit][p->layout]);
    const char *allocator = r->data.allocators > 1 ? strrchr(r->data.rows.names[0], '@') : NULL;
    if (allocator)
      fprintf(memory, " with %s", allocator + 1);
    fprintf(memory, " %s:", verdict_of(&t));
    say_counts(&t, memory);
    if (r->data.headline != p->cpus)
      fprintf(memory, "; here %u thread%s ran, there %u", r->data.headline,
              plural(r->data.headline), p->cpus);
    if (unit == VERDICT_NS && t.measured > 0)
      why_times(r, p, column, &t, memory);
    const char *known = known_reason(r, p, unit, &t);
    if (known)
      fprintf(memory, "; %s", known);
  }
  if (remarks)
    ok = fclose(remarks) == 0 && ok;
  if (ok)
    fputs(impossible, memory);
  if (memory)
    ok = fclose(memory) == 0 && ok;
  if (ok) {
    wrap_print(line, width, out);
    fputc('\n', out);
  }
  free(impossible);
  free(line);
  return ok;
}

/* The column that plays the new one: by strategy, with the discipline where it is in the name. */
static unsigned new_column(const struct rundata *d) {
  const char *strategy = rundata_fact_text(d, "preset.new.strategy");
  const char *discipline = rundata_fact_text(d, "preset.new.discipline");
  char full[300];
  snprintf(full, sizeof full, "%s+%s", strategy ? strategy : "", discipline ? discipline : "");
  for (unsigned i = 1; i < d->columns.count; i++)
    if (strategy &&
        (strcmp(d->columns.names[i], full) == 0 || strcmp(d->columns.names[i], strategy) == 0))
      return i;
  return 1;
}

/* What is replayed, and by which columns. */
static void write_head(const struct report *r, unsigned column, size_t width, FILE *out) {
  const struct rundata *d = &r->data;
  struct error e;
  const struct preset *preset = preset_find(r->facts.preset, &e);
  char text[400];
  snprintf(text, sizeof text,
           "%s: %s; old: %s, new: %s; each row is tested by itself, as published", r->facts.preset,
           preset ? preset->summary : "", d->columns.count > 0 ? d->columns.names[0] : "-",
           d->columns.count > column ? d->columns.names[column] : "-");
  wrap_print(text, width, out);
  fputc('\n', out);
}

bool report_preset(const struct report *r, const char *tables, size_t width, FILE *out) {
  const struct published *p = published_find(r->facts.preset);
  if (!p) {
    fputs(tables, out);
    return true;
  }
  write_head(r, new_column(&r->data), width, out);
  for (int unit = 0; unit < PUBLISHED_UNITS; unit++) {
    const char *end, *ours = find_table(tables, unit_words[unit][p->layout], &end);
    if (ours)
      print_both(ours, end, p->tables[unit], width, out);
    else
      fprintf(out, "published\n%s", p->tables[unit]);
    if (!write_line(r, p, unit, new_column(&r->data), width, out))
      return false;
  }
  return true;
}
