#include "proxy/transaction.h"

#include <assert.h>
#include <stdlib.h>
#include "base/clock.h"
#include "base/mem.h"
#include "cache/validate.h"
#include "hdrs/chunked.h"
#include "proxy/account.h"
#include "proxy/fetch.h"
#include "proxy/interim.h"
#include "proxy/mail.h"
#include "proxy/reply.h"
#include "proxy/request_access.h"
#include "proxy/serve.h"
#include "proxy/stale.h"
#include "proxy/transaction_owner.h"
#include "proxy/tunnel.h"

enum tx_state { TX_ADMIT, TX_MISS, TX_OBJECT, TX_TUNNEL, TX_HEAD, TX_RELAY };

/* Bytes of body announced in one chunk at the most: several segments in one send. */
#define CHUNK_MAX (256u << 10)
#define RELAY_PIECES 32
/* Interim responses a client hasn't taken. */
#define INTERIM_BYTES_MAX 65536

struct transaction {
    struct client_conn *client;
    struct proxy_worker *pw;
    struct settings *settings;
    struct request *request;
    enum tx_state state;
    bool begun;
    struct mail *mail; /* how fills knock */
    struct miss miss;
    bool waiter; /* on somebody else's fetch */
    struct fill_reader reader;
    struct fetch *fetch;   /* ours; NULL: over or none */
    struct object *object; /* delivered from the store; a reference */
    struct body_cursor cursor;
    struct resolve_query query;
    struct log_entry log;
    /* relay */
    struct strbuf pre; /* head, chunk framing: goes before the next run of body bytes */
    size_t pre_at;
    uint64_t run; /* body bytes that may follow pre */
    bool chunked, any_chunk, last_sent, no_body, close_delimited;
    bool continue_sent;
};

static void progress(struct transaction *t);
static void relay(struct transaction *t);

/* --- beginning and end ------------------------------------------------------------------------------------------ */

static void deliver_mail(void *owner)
{
    struct transaction *t = owner;

    if (t->state == TX_RELAY)
        relay(t);
    else
        progress(t);
}

/* On the producer's thread, under the fill's lock. */
static void reader_wake(struct fill_reader *r)
{
    mail_send(CONTAINER_OF(r, struct transaction, reader)->mail);
}

struct transaction *transaction_new(struct client_conn *c, const struct request *r)
{
    struct transaction *t = xcalloc(1, sizeof *t);

    assert(c->tx == NULL);
    t->client = c;
    t->pw = c->pw;
    t->settings = settings_ref(c->pw->settings);
    t->request = request_keep(r);
    t->mail = mail_new(c->pw->worker, deliver_mail, t);
    log_entry_from_request(&t->log, t->request);
    c->tx = t;
    c->state = CLIENT_BUSY;
    return t;
}

static void leave_fill(struct transaction *t, bool complete)
{
    if (t->reader.fill != NULL)
        (void)fill_detach(&t->reader);
    if (t->fetch != NULL) {
        struct fetch *f = t->fetch;

        t->fetch = NULL;
        fetch_owner_gone(f, complete);
    }
}

static void transaction_free(struct transaction *t)
{
    leave_fill(t, true);
    resolve_cancel(&t->query);
    mail_close(&t->mail);
    if (t->miss.stale != NULL)
        object_unref(&t->miss.stale);
    if (t->object != NULL)
        object_unref(&t->object);
    sb_free(&t->pre);
    request_unref(&t->request);
    settings_unref(&t->settings);
    free(t);
}

void transaction_drop(struct transaction *t)
{
    struct client_conn *c = t->client;

    c->tx = NULL;
    transaction_free(t);
    client_conn_next(c);
}

static void log_end(struct transaction *t)
{
    account(t->pw, &t->log, t->request);
}

/* The answer is complete. */
static void finish(struct transaction *t)
{
    struct client_conn *c = t->client;

    log_end(t);
    if (t->close_delimited || !t->request->keep_alive)
        c->close_after = true;
    if (t->fetch != NULL && fetch_wants_body(t->fetch))
        c->close_after = true; /* answered early: the rest of its body would be taken for a request */
    transaction_drop(t);
}

