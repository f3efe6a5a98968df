/* Parsing of `poolbench run`'s options; see options.h. A table of names and one setter each. */
#include "harness/options.h"
#include "harness/cell.h"
#include "harness/clock.h"
#include "harness/digits.h"
#include "harness/suggest.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum argument { ARGUMENT_NONE, ARGUMENT_VALUE, ARGUMENT_OPTIONAL };

struct option_def {
  const char *name;
  enum argument argument;
  bool (*set)(struct options *o, const char *value, struct error *e);
};

#define usage(e, ...) error_set((e), EXIT_USAGE, __VA_ARGS__)

static bool number_option(const char *name, const char *text, uint64_t least, uint64_t most,
                          uint64_t *out, struct error *e) {
  if (!digits_parse(text, strlen(text), out) || *out < least || *out > most)
    return usage(e, "--%s %s: give a whole number from %llu to %llu", name,
                 *text ? text : "(nothing)", (unsigned long long)least, (unsigned long long)most);
  return true;
}

/* One element of --cpus. */
static bool add_count(struct options *o, const char *text, size_t length, const char *whole,
                      struct error *e) {
  uint64_t n;
  if (length > 1 && memchr(text + 1, '-', length - 1))
    return usage(e,
                 "--cpus %s: a CPU set? use --cpuset %s; --cpus takes numbers of threads, "
                 "such as 32 or 1,8,32",
                 whole, whole);
  if (strspn(text, "0123456789") != length)
    return usage(e,
                 "--cpus %s: \"%.*s\" is not a number of threads; write --cpus 32 or --cpus "
                 "1,8,32",
                 whole, (int)length, text);
  if (!digits_parse(text, length, &n))
    n = UINT64_MAX; /* more digits than 64 bits hold */
  if (n == 0)
    return usage(e, "--cpus %s: at least one thread is needed", whole);
  if (n > CELL_MAX_THREADS)
    return usage(e, "--cpus %s: at most %d threads", whole, CELL_MAX_THREADS);
  for (size_t i = 0; i < o->count_count; i++)
    if (o->counts[i] == n)
      return usage(e, "--cpus %s: %llu stands there twice", whole, (unsigned long long)n);
  if (o->count_count == OPTIONS_MAX_COUNTS)
    return usage(e, "--cpus %s: at most %d thread counts", whole, OPTIONS_MAX_COUNTS);
  o->counts[o->count_count++] = (unsigned)n;
  return true;
}

static bool set_cpus(struct options *o, const char *value, struct error *e) {
  if (!*value)
    return usage(e, "--cpus: an empty list; write --cpus 32 or --cpus 1,8,32");
  o->count_count = 0;
  for (const char *p = value;;) {
    size_t length = strcspn(p, ",");
    if (length == 0)
      return usage(e, "--cpus %s: an empty element; write --cpus 1,8,32", value);
    if (!add_count(o, p, length, value, e))
      return false;
    if (p[length] == '\0')
      return true;
    p += length + 1;
  }
}

/*
 * The decimal number that text begins with, and where it ends; negative when there is none. strtod
 * alone would take signs, names and hexadecimal. The program stays in the C locale.
 */
static double decimal(const char *text, char **end) {
  *end = (char *)text;
  bool is_hexadecimal = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
  return isdigit((unsigned char)*text) && !is_hexadecimal ? strtod(text, end) : -1;
}

/*
 * A time with its unit: ns, us, ms, s or m ("200ms", "1.5s"). what names the option in messages.
 */
