/*
 * Samples in memory and as text; see sample.h for the form.
 *
 * Owns the protocol on both sides. The reader trusts nothing: the text comes from a process that
 * may have crashed, been killed or written over its own memory.
 */
#include "harness/sample.h"

#include "harness/digits.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_LINE "poolbench-sample 1"

const struct unit_info unit_infos[UNIT_COUNT] = {
#define UNIT_INFO(id, name, better, headline, what) {name, better, headline, what},
    UNITS(UNIT_INFO)
#undef UNIT_INFO
};

/* A name is one word: it stands between spaces. */
static bool is_name(const char *text) {
  if (*text == '\0')
    return false;
  for (; *text; text++)
    if ((unsigned char)*text <= ' ' || *text == 0x7f)
      return false;
  return true;
}

/* Room for one more element; grows by doubling at powers of two, so no capacity is kept. */
static void *grow(void *list, size_t count, size_t size) {
  if (count != 0 && (count & (count - 1)) != 0)
    return list;
  return reallocarray(list, count == 0 ? 1 : 2 * count, size);
}

bool sample_add(struct sample *s, const char *unit, double value) {
  struct sample_value *values = grow(s->values, s->value_count, sizeof *values);
  if (!values)
    return false;
  s->values = values;
  char *name = strdup(unit);
  if (!name)
    return false;
  s->values[s->value_count++] = (struct sample_value){name, value};
  return true;
}

static bool add_text(struct sample_text **list, size_t *count, const char *name, const char *text) {
  struct sample_text *grown = grow(*list, *count, sizeof *grown);
  if (!grown)
    return false;
  *list = grown;
  struct sample_text t = {strdup(name), strdup(text)};
  if (!t.name || !t.text) {
    free(t.name);
    free(t.text);
    return false;
  }
  grown[(*count)++] = t;
  return true;
}

bool sample_add_missing(struct sample *s, const char *unit, const char *why) {
  return add_text(&s->missing, &s->missing_count, unit, why);
}

bool sample_add_flag(struct sample *s, const char *flag, const char *why) {
  return add_text(&s->flags, &s->flag_count, flag, why);
}

bool sample_add_note(struct sample *s, const char *key, const char *text) {
  return add_text(&s->notes, &s->note_count, key, text);
}

bool sample_set_error(struct sample *s, const char *format, ...) {
  char *text;
  va_list args;
  va_start(args, format);
  int n = vasprintf(&text, format, args);
  va_end(args);
  if (n < 0)
    return false;
  free(s->error);
  s->error = text;
  return true;
}

bool sample_is_mark(const char *unit) {
  static const char end[] = ":time-ns";
  size_t length = strlen(unit);
  return length >= sizeof end && strcmp(unit + length - (sizeof end - 1), end) == 0;
}

bool sample_get(const struct sample *s, const char *unit, double *value) {
  for (size_t i = 0; i < s->value_count; i++)
    if (strcmp(s->values[i].name, unit) == 0) {
      *value = s->values[i].value;
      return true;
    }
  return false;
}

static void free_texts(struct sample_text *list, size_t count) {
  for (size_t i = 0; i < count; i++) {
    free(list[i].name);
    free(list[i].text);
  }
  free(list);
}

void sample_free(struct sample *s) {
  for (size_t i = 0; i < s->value_count; i++)
    free(s->values[i].name);
  free(s->values);
  free_texts(s->missing, s->missing_count);
  free_texts(s->flags, s->flag_count);
  free_texts(s->notes, s->note_count);
  free(s->error);
  *s = (struct sample){0};
}

/* ---- writing ---- */

/* A text must stay on its line: what would end or garble it becomes a space. */
static void write_text(const char *text, FILE *out) {
  if (*text == '\0')
    text = "?";
  for (; *text; text++)
    putc((unsigned char)*text < ' ' || *text == 0x7f ? ' ' : *text, out);
  putc('\n', out);
}

static void write_texts(const char *word, const struct sample_text *list, size_t count, FILE *out) {
  for (size_t i = 0; i < count; i++) {
    fprintf(out, "%s %s ", word, list[i].name);
    write_text(list[i].text, out);
  }
}

