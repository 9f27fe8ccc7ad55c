#include "proxy/serve.h"

#include "config.h"

#include <assert.h>
#include <stdlib.h>
#include "cache/partial.h"
#include "cache/range.h"
#include "cache/validate.h"
#include "hdrs/field_date.h"
#include "proxy/account.h"
#include "proxy/admission.h"
#include "proxy/background.h"
#include "proxy/delay.h"
#include "proxy/header_mangle.h"
#include "proxy/indirect_client.h"
#include "proxy/own_reply.h"
#include "proxy/purge.h"
#include "proxy/reply.h"
#include "proxy/reply_rules.h"
#include "proxy/request_access.h"
#include "proxy/rewrite.h"
#include "proxy/transaction.h"
#include "proxy/upgrade.h"
#include "proxy/wishes.h"

/* Bodies up to this go out with the batch; larger ones get a transaction, so that their log line says how they ended.
 * */
#define BATCH_BODY_MAX (256u << 10)

/* Those a request is served under: a new configuration that comes while it waits isn't its. */
static const struct settings *settings_for(const struct client_conn *c, const struct transaction *tx)
{
    return tx != NULL ? transaction_settings(tx) : c->pw->settings;
}

/* --- answers from memory ---------------------------------------------------------------------------------------- */

static void hit_log(struct log_entry *e, const struct request *r, const struct object *o, enum log_tag tag, int status,
                    uint64_t head, uint64_t body, const char *reason)
{
    log_entry_from_request(e, r);
    e->tag = tag;
    e->status = status;
    e->head_out = head;
    e->bytes_out = head + body;
    e->mime = object_piece(o, o->content_type);
    e->reply_head = object_head(o);
    e->reason = reason;
}

/* What a request's Range selects. */
struct ranges {
    enum range_result result;
    size_t n;
    struct byte_range parts[RANGE_PARTS_MOST];
};

static uint64_t ranges_bytes(const struct ranges *r)
{
    uint64_t n = 0;

    for (size_t i = 0; i < r->n; i++)
        n += r->parts[i].last - r->parts[i].first + 1;
    return n;
}

static void serve_not_modified(struct client_conn *c, const struct settings *s, const struct request *r,
                               const struct object *o, enum log_tag tag, const struct reply_tail *tail,
                               const char *reason)
{
    struct log_entry e;
    size_t n, head;
    char *bytes = reply_not_modified(c->pw, o, tail, &n);

    head = n;
    hit_log(&e, r, o, tag, 304, n, 0, reason);
    bytes = header_mangle_reply(s, r, &e, bytes, &n, &head);
    account(c->pw, &e, r);
    out_add_owned(&c->pw->out, bytes, n);
}

/* 416, or several parts: made whole, in memory of their own. */
static void serve_own_reply(struct client_conn *c, const struct settings *s, const struct request *r,
                            const struct object *o, enum log_tag tag, const struct reply_tail *tail,
                            const struct ranges *ranges, const char *reason)
{
    struct log_entry e;
    size_t n, head;
    char *bytes;

    if (ranges->result == RANGE_UNSATISFIABLE) {
        bytes = reply_unsatisfiable(c->pw, object_length(o), *tail, &n);
        head = n;
        hit_log(&e, r, o, tag, 416, n, 0, "the range asked for is beyond the end");
    } else {
        bytes = reply_multipart(c->pw, o, ranges->parts, ranges->n, *tail, &n, &head);
        hit_log(&e, r, o, tag, 206, head, n - head, reason);
    }
    bytes = header_mangle_reply(s, r, &e, bytes, &n, &head);
    account(c->pw, &e, r);
    out_add_owned(&c->pw->out, bytes, n);
}

