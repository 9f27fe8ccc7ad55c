#include "cache/storable.h"

#include "cache/validate.h"
#include "cache/vary.h"

static const char *const reason_names[STORE_REASON_N] = {
    [STORE_YES] = "stored",
    [STORE_NO_METHOD] = "method",
    [STORE_NO_REQUEST_NO_STORE] = "request-no-store",
    [STORE_NO_NO_STORE] = "no-store",
    [STORE_NO_PRIVATE] = "private",
    [STORE_NO_AUTHORIZATION] = "authorization",
    [STORE_NO_PARTIAL] = "partial",
    [STORE_NO_STATUS] = "status",
    [STORE_NO_FRESHNESS] = "no-freshness",
    [STORE_NO_TOO_LARGE] = "too-large",
    [STORE_NO_REQUEST_BODY] = "request-body",
    [STORE_NO_ACCESS_LIST] = "access-list",
    [STORE_NO_UNDERSTOOD] = "must-understand",
    [STORE_NO_TRUNCATED] = "truncated",
    [STORE_NO_SET_COOKIE] = "set-cookie",
    [STORE_NO_NO_ROOM] = "no-room",
};

const char *store_reason_name(enum store_reason r)
{
    return (unsigned)r < STORE_REASON_N ? reason_names[r] : "unknown";
}

/* Statuses whose meaning for a cache this one implements (RFC 9111 section 5.2.2.3): the final ones of RFC 9110
 * section 15 but 206 and 416 (ranges), 304 (updates, is no answer of its own) and those that end or authenticate
 * a connection rather than describe a resource. */
static bool status_is_understood(int status)
{
    switch (status) {
    case 200:
    case 201:
    case 202:
    case 203:
    case 204:
    case 205:
    case 300:
    case 301:
    case 302:
    case 303:
    case 307:
    case 308:
    case 400:
    case 402:
    case 403:
    case 404:
    case 405:
    case 406:
    case 409:
    case 410:
    case 411:
    case 412:
    case 413:
    case 414:
    case 415:
    case 417:
    case 421:
    case 422:
    case 426:
    case 500:
    case 501:
    case 502:
    case 503:
    case 504:
    case 505: return true;
    default: return false;
    }
}

/* Errors negative_ttl covers: those about the resource or its server. Not those about the one request that got them
 * (400, 401, 408, 413, 431 ...): a crafted request must not give everybody its error (CPDoS; hostile-inputs V09). */
static bool status_is_negative(int status)
{
    switch (status) {
    case 403:
    case 404:
    case 405:
    case 410:
    case 414:
    case 500:
    case 501:
    case 502:
    case 503:
    case 504: return true;
    default: return false;
    }
}

/* RFC 9111 section 3.5. */
static bool authorization_allows(const struct store_query *q)
{
    const struct cache_control *cc = q->response_cc;

    return head_find(q->request, TOKEN_AUTHORIZATION) == NULL || (cc->flags & (CC_PUBLIC | CC_MUST_REVALIDATE)) ||
           cc->s_maxage >= 0;
}

static enum store_reason no_store_reason(const struct store_query *q)
{
    const struct cache_control *cc = q->response_cc;
    bool ignore_no_store = q->rule != NULL && q->rule->ignore_no_store;
    bool ignore_private = q->rule != NULL && q->rule->ignore_private;
    bool understood = (cc->flags & CC_MUST_UNDERSTAND) && status_is_understood(q->response->status);

    if ((cc->flags & CC_NO_STORE) && !understood && !ignore_no_store)
        return STORE_NO_NO_STORE;
    if ((cc->flags & CC_PRIVATE) && !ignore_private)
        return STORE_NO_PRIVATE;
    if (q->refuse_set_cookie && head_find(q->response, TOKEN_SET_COOKIE) != NULL)
        return STORE_NO_SET_COOKIE;
    return STORE_YES;
}

/* The statuses that can be stored at all, given what was said of freshness. */
static enum store_reason status_reason(const struct store_query *q, enum lifetime_source source)
{
    int status = q->response->status;

    if (status == 206 && !q->is_part)
        return STORE_NO_PARTIAL;
    if (status < 200 || status > 599 || status == 304)
        return STORE_NO_STATUS;
    if (source == LIFETIME_NONE && !status_is_heuristically_cacheable(status) && !(q->response_cc->flags & CC_PUBLIC))
        return STORE_NO_STATUS;
    return STORE_YES;
}

/* Can it ever be of use: fresh for a while without asking, or a validator to ask with, or allowed while stale. */
static bool has_use(const struct store_query *q, int64_t lifetime)
{
    const struct cache_control *cc = q->response_cc;
    char names[VARY_NAMES_MAX];
    bool star;

    if (response_has_validator(q->response, q->times->response_time))
        return true;
    vary_names(q->response, names, sizeof names, &star);
    if (star || (cc->flags & CC_NO_CACHE))
        return false;
    return lifetime > current_age(q->times, q->times->response_time) || cc->stale_while_revalidate > 0 ||
           cc->stale_if_error > 0 || (q->rule != NULL && q->rule->store_stale);
}

/* RFC 9110 section 9.3.3: a POST may return what a GET of the same URI would, and say so. */
static bool method_allows(const struct store_query *q, enum lifetime_source source)
{
    if (q->request->method == METHOD_POST)
        return q->names_target && source == LIFETIME_EXPLICIT && q->response->status == 200;
    return q->request->method == METHOD_GET;
}

enum store_reason storable(const struct store_query *q, int64_t *lifetime, enum lifetime_source *source)
{
    enum store_reason why;

    *lifetime = freshness_lifetime(q->response, q->response_cc, q->times, q->rule, source);
    if (q->negative_ttl > *lifetime && *source != LIFETIME_EXPLICIT && status_is_negative(q->response->status)) {
        *lifetime = q->negative_ttl;
        *source = LIFETIME_NEGATIVE;
    }
    if (!method_allows(q, *source))
        return STORE_NO_METHOD;
    if (q->request_cc->flags & CC_NO_STORE)
        return STORE_NO_REQUEST_NO_STORE;
    if ((why = no_store_reason(q)) != STORE_YES)
        return why;
    if (!authorization_allows(q))
        return STORE_NO_AUTHORIZATION;
    if ((why = status_reason(q, *source)) != STORE_YES)
        return why;
    if (!has_use(q, *lifetime))
        return STORE_NO_FRESHNESS;
    if (q->request_has_body && q->request->method == METHOD_GET)
        return STORE_NO_REQUEST_BODY;
    if ((q->response_cc->flags & CC_MUST_UNDERSTAND) && !status_is_understood(q->response->status))
        return STORE_NO_UNDERSTOOD;
    return STORE_YES;
}
