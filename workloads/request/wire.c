/*
 * The text protocol; see wire.h. Nothing here allocates: what a message costs in memory is the
 * client's and the broker's affair.
 */
#include "workloads/request/wire.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const struct {
  const char *name;
  size_t least_words, most_words;
  bool has_payload; /* its size is the last word */
} verbs[] = {
    [WIRE_SUB] = {"SUB", 2, 2, false},   [WIRE_UNSUB] = {"UNSUB", 1, 2, false},
    [WIRE_PUB] = {"PUB", 2, 3, true},    [WIRE_MSG] = {"MSG", 3, 4, true},
    [WIRE_PING] = {"PING", 0, 0, false}, [WIRE_PONG] = {"PONG", 0, 0, false},
    [WIRE_ERR] = {"-ERR", 0, 0, false}, /* free text: see parse_line */
};
#define VERB_COUNT (sizeof verbs / sizeof verbs[0])

bool wire_pair(int fds[2], char *why, size_t why_size) {
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) == 0)
    return true;
  snprintf(why, why_size, "cannot open a pair of sockets: %s%s", strerror(errno),
           errno == EMFILE || errno == ENFILE ? " (raise the limit with ulimit -n)" : "");
  return false;
}

bool wire_number(struct text digits, size_t most, size_t *out) {
  size_t n = 0;
  if (digits.length == 0)
    return false;
  for (size_t i = 0; i < digits.length; i++) {
    if (digits.at[i] < '0' || digits.at[i] > '9')
      return false;
    n = n * 10 + (size_t)(digits.at[i] - '0');
    if (n > most)
      return false;
  }
  *out = n;
  return true;
}

static bool broken(char *why, size_t why_size, const char *what, struct text line) {
  snprintf(why, why_size, "%s: \"%.*s\"", what, (int)(line.length < 80 ? line.length : 80),
           line.at);
  return false;
}

/* Splits at single spaces; false when there are more words than fit or an empty one. */
static bool split(struct text line, struct text *verb, struct wire_frame *f) {
  struct text *word = verb;
  const char *at = line.at, *end = line.at + line.length;
  f->word_count = 0;
  for (;;) {
    const char *space = memchr(at, ' ', (size_t)(end - at));
    *word = (struct text){at, (size_t)((space ? space : end) - at)};
    if (word->length == 0)
      return false;
    if (!space)
      return true;
    if (f->word_count == WIRE_MAX_WORDS)
      return false;
    word = &f->words[f->word_count++];
    at = space + 1;
  }
}

static bool find_verb(struct text name, enum wire_verb *out) {
  for (size_t i = 0; i < VERB_COUNT; i++)
    if (strlen(verbs[i].name) == name.length && memcmp(verbs[i].name, name.at, name.length) == 0) {
      *out = (enum wire_verb)i;
      return true;
    }
  return false;
}

/* Reads the line without its end; sets the payload's length, which follows the line. */
static bool parse_line(struct text line, struct wire_frame *f, char *why, size_t why_size) {
  struct text verb;
  f->line = line;
  f->payload = (struct text){NULL, 0};
  if (line.length > 5 && memcmp(line.at, "-ERR ", 5) == 0) {
    f->verb = WIRE_ERR;
    f->word_count = 1;
    f->words[0] = (struct text){line.at + 5, line.length - 5};
    return true;
  }
  if (!split(line, &verb, f))
    return broken(why, why_size, "not words separated by one space", line);
  if (!find_verb(verb, &f->verb))
    return broken(why, why_size, "unknown verb", line);
  if (f->word_count < verbs[f->verb].least_words || f->word_count > verbs[f->verb].most_words)
    return broken(why, why_size, "wrong number of words", line);
  if (verbs[f->verb].has_payload &&
      !wire_number(f->words[f->word_count - 1], WIRE_MAX_PAYLOAD, &f->payload.length))
    return broken(why, why_size, "payload size is no number up to 1024", line);
  return true;
}

