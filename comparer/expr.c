/*
 * Filters and projections: see expr.h. A recursive descent over a shared tokenizer; the first
 * error stands, and after it every token is the end.
 */
#include "comparer/expr.h"

#include "comparer/regex.h"

#include <stdio.h>
#include <stdlib.h>

#define MAX_DEPTH 200

/* ---- tokens ---- */

enum token_kind { T_END, T_WORD, T_QUOTED, T_REGEX, T_AND, T_OR, T_OPERATOR };

struct token {
  enum token_kind kind;
  char op;       /* T_OPERATOR */
  size_t offset; /* where it starts */
  size_t next;   /* where the rest starts */
  struct text text;
};

struct parser {
  struct arena *arena;
  struct text q;
  size_t at;
  bool failed;
  struct expr_error *error;
  int depth;
};

static void fail_at(struct parser *s, size_t offset, const char *text) {
  if (!s->failed) {
    s->error->offset = offset;
    snprintf(s->error->text, sizeof s->error->text, "%s", text);
  }
  s->failed = true;
}

static void fail_token(struct parser *s, const struct token *t, const char *what) {
  char text[160];
  int n = (int)(t->text.n < 60 ? t->text.n : 60);
  snprintf(text, sizeof text, "%s \"%.*s\"", what, n, t->text.p);
  fail_at(s, t->offset, text);
}

static bool is_operator(uint32_t r) {
  return r == '(' || r == ')' || r == ':' || r == '@' || r == ',';
}

static struct token end_token(const struct parser *s) {
  return (struct token){T_END, 0, s->q.n, s->q.n, {"", 0}};
}

static bool take_hex(const char **p, const char *end, int digits, uint32_t *v) {
  *v = 0;
  for (; digits > 0; digits--, (*p)++) {
    if (*p == end)
      return false;
    char c = **p;
    int d = c >= '0' && c <= '9'                 ? c - '0'
            : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10
                                                 : -1;
    if (d < 0)
      return false;
    *v = *v * 16 + (uint32_t)d;
  }
  return true;
}

/* One escape of a Go string; p stands behind the backslash. Returns the bytes written, 0 if bad. */
static size_t unescape(const char **p, const char *end, char *out) {
  static const char letters[] = "abfnrtv\\\"", values[] = "\a\b\f\n\r\t\v\\\"";
  if (*p == end)
    return 0;
  char c = *(*p)++;
  const char *known = c ? strchr(letters, c) : NULL;
  uint32_t v = 0;
  if (known) {
    *out = values[known - letters];
    return 1;
  }
  if (c == 'x') {
    if (!take_hex(p, end, 2, &v))
      return 0;
    *out = (char)v;
    return 1;
  }
  if (c == 'u' || c == 'U') {
    if (!take_hex(p, end, c == 'u' ? 4 : 8, &v) || v > 0x10FFFF || (v >= 0xD800 && v < 0xE000))
      return 0;
    return utf8_encode(v, out);
  }
  (*p)--;
  for (int i = 0; i < 3; i++, (*p)++) {
    if (*p == end || **p < '0' || **p > '7')
      return 0;
    v = v * 8 + (uint32_t)(**p - '0');
  }
  *out = (char)v;
  return v <= 255;
}

static struct token quoted_word(struct parser *s) {
  const char *from = s->q.p + s->at, *end = s->q.p + s->q.n, *close = from + 1;
  while (close < end && *close != '"')
    close += *close == '\\' && close + 1 < end ? 2 : 1;
  if (close >= end) {
    fail_at(s, s->at, "missing end quote");
    return end_token(s);
  }
  char *word = arena_alloc(s->arena, (size_t)(close - from) * 2 + 4);
  size_t n = 0;
  bool good = word != NULL;
  for (const char *p = from + 1; good && p < close;) {
    if (*p == '\\') {
      p++;
      size_t k = unescape(&p, close, word + n);
      good = k > 0;
      n += k;
    } else {
      good = *p != '\n';
      word[n++] = *p++;
    }
  }
  if (!good) {
    fail_at(s, s->at, word ? "bad escape sequence" : "out of memory");
    return end_token(s);
  }
  return (struct token){T_QUOTED, 0, s->at, (size_t)(close + 1 - s->q.p), {word, n}};
}

