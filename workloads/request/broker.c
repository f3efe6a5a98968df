/*
 * The broker; see broker.h. What is wrong with a session's input goes back to it as -ERR and ends
 * the session, as the client is part of this program and should not have sent it.
 *
 * Heap blocks, which are the Go program's: a subject that is not in the session's match cache costs
 * a match (48 B), its list and its copy of the subject; SUB and UNSUB each copy their line (208 B).
 */
#include "workloads/request/broker.h"

#include "harness/heap.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct session {
  struct broker *broker;
  struct session *next; /* of the broker's list */
  struct subscriber *subscribers;
  struct match_cache cache; /* of its own thread */
  pthread_t thread;
  pthread_mutex_t write_lock;
  bool open; /* under write_lock: fd may be written to */
  int fd;
  struct wire_reader reader;
};

/*
 * Sessions stay in memory until broker_close: another session may be about to send to one that
 * has just ended. Their sockets do not stay.
 */
struct broker {
  pthread_mutex_t lock;
  struct session *sessions;
  struct subjects subjects;
};

/* A line copied out of the read buffer, with its words pointing into the copy. */
struct command {
  enum wire_verb verb;
  size_t word_count;
  struct text words[WIRE_MAX_WORDS];
  char line[128];
};
_Static_assert(sizeof(struct command) == 208, "the Go program's size");

struct broker *broker_open(void) {
  struct broker *b = heap_calloc(sizeof *b);
  if (!b)
    return NULL;
  if (!subjects_init(&b->subjects)) {
    heap_free(b, sizeof *b);
    return NULL;
  }
  pthread_mutex_init(&b->lock, NULL);
  return b;
}

void broker_close(struct broker *b) {
  for (struct session *s = b->sessions, *next; s; s = next) {
    next = s->next;
    pthread_mutex_destroy(&s->write_lock);
    heap_free(s, sizeof *s);
  }
  subjects_free(&b->subjects);
  pthread_mutex_destroy(&b->lock);
  heap_free(b, sizeof *b);
}

size_t broker_nodes(struct broker *b) {
  return subjects_nodes(&b->subjects);
}

/* A session that has gone is no error of the sender; its own reader finds out. */
static void session_write(struct session *s, const char *data, size_t length) {
  pthread_mutex_lock(&s->write_lock);
  if (s->open)
    wire_write(s->fd, data, length);
  pthread_mutex_unlock(&s->write_lock);
}

static void session_error(struct session *s, const char *what) {
  char line[WIRE_MAX_LINE];
  int n = snprintf(line, sizeof line, "-ERR %s\r\n", what);
  if (n >= (int)sizeof line) /* cut, but a whole line */
    memcpy(line + sizeof line - 3, "\r\n", 2), n = (int)sizeof line - 1;
  session_write(s, line, (size_t)n);
}

static const char *result_text(enum subjects_result result) {
  switch (result) {
  case SUBJECTS_NO_MEMORY:
    return "broker out of memory";
  case SUBJECTS_BAD:
    return "subject or sid not valid";
  case SUBJECTS_TOO_MANY:
    return "subject reaches more than 16 subscribers";
  case SUBJECTS_DONE:
    break;
  }
  return NULL;
}

static const char *deliver(struct session *s, struct target *to, const struct wire_frame *f) {
  struct text sid = {to->sid, to->sid_length};
  struct text reply = f->word_count == 3 ? f->words[1] : (struct text){NULL, 0};
  char frame[WIRE_MAX_FRAME];
  size_t length = wire_message(frame, "MSG", f->words[0], sid, reply, f->payload);
  if (length == 0)
    return "message too long with the receiver's sid";
  if (to->last) { /* before it is sent, so that whoever gets it finds the subscription gone */
    enum subjects_result ended =
        subjects_end(&s->broker->subjects, &to->session->subscribers, sid, 0);
    if (ended != SUBJECTS_DONE)
      return result_text(ended);
  }
  session_write(to->session, frame, length);
  return NULL;
}

