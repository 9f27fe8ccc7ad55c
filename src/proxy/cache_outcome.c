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

static char *put_port(char *at, uint16_t port)
{
    at += number_print(at, port);
    return put(at, "\r\n");
}

void x_cache_prepare(struct x_cache *x, const struct settings *s)
{
    static const char *const lookups[] = { [LOOKUP_NONE] = "NONE", [LOOKUP_MISS] = "MISS", [LOOKUP_HIT] = "HIT" };

    x->port = s->n_ports > 0 ? s->ports[0].at.port : 0;
    for (int hit = 0; hit < 2; hit++)
        for (int lookup = 0; lookup < LOOKUP_N; lookup++) {
            char *text = x->lines[hit][lookup].text, *at = text;

            if (s->x_cache) {
                at = put(at, hit ? "X-Cache: HIT from " : "X-Cache: MISS from ");
                at = put_host(at, s);
                at = put(at, "\r\nX-Cache-Lookup: ");
                at = put(at, lookups[lookup]);
                at = put(at, " from ");
                at = put_host(at, s);
                *at++ = ':';
            }
            x->lines[hit][lookup].len = (uint16_t)(at - text);
            at = put_port(at, x->port);
            x->lines[hit][lookup].whole = (uint16_t)(at - text);
        }
}

static char *x_cache(const struct cache_outcome *o, const struct x_cache *x, char *at)
{
    size_t n = x->lines[o->hit][o->lookup].len;

    if (n == 0)
        return at;
    if (o->port == x->port)
        n = x->lines[o->hit][o->lookup].whole;
    memcpy(at, x->lines[o->hit][o->lookup].text, n);
    return o->port == x->port ? at + n : put_port(at + n, o->port);
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

/* Files are named by whoever configures the proxy; what can't stand in a field is a ? in it. */
static char *access_line(const char *line, char *at)
{
    size_t len = strlen(line);

    at = put(at, "X-Access-Line: ");
    for (line += len > ACCESS_LINE_SHOWN ? len - ACCESS_LINE_SHOWN : 0; *line != '\0'; line++)
        *at++ = (char)((unsigned char)*line < ' ' || *line == 0x7f ? '?' : *line);
    return put(at, "\r\n");
}

size_t cache_outcome_fields(const struct cache_outcome *o, const struct settings *s, const struct x_cache *x, char *out)
{
    char *at = x_cache(o, x, out);

    if (s->cache_status)
        at = cache_status(o, s, at);
    if (s->x_access_line && o->access_line != NULL)
        at = access_line(o->access_line, at);
    return (size_t)(at - out);
}
