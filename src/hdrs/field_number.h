/* hdrs/field_number.h: numbers in field values. Pure. */
#pragma once
#include "base/span.h"

/* 1*DIGIT, nothing else, at most INT64_MAX: else false. */
bool number_parse(struct span text, uint64_t *out);
/* 1*DIGIT as delta-seconds (RFC 9111 section 1.2.2): saturates at 2^31 instead of failing on overflow. False when it
 * is not 1*DIGIT. */
bool delta_seconds_parse(struct span text, int64_t *out);
/* Decimal digits of n into out, no NUL; returns how many (at most 20). */
size_t number_print(char *out, uint64_t n);
