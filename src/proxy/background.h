/* proxy/background.h: fetches nobody waits for (RFC 5861 section 3). Threads: one worker. */
#pragma once
#include "proxy/client_conn.h"

/* Has a stale stored response validated, or fetched anew, unless a fetch of its key is under way. Nothing is kept of r,
 * whose own conditions don't go along. */
void background_validate(struct proxy_worker *pw, const struct request *r, struct object *stale);
