#include "proxy/fetch_private.h"

/* Bytes sent in one turn of the worker's loop: a client that sends as fast as its server reads must not hold it. */
#define TURN_MAX (256u << 10)

/* Another piece of body into the empty f->out. False: f is gone. *more: there is something to send. */
static bool take_body(struct fetch *f, bool *more)
{
    *more = false;
    if (!fetch_wants_body(f) || f->owner == NULL)
        return true;
    switch (request_body_read(&f->body, transaction_client(f->owner), &f->out)) {
    case REQUEST_BODY_DATA:
        fetch_log(f)->bytes_in = f->request->bytes_in + f->body.received;
        f->stamp = worker_mono(f->pw->worker);
        *more = f->out.len > 0 || !f->body.done;
        return true;
    case REQUEST_BODY_WAIT: return true;
    case REQUEST_BODY_TOO_LARGE: return fetch_fail(f, ERR_TOO_BIG, 0);
    case REQUEST_BODY_CUT: fetch_log(f)->aborted = true; break;
    case REQUEST_BODY_BROKEN: break;
    }
    /* Never completed upstream: the connection goes without a last chunk. */
    return fetch_fail(f, ERR_INVALID_REQ, 0);
}

static void send_on(struct worker_timer *t)
{
    (void)fetch_pump_out(CONTAINER_OF(t, struct fetch, onward));
}

bool fetch_pump_out(struct fetch *f)
{
    size_t sent = 0;

    if (f->onward.set)
        return true;
    for (;;) {
        struct iovec v = stream_piece(sb_from(&f->out, f->out_at));
        bool more;
        ssize_t n;

        if (sent >= TURN_MAX) {
            worker_timer_set(f->pw->worker, &f->onward, 0, send_on);
            return true;
        }
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
            return fetch_pump_in(f);
        }
        count(counters_of(f->pw), SERVER_HTTP_KBYTES_OUT, (uint64_t)n);
        f->out_at += (size_t)n;
        sent += (size_t)n;
        f->stamp = worker_mono(f->pw->worker);
    }
}

void fetch_body_ready(struct fetch *f)
{
    if (f->state == FETCH_HEAD || f->state == FETCH_BODY)
        (void)fetch_pump_out(f);
}
