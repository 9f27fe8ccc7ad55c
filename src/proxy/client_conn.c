#include "proxy/client_conn_private.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include "base/clock.h"
#include "base/mem.h"
#include "hdrs/parse.h"
#include "proxy/account.h"
#include "proxy/client_limit.h"
#include "proxy/reply.h"
#include "proxy/serve.h"
#include "proxy/transaction.h"
#include "proxy/tunnel.h"

#define HELPING 4096          /* bytes read at a time behind kept ones */
#define LINGER_MAX (1u << 20) /* bytes thrown away before an ill-timed close */
#define LINGER_US (2 * US_PER_S)
#define REST_US US_PER_S

static void client_conn_run(struct client_conn *c, unsigned what);

const struct port_setting *client_conn_port(const struct client_conn *c)
{
    /* Only asked between requests of a connection whose port is in force: a reload that took it away closes it first.
     * */
    assert(c->port >= 0 && (size_t)c->port < c->pw->settings->n_ports);
    return &c->pw->settings->ports[c->port];
}

struct request_origin client_conn_origin(struct client_conn *c, struct notes *notes)
{
    return (struct request_origin){
        .settings = c->pw->settings,
        .port = client_conn_port(c),
        .client = c->peer,
        .local = c->local,
        .client_connections = client_count_now(c->counted),
        .notes = notes,
        .client_notes = c->notes,
        .connection = &c->auth,
        .is_last = client_conn_is_old(c),
        .mono = worker_mono(c->pw->worker),
        .wall = worker_wall(c->pw->worker),
    };
}

static void client_ready(struct stream *s, unsigned what)
{
    struct client_conn *c = CONTAINER_OF(s, struct client_conn, stream);

    if (what & (STREAM_READABLE | STREAM_ENDED))
        c->readable = true;
    if (what & STREAM_ENDED)
        c->ended = true;
    client_conn_run(c, what);
}

static void log_unfinished(struct client_conn *c, int status)
{
    struct log_entry e;

    log_entry_from_request(&e, NULL);
    e.client = c->peer;
    e.local = c->local;
    e.url = SPAN("error:transaction-end-before-headers");
    e.bytes_in = c->kept_len;
    e.status = status;
    account(c->pw, &e, NULL);
}

void client_conn_record(struct client_conn *c)
{
    if (c->pw->settings->client_db && c->record == NULL)
        c->record = client_records_take(c->pw->records, &c->peer);
}

/* Whose connection it is, is known. */
static void begin_requests(struct client_conn *c)
{
    c->state = CLIENT_READ_HEAD;
    c->dead = !client_limit_admits(c->pw, &c->peer, &c->local, &c->counted);
    if (!c->dead)
        client_conn_record(c);
}

void client_conn_new(struct proxy_worker *pw, int port, int fd, const struct addr *peer)
{
    struct client_conn *c = xcalloc(1, sizeof *c);

    c->pw = pw;
    c->port = port;
    c->peer = *peer;
    c->local = stream_local_addr(fd);
    c->opened = c->stamp = worker_mono(pw->worker);
    out_queue_init(&c->out);
    list_append(&pw->clients, &c->node);
    atomic_fetch_add_explicit(&pw->n_clients, 1, memory_order_relaxed);
    count(counters_of(pw), CLIENT_CONNECTIONS, 1);
    stream_open(&c->stream, pw->worker, fd, client_ready);
    if (client_conn_port(c)->require_proxy) {
        c->state = CLIENT_PROXY_HEADER;
        if (!client_conn_may_be_proxied(c)) {
            log_unfinished(c, 0);
            c->dead = true;
        }
    } else {
        begin_requests(c);
    }
    /* The request is often here already: no need to go round the loop for it. */
    c->readable = true;
    client_conn_run(c, STREAM_READABLE);
}

