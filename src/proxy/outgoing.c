#include "proxy/outgoing.h"

#include "proxy/request_access.h"

static bool holds(const struct access_list *when, const struct departure *d, const struct addr *to)
{
    struct access_facts f;

    if (when == NULL)
        return true;
    request_facts(d->request, &f);
    f.dst_known = true;
    f.dst = to;
    f.n_dst = 1;
    f.hier = span_str(hier_code_names[d->route->hier]);
    if (d->route->peer != NULL)
        f.peer_name = span_str(d->route->peer->name);
    return access_check(when, &f).answer == ACCESS_ALLOWED;
}

struct addr outgoing_address(const struct departure *d, const struct addr *to)
{
    for (size_t i = 0; i < d->settings->n_outgoing; i++) {
        const struct outgoing_setting *o = &d->settings->outgoing[i];

        if (o->from.family == to->family && holds(o->when, d, to))
            return o->from;
    }
    return (struct addr){ .family = 0 };
}

const struct addr *outgoing_addresses(const struct departure *d, const struct addr *to, size_t n,
                                      struct addr from[CONNECT_ADDRS_MAX])
{
    if (d->settings->n_outgoing == 0)
        return NULL;
    for (size_t i = 0; i < n; i++)
        from[i] = outgoing_address(d, &to[i]);
    return from;
}

bool outgoing_fits(void *ctx, const struct endpoints *ends)
{
    struct addr wanted = outgoing_address(ctx, &ends->peer), has = ends->local;

    if (wanted.family == 0)
        return !ends->chosen;
    has.port = 0;
    return ends->chosen && addr_eq(&wanted, &has);
}
