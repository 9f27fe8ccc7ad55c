/* hdrs/token_hash.h: how a field name becomes a slot number. Shared by the generator, which searches for multipliers
 * that give every known name a slot of its own, and by the look-up. Private to the room.
 *
 * A name is folded: each byte with 0x20 set. Among token characters that is exact case folding: what else maps onto a
 * letter, digit or '-' is no token character. Its key is its first eight bytes, spaces behind a shorter one, and its last
 * eight, nothing of a shorter one. Words are little-endian
 * everywhere, so that a table made on one machine serves another. */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define TOKEN_FOLD UINT64_C(0x2020202020202020)

/* The longest known name. */
#define TOKEN_NAME_MAX 46
/* What a row of the table takes: one cache line, one vector. */
#define TOKEN_ROW 64

struct token_key {
    uint64_t first, last;
};

/* The walk over a head's fields calls these for each. */
#define TOKEN_INLINE static inline __attribute__((always_inline))

TOKEN_INLINE uint64_t token_word(const char *p)
{
    uint64_t w;

    memcpy(&w, p, sizeof w);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    w = __builtin_bswap64(w);
#endif
    return w;
}

/* Eight bytes must be readable at p. */
TOKEN_INLINE uint64_t token_last(const char *p, size_t len)
{
    uint64_t word = token_word(p + (len < 8 ? 0 : len - 8)) | TOKEN_FOLD;

    return len < 8 ? 0 : word;
}

/* len >= 1, and eight bytes must be readable at p even if the name is shorter. No branch on the length. */
TOKEN_INLINE struct token_key token_key_of(const char *p, size_t len)
{
    size_t n = len < 8 ? len : 8;

    return (struct token_key){ (token_word(p) & UINT64_MAX >> (64 - 8 * n)) | TOKEN_FOLD, token_last(p, len) };
}

TOKEN_INLINE uint64_t token_hash(struct token_key k, size_t len, uint64_t by_first, uint64_t by_last, unsigned shift)
{
    return ((k.first + len) * by_first + k.last * by_last) >> shift;
}
