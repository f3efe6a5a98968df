/* Opening of files to read that somebody else may have put there. */
#ifndef POOLBENCH_INFILE_H
#define POOLBENCH_INFILE_H

#include "harness/error.h"

#include <stdio.h>

/*
 * A descriptor to read the file with, the caller closes it; -1 with e (EXIT_INPUT, "PATH: why")
 * and errno. What is no regular file is refused: a FIFO without a writer would be waited for, a
 * device may never end.
 */
int infile_open(const char *path, struct error *e);

/* The same as a stream; NULL with e and errno. */
FILE *infile_stream(const char *path, struct error *e);

#endif
