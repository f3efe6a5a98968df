/*
 * Numbers as Go writes and reads them: see number.h. strtod does the rounding of whatever the
 * fast path leaves; the program must stay in the C locale (it never calls setlocale).
 */
#include "comparer/number.h"

#include <ctype.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

static bool is_digit(char c, bool hex) {
  return hex ? isxdigit((unsigned char)c) : c >= '0' && c <= '9';
}

/* Go's rule: an underscore stands between digits, or between base prefix and digits. */
static bool underscores_separate_digits(const char *p, const char *end) {
  char before = '^';
  if (p < end && (*p == '+' || *p == '-'))
    p++;
  bool hex = end - p >= 2 && p[0] == '0' && (p[1] | 32) == 'x';
  if (hex) {
    p += 2;
    before = '0';
  }
  for (; p < end; p++) {
    if (is_digit(*p, hex)) {
      before = '0';
    } else if (*p == '_') {
      if (before != '0')
        return false;
      before = '_';
    } else {
      if (before == '_')
        return false;
      before = '!';
    }
  }
  return before != '_';
}

static bool spells_not_finite(struct text t) {
  if (t.n == 3 && strncasecmp(t.p, "nan", 3) == 0)
    return true;
  if (t.n && (t.p[0] == '+' || t.p[0] == '-'))
    t = (struct text){t.p + 1, t.n - 1};
  return (t.n == 3 && strncasecmp(t.p, "inf", 3) == 0) ||
         (t.n == 8 && strncasecmp(t.p, "infinity", 8) == 0);
}

/* Digits with at most one point, at least one digit; underscores allowed. Returns their end. */
static const char *skip_mantissa(const char *p, const char *end, bool hex) {
  bool any = false, point = false;
  for (; p < end; p++) {
    if (is_digit(*p, hex))
      any = true;
    else if (*p == '.' && !point)
      point = true;
    else if (*p != '_')
      break;
  }
  return any ? p : NULL;
}

/* Whether t is a Go floating-point literal with optional sign. */
static bool is_literal(struct text t) {
  const char *p = t.p, *end = t.p + t.n;
  if (p < end && (*p == '+' || *p == '-'))
    p++;
  bool hex = end - p >= 2 && p[0] == '0' && (p[1] | 32) == 'x';
  p = skip_mantissa(hex ? p + 2 : p, end, hex);
  if (!p)
    return false;
  if (p == end)
    return !hex; /* a hexadecimal number must have its p */
  if ((*p | 32) != (hex ? 'p' : 'e'))
    return false;
  p++;
  if (p < end && (*p == '+' || *p == '-'))
    p++;
  if (p == end || !is_digit(*p, false))
    return false;
  while (p < end && (is_digit(*p, false) || *p == '_'))
    p++;
  return p == end;
}

enum number_status number_parse(struct text t, double *out) {
  const char *end = number_scan(t.p, t.p + t.n, out);
  if (end && end == t.p + t.n)
    return NUMBER_OK;
  if (spells_not_finite(t))
    return NUMBER_NOT_FINITE;
  if (!is_literal(t))
    return NUMBER_SYNTAX;
  if (memchr(t.p, '_', t.n) && !underscores_separate_digits(t.p, t.p + t.n))
    return NUMBER_SYNTAX;
  char small[128], *copy = t.n < sizeof small ? small : malloc(t.n + 1);
  if (!copy)
    return NUMBER_RANGE;
  size_t n = 0;
  for (size_t i = 0; i < t.n; i++)
    if (t.p[i] != '_')
      copy[n++] = t.p[i];
  copy[n] = 0;
  double v = strtod(copy, NULL);
  if (copy != small)
    free(copy);
  if (isinf(v))
    return NUMBER_RANGE;
  *out = v;
  return NUMBER_OK;
}

enum number_status number_parse_integer(struct text t, int64_t *out) {
  const char *p = t.p, *end = t.p + t.n;
  bool negative = p < end && *p == '-';
  if (p < end && (*p == '-' || *p == '+'))
    p++;
  if (p == end)
    return NUMBER_SYNTAX;
  uint64_t limit = (uint64_t)INT64_MAX + negative, v = 0;
  bool over = false;
  for (; p < end; p++) {
    if (!is_digit(*p, false))
      return NUMBER_SYNTAX;
    uint64_t digit = (uint64_t)(*p - '0');
    over = over || v > (limit - digit) / 10;
    v = over ? limit : v * 10 + digit;
  }
  if (over)
    return NUMBER_RANGE;
  *out = negative ? (int64_t)(0 - v) : (int64_t)v;
  return NUMBER_OK;
}

size_t number_shortest(double v, char out[NUMBER_TEXT]) {
  if (v == 0)
    return (size_t)snprintf(out, NUMBER_TEXT, signbit(v) ? "-0" : "0");
  if (!isfinite(v))
    return (size_t)snprintf(out, NUMBER_TEXT, isnan(v) ? "NaN" : v > 0 ? "+Inf" : "-Inf");
  /* What has 15 digits or fewer prints as it is, then zeros; a subnormal holds fewer. */
  int digits = fabs(v) < DBL_MIN ? 1 : 15;
  char e[NUMBER_TEXT];
  do
    snprintf(e, sizeof e, "%.*e", digits - 1, v);
  while (strtod(e, NULL) != v && ++digits <= 17);
  char *exponent = strchr(e, 'e');
  int power = atoi(exponent + 1);
  size_t mantissa = (size_t)(exponent - e);
  while (e[mantissa - 1] == '0')
    mantissa--;
  if (e[mantissa - 1] == '.')
    mantissa--;
  int kept = (int)mantissa - (e[0] == '-') - 1;
  int decimals = kept ? kept - 1 : 0; /* digits after the first */
  if (power < -4 || power >= 6)
    return (size_t)snprintf(out, NUMBER_TEXT, "%.*e", decimals, v);
  return (size_t)snprintf(out, NUMBER_TEXT, "%.*f", decimals > power ? decimals - power : 0, v);
}
