#include "proxy/fetch_private.h"

#include <stdlib.h>
#include "base/mem.h"
#include "proxy/mail.h"

struct log_entry *fetch_log(struct fetch *f)
{
    return f->owner != NULL ? transaction_log(f->owner) : &f->no_log;
}

struct fetch *fetch_of(struct list_node *n)
{
    return CONTAINER_OF(n, struct fetch, node);
}

bool fetch_wants_body(const struct fetch *f)
{
    return !f->body.done;
}

struct fetch_facts fetch_facts(const struct fetch *f)
{
    return (struct fetch_facts){
        .fd = f->stream.fd,
        .server = f->ends.peer,
        .writing = f->out_at < f->out.len,
        .timeout = f->settings->read_timeout,
        .stamp = f->stamp,
        .url = request_log_url(f->request),
    };
}

bool fetch_is_delayed(const struct fetch *f)
{
    return f->delay.pool != NULL;
}

void fetch_drop_connection(struct fetch *f)
{
    worker_timer_clear(&f->again);
    worker_timer_clear(&f->onward);
    worker_timer_clear(&f->expect);
    resolve_cancel(&f->query);
    connect_cancel(&f->connector);
    if (stream_is_open(&f->stream))
        pool_note_closed(f->pw->pool, f->ends.requests);
    stream_close(&f->stream, false);
    server_health_give(&f->place);
    sb_free(&f->out);
    f->out_at = 0;
    free(f->in);
    f->in = NULL;
    f->in_len = f->in_capacity = 0;
    f->progress = (struct parse_progress){ 0 };
    sb_free(&f->held);
    f->readable = f->ended = false;
    f->received = 0;
    f->interim = 0;
}

bool fetch_end(struct fetch *f)
{
    if (f->owner != NULL)
        transaction_fetch_over(f->owner, fetch_wants_body(f));
    list_remove(&f->node);
    fetch_drop_connection(f);
    fill_close(&f->fill);
    mail_close(&f->mail);
    fetch_drop_variants(f);
    if (f->stale != NULL)
        object_unref(&f->stale);
    fetch_drop_part(f);
    delay_end(&f->delay);
    free(f->pool_name);
    request_unref(&f->request);
    settings_unref(&f->settings);
    free(f);
    return false;
}

bool fetch_fail(struct fetch *f, enum error_id error, int sys_errno)
{
    if (f->sent != 0) /* of requests that were sent */
        count(counters_of(f->pw), SERVER_HTTP_ERRORS, 1);
    fill_fail(f->fill, (int)error, sys_errno);
    return fetch_end(f);
}

void fetch_kill(struct fetch *f)
{
    (void)fetch_fail(f, ERR_SHUTTING_DOWN, 0);
}

/* Squid's quick_abort_*: finish a fetch nobody waits for when little is missing. */
static bool worth_finishing(const struct fetch *f)
{
    const struct settings *s = f->settings;
    uint64_t have = fill_received(f->fill), missing = f->left + f->prefix.left;

    if (f->state != FETCH_BODY || !fill_kept(f->fill))
        return false;
    if (s->quick_abort_min < 0)
        return true;
    if (f->framing.kind != FRAMING_LENGTH)
        return false;
    if (missing <= (uint64_t)s->quick_abort_min)
        return true;
    if (s->quick_abort_max >= 0 && missing > (uint64_t)s->quick_abort_max)
        return false;
    return have * 100 >= (have + missing) * (uint64_t)s->quick_abort_pct;
}

void fetch_owner_gone(struct fetch *f, bool complete)
{
    f->owner = NULL;
    if (fetch_wants_body(f)) {
        (void)fetch_fail(f, ERR_READ_ERROR, 0);
        return;
    }
    if (fill_readers(f->fill) > 0 || worth_finishing(f))
        return;
    if (!complete)
        count(counters_of(f->pw), ABORTED_REQUESTS, 1);
    fill_fail(f->fill, ERR_READ_ERROR, 0);
    (void)fetch_end(f);
}

struct fetch *fetch_start(const struct fetch_plan *plan)
{
    struct fetch *f = xcalloc(1, sizeof *f);

    f->pw = plan->pw;
    f->settings = settings_ref(plan->settings);
    f->request = request_ref(plan->request);
    f->fill = plan->fill;
    f->stale = plan->stale ? object_ref(plan->stale) : NULL;
    f->begins = plan->begins ? object_ref(plan->begins) : NULL;
    f->last = plan->last;
    f->cacheable = plan->cacheable;
    f->upgrade = plan->upgrade;
    f->whole = plan->whole;
    f->background = plan->background;
    f->unconditional = plan->unconditional || plan->background;
    f->owner = plan->owner;
    f->stream.fd = -1;
    f->began = f->stamp = worker_mono(f->pw->worker);
    f->validating = f->stale != NULL && (f->stale->etag.len > 0 || f->stale->last_modified_text.len > 0);
    if (plan->variants)
        f->n_variants = store_variants(f->pw->store, f->request->key, f->variants);
    list_append(&f->pw->fetches, &f->node);
    if (!f->background)
        delay_from_server(&f->delay, f->pw, f->settings, f->request);
    request_body_init(&f->body, &f->request->framing, (uint32_t)f->settings->chunk_extension_max,
                      f->settings->request_body_max_size);
    /* Announced to be too large: not a byte of it is asked for. */
    if (f->body.max > 0 && f->body.left > f->body.max)
        return fetch_fail(f, ERR_TOO_BIG, 0) ? f : NULL;
    f->n_routes = peer_routes(f->pw, f->settings, f->request, f->routes);
    if (f->n_routes == 0)
        return fetch_fail(f, ERR_CANNOT_FORWARD, 0) ? f : NULL;
    return fetch_open_route(f) ? f : NULL;
}

void fetch_sweep(struct fetch *f, int64_t mono)
{
    if (f->state != FETCH_HEAD && f->state != FETCH_BODY)
        return; /* the resolver and the connector keep their own time */
    if (f->owner == NULL && !f->background && fill_readers(f->fill) == 0 && !worth_finishing(f)) {
        count(counters_of(f->pw), ABORTED_REQUESTS, 1);
        fill_fail(f->fill, ERR_READ_ERROR, 0);
        (void)fetch_end(f);
        return;
    }
    if (!f->paused && mono - f->stamp > f->settings->read_timeout)
        (void)fetch_fail(f, ERR_READ_TIMEOUT, ETIMEDOUT);
}
