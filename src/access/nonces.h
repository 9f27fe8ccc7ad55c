/* access/nonces.h: the numbers that Digest challenges carry (RFC 7616 section 3.3). A nonce is proof of itself: when it was
 * made, something random, and an HMAC under a key of this process, so that asking costs no memory. Only one that a user has used is kept, to
 * see that no request is said twice.
 *
 * Threads: any; one table for all workers, under its lock. */
#pragma once
#include "base/span.h"

#define NONCE_TEXT 64 /* hexadecimal digits */

struct nonces;
struct nonces *nonces_new(void);
void nonces_free(struct nonces **holder);
/* A new one, with a NUL. mono: now, monotonic microseconds. */
void nonce_make(const struct nonces *t, int64_t mono, char out[NONCE_TEXT + 1]);

struct nonce_rules {
    int64_t max_duration; /* microseconds: older ones are stale */
    unsigned max_count;   /* uses: then it is stale */
    bool check_count;     /* a count that was used already is refused */
    bool strict;          /* counts go up by 1, without a gap */
    size_t most;          /* nonces that are kept; those that give way are stale */
};

enum nonce_verdict {
    NONCE_GOOD,
    NONCE_UNKNOWN, /* none of ours */
    NONCE_STALE,   /* too old, used up, or its count was used: the same request with a new one will do */
};
/* Could it be used? Changes nothing. */
enum nonce_verdict nonce_check(const struct nonces *t, struct span nonce, const struct nonce_rules *rules,
                               int64_t mono);
/* It is used with this count, by credentials that are right. */
enum nonce_verdict nonce_use(struct nonces *t, struct span nonce, uint32_t count, const struct nonce_rules *rules,
                             int64_t mono);
/* Forgets those that are stale by age. */
void nonces_sweep(struct nonces *t, const struct nonce_rules *rules, int64_t mono);
size_t nonces_count(struct nonces *t);
