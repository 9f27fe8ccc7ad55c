#include "proxy/wishes.h"

#include "cache/validate.h"

const struct cache_control *wishes_of(const struct settings *s, const struct request *r, struct cache_control *changed)
{
    bool reloads = (r->cc.flags & CC_NO_CACHE) || r->cc.max_age == 0;

    if (!reloads || !s->refresh_ignores_reload || !settings_refresh_rule(s, request_store_id(r))->ignore_reload)
        return &r->cc;
    *changed = r->cc;
    changed->flags &= ~(unsigned)CC_NO_CACHE;
    if (changed->max_age == 0)
        changed->max_age = -1;
    return changed;
}

/* With the conditions of a client that has a copy. */
static bool asks_if_changed(const struct request *r)
{
    return head_find(r->head, TOKEN_IF_NONE_MATCH) != NULL || head_find(r->head, TOKEN_IF_MODIFIED_SINCE) != NULL;
}

bool wishes_dropped_on_miss(const struct settings *s, const struct request *r)
{
    return !s->cache_miss_revalidate && r->method == METHOD_GET && asks_if_changed(r) &&
           !request_asks_origin(r->head) && head_find(r->head, TOKEN_RANGE) == NULL;
}

bool wishes_ims_refreshed(const struct settings *s, const struct request *r)
{
    if ((!s->refresh_all_ims && !s->refresh_ims) || (r->cc.flags & CC_ONLY_IF_CACHED))
        return false;
    if (s->refresh_all_ims && asks_if_changed(r))
        return true;
    return s->refresh_ims && head_find(r->head, TOKEN_IF_MODIFIED_SINCE) != NULL &&
           settings_refresh_rule(s, request_store_id(r))->refresh_ims;
}
