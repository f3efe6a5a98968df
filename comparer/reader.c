/*
 * From the bytes of a benchmark file to records: see reader.h.
 *
 * The cost of a run of the comparer is mostly here, so the common case is fast: a line whose name
 * and units equal those of the line before is recognised by comparing bytes, numbers of plain
 * digits are read without strtod, and nothing is copied.
 */
#include "comparer/reader.h"

#include "comparer/number.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#define BLOCK_SIZE ((size_t)256 << 10)

enum byte_class { PLAIN, SPACE, BEYOND_ASCII };
static const unsigned char byte_class[256] = {
    ['\t'] = SPACE,
    ['\n'] = SPACE,
    ['\v'] = SPACE,
    ['\f'] = SPACE,
    ['\r'] = SPACE,
    [' '] = SPACE,
    [0x80 ... 0xFF] = BEYOND_ASCII,
};

bool reader_init(struct reader *r) {
  *r = (struct reader){.fd = -1};
  r->buffer = malloc(BLOCK_SIZE);
  r->room = BLOCK_SIZE;
  if (r->buffer && intern_init(&r->strings) && intern_init(&r->runs) && units_init(&r->units))
    return true;
  reader_free(r);
  return false;
}

void reader_free(struct reader *r) {
  free(r->buffer);
  free(r->values);
  free(r->config);
  free(r->config_at);
  free(r->last_name);
  intern_free(&r->strings);
  intern_free(&r->runs);
  units_free(&r->units);
  *r = (struct reader){.fd = -1};
}

void reader_open(struct reader *r, int fd) {
  r->fd = fd;
  r->start = r->end = r->scanned = 0;
  r->eof = false;
  r->at_start = true;
  r->header_open = false;
  r->line = 0;
  r->process = 0;
  r->pending = (struct sample_origin){0};
  r->last_name_length = SIZE_MAX; /* the first name of a file is new */
  r->unit_rest.n = 0;
  for (size_t i = 0; i < r->config_count; i++)
    r->config_at[r->config[i].key] = 0;
  r->config_count = 0;
  r->config_hash[0] = r->config_hash[1] = 0;
}

static enum record_kind say(struct reader *r, enum record_kind kind, const char *text) {
  snprintf(r->message, sizeof r->message, "%s", text);
  return kind;
}

/* ---- bytes to lines ---- */

/* Reads one block behind what is there. false with a message when the file cannot be read on. */
static bool fill(struct reader *r) {
  if (r->start > 0) {
    memmove(r->buffer, r->buffer + r->start, r->end - r->start);
    r->end -= r->start;
    r->scanned -= r->start;
    r->start = 0;
  }
  if (r->end == r->room) {
    char *buffer = r->room > SIZE_MAX / 4 ? NULL : realloc(r->buffer, r->room * 2);
    if (!buffer) {
      say(r, RECORD_FATAL, "line too long for memory");
      return false;
    }
    r->buffer = buffer;
    r->room *= 2;
  }
  ssize_t n;
  do
    n = read(r->fd, r->buffer + r->end, r->room - r->end);
  while (n < 0 && errno == EINTR);
  if (n < 0) {
    say(r, RECORD_FATAL, strerror(errno));
    return false;
  }
  if (n > 0 && memchr(r->buffer + r->end, 0, (size_t)n) && !r->at_start) {
    say(r, RECORD_FATAL, "holds NUL bytes: not benchmark text (binary, or UTF-16 or UTF-32)");
    return false;
  }
  r->end += (size_t)n;
  r->eof = n == 0;
  return true;
}

/* What the first bytes give away. Skips a UTF-8 byte order mark. */
static bool check_start(struct reader *r) {
  static const struct {
    const char *bytes;
    size_t n;
    const char *is;
  } kinds[] = {
      {"\xFF\xFE", 2, "is UTF-16, not UTF-8: convert it with iconv -f UTF-16 -t UTF-8"},
      {"\xFE\xFF", 2, "is UTF-16, not UTF-8: convert it with iconv -f UTF-16 -t UTF-8"},
      {"\x1F\x8B", 2, "is compressed by gzip: unpack it with zcat FILE | poolcmp -"},
      {"\x28\xB5\x2F\xFD", 4, "is compressed by zstd: unpack it with zstdcat FILE | poolcmp -"},
      {"\xFD"
       "7zXZ",
       5, "is compressed by xz: unpack it with xzcat FILE | poolcmp -"},
      {"\x7F"
       "ELF",
       4, "is a program, not benchmark text"},
  };
  while (!r->eof && r->end < 8)
    if (!fill(r))
      return false;
  r->at_start = false;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (r->end >= kinds[i].n && memcmp(r->buffer, kinds[i].bytes, kinds[i].n) == 0) {
      say(r, RECORD_FATAL, kinds[i].is);
      return false;
    }
  if (memchr(r->buffer, 0, r->end)) {
    say(r, RECORD_FATAL, "holds NUL bytes: not benchmark text (binary, or UTF-16 or UTF-32)");
    return false;
  }
  if (r->end >= 3 && memcmp(r->buffer, "\xEF\xBB\xBF", 3) == 0)
    r->start = r->scanned = 3;
  return true;
}

