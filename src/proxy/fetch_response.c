#include "proxy/fetch_private.h"

#include <errno.h>
#include <stdlib.h>
#include "base/clock.h"
#include "base/mem.h"
#include "proxy/header_mangle.h"
#include "proxy/interim.h"
#include "proxy/mail.h"
#include "proxy/outgoing.h"
#include "proxy/stale.h"
#include "proxy/upgrade.h"

/* Bytes taken from one server in one turn: others want theirs, and memory that was evicted comes back between turns. */
#define TURN_MAX (256u << 10)
/* How long, and how often in a fetch, it waits for that memory before it does without (and isn't stored). */
#define ROOM_WAIT_US 1000
#define ROOM_WAITS_MAX 100

/* --- heads and bodies ------------------------------------------------------------------------------------------- */

/* Connections that rest have places of max-conn=, and only their own worker can use them: it keeps its share at the most, so
 * that one worker's don't keep another from going there. */
static bool may_rest(const struct fetch *f)
{
    const struct peer_setting *p = fetch_peer(f);

    return p == NULL || p->max_conn == 0 ||
           pool_idle_of(f->pw->pool, span_str(f->pool_name)) < (size_t)p->max_conn / f->pw->n_workers;
}

static bool response_complete(struct fetch *f, bool surplus)
{
    bool reusable = f->framing.keep_alive && !surplus && !f->ended && !fetch_wants_body(f) && f->out_at == f->out.len &&
                    f->settings->server_persistent_connections && !f->pw->draining && may_rest(f);

    if (f->state == FETCH_BODY)
        (void)fill_complete(f->fill, f->pw->worker->epoch);
    if (reusable) {
        int fd = stream_take(&f->stream);

        pool_put(f->pw->pool, span_str(f->pool_name), fd, &f->ends,
                 outgoing_rest(f->settings, &f->ends, worker_mono(f->pw->worker)), f->place);
        f->place = NULL;
    }
    return fetch_end(f);
}

/* As the client did, on a connection of its own: the answer, and with it our caller's bytes, then can't come before we have
 * returned. */
static bool ask_plainly(struct fetch *f)
{
    f->validating = false;
    fetch_drop_variants(f);
    fetch_drop_part(f);
    f->retried = true;
    fetch_drop_connection(f);
    return fetch_open_route(f);
}

/* A final head, all of it parsed. `rest` is what came behind it. */
static bool final_head(struct fetch *f, const struct head *h, struct span rest)
{
    f->framing = response_framing(h, f->request->method);
    if (f->framing.kind == FRAMING_BAD)
        return fetch_fail(f, ERR_INVALID_RESP, 0);
    fetch_log(f)->server_status = h->status;
    fetch_log(f)->server_us = worker_mono(f->pw->worker) - f->sent;
    old_servers_note(&f->pw->old_servers, f->pool_name, h->minor_version == 0);
    if (fetch_has_elsewhere(f, h->status))
        return fetch_go_elsewhere(f);
    if ((f->validating || f->n_variants > 0) && h->status == 304) {
        if ((f->validating || fetch_select_variant(f, h)) && fetch_revalidate(f, h))
            return response_complete(f, rest.len > 0);
        return ask_plainly(f); /* its validators don't name what we hold (W6) */
    }
    if (f->begins != NULL) {
        f->left = f->framing.length;
        if (h->status == 206 && fetch_continue_part(f, h))
            return true;
        if (h->status == 206 || h->status == 416 || h->status == 304)
            return ask_plainly(f);
        fetch_drop_part(f);
    }
    if (h->status >= 500 && stale_will_do(f->stale, &f->request->cc, f->settings, worker_mono(f->pw->worker)))
        return fetch_fail(f, ERR_READ_ERROR, 0); /* readers take the stale one */
    fetch_invalidate(f, h);
    fetch_learn_from_head(f, h);
    f->left = f->framing.length;
    chunked_init(&f->chunked, (uint32_t)f->settings->chunk_extension_max);
    fetch_set_head(f, h);
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
    struct server_health *place = f->place;
    struct strbuf first = { 0 };
    int fd;

    if (!f->upgrade || owner == NULL || f->out_at < f->out.len || !upgrade_agrees(h, f->request, f->settings))
        return fetch_fail(f, ERR_INVALID_RESP, 0);
    fetch_log(f)->server_status = h->status;
    fetch_log(f)->server_us = worker_mono(f->pw->worker) - f->sent;
    interim_head(&first, h, span_of(f->pw->via_line, f->pw->via_line_len));
    if (!header_rules_none(&f->settings->reply_headers))
        header_mangle(&f->settings->reply_headers, f->request, fetch_log(f), true, 0, &first, 0);
    sb_span(&first, rest);
    fd = stream_take(&f->stream);
    f->owner = NULL;
    f->place = NULL; /* the connection lives on in the tunnel */
    transaction_upgraded(owner, fd, place, &first);
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
        /* The body bytes that came with the head may lie in f->in, which fetch_drop_connection() frees: take it out first. */
        char *mine = f->in;
        struct span rest = span_of(p + h->len, n - h->len);
        bool alive;

        f->in = NULL;
        f->in_len = f->in_capacity = 0;
        alive = final_head(f, h, rest);
        if (alive && f->state == FETCH_BODY) {
            if (f->prefix.left > 0)
                sb_span(&f->held, rest);
            else
                alive = take_body_bytes(f, rest);
        }
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
    return fetch_fail_or_retry(f, f->received > 0 ? ERR_INVALID_RESP : ERR_ZERO_SIZE_OBJECT, 0);
}

