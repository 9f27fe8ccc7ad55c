/* hdrs/whole_bits.h: put_marks() of whole_body.h for processors that take set bits one by one. Private to the room. */
#pragma once
#include <stdint.h>

/* Four steps without asking whether there is a bit left (lines are rarely closer): no branch to guess. */
static inline uint32_t put_marks(uint32_t *to, uint32_t at, uint64_t bits)
{
    uint32_t n = (uint32_t)__builtin_popcountll(bits);

    for (unsigned i = 0; i < 4; i++) {
        to[i] = at + (uint32_t)__builtin_ctzll(bits | UINT64_C(1) << 63);
        bits &= bits - 1;
    }
    if (__builtin_expect(n > 4, 0))
        for (unsigned i = 4; i < n; i++) {
            to[i] = at + (uint32_t)__builtin_ctzll(bits);
            bits &= bits - 1;
        }
    return n;
}
