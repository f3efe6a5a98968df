/*
 * Text for a terminal, benchstat's layout to the last byte unless an option asks for more.
 *
 * Physical columns: the label; per column of the table value, range, notes; from the second one
 * also delta, [interval], (p n), [verdict, effect, needed], notes.
 */
#include "comparer/layout.h"
#include "comparer/render.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct symbols {
  const char *plus_minus, *bar, *bar_end;
};
static const struct symbols unicode_symbols = {" ± ", " │ ", " │"};
static const struct symbols ascii_symbols = {" +- ", " | ", " |"};

/* One printed table: a table, or some of its columns with the base repeated. */
struct page {
  const struct table_set *set;
  const struct table *t;
  const struct render_options *o;
  const struct symbols *sym;
  struct arena *arena;
  struct layout *layout;
  const uint32_t *columns; /* of the table, ascending; the base first */
  uint32_t count;
  struct intern footnotes; /* number 0 is none */
};

#define CENTER_COLUMNS 3

static uint32_t delta_columns(const struct page *p) {
  return 3 + p->set->options.ci + (p->o->verdicts ? 3 : 0);
}

/* The first physical column of the i-th printed column. */
static uint32_t start_of(const struct page *p, uint32_t i) {
  return i == 0 ? 1 : 1 + CENTER_COLUMNS + (i - 1) * (CENTER_COLUMNS + delta_columns(p));
}

