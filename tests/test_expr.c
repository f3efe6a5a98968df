/*
 * Filters, projections and regular expressions: what they match and where a caret points. Carets
 * and messages are those benchstat prints for the same expressions.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "comparer/expr.h"
#include "comparer/name.h"
#include "comparer/regex.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- regular expressions ---- */

static void regexes_match_as_re2_does(void **state) {
  (void)state;
  static const struct {
    const char *expression, *text;
    bool match;
  } cases[] = {
      {"", "anything", true},
      {"b", "abc", true},
      {"^b", "abc", false},
      {"^abc$", "abc", true},
      {"^$", "", true},
      {"^$", "x", false},
      {"a|b|", "x", true},
      {"^(a|bc)+$", "abca", true},
      {"^(a|bc)+$", "abc b", false},
      {"^(?:ab)?c", "c", true},
      {"^a{2,3}$", "aaaa", false},
      {"^a{2,3}$", "aaa", true},
      {"^a{2}$", "aa", true},
      {"^a{2,}$", "aaaaa", true},
      {"^a{0}b$", "b", true},
      {"^a{,3}$", "a{,3}", true},
      {"^x{$", "x{", true},
      {"^a+?b*?$", "aabb", true},
      {"^[a-c]+$", "abc", true},
      {"^[^a-c]$", "d", true},
      {"^[^a-c]$", "b", false},
      {"^[]a]$", "]", true},
      {"^[a-]$", "-", true},
      {"^[\\d_]+$", "1_2", true},
      {"^[[:alpha:]]+$", "aZ", true},
      {"^[[:^digit:]]$", "5", false},
      {"^\\d\\D\\w\\W\\s\\S$", "1a_- x", true},
      {"\\bPod\\b", "Compare/Pod/x", true},
      {"\\bPo\\b", "Compare/Pod/x", false},
      {"Po\\Bd", "Pod", true},
      {"(?i)pOD", "Pod", true},
      {"(?i:p)od", "Pod", true},
      {"(?i:p)od", "POD", false},
      {"a(?i)b", "aB", true},
      {"(?i)[a-c]$", "B", true},
      {"(?i)µ", "Μ", true},
      {"a.c", "a\nc", false},
      {"(?s)a.c", "a\nc", true},
      {"^b$", "a\nb", false},
      {"(?m)^b$", "a\nb\nc", true},
      {"\\Aa\\z", "a", true},
      {"^a.c$", "aµc", true},
      {"^[µü]$", "ü", true},
      {"\\x41\\x{b5}\\101", "AµA", true},
      {"\\Qa.b\\E+", "a.bbb", true},
      {"\\Qa.b", "axb", false},
      {"(?P<n>a)(?<m>b)", "ab", true},
      {"\\.", "a", false},
      {"(a*)*b", "aaab", true},
      {"((a?){3}){2}$", "aaaaaa", true},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char why[200];
    struct regex *re = regex_new(text_of(cases[i].expression), why, sizeof why);
    if (!re)
      fail_msg("%s: %s", cases[i].expression, why);
    if (regex_match(re, text_of(cases[i].text)) != cases[i].match)
      fail_msg("%s on %s", cases[i].expression, cases[i].text);
    regex_free(re);
  }
}

