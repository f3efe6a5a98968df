/*
 * Regular expressions: see regex.h.
 *
 * A parser makes a tree, the tree becomes instructions of a nondeterministic automaton, and
 * matching keeps the set of states it can be in (Thompson 1968; Cox, "Regular Expression Matching
 * Can Be Simple And Fast", 2007): no backtracking, so no expression can blow up.
 */
#include "comparer/regex.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <wctype.h>

#define MAX_DEPTH 500
#define MAX_REPEAT 1000 /* copies, also of repetitions within each other; as in Go */
#define MAX_NODES 10000
#define MAX_PROGRAM 50000
#define MAX_RUNE 0x10FFFFu
#define UNBOUNDED UINT32_MAX

enum node_kind { NODE_EMPTY, NODE_CLASS, NODE_CAT, NODE_ALT, NODE_REPEAT, NODE_ASSERT };
enum assertion { BEGIN_TEXT, END_TEXT, BEGIN_LINE, END_LINE, WORD_EDGE, NO_WORD_EDGE };

struct node {
  enum node_kind kind;
  uint32_t a, b;     /* children; CLASS: first range and number of ranges; ASSERT: which */
  uint32_t min, max; /* REPEAT */
};

struct range {
  uint32_t lo, hi;
};

enum op { OP_CLASS, OP_SPLIT, OP_JUMP, OP_ASSERT, OP_MATCH };
struct inst {
  enum op op;
  uint32_t x, y; /* SPLIT: both ways; JUMP: x; CLASS: first range, number; ASSERT: which */
};

struct regex {
  struct range *ranges;
  struct inst *program;
  uint32_t size;
  /* Scratch of a match: two sets of states and a stack, `size` each. */
  uint32_t *now, *next, *stack, *mark;
  uint32_t generation;
};

struct parser {
  const char *p, *end, *start;
  struct node *nodes;
  uint32_t node_count;
  struct range *ranges;
  uint32_t range_count, range_room;
  bool fold, dot_all, multi_line;
  int depth;
  bool failed;
  char *why;
  size_t why_size;
  locale_t utf8;
};

#define NO_NODE UINT32_MAX

static uint32_t fail(struct parser *s, const char *what, const char *from, const char *to) {
  if (!s->failed)
    snprintf(s->why, s->why_size, "error parsing regexp: %s: `%.*s`", what,
             (int)(to - from < 60 ? to - from : 60), from);
  s->failed = true;
  return NO_NODE;
}

static uint32_t make_node(struct parser *s, struct node n) {
  if (s->failed)
    return NO_NODE;
  if (s->node_count == MAX_NODES)
    return fail(s, "expression too large", s->start, s->end);
  s->nodes[s->node_count] = n;
  return s->node_count++;
}

static bool add_range(struct parser *s, uint32_t lo, uint32_t hi) {
  if (s->range_count == s->range_room) {
    uint32_t room = s->range_room ? s->range_room * 2 : 64;
    struct range *ranges = realloc(s->ranges, room * sizeof *ranges);
    if (!ranges || room > 1u << 20) {
      fail(s, "expression too large", s->start, s->end);
      s->ranges = ranges ? ranges : s->ranges;
      return false;
    }
    s->ranges = ranges;
    s->range_room = room;
  }
  s->ranges[s->range_count++] = (struct range){lo, hi};
  return true;
}

/* ---- classes ---- */

static int by_lo(const void *a, const void *b) {
  const struct range *x = a, *y = b;
  return x->lo < y->lo ? -1 : x->lo > y->lo;
}

/* Adds the other case of ASCII letters in ranges [first, end). Beyond ASCII: single letters. */
static void fold_ranges(struct parser *s, uint32_t first) {
  uint32_t end = s->range_count;
  for (uint32_t i = first; i < end && !s->failed; i++) {
    struct range r = s->ranges[i];
    for (uint32_t c = 'A'; c <= 'Z'; c++) {
      if (c >= r.lo && c <= r.hi)
        add_range(s, c + 32, c + 32);
      if (c + 32 >= r.lo && c + 32 <= r.hi)
        add_range(s, c, c);
    }
    if (r.lo == r.hi && r.lo >= 0x80 && s->utf8) {
      uint32_t up = (uint32_t)towupper_l((wint_t)r.lo, s->utf8);
      uint32_t low = (uint32_t)towlower_l((wint_t)r.lo, s->utf8);
      add_range(s, up, up);
      add_range(s, low, low);
    }
  }
}