static void client_free(struct client_conn *c)
{
    struct proxy_worker *pw = c->pw;

    assert(c->tx == NULL && c->tunnel == NULL && c->ahead == NULL);
    stream_close(&c->stream, c->reset);
    out_queue_drop(&c->out);
    free(c->kept);
    list_remove(&c->node);
    client_tally_remove(pw->tally, &c->counted);
    client_records_give(pw->records, &c->record);
    notes_unref(&c->notes);
    free(c->auth.user);
    free(c->tunnel_to);
    free(c);
    atomic_fetch_sub_explicit(&pw->n_clients, 1, memory_order_relaxed);
    count(counters_of(pw), CLIENT_CONNECTIONS_CLOSED, 1);
    proxy_worker_client_done(pw);
}

/* --- request heads ---------------------------------------------------------------------------------------------- */

/* The peer has ended its side and there is no whole request left. */
static void end_of_requests(struct client_conn *c)
{
    if (c->kept_len > 0 || c->requests == 0)
        log_unfinished(c, 0);
    client_conn_drop_kept(c);
    c->close_after = true;
}

static void refuse_head(struct client_conn *c, const struct head *h, const struct parse_error *e)
{
    struct error_answer a = {
        .id = e->status == 505                       ? ERR_UNSUP_HTTPVERSION
              : e->status == 414 || e->status == 431 ? ERR_TOO_BIG
                                                     : ERR_INVALID_REQ,
        .status = e->status,
        .detail = e->what,
        .tag = TAG_NONE,
        .url = e->status == 414 || e->status == 431 ? SPAN("error:request-too-large") : SPAN("error:invalid-request"),
        .close = true,
    };

    if (h->method_name.len > 0 && h->method_name.len <= 64)
        a.method = head_piece(h, h->method_name);
    client_conn_error(c, &a);
}

/* A head waits in the connection's buffer until it is whole, so the buffer's limit is one on heads too. */
static uint64_t head_bytes_max(const struct settings *s)
{
    uint64_t buffer = s->client_request_buffer_max_size;

    return buffer > 0 && buffer < s->request_header_max_size ? buffer : s->request_header_max_size;
}

struct parse_limits client_conn_head_limits(const struct client_conn *c)
{
    const struct settings *s = c->pw->settings;

    return (struct parse_limits){
        .max_bytes = (uint32_t)head_bytes_max(s),
        .max_fields = (uint16_t)s->header_fields_max,
        .slack = true,
        .relaxed = s->relaxed_header_parser,
        .target_blanks = s->uri_whitespace != URI_WHITESPACE_DENY,
    };
}

/* Serves whole requests at p while answers are made at once. Returns the bytes used. */
static size_t serve_heads(struct client_conn *c, const char *p, size_t n)
{
    struct proxy_worker *pw = c->pw;
    struct parse_limits limits = client_conn_head_limits(c);
    struct head *h = &pw->request_head;
    size_t used = 0;

    while (used < n && c->state == CLIENT_READ_HEAD && !c->close_after && out_has_room(&pw->out)) {
        struct parse_error e;

        switch (parse_request(h, p + used, n - used, &limits, &c->progress, &e)) {
        case PARSE_MORE:
            if (c->head_began == 0)
                c->head_began = worker_mono(pw->worker);
            return used;
        case PARSE_BAD:
            c->progress = (struct parse_progress){ 0 };
            refuse_head(c, h, &e);
            return n;
        case PARSE_DONE:
            c->progress = (struct parse_progress){ 0 };
            c->head_began = 0;
            used += h->len;
            c->requests++;
            serve_request(c, h);
        }
    }
    return used;
}

/* One helping of bytes. False: nothing more can be done before an event. */
static bool read_heads(struct client_conn *c)
{
    struct worker *w = c->pw->worker;
    bool kept = c->kept_len > 0;
    size_t used, n;
    char *p;

    if (kept && c->head_began == 0) { /* not looked at yet: progress can't tell, it may have got nowhere (a lone CR) */
        p = c->kept + c->kept_at;
        n = c->kept_len;
    } else {
        ssize_t got;

        if (!c->readable) {
            if (c->eof)
                end_of_requests(c);
            return c->eof;
        }
        got = client_conn_receive(c, w->scratch, kept ? HELPING : WORKER_SCRATCH, true);
        if (got == STREAM_ERROR) {
            if (c->requests == 0 || kept)
                log_unfinished(c, 0);
            c->dead = true;
            return true;
        }
        if (got <= 0)
            return got == 0;
        if (kept)
            client_conn_keep(c, w->scratch, (size_t)got);
        p = kept ? c->kept + c->kept_at : w->scratch;
        n = kept ? c->kept_len : (size_t)got;
    }
    used = serve_heads(c, p, n);
    if (kept) {
        c->kept_at += (uint32_t)used;
        c->kept_len -= (uint32_t)used;
        if (c->kept_len == 0)
            client_conn_drop_kept(c);
    } else {
        client_conn_keep(c, p + used, n - used);
    }
    /* Half a head: nothing we send will show that its sender is gone, so the spared recv is made up for. */
    if (c->head_began != 0)
        c->readable = true;
    return true;
}

