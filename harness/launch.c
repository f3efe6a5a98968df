/*
 * Starting, watching and ending a worker; see launch.h. Knows nothing of plans or files.
 */
#include "harness/launch.h"

#include "harness/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
  SAMPLE_MOST = 1 << 20, /* a sample is some kilobytes; more is garbage */
  DRAIN_MOST = 64,       /* reads after the worker ended, so that a grandchild cannot hold us up */
};

const char *launch_outcome_name(enum launch_outcome o) {
  static const char *const names[] = {"sample",  "crashed",     "hung",
                                      "garbage", "interrupted", "not started"};
  return names[o];
}

static bool is_ignored(int number) {
  struct sigaction now_set;
  return sigaction(number, NULL, &now_set) == 0 && now_set.sa_handler == SIG_IGN;
}

bool launcher_open(struct launcher *l, struct error *e) {
  static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
  struct sigaction usual = {.sa_handler = SIG_DFL};
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
    if (!is_ignored(ends[i]))
      sigaddset(&set, ends[i]);
  l->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  if (l->signals < 0)
    return error_errno(e, EXIT_INPUT, "opening a signalfd");
  if (sigprocmask(SIG_BLOCK, &set, &l->old_mask) != 0 ||
      sigaction(SIGCHLD, &usual, &l->old_child) != 0) {
    error_errno(e, EXIT_INPUT, "preparing signals");
    close(l->signals); /* both calls fail for a wrong argument only: there is nothing to undo */
    return false;
  }
  return true;
}

void launcher_close(struct launcher *l) {
  close(l->signals);
  sigprocmask(SIG_SETMASK, &l->old_mask, NULL);
  sigaction(SIGCHLD, &l->old_child, NULL);
}

int launcher_interrupted(struct launcher *l) {
  struct signalfd_siginfo info;
  int stop = 0;
  while (read(l->signals, &info, sizeof info) == (ssize_t)sizeof info)
    if (info.ssi_signo != SIGCHLD)
      stop = (int)info.ssi_signo;
  return stop;
}

/* What a worker writes: all of it up to a limit, or its end. */
struct stream {
  int fd; /* read end, -1 when closed */
  char *data;
  size_t length, room;
  bool keep_end; /* beyond room the beginning goes; else the stream is marked as too long */
  bool too_long;
};

static void stream_append(struct stream *s, const char *bytes, size_t n) {
  if (s->keep_end && n > s->room) {
    bytes += n - s->room;
    n = s->room;
  }
  if (s->length + n > s->room && s->keep_end) {
    size_t drop = s->length + n - s->room;
    memmove(s->data, s->data + drop, s->length - drop);
    s->length -= drop;
  }
  if (s->length + n > s->room) {
    s->too_long = true;
    n = s->room - s->length;
  }
  memcpy(s->data + s->length, bytes, n);
  s->length += n;
}

/* Reads once. Closes at the end of the stream; returns false when nothing more is there now. */
static bool stream_read(struct stream *s) {
  char bytes[4096];
  if (s->fd < 0)
    return false;
  ssize_t n = read(s->fd, bytes, sizeof bytes);
  if (n > 0) {
    stream_append(s, bytes, (size_t)n);
    return true;
  }
  if (n < 0 && (errno == EAGAIN || errno == EINTR))
    return false;
  close(s->fd);
  s->fd = -1;
  return false;
}

/*
 * The worker's environment: ours without LD_PRELOAD (a sample's allocator is the cell's, not the
 * caller's), plus a pad. Only the array is allocated; *extra holds the strings that are new.
 */
static char **make_environment(const struct launch_request *r, char **extra) {
  size_t n = 0, preload = r->preload ? strlen(r->preload) : 0;
  while (environ[n])
    n++;
  char **env = calloc(n + 3, sizeof *env);
  *extra = malloc(32 + preload + 32 + r->pad);
  if (!env || !*extra) {
    free(env);
    free(*extra);
    return NULL;
  }
  size_t k = 0;
  for (size_t i = 0; i < n; i++)
    if (strncmp(environ[i], "LD_PRELOAD=", 11) != 0 &&
        strncmp(environ[i], "POOLBENCH_PAD=", 14) != 0)
      env[k++] = environ[i];
  char *text = *extra;
  if (r->preload) {
    env[k++] = text;
    text += sprintf(text, "LD_PRELOAD=%s", r->preload) + 1;
  }
  env[k++] = text;
  text += sprintf(text, "POOLBENCH_PAD=");
  memset(text, 'x', r->pad);
  text[r->pad] = '\0';
  return env;
}