enum line_status { LINE_OK, LINE_NONE, LINE_ERROR };

/* The next line without its end. It stays in place until the next call. */
static enum line_status next_line(struct reader *r, struct text *line) {
  if (r->at_start && !check_start(r))
    return LINE_ERROR;
  for (;;) {
    char *from = r->buffer + r->start;
    char *newline = memchr(r->buffer + r->scanned, '\n', r->end - r->scanned);
    if (newline) {
      *line = (struct text){from, (size_t)(newline - from)};
      r->start = r->scanned = (size_t)(newline + 1 - r->buffer);
      break;
    }
    r->scanned = r->end;
    if (r->eof) {
      if (r->start == r->end)
        return LINE_NONE;
      *line = (struct text){from, r->end - r->start};
      r->start = r->end;
      break;
    }
    if (!fill(r))
      return LINE_ERROR;
  }
  if (line->n && line->p[line->n - 1] == '\r')
    line->n--;
  r->line++;
  return LINE_OK;
}

/* ---- fields ---- */

/* The end of a field that holds characters beyond ASCII. */
static const char *field_end_beyond_ascii(struct reader *r, const char *p, const char *end) {
  while (p < end && byte_class[(unsigned char)*p] != SPACE) {
    uint32_t rune;
    size_t n = utf8_decode(p, end, &rune);
    if (rune_is_space(rune))
      return p;
    if (n == 1 && rune == 0xFFFD)
      r->invalid_utf8 = true;
    p += n;
  }
  return p;
}

static inline const char *field_end(struct reader *r, const char *p, const char *end) {
  while (p < end && byte_class[(unsigned char)*p] == PLAIN)
    p++;
  if (p == end || byte_class[(unsigned char)*p] == SPACE)
    return p;
  return field_end_beyond_ascii(r, p, end);
}

static const char *skip_spaces_beyond_ascii(const char *p, const char *end) {
  while (p < end && byte_class[(unsigned char)*p] != PLAIN) {
    uint32_t rune;
    size_t n = utf8_decode(p, end, &rune);
    if (!rune_is_space(rune))
      return p;
    p += n;
  }
  return p;
}

static inline const char *skip_spaces(const char *p, const char *end) {
  while (p < end && byte_class[(unsigned char)*p] == SPACE)
    p++;
  if (p == end || byte_class[(unsigned char)*p] == PLAIN)
    return p;
  return skip_spaces_beyond_ascii(p, end);
}

/* Takes the next field off the rest of a line. */
static struct text take_field(struct reader *r, struct text *rest) {
  const char *end = rest->p + rest->n, *stop = field_end(r, rest->p, end);
  struct text field = {rest->p, (size_t)(stop - rest->p)};
  const char *next = skip_spaces(stop, end);
  *rest = (struct text){next, (size_t)(end - next)};
  return field;
}

/* Whether the field at p is exactly `field`: the next byte ends it. */
static bool field_is(const char *p, const char *end, struct text field) {
  return (size_t)(end - p) >= field.n && memcmp(p, field.p, field.n) == 0 &&
         (p + field.n == end || byte_class[(unsigned char)p[field.n]] == SPACE);
}

/* ---- results ---- */

/* Reads the name; says in name_changed whether it differs from the line before. */
static bool take_name(struct reader *r, struct text *rest) {
  struct text last = {r->last_name, r->last_name_length};
  const char *end = rest->p + rest->n;
  if (last.n != SIZE_MAX && field_is(rest->p, end, last)) {
    r->name = (struct text){rest->p, last.n};
    r->name_changed = false;
    const char *next = skip_spaces(rest->p + last.n, end);
    *rest = (struct text){next, (size_t)(end - next)};
    return true;
  }
  r->name = take_field(r, rest);
  r->name_changed = true;
  if (r->name.n > r->last_name_room || !r->last_name) {
    char *copy = realloc(r->last_name, r->name.n * 2 + 64);
    if (!copy)
      return false;
    r->last_name = copy;
    r->last_name_room = r->name.n * 2 + 64;
  }
  memcpy(r->last_name, r->name.p, r->name.n);
  r->last_name_length = r->name.n;
  return true;
}

