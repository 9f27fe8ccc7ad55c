#include "hdrs/token.h"

#include "hdrs/method_find.h"
#include "hdrs/token_find.h"
/* Once more, for the rows this time. */
#define TOKEN_TABLE_DATA
#include "hdrs/token_table.h"

static const struct {
    const char *name;
    unsigned policy;
} fields[TOKEN_N] = {
    [TOKEN_OTHER] = { "", 0 },
#define TOKEN(id, name, policy) [TOKEN_##id] = { name, policy },
#include "hdrs/token.def"
#undef TOKEN
};

static const struct {
    const char *name;
    bool safe, idempotent;
} methods[METHOD_N] = {
    [METHOD_OTHER] = { "", false, false },
#define METHOD(id, safe, idempotent) [METHOD_##id] = { #id, safe, idempotent },
#include "hdrs/method.def"
#undef METHOD
};

/* Like token_is_row(), and exact whatever the bytes are: a byte may differ from the row's by 0x20 where that is a letter,
 * and nowhere else. Eight bytes must be readable at p. */
static bool is_exactly_row(const char *p, const struct token_row *row, size_t len)
{
    uint64_t keep = len < 8 ? UINT64_MAX >> (64 - 8 * len) : UINT64_MAX;

    if (row->lower[len] != ' ')
        return false;
    for (size_t i = 0; i < len; i += 8) {
        size_t at = i + 8 <= len || len < 8 ? i : len - 8;
        uint64_t want = token_word(row->lower + at), letters = (want & UINT64_C(0x4040404040404040)) >> 1;

        if (((token_word(p + at) ^ want) & ~letters & keep) != 0)
            return false;
    }
    return true;
}

enum token token_lookup(struct span name)
{
    char padded[8] = { 0 };
    enum token t;

    if (name.len == 0 || name.len > TOKEN_NAME_MAX)
        return TOKEN_OTHER;
    if (name.len < sizeof padded) {
        memcpy(padded, name.p, name.len);
        name.p = padded;
    }
    t = token_candidate(token_key_of(name.p, name.len), name.len);
    return t != TOKEN_OTHER && is_exactly_row(name.p, &token_rows[t], name.len) ? t : TOKEN_OTHER;
}

const char *token_name(enum token t)
{
    return fields[t].name;
}

unsigned token_policy(enum token t)
{
    return fields[t].policy;
}

enum http_method method_lookup(struct span name)
{
    char padded[8] = { 0 };

    if (name.len == 0 || name.len > sizeof padded)
        return METHOD_OTHER;
    memcpy(padded, name.p, name.len);
    return method_find(padded, name.len);
}

const char *method_name(enum http_method m)
{
    return methods[m].name;
}

bool method_is_safe(enum http_method m)
{
    return methods[m].safe;
}

bool method_is_idempotent(enum http_method m)
{
    return methods[m].idempotent;
}
