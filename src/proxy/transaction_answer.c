#include "proxy/transaction_private.h"

#include "base/clock.h"
#include "cache/range.h"
#include "cache/validate.h"
#include "proxy/header_mangle.h"
#include "proxy/reply.h"
#include "proxy/reply_rules.h"
#include "proxy/stale.h"

static bool reply_allowed(struct transaction *t, const struct object *o, uint64_t length)
{
    struct reply_ruling ruling;

    if (reply_rules_none(t->settings))
        return true;
    if (reply_rules_allow(t->settings, t->request, o, length, &t->log, &ruling)) {
        t->body_left = ruling.body_max;
        return true;
    }
    transaction_leave_fill(t, false);
    transaction_error(t, &(struct error_answer){ .id = ruling.error,
                                                 .status = ruling.status,
                                                 .detail = ruling.detail,
                                                 .tag = TAG_TCP_DENIED_REPLY,
                                                 .access_line = ruling.access_line,
                                                 .deny = ruling.deny });
    return false;
}

static struct cache_outcome outcome_of(struct transaction *t, const struct object *o)
{
    struct cache_outcome c = {
        .hit = log_tag_rows[t->log.tag].is_hit,
        .lookup = !t->miss.looked_up || t->miss.any ? LOOKUP_HIT : LOOKUP_MISS,
        .code = log_tag_rows[t->log.tag].text,
        .reason = t->log.reason,
        .port = t->client->local.port,
        .access_line = t->request->access_line,
        .collapsed = t->waiter,
        .fwd = t->miss.fwd,
        .stored = t->reader.fill != NULL && fill_is_kept(&t->reader),
        .fwd_status = t->log.server_status != o->status ? t->log.server_status : 0,
    };

    if (t->miss.fwd == NULL) { /* a large hit */
        c.has_ttl = true;
        c.ttl = (o->fresh_until - worker_mono(t->pw->worker)) / US_PER_S;
        c.fwd_status = 0;
    } else if (!t->miss.looked_up) {
        c.lookup = LOOKUP_NONE;
    }
    return c;
}

/* A reply that is all head, in front of which interim responses may wait. */
static void send_owned(struct transaction *t, char *bytes, size_t n)
{
    size_t head = n;

    transaction_interims_first(t);
    bytes = header_mangle_reply(t->settings, t->request, &t->log, bytes, &n, &head);
    out_add_owned(&t->pw->out, bytes, n);
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
    tail.outcome = outcome_of(t, o);
    bytes = reply_not_modified(t->pw, o, &tail, &n);
    t->log.status = 304;
    t->log.mime = object_piece(o, o->content_type);
    t->log.reply_head = object_head(o);
    send_owned(t, bytes, n);
    (void)client_conn_flush(c);
    transaction_finish(t);
    return true;
}

static void unsatisfiable(struct transaction *t, const struct object *o, uint64_t length)
{
    struct client_conn *c = t->client;
    struct reply_tail tail = {
        .close = !t->request->keep_alive || t->pw->draining,
        .minor_version = t->request->minor_version,
        .outcome = outcome_of(t, o),
    };
    size_t n;
    char *bytes = reply_unsatisfiable(t->pw, length, tail, &n);

    t->log.status = 416;
    t->log.reason = "the range asked for is beyond the end";
    send_owned(t, bytes, n);
    (void)client_conn_flush(c);
    transaction_finish(t);
}

/* A part of a whole response; true when t is answered already (416). The whole goes out to who asks for several parts here: the
 * rare case isn't worth gathering what is still coming. */
static bool select_part(struct transaction *t, struct object *o, uint64_t length)
{
    struct byte_range parts[RANGE_PARTS_MOST];
    size_t n;

    if (length == UINT64_MAX)
        return false;
    switch (range_of(t->request->head, o, length, parts, (size_t)t->settings->range_parts_max, &n)) {
    case RANGE_ONE:
        t->has_part = true;
        t->part = parts[0];
        return false;
    case RANGE_UNSATISFIABLE: unsatisfiable(t, o, length); return true;
    default: return false;
    }
}

