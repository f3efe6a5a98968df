/*
 * The sample protocol: what is written is read back bit for bit, and whatever a broken worker
 * could leave in the pipe is refused with the line quoted.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/sample.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

static char *write_text(const struct sample *s, size_t *length) {
  char *text = NULL;
  FILE *out = open_memstream(&text, length);
  assert_non_null(out);
  assert_true(sample_write(s, out));
  assert_int_equal(fclose(out), 0);
  return text;
}

static void reads_back_what_it_wrote(void **state) {
  (void)state;
  struct sample s = {0}, back;
  struct error e;
  s.ops = UINT64_MAX;
  s.bound_s = 2.5;
  assert_true(sample_add(&s, "ns/op", 64600.1));
  assert_true(sample_add(&s, "B/op", DBL_MAX));
  assert_true(sample_add(&s, "allocs/op", 0.1 + 0.2));
  assert_true(sample_add(&s, "tiny/op", DBL_TRUE_MIN));
  assert_true(sample_add_missing(&s, "PAPI_L3_TCM/op", "no counters in this virtual machine"));
  assert_true(sample_add_flag(&s, FLAG_NOT_STEADY, "misses/op 1.5, then 0.2"));
  assert_true(sample_add_note(&s, "allocator", "glibc"));
  assert_true(sample_add_note(&s, "text", "two\nlines\tand \x7f"));
  assert_true(sample_add_note(&s, "empty", ""));
  assert_true(sample_set_error(&s, "op %d failed", 7));

  size_t length;
  char *text = write_text(&s, &length);
  if (!sample_read(text, length, &back, &e))
    fail_msg("%s", e.text);
  assert_true(back.ops == UINT64_MAX);
  assert_true(back.bound_s == 2.5);
  assert_int_equal(back.value_count, 4);
  for (size_t i = 0; i < 4; i++) {
    assert_string_equal(back.values[i].name, s.values[i].name);
    assert_true(back.values[i].value == s.values[i].value);
  }
  assert_int_equal(back.missing_count, 1);
  assert_string_equal(back.missing[0].name, "PAPI_L3_TCM/op");
  assert_string_equal(back.missing[0].text, "no counters in this virtual machine");
  assert_int_equal(back.flag_count, 1);
  assert_string_equal(back.flags[0].text, "misses/op 1.5, then 0.2");
  assert_int_equal(back.note_count, 3);
  assert_string_equal(back.notes[0].text, "glibc");
  assert_string_equal(back.notes[1].text, "two lines and  ");
  assert_string_equal(back.notes[2].text, "?");
  assert_string_equal(back.error, "op 7 failed");

  /* Every truncation is noticed, wherever the worker died. */
  for (size_t cut = 0; cut < length; cut++) {
    struct sample none;
    assert_false(sample_read(text, cut, &none, &e));
  }
  sample_free(&back);
  sample_free(&s);
  free(text);
}

static void many_values(void **state) {
  (void)state;
  struct sample s = {.ops = 1}, back;
  struct error e;
  char name[32];
  for (int i = 0; i < 1000; i++) {
    snprintf(name, sizeof name, i == 0 ? "ns/op" : "unit%d/op", i);
    assert_true(sample_add(&s, name, i));
  }
  size_t length;
  char *text = write_text(&s, &length);
  assert_true(sample_read(text, length, &back, &e));
  double value;
  assert_true(sample_get(&back, "unit999/op", &value));
  assert_true(value == 999);
  assert_false(sample_get(&back, "unit1000/op", &value));
  sample_free(&back);
  sample_free(&s);
  free(text);
}

#define HEAD "poolbench-sample 1\n"
#define GOOD HEAD "ops 5\nunit 1.5 ns/op\n"

static void accepts(const char *text) {
  struct sample s;
  struct error e;
  if (!sample_read(text, strlen(text), &s, &e))
    fail_msg("refused: %s\n%s", text, e.text);
  sample_free(&s);
}

static void accepts_what_is_whole(void **state) {
  (void)state;
  accepts(GOOD "end\n");
  accepts(HEAD "unit -1e-3 ns/op\nops 5\nend\n");
  accepts(HEAD "ops 0\nbound 2\nend\n");
  accepts(HEAD "ops 0\nerror it broke\nend\n");
  accepts(GOOD "note a b c  d\nnote a again\nend\n");
}