static bool duration(const char *what, const char *text, uint64_t *ns, struct error *e) {
  static const struct {
    const char *unit;
    double ns;
  } units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"m", 60e9}};
  char *end;
  double value = decimal(text, &end);
  if (value < 0 || !isfinite(value))
    return usage(e, "%s %s: give a time with its unit, such as 200ms or 1.5s", what,
                 *text ? text : "(nothing)");
  if (value == 0)
    return usage(e, "%s %s: give a time above 0 and at most a day", what, text);
  if (*end == '\0')
    return usage(e, "%s %s: %s what? write %sms or %ss", what, text, text, text, text);
  struct suggest near;
  suggest_start(&near, end);
  for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
    suggest_offer(&near, units[i].unit);
    if (strcmp(end, units[i].unit) == 0) {
      double total = value * units[i].ns;
      if (total < 1 || total > 86400e9)
        return usage(e, "%s %s: give a time above 0 and at most a day", what, text);
      *ns = (uint64_t)total;
      return true;
    }
  }
  return usage(e, "%s %s: unknown unit \"%s\"; units are ns, us, ms, s, m%s", what, text, end,
               suggest_text(&near, ""));
}

static bool set_window(struct options *o, const char *value, struct error *e) {
  if (!duration("--window", value, &o->window_ns, e))
    return false;
  if (o->window_ns < NS_PER_MS || o->window_ns > 60 * NS_PER_S)
    return usage(e, "--window %s: give a time from 1ms to 60s", value);
  return true;
}

static bool set_budget(struct options *o, const char *value, struct error *e) {
  if (strcmp(value, "none") == 0) {
    o->budget_ns = UINT64_MAX;
    return true;
  }
  return duration("--budget", value, &o->budget_ns, e);
}

static bool set_rounds(struct options *o, const char *value, struct error *e) {
  uint64_t n;
  if (!number_option("rounds", value, 1, OPTIONS_MAX_ROUNDS, &n, e))
    return false;
  o->rounds = (unsigned)n;
  return true;
}

static bool set_sweep_rounds(struct options *o, const char *value, struct error *e) {
  uint64_t n;
  if (!number_option("sweep-rounds", value, 0, OPTIONS_MAX_ROUNDS, &n, e))
    return false;
  o->sweep_rounds = (int)n;
  return true;
}

static bool set_seed(struct options *o, const char *value, struct error *e) {
  o->seed_given = true;
  return number_option("seed", value, 0, UINT64_MAX, &o->seed, e);
}

static bool set_discipline(struct options *o, const char *value, struct error *e) {
  if (discipline_parse(value, &o->discipline))
    return true;
  struct suggest near;
  suggest_start(&near, value);
  for (int d = DISCIPLINE_BALANCED; d <= DISCIPLINE_LEAKY; d++)
    suggest_offer(&near, discipline_name((enum discipline)d));
  return usage(e, "--discipline %s: there are balanced, as-merged and leaky%s", value,
               suggest_text(&near, ""));
}

static bool set_bind(struct options *o, const char *value, struct error *e) {
  if (bind_policy_parse(value, &o->bind))
    return true;
  return usage(e, "--bind %s: there are core, pu, numa, package and none", value);
}

static bool set_object(struct options *o, const char *value, struct error *e) {
  if (!*value)
    return usage(e, "--object: give a file, as `kubectl get pod NAME -o json` prints it");
  if (o->object_count == OPTIONS_MAX_OBJECTS)
    return usage(e, "--object %s: at most %d objects a run", value, OPTIONS_MAX_OBJECTS);
  o->objects[o->object_count++] = value;
  return true;
}

static bool set_arm(struct options *o, const char *value, struct error *e) {
  const char *equals = strchr(value, '=');
  size_t length = equals ? (size_t)(equals - value) : 0;
  if (length == 0 || !equals[1])
    return usage(e, "--arm %s: write LABEL=/path/to/poolbench", value);
  for (size_t i = 0; i < length; i++)
    if (!isalnum((unsigned char)value[i]) && !strchr("._-", value[i]))
      return usage(e, "--arm %s: a label has letters, digits, dots, dashes and underscores only",
                   value);
  for (size_t i = 0; i < o->arm_count; i++)
    if (strncmp(o->arms[i], value, length + 1) == 0)
      return usage(e, "--arm %s: two builds of one label", value);
  if (o->arm_count == OPTIONS_MAX_ARMS)
    return usage(e, "--arm %s: at most %d builds a run", value, OPTIONS_MAX_ARMS);
  o->arms[o->arm_count++] = value;
  return true;
}

