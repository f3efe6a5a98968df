/* Binding plans from hwloc topologies; see placement.h. Binds nothing itself. */
#include "harness/placement.h"

#include "harness/plural.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const policy_names[] = {
    [BIND_CORE] = "core",       [BIND_PU] = "pu",     [BIND_NUMA] = "numa",
    [BIND_PACKAGE] = "package", [BIND_NONE] = "none",
};

const char *bind_policy_name(enum bind_policy p) {
  return policy_names[p];
}

bool bind_policy_parse(const char *text, enum bind_policy *out) {
  for (size_t i = 0; i < sizeof policy_names / sizeof policy_names[0]; i++)
    if (strcmp(text, policy_names[i]) == 0) {
      *out = (enum bind_policy)i;
      return true;
    }
  return false;
}

hwloc_topology_t placement_topology(struct error *e) {
  hwloc_topology_t t;
  if (hwloc_topology_init(&t) != 0) {
    error_errno(e, EXIT_INPUT, "reading the topology of this machine (hwloc)");
    return NULL;
  }
  if (hwloc_topology_load(t) != 0) {
    error_errno(e, EXIT_INPUT, "reading the topology of this machine (hwloc)");
    hwloc_topology_destroy(t);
    return NULL;
  }
  return t;
}

/* A usable hardware thread and what decides its place in the order. */
struct place {
  int cpu;          /* OS number */
  int slowness;     /* 0 for the fastest kind of core */
  unsigned core;    /* logical number of its core */
  unsigned sibling; /* its number among the core's usable hardware threads */
  unsigned group;   /* NUMA node or package, by policy */
  unsigned turn;    /* its number within the group */
  int node;
};

static int by_number(long a, long b) {
  return (a > b) - (a < b);
}

/* One thread a core first; faster cores first; siblings last. */
static int by_core(const void *a, const void *b) {
  const struct place *x = a, *y = b;
  int c = by_number(x->sibling, y->sibling);
  if (c == 0)
    c = by_number(x->slowness, y->slowness);
  if (c == 0)
    c = by_number(x->core, y->core);
  return c;
}

static int by_pu(const void *a, const void *b) {
  const struct place *x = a, *y = b;
  int c = by_number(x->slowness, y->slowness);
  if (c == 0)
    c = by_number(x->core, y->core);
  return c ? c : by_number(x->sibling, y->sibling);
}

static int by_turn(const void *a, const void *b) {
  const struct place *x = a, *y = b;
  int c = by_number(x->turn, y->turn);
  return c ? c : by_number(x->group, y->group);
}

static unsigned ancestor_number(hwloc_topology_t t, hwloc_obj_t pu, hwloc_obj_type_t type,
                                unsigned otherwise) {
  hwloc_obj_t o = hwloc_get_ancestor_obj_by_type(t, type, pu);
  return o ? o->logical_index : otherwise;
}

/* The NUMA node whose CPUs include this one; 0 where the machine has no nodes. */
static hwloc_obj_t node_of(hwloc_topology_t t, hwloc_obj_t pu) {
  hwloc_obj_t node = NULL;
  while ((node = hwloc_get_next_obj_by_type(t, HWLOC_OBJ_NUMANODE, node)) != NULL)
    if (hwloc_bitmap_intersects(node->cpuset, pu->cpuset))
      return node;
  return NULL;
}

/* hwloc numbers kinds from the slowest up; -1 means that it does not know. */
static int slowness_of(hwloc_topology_t t, hwloc_obj_t pu, int kinds) {
  int kind = hwloc_cpukinds_get_by_cpuset(t, pu->cpuset, 0);
  return kind < 0 || kinds <= 1 ? 0 : kinds - 1 - kind;
}