/* What the request's conditions make of o. */
static enum condition conditions_of(const struct client_conn *c, const struct settings *s, const struct request *r,
                                    const struct object *o, struct ranges *ranges)
{
    enum condition condition;

    ranges->result = RANGE_IGNORE;
    if ((o->status != 200 && !object_is_part(o)) || !request_is_conditional(r->head))
        return CONDITION_SEND;
    condition = client_condition(r->head, o, worker_wall(c->pw->worker) / 1000000);
    if (condition != CONDITION_SEND || o->body == NULL)
        return condition;
    ranges->result = range_of(r->head, o, object_part(o).whole, ranges->parts, (size_t)s->range_parts_max, &ranges->n);
    if (ranges->result == RANGE_SEVERAL && ranges_bytes(ranges) > BATCH_BODY_MAX)
        ranges->result = RANGE_IGNORE; /* it would all be copied; the whole isn't */
    return condition;
}

void serve_object(struct client_conn *c, const struct request *r, struct transaction *tx, struct object *o,
                  enum log_tag tag, const char *reason)
{
    struct proxy_worker *pw = c->pw;
    const struct settings *s = settings_for(c, tx);
    struct ranges ranges;
    enum condition condition = conditions_of(c, s, r, o, &ranges);
    const struct byte_range *part = ranges.result == RANGE_ONE ? &ranges.parts[0] : NULL;
    struct reply_tail tail = {
        .age = object_age(o, worker_mono(pw->worker)),
        .close = !r->keep_alive || pw->draining || (o->status >= 400 && !s->persistent_connection_after_error),
        .minor_version = r->minor_version,
        .outcome = { .hit = true,
                     .lookup = LOOKUP_HIT,
                     .has_ttl = true,
                     .ttl = (o->fresh_until - worker_mono(pw->worker)) / 1000000,
                     .code = log_tag_rows[tag].text,
                     .reason = reason,
                     .port = c->local.port,
                     .access_line = r->access_line },
    };
    uint64_t length = part ? part->last - part->first + 1 : object_length(o);
    uint64_t body = r->method == METHOD_HEAD ? 0 : length;
    struct log_entry e;
    size_t n;

    if (condition == CONDITION_SEND && (ranges.result == RANGE_IGNORE || part != NULL) &&
        (body > BATCH_BODY_MAX || !header_rules_none(&s->reply_headers) || delay_limits_client(s, r))) {
        transaction_object(tx ? tx : transaction_new(c, r), o, tag, reason, part);
        return;
    }
    if (tail.close)
        c->close_after = true;
    if (condition != CONDITION_SEND) {
        if (tag == TAG_TCP_MEM_HIT)
            tag = condition == CONDITION_NOT_MODIFIED_ETAG ? TAG_TCP_INM_HIT : TAG_TCP_IMS_HIT;
        serve_not_modified(c, s, r, o, tag, &tail, reason);
    } else if (ranges.result != RANGE_IGNORE && part == NULL) {
        serve_own_reply(c, s, r, o, tag, &tail, &ranges, reason);
    } else {
        tail.has_length = o->status != 204 && o->status != 304;
        tail.length = length;
        if (part != NULL) {
            tail.has_range = true;
            tail.range = *part;
            tail.whole = object_part(o).whole;
        }
        n = reply_tail(pw, &tail, out_head_room(&pw->out));
        hit_log(&e, r, o, tag, part ? 206 : o->status,
                (part ? reply_partial_line.len + object_fields(o).len : o->head_len) + n, body, reason);
        account(pw, &e, r);
        out_add_object(&pw->out, o, part ? reply_partial_line : SPAN_NONE, n,
                       part ? part->first - object_part(o).first : 0, body);
    }
    if (tx != NULL) {
        /* The batch holds o only until it is flushed; here nobody else will. */
        (void)client_conn_flush(c);
        transaction_drop(tx);
    }
}

/* --- pages of our own ------------------------------------------------------------------------------------------- */

