/* access/auth.h: who is the user? Credentials of a request are looked up among those that were right lately; what isn't
 * there is found out elsewhere (a thread that computes password hashes), and the answer comes back to the worker.
 *
 * Threads: struct auth is one worker's; struct auth_shared any's. */
#pragma once
#include "access/auth_settings.h"
#include "access/user_addresses.h"
#include "net/worker.h"

struct auth_shared; /* the process's: threads, and the users' addresses */
struct auth_shared *auth_shared_new(void);
/* Workers have ended, but aren't freed: what is under way comes back to them. */
void auth_shared_end(struct auth_shared *s);
void auth_shared_free(struct auth_shared **holder);
struct user_addresses *auth_addresses(struct auth_shared *s);

struct auth;
struct auth *auth_new(struct worker *w, struct auth_shared *s);
/* After auth_shared_end() and the worker's last messages; every query has been cancelled. */
void auth_free(struct auth **holder);
/* About once a second: what nobody asks for is forgotten. */
void auth_sweep(struct auth *a, const struct auth_settings *s, int64_t mono);

/* Users whose credentials were right and are remembered: by Basic and Digest, the youngest first, until each() says false. A name that
 * wasn't found right isn't told: it may be a password in the wrong place. For manager pages; valid during the call. */
struct auth_entry {
    enum auth_scheme scheme;
    struct span user;
    int64_t verified, used; /* microseconds ago: found right; wanted */
};
void auth_each(const struct auth *a, bool (*each)(const struct auth_entry *e, void *ctx), void *ctx);

/* How many logins are remembered or being looked at, and in how many bytes. */
size_t auth_logins(const struct auth *a, size_t *bytes);

enum auth_answer {
    AUTH_USER,   /* they are right */
    AUTH_NOBODY, /* there are none, or they aren't */
    AUTH_BUSY,   /* it can't be found out now: too many are waiting */
    AUTH_AGAIN,  /* to done() only: ask again, more is known now */
    AUTH_WAIT,   /* it takes a while: query->done() will be called, not from within auth_ask() */
};

struct auth_result {
    enum auth_answer answer;
    struct span user;  /* AUTH_USER; else who they say they are, or "". Valid until the caller returns to the loop */
    bool stale;        /* AUTH_NOBODY: right but for a challenge that is used up: auth_challenged */
    struct span token; /* AUTH_NOBODY: Negotiate's next, valid during the call */
    bool any_case;     /* the name counts in any letter case: it is in lower case */
    const char *why;   /* not AUTH_USER: static text for log and page */
};

/* Somebody who waits. Embedded; zeroed. */
struct auth_query {
    struct list_node node;
    void (*done)(struct auth_query *q, const struct auth_result *r);
};
void auth_cancel(struct auth_query *q); /* idempotent */

/* What tokens have made of a client's connection. Embedded in it; zeroed. */
struct auth_connection {
    char *user; /* whose it is; NULL: nobody's yet. free()d by the connection */
    bool in_handshake;
};

struct auth_request {
    struct span value;                  /* of the one field with credentials */
    struct span method, target;         /* as received */
    struct auth_connection *connection; /* lives as long as the query waits; NULL: no tokens */
    /* Adds what a compiled key_extras makes of this request; ctx is the caller's. */
    void (*print_extras)(const struct auth_request *q, void *format, struct strbuf *out);
    const void *ctx;
};

/* query NULL: only what is known at once; AUTH_WAIT then means that it isn't.
 * The settings outlive the answer no longer than this call. */
void auth_ask(struct auth *a, const struct auth_settings *s, const struct auth_request *q, struct auth_query *query,
              struct auth_result *r);

/* Who is asked, and what auth_ask() said of the credentials. */
struct auth_challenged {
    bool accel, stale;
    struct span token;
};
/* A field for each scheme that is offered, with its end: Proxy-Authenticate, or WWW-Authenticate of an accelerator; with a token it
 * alone. offer NULL: all schemes. */
void auth_challenge(struct auth *a, const struct auth_settings *s, const struct auth_offer *offer,
                    const struct auth_challenged *c, struct strbuf *out);
