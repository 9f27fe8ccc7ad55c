/* proxy/transaction.h: one request that could not be answered at once: waits for what its access list needs, for a
 * fill (its own fetch or somebody else's), and relays the answer to its client.
 *
 *   ADMIT --let in--> REWRITE --> DECIDE --miss--> HEAD --> RELAY --> over
 *                                   `--large hit---------------^
 *
 * It knows heads and bodies, not the wire to the origin: that is fetch.c's. Threads: its client's worker. */
#pragma once
#include "cache/fill.h"
#include "hdrs/field_range.h"
#include "proxy/admission.h"
#include "proxy/client_conn.h"
#include "proxy/gather.h"
#include "proxy/log_entry.h"

struct fetch;
struct transaction;

/* What the cache couldn't answer. */
struct miss {
    struct object *stale;     /* a stored response to validate; NULL: none */
    struct object *begins;    /* a stored part that begins what is wanted, to be continued; likewise */
    struct byte_range wanted; /* then: all that is wanted */
    bool cacheable;           /* the `cache` rules let it be looked up and stored */
    bool shared, upgrade;
    bool variants;      /* none that is stored was selected: the origin may know one that will do */
    bool unconditional; /* without the client's conditions */
    bool whole;         /* a part is asked for; fetch the whole */
    bool join;          /* a part is asked for; a fetch that has its first byte already will do */
    enum log_tag tag;
    const char *reason; /* static text: why it is a miss */
    const char *fwd;    /* the same as RFC 9211 section 2.2 has it */
    bool looked_up;     /* in the store: there was something, or not, as `any` says */
    bool any;
};

/* c becomes BUSY with it. r is copied. */
struct transaction *transaction_new(struct client_conn *c, const struct request *r);

/* One behind c's own: the miss begins at once, its answer waits until it is c's (client_conn_take_ahead()). */
struct transaction *transaction_ahead(struct client_conn *c, const struct request *r, const struct miss *m);
/* Where the next one behind it is hung; the connection's list. */
struct transaction **transaction_behind(struct transaction *t);

/* Which of these it starts with; set before transaction_client_ready() first runs, or from within it. */

/* A list is asked that may need more than the request: addresses, the user (admission.h). */
void transaction_admit(struct transaction *t, enum gate gate);
/* Rewriters are asked about it first. */
void transaction_rewrite(struct transaction *t);
/* Fetch, or wait for a fetch under way. References are taken. */
void transaction_miss(struct transaction *t, const struct miss *m);
/* Deliver o (a reference is taken); part: of its body, NULL: all. */
void transaction_object(struct transaction *t, struct object *o, enum log_tag tag, const char *reason,
                        const struct byte_range *part);
/* PURGE of more than one URL. */
void transaction_purge(struct transaction *t);
/* A page that is made of what all workers have. */
void transaction_gather(struct transaction *t, const struct gather_kind *kind);
/* CONNECT. */
void transaction_tunnel(struct transaction *t);

/* From client_conn. */
void transaction_client_ready(struct transaction *t, unsigned what);
/* Lets go of the client; logs; frees itself. The fetch goes on if quick_abort or other readers say so. */
void transaction_client_gone(struct transaction *t);
void transaction_sweep(struct transaction *t, int64_t mono);

struct client_conn *transaction_client(const struct transaction *t);
const struct request *transaction_request(const struct transaction *t); /* lent */
bool transaction_is_delayed(const struct transaction *t); /* by a delay pool; for manager pages */
/* Those its client's request came under, to its end; lent. */
const struct settings *transaction_settings(const struct transaction *t);
/* It is over without an answer of its own (the answer is in the batch already): frees t; c goes on with its state. */
void transaction_drop(struct transaction *t);
