/*
 * libFuzzer entry: any bytes as a filter, as a projection and as a regular expression, applied to
 * a fixed result. Built by `make fuzz-poolcmp`.
 */
#include "comparer/projection.h"
#include "comparer/regex.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct text value(void *context, const struct key *key) {
  return subject_value(context, key);
}

static void try_filter(const char *expression, struct subject *s) {
  struct arena a = {0};
  struct expr_error e;
  struct filter *f = filter_parse(&a, expression, &e);
  struct filter_subject subject = {value, s, text_of("sec/op"), text_of("ns/op")};
  if (f)
    filter_match(f, &subject);
  else if (!expr_error_format(&a, expression, &e))
    abort();
  filter_free(f);
  arena_free(&a);
}

static void try_projection(const char *expression, struct subject *s, struct intern *strings) {
  struct arena a = {0};
  struct expr_error e;
  struct projection_expr parsed;
  struct projection p;
  struct named_keys named = {0};
  if (!projection_parse(&a, expression, &parsed, &e)) {
    if (!expr_error_format(&a, expression, &e))
      abort();
  } else if (projection_init(&p, &parsed)) {
    for (int i = 0; i < 3; i++) {
      s->name = text_of(i == 0 ? "X/a=1k/b=x-8" : i == 1 ? "Y/a=2Mi" : "Z-16");
      projection_keeps(&p, s);
      projection_key_of(&p, s, &named, strings);
    }
    if (projection_finish(&p))
      free(projection_ranks(&p, strings));
    projection_free(&p);
  }
  arena_free(&a);
}

static void try_regex(const char *expression, size_t n) {
  char why[200];
  struct regex *re = regex_new((struct text){expression, n}, why, sizeof why);
  if (re) {
    regex_match(re, text_of("Compare/Pod/structured\nstrategy=µ-32"));
    regex_match(re, text_of(""));
  }
  regex_free(re);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct reader r;
  char *expression = malloc(size + 1);
  if (!expression || !reader_init(&r))
    abort();
  memcpy(expression, data, size);
  expression[size] = 0;
  struct subject s = {text_of("X/a=1k/b=x-8"), text_of("file"), &r};
  try_filter(expression, &s);
  try_projection(expression, &s, &r.strings);
  try_regex(expression, size);
  reader_free(&r);
  free(expression);
  return 0;
}
