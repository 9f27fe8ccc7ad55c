/* net/reverse.h: what an address is called, and whether that is to be believed. A name is written by the address's owner, who
 * may write any: it is confirmed when looking it up gives the address again, which takes the owner of the name.
 *
 * Threads: the resolver's. */
#pragma once
#include "net/resolve.h"

enum name_trust {
    NAME_NONE,        /* it has none that is one, or that couldn't be found out */
    NAME_UNCONFIRMED, /* so it says itself */
    NAME_CONFIRMED,
};

/* Embedded by the asker, zeroed. */
struct reverse_query {
    /* name: lower case, valid (host_name.h), during the call; "" for NAME_NONE. Never called from within reverse(). */
    void (*done)(struct reverse_query *q, enum name_trust trust, struct span name);
    struct resolve_query query; /* the rest is reverse.c's */
    struct resolver *resolver;
    struct addr addr;
    char name[HOST_NAME_MAX_LEN + 2];
};

/* Two look-ups at most, each of which may take dns_timeout. */
void reverse(struct resolver *r, struct reverse_query *q, const struct addr *a);
/* No answer wanted any more. Idempotent; also of one that was never asked. */
void reverse_cancel(struct reverse_query *q);
/* At once, when nothing has to be asked for. */
bool reverse_cached(struct resolver *r, const struct addr *a, enum name_trust *trust, char name[HOST_NAME_MAX_LEN + 1]);
