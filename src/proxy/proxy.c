#include "config.h"

#include "proxy/proxy.h"

#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/affinity.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "net/stream.h"
#include "proxy/client_conn.h"
#include "proxy/client_limit.h"
#include "proxy/external.h"
#include "proxy/fetch.h"
#include "proxy/peer_probe.h"
#include "proxy/worker_state.h"

/* Idle connections to servers that one worker keeps. */
#define POOL_MAX 1024
/* Resting clients that are closed in one go when descriptors are short. */
#define SPARED_AT_ONCE 64

/* One listening socket on one worker. Lives as long as the socket is in the configuration. */
struct port_listener {
    struct listener listener;
    struct proxy_worker *pw;
    int port;                                                 /* index into the settings in force */
    int keepalive_idle, keepalive_interval, keepalive_probes; /* seconds, seconds, count; 0: the kernel's */
    bool keepalive;
};

struct proxy {
    struct proxy_worker *workers;
    struct worker **threads; /* theirs */
    unsigned n_workers;
    struct store *store;
    struct client_tally *tally;
    struct auth_shared *auth;
    struct access_log *log;
    struct helpers *helpers; /* on the first worker */
    int64_t started;
    int *fds; /* for the start; [port * n_workers + worker] */
    /* proxy_drain() */
    void (*drained)(void *ctx);
    void *drained_ctx;
    atomic_uint busy_workers;
};

/* --- listeners -------------------------------------------------------------------------------------------------- */

static void accepted(struct listener *l, int fd, const struct addr *peer)
{
    struct port_listener *pl = CONTAINER_OF(l, struct port_listener, listener);

    if (pl->keepalive) {
        int one = 1;

        setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one);
        if (pl->keepalive_idle > 0)
            setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &pl->keepalive_idle, sizeof(int));
        if (pl->keepalive_interval > 0)
            setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &pl->keepalive_interval, sizeof(int));
        if (pl->keepalive_probes > 0)
            setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &pl->keepalive_probes, sizeof(int));
    }
    client_conn_new(pl->pw, pl->port, fd, peer);
}

/* Connections that rest between requests give way to clients that wait to be let in. */
static void spare_descriptors(struct listener *l)
{
    struct proxy_worker *pw = CONTAINER_OF(l, struct port_listener, listener)->pw;
    struct list_node *n, *following;
    unsigned closed = 0;

    pool_clear(pw->pool);
    LIST_EACH (n, following, &pw->clients) {
        struct client_conn *c = CONTAINER_OF(n, struct client_conn, node);

        if (closed == SPARED_AT_ONCE)
            break;
        if (client_conn_rests(c, worker_mono(pw->worker))) {
            client_conn_kill(c);
            closed++;
        }
    }
}

static struct port_listener *find_listener(struct proxy_worker *pw, int fd)
{
    for (size_t i = 0; i < pw->n_listeners; i++)
        if (pw->listeners[i] != NULL && pw->listeners[i]->listener.fd == fd)
            return pw->listeners[i];
    return NULL;
}

static void stop_listeners(struct proxy_worker *pw)
{
    for (size_t i = 0; i < pw->n_listeners; i++) {
        listener_stop(&pw->listeners[i]->listener);
        free(pw->listeners[i]);
    }
    free(pw->listeners);
    pw->listeners = NULL;
    pw->n_listeners = 0;
}