static enum record_kind complain_number(struct reader *r, const char *what,
                                        enum number_status status) {
  static const char *const why[] = {
      [NUMBER_SYNTAX] = "invalid syntax",
      [NUMBER_RANGE] = "value out of range",
      [NUMBER_NOT_FINITE] = "not a finite number; NaN and infinities cannot be compared",
  };
  snprintf(r->message, sizeof r->message, "parsing %s: %s", what, why[status]);
  return RECORD_COMPLAINT;
}

/* The iteration count is only checked: nothing is computed from it. */
static enum record_kind take_iterations(struct reader *r, struct text *rest) {
  const char *p = rest->p, *end = p + rest->n;
  while (p < end && (unsigned char)(*p - '0') < 10)
    p++;
  if (p - rest->p > 0 && p - rest->p < 19 && p < end && byte_class[(unsigned char)*p] == SPACE) {
    const char *next = skip_spaces(p, end);
    *rest = (struct text){next, (size_t)(end - next)};
    return RECORD_RESULT;
  }
  int64_t iterations;
  enum number_status status = number_parse_integer(take_field(r, rest), &iterations);
  return status == NUMBER_OK ? RECORD_RESULT : complain_number(r, "iteration count", status);
}

/* The unit of measurement i, most often the one that stood there in the line before. */
static uint32_t take_unit(struct reader *r, size_t i, struct text *rest) {
  const char *end = rest->p + rest->n;
  if (i < r->units_known) {
    uint32_t before = r->values[i].written;
    struct text name = r->units.list[before].name;
    if (field_is(rest->p, end, name)) {
      const char *next = skip_spaces(rest->p + name.n, end);
      *rest = (struct text){next, (size_t)(end - next)};
      return before;
    }
    r->units_known = i;
  }
  return units_add(&r->units, take_field(r, rest));
}

/* One value and its unit. RECORD_RESULT when it is right. */
static enum record_kind take_measurement(struct reader *r, size_t i, struct text *rest) {
  double value;
  const char *end = rest->p + rest->n, *stop = number_scan(rest->p, end, &value);
  if (stop && (stop == end || byte_class[(unsigned char)*stop] == SPACE)) {
    const char *next = skip_spaces(stop, end);
    *rest = (struct text){next, (size_t)(end - next)};
  } else {
    enum number_status status = number_parse(take_field(r, rest), &value);
    if (status != NUMBER_OK)
      return complain_number(r, "measurement", status);
  }
  if (rest->n == 0)
    return say(r, RECORD_COMPLAINT, "missing units");
  uint32_t written = take_unit(r, i, rest);
  if (written == INTERN_NONE)
    return say(r, RECORD_FATAL, "out of memory");
  const struct unit *unit = &r->units.list[written];
  value *= unit->factor;
  if (!isfinite(value))
    return complain_number(r, "measurement", NUMBER_RANGE);
  r->values[i] = (struct measurement){value, unit->tidied, written};
  if (r->units_known == i)
    r->units_known = i + 1;
  return RECORD_RESULT;
}

static enum record_kind take_values(struct reader *r, struct text *rest) {
  if (rest->n == 0)
    return say(r, RECORD_COMPLAINT, "missing measurements");
  while (rest->n > 0) {
    struct measurement *values =
        array_grow(r->values, r->value_count, &r->value_room, sizeof *values);
    if (!values)
      return say(r, RECORD_FATAL, "out of memory");
    r->values = values;
    enum record_kind kind = take_measurement(r, r->value_count, rest);
    if (kind != RECORD_RESULT)
      return kind;
    r->value_count++;
  }
  return RECORD_RESULT;
}

/* RECORD_END: nothing but a name, as go test -v prints it before a run; to be skipped. */
static enum record_kind parse_result_line(struct reader *r, struct text rest) {
  r->invalid_utf8 = false;
  r->value_count = 0;
  if (!take_name(r, &rest))
    return say(r, RECORD_FATAL, "out of memory");
  if (rest.n == 0)
    return RECORD_END;
  r->header_open = false;
  enum record_kind kind = take_iterations(r, &rest);
  if (kind != RECORD_RESULT)
    return kind;
  kind = take_values(r, &rest);
  if (kind == RECORD_RESULT && r->invalid_utf8)
    return say(r, RECORD_COMPLAINT, "not valid UTF-8");
  return kind;
}