/* Returns NULL or what is wrong. */
static const char *publish(struct session *s, const struct wire_frame *f) {
  struct target targets[SUBJECTS_MAX_TARGETS];
  size_t count;
  const char *wrong =
      result_text(subjects_route(&s->broker->subjects, &s->cache, f->words[0], targets, &count));
  for (size_t i = 0; i < count && !wrong; i++)
    wrong = deliver(s, &targets[i], f);
  return wrong;
}

static struct command *copy_command(const struct wire_frame *f) {
  struct command *c = heap_alloc(sizeof *c);
  if (!c)
    return NULL;
  c->verb = f->verb;
  c->word_count = f->word_count;
  memcpy(c->line, f->line.at, f->line.length);
  for (size_t i = 0; i < f->word_count; i++)
    c->words[i] = (struct text){c->line + (f->words[i].at - f->line.at), f->words[i].length};
  return c;
}

static const char *unsubscribe(struct session *s, const struct command *c) {
  size_t most = 0;
  if (c->word_count == 2 && !wire_number(c->words[1], 1000000000, &most))
    return "UNSUB: the bound is no number";
  return result_text(subjects_end(&s->broker->subjects, &s->subscribers, c->words[0], most));
}

static const char *subscribe(struct session *s, const struct command *c) {
  return result_text(
      subjects_add(&s->broker->subjects, s, &s->subscribers, c->words[0], c->words[1]));
}

static const char *handle_command(struct session *s, const struct wire_frame *f) {
  if (f->line.length > sizeof((struct command *)0)->line)
    return "SUB or UNSUB longer than 128 bytes";
  struct command *c = copy_command(f);
  if (!c)
    return "broker out of memory";
  const char *wrong = c->verb == WIRE_SUB ? subscribe(s, c) : unsubscribe(s, c);
  heap_free(c, sizeof *c);
  return wrong;
}

static const char *handle(struct session *s, const struct wire_frame *f) {
  switch (f->verb) {
  case WIRE_PING:
    session_write(s, "PONG\r\n", 6);
    return NULL;
  case WIRE_PUB:
    return publish(s, f);
  case WIRE_SUB:
  case WIRE_UNSUB:
    return handle_command(s, f);
  case WIRE_MSG:
  case WIRE_PONG:
  case WIRE_ERR:
    break;
  }
  return "the broker takes SUB, UNSUB, PUB and PING";
}

static void *session_main(void *argument) {
  struct session *s = argument;
  struct wire_frame frame;
  char why[160];
  const char *wrong = NULL;
  heap_thread_begin();
  while (!wrong) {
    enum wire_status status = wire_read(&s->reader, &frame, why, sizeof why);
    if (status == WIRE_CLOSED)
      break;
    wrong = status == WIRE_BROKEN ? why : handle(s, &frame);
  }
  if (wrong)
    session_error(s, wrong);
  shutdown(s->fd, SHUT_RDWR); /* so that the client's reader ends too */
  match_cache_free(&s->cache);
  heap_thread_end();
  return NULL;
}

static struct session *make_session(struct broker *b, int fd) {
  struct session *s = heap_calloc(sizeof *s);
  if (!s)
    return NULL;
  s->broker = b;
  s->fd = s->reader.fd = fd;
  s->open = true;
  pthread_mutex_init(&s->write_lock, NULL);
  return s;
}

struct session *broker_accept(struct broker *b, int fd, char *why, size_t why_size) {
  struct session *s = make_session(b, fd);
  int error = s ? pthread_create(&s->thread, NULL, session_main, s) : 0;
  if (!s || error != 0) {
    snprintf(why, why_size, "broker: cannot start a session: %s",
             s ? strerror(error) : "out of memory");
    if (s) {
      pthread_mutex_destroy(&s->write_lock);
      heap_free(s, sizeof *s);
    }
    close(fd);
    return NULL;
  }
  pthread_mutex_lock(&b->lock);
  s->next = b->sessions;
  b->sessions = s;
  pthread_mutex_unlock(&b->lock);
  return s;
}

void broker_drop(struct session *s) {
  shutdown(s->fd, SHUT_RDWR);
  pthread_join(s->thread, NULL);
  subjects_end_all(&s->broker->subjects, &s->subscribers);
  pthread_mutex_lock(&s->write_lock);
  s->open = false;
  close(s->fd);
  pthread_mutex_unlock(&s->write_lock);
}
