/* hdrs/field_cache_control.h: Cache-Control and Pragma (RFC 9111 section 5.2; caching-rules P1-P11, Q1-Q7), targeted
 * fields (RFC 9213; G2-G6). Pure. */
#pragma once
#include "hdrs/head.h"

enum cc_flag {
    CC_NO_STORE = 1 << 0,
    CC_NO_CACHE = 1 << 1, /* unqualified */
    CC_PRIVATE = 1 << 2,  /* unqualified */
    CC_PUBLIC = 1 << 3,
    CC_MUST_REVALIDATE = 1 << 4,
    CC_PROXY_REVALIDATE = 1 << 5,
    CC_NO_TRANSFORM = 1 << 6,
    CC_ONLY_IF_CACHED = 1 << 7,
    CC_MUST_UNDERSTAND = 1 << 8,
    CC_IMMUTABLE = 1 << 9,
    CC_NO_CACHE_FIELDS = 1 << 10, /* no-cache="a, b": see the span */
    CC_PRIVATE_FIELDS = 1 << 11,
    CC_MAX_STALE_ANY = 1 << 12, /* max-stale without an argument */
    CC_BAD_FRESHNESS = 1 << 13, /* an argument was bad, or given twice with different values: stale (P4, P7) */
    CC_PRESENT = 1 << 14,       /* there was a Cache-Control field at all */
    CC_TARGETED = 1 << 15,      /* a targeted field decides: Expires means nothing */
};

struct cache_control {
    uint32_t flags;
    /* Seconds, saturated; -1: absent. */
    int64_t max_age, s_maxage, min_fresh, max_stale, stale_while_revalidate, stale_if_error;
    struct span no_cache_fields, private_fields; /* inside the quotes */
};

/* All Cache-Control lines of a head; in a request without any, Pragma: no-cache counts as no-cache. */
struct cache_control cache_control_parse(const struct head *h, bool is_request);

/* What governs a response: the first of the fields named in `targets` (blanks between them; SPAN_NONE: no field) that is
 * there, a well-formed dictionary and not empty; else Cache-Control. */
struct cache_control cache_control_of_response(const struct head *h, struct span targets);
