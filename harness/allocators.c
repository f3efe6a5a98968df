/* Finding allocator libraries; see allocators.h. Loads none of them. */
#include "harness/allocators.h"
#include "harness/infile.h"
#include "harness/suggest.h"

#include <ctype.h>
#include <elf.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct known {
  const char *name;
  const char *package;
  const char *sonames[4]; /* newest first */
} known_allocators[] = {
    {"glibc", "libc6", {NULL}},
    {"jemalloc", "libjemalloc2", {"libjemalloc.so.2", NULL}},
    {"gperftools", "libtcmalloc-minimal4", {"libtcmalloc_minimal.so.4", "libtcmalloc.so.4", NULL}},
    {"mimalloc", "libmimalloc2.0", {"libmimalloc.so.3", "libmimalloc.so.2", NULL}},
    {"tbbmalloc", "libtbbmalloc2", {"libtbbmalloc_proxy.so.2", NULL}},
};
enum { KNOWN_COUNT = sizeof known_allocators / sizeof known_allocators[0] };

#if defined(__x86_64__)
#define TRIPLET "x86_64-linux-gnu"
#elif defined(__aarch64__)
#define TRIPLET "aarch64-linux-gnu"
#else
#define TRIPLET "linux-gnu"
#endif

/* Own builds come before the distribution's, as in the loader's usual order. */
static const char *const usual_folders[] = {"/usr/local/lib",
                                            "/usr/local/lib/" TRIPLET,
                                            "/lib/" TRIPLET,
                                            "/usr/lib/" TRIPLET,
                                            "/usr/lib64",
                                            "/lib64",
                                            "/usr/lib",
                                            "/lib",
                                            NULL};

static bool is_shared_library(const char *path) {
  unsigned char head[EI_NIDENT + 2];
  struct error unused;
  int fd = infile_open(path, &unused);
  if (fd < 0)
    return false;
  bool ok = read(fd, head, sizeof head) == (ssize_t)sizeof head &&
            memcmp(head, ELFMAG, SELFMAG) == 0 && head[EI_NIDENT] == ET_DYN;
  close(fd);
  return ok;
}

/* The first library of these names in these folders; the caller frees it. */
static char *find_library(const struct known *k, const char *const *folders) {
  char path[PATH_MAX];
  for (size_t n = 0; n < 4 && k->sonames[n]; n++)
    for (size_t i = 0; folders[i]; i++) {
      snprintf(path, sizeof path, "%s/%s", folders[i], k->sonames[n]);
      if (is_shared_library(path))
        return strdup(path);
    }
  return NULL;
}

static bool add(struct allocators *a, const char *label, size_t length, char *path, bool user,
                struct error *e) {
  for (size_t i = 0; i < a->count; i++)
    if (strlen(a->items[i].label) == length && strncmp(a->items[i].label, label, length) == 0) {
      free(path);
      return error_set(e, EXIT_USAGE, "--allocators: %.*s stands there twice", (int)length, label);
    }
  if (a->count == ALLOCATORS_MAX) {
    free(path);
    return error_set(e, EXIT_USAGE, "--allocators: at most %d a run", ALLOCATORS_MAX);
  }
  struct allocator_arm *x = &a->items[a->count];
  *x = (struct allocator_arm){.label = strndup(label, length), .path = path, .user_path = user};
  if (!x->label) {
    free(path);
    return error_set(e, EXIT_INPUT, "out of memory");
  }
  a->count++;
  return true;
}

static bool add_known(struct allocators *a, const struct known *k, const char *const *folders,
                      bool asked_by_name, struct error *e) {
  if (!k->sonames[0])
    return add(a, k->name, strlen(k->name), NULL, false, e);
  char *path = find_library(k, folders);
  if (path)
    return add(a, k->name, strlen(k->name), path, false, e);
  if (asked_by_name)
    return error_set(e, EXIT_PACKAGES,
                     "--allocators: %s is not installed here (%s): apt-get install %s, or name a "
                     "library: %s=/path/to/%s",
                     k->name, k->sonames[0], k->package, k->name, k->sonames[0]);
  a->missing[a->missing_count].name = k->name;
  a->missing[a->missing_count++].package = k->package;
  return true;
}

