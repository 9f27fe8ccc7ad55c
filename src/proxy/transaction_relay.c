#include "proxy/transaction_private.h"

#include "base/mem.h"
#include "hdrs/chunked.h"
#include "proxy/header_mangle.h"
#include "proxy/interim.h"

/* Bytes of body announced in one chunk at the most: several segments in one send. */
#define CHUNK_MAX (256u << 10)
#define RELAY_PIECES 32
/* Interim responses a client hasn't taken. */
#define INTERIM_BYTES_MAX 65536

/* --- interim responses ------------------------------------------------------------------------------------------ */

void transaction_interims_first(struct transaction *t)
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

/* Sends what waits in pre while no answer is there; what the socket doesn't take goes with the answer. */
void transaction_send_interims(struct transaction *t)
{
    struct iovec v = stream_piece(sb_from(&t->pre, t->pre_at));
    ssize_t n;

    if (v.iov_len == 0 || t->ahead || out_queue_waits(&t->client->out))
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
    transaction_send_interims(t);
}

void transaction_interim(struct transaction *t, const struct head *h)
{
    size_t before;

    if (!takes_interims(t) || (h->status == 100 && t->continue_sent))
        return;
    t->continue_sent |= h->status == 100;
    t->log.status = h->status;
    before = t->pre.len;
    interim_head(&t->pre, h, span_of(t->pw->via_line, t->pw->via_line_len));
    if (!header_rules_none(&t->settings->reply_headers))
        header_mangle(&t->settings->reply_headers, t->request, &t->log, true, 0, &t->pre, before);
    transaction_send_interims(t);
}

/* --- the body --------------------------------------------------------------------------------------------------- */

/* Bytes of the fill in front of the part that is wanted. False: not all of them are here yet. */
static bool pass_over(struct transaction *t)
{
    while (t->skip > 0) {
        struct iovec v[RELAY_PIECES];
        size_t k = fill_peek(&t->reader, v, RELAY_PIECES);
        uint64_t here = 0;

        for (size_t i = 0; i < k; i++)
            here += v[i].iov_len;
        if (here == 0)
            return false;
        here = here < t->skip ? here : t->skip;
        fill_advance(&t->reader, here);
        t->skip -= here;
    }
    return true;
}

/* Of a fill: everything that was wanted is taken. */
static bool part_is_over(const struct transaction *t)
{
    return t->has_part && t->object == NULL && t->skip == 0 && t->reader.at > t->part.last - t->base;
}

static size_t fill_pieces(struct transaction *t, struct iovec *v, size_t n)
{
    uint64_t left = t->part.last + 1 - t->base - t->reader.at;
    size_t k = fill_peek(&t->reader, v, n);

    for (size_t i = 0; t->has_part && i < k; i++) {
        if (v[i].iov_len >= left) {
            v[i].iov_len = (size_t)left;
            return i + 1;
        }
        left -= v[i].iov_len;
    }
    return k;
}

static size_t body_pieces(struct transaction *t, struct iovec *v, size_t n)
{
    if (t->no_body)
        return 0;
    if (t->object != NULL)
        return body_peek(&t->cursor, v, n);
    return part_is_over(t) || !pass_over(t) ? 0 : fill_pieces(t, v, n);
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
    if (t->no_body || t->object != NULL || part_is_over(t))
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
    t->body_left -= here;
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

static void go_on(struct worker_timer *timer)
{
    transaction_relay(CONTAINER_OF(timer, struct transaction, later));
}

/* Of n bytes at hand; 0: not now, but soon. */
static uint64_t may_go(struct transaction *t, uint64_t n)
{
    int64_t wait;
    size_t may = delays_allow(t->delays, CLIENT_DELAYS, (size_t)n, worker_mono(t->pw->worker), &wait);

    delays_took(t->delays, CLIENT_DELAYS, may, worker_mono(t->pw->worker));
    if (may == 0)
        worker_timer_set(t->pw->worker, &t->later, wait, go_on);
    return may;
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
        if (here > 0 && t->body_left == 0) {
            transaction_cut(t, "cut: longer than reply_body_max_size");
            return false;
        }
        if (here > 0) {
            uint64_t most = t->body_left < CHUNK_MAX ? t->body_left : CHUNK_MAX;

            here = may_go(t, here < most ? here : most);
            if (here > 0)
                begin_run(t, here);
            else if (t->pre_at == t->pre.len)
                return false;
        } else {
            enum body_end end = body_end(t);

            if (end == BODY_COMPLETE && t->chunked && !t->last_sent) {
                sb_str(&t->pre, t->any_chunk ? "\r\n" CHUNK_LAST : CHUNK_LAST);
                t->last_sent = true;
            }
            if (t->pre_at == t->pre.len) {
                if (end == BODY_COMPLETE)
                    transaction_finish(t);
                else if (end == BODY_CUT)
                    transaction_cut(t, "cut short: the origin ended before the body did");
                return false;
            }
        }
    }
    v[0] = stream_piece(sb_from(&t->pre, t->pre_at));
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
        transaction_client_is_gone(t);
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

void transaction_relay(struct transaction *t)
{
    if (t->client == NULL || out_queue_waits(&t->client->out))
        return;
    while (relay_some(t))
        ;
}
