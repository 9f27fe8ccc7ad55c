#include "proxy/purge.h"

#include "proxy/own_reply.h"
#include "proxy/transaction.h"

static bool wants_soft(const struct request *r)
{
    const struct head_field *f = head_find_name(r->head, SPAN("Purge-Soft"), NULL);

    return f != NULL && span_eq(field_value(r->head, f), SPAN("1"));
}

/* False: a mode there isn't. */
static bool read_query(const struct request *r, struct purge_query *q)
{
    const struct head_field *mode = head_find_name(r->head, SPAN("Purge-Mode"), NULL);
    const struct head_field *tags = head_find_name(r->head, SPAN("Surrogate-Key"), NULL);

    *q = (struct purge_query){ .mode = PURGE_EXACT };
    if (tags != NULL) {
        *q = (struct purge_query){ PURGE_TAGS, field_value(r->head, tags) };
        return mode == NULL;
    }
    if (mode == NULL || span_eq_nocase(field_value(r->head, mode), SPAN("exact")))
        return true;
    *q = (struct purge_query){ PURGE_PREFIX, r->uri.text };
    return span_eq_nocase(field_value(r->head, mode), SPAN("prefix"));
}

void purge_reply(struct client_conn *c, const struct request *r, size_t count)
{
    struct own_reply a = {
        .status = count > 0 ? 200 : 404,
        .phrase = count > 0 ? "OK" : "Not Found",
        .fields = "Content-Type: application/json\r\n",
        .mime = SPAN("application/json"),
        .tag = TAG_TCP_MISS,
        .reason = count > 0 ? "purged" : "nothing to purge",
    };

    sb_printf(&a.body, "{\"purged\": %zu}\n", count);
    own_reply(c, r, &a);
}

static void refuse(struct client_conn *c, const struct request *r, enum error_id id, const char *why)
{
    struct error_answer a = {
        .id = id, .tag = id == ERR_ACCESS_DENIED ? TAG_TCP_DENIED : TAG_NONE, .r = r, .detail = why
    };

    client_conn_error(c, &a);
}

void serve_purge(struct client_conn *c, const struct request *r, struct transaction *tx)
{
    struct proxy_worker *pw = c->pw;
    struct epoch_thread *epoch = pw->worker->epoch;
    struct purge_query q;

    if (!acl_set_names_method((tx != NULL ? transaction_settings(tx) : pw->settings)->acls, METHOD_PURGE)) {
        refuse(c, r, ERR_ACCESS_DENIED, "PURGE is off: no acl line names the method");
    } else if (!read_query(r, &q)) {
        refuse(c, r, ERR_INVALID_REQ, "Purge-Mode is neither exact nor prefix, or stands beside Surrogate-Key");
    } else if (q.mode == PURGE_EXACT) {
        purge_reply(c, r, wants_soft(r) ? store_soften(pw->store, r->key) : store_invalidate(pw->store, epoch, r->key));
    } else {
        transaction_purge(tx ? tx : transaction_new(c, r));
        return;
    }
    if (tx != NULL) {
        (void)client_conn_flush(c);
        transaction_drop(tx);
    }
}

/* --- all of them ------------------------------------------------------------------------------------------------ */

static bool matches(const struct object *o, void *ctx)
{
    return purge_matches(ctx, o);
}

static void next_part(struct worker_timer *t)
{
    struct purge_run *p = CONTAINER_OF(t, struct purge_run, timer);

    if (p->soft)
        p->count += store_soften_part(p->pw->store, p->part, matches, &p->query);
    else
        p->count += store_remove_part(p->pw->store, p->pw->worker->epoch, p->part, matches, &p->query);
    if (++p->part < STORE_PARTS)
        worker_timer_set(p->pw->worker, &p->timer, 0, next_part);
    else
        p->done(p);
}

void purge_start(struct purge_run *p, struct proxy_worker *pw, const struct request *r,
                 void (*done)(struct purge_run *p))
{
    p->pw = pw;
    p->done = done;
    p->soft = wants_soft(r);
    (void)read_query(r, &p->query); /* serve_purge() has seen that it is one */
    /* What is being fetched now may be the old state, whatever its URL and tags turn out to be. */
    if (!p->soft)
        store_refuse_fetches(pw->store);
    next_part(&p->timer);
}

void purge_cancel(struct purge_run *p)
{
    worker_timer_clear(&p->timer);
}
