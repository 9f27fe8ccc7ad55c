/* proxy/fetch.h: a request on its way to an origin or peer, and the response on its way into a fill. Retries where RFC
 * 9110 allows: once, a request that can be repeated, on a reused connection that ended without a byte.
 *
 *   ROUTE -> RESOLVE -> CONNECT -> SEND -> HEAD -> BODY -> over (connection to the pool, or closed)
 *
 * It outlives the transaction that began it when others read the fill or quick_abort says so. Threads: one worker. */
#pragma once
#include "cache/fill.h"
#include "proxy/client_conn.h"
#include "proxy/log_entry.h"

struct fetch;

struct fetch_plan {
    struct proxy_worker *pw;
    struct settings *settings; /* a reference is taken */
    struct request *request;   /* a reference is taken */
    struct fill *fill;         /* the producer's reference is taken over */
    struct object *stale;      /* to validate; a reference is taken; NULL: none */
    struct object *begins;     /* a part to be continued up to byte last; a reference is taken; NULL: none */
    uint64_t last;
    bool cacheable;     /* the answer may be stored */
    bool upgrade;       /* a 101 may come */
    bool whole;         /* not the part that the request asks for */
    bool unconditional; /* without the request's conditions */
    bool variants;      /* asks with the tags of all that is stored under the key (V13) */
    bool background;    /* nobody waits for it: it ends in its own time, without the request's conditions */
    struct transaction
        *owner; /* whose client sends the body and whose log entry is filled; cleared by fetch_owner_gone() */
};

/* Goes off; ends through the fill. Returns NULL when it is over already (the fill says how). */
struct fetch *fetch_start(const struct fetch_plan *plan);
/* The owner leaves (its client did, or it is done): the fetch ends too unless somebody needs it. complete: the client
 * got all it wanted, so this is no abort. */
void fetch_owner_gone(struct fetch *f, bool complete);
/* The owner's client has body bytes (or ended). */
void fetch_body_ready(struct fetch *f);
/* Does it still read the request body from the client? */
bool fetch_wants_body(const struct fetch *f);
/* For manager pages; lent. */
struct fetch_facts {
    int fd; /* to the server; -1: none yet */
    struct addr server;
    bool writing;           /* some of the request isn't sent */
    int64_t timeout, stamp; /* it ends so long after this; microseconds, monotonic */
    struct span url;
};
struct fetch_facts fetch_facts(const struct fetch *f);
/* By a delay pool. */
bool fetch_is_delayed(const struct fetch *f);
void fetch_sweep(struct fetch *f, int64_t mono);
/* The worker is ending. */
void fetch_kill(struct fetch *f);
struct list_node;
struct fetch *fetch_of(struct list_node *n);
