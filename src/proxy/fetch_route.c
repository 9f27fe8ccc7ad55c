#include "proxy/fetch_private.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/mem.h"
#include "proxy/forward_head.h"
#include "proxy/header_mangle.h"
#include "proxy/old_servers.h"
#include "proxy/outgoing.h"
#include "proxy/peer_probe.h"
#include "proxy/request_access.h"
#include "proxy/request_loop.h"

static bool next_route(struct fetch *f, enum error_id error, int sys_errno);

const struct peer_setting *fetch_peer(const struct fetch *f)
{
    return f->routes[f->route].peer;
}

static bool is_repeatable(const struct fetch *f)
{
    return f->body.kind == FRAMING_NONE && method_is_idempotent(f->request->method);
}

bool fetch_fail_or_retry(struct fetch *f, enum error_id error, int sys_errno)
{
    /* An idle connection that the server closed just as we used it: nothing was answered, ask again on a new one. */
    if (f->reused && !f->retried && f->state == FETCH_HEAD && f->received == 0 && is_repeatable(f)) {
        f->retried = true;
        fetch_drop_connection(f);
        return fetch_open_route(f);
    }
    if (f->state == FETCH_BODY)
        return fetch_fail(f, error, sys_errno);
    if (is_repeatable(f) && f->received == 0)
        return next_route(f, error, sys_errno);
    return fetch_fail(f, error, sys_errno);
}

static void server_ready(struct stream *s, unsigned what)
{
    struct fetch *f = CONTAINER_OF(s, struct fetch, stream);

    if (what & (STREAM_READABLE | STREAM_ENDED))
        f->readable = true;
    if (what & STREAM_ENDED)
        f->ended = true;
    if ((what & STREAM_WRITABLE) && !fetch_pump_out(f))
        return;
    if (f->readable)
        (void)fetch_pump_in(f);
}

/* No 100 and no answer: an origin of HTTP/1.0, say, that would wait for the body as long as the client for the 100. */
static void continue_is_late(struct worker_timer *t)
{
    struct fetch *f = CONTAINER_OF(t, struct fetch, expect);

    if (f->state == FETCH_HEAD && fetch_wants_body(f) && f->body.received == 0 && f->owner != NULL)
        transaction_continue(f->owner);
}

static bool send_request(struct fetch *f, int fd)
{
    const struct peer_setting *peer = fetch_peer(f);
    struct forward_options o = {
        .absolute_form = peer != NULL && !peer->originserver,
        .validate = f->validating ? f->stale : NULL,
        .close = !f->settings->server_persistent_connections,
        .login = peer ? peer->login : NULL,
        .passes_login = peer != NULL && peer->passes_login,
        .originserver = peer != NULL && peer->originserver,
        .upgrade = f->upgrade,
        .whole = f->whole,
        .unconditional = f->unconditional,
        .variants = f->variants,
        .n_variants = f->n_variants,
        .begins = f->begins,
        .last = f->last,
    };
    struct log_entry *e = fetch_log(f);

    e->hier = f->routes[f->route].hier;
    e->server = f->ends.peer;
    e->server_local = f->ends.local;
    e->server_name = peer ? span_str(peer->name) : f->request->uri.host;
    f->state = FETCH_HEAD;
    f->sent = f->stamp = worker_mono(f->pw->worker);
    f->request_time = worker_wall(f->pw->worker) / US_PER_S;
    forward_head(&f->out, f->request, f->settings, &o);
    if (!header_rules_none(&f->settings->request_headers))
        header_mangle(&f->settings->request_headers, f->request, e, false,
                      (o.originserver && o.login != NULL ? OWN_LOGIN : 0) |
                          (f->validating || f->n_variants > 0 || f->begins != NULL ? OWN_CONDITIONS : 0),
                      &f->out, 0);
    count(counters_of(f->pw), SERVER_HTTP_REQUESTS, 1);
    if (fetch_peer(f) != NULL)
        server_health_count_request(fetch_peer(f)->health);
    stream_open(&f->stream, f->pw->worker, fd, server_ready);
    if (fetch_wants_body(f) && request_expects_continue(f->request))
        worker_timer_set(f->pw->worker, &f->expect, f->settings->expect_continue_timeout, continue_is_late);
    return fetch_pump_out(f);
}

static void connected(void *ctx, int fd, int error, const struct endpoints *ends)
{
    struct fetch *f = ctx;

    f->connector = NULL;
    f->ends = *ends;
    if (fetch_peer(f) != NULL)
        (fd < 0 ? peer_failed : peer_answered)(fetch_peer(f));
    if (fd < 0) {
        fetch_log(f)->hier = f->routes[f->route].hier;
        fetch_log(f)->server = ends->peer;
        (void)next_route(f, ERR_CONNECT_FAIL, error);
        return;
    }
    f->reused = false;
    (void)send_request(f, fd);
}

static struct departure departure_of(const struct fetch *f)
{
    return (struct departure){ f->settings, f->request, &f->routes[f->route] };
}

