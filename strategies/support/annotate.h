/*
 * What the thread sanitizer must be told about code that it cannot see into: Concurrency Kit's
 * assembly. Everything else is C11 atomics or pthreads, which it knows. Without the sanitizer
 * all of this is nothing.
 *
 * An annotation claims an order, it does not show it: that is what the transfer tests are for.
 */
#ifndef POOLBENCH_SUPPORT_ANNOTATE_H
#define POOLBENCH_SUPPORT_ANNOTATE_H

#if defined(__SANITIZE_THREAD__)
#define ANNOTATE_THREADS 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define ANNOTATE_THREADS 1
#endif
#endif

#ifdef ANNOTATE_THREADS

/* Of the sanitizer's run-time library. */
void __tsan_acquire(void *address);
void __tsan_release(void *address);
void AnnotateIgnoreReadsBegin(const char *file, int line);
void AnnotateIgnoreReadsEnd(const char *file, int line);
void AnnotateIgnoreWritesBegin(const char *file, int line);
void AnnotateIgnoreWritesEnd(const char *file, int line);

/* After a lock was taken: sees all that happened before its ANNOTATE_RELEASE. */
#define ANNOTATE_ACQUIRE(address) __tsan_acquire(address)
/* Before a lock is given up. */
#define ANNOTATE_RELEASE(address) __tsan_release(address)

/* Around a primitive whose accesses to shared memory are ordered by its own assembly. */
#define ANNOTATE_IGNORE_BEGIN()                    \
  do {                                             \
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);  \
    AnnotateIgnoreWritesBegin(__FILE__, __LINE__); \
  } while (0)
#define ANNOTATE_IGNORE_END()                    \
  do {                                           \
    AnnotateIgnoreWritesEnd(__FILE__, __LINE__); \
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);  \
  } while (0)

#else

#define ANNOTATE_ACQUIRE(address) ((void)(address))
#define ANNOTATE_RELEASE(address) ((void)(address))
#define ANNOTATE_IGNORE_BEGIN() ((void)0)
#define ANNOTATE_IGNORE_END() ((void)0)

#endif

#endif
