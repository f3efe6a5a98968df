/*
 * What the output formats share: see render.h.
 */
#include "comparer/render.h"

#include <math.h>

static int sign_of(double v) {
  return (v > 0) - (v < 0);
}

void format_center(const struct table_cell *c, struct scale s, char out[RENDER_TEXT]) {
  char text[SCALE_TEXT];
  scale_format(s, c->center, text);
  snprintf(out, RENDER_TEXT, "%s%s", c->is_bound ? "> " : "", text);
}

void format_range(const struct table_cell *c, bool ascii, char out[RENDER_TEXT]) {
  int sign = sign_of(c->center);
  if (isinf(c->lo) || isinf(c->hi))
    snprintf(out, RENDER_TEXT, "%s", ascii ? "inf" : "∞");
  else if (sign != sign_of(c->lo) || sign != sign_of(c->hi))
    snprintf(out, RENDER_TEXT, "?"); /* as a share of the center it would mean nothing */
  else if (c->center == 0)
    snprintf(out, RENDER_TEXT, "0%%");
  else
    snprintf(out, RENDER_TEXT, "%.0f%%", 100 * fmax(c->hi / c->center - 1, 1 - c->lo / c->center));
}

void format_delta(const struct comparison *c, char out[RENDER_TEXT]) {
  if (!c->significant && !c->exact)
    snprintf(out, RENDER_TEXT, "~");
  else if (c->center == c->base_center)
    snprintf(out, RENDER_TEXT, "0.00%%");
  else if (c->base_center == 0)
    snprintf(out, RENDER_TEXT, "?");
  else
    snprintf(out, RENDER_TEXT, "%+.2f%%", (c->center / c->base_center - 1) * 100);
}

/* One number of an estimate: a percentage, or a difference in the scale of the row. */
static void format_change(double v, bool absolute, struct scale s, bool ascii, char *out,
                          size_t room) {
  if (isnan(v))
    snprintf(out, room, "?");
  else if (isinf(v))
    snprintf(out, room, "%s%s", v < 0 ? "-" : "+", ascii ? "inf" : "∞");
  else if (absolute)
    snprintf(out, room, "%+.*f%s", s.decimals, v / s.factor, s.prefix);
  else
    snprintf(out, room, "%+.2f%%", v * 100);
}

void format_estimate(const struct comparison *c, struct scale s, bool ascii,
                     char center[RENDER_TEXT], char interval[RENDER_TEXT]) {
  char lo[150], hi[150];
  format_change(c->delta.center, c->absolute, s, ascii, center, RENDER_TEXT);
  format_change(c->delta.lo, c->absolute, s, ascii, lo, sizeof lo);
  format_change(c->delta.hi, c->absolute, s, ascii, hi, sizeof hi);
  snprintf(interval, RENDER_TEXT, "[%s, %s]", lo, hi);
}

static int put_p(char *out, size_t room, const char *name, double p, bool exact_p) {
  if (exact_p && p < 0.0005)
    return snprintf(out, room, "%s<0.001 ", name);
  return snprintf(out, room, "%s=%.3f ", name, p);
}

void format_test(const struct comparison *c, const struct table_options *t, bool exact_p,
                 char out[RENDER_TEXT]) {
  int n = 0;
  if (!isnan(c->p) && !c->exact) {
    n = put_p(out, RENDER_TEXT, "p", c->p, exact_p);
    if (t->correct != CORRECT_NONE && !isnan(c->p_adjusted))
      n += put_p(out + n, RENDER_TEXT - (size_t)n, t->correct == CORRECT_HOLM ? "holm" : "bh",
                 c->p_adjusted, exact_p);
  }
  size_t room = RENDER_TEXT - (size_t)n;
  if (t->paired && !c->exact)
    snprintf(out + n, room, "n=%zu pairs", c->pairs);
  else if (c->n_base == c->n)
    snprintf(out + n, room, "n=%zu", c->n);
  else
    snprintf(out + n, room, "n=%zu+%zu", c->n_base, c->n);
}

struct scale row_scale(const struct table *t, const struct table_row *row) {
  double least = 0;
  for (size_t i = 0; i < row->count; i++) {
    double v = fabs(t->cells[row->first + i].center);
    if (v != 0 && (least == 0 || v < least))
      least = v;
  }
  return scale_for(&least, 1, t->binary);
}

/* How the two directions of a unit are called. */
static const char *word_for(const struct table *t, bool increased) {
  struct text unit = text_of(t->unit);
  bool time = strstr(t->unit, "sec") != NULL && unit_better_default(unit) == BETTER_LESS;
  if (time)
    return increased ? "slower" : "faster";
  if (t->better == BETTER_MORE)
    return increased ? "faster" : "slower";
  if (t->better == BETTER_LESS)
    return increased ? "more" : "less";
  return increased ? "higher" : "lower";
}

const char *direction_word(const struct table *t, const struct comparison *c) {
  if (!c->significant && !c->exact)
    return "";
  if (c->center == c->base_center)
    return c->exact ? "equal" : "";
  return word_for(t, c->center > c->base_center);
}

const char *verdict_word(const struct table *t, const struct comparison *c) {
  bool up = t->better == BETTER_MORE;
  switch (c->verdict) {
  case VERDICT_SAME:
    return "same";
  case VERDICT_FASTER:
    return word_for(t, up);
  case VERDICT_SLOWER:
    return word_for(t, !up);
  case VERDICT_UNDECIDED:
    return "undecided";
  case VERDICT_NONE:
    break;
  }
  return "";
}

void format_doubts(unsigned doubts, const char *separator, char out[RENDER_TEXT]) {
  static const struct {
    unsigned bit;
    const char *name;
  } names[] = {
      {DOUBT_TREND, "trend"},
      {DOUBT_BIMODAL, "bimodal"},
      {DOUBT_OUTLIERS, "outliers"},
      {DOUBT_FOREIGN_CPU, "foreign-cpu"},
      {DOUBT_THROTTLED, "throttled"},
      {DOUBT_NOT_STEADY, "not-steady"},
      {DOUBT_ONE_PROCESS, "one-process"},
      {DOUBT_TOO_FEW, "too-few"},
      {DOUBT_BOUND, "bound"},
      {DOUBT_TWIN, "twin"},
      {DOUBT_OTHER_RUN, "other-run"},
      {DOUBT_HOST_SPEED, "host-speed"},
      {DOUBT_FEW_OPS, "few-ops"},
  };
  size_t n = 0;
  out[0] = 0;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (doubts & names[i].bit)
      n += (size_t)snprintf(out + n, RENDER_TEXT - n, "%s%s", n ? separator : "", names[i].name);
}

void csv_field(FILE *out, const char *s) {
  bool quote = s[0] == ' ' || strcmp(s, "\\.") == 0 || strpbrk(s, ",\"\r\n");
  if (!quote) {
    uint32_t rune;
    if (*s) {
      utf8_decode(s, s + strlen(s), &rune);
      quote = rune_is_space(rune);
    }
  }
  if (!quote) {
    fputs(s, out);
    return;
  }
  fputc('"', out);
  for (; *s; s++) {
    if (*s == '"')
      fputc('"', out);
    fputc(*s, out);
  }
  fputc('"', out);
}

bool key_changed(const struct table_set *set, size_t table, size_t key) {
  return table == 0 || strcmp(set->tables[table].keys[key], set->tables[table - 1].keys[key]) != 0;
}