static size_t collect(hwloc_topology_t t, hwloc_const_bitmap_t usable, enum bind_policy policy,
                      struct place *places) {
  int kinds = hwloc_cpukinds_get_nr(t, 0);
  size_t n = 0;
  hwloc_obj_t pu = NULL;
  while ((pu = hwloc_get_next_obj_by_type(t, HWLOC_OBJ_PU, pu)) != NULL) {
    if (!hwloc_bitmap_isset(usable, pu->os_index))
      continue;
    struct place *p = &places[n];
    hwloc_obj_t node = node_of(t, pu);
    *p = (struct place){.cpu = (int)pu->os_index,
                        .slowness = slowness_of(t, pu, kinds),
                        .core = ancestor_number(t, pu, HWLOC_OBJ_CORE, pu->logical_index),
                        .node = node ? (int)node->os_index : 0};
    /* Hardware threads of a core are neighbours in hwloc's order. */
    if (n > 0 && places[n - 1].core == p->core)
      p->sibling = places[n - 1].sibling + 1;
    if (policy == BIND_NUMA)
      p->group = node ? node->logical_index : 0;
    if (policy == BIND_PACKAGE)
      p->group = ancestor_number(t, pu, HWLOC_OBJ_PACKAGE, 0);
    n++;
  }
  return n;
}

/* Sorts, and for the policies that take groups in turn deals each group's own order out. */
static void arrange(struct place *places, size_t n, enum bind_policy policy) {
  qsort(places, n, sizeof *places, policy == BIND_PU ? by_pu : by_core);
  if (policy != BIND_NUMA && policy != BIND_PACKAGE)
    return;
  for (size_t i = 0; i < n; i++)
    for (size_t j = i; j-- > 0;)
      if (places[j].group == places[i].group) {
        places[i].turn = places[j].turn + 1;
        break;
      }
  qsort(places, n, sizeof *places, by_turn);
}

static bool set_error_not_allowed(hwloc_const_bitmap_t wanted, hwloc_const_bitmap_t allowed,
                                  const char *cpuset, struct error *e) {
  hwloc_bitmap_t extra = hwloc_bitmap_alloc();
  char *what = NULL, *have = NULL;
  if (extra)
    hwloc_bitmap_andnot(extra, wanted, allowed);
  if (extra)
    hwloc_bitmap_list_asprintf(&what, extra);
  hwloc_bitmap_list_asprintf(&have, allowed);
  error_set(e, EXIT_USAGE,
            "--cpuset %s: CPU %s is not there or not allowed to this process; it may use %s",
            cpuset, what ? what : "?", have ? have : "?");
  free(what);
  free(have);
  hwloc_bitmap_free(extra);
  return false;
}

/* One "A" or "A-B"; leaves *text behind it. */
static bool read_range(const char **text, unsigned long *first, unsigned long *last) {
  char *end;
  if (!isdigit((unsigned char)**text))
    return false;
  *first = *last = strtoul(*text, &end, 10);
  if (*end == '-') {
    if (!isdigit((unsigned char)end[1]))
      return false;
    *last = strtoul(end + 1, &end, 10);
  }
  *text = end;
  return *first <= *last && *last < 1000000; /* far above any machine, and cheap to hold */
}

/* hwloc's own reader takes "3-" as "3 and all above" and skips over junk, so not that one. */
static bool read_cpuset(const char *text, hwloc_bitmap_t out, struct error *e) {
  const char *p = text;
  for (;;) {
    unsigned long first, last;
    if (!read_range(&p, &first, &last) || (*p != ',' && *p != '\0'))
      return error_set(e, EXIT_USAGE, "--cpuset %s: write CPU numbers and ranges, such as 0-3,8",
                       text);
    hwloc_bitmap_set_range(out, (unsigned)first, (int)last);
    if (*p++ == '\0')
      return true;
  }
}

