/* Lines broken at blanks; see wrap.h. */
#include "harness/wrap.h"

#include "harness/grid.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

size_t wrap_columns(const char *text, size_t n) {
  size_t columns = 0;
  for (size_t i = 0; i < n; i++)
    columns += ((unsigned char)text[i] & 0xC0) != 0x80;
  return columns;
}

/* Bytes up to the next blank that a line may end at: a figure keeps its per cent sign. */
static size_t word_length(const char *word) {
  size_t bytes = strcspn(word, " \n");
  if (word[bytes] == ' ' && word[bytes + 1] == '%')
    bytes += 1 + strcspn(word + bytes + 1, " \n");
  return bytes;
}

/* One line of `length` bytes, newline included in what is printed. */
static void print_line(const char *line, size_t length, size_t width, FILE *out) {
  const char *end = line + length, *word = line + strspn(line, " ");
  size_t indent = (size_t)(word - line), used = indent;
  fprintf(out, "%*s", (int)indent, "");
  for (bool first = true; word < end; first = false) {
    size_t bytes = word_length(word), columns = wrap_columns(word, bytes);
    if (!first && used + 1 + columns > width) {
      fprintf(out, "\n%*s", (int)indent + 2, "");
      used = indent + 2;
    } else if (!first) {
      fputc(' ', out);
      used++;
    }
    fwrite(word, 1, bytes, out);
    used += columns;
    word += bytes;
    word += strspn(word, " ");
  }
  fputc('\n', out);
}

void wrap_print(const char *text, size_t width, FILE *out) {
  while (*text) {
    size_t length = strcspn(text, "\n");
    print_line(text, length, width < WRAP_WIDTH ? width : WRAP_WIDTH, out);
    text += length + (text[length] == '\n');
  }
}

size_t wrap_terminal(FILE *out, size_t otherwise) {
  struct winsize w;
  int fd = fileno(out);
  if (fd < 0 || !isatty(fd) || ioctl(fd, TIOCGWINSZ, &w) != 0 || w.ws_col < 40)
    return otherwise;
  return w.ws_col;
}

void wrap_printf(FILE *out, const char *format, ...) {
  char *text = NULL;
  va_list args, again;
  va_start(args, format);
  va_copy(again, args);
  if (vasprintf(&text, format, args) >= 0) {
    wrap_print(text, wrap_terminal(out, GRID_PAGE), out);
    free(text);
  } else {
    vfprintf(out, format, again); /* no memory: in long lines, then */
  }
  va_end(again);
  va_end(args);
}