/* A pipe whose read end does not block; both ends close on exec. */
static bool make_pipe(int fds[2]) {
  if (pipe2(fds, O_CLOEXEC) != 0)
    return false;
  if (fcntl(fds[0], F_SETFL, O_NONBLOCK) == 0)
    return true;
  close(fds[0]);
  close(fds[1]);
  return false;
}

/*
 * Descriptors of the worker. The write ends are first moved out of the way of 0..3, since a
 * dup2 onto one of them would otherwise overwrite the other.
 */
static int describe_files(posix_spawn_file_actions_t *actions, int sample, int output) {
  int error = posix_spawn_file_actions_addopen(actions, 0, "/dev/null", O_RDONLY, 0);
  if (!error)
    error = posix_spawn_file_actions_adddup2(actions, output, 1);
  if (!error)
    error = posix_spawn_file_actions_adddup2(actions, output, 2);
  if (!error)
    error = posix_spawn_file_actions_adddup2(actions, sample, LAUNCH_FD);
  if (!error)
    error = posix_spawn_file_actions_addclosefrom_np(actions, LAUNCH_FD + 1);
  return error;
}

static int describe_process(posix_spawnattr_t *attributes) {
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  int error = posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
                                                       POSIX_SPAWN_SETSIGDEF);
  if (!error)
    error = posix_spawnattr_setpgroup(attributes, 0);
  if (!error)
    error = posix_spawnattr_setsigmask(attributes, &none);
  if (!error)
    error = posix_spawnattr_setsigdefault(attributes, &all);
  return error;
}

/* 0, or an errno value. */
static int spawn(const struct launch_request *r, int sample, int output, pid_t *pid) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  char *extra = NULL, **env = make_environment(r, &extra);
  if (!env)
    return ENOMEM;
  int error = posix_spawn_file_actions_init(&actions);
  if (!error) {
    error = posix_spawnattr_init(&attributes);
    if (!error) {
      error = describe_files(&actions, sample, output);
      if (!error)
        error = describe_process(&attributes);
      if (!error)
        error = posix_spawn(pid, r->program, &actions, &attributes, r->argv, env);
      posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&actions);
  }
  free(env);
  free(extra);
  return error;
}

/*
 * Moves a descriptor above those that the worker gets; the old one is closed. -1 on failure, with
 * errno EMFILE also where the limit of open files is below that: the kernel says EINVAL then.
 */
static int move_up(int fd) {
  int high = fcntl(fd, F_DUPFD_CLOEXEC, 10);
  int error = errno == EINVAL ? EMFILE : errno;
  close(fd);
  errno = error;
  return high;
}

/* Has the worker ended? It stays a zombie, so that its process group cannot be another's. */
static bool has_ended(pid_t pid) {
  siginfo_t info = {0};
  return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid;
}

/*
 * Waits for the worker's end, its time-out or a signal to us, reading what it writes meanwhile.
 * Returns true when it ended by itself; else *stop is the signal, 0 for the time-out.
 */
static bool watch(struct launcher *l, pid_t pid, uint64_t deadline, struct stream *sample,
                  struct stream *output, int *stop) {
  *stop = 0;
  while (!has_ended(pid)) {
    uint64_t t = clock_wall_ns();
    if (t >= deadline)
      return false;
    struct pollfd fds[] = {{.fd = l->signals, .events = POLLIN},
                           {.fd = sample->fd, .events = POLLIN},
                           {.fd = output->fd, .events = POLLIN}};
    uint64_t left_ms = (deadline - t) / NS_PER_MS + 1;
    if (poll(fds, 3, left_ms > 60000 ? 60000 : (int)left_ms) < 0 && errno != EINTR)
      return false;
    stream_read(sample);
    stream_read(output);
    *stop = launcher_interrupted(l);
    if (*stop)
      return false;
  }
  return true;
}

/* What is left in the pipes; a grandchild that still writes does not keep us here. */
static void drain(struct stream *s) {
  for (int i = 0; i < DRAIN_MOST && stream_read(s); i++)
    ;
}