/* The listeners of the settings in force: those whose socket stays go on undisturbed. */
static void set_listeners(struct proxy_worker *pw, const int *fds)
{
    const struct settings *s = pw->settings;
    struct port_listener **next = xcalloc(s->n_ports, sizeof(struct port_listener *));

    for (size_t i = 0; i < s->n_ports; i++) {
        int fd = fds[i * pw->proxy->n_workers + pw->worker->id];
        struct port_listener *l = find_listener(pw, fd);

        if (l == NULL) {
            l = xcalloc(1, sizeof *l);
            l->pw = pw;
            listener_start(&l->listener, pw->worker, fd, accepted);
            l->listener.short_of_descriptors = spare_descriptors;
        } else {
            for (size_t k = 0; k < pw->n_listeners; k++)
                if (pw->listeners[k] == l)
                    pw->listeners[k] = pw->listeners[--pw->n_listeners];
        }
        if (s->tcp_recv_bufsize > 0)
            listener_receive_buffer(&l->listener, (int)s->tcp_recv_bufsize);
        l->port = (int)i;
        l->keepalive = s->ports[i].tcp_keepalive;
        l->keepalive_idle = s->ports[i].keepalive_idle;
        l->keepalive_interval = s->ports[i].keepalive_interval;
        /* tcpkeepalive=idle,interval,timeout: so many probes make the time-out. */
        l->keepalive_probes = l->keepalive_interval > 0 ? s->ports[i].keepalive_timeout / l->keepalive_interval : 0;
        next[i] = l;
    }
    stop_listeners(pw); /* those left over */
    pw->listeners = next;
    pw->n_listeners = s->n_ports;
}

void proxy_worker_listeners(const struct proxy_worker *pw, void (*each)(int fd, const struct addr *at, void *ctx),
                            void *ctx)
{
    for (size_t i = 0; i < pw->n_listeners; i++)
        each(pw->listeners[i]->listener.fd, &pw->settings->ports[pw->listeners[i]->port].at, ctx);
}

/* --- settings on a worker --------------------------------------------------------------------------------------- */

static struct resolver *make_resolver(struct proxy_worker *pw)
{
    const struct settings *s = pw->settings;
    struct resolver_config c = {
        .servers = s->nameservers,
        .n_servers = s->n_nameservers,
        .hosts_file = s->hosts_file,
        .timeout_us = s->dns_timeout,
        .retransmit_us = s->dns_retransmit_interval,
        .positive_ttl_max = s->positive_dns_ttl / US_PER_S,
        .negative_ttl = s->negative_dns_ttl / US_PER_S,
        .append_domain = s->append_domain,
        .search = s->dns_defnames,
        .packet_max = s->dns_packet_max,
        .cache_max = (size_t)s->ipcache_size,
        .named_max = (size_t)s->fqdncache_size,
    };

    return resolver_new(pw->worker, &c);
}

/* A resolver with questions under way outlives its settings until they are answered. */
struct old_resolver {
    struct list_node node;
    struct resolver *resolver;
};

static void retire_resolver(struct proxy_worker *pw)
{
    struct old_resolver *o;

    if (!resolver_is_busy(pw->resolver)) {
        resolver_free(&pw->resolver);
        return;
    }
    o = xcalloc(1, sizeof *o);
    o->resolver = pw->resolver;
    list_append(&pw->old_resolvers, &o->node);
}

static void free_old_resolvers(struct proxy_worker *pw, bool all)
{
    struct list_node *n, *following;

    LIST_EACH (n, following, &pw->old_resolvers) {
        struct old_resolver *o = CONTAINER_OF(n, struct old_resolver, node);

        if (!all && resolver_is_busy(o->resolver))
            continue;
        list_remove(&o->node);
        resolver_free(&o->resolver);
        free(o);
    }
}

static void make_via(struct proxy_worker *pw)
{
    const struct settings *s = pw->settings;
    int n = 0;

    if (s->via)
        n = snprintf(pw->via_line, sizeof pw->via_line, "Via: 1.1 %.200s (loligo%s)\r\n", settings_unique_name(s),
                     s->httpd_suppress_version_string ? "" : "/" PACKAGE_VERSION);
    pw->via_line_len = (size_t)n;
}

