/*
 * Bytes and characters: see text.h. Decoding follows Unicode 15, table 3-7: overlong forms and
 * surrogates are invalid.
 */
#include "comparer/text.h"

#include <locale.h>
#include <wctype.h>

int text_compare(struct text a, struct text b) {
  size_t n = a.n < b.n ? a.n : b.n;
  int order = n ? memcmp(a.p, b.p, n) : 0;
  if (order)
    return order;
  return a.n < b.n ? -1 : a.n > b.n;
}

static bool continues(unsigned char c) {
  return (c & 0xC0) == 0x80;
}

size_t utf8_decode(const char *p, const char *end, uint32_t *rune) {
  const unsigned char *s = (const unsigned char *)p;
  size_t left = (size_t)(end - p);
  if (s[0] < 0x80) {
    *rune = s[0];
    return 1;
  }
  if (s[0] >= 0xC2 && s[0] < 0xE0 && left >= 2 && continues(s[1])) {
    *rune = (uint32_t)(s[0] & 0x1F) << 6 | (s[1] & 0x3F);
    return 2;
  }
  if ((s[0] & 0xF0) == 0xE0 && left >= 3 && continues(s[1]) && continues(s[2])) {
    uint32_t r = (uint32_t)(s[0] & 0x0F) << 12 | (uint32_t)(s[1] & 0x3F) << 6 | (s[2] & 0x3F);
    if (r >= 0x800 && (r < 0xD800 || r > 0xDFFF)) {
      *rune = r;
      return 3;
    }
  }
  if (s[0] >= 0xF0 && s[0] < 0xF5 && left >= 4 && continues(s[1]) && continues(s[2]) &&
      continues(s[3])) {
    uint32_t r = (uint32_t)(s[0] & 0x07) << 18 | (uint32_t)(s[1] & 0x3F) << 12 |
                 (uint32_t)(s[2] & 0x3F) << 6 | (s[3] & 0x3F);
    if (r >= 0x10000 && r <= 0x10FFFF) {
      *rune = r;
      return 4;
    }
  }
  *rune = 0xFFFD;
  return 1;
}

size_t utf8_encode(uint32_t r, char *out) {
  if (r < 0x80) {
    out[0] = (char)r;
    return 1;
  }
  if (r < 0x800) {
    out[0] = (char)(0xC0 | r >> 6);
    out[1] = (char)(0x80 | (r & 0x3F));
    return 2;
  }
  if (r < 0x10000) {
    out[0] = (char)(0xE0 | r >> 12);
    out[1] = (char)(0x80 | (r >> 6 & 0x3F));
    out[2] = (char)(0x80 | (r & 0x3F));
    return 3;
  }
  out[0] = (char)(0xF0 | r >> 18);
  out[1] = (char)(0x80 | (r >> 12 & 0x3F));
  out[2] = (char)(0x80 | (r >> 6 & 0x3F));
  out[3] = (char)(0x80 | (r & 0x3F));
  return 4;
}

bool utf8_valid(struct text t) {
  const char *p = t.p, *end = t.p + t.n;
  while (p < end) {
    uint32_t rune;
    size_t n = utf8_decode(p, end, &rune);
    if (n == 1 && rune == 0xFFFD)
      return false;
    p += n;
  }
  return true;
}

size_t text_width(struct text t) {
  const char *p = t.p, *end = t.p + t.n;
  size_t width = 0;
  for (uint32_t rune; p < end; width++)
    p += utf8_decode(p, end, &rune);
  return width;
}

bool rune_is_space(uint32_t r) {
  if (r < 0x80)
    return r == ' ' || (r >= '\t' && r <= '\r');
  return r == 0x85 || r == 0xA0 || r == 0x1680 || (r >= 0x2000 && r <= 0x200A) || r == 0x2028 ||
         r == 0x2029 || r == 0x202F || r == 0x205F || r == 0x3000;
}

/* Case of a character beyond ASCII. Rare enough that opening the locale each time is no matter. */
static bool case_beyond_ascii(uint32_t r, int (*is)(wint_t, locale_t)) {
  locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
  if (utf8 == (locale_t)0)
    return false;
  bool yes = is((wint_t)r, utf8) != 0;
  freelocale(utf8);
  return yes;
}

bool rune_is_lower(uint32_t r) {
  return r < 0x80 ? r >= 'a' && r <= 'z' : case_beyond_ascii(r, iswlower_l);
}

bool rune_is_upper(uint32_t r) {
  return r < 0x80 ? r >= 'A' && r <= 'Z' : case_beyond_ascii(r, iswupper_l);
}

bool rune_is_graphic(uint32_t r) {
  return r >= 0x20 && (r < 0x7F || r > 0x9F) && r != 0xAD && !(r >= 0x200B && r <= 0x200F) &&
         !(r >= 0x2028 && r <= 0x202E) && r != 0xFEFF;
}
