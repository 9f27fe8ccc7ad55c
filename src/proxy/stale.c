#include "proxy/stale.h"

#include "base/clock.h"

bool stale_will_do(const struct object *o, const struct cache_control *request_cc, const struct settings *s,
                   int64_t mono)
{
    int64_t limit;

    if (o == NULL || (o->flags & (OBJECT_MUST_REVALIDATE | OBJECT_NO_CACHE | OBJECT_VARY_STAR)) ||
        (request_cc->flags & CC_NO_CACHE))
        return false;
    limit = s->max_stale;
    if (o->stale_if_error >= 0 || request_cc->stale_if_error >= 0) /* either may allow it (RFC 5861 section 4) */
        limit = US_PER_S *
                (o->stale_if_error > request_cc->stale_if_error ? o->stale_if_error : request_cc->stale_if_error);
    else if (o->max_stale >= 0)
        limit = o->max_stale * US_PER_S;
    return mono - o->fresh_until <= limit;
}