static enum record_kind parse_result(struct reader *r, struct text rest) {
  r->origin = r->pending;
  r->pending = (struct sample_origin){0};
  enum record_kind kind = parse_result_line(r, rest);
  if (kind != RECORD_RESULT)
    r->last_name_length = SIZE_MAX; /* nobody saw this name: the next one is new */
  return kind;
}

/* ---- configuration ---- */

static void config_rehash(struct reader *r, struct config_entry e, int sign) {
  uint64_t a = hash_mix(e.key, e.value), b = hash_mix(e.value + 0x100000001u, e.key);
  r->config_hash[0] += sign > 0 ? a : 0 - a;
  r->config_hash[1] += sign > 0 ? b : 0 - b;
}

/* Makes config_at reach every string there is. */
static bool config_at_room(struct reader *r) {
  size_t need = r->strings.count;
  if (need <= r->config_at_room)
    return true;
  size_t room = need * 2;
  uint32_t *at = realloc(r->config_at, room * sizeof *at);
  if (!at)
    return false;
  memset(at + r->config_at_room, 0, (room - r->config_at_room) * sizeof *at);
  r->config_at = at;
  r->config_at_room = room;
  return true;
}

/* Takes a key out of force; the last one moves into its place, as in Go's reader. */
static void config_delete(struct reader *r, uint32_t key) {
  uint32_t at = r->config_at[key];
  if (!at)
    return;
  config_rehash(r, r->config[at - 1], -1);
  struct config_entry last = r->config[--r->config_count];
  r->config[at - 1] = last;
  r->config_at[last.key] = at;
  r->config_at[key] = 0;
}

static enum record_kind config_set(struct reader *r, uint32_t key, uint32_t value) {
  uint32_t at = r->config_at[key];
  if (at) {
    config_rehash(r, r->config[at - 1], -1);
  } else {
    if (r->config_count == READER_MAX_CONFIG)
      return say(r, RECORD_FATAL, "more than 1000 configuration keys in force");
    struct config_entry *config =
        array_grow(r->config, r->config_count, &r->config_room, sizeof *config);
    if (!config)
      return say(r, RECORD_FATAL, "out of memory");
    r->config = config;
    at = (uint32_t)++r->config_count;
    r->config_at[key] = at;
  }
  r->config[at - 1] = (struct config_entry){key, value};
  config_rehash(r, r->config[at - 1], 1);
  return RECORD_END;
}

/* Splits `key: value`; the key starts with a lower case letter and holds no space, no capital. */
static bool split_config(struct text line, struct text *key, struct text *value) {
  const char *p = line.p, *end = line.p + line.n;
  while (p < end && (*p != ':' || p == line.p)) {
    uint32_t rune;
    size_t n = utf8_decode(p, end, &rune);
    if ((p == line.p && !rune_is_lower(rune)) || rune_is_space(rune) || rune_is_upper(rune))
      return false;
    p += n;
  }
  if (p == end)
    return false;
  *key = (struct text){line.p, (size_t)(p - line.p)};
  const char *after = ++p;
  while (p < end && (*p == ' ' || *p == '\t'))
    p++;
  *value = (struct text){p, (size_t)(end - p)};
  return after == end || p > after;
}

/* A binary of go test prints these before its results: results below belong to a new process. */
static bool is_header(struct text key) {
  return text_is(key, "goos") || text_is(key, "goarch") || text_is(key, "pkg");
}

static enum record_kind parse_config(struct reader *r, struct text line) {
  struct text key, value;
  if (!split_config(line, &key, &value))
    return RECORD_END;
  if (!utf8_valid(line))
    return say(r, RECORD_COMPLAINT, "not valid UTF-8");
  if (is_header(key) && !r->header_open) {
    r->process++;
    r->header_open = true;
  }
  uint32_t k = intern_add(&r->strings, key), v = intern_add(&r->strings, value);
  if (k == INTERN_NONE || v == INTERN_NONE || !config_at_room(r))
    return say(r, RECORD_FATAL, "out of memory");
  if (value.n > 0)
    return config_set(r, k, v);
  config_delete(r, k);
  return RECORD_END;
}

/* ---- units and comments ---- */

