/*
 * Whole numbers as command lines and files write them: decimal digits and nothing else, where
 * strtoull would take a sign, leading space and whatever follows.
 */
#ifndef POOLBENCH_DIGITS_H
#define POOLBENCH_DIGITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The number that the `length` bytes at text are; false: they are none, or above UINT64_MAX. */
bool digits_parse(const char *text, size_t length, uint64_t *out);

#endif
