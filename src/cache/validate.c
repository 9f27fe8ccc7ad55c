#include "cache/validate.h"

#include "base/clock.h"
#include "hdrs/field_date.h"
#include "hdrs/field_etag.h"
#include "hdrs/field_number.h"

static int64_t seconds_to_us(int64_t seconds)
{
    return saturating_mul(seconds, US_PER_S);
}

/* Stale: does the client take it all the same (RFC 9111 section 5.2.1.2)? Never against the origin's word, nor beyond
 * what refresh_pattern's max-stale allows. */
static bool max_stale_allows(const struct object *o, unsigned flags, const struct cache_control *cc, int64_t staleness)
{
    if (flags & OBJECT_MUST_REVALIDATE)
        return false;
    if (o->max_stale >= 0 && staleness > seconds_to_us(o->max_stale))
        return false;
    return (cc->flags & CC_MAX_STALE_ANY) || (cc->max_stale >= 0 && staleness <= seconds_to_us(cc->max_stale));
}

/* Did the origin say that this may be used while it is asked again (RFC 5861 section 3)? */
static bool while_revalidate_allows(const struct object *o, unsigned flags, int64_t staleness)
{
    return !(flags & OBJECT_MUST_REVALIDATE) && o->stale_while_revalidate > 0 &&
           staleness < seconds_to_us(o->stale_while_revalidate);
}

/* NULL: the client has no objection to an answer of that age and with `left` microseconds of freshness. */
static const char *client_objection(const struct object *o, const struct cache_control *cc, int64_t mono, int64_t left)
{
    if (cc->flags & CC_NO_CACHE)
        return "request-no-cache";
    /* 0 always asks, even within the second. */
    if (cc->max_age == 0 || (cc->max_age > 0 && object_age(o, mono) > cc->max_age))
        return "max-age";
    if (cc->min_fresh >= 0 && left > 0 && left < seconds_to_us(cc->min_fresh))
        return "min-fresh";
    return NULL;
}

enum reuse reuse_of(const struct object *o, const struct cache_control *request_cc, bool ignore_cc, int64_t mono,
                    const char **why)
{
    unsigned flags = atomic_load_explicit(&o->flags, memory_order_relaxed);
    int64_t left = saturating_sub(o->fresh_until, mono);

    if ((flags & OBJECT_SOFT_PURGED) && left > 0)
        left = 0;
    if (flags & OBJECT_VARY_STAR)
        *why = "vary-star";
    else if (flags & OBJECT_NO_CACHE)
        *why = "response-no-cache";
    else if (!ignore_cc && (*why = client_objection(o, request_cc, mono, left)) != NULL) {
        return REUSE_ASKED;
    } else {
        *why = left > 0 ? "fresh" : "stale";
        if (left > 0)
            return REUSE_FRESH;
        if (!ignore_cc && max_stale_allows(o, flags, request_cc, saturating_sub(mono, o->fresh_until)))
            return REUSE_STALE_OK;
        if ((ignore_cc || request_cc->min_fresh < 0) &&
            while_revalidate_allows(o, flags, saturating_sub(mono, o->fresh_until))) {
            *why = "stale-while-revalidate";
            return REUSE_STALE_MEANWHILE;
        }
    }
    return REUSE_VALIDATE;
}

static struct span object_etag(const struct object *o)
{
    return object_piece(o, o->etag);
}

static bool none_match(const struct head *request, const struct object *o)
{
    for (const struct head_field *f = head_find(request, TOKEN_IF_NONE_MATCH); f != NULL; f = head_next(request, f))
        if (etag_list_matches(field_value(request, f), object_etag(o)))
            return false;
    return true;
}

/* RFC 9110 section 13.1.3: more than one line, or no date, and it isn't there. Without Last-Modified the time the
 * response was made stands in (W11). */
static bool not_modified_since(const struct head *request, const struct object *o, int64_t now)
{
    const struct head_field *f = head_find(request, TOKEN_IF_MODIFIED_SINCE);
    int64_t since, modified = o->last_modified != INT64_MIN ? o->last_modified : o->times.date_value;

    return f != NULL && head_next(request, f) == NULL && date_parse(field_value(request, f), now, &since) &&
           modified <= since;
}