/* cpu_affinity_map, of which the last settings may have had another. */
static void pin(struct proxy_worker *pw)
{
    const struct settings *s = pw->settings;
    int core = 0;

    for (size_t i = 0; i < s->n_affinities; i++)
        if (s->affinities[i].process == (int)pw->worker->id + 1)
            core = s->affinities[i].core;
    if (core == 0 && !pw->pinned)
        return;
    pw->pinned = core > 0 && affinity_pin(core - 1);
    if (pw->pinned)
        return;
    affinity_unpin();
    if (core > 0)
        log_line(LOG_IMPORTANT, "WARNING: cpu_affinity_map: there is no core %d for process %u, which runs on any",
                 core, pw->worker->id + 1);
}

static void use_settings(struct proxy_worker *pw, const int *fds)
{
    pin(pw);
    pw->logging = access_log_enabled(pw->settings);
    pw->annotating = pw->settings->n_notes > 0 || pw->settings->n_externals > 0 ||
                     acl_set_has_type(pw->settings->acls, "annotate_transaction") ||
                     acl_set_has_type(pw->settings->acls, "annotate_client");
    pw->tallying = pw->settings->client_ip_max_connections >= 0 || acl_set_has_type(pw->settings->acls, "maxconn");
    pw->naming_clients =
        acl_set_has_type(pw->settings->acls, "srcdomain") || acl_set_has_type(pw->settings->acls, "srcdom_regex");
    pw->counting_users = acl_set_has_type(pw->settings->acls, "max_user_ip");
    make_via(pw);
    x_cache_prepare(&pw->x_cache, pw->settings);
    pw->resolver = make_resolver(pw);
    refresh_counts_use(&pw->refresh, pw->settings);
    set_listeners(pw, fds);
}

/* --- ticks and draining ----------------------------------------------------------------------------------------- */

/* A connection that only lingers has had its answers. */
static bool has_busy_clients(const struct proxy_worker *pw)
{
    for (const struct list_node *n = pw->clients.next; n != &pw->clients; n = n->next)
        if (CONTAINER_OF(n, struct client_conn, node)->state != CLIENT_LINGER)
            return true;
    return false;
}

static void check_drained(struct proxy_worker *pw)
{
    struct proxy *p = pw->proxy;

    if (!pw->draining || pw->drain_reported || has_busy_clients(pw))
        return;
    pw->drain_reported = true;
    if (atomic_fetch_sub(&p->busy_workers, 1) == 1 && p->drained != NULL)
        p->drained(p->drained_ctx);
}

void proxy_worker_client_done(struct proxy_worker *pw)
{
    check_drained(pw);
}

static void tick(struct worker_tick *t)
{
    struct proxy_worker *pw = CONTAINER_OF(t, struct proxy_worker, tick);
    int64_t mono = worker_mono(pw->worker);
    struct list_node *n, *following;

    /* A sweep may free its own node and, through a fetch's end, nobody else's: others are told by mail. */
    LIST_EACH (n, following, &pw->clients)
        client_conn_sweep(CONTAINER_OF(n, struct client_conn, node), mono);
    LIST_EACH (n, following, &pw->fetches)
        fetch_sweep(fetch_of(n), mono);
    free_old_resolvers(pw, false);
    externals_tick(pw);
    peer_probes_tick(pw);
    auth_sweep(pw->auth, &pw->settings->auth, mono);
    check_drained(pw);
}

/* --- messages to a worker --------------------------------------------------------------------------------------- */

struct order {
    struct worker_msg msg;
    struct proxy_worker *pw;
    struct settings *settings;
    int *fds;
};

static struct order *new_order(struct proxy_worker *pw, void (*run)(struct worker_msg *m))
{
    struct order *o = xcalloc(1, sizeof *o);

    o->pw = pw;
    o->msg.run = run;
    return o;
}

/* Where a connection that came through `at` stands in the new settings. */
static int port_index(const struct settings *s, const struct port_setting *old)
{
    for (size_t i = 0; i < s->n_ports; i++)
        if (addr_eq(&s->ports[i].at, &old->at))
            return (int)i;
    return -1;
}

