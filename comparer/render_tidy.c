/*
 * Tidy CSV: one record per table, row and column, for programs and for plots. Numbers are in the
 * tidied unit and shortest form; what does not apply is empty. docs/poolcmp.md lists the columns.
 */
#include "comparer/render.h"

#include "comparer/number.h"

#include <math.h>

static void put_text(FILE *out, const char *s) {
  fputc(',', out);
  csv_field(out, s);
}

/* NAN prints nothing, an infinite bound prints inf. */
static void put_number(FILE *out, double v) {
  char text[NUMBER_TEXT];
  fputc(',', out);
  if (isnan(v))
    return;
  if (isinf(v)) {
    fputs(v < 0 ? "-inf" : "inf", out);
    return;
  }
  number_shortest(v, text);
  fputs(text, out);
}

static void put_count(FILE *out, size_t n) {
  fprintf(out, ",%zu", n);
}

static void put_comparison(const struct table_set *set, const struct table *t,
                           const struct table_cell *cell, FILE *out) {
  const struct comparison *c = &cell->comparison;
  put_text(out, t->columns[0].label);
  put_count(out, c->n_base);
  put_number(out, c->base_center);
  put_number(out, c->shift.center);
  put_number(out, c->shift.lo);
  put_number(out, c->shift.hi);
  put_text(out, c->absolute ? "absolute" : "relative");
  put_text(out, c->exact ? "exact" : set->options.paired ? "signed-rank" : "mann-whitney");
  put_number(out, c->exact ? NAN : c->p);
  put_number(out, c->exact ? NAN : c->p_adjusted);
  put_text(out, c->significant ? "true" : "false");
  put_text(out, verdict_word(t, c));
  put_number(out, c->smallest_effect);
  if (c->verdict == VERDICT_UNDECIDED && c->needed)
    put_count(out, c->needed);
  else
    put_text(out, c->verdict == VERDICT_UNDECIDED ? "never" : "");
  if (set->options.paired && !c->exact)
    put_count(out, c->pairs);
  else
    put_text(out, "");
}

static void put_cell(const struct table_set *set, const struct table *t,
                     const struct table_row *row, const struct table_cell *c, FILE *out) {
  char doubts[RENDER_TEXT];
  csv_field(out, t->unit);
  put_text(out, row->label);
  put_text(out, t->columns[c->column].label);
  put_count(out, c->n);
  put_number(out, c->center);
  put_number(out, c->lo);
  put_number(out, c->hi);
  if (c->compared)
    put_comparison(set, t, c, out);
  else
    fputs(",,,,,,,,,,,,,,,", out);
  format_doubts(c->doubts | (c->compared ? c->comparison.doubts : 0), ";", doubts);
  put_text(out, doubts);
  put_text(out, c->residue ? c->residue : "");
  for (size_t k = 0; k < set->key_count; k++)
    put_text(out, t->keys[k]);
  fputc('\n', out);
}

bool render_tidy(const struct table_set *set, FILE *out) {
  if (set->count == 0)
    return true;
  fputs("unit,row,col,n,center,lo,hi,base,n_base,base_center,delta,delta_lo,delta_hi,delta_kind,"
        "test,p,p_adjusted,significant,verdict,smallest_effect,needed,pairs,flags,residue",
        out);
  for (size_t k = 0; k < set->key_count; k++) {
    fputs(",", out);
    csv_field(out, set->key_names[k]);
  }
  fputc('\n', out);
  for (size_t i = 0; i < set->count; i++) {
    const struct table *t = &set->tables[i];
    for (size_t r = 0; r < t->row_count; r++)
      for (size_t k = 0; k < t->rows[r].count && !t->rows[r].hidden; k++)
        put_cell(set, t, &t->rows[r], &t->cells[t->rows[r].first + k], out);
  }
  return true;
}
