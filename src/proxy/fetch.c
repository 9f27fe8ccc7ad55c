#include "proxy/fetch.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/mem.h"
#include "cache/invalidate.h"
#include "cache/response.h"
#include "cache/storable.h"
#include "cache/validate.h"
#include "hdrs/field_number.h"
#include "hdrs/parse.h"
#include "net/connect.h"
#include "proxy/forward_head.h"
#include "proxy/interim.h"
#include "proxy/mail.h"
#include "proxy/peer_select.h"
#include "proxy/request_access.h"
#include "proxy/request_body.h"
#include "proxy/stale.h"
#include "proxy/transaction_owner.h"
#include "proxy/upgrade.h"

/* Bytes taken from one server in one turn: others want theirs, and memory that was evicted comes back between turns. */
#define TURN_MAX (256u << 10)
/* How long, and how often in a fetch, it waits for that memory before it does without (and isn't stored). */
#define ROOM_WAIT_US 1000
#define ROOM_WAITS_MAX 100

enum fetch_state { FETCH_RESOLVE, FETCH_CONNECT, FETCH_HEAD, FETCH_BODY };

struct fetch {
    struct list_node node; /* pw->fetches */
    struct proxy_worker *pw;
    struct settings *settings;
    struct request *request;
    struct fill *fill;
    struct object *stale;
    struct transaction *owner; /* NULL: it left */
    struct log_entry no_log;   /* written to when it left */
    bool cacheable;
    enum fetch_state state;
    struct mail *mail; /* room in the fill */
    struct route routes[ROUTES_MAX];
    size_t n_routes, route; /* the one in use */
    char *pool_name;        /* of the server in use */
    struct resolve_query query;
    struct connector *connector;
    struct stream stream;
    struct addr server;
    bool reused, retried, validating, upgrade;
    bool readable, ended;
    struct strbuf out; /* request head and body pieces not sent yet */
    size_t out_at;
    struct request_body body;
    char *in; /* an incomplete response head; NULL: none */
    size_t in_len, in_capacity;
    struct parse_progress progress;
    unsigned interim;
    struct framing framing; /* of the response */
    uint64_t left;
    struct chunked chunked;
    uint64_t received;          /* bytes on this connection for this request */
    int64_t began, sent, stamp; /* monotonic microseconds */
    int64_t request_time;       /* seconds since the epoch */
    bool paused;                /* the fill is full */
    struct worker_timer again;  /* goes on reading */
    struct worker_timer expect; /* the origin is late with its 100 */
    unsigned room_waits;
};

static bool next_route(struct fetch *f, enum error_id error, int sys_errno);
static bool open_route(struct fetch *f);
static bool pump_out(struct fetch *f);
static bool pump_in(struct fetch *f);

/* In this file: functions that return bool say whether f still exists. */

static struct log_entry *log_of(struct fetch *f)
{
    return f->owner != NULL ? transaction_log(f->owner) : &f->no_log;
}

struct fetch *fetch_of(struct list_node *n)
{
    return CONTAINER_OF(n, struct fetch, node);
}

bool fetch_wants_body(const struct fetch *f)
{
    return !f->body.done;
}

/* --- the end ---------------------------------------------------------------------------------------------------- */

static void drop_connection(struct fetch *f)
{
    worker_timer_clear(&f->again);
    worker_timer_clear(&f->expect);
    resolve_cancel(&f->query);
    connect_cancel(&f->connector);
    stream_close(&f->stream, false);
    sb_free(&f->out);
    f->out_at = 0;
    free(f->in);
    f->in = NULL;
    f->in_len = f->in_capacity = 0;
    f->progress = (struct parse_progress){ 0 };
    f->readable = f->ended = false;
    f->received = 0;
    f->interim = 0;
}

static bool fetch_end(struct fetch *f)
{
    if (f->owner != NULL)
        transaction_fetch_over(f->owner, fetch_wants_body(f));
    list_remove(&f->node);
    drop_connection(f);
    fill_close(&f->fill);
    mail_close(&f->mail);
    if (f->stale != NULL)
        object_unref(&f->stale);
    free(f->pool_name);
    request_unref(&f->request);
    settings_unref(&f->settings);
    free(f);
    return false;
}

