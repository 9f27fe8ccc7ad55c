/* hdrs/field_list.h: #rule lists (RFC 9110 section 5.6.1): members between commas, empty ones skipped, blanks trimmed,
 * quoted strings kept whole. Pure, linear. */
#pragma once
#include "base/span.h"

/* The next member of *rest into *member; false at the end. *rest moves on. */
bool list_next(struct span *rest, struct span *member);
