/*
 * libFuzzer entry: any bytes as a benchmark file, read, grouped, compared and rendered. The first
 * byte picks the flags, the second the format. Built by `make fuzz-poolcmp`.
 */
#include "comparer/poolcmp.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const columns[] = {".file", "/a", ".name", "/gomaxprocs,/a", "goos"};

static void compare(const char *path, unsigned pick, unsigned format, FILE *sink) {
  struct poolcmp_options o;
  struct poolcmp p;
  const char *inputs[] = {path, path};
  poolcmp_options_init(&o);
  o.inputs = inputs;
  o.input_count = 1 + pick % 2;
  o.group.column = columns[pick / 2 % 5];
  o.group.row = pick & 8 ? ".name" : ".fullname";
  o.table.ci = pick & 16;
  o.table.paired = (pick & 96) == 96;
  o.table.correct = pick & 64 ? CORRECT_HOLM : CORRECT_NONE;
  o.render.width = pick & 128 ? 60 : 0;
  o.render.ascii = format & 64;
  o.render.verdicts = format & 128;
  o.format = (enum poolcmp_format)(format % (FORMAT_JSON + 1));
  if (poolcmp_load(&p, &o, sink) == POOLCMP_DONE) {
    poolcmp_render(&p, &o, sink, sink);
    poolcmp_notes(&p, &o, sink);
  }
  poolcmp_free(&p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static FILE *sink;
  if (!sink)
    sink = fopen("/dev/null", "w");
  if (size < 2 || !sink)
    return 0;
  char path[64];
  int fd = memfd_create("input", 0);
  if (fd < 0 || write(fd, data + 2, size - 2) != (ssize_t)(size - 2))
    abort();
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  compare(path, data[0], data[1], sink);
  close(fd);
  return 0;
}
