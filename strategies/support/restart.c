/* Are there restartable sequences, and stopping them all; see restart.h. */
#include "strategies/support/restart.h"

#if RESTART_SEQUENCES

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool membarrier(int command) {
  return syscall(SYS_membarrier, command, 0, 0) == 0;
}

struct rseq *restart_self(const char **why) {
  if (__rseq_size < offsetof(struct rseq, rseq_cs) + sizeof(uint64_t)) {
    *why = "the C library has not registered its threads (an old kernel, or glibc.pthread.rseq=0)";
    return NULL;
  }
  return (struct rseq *)((char *)__builtin_thread_pointer() + __rseq_offset);
}

bool restart_can_fence(const char **why) {
  if (membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_RSEQ))
    return true;
  *why = "the kernel cannot restart the sequences of other CPUs (membarrier, Linux 5.10)";
  return false;
}

bool restart_fence(void) {
  return membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED_RSEQ);
}

#else

struct rseq *restart_self(const char **why) {
  *why = "this build has none (x86-64 with glibc 2.35, and not for the thread sanitizer)";
  return NULL;
}

bool restart_can_fence(const char **why) {
  return restart_self(why) != NULL;
}

bool restart_fence(void) {
  return false;
}

#endif
