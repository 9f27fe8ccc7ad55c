/* access/auth_private.h: what auth.c and the schemes share. */
#pragma once
#include "access/auth.h"
#include "access/job_pool.h"
#include "access/digest.h"
#include "access/logins.h"
#include "access/nonces.h"

struct auth {
    struct worker *worker;
    struct auth_shared *shared;
    struct logins *logins;
    struct digest_credentials digest; /* scratch: those asked about last */
    int64_t swept, nonces_swept;      /* monotonic microseconds */
    int64_t told_busy;                /* the last line in cache.log about it; 0: none */
};

struct job_pool *auth_jobs(struct auth_shared *s);
struct nonces *auth_nonces(struct auth_shared *s);
/* AUTH_BUSY, and a word in cache.log now and then. */
void auth_busy(struct auth *a, struct auth_result *r);
/* Everybody who waits for it is told; then it is remembered if it is good, else forgotten. */
void auth_settle(struct auth *a, struct login *one, const struct auth_result *r);

/* auth_basic.c: rest is what follows the scheme's name. */
void auth_basic_ask(struct auth *a, const struct auth_settings *s, struct span rest, struct auth_query *query,
                    struct auth_result *r);

/* auth_digest.c */
void auth_digest_ask(struct auth *a, const struct auth_settings *s, const struct auth_request *q, struct span rest,
                     struct auth_query *query, struct auth_result *r);
struct nonce_rules auth_nonce_rules(const struct auth_settings *s);