/* Replaces ranges [first, end) by their complement. */
static void negate_ranges(struct parser *s, uint32_t first) {
  uint32_t n = s->range_count - first, lo = 0;
  if (s->failed)
    return;
  struct range *old = malloc((n + 1) * sizeof *old);
  if (!old) {
    fail(s, "out of memory", s->start, s->end);
    return;
  }
  memcpy(old, s->ranges + first, n * sizeof *old);
  qsort(old, n, sizeof *old, by_lo);
  s->range_count = first;
  for (uint32_t i = 0; i < n; i++) {
    if (old[i].lo > lo)
      add_range(s, lo, old[i].lo - 1);
    if (old[i].hi + 1 > lo)
      lo = old[i].hi + 1;
  }
  if (lo <= MAX_RUNE)
    add_range(s, lo, MAX_RUNE);
  free(old);
}

struct named_class {
  const char *name;
  struct range ranges[4];
};

/* Unused ranges of an entry are 0-0 and end it; none of these classes holds NUL but [:ascii:]. */
static const struct named_class posix_classes[] = {
    {"alnum", {{'0', '9'}, {'A', 'Z'}, {'a', 'z'}}},
    {"alpha", {{'A', 'Z'}, {'a', 'z'}}},
    {"ascii", {{0, 0x7F}}},
    {"blank", {{'\t', '\t'}, {' ', ' '}}},
    {"cntrl", {{0, 0x1F}, {0x7F, 0x7F}}},
    {"digit", {{'0', '9'}}},
    {"graph", {{'!', '~'}}},
    {"lower", {{'a', 'z'}}},
    {"print", {{' ', '~'}}},
    {"punct", {{'!', '/'}, {':', '@'}, {'[', '`'}, {'{', '~'}}},
    {"space", {{'\t', '\r'}, {' ', ' '}}},
    {"upper", {{'A', 'Z'}}},
    {"word", {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}},
    {"xdigit", {{'0', '9'}, {'A', 'F'}, {'a', 'f'}}},
};
static const struct named_class perl_classes[] = {
    {"d", {{'0', '9'}}},
    {"s", {{'\t', '\n'}, {'\f', '\r'}, {' ', ' '}}},
    {"w", {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}},
};

static void add_named(struct parser *s, const struct named_class *c, bool negated) {
  uint32_t first = s->range_count;
  for (int i = 0; i < 4 && c->ranges[i].hi; i++)
    add_range(s, c->ranges[i].lo, c->ranges[i].hi);
  if (negated)
    negate_ranges(s, first);
}

/* \d \D \s \S \w \W at p (behind the backslash). */
static const struct named_class *perl_class(char c, bool *negated) {
  *negated = c >= 'A' && c <= 'Z';
  for (size_t i = 0; i < sizeof perl_classes / sizeof *perl_classes; i++)
    if (perl_classes[i].name[0] == (c | 32))
      return &perl_classes[i];
  return NULL;
}

static int hex_value(char c) {
  return c >= '0' && c <= '9'                 ? c - '0'
         : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10
                                              : -1;
}

/* \x41 or \x{10FFFF}; s->p stands behind the x. */
static bool hex_escape(struct parser *s, uint32_t *rune) {
  bool braces = s->p < s->end && *s->p == '{';
  uint32_t v = 0;
  int digits = 0;
  s->p += braces;
  for (; s->p < s->end && hex_value(*s->p) >= 0 && digits < (braces ? 8 : 2); digits++)
    v = v * 16 + (uint32_t)hex_value(*s->p++);
  if (digits == 0 || v > MAX_RUNE || (!braces && digits != 2))
    return false;
  if (braces && (s->p == s->end || *s->p++ != '}'))
    return false;
  *rune = v;
  return true;
}

