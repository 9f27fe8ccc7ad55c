#include "net/delay_pool.h"

#include <pthread.h>
#include <stdlib.h>
#include "base/hash.h"
#include "base/list.h"
#include "base/lock.h"
#include "base/mem.h"

#define SECOND INT64_C(1000000)
/* What is worth waking up for: a twentieth of a second's bytes, but no more than a segment or two. */
#define MORSEL 2920
#define WAIT_MIN (SECOND / 200)
#define WAIT_MAX SECOND
#define CHAINS 1024

struct delay_bucket {
    struct delay_bucket *chain;
    struct list_node lru; /* not in use: the longest unused first */
    struct hash128 key;
    enum delay_level of;
    unsigned uses;
    int64_t level, at; /* bytes, which may be owed; when it was filled last */
};

struct delay_pool {
    pthread_mutex_t lock;
    unsigned refs; /* guarded by lock, as all below */
    struct delay_config config;
    struct delay_bucket all;
    struct delay_bucket *chains[CHAINS];
    struct list_node unused;
    size_t n, uses;
};

/* --- buckets ---------------------------------------------------------------------------------------------------- */

static void bucket_init(struct delay_bucket *b, enum delay_level of, const struct delay_config *c, int64_t now)
{
    b->of = of;
    b->level = c->rates[of].max / 100 * c->initial;
    b->at = now;
}

/* rate * us / 1 s without overflow. */
static int64_t gained(int64_t rate, int64_t us)
{
    if (us > 3600 * SECOND)
        us = 3600 * SECOND;
    return rate / SECOND * us + rate % SECOND * us / SECOND;
}

static void fill(struct delay_bucket *b, const struct delay_rate *r, int64_t now)
{
    int64_t more = now > b->at ? gained(r->restore, now - b->at) : 0;

    if (more == 0)
        return; /* what a moment gives isn't lost: `at` stays */
    b->level = b->level > r->max - more ? r->max : b->level + more;
    b->at = now;
}

/* One who waits gets its share of what there is, so that the others find something, too. */
static int64_t share(const struct delay_bucket *b)
{
    return b->level <= 0 ? 0 : b->uses > 1 && b->level / b->uses > MORSEL / 2 ? b->level / b->uses : b->level;
}

static int64_t worth(const struct delay_rate *r)
{
    int64_t w = r->restore / 20;

    if (w > r->max)
        w = r->max; /* a small bucket never has more */
    return w > MORSEL ? MORSEL : w < 1 ? 1 : w;
}

static int64_t wait_of(const struct delay_bucket *b, const struct delay_rate *r)
{
    int64_t missing = worth(r) - b->level, us;

    if (r->restore == 0)
        return WAIT_MAX;
    us = missing > r->restore ? WAIT_MAX : missing * SECOND / r->restore;
    return us < WAIT_MIN ? WAIT_MIN : us > WAIT_MAX ? WAIT_MAX : us;
}

/* --- the table -------------------------------------------------------------------------------------------------- */

static struct delay_bucket **chain_of(struct delay_pool *p, struct hash128 key)
{
    return &p->chains[key.low % CHAINS];
}

static void forget(struct delay_pool *p, struct delay_bucket *b)
{
    struct delay_bucket **at = chain_of(p, b->key);

    while (*at != b)
        at = &(*at)->chain;
    *at = b->chain;
    list_remove(&b->lru);
    p->n--;
    free(b);
}

static struct delay_bucket *find(struct delay_pool *p, enum delay_level of, struct hash128 key, int64_t now)
{
    struct delay_bucket **chain, *b;

    key.low ^= (uint64_t)of * UINT64_C(0x9e3779b97f4a7c15);
    chain = chain_of(p, key);
    for (b = *chain; b != NULL && !hash128_eq(b->key, key); b = b->chain)
        ;
    if (b == NULL) {
        if (p->n >= p->config.buckets_max && !list_empty(&p->unused))
            forget(p, CONTAINER_OF(p->unused.next, struct delay_bucket, lru));
        b = xcalloc(1, sizeof *b);
        bucket_init(b, of, &p->config, now);
        b->key = key;
        b->chain = *chain;
        *chain = b;
        p->n++;
    } else if (b->uses == 0) {
        list_remove(&b->lru);
    }
    b->uses++;
    return b;
}

static struct hash128 address_key(const struct addr *a, bool network)
{
    bool four = a->family == AF_INET;
    size_t n = network ? (four ? 3 : 8) : (four ? 4 : 16);

    return hash128(a->bytes, n);
}

/* --- pools ------------------------------------------------------------------------------------------------------ */

struct delay_pool *delay_pool_new(const struct delay_config *c, int64_t now)
{
    struct delay_pool *p = xcalloc(1, sizeof *p);

