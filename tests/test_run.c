/*
 * Whole runs in a scratch folder: with workers that are shell scripts (told by --arm), and with
 * real ones, for which this program plays poolbench.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/cell.h"
#include "harness/probe.h"
#include "harness/run.h"
#include "tests/runner_fixture.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

enum { MOST_WORDS = 24 };

/*
 * What a fake worker begins with: $case, $strategy and $threads are the cell, $here its folder, and
 * say VALUE writes a whole sample. A probe gets one at once.
 */
#define WORKER                                                                                  \
  "here=$(dirname \"$0\"); command=$1\n"                                                        \
  "while [ $# -gt 1 ]; do case $1 in --case) case=$2;; --strategy) strategy=$2;; "              \
  "--threads) threads=$2;; esac; shift; done\n"                                                 \
  "say() { printf 'poolbench-sample 1\\nops 10\\nunit %s ns/op\\nunit 64 B/op\\n"               \
  "unit 1 allocs/op\\nnote arenas 3\\nnote measured-ns 1000\\nnote warmup-ns 500\\nend\\n' $1 " \
  ">&3; }\n"                                                                                    \
  "[ $command = worker ] || { say 1; exit 0; }\n"

/* The seventh sample stops us: one round of four and two of the next are there. */
#define STOPS_AT_THE_SEVENTH                                                     \
  WORKER "echo . >>\"$here/calls\"\n"                                            \
         "[ $(wc -l <\"$here/calls\") = 7 ] && { kill -INT $PPID; sleep 60; }\n" \
         "say 10"

