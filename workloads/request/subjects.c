/*
 * The subscription table; see subjects.h. Nodes are found through one hash table keyed by parent
 * and token, so that a level with thousands of children costs one look-up, not a scan.
 */
#include "workloads/request/subjects.h"

#include "harness/heap.h"

#include <string.h>

struct token {
  uint32_t hash, length;
  char text[SUBJECT_MAX_TOKEN + 1];
};
_Static_assert(sizeof(struct token) == 36, "the Go program's size");

struct node {
  struct token *token; /* NULL: the root */
  struct node *parent;
  struct node *next; /* in its bucket */
  struct subscriber *subscribers;
  struct node *tail; /* the child ">", which is in no bucket */
  size_t children;   /* all but the tail */
};
_Static_assert(sizeof(struct node) == 48, "the Go program's size");
_Static_assert(sizeof(struct subscriber) == 96, "the Go program's size");

/* The result of routing one subject, kept by the session that asked. */
struct match {
  char *subject; /* terminated */
  size_t length;
  uint64_t hash;
  uint64_t generation;
  size_t count;
  struct subscriber **list;
};
_Static_assert(sizeof(struct match) == 48, "the Go program's size");

static uint32_t hash_bytes(struct text t) { /* FNV-1a */
  uint32_t h = 2166136261u;
  for (size_t i = 0; i < t.length; i++)
    h = (h ^ (unsigned char)t.at[i]) * 16777619u;
  return h;
}

static char *copy_text(struct text t) {
  char *copy = heap_alloc(t.length + 1);
  if (copy) {
    memcpy(copy, t.at, t.length);
    copy[t.length] = '\0';
  }
  return copy;
}

/* In a block of SID_SIZE, zero to its end. */
static char *copy_sid(struct text sid) {
  char *copy = heap_calloc(SID_SIZE);
  if (copy)
    memcpy(copy, sid.at, sid.length);
  return copy;
}

/* Takes the next token off a subject; false at its end. */
static bool next_token(struct text *rest, struct text *token) {
  if (!rest->at)
    return false;
  const char *dot = memchr(rest->at, '.', rest->length);
  if (!dot) {
    *token = *rest;
    *rest = (struct text){NULL, 0};
    return true;
  }
  size_t length = (size_t)(dot - rest->at);
  *token = (struct text){rest->at, length};
  *rest = (struct text){dot + 1, rest->length - length - 1};
  return true;
}

static bool is_tail(struct text token) {
  return token.length == 1 && token.at[0] == '>';
}

static bool subject_is_good(struct text subject) {
  struct text token;
  size_t count = 0;
  for (struct text rest = subject; next_token(&rest, &token);)
    if (token.length == 0 || token.length > SUBJECT_MAX_TOKEN || ++count > SUBJECT_MAX_TOKENS ||
        (is_tail(token) && rest.at))
      return false;
  return true;
}

static struct node **bucket_of(struct subjects *s, const struct node *parent, uint32_t hash) {
  uint64_t mixed = ((uintptr_t)parent >> 4) * 0x9e3779b97f4a7c15u ^ hash * 0xff51afd7ed558ccdu;
  return &s->buckets[(mixed >> 32) % SUBJECTS_BUCKETS];
}

static struct node *find_child(struct subjects *s, const struct node *parent, struct text token) {
  uint32_t hash = hash_bytes(token);
  for (struct node *n = *bucket_of(s, parent, hash); n; n = n->next)
    if (n->parent == parent && n->token->hash == hash && n->token->length == token.length &&
        memcmp(n->token->text, token.at, token.length) == 0)
      return n;
  return NULL;
}

static void free_node(struct node *n) {
  heap_free(n->token, sizeof *n->token);
  heap_free(n, sizeof *n);
}