static void run_reconfigure(struct worker_msg *m)
{
    struct order *o = CONTAINER_OF(m, struct order, msg);
    struct proxy_worker *pw = o->pw;
    struct settings *old = pw->settings;
    struct list_node *n, *following;

    retire_resolver(pw);
    pw->settings = o->settings;
    use_settings(pw, o->fds);
    LIST_EACH (n, following, &pw->clients) {
        struct client_conn *c = CONTAINER_OF(n, struct client_conn, node);

        c->port = c->port < 0 ? -1 : port_index(pw->settings, &old->ports[c->port]);
        if (c->state != CLIENT_PROXY_HEADER) { /* whose it is, is not known yet */
            client_limit_count(pw, &c->peer, &c->counted);
            client_conn_record(c);
        }
        if (c->port < 0)
            client_conn_drain(c);
    }
    settings_unref(&old);
    free(o->fds);
    free(o);
}

static void run_drain(struct worker_msg *m)
{
    struct order *o = CONTAINER_OF(m, struct order, msg);
    struct proxy_worker *pw = o->pw;
    struct list_node *n, *following;

    pw->draining = true;
    stop_listeners(pw);
    LIST_EACH (n, following, &pw->clients)
        client_conn_drain(CONTAINER_OF(n, struct client_conn, node));
    check_drained(pw);
    free(o);
}

static void run_end(struct worker_msg *m)
{
    struct order *o = CONTAINER_OF(m, struct order, msg);
    struct proxy_worker *pw = o->pw;

    pw->draining = pw->drain_reported = true;
    stop_listeners(pw);
    while (!list_empty(&pw->clients))
        client_conn_kill(CONTAINER_OF(pw->clients.next, struct client_conn, node));
    while (!list_empty(&pw->fetches))
        fetch_kill(fetch_of(pw->fetches.next));
    peer_probes_free(pw);
    pool_free(&pw->pool);
    old_servers_free(&pw->old_servers);
    free_old_resolvers(pw, true);
    externals_free(pw);
    resolver_free(&pw->resolver);
    refresh_counts_use(&pw->refresh, NULL);
    list_remove(&pw->tick.node);
    worker_stop(pw->worker);
    free(o);
}

static void start_worker(struct worker *w)
{
    struct proxy_worker *pw = w->user;
    struct proxy *p = pw->proxy;

    pw->pool = pool_new(w, POOL_MAX);
    use_settings(pw, p->fds);
    pw->tick.run = tick;
    worker_tick_add(w, &pw->tick);
}

/* --- the whole -------------------------------------------------------------------------------------------------- */

static struct store_limits limits_of(const struct settings *s)
{
    /* Without a disk cache the effective limit is the larger of both names (directives.md). */
    uint64_t max = s->maximum_object_size_in_memory > s->maximum_object_size ? s->maximum_object_size_in_memory
                                                                             : s->maximum_object_size;

    return (struct store_limits){
        .cache_mem = (size_t)s->cache_mem,
        .max_object_size = max,
        .min_object_size = s->minimum_object_size,
        .policy = s->eviction,
        .variants_max = (unsigned)s->vary_variants_max,
    };
}

struct proxy *proxy_new(const struct proxy_config *c)
{
    struct proxy *p = xcalloc(1, sizeof *p);
    struct store_limits limits = limits_of(c->settings);
    size_t n_fds = c->settings->n_ports * c->workers;

