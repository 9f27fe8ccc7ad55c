#include "proxy/fetch_private.h"

#include "base/clock.h"
#include "cache/invalidate.h"
#include "cache/partial.h"
#include "cache/range.h"
#include "cache/response.h"
#include "cache/storable.h"
#include "cache/validate.h"
#include "hdrs/field_number.h"
#include "proxy/reply.h"
#include "proxy/request_access.h"

/* The key of what a response's Location or Content-Location refers to; false: nothing of the same origin. */
static bool reference_key(const struct fetch *f, const struct head *h, enum token t, struct hash128 *key)
{
    char text[8192];
    struct span v = head_value(h, t);
    struct span uri = v.p ? same_origin_reference(&f->request->uri, v, text, sizeof text) : SPAN_NONE;

    if (uri.p == NULL)
        return false;
    *key = hash128(uri.p, uri.len);
    return true;
}

static bool names_target(const struct fetch *f, const struct head *h)
{
    struct hash128 key;

    return reference_key(f, h, TOKEN_CONTENT_LOCATION, &key) && hash128_eq(key, f->request->key);
}

void fetch_invalidate(struct fetch *f, const struct head *h)
{
    static const enum token references[] = { TOKEN_LOCATION, TOKEN_CONTENT_LOCATION };
    struct epoch_thread *epoch = f->pw->worker->epoch;
    struct hash128 key;

    if (!invalidates(f->request->method, h->status))
        return;
    fill_invalidates(f->fill, epoch);
    for (size_t i = 0; i < 2; i++)
        if (reference_key(f, h, references[i], &key) && !hash128_eq(key, f->request->key))
            store_invalidate(f->pw->store, epoch, key);
}

/* Everything storing and reusing asks about a response. */
static void describe(struct fetch *f, const struct head *h, struct cache_control *cc, struct object_recipe *recipe)
{
    struct worker *w = f->pw->worker;

    struct span targets = SPAN_NONE;

    if (f->request->accel && f->settings->cache_control_targets != NULL)
        targets = span_str(f->settings->cache_control_targets);
    *cc = cache_control_of_response(h, targets);
    *recipe = (struct object_recipe){
        .arena = store_arena(f->pw->store),
        .key = f->request->key,
        .url = f->request->uri.text,
        .request = f->request->head,
        .response = h,
        .response_cc = cc,
        .targets = targets,
        .times = response_times_of(h, f->request_time, worker_wall(w) / US_PER_S),
        .mono = worker_mono(w),
        .rule = settings_refresh_rule(f->settings, request_store_id(f->request)),
    };
    refresh_counts_rule(&f->pw->refresh, f->settings, recipe->rule);
}

size_t fetch_window(const struct fetch *f)
{
    return f->settings->read_ahead_gap > 0 ? (size_t)f->settings->read_ahead_gap : 65536;
}

/* stored: a 304 updates it; else f->begins, if there is one, is continued; else it is made of the response alone. */
static bool no_room_then_make(struct fetch *f, struct object_recipe *recipe, struct object **o, struct object *stored)
{
    for (int tries = 0; tries < 2; tries++) {
        *o = stored      ? object_from_304(stored, recipe)
             : f->begins ? object_from_parts(f->begins, f->last, recipe)
                         : object_from_response(recipe);
        if (*o != NULL)
            return true;
        (void)store_make_room(f->pw->store, f->pw->worker->epoch, 65536);
    }
    return false;
}

void fetch_drop_variants(struct fetch *f)
{
    while (f->n_variants > 0)
        object_unref(&f->variants[--f->n_variants]);
    if (f->another_variant)
        object_unref(&f->stale);
    f->another_variant = false;
}

bool fetch_select_variant(struct fetch *f, const struct head *h)
{
    size_t i = variant_named(f->variants, f->n_variants, h);

    if (i == f->n_variants)
        return false;
    f->stale = object_ref(f->variants[i]);
    f->another_variant = true;
    return true;
}

