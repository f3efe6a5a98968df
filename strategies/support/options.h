/*
 * Values of a strategy's options at open. The keys have been checked by strategy_parse; here
 * the values are. Owns nothing.
 */
#ifndef POOLBENCH_SUPPORT_OPTIONS_H
#define POOLBENCH_SUPPORT_OPTIONS_H

#include "strategies/strategy.h"

/*
 * What was given for `key`, which must be one of the strategy's options, else its fallback: as a
 * whole number within [min, max]. false with config->why filled.
 */
bool option_number(const struct strategy *s, const struct pool_config *config, const char *key,
                   uint64_t min, uint64_t max, uint64_t *out);

/*
 * The same as an index into `choices` (NULL at the end). false with config->why filled.
 */
bool option_choice(const struct strategy *s, const struct pool_config *config, const char *key,
                   const char *const *choices, unsigned *out);

#endif