/* A character behind a backslash; s->p stands on it. */
static bool escaped_rune(struct parser *s, uint32_t *rune) {
  static const char letters[] = "afnrtv", values[] = "\a\f\n\r\t\v";
  const char *from = s->p - 1;
  unsigned char c = (unsigned char)*s->p++;
  const char *known = c ? strchr(letters, c) : NULL;
  if (known) {
    *rune = (uint32_t)values[known - letters];
    return true;
  }
  if (c == 'x' && hex_escape(s, rune))
    return true;
  if (c >= '0' && c <= '7' && (c == '0' || (s->p < s->end && *s->p >= '0' && *s->p <= '7'))) {
    uint32_t v = c - '0';
    for (int i = 0; i < 2 && s->p < s->end && *s->p >= '0' && *s->p <= '7'; i++)
      v = v * 8 + (uint32_t)(*s->p++ - '0');
    *rune = v;
    return true;
  }
  if (c < 0x80 && c > ' ' && c != 0x7F && !((c | 32) >= 'a' && (c | 32) <= 'z') &&
      !(c >= '0' && c <= '9')) {
    *rune = c;
    return true;
  }
  if (c == 'p' || c == 'P')
    fail(s, "Unicode classes are not supported", from, s->p);
  else
    fail(s, "invalid escape sequence", from, s->p);
  return false;
}

static uint32_t take_rune(struct parser *s) {
  uint32_t rune;
  s->p += utf8_decode(s->p, s->end, &rune);
  return rune;
}

/* [:name:] or [:^name:] inside a class; false when it is none. */
static bool posix_in_class(struct parser *s) {
  if (s->end - s->p < 4 || s->p[0] != '[' || s->p[1] != ':')
    return false;
  const char *name = s->p + 2, *stop = name;
  while (stop + 1 < s->end && !(stop[0] == ':' && stop[1] == ']'))
    stop++;
  if (stop + 1 >= s->end)
    return false;
  bool negated = *name == '^';
  struct text word = {name + negated, (size_t)(stop - name - negated)};
  for (size_t i = 0; i < sizeof posix_classes / sizeof *posix_classes; i++)
    if (text_is(word, posix_classes[i].name)) {
      add_named(s, &posix_classes[i], negated);
      s->p = stop + 2;
      return true;
    }
  fail(s, "invalid character class range", s->p, stop + 2);
  return true;
}

/* One end of a range. */
static bool class_rune(struct parser *s, uint32_t *rune) {
  if (*s->p != '\\') {
    *rune = take_rune(s);
    return true;
  }
  s->p++;
  if (s->p == s->end) {
    fail(s, "trailing backslash at end of expression", s->end, s->end);
    return false;
  }
  return escaped_rune(s, rune);
}

static void class_item(struct parser *s) {
  bool negated;
  if (posix_in_class(s))
    return;
  if (*s->p == '\\' && s->p + 1 < s->end) {
    const struct named_class *c = perl_class(s->p[1], &negated);
    if (c) {
      add_named(s, c, negated);
      s->p += 2;
      return;
    }
  }
  const char *from = s->p;
  uint32_t lo, hi;
  if (!class_rune(s, &lo))
    return;
  hi = lo;
  if (s->end - s->p >= 2 && s->p[0] == '-' && s->p[1] != ']') {
    s->p++;
    if (!class_rune(s, &hi))
      return;
    if (hi < lo) {
      fail(s, "invalid character class range", from, s->p);
      return;
    }
  }
  add_range(s, lo, hi);
}

static uint32_t class_node(struct parser *s, uint32_t first) {
  return make_node(s, (struct node){NODE_CLASS, first, s->range_count - first, 0, 0});
}

static uint32_t parse_class(struct parser *s) {
  const char *from = s->p++;
  uint32_t first = s->range_count;
  bool negated = s->p < s->end && *s->p == '^', opening = true;
  s->p += negated;
  while (s->p < s->end && (*s->p != ']' || opening) && !s->failed) {
    opening = false;
    class_item(s);
  }
  if (s->p == s->end)
    return fail(s, "missing closing ]", from, s->end);
  s->p++;
  if (s->fold)
    fold_ranges(s, first);
  if (negated)
    negate_ranges(s, first);
  return class_node(s, first);
}

static uint32_t literal(struct parser *s, uint32_t rune) {
  uint32_t first = s->range_count;
  add_range(s, rune, rune);
  if (s->fold)
    fold_ranges(s, first);
  return class_node(s, first);
}

/* ---- expressions ---- */

static uint32_t parse_alternatives(struct parser *s);

