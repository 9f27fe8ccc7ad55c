/* hdrs/token.h: the field names, methods and schemes we know by number. Rows and policies stand in
 * token.def; token_gen.c makes the look-up table from them at build time. Any thread. */
#pragma once
#include <stdint.h>
#include "base/span.h"

/* What a proxy must know of a field by its name alone. */
enum token_policy {
    TOKEN_HOP_BY_HOP = 1 << 0,   /* never forwarded, never stored (RFC 9110 section 7.6.1) */
    TOKEN_SINGLETON = 1 << 1,    /* one line, not a list: a second line is an error or ignored, as its user says */
    TOKEN_LIST = 1 << 2,         /* #rule: lines join with commas */
    TOKEN_REQUEST = 1 << 3,      /* has a meaning in requests */
    TOKEN_RESPONSE = 1 << 4,     /* has a meaning in responses */
    TOKEN_NOT_STORED = 1 << 5,   /* RFC 9111 section 3.1 beyond hop-by-hop: Proxy-Authenticate ... */
    TOKEN_NOT_FROM_304 = 1 << 6, /* a 304 doesn't update it: Content-Length ... (caching-rules W8) */
    TOKEN_PROTECTED = 1 << 7,    /* Connection can't remove it: Host, Content-Length ... (X4) */
};

/* TOKEN_OTHER (0) for names not in the table, then TOKEN_HOST, TOKEN_CACHE_CONTROL ... TOKEN_N. */
enum token {
    TOKEN_OTHER = 0,
#define TOKEN(id, name, policy) TOKEN_##id,
#include "hdrs/token.def"
#undef TOKEN
    TOKEN_N
};

/* Any letter case; compares every byte. TOKEN_OTHER when unknown. */
enum token token_lookup(struct span name);
/* Canonical spelling; token_name(TOKEN_OTHER) is "". */
const char *token_name(enum token t);
/* OR of enum token_policy; 0 for TOKEN_OTHER. */
unsigned token_policy(enum token t);

/* Credentials: what must not come back to a script or stand on a page (RFC 9110 section 9.3.8). */
static inline bool token_is_secret(enum token t)
{
    return t == TOKEN_AUTHORIZATION || t == TOKEN_PROXY_AUTHORIZATION || t == TOKEN_COOKIE;
}

/* Methods are case-sensitive (RFC 9110 section 9.1). */
enum http_method {
    METHOD_OTHER = 0,
#define METHOD(id, safe, idempotent) METHOD_##id,
#include "hdrs/method.def"
#undef METHOD
    METHOD_N
};
enum http_method method_lookup(struct span name);
const char *method_name(enum http_method m);
/* RFC 9110 section 9.2.1 and 9.2.2; METHOD_OTHER is neither. */
bool method_is_safe(enum http_method m);
bool method_is_idempotent(enum http_method m);
