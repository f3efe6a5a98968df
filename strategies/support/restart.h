/*
 * Stacks of recycled objects, one a CPU, worked on by restartable sequences (rseq, Linux 4.18).
 *
 * A sequence reads the number of its CPU, works on that CPU's stack with plain instructions, and
 * ends with the one store that makes it count. If the kernel preempts, migrates or interrupts its
 * thread in between, it does not go on there but at its abort handler, which begins again: what a
 * sequence did before its last store is undone by having no meaning. So threads of one CPU never
 * overlap, and no other CPU writes to its stacks.
 *
 * Another thread takes the stacks over by closing them: it stores 0 as the number of CPUs, then
 * restart_fence() makes the kernel restart every sequence that runs anywhere (membarrier, Linux
 * 5.10). What begins afterwards finds all stacks closed, so they are the caller's, with all that
 * was stored into them, until it stores their number again.
 *
 * Needs glibc 2.35, which registers every thread, and x86-64. The thread sanitizer sees nothing of
 * a sequence, so under it they count as not available.
 */
#ifndef POOLBENCH_SUPPORT_RESTART_H
#define POOLBENCH_SUPPORT_RESTART_H

#include "strategies/strategy.h"
#include "strategies/support/annotate.h"

#if defined(__x86_64__) && defined(__LP64__) && !defined(ANNOTATE_THREADS) && defined(__has_include)
#if __has_include(<sys/rseq.h>) && __has_include(<linux/membarrier.h>)
#define RESTART_SEQUENCES 1
#include <sys/rseq.h>
#endif
#endif
#ifndef RESTART_SEQUENCES
#define RESTART_SEQUENCES 0
struct rseq;
#endif

struct restart_entry {
  void *object;
  uint64_t bytes; /* this object's and those of all below it */
};

/* The stack of one CPU. An object's place is given in bytes from entries, 16 a place. */
struct restart_stack {
  _Alignas(POOL_LINE) uint64_t top; /* the last object's place; 0: empty. Its store commits */
  uint64_t last;                    /* the highest place there is */
  uint64_t most_bytes;              /* that all objects may hold; UINT64_MAX: no bound */
  struct restart_entry *entries;    /* the first has no object and 0 bytes */
};

/* The calling thread's registration, as the two below want it; NULL with `why`: not available. */
struct rseq *restart_self(const char **why);

/* Registers the process for restart_fence. false with `why`: this kernel has none. */
bool restart_can_fence(const char **why);

/* Every sequence that runs meanwhile is restarted. false: the kernel had no memory for that. */
bool restart_fence(void);

#if RESTART_SEQUENCES

/*
 * What both sequences begin and end with. 3 describes the sequence 1 to 2, whose abort handler is
 * 4, behind the signature that the kernel asks for. The handler arms the sequence anew, for the
 * kernel has disarmed it. A sequence that ends stays armed, which costs nothing: its thread is
 * outside of 1 to 2. The number of the CPU is looked up inside, so it needs no second look before
 * the commit; one beyond the stacks (closed, or a thread that is not registered) has none.
 * `unless_done` sets what the sequence gives when it jumps to its end. Counting
 * a restart in memory keeps a register and a test out of the fast path.
 */
#define RESTART_BEGIN(unless_done)     \
  ".pushsection __rseq_cs, \"aw\"\n\t" \
  ".balign 32\n"                       \
  "3:\n\t"                             \
  ".long 0, 0\n\t"                     \
  ".quad 1f, 2f - 1f, 4f\n\t"          \
  ".popsection\n"                      \
  "0:\n\t"                             \
  "leaq 3b(%%rip), %[stack]\n\t"       \
  "movq %[stack], %[armed]\n"          \
  "1:\n\t" unless_done "\n\t"          \
  "movl %[cpu], %k[stack]\n\t"         \
  "cmpl %[cpus], %k[stack]\n\t"        \
  "jae 2f\n\t"                         \
  "shlq %[shift], %[stack]\n\t"        \
  "addq %[stacks], %[stack]\n\t"       \
  "movq (%[stack]), %[top]\n\t"        \
  "movq %c[entries](%[stack]), %[entry]\n\t"

