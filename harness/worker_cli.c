/*
 * `poolbench worker`: the command line of one sample (cell.h), its way to the file descriptor,
 * and out. The runner writes these options, so an error is a fault of the runner
 * or of somebody reproducing a sample by hand; both want the option named.
 */
#include "harness/cell.h"
#include "harness/clock.h"
#include "harness/digits.h"
#include "harness/sample.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEFAULT_WINDOW_NS (200 * NS_PER_MS)
#define MOST_CPUS (1u << 20) /* far above any machine: beyond, a CPU number is a mistake */

/* What the options fill. */
struct command {
  struct cell cell;
  const char *cpu_map; /* text, until the thread count is known */
  int *cpus;
  int fd;
};

/* ---- values ---- */

static bool parse_number(const char *option, const char *text, uint64_t least, uint64_t most,
                         uint64_t *out, struct error *e) {
  if (!digits_parse(text, strlen(text), out) || *out < least || *out > most)
    return error_set(e, EXIT_USAGE, "worker: %s \"%s\": not a number from %" PRIu64 " to %" PRIu64,
                     option, text, least, most);
  return true;
}

static bool set_threads(struct command *c, const char *text, struct error *e) {
  uint64_t n;
  if (!parse_number("--threads", text, 1, CELL_MAX_THREADS, &n, e))
    return false;
  c->cell.threads = (unsigned)n;
  return true;
}

static bool set_fd(struct command *c, const char *text, struct error *e) {
  uint64_t n;
  if (!parse_number("--fd", text, 0, INT32_MAX, &n, e))
    return false;
  c->fd = (int)n;
  if (fcntl(c->fd, F_GETFD) < 0)
    return error_errno(e, EXIT_USAGE, "worker: --fd %d", c->fd);
  return true;
}

static bool set_discipline(struct command *c, const char *text, struct error *e) {
  return discipline_parse(text, &c->cell.discipline) ||
         error_set(e, EXIT_USAGE, "worker: --discipline \"%s\": one of balanced, as-merged, leaky",
                   text);
}

static bool set_window(struct command *c, const char *text, struct error *e) {
  return parse_number("--window", text, 1, CELL_MAX_WINDOW_NS, &c->cell.window_ns, e);
}

static bool set_limit(struct command *c, const char *text, struct error *e) {
  return parse_number("--limit", text, 0, 24 * 3600 * NS_PER_S, &c->cell.limit_ns, e);
}

static bool set_warmup_limit(struct command *c, const char *text, struct error *e) {
  return parse_number("--warmup-limit", text, 0, 3600 * NS_PER_S, &c->cell.warmup_limit_ns, e);
}

static bool set_trim_ns(struct command *c, const char *text, struct error *e) {
  return parse_number("--trim-ns", text, 1, 3600 * NS_PER_S, &c->cell.trim_ns, e);
}

static bool set_trim_bytes(struct command *c, const char *text, struct error *e) {
  return parse_number("--trim-bytes", text, 1, UINT64_MAX, &c->cell.trim_bytes, e);
}

static bool set_seed(struct command *c, const char *text, struct error *e) {
  return parse_number("--seed", text, 0, UINT64_MAX, &c->cell.seed, e);
}

#define TEXT_OPTION(name, field)                                                 \
  static bool set_##name(struct command *c, const char *text, struct error *e) { \
    (void)e;                                                                     \
    c->field = text;                                                             \
    return true;                                                                 \
  }
TEXT_OPTION(case, cell.case_name)
TEXT_OPTION(strategy, cell.strategy)
TEXT_OPTION(object, cell.object_file)
TEXT_OPTION(options, cell.options)
TEXT_OPTION(counters, cell.counters)
TEXT_OPTION(allocator, cell.expect_allocator)
TEXT_OPTION(cpu_map, cpu_map)

/* ---- the line ---- */

static const struct {
  const char *name;
  bool (*set)(struct command *c, const char *text, struct error *e);
} options[] = {
    {"--case", set_case},
    {"--strategy", set_strategy},
    {"--threads", set_threads},
    {"--cpu-map", set_cpu_map},
    {"--window", set_window},
    {"--limit", set_limit},
    {"--warmup-limit", set_warmup_limit},
    {"--discipline", set_discipline},
    {"--seed", set_seed},
    {"--fd", set_fd},
    {"--object", set_object},
    {"--options", set_options},
    {"--trim-ns", set_trim_ns},
    {"--trim-bytes", set_trim_bytes},
    {"--counters", set_counters},
    {"--expect-allocator", set_allocator},
};

/* Options without a value. False: it is none. */
static bool set_switch(struct command *c, const char *name) {
  const struct {
    const char *name;
    bool *value;
  } switches[] = {{"--join", &c->cell.join},
                  {"--no-latency", &c->cell.no_latency},
                  {"--no-states", &c->cell.no_states},
                  {"--lines", &c->cell.lines}};
  for (size_t i = 0; i < sizeof switches / sizeof switches[0]; i++)
    if (strcmp(switches[i].name, name) == 0)
      return *switches[i].value = true;
  return false;
}

