#include "base/ipv4.h"

bool ipv4_parse(struct span text, uint8_t out[4])
{
    const char *p = text.p, *end = text.p + text.len;
    uint8_t bytes[4];

    if (text.len < 7 || text.len > 15)
        return false;
    for (unsigned i = 0; i < 4; i++) {
        unsigned v = 0, digits = 0;

        for (; p < end && (unsigned)(*p - '0') <= 9; p++, digits++) {
            if (digits == 3 || (digits == 1 && v == 0))
                return false;
            v = v * 10 + (unsigned)(*p - '0');
        }
        if (digits == 0 || v > 255)
            return false;
        bytes[i] = (uint8_t)v;
        if (i < 3 && (p == end || *p++ != '.'))
            return false;
    }
    if (p != end)
        return false;
    memcpy(out, bytes, sizeof bytes);
    return true;
}