#define RESTART_END                                                          \
  "2:\n\t"                                                                   \
  ".pushsection __rseq_failure, \"ax\"\n\t"                                  \
  ".byte 0x0f, 0xb9, 0x3d\n\t" /* ud1, so that disassemblers stay in step */ \
  ".long %c[signature]\n"                                                    \
  "4:\n\t"                                                                   \
  "incq %[restarts]\n\t"                                                     \
  "jmp 0b\n\t"                                                               \
  ".popsection\n"

#define RESTART_OPERANDS                                                              \
  [cpu] "m"(self->cpu_id), [cpus] "m"(*(const uint32_t *)cpus), [stacks] "r"(stacks), \
      [shift] "i"(__builtin_ctz(sizeof(struct restart_stack))),                       \
      [entries] "i"(offsetof(struct restart_stack, entries)), [signature] "i"(RSEQ_SIG)

_Static_assert(sizeof(struct restart_stack) == POOL_LINE, "indexed by a shift");
_Static_assert(sizeof(struct restart_entry) == 16, "the sequences know it");

/*
 * Takes the last object of this CPU's stack; NULL: empty or closed. `stacks` are those of all
 * CPUs, *cpus their number, *restarts a counter of the calling thread.
 */
static inline void *restart_pop(struct rseq *self, struct restart_stack *stacks,
                                const _Atomic uint32_t *cpus, _Atomic uint64_t *restarts) {
  void *object;
  uint64_t stack, top;
  struct restart_entry *entry;
  __asm__ volatile(
      RESTART_BEGIN("xorl %k[object], %k[object]")
      /* The first entry's NULL is what an empty stack gives. */
      "movq (%[entry], %[top]), %[object]\n\t"
      "subq $16, %[top]\n\t"
      "jb 2f\n\t"
      "movq %[top], (%[stack])\n" RESTART_END
      : [object] "=&r"(object), [stack] "=&r"(stack), [top] "=&r"(top), [entry] "=&r"(entry),
        [armed] "=m"(self->rseq_cs), [restarts] "+m"(*(uint64_t *)restarts)
      : RESTART_OPERANDS
      : "memory", "cc");
  return object;
}

/* Adds an object that weighs `bytes`. false: no place for it, or closed. */
static inline bool restart_push(struct rseq *self, struct restart_stack *stacks,
                                const _Atomic uint32_t *cpus, _Atomic uint64_t *restarts,
                                void *object, uint64_t bytes) {
  uint64_t stack, top, sum; /* the sum is 0 afterwards if the object was added */
  struct restart_entry *entry;
  __asm__ volatile(RESTART_BEGIN("movl $1, %k[sum]") "cmpq %c[last](%[stack]), %[top]\n\t"
                                                     "jae 2f\n\t"
                                                     "movq 8(%[entry], %[top]), %[sum]\n\t"
                                                     "addq %[bytes], %[sum]\n\t"
                                                     "cmpq %c[most](%[stack]), %[sum]\n\t"
                                                     "ja 2f\n\t"
                                                     "movq %[object], 16(%[entry], %[top])\n\t"
                                                     "movq %[sum], 24(%[entry], %[top])\n\t"
                                                     "xorl %k[sum], %k[sum]\n\t"
                                                     "addq $16, %[top]\n\t"
                                                     "movq %[top], (%[stack])\n" RESTART_END
                   : [stack] "=&r"(stack), [top] "=&r"(top), [sum] "=&r"(sum), [entry] "=&r"(entry),
                     [armed] "=m"(self->rseq_cs), [restarts] "+m"(*(uint64_t *)restarts)
                   : RESTART_OPERANDS, [object] "r"(object), [bytes] "er"(bytes),
                     [last] "i"(offsetof(struct restart_stack, last)),
                     [most] "i"(offsetof(struct restart_stack, most_bytes))
                   : "memory", "cc");
  return sum == 0;
}

#else

static inline void *restart_pop(struct rseq *self, struct restart_stack *stacks,
                                const _Atomic uint32_t *cpus, _Atomic uint64_t *restarts) {
  (void)self, (void)stacks, (void)cpus, (void)restarts;
  return NULL;
}

static inline bool restart_push(struct rseq *self, struct restart_stack *stacks,
                                const _Atomic uint32_t *cpus, _Atomic uint64_t *restarts,
                                void *object, uint64_t bytes) {
  (void)self, (void)stacks, (void)cpus, (void)restarts, (void)object, (void)bytes;
  return false;
}

#endif

#endif
