#include "proxy/peer_probe.h"

#include <stdlib.h>
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "net/connect.h"
#include "net/resolve.h"
#include "proxy/outgoing.h"

/* A connection on its way that no request waits for. */
struct probe {
    struct list_node node; /* pw->probes */
    struct proxy_worker *pw;
    struct settings *settings; /* a reference: the peer is its */
    const struct peer_setting *peer;
    struct resolve_query query;
    struct connector *connector;
    struct server_health *place; /* of the connection; NULL: none left */
};

void peer_answered(const struct peer_setting *p)
{
    if (server_health_answered(p->health))
        log_line(LOG_IMPORTANT, "Detected REVIVED Parent: %s", p->name);
}

void peer_failed(const struct peer_setting *p)
{
    if (server_health_failed(p->health, (unsigned)p->fail_limit, clock_wall_us()))
        log_line(LOG_IMPORTANT, "Detected DEAD Parent: %s: %d connections in a row failed", p->name, p->fail_limit);
}

char *peer_pool_name(const struct peer_setting *p)
{
    /* With the place: a reload may move a peer. No host has a blank. */
    return xasprintf("peer %s %s:%u", p->name, p->host, p->port);
}

static void probe_end(struct probe *b)
{
    resolve_cancel(&b->query);
    connect_cancel(&b->connector);
    server_health_give(&b->place);
    list_remove(&b->node);
    settings_unref(&b->settings);
    free(b);
}

/* A connection that is there anyhow serves whoever comes next. */
static void connected(void *ctx, int fd, int error, const struct endpoints *ends)
{
    struct probe *b = ctx;

    (void)error;
    b->connector = NULL;
    if (fd >= 0) {
        char *name = peer_pool_name(b->peer);

        peer_answered(b->peer);
        pool_put(b->pw->pool, span_str(name), fd, ends, outgoing_rest(b->settings, ends, worker_mono(b->pw->worker)),
                 b->place);
        b->place = NULL;
        free(name);
    } else {
        peer_failed(b->peer);
    }
    probe_end(b);
}

static void resolved(struct resolve_query *q, enum resolve_status status, const struct addr *addrs, size_t n)
{
    struct probe *b = CONTAINER_OF(q, struct probe, query);
    const struct settings *s = b->settings;
    struct connect_config c = outgoing_connect(s, b->peer, INT64_MAX);

    if (status != RESOLVE_OK || n == 0) {
        peer_failed(b->peer);
        probe_end(b);
        return;
    }
    b->connector = connect_start(b->pw->worker, addrs, n < CONNECT_ADDRS_MAX ? n : CONNECT_ADDRS_MAX, &c, connected, b);
}

static void probe_start(struct proxy_worker *pw, struct settings *s, const struct peer_setting *p)
{
    struct probe *b;

    if (!server_health_take(p->health, p->max_conn))
        return;
    b = xcalloc(1, sizeof *b);
    b->pw = pw;
    b->settings = settings_ref(s);
    b->peer = p;
    b->place = p->health;
    b->query.done = resolved;
    list_append(&pw->probes, &b->node);
    resolve(pw->resolver, &b->query, span_str(p->host), p->port);
}

bool peer_is_alive(struct proxy_worker *pw, struct settings *s, const struct peer_setting *p)
{
    if (!server_health_is_dead(p->health))
        return true;
    if (server_health_wants_probe(p->health, worker_mono(pw->worker), s->dead_peer_timeout))
        probe_start(pw, s, p);
    return false;
}

/* This worker's share of what all keep ready. */
static size_t standby_here(const struct proxy_worker *pw, const struct peer_setting *p)
{
    unsigned workers = pw->n_workers, id = pw->worker->id;

    return (unsigned)p->standby / workers + (id < (unsigned)p->standby % workers);
}

static size_t probes_of(const struct proxy_worker *pw, const struct peer_setting *p)
{
    size_t found = 0;

    for (const struct list_node *n = pw->probes.next; n != &pw->probes; n = n->next)
        found += CONTAINER_OF(n, struct probe, node)->peer == p;
    return found;
}

static void keep_ready(struct proxy_worker *pw, const struct peer_setting *p)
{
    char *name = peer_pool_name(p);
    size_t there = pool_idle_of(pw->pool, span_str(name)) + probes_of(pw, p);

    for (size_t wanted = standby_here(pw, p); there < wanted; there++)
        probe_start(pw, pw->settings, p);
    free(name);
}

void peer_probes_tick(struct proxy_worker *pw)
{
    const struct settings *s = pw->settings;

    for (size_t i = 0; i < s->n_peers && !pw->draining; i++)
        if (s->peers[i].standby > 0 && peer_is_alive(pw, pw->settings, &s->peers[i]))
            keep_ready(pw, &s->peers[i]);
}

void peer_probes_free(struct proxy_worker *pw)
{
    while (!list_empty(&pw->probes))
        probe_end(CONTAINER_OF(pw->probes.next, struct probe, node));
}
