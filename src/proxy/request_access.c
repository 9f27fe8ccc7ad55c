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

struct access_verdict request_access_reply(const struct access_list *l, const struct request *r, int status)
{
    struct access_facts f;

    request_facts(r, &f);
    f.status = status;
    return access_check(l, &f);
}

bool request_allowed(const struct access_list *l, const struct request *r)
{
    return access_always_allows(l) || request_access(l, r).answer == ACCESS_ALLOWED;
}