/* Fields that aren't stored reach the one who asked. */
static void pass_own_fields(struct fetch *f, const struct object_recipe *recipe)
{
    if (f->owner != NULL)
        response_own_fields(recipe, transaction_own_fields(f->owner));
}

/* What the origin now wants kept by nobody, or for one alone, isn't shown to those who wait with us (S15, W18). */
static bool may_keep_update(const struct fetch *f, const struct head *h, const struct cache_control *cc)
{
    return !(cc->flags & (CC_NO_STORE | CC_PRIVATE)) &&
           (f->settings->store_set_cookie || head_find(h, TOKEN_SET_COOKIE) == NULL);
}

bool fetch_revalidate(struct fetch *f, const struct head *h)
{
    struct object_recipe recipe;
    struct cache_control cc;
    struct object *o;

    if (!may_update(f->stale, h))
        return false;
    describe(f, h, &cc, &recipe);
    if (!may_keep_update(f, h, &cc))
        return false;
    pass_own_fields(f, &recipe);
    if (f->request->cc.flags & CC_NO_STORE) {
        fill_revalidated(f->fill, f->pw->worker->epoch, f->stale);
        return true;
    }
    if (f->another_variant && no_room_then_make(f, &recipe, &o, f->stale)) {
        fill_updates(f->fill, f->pw->worker->epoch, o); /* what the 304 names; then the same for this request, too */
        object_unref(&o);
        recipe.another_variant = true;
    }
    if (no_room_then_make(f, &recipe, &o, f->stale)) {
        fill_revalidated(f->fill, f->pw->worker->epoch, o);
        object_unref(&o);
    } else {
        fill_revalidated(f->fill, f->pw->worker->epoch, f->stale);
    }
    return true;
}

void fetch_learn_from_head(struct fetch *f, const struct head *h)
{
    struct object_recipe recipe;
    struct cache_control cc;
    struct object *o;

    if (f->request->method != METHOD_HEAD || h->status != 200 || f->stale == NULL || f->stale->status != 200)
        return;
    describe(f, h, &cc, &recipe);
    switch (head_verdict_of(f->stale, h)) {
    case HEAD_SAYS_NOTHING: return;
    case HEAD_DIFFERS: object_soften(f->stale); return;
    case HEAD_AGREES: break;
    }
    /* As for a 304: what may not be kept is not, and what is kept stays as it is. */
    if ((cc.flags & (CC_NO_STORE | CC_PRIVATE)) || (f->request->cc.flags & CC_NO_STORE) ||
        !no_room_then_make(f, &recipe, &o, f->stale))
        return;
    fill_updates(f->fill, f->pw->worker->epoch, o);
    object_unref(&o);
}

/* What the configuration says, whatever the response does: store_miss, and cache_peer's proxy-only. */
static bool may_store(struct fetch *f)
{
    const struct peer_setting *peer = fetch_peer(f);

    return !(peer != NULL && peer->proxy_only) && request_allowed(f->settings->store_miss, f->request);
}

void fetch_drop_part(struct fetch *f)
{
    f->prefix.left = 0;
    if (f->begins != NULL)
        object_unref(&f->begins);
}

bool fetch_continue_part(struct fetch *f, const struct head *h)
{
    uint64_t length = f->framing.kind == FRAMING_LENGTH ? f->framing.length : 0, stored = object_length(f->begins);
    struct fill_head head = { .length = stored + length, .window = fetch_window(f) };
    struct object_recipe recipe;
    struct cache_control cc;

    if (!part_continues(f->begins, f->last, h, length))
        return false;
    describe(f, h, &cc, &recipe);
    if (!may_keep_update(f, h, &cc))
        return false;
    head.keep = f->cacheable && may_store(f) && !(f->request->cc.flags & CC_NO_STORE);
    if (!head.keep || !no_room_then_make(f, &recipe, &head.object, NULL)) {
        head.keep = false;
        recipe.arena = NULL;
        head.object = object_from_parts(f->begins, f->last, &recipe);
        if (head.object == NULL)
            return false;
    }
    head.shareable = head.keep && !object_is_part(head.object);
    pass_own_fields(f, &recipe);
    if (f->owner != NULL)
        transaction_part_continues(f->owner);
    f->prefix = body_cursor(f->begins->body, 0, stored);
    (void)fill_set_head(f->fill, f->pw->worker->epoch, &head);
    f->state = FETCH_BODY;
    return true;
}

