/* cache/freshness.h: RFC 9111 section 4.2, and refresh_pattern. Pure: heads and `now` in, seconds out. */
#pragma once
#include "cache/times.h"
#include "hdrs/field_cache_control.h"
#include "hdrs/head.h"

/* One refresh_pattern line as it applies to a URL (the regex was matched above). Seconds and percent. */
struct refresh_rule {
    int64_t min, max;
    int percent;
    bool override_expire, override_lastmod, reload_into_ims, ignore_reload, ignore_no_store, ignore_private,
        refresh_ims, store_stale;
    bool vary_ignore_expire; /* the directive's: with Vary, an Expires that equals Date says nothing */
    int64_t max_stale;       /* -1: the directive's */
};

/* Date, Age and the clock readings of a response. request_time, response_time: seconds since the epoch. */
struct response_times response_times_of(const struct head *response, int64_t request_time, int64_t response_time);

/* RFC 9111 section 4.2.3, saturating, never negative. */
int64_t current_age(const struct response_times *t, int64_t now);

/* Statuses that may be reused on a heuristic lifetime without `public` (RFC 9110 section 15.1; caching-rules H1). */
bool status_is_heuristically_cacheable(int status);

/* The freshness lifetime in seconds, >= 0, and where it came from. Explicit expiry by s-maxage, max-age, Expires; else
 * the heuristic of rule where section 4.2.2 (caching-rules H1-H3) allows one; else 0. cc: that of the response.
 * rule NULL: the built-in line. LIFETIME_RULE: refresh_pattern's min made it; LIFETIME_NEGATIVE: negative_ttl, only
 * ever from storable(). */
enum lifetime_source { LIFETIME_NONE, LIFETIME_EXPLICIT, LIFETIME_HEURISTIC, LIFETIME_RULE, LIFETIME_NEGATIVE };
int64_t freshness_lifetime(const struct head *response, const struct cache_control *cc, const struct response_times *t,
                           const struct refresh_rule *rule, enum lifetime_source *source);
