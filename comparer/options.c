/*
 * The command line of poolcmp: see options.h.
 */
#include "comparer/options.h"

#include "comparer/number.h"

#include <stdlib.h>
#include <string.h>

void poolcmp_options_init(struct poolcmp_options *o) {
  *o = (struct poolcmp_options){
      .group =
          {.table = ".config", .row = ".fullname", .column = ".file", .ignore = "", .filter = "*"},
      .table = {.alpha = 0.05, .confidence = 0.95, .margin = 0.03},
  };
}

void poolcmp_options_free(struct poolcmp_options *o) {
  free(o->inputs);
  arena_free(&o->words);
  *o = (struct poolcmp_options){0};
}

/* ---- values ---- */

static bool bad_value(char *error, size_t size, const char *flag, const char *value,
                      const char *right) {
  snprintf(error, size, "invalid value \"%.100s\" for flag -%s: expected %s", value, flag, right);
  return false;
}

static bool set_number(double *out, const char *flag, const char *value, double least,
                       double greatest, const char *right, char *error, size_t size) {
  double v;
  if (number_parse(text_of(value), &v) != NUMBER_OK || v < least || v > greatest)
    return bad_value(error, size, flag, value, right);
  *out = v;
  return true;
}

struct choice {
  const char *name;
  int value;
};

static bool set_choice(int *out, const char *flag, const char *value, const struct choice *choices,
                       const char *right, char *error, size_t size) {
  for (; choices->name; choices++)
    if (strcmp(choices->name, value) == 0) {
      *out = choices->value;
      return true;
    }
  return bad_value(error, size, flag, value, right);
}

static const struct choice formats[] = {{"text", FORMAT_TEXT},
                                        {"classic", FORMAT_CLASSIC},
                                        {"markdown", FORMAT_MARKDOWN},
                                        {"csv", FORMAT_CSV},
                                        {"tidy", FORMAT_TIDY},
                                        {"json", FORMAT_JSON},
                                        {NULL, 0}};
static const struct choice corrections[] = {
    {"none", CORRECT_NONE}, {"holm", CORRECT_HOLM}, {"bh", CORRECT_BH}, {NULL, 0}};
static const struct choice sorts[] = {
    {"none", SORT_NONE}, {"delta", SORT_DELTA}, {"name", SORT_NAME}, {"p", SORT_P}, {NULL, 0}};
static const struct choice colors[] = {
    {"auto", COLOR_AUTO}, {"always", COLOR_ALWAYS}, {"never", COLOR_NEVER}, {NULL, 0}};

/* -exact A,B and again. */
static bool add_exact(struct poolcmp_options *o, const char *value, char *error, size_t size) {
  char *list = arena_copy(&o->words, text_of(value)), *save = NULL;
  if (!list) {
    snprintf(error, size, "out of memory");
    return false;
  }
  for (char *unit = strtok_r(list, ",", &save); unit; unit = strtok_r(NULL, ",", &save)) {
    if (o->table.exact_unit_count == MAX_EXACT_UNITS) {
      snprintf(error, size, "-exact: more than %d units", MAX_EXACT_UNITS);
      return false;
    }
    o->exact_units[o->table.exact_unit_count++] = unit;
  }
  o->table.exact_units = o->exact_units;
  return true;
}

/* ---- flags ---- */

static bool set_value(struct poolcmp_options *o, const char *flag, const char *value, char *error,
                      size_t size) {
  const struct {
    const char *name, **text;
  } texts[] = {{"table", &o->group.table},   {"row", &o->group.row},
               {"col", &o->group.column},    {"ignore", &o->group.ignore},
               {"filter", &o->group.filter}, {"twin", &o->table.twin}};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
    if (strcmp(flag, texts[i].name) == 0) {
      *texts[i].text = value;
      o->column_set = o->column_set || strcmp(flag, "col") == 0;
      return true;
    }
  int choice = 0;
  bool ok = true;
  if (strcmp(flag, "alpha") == 0)
    return set_number(&o->table.alpha, flag, value, 0, 1, "a number in [0, 1]", error, size);
  if (strcmp(flag, "confidence") == 0)
    return set_number(&o->table.confidence, flag, value, 0, 1, "a number in [0, 1]", error, size);
  if (strcmp(flag, "margin") == 0) {
    o->margin_set = true;
    return set_number(&o->table.margin, flag, value, 0, 1, "a share in [0, 1], as 0.03 for 3 %",
                      error, size);
  }
  if (strcmp(flag, "exact") == 0)
    return add_exact(o, value, error, size);
  if (strcmp(flag, "width") == 0) {
    double width = 0;
    o->width_set = true;
    ok = set_number(&width, flag, value, 0, 1e6, "a number of characters, 0 for no limit", error,
                    size);
    o->render.width = (size_t)width;
    return ok;
  }
  if (strcmp(flag, "format") == 0) {
    ok = set_choice(&choice, flag, value, formats, "text, classic, markdown, csv, tidy or json",
                    error, size);
    o->format = (enum poolcmp_format)choice;
  } else if (strcmp(flag, "correct") == 0) {
    ok = set_choice(&choice, flag, value, corrections, "none, holm or bh", error, size);
    o->table.correct = (enum correction)choice;
    o->correct_set = true;
  } else if (strcmp(flag, "sort") == 0) {
    ok = set_choice(&choice, flag, value, sorts, "delta, name, p or none", error, size);
    o->table.sort = (enum table_sort)choice;
  } else {
    ok = set_choice(&choice, flag, value, colors, "auto, always or never", error, size);
    o->color = (enum color_mode)choice;
  }
  return ok;
}