static struct node *add_child(struct subjects *s, struct node *parent, struct text token) {
  struct node *n = heap_calloc(sizeof *n);
  if (!n)
    return NULL;
  n->token = heap_calloc(sizeof *n->token);
  if (!n->token) {
    heap_free(n, sizeof *n);
    return NULL;
  }
  n->token->hash = hash_bytes(token);
  n->token->length = (uint32_t)token.length;
  memcpy(n->token->text, token.at, token.length);
  n->parent = parent;
  if (is_tail(token)) {
    parent->tail = n;
  } else {
    struct node **bucket = bucket_of(s, parent, n->token->hash);
    n->next = *bucket;
    *bucket = n;
    parent->children++;
  }
  return n;
}

static void unlink_node(struct subjects *s, struct node *n) {
  if (n->parent->tail == n) {
    n->parent->tail = NULL;
    return;
  }
  struct node **at = bucket_of(s, n->parent, n->token->hash);
  while (*at != n)
    at = &(*at)->next;
  *at = n->next;
  n->parent->children--;
}

/*
 * Frees a node that leads nowhere any more and then its parents. Nodes of the first level stay
 * until the end: they are few, and if "_INBOX" came and went with each lone request, what an op
 * allocates would depend on whether another connection has a request open at the moment.
 */
static void prune(struct subjects *s, struct node *n) {
  while (n != s->root && n->parent != s->root && !n->subscribers && !n->tail && n->children == 0) {
    struct node *parent = n->parent;
    unlink_node(s, n);
    free_node(n);
    n = parent;
  }
}

bool subjects_init(struct subjects *s) {
  memset(s, 0, sizeof *s);
  s->root = heap_calloc(sizeof *s->root);
  if (!s->root)
    return false;
  pthread_rwlock_init(&s->lock, NULL);
  return true;
}

void subjects_free(struct subjects *s) {
  for (size_t i = 0; i < SUBJECTS_BUCKETS; i++)
    for (struct node *n = s->buckets[i], *next; n; n = next) {
      next = n->next;
      if (n->tail)
        free_node(n->tail);
      free_node(n);
    }
  if (s->root->tail)
    free_node(s->root->tail);
  heap_free(s->root, sizeof *s->root);
  pthread_rwlock_destroy(&s->lock);
}

size_t subjects_nodes(struct subjects *s) {
  size_t count = 0;
  pthread_rwlock_rdlock(&s->lock);
  for (size_t i = 0; i < SUBJECTS_BUCKETS; i++)
    for (struct node *n = s->buckets[i]; n; n = n->next)
      count += 1 + (n->tail != NULL);
  pthread_rwlock_unlock(&s->lock);
  return count;
}

static void free_subscriber(struct subscriber *sub) {
  if (sub->subject)
    heap_free(sub->subject, sub->subject_length + 1);
  if (sub->sid)
    heap_free(sub->sid, SID_SIZE);
  heap_free(sub, sizeof *sub);
}

static struct subscriber *make_subscriber(struct session *session, struct text subject,
                                          struct text sid) {
  struct subscriber *sub = heap_calloc(sizeof *sub);
  if (!sub)
    return NULL;
  sub->session = session;
  sub->subject_length = subject.length;
  sub->sid_length = sid.length;
  sub->subject = copy_text(subject);
  sub->sid = copy_sid(sid);
  if (!sub->subject || !sub->sid) {
    free_subscriber(sub);
    return NULL;
  }
  return sub;
}

/* Where a token lies in its subject. */
struct span {
  uint32_t from, length;
};

static size_t count_tokens(struct text subject) {
  struct text token;
  size_t count = 0;
  for (struct text rest = subject; next_token(&rest, &token);)
    count++;
  return count;
}

/* The subject's tokens as an array of its own; NULL when out of memory. */
static struct span *split_subject(struct text subject, size_t count) {
  struct span *spans = heap_alloc(count * sizeof *spans);
  struct text token;
  size_t i = 0;
  if (spans)
    for (struct text rest = subject; next_token(&rest, &token);)
      spans[i++] = (struct span){(uint32_t)(token.at - subject.at), (uint32_t)token.length};
  return spans;
}

