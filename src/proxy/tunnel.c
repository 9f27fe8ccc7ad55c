#include "proxy/tunnel.h"

#include <errno.h>
#include <stdlib.h>
#include "base/clock.h"
#include "base/mem.h"
#include "hdrs/parse.h"
#include "net/connect.h"
#include "proxy/account.h"
#include "proxy/delay.h"
#include "proxy/flow.h"
#include "proxy/forward_head.h"
#include "proxy/header_mangle.h"
#include "proxy/outgoing.h"
#include "proxy/peer_probe.h"
#include "proxy/peer_select.h"
#include "proxy/reply.h"
#include "proxy/request_access.h"
#include "proxy/request_loop.h"

/* Without bytes for so long, a tunnel gives its pipes back. */
#define REST_US US_PER_S

enum tunnel_state { TUNNEL_CONNECTING, TUNNEL_PEER_REPLY, TUNNEL_OPEN };

struct tunnel {
    struct client_conn *client;
    struct proxy_worker *pw;
    struct settings *settings;
    struct request *request;
    enum tunnel_state state;
    struct log_entry log;
    struct route routes[ROUTES_MAX];
    size_t n_routes, route;
    size_t tries; /* addresses that were tried, or may have been */
    struct resolve_query query;
    struct connector *connector;
    struct stream server;
    struct server_health *place; /* of the connection, among the parent's; NULL: none */
    bool readable;
    struct flow up, down;                       /* client to server, server to client */
    struct worker_timer again;                  /* goes on passing bytes */
    struct delay_use delays[1 + CLIENT_DELAYS]; /* how fast those of the server go */
    struct parse_progress progress;
    struct strbuf challenges; /* lines of the parent's that refuses, for the client */
    int parent_status;        /* of the page when the parent refuses; 0: the page's own */
    const char *error_detail; /* static text; NULL: none */
    int64_t began, stamp;
};

static void open_route(struct tunnel *t);
static void run(struct tunnel *t);

static void tunnel_free(struct tunnel *t)
{
    resolve_cancel(&t->query);
    connect_cancel(&t->connector);
    stream_close(&t->server, false);
    server_health_give(&t->place);
    worker_timer_clear(&t->again);
    delays_end(t->delays, 1 + CLIENT_DELAYS);
    sb_free(&t->challenges);
    flow_free(&t->up);
    flow_free(&t->down);
    request_unref(&t->request);
    settings_unref(&t->settings);
    free(t);
}

static void account_tunnel(struct tunnel *t)
{
    struct counters *c = counters_of(t->pw);

    t->log.bytes_out += t->down.bytes;
    t->log.bytes_in += t->up.bytes;
    count(c, SERVER_OTHER_KBYTES_IN, t->down.bytes);
    count(c, SERVER_OTHER_KBYTES_OUT, t->up.bytes);
    account(t->pw, &t->log, t->request);
}

/* The tunnel is over: so is the client's connection. */
static void tunnel_end(struct tunnel *t, bool reset)
{
    struct client_conn *c = t->client;

    account_tunnel(t);
    c->tunnel = NULL;
    tunnel_free(t);
    client_conn_abort(c, reset);
}

void tunnel_client_gone(struct tunnel *t)
{
    t->log.aborted = t->state != TUNNEL_OPEN;
    account_tunnel(t);
    tunnel_free(t);
}

static void tunnel_fail(struct tunnel *t, enum error_id id, int sys_errno, const struct access_verdict *denied)
{
    struct client_conn *c = t->client;
    struct error_answer a = {
        .id = id,
        .status = t->parent_status,
        .detail = t->error_detail,
        .sys_errno = sys_errno,
        .tag = denied ? TAG_TCP_DENIED : TAG_NONE,
        .r = t->request,
        .hier = t->log.hier,
        .server = t->log.server,
        .access_line = denied ? denied->where : NULL,
        .deny = denied ? settings_deny_info(t->settings, denied->last) : NULL,
        .fields = sb_view(&t->challenges),
        .close = true,
    };

    count(counters_of(t->pw), SERVER_OTHER_ERRORS, 1);
    client_conn_error(c, &a);
    (void)client_conn_flush(c);
    c->tunnel = NULL;
    tunnel_free(t);
    client_conn_next(c);
}

/* --- bytes ------------------------------------------------------------------------------------------------------ */

static void run_again(struct worker_timer *timer)
{
    run(CONTAINER_OF(timer, struct tunnel, again));
}

