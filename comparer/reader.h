/*
 * From the bytes of a benchmark file to records.
 *
 * Reads Go benchmark text (https://go.dev/design/14313-benchmark-format) in blocks, lines of any
 * length, LF or CRLF, with or without a byte order mark. Owns the configuration in force; knows
 * nothing of grouping. Comment lines `# run ID round N seq K` and `# flag NAME text` (see
 * docs/file-format.md) belong to the result below them.
 */
#ifndef POOLCMP_READER_H
#define POOLCMP_READER_H

#include "comparer/units.h"

#include <stdio.h>

enum record_kind {
  RECORD_END,
  RECORD_RESULT,
  RECORD_COMPLAINT, /* a line that is wrong; reading goes on */
  RECORD_FATAL,     /* the file cannot be read any further */
};

struct measurement {
  double value;     /* in the tidied unit */
  uint32_t unit;    /* tidied */
  uint32_t written; /* as the file has it */
};

struct config_entry {
  uint32_t key, value; /* in reader.strings */
};

/* More keys than this in force at once are refused: no benchmark has them, and it bounds work. */
#define READER_MAX_CONFIG 1000

struct reader {
  /* The record last returned; texts stay valid until the next call. */
  struct text name;  /* after "Benchmark" */
  bool name_changed; /* from the result before, in this file */
  struct measurement *values;
  size_t value_count;
  struct sample_origin origin; /* run 0 and flags 0: nothing was said */
  uint32_t process; /* counts the headers (goos:, pkg:) in this file: one a process; 0 unknown */
  uint64_t line;
  char message[200]; /* of a complaint or a fatal error */

  /* The configuration in force, in the order its keys were set. */
  struct config_entry *config;
  size_t config_count;
  uint64_t config_hash[2]; /* of the set of pairs; equal sets have equal hashes */

  struct intern strings; /* keys and values; kept over all files */
  struct units units;
  struct intern runs; /* run IDs; number 0 is none */

  /* Private. */
  int fd;
  char *buffer;
  size_t start, end, room;
  size_t scanned; /* no newline before this offset */
  bool eof, at_start, header_open, invalid_utf8;
  struct sample_origin pending; /* from the comments above the next result */
  uint32_t run_processes;
  size_t units_known; /* values[0..units_known) hold the units of the line before */
  char *last_name;
  size_t last_name_length, last_name_room, value_room, config_room;
  uint32_t *config_at; /* position + 1 in config, by key */
  size_t config_at_room;
  struct text unit_rest;
  uint32_t unit_id;
  struct text unit_name;
};

/* false without memory. */
bool reader_init(struct reader *r);
void reader_free(struct reader *r);

/* Starts a file: configuration and comments of the one before are forgotten, units stay. */
void reader_open(struct reader *r, int fd);

enum record_kind reader_next(struct reader *r);

#endif
