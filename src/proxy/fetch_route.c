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

/* Of forward_timeout. */
static int64_t time_left(const struct fetch *f)
{
    return f->began + f->settings->forward_timeout - worker_mono(f->pw->worker);
}

static bool may_try(const struct fetch *f)
{
    return f->tries < (size_t)f->settings->forward_max_tries && time_left(f) > OUTGOING_LEAST_US;
}

static bool is_repeatable(const struct fetch *f)
{
    return f->body.kind == FRAMING_NONE && method_is_idempotent(f->request->method);
}

bool fetch_fail_or_retry(struct fetch *f, enum error_id error, int sys_errno)
{
    /* An idle connection that the server closed just as we used it: nothing was answered, ask again on a new one. */
    if (f->reused && !f->retried && f->state == FETCH_HEAD && f->received == 0 && is_repeatable(f) && may_try(f)) {
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

/* How long the server has for its 100. */
static int64_t continue_wait(const struct fetch *f)
{
    return request_allowed(f->settings->force_request_body_continuation, f->request)
               ? 0
               : f->settings->expect_continue_timeout;
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
    f->ends.requests++;
    stream_open(&f->stream, f->pw->worker, fd, server_ready);
    if (fetch_wants_body(f) && request_expects_continue(f->request))
        worker_timer_set(f->pw->worker, &f->expect, continue_wait(f), continue_is_late);
    return fetch_pump_out(f);
}

static void connected(void *ctx, int fd, int error, const struct endpoints *ends)
{
    struct fetch *f = ctx;

    f->connector = NULL;
    f->ends = *ends;
    f->tries += fd < 0 ? f->offered : 1;
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
    const struct departure departure = departure_of(f);
    struct addr from[CONNECT_ADDRS_MAX];
    struct connect_config c = outgoing_connect(f->settings, fetch_peer(f), time_left(f));
    /* One at least: what a validation's answer calls for isn't another try. */
    size_t most = (size_t)f->settings->forward_max_tries, tries = most > f->tries ? most - f->tries : 1;

    if (n > CONNECT_ADDRS_MAX)
        n = CONNECT_ADDRS_MAX;
    if (n > tries)
        n = tries;
    f->offered = n;
    c.local = outgoing_addresses(&departure, addrs, n, from);
    f->state = FETCH_CONNECT;
    f->connector = connect_start(f->pw->worker, addrs, n, &c, connected, f);
}

/* Why an address may not be connected to. */
struct address_refusal {
    struct access_verdict verdict;
    const char *why; /* static text */
};

/* The address that is connected to is one that access lists were asked about (J22: DNS rebinding), and isn't our own. */
static bool addresses_allowed(const struct fetch *f, const struct addr *addrs, size_t n, struct address_refusal *r)
{
    size_t i = 0;

    r->verdict = request_access_going(f->settings, f->request, addrs, n, &r->why);
    if (r->verdict.answer != ACCESS_ALLOWED)
        return false;
    while (i < n && !address_loops(f->settings, &addrs[i]))
        i++;
    if (i == n)
        return true;
    r->verdict = (struct access_verdict){ 0 };
    r->why = "forwarding loop: the address is this proxy's own";
    return false;
}

static bool has_refused(const struct fetch *f, const struct addr *a)
{
    for (size_t i = 0; i < f->n_refusers; i++)
        if (addr_eq(&f->refusers[i], a))
            return true;
    return false;
}

/* Those of n that may still be asked. */
static size_t leave_out_refusers(const struct fetch *f, const struct addr *addrs, size_t n,
                                 struct addr out[RESOLVE_ADDRS_MAX])
{
    size_t left = 0;

    for (size_t i = 0; i < n; i++)
        if (!has_refused(f, &addrs[i]))
            out[left++] = addrs[i];
    return left;
}

static void resolved(struct resolve_query *q, enum resolve_status status, const struct addr *addrs, size_t n)
{
    struct fetch *f = CONTAINER_OF(q, struct fetch, query);
    struct addr others[RESOLVE_ADDRS_MAX];
    struct address_refusal refusal;

    fetch_log(f)->dns_us = worker_mono(f->pw->worker) - f->stamp;
    if (f->n_refusers > 0 && n > 0) {
        n = leave_out_refusers(f, addrs, n, others);
        addrs = others;
        if (n == 0) { /* the name has other addresses than a moment ago */
            (void)next_route(f, ERR_CANNOT_FORWARD, 0);
            return;
        }
    }
    if (status != RESOLVE_OK || n == 0) {
        f->tries++;
        if (fetch_peer(f) != NULL)
            peer_failed(fetch_peer(f));
        fetch_log(f)->hier = HIER_NONE;
        (void)next_route(f, ERR_DNS_FAIL, status == RESOLVE_TIMEOUT ? ETIMEDOUT : 0);
    } else if (fetch_peer(f) == NULL && !addresses_allowed(f, addrs, n, &refusal)) {
        if (f->owner != NULL)
            transaction_address_denied(f->owner, &refusal.verdict, refusal.why);
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
    struct address_refusal refusal;
    int fd = -1;

    free(f->pool_name);
    f->pool_name = peer ? peer_pool_name(peer) : xasprintf("%.*s:%u", SPAN_ARG(host), port);
    /* It couldn't tell where the body ends (RFC 9112 section 6.1). */
    if (f->body.kind == FRAMING_CHUNKED && old_servers_have(&f->pw->old_servers, f->pool_name)) {
        if (f->owner != NULL)
            transaction_length_required(f->owner);
        return fetch_fail(f, ERR_INVALID_REQ, 0);
    }
    /* What can't be repeated doesn't go on a connection that may be closing, unless that is risked. */
    if ((is_repeatable(f) || request_allowed(f->settings->server_pconn_for_nonretriable, f->request)) && !f->retried &&
        !f->upgrade)
        fd = pool_get(f->pw->pool, span_str(f->pool_name), f->settings->n_outgoing > 0 ? outgoing_fits : NULL,
                      &departure, &f->ends, &f->place);
    /* It may have been opened for somebody who may go there. That says nothing of where a new one would go. */
    if (fd >= 0 && peer == NULL && !addresses_allowed(f, &f->ends.peer, 1, &refusal)) {
        close(fd);
        pool_note_closed(f->pw->pool, f->ends.requests);
        fd = -1;
    }
    if (fd >= 0) {
        f->reused = true;
        f->tries++;
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
    if (f->route + 1 < f->n_routes && may_try(f)) {
        f->route++;
        f->n_refusers = 0;
        return fetch_open_route(f);
    }
    return fetch_fail(f, error, sys_errno);
}

/* --- after an error response ------------------------------------------------------------------------------------ */

/* A gateway that couldn't; or, with retry_on_error, a server that wouldn't. */
static bool calls_for_another(const struct settings *s, int status)
{
    switch (status) {
    case 502:
    case 504: return true;
    case 403:
    case 500:
    case 501:
    case 503: return s->retry_on_error;
    default: return false;
    }
}

/* Has the route in use an address, besides its peer's, that hasn't answered with an error? One that is known already. */
static bool has_other_address(struct fetch *f)
{
    const struct peer_setting *peer = fetch_peer(f);
    struct addr addrs[RESOLVE_ADDRS_MAX];
    bool negative;
    size_t n = resolve_cached(f->pw->resolver, peer ? span_str(peer->host) : f->request->uri.host, f->ends.peer.port,
                              false, addrs, &negative);

    if (f->n_refusers == sizeof f->refusers / sizeof f->refusers[0])
        return false;
    for (size_t i = 0; i < n; i++)
        if (!addr_eq(&addrs[i], &f->ends.peer) && !has_refused(f, &addrs[i]))
            return true;
    return false;
}

bool fetch_has_elsewhere(struct fetch *f, int status)
{
    return calls_for_another(f->settings, status) && is_repeatable(f) && may_try(f) &&
           (f->route + 1 < f->n_routes || has_other_address(f));
}

bool fetch_go_elsewhere(struct fetch *f)
{
    if (has_other_address(f)) {
        f->refusers[f->n_refusers++] = f->ends.peer;
    } else {
        f->route++;
        f->n_refusers = 0;
    }
    fetch_drop_connection(f);
    f->retried = true;
    return fetch_open_route(f);
}