/* Of n bytes that the server may have; 0: later. The head of a parent's answer isn't delayed. */
static size_t may_take(struct tunnel *t, size_t n)
{
    int64_t wait;
    size_t may = delays_allow(t->delays, 1 + CLIENT_DELAYS, n, worker_mono(t->pw->worker), &wait);

    if (may == 0)
        worker_timer_set(t->pw->worker, &t->again, wait, run_again);
    return may;
}

static ssize_t server_recv(void *from, char *buf, size_t n)
{
    struct tunnel *t = from;
    ssize_t got;

    if (!t->readable)
        return STREAM_AGAIN;
    if ((n = may_take(t, n)) == 0)
        return STREAM_AGAIN;
    got = stream_recv(&t->server, buf, n);
    if (got <= 0)
        t->readable = false;
    else
        delays_took(t->delays, 1 + CLIENT_DELAYS, (size_t)got, worker_mono(t->pw->worker));
    return got;
}

static ssize_t server_splice(void *from, int pipe, size_t n)
{
    struct tunnel *t = from;
    ssize_t got;

    if (!t->readable)
        return STREAM_AGAIN;
    if ((n = may_take(t, n)) == 0)
        return STREAM_AGAIN;
    got = stream_splice_from(&t->server, pipe, n);
    if (got <= 0)
        t->readable = false;
    else
        delays_took(t->delays, 1 + CLIENT_DELAYS, (size_t)got, worker_mono(t->pw->worker));
    return got;
}

static bool server_may_splice(void *from)
{
    (void)from;
    return true;
}

static ssize_t client_recv(void *from, char *buf, size_t n)
{
    return client_conn_recv(((struct tunnel *)from)->client, buf, n);
}

static ssize_t client_splice(void *from, int pipe, size_t n)
{
    return client_conn_splice(((struct tunnel *)from)->client, pipe, n);
}

static bool client_may_splice(void *from)
{
    return client_conn_may_splice(((struct tunnel *)from)->client);
}

/* Both directions, as far as they go in this turn. */
static void run(struct tunnel *t)
{
    const struct flow_source client = { t, client_recv, client_splice, client_may_splice };
    const struct flow_source server = { t, server_recv, server_splice, server_may_splice };
    char *scratch = t->pw->worker->scratch;
    enum flow_result down, up;
    bool moved = false;

    down = flow_run(&t->down, &server, &t->client->stream, scratch, &moved);
    up = down == FLOW_BROKEN ? FLOW_BROKEN : flow_run(&t->up, &client, &t->server, scratch, &moved);
    if (moved)
        t->stamp = worker_mono(t->pw->worker);
    if (up == FLOW_BROKEN)
        tunnel_end(t, true);
    else if (t->down.ended && t->up.ended)
        tunnel_end(t, false);
    else if (down == FLOW_MORE || up == FLOW_MORE)
        worker_timer_set(t->pw->worker, &t->again, 0, run_again);
}

/* --- opening ---------------------------------------------------------------------------------------------------- */

static void limit(struct tunnel *t)
{
    delay_from_server(&t->delays[0], t->pw, t->settings, t->request);
    delay_to_client(&t->delays[1], t->pw, t->settings, t->request);
}

static void established(struct tunnel *t)
{
    t->state = TUNNEL_OPEN;
    limit(t);
    t->log.tag = TAG_TCP_TUNNEL;
    t->log.status = 200;
    count(counters_of(t->pw), SERVER_OTHER_REQUESTS, 1);
    /* In front of anything the server may have said already. */
    {
        struct strbuf first = { 0 };

        sb_span(&first, reply_connect_established);
        sb_span(&first, sb_view(&t->down.waits));
        sb_free(&t->down.waits);
        t->down.waits = first;
    }
    run(t);
}

/* Our CONNECT to a parent, as far as the socket takes it. False: t is gone. */
static bool send_to_peer(struct tunnel *t)
{
    bool blocked;

    if (flow_flush(&t->up, &t->server, &blocked) != FLOW_BROKEN)
        return true;
    tunnel_fail(t, ERR_WRITE_ERROR, errno, NULL);
    return false;
}

/* Its refusal is ours; but that it wants a password is between us and it, unless the client's are passed on. */
static void parent_refuses(struct tunnel *t, const struct head *h)
{
    bool passes = h->status == 407 && t->routes[t->route].peer->passes_login;

    if (passes)
        reply_challenges(&t->challenges, h);
    t->parent_status = h->status >= 400 && (h->status != 407 || passes) ? h->status : 502;
    t->error_detail = "the parent proxy refuses to make the tunnel";
    tunnel_fail(t, passes ? ERR_CACHE_ACCESS_DENIED : ERR_CANNOT_FORWARD, 0, NULL);
}

