/* proxy/wishes.h: what a client wishes of a stored answer, and how much of that counts here.
 *
 * Threads: the worker's. Nothing is allocated or kept. */
#pragma once
#include <stdbool.h>
#include "conf/settings.h"
#include "proxy/request.h"

/* The request's Cache-Control as it counts: without no-cache (and Pragma, which is the same) and max-age=0 where
 * refresh_pattern says ignore-reload. Either the request's own or *changed. */
const struct cache_control *wishes_of(const struct settings *s, const struct request *r, struct cache_control *changed);

/* The origin is to be asked though what is stored is fresh: by refresh_all_ims for If-Modified-Since and If-None-Match, by
 * refresh-ims of refresh_pattern for If-Modified-Since. */
bool wishes_ims_refreshed(const struct settings *s, const struct request *r);

/* cache_miss_revalidate off: a miss is to bring the whole, though the client has a copy; a GET whose only conditions are
 * If-Modified-Since and If-None-Match. */
bool wishes_dropped_on_miss(const struct settings *s, const struct request *r);
