/* proxy/internal_service.h: requests the proxy answers itself (manager pages), handed in from above: mgr includes
 * proxy, never the other way. */
#pragma once
#include "base/strbuf.h"
#include "conf/settings.h"
#include "net/worker.h"
#include "proxy/gather.h"

struct internal_request {
    struct span page;           /* "counters" of /squid-internal-mgr/counters and cache_object://HOST/counters;
                                    * without query and @password */
    struct span password;       /* of PAGE@password (legacy form); "" */
    const struct head *request; /* Authorization is read from it */
    const struct settings *settings;
    struct worker *worker;            /* the one that answers */
    const struct gathering *gathered; /* what the answer said it needs; NULL: not asked for yet */
};

struct internal_answer {
    int status;             /* 200, 401, 404 */
    const char *error_name; /* when status isn't 200: "ERR_CACHE_MGR_ACCESS_DENIED", "ERR_INVALID_URL" */
    char realm[64];         /* 401: Basic realm="..." */
    struct strbuf body;     /* 200: text/plain;charset=utf-8 */
    const struct gather_kind
        *needs; /* 200 without a body yet: to be asked again, with this from all workers; or NULL */
};

/* On a worker's thread; must not block. */
struct internal_service {
    void (*answer)(void *ctx, const struct internal_request *q, struct internal_answer *a);
    void *ctx;
};