/* Runs `poolbench run LINE` in the scratch folder; its output is in out.txt and err.txt there. */
static int poolbench(const char *line) {
  pid_t pid = fork();
  assert_true(pid >= 0);
  if (pid > 0) {
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
  char words[600], *argv[MOST_WORDS + 1] = {"run"};
  int argc = 1;
  snprintf(words, sizeof words, "%s", line);
  for (char *word = strtok(words, " "); word && argc < MOST_WORDS; word = strtok(NULL, " "))
    argv[argc++] = word;
  if (chdir(scratch) != 0 || !freopen("out.txt", "w", stdout) || !freopen("err.txt", "w", stderr))
    _exit(99);
  int status = run_main(argc, argv);
  fflush(stdout);
  fflush(stderr);
  _exit(status);
}

static bool says(const char *file, const char *word) {
  char *text = scratch_read(file);
  bool found = text && strstr(text, word);
  if (!found)
    print_message("\"%s\" is not in %s: %s\n", word, file, text ? text : "(missing)");
  free(text);
  return found;
}

static size_t count(const char *file, const char *word) {
  char *text = scratch_read(file);
  size_t n = 0;
  for (char *p = text; p && (p = strstr(p, word)) != NULL; p++)
    n++;
  free(text);
  return n;
}

static json_t *record(void) {
  json_error_t e;
  json_t *r = json_load_file(scratch_path("r/run.json"), 0, &e);
  assert_non_null(r);
  return r;
}

static const char *text_at(const json_t *o, const char *key) {
  return json_string_value(json_object_get(o, key));
}

static int64_t number_at(const json_t *o, const char *key) {
  return json_integer_value(json_object_get(o, key));
}

/* Two cases under two strategies, at 2 threads, without sweep: 4 cells. */
#define TWO_BY_TWO                                                           \
  "--cpus 2 --sweep-rounds 0 --out r --cases Micro/pair/16B,Micro/pair/64B " \
  "--strategies malloc,per-thread --arm x=w.sh --seed 1 "

#define ONE_CELL \
  "--cpus 1 --rounds 1 --window 1ms --out r --cases Micro/pair/16B --strategies malloc "

/* --- with fake workers ------------------------------------------------------------------- */

static void every_cell_is_measured_once_a_round(void **state) {
  (void)state;
  scratch_script("w.sh", WORKER "say 10");
  assert_int_equal(poolbench(TWO_BY_TWO "--rounds 3"), EXIT_DONE);
  assert_int_equal(count("r/samples.txt", "Benchmark"), 12);
  assert_int_equal(count("r/detail.txt", "Benchmark"), 12);
  assert_int_equal(count("r/samples.txt", "pair/64B/strategy=per-thread/build=x-2\t10\t10 ns/op"
                                          "\t64 B/op\t1 allocs/op\n"),
                   3);
  assert_int_equal(count("r/samples.txt", " round 3 "), 4);
  assert_null(scratch_read("r/round.part"));
  assert_null(scratch_read("r/sweep.txt"));
  json_t *r = record();
  assert_string_equal(text_at(r, "status"), "complete");
  assert_int_equal(number_at(r, "rounds_done"), 3);
  assert_int_equal(number_at(json_object_get(r, "plan"), "seed"), 1);
  assert_int_equal(number_at(json_object_get(r, "times"), "measured_ns"), 12 * 1000);
  assert_int_equal(number_at(json_object_get(r, "times"), "warmup_ns"), 12 * 500);
  const json_t *cells = json_object_get(json_object_get(r, "plan"), "cells");
  assert_int_equal(json_array_size(cells), 4);
  assert_string_equal(text_at(json_array_get(cells, 1), "strategy"), "per-thread");
  assert_int_equal(number_at(json_array_get(cells, 1), "rounds"), 3);
  assert_int_equal(number_at(json_array_get(cells, 1), "arenas"), 3);
  assert_int_equal(json_array_size(json_object_get(r, "failed")), 0);
  json_decref(r);
  assert_true(says("out.txt", "2 threads on "));
}

static void a_strategy_that_crashes_costs_itself_only(void **state) {
  (void)state;
  scratch_script("w.sh",
                 WORKER "[ $strategy = per-thread ] && { echo about to die; kill -SEGV $$; }\n"
                        "say 10");
  assert_int_equal(poolbench(TWO_BY_TWO "--rounds 4"), EXIT_SAMPLES);
  assert_int_equal(count("r/samples.txt", "strategy=malloc"), 8);
  assert_int_equal(count("r/samples.txt", "strategy=per-thread"), 0);
  json_t *r = record();
  const json_t *failed = json_object_get(r, "failed");
  assert_int_equal(json_array_size(failed), 4); /* two cells, given up after two tries each */
  const json_t *first = json_array_get(failed, 0);
  assert_string_equal(text_at(first, "what"), "crashed");
  assert_non_null(strstr(text_at(first, "why"), "signal 11"));
  assert_non_null(strstr(text_at(first, "output"), "about to die"));
  assert_string_equal(text_at(r, "status"), "complete");
  json_decref(r);
  assert_true(says("out.txt", "failed: Micro/pair/"));
  assert_true(says("out.txt", "signal 11"));
  assert_true(says("out.txt", "about to die"));
  assert_true(says("out.txt", "given up: Micro/pair/16B/strategy=per-thread"));
}

static void garbage_and_errors_are_told_apart(void **state) {
  (void)state;
  scratch_script("w.sh",
                 WORKER "[ $strategy = per-thread ] && { echo junk >&3; exit 0; }\n"
                        "[ $case = Micro/pair/16B ] && { printf 'poolbench-sample 1\\nops 0\\n"
                        "error out of sockets\\nend\\n' >&3; exit 0; }\n"
                        "say 10");
  assert_int_equal(poolbench(TWO_BY_TWO "--rounds 1"), EXIT_SAMPLES);
  assert_int_equal(count("r/samples.txt", "Benchmark"), 1);
  assert_true(says("out.txt", "garbage: no sample:"));
  assert_true(says("out.txt", "junk"));
  assert_true(says("out.txt", "error: out of sockets"));
}

/* A cell that failed twice is over with: the run comes to its end without it. */
static void progress_counts_what_is_not_tried_again(void **state) {
  (void)state;
  scratch_script("w.sh", WORKER "[ $strategy = per-thread ] && exit 1\nsay 10");
  assert_int_equal(poolbench(TWO_BY_TWO "--rounds 10"), EXIT_SAMPLES);
  assert_int_equal(count("r/samples.txt", "Benchmark"), 20);
  assert_int_equal(count("err.txt", " gone, "), 9); /* a line a tenth, the last one not */
}

/* 10 ops not done in 2 s: more than 200 ms an op. Twice, then it is not tried again. */
static void a_cell_that_does_not_finish_is_a_bound(void **state) {
  (void)state;
  scratch_script("w.sh", WORKER "[ $strategy = per-thread ] && { printf 'poolbench-sample 1\\n"
                                "ops 10\\nbound 2\\nend\\n' >&3; exit 0; }\n"
                                "say 10");
  assert_int_equal(poolbench(TWO_BY_TWO "--rounds 4"), EXIT_DONE);
  assert_int_equal(count("r/samples.txt", "# flag bound "), 4);
  assert_int_equal(count("r/samples.txt", "per-thread/build=x-2\t10\t200000000 ns/op\n"), 4);
  assert_int_equal(count("r/samples.txt", "strategy=malloc"), 8);
}

static void a_run_that_is_stopped_goes_on(void **state) {
  (void)state;
  scratch_script("w.sh", STOPS_AT_THE_SEVENTH);
  assert_int_equal(poolbench(TWO_BY_TWO "--rounds 3"), EXIT_INTERRUPTED);
  assert_int_equal(count("r/samples.txt", "Benchmark"), 4);
  assert_int_equal(count("r/round.part", "Benchmark"), 2);
  assert_true(says("err.txt", "SIGINT"));
  assert_true(says("out.txt", "poolbench run --resume r"));
  assert_true(says("out.txt", "poolcmp -col /strategy r/samples.txt"));
  json_t *r = record();
  assert_string_equal(text_at(r, "status"), "interrupted");
  char id[40];
  snprintf(id, sizeof id, "%s", text_at(r, "id"));
  json_decref(r);
  assert_int_equal(poolbench("--resume r"), EXIT_DONE);
  assert_true(says("out.txt", "resumed: 6 of them are there"));
  assert_int_equal(count("r/samples.txt", "Benchmark"), 12);
  assert_int_equal(count("r/samples.txt", id), 12);
  assert_int_equal(count("r/samples.txt", " round 2 "), 4);
  assert_int_equal(count("calls", "."), 13); /* 12 samples and the one that was cut off */
  assert_null(scratch_read("r/round.part"));
  r = record();
  assert_string_equal(text_at(r, "status"), "complete");
  assert_int_equal(number_at(json_object_get(r, "times"), "measured_ns"), 12 * 1000);
  json_decref(r);
  /* A complete run has nothing left to do, and is left as it is. */
  assert_int_equal(poolbench("--resume r"), EXIT_DONE);
  assert_int_equal(count("r/samples.txt", "Benchmark"), 12);
  assert_int_equal(count("calls", "."), 13);
  assert_true(says("out.txt", "complete: r has its 12 samples; nothing is left to measure"));
  assert_int_equal(count("out.txt", "given up"), 0);
}

/*
 * Planned are 10 rounds of 2 cells; workers that take several times the planned time leave 5. The
 * load of the machine can only make them take longer.
 */
static void a_run_that_gave_up_rounds_is_complete(void **state) {
  (void)state;
  scratch_script("w.sh", WORKER "echo . >>\"$here/calls\"; sleep 0.2; say 10");
  assert_int_equal(
      poolbench("--cpus 2 --sweep-rounds 0 --out r --cases Micro/pair/16B --window 1ms "
                "--strategies malloc,per-thread --arm x=w.sh --budget 1800ms"),
      EXIT_DONE);
  assert_int_equal(count("r/samples.txt", "Benchmark"), 10);
  char *before = scratch_read("r/run.json");
  assert_true(says("r/run.json", "5 rounds: samples took longer than planned"));
  assert_int_equal(poolbench("--resume r"), EXIT_DONE);
  assert_true(says("out.txt", "note: 5 rounds: samples took longer than planned"));
  assert_true(says("out.txt", "given up: 5 of 10 rounds of the headline, for lack of time"));
  assert_true(says("out.txt", "complete: r has its 10 samples; nothing is left to measure"));
  assert_int_equal(count("calls", "."), 10);
  char *after = scratch_read("r/run.json");
  assert_string_equal(before, after);
  free(before);
  free(after);
}

/* A shell's background job is started with SIGINT ignored: Ctrl-C is not meant for it. */
static void a_run_in_the_background_is_stopped_by_sigterm_alone(void **state) {
  (void)state;
  scratch_script("w.sh", WORKER "echo . >>\"$here/calls\"; calls=$(wc -l <\"$here/calls\")\n"
                                "[ $calls = 2 ] && kill -INT $PPID\n"
                                "[ $calls = 7 ] && { kill -TERM $PPID; sleep 60; }\n"
                                "say 10");
  signal(SIGINT, SIG_IGN);
  int status = poolbench(TWO_BY_TWO "--rounds 3");
  usual_signals();
  assert_int_equal(status, EXIT_INTERRUPTED);
  assert_int_equal(count("calls", "."), 7);
  assert_int_equal(count("r/samples.txt", "Benchmark"), 4);
  assert_true(says("err.txt", "SIGTERM"));
}

static void assert_map(const json_t *map, size_t threads, size_t usable) {
  const json_t *cpus = json_object_get(map, "cpus");
  const json_t *nodes = json_object_get(map, "first_touch_nodes");
  assert_int_equal(number_at(map, "threads"), threads);
  assert_int_equal(json_array_size(cpus), threads);
  assert_int_equal(json_array_size(nodes), threads);
  for (size_t i = 0; i < threads; i++) {
    assert_true(json_integer_value(json_array_get(nodes, i)) >= 0);
    /* Around again after as many threads as there are CPUs, and not before. */
    for (size_t k = 0; k < i; k++)
      assert_int_equal(json_equal(json_array_get(cpus, i), json_array_get(cpus, k)),
                       (i - k) % usable == 0);
  }
}

/* The CPU and the node of every thread, for each number of threads that was measured. */
static void the_binding_is_printed_and_recorded(void **state) {
  (void)state;
  scratch_script("w.sh", WORKER "say 10");
  assert_int_equal(poolbench("--cpus 1,4 --bind core --out r --cases Micro/pair/16B --strategies "
                             "malloc,per-thread --arm x=w.sh --rounds 1"),
                   EXIT_DONE);
  json_t *r = record();
  const json_t *binding = json_object_get(r, "binding"), *maps = json_object_get(binding, "maps");
  assert_string_equal(text_at(binding, "policy"), "core");
  assert_true(says("out.txt", text_at(binding, "map")));
  assert_true(says("out.txt", text_at(binding, "line")));
  assert_non_null(strstr(text_at(binding, "map"), "first touch on NUMA node "));
  assert_int_equal(json_array_size(maps), 2);
  size_t usable = (size_t)number_at(binding, "cpus");
  for (size_t i = 0; i < 2; i++) {
    const json_t *map = json_array_get(maps, i);
    assert_map(map, number_at(map, "threads") == 1 ? 1 : 4, usable);
  }
  json_decref(r);
}

/* Killed once in a round, and again after it was resumed: samples of both sessions stay. */
static void a_second_kill_costs_nothing_of_the_first(void **state) {
  (void)state;
  scratch_script("w.sh",
                 WORKER "echo . >>\"$here/calls\"; calls=$(wc -l <\"$here/calls\")\n"
                        "[ $calls = 3 ] || [ $calls = 5 ] && { kill -KILL $PPID; sleep 60; }\n"
                        "say 10");
  assert_int_equal(poolbench(TWO_BY_TWO "--rounds 1"), -SIGKILL);
  assert_int_equal(count("r/round.part", "Benchmark"), 2);
  FILE *part = fopen(scratch_path("r/round.part"), "a");
  assert_non_null(part);
  assert_true(fputs("# run cut", part) >= 0);
  assert_int_equal(fclose(part), 0);
  assert_int_equal(poolbench("--resume r"), -SIGKILL);
  assert_int_equal(count("r/round.part", "Benchmark"), 3);
  assert_int_equal(count("r/round.part", "cut"), 0);
  assert_int_equal(poolbench("--resume r"), EXIT_DONE);
  assert_true(says("out.txt", "resumed: 3 of them are there"));
  assert_false(says("err.txt", "detail.txt")); /* there was none before the first whole round */
  assert_int_equal(count("r/samples.txt", "Benchmark"), 4);
  assert_int_equal(count("calls", "."), 6); /* 4 samples and the two that were cut off */
}

/* Also where run.json says that all is done. */
static void what_a_cut_file_lost_is_measured_again(void **state) {
  (void)state;
  scratch_script("w.sh", WORKER "echo . >>\"$here/calls\"; say 10");
  assert_int_equal(poolbench(TWO_BY_TWO "--rounds 3"), EXIT_DONE);
  struct stat info;
  assert_int_equal(stat(scratch_path("r/detail.txt"), &info), 0);
  assert_int_equal(truncate(scratch_path("r/detail.txt"), info.st_size / 2), 0);
  size_t left = count("r/detail.txt", "allocs/op\n");
  assert_true(left > 0 && left < 12);
  assert_int_equal(poolbench("--resume r"), EXIT_DONE);
  assert_int_equal(count("r/detail.txt", "Benchmark"), 12);
  assert_int_equal(count("r/samples.txt", " round 2 "), 4);
  assert_int_equal(count("calls", "."), 12 + 12 - left);
  assert_null(scratch_read("r/round.part"));
}

/* Numbers that would make a run without an end, or drop rounds, are no plan. */
static void a_damaged_plan_is_refused(void **state) {
  (void)state;
  static const struct {
    const char *key, *value;
  } wrong[] = {{"\"rounds\": 2", "\"rounds\": 4294967297"},
               {"\"rounds\": 2", "\"rounds\": \"2\""},
               {"\"sweep_rounds\": 0", "\"sweep_rounds\": -1"},
               {"\"rounds_done\": 2", "\"rounds_done\": 2.5"},
               {"\"window_ns\": 2", "\"window_ns\": 99999"}};
  scratch_script("w.sh", WORKER "say 10");
  assert_int_equal(poolbench(TWO_BY_TWO "--rounds 2 --window 200ms"), EXIT_DONE);
  char *whole = scratch_read("r/run.json"), *detail = scratch_read("r/detail.txt");
  assert_non_null(whole);
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    char *text = NULL, *at = whole, key[40];
    /* The cells come last of all that has such a key. */
    for (char *next = whole; (next = strstr(next, wrong[i].key)) != NULL; next++)
      at = next;
    assert_ptr_not_equal(at, whole);
    assert_true(asprintf(&text, "%.*s%s%s", (int)(at - whole), whole, wrong[i].value,
                         at + strlen(wrong[i].key)) > 0);
    scratch_write("r/run.json", text);
    free(text);
    assert_int_equal(poolbench("--resume r"), EXIT_INPUT);
    snprintf(key, sizeof key, "its %.*s is no", (int)strcspn(wrong[i].key + 1, "\""),
             wrong[i].key + 1);
    assert_true(says("err.txt", key));
  }
  char *after = scratch_read("r/detail.txt");
  assert_string_equal(after, detail);
  free(after);
  free(detail);
  free(whole);
}