/* The answer can't be completed: the client must see that. */
static void cut(struct transaction *t, const char *why)
{
    struct client_conn *c = t->client;
    bool reset = t->close_delimited;

    t->log.reason = why;
    log_end(t);
    c->tx = NULL;
    transaction_free(t);
    client_conn_abort(c, reset);
}

/* So the connection says. */
static void client_is_gone(struct transaction *t)
{
    struct client_conn *c = t->client;

    c->tx = NULL;
    transaction_client_gone(t);
    client_conn_abort(c, true);
}

/* Interim responses that the socket didn't take yet stay in front of the answer. */
static void interims_first(struct transaction *t)
{
    size_t n = t->pre.len - t->pre_at;
    char *bytes;

    if (n == 0)
        return;
    bytes = xmalloc(n);
    memcpy(bytes, t->pre.p + t->pre_at, n);
    out_add_owned(&t->pw->out, bytes, n);
    t->pre.len = t->pre_at = 0;
}

/* An error page instead of an answer. */
static void answer_error(struct transaction *t, enum error_id id, int status, int sys_errno, const char *detail,
                         enum log_tag tag, const char *line)
{
    struct client_conn *c = t->client;
    struct error_answer a = {
        .id = id,
        .status = status,
        .sys_errno = sys_errno,
        .detail = detail,
        .tag = tag,
        .r = t->request,
        .access_line = line,
        .hier = t->log.hier,
        .server = t->log.server,
    };

    if (t->fetch != NULL && fetch_wants_body(t->fetch))
        a.close = true;
    interims_first(t);
    client_conn_error(c, &a);
    (void)client_conn_flush(c);
    transaction_drop(t);
}

void transaction_client_gone(struct transaction *t)
{
    t->log.aborted = true;
    log_end(t);
    t->client = NULL;
    leave_fill(t, false);
    transaction_free(t);
}

struct client_conn *transaction_client(const struct transaction *t)
{
    return t->client;
}

struct log_entry *transaction_log(struct transaction *t)
{
    return &t->log;
}

void transaction_fetch_over(struct transaction *t, bool request_unfinished)
{
    t->fetch = NULL;
    if (request_unfinished && t->client != NULL)
        t->client->close_after = true;
}

/* --- access lists that need an address -------------------------------------------------------------------------- */

static void admitted(struct resolve_query *q, enum resolve_status status, const struct addr *addrs, size_t n)
{
    struct transaction *t = CONTAINER_OF(q, struct transaction, query);
    struct client_conn *c = t->client;
    struct access_verdict v;

    (void)status; /* without an address no `dst` matches; the fetch will say what was wrong with the name */
    v = request_access_dst(t->settings->http_access, t->request, addrs, n);
    if (v.answer == ACCESS_ALLOWED) {
        serve_admitted(c, t->request, t, v.where);
    } else {
        serve_denied(c, t->request, &v);
        (void)client_conn_flush(c);
        transaction_drop(t);
    }
}

void transaction_admit(struct transaction *t)
{
    t->state = TX_ADMIT;
}

static void admit(struct transaction *t)
{
    t->query.done = admitted;
    resolve(t->pw->resolver, &t->query, t->request->uri.host, t->request->uri.port);
}

/* --- where the answer comes from -------------------------------------------------------------------------------- */

/* A fetch may have ended between our look-up and our own fill: what it stored serves us, and whoever joined us since.
 * */
static bool stored_meanwhile(struct transaction *t, struct fill *f)
{
    bool any;
    const char *why;
    struct object *o = store_lookup(t->pw->store, t->request->key, t->request->head, &any);

    if (o == NULL || o == t->miss.stale ||
        reuse_of(o, &t->request->cc, t->request->ignore_cc, worker_mono(t->pw->worker), &why) != REUSE_FRESH)
        return false;
    fill_revalidated(f, t->pw->worker->epoch, o);
    fill_close(&f);
    return true;
}

static void open_fill(struct transaction *t, bool shared)
{
    struct fill *f;
    bool started;

    t->reader = (struct fill_reader){ .wake = reader_wake };
    t->state = TX_HEAD;
    t->log.tag = t->miss.tag;
    f = fill_open(t->pw->store, t->request->key, shared, &t->reader, &started);
    t->waiter = !started;
    if (started && shared && stored_meanwhile(t, f)) {
        t->waiter = true;
    } else if (started) {
        struct fetch_plan plan = {
            .pw = t->pw,
            .settings = t->settings,
            .request = t->request,
            .fill = f,
            .stale = t->miss.stale,
            .cacheable = t->miss.cacheable,
            .upgrade = t->miss.upgrade,
            .owner = t,
        };

        t->fetch = fetch_start(&plan);
    }
    progress(t);
}