/* --- bytes out, and the end ------------------------------------------------------------------------------------- */

bool client_conn_flush(struct client_conn *c)
{
    if (out_flush(&c->pw->out, &c->out, &c->stream) == OUT_GONE) {
        c->dead = true;
        return false;
    }
    return true;
}

/* Our last byte is sent. With unread bytes of the peer a plain close would send an RST that overtakes our answer. */
static void begin_close(struct client_conn *c)
{
    if (c->eof || c->reset) {
        c->dead = true;
        return;
    }
    stream_shutdown(&c->stream);
    client_conn_drop_kept(c);
    c->state = CLIENT_LINGER;
    c->stamp = worker_mono(c->pw->worker);
    c->lingered = 0;
    proxy_worker_client_done(c->pw);
}

static void linger(struct client_conn *c)
{
    struct worker *w = c->pw->worker;

    while (c->readable && c->lingered < LINGER_MAX) {
        ssize_t n = stream_recv(&c->stream, w->scratch, WORKER_SCRATCH);

        if (n == STREAM_AGAIN) {
            c->readable = false;
            return;
        }
        if (n <= 0) {
            c->dead = true;
            return;
        }
        c->lingered += (uint32_t)n;
    }
    if (c->lingered >= LINGER_MAX)
        c->dead = true;
}

/* False: nothing more can be done before an event. */
static bool proxy_header(struct client_conn *c)
{
    switch (client_conn_read_proxied(c)) {
    case CLIENT_PROXIED_WAIT: return c->readable;
    case CLIENT_PROXIED_DONE: begin_requests(c); return true;
    case CLIENT_PROXIED_REFUSED: log_unfinished(c, 0); c->dead = true;
    }
    return true;
}

/* False: it waits for an event. */
static bool busy(struct client_conn *c, unsigned what)
{
    struct transaction *tx = c->tx;

    transaction_client_ready(tx, what);
    if (c->state == CLIENT_BUSY && c->tx == tx)
        client_conn_look_ahead(c);
    return c->state != CLIENT_BUSY || c->tx != tx;
}

static void client_conn_run(struct client_conn *c, unsigned what)
{
    bool going = true;

    c->in_run = true;
    while (going && !c->dead) {
        if (out_queue_waits(&c->out)) {
            enum out_result r = out_resume(&c->out, &c->stream);

            if (r == OUT_SENT)
                c->stamp = worker_mono(c->pw->worker);
            c->dead = r == OUT_GONE;
            if (r != OUT_SENT)
                break; /* no reading while answers wait: back-pressure */
        }
        switch (c->state) {
        case CLIENT_PROXY_HEADER: going = proxy_header(c); break;
        case CLIENT_READ_HEAD:
            going = !c->close_after && read_heads(c);
            if (c->dead || !client_conn_flush(c) || out_queue_waits(&c->out))
                break;
            if (c->state == CLIENT_READ_HEAD && c->close_after) {
                begin_close(c);
                going = c->state == CLIENT_LINGER && c->readable;
            } else if (c->state == CLIENT_BUSY) {
                going = true;
            } else if (c->kept_len > 0 && c->head_began == 0) {
                going = true;
            }
            break;
        case CLIENT_BUSY: going = busy(c, what); break;
        case CLIENT_TUNNEL:
            tunnel_client_ready(c->tunnel, what);
            going = c->state != CLIENT_TUNNEL;
            break;
        case CLIENT_LINGER:
            linger(c);
            going = false;
            break;
        }
    }
    c->in_run = false;
    if (c->dead) {
        struct transaction *tx = c->tx;
        struct tunnel *tunnel = c->tunnel;

        c->tx = NULL;
        c->tunnel = NULL;
        /* Somebody may still be at work for it. */
        if (tx != NULL)
            transaction_client_gone(tx);
        if (tunnel != NULL)
            tunnel_client_gone(tunnel);
        client_conn_drop_ahead(c);
        client_free(c);
    }
}

