/*
 * Tables as output. One function a format; all of them read a table set and change nothing.
 */
#ifndef POOLCMP_RENDER_H
#define POOLCMP_RENDER_H

#include "comparer/table.h"

#include <stdio.h>

struct render_options {
  bool ascii, color;
  bool verdicts; /* text: verdict, smallest effect and samples needed beside each delta */
  bool exact_p;  /* p<0.001 instead of p=0.000: the layout need not be benchstat's */
  size_t width;  /* text, classic: columns in tables of at most this width; 0 = no limit */
  bool classic_geomean;
};

/* false when out of memory; the caller looks at ferror(out). */
bool render_text(const struct table_set *set, const struct render_options *o, FILE *out);
/* Footnotes go to `notes` as CELL: text. */
bool render_csv(const struct table_set *set, const struct render_options *o, FILE *out,
                FILE *notes);
bool render_classic(const struct table_set *set, const struct render_options *o, FILE *out);
bool render_markdown(const struct table_set *set, const struct render_options *o, FILE *out);
bool render_tidy(const struct table_set *set, FILE *out);
bool render_json(const struct table_set *set, FILE *out);

/* ---- what the formats share ---- */

#define RENDER_TEXT 400

/* "12.3m"; "> 12.3m" where the samples say no more than that. */
void format_center(const struct table_cell *c, struct scale s, char out[RENDER_TEXT]);

/* "3%", "∞" (ASCII "inf"), "?": how far the interval reaches from its center. */
void format_range(const struct table_cell *c, bool ascii, char out[RENDER_TEXT]);

/* "~", "-12.50%", "0.00%", "?": the ratio of centers where it is significant. */
void format_delta(const struct comparison *c, char out[RENDER_TEXT]);

/* -ci: the estimate and "[-3.10%, -1.02%]"; absolute ones in the scale of the row. */
void format_estimate(const struct comparison *c, struct scale s, bool ascii,
                     char center[RENDER_TEXT], char interval[RENDER_TEXT]);

/* "p=0.002 n=10", "n=4+5"; with the adjusted p where there is a correction. */
void format_test(const struct comparison *c, const struct table_options *t, bool exact_p,
                 char out[RENDER_TEXT]);

/* The scale common to a row. */
struct scale row_scale(const struct table *t, const struct table_row *row);

/* "same", "undecided", and what faster and slower are called in this unit. */
const char *verdict_word(const struct table *t, const struct comparison *c);

/* "faster", "less", "higher": what a significant change is, by its sign and the unit. */
const char *direction_word(const struct table *t, const struct comparison *c);

/* Doubts that are said once for all rows, not with each. */
#define HIDDEN_DOUBTS (DOUBT_ONE_PROCESS | DOUBT_TOO_FEW | DOUBT_OTHER_RUN)

/* Names of the set bits of enum doubt, joined by `separator`. */
void format_doubts(unsigned doubts, const char *separator, char out[RENDER_TEXT]);

/* One CSV field, quoted where RFC 4180 or Go's encoding/csv would. */
void csv_field(FILE *out, const char *s);

/* Whether the value of table key `key` has changed since the table before (or is the first). */
bool key_changed(const struct table_set *set, size_t table, size_t key);

#endif