/* One part, as it was asked for, can be kept: *recipe says which it is. */
static bool is_part_asked_for(const struct fetch *f, const struct head *h, struct object_recipe *recipe)
{
    struct byte_range part;

    if (f->whole || f->framing.kind != FRAMING_LENGTH || !range_is_only_condition(f->request->head) ||
        !part_of_response(h, f->framing.length, &part, &recipe->part.whole))
        return false;
    recipe->part.first = part.first;
    return true;
}

void fetch_set_head(struct fetch *f, const struct head *h)
{
    const struct settings *s = f->settings;
    struct object_recipe recipe;
    struct cache_control cc;
    struct store_query q = {
        .request = f->request->head,
        .response = h,
        .request_cc = &f->request->cc,
        .response_cc = &cc,
        .times = &recipe.times,
        .request_has_body = f->request->framing.kind != FRAMING_NONE,
        .negative_ttl = s->negative_ttl / US_PER_S,
        .names_target = f->request->method == METHOD_POST && names_target(f, h),
        .refuse_set_cookie = !s->store_set_cookie,
    };
    enum lifetime_source source = LIFETIME_NONE;
    enum store_reason reason = STORE_NO_ACCESS_LIST;
    struct fill_head head = {
        .length = f->framing.kind == FRAMING_LENGTH ? f->framing.length
                  : f->framing.kind == FRAMING_NONE ? 0
                                                    : UINT64_MAX,
        .window = fetch_window(f),
    };

    describe(f, h, &cc, &recipe);
    q.rule = recipe.rule;
    q.is_part = is_part_asked_for(f, h, &recipe);
    if (f->cacheable && may_store(f)) {
        reason = storable(&q, &recipe.lifetime, &source);
        f->pw->refresh.stored[source]++;
    }
    if (reason == STORE_YES && recipe.lifetime < s->minimum_expiry_time / US_PER_S &&
        !response_has_validator(h, worker_wall(f->pw->worker) / US_PER_S))
        reason = STORE_NO_FRESHNESS;
    recipe.negative = reason == STORE_YES && source == LIFETIME_NEGATIVE;
    head.shareable = reason == STORE_YES;
    head.keep = head.shareable;
    head.no_body = f->framing.kind == FRAMING_NONE;
    /* A HEAD's Content-Length is the GET's; it is relayed, nothing follows. */
    if (f->request->method == METHOD_HEAD && head.no_body) {
        uint64_t n;

        head.length = number_parse(head_value(h, TOKEN_CONTENT_LENGTH), &n) ? n : UINT64_MAX;
        head.keep = false;
    }
    if (head.keep && !no_room_then_make(f, &recipe, &head.object, NULL)) {
        head.keep = false;
        reason = STORE_NO_NO_ROOM;
    }
    if (!head.keep) {
        recipe.arena = NULL;
        recipe.part.whole = 0;
        head.object = object_from_response(&recipe);
        /* One that is still fresh (the client wanted it checked) stays what it is for others (S9). */
        if (f->stale != NULL && f->request->method == METHOD_GET && h->status < 500 &&
            f->stale->fresh_until <= recipe.mono)
            store_remove(f->pw->store, f->pw->worker->epoch, f->stale);
    }
    pass_own_fields(f, &recipe);
    if (h->status == 407 && f->owner != NULL && fetch_peer(f) != NULL && fetch_peer(f)->passes_login)
        reply_challenges(transaction_own_fields(f->owner), h);
    if (reason != STORE_YES)
        fetch_log(f)->reason = store_reason_name(reason);
    (void)fill_set_head(f->fill, f->pw->worker->epoch, &head);
    f->state = FETCH_BODY;
}
