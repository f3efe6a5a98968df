/*
 * JSON: all that is known, for programs. Version 1; fields may be added without changing it.
 * docs/poolcmp.md describes the schema. Written by hand: the document is flat, and poolcmp needs
 * no library for it.
 */
#include "comparer/render.h"

#include <math.h>

static void put_string(FILE *out, const char *s) {
  fputc('"', out);
  for (const char *end = s + strlen(s); s < end;) {
    unsigned char c = (unsigned char)*s;
    uint32_t rune;
    size_t n = utf8_decode(s, end, &rune);
    if (c == '"' || c == '\\')
      fprintf(out, "\\%c", c);
    else if (c < 0x20)
      fprintf(out, "\\u%04x", c);
    else if (c >= 0x80 && n == 1)
      fputs("\\ufffd", out); /* a label from the command line need not be UTF-8 */
    else
      fwrite(s, 1, n, out);
    s += n;
  }
  fputc('"', out);
}

/* Numbers JSON cannot hold are null. */
static void put_number(FILE *out, double v) {
  if (isfinite(v))
    fprintf(out, "%.17g", v);
  else
    fputs("null", out);
}

static void name(FILE *out, const char *key) {
  fprintf(out, ",\"%s\":", key);
}

static void put_named(FILE *out, const char *key, double v) {
  name(out, key);
  put_number(out, v);
}

static void put_flags(FILE *out, unsigned doubts) {
  char text[RENDER_TEXT];
  format_doubts(doubts, "\",\"", text);
  fputs(",\"flags\":[", out);
  if (*text)
    fprintf(out, "\"%s\"", text);
  fputc(']', out);
}

static void put_comparison(const struct table_set *set, const struct table *t,
                           const struct comparison *c, FILE *out) {
  bool tested = !c->exact && !isnan(c->p);
  fprintf(out, ",\"comparison\":{\"test\":\"%s\"",
          c->exact              ? "exact"
          : set->options.paired ? "signed-rank"
                                : "mann-whitney");
  fprintf(out, ",\"n_base\":%zu,\"n\":%zu", c->n_base, c->n);
  if (set->options.paired && !c->exact)
    fprintf(out, ",\"pairs\":%zu,\"incomplete_pairs\":%zu", c->pairs, c->incomplete_pairs);
  put_named(out, "base_center", c->base_center);
  put_named(out, "center", c->center);
  put_named(out, "ratio", c->base_center != 0 ? c->center / c->base_center : NAN);
  fputs(",\"delta\":{\"estimate\":", out);
  put_number(out, c->shift.center);
  put_named(out, "lo", c->shift.lo);
  put_named(out, "hi", c->shift.hi);
  fprintf(out, ",\"kind\":\"%s\"}", c->absolute ? "absolute" : "relative");
  put_named(out, "p", tested ? c->p : NAN);
  put_named(out, "p_adjusted", tested ? c->p_adjusted : NAN);
  fprintf(out, ",\"p_exact\":%s,\"significant\":%s", c->p_exact ? "true" : "false",
          c->significant ? "true" : "false");
  name(out, "verdict");
  put_string(out, verdict_word(t, c));
  name(out, "direction");
  put_string(out, direction_word(t, c));
  put_named(out, "smallest_effect", c->smallest_effect);
  if (c->verdict == VERDICT_UNDECIDED)
    put_named(out, "needed", c->needed ? (double)c->needed : NAN);
  put_flags(out, c->doubts);
  fputc('}', out);
}

static void put_notes(FILE *out, const char *const *notes, size_t n) {
  bool any = false;
  fputs(",\"notes\":[", out);
  for (size_t i = 0; i < n; i++)
    if (notes[i]) {
      if (any)
        fputc(',', out);
      put_string(out, notes[i]);
      any = true;
    }
  fputc(']', out);
}

