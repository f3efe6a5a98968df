/*
 * Numbers as Go writes and reads them.
 *
 * Reading follows the syntax of Go's floating-point literals and rounds correctly; writing gives
 * the shortest digits that read back to the same double, as Go's %v does.
 */
#ifndef POOLCMP_NUMBER_H
#define POOLCMP_NUMBER_H

#include "comparer/text.h"

enum number_status {
  NUMBER_OK,
  NUMBER_SYNTAX,     /* not a number */
  NUMBER_RANGE,      /* too large */
  NUMBER_NOT_FINITE, /* NaN or an infinity by name */
};

/*
 * Decimal, exponent, hexadecimal with p exponent, underscores between digits, sign, infinity and
 * NaN in any case. *out is set for NUMBER_OK alone.
 */
enum number_status number_parse(struct text t, double *out);

/* A decimal integer with optional sign, as Go's Atoi (64 bits). */
enum number_status number_parse_integer(struct text t, int64_t *out);

/*
 * The fast path: plain digits with at most one point, few enough that one division gives the
 * correctly rounded double (Clinger 1990: mantissa below 2^53, at most 22 decimals). Returns where
 * the number ends, or NULL when it takes number_parse to tell.
 */
static inline const char *number_scan(const char *p, const char *end, double *out) {
  static const double power[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                 1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  const char *start = p;
  uint64_t m = 0;
  while (p < end && (unsigned char)(*p - '0') < 10)
    m = m * 10 + (unsigned char)(*p++ - '0');
  size_t digits = (size_t)(p - start), decimals = 0;
  if (p < end && *p == '.') {
    const char *point = p++;
    while (p < end && (unsigned char)(*p - '0') < 10)
      m = m * 10 + (unsigned char)(*p++ - '0');
    decimals = (size_t)(p - point) - 1;
    digits += decimals;
  }
  if (digits == 0 || digits > 19 || m >> 53)
    return NULL;
  *out = decimals ? (double)m / power[decimals] : (double)m;
  return p;
}

#define NUMBER_TEXT 32
/* Shortest round-trip form into out; an exponent below 1e-4 and from 1e6 on. Returns its length. */
size_t number_shortest(double v, char out[NUMBER_TEXT]);

#endif