static void begin(struct transaction *t)
{
    t->begun = true;
    switch (t->state) {
    case TX_ADMIT: admit(t); break;
    case TX_MISS: open_fill(t, t->miss.shared); break;
    case TX_TUNNEL: {
        struct client_conn *c = t->client;
        struct request *r = request_ref(t->request);
        struct settings *settings = settings_ref(t->settings);
        const char *line = t->log.access_line; /* in settings */

        c->tx = NULL;
        transaction_free(t);
        tunnel_start(c, r, settings, line);
        break;
    }
    case TX_OBJECT:
        t->state = TX_RELAY;
        relay(t);
        break;
    default: assert(!"a transaction begins in one of its starts");
    }
}

void transaction_miss(struct transaction *t, const struct miss *m)
{
    t->miss = *m;
    if (m->stale != NULL)
        object_ref(m->stale);
    t->log.reason = m->reason;
    t->log.access_line = m->access_line;
    t->state = TX_MISS;
    if (t->begun)
        begin(t);
}

void transaction_tunnel(struct transaction *t, const char *access_line)
{
    t->log.access_line = access_line;
    t->state = TX_TUNNEL;
    if (t->begun)
        begin(t);
}

/* Let go by a fill that wasn't for us, or can't be: fetch for ourselves, whatever others do. */
static void fetch_alone(struct transaction *t)
{
    leave_fill(t, false);
    t->miss.tag = t->miss.stale != NULL ? TAG_TCP_REFRESH_MODIFIED : TAG_TCP_MISS;
    open_fill(t, false);
}

/* --- the head of the answer ------------------------------------------------------------------------------------- */

static bool reply_allowed(struct transaction *t, const struct object *o)
{
    struct access_verdict v;

    if (access_always_allows(t->settings->http_reply_access))
        return true;
    v = request_access_reply(t->settings->http_reply_access, t->request, o->status);
    if (v.answer == ACCESS_ALLOWED)
        return true;
    leave_fill(t, false);
    answer_error(t, ERR_ACCESS_DENIED, 0, 0, "denied by http_reply_access", TAG_TCP_DENIED_REPLY, v.where);
    return false;
}

/* The client's own condition, where the answer isn't the origin's to exactly this request. */
static bool not_modified(struct transaction *t, struct object *o)
{
    struct client_conn *c = t->client;
    struct reply_tail tail = {
        .age = object_age(o, worker_mono(t->pw->worker)),
        .close = !t->request->keep_alive || t->pw->draining,
        .minor_version = t->request->minor_version,
    };
    size_t n;
    char *bytes;

    if (o->status != 200 || !(t->waiter || t->miss.stale != NULL) || !request_is_conditional(t->request->head) ||
        client_condition(t->request->head, o, worker_wall(t->pw->worker) / US_PER_S) == CONDITION_SEND)
        return false;
    bytes = reply_not_modified(t->pw, o, &tail, &n);
    interims_first(t);
    out_add_owned(&t->pw->out, bytes, n);
    t->log.status = 304;
    t->log.bytes_out = t->log.head_out = n;
    t->log.mime = object_piece(o, o->content_type);
    t->log.reply_head = object_head(o);
    (void)client_conn_flush(c);
    finish(t);
    return true;
}

/* pre = the whole head. */
static void make_head(struct transaction *t, struct object *o, uint64_t length, bool show_age)
{
    struct reply_tail tail = { .age = -1, .minor_version = t->request->minor_version };
    bool bodyless_status = o->status == 204 || o->status == 304;
    size_t before;
    char *at;

    t->no_body = bodyless_status || t->request->method == METHOD_HEAD;
    if (length != UINT64_MAX && !bodyless_status) {
        tail.has_length = true;
        tail.length = length;
    } else if (!t->no_body && t->request->minor_version) {
        tail.chunked = t->chunked = true;
    } else if (!t->no_body) {
        t->close_delimited = true;
    }
    if (show_age || o->times.age_value > 0)
        tail.age = object_age(o, worker_mono(t->pw->worker));
    tail.close = !t->request->keep_alive || t->close_delimited || t->pw->draining || t->client->close_after ||
                 (t->fetch != NULL && fetch_wants_body(t->fetch));
    if (tail.close)
        t->request->keep_alive = false;
    before = t->pre.len;
    sb_span(&t->pre, object_head(o));
    at = sb_reserve(&t->pre, REPLY_TAIL_MAX);
    t->pre.len += reply_tail(t->pw, &tail, at);
    t->log.status = o->status;
    t->log.head_out = t->pre.len - before;
    t->log.mime = object_piece(o, o->content_type);
    t->log.reply_head = object_head(o);
}

