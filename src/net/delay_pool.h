/* net/delay_pool.h: bandwidth limits as token buckets (Squid's delay pools): one for all that draw from a pool, and one for each network,
 * host and name among them. A bucket fills by `restore` bytes a second up to `max`; who finds it empty waits.
 *
 * One pool is shared by all workers, under a lock that is held for a few additions. Threads: any; a use is its owner's. */
#pragma once
#include "base/span.h"
#include "net/addr.h"

enum delay_level {
    DELAY_ALL,
    DELAY_NETWORK, /* IPv4 /24, IPv6 /64 */
    DELAY_HOST,
    DELAY_NAME, /* a user, or what an external ACL tagged it */
    DELAY_OWN,  /* of each use alone */
    DELAY_LEVELS
};

struct delay_rate {
    int64_t restore, max; /* bytes a second, bytes; restore -1: no limit */
};

struct delay_config {
    struct delay_rate rates[DELAY_LEVELS];
    int initial;        /* percent of max that a new bucket has */
    size_t buckets_max; /* beyond that the longest unused ones are forgotten */
};

struct delay_pool;
/* One reference, the caller's. now: monotonic microseconds, as everywhere here. */
struct delay_pool *delay_pool_new(const struct delay_config *c, int64_t now);
/* Clears the holder; NULL is fine. */
void delay_pool_unref(struct delay_pool **holder);

/* Embedded in who is limited; zeroed: not limited. */
struct delay_bucket;
struct delay_use {
    struct delay_pool *pool; /* a reference; NULL: none */
    struct delay_bucket *buckets[DELAY_LEVELS];
};
/* Of one that is begun already: nothing. pool NULL: nothing is limited. name "": the pool's limits by name don't count. */
void delay_begin(struct delay_use *u, struct delay_pool *pool, const struct addr *client, struct span name,
                 int64_t now);
/* Idempotent. */
void delay_end(struct delay_use *u);
/* How many of n bytes may go now. 0: wait for *wait microseconds, and ask again. */
size_t delay_allows(struct delay_use *u, size_t n, int64_t now, int64_t *wait);
/* They went; no more than were allowed, or little more. */
void delay_took(struct delay_use *u, size_t n, int64_t now);

struct delay_stats {
    int64_t level[DELAY_LEVELS]; /* of DELAY_ALL; else 0 */
    size_t buckets, uses;
};
void delay_pool_stats(struct delay_pool *p, int64_t now, struct delay_stats *out);