static uint32_t concatenate(struct parser *s, uint32_t a, uint32_t b) {
  return a == NO_NODE ? b : make_node(s, (struct node){NODE_CAT, a, b, 0, 0});
}

/* \Q...\E; s->p stands behind the Q. */
static uint32_t parse_quoted(struct parser *s) {
  uint32_t all = NO_NODE;
  while (s->p < s->end && !s->failed) {
    if (s->end - s->p >= 2 && s->p[0] == '\\' && s->p[1] == 'E') {
      s->p += 2;
      break;
    }
    all = concatenate(s, all, literal(s, take_rune(s)));
  }
  return all == NO_NODE ? make_node(s, (struct node){.kind = NODE_EMPTY}) : all;
}

static uint32_t parse_escape(struct parser *s) {
  if (++s->p == s->end)
    return fail(s, "trailing backslash at end of expression", s->end, s->end);
  static const struct {
    char letter;
    enum assertion is;
  } assertions[] = {{'A', BEGIN_TEXT}, {'z', END_TEXT}, {'b', WORD_EDGE}, {'B', NO_WORD_EDGE}};
  for (size_t i = 0; i < sizeof assertions / sizeof *assertions; i++)
    if (*s->p == assertions[i].letter) {
      s->p++;
      return make_node(s, (struct node){NODE_ASSERT, assertions[i].is, 0, 0, 0});
    }
  if (*s->p == 'Q') {
    s->p++;
    return parse_quoted(s);
  }
  bool negated;
  const struct named_class *c = perl_class(*s->p, &negated);
  uint32_t first = s->range_count, rune;
  if (c) {
    s->p++;
    add_named(s, c, negated);
    return class_node(s, first);
  }
  return escaped_rune(s, &rune) ? literal(s, rune) : NO_NODE;
}

/* What stands behind `(?`: a name, or flags up to : or ). Returns false when it is wrong. */
static bool parse_group_head(struct parser *s, const char *from, bool *flags_alone) {
  *flags_alone = false;
  if (s->p < s->end && (*s->p == 'P' || *s->p == '<')) {
    s->p += *s->p == 'P';
    const char *name = s->p;
    while (s->p < s->end && *s->p != '>')
      s->p++;
    if (s->p == s->end || *name != '<' || s->p - name < 2) {
      fail(s, "invalid named capture", from, s->p);
      return false;
    }
    s->p++;
    return true;
  }
  bool on = true;
  for (; s->p < s->end; s->p++) {
    switch (*s->p) {
    case 'i':
      s->fold = on;
      break;
    case 's':
      s->dot_all = on;
      break;
    case 'm':
      s->multi_line = on;
      break;
    case 'U':
      break; /* laziness changes no yes-or-no answer */
    case '-':
      on = false;
      break;
    case ')':
      *flags_alone = true; /* fall through */
    case ':':
      s->p++;
      return true;
    default:
      fail(s, "invalid or unsupported Perl syntax", from, s->p + 1);
      return false;
    }
  }
  fail(s, "missing argument to repetition operator", from, s->p);
  return false;
}

static uint32_t parse_group(struct parser *s) {
  const char *from = s->p++;
  bool fold = s->fold, dot_all = s->dot_all, multi_line = s->multi_line, flags_alone = false;
  if (s->p < s->end && *s->p == '?') {
    s->p++;
    if (!parse_group_head(s, from, &flags_alone))
      return NO_NODE;
    if (flags_alone) /* (?i) holds up to the end of the group around it */
      return make_node(s, (struct node){.kind = NODE_EMPTY});
  }
  if (++s->depth > MAX_DEPTH)
    return fail(s, "expression nests too deeply", s->start, s->end);
  uint32_t n = parse_alternatives(s);
  s->depth--;
  if (s->p == s->end || *s->p != ')')
    return fail(s, "missing closing )", s->start, s->end);
  s->p++;
  s->fold = fold;
  s->dot_all = dot_all;
  s->multi_line = multi_line;
  return n;
}

static uint32_t parse_dot(struct parser *s) {
  uint32_t first = s->range_count;
  s->p++;
  if (s->dot_all) {
    add_range(s, 0, MAX_RUNE);
  } else {
    add_range(s, 0, '\n' - 1);
    add_range(s, '\n' + 1, MAX_RUNE);
  }
  return class_node(s, first);
}

