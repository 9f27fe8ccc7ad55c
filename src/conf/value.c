#include "conf/value.h"

struct unit {
    const char *name;
    int64_t factor;
};

#define KB INT64_C(1024)
#define S INT64_C(1000000)
#define DAY (86400 * S)

static const struct unit size_units[] = {
    { "bytes", 1 },
    { "byte", 1 },
    { "b", 1 },
    { "KB", KB },
    { "MB", KB *KB },
    { "GB", KB *KB *KB },
    { "TB", KB *KB *KB *KB },
    { "K", KB },
    { "M", KB *KB },
    { "G", KB *KB *KB },
    { NULL, 0 },
};

static const struct unit duration_units[] = {
    { "seconds", S },
    { "second", S },
    { "minutes", 60 * S },
    { "minute", 60 * S },
    { "hours", 3600 * S },
    { "hour", 3600 * S },
    { "days", DAY },
    { "day", DAY },
    { "weeks", 7 * DAY },
    { "week", 7 * DAY },
    { "months", 30 * DAY },
    { "month", 30 * DAY },
    { "years", 365 * DAY },
    { "year", 365 * DAY },
    { "fortnights", 14 * DAY },
    { "fortnight", 14 * DAY },
    { "decades", 3650 * DAY },
    { "decade", 3650 * DAY },
    { "milliseconds", 1000 },
    { "millisecond", 1000 },
    { "msec", 1000 },
    { "ms", 1000 },
    { "microseconds", 1 },
    { "microsecond", 1 },
    { "usec", 1 },
    { "us", 1 },
    { "s", S },
    { "sec", S },
    { "secs", S },
    { "min", 60 * S },
    { "mins", 60 * S },
    { "h", 3600 * S },
    { "d", DAY },
    { "w", 7 * DAY },
    { NULL, 0 },
};

const char *const value_size_units[] = { "bytes", "KB", "MB", "GB", "TB", NULL };
const char *const value_duration_units[] = {
    "milliseconds", "seconds", "minutes", "hours", "days", "weeks", "months", "years",
    "second",       "minute",  "hour",    "day",   "week", "month", "year",   NULL,
};
const char *const value_switch_words[] = { "on", "off", NULL };

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* How much of s is the number: -12.5 */
static size_t number_len(struct span s)
{
    size_t i = s.len > 0 && s.p[0] == '-';

    while (i < s.len && (is_digit(s.p[i]) || s.p[i] == '.'))
        i++;
    return i;
}

bool value_has_unit(struct span number)
{
    return number_len(number) < number.len;
}

/* *whole.fraction times factor, by hand: strtod would take hex, exponents, "inf" and the locale's comma. */
static enum value_result scale(struct span digits, int64_t factor, int64_t *out)
{
    int64_t whole = 0;
    double fraction = 0, place = 1;
    size_t i = 0, n_digits = 0;

    for (; i < digits.len && is_digit(digits.p[i]); i++, n_digits++)
        if (__builtin_mul_overflow(whole, 10, &whole) || __builtin_add_overflow(whole, digits.p[i] - '0', &whole))
            return VALUE_TOO_LARGE;
    if (i < digits.len && digits.p[i] == '.')
        for (i++; i < digits.len && is_digit(digits.p[i]); i++, n_digits++)
            fraction += (digits.p[i] - '0') * (place /= 10);
    if (i < digits.len || n_digits == 0)
        return VALUE_NO_NUMBER;
    if (__builtin_mul_overflow(whole, factor, out) ||
        __builtin_add_overflow(*out, (int64_t)(fraction * (double)factor), out))
        return VALUE_TOO_LARGE;
    return VALUE_OK;
}

static int64_t unit_factor(const struct unit *units, struct span name)
{
    for (; units->name != NULL; units++)
        if (span_eq_nocase(name, span_str(units->name)))
            return units->factor;
    return 0;
}

static enum value_result with_unit(const struct unit *units, struct span number, struct span unit, int64_t bare,
                                   bool *negative, int64_t *out)
{
    size_t n = number_len(number);
    int64_t factor = bare;
    bool has_unit = true;
    enum value_result result;

    if (n == 0)
        return VALUE_NO_NUMBER;
    if (n < number.len && unit.len > 0)
        return VALUE_BAD_UNIT;
    if (n < number.len)
        unit = span_of(number.p + n, number.len - n);
    if (unit.len == 0)
        has_unit = false;
    else if ((factor = unit_factor(units, unit)) == 0)
        return VALUE_BAD_UNIT;
    *negative = number.p[0] == '-';
    if ((result = scale(span_of(number.p + *negative, n - *negative), factor, out)) != VALUE_OK)
        return result;
    return has_unit ? VALUE_OK : VALUE_NO_UNIT;
}

enum value_result value_size(struct span number, struct span unit, int64_t bare, int64_t *bytes)
{
    bool negative = false;
    enum value_result result = with_unit(size_units, number, unit, bare, &negative, bytes);

    if (result > VALUE_NO_UNIT)
        return result;
    if (negative)
        *bytes = -1;
    return *bytes <= 0 ? VALUE_OK : result; /* 0 and -1 need no unit */
}

enum value_result value_duration(struct span number, struct span unit, int64_t bare, int64_t *us)
{
    bool negative = false;
    enum value_result result = with_unit(duration_units, number, unit, bare, &negative, us);

    if (result <= VALUE_NO_UNIT && negative)
        return VALUE_NO_NUMBER;
    return result == VALUE_NO_UNIT ? VALUE_OK : result;
}

enum value_result value_count(struct span text, int64_t low, int64_t high, int64_t *out)
{
    bool negative = text.len > 0 && text.p[0] == '-';
    struct span digits = span_of(text.p + negative, text.len - negative);
    enum value_result result;

    if (number_len(text) < text.len || memchr(digits.p ? digits.p : "", '.', digits.len) != NULL)
        return VALUE_NO_NUMBER;
    if ((result = scale(digits, 1, out)) != VALUE_OK)
        return result;
    if (negative)
        *out = -*out;
    return *out < low || *out > high ? VALUE_TOO_LARGE : VALUE_OK;
}

enum value_result value_percent(struct span text, int64_t high, int64_t *out)
{
    if (text.len > 0 && text.p[text.len - 1] == '%')
        text.len--;
    return value_count(text, 0, high, out);
}

enum value_result value_switch(struct span text, bool *on)
{
    *on = span_eq_nocase(text, SPAN("on")) || span_eq_nocase(text, SPAN("enable"));
    if (*on || span_eq_nocase(text, SPAN("off")) || span_eq_nocase(text, SPAN("disable")))
        return VALUE_OK;
    return VALUE_NO_NUMBER;
}
