/*
 * The checker: a strategy around another one that finds misuse of objects.
 *
 * It names double puts, uses after put, foreign pointers, wrong kinds, leaks at close, and a
 * strategy that hands out an object twice or misaligned, each with the kind and both call sites
 * where there are two. strategy_checked (pool.h) puts it in place in a check build; tests use
 * check_wrap in any build.
 *
 * How: it gives the inner strategy kinds of its own. Their clear, which every put that keeps an
 * object passes through, saves the cleared content and poisons the object; get verifies the
 * poison and brings the content back, destroy likewise. So a write after put is found at the
 * next get or free of that object, and a read sees poison. What the strategy frees is beyond it:
 * that is the address sanitizer's.
 *
 * It relies on strategies not writing into the objects they keep. Its own memory is not taken
 * from the counted heap. State is global, since get and put carry no pool: one wrapped pool may be
 * open at a time. A lock orders its bookkeeping, not the calls.
 */
#ifndef POOLBENCH_SUPPORT_CHECK_H
#define POOLBENCH_SUPPORT_CHECK_H

#include "strategies/strategy.h"

enum check_fault {
  CHECK_DOUBLE_PUT,    /* put or dropped again without a get in between */
  CHECK_USE_AFTER_PUT, /* written between put and the next get, or free */
  CHECK_FOREIGN,       /* a pointer that this pool never gave out */
  CHECK_WRONG_KIND,    /* put or dropped as another kind than it was got as */
  CHECK_LEAK,          /* neither put nor dropped when the pool closes */
  CHECK_GIVEN_TWICE,   /* the strategy's fault: got while another user has it */
  CHECK_MISALIGNED,    /* the strategy's fault */
};

struct check_report {
  enum check_fault fault;
  const char *kind;   /* as which it was got; NULL for a foreign pointer */
  const char *first;  /* site of the earlier call, "?" when unknown, NULL when there is none */
  const char *second; /* site of the call at which the fault showed, NULL at close */
  char text[500];     /* all of it in words, without a newline */
};

/* The wrapped strategy, valid until the next call. */
const struct strategy *check_wrap(const struct strategy *inner);

/*
 * Who is told. Without a hook (NULL) the text goes to standard error and the process aborts.
 * With one, the faulty call does nothing further once the hook has returned.
 */
typedef void check_hook(const struct check_report *report, void *arg);
void check_on_report(check_hook *hook, void *arg);

#endif