/* A FIFO would be waited for. */
static void what_is_no_file_is_not_read(void **state) {
  (void)state;
  static const char *const names[] = {"r/run.json", "r/detail.txt", "r/round.part"};
  scratch_script("w.sh", WORKER "say 10");
  assert_int_equal(poolbench(TWO_BY_TWO "--rounds 1"), EXIT_DONE);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    rename(scratch_path(names[i]), scratch_path("aside"));
    assert_int_equal(mkfifo(scratch_path(names[i]), 0666), 0);
    assert_int_equal(poolbench("--resume r"), EXIT_INPUT);
    assert_true(says("err.txt", names[i]));
    assert_true(says("err.txt", "not a file but a FIFO"));
    assert_int_equal(unlink(scratch_path(names[i])), 0);
    rename(scratch_path("aside"), scratch_path(names[i]));
  }
}

/* Forecasts are said before the answer is known: what is measured later leaves them alone. */
static void a_resumed_run_keeps_its_forecasts(void **state) {
  (void)state;
  scratch_script("w.sh", STOPS_AT_THE_SEVENTH);
  assert_int_equal(poolbench(TWO_BY_TWO "--rounds 3"), EXIT_INTERRUPTED);
  json_t *r = record();
  assert_null(json_object_get(r, "forecasts"));
  json_t *made =
      json_pack("[{s:s, s:i, s:f}]", "case", "Micro/pair/64B", "threads", 32, "low_ops_s", 1234.5);
  assert_int_equal(json_object_set_new(r, "forecasts", made), 0);
  assert_int_equal(json_dump_file(r, scratch_path("r/run.json"), 0), 0);
  /* The run goes on to its end; a second time there is nothing to do. */
  for (int i = 0; i < 2; i++) {
    assert_int_equal(poolbench("--resume r"), EXIT_DONE);
    json_t *after = record();
    assert_string_equal(text_at(after, "status"), "complete");
    assert_true(json_equal(json_object_get(after, "forecasts"), made));
    json_decref(after);
  }
  json_decref(r);
}