static void wrong_regexes_are_explained(void **state) {
  (void)state;
  static const char *const cases[][2] = {
      {"(a", "missing closing ): `(a`"},
      {"a)", "unexpected ): `a)`"},
      {"[a", "missing closing ]: `[a`"},
      {"*a", "missing argument to repetition operator: `*`"},
      {"a**", "invalid nested repetition operator: `**`"},
      {"a{2}{3}", "invalid nested repetition operator: `{2}{3}`"},
      {"a{3,2}", "invalid repeat count: `{3,2}`"},
      {"a{1001}", "invalid repeat count: `{1001}`"},
      {"[b-a]", "invalid character class range: `b-a`"},
      {"[[:foo:]]", "invalid character class range: `[:foo:]`"},
      {"a\\", "trailing backslash at end of expression: ``"},
      {"\\y", "invalid escape sequence: `\\y`"},
      {"(?z)", "invalid or unsupported Perl syntax: `(?z`"},
      {"\\pL", "Unicode classes are not supported: `\\p`"},
      {"(a{100}){100}", "invalid repeat count: `{100}`"},
      {"((a{30}|b){2,})*(c(a{30}|b)){34}", "invalid repeat count: `{34}`"},
      {"((((){1000}){1000}){1000}){1000}", "invalid repeat count: `{1000}`"},
      {"(abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz){1000}", "expression too large"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char why[200];
    assert_null(regex_new(text_of(cases[i][0]), why, sizeof why));
    if (!strstr(why, cases[i][1]))
      fail_msg("%s: %s", cases[i][0], why);
  }
}

/* Backtracking would take 2^30 steps here. */
static void no_regex_blows_up(void **state) {
  (void)state;
  char why[200];
  struct regex *re = regex_new(text_of("^(a?){30}a{30}$"), why, sizeof why);
  assert_non_null(re);
  assert_true(regex_match(re, text_of("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa")));
  regex_free(re);
  re = regex_new(text_of("^(((a{10}){10}|b{0}){10}c{2,}){1}$"), why, sizeof why);
  assert_non_null(re);
  regex_free(re);
}

/* ---- filters ---- */

static struct text value_of(void *context, const struct key *key) {
  struct text name = text_of("Copy/size=4k/n=1-8");
  (void)context;
  switch (key->kind) {
  case KEY_NAME:
    return name_base(name);
  case KEY_FULLNAME:
    return name;
  case KEY_SUBNAME:
    return name_part(name, key->text);
  case KEY_FILE:
    return text_of("old.txt");
  case KEY_SETTING:
    return text_of(text_is(key->text, "goos") ? "linux" : "");
  default:
    return text_of("");
  }
}

static bool matches(const char *expression) {
  struct arena a = {0};
  struct expr_error e;
  struct filter *f = filter_parse(&a, expression, &e);
  if (!f)
    fail_msg("%s: %s", expression, e.text);
  bool is = filter_match(
      f, &(struct filter_subject){value_of, NULL, text_of("sec/op"), text_of("ns/op")});
  filter_free(f);
  arena_free(&a);
  return is;
}

static void filters_combine_terms(void **state) {
  (void)state;
  static const struct {
    const char *expression;
    bool is;
  } cases[] = {
      {"*", true},
      {"-*", false},
      {".name:Copy", true},
      {".name:Cop", false},
      {"/size:4k", true},
      {"/size:(1k OR 4k)", true},
      {"/size:(1k OR /^4/)", true},
      {"/gomaxprocs:8", true},
      {"goos:linux /size:4k", true},
      {"goos:linux AND /size:1k", false},
      {"goos:windows OR /size:4k", true},
      {"goos:windows OR goos:linux /size:1k", false},
      {"(goos:windows OR goos:linux) /size:4k", true},
      {"-goos:windows", true},
      {"--goos:windows", false},
      {"-(goos:linux /size:1k)", true},
      {"missing:\"\"", true},
      {"\"goos\":\"lin\\u0075x\"", true},
      {".fullname:/size=4k/", true},
      {".fullname:/a[/]b|Copy\\/size/", true},
      {".fullname:/(x\\/y|y)-8$/", false},
      {".unit:ns/op", true},
      {".unit:sec/op", true},
      {".unit:/^B/", false},
      {"-.unit:B/op .file:old.txt", true},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    if (matches(cases[i].expression) != cases[i].is)
      fail_msg("%s", cases[i].expression);
}

static void wrong_filters_point_at_the_place(void **state) {
  (void)state;
  static const char *const cases[][2] = {
      {"a:b:c", "syntax error: unexpected \":\"\n\ta:b:c\n\t   ^"},
      {".config:x", "syntax error: .config is only allowed in projections\n\t.config:x\n\t^"},
      {"a:\"b", "syntax error: missing end quote\n\ta:\"b\n\t  ^"},
      {"a:\"\\q\"", "syntax error: bad escape sequence\n\ta:\"\\q\"\n\t  ^"},
      {"", "syntax error: expected key:value or subexpression\n\t\n\t^"},
      {"a", "syntax error: expected key:value\n\ta\n\t^"},
      {"x:y a b:c", "syntax error: expected key:value\n\tx:y a b:c\n\t    ^"},
      {"(a:b", "syntax error: missing \")\"\n\t(a:b\n\t    ^"},
      {"a:b)", "syntax error: unexpected \")\"\n\ta:b)\n\t   ^"},
      {"a:(b c)", "syntax error: value list must be separated by OR\n\ta:(b c)\n\t     ^"},
      {"a:()", "syntax error: expected value\n\ta:()\n\t   ^"},
      {"a:/b", "syntax error: missing close \"/\"\n\ta:/b\n\t  ^"},
      {"a:/b/c", "syntax error: regexp must be followed by space or an operator (unescaped "
                 "\"/\"?)\n\ta:/b/c\n\t     ^"},
      {"é:x:", "syntax error: unexpected \":\"\n\té:x:\n\t   ^"},
      {"\"\":x", "syntax error: key must not be empty\n\t\"\":x\n\t^"},
  };
  struct arena a = {0};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct expr_error e;
    assert_null(filter_parse(&a, cases[i][0], &e));
    assert_string_equal(expr_error_format(&a, cases[i][0], &e), cases[i][1]);
  }
  arena_free(&a);
}

/* Thousands of parentheses are an error, not a crash. */
static void deep_filters_are_refused(void **state) {
  (void)state;
  static char deep[200001];
  struct arena a = {0};
  struct expr_error e;
  memset(deep, '(', sizeof deep - 1);
  assert_null(filter_parse(&a, deep, &e));
  assert_string_equal(e.text, "expression nests too deeply");
  memset(deep, '-', sizeof deep - 1);
  assert_null(filter_parse(&a, deep, &e));
  arena_free(&a);
}

/* ---- projections ---- */

static void projections_have_keys_and_orders(void **state) {
  (void)state;
  struct arena a = {0};
  struct expr_error e;
  struct projection_expr p;
  assert_true(projection_parse(&a, ".name,/size@num goos@alpha .file@(b \"c d\"),.config", &p, &e));
  static const struct {
    enum key_kind kind;
    enum order order;
  } want[] = {{KEY_NAME, ORDER_FIRST},
              {KEY_SUBNAME, ORDER_NUM},
              {KEY_SETTING, ORDER_ALPHA},
              {KEY_FILE, ORDER_FIXED},
              {KEY_CONFIG, ORDER_FIRST}};
  assert_int_equal(p.count, 5);
  for (size_t i = 0; i < p.count; i++) {
    assert_int_equal(p.parts[i].key.kind, want[i].kind);
    assert_int_equal(p.parts[i].order, want[i].order);
  }
  assert_int_equal(p.parts[3].fixed_count, 2);
  assert_true(text_is(p.parts[3].fixed[1], "c d"));
  assert_true(projection_parse(&a, "", &p, &e));
  assert_int_equal(p.count, 0);
  arena_free(&a);
}

static void wrong_projections_point_at_the_place(void **state) {
  (void)state;
  static const char *const cases[][2] = {
      {".name@size", "syntax error: unknown order \"size\"\n\t.name@size\n\t      ^"},
      {".unit", "syntax error: .unit is only allowed in filters\n\t.unit\n\t^"},
      {".config@(a b)", "syntax error: fixed order not allowed for .config\n\t.config@(a b)\n\t"
                        "        ^"},
      {".file@(a", "syntax error: missing )\n\t.file@(a\n\t        ^"},
      {".name,", "syntax error: expected key\n\t.name,\n\t      ^"},
      {",", "syntax error: expected key\n\t,\n\t^"},
      {"a@()", "syntax error: nothing to match\n\ta@()\n\t   ^"},
      {"a@", "syntax error: expected named sort order or parenthesized list\n\ta@\n\t  ^"},
      {"a:b", "syntax error: expected key\n\ta:b\n\t ^"},
  };
  struct arena a = {0};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct expr_error e;
    struct projection_expr p;
    assert_false(projection_parse(&a, cases[i][0], &p, &e));
    assert_string_equal(expr_error_format(&a, cases[i][0], &e), cases[i][1]);
  }
  arena_free(&a);
}