/* A parent's answer to our CONNECT. */
static void read_peer_reply(struct tunnel *t)
{
    struct parse_limits limits = { .max_bytes = 65536, .max_fields = HEAD_FIELDS_MAX };
    struct head *h = &t->pw->response_head;
    struct parse_error e;
    ssize_t n = server_recv(t, t->pw->worker->scratch, 16384);

    if (n == STREAM_AGAIN)
        return;
    if (n <= 0) {
        tunnel_fail(t, ERR_ZERO_SIZE_OBJECT, n < 0 ? errno : 0, NULL);
        return;
    }
    sb_add(&t->down.waits, t->pw->worker->scratch, (size_t)n);
    switch (parse_response(h, t->down.waits.p, t->down.waits.len, &limits, &t->progress, &e)) {
    case PARSE_MORE: read_peer_reply(t); return;
    case PARSE_BAD: tunnel_fail(t, ERR_INVALID_RESP, 0, NULL); return;
    case PARSE_DONE: break;
    }
    if (h->status < 200 || h->status > 299) {
        parent_refuses(t, h);
        return;
    }
    {
        struct strbuf rest = { 0 };

        sb_add(&rest, t->down.waits.p + h->len, t->down.waits.len - h->len);
        sb_free(&t->down.waits);
        t->down.waits = rest;
    }
    established(t);
}

static void server_ready(struct stream *s, unsigned what)
{
    struct tunnel *t = CONTAINER_OF(s, struct tunnel, server);

    if (what & (STREAM_READABLE | STREAM_ENDED))
        t->readable = true;
    if (t->state == TUNNEL_OPEN)
        run(t);
    else if (t->state == TUNNEL_PEER_REPLY && send_to_peer(t) && t->readable)
        read_peer_reply(t);
}

/* Of forward_timeout. */
static int64_t time_left(const struct tunnel *t)
{
    return t->began + t->settings->forward_timeout - worker_mono(t->pw->worker);
}

static void next_route(struct tunnel *t, enum error_id id, int sys_errno)
{
    server_health_give(&t->place);
    if (t->route + 1 < t->n_routes && t->tries < (size_t)t->settings->forward_max_tries &&
        time_left(t) > OUTGOING_LEAST_US) {
        t->route++;
        open_route(t);
    } else {
        tunnel_fail(t, id, sys_errno, NULL);
    }
}

static void connected(void *ctx, int fd, int error, const struct endpoints *ends)
{
    struct tunnel *t = ctx;
    const struct peer_setting *parent = t->routes[t->route].peer;

    t->connector = NULL;
    t->log.hier = t->routes[t->route].hier;
    t->log.server = ends->peer;
    t->log.server_local = ends->local;
    if (parent != NULL)
        (fd < 0 ? peer_failed : peer_answered)(parent);
    if (fd < 0) {
        next_route(t, ERR_CONNECT_FAIL, error);
        return;
    }
    if (parent != NULL)
        server_health_count_request(parent->health);
    t->stamp = worker_mono(t->pw->worker);
    stream_open(&t->server, t->pw->worker, fd, server_ready);
    if (parent != NULL && !parent->originserver) {
        struct forward_options o = { .absolute_form = true,
                                     .login = parent->login,
                                     .passes_login = parent->passes_login };

        forward_head(&t->up.waits, t->request, t->settings, &o);
        if (!header_rules_none(&t->settings->request_headers))
            header_mangle(&t->settings->request_headers, t->request, &t->log, false, 0, &t->up.waits, 0);
        t->state = TUNNEL_PEER_REPLY;
        (void)send_to_peer(t);
        return;
    }
    established(t);
}

static void tunnel_denied(struct tunnel *t, const struct access_verdict *v, const char *why)
{
    t->error_detail = why;
    tunnel_fail(t, ERR_ACCESS_DENIED, 0, v);
}

static bool loops(const struct tunnel *t, const struct addr *addrs, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (address_loops(t->settings, &addrs[i]))
            return true;
    return false;
}

static void connect_to(struct tunnel *t, const struct addr *addrs, size_t n)
{
    const struct peer_setting *parent = t->routes[t->route].peer;
    const struct departure departure = { t->settings, t->request, &t->routes[t->route] };
    struct addr from[CONNECT_ADDRS_MAX];
    struct connect_config c = outgoing_connect(t->settings, parent, time_left(t));
    size_t tries = (size_t)t->settings->forward_max_tries - t->tries;

    if (n > CONNECT_ADDRS_MAX)
        n = CONNECT_ADDRS_MAX;
    if (n > tries)
        n = tries;
    t->tries += n;
    c.local = outgoing_addresses(&departure, addrs, n, from);
    t->connector = connect_start(t->pw->worker, addrs, n, &c, connected, t);
}

