#include "proxy/transaction_private.h"

#include <assert.h>
#include <stdlib.h>
#include "base/mem.h"
#include "cache/range.h"
#include "cache/validate.h"
#include "proxy/account.h"
#include "proxy/mail.h"
#include "proxy/own_reply.h"
#include "proxy/proxy.h"
#include "proxy/serve.h"
#include "proxy/tunnel.h"

/* --- beginning and end ------------------------------------------------------------------------------------------ */

static void deliver_mail(void *owner)
{
    struct transaction *t = owner;

    if (t->state == TX_RELAY)
        transaction_relay(t);
    else
        transaction_progress(t);
}

/* On the producer's thread, under the fill's lock. */
static void reader_wake(struct fill_reader *r)
{
    mail_send(CONTAINER_OF(r, struct transaction, reader)->mail);
}

static struct transaction *make(struct client_conn *c, const struct request *r)
{
    struct transaction *t = xcalloc(1, sizeof *t);

    t->client = c;
    t->pw = c->pw;
    t->body_left = UINT64_MAX;
    t->settings = settings_ref(c->pw->settings);
    t->request = request_keep(r);
    t->mail = mail_new(c->pw->worker, deliver_mail, t);
    log_entry_from_request(&t->log, t->request);
    return t;
}

struct transaction *transaction_new(struct client_conn *c, const struct request *r)
{
    assert(c->tx == NULL);
    c->tx = make(c, r);
    c->state = CLIENT_BUSY;
    return c->tx;
}

struct transaction *transaction_ahead(struct client_conn *c, const struct request *r, const struct miss *m)
{
    struct transaction *t = make(c, r);

    t->ahead = true;
    transaction_miss(t, m);
    transaction_begin(t);
    return t;
}

struct transaction **transaction_behind(struct transaction *t)
{
    return &t->behind;
}

void transaction_leave_fill(struct transaction *t, bool complete)
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
    transaction_leave_fill(t, true);
    admission_cancel(&t->admission);
    purge_cancel(&t->purge);
    gather_end(&t->gathering);
    rewrite_cancel(&t->rewrite);
    delays_end(t->delays, CLIENT_DELAYS);
    worker_timer_clear(&t->later);
    mail_close(&t->mail);
    if (t->miss.stale != NULL)
        object_unref(&t->miss.stale);
    if (t->miss.begins != NULL)
        object_unref(&t->miss.begins);
    if (t->object != NULL)
        object_unref(&t->object);
    sb_free(&t->pre);
    sb_free(&t->own_fields);
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

void transaction_finish(struct transaction *t)
{
    struct client_conn *c = t->client;

    log_end(t);
    if (t->close_delimited || !t->request->keep_alive)
        c->close_after = true;
    if (t->fetch != NULL && fetch_wants_body(t->fetch))
        c->close_after = true; /* answered early: the rest of its body would be taken for a request */
    transaction_drop(t);
}

void transaction_cut(struct transaction *t, const char *why)
{
    struct client_conn *c = t->client;
    bool reset = t->close_delimited;

    t->log.reason = why;
    log_end(t);
    c->tx = NULL;
    transaction_free(t);
    client_conn_abort(c, reset);
}

void transaction_client_is_gone(struct transaction *t)
{
    struct client_conn *c = t->client;

    c->tx = NULL;
    transaction_client_gone(t);
    client_conn_abort(c, true);
}

void transaction_error(struct transaction *t, const struct error_answer *what)
{
    struct client_conn *c = t->client;
    struct error_answer a = *what;

    a.r = t->request;
    a.hier = t->log.hier;
    a.server = t->log.server;
    if (t->fetch != NULL && fetch_wants_body(t->fetch))
        a.close = true;
    transaction_interims_first(t);
    client_conn_error(c, &a);
    (void)client_conn_flush(c);
    transaction_drop(t);
}

void transaction_client_gone(struct transaction *t)
{
    t->log.aborted = true;
    log_end(t);
    t->client = NULL;
    transaction_leave_fill(t, false);
    transaction_free(t);
}

struct client_conn *transaction_client(const struct transaction *t)
{
    return t->client;
}

const struct settings *transaction_settings(const struct transaction *t)
{
    return t->settings;
}

const struct request *transaction_request(const struct transaction *t)
{
    return t->request;
}

bool transaction_is_delayed(const struct transaction *t)
{
    for (size_t i = 0; i < CLIENT_DELAYS; i++)
        if (t->delays[i].pool != NULL)
            return true;
    return t->fetch != NULL && fetch_is_delayed(t->fetch);
}

