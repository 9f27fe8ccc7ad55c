/* hdrs/word_find.h: small sets of words known by number (directives, schemes), looked up in any letter case by the
 * multipliers that token_gen found for each. Private to the room. */
#pragma once
#include "base/span.h"
#include "hdrs/token_hash.h"

struct word_set {
    uint64_t by_first, by_last;
    unsigned shift;
    const uint8_t *slots;     /* row number + 1; 0: none */
    const struct span *names; /* lower case */
};

/* directives of Cache-Control, in the order of cache_directive.def; schemes likewise */
extern const struct word_set words_cache_directive, words_scheme;

/* The row of that word, or -1. */
static inline int word_find(const struct word_set *set, struct span word)
{
    char padded[8] = { 0 };
    struct token_key key;
    int row;

    if (word.len == 0)
        return -1;
    if (word.len < sizeof padded)
        for (size_t i = 0; i < word.len; i++)
            padded[i] = word.p[i];
    key = token_key_of(word.len < sizeof padded ? padded : word.p, word.len);
    row = set->slots[token_hash(key, word.len, set->by_first, set->by_last, set->shift)] - 1;
    return row >= 0 && span_eq_nocase(set->names[row], word) ? row : -1;
}