static char *superscript(struct arena *a, unsigned n, bool ascii) {
  static const char *const digits[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  char plain[12], out[40] = "";
  snprintf(plain, sizeof plain, "%u", n);
  if (ascii)
    return arena_printf(a, "[%s]", plain);
  for (const char *d = plain; *d; d++)
    strcat(out, digits[*d - '0']);
  return arena_copy(a, text_of(out));
}

/* ASCII output spells micro as u. */
static char *keep(struct page *p, const char *s) {
  char *copy = arena_copy(p->arena, text_of(s));
  char *micro = copy && p->o->ascii ? strstr(copy, "µ") : NULL;
  if (micro) {
    *micro = 'u';
    memmove(micro + 1, micro + strlen("µ"), strlen(micro + strlen("µ")) + 1);
  }
  return copy;
}

static void add(struct page *p, const char *text, enum align align, const char *margin) {
  layout_add(p->layout, (struct layout_cell){.text = text, .align = align, .margin = margin});
}

static void add_span(struct page *p, uint32_t span, const char *text, enum align align,
                     const char *margin) {
  layout_add(p->layout,
             (struct layout_cell){.text = text, .align = align, .margin = margin, .span = span});
}

/* A cell of footnote marks; each text gets the number of its first use in this page. */
static void add_marks(struct page *p, const char *const *notes, size_t n) {
  char marks[RENDER_TEXT] = "";
  for (size_t i = 0; i < n; i++) {
    if (!notes[i])
      continue;
    uint32_t number = intern_add(&p->footnotes, text_of(notes[i]));
    char *mark = number == INTERN_NONE ? NULL : superscript(p->arena, number, p->o->ascii);
    if (!mark) {
      p->layout->failed = true;
      return;
    }
    size_t used = strlen(marks);
    snprintf(marks + used, sizeof marks - used, "%s%s", used ? " " : "", mark);
  }
  add(p, keep(p, marks), ALIGN_LEFT, NULL);
}

/* ---- head ---- */

/* Column i begins a new group at this level: its value or one above differs from its neighbour. */
static bool begins_group(const struct page *p, uint32_t i, size_t level) {
  if (i == 0)
    return true;
  const struct table_column *a = &p->t->columns[p->columns[i - 1]];
  const struct table_column *b = &p->t->columns[p->columns[i]];
  for (size_t k = 0; k <= level; k++)
    if (strcmp(a->levels[k], b->levels[k]))
      return true;
  return false;
}

static void add_head(struct page *p) {
  for (size_t level = 0; level < p->set->level_count; level++) {
    layout_row(p->layout);
    for (uint32_t i = 0, n; i < p->count; i += n) {
      for (n = 1; i + n < p->count && !begins_group(p, i + n, level);)
        n++;
      layout_skip(p->layout, start_of(p, i));
      add_span(p, start_of(p, i + n) - start_of(p, i), p->t->columns[p->columns[i]].levels[level],
               ALIGN_CENTER, p->sym->bar);
    }
    layout_skip(p->layout, start_of(p, p->count));
    add(p, "", ALIGN_LEFT, p->sym->bar_end);
  }
  layout_row(p->layout);
  for (uint32_t i = 0; i < p->count; i++) {
    uint32_t from = start_of(p, i);
    layout_skip(p->layout, from);
    add_span(p, CENTER_COLUMNS, p->t->unit, ALIGN_CENTER, p->sym->bar);
    if (i > 0)
      add_span(p, delta_columns(p), "vs base", ALIGN_LEFT, "  ");
    /* Only the first column of a group gives way to what spans it. */
    for (uint32_t k = from + 1; k < start_of(p, i + 1); k++)
      layout_fix(p->layout, k);
  }
  layout_skip(p->layout, start_of(p, p->count));
  add(p, "", ALIGN_LEFT, p->sym->bar_end);
}

/* ---- body ---- */

#define GREEN "\x1b[32m"
#define RED "\x1b[31m"

static const char *style_of(const struct page *p, const struct comparison *c) {
  if (!p->o->color || p->t->better == BETTER_UNKNOWN || c->center == c->base_center ||
      (!c->significant && !c->exact))
    return NULL;
  return (c->center < c->base_center) == (p->t->better == BETTER_LESS) ? GREEN : RED;
}

/* -ci: the estimate stands in every row; one that is not significant keeps its ~. */
static void add_estimate(struct page *p, const struct comparison *c, struct scale s) {
  char center[RENDER_TEXT], interval[RENDER_TEXT];
  format_estimate(c, s, p->o->ascii, center, interval);
  char *text = arena_printf(p->arena, "%s%s", c->significant || c->exact ? "" : "~ ", center);
  layout_add(p->layout, (struct layout_cell){.text = text ? keep(p, text) : NULL,
                                             .align = ALIGN_RIGHT,
                                             .style = style_of(p, c)});
  add(p, c->exact ? "" : keep(p, interval), ALIGN_RIGHT, NULL);
}

static void add_verdict(struct page *p, const struct comparison *c) {
  char effect[40] = "", needed[40] = "";
  if (isfinite(c->smallest_effect))
    snprintf(effect, sizeof effect, "sees %.1f%%", 100 * c->smallest_effect);
  if (c->verdict == VERDICT_UNDECIDED && c->needed)
    snprintf(needed, sizeof needed, "needs n=%zu", c->needed);
  else if (c->verdict == VERDICT_UNDECIDED)
    snprintf(needed, sizeof needed, "never");
  add(p, verdict_word(p->t, c), ALIGN_LEFT, "  ");
  add(p, keep(p, effect), ALIGN_RIGHT, NULL);
  add(p, keep(p, needed), ALIGN_LEFT, NULL);
}

static void add_comparison(struct page *p, const struct table_cell *cell, struct scale s) {
  const struct comparison *c = &cell->comparison;
  char text[RENDER_TEXT];
  if (p->set->options.ci) {
    add_estimate(p, c, s);
  } else {
    format_delta(c, text);
    layout_add(
        p->layout,
        (struct layout_cell){.text = keep(p, text), .align = ALIGN_RIGHT, .style = style_of(p, c)});
  }
  format_test(c, &p->set->options, p->o->exact_p, text);
  add(p, arena_printf(p->arena, "(%s)", text), ALIGN_LEFT, NULL);
  if (p->o->verdicts)
    add_verdict(p, c);
  add_marks(p, &cell->comparison_note, 1);
}

static void add_row(struct page *p, const struct table_row *row) {
  struct scale s = row_scale(p->t, row);
  layout_row(p->layout);
  add(p, row->label, ALIGN_LEFT, NULL);
  for (uint32_t i = 0; i < p->count; i++) {
    const struct table_cell *c = table_cell_at(p->t, row, p->columns[i]);
    char text[RENDER_TEXT], range[RENDER_TEXT];
    if (!c)
      continue;
    layout_skip(p->layout, start_of(p, i));
    format_center(c, s, text);
    add(p, keep(p, text), ALIGN_RIGHT, NULL);
    format_range(c, p->o->ascii, range);
    add(p, keep(p, range), ALIGN_RIGHT, p->sym->plus_minus);
    add_marks(p, (const char *const[]){c->residue, c->summary_note}, 2);
    if (c->compared)
      add_comparison(p, c, s);
  }
}

static void add_geomeans(struct page *p) {
  layout_row(p->layout);
  add(p, "geomean", ALIGN_LEFT, NULL);
  for (uint32_t i = 0; i < p->count; i++) {
    const struct table_column *c = &p->t->columns[p->columns[i]];
    char text[SCALE_TEXT];
    if (c->has_geomean) {
      layout_skip(p->layout, start_of(p, i));
      scale_format(scale_for(&c->geomean, 1, p->t->binary), c->geomean, text);
      add(p, keep(p, text), ALIGN_RIGHT, NULL);
    }
    if (i > 0) {
      layout_skip(p->layout, start_of(p, i) + CENTER_COLUMNS);
      snprintf(text, sizeof text, "%+.2f%%", (c->ratio - 1) * 100);
      add(p, c->has_ratio ? keep(p, text) : "?", c->has_ratio ? ALIGN_RIGHT : ALIGN_LEFT, NULL);
    }
    layout_skip(p->layout, start_of(p, i + 1) - 1);
    add_marks(p, c->notes, sizeof c->notes / sizeof *c->notes);
  }
}

static void fill_page(struct page *p) {
  size_t shown = 0;
  add_head(p);
  for (size_t i = 0; i < p->t->row_count; i++) {
    if (p->t->rows[i].hidden)
      continue;
    add_row(p, &p->t->rows[i]);
    shown++;
  }
  if (p->t->row_count > 1 && shown > 0)
    add_geomeans(p);
}

static bool write_page(struct page *p, FILE *out) {
  if (!layout_write(p->layout, out))
    return false;
  for (uint32_t i = 1; i < p->footnotes.count; i++) {
    char *mark = superscript(p->arena, i, p->o->ascii);
    if (!mark)
      return false;
    fprintf(out, "%s %s\n", mark, p->footnotes.strings[i].p);
  }
  return true;
}

/* ---- pages of a table ---- */

static bool start_page(struct page *p) {
  *p->layout = (struct layout){0};
  if (!intern_init(&p->footnotes))
    return false;
  fill_page(p);
  return true;
}

static void end_page(struct page *p) {
  layout_free(p->layout);
  intern_free(&p->footnotes);
  arena_free(p->arena);
}

/* The width a page of these columns takes. */
static bool page_width(struct page *p, size_t *width) {
  bool ok = start_page(p) && layout_width(p->layout, width);
  end_page(p);
  return ok;
}

/*
 * How many columns behind the base fit from `from` on; one at least. Widths depend on what stands
 * side by side, so a page is laid out and shrunk until it fits.
 */
static bool fit(struct page *p, uint32_t *columns, uint32_t from, uint32_t *count) {
  uint32_t left = p->t->column_count > from ? (uint32_t)p->t->column_count - from : 0, n = 1;
  for (; n < left; n++) {
    size_t width;
    for (uint32_t k = 0; k <= n; k++)
      columns[1 + k] = from + k;
    p->count = n + 2;
    if (!page_width(p, &width))
      return false;
    if (width > p->o->width)
      break;
  }
  *count = n < left ? n : left;
  return true;
}

static bool write_table(struct page *p, FILE *out) {
  uint32_t all = (uint32_t)p->t->column_count, from = 1;
  uint32_t *columns = malloc((all + 2) * sizeof *columns);
  if (!columns)
    return false;
  columns[0] = 0;
  p->columns = columns;
  bool ok = true;
  do {
    uint32_t n = all - from;
    if (p->o->width && all > 2)
      ok = fit(p, columns, from, &n);
    for (uint32_t k = 0; k < n; k++)
      columns[1 + k] = from + k;
    p->count = n + 1;
    if (from > 1)
      fputc('\n', out);
    ok = ok && start_page(p) && write_page(p, out);
    end_page(p);
    from += n;
  } while (ok && from < all);
  free(columns);
  return ok;
}

/* What the corrected p refer to. */
static void write_family(const struct table_set *set, FILE *out) {
  static const char *const names[] = {
      [CORRECT_NONE] = "not corrected",
      [CORRECT_HOLM] = "corrected by Holm",
      [CORRECT_BH] = "corrected by Benjamini-Hochberg",
  };
  if (set->family)
    fprintf(out, "\nfamily: %zu test%s of sec/op, %s\n", set->family, set->family == 1 ? "" : "s",
            names[set->options.correct]);
  for (size_t i = 0; i < set->count; i++)
    if (set->tables[i].twin_limit > 0 && set->tables[i].in_family)
      fprintf(out, "twin: %s is the base again; changes below %.2f%% are no finding\n",
              set->options.twin, 100 * set->tables[i].twin_limit);
}

bool render_text(const struct table_set *set, const struct render_options *o, FILE *out) {
  struct arena arena = {0};
  struct layout layout;
  for (size_t i = 0; i < set->count; i++) {
    if (i > 0)
      fputc('\n', out);
    for (size_t k = 0; k < set->key_count; k++)
      if (key_changed(set, i, k))
        fprintf(out, "%s: %s\n", set->key_names[k], set->tables[i].keys[k]);
    struct page p = {.set = set,
                     .t = &set->tables[i],
                     .o = o,
                     .arena = &arena,
                     .layout = &layout,
                     .sym = o->ascii ? &ascii_symbols : &unicode_symbols};
    if (!write_table(&p, out))
      return false;
  }
  if (set->options.correct != CORRECT_NONE || o->verdicts)
    write_family(set, out);
  return true;
}