static void order_follows_from_the_seed(void **state) {
  (void)state;
  scratch_script("w.sh", WORKER "echo $case $strategy >>\"$here/order\"; say 10");
  assert_int_equal(poolbench(TWO_BY_TWO "--rounds 5"), EXIT_DONE);
  char *first = scratch_read("order");
  assert_int_equal(unlink(scratch_path("order")), 0);
  assert_int_equal(poolbench("--cpus 2 --sweep-rounds 0 --out r2 --cases "
                             "Micro/pair/16B,Micro/pair/64B --strategies malloc,per-thread "
                             "--arm x=w.sh --seed 1 --rounds 5"),
                   EXIT_DONE);
  char *second = scratch_read("order");
  assert_string_equal(first, second);
  free(first);
  free(second);
}

static void a_changed_build_is_not_mixed_in(void **state) {
  (void)state;
  scratch_script("w.sh", WORKER
                 "[ -e \"$here/stop\" ] || { : >\"$here/stop\"; kill -TERM $PPID; sleep 60; }\n"
                 "say 10");
  assert_int_equal(poolbench(TWO_BY_TWO "--rounds 2"), EXIT_INTERRUPTED);
  scratch_script("w.sh", WORKER "say 11");
  assert_int_equal(poolbench("--resume r"), EXIT_INPUT);
  assert_true(says("err.txt", "the build x changed"));
}

