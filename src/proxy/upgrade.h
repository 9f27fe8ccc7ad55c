/* proxy/upgrade.h: changing the protocol of a connection (RFC 9110 section 7.8), as http_upgrade_request_protocols says.
 * Pure. */
#pragma once
#include "base/strbuf.h"
#include "proxy/request.h"

/* Does the request ask for a change that may be? Of a GET without a body in HTTP/1.1, whose Connection names Upgrade. */
bool upgrade_wanted(const struct request *r, const struct settings *s);
/* The protocols of it that may be, "a, b"; nothing when none may. */
void upgrade_protocols(const struct request *r, const struct settings *s, struct strbuf *out);
/* May the origin have chosen that? Each protocol of its Upgrade field must be one that was offered. */
bool upgrade_agrees(const struct head *switching, const struct request *r, const struct settings *s);