static void put_cell(const struct table_set *set, const struct table *t, const struct table_cell *c,
                     FILE *out) {
  fprintf(out, "{\"col\":%u,\"n\":%zu", c->column, c->n);
  put_named(out, "center", c->center);
  put_named(out, "lo", c->lo);
  put_named(out, "hi", c->hi);
  put_flags(out, c->doubts);
  put_notes(out, (const char *const[]){c->residue, c->summary_note, c->comparison_note}, 3);
  if (c->compared)
    put_comparison(set, t, &c->comparison, out);
  fputc('}', out);
}

static void put_pairs(FILE *out, const char *const *keys, const char *const *values, size_t n) {
  fputc('{', out);
  for (size_t i = 0; i < n; i++) {
    if (i)
      fputc(',', out);
    put_string(out, keys[i]);
    fputc(':', out);
    put_string(out, values[i]);
  }
  fputc('}', out);
}

static void put_columns(const struct table_set *set, const struct table *t, FILE *out) {
  fputs(",\"cols\":[", out);
  for (size_t i = 0; i < t->column_count; i++) {
    const struct table_column *c = &t->columns[i];
    fputs(i ? ",{\"label\":" : "{\"label\":", out);
    put_string(out, c->label);
    name(out, "keys");
    put_pairs(out, set->level_names, c->levels, set->level_count);
    put_named(out, "geomean", c->has_geomean ? c->geomean : NAN);
    put_named(out, "geomean_ratio", c->has_ratio ? c->ratio : NAN);
    put_notes(out, c->notes, sizeof c->notes / sizeof *c->notes);
    fputc('}', out);
  }
  fputc(']', out);
}

static void put_table(const struct table_set *set, const struct table *t, FILE *out) {
  static const char *const better[] = {
      [BETTER_UNKNOWN] = "unknown", [BETTER_LESS] = "lower", [BETTER_MORE] = "higher"};
  fputs("{\"keys\":", out);
  put_pairs(out, set->key_names, t->keys, set->key_count);
  name(out, "unit");
  put_string(out, t->unit);
  name(out, "written_unit");
  put_string(out, t->written_unit);
  fprintf(out, ",\"better\":\"%s\",\"exact\":%s", better[t->better], t->exact ? "true" : "false");
  if (set->options.twin)
    put_named(out, "twin_limit", t->twin_limit);
  put_columns(set, t, out);
  fputs(",\"rows\":[", out);
  bool any = false;
  for (size_t r = 0; r < t->row_count; r++) {
    const struct table_row *row = &t->rows[r];
    if (row->hidden)
      continue;
    fputs(any ? ",\n {\"label\":" : "\n {\"label\":", out);
    any = true;
    put_string(out, row->label);
    fputs(",\"cells\":[", out);
    for (size_t i = 0; i < row->count; i++) {
      if (i)
        fputc(',', out);
      put_cell(set, t, &t->cells[row->first + i], out);
    }
    fputs("]}", out);
  }
  fputs("]}", out);
}

bool render_json(const struct table_set *set, FILE *out) {
  static const char *const corrections[] = {
      [CORRECT_NONE] = "none", [CORRECT_HOLM] = "holm", [CORRECT_BH] = "bh"};
  const struct table_options *o = &set->options;
  fputs("{\"version\":1", out);
  put_named(out, "alpha", o->alpha);
  put_named(out, "confidence", o->confidence);
  put_named(out, "margin", o->margin);
  fprintf(out,
          ",\"paired\":%s,\"correction\":\"%s\",\"family\":%zu,\"regressions\":%zu,"
          "\"incomplete_rows\":%zu",
          o->paired ? "true" : "false", corrections[o->correct], set->family, set->regressions,
          set->incomplete_rows);
  fputs(",\"tables\":[", out);
  for (size_t i = 0; i < set->count; i++) {
    fputs(i ? ",\n" : "\n", out);
    put_table(set, &set->tables[i], out);
  }
  fputs("]}\n", out);
  return true;
}