static struct token bare_word(struct parser *s) {
  const char *from = s->q.p + s->at, *end = s->q.p + s->q.n, *p = from;
  while (p < end) {
    uint32_t rune;
    size_t n = utf8_decode(p, end, &rune);
    if (rune_is_space(rune) || is_operator(rune))
      break;
    p += n;
  }
  struct token t = {T_WORD, 0, s->at, (size_t)(p - s->q.p), {from, (size_t)(p - from)}};
  if (text_is(t.text, "AND"))
    t.kind = T_AND;
  else if (text_is(t.text, "OR"))
    t.kind = T_OR;
  return t;
}

/* Up to a slash that stands in no class and no group; an escaped one does not count. */
static struct token regex_token(struct parser *s) {
  const char *from = s->q.p + s->at + 1, *end = s->q.p + s->q.n, *p = from;
  long groups = 0, classes = 0;
  for (; p < end && !(*p == '/' && groups == 0 && classes == 0); p++) {
    if (*p == '\\' && p + 1 < end)
      p++;
    else if (*p == '[')
      classes++;
    else if (*p == ']')
      classes -= classes > 0; /* one too many stands for itself */
    else if (*p == '(' && classes == 0)
      groups++;
    else if (*p == ')' && classes == 0)
      groups--;
  }
  if (p >= end) {
    fail_at(s, s->at, "missing close \"/\"");
    return end_token(s);
  }
  size_t next = (size_t)(p + 1 - s->q.p);
  struct token t = {T_REGEX, 0, s->at, next, {from, (size_t)(p - from)}};
  if (p + 1 < end) {
    unsigned char c = (unsigned char)p[1];
    if (!(c < 0x80 && rune_is_space(c)) && !is_operator(c) && c != '-' && c != '*') {
      fail_at(s, next, "regexp must be followed by space or an operator (unescaped \"/\"?)");
      return end_token(s);
    }
  }
  return t;
}

/* Looks at the next token; spaces before it are gone for good. */
static struct token peek(struct parser *s, bool allow_regex) {
  const char *end = s->q.p + s->q.n;
  while (!s->failed && s->at < s->q.n) {
    const char *p = s->q.p + s->at;
    uint32_t rune;
    size_t n = utf8_decode(p, end, &rune);
    if (is_operator(rune) || rune == '-' || rune == '*')
      return (struct token){T_OPERATOR, *p, s->at, s->at + 1, {p, 1}};
    if (rune_is_space(rune))
      s->at += n;
    else if (allow_regex && rune == '/')
      return regex_token(s);
    else if (rune == '"')
      return quoted_word(s);
    else
      return bare_word(s);
  }
  return end_token(s);
}

static bool is_word(const struct token *t) {
  return t->kind == T_WORD || t->kind == T_QUOTED;
}
static bool is_op(const struct token *t, char op) {
  return t->kind == T_OPERATOR && t->op == op;
}

char *expr_error_format(struct arena *a, const char *q, const struct expr_error *e) {
  int column = 0;
  const char *end = q + strlen(q);
  for (const char *p = q; p < end && (size_t)(p - q) < e->offset;) {
    uint32_t rune;
    p += utf8_decode(p, end, &rune);
    column += rune_is_graphic(rune);
  }
  return arena_printf(a, "syntax error: %s\n\t%s\n\t%*s^", e->text, q, column, "");
}

static struct key make_key(struct text t) {
  static const struct {
    const char *name;
    enum key_kind kind;
  } known[] = {{".name", KEY_NAME},
               {".fullname", KEY_FULLNAME},
               {".unit", KEY_UNIT},
               {".config", KEY_CONFIG},
               {".file", KEY_FILE}};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (text_is(t, known[i].name))
      return (struct key){known[i].kind, t};
  return (struct key){t.n && t.p[0] == '/' ? KEY_SUBNAME : KEY_SETTING, t};
}

