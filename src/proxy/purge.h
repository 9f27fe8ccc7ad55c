/* proxy/purge.h: the method PURGE: by URL, by its beginning (Purge-Mode: prefix) or by tag (Surrogate-Key); Purge-Soft: 1 marks
 * stale instead. Allowed like any request, and only where some `acl` line names the method: as in Squid, it is off by default.
 * The cache is all workers', so what is answered holds for all. One worker. */
#pragma once
#include "cache/purge.h"
#include "proxy/serve.h"

/* http_access has let r pass. tx: the transaction that waited for that, or NULL. */
void serve_purge(struct client_conn *c, const struct request *r, struct transaction *tx);

/* A purge that looks at every stored response, a part of them at a time, so that others have their turn. Embedded in a
 * transaction; zeroed. */
struct purge_run {
    struct worker_timer timer;
    void (*done)(struct purge_run *p);
    struct proxy_worker *pw;
    struct purge_query query; /* its text is the request's, which outlives it */
    bool soft;
    unsigned part;
    size_t count;
};
void purge_start(struct purge_run *p, struct proxy_worker *pw, const struct request *r,
                 void (*done)(struct purge_run *p));
/* Idempotent. */
void purge_cancel(struct purge_run *p);
/* Answers with what was purged, into the batch. */
void purge_reply(struct client_conn *c, const struct request *r, size_t count);