/* The node of a subject, made where it is missing. NULL when out of memory, with nothing kept. */
static struct node *make_path(struct subjects *s, const char *subject, const struct span *spans,
                              size_t count) {
  struct node *n = s->root;
  for (size_t i = 0; i < count; i++) {
    struct text token = {subject + spans[i].from, spans[i].length};
    struct node *child = is_tail(token) ? n->tail : find_child(s, n, token);
    if (!child)
      child = add_child(s, n, token);
    if (!child) {
      prune(s, n);
      return NULL;
    }
    n = child;
  }
  return n;
}

static void link_subscriber(struct subscriber *sub, struct node *node, struct subscriber **list) {
  struct subscriber **at_node = &node->subscribers;
  sub->node = node;
  sub->next = *at_node;
  sub->link = at_node;
  if (sub->next)
    sub->next->link = &sub->next;
  *at_node = sub;
  sub->next_of_session = *list;
  sub->link_of_session = list;
  if (sub->next_of_session)
    sub->next_of_session->link_of_session = &sub->next_of_session;
  *list = sub;
}

enum subjects_result subjects_add(struct subjects *s, struct session *session,
                                  struct subscriber **list, struct text subject, struct text sid) {
  if (!subject_is_good(subject) || sid.length == 0 || sid.length >= SID_SIZE)
    return SUBJECTS_BAD;
  size_t tokens = count_tokens(subject);
  struct span *spans = split_subject(subject, tokens);
  struct subscriber *sub = make_subscriber(session, subject, sid);
  struct node *node = NULL;
  if (spans && sub) {
    pthread_rwlock_wrlock(&s->lock);
    node = make_path(s, sub->subject, spans, tokens);
    if (node) {
      link_subscriber(sub, node, list);
      s->generation++;
    }
    pthread_rwlock_unlock(&s->lock);
  }
  if (spans)
    heap_free(spans, tokens * sizeof *spans);
  if (sub && !node)
    free_subscriber(sub);
  return node ? SUBJECTS_DONE : SUBJECTS_NO_MEMORY;
}

/* Under the lock for writing. */
static void remove_subscriber(struct subjects *s, struct subscriber *sub) {
  *sub->link = sub->next;
  if (sub->next)
    sub->next->link = sub->link;
  *sub->link_of_session = sub->next_of_session;
  if (sub->next_of_session)
    sub->next_of_session->link_of_session = sub->link_of_session;
  prune(s, sub->node);
  s->generation++;
  free_subscriber(sub);
}

/* A client has a handful of subscriptions: a scan of its list. */
static struct subscriber *find_sid(struct subscriber *list, const char *sid) {
  while (list && strcmp(list->sid, sid) != 0)
    list = list->next_of_session;
  return list;
}

enum subjects_result subjects_end(struct subjects *s, struct subscriber **list, struct text sid,
                                  size_t most) {
  if (sid.length >= SID_SIZE)
    return SUBJECTS_BAD;
  char *key = copy_sid(sid); /* a string of its own, as the Go program asks its map with */
  if (!key)
    return SUBJECTS_NO_MEMORY;
  pthread_rwlock_wrlock(&s->lock);
  struct subscriber *sub = find_sid(*list, key);
  if (sub) {
    sub->most = most;
    if (most == 0 || atomic_load_explicit(&sub->delivered, memory_order_relaxed) >= most)
      remove_subscriber(s, sub);
  }
  pthread_rwlock_unlock(&s->lock);
  heap_free(key, SID_SIZE);
  return SUBJECTS_DONE;
}

void subjects_end_all(struct subjects *s, struct subscriber **list) {
  pthread_rwlock_wrlock(&s->lock);
  while (*list)
    remove_subscriber(s, *list);
  pthread_rwlock_unlock(&s->lock);
}

static size_t collect(struct subscriber *sub, struct subscriber **out, size_t count) {
  for (; sub; sub = sub->next, count++)
    if (out)
      out[count] = sub;
  return count;
}

