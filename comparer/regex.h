/*
 * Regular expressions of filters: the syntax of RE2 as Go uses it, matched in linear time.
 *
 * Supported: alternatives, groups (capturing or not, named, with flags i s m U), repetition, lazy
 * forms, classes with ranges, \d \w \s and POSIX names, . ^ $ \A \z \b \B, escapes, \Q...\E.
 * Not supported: Unicode classes (\pL), which are refused with a message.
 */
#ifndef POOLCMP_REGEX_H
#define POOLCMP_REGEX_H

#include "comparer/text.h"

struct regex;

/* NULL with why filled (in Go's words) when the expression is wrong, too large or out of memory. */
struct regex *regex_new(struct text expression, char *why, size_t why_size);
void regex_free(struct regex *re);

/* Whether re matches anywhere in t. Cost: length of t times size of the expression. */
bool regex_match(struct regex *re, struct text t);

#endif
