/* proxy/interim.h: 1xx responses on their way to a client (RFC 9110 section 15.2). Pure. */
#pragma once
#include "base/strbuf.h"
#include "hdrs/head.h"

/* The head as it goes on: end-to-end fields, and for a 101 the Upgrade that was agreed on. via: our own line, CRLF
 * included. */
void interim_head(struct strbuf *out, const struct head *h, struct span via);