/* ---- names ---- */

static void names_split_into_parts(void **state) {
  (void)state;
  static const char *const cases[][4] = {
      /* name, base, /k, gomaxprocs */
      {"A", "A", "", ""},          {"A-8", "A", "", "8"},    {"A-x8", "A-x8", "", ""},
      {"A-", "A-", "", ""},        {"-8", "", "", "8"},      {"B/k=v-8", "B", "v", "8"},
      {"C-1-2", "C-1", "", "2"},   {"E//k=c", "E", "c", ""}, {"", "", "", ""},
      {"F/k=1/k=2", "F", "1", ""}, {"G-3/x", "G-3", "", ""}, {"H/kk=1", "H", "", ""},
      {"I/k", "I", "", ""},        {"J/k=", "J", "", ""},    {"K/k=a-b-4", "K", "a-b", "4"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct text name = text_of(cases[i][0]);
    if (!text_is(name_base(name), cases[i][1]) ||
        !text_is(name_part(name, text_of("/k")), cases[i][2]) ||
        !text_is(name_gomaxprocs(name), cases[i][3]))
      fail_msg("%s", cases[i][0]);
  }
  assert_true(text_is(name_part(text_of("A/gomaxprocs=4"), text_of("/gomaxprocs")), "4"));
  assert_true(text_is(name_part(text_of("A/gomaxprocs=4-8"), text_of("/gomaxprocs")), "8"));
}

static void names_lose_what_other_keys_stand_for(void **state) {
  (void)state;
  struct text keys[] = {text_of("/size"), text_of("/gomaxprocs")};
  struct name_cut size = {.keys = keys, .key_count = 1};
  struct name_cut all = {true, keys, 2, true};
  char out[64];
  struct text name = text_of("A/size=1/b=2/size=3-8");
  assert_int_equal(name_without(name, &size, out), 7);
  assert_memory_equal(out, "A/b=2-8", 7);
  assert_int_equal(name_without(name, &all, out), 5);
  assert_memory_equal(out, "*/b=2", 5);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(regexes_match_as_re2_does),
      cmocka_unit_test(wrong_regexes_are_explained),
      cmocka_unit_test(no_regex_blows_up),
      cmocka_unit_test(filters_combine_terms),
      cmocka_unit_test(wrong_filters_point_at_the_place),
      cmocka_unit_test(deep_filters_are_refused),
      cmocka_unit_test(projections_have_keys_and_orders),
      cmocka_unit_test(wrong_projections_point_at_the_place),
      cmocka_unit_test(names_split_into_parts),
      cmocka_unit_test(names_lose_what_other_keys_stand_for),
  };
  return cmocka_run_group_tests_name("expr", tests, NULL, NULL);
}