static bool fetch_fail(struct fetch *f, enum error_id error, int sys_errno)
{
    if (f->sent != 0) /* of requests that were sent */
        count(counters_of(f->pw), SERVER_HTTP_ERRORS, 1);
    fill_fail(f->fill, (int)error, sys_errno);
    return fetch_end(f);
}

void fetch_kill(struct fetch *f)
{
    (void)fetch_fail(f, ERR_SHUTTING_DOWN, 0);
}

/* Squid's quick_abort_*: finish a fetch nobody waits for when little is missing. */
static bool worth_finishing(const struct fetch *f)
{
    const struct settings *s = f->settings;
    uint64_t have = fill_received(f->fill), total = f->framing.length;

    if (f->state != FETCH_BODY || !fill_kept(f->fill))
        return false;
    if (s->quick_abort_min < 0)
        return true;
    if (f->framing.kind != FRAMING_LENGTH)
        return false;
    if (total - have <= (uint64_t)s->quick_abort_min)
        return true;
    if (s->quick_abort_max >= 0 && total - have > (uint64_t)s->quick_abort_max)
        return false;
    return have * 100 >= total * (uint64_t)s->quick_abort_pct;
}

void fetch_owner_gone(struct fetch *f, bool complete)
{
    f->owner = NULL;
    if (fetch_wants_body(f)) {
        (void)fetch_fail(f, ERR_READ_ERROR, 0);
        return;
    }
    if (fill_readers(f->fill) > 0 || worth_finishing(f))
        return;
    if (!complete)
        count(counters_of(f->pw), ABORTED_REQUESTS, 1);
    fill_fail(f->fill, ERR_READ_ERROR, 0);
    (void)fetch_end(f);
}

/* --- a server --------------------------------------------------------------------------------------------------- */

static const struct peer_setting *peer_of(const struct fetch *f)
{
    return f->routes[f->route].peer;
}

static bool is_repeatable(const struct fetch *f)
{
    return f->body.kind == FRAMING_NONE && method_is_idempotent(f->request->method);
}

