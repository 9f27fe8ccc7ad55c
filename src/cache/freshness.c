#include "cache/freshness.h"

#include "hdrs/field_date.h"
#include "hdrs/field_list.h"
#include "hdrs/field_number.h"

/* refresh_pattern . 0 20% 4320 */
static const struct refresh_rule built_in_rule = { .min = 0, .max = 4320 * 60, .percent = 20, .max_stale = -1 };

static int64_t max64(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t min64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Age is one number, but lists are seen: caches on the way append theirs. The first member is the one nearest to
 * the origin's answer; when it is no number the whole field is worth nothing (caching-rules A5, A6). */
static int64_t age_of(const struct head *response)
{
    for (const struct head_field *f = head_find(response, TOKEN_AGE); f != NULL; f = head_next(response, f)) {
        struct span rest = field_value(response, f), member;
        int64_t age;

        if (list_next(&rest, &member))
            return delta_seconds_parse(member, &age) ? age : 0;
    }
    return 0;
}

struct response_times response_times_of(const struct head *response, int64_t request_time, int64_t response_time)
{
    struct response_times t = { .request_time = request_time, .response_time = response_time };

    if (!date_parse(head_value(response, TOKEN_DATE), response_time, &t.date_value))
        t.date_value = response_time;
    t.age_value = age_of(response);
    return t;
}

/* RFC 9111 section 4.2.3 in its own names. A wall clock stepped back between two readings gives negative
 * differences: those count as none. */
int64_t current_age(const struct response_times *t, int64_t now)
{
    int64_t apparent_age = max64(0, saturating_sub(t->response_time, t->date_value));
    int64_t response_delay = max64(0, saturating_sub(t->response_time, t->request_time));
    int64_t corrected_age_value = saturating_add(max64(0, t->age_value), response_delay);
    int64_t corrected_initial_age = max64(apparent_age, corrected_age_value);
    int64_t resident_time = max64(0, saturating_sub(now, t->response_time));

    return saturating_add(corrected_initial_age, resident_time);
}

bool status_is_heuristically_cacheable(int status)
{
    switch (status) {
    case 200:
    case 203:
    case 204:
    case 206:
    case 300:
    case 301:
    case 308:
    case 404:
    case 405:
    case 410:
    case 414:
    case 501: return true;
    default: return false;
    }
}

/* Servers that know no Cache-Control for an old client say Expires: now when they vary, and mean nothing by it. */
static bool expires_at_once_for_vary(const struct head *response, const struct response_times *t, int64_t expires)
{
    return expires == t->date_value && head_find(response, TOKEN_DATE) != NULL &&
           head_find(response, TOKEN_VARY) != NULL;
}

/* What the origin said itself. False: nothing. A statement that can't be read, or contradicts itself, means stale:
 * nobody meant it to be reused (section 4.2.1; caching-rules P4, P7, D4, D5). */
static bool explicit_lifetime(const struct head *response, const struct cache_control *cc,
                              const struct response_times *t, bool vary_ignore_expire, int64_t *lifetime)
{
    const struct head_field *expires =
        (cc->flags & CC_TARGETED) ? NULL : head_find(response, TOKEN_EXPIRES); /* RFC 9213 section 2.1 */
    int64_t at;

    *lifetime = 0;
    if (cc->flags & CC_BAD_FRESHNESS)
        return true;
    if (cc->s_maxage >= 0) {
        *lifetime = cc->s_maxage;
        return true;
    }
    if (cc->max_age >= 0) {
        *lifetime = cc->max_age;
        return true;
    }
    if (expires == NULL)
        return false;
    if (head_next(response, expires) == NULL && date_parse(field_value(response, expires), t->response_time, &at)) {
        if (vary_ignore_expire && expires_at_once_for_vary(response, t, at))
            return false;
        *lifetime = max64(0, saturating_sub(at, t->date_value));
    }
    return true;
}

/* A fraction of the time since the last change (section 4.2.2). False: no usable Last-Modified. One in the future
 * says nothing about the past (caching-rules H3). */
static bool last_modified_lifetime(const struct head *response, const struct response_times *t,
                                   const struct refresh_rule *rule, int64_t *lifetime)
{
    int64_t last_modified, unchanged;

    if (!date_parse(head_value(response, TOKEN_LAST_MODIFIED), t->response_time, &last_modified))
        return false;
    unchanged = saturating_sub(t->date_value, last_modified);
    if (unchanged <= 0)
        return false;
    *lifetime = max64(0, saturating_mul(unchanged, rule->percent) / 100);
    return true;
}

int64_t freshness_lifetime(const struct head *response, const struct cache_control *cc, const struct response_times *t,
                           const struct refresh_rule *rule, enum lifetime_source *source)
{
    /* must-revalidate forbids what override-expire would do, and the origin's word is stronger there: as in Squid. */
    bool must_revalidate = cc->flags & (CC_MUST_REVALIDATE | CC_PROXY_REVALIDATE);
    int64_t lifetime;

    if (rule == NULL)
        rule = &built_in_rule;
    if (explicit_lifetime(response, cc, t, rule->vary_ignore_expire, &lifetime)) {
        bool override = rule->override_expire && !must_revalidate && rule->min > lifetime;

        *source = override ? LIFETIME_RULE : LIFETIME_EXPLICIT;
        return override ? rule->min : lifetime;
    }
    *source = LIFETIME_NONE;
    if (!status_is_heuristically_cacheable(response->status) && !(cc->flags & CC_PUBLIC))
        return 0;
    if (last_modified_lifetime(response, t, rule, &lifetime)) {
        bool override = rule->override_lastmod && !must_revalidate && rule->min > lifetime;

        *source = override ? LIFETIME_RULE : LIFETIME_HEURISTIC;
        return max64(0, min64(override ? rule->min : lifetime, rule->max));
    }
    /* Nothing to go by: min alone decides, and 0 there (the default) means stale. */
    if (rule->min <= 0)
        return 0;
    *source = LIFETIME_RULE;
    return max64(0, min64(rule->min, rule->max));
}