/* Options whose text is taken as it is, but not empty. */
#define TEXT_OPTION(field, name, example)                                                    \
  static bool set_##field(struct options *o, const char *value, struct error *e) {           \
    o->field = value;                                                                        \
    return *value ? true : usage(e, "--" name ": nothing given; write --" name " " example); \
  }
TEXT_OPTION(suite, "suite", "compare")
TEXT_OPTION(cases, "cases", "'Compare/Pod/*'")
TEXT_OPTION(strategies, "strategies", "malloc,per-thread")
TEXT_OPTION(allocators, "allocators", "glibc,jemalloc")
TEXT_OPTION(base, "base", "malloc")
TEXT_OPTION(cpuset, "cpuset", "0-3,8")
TEXT_OPTION(out, "out", "DIR")
TEXT_OPTION(preset, "preset", "k8s-freelists")
TEXT_OPTION(set, "set", "handlers=100,names=50")
TEXT_OPTION(inject, "inject", "global-locked=500")

/* "64MiB", "1.5GB", "4096B"; false for what is no number of bytes above 0. */
static bool byte_count(const char *text, uint64_t *bytes) {
  static const struct {
    const char *unit;
    double bytes;
  } units[] = {{"B", 1},        {"kB", 1e3}, {"KiB", 0x1p10}, {"MB", 1e6},
               {"MiB", 0x1p20}, {"GB", 1e9}, {"GiB", 0x1p30}};
  char *end;
  double value = decimal(text, &end);
  for (size_t i = 0; value > 0 && i < sizeof units / sizeof units[0]; i++)
    if (strcmp(end, units[i].unit) == 0 && value * units[i].bytes < 0x1p60) {
      *bytes = (uint64_t)(value * units[i].bytes);
      return *bytes > 0;
    }
  return false;
}

/* The harness looks once a millisecond at most; what is shorter or smaller would be a lie. */
static bool set_trim(struct options *o, const char *value, struct error *e) {
  size_t length = strlen(value);
  struct error unused;
  o->trim = value;
  o->trim_ns = o->trim_bytes = 0;
  if (length > 0 && value[length - 1] == 'B') {
    if (byte_count(value, &o->trim_bytes) && o->trim_bytes >= 65536)
      return true;
    return usage(e, "--trim %s: give at least 64KiB of allocations between trims, such as 4MiB",
                 value);
  }
  if (duration("--trim", value, &o->trim_ns, &unused) && o->trim_ns >= NS_PER_MS &&
      o->trim_ns <= 60 * NS_PER_S)
    return true;
  return usage(e,
               "--trim %s: give a time from 1ms to 60s between trims, such as 10ms, or how much is "
               "allocated between them, such as 4MiB",
               length ? value : "(nothing)");
}

static bool set_counters(struct options *o, const char *value, struct error *e) {
  (void)e;
  o->counters = value; /* empty: none wanted */
  return true;
}

static bool set_resume(struct options *o, const char *value, struct error *e) {
  (void)e;
  o->resume = true;
  o->resume_dir = value && *value ? value : NULL;
  return true;
}

#define FLAG_OPTION(field)                                                         \
  static bool set_##field(struct options *o, const char *value, struct error *e) { \
    (void)value, (void)e;                                                          \
    return o->field = true;                                                        \
  }
FLAG_OPTION(quick)
FLAG_OPTION(twin)
FLAG_OPTION(no_plots)
FLAG_OPTION(list)
FLAG_OPTION(list_counters)
FLAG_OPTION(dry_run)
FLAG_OPTION(help)

