/* access/auth_private.h: what auth.c and the schemes share. */
#pragma once
#include "access/auth.h"
#include "access/job_pool.h"
#include "access/digest.h"
#include "access/helper.h"
#include "access/logins.h"
#include "access/nonces.h"

struct auth {
    struct worker *worker;
    struct auth_shared *shared;
    struct logins *logins;
    struct list_node askings;         /* struct auth_asking */
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
void auth_basic_ask(struct auth *a, const struct auth_settings *s, const struct auth_request *q, struct span rest,
                    struct auth_query *query, struct auth_result *r);

/* auth_helper.c: a question to a program, under way. */
struct auth_asking;
/* What the program's answer makes: AUTH_BUSY stays when it could not tell. */
typedef void auth_reader(struct auth_asking *k, const struct helper_reply *reply, struct auth_result *r);
struct auth_asking {
    struct list_node node; /* a->askings */
    struct helper_query query;
    struct auth *auth;
    struct login *login;                /* pending: it stays; NULL: a token */
    struct list_node asker;             /* of a token: the one query, or none any more */
    struct auth_connection *connection; /* of a token; lives as long as there is an asker */
    bool any_case;
    enum digest_algorithm algorithm;
    uint64_t generation;
    auth_reader *read;
};
/* It frees itself when the answer has been told. */
struct auth_asking *auth_asking_new(struct auth *a, struct login *one, auth_reader *read);
void auth_asking_send(struct auth_asking *k, const struct auth_scheme_settings *s, struct span line);
/* All of them, at the end. */
void auth_askings_forget(struct auth *a);
/* With %xx for what could end a word or a line. */
void auth_add_escaped(struct strbuf *line, struct span text);
/* A blank and key_extras, if there are some (auth.c). */
void auth_request_extras(const struct auth_request *q, const struct auth_scheme_settings *s, struct strbuf *line);

/* auth_negotiate.c */
void auth_negotiate_ask(struct auth *a, const struct auth_settings *s, const struct auth_request *q, struct span rest,
                        struct auth_query *query, struct auth_result *r);

/* auth_digest.c */
void auth_digest_ask(struct auth *a, const struct auth_settings *s, const struct auth_request *q, struct span rest,
                     struct auth_query *query, struct auth_result *r);
struct nonce_rules auth_nonce_rules(const struct auth_settings *s);
