#include "proxy/cache_outcome.h"

#include "hdrs/field_number.h"

#define HOST_MAX 255

static char *put(char *at, const char *s)
{
    size_t n = strlen(s);

    memcpy(at, s, n);
    return at + n;
}

static char *put_host(char *at, const struct settings *s)
{
    size_t n = strlen(s->visible_hostname);

    if (n > HOST_MAX)
        n = HOST_MAX;
    memcpy(at, s->visible_hostname, n);
    return at + n;
}

static char *x_cache(const struct cache_outcome *o, const struct settings *s, char *at)
{
    static const char *const lookups[] = { [LOOKUP_NONE] = "NONE", [LOOKUP_MISS] = "MISS", [LOOKUP_HIT] = "HIT" };

    at = put(at, o->hit ? "X-Cache: HIT from " : "X-Cache: MISS from ");
    at = put_host(at, s);
    at = put(at, "\r\nX-Cache-Lookup: ");
    at = put(at, lookups[o->lookup]);
    at = put(at, " from ");
    at = put_host(at, s);
    *at++ = ':';
    at += number_print(at, o->port);
    return put(at, "\r\n");
}

static char *put_number(char *at, const char *name, int64_t n)
{
    at = put(at, name);
    if (n < 0) {
        *at++ = '-';
        n = -n;
    }
    /* A Structured-Field integer has 15 digits. */
    return at + number_print(at, n > 999999999999999 ? 999999999999999 : (uint64_t)n);
}

static char *cache_status(const struct cache_outcome *o, const struct settings *s, char *at)
{
    at = put(at, "Cache-Status: \"");
    at = put_host(at, s);
    at = put(at, "\"");
    if (o->fwd != NULL) {
        at = put(at, "; fwd=");
        at = put(at, o->fwd);
        if (o->fwd_status != 0)
            at = put_number(at, "; fwd-status=", o->fwd_status);
        if (o->stored)
            at = put(at, "; stored");
        if (o->collapsed)
            at = put(at, "; collapsed");
    } else if (o->hit) {
        at = put(at, "; hit");
    }
    if (o->has_ttl && o->fwd == NULL)
        at = put_number(at, "; ttl=", o->ttl);
    if (o->code != NULL) {
        at = put(at, "; detail=\"");
        at = put(at, o->code);
        if (o->reason != NULL) {
            at = put(at, ": ");
            at = put(at, o->reason);
        }
        *at++ = '"';
    }
    return put(at, "\r\n");
}

size_t cache_outcome_fields(const struct cache_outcome *o, const struct settings *s, char *out)
{
    char *at = out;

    if (s->x_cache)
        at = x_cache(o, s, at);
    if (s->cache_status)
        at = cache_status(o, s, at);
    return (size_t)(at - out);
}