    p->n_workers = c->workers;
    p->store = store_new(&limits);
    p->tally = client_tally_new();
    p->auth = auth_shared_new();
    p->log = c->log;
    p->started = clock_wall_us();
    p->fds = xcalloc(n_fds ? n_fds : 1, sizeof *p->fds);
    memcpy(p->fds, c->fds, n_fds * sizeof *p->fds);
    p->workers = xcalloc(c->workers, sizeof *p->workers);
    p->threads = xcalloc(c->workers, sizeof(struct worker *));
    for (unsigned i = 0; i < c->workers; i++) {
        struct proxy_worker *pw = &p->workers[i];

        pw->proxy = p;
        pw->store = p->store;
        pw->tally = p->tally;
        pw->records = client_records_new(CLIENT_RECORDS_REST / c->workers);
        pw->log = c->log;
        pw->service = c->service;
        pw->settings = settings_ref(c->settings);
        list_init(&pw->clients);
        list_init(&pw->fetches);
        list_init(&pw->old_resolvers);
        list_init(&pw->externals);
        list_init(&pw->probes);
        pw->n_workers = c->workers;
        p->threads[i] = pw->worker = worker_new(i);
        pw->worker->user = pw;
        pw->auth_shared = p->auth;
        pw->auth = auth_new(pw->worker, p->auth);
    }
    p->helpers = helpers_new(p->workers[0].worker);
    settings_start_helpers(c->settings, p->helpers);
    return p;
}

void proxy_start(struct proxy *p)
{
    for (unsigned i = 0; i < p->n_workers; i++)
        worker_start(p->workers[i].worker, start_worker);
}

void proxy_reconfigure(struct proxy *p, struct settings *s, const int *fds)
{
    struct store_limits limits = limits_of(s);
    size_t n = s->n_ports * p->n_workers;

    if (!store_set_limits(p->store, &limits))
        log_line(LOG_IMPORTANT, "WARNING: cache_mem can't change while running; restart for it");
    settings_start_helpers(s, p->helpers);
    for (unsigned i = 0; i < p->n_workers; i++) {
        struct order *o = new_order(&p->workers[i], run_reconfigure);

        o->settings = settings_ref(s);
        o->fds = xcalloc(n ? n : 1, sizeof *o->fds);
        memcpy(o->fds, fds, n * sizeof *fds);
        worker_post(p->workers[i].worker, &o->msg);
    }
}

void proxy_drain(struct proxy *p, void (*done)(void *ctx), void *ctx)
{
    p->drained = done;
    p->drained_ctx = ctx;
    atomic_store(&p->busy_workers, p->n_workers);
    for (unsigned i = 0; i < p->n_workers; i++)
        worker_post(p->workers[i].worker, &new_order(&p->workers[i], run_drain)->msg);
}

void proxy_free(struct proxy **holder)
{
    struct proxy *p = *holder;

    *holder = NULL;
    if (p == NULL)
        return;
    for (unsigned i = 0; i < p->n_workers; i++)
        worker_post(p->workers[i].worker, &new_order(&p->workers[i], run_end)->msg);
    for (unsigned i = 0; i < p->n_workers; i++)
        worker_join(p->workers[i].worker);
    auth_shared_end(p->auth);
    helpers_free(&p->helpers);
    for (unsigned i = 0; i < p->n_workers; i++) {
        worker_free(&p->workers[i].worker);
        auth_free(&p->workers[i].auth);
        client_records_free(&p->workers[i].records);
        settings_unref(&p->workers[i].settings);
    }
    store_free(&p->store);
    client_tally_free(&p->tally);
    auth_shared_free(&p->auth);
    free(p->workers);
    free(p->threads);
    free(p->fds);
    free(p);
}

/* --- for pages -------------------------------------------------------------------------------------------------- */

unsigned proxy_workers(const struct proxy *p)
{
    return p->n_workers;
}

struct worker *const *proxy_threads(const struct proxy *p)
{
    return p->threads;
}

const struct counters *proxy_counters(const struct proxy *p, unsigned worker)
{
    return p->workers[worker].worker->counters;
}

const struct reason_counts *proxy_reasons(const struct proxy *p, unsigned worker)
{
    return &p->workers[worker].reasons;
}

struct store *proxy_store(const struct proxy *p)
{
    return p->store;
}

uint64_t proxy_clients(const struct proxy *p)
{
    uint64_t n = 0;

    for (unsigned i = 0; i < p->n_workers; i++)
        n += atomic_load_explicit(&p->workers[i].n_clients, memory_order_relaxed);
    return n;
}

int64_t proxy_start_time(const struct proxy *p)
{
    return p->started;
}
