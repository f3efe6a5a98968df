/* Reading whole numbers; see digits.h. */
#include "harness/digits.h"

bool digits_parse(const char *text, size_t length, uint64_t *out) {
  uint64_t value = 0;
  if (length == 0)
    return false;
  for (size_t i = 0; i < length; i++) {
    if (text[i] < '0' || text[i] > '9')
      return false;
    uint64_t digit = (uint64_t)(text[i] - '0');
    if (value > (UINT64_MAX - digit) / 10)
      return false;
    value = value * 10 + digit;
  }
  *out = value;
  return true;
}