static uint32_t parse_atom(struct parser *s) {
  switch (*s->p) {
  case '(':
    return parse_group(s);
  case '[':
    return parse_class(s);
  case '\\':
    return parse_escape(s);
  case '.':
    return parse_dot(s);
  case '^':
    s->p++;
    return make_node(s,
                     (struct node){NODE_ASSERT, s->multi_line ? BEGIN_LINE : BEGIN_TEXT, 0, 0, 0});
  case '$':
    s->p++;
    return make_node(s, (struct node){NODE_ASSERT, s->multi_line ? END_LINE : END_TEXT, 0, 0, 0});
  case '*':
  case '+':
  case '?':
    return fail(s, "missing argument to repetition operator", s->p, s->p + 1);
  default:
    return literal(s, take_rune(s));
  }
}

/* {n}, {n,} or {n,m} at p. Returns its end, or NULL when the brace stands for itself. */
static const char *parse_counts(const char *p, const char *end, uint32_t *min, uint32_t *max) {
  uint32_t v[2] = {0, UNBOUNDED};
  int which = 0, digits = 0;
  for (p++; p < end && *p != '}'; p++) {
    if (*p == ',' && which == 0 && digits) {
      which = 1;
      digits = 0;
    } else if (*p >= '0' && *p <= '9') {
      v[which] = digits++ ? v[which] * 10 + (uint32_t)(*p - '0') : (uint32_t)(*p - '0');
      if (v[which] > MAX_REPEAT)
        v[which] = MAX_REPEAT + 1;
    } else {
      return NULL;
    }
  }
  if (p == end || (which == 0 && !digits))
    return NULL;
  *min = v[0];
  *max = which ? v[1] : v[0];
  return p + 1;
}

/*
 * Whether no more than `most` copies of anything come from the counted repetitions within each
 * other: Go's rule. It also keeps compile from going around for ever over what emits nothing.
 */
static bool repeats_fit(const struct parser *s, uint32_t at, uint32_t most) {
  const struct node *n = &s->nodes[at];
  switch (n->kind) {
  case NODE_REPEAT: {
    uint32_t copies = n->max == UNBOUNDED ? n->min : n->max;
    if (n->max == 0)
      return true;
    return copies <= most && repeats_fit(s, n->a, copies > 0 ? most / copies : most);
  }
  case NODE_CAT:
  case NODE_ALT:
    return repeats_fit(s, n->a, most) && repeats_fit(s, n->b, most);
  case NODE_EMPTY:
  case NODE_CLASS:
  case NODE_ASSERT:
    break;
  }
  return true;
}

static uint32_t parse_repeat(struct parser *s) {
  uint32_t n = parse_atom(s);
  const char *before = NULL;
  while (s->p < s->end && !s->failed) {
    const char *op = s->p;
    uint32_t min = 0, max = UNBOUNDED;
    if (*op == '{') {
      const char *stop = parse_counts(op, s->end, &min, &max);
      if (!stop)
        break;
      s->p = stop;
      if (min > MAX_REPEAT || (max != UNBOUNDED && (max > MAX_REPEAT || max < min)))
        return fail(s, "invalid repeat count", op, s->p);
    } else if (*op == '*' || *op == '+' || *op == '?') {
      s->p++;
      min = *op == '+';
      max = *op == '?' ? 1 : UNBOUNDED;
    } else {
      break;
    }
    s->p += s->p < s->end && *s->p == '?'; /* lazy */
    if (before)
      return fail(s, "invalid nested repetition operator", before, s->p);
    before = op;
    n = make_node(s, (struct node){NODE_REPEAT, n, 0, min, max});
    if (n != NO_NODE && *op == '{' && (min > 1 || (max != UNBOUNDED && max > 1)) &&
        !repeats_fit(s, n, MAX_REPEAT))
      return fail(s, "invalid repeat count", op, s->p);
  }
  return n;
}

static uint32_t parse_sequence(struct parser *s) {
  uint32_t all = NO_NODE;
  while (s->p < s->end && *s->p != '|' && *s->p != ')' && !s->failed)
    all = concatenate(s, all, parse_repeat(s));
  return all == NO_NODE ? make_node(s, (struct node){.kind = NODE_EMPTY}) : all;
}