static void a_full_disk_stops_the_run_and_keeps_it_readable(void **state) {
  (void)state;
  /* run.json is larger than any other file here, so a limit on the others is found below it. */
  scratch_script("w.sh", WORKER "say 10");
  rlim_t before = limit_files(6000);
  int status = poolbench(TWO_BY_TWO "--rounds 60");
  limit_files(before);
  assert_int_equal(status, EXIT_INPUT);
  assert_true(says("err.txt", "cannot write"));
  assert_true(says("out.txt", "--resume r"));
  size_t kept = count("r/samples.txt", "Benchmark");
  assert_true(kept >= 4 && kept < 240 && kept % 4 == 0);
  assert_int_equal(poolbench("--resume r"), EXIT_DONE);
  assert_int_equal(count("r/samples.txt", "Benchmark"), 240);
}

/* Without room for the plan nothing is measured, and nobody is told to go on with it. */
static void a_disk_without_room_for_the_plan_is_told_at_once(void **state) {
  (void)state;
  scratch_script("w.sh", WORKER "echo . >>\"$here/calls\"; say 10");
  rlim_t before = limit_files(1000);
  int status = poolbench(TWO_BY_TWO "--rounds 2");
  limit_files(before);
  assert_int_equal(status, EXIT_INPUT);
  assert_true(says("err.txt", "cannot write r/run.json"));
  assert_true(says("out.txt", "kept: nothing, r has no plan yet"));
  assert_int_equal(count("out.txt", "--resume"), 0);
  assert_null(scratch_read("calls"));
  assert_int_equal(poolbench(TWO_BY_TWO "--rounds 2"), EXIT_DONE); /* the folder is empty still */
}

