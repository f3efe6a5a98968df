/*
 * How far a run is: one line that updates on a terminal, a line every tenth elsewhere.
 */
#ifndef POOLBENCH_PROGRESS_H
#define POOLBENCH_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct progress {
  FILE *out;
  bool updating;      /* a terminal that can go back to the line's start */
  unsigned width;     /* its columns */
  uint64_t start_ns;  /* monotonic */
  double done_before; /* share that was done when this session began */
  int tenth;          /* the last one printed */
  bool line_open;     /* an updating line stands there without newline */
};

/* done: share of the work that is there already, 0 unless resumed. */
void progress_start(struct progress *p, FILE *out, double done, uint64_t now_ns);

/* done: 0..1, by expected time; what: the cell that is measured now. */
void progress_show(struct progress *p, double done, unsigned round, unsigned rounds,
                   const char *what, uint64_t now_ns);

/* The whole has become shorter by this factor (>= 1): what was done is more of it. */
void progress_resize(struct progress *p, double factor);

/* Clears an updating line, so that other text can be printed. */
void progress_clear(struct progress *p);

/* "1:05" or "2:00:10". */
void progress_time(double seconds, char text[16]);

#endif
