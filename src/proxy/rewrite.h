/* proxy/rewrite.h: what url_rewrite_program and store_id_program make of a request that http_access has let pass. Threads: one
 * worker. */
#pragma once
#include "access/helper.h"
#include "proxy/request.h"
#include "proxy/worker_state.h"

/* Zeroed before use; embedded. */
struct rewrite {
    struct helper_query query;
    struct proxy_worker *pw;
    const struct settings *settings;
    const struct rewrite_setting *program; /* whose answer is awaited */
    struct request *request;               /* a reference; what it has become so far */
    unsigned tries;
    /* The end. One of: request taken on as it is now; a redirection; a failure. */
    int redirect;         /* status; 0: none */
    struct strbuf target; /* its URL */
    const char *failure;  /* static text; NULL: none */
    void (*done)(struct rewrite *w);
};

/* Does anything rewrite it? */
bool rewrite_is_wanted(const struct settings *s, const struct request *r);
/* done is called later, once. r: a reference is taken; it is left as it is. */
void rewrite_start(struct rewrite *w, struct proxy_worker *pw, const struct settings *s, struct request *r,
                   void (*done)(struct rewrite *w));
/* Lets go of everything; done won't be called any more. Idempotent. */
void rewrite_cancel(struct rewrite *w);
