/* Each request begun early is a transaction that may not answer yet. What can't begin early stays in the connection's buffer. */
#include "proxy/client_conn_private.h"

#include <stdlib.h>
#include "cache/validate.h"
#include "proxy/admission.h"
#include "proxy/indirect_client.h"
#include "proxy/request_access.h"
#include "proxy/rewrite.h"
#include "proxy/transaction.h"
#include "proxy/upgrade.h"

#define HELPING 4096 /* bytes read at a time */

/* Is what the client sends behind it another request, whatever becomes of this one? */
static bool may_be_followed(const struct transaction *t)
{
    const struct request *r = transaction_request(t);

    return r->method != METHOD_CONNECT && !request_has_body(r) && r->keep_alive &&
           !upgrade_wanted(r, transaction_settings(t));
}

/* The second of two requests for the same is a hit, when the first is answered. */
static bool is_asked_already(const struct client_conn *c, const struct request *r)
{
    if (hash128_eq(transaction_request(c->tx)->key, r->key))
        return true;
    for (struct transaction *t = c->ahead; t != NULL; t = *transaction_behind(t))
        if (hash128_eq(transaction_request(t)->key, r->key))
            return true;
    return false;
}

/* A GET that nothing but an origin's answer can serve, and whose answer nobody else needs before its turn. */
static bool is_plain_miss(struct client_conn *c, struct request *r)
{
    struct proxy_worker *pw = c->pw;
    const struct settings *s = pw->settings;
    struct access_verdict v;
    bool any;

    if (r->method != METHOD_GET || r->is_internal || request_has_body(r) || request_is_conditional(r->head) ||
        (r->cc.flags & CC_ONLY_IF_CACHED) || upgrade_wanted(r, s) || is_asked_already(c, r))
        return false;
    indirect_client_find(r, s);
    if (!admission_at_once(pw, r, &v) || v.answer != ACCESS_ALLOWED || rewrite_is_wanted(s, r) ||
        !access_always_allows(s->adapted_http_access) || !access_always_allows(s->miss_access))
        return false;
    r->access_line = v.where;
    return request_allowed(s->cache, r) && store_lookup(pw->store, r->key, r->head, &any) == NULL && !any;
}

/* NULL: not before its turn. */
static struct transaction *begin(struct client_conn *c, const struct head *h)
{
    /* Not shared: a reader that must wait for its turn would hold up whoever reads the same response, and two connections
     * each other. */
    const struct miss m = {
        .cacheable = true, .tag = TAG_TCP_MISS, .reason = "not stored", .fwd = "uri-miss", .looked_up = true
    };
    struct request_origin o = client_conn_origin(c, NULL);
    struct transaction *t = NULL;
    struct request r;
    enum error_id error;
    const char *what;
    int status;

    r.refs = 0;
    if (!request_from_head(&r, h, &o, c->pw->uri_text, sizeof c->pw->uri_text, &error, &status, &what))
        return NULL;
    if (is_plain_miss(c, &r))
        t = transaction_ahead(c, &r, &m);
    free(r.externals);
    return t;
}

/* NULL: there is no whole request, or one that isn't to be begun. */
static struct transaction *begin_kept(struct client_conn *c)
{
    struct head *h = &c->pw->request_head;
    struct parse_limits limits = client_conn_head_limits(c);
    struct transaction *t = NULL;
    struct parse_error e;
    enum parse_result result = parse_request(h, c->kept + c->kept_at, c->kept_len, &limits, &c->progress, &e);

    if (result == PARSE_MORE) {
        if (c->head_began == 0)
            c->head_began = worker_mono(c->pw->worker);
        return NULL;
    }
    c->progress = (struct parse_progress){ 0 };
    c->head_began = 0;
    if (result == PARSE_DONE)
        t = begin(c, h);
    if (t == NULL) {
        c->waits_for_turn = true;
        return NULL;
    }
    c->kept_at += (uint32_t)h->len;
    c->kept_len -= (uint32_t)h->len;
    if (c->kept_len == 0)
        client_conn_drop_kept(c);
    return t;
}

/* One helping. False: nothing came. Till it blocks, since an end isn't announced twice. */
static bool read_on(struct client_conn *c)
{
    char *buf = c->pw->worker->scratch;
    ssize_t got;

    if (!c->readable || c->eof)
        return false;
    got = client_conn_receive(c, buf, HELPING, false);
    if (got > 0)
        client_conn_keep(c, buf, (size_t)got);
    else if (got == STREAM_ERROR || (got == 0 && c->pw->settings->half_closed_clients == TRI_OFF))
        c->dead = c->reset = true;
    return got > 0;
}

void client_conn_look_ahead(struct client_conn *c)
{
    int most = c->pw->settings->pipeline_prefetch, n = 0;
    struct transaction *last = c->tx;

    if (most == 0 || c->close_after || c->port < 0 || c->pw->annotating)
        return;
    for (struct transaction *t = c->ahead; t != NULL; t = *transaction_behind(t), n++)
        last = t;
    while (n < most && !c->waits_for_turn && may_be_followed(last)) {
        struct transaction *t = c->kept_len > 0 ? begin_kept(c) : NULL;

        if (t != NULL) {
            *(last == c->tx ? &c->ahead : transaction_behind(last)) = t;
            last = t;
            n++;
        } else if (c->waits_for_turn || !read_on(c)) {
            return;
        }
    }
}

void client_conn_take_ahead(struct client_conn *c)
{
    struct transaction *t = c->ahead;

    c->waits_for_turn = false;
    if (t == NULL)
        return;
    c->ahead = *transaction_behind(t);
    c->tx = t;
    c->state = CLIENT_BUSY;
}

void client_conn_drop_ahead(struct client_conn *c)
{
    while (c->ahead != NULL) {
        struct transaction *t = c->ahead;

        c->ahead = *transaction_behind(t);
        transaction_client_gone(t);
    }
}
