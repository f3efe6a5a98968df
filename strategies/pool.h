/*
 * How workloads call a strategy.
 *
 * Each call is one indirect call through the strategy's table, so that every strategy pays the
 * same dispatch. In a check build (-DPOOL_CHECK) gets, puts and drops carry their call site to
 * strategies/support/check.c, which names double puts, uses after put, foreign pointers, wrong
 * kinds and leaks with both sites.
 */
#ifndef POOLBENCH_POOL_H
#define POOLBENCH_POOL_H

#include "strategies/strategy.h"

#define pool_begin(s, pool, thread, owner) ((s)->begin((pool), (thread), (owner)))
#define pool_end(s, pool, scope) ((s)->end((pool), (scope)))

#ifndef POOL_CHECK

#define pool_get(s, scope, kind) ((s)->get((scope), (kind)))
#define pool_put(s, scope, kind, object) ((s)->put((scope), (kind), (object)))
#define pool_drop(s, thread, kind, object) ((s)->drop((thread), (kind), (object)))

#else

#define POOL_STRINGIFY_(x) #x
#define POOL_STRINGIFY(x) POOL_STRINGIFY_(x)
#define POOL_SITE __FILE__ ":" POOL_STRINGIFY(__LINE__)
/* The site of the calling thread's next get, put or drop; read and reset by the checker. */
extern _Thread_local const char *pool_site;

#define pool_get(s, scope, kind) pool_get_at(POOL_SITE, (s), (scope), (kind))
#define pool_put(s, scope, kind, object) pool_put_at(POOL_SITE, (s), (scope), (kind), (object))
#define pool_drop(s, thread, kind, object) pool_drop_at(POOL_SITE, (s), (thread), (kind), (object))

/* Functions, so that a get among the arguments of a put does not take the put's site. */
static inline void *pool_get_at(const char *site, const struct strategy *s,
                                struct pool_scope *scope, unsigned kind) {
  pool_site = site;
  return s->get(scope, kind);
}
static inline void pool_put_at(const char *site, const struct strategy *s, struct pool_scope *scope,
                               unsigned kind, void *object) {
  pool_site = site;
  s->put(scope, kind, object);
}
static inline void pool_drop_at(const char *site, const struct strategy *s,
                                struct pool_thread *thread, unsigned kind, void *object) {
  pool_site = site;
  s->drop(thread, kind, object);
}

#endif

/* NULL-terminated registry look-up; NULL when there is none of that name. */
const struct strategy *strategy_find(const char *name);

/*
 * Splits "NAME:key=value:key=value" into a strategy and its options and checks the keys.
 * `storage` (given by the caller) receives the text that `options` points into. Returns NULL
 * with `why` filled: unknown name or key, with the nearest right one.
 */
#define STRATEGY_MAX_OPTIONS 8
#define STRATEGY_SPEC_MAX 200
const struct strategy *strategy_parse(const char *spec, char storage[STRATEGY_SPEC_MAX],
                                      const char *options[STRATEGY_MAX_OPTIONS], size_t *count,
                                      char *why, size_t why_size);

/*
 * What every strategy takes besides its own options; the harness heeds them: one pool for all
 * threads or one a thread (harness/pools.h), and whether states are timed (harness/budget.h), which
 * shows what timing them costs. The list ends with key NULL.
 */
extern const struct strategy_option strategy_common_options[];
#define STRATEGY_PRIVATE_POOLS "pools=private"
#define STRATEGY_NO_STATES "states=off"

/* Is this option ("key=value") among them? */
bool strategy_given(const char *const *options, size_t count, const char *option);

/*
 * In a check build: the strategy wrapped by the checker; else the strategy itself. Only one
 * strategy can be wrapped at a time.
 */
const struct strategy *strategy_checked(const struct strategy *s);

#endif