void transaction_object(struct transaction *t, struct object *o, enum log_tag tag, const char *reason)
{
    t->object = object_ref(o);
    t->log.tag = tag;
    t->log.reason = reason;
    make_head(t, o, object_length(o), true);
    if (o->body != NULL)
        t->cursor = body_cursor(o->body, 0, t->no_body ? 0 : object_length(o));
    t->state = TX_OBJECT;
    if (t->begun)
        begin(t);
}

/* Somebody else's answer serves those who wait with him if it could serve them from the store (RFC 9111 section 4):
 * selected by Vary, and not such as needs validation at every use, which is often one user's page with an ETag. The
 * time it took to come doesn't count: all of them asked before that. */
static bool answers_waiter(const struct transaction *t)
{
    struct object *o = fill_object(&t->reader);
    unsigned flags = atomic_load_explicit(&o->flags, memory_order_relaxed);

    return fill_answers(&t->reader, t->request->head) && !(flags & OBJECT_NO_CACHE) && o->lifetime > o->times.age_value;
}

static void begin_reply(struct transaction *t)
{
    struct object *o = fill_object(&t->reader);

    if (t->waiter) {
        if (!answers_waiter(t)) {
            fetch_alone(t);
            return;
        }
        t->log.tag = TAG_TCP_CF_HIT;
        t->log.reason = "shared a fetch under way";
    } else if (t->miss.stale != NULL) {
        t->log.tag = TAG_TCP_REFRESH_MODIFIED;
    }
    if (!reply_allowed(t, o) || not_modified(t, o))
        return;
    make_head(t, o, fill_length(&t->reader), t->waiter);
    t->state = TX_RELAY;
    relay(t);
}

/* A stored response after all. */
static void answer_from(struct transaction *t, struct object *stored, enum log_tag tag, const char *reason)
{
    struct object *o = object_ref(stored);

    t->log.tag = tag;
    t->log.reason = reason;
    if (reply_allowed(t, o) && !not_modified(t, o))
        transaction_object(t, o, tag, reason);
    object_unref(&o);
}

static void revalidated(struct transaction *t)
{
    struct object *o;

    if (t->waiter && !answers_waiter(t)) {
        fetch_alone(t);
        return;
    }
    o = object_ref(fill_object(&t->reader));
    /* What it learned of the server stays for the log of the owner. */
    leave_fill(t, true);
    if (t->waiter)
        answer_from(t, o, TAG_TCP_CF_HIT, "shared a validation under way");
    else
        answer_from(t, o, TAG_TCP_REFRESH_UNMODIFIED, "validated");
    object_unref(&o);
}

static void fetch_failed(struct transaction *t)
{
    int detail = 0, error = fill_error(&t->reader, &detail);
    enum error_id id = error > 0 && error < ERROR_PAGE_N ? (enum error_id)error : ERR_READ_ERROR;

    if (t->log.aborted) {
        client_is_gone(t);
        return;
    }
    if (id == ERR_ACCESS_DENIED) {
        answer_error(t, id, 403, 0, "its address is denied by http_access", TAG_TCP_DENIED, t->log.access_line);
        return;
    }
    if (stale_will_do(t->miss.stale, &t->request->cc, t->settings, worker_mono(t->pw->worker))) {
        leave_fill(t, false);
        answer_from(t, t->miss.stale, TAG_TCP_REFRESH_FAIL_OLD, "stale: the origin can't be reached");
        return;
    }
    answer_error(t, id, t->miss.stale != NULL ? 504 : 0, detail, NULL,
                 t->miss.stale != NULL ? TAG_TCP_REFRESH_FAIL_ERR : t->miss.tag, NULL);
}