static void judge(struct launch_result *out, const struct stream *sample, int status) {
  struct error e;
  if (WIFSIGNALED(status)) {
    out->outcome = LAUNCH_CRASHED;
    snprintf(out->why, sizeof out->why, "killed by signal %d (%s)", WTERMSIG(status),
             strsignal(WTERMSIG(status)));
  } else if (sample->too_long) {
    out->outcome = LAUNCH_GARBAGE;
    snprintf(out->why, sizeof out->why, "wrote more than %d bytes where a sample was expected",
             SAMPLE_MOST);
  } else if (sample->length > 0 && sample_read(sample->data, sample->length, &out->sample, &e)) {
    out->outcome = LAUNCH_SAMPLE;
  } else if (WEXITSTATUS(status) != 0) {
    out->outcome = LAUNCH_CRASHED;
    snprintf(out->why, sizeof out->why, "left with status %d and without a sample",
             WEXITSTATUS(status));
  } else if (sample->length == 0) {
    out->outcome = LAUNCH_GARBAGE;
    snprintf(out->why, sizeof out->why, "left without a word: no sample");
  } else {
    out->outcome = LAUNCH_GARBAGE;
    snprintf(out->why, sizeof out->why, "no sample: %.300s", e.text);
  }
}

/* Waits for the process and judges it; kills first what is left of its group. */
static void finish(pid_t pid, bool ended, int stop, uint64_t timeout_ns, struct stream *sample,
                   struct stream *output, struct launch_result *out) {
  int status = 0;
  kill(-pid, SIGKILL);
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
    ;
  drain(sample);
  drain(output);
  if (ended) {
    judge(out, sample, status);
  } else if (stop) {
    out->outcome = LAUNCH_INTERRUPTED;
    out->signal = stop;
    snprintf(out->why, sizeof out->why, "stopped by SIG%s", sigabbrev_np(stop));
  } else {
    out->outcome = LAUNCH_HUNG;
    snprintf(out->why, sizeof out->why, "no end after %.1f s; killed", (double)timeout_ns / 1e9);
  }
}

static void not_started(struct launch_result *out, const char *what, const char *program,
                        int error) {
  out->outcome = LAUNCH_NOT_STARTED;
  snprintf(out->why, sizeof out->why, "%s %.200s: %s%s", what, program, strerror(error),
           error == EMFILE ? "; the limit is low: ulimit -n 1024 raises it" : "");
}

static void run(struct launcher *l, const struct launch_request *r, int fds[2][2],
                struct stream *sample, struct stream *output, struct launch_result *out) {
  pid_t pid;
  int stop = 0;
  int error = 0;
  for (int i = 0; i < 2; i++) {
    fds[i][1] = move_up(fds[i][1]);
    if (fds[i][1] < 0)
      error = errno;
  }
  if (!error)
    error = spawn(r, fds[0][1], fds[1][1], &pid);
  for (int i = 0; i < 2; i++)
    if (fds[i][1] >= 0)
      close(fds[i][1]);
  if (error) {
    not_started(out, "cannot start", r->program, error);
    return;
  }
  bool ended = watch(l, pid, clock_wall_ns() + r->timeout_ns, sample, output, &stop);
  finish(pid, ended, stop, r->timeout_ns, sample, output, out);
}

void launch(struct launcher *l, const struct launch_request *request, struct launch_result *out) {
  uint64_t start = clock_wall_ns();
  int fds[2][2];
  *out = (struct launch_result){0};
  struct stream sample = {.room = SAMPLE_MOST, .data = malloc(SAMPLE_MOST)};
  struct stream output = {.room = sizeof out->output - 1, .data = out->output, .keep_end = true};
  if (!sample.data) {
    not_started(out, "no memory to start", request->program, ENOMEM);
    return;
  }
  if (!make_pipe(fds[0])) {
    not_started(out, "no pipe to", request->program, errno);
  } else if (!make_pipe(fds[1])) {
    not_started(out, "no pipe to", request->program, errno);
    close(fds[0][0]);
    close(fds[0][1]);
  } else {
    sample.fd = fds[0][0];
    output.fd = fds[1][0];
    run(l, request, fds, &sample, &output, out);
    if (sample.fd >= 0)
      close(sample.fd);
    if (output.fd >= 0)
      close(output.fd);
  }
  free(sample.data);
  out->output[output.length] = '\0';
  out->wall_ns = clock_wall_ns() - start;
}