static const struct option_def definitions[] = {
    {"cpus", ARGUMENT_VALUE, set_cpus},
    {"suite", ARGUMENT_VALUE, set_suite},
    {"cases", ARGUMENT_VALUE, set_cases},
    {"strategies", ARGUMENT_VALUE, set_strategies},
    {"allocators", ARGUMENT_VALUE, set_allocators},
    {"base", ARGUMENT_VALUE, set_base},
    {"discipline", ARGUMENT_VALUE, set_discipline},
    {"rounds", ARGUMENT_VALUE, set_rounds},
    {"sweep-rounds", ARGUMENT_VALUE, set_sweep_rounds},
    {"window", ARGUMENT_VALUE, set_window},
    {"budget", ARGUMENT_VALUE, set_budget},
    {"bind", ARGUMENT_VALUE, set_bind},
    {"cpuset", ARGUMENT_VALUE, set_cpuset},
    {"object", ARGUMENT_VALUE, set_object},
    {"arm", ARGUMENT_VALUE, set_arm},
    {"out", ARGUMENT_VALUE, set_out},
    {"seed", ARGUMENT_VALUE, set_seed},
    {"resume", ARGUMENT_OPTIONAL, set_resume},
    {"preset", ARGUMENT_VALUE, set_preset},
    {"set", ARGUMENT_VALUE, set_set},
    {"trim", ARGUMENT_VALUE, set_trim},
    {"inject", ARGUMENT_VALUE, set_inject},
    {"counters", ARGUMENT_VALUE, set_counters},
    {"quick", ARGUMENT_NONE, set_quick},
    {"twin", ARGUMENT_NONE, set_twin},
    {"no-plots", ARGUMENT_NONE, set_no_plots},
    {"list", ARGUMENT_NONE, set_list},
    {"list-counters", ARGUMENT_NONE, set_list_counters},
    {"dry-run", ARGUMENT_NONE, set_dry_run},
    {"help", ARGUMENT_NONE, set_help},
    {"h", ARGUMENT_NONE, set_help},
};

static const struct option_def *find_definition(const char *name, size_t length, struct error *e) {
  char word[64];
  snprintf(word, sizeof word, "%.*s", (int)(length < 63 ? length : 63), name);
  struct suggest near;
  suggest_start(&near, word);
  for (size_t i = 0; i < sizeof definitions / sizeof definitions[0]; i++) {
    const struct option_def *d = &definitions[i];
    if (strlen(d->name) == length && strncmp(d->name, name, length) == 0)
      return d;
    if (strlen(d->name) > 1)
      suggest_offer(&near, d->name);
  }
  usage(e, "unknown option --%s%s", word,
        near.best ? suggest_text(&near, "--") : "; `poolbench run --help` lists them");
  return NULL;
}

/* Parses the option at argv[*at] into o and *used; moves *at to the last word it took. */
static bool parse_one(int argc, char **argv, int *at, struct options *o,
                      const struct option_def **used, struct error *e) {
  const char *word = argv[*at];
  if (word[0] != '-' || word[1] == '\0')
    return usage(e, "\"%s\" is not an option; options begin with --, such as --cpus 32", word);
  const char *name = word + (word[1] == '-' ? 2 : 1);
  size_t length = strcspn(name, "=");
  const struct option_def *d = *used = find_definition(name, length, e);
  if (!d)
    return false;
  const char *value = name[length] == '=' ? name + length + 1 : NULL;
  if (d->argument == ARGUMENT_NONE && value)
    return usage(e, "--%s takes no value, but \"%s\" was given", d->name, value);
  bool next_is_value = *at + 1 < argc && (argv[*at + 1][0] != '-' || argv[*at + 1][1] == '\0' ||
                                          isdigit((unsigned char)argv[*at + 1][1]));
  if (!value && d->argument != ARGUMENT_NONE && next_is_value)
    value = argv[++*at];
  if (!value && d->argument == ARGUMENT_VALUE)
    return usage(e, "--%s needs a value; `poolbench run --help` shows it", d->name);
  return d->set(o, value, e);
}

/* Does the option say something that a resumed run has decided? */
static bool is_planned(const struct option_def *d) {
  return d->set != set_resume && d->set != set_no_plots && d->set != set_help;
}

