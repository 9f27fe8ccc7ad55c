/* net/proxy_header.h: the header a load balancer puts in front of a connection's bytes to say whose connection it forwards:
 * the PROXY protocol, versions 1 (a line) and 2 (binary), after haproxy's published specification. Pure. */
#pragma once
#include "base/span.h"
#include "net/addr.h"

struct proxy_header {
    uint32_t len;         /* bytes it takes */
    bool has_addresses;   /* false: UNKNOWN, LOCAL, or a family that isn't ours: the connection's own addresses count */
    struct addr from, to; /* the client, and where it connected */
};

enum proxy_header_result { PROXY_HEADER_MORE, PROXY_HEADER_DONE, PROXY_HEADER_BAD };

/* max: bytes the whole may take, extensions of version 2 included. Says BAD as soon as it can be told. *why: static text. */
enum proxy_header_result proxy_header_parse(struct span in, uint32_t max, struct proxy_header *h, const char **why);
