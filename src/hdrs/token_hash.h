/* hdrs/token_hash.h: how a field name becomes a slot number. Shared by the generator, which searches for multipliers
 * that give every known name a slot of its own, and by the look-up. Private to the room.
 *
 * A name is folded into two words, its first eight bytes and its last eight (the same ones, zero padded, when it is
 * shorter), each byte with 0x20 set. Among token characters that is exact case folding: what else maps onto a letter,
 * digit or '-' is no token character. Words are little-endian everywhere, so that a table made on one machine serves
 * another. */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define TOKEN_FOLD UINT64_C(0x2020202020202020)

/* The longest known name; with the rest of its row it fills one cache line. */
#define TOKEN_NAME_MAX 46

struct token_key {
    uint64_t first, last;
};

static inline uint64_t token_word(const char *p)
{
    uint64_t w;

    memcpy(&w, p, sizeof w);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    w = __builtin_bswap64(w);
#endif
    return w;
}

/* len >= 1, and eight bytes must be readable at p even if the name is shorter. No branch on the length. */
static inline struct token_key token_key_of(const char *p, size_t len)
{
    size_t n = len < 8 ? len : 8;
    uint64_t keep = UINT64_MAX >> (64 - 8 * n);

    return (struct token_key){ (token_word(p) | TOKEN_FOLD) & keep, (token_word(p + (len - n)) | TOKEN_FOLD) & keep };
}

static inline uint64_t token_hash(struct token_key k, size_t len, uint64_t by_first, uint64_t by_last, unsigned shift)
{
    return ((k.first + len) * by_first + k.last * by_last) >> shift;
}