/* g: what the page needs of all workers; NULL: nothing yet. The kind it needs first, or NULL: answered. */
static const struct gather_kind *serve_internal(struct client_conn *c, const struct settings *s,
                                                const struct request *r, const struct gathering *g)
{
    struct proxy_worker *pw = c->pw;
    struct internal_request q = {
        .page = r->page,
        .password = r->page_password,
        .request = r->head,
        .settings = s,
        .worker = pw->worker,
        .gathered = g,
    };
    struct internal_answer a = { .status = 404, .error_name = "ERR_INVALID_URL" };
    struct strbuf fields = { 0 };
    char date[DATE_BYTES];

    pw->service->answer(pw->service->ctx, &q, &a);
    if (a.status == 404) {
        struct error_answer missing = {
            .id = ERR_INVALID_URL, .status = 404, .tag = TAG_TCP_MISS, .r = r, .detail = "no such manager page"
        };

        sb_free(&a.body);
        client_conn_error(c, &missing);
        return NULL;
    }
    if (a.needs != NULL)
        return a.needs;
    date_print(date, worker_wall(pw->worker) / 1000000);
    sb_printf(&fields,
              "Server: loligo%s\r\nMime-Version: 1.0\r\nContent-Type: text/plain;charset=utf-8\r\nExpires: %.*s\r\n"
              "Last-Modified: %.*s\r\nCache-Control: no-store\r\n",
              s->httpd_suppress_version_string ? "" : "/" PACKAGE_VERSION, DATE_BYTES, date, DATE_BYTES, date);
    if (a.status == 401)
        sb_printf(&fields, "X-Squid-Error: %s 0\r\nWWW-Authenticate: Basic realm=\"%s\"\r\n", a.error_name, a.realm);
    own_reply(c, r,
              &(struct own_reply){
                  .status = a.status,
                  .phrase = a.status == 200 ? "OK" : "Unauthorized",
                  .fields = fields.p,
                  .mime = SPAN("text/plain"),
                  .body = a.body,
                  .reason = "manager page",
                  .error_name = a.status != 200 ? a.error_name : NULL,
                  .tag = TAG_TCP_MISS,
              });
    sb_free(&fields);
    return NULL;
}

void serve_gathered(struct client_conn *c, const struct request *r, struct transaction *tx, const struct gathering *g)
{
    const struct gather_kind *more = serve_internal(c, transaction_settings(tx), r, g);

    assert(more == NULL);
    (void)more;
    (void)client_conn_flush(c);
    transaction_drop(tx);
}

/* --- the last one in line --------------------------------------------------------------------------------------- */

/* TRACE: the request as it came. OPTIONS: what may be asked of a proxy. */
static void serve_last(struct client_conn *c, const struct request *r)
{
    const struct head *h = r->head;
    bool trace = r->method == METHOD_TRACE;
    struct own_reply a = {
        .status = 200,
        .phrase = "OK",
        .fields = trace ? "Content-Type: message/http\r\n"
                        : "Allow: GET, HEAD, POST, PUT, DELETE, OPTIONS, TRACE, CONNECT\r\n",
        .reason = "Max-Forwards ends here",
        .tag = TAG_TCP_MISS,
    };

    if (trace) {
        sb_span(&a.body, head_piece(h, h->method_name));
        sb_char(&a.body, ' ');
        sb_span(&a.body, head_piece(h, h->target));
        sb_printf(&a.body, " HTTP/1.%d\r\n", h->minor_version);
        for (unsigned i = 0; i < h->n_fields; i++)
            if (!token_is_secret((enum token)h->fields[i].token)) {
                sb_span(&a.body, field_name(h, &h->fields[i]));
                sb_str(&a.body, ": ");
                sb_span(&a.body, field_value(h, &h->fields[i]));
                sb_str(&a.body, "\r\n");
            }
        sb_str(&a.body, "\r\n");
    }
    own_reply(c, r, &a);
}

/* --- look-up ---------------------------------------------------------------------------------------------------- */

static void serve_only_if_cached(struct client_conn *c, const struct request *r)
{
    struct error_answer a = { .id = ERR_ONLY_IF_CACHED_MISS,
                              .tag = TAG_TCP_MISS,
                              .r = r,
                              .detail = "not in the cache, and the client asked for nothing else" };

    client_conn_error(c, &a);
}

