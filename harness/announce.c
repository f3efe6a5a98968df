/* What `poolbench run` tells the user before and after measuring; see run.h. Only prints. */
#include "harness/plural.h"
#include "harness/progress.h"
#include "harness/run.h"
#include "harness/shellword.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void announce_machine(const struct run *run) {
  char line[300], host[200], map[1000];
  placement_line(&run->placement, run->plan.headline, line, sizeof line);
  host_line(&run->host, host, sizeof host);
  placement_map_line(&run->placement, run->plan.headline, map, sizeof map);
  printf("%s%s\n%s\n", line, host, map);
}

static void print_list(const char *before, const char *item, bool first) {
  printf("%s%s", first ? before : ", ", item);
}

static void print_arms(const struct run *run) {
  const struct plan *p = &run->plan;
  for (size_t i = 0; i < p->arm_count; i++) {
    char text[STRATEGY_SPEC_MAX + 40];
    bool plain = p->arms[i].discipline == DISCIPLINE_BALANCED;
    snprintf(text, sizeof text, "%s%s%s%s", p->arms[i].label, plain ? "" : "+",
             plain ? "" : discipline_name(p->arms[i].discipline), i == 0 ? " (base)" : "");
    print_list("strategies: ", text, i == 0);
  }
  putchar('\n');
  for (size_t i = 0; run->allocators.count > 1 && i < run->allocators.count; i++)
    print_list("allocators: ", run->allocators.items[i].label, i == 0);
  if (run->allocators.count > 1)
    putchar('\n');
  for (size_t i = 0; i < run->allocators.missing_count; i++)
    printf("skipped: allocator %s is not installed (apt-get install %s)\n",
           run->allocators.missing[i].name, run->allocators.missing[i].package);
}

/* A skipped strategy once for each reason, with the cases or their number. */
static void print_skips(const struct plan *p) {
  for (size_t i = 0; i < p->skip_count; i++) {
    const struct plan_skip *s = &p->skips[i];
    size_t same = 0, earlier = 0;
    for (size_t k = 0; k < p->skip_count; k++)
      if (p->skips[k].arm == s->arm && strcmp(p->skips[k].why, s->why) == 0) {
        same++;
        earlier += k < i;
      }
    if (earlier)
      continue;
    if (same == 1)
      printf("skipped: %s under %s: %s\n", s->case_name, s->arm, s->why);
    else
      printf("skipped: %s and %zu more under %s: %s\n", s->case_name, same - 1, s->arm, s->why);
  }
}

void announce_plan(const struct run *run) {
  const struct plan *p = &run->plan;
  size_t headline = 0, sweep = 0, samples = 0;
  char time[16];
  for (size_t i = 0; i < p->cell_count; i++) {
    const struct plan_cell *c = &p->cells[i];
    *(c->headline ? &headline : &sweep) += c->rounds ? 1 : 0;
    samples += c->rounds;
  }
  print_arms(run);
  print_skips(p);
  for (size_t i = 0; i < p->note_count; i++)
    printf("note: %s\n", p->notes[i]);
  progress_time((double)plan_expected(p, 0) / 1e9, time);
  printf("%zu cell%s at %u thread%s in %u round%s", headline, plural((double)headline), p->headline,
         plural(p->headline), p->rounds, plural(p->rounds));
  if (sweep)
    printf(", %zu at other counts in %u", sweep, p->sweep_rounds);
  printf(": %zu sample%s, about %s; seed %" PRIu64 "\n", samples, plural((double)samples), time,
         p->seed);
  if (run->results.count)
    printf("resumed: %zu of them are there\n", run->results.count);
}

void announce_cells(const struct plan *p) {
  for (size_t i = 0; i < p->cell_count; i++) {
    const struct plan_cell *c = &p->cells[i];
    if (c->rounds)
      printf("%-70s %-10s %3u round%-2s window %4" PRIu64 " ms, about %5.1f s\n", c->name + 9,
             c->allocator->label, c->rounds, c->rounds == 1 ? "," : "s,", c->window / 1000000,
             (double)(c->expected * c->rounds) / 1e9);
  }
}

