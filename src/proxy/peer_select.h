/* proxy/peer_select.h: whom to ask: parents (cache_peer) or the origin itself, in which order. One worker. */
#pragma once
#include "proxy/log_entry.h"
#include "proxy/request.h"
#include "proxy/worker_state.h"

struct route {
    const struct peer_setting *peer; /* NULL: the origin, directly */
    enum hier_code hier;
};

#define ROUTES_MAX 16
/* Routes for r under s, best first; 0: nobody may be asked. */
size_t peer_routes(struct proxy_worker *pw, struct settings *s, const struct request *r, struct route out[ROUTES_MAX]);
