/* proxy/request_loop.h: forwarding loops (RFC 9110 section 7.6.3). */
#pragma once
#include "conf/settings.h"
#include "hdrs/head.h"

/* Has a request passed through a loligo of that name (unique_hostname) before? Reads its Via fields. */
bool request_loops(const struct head *h, struct span hostname);

/* Would a connection there come back to a port of ours? An address is this machine's when a socket can be bound to it: asked
 * only where the port is one of ours. */
bool address_loops(const struct settings *s, const struct addr *a);