static bool *switch_named(struct poolcmp_options *o, const char *flag) {
  const struct {
    const char *name;
    bool *is;
  } switches[] = {{"ci", &o->table.ci},
                  {"paired", &o->table.paired},
                  {"changed", &o->table.changed_only},
                  {"gate", &o->gate},
                  {"exclude-flagged", &o->exclude_flagged},
                  {"ascii", &o->render.ascii},
                  {"geomean", &o->render.classic_geomean},
                  {"h", &o->help},
                  {"help", &o->help}};
  for (size_t i = 0; i < sizeof switches / sizeof *switches; i++)
    if (strcmp(flag, switches[i].name) == 0)
      return switches[i].is;
  return NULL;
}

static bool takes_value(const char *flag) {
  static const char *const names[] = {"table",  "row",        "col",    "ignore", "filter",
                                      "alpha",  "confidence", "format", "exact",  "correct",
                                      "margin", "twin",       "sort",   "color",  "width"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strcmp(flag, names[i]) == 0)
      return true;
  return false;
}

static bool set_switch(bool *is, const char *flag, const char *value, char *error, size_t size) {
  static const struct choice truths[] = {{"true", 1}, {"1", 1},     {"t", 1},
                                         {"TRUE", 1}, {"false", 0}, {"0", 0},
                                         {"f", 0},    {"FALSE", 0}, {NULL, 0}};
  int on = 1;
  if (value && !set_choice(&on, flag, value, truths, "true or false", error, size))
    return false;
  *is = on;
  return true;
}

/* One flag at argv[*i]; moves *i over a value that stands in a word of its own. */
static bool parse_flag(struct poolcmp_options *o, int argc, char **argv, int *i, char *error,
                       size_t size) {
  const char *word = argv[*i] + 1;
  word += *word == '-';
  const char *equals = strchr(word, '=');
  char flag[40];
  snprintf(flag, sizeof flag, "%.*s", (int)(equals ? equals - word : 39), word);
  bool *is = switch_named(o, flag);
  if (is)
    return set_switch(is, flag, equals ? equals + 1 : NULL, error, size);
  if (!takes_value(flag)) {
    snprintf(error, size, "flag provided but not defined: -%s (poolcmp -help lists them)", flag);
    return false;
  }
  if (!equals && *i + 1 >= argc) {
    snprintf(error, size, "flag needs an argument: -%s", flag);
    return false;
  }
  return set_value(o, flag, equals ? equals + 1 : argv[++*i], error, size);
}

bool poolcmp_options_parse(struct poolcmp_options *o, int argc, char **argv, char *error,
                           size_t size) {
  o->inputs = calloc((size_t)argc + 1, sizeof *o->inputs);
  if (!o->inputs) {
    snprintf(error, size, "out of memory");
    return false;
  }
  bool flags = true;
  for (int i = 0; i < argc; i++) {
    if (flags && strcmp(argv[i], "--") == 0)
      flags = false;
    else if (!flags || argv[i][0] != '-' || !argv[i][1])
      o->inputs[o->input_count++] = argv[i];
    else if (!parse_flag(o, argc, argv, &i, error, size))
      return false;
  }
  if (o->help)
    return true;
  if (o->input_count == 0) {
    snprintf(error, size, "no inputs: poolcmp [flags] FILE..., - is standard input");
    return false;
  }
  if (o->gate && !o->correct_set)
    o->table.correct = CORRECT_HOLM;
  return true;
}

void poolcmp_help(FILE *out) {
  fputs("usage: poolcmp [flags] [LABEL=]FILE...        - is standard input\n"
        "\n"
        "Compares benchmark results in Go's format: the median of each benchmark with its\n"
        "interval, and each column against the first. ~ means: no difference was shown.\n"
        "\n"
        "What is compared    keys: .name .fullname .file /key, .config or a configuration key;\n"
        "                    key@alpha, key@num, key@(a b) order values\n"
        "  -col KEYS (.file)   -row KEYS (.fullname)   -table KEYS (.config)   -ignore KEYS\n"
        "  -filter EXPR        /size:4k -.name:Slow .unit:(ns/op OR B/op) goos:/linux|darwin/\n"
        "  -exclude-flagged    leave out samples marked not steady, throttled, foreign CPU\n"
        "How\n"
        "  -alpha P (0.05)     -confidence P (0.95)    -exact UNIT   compare without a test\n"
        "  -ci                 each difference with its interval (Hodges-Lehmann)\n"
        "  -paired             rounds of one run as pairs (signed-rank test)\n"
        "  -correct holm|bh|none    adjust p for the number of rows\n"
        "  -margin SHARE (0.03)     verdicts: same, faster, slower, undecided\n"
        "  -twin COLUMN        the base measured again: no smaller difference is a finding\n"
        "  -gate               exit 1 if something got worse (implies -correct holm)\n"
        "Output\n"
        "  -format text|classic|markdown|csv|tidy|json\n"
        "  -sort delta|name|p  -changed   -ascii   -color auto|always|never   -width N\n"
        "\n"
        "  poolcmp old.txt new.txt\n"
        "  poolcmp -col /strategy -row .name -format markdown results/latest/samples.txt\n"
        "  poolcmp -gate -filter .unit:ns/op base=main.txt new=branch.txt\n"
        "\n"
        "Exit: 0 done, 1 -gate found a regression, 2 usage, 3 input, 4 nothing to compare.\n"
        "The manual has the rest: man poolcmp\n",
        out);
}
