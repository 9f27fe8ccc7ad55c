/* hdrs/token_find.h: the look-up itself, inline for the parser. Private to the room. */
#pragma once
#include "hdrs/token.h"
#include "hdrs/token_hash.h"
#include "hdrs/token_table.h"

/* A known name in lower case, spaces behind it to the end. */
struct token_row {
    char lower[TOKEN_ROW];
} __attribute__((aligned(TOKEN_ROW)));

extern const struct token_row token_rows[TOKEN_N];
extern const uint8_t token_slots[TOKEN_SLOTS];

/* Is it the row's name in any letter case? Exact when nothing among the bytes is below 0x20 (what folds onto a known
 * name's byte by | 0x20 is its other case or a control). key: that of the bytes. */
TOKEN_INLINE bool token_is_row(const char *p, const struct token_row *row, struct token_key key, size_t len)
{
    if (key.first != token_word(row->lower) || len > TOKEN_NAME_MAX || row->lower[len] != ' ')
        return false;
    /* All that lies behind: a crafted name must not pass for Content-Length. */
    for (size_t i = 8; i < len; i += 8) {
        size_t at = i + 8 <= len ? i : len - 8;

        if ((token_word(p + at) | TOKEN_FOLD) != token_word(row->lower + at))
            return false;
    }
    return true;
}

/* The number of the only known name these bytes can be. */
TOKEN_INLINE enum token token_candidate(struct token_key key, size_t len)
{
    return (enum token)token_slots[token_hash(key, len, TOKEN_BY_FIRST, TOKEN_BY_LAST, TOKEN_SHIFT)];
}

/* The known name these len >= 1 bytes spell; token_is_row() says when that is exact, token_key_of() what must be
 * readable. */
static inline enum token token_find(const char *p, size_t len)
{
    struct token_key key = token_key_of(p, len);
    enum token t = token_candidate(key, len);

    return token_is_row(p, &token_rows[t], key, len) ? t : TOKEN_OTHER;
}
