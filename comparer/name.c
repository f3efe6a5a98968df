/*
 * Benchmark names: see name.h.
 */
#include "comparer/name.h"

struct text name_gomaxprocs(struct text name) {
  size_t i = name.n;
  while (i > 0 && name.p[i - 1] >= '0' && name.p[i - 1] <= '9')
    i--;
  if (i == name.n || i == 0 || name.p[i - 1] != '-')
    return (struct text){"", 0};
  return (struct text){name.p + i, name.n - i};
}

static struct text without_gomaxprocs(struct text name) {
  size_t digits = name_gomaxprocs(name).n;
  return (struct text){name.p, digits ? name.n - digits - 1 : name.n};
}

struct text name_base(struct text name) {
  const char *slash = name.n ? memchr(name.p, '/', name.n) : NULL;
  return slash ? (struct text){name.p, (size_t)(slash - name.p)} : without_gomaxprocs(name);
}

/* The part at *at: from its '/' to the next one; moves *at behind it. false at the end. */
static bool next_part(struct text name, size_t *at, struct text *part) {
  if (*at >= name.n)
    return false;
  const char *from = name.p + *at;
  const char *next = memchr(from + 1, '/', name.n - *at - 1);
  part->p = from;
  part->n = next ? (size_t)(next - from) : name.n - *at;
  *at += part->n;
  return true;
}

static bool has_key(struct text part, struct text key) {
  return text_starts(part, key) && part.n > key.n && part.p[key.n] == '=';
}

static size_t base_length(struct text name) {
  const char *slash = name.n ? memchr(name.p, '/', name.n) : NULL;
  return slash ? (size_t)(slash - name.p) : name.n;
}

struct text name_part(struct text name, struct text key) {
  if (text_is(key, "/gomaxprocs") && name_gomaxprocs(name).n)
    return name_gomaxprocs(name);
  struct text rest = without_gomaxprocs(name), part;
  for (size_t at = base_length(rest); next_part(rest, &at, &part);)
    if (has_key(part, key))
      return (struct text){part.p + key.n + 1, part.n - key.n - 1};
  return (struct text){"", 0};
}

size_t name_without(struct text name, const struct name_cut *cut, char *out) {
  struct text rest = without_gomaxprocs(name), part;
  size_t at = base_length(rest), n = 0;
  if (cut->base) {
    out[n++] = '*';
  } else {
    memcpy(out, rest.p, at);
    n = at;
  }
  while (next_part(rest, &at, &part)) {
    bool keep = true;
    for (size_t i = 0; keep && i < cut->key_count; i++)
      keep = !has_key(part, cut->keys[i]);
    if (keep) {
      memcpy(out + n, part.p, part.n);
      n += part.n;
    }
  }
  if (!cut->gomaxprocs) {
    memcpy(out + n, rest.p + rest.n, name.n - rest.n);
    n += name.n - rest.n;
  }
  return n;
}