static uint32_t parse_alternatives(struct parser *s) {
  uint32_t all = parse_sequence(s);
  while (s->p < s->end && *s->p == '|' && !s->failed) {
    s->p++;
    uint32_t next = parse_sequence(s);
    all = make_node(s, (struct node){NODE_ALT, all, next, 0, 0});
  }
  return all;
}

/* ---- instructions ---- */

static uint32_t emit(struct regex *re, struct inst i) {
  if (re->size < MAX_PROGRAM)
    re->program[re->size] = i;
  return re->size++; /* beyond MAX_PROGRAM nothing is kept; regex_new refuses */
}

static void patch(struct regex *re, uint32_t at, uint32_t x, uint32_t y) {
  if (at < MAX_PROGRAM) {
    re->program[at].x = x;
    re->program[at].y = y;
  }
}

static void compile(struct regex *re, const struct node *nodes, uint32_t n);

static void compile_repeat(struct regex *re, const struct node *nodes, const struct node *n) {
  for (uint32_t i = 0; i < n->min && re->size < MAX_PROGRAM; i++)
    compile(re, nodes, n->a);
  if (n->max == UNBOUNDED) {
    uint32_t split = emit(re, (struct inst){OP_SPLIT, 0, 0});
    compile(re, nodes, n->a);
    emit(re, (struct inst){OP_JUMP, split, 0});
    patch(re, split, split + 1, re->size);
    return;
  }
  /* Each optional copy may leave to the end; the ways out are patched by walking back. */
  uint32_t last = UINT32_MAX;
  for (uint32_t i = n->min; i < n->max && re->size < MAX_PROGRAM; i++) {
    uint32_t split = emit(re, (struct inst){OP_SPLIT, 0, last});
    last = split;
    compile(re, nodes, n->a);
  }
  while (last != UINT32_MAX && last < MAX_PROGRAM) {
    uint32_t before = re->program[last].y;
    patch(re, last, last + 1, re->size);
    last = before;
  }
}

/* As deep as the tree, so MAX_NODES calls at the most: a sequence of n leans to the left. */
static void compile(struct regex *re, const struct node *nodes, uint32_t at) {
  const struct node *n = &nodes[at];
  switch (n->kind) {
  case NODE_EMPTY:
    break;
  case NODE_CLASS:
    emit(re, (struct inst){OP_CLASS, n->a, n->b});
    break;
  case NODE_ASSERT:
    emit(re, (struct inst){OP_ASSERT, n->a, 0});
    break;
  case NODE_CAT:
    compile(re, nodes, n->a);
    compile(re, nodes, n->b);
    break;
  case NODE_ALT: {
    uint32_t split = emit(re, (struct inst){OP_SPLIT, 0, 0});
    compile(re, nodes, n->a);
    uint32_t jump = emit(re, (struct inst){OP_JUMP, 0, 0});
    patch(re, split, split + 1, re->size);
    compile(re, nodes, n->b);
    patch(re, jump, re->size, 0);
    break;
  }
  case NODE_REPEAT:
    compile_repeat(re, nodes, n);
    break;
  }
}

static bool make_program(struct regex *re, struct parser *s, uint32_t root) {
  re->program = malloc(MAX_PROGRAM * sizeof *re->program);
  if (!re->program)
    return false;
  compile(re, s->nodes, root);
  emit(re, (struct inst){OP_MATCH, 0, 0});
  if (re->size > MAX_PROGRAM) {
    fail(s, "expression too large", s->start, s->end);
    return false;
  }
  struct inst *fitting = realloc(re->program, re->size * sizeof *re->program);
  re->program = fitting ? fitting : re->program;
  re->now = calloc(re->size, sizeof *re->now);
  re->next = calloc(re->size, sizeof *re->next);
  re->stack = calloc(2 * (size_t)re->size + 2, sizeof *re->stack);
  re->mark = calloc(re->size, sizeof *re->mark);
  return re->now && re->next && re->stack && re->mark;
}