static bool add_path(struct allocators *a, const char *item, size_t label, struct error *e) {
  const char *path = item + label + 1;
  for (size_t i = 0; i < label; i++)
    if (!isalnum((unsigned char)item[i]) && !strchr("._-", item[i]))
      return error_set(e, EXIT_USAGE,
                       "--allocators %s: a label has letters, digits, dots, dashes and "
                       "underscores only",
                       item);
  if (label == 0 || path[0] != '/')
    return error_set(e, EXIT_USAGE, "--allocators %s: write LABEL=/path/to/library.so", item);
  if (strpbrk(path, " :"))
    return error_set(e, EXIT_USAGE,
                     "--allocators %s: the loader splits LD_PRELOAD at spaces and colons; use a "
                     "path without them",
                     item);
  if (access(path, R_OK) != 0)
    return error_errno(e, EXIT_INPUT, "--allocators %s", item);
  if (!is_shared_library(path))
    return error_set(e, EXIT_INPUT, "--allocators %s: not a shared library (ELF)", item);
  char *copy = strdup(path);
  return copy ? add(a, item, label, copy, true, e) : error_set(e, EXIT_INPUT, "out of memory");
}

static bool add_item(struct allocators *a, const char *item, const char *const *folders,
                     struct error *e) {
  const char *equals = strchr(item, '=');
  if (equals)
    return add_path(a, item, (size_t)(equals - item), e);
  struct suggest near;
  suggest_start(&near, item);
  for (int i = 0; i < KNOWN_COUNT; i++) {
    if (strcmp(item, known_allocators[i].name) == 0)
      return add_known(a, &known_allocators[i], folders, true, e);
    suggest_offer(&near, known_allocators[i].name);
  }
  return error_set(e, EXIT_USAGE,
                   "--allocators: unknown allocator \"%s\"%s; there are glibc, jemalloc, "
                   "gperftools, mimalloc, tbbmalloc, LABEL=/path/lib.so and all",
                   item,
                   strcasestr(item, "tcmalloc") ? "; Debian's tcmalloc is gperftools"
                                                : suggest_text(&near, ""));
}

static bool add_list(struct allocators *a, const char *list, const char *const *folders,
                     struct error *e) {
  char *copy = strdup(list), *rest = copy, *item;
  if (!copy)
    return error_set(e, EXIT_INPUT, "out of memory");
  bool ok = true;
  while (ok && (item = strsep(&rest, ",")) != NULL)
    ok = *item ? add_item(a, item, folders, e)
               : error_set(e, EXIT_USAGE, "--allocators %s: an empty element", list);
  free(copy);
  return ok;
}

bool allocators_find(struct allocators *a, const char *list, const char *const *folders,
                     struct error *e) {
  *a = (struct allocators){0};
  folders = folders ? folders : usual_folders;
  bool ok = true;
  if (list && strcmp(list, "all") == 0)
    for (int i = 0; ok && i < KNOWN_COUNT; i++)
      ok = add_known(a, &known_allocators[i], folders, false, e);
  else
    ok = add_list(a, list ? list : "glibc", folders, e);
  if (!ok)
    allocators_free(a);
  return ok;
}

void allocators_free(struct allocators *a) {
  for (size_t i = 0; i < a->count; i++) {
    free(a->items[i].label);
    free(a->items[i].path);
  }
  *a = (struct allocators){0};
}

static bool is_known(const char *name) {
  for (int i = 0; i < KNOWN_COUNT; i++)
    if (strcmp(name, known_allocators[i].name) == 0)
      return true;
  return false;
}

bool allocators_check_label(const struct allocator_arm *a, const char *found, struct error *e) {
  if (!a->user_path || !is_known(a->label) || !is_known(found) || strcmp(a->label, found) == 0)
    return true;
  return error_set(e, EXIT_USAGE,
                   "--allocators %s=%s: this library is %s, not %s; name it %s=%s, or another word",
                   a->label, a->path, found, a->label, found, a->path);
}

bool allocators_variable(const char *entry) {
  static const char *const prefixes[] = {"MALLOC_",        "_RJEM_MALLOC_", "MIMALLOC_",
                                         "GLIBC_TUNABLES", "TCMALLOC_",     "TBB_MALLOC_",
                                         "HEAPPROFILE"};
  for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++)
    if (strncmp(entry, prefixes[i], strlen(prefixes[i])) == 0)
      return true;
  return false;
}
