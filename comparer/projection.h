/*
 * Projections: from a result to the key of its table, row or column, and the order of those keys.
 *
 * A key is a tuple of values, one a field. `.config` stands for one field per configuration key,
 * added as they turn up. Keys are kept once and named by a number, so that two results belong
 * together when their numbers are equal.
 */
#ifndef POOLCMP_PROJECTION_H
#define POOLCMP_PROJECTION_H

#include "comparer/expr.h"
#include "comparer/name.h"
#include "comparer/reader.h"

/* Of what is a key taken. */
struct subject {
  struct text name;            /* after "Benchmark" */
  struct text file;            /* label or path */
  const struct reader *reader; /* for the configuration in force */
};

/* Any key but .unit and .config. The text lives as long as the subject. */
struct text subject_value(const struct subject *s, const struct key *key);

struct projection_field {
  struct text name;
  size_t part;      /* of the expression */
  uint32_t setting; /* KEY_CONFIG: the configuration key, in reader.strings */
  uint32_t *seen;   /* by value: 1 + order of first appearance; NULL when that does not matter */
  size_t seen_room;
  uint32_t seen_count;
};

struct projection_key {
  uint32_t *values; /* by field; in reader.strings; trailing empty ones are cut off */
  uint32_t count;
  uint64_t hash;
};

/* Keys that another list of the command line names: they leave .config and .fullname. */
struct named_keys {
  struct name_cut cut;
  struct text *settings;
  size_t setting_count;
};

struct projection {
  struct projection_expr expr;
  struct projection_field *fields;
  size_t field_count, field_room;
  size_t *flat;               /* fields in the order of the expression; projection_finish */
  uint32_t *field_of_setting; /* per KEY_CONFIG: 1 + field, UINT32_MAX = named elsewhere */
  size_t field_of_setting_room;
  struct projection_key *keys;
  size_t key_count, key_room;
  uint32_t *slots;
  size_t slot_count;
  struct arena arena;
  uint32_t *row; /* scratch: the tuple being made */
  size_t row_room;
  char *name; /* scratch: a cut name */
  size_t name_room;
};

/* Takes the expression over (its texts must outlive p). false without memory. */
bool projection_init(struct projection *p, const struct projection_expr *expr);
void projection_free(struct projection *p);

#define NO_KEY UINT32_MAX
/* The key of a result; NO_KEY without memory. Values are interned in `strings`. */
uint32_t projection_key_of(struct projection *p, const struct subject *s,
                           const struct named_keys *named, struct intern *strings);

/* Whether the fixed orders of the expression keep the result: (a b) is a filter too. */
bool projection_keeps(const struct projection *p, const struct subject *s);

/* Call once, when all results are in. false without memory. */
bool projection_finish(struct projection *p);

/* Whether a field has a value in some key. */
bool projection_has_value(const struct projection *p, size_t field);

/* The value of a field in a key. */
struct text projection_value(const struct projection *p, uint32_t key, size_t field,
                             const struct intern *strings);

/*
 * rank[key]: the place of each key in sorted order: by each field in turn, in its order; values
 * that an order takes for equal go by bytes. NULL without memory; the caller frees it.
 */
uint32_t *projection_ranks(const struct projection *p, const struct intern *strings);

/* Non-empty values of a key, joined by spaces; in the arena. NULL without memory. */
char *projection_label(const struct projection *p, uint32_t key, const struct intern *strings,
                       struct arena *a);

#endif
