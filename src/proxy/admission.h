/* proxy/admission.h: the access lists that a request passes on its way, each asked about it, and what must be found out
 * for that: addresses of its host, what addresses are called, who the user is. What has been found out stays in the request.
 *
 * Threads: one worker. */
#pragma once
#include "access/access_list.h"
#include "access/auth.h"
#include "net/resolve.h"
#include "proxy/external.h"
#include "proxy/request.h"
#include "proxy/worker_state.h"

enum gate {
    GATE_HTTP,    /* http_access */
    GATE_ADAPTED, /* adapted_http_access: what rewriters made of it */
    GATE_MISS,    /* miss_access: before it is sent on */
};
const struct access_list *gate_list(const struct settings *s, enum gate g);

/* http_access' verdict, when it can be told at once: the hit path. False: it takes an admission. */
bool admission_at_once(struct proxy_worker *pw, struct request *r, struct access_verdict *v);

/* Embedded in whoever waits for the verdict. */
struct admission {
    struct proxy_worker *pw;
    struct settings *settings; /* both live until done() or admission_cancel() */
    struct request *request;   /* kept */
    enum gate gate;
    void (*done)(struct admission *a, const struct access_verdict *v);
    struct resolve_query query;
    struct reverse_query reverse;
    enum request_name reversing;
    struct auth_query login;
    struct external_wait external;
    bool dst_known;
    struct addr *dst; /* n_dst of them, its own; NULL: none */
    size_t n_dst;
};
/* The members up to done are set; the rest is zero, or as an earlier one about the same request left it. done() may be
 * called from within. */
void admission_start(struct admission *a);
/* Forgets what an earlier one found out: the request has become another. */
void admission_forget(struct admission *a);
void admission_cancel(struct admission *a); /* idempotent; also of one that was never started */
