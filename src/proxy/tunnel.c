#include "proxy/tunnel.h"

#include <errno.h>
#include <stdlib.h>
#include "base/mem.h"
#include "hdrs/parse.h"
#include "net/connect.h"
#include "proxy/account.h"
#include "proxy/forward_head.h"
#include "proxy/peer_select.h"
#include "proxy/reply.h"
#include "proxy/request_access.h"
#include "proxy/request_loop.h"

enum tunnel_state { TUNNEL_CONNECTING, TUNNEL_PEER_REPLY, TUNNEL_OPEN };

/* One direction. */
struct flow {
    struct strbuf waits; /* received, but not taken by the other side yet; at most one scratch buffer */
    size_t at;
    bool ended; /* its source has ended, and that was passed on */
    uint64_t bytes;
};

struct tunnel {
    struct client_conn *client;
    struct proxy_worker *pw;
    struct settings *settings;
    struct request *request;
    enum tunnel_state state;
    struct log_entry log;
    struct route routes[ROUTES_MAX];
    size_t n_routes, route;
    struct resolve_query query;
    struct connector *connector;
    struct stream server;
    bool readable;
    struct flow up, down; /* client to server, server to client */
    struct parse_progress progress;
    int parent_status;        /* of the page when the parent refuses; 0: the page's own */
    const char *error_detail; /* static text; NULL: none */
    int64_t began, stamp;
};

static void open_route(struct tunnel *t);