static bool fail_or_retry(struct fetch *f, enum error_id error, int sys_errno)
{
    /* An idle connection that the server closed just as we used it: nothing was answered, ask again on a new one. */
    if (f->reused && !f->retried && f->state == FETCH_HEAD && f->received == 0 && is_repeatable(f)) {
        f->retried = true;
        drop_connection(f);
        return open_route(f);
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
    if ((what & STREAM_WRITABLE) && !pump_out(f))
        return;
    if (f->readable)
        (void)pump_in(f);
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
    const struct peer_setting *peer = peer_of(f);
    struct forward_options o = {
        .absolute_form = peer != NULL && !peer->originserver,
        .validate = f->validating ? f->stale : NULL,
        .close = !f->settings->server_persistent_connections,
        .login = peer ? peer->login : NULL,
        .originserver = peer != NULL && peer->originserver,
        .upgrade = f->upgrade,
    };
    struct log_entry *e = log_of(f);

    e->hier = f->routes[f->route].hier;
    e->server = f->server;
    e->server_name = peer ? span_str(peer->name) : f->request->uri.host;
    f->state = FETCH_HEAD;
    f->sent = f->stamp = worker_mono(f->pw->worker);
    f->request_time = worker_wall(f->pw->worker) / US_PER_S;
    forward_head(&f->out, f->request, f->settings, &o);
    count(counters_of(f->pw), SERVER_HTTP_REQUESTS, 1);
    stream_open(&f->stream, f->pw->worker, fd, server_ready);
    if (fetch_wants_body(f) && request_expects_continue(f->request))
        worker_timer_set(f->pw->worker, &f->expect, f->settings->expect_continue_timeout, continue_is_late);
    return pump_out(f);
}

static void connected(void *ctx, int fd, int error, const struct addr *peer)
{
    struct fetch *f = ctx;

    f->connector = NULL;
    f->server = *peer;
    if (fd < 0) {
        log_of(f)->hier = f->routes[f->route].hier;
        log_of(f)->server = *peer;
        (void)next_route(f, ERR_CONNECT_FAIL, error);
        return;
    }
    f->reused = false;
    (void)send_request(f, fd);
}

static void connect_to(struct fetch *f, const struct addr *addrs, size_t n)
{
    const struct peer_setting *peer = peer_of(f);
    struct connect_config c = {
        .timeout_us = peer == NULL                ? f->settings->connect_timeout
                      : peer->connect_timeout > 0 ? peer->connect_timeout
                                                  : f->settings->peer_connect_timeout,
        .attempt_us = f->settings->happy_eyeballs_connect_timeout,
    };

    f->state = FETCH_CONNECT;
    f->connector = connect_start(f->pw->worker, addrs, n < CONNECT_ADDRS_MAX ? n : CONNECT_ADDRS_MAX, &c, connected, f);
}

/* The address that is connected to is one that http_access was asked about (J22: DNS rebinding). */
static bool addresses_allowed(struct fetch *f, const struct addr *addrs, size_t n)
{
    struct access_verdict v = request_access_dst(f->settings->http_access, f->request, addrs, n);

    if (v.answer == ACCESS_ALLOWED)
        return true;
    log_of(f)->access_line = v.where;
    return false;
}

static void resolved(struct resolve_query *q, enum resolve_status status, const struct addr *addrs, size_t n)
{
    struct fetch *f = CONTAINER_OF(q, struct fetch, query);

    log_of(f)->dns_us = worker_mono(f->pw->worker) - f->stamp;
    if (status != RESOLVE_OK || n == 0) {
        log_of(f)->hier = HIER_NONE;
        (void)next_route(f, ERR_DNS_FAIL, status == RESOLVE_TIMEOUT ? ETIMEDOUT : 0);
    } else if (peer_of(f) == NULL && !addresses_allowed(f, addrs, n)) {
        (void)fetch_fail(f, ERR_ACCESS_DENIED, 0);
    } else {
        connect_to(f, addrs, n);
    }
}

/* A pooled connection, or the way to a new one. */
static bool open_route(struct fetch *f)
{
    const struct peer_setting *peer = peer_of(f);
    struct span host = peer ? span_str(peer->host) : f->request->uri.host;
    uint16_t port = peer ? peer->port : f->request->uri.port;
    int fd = -1;

    free(f->pool_name);
    /* With the place: a reload may move a peer. No host has a blank. */
    f->pool_name =
        peer ? xasprintf("peer %s %s:%u", peer->name, peer->host, port) : xasprintf("%.*s:%u", SPAN_ARG(host), port);
    /* What can't be repeated doesn't go on a connection that may be closing. */
    if (is_repeatable(f) && !f->retried && !f->upgrade)
        fd = pool_get(f->pw->pool, span_str(f->pool_name), &f->server);
    /* It may have been opened for somebody who may go there. */
    if (fd >= 0 && peer == NULL && !addresses_allowed(f, &f->server, 1)) {
        close(fd);
        fd = -1;
    }
    if (fd >= 0) {
        f->reused = true;
        return send_request(f, fd);
    }
    f->state = FETCH_RESOLVE;
    f->stamp = worker_mono(f->pw->worker);
    f->query = (struct resolve_query){ .done = resolved };
    resolve(f->pw->resolver, &f->query, host, port);
    return true;
}

/* After a failure of the route in use, unless it is too late. */
static bool next_route(struct fetch *f, enum error_id error, int sys_errno)
{
    drop_connection(f);
    f->retried = false;
    if (f->route + 1 < f->n_routes && f->route + 1 < (size_t)f->settings->forward_max_tries &&
        worker_mono(f->pw->worker) - f->began < f->settings->forward_timeout) {
        f->route++;
        return open_route(f);
    }
    return fetch_fail(f, error, sys_errno);
}

struct fetch *fetch_start(const struct fetch_plan *plan)
{
    struct fetch *f = xcalloc(1, sizeof *f);

    f->pw = plan->pw;
    f->settings = settings_ref(plan->settings);
    f->request = request_ref(plan->request);
    f->fill = plan->fill;
    f->stale = plan->stale ? object_ref(plan->stale) : NULL;
    f->cacheable = plan->cacheable;
    f->upgrade = plan->upgrade;
    f->owner = plan->owner;
    f->stream.fd = -1;
    f->began = f->stamp = worker_mono(f->pw->worker);
    f->validating = f->stale != NULL && (f->stale->etag.len > 0 || f->stale->last_modified_text.len > 0);
    list_append(&f->pw->fetches, &f->node);
    request_body_init(&f->body, &f->request->framing, (uint32_t)f->settings->chunk_extension_max,
                      f->settings->request_body_max_size);
    /* Announced to be too large: not a byte of it is asked for. */
    if (f->body.max > 0 && f->body.left > f->body.max)
        return fetch_fail(f, ERR_TOO_BIG, 0) ? f : NULL;
    f->n_routes = peer_routes(f->pw, f->settings, f->request, f->routes);
    if (f->n_routes == 0)
        return fetch_fail(f, ERR_CANNOT_FORWARD, 0) ? f : NULL;
    return open_route(f) ? f : NULL;
}

/* --- the request ------------------------------------------------------------------------------------------------ */

/* Another piece of body into the empty f->out. False: f is gone. *more: there is something to send. */
static bool take_body(struct fetch *f, bool *more)
{
    *more = false;
    if (!fetch_wants_body(f) || f->owner == NULL)
        return true;
    switch (request_body_read(&f->body, transaction_client(f->owner), &f->out)) {
    case REQUEST_BODY_DATA:
        log_of(f)->bytes_in = f->request->bytes_in + f->body.received;
        f->stamp = worker_mono(f->pw->worker);
        *more = f->out.len > 0 || !f->body.done;
        return true;
    case REQUEST_BODY_WAIT: return true;
    case REQUEST_BODY_TOO_LARGE: return fetch_fail(f, ERR_TOO_BIG, 0);
    case REQUEST_BODY_CUT: log_of(f)->aborted = true; break;
    case REQUEST_BODY_BROKEN: break;
    }
    /* Never completed upstream: the connection goes without a last chunk. */
    return fetch_fail(f, ERR_INVALID_REQ, 0);
}

static bool pump_out(struct fetch *f)
{
    for (;;) {
        struct iovec v = { f->out.p + f->out_at, f->out.len - f->out_at };
        bool more;
        ssize_t n;

        if (v.iov_len == 0) {
            f->out.len = f->out_at = 0;
            if (!take_body(f, &more))
                return false;
            if (!more) {
                if (!fetch_wants_body(f))
                    sb_free(&f->out);
                return true;
            }
            continue;
        }
        n = stream_send(&f->stream, &v, 1, false);
        if (n == STREAM_AGAIN)
            return true;
        if (n == STREAM_ERROR) {
            /* It may have answered before it closed (413, say), whether or not that was announced yet: read all of it.
             * The end comes behind that. */
            f->out.len = f->out_at = 0;
            f->readable = true;
            return pump_in(f);
        }
        count(counters_of(f->pw), SERVER_HTTP_KBYTES_OUT, (uint64_t)n);
        f->out_at += (size_t)n;
        f->stamp = worker_mono(f->pw->worker);
    }
}

void fetch_body_ready(struct fetch *f)
{
    if (f->state == FETCH_HEAD || f->state == FETCH_BODY)
        (void)pump_out(f);
}

/* --- the response ----------------------------------------------------------------------------------------------- */

static void invalidate(struct fetch *f, const struct head *h)
{
    static const enum token references[] = { TOKEN_LOCATION, TOKEN_CONTENT_LOCATION };
    struct worker *w = f->pw->worker;
    char text[8192];

    if (!invalidates(f->request->method, h->status))
        return;
    store_invalidate(f->pw->store, w->epoch, f->request->key);
    for (size_t i = 0; i < 2; i++) {
        struct span v = head_value(h, references[i]);
        struct span uri = v.p ? same_origin_reference(&f->request->uri, v, text, sizeof text) : SPAN_NONE;

        if (uri.p != NULL)
            store_invalidate(f->pw->store, w->epoch, hash128(uri.p, uri.len));
    }
}

/* Everything storing and reusing asks about a response. */
static void describe(struct fetch *f, const struct head *h, struct cache_control *cc, struct object_recipe *recipe)
{
    struct worker *w = f->pw->worker;

    *cc = cache_control_parse(h, false);
    *recipe = (struct object_recipe){
        .arena = store_arena(f->pw->store),
        .key = f->request->key,
        .url = f->request->uri.text,
        .request = f->request->head,
        .response = h,
        .response_cc = cc,
        .times = response_times_of(h, f->request_time, worker_wall(w) / US_PER_S),
        .mono = worker_mono(w),
        .rule = settings_refresh_rule(f->settings, f->request->uri.text),
    };
}

static bool no_room_then_make(struct fetch *f, struct object_recipe *recipe, struct object **o, struct object *stored)
{
    for (int tries = 0; tries < 2; tries++) {
        *o = stored ? object_from_304(stored, recipe) : object_from_response(recipe);
        if (*o != NULL)
            return true;
        (void)store_make_room(f->pw->store, f->pw->worker->epoch, 65536);
    }
    return false;
}

/* 304 to our validation. Returns false when it doesn't fit what we hold: then ask again without a condition. */
static bool revalidate(struct fetch *f, const struct head *h)
{
    struct object_recipe recipe;
    struct cache_control cc;
    struct object *o;

    if (!may_update(f->stale, h))
        return false;
    describe(f, h, &cc, &recipe);
    /* What the origin now wants kept by nobody, or for one alone, isn't shown to those who wait with us (S15, W18). */
    if (cc.flags & (CC_NO_STORE | CC_PRIVATE))
        return false;
    if (f->request->cc.flags & CC_NO_STORE) {
        fill_revalidated(f->fill, f->pw->worker->epoch, f->stale);
        return true;
    }
    if (no_room_then_make(f, &recipe, &o, f->stale)) {
        fill_revalidated(f->fill, f->pw->worker->epoch, o);
        object_unref(&o);
    } else {
        fill_revalidated(f->fill, f->pw->worker->epoch, f->stale);
    }
    return true;
}

static bool response_complete(struct fetch *f, bool surplus)
{
    bool reusable = f->framing.keep_alive && !surplus && !f->ended && !fetch_wants_body(f) && f->out_at == f->out.len &&
                    f->settings->server_persistent_connections && !f->pw->draining;

    if (f->state == FETCH_BODY)
        (void)fill_complete(f->fill, f->pw->worker->epoch);
    if (reusable) {
        int fd = stream_take(&f->stream);

        pool_put(f->pw->pool, span_str(f->pool_name), fd, &f->server, f->settings->server_idle_pconn_timeout);
    }
    return fetch_end(f);
}

/* What the configuration says, whatever the response does: store_miss, and cache_peer's proxy-only. */
static bool may_store(struct fetch *f)
{
    const struct peer_setting *peer = peer_of(f);

    return !(peer != NULL && peer->proxy_only) && request_allowed(f->settings->store_miss, f->request);
}

/* The verdict on a final response that isn't a matching 304: what the fill becomes. */
static void set_head(struct fetch *f, const struct head *h)
{
    const struct settings *s = f->settings;
    struct object_recipe recipe;
    struct cache_control cc;
    struct store_query q = {
        .request = f->request->head,
        .response = h,
        .request_cc = &f->request->cc,
        .response_cc = &cc,
        .times = &recipe.times,
        .request_has_body = f->request->framing.kind != FRAMING_NONE,
        .negative_ttl = s->negative_ttl / US_PER_S,
    };
    enum lifetime_source source = LIFETIME_NONE;
    enum store_reason reason = STORE_NO_ACCESS_LIST;
    struct fill_head head = {
        .length = f->framing.kind == FRAMING_LENGTH ? f->framing.length
                  : f->framing.kind == FRAMING_NONE ? 0
                                                    : UINT64_MAX,
        .window = s->read_ahead_gap > 0 ? (size_t)s->read_ahead_gap : 65536,
    };

    describe(f, h, &cc, &recipe);
    q.rule = recipe.rule;
    if (f->cacheable && may_store(f))
        reason = storable(&q, &recipe.lifetime, &source);
    if (reason == STORE_YES && recipe.lifetime < s->minimum_expiry_time / US_PER_S &&
        !response_has_validator(h, worker_wall(f->pw->worker) / US_PER_S))
        reason = STORE_NO_FRESHNESS;
    recipe.negative = reason == STORE_YES && source == LIFETIME_NEGATIVE;
    head.shareable = reason == STORE_YES;
    head.keep = head.shareable;
    head.no_body = f->framing.kind == FRAMING_NONE;
    /* A HEAD's Content-Length is the GET's; it is relayed, nothing follows. */
    if (f->request->method == METHOD_HEAD && head.no_body) {
        uint64_t n;

        head.length = number_parse(head_value(h, TOKEN_CONTENT_LENGTH), &n) ? n : UINT64_MAX;
        head.keep = false;
    }
    if (head.keep && !no_room_then_make(f, &recipe, &head.object, NULL)) {
        head.keep = false;
        reason = STORE_NO_NO_ROOM;
    }
    if (!head.keep) {
        recipe.arena = NULL;
        head.object = object_from_response(&recipe);
        /* One that is still fresh (the client wanted it checked) stays what it is for others (S9). */
        if (f->stale != NULL && h->status < 500 && f->stale->fresh_until <= recipe.mono)
            store_remove(f->pw->store, f->pw->worker->epoch, f->stale);
    }
    if (reason != STORE_YES)
        log_of(f)->reason = store_reason_name(reason);
    (void)fill_set_head(f->fill, f->pw->worker->epoch, &head);
    f->state = FETCH_BODY;
}

/* A final head, all of it parsed. `rest` is what came behind it. */
static bool final_head(struct fetch *f, const struct head *h, struct span rest)
{
    f->framing = response_framing(h, f->request->method);
    if (f->framing.kind == FRAMING_BAD)
        return fetch_fail(f, ERR_INVALID_RESP, 0);
    log_of(f)->server_status = h->status;
    log_of(f)->server_us = worker_mono(f->pw->worker) - f->sent;
    if (f->validating && h->status == 304) {
        if (revalidate(f, h))
            return response_complete(f, rest.len > 0);
        /* Its validators don't name what we hold: fetch the whole (W6), on a connection of its own: the answer, and
         * with it our caller's bytes, then can't come before we have returned. */
        f->validating = false;
        f->retried = true;
        drop_connection(f);
        return open_route(f);
    }
    if (h->status >= 500 && stale_will_do(f->stale, &f->request->cc, f->settings, worker_mono(f->pw->worker)))
        return fetch_fail(f, ERR_READ_ERROR, 0); /* readers take the stale one */
    invalidate(f, h);
    f->left = f->framing.length;
    chunked_init(&f->chunked, (uint32_t)f->settings->chunk_extension_max);
    set_head(f, h);
    if (f->framing.kind == FRAMING_NONE || (f->framing.kind == FRAMING_LENGTH && f->left == 0))
        return response_complete(f, rest.len > 0);
    return true;
}

/* Body bytes as they came. *done: the message is over; *surplus: bytes came behind it. False: f is gone. */
static bool body_bytes(struct fetch *f, struct span in, bool *done, bool *surplus)
{
    struct epoch_thread *epoch = f->pw->worker->epoch;

    *done = *surplus = false;
    switch (f->framing.kind) {
    case FRAMING_LENGTH: {
        size_t n = in.len < f->left ? in.len : (size_t)f->left;

        fill_append(f->fill, epoch, in.p, n);
        f->left -= n;
        *done = f->left == 0;
        *surplus = n < in.len;
        return true;
    }
    case FRAMING_CLOSE: fill_append(f->fill, epoch, in.p, in.len); return true;
    default: break;
    }
    while (in.len > 0 && !*done) {
        size_t used;
        struct span data;
        enum chunked_result r = chunked_decode(&f->chunked, in, &used, &data);

        if (r == CHUNKED_BAD)
            return fetch_fail(f, ERR_INVALID_RESP, 0);
        if (data.len > 0)
            fill_append(f->fill, epoch, data.p, data.len);
        in = span_of(in.p + used, in.len - used);
        *done = r == CHUNKED_DONE;
    }
    *surplus = in.len > 0;
    return true;
}

static bool take_body_bytes(struct fetch *f, struct span in)
{
    bool done, surplus;

    if (in.len == 0)
        return true;
    if (!body_bytes(f, in, &done, &surplus))
        return false;
    return done ? response_complete(f, surplus) : true;
}

/* 101: the connection changes hands, if it was asked for. */
static bool upgraded(struct fetch *f, const struct head *h, struct span rest)
{
    struct transaction *owner = f->owner;
    struct strbuf first = { 0 };
    int fd;

    if (!f->upgrade || owner == NULL || f->out_at < f->out.len || !upgrade_agrees(h, f->request, f->settings))
        return fetch_fail(f, ERR_INVALID_RESP, 0);
    log_of(f)->server_status = h->status;
    log_of(f)->server_us = worker_mono(f->pw->worker) - f->sent;
    interim_head(&first, h, span_of(f->pw->via_line, f->pw->via_line_len));
    sb_span(&first, rest);
    fd = stream_take(&f->stream);
    f->owner = NULL;
    transaction_upgraded(owner, fd, &first);
    fill_fail(f->fill, 0, 0);
    return fetch_end(f);
}

/* Bytes while a head is awaited. */
static bool head_bytes(struct fetch *f, const char *p, size_t n)
{
    struct head *h = &f->pw->response_head;
    struct parse_limits limits = {
        .max_bytes = (uint32_t)f->settings->reply_header_max_size,
        .max_fields = (uint16_t)f->settings->header_fields_max,
        .slack = true,
        .relaxed = f->settings->relaxed_header_parser,
    };
    struct parse_error e;

    if (f->in != NULL) {
        if (f->in_capacity - f->in_len < n) {
            f->in_capacity = (f->in_len + n) * 2;
            f->in = xrealloc(f->in, f->in_capacity + PARSE_SLACK);
        }
        memcpy(f->in + f->in_len, p, n);
        f->in_len += n;
        p = f->in;
        n = f->in_len;
    }
    for (;;) {
        switch (parse_response(h, p, n, &limits, &f->progress, &e)) {
        case PARSE_BAD: return fetch_fail(f, ERR_INVALID_RESP, 0);
        case PARSE_MORE:
            if (p == f->in)
                return true;
            if (f->in != NULL) { /* behind an interim response: move down */
                memmove(f->in, p, n);
            } else {
                f->in_capacity = n * 2 > 4096 ? n * 2 : 4096;
                f->in = xmalloc(f->in_capacity + PARSE_SLACK);
                memcpy(f->in, p, n);
            }
            f->in_len = n;
            return true;
        case PARSE_DONE:
            f->progress = (struct parse_progress){ 0 };
            if (h->status >= 200)
                break;
            if (h->status == 101)
                return upgraded(f, h, span_of(p + h->len, n - h->len));
            if (++f->interim > (unsigned)f->settings->interim_responses_max)
                return fetch_fail(f, ERR_INVALID_RESP, 0);
            worker_timer_clear(&f->expect);
            if (f->owner != NULL)
                transaction_interim(f->owner, h);
            p += h->len;
            n -= h->len;
            if (n == 0) {
                free(f->in);
                f->in = NULL;
                f->in_len = f->in_capacity = 0;
                return true;
            }
            continue;
        }
        break;
    }
    {
        /* The body bytes that came with the head may lie in f->in, which drop_connection() frees: take it out first. */
        char *mine = f->in;
        struct span rest = span_of(p + h->len, n - h->len);
        bool alive;

        f->in = NULL;
        f->in_len = f->in_capacity = 0;
        alive = final_head(f, h, rest);
        if (alive && f->state == FETCH_BODY)
            alive = take_body_bytes(f, rest);
        free(mine);
        return alive;
    }
}

static bool server_ended(struct fetch *f)
{
    if (f->state == FETCH_BODY && f->framing.kind == FRAMING_CLOSE) {
        f->framing.keep_alive = false;
        return response_complete(f, false);
    }
    if (f->state == FETCH_BODY)
        return fetch_fail(f, ERR_READ_ERROR, 0);
    return fail_or_retry(f, f->received > 0 ? ERR_INVALID_RESP : ERR_ZERO_SIZE_OBJECT, 0);
}

static void room_again(void *ctx)
{
    mail_send(ctx);
}

static void room_mail(void *owner)
{
    struct fetch *f = owner;

    if (f->paused) {
        f->paused = false;
        f->stamp = worker_mono(f->pw->worker);
        (void)pump_in(f);
    }
}

/* How much to read now; 0: paused. */
static size_t helping(struct fetch *f)
{
    size_t room = WORKER_SCRATCH;

    if (f->state == FETCH_BODY) {
        room = fill_room(f->fill);
        if (room == 0) {
            if (f->mail == NULL) {
                f->mail = mail_new(f->pw->worker, room_mail, f);
                fill_on_room(f->fill, room_again, f->mail);
            }
            f->paused = true;
            /* Once more, now that a knock is asked for: the last reader may have made room in between. */
            room = fill_room(f->fill);
            f->paused = room == 0;
        }
    }
    return room < WORKER_SCRATCH ? room : WORKER_SCRATCH;
}

static void read_again(struct worker_timer *t)
{
    (void)pump_in(CONTAINER_OF(t, struct fetch, again));
}

/* What is to be stored needs memory; a full cache has it after a grace period. */
static bool waits_for_room(struct fetch *f)
{
    if (!f->cacheable || (f->state == FETCH_BODY && !fill_kept(f->fill)) || f->room_waits == ROOM_WAITS_MAX ||
        !store_room_comes(f->pw->store, f->pw->worker->epoch, ARENA_BLOCK_MAX))
        return false;
    f->room_waits++;
    worker_timer_set(f->pw->worker, &f->again, ROOM_WAIT_US, read_again);
    return true;
}

static bool pump_in(struct fetch *f)
{
    char *scratch = f->pw->worker->scratch;
    uint64_t taken = 0;

    while (f->readable) {
        size_t want;
        ssize_t n;

        if (f->again.set || waits_for_room(f))
            return true;
        if (taken >= TURN_MAX) {
            worker_timer_set(f->pw->worker, &f->again, 0, read_again);
            return true;
        }
        want = helping(f);
        if (want == 0)
            return true;
        n = stream_recv(&f->stream, scratch, want);
        if (n == STREAM_AGAIN) {
            f->readable = false;
            return true;
        }
        if (n == STREAM_ERROR)
            return fail_or_retry(f, f->state == FETCH_BODY || f->received > 0 ? ERR_READ_ERROR : ERR_ZERO_SIZE_OBJECT,
                                 errno);
        if (n == 0)
            return server_ended(f);
        /* A short read is no proof of an emptied socket: a reset that came with these bytes isn't announced again. */
        taken += (uint64_t)n;
        f->received += (uint64_t)n;
        f->stamp = worker_mono(f->pw->worker);
        count(counters_of(f->pw), SERVER_HTTP_KBYTES_IN, (uint64_t)n);
        if (!(f->state == FETCH_BODY ? take_body_bytes(f, span_of(scratch, (size_t)n))
                                     : head_bytes(f, scratch, (size_t)n)))
            return false;
        if (!stream_is_open(&f->stream))
            return true; /* asked again elsewhere */
    }
    return true;
}

void fetch_sweep(struct fetch *f, int64_t mono)
{
    if (f->state != FETCH_HEAD && f->state != FETCH_BODY)
        return; /* the resolver and the connector keep their own time */
    if (f->owner == NULL && fill_readers(f->fill) == 0 && !worth_finishing(f)) {
        count(counters_of(f->pw), ABORTED_REQUESTS, 1);
        fill_fail(f->fill, ERR_READ_ERROR, 0);
        (void)fetch_end(f);
        return;
    }
    if (!f->paused && mono - f->stamp > f->settings->read_timeout)
        (void)fetch_fail(f, ERR_READ_TIMEOUT, ETIMEDOUT);
}