void transaction_address_denied(struct transaction *t, const struct access_verdict *v, const char *why)
{
    t->log.access_line = v->where;
    t->denied_by = v->last;
    t->error_detail = why;
}

void transaction_length_required(struct transaction *t)
{
    t->error_status = 411;
    t->error_detail = "the server speaks HTTP/1.0: it needs the length of the body";
}

void transaction_part_continues(struct transaction *t)
{
    t->continues = true;
}

struct strbuf *transaction_own_fields(struct transaction *t)
{
    return &t->own_fields;
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

/* --- access lists that need more than the request ----------------------------------------------------------------- */

static void admitted(struct admission *a, const struct access_verdict *v)
{
    struct transaction *t = CONTAINER_OF(a, struct transaction, admission);
    struct client_conn *c = t->client;

    t->log.user = t->request->user;
    if (v->answer != ACCESS_ALLOWED) {
        serve_denied(c, t->request, t->settings, a->gate, v);
        (void)client_conn_flush(c);
        transaction_drop(t);
        return;
    }
    switch (a->gate) {
    case GATE_HTTP:
        t->request->access_line = t->log.access_line = v->where;
        serve_admitted(c, t->request, t);
        break;
    case GATE_ADAPTED: serve_adapted(c, t->request, t); break;
    case GATE_MISS:
        t->may_miss = true;
        t->state = t->onward;
        transaction_begin(t);
    }
}

void transaction_admit(struct transaction *t, enum gate gate)
{
    t->state = TX_ADMIT;
    t->admission.gate = gate;
    if (t->begun)
        transaction_begin(t);
}

/* The cache hasn't got it. True: it may be sent on; else miss_access is asked first. */
static bool may_miss(struct transaction *t)
{
    if (t->may_miss || access_always_allows(t->settings->miss_access))
        return true;
    t->onward = t->state;
    transaction_admit(t, GATE_MISS);
    return false;
}

static void admit(struct transaction *t)
{
    if (t->admission.request != t->request)
        admission_forget(&t->admission);
    t->admission.pw = t->pw;
    t->admission.settings = t->settings;
    t->admission.request = t->request;
    t->admission.done = admitted;
    admission_start(&t->admission);
}

/* --- rewriters --------------------------------------------------------------------------------------------------- */

static void redirected(struct transaction *t)
{
    struct client_conn *c = t->client;
    struct strbuf fields = { 0 };

    sb_printf(&fields, "Location: %.*s\r\n", SPAN_ARG(sb_view(&t->rewrite.target)));
    own_reply(c, t->request,
              &(struct own_reply){ .status = t->rewrite.redirect,
                                   .phrase = status_phrase(t->rewrite.redirect),
                                   .fields = fields.p,
                                   .reason = "redirected by the URL rewriter",
                                   .tag = TAG_TCP_REDIRECT });
    sb_free(&fields);
    (void)client_conn_flush(c);
    transaction_drop(t);
}

static void rewritten(struct rewrite *w)
{
    struct transaction *t = CONTAINER_OF(w, struct transaction, rewrite);

    if (w->failure != NULL) {
        transaction_error(t,
                          &(struct error_answer){ .id = ERR_CANNOT_FORWARD, .detail = w->failure, .tag = t->miss.tag });
        return;
    }
    if (w->redirect != 0) {
        redirected(t);
        return;
    }
    request_unref(&t->request);
    t->request = request_ref(w->request);
    log_entry_from_request(&t->log, t->request);
    serve_rewritten(t->client, t->request, t);
}

void transaction_rewrite(struct transaction *t)
{
    t->state = TX_REWRITE;
    if (t->begun)
        transaction_begin(t);
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
    if (t->miss.join && fill_join_at(t->pw->store, t->request->key, range_first(t->request->head), &t->reader)) {
        t->waiter = true;
        transaction_progress(t);
        return;
    }
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
            .begins = t->miss.begins,
            .last = t->miss.wanted.last,
            .cacheable = t->miss.cacheable,
            .upgrade = t->miss.upgrade,
            .whole = t->miss.whole,
            .unconditional = t->miss.unconditional,
            .variants = t->miss.variants,
            .owner = t,
        };

        t->fetch = fetch_start(&plan);
    }
    transaction_progress(t);
}

static void purged(struct purge_run *p)
{
    struct transaction *t = CONTAINER_OF(p, struct transaction, purge);
    struct client_conn *c = t->client;

    purge_reply(c, t->request, p->count);
    (void)client_conn_flush(c);
    transaction_drop(t);
}