static void tunnel_free(struct tunnel *t)
{
    resolve_cancel(&t->query);
    connect_cancel(&t->connector);
    stream_close(&t->server, false);
    sb_free(&t->up.waits);
    sb_free(&t->down.waits);
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

enum flow_result { FLOW_GOES_ON, FLOW_BROKEN };

/* What waits goes first. False: blocked. */
static enum flow_result flush_flow(struct flow *f, struct stream *to, bool *blocked)
{
    *blocked = false;
    while (f->at < f->waits.len) {
        struct iovec v = stream_piece(sb_from(&f->waits, f->at));
        ssize_t n = stream_send(to, &v, 1, false);

        if (n == STREAM_AGAIN) {
            *blocked = true;
            return FLOW_GOES_ON;
        }
        if (n == STREAM_ERROR)
            return FLOW_BROKEN;
        f->at += (size_t)n;
        f->bytes += (uint64_t)n;
    }
    if (f->waits.p != NULL)
        sb_free(&f->waits);
    f->at = 0;
    return FLOW_GOES_ON;
}

static ssize_t server_recv(struct tunnel *t, char *buf, size_t n)
{
    ssize_t got;

    if (!t->readable)
        return STREAM_AGAIN;
    got = stream_recv(&t->server, buf, n);
    if (got <= 0)
        t->readable = false;
    return got;
}

/* From one side to the other until one of them blocks or ends. */
static enum flow_result run_flow(struct tunnel *t, struct flow *f, bool upwards)
{
    struct stream *to = upwards ? &t->server : &t->client->stream;
    char *scratch = t->pw->worker->scratch;
    bool blocked;

    while (!f->ended) {
        struct iovec v = { scratch, 0 };
        ssize_t n, sent;

        if (flush_flow(f, to, &blocked) == FLOW_BROKEN)
            return FLOW_BROKEN;
        if (blocked)
            return FLOW_GOES_ON;
        n = upwards ? client_conn_recv(t->client, scratch, WORKER_SCRATCH) : server_recv(t, scratch, WORKER_SCRATCH);
        if (n == STREAM_AGAIN)
            return FLOW_GOES_ON;
        if (n == STREAM_ERROR)
            return FLOW_BROKEN;
        if (n == 0) {
            f->ended = true;
            stream_shutdown(to);
            return FLOW_GOES_ON;
        }
        t->stamp = worker_mono(t->pw->worker);
        v.iov_len = (size_t)n;
        sent = stream_send(to, &v, 1, false);
        if (sent == STREAM_ERROR)
            return FLOW_BROKEN;
        if (sent > 0)
            f->bytes += (uint64_t)sent;
        else
            sent = 0;
        if (sent < n)
            sb_add(&f->waits, scratch + sent, (size_t)(n - sent));
    }
    return FLOW_GOES_ON;
}

static void run(struct tunnel *t)
{
    if (run_flow(t, &t->down, false) == FLOW_BROKEN || run_flow(t, &t->up, true) == FLOW_BROKEN)
        tunnel_end(t, true);
    else if (t->down.ended && t->up.ended)
        tunnel_end(t, false);
}

/* --- opening ---------------------------------------------------------------------------------------------------- */

static void established(struct tunnel *t)
{
    t->state = TUNNEL_OPEN;
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

    if (flush_flow(&t->up, &t->server, &blocked) == FLOW_GOES_ON)
        return true;
    tunnel_fail(t, ERR_WRITE_ERROR, errno, NULL);
    return false;
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
        /* Its refusal is ours; but that it wants a password is between us and it. */
        t->parent_status = h->status >= 400 && h->status != 407 ? h->status : 502;
        t->error_detail = "the parent proxy refuses to make the tunnel";
        tunnel_fail(t, ERR_CANNOT_FORWARD, 0, NULL);
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

static void next_route(struct tunnel *t, enum error_id id, int sys_errno)
{
    if (t->route + 1 < t->n_routes && t->route + 1 < (size_t)t->settings->forward_max_tries) {
        t->route++;
        open_route(t);
    } else {
        tunnel_fail(t, id, sys_errno, NULL);
    }
}

static void connected(void *ctx, int fd, int error, const struct addr *peer)
{
    struct tunnel *t = ctx;
    const struct peer_setting *parent = t->routes[t->route].peer;

    t->connector = NULL;
    t->log.hier = t->routes[t->route].hier;
    t->log.server = *peer;
    if (fd < 0) {
        next_route(t, ERR_CONNECT_FAIL, error);
        return;
    }
    t->stamp = worker_mono(t->pw->worker);
    stream_open(&t->server, t->pw->worker, fd, server_ready);
    if (parent != NULL && !parent->originserver) {
        struct forward_options o = { .absolute_form = true, .login = parent->login };

        forward_head(&t->up.waits, t->request, t->settings, &o);
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

static void resolved(struct resolve_query *q, enum resolve_status status, const struct addr *addrs, size_t n)
{
    struct tunnel *t = CONTAINER_OF(q, struct tunnel, query);
    struct connect_config c = {
        .timeout_us = t->settings->connect_timeout,
        .attempt_us = t->settings->happy_eyeballs_connect_timeout,
    };
    struct access_verdict v = { .answer = ACCESS_ALLOWED };

    t->log.dns_us = worker_mono(t->pw->worker) - t->stamp;
    if (t->routes[t->route].peer == NULL && n > 0) /* J22: what is connected to was asked about */
        v = request_access_dst(t->settings->http_access, t->request, addrs, n);
    if (status != RESOLVE_OK || n == 0)
        next_route(t, ERR_DNS_FAIL, status == RESOLVE_TIMEOUT ? ETIMEDOUT : 0);
    else if (v.answer != ACCESS_ALLOWED)
        tunnel_denied(t, &v, "its address is denied by http_access");
    else if (t->routes[t->route].peer == NULL && loops(t, addrs, n))
        tunnel_denied(t, &(struct access_verdict){ 0 }, "forwarding loop: the address is this proxy's own");
    else
        t->connector =
            connect_start(t->pw->worker, addrs, n < CONNECT_ADDRS_MAX ? n : CONNECT_ADDRS_MAX, &c, connected, t);
}

static void open_route(struct tunnel *t)
{
    const struct peer_setting *p = t->routes[t->route].peer;

    t->stamp = worker_mono(t->pw->worker);
    t->query = (struct resolve_query){ .done = resolved };
    resolve(t->pw->resolver, &t->query, p ? span_str(p->host) : t->request->uri.host,
            p ? p->port : t->request->uri.port);
}

void tunnel_start(struct client_conn *c, struct request *r, struct settings *settings, const char *access_line)
{
    struct tunnel *t = xcalloc(1, sizeof *t);

    t->client = c;
    t->pw = c->pw;
    t->settings = settings;
    t->request = r;
    t->server.fd = -1;
    t->began = t->stamp = worker_mono(c->pw->worker);
    log_entry_from_request(&t->log, r);
    t->log.access_line = access_line;
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
                  int fd, struct strbuf *first)
{
    struct tunnel *t = xcalloc(1, sizeof *t);

    t->client = c;
    t->pw = c->pw;
    t->settings = settings;
    t->request = r;
    t->began = t->stamp = worker_mono(c->pw->worker);
    t->log = *log;
    /* Its spans were those of a copy of the request that goes; ours is another reference to the same. */
    t->log.tag = TAG_TCP_TUNNEL;
    t->log.reason = "upgraded";
    t->state = TUNNEL_OPEN;
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
    }
}
