/* The progress line; see progress.h. Uses no colour, so NO_COLOR has nothing to turn off. */
#include "harness/progress.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

void progress_start(struct progress *p, FILE *out, double done, uint64_t now_ns) {
  const char *terminal = getenv("TERM");
  struct winsize size;
  *p = (struct progress){.out = out, .width = 80, .start_ns = now_ns, .done_before = done};
  p->tenth = (int)(done * 10);
  p->updating = isatty(fileno(out)) && terminal && strcmp(terminal, "dumb") != 0;
  if (p->updating && ioctl(fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col > 20)
    p->width = size.ws_col;
}

void progress_time(double seconds, char text[16]) {
  unsigned s = seconds < 0 ? 0 : seconds > 359999 ? 359999 : (unsigned)(seconds + 0.5);
  if (s >= 3600)
    snprintf(text, 16, "%u:%02u:%02u", s / 3600, s / 60 % 60, s % 60);
  else
    snprintf(text, 16, "%u:%02u", s / 60, s % 60);
}

/* Seconds that are left, by what this session has taken so far; negative: not known yet. */
static double time_left(const struct progress *p, double done, uint64_t now_ns) {
  double elapsed = (double)(now_ns - p->start_ns) / 1e9, here = done - p->done_before;
  return here > 0 ? elapsed * (1 - done) / here : -1;
}

void progress_resize(struct progress *p, double factor) {
  p->done_before *= factor;
}

static void show_line(struct progress *p, const char *text) {
  fprintf(p->out, "\r%.*s\033[K", (int)p->width - 1, text);
  fflush(p->out);
  p->line_open = true;
}

void progress_show(struct progress *p, double done, unsigned round, unsigned rounds,
                   const char *what, uint64_t now_ns) {
  char text[600], elapsed[16], left[16] = "?";
  int tenth = (int)(done * 10 + 1e-9);
  if (!p->updating && tenth <= p->tenth)
    return;
  p->tenth = tenth;
  progress_time((double)(now_ns - p->start_ns) / 1e9, elapsed);
  double seconds = time_left(p, done, now_ns);
  if (seconds >= 0)
    progress_time(seconds, left);
  snprintf(text, sizeof text, "%3.0f %%  %s gone, %s left  round %u of %u%s%s", done * 100, elapsed,
           left, round, rounds, p->updating ? "  " : "", p->updating ? what : "");
  if (p->updating)
    show_line(p, text);
  else
    fprintf(p->out, "%s\n", text);
}

void progress_clear(struct progress *p) {
  if (p->line_open)
    fputs("\r\033[K", p->out);
  p->line_open = false;
  fflush(p->out);
}
