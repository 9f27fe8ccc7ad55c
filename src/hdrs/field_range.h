/* hdrs/field_range.h: Range and Content-Range (RFC 9110 section 14). Pure. */
#pragma once
#include "base/span.h"

struct byte_range {
    uint64_t first, last; /* inclusive */
};

enum range_result { RANGE_IGNORE, RANGE_ONE, RANGE_SEVERAL, RANGE_UNSATISFIABLE };

/* A Range value against a representation of `length` bytes, which may be UINT64_MAX: unknown. The satisfiable ones of its
 * ranges, cut to the length, into out[max], in order; *n of them. RANGE_IGNORE: bad syntax, another unit, more than max, or
 * several that together are longer than the whole (section 14.2: a server need not fall for that). With an unknown length only
 * one range with a first position is taken, its end not cut. */
enum range_result range_parse(struct span value, uint64_t length, struct byte_range *out, size_t max, size_t *n);
