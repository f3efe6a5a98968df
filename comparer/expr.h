/*
 * The two small languages of the command line: filters and projections.
 *
 *     filter      goos:linux -/size:(4k OR /i$/) .unit:ns/op
 *     projection  .name,/size@num,/allocator@(glibc jemalloc)
 *
 * Syntax as golang.org/x/perf/benchproc/syntax has it. Parsing only: what a key is worth for a
 * result is asked through a callback.
 */
#ifndef POOLCMP_EXPR_H
#define POOLCMP_EXPR_H

#include "comparer/arena.h"

enum key_kind {
  KEY_NAME,     /* .name */
  KEY_FULLNAME, /* .fullname */
  KEY_UNIT,     /* .unit: filters only */
  KEY_CONFIG,   /* .config, the group of all configuration keys: projections only */
  KEY_FILE,     /* .file */
  KEY_SUBNAME,  /* /key */
  KEY_SETTING,  /* any other word: one configuration key */
};

struct key {
  enum key_kind kind;
  struct text text;
};

struct expr_error {
  size_t offset; /* byte in the expression */
  char text[160];
};

/* "syntax error: TEXT", the expression and a caret below the place, each on a line. */
char *expr_error_format(struct arena *a, const char *expression, const struct expr_error *e);

/* Expressions live in the arena; filters hold regular expressions besides: filter_free. */
struct filter;
struct filter *filter_parse(struct arena *a, const char *expression, struct expr_error *e);
void filter_free(struct filter *f);

/* Whether it asks for .unit, so that it can keep one measurement of a result and drop another. */
bool filter_has_units(const struct filter *f);

struct filter_subject {
  struct text (*value)(void *context, const struct key *key); /* any key but .unit */
  void *context;
  struct text unit, written; /* of the measurement: tidied and as the input has it */
};
bool filter_match(const struct filter *f, const struct filter_subject *s);

enum order { ORDER_FIRST, ORDER_ALPHA, ORDER_NUM, ORDER_FIXED };

struct projection_part {
  struct key key;
  enum order order;
  struct text *fixed; /* ORDER_FIXED: the values in order */
  size_t fixed_count;
};

struct projection_expr {
  struct projection_part *parts;
  size_t count;
};
bool projection_parse(struct arena *a, const char *expression, struct projection_expr *out,
                      struct expr_error *e);

#endif
