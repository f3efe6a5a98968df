/*
 * Strings as the compare workload passes them: bytes owned by somebody else, with a length.
 *
 * The header is 16 bytes, which is also the size of a boxed string and of a map key in the
 * allocation profile. The hash is kept in it, so that a look-up in a tree or in a schema never
 * reads the bytes of a key that does not match.
 */
#ifndef POOLBENCH_COMPARE_STR_H
#define POOLBENCH_COMPARE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct str {
  const char *ptr; /* NULL: no string; not NUL-terminated */
  uint32_t len;
  uint32_t hash; /* of a key; 0 in values, where nobody asks for it */
};

/* FNV-1a, 32 bit. Unseeded on purpose: the shape of every table is the same in every process. */
static inline uint32_t str_hash_bytes(const char *p, size_t n) {
  uint32_t h = 2166136261u;
  for (size_t i = 0; i < n; i++)
    h = (h ^ (unsigned char)p[i]) * 16777619u;
  return h;
}

/* A string that can be a key of a table. */
static inline struct str str_key(const char *p, size_t n) {
  return (struct str){.ptr = p, .len = (uint32_t)n, .hash = str_hash_bytes(p, n)};
}

static inline bool str_equal(const struct str *a, const struct str *b) {
  return a->len == b->len && (a->ptr == b->ptr || memcmp(a->ptr, b->ptr, a->len) == 0);
}

/* Both carry their hash. */
static inline bool str_same_key(const struct str *a, const struct str *b) {
  return a->hash == b->hash && str_equal(a, b);
}

/* Bytewise order: <0, 0, >0. */
static inline int str_order(const struct str *a, const struct str *b) {
  if (a->ptr == b->ptr && a->len == b->len)
    return 0;
  uint32_t n = a->len < b->len ? a->len : b->len;
  int c = n ? memcmp(a->ptr, b->ptr, n) : 0;
  return c ? c : (a->len > b->len) - (a->len < b->len);
}

/* Bytes to allocate for `len` bytes of text that is written out: whole words, at least two. */
static inline size_t text_bytes(size_t len) {
  return len <= 16 ? 16 : (len + 7) & ~(size_t)7;
}

#endif
