/* proxy/request_loop.h: forwarding loops (RFC 9110 section 7.6.3). Pure. */
#pragma once
#include "hdrs/head.h"

/* Has a request passed through a loligo of that visible_hostname before? Reads its Via fields. */
bool request_loops(const struct head *h, struct span hostname);
