/* proxy/forward_head.h: the request head that goes to an origin or peer (RFC 9110 section 7.6). Pure. */
#pragma once
#include "base/strbuf.h"
#include "cache/object.h"
#include "proxy/request.h"

struct forward_options {
    bool absolute_form;             /* to a proxy */
    const struct object *validate;  /* its validators replace the client's conditions; NULL: none */
    struct object *const *variants; /* whose tags go into an If-None-Match; the client has none */
    size_t n_variants;
    const struct object *begins; /* a part: asks for what follows it, instead of what the client asks for; NULL: none */
    uint64_t last;               /* up to there */
    bool close;                  /* Connection: close */
    const char *login;           /* cache_peer login=user:password or *:password, or NULL */
    bool passes_login;           /* what the client sent for its proxy goes on */
    bool upgrade;                /* the client's Upgrade goes on, as far as it may */
    bool whole;                  /* without Range and If-Range */
    bool unconditional;          /* without any condition of the client's */
    bool originserver;           /* login goes out as Authorization; else Proxy-Authorization */
};
void forward_head(struct strbuf *out, const struct request *r, const struct settings *s,
                  const struct forward_options *o);