/* A word of the expression, kept: bare words point into the caller's string. */
static struct text keep(struct parser *s, struct text t) {
  char *p = arena_copy(s->arena, t);
  if (!p)
    fail_at(s, s->at, "out of memory");
  return (struct text){p ? p : "", p ? t.n : 0};
}

/* ---- filters ---- */

enum filter_op { F_AND, F_OR, F_NOT, F_EQUALS, F_REGEX };

struct filter {
  enum filter_op op;
  struct filter *first, *next; /* operands of AND, OR, NOT; next operand of the one above */
  struct key key;
  struct text value;
  struct regex *regex;
};

static struct filter *make_filter(struct parser *s, enum filter_op op, struct filter *first) {
  struct filter *f = s->failed ? NULL : arena_alloc(s->arena, sizeof *f);
  if (!f) {
    fail_at(s, s->at, "out of memory");
    filter_free(first);
    return NULL;
  }
  *f = (struct filter){.op = op, .first = first};
  return f;
}

void filter_free(struct filter *f) {
  for (; f; f = f->next) {
    filter_free(f->first);
    regex_free(f->regex);
    f->regex = NULL;
  }
}

static struct filter *parse_or(struct parser *s);

/* One value of key:value. The key was checked. */
static struct filter *make_match(struct parser *s, struct key key, const struct token *value) {
  struct filter *f = make_filter(s, value->kind == T_REGEX ? F_REGEX : F_EQUALS, NULL);
  if (!f)
    return NULL;
  f->key = key;
  if (value->kind != T_REGEX) {
    f->value = keep(s, value->text);
    return f;
  }
  char why[160];
  f->regex = regex_new(value->text, why, sizeof why);
  if (!f->regex)
    fail_at(s, value->offset, why);
  return f;
}

static bool is_value(const struct token *t) {
  return is_word(t) || t->kind == T_REGEX;
}

/* key:(a OR b ...); s->at stands behind the parenthesis. */
static struct filter *parse_values(struct parser *s, struct key key) {
  struct filter *all = make_filter(s, F_OR, NULL), **last = all ? &all->first : NULL;
  while (!s->failed) {
    struct token value = peek(s, true);
    if (!is_value(&value)) {
      fail_at(s, value.offset, "expected value");
      break;
    }
    s->at = value.next;
    *last = make_match(s, key, &value);
    if (!*last)
      break;
    last = &(*last)->next;
    struct token separator = peek(s, true);
    if (is_op(&separator, ')')) {
      s->at = separator.next;
      break;
    }
    if (separator.kind != T_OR) {
      fail_at(s, separator.offset, "value list must be separated by OR");
      break;
    }
    s->at = separator.next;
  }
  return all;
}

static struct filter *parse_key_value(struct parser *s, const struct token *word) {
  struct key key = make_key(keep(s, word->text));
  s->at = word->next;
  struct token colon = peek(s, false);
  if (!is_op(&colon, ':')) {
    fail_at(s, word->offset, "expected key:value");
    return NULL;
  }
  s->at = colon.next;
  struct token value = peek(s, true);
  struct filter *f = NULL;
  if (is_value(&value)) {
    s->at = value.next;
    f = make_match(s, key, &value);
  } else if (is_op(&value, '(')) {
    s->at = value.next;
    f = parse_values(s, key);
  } else {
    fail_at(s, word->offset, "expected key:value");
  }
  if (key.kind == KEY_CONFIG)
    fail_at(s, word->offset, ".config is only allowed in projections");
  else if (key.text.n == 0)
    fail_at(s, word->offset, "key must not be empty");
  return f;
}