bool sample_write(const struct sample *s, FILE *out) {
  fprintf(out, FIRST_LINE "\nops %" PRIu64 "\n", s->ops);
  for (size_t i = 0; i < s->value_count; i++) /* 17 digits give back the same double */
    fprintf(out, "unit %.17g %s\n", s->values[i].value, s->values[i].name);
  write_texts("missing", s->missing, s->missing_count, out);
  write_texts("flag", s->flags, s->flag_count, out);
  write_texts("note", s->notes, s->note_count, out);
  if (s->bound_s > 0)
    fprintf(out, "bound %.17g\n", s->bound_s);
  if (s->error) {
    fputs("error ", out);
    write_text(s->error, out);
  }
  fputs("end\n", out);
  return fflush(out) == 0 && !ferror(out);
}

/* ---- reading ---- */

struct reader {
  struct sample *sample;
  struct error *error;
  unsigned line;
  bool has_ops;
};

/* Quotes at most 60 characters of the line, so that garbage stays readable. */
static bool wrong(const struct reader *r, const char *line, const char *what) {
  char quoted[64];
  size_t n = 0;
  for (; line[n] && n < 60; n++)
    quoted[n] = (unsigned char)line[n] < ' ' || (unsigned char)line[n] > '~' ? '?' : line[n];
  quoted[n] = '\0';
  return error_set(r->error, EXIT_SAMPLES, "sample line %u: %s: \"%s%s\"", r->line, what, quoted,
                   line[n] ? "..." : "");
}

static bool out_of_memory(const struct reader *r) {
  return error_set(r->error, EXIT_SAMPLES, "sample line %u: out of memory", r->line);
}

/* A decimal number; strtod alone would also take "nan", "inf", hexadecimal and leading space. */
static bool parse_value(const char *text, double *value) {
  if (*text == '\0' || text[strspn(text, "0123456789+-.eE")] != '\0')
    return false;
  char *end;
  *value = strtod(text, &end);
  return *end == '\0' && isfinite(*value);
}

static bool has_name(const struct sample_text *list, size_t count, const char *name) {
  for (size_t i = 0; i < count; i++)
    if (strcmp(list[i].name, name) == 0)
      return true;
  return false;
}

static bool has_unit(const struct sample *s, const char *name) {
  double ignored;
  return sample_get(s, name, &ignored) || has_name(s->missing, s->missing_count, name);
}

static bool read_ops(struct reader *r, const char *line, char *rest) {
  if (r->has_ops)
    return wrong(r, line, "ops twice");
  r->has_ops = true;
  return digits_parse(rest, strlen(rest), &r->sample->ops) || wrong(r, line, "no count of ops");
}

static bool read_unit(struct reader *r, const char *line, char *rest) {
  double value;
  char *name = strchr(rest, ' ');
  if (!name)
    return wrong(r, line, "a unit line is \"unit VALUE NAME\"");
  *name++ = '\0';
  if (!parse_value(rest, &value))
    return wrong(r, line, "no finite number");
  if (!is_name(name))
    return wrong(r, line, "no unit name of one word");
  if (has_unit(r->sample, name))
    return wrong(r, line, "a unit twice");
  return sample_add(r->sample, name, value) || out_of_memory(r);
}

/* Splits "NAME TEXT". */
static bool split_text(const struct reader *r, const char *line, char *rest, char **text) {
  *text = strchr(rest, ' ');
  if (!*text || (*text)[1] == '\0')
    return wrong(r, line, "a name and a text belong here");
  *(*text)++ = '\0';
  return is_name(rest) || wrong(r, line, "no name of one word");
}

static bool read_missing(struct reader *r, const char *line, char *rest) {
  char *text;
  if (!split_text(r, line, rest, &text))
    return false;
  if (has_unit(r->sample, rest))
    return wrong(r, line, "a unit twice");
  return sample_add_missing(r->sample, rest, text) || out_of_memory(r);
}

static bool read_flag(struct reader *r, const char *line, char *rest) {
  char *text;
  return split_text(r, line, rest, &text) &&
         (sample_add_flag(r->sample, rest, text) || out_of_memory(r));
}

