/*
 * gnuplot as a program: one script, one data file, one picture. Knows nothing of what is drawn.
 */
#ifndef POOLBENCH_GNUPLOT_H
#define POOLBENCH_GNUPLOT_H

#include "harness/error.h"

enum gnuplot_result {
  GNUPLOT_DREW,
  GNUPLOT_MISSING, /* not installed: costs pictures, nothing else; e says so */
  GNUPLOT_FAILED,  /* e holds gnuplot's own message, or says that the picture is cut off */
};

/*
 * Runs `gnuplot -c script data picture` and waits for it. The picture's name decides its form
 * (.svg, .png).
 */
enum gnuplot_result gnuplot_draw(const char *script, const char *data, const char *picture,
                                 struct error *e);

#endif
