/*
 * Bytes and characters: runs of bytes, UTF-8, and the few Unicode properties the format needs.
 *
 * Owns nothing: a text points into memory of someone else and is not NUL-terminated.
 */
#ifndef POOLCMP_TEXT_H
#define POOLCMP_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct text {
  const char *p;
  size_t n;
};

static inline struct text text_of(const char *s) {
  return (struct text){s, strlen(s)};
}

static inline bool text_equal(struct text a, struct text b) {
  return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

static inline bool text_is(struct text a, const char *s) {
  return text_equal(a, text_of(s));
}

static inline bool text_starts(struct text a, struct text prefix) {
  return a.n >= prefix.n && memcmp(a.p, prefix.p, prefix.n) == 0;
}

/* Byte order, as strcmp: negative, 0, positive. */
int text_compare(struct text a, struct text b);

/*
 * Decodes the character at p (p < end) and returns its length in bytes. A byte that is no valid
 * UTF-8 yields U+FFFD and length 1, as Go does it.
 */
size_t utf8_decode(const char *p, const char *end, uint32_t *rune);

/* Appends a character as UTF-8 to out (4 bytes of room) and returns its length. */
size_t utf8_encode(uint32_t rune, char *out);

bool utf8_valid(struct text t);

/* Characters in t; what benchstat takes for its width. */
size_t text_width(struct text t);

/* Unicode White_Space. */
bool rune_is_space(uint32_t rune);

/* Lower and upper case letters; beyond ASCII as the C library's C.UTF-8 locale has them. */
bool rune_is_lower(uint32_t rune);
bool rune_is_upper(uint32_t rune);

/* Neither a control nor a format character: it takes a column of a terminal. */
bool rune_is_graphic(uint32_t rune);

#endif