/* The names of a file's samples, one a line, to be freed. */
static char *names_in(const char *file) {
  char *text = scratch_read(file), *names = NULL, *rest = text;
  size_t size = 0;
  FILE *out = open_memstream(&names, &size);
  assert_non_null(text);
  assert_non_null(out);
  for (char *line; (line = strsep(&rest, "\n")) != NULL;)
    if (strncmp(line, "Benchmark", 9) == 0)
      fprintf(out, "%.*s\n", (int)strcspn(line, "\t"), line);
  fclose(out);
  free(text);
  return names;
}

static void a_preset_writes_its_two_columns(void **state) {
  (void)state;
  scratch_script("w.sh", WORKER "[ $strategy = pooled-freelists ] && say 5 || say 10");
  assert_int_equal(poolbench("--preset k8s-freelists --cpus 2 --rounds 2 --out r --arm x=w.sh"),
                   EXIT_DONE);
  char *old = names_in("r/old.txt"), *new = names_in("r/new.txt");
  assert_string_equal(old, new);
  assert_int_equal(strncmp(old, "BenchmarkCompare/Pod/structured/build=x-2\n", 42), 0);
  free(old);
  free(new);
  assert_int_equal(count("r/old.txt", "\t10 ns/op"), 12);
  assert_int_equal(count("r/new.txt", "\t5 ns/op"), 12);
  json_t *r = record();
  const json_t *preset = json_object_get(r, "preset");
  assert_string_equal(text_at(json_object_get(preset, "new"), "strategy"), "pooled-freelists");
  assert_string_equal(text_at(json_object_get(preset, "new"), "discipline"), "as-merged");
  assert_string_equal(text_at(json_object_get(preset, "old"), "discipline"), "leaky");
  json_decref(r);
}

static void an_existing_folder_is_left_alone(void **state) {
  (void)state;
  scratch_script("w.sh", WORKER "say 10");
  scratch_write("r/precious", "x");
  assert_int_equal(poolbench(TWO_BY_TWO), EXIT_INPUT);
  assert_true(says("err.txt", "--out r is there already"));
  assert_null(scratch_read("r/run.json"));
}

static void a_dry_run_starts_and_writes_nothing(void **state) {
  (void)state;
  scratch_script("w.sh", WORKER "echo . >>\"$here/calls\"; say 10");
  assert_int_equal(poolbench(TWO_BY_TWO "--dry-run"), EXIT_DONE);
  assert_null(scratch_read("calls"));
  assert_null(scratch_read("r/run.json"));
  assert_true(says("out.txt", "Micro/pair/16B/strategy=per-thread/build=x-2"));
}

/* Whoever started by run.sh is told to go on with it. */
static void a_stopped_run_names_the_command_that_goes_on(void **state) {
  (void)state;
  scratch_script("w.sh", STOPS_AT_THE_SEVENTH);
  assert_int_equal(setenv("POOLBENCH_STARTED_BY", "./run.sh", 1), 0);
  int status = poolbench(TWO_BY_TWO "--rounds 3");
  assert_int_equal(unsetenv("POOLBENCH_STARTED_BY"), 0);
  assert_int_equal(status, EXIT_INTERRUPTED);
  assert_true(says("out.txt", " ./run.sh --resume r\n"));
}

static void wrong_usage_is_told_before_anything_happens(void **state) {
  (void)state;
  assert_int_equal(poolbench("--cpus 0-31"), EXIT_USAGE);
  assert_true(says("err.txt", "use --cpuset 0-31"));
  assert_int_equal(poolbench("--cpus 2 --cpuset 0-100000"), EXIT_USAGE);
  assert_true(says("err.txt", "it may use"));
  assert_int_equal(poolbench("--cpus 2 --strategies nosuch"), EXIT_USAGE);
  assert_int_equal(poolbench("--cpus 2 --inject global-locked=20001"), EXIT_USAGE);
  assert_true(says("err.txt", "inject=20001: give 0..20000 ns"));
  assert_int_equal(poolbench("--resume nowhere"), EXIT_INPUT);
  assert_int_equal(poolbench("--resume out.txt"), EXIT_INPUT);
  assert_true(says("err.txt", "--resume out.txt: not a run's folder but a file"));
  assert_int_equal(poolbench("--resume ."), EXIT_INPUT);
  assert_true(says("err.txt", ". is no run's folder: its run.json: No such file"));
  assert_int_equal(poolbench("--cpus 2 --arm old=/no/such"), EXIT_INPUT);
  assert_true(says("err.txt", "--arm old=/no/such: cannot be run"));
  assert_int_equal(poolbench("--allocators x=/no/such.so --cpus 2"), EXIT_INPUT);
  assert_int_equal(poolbench("--cpus 2 --inject nosuch=5"), EXIT_USAGE);
  assert_true(says("err.txt", "--inject: no strategy \"nosuch\""));
  assert_int_equal(poolbench("--cpus 2 --cases HandlersIdle* --set handlers=0"), EXIT_USAGE);
  assert_true(says("err.txt", "--set: HandlersIdle: handlers=0: want a number"));
}