static bool set_option(struct command *c, const char *name, const char *text, struct error *e) {
  for (size_t i = 0; i < sizeof options / sizeof options[0]; i++)
    if (strcmp(options[i].name, name) == 0)
      return text ? options[i].set(c, text, e)
                  : error_set(e, EXIT_USAGE, "worker: %s needs a value", name);
  return error_set(e, EXIT_USAGE,
                   "worker: unknown option \"%s\"; `poolbench worker --help` lists "
                   "them",
                   name);
}

/* "0,1,0,1": exactly one CPU a thread. */
static bool parse_cpu_map(struct command *c, struct error *e) {
  const char *text = c->cpu_map;
  if (!text || strcmp(text, "none") == 0)
    return true;
  c->cpus = calloc(c->cell.threads, sizeof *c->cpus);
  if (!c->cpus)
    return error_set(e, EXIT_SAMPLES, "worker: out of memory");
  for (unsigned i = 0; i < c->cell.threads; i++) {
    uint64_t cpu;
    size_t length = strcspn(text, ",");
    bool last = i + 1 == c->cell.threads;
    if (!digits_parse(text, length, &cpu) || cpu >= MOST_CPUS ||
        text[length] != (last ? '\0' : ','))
      return error_set(e, EXIT_USAGE,
                       "worker: --cpu-map \"%s\": not %u CPU numbers with commas between",
                       c->cpu_map, c->cell.threads);
    c->cpus[i] = (int)cpu;
    text += length + 1;
  }
  c->cell.cpu_map = c->cpus;
  return true;
}

static bool parse(struct command *c, int argc, char **argv, struct error *e) {
  for (int i = 1; i < argc; i++) {
    if (set_switch(c, argv[i]))
      continue;
    if (!set_option(c, argv[i], i + 1 < argc ? argv[i + 1] : NULL, e))
      return false;
    i++;
  }
  if (!c->cell.case_name || !c->cell.strategy || c->cell.threads == 0)
    return error_set(e, EXIT_USAGE, "worker: --case, --strategy and --threads are needed");
  return parse_cpu_map(c, e);
}

/* ---- help ---- */

static const char usage[] =
    "usage: poolbench worker --case NAME --strategy SPEC --threads N [options]\n\n"
    "Measures one sample and prints it as a line of units. `poolbench run` starts one\n"
    "for every sample; by hand it repeats a sample under a debugger or perf.\n\n"
    "  --cpu-map LIST        a CPU for each thread, \"0,1,0,1\"; none (default): unbound\n"
    "  --window NS           length of the measured part (200000000)\n"
    "  --limit NS            give up after this time\n"
    "  --warmup-limit NS     give up warming up after this time\n"
    "  --discipline NAME     balanced (default), as-merged or leaky\n"
    "  --seed N              of the workload's choices\n"
    "  --object FILE         the case is one of this object\n"
    "  --options KEY=VALUE   settings of the case, as `poolbench list` shows them\n"
    "  --trim-ns NS, --trim-bytes BYTES\n"
    "                        trim the pool this often\n"
    "  --counters LIST       events of PAPI or perf, '' for none\n"
    "  --expect-allocator NAME\n"
    "                        fail unless this malloc is in use (LD_PRELOAD)\n"
    "  --no-latency          do not time single ops\n"
    "  --no-states           do not time what threads wait for\n"
    "  --lines               look for shared cache lines afterwards\n"
    "  --join                join the threads and close the pool, for leak checkers\n"
    "  --fd FD               where the sample goes (1)\n\n"
    "  poolbench worker --case Micro/pair/64B --strategy per-thread --threads 2\n";

static bool asks_help(int argc, char **argv) {
  return argc == 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0);
}

/* ---- out ---- */

static bool write_sample(const struct sample *s, int fd, struct error *e) {
  FILE *out = fdopen(fd, "w");
  return (out && sample_write(s, out)) ||
         error_errno(e, EXIT_INPUT, "worker: cannot write the sample to file descriptor %d", fd);
}

/*
 * Leaves by _exit: 32 threads on 2 CPUs need a scheduler rotation to be joined, and what static
 * destructors of a preloaded allocator do is no part of a sample. Buffered output has been
 * flushed by then.
 */
int worker_main(int argc, char **argv) {
  struct command c = {.cell.window_ns = DEFAULT_WINDOW_NS, .fd = STDOUT_FILENO};
  struct sample sample = {0};
  struct error e;
  if (asks_help(argc, argv)) {
    fputs(usage, stdout);
    return EXIT_DONE;
  }
  bool ok = parse(&c, argc, argv, &e);
  if (ok) {
    worker_measure(&c.cell, &sample);
    ok = write_sample(&sample, c.fd, &e);
  }
  if (!ok)
    fprintf(stderr, "poolbench %s\n", e.text);
  if (!ok || !c.cell.join)
    _exit(ok ? EXIT_DONE : (int)e.status);
  free(c.cpus);
  sample_free(&sample);
  return EXIT_DONE;
}
