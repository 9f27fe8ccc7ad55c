/* hdrs/field_date.h: HTTP-date (RFC 9110 section 5.6.7; caching-rules D1-D8). Pure. */
#pragma once
#include "base/span.h"

/* Seconds since the epoch from any of the three forms, strictly; false when it is none. now (seconds) places the
 * two-digit years of RFC 850. */
bool date_parse(struct span text, int64_t now, int64_t *out);
#define DATE_BYTES 29
/* IMF-fixdate, exactly DATE_BYTES bytes, no NUL. Years 0000 to 9999. */
void date_print(char out[DATE_BYTES], int64_t seconds);
