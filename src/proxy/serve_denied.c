#include "proxy/serve.h"

#include "proxy/request_access.h"

/* What a refusal by each list looks like. */
static const struct {
    enum error_id page;
    const char *detail;
} refusals[] = {
    [GATE_HTTP] = { ERR_ACCESS_DENIED, "denied by http_access" },
    [GATE_ADAPTED] = { ERR_ACCESS_DENIED, "denied by adapted_http_access" },
    [GATE_MISS] = { ERR_FORWARDING_DENIED,
                    "denied by miss_access: it isn't in the cache, and this client may not have it fetched" },
};

/* auth_schemes; NULL: all. */
static const struct auth_offer *offer_to(const struct settings *s, const struct request *r)
{
    for (size_t i = 0; i < s->n_auth_offers; i++)
        if (s->auth_offers[i].when == NULL || request_allowed(s->auth_offers[i].when, r))
            return &s->auth_offers[i].offer;
    return NULL;
}

/* The client is to say who it is, or who else. Where it must, deny_info can give another page, but no other place: the
 * question would be lost. */
static void ask_for_login(struct client_conn *c, const struct request *r, const struct settings *s,
                          const struct access_verdict *v)
{
    const struct deny_info *deny = settings_deny_info(s, v->last);
    bool must = v->answer == ACCESS_NEED_LOGIN;
    const struct auth_scheme_settings *tokens = &s->auth.schemes[AUTH_NEGOTIATE];
    struct strbuf fields = { 0 };
    struct error_answer a = {
        .id = ERR_CACHE_ACCESS_DENIED,
        .status = r->user_unchecked ? 503
                  : r->accel        ? 401
                                    : 407,
        .tag = TAG_TCP_DENIED,
        .r = r,
        .access_line = v->where,
        .deny = must && deny != NULL && deny->kind == DENY_REDIRECT ? NULL : deny,
        .detail = r->user_problem != NULL ? r->user_problem : "denied by http_access for this user",
    };

    if (r->user_unchecked)
        sb_str(&fields, "Retry-After: 1\r\n");
    else
        auth_challenge(c->pw->auth, &s->auth, offer_to(s, r),
                       &(struct auth_challenged){ r->accel, r->user_stale, span_str(r->user_token) }, &fields);
    a.fields = sb_view(&fields);
    a.asks_again = a.status == 407 && (a.deny == NULL || a.deny->kind != DENY_REDIRECT);
    a.close = tokens->works && !tokens->keep_alive && r->user_token == NULL;
    client_conn_error(c, &a);
    sb_free(&fields);
}

void serve_denied(struct client_conn *c, const struct request *r, const struct settings *s, enum gate gate,
                  const struct access_verdict *v)
{
    struct error_answer a = {
        .id = refusals[gate].page,
        .tag = TAG_TCP_DENIED,
        .r = r,
        .access_line = v->where,
        .deny = settings_deny_info(s, v->last),
        .detail = refusals[gate].detail,
    };

    if (v->answer == ACCESS_NEED_LOGIN || (v->last != NULL && acl_is_about_user(v->last)))
        ask_for_login(c, r, s, v);
    else
        client_conn_error(c, &a);
}