static struct filter *parse_match(struct parser *s) {
  struct token t = peek(s, false);
  if (is_word(&t))
    return parse_key_value(s, &t);
  if (is_op(&t, '*')) {
    s->at = t.next;
    return make_filter(s, F_AND, NULL);
  }
  if (!is_op(&t, '(') && !is_op(&t, '-')) {
    fail_at(s, t.offset, "expected key:value or subexpression");
    return NULL;
  }
  if (++s->depth > MAX_DEPTH) {
    fail_at(s, t.offset, "expression nests too deeply");
    return NULL;
  }
  s->at = t.next;
  struct filter *f;
  if (is_op(&t, '-')) {
    f = make_filter(s, F_NOT, parse_match(s));
  } else {
    f = parse_or(s);
    struct token close = peek(s, false);
    if (!is_op(&close, ')'))
      fail_at(s, close.offset, "missing \")\"");
    s->at = close.next;
  }
  s->depth--;
  return f;
}

/* Terms side by side or joined by AND. */
static struct filter *parse_and(struct parser *s) {
  struct filter *first = parse_match(s), *last = first;
  while (!s->failed) {
    struct token t = peek(s, false);
    if (t.kind == T_AND) {
      s->at = t.next;
      continue;
    }
    if (t.kind == T_END || t.kind == T_OR || is_op(&t, ')'))
      break;
    if (!is_word(&t) && !is_op(&t, '(') && !is_op(&t, '-') && !is_op(&t, '*')) {
      fail_token(s, &t, "unexpected");
      break;
    }
    last->next = parse_match(s);
    if (last->next)
      last = last->next;
  }
  return first && first->next ? make_filter(s, F_AND, first) : first;
}

static struct filter *parse_or(struct parser *s) {
  struct filter *first = parse_and(s), *last = first;
  while (!s->failed) {
    struct token t = peek(s, false);
    if (t.kind != T_OR)
      break;
    s->at = t.next;
    last->next = parse_and(s);
    if (last->next)
      last = last->next;
  }
  return first && first->next ? make_filter(s, F_OR, first) : first;
}

struct filter *filter_parse(struct arena *a, const char *expression, struct expr_error *e) {
  struct parser s = {.arena = a, .q = text_of(expression), .error = e};
  struct filter *f = parse_or(&s);
  struct token rest = peek(&s, false);
  if (rest.kind != T_END)
    fail_token(&s, &rest, "unexpected");
  if (!s.failed)
    return f;
  filter_free(f);
  return NULL;
}

bool filter_has_units(const struct filter *f) {
  if ((f->op == F_EQUALS || f->op == F_REGEX) && f->key.kind == KEY_UNIT)
    return true;
  for (const struct filter *c = f->first; c; c = c->next)
    if (filter_has_units(c))
      return true;
  return false;
}

static bool matches_text(const struct filter *f, struct text t) {
  return f->op == F_REGEX ? regex_match(f->regex, t) : text_equal(f->value, t);
}

bool filter_match(const struct filter *f, const struct filter_subject *s) {
  switch (f->op) {
  case F_NOT:
    return !filter_match(f->first, s);
  case F_AND:
    for (const struct filter *c = f->first; c; c = c->next)
      if (!filter_match(c, s))
        return false;
    return true;
  case F_OR:
    for (const struct filter *c = f->first; c; c = c->next)
      if (filter_match(c, s))
        return true;
    return false;
  case F_EQUALS:
  case F_REGEX:
    if (f->key.kind == KEY_UNIT)
      return matches_text(f, s->unit) || matches_text(f, s->written);
    return matches_text(f, s->value(s->context, &f->key));
  }
  return false;
}

/* ---- projections ---- */

