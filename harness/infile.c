/* See infile.h. */
#include "harness/infile.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

int infile_open(const char *path, struct error *e) {
  int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  struct stat info;
  bool opened = fd >= 0 && fstat(fd, &info) == 0;
  if (opened && S_ISREG(info.st_mode))
    return fd;
  int error = opened ? EINVAL : errno;
  if (opened)
    error_set(e, EXIT_INPUT, "%s: not a file but a %s", path,
              S_ISDIR(info.st_mode) ? "folder" : "FIFO, socket or device");
  else
    error_errno(e, EXIT_INPUT, "%s", path);
  if (fd >= 0)
    close(fd);
  errno = error;
  return -1;
}

FILE *infile_stream(const char *path, struct error *e) {
  int fd = infile_open(path, e);
  FILE *f = fd >= 0 ? fdopen(fd, "r") : NULL;
  if (fd < 0 || f)
    return f;
  int error = errno;
  error_errno(e, EXIT_INPUT, "%s", path);
  close(fd);
  errno = error;
  return NULL;
}
