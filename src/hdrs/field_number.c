#include "hdrs/field_number.h"

#define DELTA_SECONDS_MAX (INT64_C(1) << 31)

bool number_parse(struct span text, uint64_t *out)
{
    uint64_t n = 0;

    if (text.len == 0)
        return false;
    for (size_t i = 0; i < text.len; i++) {
        unsigned digit = (unsigned)(unsigned char)text.p[i] - '0';

        if (digit > 9 || n > ((uint64_t)INT64_MAX - digit) / 10)
            return false;
        n = n * 10 + digit;
    }
    *out = n;
    return true;
}

bool delta_seconds_parse(struct span text, int64_t *out)
{
    int64_t n = 0;

    if (text.len == 0)
        return false;
    for (size_t i = 0; i < text.len; i++) {
        unsigned digit = (unsigned)(unsigned char)text.p[i] - '0';

        if (digit > 9)
            return false;
        n = n * 10 + digit;
        if (n > DELTA_SECONDS_MAX)
            n = DELTA_SECONDS_MAX;
    }
    *out = n;
    return true;
}

size_t number_print(char *out, uint64_t n)
{
    char digits[20];
    size_t at = sizeof digits;

    do {
        digits[--at] = (char)('0' + n % 10);
        n /= 10;
    } while (n > 0);
    memcpy(out, digits + at, sizeof digits - at);
    return sizeof digits - at;
}