/* The last line of what a worker printed, without its newline. */
static void print_last_line(const char *output) {
  size_t end = strlen(output);
  while (end > 0 && output[end - 1] == '\n')
    end--;
  size_t start = end;
  while (start > 0 && output[start - 1] != '\n')
    start--;
  if (end > start)
    printf("        it said: %.*s\n", (int)(end - start), output + start);
}

static void print_failures(const struct run *run) {
  enum { SHOWN = 10 };
  for (size_t i = 0; i < run->failure_count && i < SHOWN; i++) {
    const struct run_failure *f = &run->failures[i];
    printf("failed: %s, round %u: %s: %s\n", run->plan.cells[f->cell].name + 9, f->round, f->what,
           f->why);
    print_last_line(f->output);
  }
  if (run->failure_count > SHOWN)
    printf("failed: %zu more, all in %s/run.json\n", run->failure_count - SHOWN, run->files.folder);
  for (size_t i = 0; i < run->plan.cell_count; i++)
    if (run->cells[i].given_up)
      printf("given up: %s after %d in a row that failed or hit their limit\n",
             run->plan.cells[i].name + 9, RUN_GIVE_UP_AFTER);
}

/* A program that lies beside this one, by the path that this one was called by. */
static void add_program(char *out, size_t size, const char *name) {
  const char *slash = strrchr(program_invocation_name, '/');
  char path[PATH_MAX];
  snprintf(path, sizeof path, "%.*s%s", slash ? (int)(slash + 1 - program_invocation_name) : 0,
           program_invocation_name, name);
  shellword_add(out, size, path);
}

/* Commands to be copied, so that they have to work where this one did. */
static void print_commands(const char *folder, const char *samples) {
  char path[PATH_MAX + 16], command[4 * PATH_MAX] = "";
  if (samples) {
    snprintf(path, sizeof path, "%s/%s", folder, samples);
    add_program(command, sizeof command, "poolcmp");
    shellword_add(command, sizeof command, "-col");
    shellword_add(command, sizeof command, "/strategy");
    shellword_add(command, sizeof command, path);
    printf("compare what is there: %s\n", command);
  }
  *command = '\0';
  const char *script = getenv("POOLBENCH_STARTED_BY"); /* run.sh, which also makes the report */
  if (script && *script) {
    shellword_add(command, sizeof command, script);
  } else {
    add_program(command, sizeof command, "poolbench");
    shellword_add(command, sizeof command, "run");
  }
  shellword_add(command, sizeof command, "--resume");
  shellword_add(command, sizeof command, folder);
  printf("go on:                 %s\n", command);
}

/* The run ended early: what is there, and how to use it and to go on. */
static void print_kept(const struct run *run) {
  const char *folder = run->files.folder;
  if (!run->files.recorded) {
    printf("kept: nothing, %s has no plan yet; start again where there is room (--out)\n", folder);
    return;
  }
  printf("kept: %u whole round%s, %zu sample%s in all, in %s\n", run->rounds_done,
         plural(run->rounds_done), run->results.count, plural((double)run->results.count), folder);
  const char *samples = run->rounds_done ? "samples.txt" : "round.part";
  print_commands(folder, run->results.count ? samples : NULL);
}

static void print_left_out(const char *what, unsigned measured, unsigned planned) {
  if (measured < planned)
    printf("given up: %u of %u rounds %s, for lack of time; a new run with a larger --budget "
           "measures them\n",
           planned - measured, planned, what);
}

void announce_complete(const struct run *run, unsigned rounds, unsigned sweep_rounds) {
  print_failures(run);
  print_left_out("of the headline", run->plan.rounds, rounds);
  print_left_out("of the sweep", run->plan.sweep_rounds, sweep_rounds);
  printf("complete: %s has its %zu samples; nothing is left to measure\n", run->files.folder,
         run->results.count);
}

void announce_end(const struct run *run) {
  char time[16];
  const struct run_times *t = &run->times;
  progress_time((double)t->wall_ns / 1e9, time);
  print_failures(run);
  if (run->status == RUN_COMPLETE)
    printf("done: %zu sample%s in %s; %.0f %% of it measured, %.0f %% warm-up; %s\n",
           run->results.count, plural((double)run->results.count), time,
           100 * (double)t->measured_ns / (double)t->wall_ns,
           100 * (double)t->warmup_ns / (double)t->wall_ns, run->files.folder);
  else
    print_kept(run);
}