/* What is stored may not go to this client. */
static bool stored_denied(struct client_conn *c, const struct settings *s, const struct request *r,
                          const struct object *o)
{
    struct reply_ruling ruling;
    struct error_answer a = { .tag = TAG_TCP_DENIED_REPLY, .r = r };

    if (reply_rules_none(s) || reply_rules_allow(s, r, o, object_length(o), NULL, &ruling))
        return false;
    a.id = ruling.error;
    a.status = ruling.status;
    a.detail = ruling.detail;
    a.access_line = ruling.access_line;
    a.deny = ruling.deny;
    client_conn_error(c, &a);
    return true;
}

/* Only a part is asked for; range_offset_limit wants the whole fetched all the same. */
static bool fetch_whole(const struct settings *s, const struct request *r)
{
    if (s->range_offset_limits.n == 0 || !range_is_only_condition(r->head))
        return false;
    for (size_t i = 0; i < s->range_offset_limits.n; i++) {
        const struct size_limit *l = &s->range_offset_limits.p[i];

        if (l->when == NULL || request_allowed(l->when, r))
            return l->max < 0 || range_first(r->head) < (uint64_t)l->max;
    }
    return false;
}

/* Is this request one whose answer can replace what is stored, while it gets the stale one? */
static bool may_fetch_meanwhile(const struct request *r)
{
    return r->method == METHOD_GET && !(r->cc.flags & (CC_NO_STORE | CC_ONLY_IF_CACHED));
}

/* offline_mode: nothing is asked for that is here, but what may never be used unasked. */
static bool offline_will_do(const struct settings *s, const struct object *o)
{
    unsigned strict = OBJECT_MUST_REVALIDATE | OBJECT_NO_CACHE | OBJECT_VARY_STAR;

    return s->offline_mode && !(o->flags & strict);
}

/* To a client that may have it. renew: have it validated behind its back. */
static void serve_stored(struct client_conn *c, const struct request *r, struct transaction *tx, struct object *o,
                         enum log_tag tag, const char *reason, bool renew)
{
    if (stored_denied(c, settings_for(c, tx), r, o)) {
        if (tx != NULL) {
            (void)client_conn_flush(c);
            transaction_drop(tx);
        }
        return;
    }
    if (renew)
        background_validate(c->pw, r, o);
    serve_object(c, r, tx, o, tag, reason);
}

/* No whole response was selected. True: a part was, and it has all that is wanted. Else it may begin what is fetched. */
static bool serve_part(struct client_conn *c, const struct request *r, struct transaction *tx, struct miss *m)
{
    const struct settings *s = settings_for(c, tx);
    struct object *p = store_lookup_part(c->pw->store, r->key, r->head);
    enum part_use use = p != NULL ? part_use_of(r->head, p, &m->wanted) : PART_USELESS;
    struct cache_control changed;
    enum reuse reuse;
    const char *why;

    if (p == NULL)
        return false;
    m->reason = "another part of it is stored";
    m->fwd = "partial";
    if (use == PART_USELESS)
        return false;
    reuse = reuse_of(p, wishes_of(s, r, &changed), r->ignore_cc, worker_mono(c->pw->worker), &why);
    if (use == PART_SERVES) {
        m->reason = why;
        m->fwd = "stale";
        if (reuse != REUSE_FRESH && reuse != REUSE_STALE_OK)
            return false;
        serve_stored(c, r, tx, p, TAG_TCP_MEM_HIT, why, false);
        return true;
    }
    /* The rest is asked for by If-Range, which validates what is here as well. */
    if (reuse != REUSE_ASKED && !fetch_whole(s, r)) {
        m->begins = p;
        m->reason = "the beginning of it is stored";
    }
    return false;
}