struct regex *regex_new(struct text expression, char *why, size_t why_size) {
  struct parser s = {.p = expression.p,
                     .start = expression.p,
                     .end = expression.p + expression.n,
                     .why = why,
                     .why_size = why_size};
  snprintf(why, why_size, "out of memory");
  struct regex *re = calloc(1, sizeof *re);
  s.nodes = malloc(MAX_NODES * sizeof *s.nodes);
  s.utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
  bool ok = re && s.nodes;
  if (ok) {
    uint32_t root = parse_alternatives(&s);
    if (!s.failed && s.p < s.end)
      fail(&s, "unexpected )", s.start, s.end);
    ok = !s.failed && make_program(re, &s, root);
    re->ranges = s.ranges;
  }
  if (s.utf8 != (locale_t)0)
    freelocale(s.utf8);
  free(s.nodes);
  if (ok)
    return re;
  regex_free(re);
  return NULL;
}

void regex_free(struct regex *re) {
  if (!re)
    return;
  free(re->ranges);
  free(re->program);
  free(re->now);
  free(re->next);
  free(re->stack);
  free(re->mark);
  free(re);
}

/* ---- matching ---- */

#define NO_RUNE UINT32_MAX

static bool is_word(uint32_t r) {
  return r < 0x80 && ((r >= '0' && r <= '9') || ((r | 32) >= 'a' && (r | 32) <= 'z') || r == '_');
}

/* Whether the assertion holds between two characters; NO_RUNE is an end of the text. */
static bool holds(enum assertion is, uint32_t before, uint32_t after) {
  switch (is) {
  case BEGIN_TEXT:
    return before == NO_RUNE;
  case END_TEXT:
    return after == NO_RUNE;
  case BEGIN_LINE:
    return before == NO_RUNE || before == '\n';
  case END_LINE:
    return after == NO_RUNE || after == '\n';
  case WORD_EDGE:
    return is_word(before) != is_word(after);
  case NO_WORD_EDGE:
    return is_word(before) == is_word(after);
  }
  return false;
}

/* Adds a state and all it reaches without a character. true when that includes the match. */
static bool add_state(struct regex *re, uint32_t *set, uint32_t *n, uint32_t state, uint32_t before,
                      uint32_t after) {
  uint32_t depth = 0;
  re->stack[depth++] = state;
  while (depth) {
    uint32_t at = re->stack[--depth];
    if (re->mark[at] == re->generation)
      continue;
    re->mark[at] = re->generation;
    const struct inst *i = &re->program[at];
    switch (i->op) {
    case OP_MATCH:
      return true;
    case OP_CLASS:
      set[(*n)++] = at;
      break;
    case OP_JUMP:
      re->stack[depth++] = i->x;
      break;
    case OP_SPLIT:
      re->stack[depth++] = i->y;
      re->stack[depth++] = i->x;
      break;
    case OP_ASSERT:
      if (holds((enum assertion)i->x, before, after))
        re->stack[depth++] = at + 1;
      break;
    }
  }
  return false;
}

static bool class_holds(const struct regex *re, const struct inst *i, uint32_t rune) {
  for (uint32_t k = 0; k < i->y; k++)
    if (rune >= re->ranges[i->x + k].lo && rune <= re->ranges[i->x + k].hi)
      return true;
  return false;
}

static void next_generation(struct regex *re) {
  if (++re->generation == 0) {
    memset(re->mark, 0, re->size * sizeof *re->mark);
    re->generation = 1;
  }
}

bool regex_match(struct regex *re, struct text t) {
  const char *p = t.p, *end = t.p + t.n;
  uint32_t before = NO_RUNE, count = 0;
  uint32_t rune = NO_RUNE;
  size_t length = p < end ? utf8_decode(p, end, &rune) : 0;
  next_generation(re);
  for (;;) {
    /* The states in `now` were closed over at this position; a match may also begin here. */
    if (add_state(re, re->now, &count, 0, before, rune))
      return true;
    if (p == end)
      return false;
    uint32_t here = rune, kept = 0;
    p += length;
    rune = NO_RUNE;
    length = p < end ? utf8_decode(p, end, &rune) : 0;
    next_generation(re);
    for (uint32_t i = 0; i < count; i++) {
      const struct inst *inst = &re->program[re->now[i]];
      if (class_holds(re, inst, here) && add_state(re, re->next, &kept, re->now[i] + 1, here, rune))
        return true;
    }
    uint32_t *swap = re->now;
    re->now = re->next;
    re->next = swap;
    count = kept;
    before = here;
  }
}
