/*
 * The way to hardware counters on a machine that is not here: this program brings a PAPI of its
 * own, which the linker takes before the library, with a processor of two counters. What the
 * counters' file asks of PAPI is checked, and what it makes of the answers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/counters.h"

#include <stdio.h>
#include <string.h>

#ifdef HAVE_PAPI

#include <papi.h>

/* ---- the processor ---- */

enum { COUNTERS = 2, SETS = 8 };

static const struct event {
  const char *name;
  int code;
  long long value; /* what it counts between start and stop */
  bool here;
} events[] = {
    {"PAPI_TOT_CYC", (int)0x80000001, 1000, true}, {"PAPI_TOT_INS", (int)0x80000002, 2500, true},
    {"PAPI_L3_TCM", (int)0x80000003, 0, true},     {"PAPI_CA_SNP", (int)0x80000004, 7, false},
    {"SNOOP:HITM", 0x40000001, 42, true},
};
enum { EVENTS = sizeof events / sizeof events[0], NATIVES_FROM = 4 };

static struct {
  bool disabled, no_multiplexing, multiplexing_ready, dead_cycles;
  int threads, open;
  struct {
    bool used, multiplexed, running, has_component;
    int n;
    const struct event *events[EVENTS];
  } sets[SETS];
} machine;

int PAPI_library_init(int version) {
  return version;
}
int PAPI_thread_init(unsigned long (*id)(void)) {
  return id ? PAPI_OK : PAPI_EINVAL;
}
int PAPI_multiplex_init(void) {
  machine.multiplexing_ready = !machine.no_multiplexing;
  return machine.no_multiplexing ? PAPI_ECMP : PAPI_OK;
}
const PAPI_component_info_t *PAPI_get_component_info(int component) {
  static PAPI_component_info_t info;
  snprintf(info.disabled_reason, sizeof info.disabled_reason, "no such thing in this box");
  info.disabled = machine.disabled ? PAPI_ECMP : 0;
  return component == 0 ? &info : NULL;
}
char *PAPI_strerror(int status) {
  static char no_event[] = "Event does not exist", other[] = "another error";
  return status == PAPI_ENOEVNT ? no_event : other;
}
int PAPI_register_thread(void) {
  machine.threads++;
  return PAPI_OK;
}
int PAPI_unregister_thread(void) {
  machine.threads--;
  return PAPI_OK;
}

int PAPI_create_eventset(int *set) {
  assert_int_equal(*set, PAPI_NULL);
  for (int i = 0; i < SETS; i++)
    if (!machine.sets[i].used) {
      memset(&machine.sets[i], 0, sizeof machine.sets[i]);
      machine.sets[i].used = true;
      machine.open++;
      *set = i;
      return PAPI_OK;
    }
  return PAPI_ENOMEM;
}
int PAPI_assign_eventset_component(int set, int component) {
  machine.sets[set].has_component = component == 0;
  return PAPI_OK;
}
int PAPI_set_multiplex(int set) {
  if (!machine.multiplexing_ready || (!machine.sets[set].has_component && machine.sets[set].n == 0))
    return PAPI_EINVAL;
  machine.sets[set].multiplexed = true;
  return PAPI_OK;
}
int PAPI_cleanup_eventset(int set) {
  machine.sets[set].n = 0;
  return PAPI_OK;
}
int PAPI_destroy_eventset(int *set) {
  assert_int_equal(machine.sets[*set].n, 0); /* the library refuses one with events */
  machine.sets[*set].used = false;
  machine.open--;
  *set = PAPI_NULL;
  return PAPI_OK;
}
int PAPI_event_name_to_code(const char *name, int *code) {
  for (int i = 0; i < EVENTS; i++)
    if (strcmp(events[i].name, name) == 0) {
      *code = events[i].code;
      return PAPI_OK;
    }
  return PAPI_ENOEVNT;
}
int PAPI_event_code_to_name(int code, char *name) {
  for (int i = 0; i < EVENTS; i++)
    if (events[i].code == code) {
      strcpy(name, events[i].name);
      return PAPI_OK;
    }
  return PAPI_ENOEVNT;
}
int PAPI_add_event(int set, int code) {
  for (int i = 0; i < EVENTS; i++)
    if (events[i].code == code && events[i].here) {
      if (machine.sets[set].n == COUNTERS && !machine.sets[set].multiplexed)
        return PAPI_ECNFLCT;
      machine.sets[set].events[machine.sets[set].n++] = &events[i];
      return PAPI_OK;
    }
  return PAPI_ENOEVNT;
}
int PAPI_start(int set) {
  assert_true(machine.sets[set].n > 0);
  machine.sets[set].running = true;
  return PAPI_OK;
}
int PAPI_stop(int set, long long *values) {
  if (!machine.sets[set].running)
    return PAPI_ENOTRUN;
  machine.sets[set].running = false;
  for (int i = 0; i < machine.sets[set].n; i++)
    values[i] = machine.dead_cycles ? 0 : machine.sets[set].events[i]->value;
  return PAPI_OK;
}

static int enumerate(int *code, int modifier, int from, int end) {
  int at = from;
  if (modifier != PAPI_ENUM_FIRST)
    while (at < end && events[at++].code != *code)
      continue;
  if (at >= end)
    return PAPI_ENOEVNT;
  *code = events[at].code;
  return PAPI_OK;
}
int PAPI_enum_event(int *code, int modifier) {
  return enumerate(code, modifier, 0, NATIVES_FROM);
}
int PAPI_enum_cmp_event(int *code, int modifier, int component) {
  assert_true(machine.threads > 0); /* the library may crash here otherwise */
  return component == 0 ? enumerate(code, modifier, NATIVES_FROM, EVENTS) : PAPI_EINVAL;
}

