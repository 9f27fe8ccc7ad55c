/* hdrs/field_range.h: Range and Content-Range (RFC 9110 section 14). Pure. */
#pragma once
#include "base/span.h"

enum range_result { RANGE_IGNORE, RANGE_ONE, RANGE_SEVERAL, RANGE_UNSATISFIABLE };

/* A Range value against a representation of `length` bytes. RANGE_ONE: [*first, *last] inclusive, cut to the length.
 * Bad syntax or another unit: RANGE_IGNORE. */
enum range_result range_parse(struct span value, uint64_t length, uint64_t *first, uint64_t *last);