/* Combinations that contradict each other. planned: an option for which is_planned, or NULL. */
static bool check_combination(const struct options *o, const struct option_def *planned,
                              struct error *e) {
  if (o->resume && planned)
    return usage(e, "--%s: --resume takes the plan from the run it resumes; leave --%s out",
                 planned->name, planned->name);
  if (o->preset &&
      (o->suite || o->cases || o->strategies || o->base || o->discipline != DISCIPLINE_BALANCED))
    return usage(e,
                 "--preset %s fixes suite, cases, strategies, discipline and base; leave them out",
                 o->preset);
  if (o->bind == BIND_NONE && o->cpuset)
    return usage(e, "--cpuset %s needs threads that are bound; leave --bind none out", o->cpuset);
  return true;
}

bool options_parse(int argc, char **argv, struct options *o, struct error *e) {
  *o = (struct options){.sweep_rounds = -1, .discipline = DISCIPLINE_BALANCED, .bind = BIND_CORE};
  const struct option_def *used = NULL, *planned = NULL;
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--") == 0 && i + 1 == argc) /* there are no words that could follow */
      break;
    if (strcmp(argv[i], "--") == 0)
      return usage(e, "\"%s\" behind -- is not an option, and run takes nothing else", argv[i + 1]);
    if (!parse_one(argc, argv, &i, o, &used, e))
      return false;
    if (is_planned(used))
      planned = used;
  }
  return check_combination(o, planned, e);
}

void options_help(FILE *out) {
  fputs("usage: poolbench run [options]     measure; writes results/<time>-<host>/\n"
        "\n"
        "  --cpus N | A,B,C    threads: N with a sweep 1,2,4.. below it, or these counts\n"
        "  --suite NAME        compare (default), request, handlers, micro or all\n"
        "  --cases GLOB,..     only these cases, of any suite: 'Compare/Pod/*'\n"
        "  --strategies LIST   NAME[:option=value][+discipline],.. or all\n"
        "  --base NAME         what the others are compared with (malloc)\n"
        "  --discipline NAME   balanced (default), as-merged or leaky\n"
        "  --allocators LIST   glibc,jemalloc,gperftools,mimalloc,tbbmalloc,LABEL=/x.so\n"
        "                      or all\n"
        "  --object FILE       your own Pod, Node or Endpoints (kubectl get -o json)\n"
        "  --preset NAME       replay a published comparison: k8s-freelists, nats-timers\n"
        "                      or diderot-maps; --quick is shorter\n"
        "  --set KEY=VALUE,..  settings of cases; `poolbench list` shows which\n"
        "  --trim TIME|BYTES   trim the pools every 10ms, or every 4MiB allocated, as a\n"
        "                      collector would\n"
        "  --quick             done within 40 s, decides less\n"
        "  --rounds N          samples a cell (10)\n"
        "  --sweep-rounds N    the same in the sweep (6; 0: no sweep)\n"
        "  --window TIME       length of a sample's measured part (200ms)\n"
        "  --budget TIME       thin the sweep until the plan fits (5m; none: never)\n"
        "  --bind WHERE        core (default), pu, numa, package or none\n"
        "  --cpuset LIST       only these CPUs: 0-3,8\n"
        "  --counters LIST     events of PAPI or perf, '' for none; --list-counters\n"
        "  --inject NAME=NS,.. also measure NAME with every hold of its lock NS longer\n"
        "  --twin              measure the base twice: what differs when nothing does\n"
        "  --arm LABEL=PATH    measure this build of poolbench; once for each build\n"
        "  --out DIR           where the run goes; --seed N: repeat a run's order\n"
        "  --resume [DIR]      go on with an interrupted run (results/latest)\n"
        "  --dry-run, --list   show the plan; show what can be measured\n"
        "  --no-plots          draw nothing afterwards\n"
        "\n"
        "  poolbench run --cpus 32\n"
        "  poolbench run --cpus 1,2,4 --strategies malloc,global-locked:lock=ticket\n"
        "  poolbench run --cpus 32 --allocators glibc,jemalloc --cases 'Compare/Pod/*'\n",
        out);
}
