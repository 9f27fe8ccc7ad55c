#include "base/ipv4.h"

static inline bool digit_at(const char *p, const char *end, unsigned *d)
{
    return p < end && (*d = (unsigned)(*p - '0')) <= 9;
}

bool ipv4_parse(struct span text, uint8_t out[4])
{
    const char *p = text.p, *end = text.p + text.len;
    uint8_t bytes[4];

    if (text.len < 7 || text.len > 15)
        return false;
    for (unsigned i = 0; i < 4; i++) {
        unsigned v, d;

        if (i > 0 && (p == end || *p++ != '.'))
            return false;
        if (!digit_at(p++, end, &v))
            return false;
        /* A zero in front ends the number: what follows isn't a dot. A fourth digit likewise. */
        if (v != 0 && digit_at(p, end, &d)) {
            v = v * 10 + d;
            if (digit_at(++p, end, &d)) {
                v = v * 10 + d;
                p++;
            }
        }
        if (v > 255)
            return false;
        bytes[i] = (uint8_t)v;
    }
    if (p != end)
        return false;
    memcpy(out, bytes, sizeof bytes);
    return true;
}
