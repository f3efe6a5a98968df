/*
 * The pages that describe what there is: a card with all its parts for every case, a section and a
 * row for every strategy. Run from the project's folder.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "workloads/workload.h"

#include <fnmatch.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char page[1 << 17];

static const char *read_page(const char *path) {
  FILE *f = fopen(path, "r");
  if (!f)
    fail_msg("%s is not there: run this from the project's folder", path);
  size_t n = fread(page, 1, sizeof page - 1, f);
  fclose(f);
  assert_true(n > 0 && n < sizeof page - 1);
  page[n] = '\0';
  return page;
}

/* Does "{a,b}c" name `name`? One pair of braces, as the headings have it. */
static bool names(const char *pattern, size_t length, const char *name) {
  const char *open = memchr(pattern, '{', length);
  const char *close = open ? memchr(open, '}', length - (size_t)(open - pattern)) : NULL;
  if (!close)
    return strlen(name) == length && strncmp(name, pattern, length) == 0;
  size_t before = (size_t)(open - pattern), after = length - (size_t)(close + 1 - pattern);
  for (const char *at = open + 1; at < close; at += strcspn(at, ",}") + 1) {
    char one[200];
    snprintf(one, sizeof one, "%.*s%.*s%.*s", (int)before, pattern, (int)strcspn(at, ",}"), at,
             (int)after, close + 1);
    if (strcmp(one, name) == 0)
      return true;
  }
  return false;
}

/* A heading: names and patterns, ", " between them. */
static bool heading_has(const char *line, size_t length, const char *name) {
  const char *end = line + length;
  for (const char *at = line, *next; at < end; at = next) {
    const char *comma = memmem(at, (size_t)(end - at), ", ", 2);
    next = comma ? comma + 2 : end;
    if (names(at, (size_t)((comma ? comma : end) - at), name))
      return true;
  }
  return false;
}

/* Behind the heading of the card of a case; NULL when there is none. */
static const char *find_card(const char *text, const char *name) {
  for (const char *at = text; (at = strstr(at, "\n### ")) != NULL;) {
    at += 5;
    size_t length = strcspn(at, "\n");
    if (heading_has(at, length, name))
      return at + length;
  }
  return NULL;
}

static void check_card(const char *text, const char *name) {
  static const char *const parts[] = {"**Stresses**", "**Mirrors**", "**Read off it**",
                                      "**Does not show**"};
  const char *card = find_card(text, name);
  if (!card)
    fail_msg("docs/workloads.md: %s has no card", name);
  const char *next = strstr(card, "\n##");
  size_t length = next ? (size_t)(next - card) : strlen(card);
  if (!memmem(card, length, "**One op**", 10) &&
      !memmem(card, length, "**A series, not an op**", 23))
    fail_msg("docs/workloads.md: the card of %s does not say what one op is", name);
  for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
    if (!memmem(card, length, parts[i], strlen(parts[i])))
      fail_msg("docs/workloads.md: the card of %s lacks %s", name, parts[i]);
}

static void every_case_has_a_whole_card(void **state) {
  (void)state;
  const char *text = read_page("docs/workloads.md");
  size_t cases = 0;
  for (size_t w = 0; workloads[w]; w++)
    for (const struct workload_case *c = workloads[w]->cases; c->name; c++)
      if (fnmatch("Selftest/*", c->name, 0) != 0) {
        check_card(text, c->name);
        cases++;
      }
  assert_true(cases > 20);
}

static void headings_are_read(void **state) {
  (void)state;
  static const char heading[] = "A/{x,y}B, C";
  assert_true(heading_has(heading, sizeof heading - 1, "A/xB"));
  assert_true(heading_has(heading, sizeof heading - 1, "A/yB"));
  assert_true(heading_has(heading, sizeof heading - 1, "C"));
  assert_false(heading_has(heading, sizeof heading - 1, "A/B"));
  assert_false(heading_has(heading, sizeof heading - 1, "A/x"));
  assert_false(heading_has(heading, sizeof heading - 1, "D"));
}

static void every_strategy_has_its_page_and_its_row(void **state) {
  (void)state;
  const char *text = read_page("docs/strategies.md");
  for (size_t i = 0; strategies[i]; i++) {
    char section[100], row[100];
    snprintf(section, sizeof section, "\n## %s\n", strategies[i]->name);
    snprintf(row, sizeof row, "\n| %s | ", strategies[i]->name);
    if (!strstr(text, section))
      fail_msg("docs/strategies.md: %s has no section", strategies[i]->name);
    if (!strstr(text, row))
      fail_msg("docs/strategies.md: the contract of %s is not in the table", strategies[i]->name);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(headings_are_read),
      cmocka_unit_test(every_case_has_a_whole_card),
      cmocka_unit_test(every_strategy_has_its_page_and_its_row),
  };
  return cmocka_run_group_tests_name("cards", tests, NULL, NULL);
}
