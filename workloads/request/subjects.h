/*
 * The broker's subscription table: which subscribers a subject reaches.
 *
 * Subjects are tokens joined by dots. A subscription is to one subject or, with ">" as its last
 * token, to everything below ("_INBOX.ab.>"). The table is a trie of tokens under one rwlock:
 * routing takes it for reading, SUB and UNSUB for writing.
 *
 * The sizes of the blocks are the Go program's: a fresh subject costs a node (48 B) and a token
 * (36 B) a level, its subscriber 96 B.
 */
#ifndef POOLBENCH_REQUEST_SUBJECTS_H
#define POOLBENCH_REQUEST_SUBJECTS_H

#include "workloads/request/wire.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define SUBJECT_MAX_TOKENS 16
#define SUBJECT_MAX_TOKEN 27 /* bytes */
#define SID_SIZE 16          /* of the text, terminated */
#define SUBJECTS_BUCKETS 4096

struct session;
struct node;

/* One subscription. Lists and counts are the table's, under its lock. */
struct subscriber {
  struct session *session;
  struct node *node;
  struct subscriber *next, **link; /* at the same node; link points at what points here */
  struct subscriber *next_of_session, **link_of_session;
  char *subject, *sid; /* owned, terminated */
  size_t subject_length, sid_length;
  size_t most; /* messages before it ends by itself; 0: no bound */
  atomic_size_t delivered;
};

struct subjects {
  pthread_rwlock_t lock;
  uint64_t generation; /* counts changes, so that cached matches know that they are old */
  struct node *root;
  struct node *buckets[SUBJECTS_BUCKETS]; /* all nodes by (parent, token) */
};

/* Where a message goes. A copy, so that no lock is held while it is sent. */
struct target {
  struct session *session;
  char sid[SID_SIZE];
  size_t sid_length;
  bool last; /* the subscription ends with this message */
};
#define SUBJECTS_MAX_TARGETS 16

/* The last subjects that a session routed. Hits cost no allocation, a miss three. */
#define MATCH_CACHE_SIZE 8
struct match_cache {
  struct match *entries[MATCH_CACHE_SIZE]; /* most recently used first */
};

bool subjects_init(struct subjects *s); /* false: out of memory */
void subjects_free(struct subjects *s); /* no subscriber is left */

enum subjects_result { SUBJECTS_DONE, SUBJECTS_NO_MEMORY, SUBJECTS_BAD, SUBJECTS_TOO_MANY };

/*
 * Adds a subscription to `list`, the session's. SUBJECTS_BAD: an empty, too long or misplaced
 * token, or a sid that does not fit.
 */
enum subjects_result subjects_add(struct subjects *s, struct session *session,
                                  struct subscriber **list, struct text subject, struct text sid);

/*
 * UNSUB: ends the session's subscription, with `most` > 0 once that many messages have been
 * delivered. An unknown sid is no error: it may just have ended by itself.
 */
enum subjects_result subjects_end(struct subjects *s, struct subscriber **list, struct text sid,
                                  size_t most);

/* Ends all of a session's subscriptions. */
void subjects_end_all(struct subjects *s, struct subscriber **list);

/*
 * Who gets a message on a subject: fills `out` and counts the message as delivered to them.
 * SUBJECTS_TOO_MANY when more than SUBJECTS_MAX_TARGETS would.
 */
enum subjects_result subjects_route(struct subjects *s, struct match_cache *cache,
                                    struct text subject, struct target out[SUBJECTS_MAX_TARGETS],
                                    size_t *count);

void match_cache_free(struct match_cache *cache);

/* Nodes in the trie, for tests. */
size_t subjects_nodes(struct subjects *s);

#endif
