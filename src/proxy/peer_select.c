#include "proxy/peer_select.h"

#include "proxy/request_access.h"

/* unsure: what to take for it when the list can't be told without addresses (`dst`); absent: when it isn't there. */
static bool says_allow(const struct access_list *l, const struct request *r, bool absent, bool unsure)
{
    enum access_answer a;

    if (l == NULL || access_list_is_empty(l))
        return absent;
    a = request_access(l, r).answer;
    return !access_is_final(a) ? unsure : a == ACCESS_ALLOWED;
}

static unsigned weight_of(const struct peer_setting *p)
{
    return p->weight > 0 ? (unsigned)p->weight : 1;
}

/* Which of the round-robin peers has the turn'th of all their weights. */
static size_t first_robin(const struct route *routes, size_t n, unsigned turn)
{
    size_t k = 0;

    for (size_t i = 0; i < n; i++) {
        if (!routes[i].peer->round_robin)
            continue;
        if (turn < weight_of(routes[i].peer))
            return k;
        turn -= weight_of(routes[i].peer);
        k++;
    }
    return 0;
}

/* Parents that may be asked for r: default ones last, the round-robin group turned by one each time. */
static size_t parents(struct proxy_worker *pw, const struct settings *s, const struct request *r, struct route *out,
                      size_t max)
{
    size_t n = 0, robins = 0;
    unsigned weights = 0;

    for (size_t i = 0; i < s->n_peers && n < max; i++) {
        const struct peer_setting *p = &s->peers[i];

        if (p->is_default || !says_allow(p->access, r, true, false))
            continue;
        /* An origin server takes requests for its own site only: those that came through an accelerator port, or that
         * its cache_peer_access lines choose. */
        if (p->originserver && !r->accel && p->access == NULL)
            continue;
        out[n++] = (struct route){ p, p->round_robin ? HIER_ROUNDROBIN_PARENT : HIER_FIRSTUP_PARENT };
        robins += p->round_robin;
        weights += p->round_robin ? weight_of(p) : 0;
    }
    if (robins > 1) {
        struct route turned[ROUTES_MAX];
        size_t by = first_robin(out, n, pw->round_robin++ % weights), k = 0;

        for (size_t pass = 0; pass < 2; pass++) {
            size_t seen = 0;

            for (size_t i = 0; i < n; i++)
                if (out[i].peer->round_robin && (seen++ >= by) == (pass == 0))
                    turned[k++] = out[i];
        }
        for (size_t i = 0; i < n; i++)
            if (!out[i].peer->round_robin)
                turned[k++] = out[i];
        memcpy(out, turned, n * sizeof *out);
    }
    for (size_t i = 0; i < s->n_peers && n < max; i++) {
        const struct peer_setting *p = &s->peers[i];

        if (p->is_default && says_allow(p->access, r, true, false) &&
            !(p->originserver && !r->accel && p->access == NULL))
            out[n++] = (struct route){ p, HIER_DEFAULT_PARENT };
    }
    return n;
}

size_t peer_routes(struct proxy_worker *pw, const struct settings *s, const struct request *r,
                   struct route out[ROUTES_MAX])
{
    size_t n = 0;
    bool direct;

    if (says_allow(s->always_direct, r, false, false)) {
        out[0] = (struct route){ NULL, HIER_DIRECT };
        return 1;
    }
    direct = !says_allow(s->never_direct, r, false, true);
    /* An accelerator goes to its peers: its clients' Host must not choose the address (SSRF) unless allow-direct says
     * so. */
    if (r->accel) {
        direct = false;
        for (size_t i = 0; i < s->n_ports; i++)
            if (span_eq(span_str(s->ports[i].name), r->port_name) && s->ports[i].allow_direct)
                direct = true;
    }
    /* Tunnels go directly where they may (nonhierarchical_direct on). */
    if (r->method == METHOD_CONNECT && direct) {
        out[0] = (struct route){ NULL, HIER_DIRECT };
        return 1;
    }
    n = parents(pw, s, r, out, ROUTES_MAX - 1);
    if (direct)
        out[n++] = (struct route){ NULL, HIER_DIRECT };
    return n;
}
