#include "proxy/request_access.h"

struct access_verdict request_access(const struct access_list *l, const struct request *r)
{
    struct access_facts f;

    request_facts(r, &f);
    return access_check(l, &f);
}

struct access_verdict request_access_dst(const struct access_list *l, const struct request *r, const struct addr *dst,
                                         size_t n)
{
    struct access_facts f;

    request_facts(r, &f);
    f.dst_known = true;
    f.dst = dst;
    f.n_dst = n;
    return access_check(l, &f);
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
