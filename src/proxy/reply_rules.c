#include "proxy/reply_rules.h"

#include "proxy/request_access.h"

/* The first line whose ACLs hold; NULL: none does. */
static const struct size_limit *limit_of(const struct settings *s, const struct request *r, const struct object *o,
                                         const struct log_entry *so_far)
{
    for (size_t i = 0; i < s->reply_limits.n; i++) {
        const struct size_limit *l = &s->reply_limits.p[i];

        if (l->when == NULL ||
            request_access_reply(l->when, r, o->status, object_head(o), so_far).answer == ACCESS_ALLOWED)
            return l;
    }
    return NULL;
}

bool reply_rules_allow(const struct settings *s, const struct request *r, const struct object *o, uint64_t length,
                       const struct log_entry *so_far, struct reply_ruling *ruling)
{
    const struct size_limit *limit;

    *ruling = (struct reply_ruling){ .body_max = UINT64_MAX };
    if (!access_always_allows(s->http_reply_access)) {
        struct access_verdict v = request_access_reply(s->http_reply_access, r, o->status, object_head(o), so_far);

        if (v.answer != ACCESS_ALLOWED) {
            ruling->error = ERR_ACCESS_DENIED;
            ruling->detail = "denied by http_reply_access";
            ruling->access_line = v.where;
            ruling->deny = settings_deny_info(s, v.last);
            return false;
        }
    }
    limit = limit_of(s, r, o, so_far);
    if (limit == NULL || limit->max < 0 || r->method == METHOD_HEAD)
        return true;
    ruling->body_max = (uint64_t)limit->max;
    if (length == UINT64_MAX || length <= ruling->body_max)
        return true;
    ruling->error = ERR_TOO_BIG;
    ruling->status = 403; /* as Squid: refused by rule, not 413, which is about requests */
    ruling->detail = "longer than reply_body_max_size";
    ruling->access_line = limit->where;
    return false;
}
