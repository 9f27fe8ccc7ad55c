/* cache/invalidate.h: RFC 9111 section 4.4. Pure. */
#pragma once
#include "hdrs/head.h"
#include "hdrs/uri.h"

/* Does this answer to that method invalidate what is stored for the target URI? 2xx and 3xx to an unsafe or unknown
 * one; CONNECT has no such URI. */
bool invalidates(enum http_method method, int status);

/* The URI a Location or Content-Location value names, resolved against target and made canonical into out (capacity
 * bytes), when it has the same origin; else SPAN_NONE. */
struct span same_origin_reference(const struct canonical_uri *target, struct span value, char *out, size_t capacity);
