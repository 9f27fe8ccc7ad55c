#include "cache/invalidate.h"

#include <stdlib.h>
#include "base/mem.h"

bool invalidates(enum http_method method, int status)
{
    /* CONNECT names no resource that could be stored. */
    return status >= 200 && status < 400 && method != METHOD_CONNECT && !method_is_safe(method);
}

/* Drops the last segment of out[0 .. len), its slash too. */
static size_t drop_segment(const char *out, size_t len)
{
    while (len > 0 && out[len - 1] != '/')
        len--;
    return len > 0 ? len - 1 : 0;
}

/* RFC 3986 section 5.2.4 for a path that starts with '/': "." and ".." segments resolved in place, the query left
 * alone. Returns the new length. */
static size_t remove_dot_segments(char *path, size_t len)
{
    const char *question = memchr(path, '?', len);
    size_t path_len = question != NULL ? (size_t)(question - path) : len;
    size_t out = 0, at = 0;

    while (at < path_len) { /* path[at] is the slash before a segment */
        const char *slash = memchr(path + at + 1, '/', path_len - at - 1);
        size_t next = slash != NULL ? (size_t)(slash - path) : path_len;
        struct span segment = span_of(path + at + 1, next - at - 1);
        bool dot = span_eq(segment, SPAN(".")), dots = span_eq(segment, SPAN(".."));

        if (dots)
            out = drop_segment(path, out);
        if (dot || dots) {
            if (next == path_len)
                path[out++] = '/';
        } else {
            memmove(path + out, path + at, next - at);
            out += next - at;
        }
        at = next;
    }
    memmove(path + out, path + path_len, len - path_len);
    return out + len - path_len;
}

/* The path and query that a relative reference (RFC 3986 section 4.2, without authority) means, into out, which has
 * room for base.len + reference.len + 1 bytes. */
static size_t resolve_path(struct span base, struct span reference, char *out)
{
    const char *question = memchr(base.p, '?', base.len);
    size_t path_len = question != NULL ? (size_t)(question - base.p) : base.len;
    size_t keep; /* of base, in front of reference */

    if (reference.len == 0)
        keep = base.len;
    else if (reference.p[0] == '/')
        keep = 0;
    else if (reference.p[0] == '?')
        keep = path_len;
    else
        keep = drop_segment(base.p, path_len) + 1;
    memcpy(out, base.p, keep);
    if (reference.len > 0)
        memcpy(out + keep, reference.p, reference.len);
    return keep + reference.len;
}

/* "scheme:" in front (RFC 3986 section 3.1). */
static bool has_scheme(struct span s)
{
    for (size_t i = 0; i < s.len; i++) {
        char c = ascii_lower(s.p[i]);

        if (c == ':')
            return i > 0;
        if (!(c >= 'a' && c <= 'z') && !(i > 0 && ((c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.')))
            return false;
    }
    return false;
}

static bool same_origin(const struct canonical_uri *a, const struct canonical_uri *b)
{
    return span_eq(a->scheme, b->scheme) && span_eq(a->host, b->host) && a->port == b->port;
}

/* Canonical, of target's origin, else SPAN_NONE. u: absolute. scratch: room for its path and one byte. */
static struct span canonical_here(const struct canonical_uri *target, const struct uri *u, char *scratch, char *out,
                                  size_t capacity)
{
    struct canonical_uri c;
    struct span path = u->path.len > 0 && u->path.p[0] == '/' ? u->path : SPAN("/");

    memmove(scratch, path.p, path.len);
    /* "http://host?query" */
    if (u->path.len > 0 && u->path.p[0] == '?') {
        memmove(scratch + 1, u->path.p, u->path.len);
        path.len += u->path.len;
    }
    path = span_of(scratch, remove_dot_segments(scratch, path.len));
    if (!uri_canonical(u->scheme, u->host, u->host_is_ipv6, u->port, path, out, capacity, &c))
        return SPAN_NONE;
    return same_origin(target, &c) ? c.text : SPAN_NONE;
}

/* value has no fragment. work: room for both texts and then some, twice. */
static struct span resolve(const struct canonical_uri *target, struct span value, char *work, size_t half, char *out,
                           size_t capacity)
{
    bool network_path = value.len >= 2 && value.p[0] == '/' && value.p[1] == '/';
    struct uri u;
    const char *why;

    if (has_scheme(value) || network_path) {
        size_t n = 0;

        if (network_path) {
            memcpy(work, target->scheme.p, target->scheme.len);
            n = target->scheme.len;
            work[n++] = ':';
        }
        memcpy(work + n, value.p, value.len);
        if (!uri_parse(span_of(work, n + value.len), METHOD_GET, &u, &why) || u.form != URI_ABSOLUTE)
            return SPAN_NONE;
        return canonical_here(target, &u, work + half, out, capacity);
    }
    if (!uri_parse(span_of(work, resolve_path(target->path, value, work)), METHOD_GET, &u, &why) ||
        u.form != URI_ORIGIN)
        return SPAN_NONE;
    u.scheme = target->scheme;
    u.host = target->host;
    u.host_is_ipv6 = target->host_is_ipv6;
    u.port = target->port;
    return canonical_here(target, &u, work + half, out, capacity);
}

struct span same_origin_reference(const struct canonical_uri *target, struct span value, char *out, size_t capacity)
{
    const char *hash = value.len > 0 ? memchr(value.p, '#', value.len) : NULL;
    size_t half = target->text.len + value.len + 16;
    char *work;
    struct span found;

    if (hash != NULL)
        value.len = (size_t)(hash - value.p);
    /* On the heap: the answers that come here are rare, and the lengths are the peer's. */
    work = xmalloc(2 * half);
    found = resolve(target, value, work, half, out, capacity);
    free(work);
    return found;
}
