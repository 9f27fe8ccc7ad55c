#include "proxy/request_loop.h"

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
