#include "hdrs/token.h"

#include "hdrs/token_find.h"
/* Once more, for the rows this time. */
#define TOKEN_TABLE_DATA
#include "hdrs/token_table.h"

_Static_assert(sizeof(struct token_row) == 64, "a row is one cache line");

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
    struct span name;
    bool safe, idempotent;
} methods[METHOD_N] = {
    [METHOD_OTHER] = { { "", 0 }, false, false },          [METHOD_GET] = { { "GET", 3 }, true, true },
    [METHOD_HEAD] = { { "HEAD", 4 }, true, true },         [METHOD_POST] = { { "POST", 4 }, false, false },
    [METHOD_PUT] = { { "PUT", 3 }, false, true },          [METHOD_DELETE] = { { "DELETE", 6 }, false, true },
    [METHOD_CONNECT] = { { "CONNECT", 7 }, false, false }, [METHOD_OPTIONS] = { { "OPTIONS", 7 }, true, true },
    [METHOD_TRACE] = { { "TRACE", 5 }, true, true },       [METHOD_PATCH] = { { "PATCH", 5 }, false, false },
    [METHOD_PURGE] = { { "PURGE", 5 }, false, true },
};

enum token token_lookup(struct span name)
{
    char padded[8] = { 0 };
    enum token t;

    if (name.len == 0 || name.len > TOKEN_NAME_MAX)
        return TOKEN_OTHER;
    if (name.len < sizeof padded) {
        memcpy(padded, name.p, name.len);
        t = token_find(padded, name.len);
    } else {
        t = token_find(name.p, name.len);
    }
    /* The bytes may be anything here, controls too: see token_find(). */
    return t != TOKEN_OTHER && span_eq_nocase(name, span_str(fields[t].name)) ? t : TOKEN_OTHER;
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
    for (int m = METHOD_OTHER + 1; m < METHOD_N; m++)
        if (span_eq(name, methods[m].name))
            return (enum http_method)m;
    return METHOD_OTHER;
}

const char *method_name(enum http_method m)
{
    return methods[m].name.p;
}

bool method_is_safe(enum http_method m)
{
    return methods[m].safe;
}

bool method_is_idempotent(enum http_method m)
{
    return methods[m].idempotent;
}