static void resolved(struct resolve_query *q, enum resolve_status status, const struct addr *addrs, size_t n)
{
    struct tunnel *t = CONTAINER_OF(q, struct tunnel, query);
    struct access_verdict v = { .answer = ACCESS_ALLOWED };
    const char *why = NULL;

    t->log.dns_us = worker_mono(t->pw->worker) - t->stamp;
    if (t->routes[t->route].peer == NULL && n > 0) /* J22: what is connected to was asked about */
        v = request_access_going(t->settings, t->request, addrs, n, &why);
    if (status != RESOLVE_OK || n == 0) {
        t->tries++;
        next_route(t, ERR_DNS_FAIL, status == RESOLVE_TIMEOUT ? ETIMEDOUT : 0);
    } else if (v.answer != ACCESS_ALLOWED) {
        tunnel_denied(t, &v, why);
    } else if (t->routes[t->route].peer == NULL && loops(t, addrs, n)) {
        tunnel_denied(t, &(struct access_verdict){ 0 }, "forwarding loop: the address is this proxy's own");
    } else {
        connect_to(t, addrs, n);
    }
}

static void open_route(struct tunnel *t)
{
    const struct peer_setting *p = t->routes[t->route].peer;

    if (p != NULL && !server_health_take(p->health, p->max_conn)) {
        next_route(t, ERR_CANNOT_FORWARD, 0);
        return;
    }
    t->place = p != NULL ? p->health : NULL;
    t->stamp = worker_mono(t->pw->worker);
    t->query = (struct resolve_query){ .done = resolved };
    resolve(t->pw->resolver, &t->query, p ? span_str(p->host) : t->request->uri.host,
            p ? p->port : t->request->uri.port);
}

void tunnel_start(struct client_conn *c, struct request *r, struct settings *settings)
{
    struct tunnel *t = xcalloc(1, sizeof *t);

    t->client = c;
    t->pw = c->pw;
    t->settings = settings;
    t->request = r;
    t->server.fd = -1;
    t->began = t->stamp = worker_mono(c->pw->worker);
    log_entry_from_request(&t->log, r);
    t->log.reason = "tunnel";
    c->tunnel = t;
    c->state = CLIENT_TUNNEL;
    t->n_routes = peer_routes(t->pw, t->settings, r, t->routes);
    if (t->n_routes == 0)
        tunnel_fail(t, ERR_CANNOT_FORWARD, 0, NULL);
    else
        open_route(t);
}

void tunnel_adopt(struct client_conn *c, struct request *r, struct settings *settings, const struct log_entry *log,
                  int fd, struct server_health *place, struct strbuf *first)
{
    struct tunnel *t = xcalloc(1, sizeof *t);

    t->client = c;
    t->pw = c->pw;
    t->settings = settings;
    t->request = r;
    t->began = t->stamp = worker_mono(c->pw->worker);
    t->place = place;
    t->log = *log;
    /* Its spans were those of a copy of the request that goes; ours is another reference to the same. */
    t->log.tag = TAG_TCP_TUNNEL;
    t->log.reason = "upgraded";
    t->state = TUNNEL_OPEN;
    limit(t);
    t->down.waits = *first;
    t->readable = true;
    c->tunnel = t;
    c->state = CLIENT_TUNNEL;
    count(counters_of(t->pw), SERVER_OTHER_REQUESTS, 1);
    stream_open(&t->server, t->pw->worker, fd, server_ready);
    run(t);
}

void tunnel_client_ready(struct tunnel *t, unsigned what)
{
    (void)what;
    if (t->state == TUNNEL_OPEN)
        run(t);
}

void tunnel_sweep(struct tunnel *t, int64_t mono)
{
    if (t->state == TUNNEL_CONNECTING)
        return; /* the resolver and the connector keep their own time */
    if (mono - t->stamp > t->settings->read_timeout || mono - t->client->opened > t->settings->client_lifetime) {
        t->log.timed_out = true;
        tunnel_end(t, false);
        return;
    }
    if (mono - t->stamp > REST_US) {
        flow_rest(&t->up);
        flow_rest(&t->down);
    }
}

const struct request *tunnel_request(const struct tunnel *t)
{
    return t->request;
}

const struct log_entry *tunnel_log(const struct tunnel *t)
{
    return &t->log;
}

uint64_t tunnel_bytes_down(const struct tunnel *t)
{
    return t->log.bytes_out + t->down.bytes;
}

int tunnel_server(const struct tunnel *t, struct addr *server)
{
    *server = t->log.server;
    return stream_is_open(&t->server) ? t->server.fd : -1;
}

size_t tunnel_memory(const struct tunnel *t)
{
    return sizeof *t;
}