/* What may be used: the topology's CPUs that are allowed, narrowed by the user's list. */
static bool usable_set(hwloc_topology_t t, hwloc_const_bitmap_t allowed, const char *cpuset,
                       hwloc_bitmap_t out, struct error *e) {
  hwloc_bitmap_copy(out, hwloc_topology_get_topology_cpuset(t));
  if (allowed)
    hwloc_bitmap_and(out, out, allowed);
  if (!cpuset)
    return true;
  hwloc_bitmap_t wanted = hwloc_bitmap_alloc();
  if (!wanted)
    return error_set(e, EXIT_INPUT, "out of memory");
  bool ok = read_cpuset(cpuset, wanted, e);
  if (ok && !hwloc_bitmap_isincluded(wanted, out))
    ok = set_error_not_allowed(wanted, out, cpuset, e);
  if (ok)
    hwloc_bitmap_copy(out, wanted);
  hwloc_bitmap_free(wanted);
  return ok;
}

static unsigned count_objects(hwloc_topology_t t, hwloc_obj_type_t type,
                              hwloc_const_bitmap_t usable) {
  unsigned n = 0;
  hwloc_obj_t o = NULL;
  while ((o = hwloc_get_next_obj_by_type(t, type, o)) != NULL)
    n += hwloc_bitmap_intersects(o->cpuset, usable) ? 1 : 0;
  return n ? n : 1;
}

static unsigned count_kinds(const struct place *places, size_t n) {
  unsigned kinds = 0;
  for (size_t i = 0; i < n; i++) {
    bool seen = false;
    for (size_t j = 0; j < i && !seen; j++)
      seen = places[j].slowness == places[i].slowness;
    kinds += !seen;
  }
  return kinds;
}

static bool fill(struct placement *p, hwloc_topology_t t, hwloc_const_bitmap_t usable,
                 struct error *e) {
  int weight = hwloc_bitmap_weight(usable);
  if (weight <= 0)
    return error_set(e, EXIT_INPUT, "no CPU of this machine is allowed to this process");
  size_t room = (size_t)weight;
  struct place *places = calloc(room, sizeof *places);
  p->order = calloc(room, sizeof *p->order);
  p->node = calloc(room, sizeof *p->node);
  if (!places || !p->order || !p->node || hwloc_bitmap_list_asprintf(&p->cpu_list, usable) < 0) {
    free(places);
    return error_set(e, EXIT_INPUT, "out of memory");
  }
  size_t n = collect(t, usable, p->policy, places);
  arrange(places, n, p->policy);
  for (size_t i = 0; i < n; i++) {
    p->order[i] = places[i].cpu;
    p->node[i] = places[i].node;
  }
  p->cpus = (unsigned)n;
  p->cores = count_objects(t, HWLOC_OBJ_CORE, usable);
  p->packages = count_objects(t, HWLOC_OBJ_PACKAGE, usable);
  p->nodes = count_objects(t, HWLOC_OBJ_NUMANODE, usable);
  p->core_kinds = count_kinds(places, n);
  free(places);
  return true;
}

bool placement_init(struct placement *p, hwloc_topology_t topology, hwloc_const_bitmap_t allowed,
                    const char *cpuset, enum bind_policy policy, struct error *e) {
  *p = (struct placement){.policy = policy};
  hwloc_bitmap_t usable = hwloc_bitmap_alloc();
  if (!usable)
    return error_set(e, EXIT_INPUT, "out of memory");
  bool ok = usable_set(topology, allowed, cpuset, usable, e) && fill(p, topology, usable, e);
  hwloc_bitmap_free(usable);
  if (!ok)
    placement_free(p);
  return ok;
}

void placement_free(struct placement *p) {
  free(p->order);
  free(p->node);
  free(p->cpu_list);
  *p = (struct placement){0};
}

