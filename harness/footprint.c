/*
 * Allocators as they present themselves; see footprint.h.
 *
 * Everything is looked up at run time, so that nothing here needs the allocators to build. A
 * new allocator is one line in `known` and, if it tells, two small functions.
 */
#include "harness/footprint.h"
#include "harness/heap.h"

#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <limits.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ISO C has no conversion from object to function pointers; POSIX promises that dlsym's works. */
#define LOOK_UP(function, symbol) (*(void **)&(function) = dlsym(RTLD_DEFAULT, symbol))

/* ---- versions ---- */

static void version_glibc(struct allocator *a) {
  snprintf(a->version, sizeof a->version, "%s", gnu_get_libc_version());
}

/* "5.3.0-0-g54eaed1d8b56b1aa528be3bdd1877e59c56fa90c": up to the first dash it is the release. */
static void version_jemalloc(struct allocator *a) {
  int (*mallctl)(const char *, void *, size_t *, void *, size_t);
  const char *text;
  size_t size = sizeof text;
  if (LOOK_UP(mallctl, "mallctl") && mallctl("version", &text, &size, NULL, 0) == 0)
    snprintf(a->version, sizeof a->version, "%.*s", (int)strcspn(text, "-"), text);
}

static void version_gperftools(struct allocator *a) {
  const char *(*tc_version)(int *, int *, const char **);
  int major, minor;
  const char *patch;
  if (LOOK_UP(tc_version, "tc_version")) {
    tc_version(&major, &minor, &patch);
    snprintf(a->version, sizeof a->version, "%d.%d%s", major, minor, patch ? patch : "");
  }
}

/* 209 is 2.0.9; from 2.1.0 on as well, since minor and patch have one digit each. */
static void version_mimalloc(struct allocator *a) {
  int (*mi_version)(void);
  if (LOOK_UP(mi_version, "mi_version")) {
    int v = mi_version();
    snprintf(a->version, sizeof a->version, "%d.%d.%d", v / 100, v / 10 % 10, v % 10);
  }
}

/* A library without a word of its own: what its file is called, "libx.so.2.8" being 2.8. */
static void version_of_file(struct allocator *a) {
  char real[PATH_MAX];
  const char *so = realpath(a->path, real) ? strstr(real, ".so.") : NULL;
  if (so)
    snprintf(a->version, sizeof a->version, "%.*s", (int)sizeof a->version - 1, so + 4);
}

/* ---- system bytes ---- */

static bool bytes_glibc(uint64_t *bytes) {
  struct mallinfo2 m = mallinfo2(); /* over all arenas */
  *bytes = m.arena + m.hblkhd;
  return true;
}

static bool bytes_jemalloc(uint64_t *bytes) {
  int (*mallctl)(const char *, void *, size_t *, void *, size_t);
  uint64_t epoch = 1; /* writing it brings the statistics up to date */
  size_t resident, size = sizeof resident;
  if (!LOOK_UP(mallctl, "mallctl") || mallctl("epoch", NULL, NULL, &epoch, sizeof epoch) != 0 ||
      mallctl("stats.resident", &resident, &size, NULL, 0) != 0)
    return false;
  *bytes = resident;
  return true;
}

static bool bytes_gperftools(uint64_t *bytes) {
  int (*property)(const char *, size_t *);
  size_t heap, unmapped;
  if (!LOOK_UP(property, "MallocExtension_GetNumericProperty") ||
      !property("generic.heap_size", &heap) ||
      !property("tcmalloc.pageheap_unmapped_bytes", &unmapped))
    return false;
  *bytes = heap - unmapped;
  return true;
}

static bool bytes_mimalloc(uint64_t *bytes) {
  void (*info)(size_t *, size_t *, size_t *, size_t *, size_t *, size_t *, size_t *, size_t *);
  size_t commit = 0;
  if (!LOOK_UP(info, "mi_process_info"))
    return false;
  info(NULL, NULL, NULL, NULL, NULL, &commit, NULL, NULL);
  *bytes = commit;
  return commit != 0;
}

/* ---- giving back ---- */

static bool release_glibc(void) {
  malloc_trim(0); /* every arena; a thread's own cache of a few chunks a size stays */
  return true;
}

static bool release_jemalloc(void) {
  int (*mallctl)(const char *, void *, size_t *, void *, size_t);
  if (!LOOK_UP(mallctl, "mallctl"))
    return false;
  mallctl("thread.tcache.flush", NULL, NULL, NULL, 0);
  return mallctl("arena.4096.purge", NULL, NULL, NULL, 0) == 0; /* MALLCTL_ARENAS_ALL */
}

static bool release_gperftools(void) {
  void (*idle)(void), (*release)(void);
  if (!LOOK_UP(idle, "MallocExtension_MarkThreadIdle") ||
      !LOOK_UP(release, "MallocExtension_ReleaseFreeMemory"))
    return false;
  idle(); /* flushes the thread's cache; the next allocation makes a new one */
  release();
  return true;
}

static bool release_mimalloc(void) {
  void (*collect)(bool force);
  if (!LOOK_UP(collect, "mi_collect"))
    return false;
  collect(true);
  return true;
}

