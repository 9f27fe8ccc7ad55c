#include "proxy/request_access.h"

struct access_verdict request_access(const struct access_list *l, const struct request *r)
{
    struct access_facts f;
    struct access_verdict v;

    if (access_is_constant(l, &v))
        return v;
    request_facts(r, &f);
    return access_check(l, &f);
}

struct access_verdict request_access_dst(const struct access_list *l, const struct request *r, const struct addr *dst,
                                         size_t n)
{
    struct access_facts f;
    struct access_verdict v;

    if (access_is_constant(l, &v))
        return v;
    request_facts(r, &f);
    f.dst_known = true;
    f.dst = dst;
    f.n_dst = n;
    return access_check(l, &f);
}

struct access_verdict request_access_asking(const struct access_list *l, const struct request *r, bool dst_known,
                                            const struct addr *dst, size_t n)
{
    struct access_facts f;
    struct access_verdict v;

    if (access_is_constant(l, &v))
        return v;
    request_facts(r, &f);
    f.may_ask_names = true;
    f.dst_known = dst_known;
    f.dst = dst;
    f.n_dst = n;
    return access_check(l, &f);
}

/* http_access was asked about what the client wanted. Is that where it goes? */
static bool goes_where_asked(const struct request *r)
{
    const struct request *o = r->original;

    return o == NULL || (o->uri.port == r->uri.port && span_eq(o->uri.host, r->uri.host));
}

struct access_verdict request_access_going(const struct settings *s, const struct request *r, const struct addr *dst,
                                           size_t n, const char **why)
{
    const struct {
        const struct access_list *list;
        const struct request *request;
        const char *why;
    } lists[] = { { s->http_access, r->original ? r->original : r, "its address is denied by http_access" },
                  { s->adapted_http_access, r, "its address is denied by adapted_http_access" },
                  { s->miss_access, r, "its address is denied by miss_access" } };
    struct access_verdict v = { .answer = ACCESS_ALLOWED };

    for (size_t i = goes_where_asked(r) ? 0 : 1; i < sizeof lists / sizeof lists[0] && v.answer == ACCESS_ALLOWED;
         i++) {
        *why = lists[i].why;
        if (!access_always_allows(lists[i].list))
            v = request_access_dst(lists[i].list, lists[i].request, dst, n);
    }
    return v;
}

void request_facts_route(const struct log_entry *e, struct access_facts *f)
{
    f->hier = span_str(hier_code_names[e->hier]);
    if (e->hier != HIER_NONE && e->hier != HIER_DIRECT)
        f->peer_name = e->server_name;
}

struct access_verdict request_access_reply(const struct access_list *l, const struct request *r, int status,
                                           struct span head, const struct log_entry *so_far)
{
    static const struct log_entry nobody = { .hier = HIER_NONE };
    struct access_facts f;
    struct access_verdict v;

    if (access_is_constant(l, &v))
        return v;
    request_facts(r, &f);
    f.status = status;
    f.reply_head = head;
    request_facts_route(so_far ? so_far : &nobody, &f);
    return access_check(l, &f);
}

bool request_allowed(const struct access_list *l, const struct request *r)
{
    return access_always_allows(l) || request_access(l, r).answer == ACCESS_ALLOWED;
}
