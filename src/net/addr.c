#include "net/addr.h"

#include <arpa/inet.h>
#include <assert.h>
#include <stdio.h>
#include "base/ipv4.h"

static const uint8_t mapped_prefix[12] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff };

static void set_v4(struct addr *a, const void *bytes)
{
    a->family = AF_INET;
    memcpy(a->bytes, bytes, 4);
}

static void set_v6(struct addr *a, const uint8_t *bytes)
{
    if (memcmp(bytes, mapped_prefix, sizeof mapped_prefix) == 0) {
        set_v4(a, bytes + sizeof mapped_prefix);
        return;
    }
    a->family = AF_INET6;
    memcpy(a->bytes, bytes, 16);
}

struct addr addr_from_sockaddr(const struct sockaddr *sa)
{
    struct addr a = { 0 };

    if (sa->sa_family == AF_INET) {
        struct sockaddr_in in;

        memcpy(&in, sa, sizeof in);
        set_v4(&a, &in.sin_addr);
        a.port = ntohs(in.sin_port);
    } else if (sa->sa_family == AF_INET6) {
        struct sockaddr_in6 in6;

        memcpy(&in6, sa, sizeof in6);
        set_v6(&a, in6.sin6_addr.s6_addr);
        a.port = ntohs(in6.sin6_port);
    }
    return a;
}

socklen_t addr_to_sockaddr(const struct addr *a, struct sockaddr_storage *out)
{
    memset(out, 0, sizeof *out);
    if (a->family == AF_INET) {
        struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(a->port) };

        memcpy(&in.sin_addr, a->bytes, 4);
        memcpy(out, &in, sizeof in);
        return sizeof in;
    }
    assert(a->family == AF_INET6);

    struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_port = htons(a->port) };

    memcpy(&in6.sin6_addr, a->bytes, 16);
    memcpy(out, &in6, sizeof in6);
    return sizeof in6;
}

bool addr_parse(struct span text, struct addr *out)
{
    char copy[INET6_ADDRSTRLEN];
    struct addr a = { 0 };
    uint8_t bytes[16];
    bool brackets = text.len >= 2 && text.p[0] == '[' && text.p[text.len - 1] == ']';

    if (!brackets && ipv4_parse(text, bytes)) {
        set_v4(&a, bytes);
        *out = a;
        return true;
    }
    if (brackets)
        text = span_of(text.p + 1, text.len - 2);
    /* A NUL inside would let inet_pton() judge less than what the caller holds. */
    if (text.len == 0 || text.len >= sizeof copy || memchr(text.p, '\0', text.len) != NULL)
        return false;
    memcpy(copy, text.p, text.len);
    copy[text.len] = '\0';
    if (inet_pton(AF_INET6, copy, bytes) != 1)
        return false;
    set_v6(&a, bytes);
    *out = a;
    return true;
}

size_t addr_print(const struct addr *a, char out[ADDR_TEXT_MAX])
{
    if (a->family == 0 || inet_ntop(a->family, a->bytes, out, ADDR_TEXT_MAX) == NULL) {
        out[0] = '-';
        out[1] = '\0';
    }
    return strlen(out);
}

size_t addr_print_port(const struct addr *a, char out[ADDR_TEXT_MAX])
{
    char bare[ADDR_TEXT_MAX];

    addr_print(a, bare);
    /* INET6_ADDRSTRLEN is 46 with its NUL; brackets, colon and port add 8. */
    return (size_t)snprintf(out, ADDR_TEXT_MAX, a->family == AF_INET6 ? "[%.45s]:%u" : "%.45s:%u", bare,
                            (unsigned)a->port);
}

static size_t addr_len(const struct addr *a)
{
    return a->family == AF_INET ? 4 : a->family == AF_INET6 ? 16 : 0;
}

bool addr_eq(const struct addr *a, const struct addr *b)
{
    return a->family == b->family && a->port == b->port && memcmp(a->bytes, b->bytes, addr_len(a)) == 0;
}

bool addr_is_any(const struct addr *a)
{
    static const uint8_t zero[16];

    return a->family != 0 && memcmp(a->bytes, zero, addr_len(a)) == 0;
}

struct addr addr_cut(const struct addr *a, struct addr_cut cut)
{
    struct addr out = *a;
    size_t n = addr_len(a), bits = a->family == AF_INET ? cut.v4 : cut.v6;

    for (size_t i = n; i-- > 0 && bits > 0; bits -= bits < 8 ? bits : 8)
        out.bytes[i] &= (uint8_t)(bits < 8 ? 0xff << bits : 0);
    return out;
}
