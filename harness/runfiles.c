/* The files of a run; see runfiles.h. Their contents come from results.h and record.h. */
#include "harness/runfiles.h"

#include "harness/infile.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define RESULTS_FOLDER "results"

/* Room for a folder, a slash and the longest file name in it. */
enum { PATH_ROOM = PATH_MAX + 32 };

static void path_of(const struct runfiles *r, const char *name, char path[PATH_ROOM]) {
  snprintf(path, PATH_ROOM, "%s/%s", r->folder, name);
}

/* --- the folder -------------------------------------------------------------------------- */

/* mkdir -p */
static bool make_folders(const char *path, struct error *e) {
  char part[PATH_MAX];
  for (size_t i = 1; path[i - 1]; i++) {
    if (path[i] != '/' && path[i] != '\0')
      continue;
    snprintf(part, sizeof part, "%.*s", (int)i, path);
    if (mkdir(part, 0777) != 0 && errno != EEXIST)
      return error_errno(e, EXIT_INPUT, "cannot make the folder %s", part);
  }
  return true;
}

static bool is_empty_folder(const char *path) {
  DIR *d = opendir(path);
  size_t entries = 0;
  if (!d)
    return false;
  while (readdir(d))
    entries++;
  closedir(d);
  return entries <= 2; /* "." and ".." */
}

/* Points results/latest at the folder by a rename, so that it never points nowhere. */
static bool link_latest(const char *folder, struct error *e) {
  const char *name = strrchr(folder, '/');
  const char *link = RESULTS_FOLDER "/latest", *beside = RESULTS_FOLDER "/.latest.new";
  unlink(beside);
  if (symlink(name ? name + 1 : folder, beside) != 0 || rename(beside, link) != 0)
    return error_errno(e, EXIT_INPUT, "cannot point %s at %s", link, folder);
  return true;
}

/* results/<time>-<host>, with a number behind it if two runs start in one second. */
static bool make_own_folder(struct runfiles *r, const char *host, struct error *e) {
  char stamp[32];
  time_t t = time(NULL);
  struct tm tm;
  localtime_r(&t, &tm);
  strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", &tm);
  if (!make_folders(RESULTS_FOLDER, e))
    return false;
  for (int i = 1; i < 100; i++) {
    char number[16] = "";
    if (i > 1)
      snprintf(number, sizeof number, "-%d", i);
    snprintf(r->folder, sizeof r->folder, "%s/%s-%.200s%s", RESULTS_FOLDER, stamp, host, number);
    if (mkdir(r->folder, 0777) == 0)
      return link_latest(r->folder, e);
    if (errno != EEXIST)
      break;
  }
  return error_errno(e, EXIT_INPUT, "cannot make the folder %s", r->folder);
}