void client_conn_next(struct client_conn *c)
{
    c->tx = NULL;
    c->tunnel = NULL;
    c->state = CLIENT_READ_HEAD;
    c->stamp = worker_mono(c->pw->worker);
    if (c->pw->draining || c->port < 0)
        c->close_after = true;
    if (c->close_after)
        client_conn_drop_ahead(c);
    else
        client_conn_take_ahead(c);
    if (!c->in_run)
        client_conn_run(c, 0);
}

void client_conn_abort(struct client_conn *c, bool reset)
{
    c->tx = NULL;
    c->tunnel = NULL;
    c->reset = reset;
    c->dead = true;
    if (!c->in_run)
        client_conn_run(c, 0);
}

/* --- waits ------------------------------------------------------------------------------------------------------ */

/* A head that never ends. */
static void refuse_slow_head(struct client_conn *c)
{
    struct error_answer a = {
        .id = ERR_REQUEST_PARSE_TIMEOUT,
        .tag = TAG_NONE,
        .url = SPAN("error:transaction-end-before-headers"),
        .detail = "the request's head didn't end within request_timeout",
        .close = true,
    };

    c->head_began = 0;
    client_conn_drop_kept(c);
    client_conn_error(c, &a);
    client_conn_run(c, 0);
}

static void give_up(struct client_conn *c, bool log)
{
    if (log)
        log_unfinished(c, 0);
    c->dead = true;
    client_conn_run(c, 0);
}

void client_conn_sweep(struct client_conn *c, int64_t mono)
{
    const struct settings *s = c->pw->settings;
    int64_t quiet = mono - c->stamp;

    if (out_queue_waits(&c->out)) {
        if (quiet > s->write_timeout)
            give_up(c, false);
        return;
    }
    switch (c->state) {
    case CLIENT_PROXY_HEADER:
        if (mono - c->opened > s->request_start_timeout)
            give_up(c, true);
        break;
    case CLIENT_READ_HEAD:
        if (c->head_began != 0) {
            /* Absolute, from the first byte: a byte now and then doesn't prolong it (slowloris, U08). */
            if (mono - c->head_began > s->request_timeout)
                refuse_slow_head(c);
        } else if (quiet > (c->requests > 0 ? s->client_idle_pconn_timeout : s->request_start_timeout)) {
            give_up(c, c->requests == 0);
        } else if (client_conn_is_old(c) && client_conn_rests(c, mono)) {
            give_up(c, false);
        }
        break;
    case CLIENT_LINGER:
        if (quiet > LINGER_US)
            give_up(c, false);
        break;
    case CLIENT_BUSY: transaction_sweep(c->tx, mono); break;
    case CLIENT_TUNNEL: tunnel_sweep(c->tunnel, mono); break;
    }
}

bool client_conn_rests(const struct client_conn *c, int64_t mono)
{
    return c->state == CLIENT_READ_HEAD && c->requests > 0 && c->kept_len == 0 && !out_queue_waits(&c->out) &&
           mono - c->stamp > REST_US;
}

void client_conn_kill(struct client_conn *c)
{
    c->dead = true;
    client_conn_run(c, 0);
}

void client_conn_drain(struct client_conn *c)
{
    if (c->state == CLIENT_PROXY_HEADER) {
        client_conn_kill(c);
        return;
    }
    /* A head that is arriving through a port that stays is still answered. */
    if (c->port >= 0 && c->kept_len > 0)
        return;
    if (c->port < 0)
        c->close_after = true;
    if (c->state == CLIENT_READ_HEAD && !out_queue_waits(&c->out)) {
        c->close_after = true;
        client_conn_run(c, 0);
    }
}