static void refuses_all_else(void **state) {
  (void)state;
  static const struct {
    const char *text, *says;
  } bad[] = {
      {"", "empty"},
      {"end\n", "first line"},
      {"Segmentation fault\n", "first line"},
      {"poolbench-sample 2\nops 5\nunit 1 ns/op\nend\n", "first line"},
      {HEAD "end\n", "no \"ops\""},
      {HEAD "ops 5\nend\n", "nothing in it"},
      {HEAD "ops 0\nunit 1 ns/op\nend\n", "nothing in it"},
      {HEAD "unit 1 ns/op\nend\n", "no \"ops\""},
      {GOOD, "no \"end\""},
      {GOOD "end", "cut off"},
      {GOOD "end\nend\n", "after \"end\""},
      {GOOD "end\n\n", "after \"end\""},
      {GOOD "\nend\n", "unknown line"},
      {GOOD "end \n", "unknown line"},
      {GOOD "hello world\nend\n", "\"hello world\""},
      {GOOD "ops 5\nend\n", "ops twice"},
      {HEAD "ops -5\nunit 1 ns/op\nend\n", "no count"},
      {HEAD "ops 5.0\nunit 1 ns/op\nend\n", "no count"},
      {HEAD "ops 99999999999999999999\nunit 1 ns/op\nend\n", "no count"},
      {HEAD "ops \nunit 1 ns/op\nend\n", "no count"},
      {GOOD "unit 1 ns/op\nend\n", "twice"},
      {GOOD "missing ns/op why\nend\n", "twice"},
      {GOOD "missing x why\nunit 1 x\nend\n", "twice"},
      {GOOD "unit nan x\nend\n", "finite"},
      {GOOD "unit inf x\nend\n", "finite"},
      {GOOD "unit 1e999 x\nend\n", "finite"},
      {GOOD "unit 0x10 x\nend\n", "finite"},
      {GOOD "unit 1,5 x\nend\n", "finite"},
      {GOOD "unit 1-2 x\nend\n", "finite"},
      {GOOD "unit  x\nend\n", "finite"},
      {GOOD "unit 1\nend\n", "unit VALUE NAME"},
      {GOOD "unit 1 \nend\n", "one word"},
      {GOOD "unit 1 a b\nend\n", "one word"},
      {GOOD "missing x\nend\n", "name and a text"},
      {GOOD "flag x \nend\n", "name and a text"},
      {GOOD "note  text\nend\n", "one word"},
      {GOOD "bound 0\nend\n", "positive"},
      {GOOD "bound -1\nend\n", "positive"},
      {GOOD "bound 1\nbound 1\nend\n", "twice"},
      {GOOD "error \nend\n", "without its text"},
      {GOOD "error a\nerror b\nend\n", "twice"},
      {GOOD "note a \x01\nend\n", "control character"},
      {"poolbench-sample 1\r\nops 5\r\nend\r\n", "first line"},
  };
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    struct sample s;
    struct error e = {0};
    if (sample_read(bad[i].text, strlen(bad[i].text), &s, &e))
      fail_msg("accepted: %s", bad[i].text);
    if (!strstr(e.text, bad[i].says))
      fail_msg("\"%s\" does not say \"%s\" of\n%s", e.text, bad[i].says, bad[i].text);
    assert_int_equal(e.status, EXIT_SAMPLES);
    assert_null(s.values);
  }
}

static void refuses_bytes_that_are_no_text(void **state) {
  (void)state;
  static const char zero[] = GOOD "note a b\0c\nend\n";
  struct sample s;
  struct error e;
  assert_false(sample_read(zero, sizeof zero - 1, &s, &e));
  assert_non_null(strstr(e.text, "zero byte"));

  /* Garbage of every byte value, with and without newlines, and one very long line. */
  size_t length = 1 << 20;
  char *noise = malloc(length);
  assert_non_null(noise);
  uint32_t x = 1;
  for (size_t i = 0; i < length; i++) {
    x = x * 1664525u + 1013904223u;
    noise[i] = (char)(x >> 24);
  }
  assert_false(sample_read(noise, length, &s, &e));
  memcpy(noise, GOOD, sizeof GOOD - 1);
  assert_false(sample_read(noise, length, &s, &e));
  memset(noise + sizeof GOOD - 1, 'x', length - (sizeof GOOD - 1));
  assert_false(sample_read(noise, length, &s, &e));
  assert_true(strlen(e.text) < 200);
  free(noise);
}

static void a_full_device_is_noticed(void **state) {
  (void)state;
  struct sample s = {.ops = 1};
  FILE *full = fopen("/dev/full", "w");
  if (!full)
    skip();
  assert_false(sample_write(&s, full));
  fclose(full);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reads_back_what_it_wrote),       cmocka_unit_test(many_values),
      cmocka_unit_test(accepts_what_is_whole),          cmocka_unit_test(refuses_all_else),
      cmocka_unit_test(refuses_bytes_that_are_no_text), cmocka_unit_test(a_full_device_is_noticed),
  };
  return cmocka_run_group_tests_name("sample", tests, NULL, NULL);
}
