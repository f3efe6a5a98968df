/*
 * The text protocol between a client and the broker, and the sockets it runs over.
 *
 *     client to broker                            broker to client
 *     SUB <subject> <sid>\r\n                     MSG <subject> <sid> [reply] <size>\r\n
 *     UNSUB <sid> [max]\r\n                         <payload>\r\n
 *     PUB <subject> [reply] <size>\r\n            -ERR <text>\r\n
 *       <payload>\r\n                            PONG\r\n
 *     PING\r\n
 *
 * Sizes are decimal bytes. Words are separated by one space. A frame is a line and, for PUB and
 * MSG, its payload. UNSUB with a bound ends the subscription after that many messages in all.
 * PONG says that all before the PING has been handled.
 */
#ifndef POOLBENCH_REQUEST_WIRE_H
#define POOLBENCH_REQUEST_WIRE_H

#include <stdbool.h>
#include <stddef.h>

#define WIRE_MAX_LINE 256 /* bytes, without the line end */
#define WIRE_MAX_PAYLOAD 1024
#define WIRE_MAX_FRAME (WIRE_MAX_LINE + WIRE_MAX_PAYLOAD + 4)
#define WIRE_MAX_WORDS 4 /* after the verb */

/* Bytes somewhere else, not terminated. */
struct text {
  const char *at;
  size_t length;
};

enum wire_verb { WIRE_SUB, WIRE_UNSUB, WIRE_PUB, WIRE_PING, WIRE_MSG, WIRE_PONG, WIRE_ERR };

/* Points into the reader's buffer: valid until its next wire_read. */
struct wire_frame {
  enum wire_verb verb;
  struct text line; /* the whole line */
  struct text words[WIRE_MAX_WORDS];
  size_t word_count;
  struct text payload;
};

/* One direction of a connection. The fd is the caller's. */
struct wire_reader {
  int fd;
  size_t start, end;
  char buffer[2 * WIRE_MAX_FRAME];
};

enum wire_status {
  WIRE_FRAME,  /* there is one */
  WIRE_CLOSED, /* the other side has gone, between two frames */
  WIRE_BROKEN, /* `why` says what is wrong with what came */
};

/* Both ends of a connection: a pair of stream sockets. false: `why` names the limit. */
bool wire_pair(int fds[2], char *why, size_t why_size);

/* Blocks until a whole frame has come. */
enum wire_status wire_read(struct wire_reader *r, struct wire_frame *out, char *why,
                           size_t why_size);

/* Writes all of it; false with errno set when the other side has gone. */
bool wire_write(int fd, const void *data, size_t length);

/*
 * Makes the frame "VERB SUBJECT [SID] [REPLY] SIZE\r\nPAYLOAD\r\n"; sid and reply may be empty
 * (length 0). Returns its length, 0 when it is longer than the protocol allows.
 */
size_t wire_message(char out[WIRE_MAX_FRAME], const char *verb, struct text subject,
                    struct text sid, struct text reply, struct text payload);

/* Decimal digits to a number of at most `most`; false for anything else. */
bool wire_number(struct text digits, size_t most, size_t *out);

#endif
