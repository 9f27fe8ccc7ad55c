/* hdrs/whole_bits.h: put_marks() of whole_body.h for processors that take set bits one by one. Private to the room. */
#pragma once
#include <stdint.h>

/* Set bits. Without an instruction for it gcc calls a function. */
static inline uint32_t count_bits(uint64_t x)
{
#if defined(__x86_64__) && !defined(WHOLE_HAS_POPCNT)
    x -= x >> 1 & UINT64_C(0x5555555555555555);
    x = (x & UINT64_C(0x3333333333333333)) + (x >> 2 & UINT64_C(0x3333333333333333));
    x = (x + (x >> 4)) & UINT64_C(0x0F0F0F0F0F0F0F0F);
    return (uint32_t)(x * UINT64_C(0x0101010101010101) >> 56);
#else
    return (uint32_t)__builtin_popcountll(x);
#endif
}

/* Four steps without asking whether there is a bit left (lines are rarely closer): no branch to guess. */
static inline uint32_t put_marks(uint32_t *to, uint32_t at, uint64_t bits)
{
    uint32_t n = count_bits(bits);

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