/* What only a process can tell is asked once, before a folder is made. */
static void what_cannot_be_measured_is_told_before_it_is(void **state) {
  (void)state;
  assert_int_equal(poolbench(ONE_CELL "--arm x=/bin/true --arm y=/bin/true"), EXIT_INPUT);
  assert_true(says("err.txt", "--arm x=/bin/true: is no poolbench"));
  assert_int_equal(poolbench(ONE_CELL "--counters task-clok"), EXIT_USAGE);
  assert_true(says("err.txt", "--counters: unknown event \"task-clok\"; did you mean task-clock?"));
  assert_int_equal(poolbench(ONE_CELL "--counters task-clock,,page-faults"), EXIT_USAGE);
  assert_true(says("err.txt", "--counters: an empty name"));
  assert_null(scratch_read("r/run.json"));
}

/* --- with real workers ------------------------------------------------------------------- */

static void real_samples_measure_and_a_real_crash_is_named(void **state) {
  (void)state;
  assert_int_equal(poolbench("--cpus 1 --rounds 2 --window 5ms --out r --strategies malloc "
                             "--cases Micro/pair/64B,Selftest/crash"),
                   EXIT_SAMPLES);
  assert_int_equal(count("r/samples.txt", "BenchmarkMicro/pair/64B/strategy=malloc-1\t"), 2);
  /* One object of 64 bytes an op, whatever the harness does around it. */
  assert_int_equal(count("r/samples.txt", "\t64 B/op\t1 allocs/op\n"), 2);
  assert_true(says("out.txt", "Selftest/crash/strategy=malloc-1, round 1: crashed"));
  json_t *r = record();
  const json_t *times = json_object_get(r, "times");
  assert_true(number_at(times, "measured_ns") > 0); /* how long is up to the machine */
  assert_true(number_at(times, "wall_ns") > number_at(times, "measured_ns"));
  json_decref(r);
}

static void one_cpu_is_enough(void **state) {
  (void)state;
  /* The first CPU that this process may use. */
  cpu_set_t allowed;
  char line[300];
  int cpu = 0;
  assert_int_equal(sched_getaffinity(0, sizeof allowed, &allowed), 0);
  while (!CPU_ISSET(cpu, &allowed))
    cpu++;
  snprintf(line, sizeof line,
           "--cpus 3 --cpuset %d --rounds 1 --window 5ms --out r --strategies malloc "
           "--cases Micro/pair/64B --sweep-rounds 0",
           cpu);
  assert_int_equal(poolbench(line), EXIT_DONE);
  assert_true(says("out.txt", "3 threads on 1 CPU (3 a CPU, oversubscribed)"));
  json_t *r = record();
  const json_t *map = json_array_get(json_object_get(json_object_get(r, "binding"), "maps"), 0);
  const json_t *cpus = json_object_get(map, "cpus");
  assert_int_equal(json_array_size(cpus), 3);
  assert_int_equal(json_integer_value(json_array_get(cpus, 2)), cpu);
  assert_int_equal(json_array_size(json_object_get(map, "first_touch_nodes")), 3);
  snprintf(line, sizeof line, "threads in order on CPU %d; first touch on NUMA node ", cpu);
  assert_true(says("out.txt", line));
  json_decref(r);
}

#ifndef __SANITIZE_ADDRESS__ /* its own malloc comes first, and it says so */
static void a_library_that_is_no_allocator_is_refused(void **state) {
  (void)state;
  char line[300];
  static const char *const folders[] = {"/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu",
                                        "/usr/lib64", "/usr/lib"};
  for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
    snprintf(line, sizeof line, "%s/libm.so.6", folders[i]);
    if (access(line, R_OK) != 0)
      continue;
    snprintf(line, sizeof line,
             "--cpus 1 --out r --cases Micro/pair/64B --allocators fake=%s/libm.so.6", folders[i]);
    assert_int_equal(poolbench(line), EXIT_INPUT);
    assert_true(says("err.txt", "fake does not serve as an allocator"));
    assert_null(scratch_read("r/run.json"));
    return;
  }
  skip();
}

/* A library is compiled here: there is none in a distribution that gives no memory. */
static void an_allocator_that_gives_nothing_is_told_as_such(void **state) {
  (void)state;
  char line[1200];
#ifdef __SANITIZE_THREAD__
  skip();
#endif
  scratch_write("none.c", "#include <stddef.h>\n"
                          "void *malloc(size_t n) { (void)n; return NULL; }\n"
                          "void *calloc(size_t n, size_t m) { (void)n, (void)m; return NULL; }\n"
                          "void *realloc(void *p, size_t n) { (void)p, (void)n; return NULL; }\n"
                          "void free(void *p) { (void)p; }\n");
  snprintf(line, sizeof line, "cc -shared -fPIC -fno-builtin -o '%s' '%s' 2>/dev/null",
           scratch_path("none.so"), scratch_path("none.c"));
  if (system(line) != 0)
    skip();
  snprintf(line, sizeof line, ONE_CELL "--allocators none=%s", scratch_path("none.so"));
  assert_int_equal(poolbench(line), EXIT_INPUT);
  assert_true(says("err.txt", "none does not serve as an allocator"));
  assert_true(says("err.txt", "its malloc returned no memory"));
  assert_null(scratch_read("r/run.json"));
}

