/* hdrs/token_find.h: the look-up itself, inline for the parser. Private to the room. */
#pragma once
#include "hdrs/token.h"
#include "hdrs/token_hash.h"
#include "hdrs/token_table.h"

struct token_row {
    uint64_t first, last; /* its struct token_key */
    uint8_t len;
    char lower[TOKEN_NAME_MAX + 1];
};

extern const struct token_row token_rows[TOKEN_N];
extern const uint8_t token_slots[TOKEN_SLOTS];

/* The known name these len >= 1 bytes spell in any letter case. Exact when nothing among them is below 0x20 (what folds
 * onto a known name's byte by | 0x20 is its other case or a control). Eight bytes must be readable at p. */
static inline enum token token_find(const char *p, size_t len)
{
    struct token_key key = token_key_of(p, len);
    enum token t = (enum token)token_slots[token_hash(key, len, TOKEN_BY_FIRST, TOKEN_BY_LAST, TOKEN_SHIFT)];
    const struct token_row *row = &token_rows[t];

    if (row->first != key.first || row->last != key.last || row->len != len)
        return TOKEN_OTHER;
    /* The two ends match; what lies between in long names: a crafted name must not pass for Content-Length. */
    for (size_t i = 8; i + 8 < len; i += 8)
        if ((token_word(p + i) | TOKEN_FOLD) != (token_word(row->lower + i) | TOKEN_FOLD))
            return TOKEN_OTHER;
    return t;
}