/* --- reading ---------------------------------------------------------------------------------------------------- */

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
        (void)fetch_pump_in(f);
    }
}

/* How much to read now; 0: paused. */
static size_t helping(struct fetch *f)
{
    size_t room = fetch_window(f); /* what comes with the head goes in at once */

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
    (void)fetch_pump_in(CONTAINER_OF(t, struct fetch, again));
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

/* Of the part that is continued, in front of what comes. Returns how many bytes, at most `want`. */
static size_t append_stored(struct fetch *f, size_t want)
{
    struct iovec v;
    size_t n = body_peek(&f->prefix, &v, 1) > 0 ? v.iov_len : 0;

    n = n < want ? n : want;
    fill_append(f->fill, f->pw->worker->epoch, v.iov_base, n);
    body_advance(&f->prefix, n);
    return n;
}

static bool take_held_bytes(struct fetch *f)
{
    struct strbuf held = f->held;
    bool alive;

    f->held = (struct strbuf){ 0 };
    alive = take_body_bytes(f, sb_view(&held));
    sb_free(&held);
    return alive;
}

bool fetch_pump_in(struct fetch *f)
{
    char *scratch = f->pw->worker->scratch;
    uint64_t taken = 0;

    while (f->readable || f->prefix.left > 0 || f->held.len > 0) {
        int64_t wait;
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
        if (f->prefix.left > 0) {
            taken += append_stored(f, want);
            continue;
        }
        if (f->held.len > 0) {
            if (!take_held_bytes(f))
                return false;
            continue;
        }
        want = delay_allows(&f->delay, want, worker_mono(f->pw->worker), &wait);
        if (want == 0) {
            worker_timer_set(f->pw->worker, &f->again, wait, read_again);
            return true;
        }
        n = stream_recv(&f->stream, scratch, want);
        if (n == STREAM_AGAIN) {
            f->readable = false;
            return true;
        }
        if (n == STREAM_ERROR)
            return fetch_fail_or_retry(
                f, f->state == FETCH_BODY || f->received > 0 ? ERR_READ_ERROR : ERR_ZERO_SIZE_OBJECT, errno);
        if (n == 0)
            return server_ended(f);
        /* A short read is no proof of an emptied socket: a reset that came with these bytes isn't announced again. */
        delay_took(&f->delay, (size_t)n, worker_mono(f->pw->worker));
        taken += (uint64_t)n;
        f->received += (uint64_t)n;
        f->stamp = worker_mono(f->pw->worker);
        count(counters_of(f->pw), SERVER_HTTP_KBYTES_IN, (uint64_t)n);
        read_sizes_count(&f->pw->reads, (size_t)n);
        if (!(f->state == FETCH_BODY ? take_body_bytes(f, span_of(scratch, (size_t)n))
                                     : head_bytes(f, scratch, (size_t)n)))
            return false;
        if (!stream_is_open(&f->stream))
            return true; /* asked again elsewhere */
    }
    return true;
}
