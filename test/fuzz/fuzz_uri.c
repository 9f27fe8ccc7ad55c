/* test/fuzz/fuzz_uri.c: request targets. The first byte picks the method. What is taken names a host made of harmless
 * bytes only, and its canonical form is one: parsed and made again it stays the same host, port and query, and its
 * path means the same. */
#include "fuzz_heads.h"
#include "hdrs/uri.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void judge_host(const struct uri *u)
{
    MUST(u->host.len > 0);
    for (size_t i = 0; i < u->host.len; i++) {
        char c = ascii_lower(u->host.p[i]);

        MUST((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_' ||
             (c == ':' && u->host_is_ipv6));
    }
}

static struct span query_of(struct span path)
{
    const char *q = path.len > 0 ? memchr(path.p, '?', path.len) : NULL;

    return q != NULL ? span_of(q, path.len - (size_t)(q - path.p)) : SPAN_NONE;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char out[2 * FUZZ_HEAD_MAX], twice[2 * FUZZ_HEAD_MAX];
    static const enum http_method methods[] = { METHOD_GET, METHOD_CONNECT, METHOD_OPTIONS, METHOD_OTHER };
    struct canonical_uri c, again;
    struct span scheme;
    struct uri u;
    const char *why = NULL;

    if (size < 1 || size > FUZZ_HEAD_MAX)
        return 0;
    if (!uri_parse(span_of((const char *)data + 1, size - 1), methods[data[0] % 4], &u, &why)) {
        MUST(why != NULL);
        return 0;
    }
    if (u.form == URI_ABSOLUTE || u.form == URI_AUTHORITY)
        judge_host(&u);
    MUST(u.form != URI_AUTHORITY || u.port > 0);
    for (size_t i = 0; i < u.path.len; i++)
        MUST((unsigned char)u.path.p[i] > 0x20 && u.path.p[i] != 0x7F && u.path.p[i] != '#');
    if (u.form == URI_ASTERISK || u.form == URI_AUTHORITY)
        return 0;

    scheme = u.form == URI_ABSOLUTE ? u.scheme : SPAN("http");
    if (u.form == URI_ORIGIN)
        u.host = SPAN("origin.test");
    MUST(uri_canonical(scheme, u.host, u.host_is_ipv6, u.port, u.path, out, sizeof out, &c));
    MUST(c.path.len > 0 && c.path.p[0] == '/' && span_eq(query_of(c.path), query_of(u.path)));
    MUST(uri_parse(c.text, METHOD_GET, &u, &why) && u.form == URI_ABSOLUTE && !u.had_userinfo);
    MUST(u.port == c.port && u.host_is_ipv6 == c.host_is_ipv6 && span_eq(u.host, c.host));
    /* Twice is once: decoding must make no new escapes ("%%34%31" is not "%41" and that not "A"). */
    MUST(uri_canonical(u.scheme, u.host, u.host_is_ipv6, u.port, u.path, twice, sizeof twice, &again));
    MUST(span_eq(c.text, again.text));
    return 0;
}
