/* One spelling for each target: what is keyed, matched and forwarded is the same run of bytes. */
#include <arpa/inet.h>
#include "hdrs/field_number.h"
#include "hdrs/uri.h"

/* Where the text goes, as long as it fits. */
struct out {
    char *p, *end;
    bool full;
};

static void put(struct out *o, const char *bytes, size_t n)
{
    if (n > (size_t)(o->end - o->p))
        o->full = true;
    if (o->full || n == 0)
        return;
    memcpy(o->p, bytes, n);
    o->p += n;
}

static void put_lower(struct out *o, struct span s)
{
    char *start = o->p;

    put(o, s.p, s.len);
    for (char *c = start; c < o->p; c++)
        *c = ascii_lower(*c);
}

/* As inet_ntop() writes it: ::1 has many spellings. */
static bool put_ipv6(struct out *o, struct span host)
{
    char text[INET6_ADDRSTRLEN];
    struct in6_addr addr;

    if (host.len == 0 || host.len >= sizeof text)
        return false;
    memcpy(text, host.p, host.len);
    text[host.len] = '\0';
    if (inet_pton(AF_INET6, text, &addr) != 1 || inet_ntop(AF_INET6, &addr, text, sizeof text) == NULL)
        return false;
    put(o, text, strlen(text));
    return true;
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = ascii_lower(c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool is_unreserved(int c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
           c == '_' || c == '~';
}

/* Is every '%' of this path the start of an escape? */
static bool escapes_well_formed(const char *p, const char *end)
{
    while ((p = memchr(p, '%', (size_t)(end - p))) != NULL) {
        if (end - p < 3 || hex_value(p[1]) < 0 || hex_value(p[2]) < 0)
            return false;
        p += 3;
    }
    return true;
}

/* %xx in upper case, or undone where it never was needed (RFC 9110 section 4.2.3). */
static void put_escape(struct out *o, const char *p)
{
    static const char hex[] = "0123456789ABCDEF";
    int high = hex_value(p[1]), low = hex_value(p[2]), c = high * 16 + low;

    if (is_unreserved(c))
        put(o, (char[]){ (char)c }, 1);
    else
        put(o, (char[]){ '%', hex[high], hex[low] }, 3);
}

/* Only the path is normalised; the query is the origin's own language, byte for byte. So is a path with a stray '%':
 * undoing escapes behind one would make new ones ("%%34%31" is not "%41"). */
static void put_path(struct out *o, struct span path)
{
    const char *p = path.p, *end = p + path.len;
    const char *query = path.len > 0 ? memchr(p, '?', path.len) : NULL;
    const char *path_end = query != NULL ? query : end, *percent;

    if (path.len == 0 || p[0] != '/')
        put(o, "/", 1);
    if (path.len == 0)
        return;
    if (escapes_well_formed(p, path_end))
        while ((percent = memchr(p, '%', (size_t)(path_end - p))) != NULL) {
            put(o, p, (size_t)(percent - p));
            put_escape(o, percent);
            p = percent + 3;
        }
    put(o, p, (size_t)(end - p));
}

static void put_port(struct out *o, uint16_t port)
{
    char text[1 + 20] = ":";

    put(o, text, 1 + number_print(text + 1, port));
}

static struct span piece(const char *from, const struct out *o)
{
    return span_of(from, (size_t)(o->p - from));
}

bool uri_canonical(struct span scheme, struct span host, bool host_is_ipv6, uint16_t port, struct span path, char *out,
                   size_t capacity, struct canonical_uri *c)
{
    struct out o = { out, out + capacity, false };
    uint16_t default_port = scheme_default_port(scheme);
    const char *from;

    put_lower(&o, scheme);
    c->scheme = piece(out, &o);
    put(&o, "://", 3);

    from = o.p;
    if (host_is_ipv6) {
        put(&o, "[", 1);
        if (!put_ipv6(&o, host))
            return false;
        c->host = piece(from + 1, &o);
        put(&o, "]", 1);
    } else {
        if (host.len > 1 && host.p[host.len - 1] == '.')
            host.len--;
        put_lower(&o, host);
        c->host = piece(from, &o);
    }
    if (port != 0 && port != default_port)
        put_port(&o, port);
    c->authority = piece(from, &o);

    from = o.p;
    put_path(&o, path);
    c->path = piece(from, &o);
    c->text = piece(out, &o);
    c->port = port != 0 ? port : default_port;
    c->host_is_ipv6 = host_is_ipv6;
    return !o.full;
}