static void a_library_under_the_name_of_another_is_refused(void **state) {
  (void)state;
  struct allocators a;
  struct error e;
  char line[500];
#ifdef __SANITIZE_THREAD__ /* its malloc takes the library's place */
  skip();
#endif
  if (!allocators_find(&a, "gperftools", NULL, &e))
    skip();
  snprintf(line, sizeof line, ONE_CELL "--allocators jemalloc=%.300s", a.items[0].path);
  allocators_free(&a);
  assert_int_equal(poolbench(line), EXIT_USAGE);
  assert_true(says("err.txt", "this library is gperftools, not jemalloc"));
  assert_null(scratch_read("r/run.json"));
}

/* Two builds of one allocator are two files of any name: what they are is asked of them. */
static void a_build_under_any_file_name_is_recognised(void **state) {
  (void)state;
  struct allocators a;
  struct error e;
  char line[900];
#ifdef __SANITIZE_THREAD__
  skip();
#endif
  if (!allocators_find(&a, "gperftools", NULL, &e))
    skip();
  scratch_write("b.so", "");
  snprintf(line, sizeof line, "cp '%.300s' '%s'", a.items[0].path, scratch_path("b.so"));
  allocators_free(&a);
  assert_int_equal(system(line), 0);
  snprintf(line, sizeof line, ONE_CELL "--allocators new=%.300s", scratch_path("b.so"));
  assert_int_equal(poolbench(line), EXIT_DONE);
  json_t *r = record();
  const json_t *new = json_array_get(json_object_get(r, "allocators"), 0);
  const char *version = json_string_value(json_object_get(new, "version"));
  assert_string_equal(json_string_value(json_object_get(new, "name")), "new");
  assert_string_not_equal(version, "unknown");
  assert_null(json_object_get(json_object_get(r, "missing"), "heap-held-B"));
  json_decref(r);
}
#endif

#define IN_SCRATCH(test) cmocka_unit_test_setup_teardown(test, scratch_open, scratch_close)

int main(int argc, char **argv) {
  if (argc > 1 && strcmp(argv[1], "worker") == 0)
    return worker_main(argc - 1, argv + 1);
  if (argc > 1 && strcmp(argv[1], "probe") == 0)
    return probe_main(argc - 1, argv + 1);
  usual_signals();
  const struct CMUnitTest tests[] = {
      IN_SCRATCH(every_cell_is_measured_once_a_round),
      IN_SCRATCH(a_strategy_that_crashes_costs_itself_only),
      IN_SCRATCH(garbage_and_errors_are_told_apart),
      IN_SCRATCH(progress_counts_what_is_not_tried_again),
      IN_SCRATCH(a_cell_that_does_not_finish_is_a_bound),
      IN_SCRATCH(a_run_that_is_stopped_goes_on),
      IN_SCRATCH(a_run_that_gave_up_rounds_is_complete),
      IN_SCRATCH(a_run_in_the_background_is_stopped_by_sigterm_alone),
      IN_SCRATCH(the_binding_is_printed_and_recorded),
      IN_SCRATCH(a_second_kill_costs_nothing_of_the_first),
      IN_SCRATCH(what_a_cut_file_lost_is_measured_again),
      IN_SCRATCH(a_damaged_plan_is_refused),
      IN_SCRATCH(what_is_no_file_is_not_read),
      IN_SCRATCH(a_resumed_run_keeps_its_forecasts),
      IN_SCRATCH(order_follows_from_the_seed),
      IN_SCRATCH(a_changed_build_is_not_mixed_in),
      IN_SCRATCH(a_full_disk_stops_the_run_and_keeps_it_readable),
      IN_SCRATCH(a_disk_without_room_for_the_plan_is_told_at_once),
      IN_SCRATCH(a_preset_writes_its_two_columns),
      IN_SCRATCH(an_existing_folder_is_left_alone),
      IN_SCRATCH(a_dry_run_starts_and_writes_nothing),
      IN_SCRATCH(a_stopped_run_names_the_command_that_goes_on),
      IN_SCRATCH(wrong_usage_is_told_before_anything_happens),
      IN_SCRATCH(what_cannot_be_measured_is_told_before_it_is),
      IN_SCRATCH(real_samples_measure_and_a_real_crash_is_named),
      IN_SCRATCH(one_cpu_is_enough),
#ifndef __SANITIZE_ADDRESS__
      IN_SCRATCH(a_library_that_is_no_allocator_is_refused),
      IN_SCRATCH(an_allocator_that_gives_nothing_is_told_as_such),
      IN_SCRATCH(a_library_under_the_name_of_another_is_refused),
      IN_SCRATCH(a_build_under_any_file_name_is_recognised),
#endif
  };
  return cmocka_run_group_tests_name("run", tests, NULL, NULL);
}
