#include "access/addr_text.h"

#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/mem.h"

#define WHY_SIZE 160
#define SHOWN(s) (int)((s).len < 60 ? (s).len : 60), ((s).p ? (s).p : "")

static enum addr_text_result bad(char why[WHY_SIZE], const char *what, struct span text)
{
    snprintf(why, WHY_SIZE, "%s: '%.*s'", what, SHOWN(text));
    return ADDR_TEXT_BAD;
}

static void add_family(struct addr_set *s, int family)
{
    addr_set_add(s, family, 0, addr_number_max(family));
}

/* `all`, `ipv4`, `ipv6` and the ways old files spell them. False: it is none of these. */
static bool add_keyword(struct addr_set *s, struct span text, char why[WHY_SIZE], enum addr_text_result *result)
{
    /* Squid reads these as `all`, both families, and deny lines rely on it. */
    static const char *const old_all[] = { "0.0.0.0/0", "0.0.0.0/0.0.0.0", "0/0", "::/0" };

    *result = ADDR_TEXT_GOOD;
    if (span_eq(text, SPAN("ipv4"))) {
        add_family(s, AF_INET);
        return true;
    }
    if (span_eq(text, SPAN("ipv6"))) {
        add_family(s, AF_INET6);
        return true;
    }
    for (size_t i = 0; i < sizeof old_all / sizeof old_all[0]; i++)
        if (span_eq(text, span_str(old_all[i]))) {
            snprintf(why, WHY_SIZE, "'%s' is taken as 'all', IPv4 and IPv6: write 'all', 'ipv4' or 'ipv6'", old_all[i]);
            *result = ADDR_TEXT_DOUBTFUL;
        }
    if (!span_eq(text, SPAN("all")) && *result == ADDR_TEXT_GOOD)
        return false;
    add_family(s, AF_INET);
    add_family(s, AF_INET6);
    return true;
}

/* Digits only, at most max. */
static bool parse_prefix(struct span text, unsigned max, unsigned *out)
{
    unsigned n = 0;

    if (text.len == 0 || text.len > 3)
        return false;
    for (size_t i = 0; i < text.len; i++) {
        if (text.p[i] < '0' || text.p[i] > '9')
            return false;
        n = n * 10 + (unsigned)(text.p[i] - '0');
    }
    *out = n;
    return n <= max;
}

/* The bits a mask leaves to hosts: 8 of /24 are 0xff. False: it is no mask for that family. */
static bool parse_mask(struct span text, int family, bool mapped, addr_number *host_bits, bool *is_netmask)
{
    unsigned width = family == AF_INET ? 32 : 128, prefix;
    addr_number all = addr_number_max(family);
    struct addr mask;

    *is_netmask = false;
    if (parse_prefix(text, mapped ? 128 : width, &prefix)) {
        if (mapped && prefix < 96) /* ::ffff:10.0.0.0/104 is 10.0.0.0/8 */
            return false;
        prefix -= mapped ? 96 : 0;
        *host_bits = prefix == width ? 0 : all >> prefix; /* a shift by all 128 bits is undefined */
        return true;
    }
    if (!addr_parse(text, &mask) || mask.family != family)
        return false;
    *is_netmask = true;
    *host_bits = ~addr_to_number(&mask) & all;
    return (*host_bits & (*host_bits + 1)) == 0; /* 255.0.255.0: matches nothing anybody means */
}

/* All-numeric names ("127.1", "0x7f.1") are what inet_aton() would make addresses of: never look those up. */
static bool looks_like_name(struct span text)
{
    size_t last_label = 0;

    if (text.len == 0 || text.len > 253)
        return false;
    for (size_t i = 0; i < text.len; i++) {
        char c = ascii_lower(text.p[i]);

        if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.'))
            return false;
        if (c == '.' && i + 1 < text.len)
            last_label = i + 1;
    }
    return !(text.p[last_label] >= '0' && text.p[last_label] <= '9');
}

static enum addr_text_result add_name(struct addr_set *s, struct span name, char why[WHY_SIZE])
{
    struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM }, *found = NULL;
    char *host;
    int failed;

    if (!looks_like_name(name))
        return bad(why, "not an address, a network or a host name", name);
    host = xspandup(name);
    failed = getaddrinfo(host, NULL, &hints, &found);
    free(host);
    if (failed != 0) {
        snprintf(why, WHY_SIZE, "the name '%.*s' does not resolve: %s", SHOWN(name), gai_strerror(failed));
        return ADDR_TEXT_BAD;
    }
    for (const struct addrinfo *a = found; a != NULL; a = a->ai_next) {
        struct addr one = addr_from_sockaddr(a->ai_addr);

        if (one.family != 0)
            addr_set_add(s, one.family, addr_to_number(&one), addr_to_number(&one));
    }
    freeaddrinfo(found);
    return ADDR_TEXT_GOOD;
}

/* ADDRESS or FIRST-LAST. False: neither, so perhaps a name: those have '-' too. */
static bool parse_ends(struct span text, struct addr *first, struct addr *last)
{
    const char *dash = text.len > 0 ? memchr(text.p, '-', text.len) : NULL;
    size_t before = dash ? (size_t)(dash - text.p) : text.len;

    if (!addr_parse(span_of(text.p, before), first))
        return false;
    *last = *first;
    return dash == NULL || addr_parse(span_of(dash + 1, text.len - before - 1), last);
}

enum addr_text_result addr_text_add(struct addr_set *s, struct span text, char why[WHY_SIZE])
{
    const char *slash = text.len > 0 ? memchr(text.p, '/', text.len) : NULL;
    struct span ends = span_of(text.p, slash ? (size_t)(slash - text.p) : text.len);
    struct addr first, last;
    addr_number host_bits = 0, from, to;
    bool is_netmask = false;
    enum addr_text_result result;

    why[0] = '\0';
    if (add_keyword(s, text, why, &result))
        return result;
    if (!parse_ends(ends, &first, &last))
        return slash ? bad(why, "not an address or a network", text) : add_name(s, text, why);
    if (first.family != last.family)
        return bad(why, "a range of two address families", text);
    if (slash != NULL) {
        bool mapped = first.family == AF_INET && memchr(ends.p, ':', ends.len) != NULL;

        if (!parse_mask(span_of(slash + 1, text.len - ends.len - 1), first.family, mapped, &host_bits, &is_netmask))
            return bad(why, "not a prefix length or a netmask for that address", text);
    }
    from = addr_to_number(&first) & ~host_bits;
    to = addr_to_number(&last) | host_bits;
    if (from > to)
        return bad(why, "the range ends before it starts", text);
    addr_set_add(s, first.family, from, to);
    if (is_netmask)
        snprintf(why, WHY_SIZE, "netmasks are old style: write a prefix length instead of '%.*s'", SHOWN(text));
    else if (from != addr_to_number(&first))
        snprintf(why, WHY_SIZE, "'%.*s' has bits set behind its prefix; they don't count", SHOWN(text));
    return why[0] ? ADDR_TEXT_DOUBTFUL : ADDR_TEXT_GOOD;
}
