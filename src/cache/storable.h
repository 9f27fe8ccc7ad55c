/* cache/storable.h: may this response be stored (RFC 9111 section 3), and if not, why. Pure. */
#pragma once
#include "cache/freshness.h"

/* One reason for an outcome; names by store_reason_name(). */
enum store_reason {
    STORE_YES,
    STORE_NO_METHOD, /* neither GET nor a POST that says what it returns */
    STORE_NO_REQUEST_NO_STORE,
    STORE_NO_NO_STORE,
    STORE_NO_PRIVATE,
    STORE_NO_AUTHORIZATION, /* section 3.5 */
    STORE_NO_PARTIAL,       /* a 206 that can't be kept */
    STORE_NO_STATUS,        /* nothing explicit, and no heuristic for this status */
    STORE_NO_FRESHNESS,     /* neither a lifetime nor a validator */
    STORE_NO_TOO_LARGE,
    STORE_NO_REQUEST_BODY, /* a GET with a body bypasses the cache */
    STORE_NO_ACCESS_LIST,  /* `cache deny`, `store_miss deny` */
    STORE_NO_UNDERSTOOD,   /* must-understand, status not understood */
    STORE_NO_TRUNCATED,
    STORE_NO_SET_COOKIE, /* `store_set_cookie off` */
    STORE_NO_NO_ROOM,    /* cache_mem is full of things in use */
    STORE_REASON_N
};
const char *store_reason_name(enum store_reason r);

struct store_query {
    const struct head *request, *response;
    const struct cache_control *request_cc, *response_cc;
    const struct response_times *times;
    const struct refresh_rule *rule;
    bool request_has_body;
    bool is_part;           /* a 206 that part_of_response() understands */
    bool names_target;      /* its Content-Location is the URI that was asked for */
    bool refuse_set_cookie; /* the configuration's word */
    int64_t negative_ttl;   /* seconds, 0: off */
};

/* On STORE_YES *lifetime is the freshness lifetime in seconds (may be 0: stored for validation). */
enum store_reason storable(const struct store_query *q, int64_t *lifetime, enum lifetime_source *source);
