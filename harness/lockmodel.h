/*
 * Throughput of threads that share one lock, from times per acquisition.
 *
 * The closed network of the machine-repairman problem: N threads think for Z (everything outside
 * the lock), then want a server that takes S (the hold).
 *
 *     N* = (Z + S) / S                                   threads that keep the lock busy
 *     N / (Z + N S) <= X <= min(N / (Z + S), 1 / S)      Denning and Buzen, ACM Computing Surveys
 *                                                        10(3), 1978: whatever the distributions
 *     R(n) = S (1 + Q(n-1)),  X = n / (Z + R),  Q = X R  Reiser and Lavenberg, JACM 27(2), 1980:
 *                                                        exact for exponential S
 *
 * Real locks add the hand-off: from the release until a waiter that gave up its CPU (futex), or
 * that must fetch the lock's line (spinning), owns the lock. W is that time. The recursion cannot
 * take it as a longer S, since only visits that found the lock busy pay it, and each such visit
 * makes the next collision likelier: a convoy. With exponential times it is a small Markov chain
 * (who waits, is the lock held, is a waiter on its way), solved exactly; two rules bracket locks:
 *
 *     in order    the released lock is kept for the first waiter, so every hand-off keeps it idle
 *                 for W, and X never exceeds 1 / (S + W) once somebody always waits. Ticket, MCS.
 *     barging     the lock is free while one waiter wakes up; whoever comes by takes it, and a
 *                 waiter that finds it taken sleeps again. glibc's futex mutexes. X can reach 1/S.
 *
 * Nothing here knows files or samples.
 */
#ifndef POOLBENCH_LOCKMODEL_H
#define POOLBENCH_LOCKMODEL_H

#include <stdbool.h>

/* Per acquisition, in ns. */
struct lock_times {
  double service, think; /* S above 0, Z not below 0 */
  double handoff;        /* W, not below 0 */
};

enum lock_rule { LOCK_IN_ORDER, LOCK_BARGING };

/* N*: with more threads than this some must wait. */
double lockmodel_saturation(const struct lock_times *t);

/* The asymptotic bounds without hand-off, acquisitions/ns. */
struct lockmodel_bounds {
  double low, high;
};
struct lockmodel_bounds lockmodel_bounds(const struct lock_times *t, unsigned threads);

/* The recursion: acquisitions/ns of all threads together, W taken as 0. */
double lockmodel_plain(const struct lock_times *t, unsigned threads);

/* What the chain says of `threads` threads. */
struct lock_load {
  double rate;       /* acquisitions/ns of all threads together */
  double wait;       /* mean time from wanting the lock to having it, ns, over all acquisitions */
  double collisions; /* share of the acquisitions that found it taken */
};

/*
 * Solves the chain. Time and memory grow with `threads`: some 20 us and 14 KiB each under barging,
 * a tenth in order. false without memory.
 */
bool lockmodel_solve(const struct lock_times *t, enum lock_rule rule, unsigned threads,
                     struct lock_load *out);

/*
 * The W with which two threads wait for `wait` ns per acquisition on average; 0 when queueing alone
 * makes them wait as long. Under barging one of two threads always runs, so no W makes the mean
 * wait longer than Z + S; what exceeds it gets the largest W, LOCKMODEL_MOST_HANDOFF holds. false
 * without memory.
 */
#define LOCKMODEL_MOST_HANDOFF 1e6
bool lockmodel_handoff(const struct lock_times *t, enum lock_rule rule, double wait,
                       double *handoff);

#endif