enum condition client_condition(const struct head *request, const struct object *o, int64_t now)
{
    /* A 304 stands for a 200 and nothing else (RFC 9110 section 15.4.5). */
    if (o->status != 200 || (request->method != METHOD_GET && request->method != METHOD_HEAD))
        return CONDITION_SEND;
    if (head_find(request, TOKEN_IF_NONE_MATCH) != NULL)
        return none_match(request, o) ? CONDITION_SEND : CONDITION_NOT_MODIFIED_ETAG;
    return not_modified_since(request, o, now) ? CONDITION_NOT_MODIFIED_DATE : CONDITION_SEND;
}

bool request_asks_origin(const struct head *request)
{
    return request->first[TOKEN_IF_MATCH] != 0 || request->first[TOKEN_IF_UNMODIFIED_SINCE] != 0;
}

bool request_is_conditional(const struct head *request)
{
    static const enum token conditions[] = {
        TOKEN_IF_NONE_MATCH,       TOKEN_IF_MODIFIED_SINCE, TOKEN_IF_MATCH,
        TOKEN_IF_UNMODIFIED_SINCE, TOKEN_IF_RANGE,          TOKEN_RANGE,
    };

    for (size_t i = 0; i < sizeof conditions / sizeof conditions[0]; i++)
        if (request->first[conditions[i]] != 0)
            return true;
    return false;
}

bool response_has_validator(const struct head *response, int64_t now)
{
    int64_t ignored;

    return head_value(response, TOKEN_ETAG).len > 0 ||
           date_parse(head_value(response, TOKEN_LAST_MODIFIED), now, &ignored);
}

bool may_update(const struct object *stored, const struct head *response_304)
{
    struct span etag = head_value(response_304, TOKEN_ETAG), stored_etag = object_etag(stored);
    int64_t last_modified;

    if (etag_strong_match(etag, etag)) /* well-formed and strong */
        return etag_strong_match(etag, stored_etag);
    if (etag.len > 0)
        return etag_weak_match(etag, stored_etag);
    if (date_parse(head_value(response_304, TOKEN_LAST_MODIFIED), stored->times.response_time, &last_modified))
        return last_modified == stored->last_modified;
    /* No validator at all. It answers a request that carried this one object's validators and nobody else's (fetch_store.c),
     * so it can mean no other; many origins leave Last-Modified out of a 304 (RFC 9110 section 15.4.5 lets them). */
    return true;
}

/* Byte for byte: a stored response is meant, not one that is as good. */
static enum head_verdict compare(struct span said, struct span stored)
{
    return said.len == 0 ? HEAD_SAYS_NOTHING : span_eq(said, stored) ? HEAD_AGREES : HEAD_DIFFERS;
}

enum head_verdict head_verdict_of(const struct object *stored, const struct head *response)
{
    enum head_verdict etag = compare(head_value(response, TOKEN_ETAG), object_etag(stored));
    enum head_verdict modified =
        compare(head_value(response, TOKEN_LAST_MODIFIED), object_piece(stored, stored->last_modified_text));
    uint64_t length;

    if (etag == HEAD_DIFFERS || modified == HEAD_DIFFERS ||
        (number_parse(head_value(response, TOKEN_CONTENT_LENGTH), &length) && length != object_length(stored)))
        return HEAD_DIFFERS;
    return etag == HEAD_AGREES ? etag : modified;
}

bool belongs_in_304(enum token t)
{
    switch (t) {
    case TOKEN_CACHE_CONTROL:
    case TOKEN_CONTENT_LOCATION:
    case TOKEN_DATE:
    case TOKEN_ETAG:
    case TOKEN_EXPIRES:
    case TOKEN_VARY:
    case TOKEN_VIA:
    /* Without an ETag it is all that a cache behind us can tell by which of its responses is meant. */
    case TOKEN_LAST_MODIFIED: return true;
    default: return false;
    }
}
