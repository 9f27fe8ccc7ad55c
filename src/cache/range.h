/* cache/range.h: what a request's Range makes of a response that could answer it whole (RFC 9110 sections 13.1.5 and 14.2). Pure. */
#pragma once
#include "cache/object.h"
#include "hdrs/field_range.h"
#include "hdrs/head.h"

/* o: a 200 with a body of `length` bytes (UINT64_MAX: unknown yet), or a part of a representation of `length` bytes; the
 * request's other conditions are known to be false. The ranges as range_parse() gives them. RANGE_IGNORE: send the whole (no
 * Range, another method than GET, If-Range names another representation). */
enum range_result range_of(const struct head *request, const struct object *o, uint64_t length, struct byte_range *out,
                           size_t max, size_t *n);
/* Does Last-Modified tell any two representations apart (RFC 9110 section 8.8.2.2)? */
bool last_modified_is_strong(const struct object *o);
/* Asks for a part, and nothing else of the kind: If-Range may be there, other conditions not. */
bool range_is_only_condition(const struct head *request);
/* The first byte it asks for; UINT64_MAX when that can't be told without the length. */
uint64_t range_first(const struct head *request);