/* (a b c); s->at stands behind the parenthesis. */
static void parse_fixed(struct parser *s, struct projection_part *part) {
  part->order = ORDER_FIXED;
  size_t room = 0;
  while (!s->failed) {
    struct token t = peek(s, false);
    if (is_op(&t, ')')) {
      if (part->fixed_count == 0)
        fail_at(s, t.offset, "nothing to match");
      s->at = t.next;
      return;
    }
    if (!is_word(&t)) {
      fail_at(s, t.offset, "missing )");
      return;
    }
    s->at = t.next;
    if (part->fixed_count == room) {
      struct text *fixed = arena_alloc(s->arena, (room * 2 + 8) * sizeof *fixed);
      if (!fixed) {
        fail_at(s, t.offset, "out of memory");
        return;
      }
      if (room)
        memcpy(fixed, part->fixed, room * sizeof *fixed);
      part->fixed = fixed;
      room = room * 2 + 8;
    }
    part->fixed[part->fixed_count++] = keep(s, t.text);
  }
}

/* What the grammar lets through but a projection cannot do. Found after the whole is parsed. */
struct misuse {
  size_t offset;
  char text[100];
};

static void check_part(struct projection_part *part, const struct token *key, size_t order_offset,
                       const struct token *order, struct misuse *m) {
  if (m->text[0])
    return;
  if (part->order == ORDER_FIRST && order && !text_is(order->text, "first")) {
    m->offset = order_offset;
    snprintf(m->text, sizeof m->text, "unknown order \"%.*s\"",
             (int)(order->text.n < 60 ? order->text.n : 60), order->text.p);
  } else if (part->key.kind == KEY_CONFIG && part->order == ORDER_FIXED) {
    m->offset = order_offset;
    snprintf(m->text, sizeof m->text, "fixed order not allowed for .config");
  } else if (part->key.kind == KEY_UNIT) {
    m->offset = key->offset;
    snprintf(m->text, sizeof m->text, ".unit is only allowed in filters");
  } else if (part->key.text.n == 0) {
    m->offset = key->offset;
    snprintf(m->text, sizeof m->text, "key must not be empty");
  }
}

static void parse_part(struct parser *s, struct projection_part *part, struct misuse *m) {
  struct token key = peek(s, false);
  if (!is_word(&key)) {
    fail_at(s, key.offset, "expected key");
    return;
  }
  s->at = key.next;
  *part = (struct projection_part){.key = make_key(keep(s, key.text)), .order = ORDER_FIRST};
  struct token at = peek(s, false);
  if (!is_op(&at, '@')) {
    check_part(part, &key, key.offset, NULL, m);
    return;
  }
  s->at = at.next;
  struct token order = peek(s, false);
  if (is_word(&order)) {
    part->order = text_is(order.text, "alpha") ? ORDER_ALPHA
                  : text_is(order.text, "num") ? ORDER_NUM
                                               : ORDER_FIRST;
    s->at = order.next;
    check_part(part, &key, order.offset, &order, m);
  } else if (is_op(&order, '(')) {
    s->at = order.next;
    parse_fixed(s, part);
    check_part(part, &key, order.offset, NULL, m);
  } else {
    fail_at(s, order.offset, "expected named sort order or parenthesized list");
  }
}

bool projection_parse(struct arena *a, const char *expression, struct projection_expr *out,
                      struct expr_error *e) {
  struct parser s = {.arena = a, .q = text_of(expression), .error = e};
  struct misuse m = {0};
  size_t room = 0;
  *out = (struct projection_expr){0};
  for (;;) {
    struct token t = peek(&s, false);
    if (t.kind == T_END)
      break;
    if (is_op(&t, ',') && out->count > 0)
      s.at = t.next;
    if (out->count == room) {
      struct projection_part *parts = arena_alloc(a, (room * 2 + 8) * sizeof *parts);
      if (!parts) {
        fail_at(&s, t.offset, "out of memory");
        break;
      }
      if (room)
        memcpy(parts, out->parts, room * sizeof *parts);
      out->parts = parts;
      room = room * 2 + 8;
    }
    parse_part(&s, &out->parts[out->count++], &m);
  }
  if (!s.failed && m.text[0])
    fail_at(&s, m.offset, m.text);
  return !s.failed;
}
