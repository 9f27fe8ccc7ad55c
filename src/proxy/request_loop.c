#include "proxy/request_loop.h"

#include <unistd.h>
#include "hdrs/field_list.h"

/* "1.1 host (loligo/0.1)": received-protocol, received-by, our comment. Another proxy of the same host name has another
 * comment, so the name alone is no proof. */
static bool is_our_hop(struct span hop, struct span hostname)
{
    const char *blank = memchr(hop.p, ' ', hop.len);
    struct span rest;

    if (blank == NULL)
        return false;
    rest = span_trim(span_of(blank, hop.len - (size_t)(blank - hop.p)));
    if (!span_starts_nocase(rest, hostname))
        return false;
    rest = span_trim(span_of(rest.p + hostname.len, rest.len - hostname.len));
    return span_starts_nocase(rest, SPAN("(loligo"));
}

bool request_loops(const struct head *h, struct span hostname)
{
    for (const struct head_field *f = head_find(h, TOKEN_VIA); f != NULL; f = head_next(h, f)) {
        struct span rest = field_value(h, f), hop;

        while (list_next(&rest, &hop))
            if (is_our_hop(hop, hostname))
                return true;
    }
    return false;
}

static bool is_this_machine(const struct addr *a)
{
    struct addr any_port = *a;
    struct sockaddr_storage sa;
    socklen_t len;
    int fd;
    bool bound;

    any_port.port = 0;
    len = addr_to_sockaddr(&any_port, &sa);
    fd = socket(a->family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bound = fd >= 0 && bind(fd, (const struct sockaddr *)&sa, len) == 0;
    if (fd >= 0)
        close(fd);
    return bound;
}

bool address_loops(const struct settings *s, const struct addr *a)
{
    for (size_t i = 0; i < s->n_ports; i++) {
        const struct addr *port = &s->ports[i].at;

        if (port->port != a->port)
            continue;
        if (addr_eq(port, a) || ((addr_is_any(port) || addr_is_any(a)) && is_this_machine(a)))
            return true;
    }
    return false;
}
