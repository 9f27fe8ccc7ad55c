/* host[:port]: what may be a host, decided here alone. */
#include <arpa/inet.h>
#include "base/ipv4.h"
#include "hdrs/uri.h"

#define HOST_BYTES_MAX 253 /* RFC 1035 section 2.3.4, in dotted form without the root's dot */
#define LABEL_BYTES_MAX 63
#define PORT_DIGITS_MAX 5

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* '_' is no host name by the book, but DNS has it and so has the web. No %xx, no sub-delims: nothing that resolves needs
 * them, and "%00" fools whoever takes C strings. */
static const bool is_host_byte[256] = {
    ['-'] = true, ['0' ... '9'] = true, ['A' ... 'Z'] = true, ['_'] = true, ['a' ... 'z'] = true,
};

static bool is_hex(char c)
{
    char l = ascii_lower(c);

    return is_digit(c) || (l >= 'a' && l <= 'f');
}

/* A label that some resolver would read as a number: "127", "0x7f". */
static bool is_numeric(struct span label)
{
    size_t i = 0;
    bool hex = label.len >= 2 && label.p[0] == '0' && ascii_lower(label.p[1]) == 'x';

    for (i = hex ? 2 : 0; i < label.len; i++)
        if (hex ? !is_hex(label.p[i]) : !is_digit(label.p[i]))
            return false;
    return true;
}

/* Into a NUL-terminated copy for inet_pton(), which takes no zones. */
static bool is_ipv6(struct span text)
{
    char copy[INET6_ADDRSTRLEN];
    unsigned char bytes[sizeof(struct in6_addr)];

    if (text.len == 0 || text.len >= sizeof copy || memchr(text.p, '\0', text.len) != NULL)
        return false;
    memcpy(copy, text.p, text.len);
    copy[text.len] = '\0';
    return inet_pton(AF_INET6, copy, bytes) == 1;
}

static bool name_ok(struct span host, const char **why)
{
    struct span label = SPAN_NONE;
    uint8_t quad[4];
    bool rooted = host.len > 1 && host.p[host.len - 1] == '.';
    size_t len = host.len - rooted;

    if (len > HOST_BYTES_MAX) {
        *why = "host too long";
        return false;
    }
    for (size_t at = 0; at <= len; at++) {
        size_t start = at;

        while (at < len && is_host_byte[(unsigned char)host.p[at]])
            at++;
        label = span_of(host.p + start, at - start);
        if (at < len && host.p[at] != '.') {
            *why = "bad byte in the host";
            return false;
        }
        if (label.len > LABEL_BYTES_MAX) {
            *why = "label too long in the host";
            return false;
        }
        if (label.len == 0)
            break;
    }
    if (label.len == 0) {
        *why = "empty label in the host";
        return false;
    }
    /* 127.1, 2130706433 and 0x7f.1 are 127.0.0.1 to some resolvers and pass access lists as names. */
    if (is_numeric(label) && !ipv4_parse(host, quad)) {
        *why = "bad IPv4 address";
        return false;
    }
    return true;
}

/* "[" IPv6 "]" at the start of *rest; moves on. */
static bool take_ipv6(struct span *rest, struct span *host, const char **why)
{
    const char *close = memchr(rest->p, ']', rest->len);

    *why = "bad IPv6 address";
    if (close == NULL)
        return false;
    *host = span_of(rest->p + 1, (size_t)(close - rest->p - 1));
    *rest = span_of(close + 1, rest->len - host->len - 2);
    return is_ipv6(*host);
}

static bool port_parse(struct span digits, uint16_t *port, const char **why)
{
    uint32_t n = 0;

    *why = "bad port";
    if (digits.len == 0 || digits.len > PORT_DIGITS_MAX)
        return false;
    for (size_t i = 0; i < digits.len; i++) {
        if (!is_digit(digits.p[i]))
            return false;
        n = n * 10 + (uint32_t)(digits.p[i] - '0');
    }
    if (n == 0 || n > UINT16_MAX)
        return false;
    *port = (uint16_t)n;
    return true;
}

bool authority_parse(struct span text, struct span *host, bool *host_is_ipv6, uint16_t *port, bool *has_port,
                     const char **why)
{
    struct span rest = text;

    *port = 0;
    *has_port = false;
    *why = "empty host";
    *host_is_ipv6 = text.len > 0 && text.p[0] == '[';
    if (*host_is_ipv6) {
        if (!take_ipv6(&rest, host, why))
            return false;
    } else {
        const char *colon = text.len > 0 ? memchr(text.p, ':', text.len) : NULL;

        *host = span_of(text.p, colon != NULL ? (size_t)(colon - text.p) : text.len);
        rest = span_of(text.p + host->len, text.len - host->len);
        if (host->len == 0 || !name_ok(*host, why))
            return false;
    }
    if (rest.len == 0)
        return true;
    if (rest.p[0] != ':') {
        *why = "bad byte behind the IPv6 address";
        return false;
    }
    if (rest.len == 1) /* "host:" is the default port (RFC 3986 section 3.2.3) */
        return true;
    *has_port = true;
    return port_parse(span_of(rest.p + 1, rest.len - 1), port, why);
}
