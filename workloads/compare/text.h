/*
 * Times and quantities as text: RFC 3339 in seconds, and the API's quantity syntax.
 */
#ifndef POOLBENCH_COMPARE_TEXT_H
#define POOLBENCH_COMPARE_TEXT_H

#include "workloads/compare/types.h"

/* Bytes of a formatted time, "2006-01-02T15:04:05Z". Years outside 0 to 9999 do not parse. */
#define TIME_TEXT 20

/* false: not an RFC 3339 time. */
bool time_parse(const struct str *text, struct timestamp *out);

/* Writes TIME_TEXT bytes, in UTC, without an end mark. */
void time_format(const struct timestamp *t, char *out);

/* false: not a quantity ("100m", "1.5Gi", "2e3"). `out` shares the text. */
bool quantity_parse(const struct str *text, struct quantity *out);

#endif