/* Goes on with the pairs of a Unit line; each wrong one is a complaint of its own. */
static enum record_kind parse_unit_pairs(struct reader *r) {
  while (r->unit_rest.n > 0) {
    struct text pair = take_field(r, &r->unit_rest);
    const char *equals = memchr(pair.p, '=', pair.n);
    if (!equals || equals == pair.p)
      return say(r, RECORD_COMPLAINT, "expected key=value");
    struct text key = {pair.p, (size_t)(equals - pair.p)};
    struct text value = {equals + 1, pair.n - key.n - 1};
    bool ok;
    const char *held = units_set(&r->units, r->unit_id, key, value, &ok);
    if (!ok)
      return say(r, RECORD_FATAL, "out of memory");
    if (held) {
      snprintf(r->message, sizeof r->message, "metadata %.*s of unit %.*s already set to %s",
               (int)(key.n < 50 ? key.n : 50), key.p,
               (int)(r->unit_name.n < 50 ? r->unit_name.n : 50), r->unit_name.p, held);
      return RECORD_COMPLAINT;
    }
  }
  return RECORD_END;
}

static enum record_kind parse_unit(struct reader *r, struct text rest) {
  r->unit_name = take_field(r, &rest);
  if (r->unit_name.n == 0)
    return say(r, RECORD_COMPLAINT, "missing unit");
  r->unit_id = units_add(&r->units, r->unit_name);
  if (r->unit_id == INTERN_NONE)
    return say(r, RECORD_FATAL, "out of memory");
  r->unit_rest = rest;
  return parse_unit_pairs(r);
}

static uint32_t flag_named(struct text name) {
  static const struct {
    const char *name;
    uint32_t flag;
  } flags[] = {
      {"not-steady", SAMPLE_NOT_STEADY}, {"foreign-cpu", SAMPLE_FOREIGN_CPU},
      {"throttled", SAMPLE_THROTTLED},   {"host-speed", SAMPLE_HOST_SPEED},
      {"few-ops", SAMPLE_FEW_OPS},       {"bound", SAMPLE_BOUND},
  };
  for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
    if (text_is(name, flags[i].name))
      return flags[i].flag;
  return 0;
}

static bool take_count(struct reader *r, struct text *rest, const char *word, uint32_t *out) {
  int64_t v;
  if (!text_is(take_field(r, rest), word) ||
      number_parse_integer(take_field(r, rest), &v) != NUMBER_OK || v < 0 || v > UINT32_MAX)
    return false;
  *out = (uint32_t)v;
  return true;
}

/* `# run` and `# flag`; any other comment is someone else's. */
static enum record_kind parse_comment(struct reader *r, struct text rest) {
  struct text word = take_field(r, &rest);
  if (text_is(word, "flag")) {
    r->pending.flags |= flag_named(take_field(r, &rest));
  } else if (text_is(word, "run")) {
    struct text id = take_field(r, &rest);
    uint32_t round, seq;
    if (id.n == 0 || !take_count(r, &rest, "round", &round) || !take_count(r, &rest, "seq", &seq))
      return RECORD_END;
    uint32_t run = intern_add(&r->runs, id);
    if (run == INTERN_NONE)
      return say(r, RECORD_FATAL, "out of memory");
    r->pending.run = run;
    r->pending.round = round;
    r->pending.seq = seq;
    r->pending.process = ++r->run_processes;
  }
  return RECORD_END;
}

static enum record_kind parse_line(struct reader *r, struct text line) {
  static const struct text benchmark = {"Benchmark", 9};
  if (text_starts(line, benchmark))
    return parse_result(r, (struct text){line.p + 9, line.n - 9});
  if (line.n == 0)
    return RECORD_END;
  if (line.p[0] == '#') {
    const char *p = skip_spaces(line.p + 1, line.p + line.n);
    return parse_comment(r, (struct text){p, (size_t)(line.p + line.n - p)});
  }
  if (line.p[0] == 'U') {
    struct text rest = line;
    if (text_is(take_field(r, &rest), "Unit"))
      return parse_unit(r, rest);
  }
  return parse_config(r, line);
}

enum record_kind reader_next(struct reader *r) {
  if (r->unit_rest.n > 0) {
    enum record_kind kind = parse_unit_pairs(r);
    if (kind != RECORD_END)
      return kind;
  }
  for (;;) {
    struct text line;
    switch (next_line(r, &line)) {
    case LINE_NONE:
      return RECORD_END;
    case LINE_ERROR:
      return RECORD_FATAL;
    case LINE_OK:
      break;
    }
    enum record_kind kind = parse_line(r, line);
    if (kind != RECORD_END)
      return kind;
  }
}
