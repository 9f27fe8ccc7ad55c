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

struct connect_config outgoing_connect(const struct settings *s, const struct peer_setting *peer, int64_t left)
{
    int64_t timeout = peer == NULL                ? s->connect_timeout
                      : peer->connect_timeout > 0 ? peer->connect_timeout
                                                  : s->peer_connect_timeout;

    if (left < timeout)
        timeout = left > 0 ? left : 0;
    return (struct connect_config){
        .timeout_us = timeout,
        .attempt_us = s->happy_eyeballs_connect_timeout,
        .retries = (unsigned)s->connect_retries,
        .spares_max = s->happy_eyeballs_connect_limit,
        .spare_gap_us = s->happy_eyeballs_connect_gap * INT64_C(1000),
        .receive_buffer = (int)s->tcp_recv_bufsize,
    };
}

int64_t outgoing_rest(const struct settings *s, const struct endpoints *ends, int64_t mono)
{
    int64_t left = ends->opened + s->pconn_lifetime - mono;

    return s->pconn_lifetime > 0 && left < s->server_idle_pconn_timeout ? left : s->server_idle_pconn_timeout;
}

bool outgoing_fits(void *ctx, const struct endpoints *ends)
{
    struct addr wanted = outgoing_address(ctx, &ends->peer), has = ends->local;

    if (wanted.family == 0)
        return !ends->chosen;
    has.port = 0;
    return ends->chosen && addr_eq(&wanted, &has);
}
