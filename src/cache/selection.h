/* cache/selection.h: private to response.c: which fields of a head go into the store (RFC 9111 section 3.1;
 * caching-rules S10, S12, X2-X4). Pure, linear in the size of the head. */
#pragma once
#include "hdrs/field_cache_control.h"
#include "hdrs/head.h"

struct selection {
    bool keep[HEAD_FIELDS_MAX]; /* by field number */
};

/* cc: of h. response_time (seconds since the epoch) judges Date. hash_init() was called. */
void select_fields(struct selection *s, const struct head *h, const struct cache_control *cc, int64_t response_time);