void placement_line(const struct placement *p, unsigned threads, char *text, size_t size) {
  char share[80] = "";
  unsigned least = threads / p->cpus, most = (threads + p->cpus - 1) / p->cpus;
  if (threads > p->cpus && least == most)
    snprintf(share, sizeof share, " (%u a CPU, oversubscribed)", most);
  else if (threads > p->cpus)
    snprintf(share, sizeof share, " (%u or %u a CPU, oversubscribed)", least, most);
  else if (threads > p->cores && p->policy != BIND_NONE)
    snprintf(share, sizeof share, " (%u core%s, siblings share %s)", p->cores, plural(p->cores),
             p->cores == 1 ? "it" : "them");
  snprintf(text, size, "%u thread%s on %u CPU%s%s%s%s, %u NUMA node%s", threads, plural(threads),
           p->cpus, plural(p->cpus), share, p->core_kinds > 1 ? ", cores of unequal speed" : "",
           p->policy == BIND_NONE ? ", not bound" : "", p->nodes, plural(p->nodes));
}

/* A text that grows to its buffer's end and there into "...". */
struct words {
  char *text;
  size_t size, used;
};

__attribute__((format(printf, 2, 3))) static void say(struct words *w, const char *format, ...) {
  va_list args;
  size_t left = w->size - w->used;
  va_start(args, format);
  int n = vsnprintf(w->text + w->used, left, format, args);
  va_end(args);
  if (n < 0)
    return;
  if ((size_t)n < left)
    w->used += (size_t)n;
  else if (w->size > 4) {
    memcpy(w->text + w->size - 4, "...", 4);
    w->used = w->size - 1;
  }
}

/* How many of the numbers from the first on have equal steps upwards. */
static size_t run_length(const int *numbers, size_t count) {
  size_t n = 1;
  while (n < count && numbers[n] > numbers[n - 1] &&
         numbers[n] - numbers[n - 1] == numbers[1] - numbers[0])
    n++;
  return n;
}

/* Four and more in equal steps become A-B or A-B:STEP. */
static void say_numbers(struct words *w, const int *numbers, size_t count) {
  for (size_t i = 0, n; i < count; i += n) {
    n = run_length(numbers + i, count - i);
    n = n < 4 ? 1 : n;
    say(w, "%s%d", i ? "," : "", numbers[i]);
    if (n > 1)
      say(w, "-%d", numbers[i + n - 1]);
    if (n > 1 && numbers[i + 1] - numbers[i] > 1)
      say(w, ":%d", numbers[i + 1] - numbers[i]);
  }
}

static bool node_named_before(const struct placement *p, unsigned cpu) {
  for (unsigned i = 0; i < cpu; i++)
    if (p->node[i] == p->node[cpu])
      return true;
  return false;
}

/* Each node once, with its threads where there are others. numbers: room for all threads. */
static void say_nodes(struct words *w, const struct placement *p, unsigned threads, int *numbers) {
  unsigned used = threads < p->cpus ? threads : p->cpus;
  say(w, "; first touch on NUMA node ");
  for (unsigned cpu = 0; cpu < used; cpu++) {
    size_t count = 0;
    if (node_named_before(p, cpu))
      continue;
    for (unsigned i = 0; i < threads; i++)
      if (placement_node(p, i) == p->node[cpu])
        numbers[count++] = (int)i;
    say(w, "%s%d", cpu ? ", " : "", p->node[cpu]);
    if (count == threads)
      return;
    say(w, cpu ? " (" : " (threads ");
    say_numbers(w, numbers, count);
    say(w, ")");
  }
}

void placement_map_line(const struct placement *p, unsigned threads, char *text, size_t size) {
  struct words w = {text, size, 0};
  unsigned used = threads < p->cpus ? threads : p->cpus;
  int *numbers = calloc(threads, sizeof *numbers);
  text[0] = '\0';
  if (p->policy == BIND_NONE || !numbers) {
    say(&w, "threads on any of CPUs %s, where their memory comes from is the scheduler's choice",
        p->cpu_list);
    free(numbers);
    return;
  }
  say(&w, "threads in order on CPU%s ", plural(used));
  say_numbers(&w, p->order, used);
  if (threads > p->cpus && p->cpus > 1)
    say(&w, ", then around again");
  say_nodes(&w, p, threads, numbers);
  free(numbers);
}