/* pre = the whole head. length: of the body, or of the part. */
static void make_head(struct transaction *t, struct object *o, uint64_t length, bool show_age)
{
    struct reply_tail tail = { .age = -1, .minor_version = t->request->minor_version, .outcome = outcome_of(t, o) };
    bool bodyless_status = o->status == 204 || o->status == 304;
    size_t before;
    char *at;

    t->no_body = bodyless_status || t->request->method == METHOD_HEAD;
    if (t->has_part) {
        tail.has_range = tail.has_length = true;
        tail.range = t->part;
        tail.whole = length;
        tail.length = t->part.last - t->part.first + 1;
    } else if (length != UINT64_MAX && !bodyless_status) {
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
                 (t->fetch != NULL && fetch_wants_body(t->fetch)) ||
                 (o->status >= 400 && !t->settings->persistent_connection_after_error);
    if (tail.close)
        t->request->keep_alive = false;
    if (!t->no_body)
        delay_to_client(t->delays, t->pw, t->settings, t->request);
    before = t->pre.len;
    if (t->has_part) {
        sb_span(&t->pre, reply_partial_line);
        sb_span(&t->pre, object_fields(o));
    } else {
        sb_span(&t->pre, object_head(o));
    }
    sb_span(&t->pre, sb_view(&t->own_fields));
    at = sb_reserve(&t->pre, REPLY_TAIL_MAX);
    t->pre.len += reply_tail(t->pw, &tail, at);
    t->log.status = t->has_part ? 206 : o->status;
    t->log.mime = object_piece(o, o->content_type);
    t->log.reply_head = object_head(o);
    if (!header_rules_none(&t->settings->reply_headers))
        header_mangle(&t->settings->reply_headers, t->request, &t->log, true, 0, &t->pre, before);
    t->log.head_out = t->pre.len - before;
}

void transaction_object(struct transaction *t, struct object *o, enum log_tag tag, const char *reason,
                        const struct byte_range *part)
{
    t->object = object_ref(o);
    t->log.tag = tag;
    t->log.reason = reason;
    t->has_part = part != NULL;
    if (part != NULL)
        t->part = *part;
    make_head(t, o, object_part(o).whole, true);
    if (o->body != NULL && !t->no_body)
        t->cursor = t->has_part
                        ? body_cursor(o->body, t->part.first - object_part(o).first, t->part.last - t->part.first + 1)
                        : body_cursor(o->body, 0, object_length(o));
    t->state = TX_OBJECT;
    if (t->begun)
        transaction_begin(t);
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

/* The part that the fill brings, or, where it continues a stored one, what was wanted of both. */
static void take_part(struct transaction *t, const struct object *o)
{
    uint64_t first = object_part(o).first;

    if (!t->continues)
        t->part = (struct byte_range){ first, first + fill_length(&t->reader) - 1 };
    else if (head_find(t->request->head, TOKEN_RANGE) != NULL)
        t->part = t->miss.wanted;
    else
        return;
    t->has_part = true;
}

static void begin_reply(struct transaction *t)
{
    struct object *o = fill_object(&t->reader);

    if (t->waiter) {
        if (!answers_waiter(t)) {
            transaction_fetch_alone(t);
            return;
        }
        t->log.tag = TAG_TCP_CF_HIT;
        t->log.reason = "shared a fetch under way";
    } else if (t->miss.stale != NULL) {
        t->log.tag = TAG_TCP_REFRESH_MODIFIED;
    }
    if (!reply_allowed(t, o, fill_length(&t->reader)) || not_modified(t, o))
        return;
    /* Unless the origin was asked for the part itself. */
    if ((t->waiter || t->miss.whole || t->miss.stale != NULL || (t->miss.begins != NULL && !t->continues)) &&
        select_part(t, o, fill_length(&t->reader)))
        return;
    if (object_is_part(o) || t->continues)
        take_part(t, o);
    t->base = object_part(o).first;
    if (t->has_part)
        t->skip = t->part.first - t->base;
    make_head(t, o, object_is_part(o) ? object_part(o).whole : fill_length(&t->reader), t->waiter);
    t->state = TX_RELAY;
    transaction_relay(t);
}

/* A stored response after all. */
static void answer_from(struct transaction *t, struct object *stored, enum log_tag tag, const char *reason)
{
    struct object *o = object_ref(stored);

    t->log.tag = tag;
    t->log.reason = reason;
    if (reply_allowed(t, o, object_length(o)) && !not_modified(t, o) && !select_part(t, o, object_length(o)))
        transaction_object(t, o, tag, reason, t->has_part ? &t->part : NULL);
    object_unref(&o);
}

static void revalidated(struct transaction *t)
{
    struct object *o;

    if (t->waiter && !answers_waiter(t)) {
        transaction_fetch_alone(t);
        return;
    }
    o = object_ref(fill_object(&t->reader));
    /* What it learned of the server stays for the log of the owner. */
    transaction_leave_fill(t, true);
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
        transaction_client_is_gone(t);
        return;
    }
    if (id == ERR_ACCESS_DENIED) {
        transaction_error(t, &(struct error_answer){ .id = id,
                                                     .detail = t->error_detail,
                                                     .tag = TAG_TCP_DENIED,
                                                     .access_line = t->log.access_line,
                                                     .deny = settings_deny_info(t->settings, t->denied_by) });
        return;
    }
    if (stale_will_do(t->miss.stale, &t->request->cc, t->settings, worker_mono(t->pw->worker))) {
        transaction_leave_fill(t, false);
        answer_from(t, t->miss.stale, TAG_TCP_REFRESH_FAIL_OLD, "stale: the origin can't be reached");
        return;
    }
    transaction_error(t, &(struct error_answer){
                             .id = id,
                             .status = t->error_status != 0    ? t->error_status
                                       : t->miss.stale != NULL ? 504
                                                               : 0,
                             .detail = t->error_detail,
                             .sys_errno = detail,
                             .tag = t->miss.stale != NULL ? TAG_TCP_REFRESH_FAIL_ERR : t->miss.tag,
                         });
}

void transaction_progress(struct transaction *t)
{
    if (t->state != TX_HEAD || t->client == NULL || t->ahead)
        return;
    switch (fill_state(&t->reader)) {
    case FILL_WAIT_HEAD: return;
    case FILL_RELEASED: transaction_fetch_alone(t); return;
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