/* GET and HEAD from what is stored. */
static void serve_cached(struct client_conn *c, const struct request *r, struct transaction *tx)
{
    struct proxy_worker *pw = c->pw;
    const struct settings *s = settings_for(c, tx);
    struct miss m = { .cacheable = true, .shared = r->method == METHOD_GET, .tag = TAG_TCP_MISS };
    bool any, collapses;
    struct object *o = store_lookup(pw->store, r->key, r->head, &any);
    struct cache_control changed;

    m.reason = any ? "no stored variant matches" : "not stored";
    m.fwd = any ? "vary-miss" : "uri-miss";
    m.looked_up = true;
    m.any = any;
    if (!request_allowed(s->send_hit, r)) {
        m.shared = false; /* somebody else's answer would be a hit too */
        m.reason = "denied by send_hit";
        m.fwd = "bypass";
    } else if (o != NULL && request_asks_origin(r->head)) {
        m.reason = "a condition that the origin judges";
        m.fwd = "request";
    } else if (o != NULL) {
        enum reuse reuse = reuse_of(o, wishes_of(s, r, &changed), r->ignore_cc, worker_mono(pw->worker), &m.reason);

        pw->refresh.lookups[reuse]++;
        if (reuse == REUSE_FRESH && wishes_ims_refreshed(s, r)) {
            reuse = REUSE_ASKED;
            m.reason = "every condition is asked about: refresh_all_ims, refresh-ims";
        }
        switch (reuse) {
        case REUSE_STALE_MEANWHILE:
        case REUSE_FRESH:
        case REUSE_STALE_OK:
            serve_stored(c, r, tx, o, (o->flags & OBJECT_NEGATIVE) ? TAG_TCP_NEGATIVE_HIT : TAG_TCP_MEM_HIT, m.reason,
                         reuse == REUSE_STALE_MEANWHILE && may_fetch_meanwhile(r));
            return;
        case REUSE_ASKED:
        case REUSE_VALIDATE:
            if (offline_will_do(s, o)) {
                serve_stored(c, r, tx, o, TAG_TCP_OFFLINE_HIT, "offline_mode", false);
                return;
            }
            m.stale = o;
            m.fwd = reuse == REUSE_ASKED ? "request" : "stale";
        }
    } else if (any && serve_part(c, r, tx, &m)) {
        return;
    }
    if (r->cc.flags & CC_ONLY_IF_CACHED) {
        serve_only_if_cached(c, r);
        if (tx != NULL) {
            (void)client_conn_flush(c);
            transaction_drop(tx);
        }
        return;
    }
    m.variants = any && o == NULL && m.shared && m.begins == NULL && !request_is_conditional(r->head);
    if (fetch_whole(s, r))
        m.whole = true;
    else if (m.stale == NULL && m.begins == NULL && wishes_dropped_on_miss(s, r))
        m.unconditional = true;
    else if (request_is_conditional(r->head))
        m.shared = false;
    collapses = s->collapsed_forwarding && request_allowed(s->collapsed_forwarding_access, r);
    m.join = !m.whole && collapses && range_is_only_condition(r->head);
    if (!collapses || (r->cc.flags & CC_NO_STORE))
        m.shared = false;
    transaction_miss(tx ? tx : transaction_new(c, r), &m);
}

void serve_admitted(struct client_conn *c, const struct request *r, struct transaction *tx)
{
    if (rewrite_is_wanted(settings_for(c, tx), r))
        transaction_rewrite(tx ? tx : transaction_new(c, r));
    else
        serve_rewritten(c, r, tx);
}

void serve_rewritten(struct client_conn *c, const struct request *r, struct transaction *tx)
{
    if (access_always_allows(settings_for(c, tx)->adapted_http_access))
        serve_adapted(c, r, tx);
    else
        transaction_admit(tx ? tx : transaction_new(c, r), GATE_ADAPTED);
}