/* Two runs in one folder would take turns in overwriting each other's files. */
static bool lock_folder(struct runfiles *r, struct error *e) {
  r->lock = open(r->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  /* A file system that knows no locks keeps nobody from measuring. */
  if (r->lock < 0 || flock(r->lock, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
    return true;
  close(r->lock);
  r->lock = -1;
  return error_set(e, EXIT_INPUT, "another poolbench measures into %s; wait for its end or stop it",
                   r->folder);
}

bool runfiles_create(struct runfiles *r, const char *out, const char *host, struct error *e) {
  *r = (struct runfiles){.part = -1, .lock = -1};
  if (!out)
    return make_own_folder(r, host, e) && lock_folder(r, e);
  if (strlen(out) >= sizeof r->folder)
    return error_set(e, EXIT_USAGE, "--out: the path is too long");
  snprintf(r->folder, sizeof r->folder, "%s", out);
  struct stat info;
  if (stat(out, &info) == 0 && !is_empty_folder(out))
    return error_set(e, EXIT_INPUT,
                     "--out %s is there already; choose another folder, or go on with it by "
                     "--resume %s",
                     out, out);
  if (!make_folders(out, e))
    return false;
  if (access(out, W_OK | X_OK) != 0)
    return error_errno(e, EXIT_INPUT, "cannot write into --out %s", out);
  return lock_folder(r, e);
}

bool runfiles_open(struct runfiles *r, const char *folder, struct error *e) {
  *r = (struct runfiles){.part = -1, .lock = -1, .recorded = true};
  const char *path = folder ? folder : RESULTS_FOLDER "/latest";
  char target[NAME_MAX + 1] = "";
  if (strlen(path) >= sizeof r->folder)
    return error_set(e, EXIT_USAGE, "--resume: the path is too long");
  snprintf(r->folder, sizeof r->folder, "%s", path);
  struct stat info;
  if (stat(path, &info) == 0 && !S_ISDIR(info.st_mode))
    return error_set(e, EXIT_INPUT, "--resume %s: not a run's folder but a file", path);
  if (access(path, W_OK | X_OK) != 0)
    return error_errno(e, EXIT_INPUT, "--resume %s", path);
  /* Messages name the run itself: latest will be another one tomorrow. */
  if (!folder && readlink(path, target, sizeof target - 1) > 0)
    snprintf(r->folder, sizeof r->folder, RESULTS_FOLDER "/%s", target);
  return lock_folder(r, e);
}

/* --- whole files ------------------------------------------------------------------------- */

/* How a file is printed. */
struct content {
  bool (*write)(FILE *out, const void *what);
  const void *what;
};

/* Prints into NAME.new, then renames it to NAME. A failure leaves NAME as it was. */
static bool replace_file(const struct runfiles *r, const char *name, const struct content *c,
                         struct error *e) {
  char path[PATH_ROOM], beside[PATH_ROOM + 8];
  path_of(r, name, path);
  snprintf(beside, sizeof beside, "%s.new", path);
  unlink(beside); /* a leftover of a kill, or a FIFO that would be waited for */
  FILE *f = fopen(beside, "we");
  if (!f)
    return error_errno(e, EXIT_INPUT, "cannot write %s", beside);
  errno = 0;
  bool ok = c->write(f, c->what) && !ferror(f);
  int error = errno;
  /* The first failed write says why; fclose may fail anew, or for the first time. */
  if (fclose(f) != 0 && ok) {
    ok = false;
    error = errno;
  }
  if (ok && rename(beside, path) == 0)
    return true;
  if (ok)
    error = errno;
  unlink(beside);
  errno = error ? error : ENOMEM;
  return error_errno(e, EXIT_INPUT, "cannot write %s", path);
}

struct published {
  const struct results_frame *frame;
  const struct results *results;
  enum results_choice choice;
  unsigned rounds;
  double median;
};

static bool write_published(FILE *out, const void *what) {
  const struct published *p = what;
  return results_write(out, p->frame, p->results, p->choice, p->rounds, p->median);
}

static bool write_record(FILE *out, const void *what) {
  return json_dumpf(what, out, JSON_INDENT(1) | JSON_REAL_PRECISION(10)) == 0 &&
         fputc('\n', out) != EOF;
}

bool runfiles_write_json(struct runfiles *r, const json_t *record, struct error *e) {
  struct content c = {write_record, record};
  bool ok = replace_file(r, "run.json", &c, e);
  r->recorded = r->recorded || ok; /* a failure leaves the last one */
  return ok;
}

json_t *runfiles_read_json(const struct runfiles *r, struct error *e) {
  char path[PATH_ROOM];
  json_error_t why;
  path_of(r, "run.json", path);
  FILE *in = infile_stream(path, e);
  if (!in && errno == ENOENT)
    error_errno(e, EXIT_INPUT, "%s is no run's folder: its run.json", r->folder);
  if (!in)
    return NULL;
  json_t *record = json_loadf(in, JSON_REJECT_DUPLICATES, &why);
  fclose(in);
  if (!record)
    error_set(e, EXIT_INPUT, "%s:%d: %s", path, why.line, why.text);
  return record;
}

/* --- round.part -------------------------------------------------------------------------- */

/* Writes it all or cuts the file back to where it was. */
static bool append_bytes(struct runfiles *r, const char *bytes, size_t n, struct error *e) {
  size_t done = 0;
  while (done < n) {
    ssize_t k = write(r->part, bytes + done, n - done);
    if (k < 0 && errno == EINTR)
      continue;
    if (k < 0) {
      int error = errno;
      if (ftruncate(r->part, (off_t)r->part_size) != 0)
        error = error ? error : errno; /* a cut-off last line is left out by readers */
      errno = error;
      return error_errno(e, EXIT_INPUT, "cannot write %s/round.part", r->folder);
    }
    done += (size_t)k;
  }
  r->part_size += (long long)n;
  return true;
}

/* The bytes of a file's whole lines; -1 with errno. */
static off_t whole_lines(int fd) {
  char last;
  off_t size = lseek(fd, 0, SEEK_END);
  for (; size > 0; size--) {
    if (pread(fd, &last, 1, size - 1) != 1)
      return -1;
    if (last == '\n')
      break;
  }
  return size;
}

/* Goes on behind what an earlier session left there: another kill must not cost it. */
static bool open_part(struct runfiles *r, struct error *e) {
  char path[PATH_ROOM];
  path_of(r, "round.part", path);
  r->part = open(path, O_RDWR | O_CREAT | O_APPEND | O_NONBLOCK | O_CLOEXEC, 0666);
  r->part_allocator = NULL;
  r->part_size = r->part >= 0 ? whole_lines(r->part) : -1;
  return (r->part_size >= 0 && ftruncate(r->part, (off_t)r->part_size) == 0) ||
         error_errno(e, EXIT_INPUT, "cannot write %s", path);
}

static void close_part(struct runfiles *r) {
  if (r->part >= 0)
    close(r->part);
  r->part = -1;
}

bool runfiles_append(struct runfiles *r, const struct results_frame *f, const struct result *item,
                     struct error *e) {
  char *text = NULL;
  size_t size = 0;
  if (r->part < 0 && !open_part(r, e))
    return false;
  FILE *memory = open_memstream(&text, &size);
  if (!memory)
    return error_errno(e, EXIT_INPUT, "writing a sample");
  if (r->part_size == 0)
    results_write_head(memory, f);
  const struct allocator_arm *allocator = results_write_one(memory, f, item, r->part_allocator);
  bool ok = fclose(memory) == 0 ? append_bytes(r, text, size, e)
                                : error_errno(e, EXIT_INPUT, "writing a sample");
  if (ok)
    r->part_allocator = allocator;
  free(text);
  return ok;
}

/* What belongs to later rounds stays in round.part, written anew. */
static bool restart_part(struct runfiles *r, const struct results_frame *f,
                         const struct results *results, unsigned rounds, struct error *e) {
  char path[PATH_ROOM];
  close_part(r);
  path_of(r, "round.part", path);
  if (unlink(path) != 0 && errno != ENOENT)
    return error_errno(e, EXIT_INPUT, "cannot remove %s", path);
  for (size_t i = 0; i < results->count; i++)
    if (results->items[i].round > rounds && !runfiles_append(r, f, &results->items[i], e))
      return false;
  return true;
}

/* --- both -------------------------------------------------------------------------------- */

static bool read_if_there(const struct runfiles *r, const char *name, const struct results_frame *f,
                          struct results *results, struct error *e) {
  char path[PATH_ROOM];
  path_of(r, name, path);
  FILE *in = infile_stream(path, e);
  if (!in && errno == ENOENT) {
    *e = (struct error){0};
    return true;
  }
  if (!in)
    return false;
  bool ok = results_read(path, in, f, results, e);
  fclose(in);
  return ok;
}

bool runfiles_load(struct runfiles *r, const struct results_frame *f, struct results *results,
                   struct error *e) {
  return read_if_there(r, "detail.txt", f, results, e) &&
         read_if_there(r, "round.part", f, results, e);
}

bool runfiles_publish(struct runfiles *r, const struct results_frame *f,
                      const struct results *results, unsigned rounds, struct error *e) {
  static const struct {
    const char *name;
    enum results_choice choice;
  } files[] = {
      /* detail.txt first: it holds all of the others, so a kill in between loses nothing. */
      {"detail.txt", RESULTS_DETAIL}, {"samples.txt", RESULTS_HEADLINE},
      {"sweep.txt", RESULTS_SWEEP},   {"old.txt", RESULTS_OLD},
      {"new.txt", RESULTS_NEW},       {"memory.txt", RESULTS_MEMORY},
  };
  struct published p = {f, results, RESULTS_DETAIL, rounds, results_median_calibration(results)};
  for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
    p.choice = files[i].choice;
    if ((!f->plan->preset && (p.choice == RESULTS_OLD || p.choice == RESULTS_NEW)) ||
        (!f->plan->sweep_rounds && p.choice == RESULTS_SWEEP) ||
        (p.choice == RESULTS_MEMORY && !results_have_series(results)))
      continue;
    struct content c = {write_published, &p};
    if (!replace_file(r, files[i].name, &c, e))
      return false;
  }
  return restart_part(r, f, results, rounds, e);
}

void runfiles_close(struct runfiles *r) {
  close_part(r);
  if (r->lock >= 0)
    close(r->lock);
  r->lock = -1;
}