static void progress(struct transaction *t)
{
    if (t->state != TX_HEAD || t->client == NULL)
        return;
    switch (fill_state(&t->reader)) {
    case FILL_WAIT_HEAD: return;
    case FILL_RELEASED: fetch_alone(t); return;
    case FILL_REVALIDATED: revalidated(t); return;
    case FILL_FAILED:
        if (fill_object(&t->reader) == NULL) {
            fetch_failed(t);
            return;
        }
        begin_reply(t);
        return;
    case FILL_BODY:
    case FILL_DONE: begin_reply(t); return;
    }
}

/* --- the body --------------------------------------------------------------------------------------------------- */

static size_t body_pieces(struct transaction *t, struct iovec *v, size_t n)
{
    if (t->no_body)
        return 0;
    return t->object != NULL ? body_peek(&t->cursor, v, n) : fill_peek(&t->reader, v, n);
}

static void body_taken(struct transaction *t, uint64_t n)
{
    if (t->object != NULL)
        body_advance(&t->cursor, n);
    else
        fill_advance(&t->reader, n);
}

enum body_end { BODY_GOES_ON, BODY_COMPLETE, BODY_CUT };

/* Asked when no bytes are at hand. */
static enum body_end body_end(struct transaction *t)
{
    if (t->no_body || t->object != NULL)
        return BODY_COMPLETE;
    switch (fill_state(&t->reader)) {
    case FILL_DONE: return t->reader.at == fill_total(&t->reader) ? BODY_COMPLETE : BODY_GOES_ON;
    case FILL_FAILED: return BODY_CUT;
    default: return BODY_GOES_ON;
    }
}

/* Frames the next run of at most `here` bytes. */
static void begin_run(struct transaction *t, uint64_t here)
{
    t->run = here;
    if (t->chunked) {
        char *at = sb_reserve(&t->pre, CHUNK_HEAD_MAX + 2);

        if (t->any_chunk) {
            *at++ = '\r';
            *at++ = '\n';
            t->pre.len += 2;
        }
        t->pre.len += chunk_head(at, here);
        t->any_chunk = true;
    }
}

/* One send of whatever there is. False: stop (blocked, waiting, or over; t may be gone). */
static bool relay_some(struct transaction *t)
{
    struct iovec v[RELAY_PIECES + 1];
    uint64_t want = 0, here = 0, sent, part;
    size_t k, n = 1;
    ssize_t got;

    k = body_pieces(t, v + 1, RELAY_PIECES);
    for (size_t i = 0; i < k; i++)
        here += v[1 + i].iov_len;
    if (t->run == 0) {
        if (here > 0) {
            begin_run(t, here < CHUNK_MAX ? here : CHUNK_MAX);
        } else {
            enum body_end end = body_end(t);

            if (end == BODY_COMPLETE && t->chunked && !t->last_sent) {
                sb_str(&t->pre, t->any_chunk ? "\r\n" CHUNK_LAST : CHUNK_LAST);
                t->last_sent = true;
            }
            if (t->pre_at == t->pre.len) {
                if (end == BODY_COMPLETE)
                    finish(t);
                else if (end == BODY_CUT)
                    cut(t, "cut short: the origin ended before the body did");
                return false;
            }
        }
    }
    v[0] = (struct iovec){ t->pre.p + t->pre_at, t->pre.len - t->pre_at };
    want = v[0].iov_len;
    for (; n <= k && want - v[0].iov_len < t->run; n++) {
        uint64_t room = t->run - (want - v[0].iov_len);

        if (v[n].iov_len > room)
            v[n].iov_len = (size_t)room;
        want += v[n].iov_len;
    }
    got = v[0].iov_len > 0 ? stream_send(&t->client->stream, v, n, false)
                           : stream_send(&t->client->stream, v + 1, n - 1, false);
    if (got == STREAM_AGAIN)
        return false;
    if (got == STREAM_ERROR) {
        client_is_gone(t);
        return false;
    }
    sent = (uint64_t)got;
    t->client->stamp = worker_mono(t->pw->worker);
    t->log.bytes_out += sent;
    part = t->pre.len - t->pre_at;
    if (part > sent)
        part = sent;
    t->pre_at += (size_t)part;
    if (t->pre_at == t->pre.len)
        t->pre.len = t->pre_at = 0;
    sent -= part;
    if (sent > 0) {
        t->run -= sent;
        body_taken(t, sent);
    }
    return (uint64_t)got == want;
}

