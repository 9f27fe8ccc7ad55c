/* proxy/reply_rules.h: may this response go to this client? http_reply_access and reply_body_max_size, asked in one place
 * for responses from the store and from an origin alike. Pure. */
#pragma once
#include "cache/object.h"
#include "conf/settings.h"
#include "proxy/error_page.h"
#include "proxy/log_entry.h"
#include "proxy/request.h"

struct reply_ruling {
    /* When it may not: */
    enum error_id error;
    int status;
    const char *detail;           /* static text */
    const char *access_line;      /* FILE:LINE that decided; NULL: none */
    const struct deny_info *deny; /* what it leads to; NULL: the error page */
    /* When it may: how many bytes of body; UINT64_MAX: any number. Matters only when the length isn't known yet. */
    uint64_t body_max;
};

/* length: of its body, UINT64_MAX when unknown. so_far: who was asked for it; NULL: nobody, it was stored. No body is sent to HEAD, so none is too long. */
bool reply_rules_allow(const struct settings *s, const struct request *r, const struct object *o, uint64_t length,
                       const struct log_entry *so_far, struct reply_ruling *ruling);
/* Nothing is configured that could say no. */
static inline bool reply_rules_none(const struct settings *s)
{
    return s->reply_limits.n == 0 && access_always_allows(s->http_reply_access);
}
