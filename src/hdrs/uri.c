#include "hdrs/uri.h"

#include "hdrs/scan.h"
#include "hdrs/word_find.h"

static bool bad(const char **why, const char *text)
{
    *why = text;
    return false;
}

uint16_t scheme_default_port(struct span scheme)
{
    static const uint16_t ports[] = {
#define SCHEME(name, port) port,
#include "hdrs/scheme.def"
#undef SCHEME
    };
    int row = word_find(&words_scheme, scheme);

    return row < 0 ? 0 : ports[row];
}

/* Path and query: anything visible, bytes above 0x7F too, but a fragment never leaves the client (RFC 9112 section
 * 3.2). `from` is where it starts in the target. */
static bool take_path(struct span target, size_t from, struct uri *out, const char **why)
{
    const char *p = target.p + from, *end = target.p + target.len;

    if (scan_visible(p, end) != end)
        return bad(why, "blank or control byte in the target");
    if (p < end && memchr(p, '#', (size_t)(end - p)) != NULL)
        return bad(why, "fragment in the target");
    out->path = span_of(p, (size_t)(end - p));
    return true;
}

static bool parse_connect(struct span target, struct uri *out, const char **why)
{
    bool has_port;

    out->form = URI_AUTHORITY;
    out->authority = target;
    if (!authority_parse(target, &out->host, &out->host_is_ipv6, &out->port, &has_port, why))
        return false;
    return has_port || bad(why, "CONNECT without a port");
}

/* The length of a scheme at the start of text, 0 if there is none: ALPHA *( ALPHA / DIGIT / "+" / "-" / "." ). */
static size_t scheme_len(struct span text)
{
    size_t i;

    if (text.len > 4 && memcmp(text.p, "http:", 5) == 0)
        return 4;
    for (i = 0; i < text.len; i++) {
        char c = ascii_lower(text.p[i]);
        bool letter = c >= 'a' && c <= 'z';

        if (!letter && (i == 0 || !((c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.')))
            break;
    }
    return i;
}

/* RFC 3986 section 3.2.1; in particular no '@': whose host is behind which of two? */
static bool userinfo_ok(struct span text)
{
    for (size_t i = 0; i < text.len; i++)
        if (!scan_is_tchar[(unsigned char)text.p[i]] && memchr("():;,=", text.p[i], 6) == NULL)
            return false;
    return true;
}

static bool parse_absolute(struct span target, struct uri *out, const char **why)
{
    size_t n = scheme_len(target), authority_end;
    struct span authority;
    const char *at;
    bool has_port;

    out->form = URI_ABSOLUTE;
    if (n == 0 || target.len - n < 3 || memcmp(target.p + n, "://", 3) != 0)
        return bad(why, "target is neither a path nor a URI");
    out->scheme = span_of(target.p, n);
    for (authority_end = n + 3; authority_end < target.len; authority_end++) {
        char c = target.p[authority_end];

        if (c == '/' || c == '?' || c == '#')
            break;
    }
    authority = span_of(target.p + n + 3, authority_end - n - 3);
    if ((at = memrchr(authority.p, '@', authority.len)) != NULL) {
        out->had_userinfo = true;
        if (!userinfo_ok(span_of(authority.p, (size_t)(at - authority.p))))
            return bad(why, "bad byte in the userinfo");
        authority = span_of(at + 1, authority.len - (size_t)(at + 1 - authority.p));
    }
    out->authority = authority;
    if (!authority_parse(authority, &out->host, &out->host_is_ipv6, &out->port, &has_port, why))
        return false;
    if (!has_port)
        out->port = scheme_default_port(out->scheme);
    return take_path(target, authority_end, out, why);
}

bool uri_parse(struct span target, enum http_method method, struct uri *out, const char **why)
{
    *out = (struct uri){ .form = URI_ORIGIN };
    if (target.len == 0)
        return bad(why, "empty target");
    if (method == METHOD_CONNECT)
        return parse_connect(target, out, why);
    if (target.p[0] == '/')
        return take_path(target, 0, out, why);
    if (span_eq(target, SPAN("*"))) {
        out->form = URI_ASTERISK;
        out->path = target;
        return method == METHOD_OPTIONS || bad(why, "\"*\" is a target of OPTIONS only");
    }
    return parse_absolute(target, out, why);
}