void serve_adapted(struct client_conn *c, const struct request *r, struct transaction *tx)
{
    const struct settings *s = settings_for(c, tx);
    struct miss m = { .tag = TAG_TCP_MISS, .reason = "method", .fwd = "method" };

    if (r->is_internal || r->stops_here) {
        const struct gather_kind *needs = NULL;

        if (r->stops_here)
            serve_last(c, r);
        else
            needs = serve_internal(c, s, r, NULL);
        if (needs != NULL) {
            transaction_gather(tx ? tx : transaction_new(c, r), needs);
            return;
        }
        if (tx != NULL) {
            (void)client_conn_flush(c);
            transaction_drop(tx);
        }
        return;
    }
    if (r->method == METHOD_PURGE) {
        serve_purge(c, r, tx);
        return;
    }
    if (r->method == METHOD_CONNECT) {
        transaction_tunnel(tx ? tx : transaction_new(c, r));
        return;
    }
    if (upgrade_wanted(r, s)) {
        m.reason = "another protocol is asked for";
        m.fwd = "bypass";
        m.upgrade = true;
    } else if ((r->method == METHOD_GET || r->method == METHOD_HEAD) && !request_has_body(r)) {
        if (request_allowed(s->cache, r)) {
            serve_cached(c, r, tx);
            return;
        }
        m.reason = "denied by the cache directive";
        m.fwd = "bypass";
    } else if (r->method == METHOD_POST) {
        m.cacheable = request_allowed(s->cache, r); /* for a later GET */
    }
    transaction_miss(tx ? tx : transaction_new(c, r), &m);
}

/* Understood: may it pass? */
static void serve_read(struct client_conn *c, struct request *r)
{
    struct proxy_worker *pw = c->pw;
    struct access_verdict v;

    indirect_client_find(r, pw->settings);
    if (!admission_at_once(pw, r, &v)) {
        transaction_admit(transaction_new(c, r), GATE_HTTP);
        return;
    }
    if (v.answer != ACCESS_ALLOWED) {
        serve_denied(c, r, pw->settings, GATE_HTTP, &v);
        return;
    }
    r->access_line = v.where;
    serve_admitted(c, r, NULL);
}

/* A CONNECT was asked for a login, and this isn't the same once more: it may be what somebody inside the tunnel, which
 * isn't open, says. */
static bool is_no_tunnel(const struct client_conn *c, const struct request *r)
{
    return c->tunnel_to != NULL && (r->method != METHOD_CONNECT || !span_eq(r->uri.text, span_str(c->tunnel_to)));
}

static void serve_annotated(struct client_conn *c, const struct head *h, struct notes *notes)
{
    struct proxy_worker *pw = c->pw;
    struct request_origin o = client_conn_origin(c, notes);
    struct request r;
    enum error_id error;
    const char *what;
    int status;

    r.refs = 0;
    if (!request_from_head(&r, h, &o, pw->uri_text, sizeof pw->uri_text, &error, &status, &what)) {
        struct error_answer a = { .id = error,
                                  .status = status,
                                  .detail = what,
                                  .tag = TAG_NONE,
                                  .method = head_piece(h, h->method_name),
                                  .url = r.uri.text,
                                  .close = status != 417 };

        if (status == 403)
            a.tag = TAG_TCP_DENIED;
        if (a.url.len == 0)
            a.url = h->target.len <= 8192 ? head_piece(h, h->target) : SPAN("error:invalid-request");
        /* Userinfo is never logged (M05). */
        if (memchr(a.url.p, '@', a.url.len) != NULL)
            a.url = SPAN("error:invalid-request");
        client_conn_error(c, &a);
        return;
    }
    if (is_no_tunnel(c, &r)) {
        client_conn_error(
            c, &(struct error_answer){ .id = ERR_INVALID_REQ,
                                       .detail = "after a CONNECT that was asked for a login only the same may come",
                                       .tag = TAG_NONE,
                                       .r = &r,
                                       .close = true });
        return;
    }
    serve_read(c, &r);
    free(r.externals);
}

void serve_request(struct client_conn *c, const struct head *h)
{
    struct notes *notes = NULL;

    if (c->pw->annotating) {
        notes = notes_new();
        if (c->notes == NULL)
            c->notes = notes_new();
    }
    serve_annotated(c, h, notes);
    notes_unref(&notes);
}
