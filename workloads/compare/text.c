/*
 * Parses and formats times and quantities; no allocation, no locale, no time zone database.
 */
#include "workloads/compare/text.h"

#include <math.h>

/* Days since 1970-01-01 of a civil date, and back: Howard Hinnant, "chrono-Compatible Low-Level
 * Date Algorithms", days_from_civil and civil_from_days. */
static int64_t days_from_civil(int64_t y, unsigned m, unsigned d) {
  y -= m <= 2;
  int64_t era = (y >= 0 ? y : y - 399) / 400;
  unsigned yoe = (unsigned)(y - era * 400);
  unsigned doy = (153 * (m > 2 ? m - 3 : m + 9) + 2) / 5 + d - 1;
  unsigned doe = yoe * 365 + yoe / 4 - yoe / 100 + doy;
  return era * 146097 + (int64_t)doe - 719468;
}

static void civil_from_days(int64_t z, int64_t *y, unsigned *m, unsigned *d) {
  z += 719468;
  int64_t era = (z >= 0 ? z : z - 146096) / 146097;
  unsigned doe = (unsigned)(z - era * 146097);
  unsigned yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
  unsigned doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
  unsigned mp = (5 * doy + 2) / 153;
  *d = doy - (153 * mp + 2) / 5 + 1;
  *m = mp < 10 ? mp + 3 : mp - 9;
  *y = (int64_t)yoe + era * 400 + (*m <= 2);
}

struct reader {
  const char *at, *end;
};

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

static bool take(struct reader *r, char c) {
  if (r->at == r->end || *r->at != c)
    return false;
  r->at++;
  return true;
}

/* Exactly n digits, in [0, max]. */
static bool take_number(struct reader *r, int n, unsigned max, unsigned *out) {
  *out = 0;
  for (int i = 0; i < n; i++) {
    if (r->at == r->end || !is_digit(*r->at))
      return false;
    *out = *out * 10 + (unsigned)(*r->at++ - '0');
  }
  return *out <= max;
}

static bool take_fraction(struct reader *r, int64_t *nanoseconds) {
  int64_t scale = 100000000;
  *nanoseconds = 0;
  if (!take(r, '.'))
    return true;
  const char *first = r->at;
  for (; r->at < r->end && is_digit(*r->at); r->at++, scale /= 10)
    *nanoseconds += (*r->at - '0') * scale;
  return r->at > first;
}

static bool take_zone(struct reader *r, int32_t *minutes) {
  unsigned hours, rest;
  *minutes = 0;
  if (take(r, 'Z') || take(r, 'z'))
    return true;
  bool west = take(r, '-');
  if (!west && !take(r, '+'))
    return false;
  if (!take_number(r, 2, 23, &hours) || !take(r, ':') || !take_number(r, 2, 59, &rest))
    return false;
  *minutes = (int32_t)(hours * 60 + rest) * (west ? -1 : 1);
  return true;
}

static unsigned days_in(unsigned year, unsigned month) {
  static const unsigned char days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  return days[month - 1] + (month == 2 && leap);
}

bool time_parse(const struct str *text, struct timestamp *out) {
  struct reader r = {text->ptr, text->ptr + text->len};
  unsigned year, month, day, hour, minute, second;
  *out = (struct timestamp){0};
  if (!take_number(&r, 4, 9999, &year) || !take(&r, '-') || !take_number(&r, 2, 12, &month) ||
      !take(&r, '-') || !take_number(&r, 2, 31, &day) || !(take(&r, 'T') || take(&r, 't')) ||
      !take_number(&r, 2, 23, &hour) || !take(&r, ':') || !take_number(&r, 2, 59, &minute) ||
      !take(&r, ':') || !take_number(&r, 2, 60, &second) || !take_fraction(&r, &out->nanoseconds) ||
      !take_zone(&r, &out->zone_minutes))
    return false;
  if (r.at != r.end || month == 0 || day == 0 || day > days_in(year, month))
    return false;
  out->seconds = days_from_civil(year, month, day) * 86400 + hour * 3600 + minute * 60 + second -
                 (int64_t)out->zone_minutes * 60;
  out->set = true;
  /* A zone can carry the instant past the years that four digits can write in UTC. */
  return out->seconds >= days_from_civil(0, 1, 1) * 86400 &&
         out->seconds < days_from_civil(10000, 1, 1) * 86400;
}

static void put_two(char *out, unsigned n) {
  out[0] = (char)('0' + n / 10);
  out[1] = (char)('0' + n % 10);
}

void time_format(const struct timestamp *t, char *out) {
  int64_t days = t->seconds / 86400, rest = t->seconds % 86400, year;
  unsigned month, day;
  if (rest < 0) {
    rest += 86400;
    days--;
  }
  civil_from_days(days, &year, &month, &day);
  memcpy(out, "0000-00-00T00:00:00Z", TIME_TEXT);
  put_two(out, (unsigned)year / 100);
  put_two(out + 2, (unsigned)year % 100);
  put_two(out + 5, month);
  put_two(out + 8, day);
  put_two(out + 11, (unsigned)rest / 3600);
  put_two(out + 14, (unsigned)rest / 60 % 60);
  put_two(out + 17, (unsigned)rest % 60);
}

/* The factor of a suffix; NAN when there is none such. */
static double suffix_factor(const struct str *s) {
  static const struct {
    const char *name;
    double factor;
  } suffixes[] = {{"", 1},        {"n", 1e-9},    {"u", 1e-6},    {"m", 1e-3},
                  {"k", 1e3},     {"M", 1e6},     {"G", 1e9},     {"T", 1e12},
                  {"P", 1e15},    {"E", 1e18},    {"Ki", 0x1p10}, {"Mi", 0x1p20},
                  {"Gi", 0x1p30}, {"Ti", 0x1p40}, {"Pi", 0x1p50}, {"Ei", 0x1p60}};
  for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
    if (strlen(suffixes[i].name) == s->len && memcmp(suffixes[i].name, s->ptr, s->len) == 0)
      return suffixes[i].factor;
  if (s->len < 2 || s->len > 4 || (s->ptr[0] != 'e' && s->ptr[0] != 'E'))
    return NAN;
  struct reader r = {s->ptr + 1, s->ptr + s->len};
  bool minus = take(&r, '-');
  if (!minus)
    take(&r, '+');
  unsigned exponent = 0;
  if (r.at == r.end || !take_number(&r, (int)(r.end - r.at), 99, &exponent))
    return NAN;
  return pow(10, minus ? -(double)exponent : (double)exponent);
}

bool quantity_parse(const struct str *text, struct quantity *out) {
  struct reader r = {text->ptr, text->ptr + text->len};
  *out = (struct quantity){.text = *text};
  bool minus = take(&r, '-'), point = false;
  int digits = 0;
  if (!minus)
    take(&r, '+');
  for (; r.at < r.end && (is_digit(*r.at) || (*r.at == '.' && !point)); r.at++) {
    if (*r.at == '.') {
      point = true;
      continue;
    }
    if (++digits > 18)
      return false;
    out->digits = out->digits * 10 + (*r.at - '0');
    out->scale += point;
  }
  if (minus)
    out->digits = -out->digits;
  out->suffix = (struct str){.ptr = r.at, .len = (uint32_t)(r.end - r.at)};
  double factor = suffix_factor(&out->suffix);
  out->value = (double)out->digits * pow(10, -out->scale) * factor;
  return digits > 0 && !isnan(factor);
}
