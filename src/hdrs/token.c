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

/* Does any byte of a name that folds onto a row's differ from it by more than letter case? */
static bool has_control(const char *p, size_t len)
{
    bool found = false;

    for (size_t i = 0; i < len; i++)
        found |= (unsigned char)p[i] < 0x20;
    return found;
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
    t = token_find(name.p, name.len);
    /* The bytes may be anything here, controls too: see token_is_row(). */
    return t != TOKEN_OTHER && !has_control(name.p, name.len) ? t : TOKEN_OTHER;
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