static bool read_note(struct reader *r, const char *line, char *rest) {
  char *text;
  return split_text(r, line, rest, &text) &&
         (sample_add_note(r->sample, rest, text) || out_of_memory(r));
}

static bool read_bound(struct reader *r, const char *line, char *rest) {
  if (r->sample->bound_s > 0)
    return wrong(r, line, "bound twice");
  return (parse_value(rest, &r->sample->bound_s) && r->sample->bound_s > 0) ||
         wrong(r, line, "no positive number of seconds");
}

static bool read_error(struct reader *r, const char *line, char *rest) {
  if (r->sample->error)
    return wrong(r, line, "error twice");
  if (*rest == '\0')
    return wrong(r, line, "an error without its text");
  return sample_set_error(r->sample, "%s", rest) || out_of_memory(r);
}

static const struct {
  const char *word;
  bool (*read)(struct reader *r, const char *line, char *rest);
} line_kinds[] = {
    {"ops", read_ops},   {"unit", read_unit},   {"missing", read_missing}, {"flag", read_flag},
    {"note", read_note}, {"bound", read_bound}, {"error", read_error},
};

/* `line` is quoted in messages, `copy` is cut into words. */
static bool read_line(struct reader *r, const char *line, char *copy) {
  for (const char *c = line; *c; c++)
    if ((unsigned char)*c < ' ' || *c == 0x7f)
      return wrong(r, line, "a control character");
  char *rest = strchr(copy, ' ');
  if (!rest)
    return wrong(r, line, "an unknown line");
  *rest++ = '\0';
  for (size_t i = 0; i < sizeof line_kinds / sizeof line_kinds[0]; i++)
    if (strcmp(copy, line_kinds[i].word) == 0)
      return line_kinds[i].read(r, line, rest);
  return wrong(r, line, "an unknown line");
}

/* After "end": is it a measured sample, a bound or an error? */
static bool check_whole(struct reader *r) {
  const struct sample *s = r->sample;
  if (!r->has_ops)
    return error_set(r->error, EXIT_SAMPLES, "sample has no \"ops\" line");
  if (s->error || s->bound_s > 0)
    return true;
  if (s->ops == 0 || s->value_count == 0)
    return error_set(r->error, EXIT_SAMPLES,
                     "sample has no measured ops, no bound and no error: nothing in it");
  return true;
}

/* Cuts the text into lines; the last one must be "end" and end with a newline. */
static bool read_lines(struct reader *r, const char *text, size_t length) {
  const char *end = text + length;
  while (text < end) {
    const char *newline = memchr(text, '\n', (size_t)(end - text));
    size_t n = (size_t)((newline ? newline : end) - text);
    char *line = strndup(text, n), *copy = strndup(text, n);
    r->line++;
    bool last = line && strcmp(line, "end") == 0;
    bool ok = line && copy ? true : out_of_memory(r);
    if (ok && memchr(text, '\0', n))
      ok = wrong(r, line, "a zero byte after");
    if (ok && !newline)
      ok = wrong(r, line, "cut off before its end");
    if (ok && r->line == 1 && strcmp(line, FIRST_LINE) != 0)
      ok = wrong(r, line, "the first line must be \"" FIRST_LINE "\"");
    if (ok && last && newline + 1 != end)
      ok = error_set(r->error, EXIT_SAMPLES, "sample line %u: text after \"end\"", r->line + 1);
    if (ok && r->line > 1 && !last)
      ok = read_line(r, line, copy);
    free(line);
    free(copy);
    if (!ok)
      return false;
    if (last)
      return true;
    text = newline + 1;
  }
  return error_set(r->error, EXIT_SAMPLES, "sample %s after line %u: no \"end\"",
                   r->line == 0 ? "is empty" : "is cut off", r->line);
}

bool sample_read(const char *text, size_t length, struct sample *s, struct error *e) {
  struct reader r = {.sample = s, .error = e};
  *s = (struct sample){0};
  if (read_lines(&r, text, length) && check_whole(&r))
    return true;
  sample_free(s);
  return false;
}