    lock_init(&p->lock);
    p->refs = 1;
    p->config = *c;
    list_init(&p->unused);
    bucket_init(&p->all, DELAY_ALL, c, now);
    return p;
}

static void drop_reference(struct delay_pool *p)
{
    bool last = --p->refs == 0;

    pthread_mutex_unlock(&p->lock);
    if (!last)
        return;
    while (!list_empty(&p->unused))
        forget(p, CONTAINER_OF(p->unused.next, struct delay_bucket, lru));
    pthread_mutex_destroy(&p->lock);
    free(p);
}

void delay_pool_unref(struct delay_pool **holder)
{
    struct delay_pool *p = *holder;

    *holder = NULL;
    if (p == NULL)
        return;
    pthread_mutex_lock(&p->lock);
    drop_reference(p);
}

/* --- uses ------------------------------------------------------------------------------------------------------- */

static bool is_limited(const struct delay_pool *p, enum delay_level of)
{
    return p->config.rates[of].restore >= 0;
}

void delay_begin(struct delay_use *u, struct delay_pool *p, const struct addr *client, struct span name, int64_t now)
{
    if (p == NULL || u->pool != NULL)
        return;
    pthread_mutex_lock(&p->lock);
    p->refs++;
    p->uses++;
    u->pool = p;
    if (is_limited(p, DELAY_ALL)) {
        u->buckets[DELAY_ALL] = &p->all;
        p->all.uses++;
    }
    if (is_limited(p, DELAY_NETWORK))
        u->buckets[DELAY_NETWORK] = find(p, DELAY_NETWORK, address_key(client, true), now);
    if (is_limited(p, DELAY_HOST))
        u->buckets[DELAY_HOST] = find(p, DELAY_HOST, address_key(client, false), now);
    if (is_limited(p, DELAY_NAME) && name.len > 0)
        u->buckets[DELAY_NAME] = find(p, DELAY_NAME, hash128(name.p, name.len), now);
    if (is_limited(p, DELAY_OWN)) {
        u->buckets[DELAY_OWN] = xcalloc(1, sizeof(struct delay_bucket));
        bucket_init(u->buckets[DELAY_OWN], DELAY_OWN, &p->config, now);
        u->buckets[DELAY_OWN]->uses = 1;
    }
    pthread_mutex_unlock(&p->lock);
}

void delay_end(struct delay_use *u)
{
    struct delay_pool *p = u->pool;

    if (p == NULL)
        return;
    pthread_mutex_lock(&p->lock);
    for (int i = 0; i < DELAY_LEVELS; i++) {
        struct delay_bucket *b = u->buckets[i];

        if (b == NULL)
            continue;
        b->uses--;
        if (i == DELAY_OWN)
            free(b);
        else if (i != DELAY_ALL && b->uses == 0)
            list_append(&p->unused, &b->lru);
    }
    *u = (struct delay_use){ 0 };
    p->uses--;
    drop_reference(p);
}

size_t delay_allows(struct delay_use *u, size_t n, int64_t now, int64_t *wait)
{
    struct delay_pool *p = u->pool;
    int64_t least = n > INT64_MAX ? INT64_MAX : (int64_t)n;

    *wait = 0;
    if (p == NULL || n == 0)
        return n;
    pthread_mutex_lock(&p->lock);
    for (int i = 0; i < DELAY_LEVELS; i++) {
        struct delay_bucket *b = u->buckets[i];
        const struct delay_rate *r = &p->config.rates[i];
        int64_t here, longer;

        if (b == NULL)
            continue;
        fill(b, r, now);
        here = b->level >= (worth(r) < least ? worth(r) : least) ? share(b) : 0;
        if (here < least)
            least = here;
        if (here == 0 && (longer = wait_of(b, r)) > *wait)
            *wait = longer;
    }
    pthread_mutex_unlock(&p->lock);
    return (size_t)least;
}

void delay_took(struct delay_use *u, size_t n, int64_t now)
{
    struct delay_pool *p = u->pool;

    if (p == NULL)
        return;
    pthread_mutex_lock(&p->lock);
    for (int i = 0; i < DELAY_LEVELS; i++)
        if (u->buckets[i] != NULL) {
            fill(u->buckets[i], &p->config.rates[i], now);
            u->buckets[i]->level -= (int64_t)n;
        }
    pthread_mutex_unlock(&p->lock);
}

void delay_pool_stats(struct delay_pool *p, int64_t now, struct delay_stats *out)
{
    *out = (struct delay_stats){ .buckets = 0 };
    pthread_mutex_lock(&p->lock);
    if (is_limited(p, DELAY_ALL)) {
        fill(&p->all, &p->config.rates[DELAY_ALL], now);
        out->level[DELAY_ALL] = p->all.level;
    }
    out->buckets = p->n;
    out->uses = p->uses;
    pthread_mutex_unlock(&p->lock);
}