enum parse { PARSE_DONE, PARSE_MORE, PARSE_BROKEN };

/* Takes one frame off the buffer, if a whole one is there. */
static enum parse take_frame(struct wire_reader *r, struct wire_frame *f, char *why,
                             size_t why_size) {
  const char *from = r->buffer + r->start;
  size_t have = r->end - r->start;
  size_t look = have < WIRE_MAX_LINE + 2 ? have : WIRE_MAX_LINE + 2;
  const char *line_end = memmem(from, look, "\r\n", 2);
  if (!line_end) {
    if (look == have)
      return PARSE_MORE;
    broken(why, why_size, "line longer than 256 bytes", (struct text){from, have});
    return PARSE_BROKEN;
  }
  size_t used = (size_t)(line_end - from) + 2;
  if (!parse_line((struct text){from, used - 2}, f, why, why_size))
    return PARSE_BROKEN;
  if (verbs[f->verb].has_payload) {
    if (have < used + f->payload.length + 2)
      return PARSE_MORE;
    f->payload.at = from + used;
    used += f->payload.length + 2;
    if (memcmp(from + used - 2, "\r\n", 2) != 0) {
      broken(why, why_size, "payload not followed by a line end", f->line);
      return PARSE_BROKEN;
    }
  }
  r->start += used;
  return PARSE_DONE;
}

/* Makes room and receives. Returns what recv did. */
static ssize_t fill(struct wire_reader *r) {
  if (r->start > 0) {
    memmove(r->buffer, r->buffer + r->start, r->end - r->start);
    r->end -= r->start;
    r->start = 0;
  }
  ssize_t n;
  do
    n = recv(r->fd, r->buffer + r->end, sizeof r->buffer - r->end, 0);
  while (n < 0 && errno == EINTR);
  if (n > 0)
    r->end += (size_t)n;
  return n;
}

enum wire_status wire_read(struct wire_reader *r, struct wire_frame *out, char *why,
                           size_t why_size) {
  for (;;) {
    switch (take_frame(r, out, why, why_size)) {
    case PARSE_DONE:
      return WIRE_FRAME;
    case PARSE_BROKEN:
      return WIRE_BROKEN;
    case PARSE_MORE:
      break;
    }
    ssize_t n = fill(r);
    if (n == 0 && r->end == r->start)
      return WIRE_CLOSED;
    if (n <= 0) {
      snprintf(why, why_size, "%s",
               n == 0 ? "the connection ended in the middle of a frame" : strerror(errno));
      return WIRE_BROKEN;
    }
  }
}

bool wire_write(int fd, const void *data, size_t length) {
  const char *at = data;
  while (length > 0) {
    ssize_t n = send(fd, at, length, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return false;
    at += n;
    length -= (size_t)n;
  }
  return true;
}

static char *append(char *to, struct text word) {
  if (word.length > 0) /* memcpy wants a pointer even for nothing */
    memcpy(to, word.at, word.length);
  return to + word.length;
}

static char *append_word(char *to, struct text word) {
  if (word.length == 0)
    return to;
  *to = ' ';
  return append(to + 1, word);
}

size_t wire_message(char out[WIRE_MAX_FRAME], const char *verb, struct text subject,
                    struct text sid, struct text reply, struct text payload) {
  char digits[24];
  int n = snprintf(digits, sizeof digits, "%zu", payload.length);
  struct text size = {digits, (size_t)n};
  size_t line = strlen(verb) + subject.length + sid.length + reply.length + size.length + 4;
  if (line > WIRE_MAX_LINE || payload.length > WIRE_MAX_PAYLOAD)
    return 0;
  char *to = append(out, (struct text){verb, strlen(verb)});
  to = append_word(to, subject);
  to = append_word(to, sid);
  to = append_word(to, reply);
  to = append_word(to, size);
  to = append(to, (struct text){"\r\n", 2});
  to = append(to, payload);
  to = append(to, (struct text){"\r\n", 2});
  return (size_t)(to - out);
}
