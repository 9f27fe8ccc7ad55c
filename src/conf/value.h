/* conf/value.h: the words of a directive to numbers. Private to src/conf. Pure. */
#pragma once
#include "base/span.h"

enum value_result {
    VALUE_OK,
    VALUE_NO_UNIT, /* the bare unit was assumed: fine, but worth a word for sizes */
    VALUE_NO_NUMBER,
    VALUE_BAD_UNIT,
    VALUE_TOO_LARGE,
};

/* "64 KB", "64KB", "1.5 GB", "64" (unit then empty). bare: bytes that a bare number counts in. A negative number comes
 * out as -1 whatever its unit: it means `no limit` wherever it means anything. */
enum value_result value_size(struct span number, struct span unit, int64_t bare, int64_t *bytes);
/* "1 minute", "30s", "250 ms". bare: microseconds that a bare number counts in. Never negative. */
enum value_result value_duration(struct span number, struct span unit, int64_t bare, int64_t *us);
/* Decimal digits with an optional minus, within low..high. */
enum value_result value_count(struct span text, int64_t low, int64_t high, int64_t *out);
/* The same with an optional % behind it. */
enum value_result value_percent(struct span text, int64_t high, int64_t *out);
/* on, off, enable, disable. */
enum value_result value_switch(struct span text, bool *on);
/* NULL-terminated, for "did you mean". */
extern const char *const value_size_units[], *const value_duration_units[], *const value_switch_words[];
/* Does the number carry its unit (64KB)? Then the next word isn't one. */
bool value_has_unit(struct span number);