static int reset(void **state) {
  (void)state;
  memset(&machine, 0, sizeof machine);
  return 0;
}

/* ---- tests ---- */

static const struct counter_source *const papi_only[] = {&counter_source_papi, NULL};

static void open_counters(struct counters *c, const char *list) {
  struct error e;
  if (!counters_open(c, list, papi_only, true, &e))
    fail_msg("%s", e.text);
}

/* Counts once on this thread. */
static void count_once(struct counter_thread *t, const struct counters *c) {
  assert_true(counter_thread_attach(t, c));
  counter_thread_start(t);
  counter_thread_stop(t);
  counter_thread_detach(t);
  assert_int_equal(machine.threads, 0);
  assert_int_equal(machine.open, 0);
}

static void presets_and_native_events_count(void **state) {
  (void)state;
  struct counters c;
  struct counter_thread t;
  open_counters(&c, "PAPI_TOT_CYC,SNOOP:HITM");
  count_once(&t, &c);
  assert_string_equal(c.events[0].why, "");
  assert_string_equal(c.events[1].why, "");
  assert_int_equal(t.values[0], 1000);
  assert_int_equal(t.values[1], 42);
  assert_false(t.multiplexed[0] || t.multiplexed[1]);
}

/* The values of those behind a missing one are not mixed up. */
static void an_event_that_is_not_here_is_missing(void **state) {
  (void)state;
  struct counters c;
  struct counter_thread t;
  open_counters(&c, "PAPI_CA_SNP,PAPI_TOT_INS,no-such-event");
  count_once(&t, &c);
  assert_non_null(strstr(c.events[0].why, "Event does not exist"));
  assert_string_equal(c.events[1].why, "");
  assert_non_null(strstr(c.events[2].why, "Event does not exist"));
  assert_int_equal(t.values[1], 2500);
}

static void more_events_than_counters_take_turns(void **state) {
  (void)state;
  struct counters c;
  struct counter_thread t;
  open_counters(&c, "PAPI_TOT_CYC,PAPI_TOT_INS,PAPI_L3_TCM,SNOOP:HITM");
  count_once(&t, &c);
  for (size_t i = 0; i < 4; i++) {
    assert_string_equal(c.events[i].why, "");
    assert_true(t.multiplexed[i]);
  }
  assert_int_equal(t.values[3], 42);
}

static void without_turns_the_last_events_are_missing(void **state) {
  (void)state;
  struct counters c;
  struct counter_thread t;
  machine.no_multiplexing = true;
  open_counters(&c, "PAPI_TOT_CYC,PAPI_TOT_INS,SNOOP:HITM");
  count_once(&t, &c);
  assert_string_equal(c.events[1].why, "");
  assert_non_null(strstr(c.events[2].why, "does not fit"));
  assert_int_equal(t.values[1], 2500);
  assert_false(t.multiplexed[1]);
}

/* Misses may rightly be 0, cycles not. */
static void cycles_that_do_not_pass_are_missing(void **state) {
  (void)state;
  struct counters c;
  machine.dead_cycles = true;
  open_counters(&c, "PAPI_TOT_CYC,PAPI_L3_TCM");
  assert_non_null(strstr(c.events[0].why, "counts nothing"));
  assert_string_equal(c.events[1].why, "");
}

static void a_machine_without_counters_says_why(void **state) {
  (void)state;
  struct counters c;
  machine.disabled = true;
  open_counters(&c, "PAPI_TOT_CYC,SNOOP:HITM");
  assert_string_equal(c.events[0].why, "no hardware counters: no such thing in this box");
  assert_string_equal(c.events[1].why, c.events[0].why);
  assert_int_equal(machine.threads, 0);
}

static void note_name(void *context, const char *name, bool native) {
  char *all = context;
  sprintf(all + strlen(all), "%s%s ", native ? "native " : "", name);
}

static void all_events_can_be_listed(void **state) {
  (void)state;
  char all[200] = "";
  counter_source_papi.list(note_name, all);
  assert_string_equal(all, "PAPI_TOT_CYC PAPI_TOT_INS PAPI_L3_TCM PAPI_CA_SNP native SNOOP:HITM ");
  assert_int_equal(machine.threads, 0);
}

int main(void) {
#define RESET(test) cmocka_unit_test_setup(test, reset)
  const struct CMUnitTest tests[] = {
      RESET(presets_and_native_events_count),
      RESET(an_event_that_is_not_here_is_missing),
      RESET(more_events_than_counters_take_turns),
      RESET(without_turns_the_last_events_are_missing),
      RESET(cycles_that_do_not_pass_are_missing),
      RESET(a_machine_without_counters_says_why),
      RESET(all_events_can_be_listed),
  };
  return cmocka_run_group_tests_name("counters_papi", tests, NULL, NULL);
}

#else

static void built_without_papi(void **state) {
  (void)state;
  char why[COUNTER_WHY_MAX] = "";
  assert_false(counter_source_papi.open(why, sizeof why));
  assert_non_null(strstr(why, "libpapi-dev"));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(built_without_papi)};
  return cmocka_run_group_tests_name("counters_papi", tests, NULL, NULL);
}

#endif