/* Walks the trie along a subject. Returns how many subscribers it reaches; out may be NULL. */
static size_t walk(struct subjects *s, struct text subject, struct subscriber **out) {
  struct node *n = s->root;
  struct text token;
  size_t count = 0;
  for (struct text rest = subject; n && next_token(&rest, &token);) {
    if (n->tail)
      count = collect(n->tail->subscribers, out, count);
    n = find_child(s, n, token);
  }
  return n ? collect(n->subscribers, out, count) : count;
}

static void free_match(struct match *m) {
  if (m->subject)
    heap_free(m->subject, m->length + 1);
  if (m->list)
    heap_free(m->list, m->count * sizeof *m->list);
  heap_free(m, sizeof *m);
}

void match_cache_free(struct match_cache *cache) {
  for (size_t i = 0; i < MATCH_CACHE_SIZE; i++)
    if (cache->entries[i])
      free_match(cache->entries[i]);
  memset(cache, 0, sizeof *cache);
}

static struct match *make_match(struct subjects *s, struct text subject, uint32_t hash) {
  struct match *m = heap_calloc(sizeof *m);
  if (!m)
    return NULL;
  m->length = subject.length;
  m->hash = hash;
  m->generation = s->generation;
  m->count = walk(s, subject, NULL);
  m->subject = copy_text(subject);
  m->list = m->count ? heap_alloc(m->count * sizeof *m->list) : NULL;
  if (!m->subject || (m->count && !m->list)) {
    free_match(m);
    return NULL;
  }
  walk(s, subject, m->list);
  return m;
}

static bool is_match_of(const struct match *m, struct text subject, uint32_t hash) {
  return m->hash == hash && m->length == subject.length &&
         memcmp(m->subject, subject.at, subject.length) == 0;
}

/* Where the subject stands in the cache; the last place when it is not there. */
static size_t cache_place(const struct match_cache *cache, struct text subject, uint32_t hash) {
  size_t i = 0;
  for (; i < MATCH_CACHE_SIZE - 1; i++) {
    const struct match *m = cache->entries[i];
    if (!m || is_match_of(m, subject, hash))
      break;
  }
  return i;
}

/* Under the lock: the list of an old match may hold subscribers that are gone. */
static struct match *find_match(struct subjects *s, struct match_cache *cache,
                                struct text subject) {
  uint32_t hash = hash_bytes(subject);
  size_t i = cache_place(cache, subject, hash);
  struct match *m = cache->entries[i];
  if (!m || !is_match_of(m, subject, hash) || m->generation != s->generation) {
    if (m)
      free_match(m);
    cache->entries[i] = NULL;
    m = make_match(s, subject, hash);
    if (!m)
      return NULL;
  }
  memmove(&cache->entries[1], &cache->entries[0], i * sizeof cache->entries[0]);
  cache->entries[0] = m;
  return m;
}

/* Counts the delivery; false when the subscription has had its last message already. */
static bool deliver_to(struct subscriber *sub, struct target *out) {
  size_t n = atomic_fetch_add_explicit(&sub->delivered, 1, memory_order_relaxed) + 1;
  if (sub->most > 0 && n > sub->most)
    return false;
  out->session = sub->session;
  out->sid_length = sub->sid_length;
  memcpy(out->sid, sub->sid, SID_SIZE);
  out->last = sub->most > 0 && n == sub->most;
  return true;
}

enum subjects_result subjects_route(struct subjects *s, struct match_cache *cache,
                                    struct text subject, struct target out[SUBJECTS_MAX_TARGETS],
                                    size_t *count) {
  enum subjects_result result = SUBJECTS_DONE;
  *count = 0;
  pthread_rwlock_rdlock(&s->lock);
  struct match *m = find_match(s, cache, subject);
  if (!m)
    result = SUBJECTS_NO_MEMORY;
  else if (m->count > SUBJECTS_MAX_TARGETS)
    result = SUBJECTS_TOO_MANY;
  for (size_t i = 0; result == SUBJECTS_DONE && i < m->count; i++)
    *count += deliver_to(m->list[i], &out[*count]);
  pthread_rwlock_unlock(&s->lock);
  return result;
}
