/*
 * The command line of poolcmp.
 *
 * Flags as Go's flag package takes them: one dash or two, -flag=value or -flag value, anywhere
 * among the inputs; -- ends them.
 */
#ifndef POOLCMP_OPTIONS_H
#define POOLCMP_OPTIONS_H

#include "comparer/render.h"

enum poolcmp_format {
  FORMAT_TEXT,
  FORMAT_CLASSIC,
  FORMAT_MARKDOWN,
  FORMAT_CSV,
  FORMAT_TIDY,
  FORMAT_JSON,
};

enum color_mode { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };

#define MAX_EXACT_UNITS 64

struct poolcmp_options {
  struct group_expressions group;
  struct table_options table;
  struct render_options render;
  enum poolcmp_format format;
  enum color_mode color;
  bool gate, exclude_flagged, help;
  bool column_set, margin_set, correct_set, width_set;
  const char *exact_units[MAX_EXACT_UNITS];
  const char **inputs; /* PATH or LABEL=PATH or - */
  size_t input_count;
  struct arena words; /* memory of split lists */
};

/* benchstat's defaults; no inputs. Not to be copied: it points into itself. */
void poolcmp_options_init(struct poolcmp_options *o);

/*
 * Fills o from the words behind the program's name; `inputs` points into argv. false with error
 * saying which flag, what was wrong and what would be right. poolcmp_options_free in any case.
 */
bool poolcmp_options_parse(struct poolcmp_options *o, int argc, char **argv, char *error,
                           size_t error_size);
void poolcmp_options_free(struct poolcmp_options *o);

/* One screen: synopsis, flags by purpose, examples. */
void poolcmp_help(FILE *out);

#endif