static void connect_to(struct fetch *f, const struct addr *addrs, size_t n)
{
    const struct peer_setting *peer = fetch_peer(f);
    const struct departure departure = departure_of(f);
    struct addr from[CONNECT_ADDRS_MAX];
    struct connect_config c = {
        .timeout_us = peer == NULL                ? f->settings->connect_timeout
                      : peer->connect_timeout > 0 ? peer->connect_timeout
                                                  : f->settings->peer_connect_timeout,
        .attempt_us = f->settings->happy_eyeballs_connect_timeout,
    };

    if (n > CONNECT_ADDRS_MAX)
        n = CONNECT_ADDRS_MAX;
    c.local = outgoing_addresses(&departure, addrs, n, from);
    f->state = FETCH_CONNECT;
    f->connector = connect_start(f->pw->worker, addrs, n, &c, connected, f);
}

/* The address that is connected to is one that access lists were asked about (J22: DNS rebinding), and isn't our own. */
static bool addresses_allowed(struct fetch *f, const struct addr *addrs, size_t n)
{
    const char *why;
    struct access_verdict v = request_access_going(f->settings, f->request, addrs, n, &why);

    if (v.answer == ACCESS_ALLOWED) {
        size_t i = 0;

        while (i < n && !address_loops(f->settings, &addrs[i]))
            i++;
        if (i == n)
            return true;
        v = (struct access_verdict){ 0 };
        why = "forwarding loop: the address is this proxy's own";
    }
    if (f->owner != NULL)
        transaction_address_denied(f->owner, &v, why);
    return false;
}

static void resolved(struct resolve_query *q, enum resolve_status status, const struct addr *addrs, size_t n)
{
    struct fetch *f = CONTAINER_OF(q, struct fetch, query);

    fetch_log(f)->dns_us = worker_mono(f->pw->worker) - f->stamp;
    if (status != RESOLVE_OK || n == 0) {
        if (fetch_peer(f) != NULL)
            peer_failed(fetch_peer(f));
        fetch_log(f)->hier = HIER_NONE;
        (void)next_route(f, ERR_DNS_FAIL, status == RESOLVE_TIMEOUT ? ETIMEDOUT : 0);
    } else if (fetch_peer(f) == NULL && !addresses_allowed(f, addrs, n)) {
        (void)fetch_fail(f, ERR_ACCESS_DENIED, 0);
    } else {
        connect_to(f, addrs, n);
    }
}

/* A pooled connection, or the way to a new one. */
bool fetch_open_route(struct fetch *f)
{
    const struct peer_setting *peer = fetch_peer(f);
    struct span host = peer ? span_str(peer->host) : f->request->uri.host;
    uint16_t port = peer ? peer->port : f->request->uri.port;
    struct departure departure = departure_of(f);
    int fd = -1;

    free(f->pool_name);
    f->pool_name = peer ? peer_pool_name(peer) : xasprintf("%.*s:%u", SPAN_ARG(host), port);
    /* It couldn't tell where the body ends (RFC 9112 section 6.1). */
    if (f->body.kind == FRAMING_CHUNKED && old_servers_have(&f->pw->old_servers, f->pool_name)) {
        if (f->owner != NULL)
            transaction_length_required(f->owner);
        return fetch_fail(f, ERR_INVALID_REQ, 0);
    }
    /* What can't be repeated doesn't go on a connection that may be closing. */
    if (is_repeatable(f) && !f->retried && !f->upgrade)
        fd = pool_get(f->pw->pool, span_str(f->pool_name), f->settings->n_outgoing > 0 ? outgoing_fits : NULL,
                      &departure, &f->ends, &f->place);
    /* It may have been opened for somebody who may go there. */
    if (fd >= 0 && peer == NULL && !addresses_allowed(f, &f->ends.peer, 1)) {
        close(fd);
        fd = -1;
    }
    if (fd >= 0) {
        f->reused = true;
        return send_request(f, fd);
    }
    if (peer != NULL && !server_health_take(peer->health, peer->max_conn))
        return next_route(f, ERR_CANNOT_FORWARD, 0);
    f->place = peer != NULL ? peer->health : NULL;
    f->state = FETCH_RESOLVE;
    f->stamp = worker_mono(f->pw->worker);
    f->query = (struct resolve_query){ .done = resolved };
    resolve(f->pw->resolver, &f->query, host, port);
    return true;
}

/* After a failure of the route in use, unless it is too late. */
static bool next_route(struct fetch *f, enum error_id error, int sys_errno)
{
    fetch_drop_connection(f);
    f->retried = false;
    if (f->route + 1 < f->n_routes && f->route + 1 < (size_t)f->settings->forward_max_tries &&
        worker_mono(f->pw->worker) - f->began < f->settings->forward_timeout) {
        f->route++;
        return fetch_open_route(f);
    }
    return fetch_fail(f, error, sys_errno);
}
