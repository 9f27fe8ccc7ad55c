/* hdrs/field_etag.h: entity tags (RFC 9110 section 8.8.3). Tags are opaque octets; malformed ones match only as whole
 * values, byte for byte (caching-rules W9, W14, W17). Pure. */
#pragma once
#include "base/span.h"

bool etag_weak_match(struct span a, struct span b);
bool etag_strong_match(struct span a, struct span b);
/* Is tag (may be empty: none) among the members of an If-None-Match value, or is that "*"? Weak comparison. */
bool etag_list_matches(struct span list, struct span tag);