static void gathered(void *owner)
{
    struct transaction *t = owner;

    serve_gathered(t->client, t->request, t, t->gathering);
}

static void gather(struct transaction *t)
{
    const struct gather_plan plan = {
        .kind = t->gathers,
        .workers = proxy_threads(t->pw->proxy),
        .n = t->pw->n_workers,
        .asker = t->pw->worker,
        .wait_us = GATHER_WAIT_US,
        .done = gathered,
        .owner = t,
    };

    t->gathering = gather_start(&plan);
}

void transaction_begin(struct transaction *t)
{
    t->begun = true;
    switch (t->state) {
    case TX_ADMIT: admit(t); break;
    case TX_REWRITE: rewrite_start(&t->rewrite, t->pw, t->settings, t->request, rewritten); break;
    case TX_MISS:
        if (may_miss(t))
            open_fill(t, t->miss.shared);
        break;
    case TX_TUNNEL: {
        if (!may_miss(t))
            break;
        struct client_conn *c = t->client;
        struct request *r = request_ref(t->request);
        struct settings *settings = settings_ref(t->settings);

        c->tx = NULL;
        transaction_free(t);
        tunnel_start(c, r, settings);
        break;
    }
    case TX_PURGE: purge_start(&t->purge, t->pw, t->request, purged); break;
    case TX_GATHER: gather(t); break;
    case TX_OBJECT:
        t->state = TX_RELAY;
        transaction_relay(t);
        break;
    default: assert(!"a transaction begins in one of its starts");
    }
}

void transaction_miss(struct transaction *t, const struct miss *m)
{
    t->miss = *m;
    if (m->stale != NULL)
        object_ref(m->stale);
    if (m->begins != NULL)
        object_ref(m->begins);
    t->log.reason = m->reason;
    t->state = TX_MISS;
    if (t->begun)
        transaction_begin(t);
}

void transaction_purge(struct transaction *t)
{
    t->state = TX_PURGE;
    if (t->begun)
        transaction_begin(t);
}

void transaction_gather(struct transaction *t, const struct gather_kind *kind)
{
    t->gathers = kind;
    t->log.tag = TAG_TCP_MISS;
    t->log.reason = "manager page";
    t->state = TX_GATHER;
    if (t->begun)
        transaction_begin(t);
}

void transaction_tunnel(struct transaction *t)
{
    t->state = TX_TUNNEL;
    if (t->begun)
        transaction_begin(t);
}

void transaction_fetch_alone(struct transaction *t)
{
    transaction_leave_fill(t, false);
    t->miss.join = false;
    t->miss.tag = t->miss.stale != NULL ? TAG_TCP_REFRESH_MODIFIED : TAG_TCP_MISS;
    open_fill(t, false);
}

/* --- the client ------------------------------------------------------------------------------------------------- */

void transaction_upgraded(struct transaction *t, int fd, struct server_health *place, struct strbuf *first)
{
    struct client_conn *c = t->client;
    struct strbuf bytes = { 0 };

    sb_span(&bytes, sb_from(&t->pre, t->pre_at));
    sb_span(&bytes, sb_view(first));
    sb_free(first);
    t->fetch = NULL;
    (void)fill_detach(&t->reader);
    c->tx = NULL;
    t->log.status = 101;
    tunnel_adopt(c, request_ref(t->request), settings_ref(t->settings), &t->log, fd, place, &bytes);
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
        transaction_begin(t);
        return;
    }
    if ((what & (STREAM_READABLE | STREAM_ENDED)) && client_left(t)) {
        transaction_client_is_gone(t);
        return;
    }
    if (t->ahead) {
        t->ahead = false;
        transaction_send_interims(t);
        transaction_progress(t);
        return;
    }
    if (t->fetch != NULL && fetch_wants_body(t->fetch) && (what & (STREAM_READABLE | STREAM_ENDED)))
        fetch_body_ready(t->fetch); /* what comes of it knocks */
    if (t->state == TX_RELAY)
        transaction_relay(t);
    else if (t->state == TX_HEAD && (what & STREAM_WRITABLE))
        transaction_send_interims(t);
}

void transaction_sweep(struct transaction *t, int64_t mono)
{
    struct client_conn *c = t->client;
    bool sending = t->state == TX_RELAY && (t->pre_at < t->pre.len || t->run > 0);

    /* Waiting for the origin is the fetch's to time; a client that doesn't take its answer is ours. */
    if ((sending && mono - c->stamp > t->settings->write_timeout) || mono - c->opened > t->settings->client_lifetime) {
        t->log.timed_out = true;
        transaction_client_is_gone(t);
    }
}