static bool release_tbbmalloc(void) {
  int (*command)(int what, void *unused);
  enum { CLEAN_ALL_BUFFERS, CLEAN_THREAD_BUFFERS }; /* tbb/scalable_allocator.h */
  if (!LOOK_UP(command, "scalable_allocation_command"))
    return false;
  command(CLEAN_THREAD_BUFFERS, NULL);
  command(CLEAN_ALL_BUFFERS, NULL);
  return true;
}

/* ---- the allocators we know ---- */

static const struct known {
  const char *name;
  const char *mark;   /* part of the file's name */
  const char *symbol; /* that its library has beside malloc, whatever the file is called; or NULL */
  void (*version)(struct allocator *a);
  bool (*system_bytes)(uint64_t *bytes);
  bool (*release)(void);
} known[] = {
    {"jemalloc", "jemalloc", "mallctl", version_jemalloc, bytes_jemalloc, release_jemalloc},
    {"gperftools", "tcmalloc", "tc_version", version_gperftools, bytes_gperftools,
     release_gperftools},
    {"mimalloc", "mimalloc", "mi_version", version_mimalloc, bytes_mimalloc, release_mimalloc},
    {"tbbmalloc", "tbbmalloc", "__TBB_malloc_proxy", version_of_file, NULL, release_tbbmalloc},
    {"sanitizer", "libasan", NULL, version_of_file, NULL, NULL},
    {"sanitizer", "libtsan", NULL, version_of_file, NULL, NULL},
    {"sanitizer", "libclang_rt", NULL, version_of_file, NULL, NULL},
    {"valgrind", "vgpreload", NULL, version_of_file, NULL, NULL},
    {"glibc", "libc.so.", NULL, version_glibc, bytes_glibc, release_glibc},
};
enum { KNOWN_COUNT = sizeof known / sizeof known[0] };

static const char *file_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

/* By what the file is called, else by what it has: a build of jemalloc may be called new.so. */
static const struct known *find_known(const struct allocator *a) {
  Dl_info info;
  for (size_t i = 0; i < KNOWN_COUNT; i++)
    if (strstr(file_name(a->path), known[i].mark))
      return &known[i];
  for (size_t i = 0; i < KNOWN_COUNT; i++) {
    void *address = known[i].symbol ? dlsym(RTLD_DEFAULT, known[i].symbol) : NULL;
    if (address && dladdr(address, &info) && info.dli_fname && strcmp(info.dli_fname, a->path) == 0)
      return &known[i];
  }
  return NULL;
}

void allocator_identify(struct allocator *out) {
  Dl_info info;
  void *address = dlsym(RTLD_DEFAULT, "malloc");
  *out = (struct allocator){"unknown", "unknown", "unknown"};
  if (!address || !dladdr(address, &info) || !info.dli_fname)
    return;
  snprintf(out->path, sizeof out->path, "%s", info.dli_fname);
  const struct known *k = find_known(out);
  if (k) {
    snprintf(out->name, sizeof out->name, "%s", k->name);
    k->version(out);
  } else if (dlsym(RTLD_DEFAULT, "__sanitizer_get_heap_size")) { /* linked into the program */
    snprintf(out->name, sizeof out->name, "sanitizer");
  } else {
    const char *name = file_name(out->path);
    name += strncmp(name, "lib", 3) == 0 ? 3 : 0;
    snprintf(out->name, sizeof out->name, "%.*s", (int)strcspn(name, "."), name);
    version_of_file(out);
  }
}

static bool same_file(const char *a, const char *b) {
  struct stat x, y;
  return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

bool allocator_expect(const struct allocator *found, const char *claim, struct error *e) {
  bool right = strchr(claim, '/') ? same_file(found->path, claim) : strcmp(found->name, claim) == 0;
  return right ||
         error_set(e, EXIT_SAMPLES,
                   "malloc is that of %s %s (%s), not of %s, which was not preloaded or has "
                   "no malloc",
                   found->name, found->version, found->path, claim);
}

bool allocator_system_bytes(const struct allocator *a, uint64_t *bytes, char *why,
                            size_t why_size) {
  const struct known *k = find_known(a);
  if (k && k->system_bytes && k->system_bytes(bytes))
    return true;
  snprintf(why, why_size, "%s %s does not tell what it holds", a->name, a->version);
  return false;
}

bool allocator_release(const struct allocator *a) {
  const struct known *k = find_known(a);
  return k && k->release && k->release();
}

bool heap_release(void) {
  struct allocator a;
  allocator_identify(&a);
  return allocator_release(&a);
}

bool allocator_arenas(const struct allocator *a, unsigned *count) {
  const struct known *k = find_known(a);
  char *text = NULL;
  size_t size;
  if (!k || k->system_bytes != bytes_glibc)
    return false;
  FILE *out = open_memstream(&text, &size);
  if (!out)
    return false;
  bool ok = malloc_info(0, out) == 0;
  ok = fclose(out) == 0 && ok;
  *count = 0;
  for (const char *at = text; ok && (at = strstr(at, "<heap nr=")) != NULL; at++)
    ++*count;
  free(text);
  return ok && *count != 0;
}