static void relay(struct transaction *t)
{
    if (t->client == NULL || out_queue_waits(&t->client->out))
        return;
    while (relay_some(t))
        ;
}

/* --- the client ------------------------------------------------------------------------------------------------- */

/* Sends what waits in pre while no answer is there; what the socket doesn't take goes with the answer. */
static void send_interims(struct transaction *t)
{
    struct iovec v = { t->pre.p + t->pre_at, t->pre.len - t->pre_at };
    ssize_t n;

    if (v.iov_len == 0 || out_queue_waits(&t->client->out))
        return;
    n = stream_send(&t->client->stream, &v, 1, false);
    if (n > 0) {
        t->pre_at += (size_t)n;
        t->log.bytes_out += (uint64_t)n;
    }
    if (t->pre_at == t->pre.len)
        t->pre.len = t->pre_at = 0;
}

static bool takes_interims(const struct transaction *t)
{
    /* A client that reads nothing doesn't fill our memory with them: none of them is owed. */
    return t->client != NULL && t->state == TX_HEAD && t->request->minor_version && t->pre.len < INTERIM_BYTES_MAX;
}

void transaction_continue(struct transaction *t)
{
    if (t->continue_sent || !takes_interims(t) || client_conn_kept(t->client).len > 0)
        return;
    t->continue_sent = true;
    t->log.status = 100;
    sb_str(&t->pre, "HTTP/1.1 100 Continue\r\n\r\n");
    send_interims(t);
}

void transaction_interim(struct transaction *t, const struct head *h)
{
    if (!takes_interims(t) || (h->status == 100 && t->continue_sent))
        return;
    t->continue_sent |= h->status == 100;
    t->log.status = h->status;
    interim_head(&t->pre, h, span_of(t->pw->via_line, t->pw->via_line_len));
    send_interims(t);
}

void transaction_upgraded(struct transaction *t, int fd, struct strbuf *first)
{
    struct client_conn *c = t->client;
    struct strbuf bytes = { 0 };

    sb_add(&bytes, t->pre.p + t->pre_at, t->pre.len - t->pre_at);
    sb_span(&bytes, sb_view(first));
    sb_free(first);
    t->fetch = NULL;
    (void)fill_detach(&t->reader);
    c->tx = NULL;
    t->log.status = 101;
    tunnel_adopt(c, request_ref(t->request), settings_ref(t->settings), &t->log, fd, &bytes);
    transaction_free(t);
}

/* Has it gone while it waits? A reset says so; an ended side alone may be a half-closing script (half_closed_clients).
 * */
static bool client_left(struct transaction *t)
{
    struct client_conn *c = t->client;
    ssize_t n;

    if (!c->readable || (t->fetch != NULL && fetch_wants_body(t->fetch)))
        return false;
    n = stream_peek(&c->stream);
    if (n == 0 && t->settings->half_closed_clients == TRI_OFF)
        return true;
    return n == STREAM_ERROR;
}

void transaction_client_ready(struct transaction *t, unsigned what)
{
    if (!t->begun) {
        begin(t);
        return;
    }
    if ((what & (STREAM_READABLE | STREAM_ENDED)) && client_left(t)) {
        client_is_gone(t);
        return;
    }
    if (t->fetch != NULL && fetch_wants_body(t->fetch) && (what & (STREAM_READABLE | STREAM_ENDED)))
        fetch_body_ready(t->fetch); /* what comes of it knocks */
    if (t->state == TX_RELAY)
        relay(t);
    else if (t->state == TX_HEAD && (what & STREAM_WRITABLE))
        send_interims(t);
}

void transaction_sweep(struct transaction *t, int64_t mono)
{
    struct client_conn *c = t->client;
    bool sending = t->state == TX_RELAY && (t->pre_at < t->pre.len || t->run > 0);

    /* Waiting for the origin is the fetch's to time; a client that doesn't take its answer is ours. */
    if ((sending && mono - c->stamp > t->settings->write_timeout) || mono - c->opened > t->settings->client_lifetime) {
        t->log.timed_out = true;
        client_is_gone(t);
    }
}
