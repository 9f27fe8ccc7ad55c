/* cache/partial.h: parts of representations: what a 206 brings, what a stored part can do for a request, and what continues it
 * (RFC 9110 sections 14.4 and 15.3.7, RFC 9111 sections 3.3 and 3.4). Pure. */
#pragma once
#include "cache/object.h"
#include "hdrs/field_range.h"
#include "hdrs/head.h"

/* Where the body of a 206, `length` bytes by its framing, belongs. False: it isn't one part of a whole of known length, or its
 * Content-Range and its length disagree (caching-rules R9): nothing to keep. */
bool part_of_response(const struct head *response, uint64_t length, struct byte_range *part, uint64_t *whole);

/* What p, a part, can do for a GET. */
enum part_use {
    PART_USELESS,
    PART_SERVES, /* it holds all that is wanted */
    PART_BEGINS, /* it holds the beginning of that, or ends just in front of it, and has a strong validator to ask with */
};
/* wanted: the bytes asked for, unless useless: all of them without a Range. A request with other conditions than Range and
 * If-Range, or with several ranges, has no use for a part. */
enum part_use part_use_of(const struct head *request, const struct object *p, struct byte_range *wanted);

/* The value of If-Range that asks for more of p: a strong ETag or Last-Modified; SPAN_NONE: it has none. */
struct span part_validator(const struct object *p);
/* Does this 206 with `length` bytes bring what p lacks up to `last`, of the same representation (caching-rules R8)? */
bool part_continues(const struct object *p, uint64_t last, const struct head *response, uint64_t length);
