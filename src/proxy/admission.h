/* proxy/admission.h: http_access asked about a request, and what must be found out for that: addresses of its host, who
 * the user is. What has been found out stays in the request.
 *
 * Threads: one worker. */
#pragma once
#include "access/access_list.h"
#include "access/auth.h"
#include "net/resolve.h"
#include "proxy/external.h"
#include "proxy/request.h"
#include "proxy/worker_state.h"

/* The verdict, when it can be told at once: the hit path. False: it takes an admission. */
bool admission_at_once(struct proxy_worker *pw, struct request *r, struct access_verdict *v);

/* Embedded in whoever waits for the verdict. */
struct admission {
    struct proxy_worker *pw;
    struct settings *settings; /* both live until done() or admission_cancel() */
    struct request *request;   /* kept */
    void (*done)(struct admission *a, const struct access_verdict *v);
    struct resolve_query query;
    struct auth_query login;
    struct external_wait external;
    bool dst_known;
    struct addr *dst; /* n_dst of them, its own; NULL: none */
    size_t n_dst;
};
/* The first four members are set, the rest is zero. done() may be called from within. */
void admission_start(struct admission *a);
void admission_cancel(struct admission *a); /* idempotent; also of one that was never started */
